#!/usr/bin/env python3
# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes docs/accuracy.md: errors against float64 by type and distribution, beside PyTorch's.

  scripts/accuracy.py          measures and writes the page; needs torch
  scripts/accuracy.py --check  fails if the page's figures of ours are far from what is measured, or
                               if ours are worse than PyTorch's anywhere

Our kernels run on the simulator; the build folder is LNBWD_BUILD_DIR, build/ otherwise.
"""

import argparse
import datetime
import pathlib
import re
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(SOURCE / "test" / "support"))

import layer_norm as ln  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402

PAGE = SOURCE / "docs" / "accuracy.md"
CHIPS = ("gfx942", "gfx1100")
# The column of the first chip with the statistics that PyTorch's forward pass saved.
SAME = f"{CHIPS[0]}, PyTorch's statistics"
COLUMNS = (*CHIPS, SAME)
M, N = 256, 1024
TYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}
OUTPUTS = ("dx", "dgamma", "dbeta")
# "No worse": within this factor. With the same statistics both make the same error where those are the
# largest part of it, and roundings of the rest differ in the fifth digit.
SLACK = 1.001


def distributions(dtype: str) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(20)
    normal = rng.standard_normal((M, N))
    mean = {"f32": 1e4, "bf16": 30.0, "f16": 300.0}[dtype]
    step = {"f32": 2.0**-23, "bf16": 2.0**-7, "f16": 2.0**-10}[dtype]
    return {"normal": normal, "large mean": mean + normal,
            "heavy tails": np.clip(rng.standard_t(2, (M, N)), -1000, 1000),
            "tiny variance": 1 + 8 * step * normal}


def exact(dy: np.ndarray, x: np.ndarray, gamma: np.ndarray) -> dict[str, np.ndarray]:
    """The gradients of LayerNorm in float64, statistics included."""
    mean = x.mean(axis=1)
    rstd = 1 / np.sqrt(((x - mean[:, None]) ** 2).mean(axis=1) + ln.EPSILON)
    return ln.reference({"dy": dy, "x": x, "gamma": gamma, "mean": mean, "rstd": rstd})


def error(got: np.ndarray, wanted: np.ndarray) -> float:
    """Root of the mean square error, over that of the wanted values."""
    return float(np.sqrt(((got - wanted) ** 2).mean() / (wanted ** 2).mean()))


def of_torch(dy: np.ndarray, x: np.ndarray, gamma: np.ndarray,
             dtype: str) -> dict[str, np.ndarray]:
    """PyTorch's gradients on the CPU, and the statistics that its forward pass saved for them."""
    kind = TYPES[dtype]
    tx, tdy, tgamma = (torch.tensor(a).to(kind) for a in (x, dy, gamma))
    beta = torch.zeros_like(tgamma)
    _, mean, rstd = torch.ops.aten.native_layer_norm(tx, [N], tgamma, beta, ln.EPSILON)
    grads = torch.ops.aten.native_layer_norm_backward(tdy, tx, [N], mean, rstd, tgamma, beta,
                                                      [True, True, True])
    values = dict(zip((*OUTPUTS, "mean", "rstd"), (*grads, mean, rstd), strict=True))
    return {name: value.double().numpy().reshape(-1, N) if name == "dx"
            else value.double().numpy().reshape(-1) for name, value in values.items()}


