# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients of row programs with products of matrices: derived, then evaluated in float64."""

import subprocess

import numpy as np
import pytest

import linear_programs
import row_evaluator

# Of central differences in float64 with a step of 1e-5: their own error is the step's square
# times a third derivative, and the rounding of a loss of some ten, 1e-15, over the step.
DIFFERENCES = 1e-8
# Constants that a program keeps in float32 (1/N) are not the reference's.
CONSTANTS = 1e-7


def opt(build, text: str, *options: str) -> str:
    """What lnbwd-opt prints."""
    return subprocess.run([build / "bin" / "lnbwd-opt", "-", *options], input=text, text=True,
                          check=True, capture_output=True, timeout=60).stdout


def assert_near(actual, expected, tolerance):
    assert np.abs(actual - expected).max() <= tolerance * max(1, np.abs(expected).max())


@pytest.mark.parametrize("options", ["", "simplify=false", "saved=none", "saved=out"])
@pytest.mark.parametrize("name", linear_programs.PROGRAMS)
def test_gradients_are_those_of_finite_differences(build, name, options):
    program = linear_programs.PROGRAMS[name]
    if not options.startswith("saved") and program.scalar_outputs:
        options = f"saved={','.join(program.scalar_outputs)} {options}"
    forward = opt(build, program.text(), "--canonicalize")
    of = f"of={','.join(program.outputs)}"
    gradient = opt(build, forward, f"--lnbwd-differentiate={of} {options}")
    inputs, adjoints = program.inputs(), program.adjoints()
    known = {**inputs, **{"d" + key: value for key, value in adjoints.items()},
             **row_evaluator.evaluate(forward, inputs)}
    actual = row_evaluator.evaluate(gradient, known)
    assert set(actual) == {"d" + key for key in inputs}
    for key in inputs:
        expected = row_evaluator.differentiate(forward, inputs, adjoints, key)
        assert_near(actual["d" + key], expected, DIFFERENCES + CONSTANTS)


def test_layer_norm_linear_by_hand(build):
    """The formulas of docs/layer-norm-linear.md, with the products that one would write."""
    program = linear_programs.LAYER_NORM_LINEAR
    forward = opt(build, program.text(), "--canonicalize")
    gradient = opt(build, forward, "--lnbwd-differentiate=of=out saved=mean,rstd")
    inputs, (dout,) = program.inputs(), program.adjoints().values()
    outputs = row_evaluator.evaluate(forward, inputs)
    actual = row_evaluator.evaluate(gradient, {**inputs, **outputs, "dout": dout})

    x, gamma, beta, w = (inputs[name] for name in ("x", "gamma", "beta", "w"))
    mean, rstd = x.mean(axis=1), 1 / np.sqrt(x.var(axis=1) + 1e-5)
    xhat = (x - mean[:, None]) * rstd[:, None]
    assert_near(outputs["out"], (xhat * gamma + beta) @ w.T + inputs["b"], CONSTANTS)
    dz = dout @ w
    wdy = dz * gamma
    c1, c2 = (wdy * xhat).mean(axis=1)[:, None], wdy.mean(axis=1)[:, None]
    expected = {"dx": rstd[:, None] * (wdy - xhat * c1 - c2), "dgamma": (dz * xhat).sum(axis=0),
                "dbeta": dz.sum(axis=0), "db": dout.sum(axis=0),
                "dw": dout.T @ (xhat * gamma + beta)}
    assert set(actual) == set(expected)
    for name, value in expected.items():
        assert_near(actual[name], value, CONSTANTS)
