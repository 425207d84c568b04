#!/usr/bin/env python3
# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures errors against float64 by type and distribution, beside PyTorch's on the CPU.

  scripts/accuracy.py          measures five seeds, and writes the worst errors to
                               docs/results/accuracy.json, whose tables scripts/update-docs.sh
                               makes; needs torch, and takes some minutes
  scripts/accuracy.py --check  measures one seed, and fails if ours are worse than PyTorch's, or if
                               they are not what the file says

Our kernels run on the simulator; the build folder is LNBWD_BUILD_DIR, build/ otherwise. The column
sums of many rows are added up in numpy in the kernels' order (test/support/summation.py).
"""

import argparse
import datetime
import json
import pathlib
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(SOURCE / "test" / "support"))

import layer_norm as ln  # noqa: E402
import numpy as np  # noqa: E402
import summation  # noqa: E402
import torch  # noqa: E402

import chips  # noqa: E402  (beside the end-to-end tests, where layer_norm looks too)
from lnbwd.core.base.operations import LAYER_NORM  # noqa: E402
from lnbwd.core.compile.spec import norm_source  # noqa: E402

FILE = SOURCE / "docs" / "results" / "accuracy.json"
CHIPS = (chips.DEFAULT, next(chip for chip in chips.MANY if chips.FACTS[chip]["waveSize"] == 32))
# The column of the first chip with the statistics that PyTorch's forward pass saved.
SAME = f"{CHIPS[0]}, PyTorch's statistics"
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
SUMS = ("dgamma", "dbeta")
# The forward pass: rows, of N = 768, on the simulator.
FORWARD_ROWS = 2048
FORWARD = ("mean", "rstd", "y")

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


def error(got: np.ndarray, wanted: np.ndarray) -> float:
    """Root of the mean square error, over that of the wanted values."""
    return float(np.sqrt(((got - wanted) ** 2).mean() / (wanted ** 2).mean()))


def worst_error(got: np.ndarray, wanted: np.ndarray) -> float:
    """The largest error, over the largest of the wanted values."""
    return float(np.abs(got - wanted).max() / np.abs(wanted).max())


def by_torch(kind: torch.dtype, x: np.ndarray, gamma: np.ndarray, beta: np.ndarray | None = None,
             dy: np.ndarray | None = None) -> dict[str, np.ndarray]:
    """PyTorch's LayerNorm on the CPU, its statistics, and with dy its gradients; by float64 the
    exact ones. (The tests' reference takes statistics as kernels do, rounded to float32, and would
    hide what that rounding costs.)"""
    shape = [x.shape[1]]
    tx, tgamma = (torch.tensor(a).to(kind) for a in (x, gamma))
    tbeta = torch.zeros_like(tgamma) if beta is None else torch.tensor(beta).to(kind)
    y, mean, rstd = torch.ops.aten.native_layer_norm(tx, shape, tgamma, tbeta, ln.EPSILON)
    values = {"y": y, "mean": mean.flatten(), "rstd": rstd.flatten()}
    if dy is not None:
        values |= zip(OUTPUTS, torch.ops.aten.native_layer_norm_backward(
            torch.tensor(dy).to(kind), tx, shape, mean, rstd, tgamma, tbeta, [True] * 3),
            strict=True)
    return {name: value.double().numpy() for name, value in values.items()}


def measure_seed(seed: int) -> Table:
    """Errors by type, distribution and output: of torch and of each chip."""
    result: Table = {}
    for dtype in TYPES:
        for name, x in distributions(dtype, seed).items():
            rng = np.random.default_rng(1000 + seed)
            x = ln.rounded(x, dtype)
            dy = ln.rounded(rng.standard_normal((M, N)), dtype)
            gamma = ln.rounded(1 + 0.25 * rng.standard_normal(N), dtype)
            wanted = by_torch(torch.float64, x, gamma, dy=dy)
            theirs = by_torch(TYPES[dtype], x, gamma, dy=dy)
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
    x64, dy64 = x.astype(np.float64), dy.astype(np.float64)
    mean, rstd = (np.zeros((m, 1), np.float32), np.ones((m, 1), np.float32))
    if columns == n:
        mean = x64.mean(axis=1, keepdims=True).astype(np.float32)
        rstd = (1 / np.sqrt(x64.var(axis=1, keepdims=True) + ln.EPSILON)).astype(np.float32)
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
    text = norm_source(LAYER_NORM, n=n, epsilon=ln.EPSILON).mlir
    rng = np.random.default_rng(seed)
    result: Table = {}
    for name, centre in {"normal": 0.0, "mean 1": 1.0, "large mean": 1e4}.items():
        x = ln.rounded(centre + rng.standard_normal((rows, n)), "f32")
        gamma, beta = (ln.rounded(rng.standard_normal(n), "f32") for _ in range(2))
        wanted = by_torch(torch.float64, x, gamma, beta)
        results = {"torch": by_torch(torch.float32, x, gamma, beta)}
        for chip in CHIPS:
            results[chip] = ln.run(ln.kernel_of_text(text, chip),
                                   {"x": x, "gamma": gamma, "beta": beta}, rows)
        for output in FORWARD:
            result[name, output] = {who: error(got[output], wanted[output])
                                    for who, got in results.items()}
    return result


def worst(tables: list[Table]) -> Table:
    """The largest figure of each cell."""
    return {cell: {who: max(table[cell][who] for table in tables) for who in errors}
            for cell, errors in tables[0].items()}


def worse_cells(tables: list[Table]) -> list[str]:
    """The cells where ours is worse than PyTorch's, for the same numbers."""
    return [f"{' '.join(cell)} on {who}: {figure:.4e}, PyTorch {errors['torch']:.4e}"
            for table in tables for cell, errors in table.items() for who, figure in errors.items()
            if who != "torch" and figure > SLACK * errors["torch"]]


