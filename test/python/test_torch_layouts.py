# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Regions that read tensors as they lie: permuted heads, slices, expanded gradients, channels as
rows; that join tensors or put them among others; and that take rows of a table."""

import math
import re

import pytest
import torch
import torch.nn.functional as F
from captured import Captured, check_against_double, reasons, run_captured, taken
from cases import diagonal

import lnbwd.inductor
from lnbwd import regions_op
from lnbwd.inductor import estimates
from lnbwd.row_mlir import mlir
from lnbwd.rowprogram import Builder, Input, Output, RowProgram

pytestmark = [pytest.mark.compiler, pytest.mark.usefixtures("fresh_regions")]


def normal(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def norm(x):
    return (x - x.mean(-1, keepdim=True)) * torch.rsqrt(x.var(-1, correction=0, keepdim=True) + 1)


def bias_of_heads(x):
    """The gradient of a bias in front of attention: heads are scaled, and put side by side."""
    rows = (x.reshape(2, 3, 5, 16) * 0.5).permute(0, 2, 1, 3).reshape(10, 48)
    return rows, rows.sum(0)


def heads_added(x, heads):
    """Heads that lie in another order than what they are added to."""
    y = norm(x + heads.permute(0, 2, 1, 3))
    return y, y.sum((0, 1, 2))


def after_a_slice(x, weight):
    """All places but the first."""
    return norm(x[:, 1:] * weight)


def saved_slices(x, mask):
    """Arguments with gaps in their memory, as a forward pass saves slices and Inductor pads."""
    return norm(torch.where(mask, x, 0.5)),


def rotated(x, angle):
    """Rotary positions behind a norm of heads."""
    y = norm(x).permute(0, 2, 1, 3)
    turned = torch.cat([-y[..., 8:], y[..., :8]], -1)
    return y * angle.cos() + turned * angle.sin()


def rotated_back(x, angle):
    """The gradient of rotary positions, and of a bias before them."""
    sine = x * angle.sin()
    turned = F.pad(-sine[..., :8], (8, 0)) + F.pad(sine[..., 8:], (0, 8))
    rows = (turned + x * angle.cos()).permute(0, 2, 1, 3).reshape(10, 48)
    return rows, rows.sum(0)


def class_token(token, x):
    """A row in front of those of each sample."""
    y = torch.cat([token.expand(2, 1, 16), x * 2], 1)
    return y, norm(y)


def class_token_summed(token, x):
    """A row for each sample, though all rows are summed as one batch."""
    rows = torch.cat([token, x], 1)
    return rows, rows.reshape(-1, 16).sum(0)


def joined_rows_summed(x, y):
    """No operand has all rows of a sample."""
    return torch.cat([x, y], 1).sum(-1)


def channels_joined(x, y):
    return norm(torch.cat([x, y.abs()], -1))


def padded(x, y):
    return norm(F.pad(x, (0, 0, 1, 2), value=0.5) + y)


def put_at_the_first(gradient, x):
    """The gradient of what the first row alone is used of, beside sums of rows."""
    zeros = torch.zeros_like(x)
    y = torch.select_scatter(zeros, gradient, 1, 0)
    centred = y - y.mean(-1, keepdim=True)
    return centred * x, centred.sum((0, 1))


def spread_gradient(gradient, x):
    """The gradient of a mean over places: a row for each sample."""
    y = gradient.expand(2, 5, 16) * x
    return y, y.sum((0, 1)), (y * x).sum((0, 1))


def biased_scores(x, bias):
    """Softmax with a bias by relative positions, in which heads are innermost."""
    return torch.softmax(x + bias.permute(2, 0, 1), -1)


def sums_of_permuted(x, y):
    """What lies as channels before pixels is summed over all pixels, beside a norm of pixels."""
    x = x.transpose(1, 2)
    return norm(y + x), x.sum((0, 1)), (y * x).sum((0, 1))


def sums_of_a_slice(x, weight):
    """The gradients of a norm of all places but the first."""
    x = x[:, 1:]
    return x.sum((0, 1)), norm(x * weight)


def scaled_channels(x, scale):
    """A factor for each channel, beside sums over the channels of each sample."""
    y = norm(x * scale[:, None])
    return y, y.sum(1)


def windows(x, h):
    """Windows of 2 by 4 pixels of an image, behind a norm whose sum and rows others keep."""
    stream = x + h
    mean = stream.mean(-1, keepdim=True)
    scale = torch.rsqrt((stream - mean).square().mean(-1, keepdim=True) + 1)
    y = ((stream - mean) * scale).reshape(2, 2, 2, 2, 4, 16)
    return stream, scale, y.permute(0, 1, 3, 2, 4, 5).reshape(8, 8, 16)


def some_columns(x, weight):
    """Whole rows with one distance between them."""
    y = norm(x[..., 8:24] * weight)
    return y, y.sum((0, 1))


def heads_side_by_side(q, k, v):
    """The gradient of what heads are cut out of, each behind the other."""
    rows = torch.cat([h.permute(0, 2, 1, 3).reshape(2, 5, 48) for h in (q, k * 0.5, v)], -1)
    return rows, rows.sum((0, 1))


def heads_stacked(q, k, v):
    """The same where they are one dimension."""
    rows = torch.stack([q, k * 0.5, v]).permute(1, 3, 0, 2, 4).reshape(2, 5, 144)
    return rows, rows.sum((0, 1))


def rotated_rows(x, angle):
    """Rotary positions of heads behind a norm of all of them."""
    heads = norm(x).reshape(2, 5, 3, 16).permute(0, 2, 1, 3)
    turned = torch.cat([-heads[..., 8:], heads[..., :8]], -1)
    return heads * angle.cos() + turned * angle.sin()


def windows_of_windows(x):
    """Pixels by windows of 2 by 2 pixels, and those by windows of such."""
    x = x.reshape(3, 4, 2, 4, 2, 16).permute(0, 2, 4, 1, 3, 5).reshape(12, 4, 4, 16)
    x = x.reshape(12, 2, 2, 2, 2, 16).permute(0, 2, 4, 1, 3, 5).reshape(48, 2, 2, 16)
    return norm(x * 0.5)


def patches(x):
    """Patches of 2 by 2 pixels, as mobile vision transformers gather them from channels."""
    x = x.reshape(2 * 16 * 4, 2, 4, 2).transpose(1, 2).reshape(2, 16, 16, 4)
    return norm(x.transpose(1, 3).reshape(8, 16, 16))


def part_of_a_split(x):
    """A latent that stands behind something else."""
    return norm(x.split([24, 16], -1)[1])


CASES = {
    "part of a split": (part_of_a_split, [normal(2, 5, 40)]),
    "some columns": (some_columns, [normal(2, 5, 40), normal(16, seed=1)]),
    "some columns of odd rows": (some_columns, [normal(2, 5, 41), normal(16, seed=1)]),
    "heads side by side": (heads_side_by_side, [normal(2, 3, 5, 16, seed=s) for s in range(3)]),
    "heads stacked": (heads_stacked, [normal(2, 3, 5, 16, seed=s) for s in range(3)]),
    "rotated rows": (rotated_rows, [normal(2, 5, 48), normal(1, 1, 5, 16, seed=1)]),
    "windows of windows": (windows_of_windows, [normal(3, 8, 8, 16)]),
    "patches": (patches, [normal(2, 16, 8, 8)]),
    "bias of heads": (bias_of_heads, [normal(6, 5, 16)]),
    "heads added": (heads_added, [normal(2, 5, 3, 16), normal(2, 3, 5, 16, seed=1)]),
    "slice": (after_a_slice, [normal(2, 6, 16), normal(16, seed=1)]),
    "saved slices": (saved_slices, [normal(2, 6, 16)[:, 1:], normal(2, 6, 16)[:, :5] > 0]),
    "rotated": (rotated, [normal(2, 5, 8, 16), normal(1, 1, 5, 16, seed=1)]),
    "rotated back": (rotated_back, [normal(2, 3, 5, 16), normal(1, 1, 5, 16, seed=1)]),
    "class token": (class_token, [normal(1, 1, 16), normal(2, 4, 16, seed=1)]),
    "class token summed": (class_token_summed, [normal(3, 1, 16), normal(3, 4, 16, seed=1)]),
    "joined rows summed": (joined_rows_summed, [normal(2, 2, 16), normal(2, 4, 16, seed=1)]),
    "channels joined": (channels_joined, [normal(2, 5, 8), normal(2, 5, 16, seed=1)]),
    "expanded": (norm, [normal(3, 1, 5, 16).expand(3, 2, 5, 16)]),
    "padded": (padded, [normal(2, 4, 16), normal(2, 7, 16, seed=1)]),
    "put": (put_at_the_first, [normal(2, 16), normal(2, 5, 16, seed=1)]),
    "biased scores": (biased_scores, [normal(8, 8, 16, 16), normal(16, 16, 8, seed=1)]),
    "sums of permuted": (sums_of_permuted, [normal(2, 16, 40), normal(2, 40, 16, seed=1)]),
    "scaled channels": (scaled_channels, [normal(2, 16, 40), normal(16, seed=1)]),
    "sums of a slice": (sums_of_a_slice, [normal(2, 6, 16), normal(16, seed=1)]),
    "windows": (windows, [normal(2, 32, 16), normal(2, 32, 16, seed=1)]),
    "spread": (spread_gradient, [normal(2, 1, 16), normal(2, 5, 16, seed=1)]),
}


@pytest.mark.parametrize("name", CASES)
def test_tensors_as_they_lie(device, name, request):
    if name in ("rotated rows", "rotated back"):  # By angles that are many beside so few rows.
        request.getfixturevalue("always_taken")
    function, arguments = CASES[name]
    check_against_double(function, [a.to(device) for a in arguments], tolerance=1e-5)
    assert len(taken()) == 1 and not reasons()


def test_nothing_but_windows(device, always_taken):
    """What is moved does not say how long rows are."""
    check_against_double(lambda x: (F.pad(x * 2, (1, 0)).sum(-1),), [normal(8, 16).to(device)])
    assert not taken() and "windows" in reasons()[0]


def stored_as_channels(x, y):
    """A stream that lies as channels before pixels, behind a norm of pixels."""
    return x.transpose(1, 2) + norm(y)


def kept_as_channels(x, y):
    """The same in front of the norm, which sums a copy."""
    stream = x.transpose(1, 2) + y
    return stream, norm(stream.contiguous())


def normalised_in_both(x, y):
    """A norm of a copy, and of what is copied as it lies."""
    stream = x.transpose(1, 2) * 2 + y
    rows = stream.contiguous()
    scale = torch.rsqrt(rows.square().mean(-1, keepdim=True) + 1)
    return rows * scale + 1, stream * scale, scale


def stored_twice(x, y):
    """Rows and a permuted copy of them, beside sums."""
    rows = x * y
    return rows, rows.transpose(1, 2).contiguous(), rows.sum((0, 1))


def viewed_as_channels(x, y):
    """Images that are given as rows."""
    return (x.transpose(1, 2) + norm(y)).transpose(1, 2).reshape(2, 16, 8, 5)


STORED = {
    "behind": (stored_as_channels, [normal(2, 16, 40), normal(2, 40, 16, seed=1)]),
    "in front": (kept_as_channels, [normal(2, 16, 40), normal(2, 40, 16, seed=1)]),
    "both": (normalised_in_both, [normal(2, 16, 40), normal(2, 40, 16, seed=1)]),
    "twice": (stored_twice, [normal(2, 40, 16), normal(2, 40, 16, seed=1)]),
    "viewed": (viewed_as_channels, [normal(2, 16, 40), normal(2, 40, 16, seed=1)]),
}


@pytest.mark.parametrize("name", STORED)
def test_rows_stored_in_another_order(device, monkeypatch, name):
    """Where rows are written as they were is a matter of measurement: the estimate leaves them, but
    for those that torch.compile's kernels read again."""
    function, arguments = STORED[name]
    arguments = [a.to(device) for a in arguments]
    check_against_double(function, arguments, tolerance=1e-5)
    assert len(taken()) == (name == "twice")
    monkeypatch.setattr(estimates.Estimate, "is_worth", property(lambda self: True))
    lnbwd.inductor.decisions(clear=True)
    check_against_double(function, arguments, tolerance=1e-5)
    region, = taken()
    assert any(o.is_strided for o in region.program.outputs) and not reasons()


