# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Regions with operands that lack dimensions of their rows, and rows of several dimensions: the
group norm of images, a layer norm over channels and places, learned positions, masks that heads
share."""

import pytest
import torch
from captured import check_against_double, run_captured, taken
from torch import nn

import lnbwd
from lnbwd.row_evaluation import evaluate
from lnbwd.row_mlir import mlir
from lnbwd.rowprogram import Builder, Input, Output, RowProgram

aten = torch.ops.aten
pytestmark = [pytest.mark.compiler, pytest.mark.usefixtures("fresh_regions")]


class PositionNorm(nn.Module):
    """A norm of what learned positions are added to."""

    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(64)
        self.positions = nn.Parameter(torch.randn(1, 16, 64))

    def forward(self, x):
        return self.norm(x + self.positions)


class MaskedSoftmax(nn.Module):
    """The softmax of attention's heads, with a mask and a slope for each head."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mask", torch.randn(1, 1, 16, 32))
        self.register_buffer("slope", torch.rand(3, 1, 1))

    def forward(self, x):
        return torch.softmax(x * self.slope + self.mask, -1)


class SampleMaskedSoftmax(nn.Module):
    """The softmax of attention's heads, with a mask for each sample."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mask", torch.randn(2, 1, 16, 32).masked_fill(
            torch.arange(32) % 3 > 1, -torch.inf))

    def forward(self, x):
        return torch.softmax(x + self.mask, -1)


def image(*shape):
    return torch.randn(shape)


# The model, its input, and the row sums of the regions that are taken, forward and backward. What
# is left of the gradients of a weight and a group norm sums over few rows.
CASES = {
    "group norm": (lambda: nn.GroupNorm(4, 16), image(3, 16, 6, 10), [1, 2]),
    "of a group": (lambda: nn.Sequential(nn.GroupNorm(2, 8), nn.SiLU()), image(5, 8, 16, 16), [1]),
    "as many channels as rows": (lambda: nn.GroupNorm(4, 16), image(4, 16, 4, 8), [1, 2]),
    "layer norm": (lambda: nn.LayerNorm([4, 8, 8]), image(5, 4, 8, 8), [1, 2]),
    "positions": (PositionNorm, image(3, 16, 64), [1, 2, 0]),
    "softmax": (MaskedSoftmax, image(2, 3, 16, 32), [2, 1]),
    "masks of samples": (SampleMaskedSoftmax, image(2, 3, 16, 32), [2, 1]),
}


@pytest.mark.parametrize("name", CASES)
def test_operands_that_lack_dimensions(device, name, request):
    if name == "positions":  # The gradient of a few samples' is summed in one kernel with it.
        request.getfixturevalue("always_taken")
    make, x, row_sums = CASES[name]
    torch.manual_seed(3)
    model = make().to(device)
    x = x.to(device).requires_grad_()
    compiled = torch.compile(model, backend="lnbwd")
    tensors = [x, *model.parameters()]
    weight = torch.randn_like(x)
    wanted = torch.autograd.grad((model(x) * weight).sum(), tensors)
    y = compiled(x)
    torch.testing.assert_close(y, model(x), rtol=1e-5, atol=1e-5)
    found = torch.autograd.grad((y * weight).sum(), tensors)
    for gradient, expected in zip(found, wanted, strict=True):
        torch.testing.assert_close(gradient, expected, rtol=1e-4, atol=1e-4)
    assert [region.row_sums for region in taken()] == row_sums


@pytest.mark.parametrize("window", [None, 5])
@pytest.mark.parametrize("begin", [0, 3])
def test_a_mask_of_indices_is_computed_in_place(device, window, begin):
    """A causal mask, padded by nothing, is no tensor in memory, nor is one of a window."""
    def function(x):
        rows = torch.arange(16, device=x.device)[begin:].view(1, 1, -1, 1)
        samples, keys = torch.arange(2, device=x.device), torch.arange(32 - begin, device=x.device)
        padding = torch.ones(2, 32 - begin, dtype=torch.bool, device=x.device)
        mask = (keys.view(1, 1, 1, -1) <= rows) & padding[
            samples.view(-1, 1, 1, 1), keys.view(1, 1, 1, -1)]
        if window:
            mask &= keys.view(1, 1, 1, -1) > rows - window
        mask = mask.expand(2, 1, 16 - begin, 32 - begin)
        return (torch.softmax(x * 0.25 + torch.where(mask, 0.0, -torch.inf), -1),)

    x = image(2, 3, 16 - begin, 32 - begin).to(device)
    check_against_double(function, [x], tolerance=1e-6)
    [region] = taken()
    assert [operand.kind for operand in region.program.inputs] == ["row"]


@pytest.mark.parametrize("width", [4, 32])
def test_gates_in_another_order_than_the_rows(device, width, always_taken):
    """Those of tokens for each expert, whose results are added up by expert."""
    def function(x, gates):
        by_expert = torch.sigmoid(gates).permute(1, 0).clone(memory_format=torch.contiguous_format)
        return (x.view(-1, width).mul(by_expert.view(-1, 1)).view(x.shape).sum(0),)

    check_against_double(function, [image(16, 64, width).to(device), image(64, 16).to(device)],
                         tolerance=1e-5)
    [region] = taken()
    assert [i.is_strided for i in region.program.inputs] == [False, True]


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32])
def test_a_mask_of_packed_sequences_is_computed_in_place(device, dtype):
    """Rows see what has their sequence's number, all of whose bits count, and is no later."""
    def function(x, numbers):
        samples = torch.arange(2, device=x.device).view(-1, 1, 1, 1)
        rows = torch.arange(32, device=x.device)
        rows, keys = rows.view(1, 1, -1, 1), rows.view(1, 1, 1, -1)
        mask = (numbers[samples, rows] == numbers[samples, keys]) & (keys <= rows)
        mask &= (rows - keys).abs() < 20
        return (torch.softmax(x + torch.where(mask, 0.0, -torch.inf), -1),)

    bits = dtype.itemsize * 8
    values = torch.tensor([0, 1, 1 << 24, (1 << bits - 1) - 1, -1, -(1 << bits - 1),
                           1 << bits - 2, (1 << bits - 2) + 1], dtype=dtype)
    numbers = torch.stack([values.repeat(4), values.repeat_interleave(4)]).to(device)
    x = image(2, 16, 32, 32).to(device)
    got, captured = run_captured(function, x, numbers)
    torch.testing.assert_close(got[0], function(x, numbers)[0], rtol=1e-5, atol=1e-6)
    [region] = taken()
    assert {i.kind for i in region.program.inputs} > {"row"}
    assert not any(i.dtype == "i8" for i in region.program.inputs)
    [graph] = captured.graphs
    graph.eliminate_dead_code()
    assert max(n.meta["val"].numel() for n in graph.nodes if isinstance(
        n.meta.get("val"), torch.Tensor) and n.meta["val"].dtype != x.dtype) == numbers.numel()


