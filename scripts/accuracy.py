#!/usr/bin/env python3
# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes docs/accuracy.md: errors against float64 by type and distribution, beside those of others.

  scripts/accuracy.py          measures and writes the page; needs torch, and takes some minutes
  scripts/accuracy.py --check  measures a sample, and fails if the page says otherwise, or if ours
                               are worse than PyTorch's, or than what the page holds us to

Our kernels run on the simulator; the build folder is LNBWD_BUILD_DIR, build/ otherwise. The column
sums of many rows are added up in numpy in the kernels' order (test/support/summation.py).
"""

import argparse
import datetime
import json
import pathlib
import re
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(SOURCE / "test" / "support"))

import layer_norm as ln  # noqa: E402
import numpy as np  # noqa: E402
import summation  # noqa: E402
import torch  # noqa: E402

import chips  # noqa: E402  (beside the end-to-end tests, where layer_norm looks too)
from lnbwd.operations import LAYER_NORM  # noqa: E402
from lnbwd.spec import KernelSpec  # noqa: E402

PAGE = SOURCE / "docs" / "accuracy.md"
CHIPS = (chips.DEFAULT, next(chip for chip in chips.MANY if chips.FACTS[chip]["waveSize"] == 32))
# The column of the first chip with the statistics that PyTorch's forward pass saved.
SAME = f"{CHIPS[0]}, PyTorch's statistics"
COLUMNS = (*CHIPS, SAME)
M, N = 256, 1024
TYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}
OUTPUTS = ("dx", "dgamma", "dbeta")
SEEDS = range(20, 25)
# "No worse": within this factor. With the same statistics both make the same error where those are
# the largest part of it, and roundings of the rest differ in the fifth digit.
SLACK = 1.001

# Float32 column sums of many rows, whose figures of others were measured on such a shape.
MANY = (65536, 768)
MANY_CHIPS = (chips.GPU, *chips.MANY)
# What bench/accuracy.py measured on a GPU, ours beside others.
RECORDED = json.loads((SOURCE / "bench" / "recorded_accuracy.json").read_text())
SUMS = ("dgamma", "dbeta")
# The forward pass: rows, of N = 768, on the simulator.
FORWARD_ROWS = 2048
FORWARD = ("mean", "rstd", "y")
LARGEST_MEAN = ("normal", "mean, largest error")

Errors = dict[str, float]
Table = dict[tuple[str, ...], Errors]


def distributions(dtype: str, seed: int) -> dict[str, np.ndarray]:
    """Rows of each kind, by its name in the tables."""
    rng = np.random.default_rng(seed)
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
    return exact_gradients({"dy": dy, "x": x, "gamma": gamma, "mean": mean, "rstd": rstd})


def error(got: np.ndarray, wanted: np.ndarray) -> float:
    """Root of the mean square error, over that of the wanted values."""
    return float(np.sqrt(((got - wanted) ** 2).mean() / (wanted ** 2).mean()))


def worst_error(got: np.ndarray, wanted: np.ndarray) -> float:
    """The largest error, over the largest of the wanted values."""
    return float(np.abs(got - wanted).max() / np.abs(wanted).max())


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


def exact_gradients(inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The gradients in float64, of statistics in float64: the tests' reference takes them as
    kernels do, rounded to float32, and would hide what that rounding costs."""
    dy, x = inputs["dy"], inputs["x"]
    mean, rstd = inputs["mean"][:, None], inputs["rstd"][:, None]
    with np.errstate(over="ignore", invalid="ignore"):
        xhat = (x - mean) * rstd
        wdy = dy * inputs["gamma"]
        c1 = (wdy * xhat).mean(axis=1, keepdims=True)
        c2 = wdy.mean(axis=1, keepdims=True)
        return {"dx": rstd * (wdy - xhat * c1 - c2), "dgamma": (dy * xhat).sum(axis=0),
                "dbeta": dy.sum(axis=0)}


def measure_seed(seed: int) -> Table:
    """Errors by type, distribution and output: of torch and of each chip."""
    result: Table = {}
    for dtype in TYPES:
        for name, x in distributions(dtype, seed).items():
            rng = np.random.default_rng(1000 + seed)
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


