# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Regions of images: channels-last, whose rows are the channels of a pixel, and contiguous, whose
rows are the pixels of a channel."""

import pytest
import torch
from captured import Captured, check_against_double, reasons, run_captured, taken
from cases import diagonal
from torch import nn

from lnbwd.inductor import estimates, graph_pass, partial_sums

pytestmark = [pytest.mark.compiler, pytest.mark.usefixtures("fresh_regions")]
PIXELS = (0, 2, 3)
LAST = torch.channels_last


@pytest.fixture(autouse=True)
def splits_sums_of_few_pixels(monkeypatch):
    """Images of tests have fewer pixels than sums are split for, and a channel has few of
    those."""
    monkeypatch.setattr(partial_sums, "_LEAST_ROW", 2)
    monkeypatch.setattr(partial_sums, "_MOST_ACROSS", 0)


def images(device, count, shape=(3, 16, 4, 6), memory_format=LAST, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=generator).to(device).to(memory_format=memory_format)
            for _ in range(count)]


def gated(dy, y):
    """ReLU's gradient and that of the bias before it, the former being stored for a product."""
    dx = torch.where(y <= 0, 0, dy)
    return dx.permute(0, 2, 3, 1).reshape(-1, dx.shape[1]) @ torch.eye(
        dx.shape[1], dtype=dx.dtype, device=dx.device), dx.sum(PIXELS)


def test_a_column_sum_of_channels_last(device):
    captured = check_against_double(gated, images(device, 2))
    region, = taken()
    assert (region.column_sums, region.program.length, region.program.rows) == (1, 16, 72)
    # The elements stay where they are.
    assert not any(n.target is torch.ops.aten.clone.default for n in captured.graphs[0].nodes)


@pytest.mark.parametrize("dims", [(2, 3), PIXELS])
def test_a_mean_of_channels_last(device, dims):
    """As pooling over all places has it, of what is kept for the backward pass."""
    def function(x, y):
        z = (x + y).relu()
        return z, z.mean(dims, keepdim=True)

    x, y = images(device, 2)
    check_against_double(function, (x, y))
    region, = taken()
    assert (region.row_sums, region.column_sums, region.program.length) == (0, 1, 16)
    for place, number in enumerate((torch.nan, torch.inf, -torch.inf)):
        x[place, place, 0, 0] = number
    (_, got), _ = run_captured(function, x, y)
    torch.testing.assert_close(got, function(x, y)[1], equal_nan=True)


@pytest.mark.parametrize("memory_format", [LAST, torch.contiguous_format])
def test_what_is_expanded_is_read_as_it_was_before(device, memory_format):
    """The gradients of a mean over places and of a scale for each channel, in that of a batch
    norm."""
    def function(x, dy, scale, dmean):
        dmean = dmean.expand(x.shape).div(24).sigmoid()
        dx = torch.where(x <= 0, dmean, dy * scale + dmean)
        return dx, dx.sum(PIXELS), (dx * x).sum(PIXELS)

    x, dy = images(device, 2, memory_format=memory_format)
    scale, dmean = images(device, 2, (3, 16, 1, 1), torch.contiguous_format, seed=1)
    check_against_double(function, (x, dy, scale, dmean))
    region, = taken()
    assert [i.kind for i in region.program.inputs if i.kind != "row"] == (
        ["group_column"] * 2 if memory_format == LAST else ["scalar"] * 2)


def test_dimensions_of_one_element(device):
    def function(x):
        variance, mean = torch.var_mean(x[None], (0, 2), correction=0, keepdim=True)
        return ((x - mean) * torch.rsqrt(variance + 1e-5),)

    check_against_double(function, [images(device, 1)[0].reshape(24, 48)])
    region, = taken()
    assert (region.row_sums, region.program.length, region.program.rows) == (1, 48, 24)


@pytest.mark.parametrize("dim,of_rows", [(1, True), (2, False)])
def test_a_row_is_what_lies_together(device, dim, of_rows):
    def function(x):
        return (x * x.var(dim, keepdim=True),)

    check_against_double(function, images(device, 1, (3, 16, 16, 6)))
    assert bool(taken()) == of_rows