@pytest.mark.parametrize("name", ["rotated", "class token", "channels joined", "windows"])
def test_gradients(device, monkeypatch, name):
    """Backward passes have the mirror of what joins: slices, and what is put among zeros. All
    regions are taken, whatever they move."""
    monkeypatch.setattr(estimates.Estimate, "is_worth", property(lambda self: True))
    function, arguments = CASES[name]
    leaves = [a.to(device).requires_grad_() for a in arguments]

    def loss(function, leaves):
        results = function(*leaves)
        return sum(y.square().sum() for y in (results if isinstance(results, tuple)
                                              else [results]))

    wanted = torch.autograd.grad(loss(function, leaves), leaves)
    compiled = torch.compile(lambda *leaves: loss(function, leaves), backend=Captured(True).backend)
    found = torch.autograd.grad(compiled(*leaves), leaves)
    for gradient, expected in zip(found, wanted, strict=True):
        torch.testing.assert_close(gradient, expected, rtol=1e-4, atol=1e-4)
    assert taken()


def test_gradient_of_a_norm_of_heads(device):
    """Heads come from attention in another order than those that were normed: the sum over all of
    them is in the kernel of their rows."""
    def function(dy, x, rstd, weight):
        dy, x = dy.permute(0, 2, 1, 3).float(), x.float()
        scaled = dy * weight
        total = (scaled * x).sum(-1, keepdim=True) * rstd ** 3 / 16
        return (scaled * rstd - total * x).contiguous(), (dy * (x * rstd)).sum((0, 1, 2))

    heads, x = normal(2, 3, 5, 16).bfloat16(), normal(2, 5, 3, 16, seed=1).bfloat16()
    check_against_double(function, [t.to(device) for t in (
        heads, x, normal(2, 5, 3, 1, seed=2), normal(16, seed=3))], tolerance=1e-5)
    region, = taken()
    assert (region.row_sums, region.column_sums) == (1, 1) and not reasons()


