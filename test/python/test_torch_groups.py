# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Row programs whose rows are groups: a scale and a shift for each sample of a batch, in a block of
a diffusion transformer and alone."""

import functools

import pytest
import torch
from compiled import Case, Table, assert_near, leaf, normal, on_device, simulated
from test_torch_calls import calls, compiled_code
from torch import nn

import lnbwd.inductor
from lnbwd.ops import native, regions
from lnbwd.program.operands import Input, Output
from lnbwd.program.row_program import Builder

pytestmark = pytest.mark.compiler
WIDTH = 32


def modulate(x, shift, scale):
    return x * (1 + scale.unsqueeze(1)) + shift.unsqueeze(1)


class Block(nn.Module):
    """A block of a diffusion transformer: what its norms give is scaled and shifted, and what its
    branches give is scaled, by what the sample's condition says."""

    def __init__(self, width):
        super().__init__()
        self.norm1 = nn.LayerNorm(width, elementwise_affine=False, eps=1e-6)
        self.norm2 = nn.LayerNorm(width, elementwise_affine=False, eps=1e-6)
        self.mix = nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.condition = nn.Linear(width, 6 * width)

    def forward(self, x, c):
        shift1, scale1, gate1, shift2, scale2, gate2 = self.condition(
            nn.functional.silu(c)).chunk(6, dim=1)
        x = x + gate1.unsqueeze(1) * self.mix(modulate(self.norm1(x), shift1, scale1))
        hidden = nn.functional.gelu(self.up(modulate(self.norm2(x), shift2, scale2)))
        return x + gate2.unsqueeze(1) * self.down(hidden)


BLOCK = Block(WIDTH)
PARAMETERS = dict(BLOCK.named_parameters())


def block(x, c, *parameters):
    return torch.func.functional_call(BLOCK, dict(zip(PARAMETERS, parameters, strict=True)), (x, c))


def block_of(batch, tokens):
    """As many tokens as samples, too, where shapes alone do not tell what is spread over what."""
    return Case(block, [leaf(batch, tokens, WIDTH), leaf(batch, WIDTH, seed=1), *(
        (normal(*p.shape, seed=place) / p.shape[-1] ** 0.5).requires_grad_()
        for place, p in enumerate(PARAMETERS.values()))])


def scaled_and_shifted(x, keep, shift):
    """Branches are dropped for whole samples, beside what has a shift for each."""
    y = x * keep + shift
    return y - y.mean(-1, keepdim=True), y.sum((0, 1))


def only_scaled(x, keep):
    """Nothing but numbers of samples, as in Swin."""
    y = x * keep
    return y - y.mean(-1, keepdim=True), y.sum((0, 1))


def of_channels(x, total, shift):
    """Expanded to columns, as in ConvNeXt V2."""
    y = x * (shift + total.expand(6, 1, 64) / 64)
    return y - y.mean(-1, keepdim=True)


def groups_of_channels(x, dy, mean, rstd, weight):
    """The gradient of a group norm sums over pixels what has statistics of groups of channels."""
    centred = ((x.view(2, 3, 4, 32) - mean) * rstd).view(2, 12, 8, 4)
    y = dy * torch.sigmoid(centred * weight.view(1, 12, 1, 1))
    return (y * x).sum((2, 3)), y.sum((2, 3))


def group_norm(x, weight):
    """The statistics of two samples of four groups are no weight of eight channels."""
    y = nn.functional.group_norm(x, 4, weight)
    return y, y.sum((2, 3))


def sums_of_groups(dy, x):
    product = (dy * torch.tanh(x)).reshape(4, 5, 64)
    return product, product.sum(1), product.sum(1, keepdim=True)


def parts_of_a_product(x, condition):
    """Slices of one product lie apart; of 66 elements the second begins within a vector."""
    shift, scale = condition.chunk(2, 1)
    return modulate(x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6), shift, scale)


def positions(x, position):
    """A position's row is spread over the samples, and is no column of groups."""
    stream = x + position * 2
    return stream * torch.rsqrt(stream.square().mean(-1, keepdim=True) + 1e-6)