@pytest.mark.parametrize("view,taken_with_it", [
    (lambda x: x.permute(0, 2, 3, 1), True), (lambda x: x.flatten(2), True),
    (lambda x: x.contiguous(), False), (lambda x: x.reshape(3, 2, 8, 4, 6), True)])
def test_views_that_keep_the_memory(device, view, taken_with_it):
    """What changes the order of elements is no part of a region, and results are right."""
    def function(x):
        y = view((x - x.mean(1, keepdim=True)).exp())
        return y, y + 1

    _, captured = run_captured(function, *images(device, 1))
    check_against_double(function, images(device, 1))
    reads = [n.all_input_nodes for n in captured.graphs[0].nodes
             if n.target is torch.ops.aten.add.Tensor]
    assert (not reads) == taken_with_it


def test_orders_that_differ_are_left(device):
    def function(x, y):
        return (x * x.var(1, keepdim=True) + y,)

    x, = images(device, 1, (4, 8, 2, 4))
    y, = images(device, 1, (4, 8, 2, 4), torch.contiguous_format, seed=1)
    check_against_double(function, (x, y))


def test_numbers_that_are_none(device):
    dy, y = images(device, 2)
    dy[0, 1, 0, 0], dy[1, 2, 1, 1], dy[2, 3, 2, 2] = torch.nan, torch.inf, -torch.inf
    y[0, 4, 1, 1] = torch.nan
    want = gated(dy, y)[1]
    (_, got), _ = run_captured(gated, dy, y)
    torch.testing.assert_close(got, want, equal_nan=True)
    assert taken()


class Scale(nn.Module):
    """A scale for each channel, whose gradient sums what the next gradient is made of."""

    def __init__(self, channels):
        super().__init__()
        self.scale = nn.Parameter(torch.randn(channels, 1, 1))

    def forward(self, x):
        return x * self.scale


@pytest.mark.usefixtures("always_taken")
def test_a_norm_of_all_elements(device):
    """Its sum does not say over which dimensions."""
    x, y = images(device, 2, (6, 32), memory_format=torch.contiguous_format)
    check_against_double(lambda x, y: (torch.softmax(x, -1), torch.linalg.vector_norm(y)), (x, y))
    assert len(taken()) == 1


@pytest.mark.usefixtures("always_taken")
@pytest.mark.parametrize("memory_format", [torch.contiguous_format, LAST])
def test_batch_norm(device, memory_format):
    """Forward and backward, with PyTorch's running statistics."""
    f = torch.nn.functional
    x, y, weight = images(device, 3, memory_format=memory_format)
    models = [nn.BatchNorm2d(16).to(device) for _ in range(2)]

    def run(norm, call):
        tensors = [x.requires_grad_(), y.requires_grad_(), *norm.parameters()]
        return torch.autograd.grad((call(norm) * weight).sum(), tensors)

    def block(norm):
        return f.relu(norm(x) + y)

    results = [run(models[0], block), run(models[1], torch.compile(block, backend="lnbwd"))]
    for got, want in zip(*([*r, *m.buffers()] for r, m in zip(results, models, strict=True)),
                         strict=True):
        torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-4)
    assert [(region.row_sums, region.column_sums) for region in taken()] == [(1, 0), (2, 0)]


def test_a_block_of_convolutions(device):
    """Through Inductor, forward and backward."""
    torch.manual_seed(1)
    model = nn.Sequential(nn.Conv2d(8, 16, 3), Scale(16), nn.ReLU(), nn.Conv2d(16, 16, 1),
                          nn.BatchNorm2d(16), nn.SiLU()).to(device).to(memory_format=LAST)
    x, = images(device, 1, (3, 8, 6, 6))
    weight, = images(device, 1, (3, 16, 4, 4), seed=1)
    tensors = [x.requires_grad_(), *model.parameters()]

    def run(call):
        return torch.autograd.grad((call(x) * weight).sum(), tensors)

    for got, want in zip(run(torch.compile(model, backend="lnbwd")), run(model), strict=True):
        torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-4)
    assert any(region.column_sums for region in taken())