def measure_many(seed: int, columns: int = MANY[1]) -> Table:
    """Worst errors of the column sums of many rows: of torch on the CPU and of each chip's order.

    Without all columns there is no figure of torch's, which needs the rows.
    """
    m, n = MANY
    rng = np.random.default_rng(seed)
    x, dy = (rng.standard_normal((m, columns), dtype=np.float32) for _ in range(2))
    x64 = x.astype(np.float64)
    mean64 = x64.mean(axis=1, keepdims=True) if columns == n else np.zeros((m, 1))
    rstd64 = (1 / np.sqrt(x64.var(axis=1, keepdims=True) + ln.EPSILON) if columns == n
              else mean64 + 1)
    mean, rstd = mean64.astype(np.float32), rstd64.astype(np.float32)
    dy64 = dy.astype(np.float64)
    wanted = {"dgamma": (dy64 * ((x64 - mean) * rstd.astype(np.float64))).sum(axis=0),
              "dbeta": dy64.sum(axis=0)}
    del x64, dy64
    result: Table = {(output,): {} for output in SUMS}
    if columns == n:
        gamma = torch.ones(n)
        _, dgamma, dbeta = torch.ops.aten.native_layer_norm_backward(
            torch.from_numpy(dy), torch.from_numpy(x), [n], torch.from_numpy(mean),
            torch.from_numpy(rstd), gamma, gamma, [False, True, True])
        for output, value in zip(SUMS, (dgamma, dbeta), strict=True):
            result[output,]["torch"] = worst_error(value.double().numpy(), wanted[output])
    xhat = (x - mean) * rstd
    for chip in MANY_CHIPS:
        kernel, finalize = summation.kernels(ln.BUILD / "bin" / "lnbwd-opt", chip, n, m)
        for output in SUMS:
            got = summation.column_sum(kernel, finalize, dy, xhat if output == "dgamma" else None)
            result[output,][chip] = worst_error(got, wanted[output])
    return result


def measure_forward(seed: int, rows: int = FORWARD_ROWS) -> Table:
    """Errors of a forward pass in float32: of torch and of each chip."""
    n = MANY[1]
    text = KernelSpec(LAYER_NORM, n, "f32", CHIPS[0], "f32", "f32", False, False, False,
                      epsilon=ln.EPSILON).mlir()
    rng = np.random.default_rng(seed)
    result: Table = {}
    for name, centre in {"normal": 0.0, "mean 1": 1.0, "large mean": 1e4}.items():
        x = ln.rounded(centre + rng.standard_normal((rows, n)), "f32")
        gamma, beta = (ln.rounded(rng.standard_normal(n), "f32") for _ in range(2))
        mean = x.mean(axis=1)
        rstd = 1 / np.sqrt(((x - mean[:, None]) ** 2).mean(axis=1) + ln.EPSILON)
        wanted = {"mean": mean, "rstd": rstd,
                  "y": (x - mean[:, None]) * rstd[:, None] * gamma + beta}
        tx, tgamma, tbeta = (torch.tensor(a).float() for a in (x, gamma, beta))
        y, tmean, trstd = torch.ops.aten.native_layer_norm(tx, [n], tgamma, tbeta, ln.EPSILON)
        results = {"torch": {"y": y.double().numpy(), "mean": tmean.double().numpy().ravel(),
                             "rstd": trstd.double().numpy().ravel()}}
        for chip in CHIPS:
            results[chip] = ln.run(ln.kernel_of_text(text, chip),
                                   {"x": x, "gamma": gamma, "beta": beta}, rows)
        for output in FORWARD:
            result[name, output] = {who: error(got[output], wanted[output])
                                    for who, got in results.items()}
        if name == LARGEST_MEAN[0]:
            result[LARGEST_MEAN] = {who: worst_error(got["mean"], wanted["mean"])
                                    for who, got in results.items()}
    return result


def worst(tables: list[Table]) -> Table:
    """The largest figure of each cell."""
    return {cell: {who: max(table[cell][who] for table in tables) for who in errors}
            for cell, errors in tables[0].items()}


