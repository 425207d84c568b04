# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled functions that read and write tensors as they lie: permuted heads, slices, expanded
gradients, channels as rows; that join tensors or put them among others; and that take rows of a
table."""

import math
import re

import pytest
import torch
import torch.nn.functional as F
from compiled import (
    BF16,
    DEVICE,
    Case,
    Table,
    assert_near,
    leaf,
    normal,
    on_device,
    run,
    simulated,
)

import lnbwd.inductor
from lnbwd.ops import regions
from lnbwd.program.mlir import mlir
from lnbwd.program.operands import Input, Output
from lnbwd.program.row_program import Builder, RowProgram

pytestmark = pytest.mark.compiler


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
    """The gradient of what the first row alone is used of."""
    zeros = torch.zeros_like(x)
    y = torch.select_scatter(zeros, gradient, 1, 0)
    return (y - y.mean(-1, keepdim=True)) * x


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


def listed_columns(x):
    """The list and the numbers are constants of the graph."""
    return norm(x[..., [3, 0, 2, 2]]) * torch.tensor([1.0, 2.0, 3.0, 4.0], device=x.device)


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


def changed_row(x, row):
    """Reads a copy after its only row was changed: the index is known to be 0."""
    y = x.index_copy(0, torch.zeros_like(row[:, 0], dtype=torch.int64), row)
    return y, y.softmax(-1)


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


def attention_bias_gradient(dy, x, rstd, weight):
    """Heads come from attention in another order than those that were normed."""
    dy, x = dy.permute(0, 2, 1, 3).float(), x.float()
    scaled = dy * weight
    total = (scaled * x).sum(-1, keepdim=True) * rstd ** 3 / 16
    return (scaled * rstd - total * x).contiguous(), (dy * (x * rstd)).sum((0, 1, 2))


def embedded(index, table, x):
    return norm((F.embedding(index, table) + x).float())


def embedded_at_shared_places(index, place, table, positions):
    """The places are shared by samples."""
    return norm(F.embedding(index, table) + F.embedding(place.expand(2, 8), positions))


def learned_positions(x, table):
    """A slice of the table, which is read where it lies."""
    return norm(x + F.embedding(torch.arange(5, device=x.device) + 2, table))


def shared_numbers(x, share, gamma):
    """The positions of tokens in an embedding's gradient: what is expanded lies in memory once."""
    where = (share.expand(4, 8) != 2).reshape(4, 8, 1)
    centred = (x - x.mean(-1, keepdim=True)) * gamma
    return torch.where(where, centred, 0.0), centred.sum((0, 1))


def group_of_all(x):
    """Its view joins a dimension of one element."""
    return F.group_norm(x, 1).transpose(1, 2).softmax(-1)


def expanded_beside_permuted(x, column):
    return ((x + column.expand(x.shape)) * x).sum(1), (
        torch.tanh(column).expand(x.shape) + x).amax(1)


def rounded_heads(x):
    """Heads of a product in bfloat16 that are permuted and copied for the next one."""
    return x.view(2, 5, 3, 16).permute(0, 2, 1, 3).contiguous().softmax(-1)


def padded_image(x):
    return F.pad(x, (2, 3, 1, 0)).exp()