def test_rows_of_what_each_sample_has(device, monkeypatch):
    """A region reads no row block: the gradient of a mean over places, summed."""
    monkeypatch.setattr(estimates.Estimate, "is_worth", property(lambda self: True))

    def function(x, weight):
        y = x.expand(2, 5, 16) / 5
        return y * weight, y.sum((0, 1))

    check_against_double(function, [normal(2, 1, 16).to(device), normal(16, seed=1).to(device)])
    [region] = taken()
    assert sorted(i.kind for i in region.program.inputs) == ["column", "group_column"]


def test_columns_that_lie_apart(device):
    """Neighbours of a row that are far from each other are loaded with those of other rows, or one
    by one. Where nothing but all rows is summed, torch.compile is faster than that."""
    x = normal(2, 16, 40).to(device)
    check_against_double(lambda x: norm(x.transpose(1, 2).contiguous()), [x], tolerance=1e-5)
    region, = taken()
    assert region.program.inputs[0].is_strided

    def bias(x):
        rows = x.transpose(1, 2).reshape(80, 16)
        return rows, rows.sum(0)

    for operand, count in ((x, 1), (normal(20, 16, 4).to(device), 0)):
        lnbwd.inductor.decisions(clear=True)
        check_against_double(bias, [operand], tolerance=1e-5)
        assert len(taken()) == count


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_numbers_that_are_none_lie_apart(device, bad):
    """In one row, and in no other."""
    x = normal(2, 16, 40)
    x[1, 3, 7] = bad
    found, _ = run_captured(lambda x: (norm(x.transpose(1, 2).contiguous()),), x.to(device))
    torch.testing.assert_close(found[0].cpu(), norm(x.transpose(1, 2)), equal_nan=True)
    assert taken()


