# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients of row programs with products of matrices: derived, and evaluated in float64."""

import numpy as np
import pytest

import compiling
import linear_programs
import row_evaluator

M = 3
# Of central differences in float64 with a step of 1e-5: their own error is the step's square
# times a third derivative, and the rounding of a loss of some ten, 1e-15, over the step.
DIFFERENCES = 1e-8
# Constants that a program keeps in float32 (1/N) are not the reference's.
CONSTANTS = 1e-7


def derive(build, program, options: str) -> str:
    if not options.startswith("saved") and program.scalar_outputs:
        options = f"saved={','.join(program.scalar_outputs)} {options}"
    options = f"of={','.join(program.outputs)} {options}"
    return compiling.run_passes(build, program.text(), f"--lnbwd-differentiate={options}")


def evaluate(build, program, gradient: str) -> dict[str, np.ndarray]:
    """The outputs of a gradient, of inputs that every call has alike."""
    inputs, adjoints = program.inputs(M), program.adjoints(M)
    forward = compiling.run_passes(build, program.text(), "--canonicalize")
    known = {**inputs, **{"d" + key: value for key, value in adjoints.items()},
             **row_evaluator.evaluate(forward, inputs)}
    return row_evaluator.evaluate(gradient, known)


def assert_near(actual, expected, tolerance):
    assert np.abs(actual - expected).max() <= tolerance * max(1, np.abs(expected).max())


OPTIONS = ["", "simplify=false", "saved=none", "saved=out"]


@pytest.mark.sample(options=OPTIONS, name=linear_programs.NAMES)
def test_gradients_are_those_of_finite_differences(build, name, options):
    program = linear_programs.build(name)
    actual = evaluate(build, program, derive(build, program, options))
    inputs, adjoints = program.inputs(M), program.adjoints(M)
    assert set(actual) == {"d" + key for key in inputs}
    forward = compiling.run_passes(build, program.text(), "--canonicalize")
    for key in inputs:
        expected = row_evaluator.differentiate(forward, inputs, adjoints, key)
        assert_near(actual["d" + key], expected, DIFFERENCES + CONSTANTS)


@pytest.mark.sample(sizes=((1, 5), (6, 1), (1, 1)), name=linear_programs.NAMES)
def test_gradients_of_rows_of_one_element(build, name, sizes):
    """There the algebra takes a row for its sum, and the other rows are longer."""
    program = linear_programs.build(name, *sizes)
    actual = evaluate(build, program, derive(build, program, ""))
    expected = evaluate(build, program, derive(build, program, "simplify=false"))
    for key, value in expected.items():
        assert_near(actual[key], value, CONSTANTS)


def test_layer_norm_linear_by_hand(build):
    """The formulas of docs/python.md, with the products that one would write."""
    program = linear_programs.build("layer_norm_linear")
    gradient = derive(build, program, "")
    inputs, (dout,) = program.inputs(M), program.adjoints(M).values()
    forward = compiling.run_passes(build, program.text(), "--canonicalize")
    outputs = row_evaluator.evaluate(forward, inputs)
    actual = evaluate(build, program, gradient)

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