def test_the_bias_of_a_convolution(device):
    """It is added in the region, which reads patches behind a class token where they lie."""
    def function(x, weight, bias, token):
        patches = torch.conv2d(x, weight, bias, 2).flatten(2).transpose(1, 2)
        rows = torch.cat([token.expand(3, 1, -1), patches], 1)
        return rows, torch.nn.functional.layer_norm(rows, (16,))

    x, = images(device, 1, (3, 4, 8, 12))
    weight, = images(device, 1, (16, 4, 2, 2), seed=1)
    bias, token = torch.rand(2, 16, device=device)
    captured = check_against_double(function, (x, weight, bias, token))
    region, = taken()
    assert (region.program.rows, region.program.length, region.row_sums) == (75, 16, 1)
    targets = [n.target for n in captured.graphs[0].nodes]
    assert not {torch.ops.aten.add.Tensor, torch.ops.aten.cat.default}.intersection(targets)


def test_the_bias_of_a_convolution_that_no_region_adds(device, monkeypatch):
    """It is the convolution's: Inductor keeps the layout of the last one, not of what is behind."""
    monkeypatch.setattr(estimates.Estimate, "is_worth", property(lambda self: False))
    x, = images(device, 1, (3, 4, 8, 12))
    weight, = images(device, 1, (16, 4, 2, 2), seed=1)
    captured = check_against_double(
        lambda x, weight, bias: torch.conv2d(x, weight, bias, 2).mean((2, 3)),
        (x, weight, torch.rand(16, device=device)))
    assert not taken() and len(reasons()) == 1
    [convolution] = captured.graphs[0].find_nodes(
        op="call_function", target=torch.ops.aten.convolution.default)
    assert convolution.args[2].op == "placeholder"


def test_a_bias_that_is_converted(device, monkeypatch):
    """Its conversion is put behind its view, as images are in the order of the region."""
    monkeypatch.setattr(estimates.Estimate, "is_worth", property(lambda self: False))
    x, weight = (images(device, 1, shape)[0].bfloat16() for shape in ((3, 5, 7, 9), (5, 5, 3, 3)))

    def function(x, weight, bias):
        y = torch.conv2d(x, weight, bias.to(x.dtype), padding=1)
        return torch.nn.functional.batch_norm(y, None, None, training=True),

    check_against_double(function, (x, weight, torch.rand(5, device=device)), tolerance=1e-2)
    assert not taken() and reasons()


def norm_gradient(dy, x, mean, rstd):
    """The sums of a batch norm's gradient, with ReLU's before it, and the gradient."""
    dy, mean = torch.where(x > 0, dy, 0), mean.sin()[:, None, None]
    first, second = dy.sum(PIXELS), (dy * (x - mean)).sum(PIXELS)
    count = x.numel() / x.shape[1]
    dx = (dy - first[:, None, None] / count
          - (x - mean) * (second[:, None, None] * rstd * rstd / count)) * rstd
    return first, second, dx


@pytest.mark.parametrize("dtype,shape", [(torch.float32, (3, 13, 6, 7)),
                                         (torch.bfloat16, (5, 37, 4, 6))])
def test_lanes_across_channels(device, dtype, shape):
    """The gradient of a batch norm of channels-last images is one kernel, with a row for each
    channel, whatever the number of channels is."""
    dy, x = images(device, 2, shape)
    mean = torch.rand(shape[1], device=device)

    def function(dy, x, mean, rstd):
        first, second, dx = norm_gradient(dy.to(mean.dtype), x.to(mean.dtype), mean, rstd)
        return first, second, dx.to(dy.dtype)

    check_against_double(function, (dy.to(dtype), x.to(dtype), mean, mean[:, None, None] + 1))
    region, = taken()
    assert region.row_sums == 2 and region.program.length == shape[0] * shape[2] * shape[3]


@pytest.mark.usefixtures("always_taken")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_what_follows_from_sums_has_a_program_of_its_own(device, dtype):
    """Of channels with too many pixels to be rows: the sums, and the gradient behind them."""
    dy, x = images(device, 2, (3, 8, 56, 56))
    mean = torch.rand(8, device=device)

    def function(dy, x, mean, rstd):
        first, second, dx = norm_gradient(dy.to(mean.dtype), x.to(mean.dtype), mean, rstd)
        return first, second, dx.to(dy.dtype)

    check_against_double(function, (dy.to(dtype), x.to(dtype), mean, mean[:, None, None] + 1))
    region, = taken()
    assert region.column_sums == 2 and region.region.endswith("nodes behind")


