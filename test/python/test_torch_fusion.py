# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Regions and what torch.compile would have fused around them: a region cuts no fusion that costs
more than it gains, computes what others compute as well, and stands where its results are used."""

import dataclasses
import pathlib
import sys

import pytest
import torch
from captured import Captured, check_against_double, operands, reasons, run_captured, taken

import lnbwd.inductor
from lnbwd.graphs import fusion

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
from lnbwd_bench import models  # noqa: E402

pytestmark = [pytest.mark.compiler, pytest.mark.usefixtures("fresh_regions")]

aten = torch.ops.aten


def centre(x):
    return x - x.mean(-1, keepdim=True)


def rows_in(program):
    return sorted(i.dtype for i in program.inputs if i.kind == "row")


def rows_out(program):
    return sorted(o.dtype for o in program.outputs if o.kind == "row")


def program():
    return next(d.program for d in taken())


# --------------------------------------------------------------------------------------------------
# What is computed where
# --------------------------------------------------------------------------------------------------


def test_what_others_compute_is_computed_again(device):
    """GELU's inner part, which its result for a product shares with its gradient: the region of the
    gradient and of the bias gradient reads h, as torch.compile's two kernels do."""
    def function(h, dh, weight):
        inner = torch.tanh(0.8 * (h + 0.045 * h * h * h))
        y = (0.5 * h * (1 + inner)).flatten(0, 1) @ weight
        slope = 0.5 * (1 + inner) + 0.5 * h * (1 - inner * inner) * 0.8 * (1 + 0.135 * h * h)
        # That the gradient comes after the product, as after a checkpoint.
        gradient = (dh + y.view(dh.shape)) * slope
        return gradient, gradient.sum([0, 1])

    h, dh = operands(device, "r", "r")
    weight = torch.randn(64, 64, generator=torch.Generator().manual_seed(1)).to(device)
    check_against_double(function, [h, dh, weight], tolerance=1e-5)
    assert rows_in(program()) == ["f32"] * 3
    decision, = taken()
    assert decision.reason == "16 bytes an element, torch.compile's kernels 20"


def test_what_is_kept_is_not_computed_twice(device):
    """A norm whose xhat is kept, and whose result a later kernel computes of it: as
    torch.compile has it, that result is never in memory."""
    def function(x, gamma, beta, weight):
        xhat = centre(x)
        y = xhat * gamma + beta
        product = y.flatten(0, 1) @ weight
        return xhat, y + product.view(x.shape)

    x, gamma, beta = operands(device, "r", "c", "c")
    weight = torch.randn(64, 64, generator=torch.Generator().manual_seed(1)).to(device)
    check_against_double(function, [x, gamma, beta, weight], tolerance=1e-5)
    assert rows_out(program()) == ["f32", "f32"]  # xhat, and y for the product.

    def without_product(x, gamma, beta, weight):
        xhat = centre(x)
        y = xhat * gamma + beta
        return xhat, (xhat.flatten(0, 1) @ weight).view(x.shape) + y

    lnbwd.inductor.decisions(clear=True)
    check_against_double(without_product, [x, gamma, beta, weight], tolerance=1e-5)
    assert rows_out(program()) == ["f32"]  # xhat alone.


def test_pixels_in_another_order(device):
    """An odd number of them: torch.compile shuffles them in the kernel of the sum, and so does the
    region, in loads of one element each."""
    def function(x):
        return centre(torch.cat([x[..., 33:], x[..., :33]], -1)).mul(2.0)

    x, = operands(device, "r")
    check_against_double(function, [x], tolerance=1e-5)
    assert rows_out(program()) == ["f32"]


def test_what_another_sum_reads_through_other_views_counts(device):
    """torch.compile reads a slice once for both sums, of which one is that of a permuted copy."""
    def function(x, y):
        part = x[:, 24:]
        return part.sum(1), (part * y).sum(1)

    x = torch.randn(2, 1048, 256, device=device)
    run_captured(function, x, torch.randn(2, 1024, 256, device=device))
    assert not taken()


@pytest.mark.parametrize("n", [14, 64])
def test_numbers_of_short_rows_count(device, n):
    """What a function that no region has makes of sums: torch.compile needs no sums in memory."""
    def function(x):
        return torch.atan2(x.sum(-1), x[..., 0])

    x, = operands(device, "r", n=n)
    run_captured(function, x)
    assert len(taken()) == (n == 64)


def test_a_neighbour_that_is_cut_off_counts(device):
    """A function that no region has, which torch.compile computes in the kernel of the sum."""
    def function(x):
        y = centre(x)
        return torch.atan2(y, y)

    x, = operands(device, "r")
    got, _ = run_captured(function, x)
    torch.testing.assert_close(got, function(x))
    assert not taken()
    assert reasons() == [
        "it would move 8 bytes an element, torch.compile's kernels 4, as a part of what those fuse"]


