# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The named operations with a linear layer, as lnbwd-run compiles, runs and verifies them.

It compares every output with float64, and two runs bit for bit; with --full over a grid of sizes.
"""

import itertools
import json
import subprocess

import numpy as np
import pytest

import family
import reference
from lnbwd import operations

OPS = tuple(name for name, op in operations.OPERATIONS.items() if op.has_product)
TYPES = ("f32", "bf16", "f16")


def run(build, op, chip, m, n, o, *options):
    """The runner's report; fails where a number is wrong."""
    command = [build / "bin" / "lnbwd-run", "--op", op, "--chip", chip, "--m", m, "--n", n,
               "--o", o, "--verify", "--json", *options]
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True,
                            check=False, timeout=300)
    assert result.returncode == 0, result.stdout + result.stderr
    return json.loads(result.stdout)


@pytest.mark.sample(chip=family.AMD_CHIPS, op=OPS)
def test_the_puzzle(build, chip, op):
    """Batch 4, sequence 4, hidden 8, out 16, float32: 1e-4 is asked for, 2e-6 what there is."""
    report = run(build, op, chip, 16, 8, 16)
    for output in report["outputs"]:
        assert output["max_abs_error"] <= 2e-6 * max(1, output["largest_reference"]), output


def sampled():
    """Each operation on each chip, on half of them in every run, and over them all row counts,
    lengths, outputs and types."""
    rows, lengths, outputs = (1, 7, 64), (8, 96, 768), (8, 16, 100)
    for c, chip in enumerate(family.AMD_CHIPS):
        for o, op in enumerate(OPS):
            i = c + o
            yield pytest.param(
                op, chip, rows[i % 3], lengths[(i + c) % 3], outputs[(i + o) % 3], TYPES[c % 3],
                marks=[pytest.mark.full] * (i % 2))


@pytest.mark.parametrize(("op", "chip", "m", "n", "o", "dtype"), list(sampled()))
def test_grid(build, op, chip, m, n, o, dtype):
    run(build, op, chip, m, n, o, "--dtype", dtype, "--shuffle-waves", 3)


# Of rows, N and O those of at most so many multiplications.
MOST_PRODUCTS = 20e6
SIZES = [size for size in itertools.product((1, 7, 64, 513), (8, 96, 768, 1024), (8, 16, 100, 2304))
         if size[0] * size[1] * size[2] <= MOST_PRODUCTS]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("chip", family.AMD_CHIPS)
@pytest.mark.parametrize("op", OPS)
def test_whole_grid(build, request, op, chip, dtype):
    if not request.config.getoption("--full"):
        pytest.skip("runs with --full")
    for m, n, o in SIZES:
        run(build, op, chip, m, n, o, "--dtype", dtype)


@pytest.mark.parametrize(("op", "options"), [
    *((op, ("--no-gamma",)) for op in OPS),
    ("layer_norm_linear", ("--no-beta", "--outputs", "out")),
    ("layer_norm_linear_bwd", ("--no-beta",)),
    ("layer_norm_linear_bwd", ("--no-gamma", "--no-beta", "--outputs", "dw")),
    ("layer_norm_linear_bwd", ("--outputs", "dx")),
    ("layer_norm_linear_bwd", ("--outputs", "dgamma,dbeta")),
    ("rms_norm_linear_bwd", ("--outputs", "db")),
    *((op, ("--zero-centred-gamma", "--dtype", "bf16", "--param-dtype", "f32")) for op in OPS),
    ("layer_norm_linear", ("--init", "large-mean")),
    ("layer_norm_linear_bwd", ("--init", "large-mean")),
])
def test_options(build, op, options):
    run(build, op, "gfx942", 13, 40, 24, *options)


@pytest.mark.parametrize("op", OPS)
def test_no_rows(build, op):
    """Sums over no rows are 0."""
    run(build, op, "gfx942", 0, 8, 16)


@pytest.mark.parametrize(("options", "message"), [
    (("--op", "layer_norm_linear"), "expected --o, the number of outputs of layer_norm_linear"),
    (("--op", "layer_norm", "--o", "8"), "--o: layer_norm has no linear layer; leave it out"),
    (("--op", "rms_norm_linear_bwd", "--o", "8", "--statistics", "recomputed"),
     "--statistics: expected saved for rms_norm_linear_bwd, which takes mean and rstd"),
    (("--op", "rms_norm_linear_bwd", "--o", "8", "--accumulate"),
     "--accumulate: rms_norm_linear_bwd cannot do that; leave it out"),
    (("--op", "layer_norm_linear", "--o", "8", "--row-stride", "99"),
     "--row-stride: layer_norm_linear cannot do that; leave it out"),
])
def test_mistakes(build, options, message):
    result = subprocess.run([build / "bin" / "lnbwd-run", "--n", "8", "--chip", "gfx942", *options],
                            capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert message in result.stderr


def test_the_reference_against_finite_differences():
    """dx, dgamma, dbeta, dw and db, of the forward formula's own out."""
    random = np.random.default_rng(4)
    m, n, o = 3, 5, 4
    # Values that float32 holds, as the reference takes them, and a step that leaves them so.
    step = 2.0 ** -7
    inputs = {"x": (m, n), "gamma": (n,), "beta": (n,), "w": (o, n), "b": (o,)}
    inputs = {name: np.round(random.standard_normal(shape) * 64) / 64
              for name, shape in inputs.items()}
    dout = np.round(random.standard_normal((m, o)) * 64) / 64

    def forward(changed):
        return reference.evaluate("layer_norm_linear", changed, m, n, output_columns=o)[0]

    saved = forward(inputs)
    known = {**inputs, "dout": dout, "mean": saved["mean"], "rstd": saved["rstd"]}
    del known["b"]
    gradients, _ = reference.evaluate("layer_norm_linear_bwd", known, m, n, output_columns=o)
    for name, values in inputs.items():
        expected = np.zeros(values.shape)
        for index in np.ndindex(values.shape):
            losses = {}
            # Five points: what is left is of the step's fourth power.
            for k in (-2, -1, 1, 2):
                moved = values.copy()
                moved[index] += k * step
                losses[k] = np.sum(dout * forward({**inputs, name: moved})["out"])
            expected[index] = (8 * (losses[1] - losses[-1]) - losses[2] + losses[-2]) / (12 * step)
        error = np.max(np.abs(gradients["d" + name] - expected))
        assert error <= 2e-6 * np.max(np.abs(expected)), name