INDEX = torch.tensor([[3, 0, 6, 6, 1, 2, 2, 5], [5, 2, 4, 3, 0, 1, 1, 6]])
TABLE = Table({
    "part of a split": Case(part_of_a_split, [normal(2, 5, 40)]),
    "some columns": Case(some_columns, [normal(2, 5, 40), normal(16, seed=1)]),
    "some columns of odd rows": Case(some_columns, [normal(2, 5, 41), normal(16, seed=1)]),
    "listed columns": Case(listed_columns, [normal(2, 5, 16)]),
    "heads side by side": Case(heads_side_by_side, [normal(2, 3, 5, 16, seed=s) for s in range(3)]),
    "heads stacked": Case(heads_stacked, [normal(2, 3, 5, 16, seed=s) for s in range(3)]),
    "rotated rows": Case(rotated_rows, [normal(2, 5, 48), normal(1, 1, 5, 16, seed=1)]),
    "changed row": Case(changed_row, [normal(1, 40), normal(1, 40, seed=1)]),
    "windows of windows": Case(windows_of_windows, [normal(3, 8, 8, 16)]),
    "patches": Case(patches, [normal(2, 16, 8, 8)]),
    "bias of heads": Case(bias_of_heads, [normal(6, 5, 16)]),
    "heads added": Case(heads_added, [normal(2, 5, 3, 16), normal(2, 3, 5, 16, seed=1)]),
    "slice": Case(after_a_slice, [normal(2, 6, 16), normal(16, seed=1)]),
    "saved slices": Case(saved_slices, [normal(2, 6, 16)[:, 1:], normal(2, 6, 16)[:, :5] > 0]),
    "rotated": Case(rotated, [normal(2, 5, 8, 16), normal(1, 1, 5, 16, seed=1)]),
    "rotated back": Case(rotated_back, [normal(2, 3, 5, 16), normal(1, 1, 5, 16, seed=1)]),
    "class token": Case(class_token, [normal(1, 1, 16), normal(2, 4, 16, seed=1)]),
    "class token summed": Case(class_token_summed, [normal(3, 1, 16), normal(3, 4, 16, seed=1)]),
    "joined rows summed": Case(joined_rows_summed, [normal(2, 2, 16), normal(2, 4, 16, seed=1)]),
    "channels joined": Case(channels_joined, [normal(2, 5, 8), normal(2, 5, 16, seed=1)]),
    "expanded": Case(norm, [normal(3, 1, 5, 16).expand(3, 2, 5, 16)]),
    "padded": Case(padded, [normal(2, 4, 16), normal(2, 7, 16, seed=1)]),
    "put": Case(put_at_the_first, [normal(2, 16), normal(2, 5, 16, seed=1)]),
    "biased scores": Case(biased_scores, [normal(8, 8, 16, 16), normal(16, 16, 8, seed=1)]),
    "sums of permuted": Case(sums_of_permuted, [normal(2, 16, 40), normal(2, 40, 16, seed=1)]),
    "scaled channels": Case(scaled_channels, [normal(2, 16, 40), normal(16, seed=1)]),
    "sums of a slice": Case(sums_of_a_slice, [normal(2, 6, 16), normal(16, seed=1)]),
    "windows": Case(windows, [normal(2, 32, 16), normal(2, 32, 16, seed=1)]),
    "spread": Case(spread_gradient, [normal(2, 1, 16), normal(2, 5, 16, seed=1)]),
    "stored behind": Case(stored_as_channels, [normal(2, 16, 40), normal(2, 40, 16, seed=1)]),
    "stored in front": Case(kept_as_channels, [normal(2, 16, 40), normal(2, 40, 16, seed=1)]),
    "stored in both": Case(normalised_in_both, [normal(2, 16, 40), normal(2, 40, 16, seed=1)]),
    "stored twice": Case(stored_twice, [normal(2, 40, 16), normal(2, 40, 16, seed=1)]),
    "stored as viewed": Case(viewed_as_channels, [normal(2, 16, 40), normal(2, 40, 16, seed=1)]),
    "gradient of heads": Case(attention_bias_gradient, [
        normal(2, 3, 5, 16, dtype=BF16), normal(2, 5, 3, 16, seed=1, dtype=BF16),
        normal(2, 5, 3, 1, seed=2), normal(16, seed=3)]),
    "heads in bfloat16": Case(rounded_heads, [leaf(2, 5, 48, dtype=BF16)]),
    "embedding": Case(embedded, [INDEX, normal(7, 16), normal(2, 8, 16, seed=1)]),
    "embedding, bfloat16": Case(embedded, [
        INDEX, normal(7, 16, dtype=BF16), normal(2, 8, 16, seed=1, dtype=BF16)]),
    "embedding at shared places": Case(embedded_at_shared_places, [
        INDEX, torch.tensor([[8, 1, 0, 3, 3, 2, 7, 5]]), normal(7, 8), normal(9, 8, seed=1)]),
    "learned positions": Case(learned_positions, [normal(2, 5, 16), normal(9, 16, seed=1)]),
    "shared integers": Case(shared_numbers, [
        normal(4, 8, 16), (torch.arange(8) % 3).view(1, 8), normal(16)]),
    "shared numbers": Case(shared_numbers, [
        normal(4, 8, 16), (torch.arange(8) % 3).view(1, 8).float(), normal(16)]),
    "a group of all": Case(group_of_all, [leaf(16, 8, 4)]),
    "expanded beside permuted": Case(expanded_beside_permuted, [
        normal(8, 4, 12).transpose(1, 2), normal(4)]),
    "no number, apart": Case(lambda x: norm(x.transpose(1, 2).contiguous()), [
        normal(2, 16, 40).index_fill(1, torch.tensor(3), math.inf)]),
    "padded image": Case(padded_image, [leaf(4, 6, 8, dtype=BF16)]),
})