def test_a_pooling_that_is_cut_off_counts(device):
    """torch.compile computes the gradient of a pooling in the kernel of the sum behind it."""
    def function(x, pooled):
        image = aten.avg_pool2d_backward(pooled, x, [2, 2], [2, 2], [0, 0], False, True, None)
        return centre((image + x).flatten(2))

    x = torch.randn(2, 8, 8, 8, device=device)
    got, _ = run_captured(function, x, x[..., ::2, ::2].contiguous())
    torch.testing.assert_close(got, function(x, x[..., ::2, ::2].contiguous()))
    assert not taken()
    [reason] = reasons()
    assert reason.endswith(", as a part of what those fuse")


def test_rows_that_are_spread_behind_a_cut(device):
    """A function of rows and their mean that no region has: torch.compile computes it in the kernel
    of the mean; behind a region of the mean alone the rows would be read again."""
    def function(x):
        scale = torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-5)
        return torch.atan2(x, scale)

    x, = operands(device, "r")
    got, _ = run_captured(function, x)
    torch.testing.assert_close(got, function(x))
    assert not taken()
    assert reasons() == [
        "it would move 4 bytes an element, torch.compile's kernels 4, as a part of what those fuse"]


@pytest.mark.parametrize("name", ["index_put", "index_put_"])
def test_what_writes_to_places_in_place_does_so(name):
    graph = torch.fx.Graph()
    assert fusion.is_scatter(graph.call_function(getattr(torch.ops.aten, name).default))


def test_a_scatter_that_is_cut_off_counts(device):
    """torch.compile computes what it adds to places of a tensor in the kernel of the sum."""
    def function(x, index):
        return torch.zeros_like(x).scatter_add(1, index, centre(x))

    x = torch.randn(48, 64, device=device)
    index = torch.randint(64, x.shape, device=device)
    got, _ = run_captured(function, x, index)
    torch.testing.assert_close(got, function(x, index))
    [reason] = reasons()
    assert reason.endswith(", as a part of what those fuse")


@pytest.mark.parametrize("counts", [False, True])
def test_a_kernel_behind_a_sum_counts(device, monkeypatch, counts):
    """torch.compile computes on with a sum in its kernel: a small region is left."""
    if counts:
        monkeypatch.undo()

    def function(x, weight):
        return x.sin().sum((0, 1)) * weight

    x, weight = operands(device, "r", "c", leading=(4, 9))
    run_captured(function, x, weight)
    assert len(taken()) == (not counts)
    assert [reason.endswith(", with a kernel more") for reason in reasons()] == [True] * counts


def test_fused_multiply_add(device):
    """prims.fma, which gradients of softmax are made of."""
    if not hasattr(torch.ops.prims, "fma"):
        pytest.skip("this PyTorch has no prims.fma")

    def function(dy, y):
        product = dy * y
        return torch.ops.prims.fma(-y, product.sum(-1, keepdim=True).expand_as(y), product)

    arguments = operands(device, "r", "r")
    captured = Captured(True)
    got = torch.compile(function, backend=captured.backend)(*arguments)
    dy, y = (t.double() for t in arguments)
    want = dy * y - y * (dy * y).sum(-1, keepdim=True)
    assert (got.double() - want).norm() <= 1e-6 * want.norm()
    assert len(taken()) == 1 and rows_out(program()) == ["f32"]


@pytest.mark.parametrize("value", [1, -0.75])
def test_added_product(device, value):
    """aten.addcmul, which PyTorch keeps from some version on."""
    def function(x, y, weight):
        return torch.addcmul(x, y, weight, value=value).softmax(-1)

    check_against_double(function, operands(device, "r", "r", "c"), tolerance=1e-6)
    assert len(taken()) == 1 and not reasons()


# --------------------------------------------------------------------------------------------------
# What torch.compile has in memory
# --------------------------------------------------------------------------------------------------


def graph_of(function, *arguments):
    captured = Captured(False)
    torch.compile(function, backend=captured.backend, dynamic=False)(*arguments)
    return captured.graphs[0]


def find(graph, target):
    return next(n for n in graph.nodes if n.target is target)


def test_what_is_in_memory(device):
    def function(x, y, weight, first, second, third):
        few = x.exp()
        many = (x + y + first + second + third).tanh()
        product = few.sigmoid().flatten(0, 1) @ weight
        other = product.view(x.shape)
        return few + 1 + other, many.sum(-1), many.abs().log2() + other

    x, y, *columns = operands(device, "r", "r", "c", "c", "c")
    graph = graph_of(function, x, y, torch.randn(64, 64, device=device), *columns)
    assert not fusion.is_in_memory(find(graph, aten.exp.default))  # Computed in each kernel.
    assert fusion.is_in_memory(find(graph, aten.sigmoid.default))  # A product needs it.
    assert fusion.is_in_memory(find(graph, aten.mm.default))
    assert fusion.is_in_memory(next(n for n in graph.nodes if n.op == "placeholder"))
    many = find(graph, aten.tanh.default)
    assert fusion.is_in_memory(many)  # Of more tensors than torch.compile reads twice.
    assert not fusion.is_in_memory(many, {find(graph, aten.abs.default),
                                          find(graph, aten.sum.dim_IntList)})
    product = find(graph, aten.mm.default)
    users = fusion.separated([find(graph, aten.exp.default)], lambda node: node.users)
    assert users >= set(product.users)
    sources = fusion.separated(list(product.users), lambda node: node.all_input_nodes)
    assert find(graph, aten.exp.default) in sources and many not in sources