def test_what_few_numbers_give_is_computed_where_it_is_spread(device):
    """Of channels, samples and both, along rows of places: no kernel in front writes it."""
    def function(x, gain, variance, gate):
        scale = gain * torch.rsqrt(variance + 1e-5)
        y = x * scale[:, None, None] + torch.sigmoid(gate)[:, :, None, None]
        return y, y.sum((2, 3))

    x, gate = image(3, 16, 6, 10).to(device), image(3, 16).to(device)
    gain, variance = image(16).to(device), torch.rand(16).to(device)
    captured = check_against_double(function, [x, gain, variance, gate], tolerance=1e-5)
    [region] = taken()
    assert sorted(i.kind for i in region.program.inputs) == ["part", "part", "row", "scalar"]
    [graph] = captured.graphs
    graph.eliminate_dead_code()  # As Inductor does.
    assert aten.rsqrt.default not in {node.target for node in graph.nodes}


def test_what_more_numbers_give_is_computed_in_front(device):
    def function(x, *weights):
        y = x * sum(weights)[:, None, None]
        return y, y.sum((2, 3))

    x, weights = image(3, 16, 6, 10).to(device), [image(16).to(device) for _ in range(4)]
    check_against_double(function, [x, *weights], tolerance=1e-5)
    [region] = taken()
    assert [i.kind for i in region.program.inputs] == ["row", "part"]


def test_a_softmax_that_is_safe_for_rows_without_any(device):
    def function(x, mask):
        z = x + mask
        return (torch.where((z == -torch.inf).all(-1, True), 0, torch.softmax(z, -1)),)

    x, mask = image(2, 3, 16, 32).to(device), torch.zeros(2, 1, 16, 32, device=device)
    mask[0, 0, :, 7:], mask[1, 0, 3] = -torch.inf, -torch.inf
    x[0, 1, 2, 3], x[1, 2, 5, 6], x[1, 1, 6, 6] = torch.nan, torch.inf, -torch.inf
    (got,), _ = run_captured(function, x, mask)
    torch.testing.assert_close(got, function(x, mask)[0], equal_nan=True)
    assert [region.row_sums for region in taken()] == [3]


def test_a_number_for_each_part_of_a_row(device):
    def function(x, mean, scale):
        y = (x - mean) * scale
        return y, y.sum(0)

    check_against_double(function, [image(*shape).to(device) for shape in (
        (24, 16, 8), (24, 16, 1), (24, 16, 1))])
    assert [region.program.length for region in taken()] == [128]


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
