# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Row programs with matrices in one workgroup, one launch for a pass: executed on the simulated
chips beside float64, with all checks of the simulator."""

import json
import subprocess

import pytest

import device as devices
import family
import linear_programs
from test_linear_kernels import check_program

from lnbwd import operations

OPS = tuple(name for name, op in operations.OPERATIONS.items() if op.has_product)


@pytest.fixture(scope="session")
def runtime(build):
    return devices.Runtime(build)


@pytest.mark.parametrize("name", linear_programs.NAMES)
@pytest.mark.parametrize("chip", family.AMD_CHIPS)
def test_programs(build, runtime, tmp_path, chip, name):
    """Forward and derived gradient; no rows, one, a whole turn, and one behind it that is not."""
    program = linear_programs.build(name, 8, 16)
    check_program(build, runtime, tmp_path, program, chip, (0, 1, 16, 37),
                  options="few-rows=always")
    for direction in ("forward", "backward"):
        kernel = devices.Kernel(runtime.open("sim", chip), tmp_path / f"{direction}.hsaco")
        assert [each["grid"] for each in kernel.plan["kernels"]] == [[1, 1, 1]]
        assert kernel.plan["workspace"] == []


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32"])
@pytest.mark.parametrize("chip", family.AMD_CHIPS)
def test_ragged(build, runtime, tmp_path, chip, dtype):
    """Several elements for a work-item, chains in long sums, sizes that nothing divides."""
    program = linear_programs.build("layer_norm_linear", 70, 33, dtype)
    check_program(build, runtime, tmp_path, program, chip, (5, 21), options="few-rows=always")


def text_of(op, k, n, dtype):
    """A named operation, all of its operands there."""
    operation = operations.OPERATIONS[op]
    types = {operand.role.name: operations.buffer_type(
        operand.role.kind, "f32" if operand.role.kind == "row_scalar" else dtype,
        operand.role.row(k, n)) for operand in operation.operands}
    return operations.mlir(op, types, [])


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("chip", family.AMD_CHIPS)
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