def test_what_is_kept_for_several_kernels(device):
    def function(x, y, first, second, third):
        once = (x + y + first + second + third).tanh()
        kept = (x * y - first - second - third).exp()
        of_kept = (kept * first).sin()
        return once.sum(-1), kept.sum(-1), of_kept.sum(0), of_kept.abs().sum(-1)

    graph = graph_of(function, *operands(device, "r", "r", "c", "c", "c"))
    assert not fusion.is_in_memory(find(graph, aten.tanh.default))
    assert fusion.is_in_memory(find(graph, aten.exp.default))
    assert not fusion.is_in_memory(find(graph, aten.sin.default))


# --------------------------------------------------------------------------------------------------
# Memory
# --------------------------------------------------------------------------------------------------


def test_a_region_stands_where_it_is_used(device):
    """What a checkpoint computes again is not computed for all layers before the first needs it."""
    config = dataclasses.replace(models.CONFIGS["gpt2-checkpoints"], layers=2, width=64, heads=2,
                                 hidden=128, batch=2, tokens=8, vocabulary=32)
    model = models.make_model(config, device)
    captured = Captured(True)
    with torch.autocast(device.type, torch.bfloat16):
        loss = torch.compile(model, backend=captured.backend)(
            *models.make_batch(config, device))
    loss.backward()
    nodes = list(captured.graphs[1].nodes)
    place = {node: index for index, node in enumerate(nodes)}
    calls = [n for n in nodes if n.target is torch.ops.lnbwd._region.default]
    assert len(calls) >= 8
    for call in calls:
        users = [user for item in call.users for user in item.users]
        between = nodes[place[call] + 1:min(place[user] for user in users)]
        assert not any(n.target in (aten.mm.default, aten.addmm.default) for n in between)


class PostNorm(torch.nn.Module):
    """A layer with its norms after the residual additions."""

    def __init__(self, width):
        super().__init__()
        self.norms = torch.nn.ModuleList(torch.nn.LayerNorm(width) for _ in range(2))
        self.linears = torch.nn.ModuleList(torch.nn.Linear(width, width) for _ in range(2))

    def forward(self, x):
        for norm, linear in zip(self.norms, self.linears, strict=True):
            x = norm(x + linear(x))
        return x


def saved_rows(captured, m, n):
    output, = (x for x in captured.graphs[0].nodes if x.op == "output")
    return sum(x.meta["val"].element_size() for x in set(output.all_input_nodes)
               if x.op != "placeholder" and x.meta["val"].numel() == m * n)


def test_layers_of_norms_behind_additions_are_not_computed_again(device):
    """A backward pass that computed xhat again would begin with the streams of all layers."""
    results = []
    for has_regions in (False, True):
        torch._dynamo.reset()
        torch.manual_seed(0)
        model = torch.nn.Sequential(*(PostNorm(64) for _ in range(4))).to(device)
        captured = Captured(has_regions)
        x = torch.randn(48, 64, device=device)
        with torch.autocast(device.type, torch.bfloat16):
            y = torch.compile(model, backend=captured.backend)(x)
        y.pow(3).sum().backward()  # Of a norm's squares x has next to no gradient.
        results.append((saved_rows(captured, 48, 64),
                        [p.grad.clone() for p in model.parameters()]))
    (plain, want), (ours, got) = results
    assert ours <= plain
    for g, w in zip(got, want, strict=True):
        assert (g - w).norm() <= 2e-2 * w.norm()
    programs = [d.program for d in taken()]
    assert max(len(p.nodes) for p in programs) < 60
    assert max(len(p.inputs) + len(p.outputs) for p in programs) <= 16
    assert sum(bool(d.column_sums) for d in taken()) >= 7


def test_a_softmax_is_not_computed_again(device):
    """Its operand has as many bytes as its result, and nothing else needs it."""
    def function(scores, mask, values):
        p = torch.softmax(scores.float() + mask, -1)
        return (p * p).bfloat16() @ values.bfloat16()

    arguments = [torch.randn(3, 16, 64, device=device).bfloat16().requires_grad_(),
                 torch.randn(16, 64, device=device), torch.randn(3, 64, 64, device=device)]
    saved = []
    for has_regions in (False, True):
        torch._dynamo.reset()
        captured = Captured(has_regions)
        torch.compile(function, backend=captured.backend)(*arguments)
        saved.append(saved_rows(captured, 48, 64))
    assert saved[1] <= saved[0]