def test_what_follows_from_sums_is_left_where_it_is_not_worth_it(device, monkeypatch):
    """Its bytes are those of the sums and as many again, and those of the result."""
    monkeypatch.setattr(graph_pass, "_is_worth", lambda moved: moved.ours < 10)
    dy, x = images(device, 2, (3, 8, 56, 56))
    mean = torch.rand(8, device=device)
    check_against_double(norm_gradient, (dy, x, mean, mean[:, None, None] + 1))
    region, = taken()
    assert region.column_sums == 2 and "behind" not in region.region


@pytest.mark.usefixtures("always_taken")
@pytest.mark.parametrize("shape", [(3, 16, 6, 8), (3, 48, 6, 8)])
def test_sums_of_contiguous_images(device, shape):
    """Each channel of a sample is a row; the samples are summed by Inductor."""
    dy, x = images(device, 2, shape, torch.contiguous_format)
    mean = torch.rand(shape[1], device=device)
    check_against_double(norm_gradient, (dy, x, mean, mean[:, None, None] + 1))
    region, = taken()
    assert (region.row_sums, region.program.rows) == (2, shape[0] * shape[1])


def few_pixels(dy, x, mean, rstd, dmean):
    """The gradient of a batch norm and of the activation behind it, which is kept for a product,
    and of a mean over all places."""
    y = (x - mean) * rstd
    dx = (dy + dmean.expand(x.shape).div(x[0, 0].numel())) * torch.sigmoid(y)
    return (dx.flatten(2) @ torch.eye(dx[0, 0].numel(), dtype=dx.dtype, device=dx.device),
            dx.sum(PIXELS), (dx * (x - mean)).sum(PIXELS, keepdim=True))


def test_the_gradient_of_a_bias_of_patches(device):
    """Behind a class token patches lie with gaps, and their channels side by side."""
    def function(dy):
        patches = dy[:, 1:].transpose(1, 2).reshape(3, 64, 4, 6)
        return patches.sum(PIXELS), patches.square().sum(PIXELS, keepdim=True)

    captured = check_against_double(function, [torch.randn(3, 25, 64, device=device)])
    region, = taken()
    assert (region.column_sums, region.program.rows, region.program.length) == (2, 72, 64)
    assert [i.is_strided for i in region.program.inputs] == [True]
    assert not any(n.target is torch.ops.aten.clone.default for n in captured.graphs[0].nodes)


@pytest.mark.parametrize("shape", [(3, 16, 4, 6), (5, 8, 7, 7), (4, 32, 3, 3)])
def test_sums_of_few_pixels(device, shape, monkeypatch):
    """Rows of one channel each, which are read and written where they lie: one kernel."""
    monkeypatch.setattr(partial_sums, "_LEAST_ROW", 128)
    dy, x = images(device, 2, shape, torch.contiguous_format)
    dmean, = images(device, 1, (*shape[:2], 1, 1), torch.contiguous_format, seed=1)
    mean, rstd = (v[None, :, None, None] for v in (x.mean(PIXELS), x.var(PIXELS).rsqrt()))
    captured = check_against_double(few_pixels, (dy, x, mean, rstd, dmean))
    region, = taken()
    assert (region.row_sums, region.program.rows) == (2, shape[1])
    assert [o.is_strided for o in region.program.outputs] == [True, False, False]
    assert not any(n.target is torch.ops.aten.clone.default for n in captured.graphs[0].nodes)


@pytest.mark.parametrize("formats", [
    [torch.contiguous_format] * 2, [LAST, torch.contiguous_format]])
def test_what_follows_from_sums_of_few_pixels_is_in_their_kernel(device, formats, monkeypatch):
    """The gradient of a batch norm, written where contiguous images have it."""
    monkeypatch.setattr(partial_sums, "_LEAST_ROW", 128)
    dy, x = (images(device, 1, (3, 16, 4, 6), one, seed)[0] for seed, one in enumerate(formats))
    mean = torch.rand(16, device=device)

    def function(dy, x, mean, rstd):
        first, second, dx = norm_gradient(dy, x, mean, rstd)
        return first, second, dx.contiguous()

    check_against_double(function, (dy, x, mean, mean[:, None, None] + 1))
    region, = taken()
    assert (region.row_sums, region.program.rows) == (2, 16)
    assert [o.kind for o in region.program.outputs] == ["row", "scalar", "scalar"]


