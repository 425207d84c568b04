# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled functions of images: channels-last, whose rows are the channels of a pixel, and
contiguous, whose rows are the pixels of a channel."""

import pytest
import torch
import torch.nn.functional as F
from compiled import (
    BF16,
    DEVICE,
    F32,
    Case,
    Table,
    assert_near,
    check,
    leaf,
    normal,
    on_device,
    run,
    simulated,
)
from torch import nn

import lnbwd.inductor

pytestmark = pytest.mark.compiler
PIXELS = (0, 2, 3)


def last(*shape, seed=0):
    """An image in channels-last format."""
    return normal(*shape, seed=seed).to(memory_format=torch.channels_last)


def gated(dy, y):
    """ReLU's gradient and that of the bias before it."""
    dx = torch.where(y <= 0, 0, dy)
    return dx, dx.sum(PIXELS)


def pooled(x, y):
    """As pooling over all places has it, of what is kept for the backward pass."""
    z = (x + y).relu()
    return z, z.mean((2, 3), keepdim=True)


def expanded_gradient(x, dy, scale, dmean):
    """The gradients of a mean over places and of a scale, in that of a batch norm."""
    dmean = dmean.expand(x.shape).div(24).sigmoid()
    dx = torch.where(x <= 0, dmean, dy * scale + dmean)
    return dx, dx.sum(PIXELS), (dx * x).sum(PIXELS)


def norm_gradient(dy, x, mean, rstd):
    """The sums of a batch norm's gradient, with ReLU's before it, and the gradient."""
    dy, mean = torch.where(x > 0, dy, 0), mean.sin()[:, None, None]
    first, second = dy.sum(PIXELS), (dy * (x - mean)).sum(PIXELS)
    count = x.numel() / x.shape[1]
    dx = (dy - first[:, None, None] / count
          - (x - mean) * (second[:, None, None] * rstd * rstd / count)) * rstd
    return first, second, dx


def bias_of_patches(dy):
    """Behind a class token patches lie with gaps, and their channels side by side."""
    patches = dy[:, 1:].transpose(1, 2).reshape(3, 64, 4, 6)
    return patches.sum(PIXELS), patches.square().sum(PIXELS, keepdim=True)


def token_and_patches(x, weight, bias, token):
    """The bias of a convolution is added where patches are put behind a class token."""
    patches = torch.conv2d(x, weight, bias, 2).flatten(2).transpose(1, 2)
    rows = torch.cat([token.expand(3, 1, -1), patches], 1)
    return rows, F.layer_norm(rows, (16,))


def spread_numbers(x, gain, variance, gate):
    """What few numbers give is computed where it is spread."""
    scale = gain * torch.rsqrt(variance + 1e-5)
    y = x * scale[:, None, None] + torch.sigmoid(gate)[:, :, None, None]
    return y, y.sum((2, 3))




def special(dy):
    dy[0, 1, 0, 0], dy[1, 2, 1, 1], dy[2, 3, 2, 2] = torch.nan, torch.inf, -torch.inf
    return dy


SHAPE = (3, 16, 4, 6)
TABLE = Table({
    "gated": Case(gated, [last(*SHAPE), last(*SHAPE, seed=1)]),
    "gated, no numbers": Case(gated, [special(last(*SHAPE)), last(*SHAPE, seed=1)]),
    "pooled": Case(pooled, [last(*SHAPE), last(*SHAPE, seed=1)]),
    **{f"expanded gradient, {name}": Case(expanded_gradient, [
        make(*SHAPE), make(*SHAPE, seed=1), normal(3, 16, 1, 1, seed=2),
        normal(3, 16, 1, 1, seed=3)]) for name, make in (("last", last), ("first", normal))},
    **{f"gradient of a batch norm, {name}": Case(norm_gradient, [
        make(*shape), make(*shape, seed=1), normal(shape[1]).abs(), normal(shape[1], 1, 1).abs()])
       for name, make, shape in (("last", last, (3, 13, 6, 7)), ("first", normal, (3, 16, 6, 8)),
                                 ("few pixels", normal, (4, 32, 3, 3)))},
    "bias of patches": Case(bias_of_patches, [normal(3, 25, 64)]),
    "token and patches": Case(token_and_patches, [
        last(3, 4, 8, 12), last(16, 4, 2, 2, seed=1), normal(16, seed=2), normal(16, seed=3)]),
    "group norm": Case(lambda x, w, b: F.group_norm(x, 4, w, b), [
        leaf(3, 16, 6, 10), leaf(16, seed=1), leaf(16, seed=2)]),
    "group norm, SiLU": Case(lambda x, w, b: F.silu(F.group_norm(x, 2, w, b)), [
        leaf(5, 8, 16, 16), leaf(8, seed=1), leaf(8, seed=2)]),
    "as many channels as rows": Case(lambda x, w: F.group_norm(x, 4, w), [
        leaf(4, 16, 4, 8), leaf(16, seed=1)]),
    "norm of channels": Case(lambda x, w: F.layer_norm(x.permute(0, 2, 3, 1), (16,), w).permute(
        0, 3, 1, 2), [last(*SHAPE).requires_grad_(), leaf(16, seed=1)]),
    "norm of channels, first": Case(lambda x, w: F.layer_norm(x.permute(0, 2, 3, 1), (16,), w), [
        leaf(*SHAPE), leaf(16, seed=1)]),
    "norm of a convolution and positions": Case(
        lambda x, w, p: torch.var_mean(torch.conv2d(x, w).permute(0, 2, 3, 1) + p, 3), [
            last(3, 8, 4, 6), last(16, 8, 1, 1, seed=1), normal(1, 4, 6, 16, seed=2)]),
    "learned positions": Case(lambda x, p, w: F.layer_norm(x + p, (64,), w), [
        leaf(3, 16, 64), leaf(1, 16, 64, seed=1), leaf(64, seed=2)]),
    "spread numbers": Case(spread_numbers, [
        normal(3, 16, 6, 10), normal(16), normal(16, seed=1).abs(), normal(3, 16, seed=2)]),
    "variances": Case(lambda x: torch.var_mean(x, PIXELS, correction=0, keepdim=True), [
        normal(3, 16, 6, 8) + 100 * torch.arange(16)[:, None, None]]),
    "variances of many": Case(lambda x: torch.var_mean(x, PIXELS, keepdim=True), [
        last(4, 16, 20, 20) + 100 * torch.arange(16)[:, None, None]]),
    "variances, last": Case(lambda x: torch.var_mean(x, PIXELS, correction=0, keepdim=True), [
        last(3, 16, 6, 8) + 100 * torch.arange(16)[:, None, None]]),
    "batch norm, last": Case(lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True), [
        last(*SHAPE).requires_grad_(), leaf(16, seed=1), leaf(16, seed=2)]),
    "average of neighbours": Case(lambda x: F.avg_pool2d(x.relu(), 2), [
        last(*SHAPE).requires_grad_()]),
    "largest of places": Case(lambda x: x.sin().amax((2, 3)), [last(*SHAPE)]),
    "means of places beside those of rows": Case(
        lambda x: (x.sin().mean((2, 3)), x.sin().mean(1)), [last(*SHAPE)]),
    "numbers of parts of rows": Case(lambda x, m, s: ((x - m) * s, ((x - m) * s).sum(0)), [
        normal(24, 16, 8), normal(24, 16, 1, seed=1), normal(24, 16, 1, seed=2)]),
})