def stored(tables: dict[str, Table]) -> dict[str, dict[str, Errors]]:
    """The tables as the file has them."""
    return {name: {" | ".join(cell): {who: float(f"{figure:.1e}") for who, figure in errors.items()}
                   for cell, errors in table.items()} for name, table in tables.items()}


def disagreements(known: dict[str, Errors], sample: Table, low: float, high: float) -> list[str]:
    """Where a sample of ours is not from ``low`` to ``high`` times the file's worst: figures have
    two digits, and of fewer rows or columns the largest is smaller."""
    return [f"stale: {' '.join(cell)} on {who}: measured {figure:.2e}, {FILE.name} has "
            f"{known[' | '.join(cell)][who]:.1e}; run scripts/accuracy.py"
            for cell, errors in sample.items() for who, figure in errors.items()
            if who != "torch" and not low * known[" | ".join(cell)][who] <= figure
            <= high * known[" | ".join(cell)][who]]


def check() -> list[str]:
    """What is wrong with the file, or with us, by one seed of each table."""
    seed = SEEDS[0]
    known = json.loads(FILE.read_text())["tables"]
    gradients = measure_seed(seed)
    problems = disagreements(known["gradients"], gradients, 0.6, 1.06)
    problems += disagreements(known["forward"], measure_forward(seed, FORWARD_ROWS // 8), 0.4, 1.3)
    # A few columns of the many rows.
    problems += disagreements(known["sums"], measure_many(seed, 48), 0.4, 1.3)
    problems += worse_cells([gradients])
    # Of the others a part was measured, which says nothing about PyTorch's largest errors.
    problems += [f"{cell} on {who}: {figure:.1e}, PyTorch {errors['torch']:.1e}"
                 for table in ("forward", "sums") for cell, errors in known[table].items()
                 for who, figure in errors.items() if figure > errors["torch"]]
    return problems


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    if parser.parse_args().check:
        problems = check()
    else:
        gradients = [measure_seed(seed) for seed in SEEDS]
        many = [measure_many(seed) for seed in SEEDS]
        forward = [measure_forward(seed) for seed in SEEDS]
        tables = {"gradients": worst(gradients), "sums": worst(many), "forward": worst(forward)}
        FILE.write_text(json.dumps({
            "date": str(datetime.date.today()), "torch": torch.__version__.partition("+")[0],
            "seeds": len(SEEDS), "tables": stored(tables)}, indent=1) + "\n")
        problems = worse_cells(gradients) + worse_cells(many) + worse_cells([worst(forward)])
    for line in problems:
        print(f"error: {line}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