@pytest.mark.usefixtures("always_taken")
@pytest.mark.parametrize("most", [96, 60])
def test_what_follows_from_sums_of_more_pixels_is_in_their_kernel(device, most, monkeypatch):
    """If a channel of all samples is short enough; else they are sums of samples."""
    monkeypatch.setattr(partial_sums, "_LEAST_ROW", 16)
    monkeypatch.setattr(partial_sums, "_MOST_ACROSS", most)
    dy, x = images(device, 2, (3, 16, 4, 8), torch.contiguous_format)
    mean = torch.rand(16, device=device)

    def function(dy, x, mean, rstd):
        first, second, dx = norm_gradient(dy.sigmoid() * dy, x, mean, rstd)
        return first, second, dx

    check_against_double(function, (dy, x, mean, mean[:, None, None] + 1))
    region, = taken()
    assert region.program.rows == (16 if most >= 96 else 48)


def test_a_batch_norm_of_few_pixels(device, monkeypatch):
    """Images are read as rows of channels, and as they lie by what follows: it is one kernel."""
    monkeypatch.setattr(partial_sums, "_LEAST_ROW", 128)

    def function(x):
        variance, mean = torch.var_mean(x, PIXELS, keepdim=True)
        return (x - mean) * (variance + 1e-5).rsqrt(), mean

    check_against_double(function, images(device, 1, (3, 16, 4, 6), torch.contiguous_format))
    region, = taken()
    assert [o.kind for o in region.program.outputs] == ["row", "scalar"] and not reasons()
    assert len(region.program.inputs) == 1


@pytest.mark.usefixtures("always_taken")
def test_a_pooling_behind_sums_of_few_pixels(device, monkeypatch):
    """Its rows are those of what is behind a batch norm."""
    monkeypatch.setattr(partial_sums, "_LEAST_ROW", 128)

    def function(x):
        variance, mean = torch.var_mean(x, PIXELS, keepdim=True)
        y = ((x - mean) * (variance + 1e-5).rsqrt()).relu()
        return y.mean((2, 3)), y <= 0

    check_against_double(function, images(device, 1, (3, 16, 4, 6), torch.contiguous_format))
    assert (48, 24) in [(r.program.rows, r.program.length) for r in taken()]


def test_sums_of_few_pixels_that_are_no_faster_are_left(device, monkeypatch):
    """In loads of one element each, without functions that cost more: the graph is as it was."""
    monkeypatch.setattr(partial_sums, "_LEAST_ROW", 128)
    def function(x, y):
        return x.sum(PIXELS), x.var(PIXELS), (y * y).sum(PIXELS)

    captured = check_against_double(
        function, images(device, 2, (3, 16, 5, 5), torch.contiguous_format))
    assert not taken()
    assert not any(n.target is torch.ops.aten.clone.default for n in captured.graphs[0].nodes)


@pytest.mark.usefixtures("always_taken")
def test_what_follows_from_sums_over_all_rows_is_another_region(device, monkeypatch):
    """Of the same rows, if they are too many for a row of a channel: the gradient of a batch norm,
    with nothing between that no region has."""
    monkeypatch.setattr(partial_sums, "_MOST_BESIDE", 0)
    dy, x = images(device, 2)
    mean = torch.rand(16, device=device)
    check_against_double(norm_gradient, (dy, x, mean, mean[:, None, None] + 1))
    assert [region.column_sums for region in taken()] == [2]


def test_sums_of_any_number_of_images(device):
    captured = Captured(True)
    call = torch.compile(lambda x: x.sum(PIXELS), backend=captured.backend)
    for count in (3, 5):
        x, = images(device, 1, (count, 16, 6, 8), torch.contiguous_format)
        torch._dynamo.mark_dynamic(x, 0)
        torch.testing.assert_close(call(x), x.sum(PIXELS))
    assert len(captured.graphs) == len(taken()) == 1


