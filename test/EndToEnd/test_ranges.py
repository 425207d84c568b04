# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values near the ends of their types' ranges, on the simulated chips: rows whose squares float32
does not hold, and f16 gradients below the normal numbers."""

import numpy as np
import pytest

import compiling
import device as devices
import family
import reference
from lnbwd import operations

LENGTH, OUTPUTS = 96, 100


@pytest.fixture(scope="session")
def runtime(build):
    return devices.Runtime(build)


def rounded(values: np.ndarray, element: str) -> np.ndarray:
    return devices.decode(devices.encode(values.ravel(), element), element).reshape(values.shape)


def element_of(role, dtype: str) -> str:
    return "f32" if role.kind == "row_scalar" else dtype


def operands_of(op: str, statistics: str = "saved") -> list[operations.Operand]:
    """Those of an operation of x, without a residual."""
    operation = operations.OPERATIONS[op]
    absent = {"residual", "sum", "dsum", "dresidual"}
    if not operation.is_forward:
        absent |= {"y"} if operation.has_product else {"y", "beta"}
    if not operation.is_forward and statistics == "recomputed":
        absent |= {"mean", "rstd"}
    return [operand for operand in operation.operands if operand.name not in absent]


def launch(build, runtime, chip, file, op, dtype, inputs, rows, statistics="saved"):
    """The outputs, decoded, beside those in float64."""
    types = {o.name: operations.buffer_type(o.role.kind, element_of(o.role, dtype),
                                            o.role.row(LENGTH, OUTPUTS))
             for o in operands_of(op, statistics)}
    compiling.compile_to(file, build, operations.mlir(op, types, ["epsilon = 1.0e-5 : f64"]), chip)
    kernel = devices.Kernel(runtime.open("sim", chip), file)
    read = {o.name: o.role for o in operands_of(op, statistics) if not o.is_output}
    bits = {name: devices.encode(inputs[name].ravel(), element_of(role, dtype))
            for name, role in read.items()}
    written = kernel.launch(rows, bits)
    expected, terms = reference.evaluate(op, {name: inputs[name] for name in read}, rows, LENGTH,
                                         output_columns=OUTPUTS)
    for operand in operands_of(op, statistics):
        if operand.is_output:
            name, element = operand.name, element_of(operand.role, dtype)
            actual = devices.decode(written[name], element).reshape(expected[name].shape)
            yield name, element, actual, expected[name], terms[name]


def make_inputs(op: str, dtype: str, rows: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(rows)
    inputs = {}
    for operand in operations.OPERATIONS[op].operands:
        role = operand.role
        leading = () if role.kind == "column" else (rows,)
        shape = leading if role.kind == "row_scalar" else (*leading, *role.row(LENGTH, OUTPUTS))
        values = rng.standard_normal(shape)
        if operand.name == "w":
            values /= np.sqrt(LENGTH)
        inputs[operand.name] = rounded(values, element_of(role, dtype))
    return inputs


COMPUTING = [(op, "saved" if operation.is_forward else "recomputed")
             for op, operation in operations.OPERATIONS.items()
             if operation.is_forward or not operation.has_product]


@pytest.mark.sample(chip=("gfx942", "gfx1201"), dtype=("f32", "bf16"),
                    computing={case: case[0] for case in COMPUTING})
def test_rows_whose_squares_float32_does_not_hold(build, runtime, tmp_path, chip, dtype,
                                                  computing):
    """They are NaN, and no zeros that look right; the other rows are what they are."""
    op, statistics = computing
    rows, lost = 3, 1
    inputs = make_inputs(op, dtype, rows)
    inputs["x"][lost] = rounded(inputs["x"][lost] * 1e25, dtype)
    for name, element, actual, expected, terms in launch(
            build, runtime, chip, tmp_path / "kernel.hsaco", op, dtype, inputs, rows,
            statistics=statistics):
        if name == "mean":
            assert np.isfinite(actual).all()
            continue
        is_sum = operations.ROLES[name].kind == "column"
        # dbeta and db are of what comes in alone.
        is_lost = np.zeros(expected.shape, bool)
        if name not in ("dbeta", "db"):
            is_lost[... if is_sum else lost] = True
        assert np.isnan(actual[is_lost]).all(), name
        allowed = family.allowed_error(name, element, expected[~is_lost], terms)
        error = np.abs(actual[~is_lost] - expected[~is_lost]).max(initial=0)
        assert error <= allowed, (name, error, allowed)


@pytest.mark.sample(chip=family.AMD_CHIPS, op=("layer_norm_linear_bwd", "rms_norm_linear_bwd"))
def test_f16_gradients_below_the_normal_numbers(build, runtime, tmp_path, chip, op):
    """gfx90a's instruction for f16 would take most of them for 0, and be wrong by half."""
    rows = 64
    forward = operations.OPERATIONS[op].counterpart
    inputs = make_inputs(op, "f16", rows) | make_inputs(forward, "f16", rows)
    read = {o.name: inputs[o.name] for o in operands_of(forward) if not o.is_output}
    saved, _ = reference.evaluate(forward, read, rows, LENGTH, output_columns=OUTPUTS)
    inputs |= {name: rounded(saved[name], "f32") for name in ("mean", "rstd") if name in saved}
    inputs["dout"] = rounded(inputs["dout"] * 2e-5, "f16")
    for name, element, actual, expected, terms in launch(
            build, runtime, chip, tmp_path / "kernel.hsaco", op, "f16", inputs, rows):
        # Sums of products have the floor of docs/numerics.md, of 8 roundings.
        allowed = family.allowed_error(name, element, expected, 2 * terms)
        error = np.abs(actual - expected).max()
        assert error <= allowed, (name, error, allowed)


def test_f16_products_of_a_chip_that_flushes_are_float32(build):
    """bf16's are not: what is flushed of them is below 1e-38. Nor are f16's elsewhere."""
    def instructions(chip, dtype):
        types = {o.name: operations.buffer_type(o.role.kind, element_of(o.role, dtype),
                                                o.role.row(LENGTH, OUTPUTS))
                 for o in operands_of("layer_norm_linear")}
        code = compiling.compile_text(
            build, operations.mlir("layer_norm_linear", types, ["epsilon = 1.0e-5 : f64"]), chip,
            form="isa").decode()
        return {word for word in code.split() if word.startswith(("v_mfma", "v_dot2"))}

    assert instructions("gfx90a", "f16") == {"v_mfma_f32_16x16x4f32"}
    assert instructions("gfx90a", "bf16") == {"v_mfma_f32_16x16x16bf16_1k"}
    assert instructions("gfx942", "f16") == {"v_mfma_f32_16x16x16_f16"}
