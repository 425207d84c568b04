# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random numbers drawn in row programs: kernels and PyTorch's operations draw the same bits."""

import pytest
import torch

import lnbwd
from lnbwd import regions_op
from lnbwd.rowprogram import Builder, Input, Output, RowProgram


def dropout(n: int, rows: int | None = None, groups: int | None = None) -> RowProgram:
    """x without a tenth of its elements, plus the sum of the row; the mask; with groups, x is
    multiplied by a column of the group first."""
    b = Builder(n)
    x, seed = b.add("input", 0), b.add("input", 2 if groups else 1)
    if groups:
        x = b.add("mul", x, b.add("input", 1))
    mask = b.add("gt", b.add("random", seed), b.constant(0.1))
    kept = b.add("select", mask, x, b.constant(0))
    y = b.add("add", kept, b.add("row_sum", kept))
    column = [Input("group_column", "f32")] if groups else []
    return b.finish(rows, [Input("row", "f32"), *column, Input("number", "i64")],
                    [Output("row", "f32", y), Output("row", "i8", mask)], groups)


# Two seeds beyond 32 bits; one negative.
@pytest.mark.parametrize("seed", [0, 1 << 40 | 12345, -(1 << 62) - 7])
@pytest.mark.parametrize("n, rows, groups", [(64, None, None), (1000, None, None), (96, 12, 3)])
@pytest.mark.parametrize("chip", ["gfx942", "gfx1201"])
def test_kernels_draw_the_same_bits(chip, n, rows, groups, seed):
    program = dropout(n, rows, groups)
    assert RowProgram.from_text(program.text()) == program
    registered = regions_op.register_row_program(program)
    # A number may be an element of another tensor, at an address that rows could not have.
    seeds = torch.tensor([1, seed])
    x = torch.randint(-8, 9, (groups or 3, 4, n)).float() / 8
    column = [torch.randint(-4, 5, (groups, n)).float()] if groups else []
    inputs = [x, *column, seeds[1]]
    with lnbwd.simulate(chip):
        y, mask = torch.ops.lnbwd._region(inputs, registered.text)
    wanted, wanted_mask = program.evaluate(inputs)
    torch.testing.assert_close(mask.reshape(-1), wanted_mask.reshape(-1), rtol=0, atol=0)
    torch.testing.assert_close(y.reshape(-1), wanted.reshape(-1), rtol=0, atol=0)
    assert 0.8 < mask.float().mean() < 1


def test_known_answer():
    """The first word of Random123's known answers for philox4x32-10, of zeros."""
    program = dropout(16)
    builder = Builder(16)
    builder.nodes = list(program.nodes)
    draw = next(i for i, node in enumerate(program.nodes) if node[0] == "random")
    drawn = builder.finish(None, program.inputs, [Output("row", "f32", draw)])
    [value] = drawn.evaluate([torch.zeros(1, 16), torch.tensor(0)])
    assert value[0, 0] == torch.tensor(0x6627E8D5).to(torch.float32) * 4.6566127342e-10


def test_groups_of_unknown_sizes_are_refused():
    program = dropout(96, None, 3)
    with pytest.raises(ValueError, match="known number of rows in a group"):
        program.mlir()
