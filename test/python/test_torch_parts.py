# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Row programs with operands that lack dimensions of their rows, and rows of several dimensions."""

import pytest
import torch

import lnbwd
from lnbwd.program.evaluation import evaluate
from lnbwd.program.mlir import mlir
from lnbwd.program.operands import Input, Output
from lnbwd.program.row_program import Builder, RowProgram

pytestmark = pytest.mark.compiler


def test_parts_as_text_and_by_pytorch():
    groups, channels, places = 4, 2, 12
    length = channels * places
    b = Builder(length)
    x, scale, shift = (b.add("input", place) for place in range(3))
    mean = b.add("mul", b.add("row_sum", x), b.constant(1 / length))
    y = b.add("add", b.add("mul", b.add("sub", x, mean), scale), shift)
    program = b.finish(None, [
        Input("row", "f32"), Input("part", "f32", ((places, groups * channels),)),
        Input("part", "f32", ((length, groups),))], [Output("row", "f32", y)])
    assert RowProgram.from_text(program.text()) == program
    x, scale, shift = (torch.randn(size) for size in (3 * groups * length, groups * channels,
                                                      groups))
    rows = x.reshape(-1, length)
    centred = (rows - rows.mean(1, True)).reshape(3, groups, channels, places)
    expected = centred * scale.reshape(1, groups, channels, 1) + shift.reshape(1, groups, 1, 1)
    result, = evaluate(program, [x, scale, shift])
    torch.testing.assert_close(result, expected.reshape(-1, length))
    with lnbwd.simulate():
        lnbwd.regions_op.register_row_program(program)
        result, = torch.ops.lnbwd._region([rows, scale, shift], program.text())
    torch.testing.assert_close(result, expected.reshape(-1, length), rtol=1e-5, atol=1e-5)


def test_a_part_with_a_number_for_each_row_is_a_row_scalar():
    """To the compiler, which has two row dimensions here for the sake of the strided part."""
    b = Builder(32)
    x, factor, shift = (b.add("input", place) for place in range(3))
    program = b.finish(36, [
        Input("row", "f32"), Input("part", "f32", ((576, 2, 23), (32, 18, 1))),
        Input("part", "f32", ((576, 2), (32, 18)))],
        [Output("row", "f32", b.add("add", b.add("mul", x, factor), shift))])
    operands = [torch.randn(36, 32), torch.randn(41), torch.randn(36)]
    with lnbwd.simulate():
        registered = lnbwd.regions_op.register_row_program(program)
        lnbwd.regions_op.load_kernel(registered, torch.device("cpu"))  # It is the one expected.
        result, = torch.ops.lnbwd._region(operands, registered.text)
    torch.testing.assert_close(result, evaluate(program, operands)[0])


@pytest.mark.parametrize("parts", [((80, 2, 80), (1, 80, 1)), ((80, 2, 1), (1, 80, 2))])
def test_a_single_row_all_of_whose_blocks_are_parts(parts):
    b = Builder(160)
    x = b.add("input", 0)
    y = b.add("sub", x, b.add("row_max", x))
    program = b.finish(1, [Input("part", "f32", parts)], [Output("row", "f32", y, 1, parts)])
    x = torch.randn(160)
    with lnbwd.simulate():
        registered = lnbwd.regions_op.register_row_program(program)
        lnbwd.regions_op.load_kernel(registered, x.device)
        result, = torch.ops.lnbwd._region([x], registered.text)
    torch.testing.assert_close(result, evaluate(program, [x])[0])


def test_parts_that_are_no_dimensions_are_refused():
    b = Builder(24)
    y = b.add("mul", b.add("input", 0), b.add("input", 1))
    program = b.finish(None, [Input("row", "f32"), Input("part", "f32", ((5, 3),))],
                       [Output("row", "f32", y)])
    with pytest.raises(ValueError, match=r"dimensions of 24 columns.* got parts of 3$"):
        mlir(program)
