# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Row programs with matrices in one workgroup, one launch for a pass: executed on the simulated
chips beside float64, with all checks of the simulator, and as PTX on the CPU."""

import json
import subprocess

import numpy as np
import pytest

import device as devices
import family
import linear_programs
import ptx_machine
import row_evaluator
from lnbwd import operations
from test_linear_kernels import check, check_program

OPS = tuple(name for name, op in operations.OPERATIONS.items() if op.has_product)


@pytest.fixture(scope="session")
def runtime(build):
    return devices.Runtime(build)


@pytest.mark.sample("each", chip=family.AMD_CHIPS, name=linear_programs.NAMES)
def test_programs(build, runtime, tmp_path, chip, name):
    """Forward and derived gradient; no rows, one, a whole turn, and one behind it that is not."""
    program = linear_programs.build(name, 8, 16)
    check_program(build, runtime, tmp_path, program, chip, (0, 1, 16, 37),
                  options="few-rows=always")
    for direction in ("forward", "backward"):
        kernel = devices.Kernel(runtime.open("sim", chip), tmp_path / f"{direction}.hsaco")
        assert [each["grid"] for each in kernel.plan["kernels"]] == [[1, 1, 1]]
        assert kernel.plan["workspace"] == []


@pytest.mark.sample("each", chip=family.AMD_CHIPS, dtype=("f16", "bf16", "f32"))
def test_ragged(build, runtime, tmp_path, chip, dtype):
    """Several elements for a work-item, chains in long sums, sizes that nothing divides."""
    program = linear_programs.build("layer_norm_linear", 37, 33, dtype)
    check_program(build, runtime, tmp_path, program, chip, (5, 21), options="few-rows=always")


@pytest.mark.parametrize("chip", [pytest.param("gfx942", marks=pytest.mark.full), "gfx1201"])
def test_more_elements(build, runtime, tmp_path, chip):
    """The same with five elements of a matrix for each work-item instead of three, which LLVM
    compiles four times as long: on one chip, and with --full on one of each wave size."""
    program = linear_programs.build("layer_norm_linear", 70, 33)
    check_program(build, runtime, tmp_path, program, chip, (5, 21), options="few-rows=always")


def text_of(op, k, n, dtype):
    """A named operation, all of its operands there."""
    operation = operations.OPERATIONS[op]
    types = {operand.role.name: operations.buffer_type(
        operand.role.kind, "f32" if operand.role.kind == "row_scalar" else dtype,
        operand.role.row(k, n)) for operand in operation.operands}
    return operations.mlir(op, types, [])


@pytest.mark.sample(chip=family.AMD_CHIPS, op=OPS)
def test_the_puzzle(build, tmp_path, chip, op):
    """Batch 4, sequence 4, hidden 8, out 16, float32: chosen for so few rows without being told,
    within 2e-6, and silent in all checks."""
    file = tmp_path / "k.hsaco"
    subprocess.run([build / "bin" / "lnbwd-opt", "-", f"--lnbwd-pipeline=chip={chip} rows=16",
                    "--emit=hsaco", "-o", file], input=text_of(op, 8, 16, "f32"), text=True,
                   check=True, timeout=120)
    result = subprocess.run([build / "bin" / "lnbwd-run", file, "--m", "16", "--verify", "--check",
                             "--shuffle-waves", "3", "--json"], capture_output=True, text=True,
                            check=False, timeout=120)
    assert result.returncode == 0, result.stdout + result.stderr
    report = json.loads(result.stdout)
    for output in report["outputs"]:
        assert output["max_abs_error"] <= 2e-6 * max(1, output["largest_reference"]), output


@pytest.mark.parametrize("rows", [0, 5, 16, 37])
def test_ptx(build, rows):
    """NVIDIA's kernels: no access beyond a buffer, no barrier for some, and right."""
    program = linear_programs.build("layer_norm_linear", 8, 16)
    opt = build / "bin" / "lnbwd-opt"

    def compiled(text, *passes):
        made = subprocess.run([opt, "-", "--canonicalize", *passes], input=text, text=True,
                              check=True, capture_output=True, timeout=60).stdout
        return made, subprocess.run(
            [opt, "-", "--lnbwd-pipeline=chip=sm_90 rows=64", "--emit=ptx", "-o", "-"], input=made,
            text=True, check=True, capture_output=True, timeout=120).stdout

    def run(text, ptx, values):
        expected = row_evaluator.evaluate(text, values)
        bits = {name: devices.encode(value.ravel(), "f32").tobytes()
                for name, value in values.items()}
        found = ptx_machine.launch(ptx, rows, bits)
        check({name: np.frombuffer(value, np.float32).astype(np.float64)
               for name, value in found.items()}, expected, "f32")
        return expected

    def single(values):
        return {name: value.astype(np.float32).astype(np.float64)
                for name, value in values.items()}

    forward, ptx = compiled(program.text())
    inputs = single(program.inputs(rows))
    outputs = run(forward, ptx, inputs)
    backward, ptx = compiled(forward, f"--lnbwd-differentiate=of={','.join(program.outputs)} "
                                      f"saved={','.join(program.scalar_outputs)}")
    run(backward, ptx, single({**inputs, **{name: outputs[name] for name in program.scalar_outputs},
                               **{"d" + name: value
                                  for name, value in program.adjoints(rows).items()}}))