@pytest.mark.parametrize("name", TABLE.cases)
def test_results(name):
    TABLE.check(name)


@pytest.mark.parametrize("dtype", [F32, BF16])
def test_a_variance_over_rows_reads_them_once(dtype):
    x = last(4, 16, 20, 20).to(dtype)  # Of few, Inductor by itself has two passes on the CPU.
    found = run(lambda x: torch.var_mean(x.float(), PIXELS), x)
    sums = [output.kind for program in found.programs for output in program.outputs
            if output.kind == "column_sum"]
    assert len(sums) == 2 and not found.reasons
    assert len([one for one in found.programs if one.rows == 4 * 20 * 20]) == 1


def test_all_nodes_are_taken():
    assert not TABLE.left()


def test_places_of_an_image_are_groups_of_rows(fresh_inductor):
    """Whose sums are one output."""
    def summed(x, y):
        z = (x + y).relu()
        return z, z.sum((2, 3))

    program, = check(summed, last(*SHAPE), last(*SHAPE, seed=1)).programs
    assert (program.length, program.rows, program.groups) == (16, 3 * 4 * 6, 3)
    assert [output.kind for output in program.outputs] == ["row", "group_sum"]


def test_short_rows_may_lie_apart(fresh_inductor):
    """One program, where sums over rows would need others for what reads them."""
    program, = check(lambda x: F.layer_norm(x.permute(0, 2, 3, 1), (16,)), normal(*SHAPE)).programs
    assert (program.length, program.rows) == (16, 3 * 4 * 6)


@pytest.mark.parametrize("memory_format", [torch.contiguous_format, torch.channels_last])
def test_a_block_of_convolutions(fresh_inductor, memory_format):
    """Forward and backward, with PyTorch's running statistics."""
    torch.manual_seed(1)
    model = nn.Sequential(nn.Conv2d(8, 16, 3), nn.BatchNorm2d(16), nn.ReLU(),
                          nn.Conv2d(16, 16, 1), nn.BatchNorm2d(16), nn.SiLU())
    model = model.to(DEVICE).to(memory_format=memory_format)
    state = {name: value.clone() for name, value in model.state_dict().items()}
    x, = on_device([leaf(3, 8, 6, 6)])
    x = x.detach().to(memory_format=memory_format).requires_grad_()
    weight, = on_device([normal(3, 16, 4, 4, seed=1)])
    found = []
    for call in (model, torch.compile(model, backend="lnbwd")):
        model.load_state_dict(state)
        with simulated():
            gradients = torch.autograd.grad((call(x) * weight).sum(), [x, *model.parameters()])
        found.append([*gradients, *(b.clone() for b in model.buffers())])
    for want, got in zip(*found, strict=True):
        torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-4)
    # Inductor counts the batches.
    assert sum(one.taken for one in lnbwd.inductor.decisions(clear=True)) >= 4


def test_sums_of_any_number_of_images(fresh_inductor):
    with simulated():
        compiled = torch.compile(lambda x: x.sum(PIXELS), backend="lnbwd", fullgraph=True)
        for count in (3, 5):
            given = on_device([normal(count, 16, 6, 8)])
            torch._dynamo.mark_dynamic(given[0], 0)
            assert_near([compiled(*given)], Case(lambda x: x.sum(PIXELS), given))