@pytest.mark.parametrize("options,layout", diagonal(
    [{"correction": 0, "keepdim": True}, {"correction": 1, "keepdim": False}],
    [(torch.contiguous_format, (1, 0)), (LAST, (0, 2))]))
def test_variances_of_images(device, options, layout):
    """Far from 0, where sums of squares would cancel."""
    memory_format, sums = layout

    def function(x):
        return torch.var_mean(x, PIXELS, **options)

    x, = images(device, 1, (3, 16, 6, 8), memory_format)
    x += torch.arange(16, device=device)[:, None, None] * 100
    for got, want in zip(run_captured(function, x)[0], function(x.double()), strict=True):
        torch.testing.assert_close(got.double(), want, rtol=1e-4, atol=0)
    assert [(region.row_sums, region.column_sums) for region in taken()] == [sums]


def test_variances_of_rounded_rows(device):
    """The first row is a view of what is rounded: nothing is computed in front of the kernel."""
    def function(x):
        return torch.var_mean(x.float(), 0)

    x = (torch.randn(40, 24, device=device) + 100).to(torch.bfloat16)
    got, captured = run_captured(function, x)
    for one, want in zip(got, function(x.double()), strict=True):
        torch.testing.assert_close(one.double(), want.double(), rtol=1e-4, atol=0)
    call, = (n for n in captured.graphs[0].nodes if n.target is torch.ops.lnbwd._region.default)
    assert {n.target for n in call.all_input_nodes} - {torch.ops.aten.select.int} == {"arg0_1"}


def test_means_near_zero_of_rounded_rows(device):
    """Their error is small beside the means, not beside the first row."""
    x = torch.randn(4096, 16, generator=torch.Generator().manual_seed(2)).bfloat16().to(device)
    got, _ = run_captured(lambda x: torch.var_mean(x.float(), 0), x)
    for one, want in zip(got, torch.var_mean(x.double(), 0), strict=True):
        assert (one.double() - want).abs().max() <= 5e-7 * want.abs().max()
    assert taken()


@pytest.mark.parametrize("bad,place", diagonal([torch.nan, torch.inf, -torch.inf], [0, 7]))
def test_variances_of_no_numbers(device, bad, place):
    """A channel that has one has no variance, whether it is in the first row or in another."""
    def function(x):
        return torch.var_mean(x, 0)

    x = torch.randn(40, 24, device=device)
    x[place, 3] = bad
    (variance, mean), _ = run_captured(function, x)
    want = function(x.double())
    assert variance[3].isnan() and not mean[3].isfinite()
    others = [n for n in range(24) if n != 3]
    torch.testing.assert_close(variance[others].double(), want[0][others], rtol=1e-5, atol=0)
    torch.testing.assert_close(mean[others].double(), want[1][others], rtol=1e-5, atol=1e-6)
    assert taken()


def test_variances_of_what_is_computed_are_left(device):
    """Its first row would be a result of the region."""
    def function(x):
        return torch.var_mean(x.exp(), 0)

    captured = check_against_double(function, (torch.randn(40, 24, device=device),))
    assert not taken()
    assert any(n.target is torch.ops.aten.var_mean.correction for n in captured.graphs[0].nodes)


def test_sums_that_are_left_are_whole(device):
    """Of what torch.compile gathers in its kernel."""
    def function(table, places):
        rows = table[places]
        return rows.sum((0, 2)), *torch.var_mean(rows * 2, (0, 2), keepdim=True)

    captured = check_against_double(function, (torch.randn(10, 16, 8, device=device),
                                               torch.arange(8, device=device)))
    assert not taken()
    found = [n.args[1] for n in captured.graphs[0].nodes if n.target in (
        torch.ops.aten.sum.dim_IntList, torch.ops.aten.var_mean.correction,
        torch.ops.aten.mean.dim)]
    assert found == [[0, 2]] * 2


def test_sums_of_one_kernel_stay_together(device):
    """A sum that torch.compile makes beside one that no region has is left with it."""
    def function(x):
        return x.sum(PIXELS), x.atan().sum(PIXELS)

    x, = images(device, 1, memory_format=torch.contiguous_format)
    check_against_double(function, (x,))
    assert not taken()