@pytest.mark.parametrize("dtype,is_symbol", diagonal(
    [torch.float32, torch.bfloat16], [False, True]))
def test_embedding(device, dtype, is_symbol):
    """The number of samples may be a symbol."""
    def function(index, table, x):
        return norm((F.embedding(index, table) + x).float())

    index = torch.tensor([[3, 0, 6, 6, 1], [5, 2, 4, 3, 0]], device=device)
    arguments = [index, normal(7, 16).to(device, dtype), normal(2, 5, 16, seed=1).to(device, dtype)]
    for tensor in (index, arguments[2]) if is_symbol else ():
        torch._dynamo.mark_dynamic(tensor, 0)
    check_against_double(function, arguments, dynamic=None, tolerance=1e-5)
    assert len(taken()) == 1 and not reasons()
    assert (taken()[0].program.rows is None) == is_symbol
    assert [i.rows for i in taken()[0].program.inputs if i.kind == "table"] == [7]


@pytest.mark.parametrize("rows_of", [lambda t, i: F.embedding(i, t), lambda t, i: t[i]])
def test_rows_of_a_table_that_follow_each_other(device, rows_of):
    """Learned positions: a slice of the table, which is read where it lies."""
    def function(x, table):
        return norm(x + rows_of(table, torch.arange(5, device=x.device) + 2))

    check_against_double(function, [normal(2, 5, 16).to(device), normal(9, 16, seed=1).to(device)])
    [region] = taken()
    assert [i.kind for i in region.program.inputs] == ["row", "part"] and not reasons()