TABLE = Table({
    "scaled and shifted": Case(scaled_and_shifted, [
        normal(6, 4, 64), normal(6, 1, 1, seed=1), normal(6, 1, 64, seed=2)]),
    "only scaled": Case(only_scaled, [normal(6, 4, 64), normal(6, 1, 1, seed=1)]),
    "of channels": Case(of_channels, [
        normal(6, 4, 64), normal(6, 1, 1, seed=1), normal(6, 1, 64, seed=2)]),
    "groups of channels": Case(groups_of_channels, [
        normal(2, 12, 8, 4), normal(2, 12, 8, 4, seed=1), normal(2, 3, 1, 1, seed=2),
        normal(2, 3, 1, 1, seed=3), normal(12, seed=4)]),
    "group norm": Case(group_norm, [
        normal(2, 8, 9, 7).to(memory_format=torch.channels_last), normal(8, seed=1)]),
    "diffusion transformer": block_of(3, 8),
    "diffusion transformer, one sample": block_of(1, 8),
    "diffusion transformer, as many samples as tokens": block_of(4, 4),
    "sums of groups": Case(sums_of_groups, [normal(20, 64), normal(20, 64, seed=1)]),
    "sums between others": Case(lambda x: ((x * 2).sum(2), x.exp().sum(2, keepdim=True)), [
        normal(2, 3, 4, 5, 16)]),
    "sums between others, two dimensions": Case(lambda x: (x * 2).sum((1, 2)), [
        normal(2, 3, 4, 5, 16)]),
    "sums of groups of two dimensions": Case(
        lambda x, mask: torch.where(mask > 0, x, 0.0).sum(2), [
            normal(2, 3, 5, 16), normal(2, 1, 5, 16, seed=1)]),
    "sums of permuted rows": Case(
        lambda x: x.permute(0, 2, 3, 1) / x.permute(0, 2, 3, 1).sum(-1, keepdim=True).exp(), [
            normal(2, 16, 5, 3)]),
    "parts of a product": Case(parts_of_a_product, [normal(3, 7, 64), normal(3, 128, seed=1)]),
    "parts within vectors": Case(parts_of_a_product, [normal(3, 7, 66), normal(3, 132, seed=1)]),
    "positions": Case(positions, [normal(4, 4, 64), normal(1, 4, 64, seed=1)]),
})


@pytest.mark.parametrize("name", TABLE.cases)
def test_results(name):
    TABLE.check(name)


def test_all_nodes_are_taken():
    assert not TABLE.left()


def test_the_number_of_groups_may_be_a_symbol(fresh_inductor):
    def function(x, scale):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * (1 + scale.unsqueeze(1))

    with simulated():
        compiled = torch.compile(function, backend="lnbwd", fullgraph=True)
        for batch in (3, 5, 9):
            given = on_device([normal(batch, 4, 64), normal(batch, 64, seed=1)])
            for tensor in given:
                torch._dynamo.mark_dynamic(tensor, 0)
            assert_near([compiled(*given)], Case(function, given))
    made = lnbwd.inductor.decisions(clear=True)
    assert made and all(one.taken for one in made)
    programs = [program for one in made for program in one.programs if program.has_groups]
    assert programs and all(program.groups is None for program in programs)


# --------------------------------------------------------------------------------------------------
# Calls of generated code
# --------------------------------------------------------------------------------------------------


@pytest.fixture(params=["library", "python"])
def call(request, device):
    """The sums of groups, as the function in C++ and as the one in Python."""
    builder = Builder(64)
    program = builder.finish(None, [Input("row", "f32")],
                             [Output("group_sum", "f32", builder.add("input", 0))])
    regions.register_row_program(program)
    in_python = functools.partial(regions.call_in_python, program.text())
    if request.param == "python":
        return in_python
    if native.make_region_call(program.text(), device, in_python) is None:
        pytest.skip("the package has no library for this")
    return regions.region_call(program.text(), str(device))


