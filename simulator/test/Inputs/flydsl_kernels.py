# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""FlyDSL's kernels under the pytest plugin: one is right, and two are not."""

import flydsl.compiler as flyc
import flydsl.expr as fx
import pytest
import torch


def element(tensor, block, lane):
    """The element of a lane, of blocks of 64."""
    part = fx.slice(fx.logical_divide(tensor, fx.make_layout(64, 1)), (None, block))
    return fx.slice(fx.logical_divide(part, fx.make_layout(1, 1)), (None, lane))


@flyc.kernel
def double(x: fx.Tensor, y: fx.Tensor):
    block, lane = fx.block_idx.x, fx.thread_idx.x
    copy = fx.make_copy_atom(fx.UniversalCopy32b(), fx.Float32)
    value = fx.make_rmem_tensor(1, fx.Float32)
    fx.copy_atom_call(copy, element(x, block, lane), value)
    v = fx.memref_load_vec(value)
    fx.memref_store_vec(fx.arith.addf(v, v), value)
    fx.copy_atom_call(copy, value, element(y, block, lane))


@flyc.jit
def launch(x: fx.Tensor, y: fx.Tensor, blocks: fx.Int32,
           stream: fx.Stream = fx.Stream(None)):  # noqa: B008
    double(x, y).launch(grid=(blocks, 1, 1), block=[64, 1, 1], stream=stream)


@pytest.mark.parametrize("n, written", [(128, True), (100, True), (128, False)],
                         ids=["right", "beyond", "unwritten"])
def test_double(n, written):
    x = torch.rand(n, device="cuda") if written else torch.empty(n, device="cuda")
    y = torch.empty(n, device="cuda")
    launch(x, y, 2)
    assert torch.equal(y, x + x)
