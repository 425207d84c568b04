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
import linear_programs
import reference
import row_evaluator
from lnbwd import operations
from test_linear_kernels import compile_text, run

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
        absent |= {"y", "beta"}
    if not operation.is_forward and statistics == "recomputed":
        absent |= {"mean", "rstd"}
    return [operand for operand in operation.operands if operand.name not in absent]


def launch(build, runtime, chip, file, op, dtype, inputs, rows, statistics="saved"):
    """The outputs, decoded, beside those in float64."""
    types = {o.name: operations.buffer_type(o.role.kind, element_of(o.role, dtype), [LENGTH])
             for o in operands_of(op, statistics)}
    compiling.compile_to(file, build, operations.mlir(op, types, ["epsilon = 1.0e-5 : f64"]), chip)
    kernel = devices.Kernel(runtime.open("sim", chip), file)
    read = {o.name: o.role for o in operands_of(op, statistics) if not o.is_output}
    bits = {name: devices.encode(inputs[name].ravel(), element_of(role, dtype))
            for name, role in read.items()}
    written = kernel.launch(rows, bits)
    expected, terms = reference.evaluate(op, {name: inputs[name] for name in read}, rows, LENGTH)
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
        shape = leading if role.kind == "row_scalar" else (*leading, LENGTH)
        inputs[operand.name] = rounded(rng.standard_normal(shape), element_of(role, dtype))
    return inputs


COMPUTING = [(op, "saved" if operation.is_forward else "recomputed")
             for op, operation in operations.OPERATIONS.items()]


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
        # dbeta is of what comes in alone.
        is_lost = np.zeros(expected.shape, bool)
        if name != "dbeta":
            is_lost[... if is_sum else lost] = True
        assert np.isnan(actual[is_lost]).all(), name
        allowed = family.allowed_error(name, element, expected[~is_lost], terms)
        error = np.abs(actual[~is_lost] - expected[~is_lost]).max(initial=0)
        assert error <= allowed, (name, error, allowed)


@pytest.mark.sample(chip=family.AMD_CHIPS, name=("layer_norm_linear", "rms_norm_linear"))
def test_f16_gradients_below_the_normal_numbers(build, runtime, tmp_path, chip, name):
    """gfx90a's instruction for f16 would take most of them for 0, and be wrong by half."""
    rows, file = 64, tmp_path / "kernel.hsaco"
    program = linear_programs.build(name, LENGTH, OUTPUTS, "f16")
    saved = ",".join(program.scalar_outputs)
    backward = compile_text(build, program.text(), chip, file,
                            f"--lnbwd-differentiate=of=out saved={saved}")
    narrow = {*program.rows, *program.matrices}
    inputs = {name: rounded(value, "f16" if name in narrow else "f32")
              for name, value in program.inputs(rows).items()}
    forward = compiling.run_passes(build, program.text(), "--canonicalize")
    computed = {name: rounded(value, "f32")
                for name, value in row_evaluator.evaluate(forward, inputs).items()}
    (dout,) = program.adjoints(rows).values()
    known = {**inputs, **computed, "dout": rounded(dout * 2e-5, "f16")}
    expected = row_evaluator.evaluate(backward, known)
    for name, actual in run(runtime, chip, file, rows, known).items():
        values = expected[name]
        error = np.abs(actual.reshape(values.shape) - values).max()
        # A subnormal number of f16 is off by half of the least, a sum of some by a few roundings.
        assert error <= 3e-3 * np.abs(values).max() + 2.0 ** -25, (name, error)


def test_f16_products_of_a_chip_that_flushes_are_float32(build):
    """bf16's are not: what is flushed of them is below 1e-38. Nor are f16's elsewhere."""
    def instructions(chip, dtype):
        program = linear_programs.build("layer_norm_linear", LENGTH, OUTPUTS, dtype)
        code = compiling.compile_text(build, program.text(), chip, form="isa").decode()
        return {word for word in code.split() if word.startswith(("v_mfma", "v_dot2"))}

    assert instructions("gfx90a", "f16") == {"v_mfma_f32_16x16x4f32"}
    assert instructions("gfx90a", "bf16") == {"v_mfma_f32_16x16x16bf16_1k"}
    assert instructions("gfx942", "f16") == {"v_mfma_f32_16x16x16_f16"}