@pytest.mark.parametrize("is_expanded, n", [(False, 16), (True, 16), (False, 8)])
def test_embedding_by_indices_that_samples_share(device, is_expanded, n):
    """There are as many rows as columns, too, or as many in each sample."""
    def function(index, place, table, positions):
        places = place.expand(2, 8) if is_expanded else place
        return norm(F.embedding(index, table) + F.embedding(places, positions))

    index = torch.tensor([[3, 0, 6, 6, 1, 2, 2, 5], [5, 2, 4, 3, 0, 1, 1, 6]], device=device)
    place = torch.tensor([[8, 1, 0, 3, 3, 2, 7, 5]], device=device)
    arguments = [index, place, normal(7, n).to(device), normal(9, n, seed=1).to(device)]
    check_against_double(function, arguments, tolerance=1e-5)
    assert len(taken()) == 1 and not reasons()
    assert [i.kind for i in taken()[0].program.inputs] == ["scalar", "part", "table", "table"]


@pytest.mark.parametrize("shape,dtype", diagonal(
    [(4, 8), (4, 8, 1)], [torch.int64, torch.float32, torch.bool]))
def test_numbers_of_rows_that_samples_share(device, shape, dtype):
    """The positions of tokens in an embedding's gradient: what is expanded lies in memory once."""
    def function(x, share, gamma):
        where = (share.expand(shape) != 2).reshape(4, 8, 1)
        centred = (x - x.mean(-1, keepdim=True)) * gamma
        return torch.where(where, centred, 0.0), centred.sum((0, 1))

    share = (torch.arange(8) % 3).view(1, 8, *shape[2:]).to(device, dtype)
    arguments = [normal(4, 8, 16).to(device), share, normal(16).to(device)]
    check_against_double(function, arguments, tolerance=1e-5)
    assert len(taken()) == 1 and not reasons()


def test_rows_outside_of_a_table_are_its_last(device):
    """torch.compile's kernels stop there."""

    b = Builder(16)
    row = b.add("take", b.add("input", 1), b.add("input", 0))
    program = b.finish(4, [Input("scalar", "i64"), Input("table", "f32", rows=3)],
                       [Output("row", "f32", b.add("add", row, b.add("row_sum", row)))])
    index, table = torch.tensor([2, 3, -1, 0], device=device), normal(3, 16).to(device)
    got, = regions_op.raw_region([index, table], regions_op.register_row_program(program).text)
    want = table[[2, 2, 2, 0]]
    torch.testing.assert_close(got, want + want.sum(-1, keepdim=True))


def test_sums_of_rows_of_a_table_alone_are_left(device):
    """What is neither read nor written as rows does not say how many there are."""
    def function(index, table):
        return F.embedding(index, table).sum(0)

    index = torch.tensor([3, 0, 6, 6, 1], device=device)
    check_against_double(function, [index, normal(7, 16).to(device)], tolerance=1e-5)
    assert reasons() == ["it reads no row block"]