@pytest.mark.parametrize("name", TABLE.cases)
def test_results(name):
    TABLE.check(name)


def test_all_nodes_are_taken():
    assert not TABLE.left()


def test_an_embedding_of_any_number_of_samples(fresh_inductor):
    with simulated():
        compiled = torch.compile(embedded, backend="lnbwd", fullgraph=True)
        for batch in (3, 5):
            given = on_device([INDEX[:1].expand(batch, 8).contiguous(), normal(7, 16),
                               normal(batch, 8, 16, seed=1)])
            for tensor in (given[0], given[2]):
                torch._dynamo.mark_dynamic(tensor, 0)
            assert_near([compiled(*given)], Case(embedded, given))
    [made] = lnbwd.inductor.decisions(clear=True)
    assert made.taken and made.programs[0].rows is None


def test_rows_outside_of_a_table_are_its_last(device):
    """torch.compile's kernels stop there."""
    b = Builder(16)
    row = b.add("take", b.add("input", 1), b.add("input", 0))
    program = b.finish(4, [Input("scalar", "i64"), Input("table", "f32", rows=3)],
                       [Output("row", "f32", b.add("add", row, b.add("row_sum", row)))])
    index, table = torch.tensor([2, 3, -1, 0], device=device), normal(3, 16).to(device)
    got, = regions.raw_region([index, table], regions.register_row_program(program).text)
    want = table[[2, 2, 2, 0]]
    torch.testing.assert_close(got, want + want.sum(-1, keepdim=True))


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
    got, = regions.raw_region([x], regions.register_row_program(program).text)
    n = torch.arange(24, device=device)
    want = sum(2 ** power * mask for power, mask in enumerate(
        (n >= 12, n > 7, n < 5, n <= 30, n < 2.5, n < -1)))
    torch.testing.assert_close(got.reshape(2, 24), x + want)


def joined_parts(x, y):
    """Each part is written to its place among the others', a tensor with gaps."""
    return torch.cat([x.softmax(-1), y.exp(), x.sigmoid()], -1)


@pytest.mark.parametrize(("width", "left"), [
    (16, []), (15, ["writes from an element on that is at no multiple of 16 bytes"] * 2)])
def test_an_output_with_gaps(fresh_inductor, width, left):
    case = Case(joined_parts, [normal(6, 5, width), normal(6, 5, 8, seed=1)])
    found = run(case.function, *case.operands, options={"force_pointwise_cat": False})
    assert_near(found.results, case)
    assert found.reasons == left
    sizes = {one.row_length(program.length) for program in found.programs
             for one in program.outputs}
    assert left or sizes == {29 * 40 + 16, 29 * 40 + 8}


@pytest.mark.parametrize("road", ["C++", "Python", "no kernel"])
@pytest.mark.parametrize("offset", [0, 1])
@pytest.mark.parametrize("parts", [
    ((1, 16, 1), (16, 16, 50), (256, 4, 1024)), ((1, 256, 64), (256, 4, 1)),
    ((1, 256, 3), (256, 4, 1000))])
def test_gaps_stay_as_they_are(road, offset, parts, request):
    builder = Builder(256)
    program = builder.finish(4, [Input("row", "f32")], [Output(
        "row", "f32", builder.add("exp", builder.add("input", 0)), 1, parts)])
    text = regions.register_row_program(program).text
    sizes, strides = ([one[place] for one in reversed(parts)] for place in (1, 2))
    x, want = normal(4, 256), torch.full((18000,), 7.0)
    want.as_strided(sizes, strides, offset).copy_(x.exp().view(sizes))
    out = torch.full((18000,), 7.0, device=DEVICE)
    arguments = (4, *on_device([x]), out[offset:][:program.outputs[0].row_length(256)])
    if road == "no kernel":
        request.getfixturevalue("no_kernels")
    with simulated():
        if road == "C++":
            regions.region_call(text, DEVICE)(*arguments)
        else:
            regions.call_in_python(text, *arguments)
    torch.testing.assert_close(out.cpu(), want)