def measure() -> dict[tuple[str, str, str], dict[str, float]]:
    """Errors by type, distribution and output: of torch and of each chip."""
    torch.manual_seed(0)
    result: dict[tuple[str, str, str], dict[str, float]] = {}
    for dtype in TYPES:
        for name, x in distributions(dtype).items():
            rng = np.random.default_rng(21)
            x = ln.rounded(x, dtype)
            dy = ln.rounded(rng.standard_normal((M, N)), dtype)
            gamma = ln.rounded(1 + 0.25 * rng.standard_normal(N), dtype)
            wanted = exact(dy, x, gamma)
            theirs = of_torch(dy, x, gamma, dtype)
            # PyTorch's CPU kernels save 16-bit statistics with 16-bit parameters; ours take float32
            # ones, as the forward pass on GPUs saves them.
            mean, rstd = ln.statistics(x)
            for output in OUTPUTS:
                result[dtype, name, output] = {"torch": error(theirs[output], wanted[output])}
            inputs = {"dy": dy, "x": x, "gamma": gamma, "mean": mean, "rstd": rstd}
            theirs_saved = {"mean": theirs["mean"], "rstd": theirs["rstd"]}
            runs = [(chip, chip, inputs) for chip in CHIPS]
            runs.append((SAME, CHIPS[0], {**inputs, **theirs_saved}))
            for column, chip, arguments in runs:
                got = ln.run(ln.kernel(N, dtype, chip), arguments, M)
                for output in OUTPUTS:
                    result[dtype, name, output][column] = error(got[output], wanted[output])
    return result


def worst_ratio(result: dict[tuple[str, str, str], dict[str, float]]) -> float:
    return max(errors[column] / errors["torch"] for errors in result.values()
               for column in COLUMNS)


def page(result: dict[tuple[str, str, str], dict[str, float]]) -> str:
    lines = [
        "# Accuracy",
        "",
        f"Written by `scripts/accuracy.py` ({datetime.date.today()}; PyTorch {torch.__version__.split('+')[0]} on the CPU, ours on the "
        "simulator); do not edit. Figures: root mean square error over the root mean square of the true "
        f"gradients, M = {M} rows of N = {N}, the same inputs, rounded to the type first. The truth is float64 "
        "throughout, statistics included, so that what a float32 mean loses counts for both.",
        "",
        "PyTorch takes the statistics that its own forward pass saves: float32 ones for f32, 16-bit ones for 16-bit "
        "types on the CPU. Ours take the exact ones rounded to float32, as they are saved on GPUs: that, not the "
        "backward pass, is part of what sets the two apart where the mean is large or the variance tiny. The last "
        "column is the backward pass alone: ours with the very statistics that PyTorch's takes.",
        "",
        f"Of the {len(result) * len(COLUMNS)} figures of ours, the worst is {worst_ratio(result):.4f} times PyTorch's.",
        "",
        "Large mean: 1e4 (f32), 300 (f16), 30 (bf16), deviation 1. Heavy tails: Student's t with two degrees of "
        "freedom. Tiny variance: x within a few roundings of 1.",
        "",
        "| type | x | output | PyTorch | " + " | ".join(f"ours, {column}" for column in COLUMNS) + " |",
        "|---|---|---|---:|" + "---:|" * len(COLUMNS),
    ]
    for (dtype, name, output), errors in result.items():
        cells = " | ".join(f"{errors[who]:.1e}" for who in ("torch", *COLUMNS))
        lines.append(f"| {dtype} | {name} | {output} | {cells} |")
    return "\n".join(lines) + "\n"


def figures(text: str) -> list[float]:
    """Our figures in the page; PyTorch's depend on the CPU."""
    return [float(figure) for line in text.splitlines() if line.startswith("| ")
            for figure in re.findall(r"\d\.\de[-+]\d\d", line)[1:]]


def is_current(old: str, new: str) -> bool:
    """Whether the figures agree but for what another order of summation changes."""
    pairs = list(zip(figures(old), figures(new)))
    return len(figures(old)) == len(figures(new)) > 0 and all(
        max(a, b) <= 1.3 * min(a, b) for a, b in pairs)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    options = parser.parse_args()
    result = measure()
    worse = [f"{' '.join(cell)} on {column}: {errors[column]:.4e}, PyTorch {errors['torch']:.4e}"
             for cell, errors in result.items() for column in COLUMNS
             if errors[column] > SLACK * errors["torch"]]
    for line in worse:
        print(f"error: worse than PyTorch: {line}", file=sys.stderr)
    text = page(result)
    if not options.check:
        PAGE.write_text(text)
    elif not PAGE.exists() or not is_current(PAGE.read_text(), text):
        print("error: stale: docs/accuracy.md; run scripts/accuracy.py", file=sys.stderr)
        return 1
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