def worse_cells(tables: list[Table], slack: float = SLACK) -> list[str]:
    """The cells where ours is worse than PyTorch's, for the same numbers."""
    return [f"{' '.join(cell)} on {who}: {figure:.4e}, PyTorch {errors['torch']:.4e}"
            for table in tables for cell, errors in table.items() for who, figure in errors.items()
            if who != "torch" and figure > slack * errors["torch"]]


def rows_of(table: Table, keys: list[str], columns: dict[str, str]) -> list[str]:
    """A Markdown table."""
    lines = ["| " + " | ".join([*keys, *columns.values()]) + " |",
             "|" + "---|" * len(keys) + "---:|" * len(columns)]
    for cell, errors in table.items():
        lines.append("| " + " | ".join([*cell, *(f"{errors[who]:.1e}" for who in columns)]) + " |")
    return lines


# The errors of bench/accuracy.py and what the page calls them.
RECORDED_ERRORS = {"rms": "root mean square, worst seed", "largest": "largest, worst seed",
                   "largest_median": "largest, median seed"}


def recorded(error: str) -> dict[str, Errors]:
    """One error of each output, by who made it."""
    found: dict[str, Errors] = {}
    for row in RECORDED["figures"]:
        found.setdefault(row["output"], {})[row["who"]] = row[error]
    return found


def recorded_rows() -> list[str]:
    """The table of what was measured on a GPU."""
    names = {"ours": "ours", "eager": "PyTorch", "compile": "torch.compile", "liger": "Liger"}
    lines = ["| error | output | " + " | ".join(names.values()) + " |",
             "|---|---|" + "---:|" * len(names)]
    for error, title in RECORDED_ERRORS.items():
        for output, errors in recorded(error).items():
            cells = [f"{errors[who]:.2e}" if who in errors else "" for who in names]
            lines.append(f"| {title} | {output} | " + " | ".join(cells) + " |")
    return lines


def page(gradients: Table, many: Table, forward: Table, ratio: float) -> str:
    """The text of docs/accuracy.md."""
    ours = {column: f"ours, {column}" for column in COLUMNS}
    return "\n".join([
        "# Accuracy",
        "",
        f"Written by `scripts/accuracy.py` ({datetime.date.today()}; PyTorch "
        f"{torch.__version__.split('+')[0]} on the CPU, ours on the simulator); do not edit. "
        f"Every figure is the worst of {len(SEEDS)} seeds. The truth is float64 throughout.",
        "",
        "## The gradients",
        "",
        f"Root mean square error over the root mean square of the true gradients, M = {M} rows of "
        f"N = {N}, the same inputs, rounded to the type first. The truth includes the statistics, "
        "so that what a float32 mean loses counts for both.",
        "",
        "PyTorch takes the statistics that its own forward pass saves: float32 ones for f32, "
        "16-bit ones for 16-bit types on the CPU. Ours take the exact ones rounded to float32, as "
        "they are saved on GPUs: that, not the backward pass, is part of what sets the two apart "
        "where the mean is large or the variance tiny. The last column is the backward pass "
        "alone: ours with the very statistics that PyTorch's takes.",
        "",
        f"Of the {len(gradients) * len(COLUMNS)} figures of ours, in any seed, the worst is "
        f"{ratio:.4f} times PyTorch's.",
        "",
        "Large mean: 1e4 (f32), 300 (f16), 30 (bf16), deviation 1. Heavy tails: Student's t with "
        "two degrees of freedom. Tiny variance: x within a few roundings of 1.",
        "",
        *rows_of(gradients, ["type", "x", "output"], {"torch": "PyTorch", **ours}),
        "",
        "## Column sums of many rows",
        "",
        f"Largest error over the largest true value, f32, {MANY[0]} rows of {MANY[1]}, standard "
        "normal. So many rows are too many for the simulator: ours are added up in numpy, with "
        "each chip's schedule and its usual number of compute units, in the order of "
        "[numerics.md](numerics.md). On AMD's chips that order gives the simulator's bits "
        "(`test/Docs/test_accuracy.py` compares them where blocks, tails and groups occur); for "
        f"{chips.GPU} it is the same passes'.",
        "",
        *rows_of(many, ["output"], {"torch": "PyTorch",
                                    **{chip: f"ours, {chip}" for chip in MANY_CHIPS}}),
        "",
        "## Beside others on a GPU",
        "",
        f"LayerNorm in f32 on one {RECORDED['machine']}, {RECORDED['shape'].replace('x', ' × ')}, "
        f"standard normal, {RECORDED['seeds']} seeds (`bench/accuracy.py --record "
        f"bench/recorded_accuracy.json`, {RECORDED['date']}, torch {RECORDED['torch']}): the "
        "backward pass from the exact statistics, rounded, and the forward pass. The root mean "
        "square error hardly depends on the seed; the largest of all elements does, and says less.",
        "",
        *recorded_rows(),
        "",
        "## The forward pass",
        "",
        "Root mean square error over the root mean square of the true values, f32, "
        f"{FORWARD_ROWS} rows of {MANY[1]}; for the mean of normal rows, beside it, the largest "
        "error over the largest mean.",
        "",
        *rows_of(forward, ["x", "output"],
                 {"torch": "PyTorch", **{chip: f"ours, {chip}" for chip in CHIPS}}),
    ]) + "\n"


