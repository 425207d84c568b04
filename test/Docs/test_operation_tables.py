# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tables of named operations are those that LNBwdNorms.td declares, and the text that is
written from them is what the compiler takes."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("LNBWD_BUILD_DIR", ROOT / "build")).resolve()
sys.path.insert(0, str(ROOT / "python"))

from lnbwd import operations  # noqa: E402
from lnbwd.core.base.operations import OPERATIONS, buffer_type, mlir  # noqa: E402

LLVM = pathlib.Path(os.environ.get("LNBWD_LLVM_DIR", "/usr/lib/llvm-22"))


def test_tables_are_those_of_the_declaration():
    if not shutil.which(LLVM / "bin" / "llvm-tblgen"):
        pytest.skip("no llvm-tblgen")
    result = subprocess.run([sys.executable, ROOT / "scripts" / "generate-tables.py", "--check",
                             "--llvm", LLVM], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("op", OPERATIONS.values(), ids=lambda op: op.name)
def test_forward_and_gradient_belong_together(op):
    other = OPERATIONS[op.counterpart]
    assert other.counterpart == op.name and other.is_forward != op.is_forward
    forward, gradient = (op, other) if op.is_forward else (other, op)
    # Each input has a gradient among the outputs; a residual's is dresidual.
    for operand in forward.operands:
        if not operand.is_output:
            assert gradient.find(f"d{operand.name}", True), operand.name


@pytest.mark.parametrize("op", OPERATIONS.values(), ids=lambda op: op.name)
def test_the_compiler_takes_what_is_written(op):
    # Gradients read x or y, and beta with y.
    types = {o.name: buffer_type(o.role.kind, "f32", [48]) for o in op.operands
             if o.is_output or op.is_forward or o.name not in ("y", "beta")}
    text = mlir(op.name, types, ["epsilon = 1.0e-6 : f64"], function="f")
    printed = subprocess.run([BUILD / "bin" / "lnbwd-opt", "-"], input=text, text=True, check=True,
                             capture_output=True).stdout
    assert f"lnbwd.{op.name}" in printed and "@f" in printed


@pytest.mark.parametrize("op,types,words", [
    ("softmax", {}, "op: expected one of layer_norm"),
    (operations.RMS_NORM, {"y": "memref<?x8xf32>"}, "always x"),
    (operations.RMS_NORM, {"x": "memref<?x8xf32>", "beta": "memref<8xf32>"}, "some of x, residual"),
])
def test_wrong_operands_are_named(op, types, words):
    with pytest.raises(ValueError, match=words):
        mlir(op, types)


def test_types_of_buffers():
    assert buffer_type("column", "f16", [4, 6]) == "memref<4x6xf16>"
    assert buffer_type("row_scalar", "f32", [8], leading=["?", 3]) == "memref<?x3xf32>"
    assert (buffer_type("row_block", "bf16", [8], leading=["?", 3], stride=10)
            == "memref<?x3x8xbf16, strided<[30, 10, 1]>>")
