# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Regions whose rows are groups: a scale and a shift for each sample of a batch, in a block of a
diffusion transformer and alone."""

import functools

import pytest
import torch
from captured import Captured, check_against_double, operands, reasons, taken
from test_torch_calls import calls, compiled_code
from torch import nn

from lnbwd import native, regions_op
from lnbwd.inductor.graph_pass import register
from lnbwd.rowprogram import Builder, Input, Output

pytestmark = [pytest.mark.compiler, pytest.mark.usefixtures("fresh_regions")]


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


@pytest.mark.parametrize(("change", "kind"), [
    # Branches are dropped for whole samples, beside what has a shift for each.
    (lambda x, keep, shift: x * keep + shift, "group_scalar"),
    # Expanded to columns, as in ConvNeXt V2, whose normalisation has the mean of a sample's
    # channels.
    (lambda x, total, shift: x * (shift + total.expand(6, 1, 64) / 64), "group_column")])
def test_a_number_for_each_sample(device, change, kind):
    def function(*tensors):
        y = change(*tensors)
        return y - y.mean(-1, keepdim=True), y.sum((0, 1))

    generator = torch.Generator().manual_seed(0)
    check_against_double(function, [
        torch.randn(shape, generator=generator).to(device)
        for shape in ((6, 4, 64), (6, 1, 1), (6, 1, 64))])
    region, = taken()
    assert [i.kind for i in region.program.inputs] == ["row", "group_column", kind]


def test_nothing_but_numbers_for_samples(device):
    """They tell the call how many samples there are, as in Swin."""
    def function(x, keep):
        y = x * keep
        return y - y.mean(-1, keepdim=True), y.sum((0, 1))

    generator = torch.Generator().manual_seed(0)
    x, keep = (torch.randn(shape, generator=generator).to(device)
               for shape in ((6, 4, 64), (6, 1, 1)))
    got, code, _ = compiled_code(function, x, keep)
    assert len(calls(code)) == 1
    assert all(torch.allclose(a, b, atol=1e-5) for a, b in zip(got, function(x, keep), strict=True))
    region, = taken()
    assert [i.kind for i in region.program.inputs] == ["row", "group_scalar"]


def test_a_number_for_each_group_of_channels(device):
    """The gradient of a group norm sums over the pixels of a channel what has the mean and the
    deviation of a group of channels, of a sample each."""
    def function(x, dy, mean, rstd, weight):
        centred = ((x.view(2, 3, 4, 32) - mean) * rstd).view(2, 12, 8, 4)
        y = dy * torch.sigmoid(centred * weight.view(1, 12, 1, 1))
        return (y * x).sum((2, 3)), y.sum((2, 3))

    generator = torch.Generator().manual_seed(0)
    check_against_double(function, [
        torch.randn(shape, generator=generator).to(device)
        for shape in ((2, 12, 8, 4), (2, 12, 8, 4), (2, 3, 1, 1), (2, 3, 1, 1), (12,))])
    region, = taken()
    assert [i.kind for i in region.program.inputs] == [
        "row", "row", "group_scalar", "group_scalar", "part"]


def gradients(model, inputs, function):
    inputs = [t.detach().clone().requires_grad_() for t in inputs]
    model.zero_grad()
    y = function(*inputs)
    (y * torch.linspace(-1, 1, y.numel(), dtype=y.dtype, device=y.device).reshape(
        y.shape)).sum().backward()
    return y.detach(), [t.grad for t in inputs] + [p.grad for p in model.parameters()]


def test_numbers_for_groups_that_are_as_many_as_columns(device, always_taken):
    """The statistics of two samples of four groups are no weight of eight channels."""
    def function(x, weight):
        y = torch.nn.functional.group_norm(x, 4, weight)
        return y, y.sum((2, 3))

    x = torch.randn(2, 8, 9, 7, device=device).to(memory_format=torch.channels_last)
    check_against_double(function, (x, torch.randn(8, device=device)))
    assert taken()


@pytest.mark.parametrize("batch,tokens,dynamic", [
    *(pytest.param(*shape, False, marks=pytest.mark.full) for shape in ((3, 8), (2, 5), (1, 8))),
    (4, 4, False), (3, 8, True)])
def test_a_block_of_a_diffusion_transformer(device, batch, tokens, dynamic, always_taken):
    """As many tokens as samples, too, where shapes alone do not tell what is spread over what. With
    so few, torch.compile would compute what follows from the sums of groups in their kernel."""
    torch.manual_seed(1)
    width = 32
    model = Block(width)
    exact = Block(width).double().to(device)
    exact.load_state_dict(model.state_dict())
    model = model.to(device)
    inputs = [torch.randn(batch, tokens, width).to(device), torch.randn(batch, width).to(device)]
    compiled = torch.compile(model, backend=Captured(True).backend, dynamic=dynamic)
    y, got = gradients(model, inputs, compiled)
    want_y, want = gradients(exact, [t.double() for t in inputs], exact)
    assert (y - want_y).norm() <= 2e-6 * want_y.norm()
    for actual, expected in zip(got, want, strict=True):
        assert (actual - expected).norm() <= 4e-6 * expected.norm()
    programs = [d.program for d in taken()]
    norms = [p for p in programs if p.has_row_sums]
    assert len(norms) >= 3
    if batch > 1:
        # Both norms of either pass read their scale, a slice where it lies if its place is known,
        # and the gradients of scale and shift are sums of groups.
        assert sum(any(i.kind in ("group_column", "part") for i in p.inputs) for p in norms) >= 4
        sums = [sum(o.kind == "group_sum" for o in p.outputs) for p in programs]
        assert sum(sums) >= 6
    else:
        assert not any(p.has_groups for p in programs)


def test_sums_of_groups_alone(device):
    """The rows that are read say how many groups there are, in another shape as well."""
    def function(dy, x):
        product = (dy * torch.tanh(x)).reshape(4, 5, 64)
        return product, product.sum(1), product.sum(1, keepdim=True)

    captured = check_against_double(function, operands(device, "r", "r", leading=(20,)),
                                    tolerance=1e-6)
    program, = (d.program for d in taken())
    # Small sums are added up once for each tensor that is returned.
    assert [o.kind for o in program.outputs] == ["row", "group_sum", "group_sum"]
    assert program.groups == 4
    assert not any("sum" in str(n.target) for n in captured.graphs[0].nodes)


@pytest.mark.parametrize("dims", [(2,), (1, 2), (2, 3)])
def test_sums_over_dimensions_between_others(device, dims):
    """The gradient of keys that several heads share: what is in front is groups, the rest rows."""
    x = torch.randn(2, 3, 4, 5, 16, generator=torch.Generator().manual_seed(0)).to(device)
    check_against_double(lambda x: ((x * 2).sum(dims), x.exp().sum(dims, keepdim=True)), [x],
                         tolerance=1e-6)
    program, = (d.program for d in taken())
    assert [o.kind for o in program.outputs] == ["group_sum", "group_sum"]


@pytest.mark.parametrize("tokens", [5, 1500])
def test_sums_of_groups_of_two_dimensions(device, always_taken, tokens):
    """A mask that heads share has rows of samples alone, so that heads are a dimension apart."""
    x, mask = (torch.randn(2, heads, tokens, 16, generator=torch.Generator().manual_seed(heads)).to(
        device) for heads in (3, 1))
    check_against_double(lambda x, mask: torch.where(mask > 0, x, 0.0).sum(2), [x, mask],
                         tolerance=1e-5)
    program, = (d.program for d in taken())
    assert [o.kind for o in program.outputs] == ["group_sum"]
    assert [len(i.parts) for i in program.inputs] == [0, 2]


def test_sums_between_others_of_permuted_rows(device):
    """A sum over the last dimension is of rows, wherever they lie, if they follow from it."""
    x = torch.randn(2, 16, 5, 3, generator=torch.Generator().manual_seed(0)).to(device)
    check_against_double(
        lambda x: x.permute(0, 2, 3, 1) / x.permute(0, 2, 3, 1).sum(-1, keepdim=True).exp(), [x],
        tolerance=1e-6)
    assert all(d.program.has_row_sums for d in taken())


@pytest.mark.parametrize("n,kind", [(64, "part"), (66, "group_column")])
def test_columns_of_groups_that_are_parts_of_a_tensor(device, n, kind):
    """Slices of one product lie apart. The second one of 66 begins within a vector: it is copied.
    """
    def function(x, condition):
        shift, scale = condition.chunk(2, 1)
        return (modulate(x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6), shift, scale),)

    x, = operands(device, "r", leading=(3, 7), n=n)
    condition = torch.randn(3, 2 * n, generator=torch.Generator().manual_seed(2)).to(device)
    check_against_double(function, [x, condition], tolerance=1e-6)
    program, = (d.program for d in taken())
    assert [i.kind for i in program.inputs] == ["row", *sorted([kind, "part"])]


@torch.library.custom_op("lnbwd_test::apart", mutates_args=())
def apart(x: torch.Tensor) -> torch.Tensor:
    """Rows with gaps, of which no kernel knows where they begin."""
    return torch.cat([x, x], 1)[:, :x.shape[1]]


@apart.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return x.new_empty_strided(x.shape, (2 * x.shape[1], 1))


def test_slices_of_unknown_memory_are_copied(device):
    def function(x, condition):
        scale, shift = apart(condition).chunk(2, 1)
        return (modulate(x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6), shift, scale),)

    x, = operands(device, "r", leading=(9, 7), n=64)
    condition = torch.randn(9, 128, generator=torch.Generator().manual_seed(2)).to(device)
    check_against_double(function, [x, condition], tolerance=1e-6)
    program, = (d.program for d in taken())
    assert [i.kind for i in program.inputs] == ["row", "group_column", "group_column"]


def test_what_is_spread_over_samples_is_no_column_of_groups(device):
    """A position's row is spread over the samples: with as many tokens as samples it has the size
    of a group column, and is none."""
    def function(x, position):
        stream = x + position * 2
        return (stream * torch.rsqrt(stream.square().mean(-1, keepdim=True) + 1e-6),)

    x, = operands(device, "r", leading=(4, 4))
    position = torch.randn(1, 4, 64, generator=torch.Generator().manual_seed(2)).to(device)
    check_against_double(function, [x, position], tolerance=1e-6)
    assert not any(d.program.has_groups for d in taken())


def test_the_number_of_groups_may_be_a_symbol(device):
    def function(x, scale):
        y = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * (1 + scale.unsqueeze(1))
        return y, y.sum(1)

    torch._dynamo.reset()
    captured = Captured(True)
    compiled = torch.compile(function, backend=captured.backend)
    for batch in (3, 5, 9):
        x, = operands(device, "r", leading=(batch, 4))
        scale = torch.randn(batch, 64).to(device)
        torch._dynamo.mark_dynamic(x, 0)
        torch._dynamo.mark_dynamic(scale, 0)
        for got, want in zip(compiled(x, scale), function(x.double(), scale.double()),
                             strict=True):
            assert (got - want).norm() <= 1e-6 * want.norm()
    assert len(captured.graphs) == 1
    program, = (d.program for d in taken())
    assert program.groups is None and program.has_groups


# --------------------------------------------------------------------------------------------------
# Calls of generated code
# --------------------------------------------------------------------------------------------------


@pytest.fixture(params=["library", "python"])
def call(request, device):
    """The sums of groups, as the function in C++ and as the one in Python."""
    builder = Builder(64)
    program = builder.finish(None, [Input("row", "f32")],
                             [Output("group_sum", "f32", builder.add("input", 0))])
    register(program.text())
    in_python = functools.partial(regions_op.call_in_python, program.text())
    if request.param == "python":
        return in_python
    if native.make_region_call(program.text(), device, in_python) is None:
        pytest.skip("the package has no library for this")
    return regions_op.region_call(program.text(), str(device))


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


def test_pytorch_computes_a_call_without_a_kernel(device, monkeypatch):
    builder = Builder(64)
    program = builder.finish(None, [Input("row", "f32")],
                             [Output("group_sum", "f32", builder.add("input", 0))])
    register(program.text())
    x, sums = torch.randn(12, 64, device=device), torch.empty(3, 64, device=device)
    monkeypatch.setattr(regions_op, "find_kernel", lambda *_: None)
    regions_op.call_in_python(program.text(), 12, 3, x, sums)
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
    register(program.text())
    random = torch.Generator().manual_seed(1)
    inputs = [torch.randn(shape, generator=random).to(device, dtype) for shape, dtype in (
        ((2, 3, 5, 96), torch.float32), ((5, 96), torch.bfloat16), ((5,), torch.float32),
        ((1,), torch.float32))]
    x, table, slope, scale = (tensor.double() for tensor in inputs)
    expected = x * slope[:, None] * scale + table
    total = expected.sum(-1, keepdim=True)
    evaluated = regions_op.find_program(program.text()).evaluate(inputs)
    for y, sums in (regions_op.raw_region(inputs, program.text()), evaluated):
        torch.testing.assert_close(y.reshape(x.shape).double(), expected * total, rtol=1e-5,
                                   atol=1e-4)
        torch.testing.assert_close(sums.reshape(total.shape).double(), total, rtol=1e-5, atol=1e-4)
    with pytest.raises((RuntimeError, ValueError), match=r"repeated_row_scalar\): expected 4"):
        regions_op.raw_region([inputs[0], inputs[1][:4], *inputs[2:]], program.text())


def test_groups_of_an_operand_that_is_not_read(device, always_taken):
    """Without the number of each sample, which is part of what another region gives, nothing says
    what groups of rows share."""
    def function(x, sample):
        y = x.transpose(0, 1).contiguous() * sample
        return torch.relu(x / (x.amax(0, keepdim=True).abs() + 1)), y, y.sum((0, 1))

    arguments = [torch.randn(shape, device=device) for shape in ((3, 3, 16), (3, 1, 1))]
    check_against_double(function, arguments)
    assert len(taken()) == 2 and not reasons()


@pytest.mark.parametrize("dynamic", [False, True])
def test_generated_code_says_the_number_of_groups(device, dynamic):
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
    line, = calls(code)
    if not dynamic:
        assert line.split("(")[1].startswith("15, 3, ")
        return
    x = torch.randn(7, 5, 64, generator=generator).to(device)
    condition = torch.randn(7, 128, generator=generator).to(device)
    for actual, expected in zip(compiled(x, condition), function(x.double(), condition.double()),
                                strict=True):
        torch.testing.assert_close(actual.double(), expected, rtol=1e-5, atol=1e-5)