def read_page(text: str) -> dict[tuple[str, ...], list[float]]:
    """The figures of each row, by what stands before them."""
    rows = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        figures = [cell for cell in cells if re.fullmatch(r"\d\.\de[-+]\d\d", cell)]
        if line.startswith("| ") and figures:
            rows[tuple(cells[:len(cells) - len(figures)])] = [float(figure) for figure in figures]
    return rows


def disagreements(known: dict[tuple[str, ...], list[float]], sample: Table, columns: list[str],
                  low: float, high: float) -> list[str]:
    """Where a sample of ours is above the page's worst, or far below it.

    Args:
        columns: what the row's last figures are.
        low: the least that a sample may be of the worst.
        high: the most: figures have two digits, and of fewer rows or columns the largest is
            smaller.
    """
    lines = []
    for cell, errors in sample.items():
        figures = known.get(cell)
        if figures is None or len(figures) < len(columns):
            lines.append(f"no row for {' '.join(cell)}")
            continue
        for column, figure in zip(columns, figures[-len(columns):], strict=True):
            if not low * figure <= errors[column] <= high * figure:
                lines.append(f"{' '.join(cell)} on {column}: measured {errors[column]:.2e}, the "
                             f"page has {figure:.1e}")
    return lines


def check() -> list[str]:
    """What is wrong with the page, or with us, by one seed of each table."""
    seed = SEEDS[0]
    gradients = measure_seed(seed)
    forward = measure_forward(seed, FORWARD_ROWS // 8)
    # A few columns of the many rows.
    many = measure_many(seed, 48)
    known = read_page(PAGE.read_text()) if PAGE.exists() else {}
    stale = []
    if known:
        stale += disagreements(known, gradients, list(COLUMNS), 0.6, 1.06)
        stale += disagreements(known, forward, list(CHIPS), 0.4, 1.3)
        stale += disagreements(known, many, list(MANY_CHIPS), 0.4, 1.3)
    worse = worse_cells([gradients])
    for cell, figures in known.items():
        if len(cell) == 2 and max(figures) > figures[0]:
            worse.append(f"{' '.join(cell)}: the page has {max(figures):.1e}, PyTorch's "
                         f"{figures[0]:.1e}")
    for output, errors in recorded("rms").items():
        best = min(errors.values())
        if errors["ours"] > SLACK * best:
            worse.append(f"{output} on {RECORDED['machine']}: {errors['ours']:.3e}, the best "
                         f"{best:.3e}")
    return ([f"worse than others: {line}" for line in worse]
            + [f"stale: docs/accuracy.md: {line}; run scripts/accuracy.py" for line in stale])


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    options = parser.parse_args()
    if options.check:
        problems = check()
    else:
        gradients = [measure_seed(seed) for seed in SEEDS]
        many = [measure_many(seed) for seed in SEEDS]
        forward = [measure_forward(seed) for seed in SEEDS]
        ratio = max(figure / errors["torch"] for table in gradients for errors in table.values()
                    for figure in errors.values())
        PAGE.write_text(page(worst(gradients), worst(many), worst(forward), ratio))
        problems = [f"worse than PyTorch: {line}"
                    for line in worse_cells(gradients) + worse_cells(many)
                    + worse_cells([worst(forward)])]
    for line in problems:
        print(f"error: {line}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