def test_a_call_takes_the_number_of_groups(device, call):
    """Whatever the shapes of the tensors are."""
    x = torch.randint(-8, 8, (12, 64)).float().to(device)
    for groups in (1, 3, 12):
        sums = torch.full((groups, 64), torch.nan, device=device)
        assert call(12, groups, x, sums) is None
        assert torch.equal(sums, x.reshape(groups, -1, 64).sum(1))
    with pytest.raises(TypeError, match="expected the numbers of rows and groups, 1 inputs and 1 "
                                        "outputs, got 3 arguments"):
        call(12, x, sums)
    with pytest.raises(RuntimeError, match="expected a multiple of B"):
        call(12, 5, x, sums)


def test_pytorch_computes_a_call_without_a_kernel(device, no_kernels):
    builder = Builder(64)
    program = builder.finish(None, [Input("row", "f32")],
                             [Output("group_sum", "f32", builder.add("input", 0))])
    regions.register_row_program(program)
    x, sums = torch.randn(12, 64, device=device), torch.empty(3, 64, device=device)
    regions.call_in_python(program.text(), 12, 3, x, sums)
    torch.testing.assert_close(sums, x.reshape(3, 4, 64).sum(1))


def test_what_groups_share(device):
    """A row block, a row scalar and a number that all groups share, without a group column."""
    builder = Builder(96)
    x, table, slope, scale = (builder.add("input", i) for i in range(4))
    row = builder.add("add", builder.add("mul", builder.add("mul", x, slope), scale), table)
    total = builder.add("row_sum", row)
    program = builder.finish(
        None, [Input("row", "f32"), Input("repeated_row", "bf16"), Input("repeated_scalar", "f32"),
               Input("number", "f32")],
        [Output("row", "f32", builder.add("mul", row, total)), Output("scalar", "f32", total)])
    regions.register_row_program(program)
    random = torch.Generator().manual_seed(1)
    inputs = [torch.randn(shape, generator=random).to(device, dtype) for shape, dtype in (
        ((2, 3, 5, 96), torch.float32), ((5, 96), torch.bfloat16), ((5,), torch.float32),
        ((1,), torch.float32))]
    x, table, slope, scale = (tensor.double() for tensor in inputs)
    expected = x * slope[:, None] * scale + table
    total = expected.sum(-1, keepdim=True)
    evaluated = regions.find_program(program.text()).evaluate(inputs)
    for y, sums in (regions.raw_region(inputs, program.text()), evaluated):
        torch.testing.assert_close(y.reshape(x.shape).double(), expected * total, rtol=1e-5,
                                   atol=1e-4)
        torch.testing.assert_close(sums.reshape(total.shape).double(), total, rtol=1e-5, atol=1e-4)
    with pytest.raises((RuntimeError, ValueError), match=r"repeated_row_scalar\): expected 4"):
        regions.raw_region([inputs[0], inputs[1][:4], *inputs[2:]], program.text())


@pytest.mark.parametrize("dynamic", [False, True])
def test_generated_code_says_the_number_of_groups(device, fresh_inductor, dynamic):
    def function(x, condition):
        shift, scale = condition.chunk(2, 1)
        y = modulate(x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6), shift, scale)
        return y, y.sum(1)

    generator = torch.Generator().manual_seed(1)
    x = torch.randn(3, 5, 64, generator=generator).to(device)
    condition = torch.randn(3, 128, generator=generator).to(device)
    if dynamic:
        for tensor in (x, condition):
            torch._dynamo.mark_dynamic(tensor, 0)
    got, code, compiled = compiled_code(function, x, condition)
    for actual, expected in zip(got, function(x.double(), condition.double()), strict=True):
        torch.testing.assert_close(actual.double(), expected, rtol=1e-5, atol=1e-5)
    if not dynamic:
        assert calls(code)[0].split("(")[1].startswith("15, ")
        return
    x = torch.randn(7, 5, 64, generator=generator).to(device)
    condition = torch.randn(7, 128, generator=generator).to(device)
    for actual, expected in zip(compiled(x, condition), function(x.double(), condition.double()),
                                strict=True):
        torch.testing.assert_close(actual.double(), expected, rtol=1e-5, atol=1e-5)