def test_texts_keep_how_inputs_lie():
    b = Builder(16)
    value = b.add("mul", b.add("input", 0), b.add("place", 16, 6))
    program = b.finish(12, [Input("part", "f32", ((96, 2, 80), (16, 6, 16, 5, 5), (1, 16, 1)))],
                       [Output("row", "f32", value)])
    assert RowProgram.from_text(program.text()) == program
    assert "%arg0[m0, m1 + 5, n] : memref<2x5x16xf32, strided<[80, 16, 1]>>" in mlir(program)
    assert program.inputs[0].row_length(16) == 160


def test_indices_are_compared_by_the_dimensions_that_decide(device):
    """Rows of 2 x 3 x 4 columns, of which 12 and more, 8 and more, or other ones are marked."""
    b = Builder(24)
    place = b.add("place", 1, 24)
    masks = [b.add(name, place, b.add("constant", number)) for name, number in (
        ("ge", 12.0), ("gt", 7.0), ("lt", 5.0), ("le", 30.0), ("lt", 2.5), ("lt", -1.0))]
    number = b.add("input", 0)
    for power, mask in enumerate(masks):
        number = b.add("add", number, b.add("select", mask, b.add("constant", 2.0 ** power),
                                            b.add("constant", 0.0)))
    program = b.finish(2, [Input("part", "f32", ((24, 2, 24), (12, 2, 12), (4, 3, 4), (1, 4, 1)))],
                       [Output("row", "f32", number)])
    text = mlir(program)
    assert re.findall(r"cmpi (\w+), .*", text) == ["uge", "uge", "ult", "ult"]
    assert len(re.findall(r"cmpf olt", text)) == 2
    x = torch.arange(48.0, device=device).reshape(2, 24)
    got, = regions_op.raw_region([x], regions_op.register_row_program(program).text)
    n = torch.arange(24, device=device)
    want = sum(2 ** power * mask for power, mask in enumerate(
        (n >= 12, n > 7, n < 5, n <= 30, n < 2.5, n < -1)))
    torch.testing.assert_close(got.reshape(2, 24), x + want)


def test_a_column_that_is_expanded_beside_permuted_rows(device):
    """The expanded tensor has the order of its dimensions, and not that of the rows."""
    def function(x, column):
        return ((x + column.expand(x.shape)) * x).sum(1), (
            torch.tanh(column).expand(x.shape) + x).amax(1)

    x = torch.randn(8, 4, 12, device=device).transpose(1, 2)
    check_against_double(function, (x, torch.randn(4, device=device)))
    assert taken()


def test_a_group_norm_of_one_group_before_a_permutation(device):
    """Its view joins a dimension of one element, and ends before such of the statistics."""
    check_against_double(lambda x: F.group_norm(x, 1).transpose(1, 2).softmax(-1),
                         (torch.randn(16, 8, 4, device=device),))


def test_what_stands_for_a_split_sum_may_be_in_a_region(device, always_taken):
    def function(x):
        z = torch.relu(x.softmax(-1).softmax(0))
        return z, z * 3 + 0.1, z.sum(0)

    check_against_double(function, (torch.randn(16, 6, device=device),))
    assert len(taken()) == 3 and not reasons()


def test_a_view_of_what_is_stored_in_another_order_than_it_is_computed_in(device, always_taken):
    def function(x):
        y = x - x.flatten(1).mean(1).view(-1, 1, 1, 1)
        z = y.unsqueeze(1).expand(8, 2, 8, 4, 6)
        return F.rms_norm(y, (6,)), z, z.sum((0, 1, 2, 3))

    check_against_double(function, (torch.randn(6, 8, 4, 8, device=device).permute(3, 1, 2, 0),))
    assert len(taken()) == 3


def test_a_view_that_is_split_early_may_be_what_is_summed(device, always_taken):
    def function(x):
        y = (x * 2).view(16, 8, 3, 4)
        return y.permute(0, 2, 3, 1).softmax(-1), y.sum((0, 2, 3))

    check_against_double(function, (torch.randn(16, 96, device=device),))
    assert not any("an error in lnbwd" in reason for reason in reasons())
