# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Regions of torch.compile's graphs as row programs, in graphs that are captured (captured.py);
one test goes through Inductor whole.
"""

import collections
import dataclasses
import operator
import os
import pathlib
import re
import sys
import threading
import warnings

import loaded_python
import pytest
import torch
import torch.utils.checkpoint
from captured import Captured, check_against_double, operands, reasons, run_captured, taken
from cases import diagonal
from torch._inductor.scheduler import Scheduler
from torch._inductor.utils import run_and_get_code

import lnbwd
import lnbwd.inductor
from conftest import HAS_GPU
from lnbwd import regions_op
from lnbwd.inductor import estimates, graph_pass, lowering, regions, replacing, rewrites
from lnbwd.inductor.estimates import estimate
from lnbwd.inductor.graph_pass import RecomputePass
from lnbwd.inductor.surroundings import surroundings

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
from lnbwd_bench import models  # noqa: E402

pytestmark = [pytest.mark.compiler, pytest.mark.usefixtures("fresh_regions")]
F32, BF16 = torch.float32, torch.bfloat16


# --------------------------------------------------------------------------------------------------
# Models
# --------------------------------------------------------------------------------------------------

# Configuration, precision, layers, and how many gradients of a bias are sums alone: behind each
# GELU, of the heads that are put side by side, and of patches in float32.
# Of one layer all places of a norm are there: after the inputs, and after either branch's sum.
# In every run each model once, each precision, and one and two layers.
MODELS = [pytest.param("gpt2-small", "autocast", 2, 4, marks=pytest.mark.full),
          ("gpt2-small", "bf16", 1, 2), ("vit-large", "autocast", 1, 3),
          pytest.param("vit-large", "bf16", 2, 4, marks=pytest.mark.full),
          pytest.param("llama-1b", "autocast", 1, 0, marks=pytest.mark.full),
          ("llama-1b", "bf16", 2, 0)]


def small(name, layers=1):
    config = models.CONFIGS[name]
    return dataclasses.replace(config, layers=layers, width=64, heads=2, hidden=128, batch=2,
                               tokens=8, vocabulary=32, key_heads=min(config.key_heads, 1))


def gradients(model, batch, function, precision, device):
    model.zero_grad()
    with torch.autocast(device.type, BF16, enabled=precision == "autocast"):
        loss = function(*batch)
    loss.backward()
    return loss.item(), {name: p.grad.double() for name, p in model.named_parameters()}


def error(got, want):
    """The mean of the parameters' relative errors."""
    return sum((got[name] - want[name]).norm().item() / (want[name].norm().item() + 1e-3)
               for name in want) / len(want)


@pytest.mark.parametrize("name,precision,layers,column_sums", MODELS)
def test_models(device, name, precision, layers, column_sums):
    """Forward and backward pass of every norm are regions, and the gradients are right."""
    config = small(name, layers)
    dtype = F32 if precision == "autocast" else BF16
    model = models.make_model(config, device, dtype)
    batch = models.make_batch(config, device, dtype)
    exact = models.make_model(config, device, dtype).double()
    doubles = [t.double() if t.is_floating_point() else t for t in batch]
    _, want = gradients(exact, doubles, exact, "float64", device)
    loss, plain = gradients(model, batch, torch.compile(model, backend=Captured(False).backend),
                            precision, device)
    torch._dynamo.reset()
    our_loss, ours = gradients(model, batch,
                               torch.compile(model, backend=Captured(True).backend), precision,
                               device)
    # PyTorch's own operations round after each, our kernels at their ends.
    assert error(ours, want) <= 1.1 * error(plain, want)
    assert abs(our_loss - loss) < 1e-2
    norms = sum(isinstance(m, (torch.nn.LayerNorm, models.LlamaNorm)) for m in model.modules())
    assert norms == 2 * config.layers + 1
    found = taken()
    of_width = [d for d in found if d.row_sums and d.program.length == config.width]
    # What the first norm reads, torch.compile gathers in its kernel, and scatters its gradient;
    # the second may read it, too.
    assert len([d for d in of_width if not d.column_sums]) >= norms - 2
    assert len([d for d in of_width if d.column_sums]) >= norms - 1
    assert len([d for d in found if d.column_sums and not d.row_sums]) == column_sums


@pytest.mark.parametrize("name,precision", [
    pytest.param(name, precision, marks=[] if is_sample else [pytest.mark.full])
    for name, precision, is_sample in (
        ("gpt2-small", "autocast", True), ("gpt2-small", "bf16", False),
        ("vit-large", "autocast", False), ("vit-large", "bf16", True),
        ("llama-1b", "autocast", False), ("llama-1b", "bf16", True))])
def test_every_norm_is_worth_it(device, name, precision):
    """With so many samples and tokens that what is one for all of them counts little. But the
    first, whose rows torch.compile gathers where it uses them, and whose gradient it scatters."""
    config = dataclasses.replace(small(name), batch=24, tokens=33)
    model = models.make_model(config, device, F32 if precision == "autocast" else BF16)
    batch = models.make_batch(config, device, next(model.parameters()).dtype)
    found = []

    def look(graph):
        rewrites.simplify(graph)
        for region in regions.find_regions(graph):
            regions.convert(region)
            if region.row_sums and region.domain.length == config.width:
                found.append((bool(region.column_sums), estimate(surroundings(region))))

    captured = Captured(True, look)
    with torch.autocast(device.type, BF16, enabled=precision == "autocast"):
        torch.compile(model, backend=captured.backend)(*batch).backward()
    for is_backward in (False, True):
        estimates = [e for has_sums, e in found if has_sums == is_backward]
        assert len(estimates) == 2 * config.layers + 1
        assert sum(e.is_worth for e in estimates) >= 2 * config.layers - 1, estimates


@pytest.mark.parametrize("dtype", [F32, BF16])
def test_what_no_region_computes_is_kept(device, dtype):
    """A function that regions do not have is in memory for the first norm, and kept for the region
    of its gradient, which would have it written again."""
    def function(x, gamma):
        return torch.nn.functional.layer_norm(x.atan(), (64,), gamma).sin()

    arguments = [t.to(dtype).requires_grad_()
                 for t in operands(device, "r", "c", leading=(16, 9))]
    captured = Captured(True)
    torch.compile(function, backend=captured.backend)(*arguments).sum().backward()
    forward, backward = captured.graphs
    stream = next(n for n in forward.nodes if n.target is torch.ops.aten.atan.default)
    output, = (n for n in forward.nodes if n.op == "output")
    assert stream in output.all_input_nodes
    assert not any(n.target is torch.ops.aten.atan.default for n in backward.nodes)
    # torch.compile computes it in the norm's kernel.
    assert len(taken()) == 1


def test_what_is_divided_by_one_is_written(device):
    """It has the numbers of what is read, but memory of its own."""
    def function(x):
        y = x / 1.0
        return y, y.logsumexp(-1)

    x, = operands(device, "r")
    captured = check_against_double(function, (x,))
    graph, = captured.graphs
    assert len(taken()) == 1
    assert not any(n.target is torch.ops.aten.div.Tensor for n in graph.nodes)


@pytest.mark.parametrize("dtype", [F32, BF16])
@pytest.mark.parametrize("most", [lambda y: y.amax(-1), lambda y: y.norm(torch.inf, 0)])
def test_what_is_compared_with_its_largest_element_is_kept(device, always_taken, dtype, most):
    """The gradient divides by the number of elements that are equal to it: with other roundings,
    there might be none."""
    def function(x, gamma):
        y = (x * 1.5 * gamma + 1) * gamma
        return most(y - y.mean(-1, keepdim=True))

    arguments = [t.to(dtype).requires_grad_() for t in operands(device, "r", "c")]
    result, _ = run_captured(function, *arguments)
    gradients = torch.autograd.grad(result.sum(), arguments)
    assert taken()
    for got, want in zip(gradients, torch.autograd.grad(function(*arguments).sum(), arguments),
                         strict=True):
        torch.testing.assert_close(got, want, rtol=0.02, atol=0.02 * want.abs().max().item())


@pytest.mark.parametrize("compare", [torch.eq, torch.ge])
def test_what_others_compare_with_the_largest_of_a_region_is_read(device, always_taken, compare):
    """A region would round a sine in another way than what compares it."""
    def function(x):
        y = torch.sin(x * 0.7) * 0.3 + x
        most = y.amax(0, keepdim=True)
        return y - most, compare(y, most).sum(0)

    x = torch.randn(64, 48, device=device, requires_grad=True)
    (result, count), _ = run_captured(function, x)
    assert taken() and count.min() >= 1
    gradient, = torch.autograd.grad(result.square().sum(), x)
    want, = torch.autograd.grad(function(x)[0].square().sum(), x)
    torch.testing.assert_close(gradient, want, rtol=1e-4, atol=1e-4 * want.abs().max().item())


@pytest.mark.parametrize("rows,is_chosen", [(1024, False), (16384, True)])
def test_small_row_blocks_are_pytorchs_to_keep_with_cuda_graphs(rows, is_chosen):
    """A tensor less to make anew is worth more there than a microsecond of the GPU's."""
    def function(x, gamma):
        return torch.nn.functional.layer_norm(x, (64,), gamma).sin()

    captured = Captured(True, region_pass=lambda graph: None)
    with torch._inductor.config.patch("triton.cudagraphs", True), lnbwd.simulate():
        torch.compile(function, backend=captured.backend)(
            torch.randn(rows, 64, requires_grad=True), torch.ones(64))
    joint, = captured.joint
    assert any("recompute" in node.meta for node in joint.nodes) == is_chosen


def test_nodes_may_stand_in_front_of_their_operands():
    """Inductor's own passes over the joint graph leave some there."""
    def function(x, gamma):
        return torch.nn.functional.layer_norm(x, (64,), gamma).sin()

    captured = Captured(True, region_pass=lambda graph: None)
    torch.compile(function, backend=captured.backend)(
        torch.randn(16, 64, requires_grad=True), torch.ones(64))
    joint, = captured.joint
    assert not any(node.meta.pop("recompute", None) for node in joint.nodes)
    user = next(node for node in joint.nodes if node.target is torch.ops.aten.sin.default)
    user.append(user.all_input_nodes[0])
    with lnbwd.simulate():
        RecomputePass()(joint)
    joint.lint()
    assert any("recompute" in node.meta for node in joint.nodes)


def test_programs_of_a_graph_are_compiled_side_by_side(device, monkeypatch):
    """And each once."""
    loads, threads = collections.Counter(), set()
    load = regions_op._load

    def counted(program, *others):
        loads[program.text] += 1
        threads.add(threading.get_ident())
        return load(program, *others)

    def function(x, y, gamma):
        return (torch.nn.functional.layer_norm(x, (72,), gamma) * y.sum(-1, keepdim=True),
                torch.nn.functional.rms_norm(y, (72,)).sum((0, 1)), x.sum((0, 1)) + y)

    monkeypatch.setattr(regions_op, "_load", counted)
    captured = check_against_double(function, operands(device, "r", "r", "c", n=72))
    assert taken()
    assert set(loads) >= {d.program.text() for d in taken()}
    assert set(loads.values()) == {1}
    assert threading.get_ident() not in threads
    assert len(captured.graphs) == 1


def test_sums_of_other_layers_are_not_looked_at(device, monkeypatch):
    """What a region reads beside other sums is searched for from what it reads, and not in the
    whole graph: the pass would take layers times layers as long."""
    looked_at = []
    monkeypatch.setattr(estimates, "sources", lambda of: looked_at.append(of) or [])

    def function(x, w):
        sums = []
        for _ in range(6):
            sums.append((x * x).sum(0))
            x = x @ w
        return sums

    run_captured(function, torch.randn(16, 64, device=device),
                 torch.randn(64, 64, device=device) / 8)
    assert len(taken()) == 6
    assert not looked_at


def test_what_a_backward_pass_computes_again(device):
    """xhat is not kept: the backward pass has it from x, which is kept anyway."""
    config = dataclasses.replace(small("gpt2-small"), layers=3)
    model = models.make_model(config, device)
    batch = models.make_batch(config, device)
    with torch.autocast(device.type, BF16):
        torch.compile(model, backend=Captured(True).backend)(*batch).backward()
    forward = [d.program for d in taken() if d.row_sums and not d.column_sums
               and d.program.length == config.width]
    # Stream and branch in, or what they begin with, out of a table; stream and the next product's
    # operand out, but no third row block.
    rows = [[o.dtype for o in p.outputs if o.kind == "row"] for p in forward]
    assert len(rows) == 2 * config.layers + 1
    assert [any(i.kind == "table" for i in p.inputs) for p in forward].count(True) == 1
    assert all(len(kinds) <= 2 for kinds in rows), rows


# --------------------------------------------------------------------------------------------------
# Single regions
# --------------------------------------------------------------------------------------------------


def norm_backward(dy, x, gamma, mean, rstd):
    xhat = (x - mean) * rstd
    wdy = dy * gamma
    dx = rstd * (wdy - wdy.mean(-1, True) - xhat * (wdy * xhat).mean(-1, True))
    return dx, (dy * xhat).sum([0, 1]), dy.sum([0, 1])


def test_one_operator_takes_the_place_of_a_region(device):
    captured = check_against_double(norm_backward, operands(device, "r", "r", "c", "s", "s"),
                                    tolerance=1e-6)
    nodes = [n for n in captured.graphs[0].nodes if n.op == "call_function"]
    assert [n.target for n in nodes].count(torch.ops.lnbwd._region.default) == 1
    # What is left takes the operator's results apart and gives them their shapes.
    names = {str(n.target) for n in nodes} - {"lnbwd._region.default", "aten.reshape.default"}
    assert names == {"<built-in function getitem>"}


@pytest.mark.parametrize("leading,n", diagonal([(2, 3), (5,), (2, 1, 4)], [16, 63, 100]))
def test_shapes(device, leading, n):
    def function(x, h, gamma):
        stream = x + h
        var, mean = torch.var_mean(stream, -1, correction=0, keepdim=True)
        return stream, (stream - mean) * torch.rsqrt(var + 1e-5) * gamma

    check_against_double(function, operands(device, "r", "r", "c", leading=leading, n=n),
                         tolerance=1e-5)
    assert len(taken()) == 1


def test_rows_may_be_a_symbol(device):
    def function(x):
        return (x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-5),)

    torch._dynamo.reset()
    captured = Captured(True)
    compiled = torch.compile(function, backend=captured.backend)
    for rows in (5, 9, 17):
        x, = operands(device, "r", leading=(rows, 3))
        torch._dynamo.mark_dynamic(x, 0)
        want = function(x.double())[0]
        assert (compiled(x)[0].double() - want).norm() <= 1e-6 * want.norm()
    assert len(captured.graphs) == 1
    program, = (d.program for d in taken())
    assert program.rows is None
    assert program.expected_rows == 64
    assert type(program).from_text(program.text()) == program


def test_a_column_may_be_computed(device):
    """Gemma's norm scales by 1 + weight."""
    def function(x, weight):
        return (x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * (1.0 + weight),)

    captured = check_against_double(function, operands(device, "r", "c"), tolerance=1e-6)
    # The sum is left to nobody else.
    assert not any("add" in str(n.target) for n in captured.graphs[0].nodes)


def test_a_norm_that_is_not_divided_by_constants(device):
    def function(x, y):
        largest = x.amax(-1, keepdim=True)
        power = torch.exp(x - largest)
        z = torch.where(y > 0, power, -y) / power.sum(-1, keepdim=True)
        return torch.clamp(z, -1.0, 0.5), z.abs().sum(-1)

    check_against_double(function, operands(device, "r", "r"), tolerance=2e-6)
    assert len(taken()) == 1


def test_a_sum_over_all_rows_goes_on_as_a_tensor(device):
    """Its conversions and views are the operator's result itself."""
    def function(dy, h):
        wide = dy.float() * torch.tanh(h.float())
        narrow = wide.bfloat16()
        return narrow, narrow.sum([0, 1], keepdim=True).reshape(-1).float()

    dy, h = (t.bfloat16() for t in operands(device, "r", "r", leading=(4, 8)))
    _, captured = run_captured(function, dy, h)
    program, = (d.program for d in taken())
    assert [(o.kind, o.dtype) for o in program.outputs] == [("row", "bf16"), ("column_sum", "f32")]
    assert not any("convert" in str(n.target) for n in captured.graphs[0].nodes)


# --------------------------------------------------------------------------------------------------
# What is left to Inductor
# --------------------------------------------------------------------------------------------------


def test_a_path_that_comes_back(device):
    """Two sums of which one needs the product of what the other gives are two regions."""
    def function(x, w):
        y = x - x.mean(-1, keepdim=True)
        z = y @ w
        return y * z.sum(-1, keepdim=True), z

    x, w = torch.randn(8, 64, device=device), torch.randn(64, 64, device=device)
    (got, _), captured = run_captured(function, x, w)
    want = function(x.double(), w.double())[0]
    assert (got.double() - want).norm() <= 1e-5 * want.norm()
    captured.graphs[0].lint()
    assert len(taken()) == 2


def test_unknown_operations_are_the_border(device):
    def function(x):
        y = torch.cumsum(x, -1)
        return (y - y.mean(-1, keepdim=True),)

    check_against_double(function, operands(device, "r"), tolerance=1e-5)
    program, = (d.program for d in taken())
    assert [i.kind for i in program.inputs] == ["row"]


@pytest.mark.parametrize("rows", [512, 5130])
def test_a_lone_bias_gradient_is_taken(device, rows):
    def function(dy):
        return (dy.sum(0),)

    check_against_double(function, (torch.randn(rows, 40, device=device),), tolerance=1e-6)
    assert [d.column_sums for d in taken()] == [1]


@pytest.mark.parametrize("dims,kind", [(0, "column_max"), ((0, 1), "column_max"),
                                       (1, "group_max")])
def test_the_largest_of_rows_is_taken(device, dims, kind):
    x = torch.randn(3, 70, 40, generator=torch.Generator().manual_seed(1)).to(device)
    x[1, 2, 3], x[1, 2, 4] = torch.nan, torch.inf
    for function, has_sum in ((lambda x: ((x * 2).amax(dims),), False),
                              (lambda x: ((x * 2).amax(dims), (x + 1).sum(dims)), True)):
        lnbwd.inductor.decisions(clear=True)
        got = torch.compile(function, backend="lnbwd", fullgraph=True)(x)
        torch.testing.assert_close(got[0], function(x)[0], rtol=0, atol=0, equal_nan=True)
        torch.testing.assert_close(got, function(x), equal_nan=True)
        program, = (d.program for d in lnbwd.inductor.decisions() if d.program)
        assert [o.kind for o in program.outputs] == [
            *[kind.replace("max", "sum")] * has_sum, kind]
        assert taken()


@pytest.mark.parametrize("dims,kind", [(0, "column_max"), (1, "group_max")])
def test_what_is_true_of_any_row_is_taken(device, dims, kind):
    x = torch.randn(3, 70, 40, generator=torch.Generator().manual_seed(1)).to(device)
    x[1, 2, 3], x[:, :, 4], x[:, :, 5], x[:, :, 6] = torch.nan, 0, -torch.inf, torch.inf
    for function, count in ((lambda x: ((x * 2).amin(dims), x.relu().any(dims)), 2),
                            (lambda x: ((x < 1).all(dims, keepdim=True), x.half().amin(dims)), 2),
                            (lambda x: x.amin(-1) - x.any(-1).float(), 0)):
        lnbwd.inductor.decisions(clear=True)
        got = torch.compile(function, backend="lnbwd", fullgraph=True)(x)
        torch.testing.assert_close(got, function(x), rtol=0, atol=0, equal_nan=True)
        outputs = [o.kind for d in lnbwd.inductor.decisions() if d.program
                   for o in d.program.outputs]
        assert outputs == ([kind] * count or ["scalar"])


@pytest.mark.parametrize("shape", [(4, 64), (4, 2, 32)])
def test_what_is_returned_twice_has_memory_of_its_own(device, shape):
    def twice(x):
        y = torch.softmax(x, -1)
        return y * 2, (y * 2).view(shape)

    x = torch.randn(4, 64, device=device)
    one, other = torch.compile(twice, backend="lnbwd", fullgraph=True)(x)
    [decision] = taken()
    assert len(decision.program.outputs) == 2
    one.zero_()
    torch.testing.assert_close(other.view(4, 64), 2 * torch.softmax(x, -1))


@pytest.mark.parametrize("rows,count", [(4, 2), (5, 1)])
def test_a_sum_that_is_returned_twice(device, monkeypatch, rows, count):
    """It is added up twice if that costs less than a copy."""
    def twice(x):
        return (x * x).sum(0), (x * x).sum(0).view(8, 8)

    monkeypatch.setattr(regions, "_MOST_ADDED_TWICE", 4 * 64)
    x = torch.randn(rows, 64, device=device)
    one, other = torch.compile(twice, backend="lnbwd", fullgraph=True)(x)
    [decision] = taken()
    assert [output.kind for output in decision.program.outputs] == count * ["column_sum"]
    one.zero_()
    torch.testing.assert_close(other.view(64), (x * x).sum(0))


def test_a_result_of_a_region_that_another_one_would_compute(device, monkeypatch):
    """The cast of a sum is written by the region of the sum, and by no other."""
    monkeypatch.setattr(graph_pass, "_is_worth", lambda _: True)
    def function(x, z):
        first = (x * x.sin()).sum(1).bfloat16()
        second = (z * z.sin()).sum(1).bfloat16()
        return torch.tanh(first * second).float().sum(0),

    check_against_double(function, operands(device, "r", "r", leading=(4, 8)), tolerance=2e-2)
    assert len(taken()) == 3


def test_views_of_one_tensor_share_its_memory(device):
    """What several matrix products take, for example; only what is computed twice is written so."""
    def views(x):
        y = torch.softmax(x, -1)
        return y.view(2, 2, 64), y.view(4, 2, 32), y

    x = torch.randn(4, 64, device=device)
    results, captured = run_captured(views, x)
    for result in results:
        torch.testing.assert_close(result.view(4, 64), torch.softmax(x, -1))
    assert not any(node.target is torch.ops.aten.clone.default for node in captured.graphs[0].nodes)


def test_rows_that_are_not_dense(device):
    def function(x):
        y = x.transpose(0, 1)
        return (y - y.mean(-1, keepdim=True),)

    check_against_double(function, operands(device, "r"), tolerance=1e-6)
    region, = taken()
    assert [o.is_strided for o in region.program.outputs] == [True]


def test_float64_and_integers_are_left(device):
    def function(x):
        return (x - x.sum(-1, keepdim=True),)

    run_captured(function, torch.randn(4, 64, dtype=torch.float64, device=device))
    run_captured(function, torch.randint(9, (4, 64), device=device))
    assert not taken()


def test_a_gradient_of_one_token(device):
    """The region puts it among zeros itself."""
    def function(dy, x, gamma, mean, rstd):
        dy = torch.select_scatter(torch.zeros_like(x), dy.bfloat16().to(x.dtype), 1, 0)
        return norm_backward(dy, x, gamma, mean, rstd)

    x, gamma, mean, rstd = operands(device, "r", "c", "s", "s")
    captured = check_against_double(function, [x[:, 1].contiguous(), x, gamma, mean, rstd])
    program, = (d.program for d in taken() if d.column_sums)
    assert [i.dtype for i in program.inputs if i.kind == "row"] == ["f32"]
    assert not any("scatter" in str(n.target) for n in captured.graphs[0].nodes)


def test_what_inductor_computes_in_place_is_left(device):
    """A mask of a class for each row, which would have to be written for us."""
    def function(x, target):
        one = torch.arange(0, 128, 2, device=x.device) == target
        return x.bfloat16() - torch.where(one, x, 0.0).sum(-1, keepdim=True).bfloat16()

    x, = operands(device, "r", leading=(64,))
    got, _ = run_captured(function, x, 2 * torch.arange(64, device=device).view(64, 1))
    assert (got.float() - (x - x.diag()[:, None])).abs().max() < 0.05
    assert not taken()
    [reason] = reasons()
    assert reason.endswith(", as a part of what those fuse")


def test_without_a_place_to_run(monkeypatch):
    monkeypatch.setenv("LNBWD_SIMULATE", "0")
    x, = operands("cpu", "r")
    got, _ = run_captured(lambda x: (x - x.mean(-1, keepdim=True),), x)
    assert torch.equal(got[0], x - x.mean(-1, keepdim=True))
    assert reasons() == ["the tensors are on the CPU"]


@pytest.mark.simulator
@pytest.mark.skipif(HAS_GPU, reason="a graph on the CPU is meant to be there")
def test_a_model_on_the_cpu_is_warned_of_once(monkeypatch, fresh_regions):
    """Also where its graphs come out of Inductor's cache, which no pass sees."""
    monkeypatch.setenv("LNBWD_SIMULATE", "0")
    monkeypatch.setattr(torch._TorchCompileInductorWrapper, "__call__", lambda _, model, *__: model)
    x, = operands("cpu", "r")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            torch._dynamo.reset()
            graph_pass._warned.clear()
            for factor in (2, 3):
                torch.compile(lambda x: x / x.sum(-1, keepdim=True) * factor,  # noqa: B023
                              backend="lnbwd")(x)
    words = [str(w.message) for w in caught if "lnbwd" in str(w.message)]
    assert len(words) == 2
    assert all("the tensors are on the CPU" in word and "to a GPU" in word
               and "'with lnbwd.simulate():'" in word for word in words)
    graph_pass._warned.clear()
    torch._dynamo.reset()
    with warnings.catch_warnings(record=True) as caught, lnbwd.simulate():
        warnings.simplefilter("always")
        torch.compile(lambda x: x / x.sum(-1, keepdim=True), backend="lnbwd")(x)
    assert not [w for w in caught if "the tensors are on the CPU" in str(w.message)]


def test_what_does_not_compile(device, monkeypatch):
    """Longer rows than any chip's workgroup holds."""
    monkeypatch.setattr(regions, "MAX_LENGTH", 1 << 20)
    x = torch.randn(2, 150_000, device=device)
    got, _ = run_captured(norm_backward_of_one, x)
    want = norm_backward_of_one(x.double())
    assert (got[0].double() - want[0]).norm() <= 1e-4 * want[0].norm()
    for decision in lnbwd.inductor.decisions():
        assert decision.taken or decision.reason.startswith("it does not compile")


def test_what_reads_the_same_memory_is_one_region(device):
    """Queries and keys that are turned by the same angles, and the sums of both."""
    q, k = operands(device, "r", "r", leading=(2, 5))
    angle, = operands(device, "r", leading=(5,))
    check_against_double(lambda q, k, angle: tuple(
        f(heads * angle) for heads in (q, k) for f in (torch.sin, lambda x: x.sum((0, 1)))),
        [q, k, angle])
    assert [(d.row_sums, d.column_sums) for d in taken()] == [(0, 2)]


def test_what_reads_the_memory_of_two_regions_joins_both(device):
    x, y = operands(device, "r", "r")
    check_against_double(lambda x, y: ((x + 1).exp().sum((0, 1)), y.sum(-1), (x * y).sum(-1)),
                         [x, y])
    assert [(d.row_sums, d.column_sums) for d in taken()] == [(2, 1)]


def test_what_cannot_be_one_region_is_two(device, monkeypatch):
    """Rows that read the same memory, where no program has both."""
    is_possible = regions.is_possible
    monkeypatch.setattr(regions, "is_possible", lambda function, *arguments: (
        function is not regions.convert and is_possible(function, *arguments)))
    q, k = operands(device, "r", "r", leading=(2, 5))
    check_against_double(lambda q, k: ((q * k).exp().sum((0, 1)), (k - 1).sum((0, 1))), [q, k])
    assert [d.column_sums for d in lnbwd.inductor.decisions()] == [1, 1]


def test_as_many_arguments_as_a_launch_has(device):
    """What reads the same memory is joined as long as one launch has all operands."""
    x, *others = operands(device, *"r" * 66)

    def function(x, *others):
        half = len(others) // 2
        return [sum(x * y for y in part).exp().sum((0, 1))
                for part in (others[:half], others[half:])]

    check_against_double(function, [x, *others])
    assert [d.column_sums for d in lnbwd.inductor.decisions()] == [1, 1]
    assert not any("no kernel" in reason for reason in reasons())
    lnbwd.inductor.decisions(clear=True)
    check_against_double(lambda x, *others: (sum(x * y for y in others).sum((0, 1)),),
                         [x, *others])
    assert any("it has 67 arguments, more than 64" in reason for reason in reasons())


def test_long_rows_that_are_only_added(device, monkeypatch):
    """The gradient of learned positions: workgroups share the columns."""
    monkeypatch.setattr(regions, "MAX_LENGTH", 64)
    x = torch.randn(4, 5, 16, generator=torch.Generator().manual_seed(0)).to(device)
    check_against_double(lambda x: ((x * 2).sum(0), x.exp().flatten(1)), [x])
    assert [(d.row_sums, d.column_sums) for d in taken()] == [(0, 1)]
    lnbwd.inductor.decisions(clear=True)
    check_against_double(lambda x: ((x * 2).sum(0), x.exp().flatten(1).sum(-1)), [x])
    assert not any(d.row_sums for d in taken()) and "has rows of 80 elements" in reasons()


def norm_backward_of_one(x):
    xhat = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-5)
    return xhat, xhat.sum(0)


def fail(*_, **__):
    raise RuntimeError("a mistake")


def test_an_error_of_ours_is_no_error_of_the_model(device, monkeypatch):
    monkeypatch.setattr(graph_pass, "_warned", set())
    monkeypatch.setattr(graph_pass, "find_regions", fail)
    x, = operands(device, "r")
    with pytest.warns(RuntimeWarning, match="a mistake"):
        got, _ = run_captured(lambda x: (x - x.mean(-1, keepdim=True),), x)
    assert torch.equal(got[0], x - x.mean(-1, keepdim=True))
    assert reasons() == ["an error in lnbwd: RuntimeError: a mistake"]


def two_norms(x, w, gamma):
    y = torch.nn.functional.rms_norm(x, (64,)) @ w
    return torch.nn.functional.layer_norm(y, (96,), gamma), y


@pytest.mark.parametrize("name", ["leads_back", "convert", "surroundings", "new_node"])
def test_an_error_of_one_region_is_none_of_the_others(device, monkeypatch, name):
    """It is left, with the reason, and the graph has nothing of it."""
    module = {"new_node": replacing, "leads_back": regions}.get(name, graph_pass)
    call = getattr(module, name)

    def fail_for_one(about, *others, **options):
        made = call(about, *others, **options)
        if name != "new_node":
            length = about.domain.length
        else:
            length = made.meta["val"].shape[-1] if made.target is operator.getitem else 0
        return fail() if length == 96 else made

    monkeypatch.setattr(graph_pass, "_warned", set())
    monkeypatch.setattr(module, name, fail_for_one)
    arguments = (torch.randn(6, 64, device=device), torch.randn(64, 96, device=device),
                 torch.randn(96, device=device))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            captured = check_against_double(two_norms, arguments, tolerance=1e-5)
    assert sum("a mistake" in str(w.message) for w in caught) == 1
    assert reasons() == 2 * ["an error in lnbwd: RuntimeError: a mistake"]
    assert [d.program.length for d in taken()] == [64, 64]
    [graph] = captured.graphs
    graph.lint()
    assert all(node.users for node in graph.nodes if node.op == "call_function")


# --------------------------------------------------------------------------------------------------
# Rounding
# --------------------------------------------------------------------------------------------------


def rounded(program):
    """The nodes of a program that are rounded, as in memory, by their types."""
    return [node[2] for node in program.nodes if node[0] == "round"]


def halves(device, *shapes, dtype=BF16):
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(shape, generator=generator).to(device, dtype) for shape in shapes]


@pytest.mark.parametrize("dtype", [BF16, torch.float16])
@pytest.mark.parametrize("view", [lambda x: x, lambda x: x.flatten(0, 1)])
def test_what_is_written_is_used_as_it_is_written(device, always_taken, dtype, view):
    """Scores of attention, whose largest and sum go with those that are kept."""
    def function(x, h):
        scores = x * h
        most = scores.float().amax(-1, keepdim=True)
        return view(scores), most, (scores.float() - most).exp().sum(-1, keepdim=True)

    x, h = halves(device, (2, 8, 64), (2, 8, 64), dtype=dtype)
    (scores, most, total), _ = run_captured(function, x, h)
    want, want_most, want_total = function(x, h)
    assert torch.equal(scores, want) and torch.equal(most, want_most)
    torch.testing.assert_close(total, want_total, rtol=1e-6, atol=0)
    [decision] = taken()
    assert rounded(decision.program) == [{BF16: "bf16", torch.float16: "f16"}[dtype]]


def test_what_is_not_written_is_not_rounded(device, always_taken):
    """As in torch.compile's kernels."""
    def function(x, h):
        return (x * h).float().softmax(-1).log()

    run_captured(function, *halves(device, (2, 8, 64), (2, 8, 64)))
    [decision] = taken()
    assert rounded(decision.program) == []


@pytest.mark.parametrize("view", [lambda x: x, lambda x: x.flatten(1)])
def test_what_follows_from_sums_uses_what_these_use(device, always_taken, view):
    """Sums of more pixels than a row has, and a program that computes again what they write, or
    what they read of another kernel."""
    def function(x, h, scale):
        y = x * h
        wide = y.float()
        total = (wide * wide).sum((0, 2, 3), keepdim=True)
        return view(y), (wide * scale) * total

    x, h = (t.to(memory_format=torch.channels_last)
            for t in halves(device, (3, 8, 56, 56), (3, 8, 56, 56)))
    arguments = (x, h, torch.linspace(0.5, 1, 8, device=device).view(8, 1, 1))
    (y, gradient), _ = run_captured(function, *arguments)
    want, want_gradient = function(*arguments)
    assert torch.equal(y, want)
    torch.testing.assert_close(gradient, want_gradient, rtol=1e-5, atol=1e-3)
    [decision] = taken()
    assert decision.region.endswith("nodes behind")


def test_what_a_product_reads_is_rounded_where_it_is_computed_again(device, always_taken):
    """The forward pass keeps nothing of it, and the backward pass reads it in no product."""
    def layer(x, scale, weight):
        y = x * scale
        wide = y.float()
        return y @ weight, (wide - wide.logsumexp(-1, keepdim=True)).sin()

    x, scale, weight = halves(device, (16, 64), (16, 64), (64, 32))
    results, _ = run_captured(
        lambda *given: torch.utils.checkpoint.checkpoint(layer, *given, use_reentrant=False),
        x.requires_grad_(), scale.requires_grad_(), weight)
    sum(y.sum() for y in results).backward()
    programs = [d.program for d in taken() if d.row_sums]
    assert len(programs) >= 2 and all(rounded(program) for program in programs)


def test_shares_that_are_kept_are_those_of_the_product(device, always_taken):
    """Decomposed attention under autocast: the backward pass has them in 16 bits. (On a GPU they
    are float32 up to the product.)"""
    if device.type == "cuda":
        pytest.skip("autocast computes softmax in float32 on a GPU")

    def function(query, key, value):
        with torch.autocast(device.type, BF16):
            shares = ((query @ key.mT) * 3).softmax(-1)
            return torch.nn.functional.dropout(shares, 0.5) @ value

    arguments = [t.float().requires_grad_() for t in halves(device, *[(2, 64, 32)] * 3)]
    run_captured(function, *arguments)[0].sum().backward()
    forward, backward = (decision.program for decision in taken())
    assert rounded(forward) == ["bf16"] and not rounded(backward)
    kept, = (output for output in forward.outputs if output.dtype == "bf16"
             and forward.nodes[output.value][0] == "round")
    assert any(kept.value in regions.operands_of(node) for node in forward.nodes)


@pytest.mark.parametrize("most", [lambda y: y.amax(-1), lambda y: y.abs().amax(-1),
                                  lambda y: y.max(-1).values])
def test_the_largest_that_is_written_is_one_of_those(device, always_taken, most):
    """Rounded itself, it would be larger than all, or smaller than some."""
    def function(x, h):
        y = x * h
        largest = most(y)
        return largest, (y - largest[..., None]).float().exp().sum(-1)

    x, h = halves(device, (2, 8, 64), (2, 8, 64))
    (largest, total), _ = run_captured(function, x, h)
    want, _ = function(x, h)
    assert torch.equal(largest, want) and total.isfinite().all()
    [decision] = taken()
    [place] = [i for i, node in enumerate(decision.program.nodes) if node[0] == "round"]
    assert decision.program.nodes[place - 1][0] == "mul"


# --------------------------------------------------------------------------------------------------
# The backend
# --------------------------------------------------------------------------------------------------

SCRIPT = """
import torch, lnbwd.inductor
import torch._inductor.config as config
config.compile_threads = 1
def function(x, h, gamma):
    stream = x + h
    var, mean = torch.var_mean(stream, -1, correction=0, keepdim=True)
    return stream, (stream - mean) * torch.rsqrt(var + 1e-5) * gamma
torch.manual_seed(0)
x, h, gamma = torch.randn(6, 64), torch.randn(6, 64), torch.randn(64)
compiled = torch.compile(function, backend="lnbwd", fullgraph=True)
got, want = compiled(x, h, gamma), function(x.double(), h.double(), gamma.double())
assert all((g.double() - w).norm() <= 1e-5 * w.norm() for g, w in zip(got, want))
print("taken", len([d for d in lnbwd.inductor.decisions() if d.taken]),
      "hits", torch._dynamo.utils.counters["inductor"]["fxgraph_cache_hit"])
"""


@pytest.mark.parametrize("count", [1, pytest.param(2, marks=pytest.mark.skipif(
    not hasattr(torch._inductor.custom_graph_pass, "get_custom_graph_passes"),
    reason="this version of Inductor takes one pass"))])
def test_options_of_inductor_stay(device, count):
    """The user's own passes run after ours, and wrong options are refused as ever."""
    seen = []

    class Mine(graph_pass.CustomInferenceAwareGraphPass):
        def __call__(self, graph, is_inference):
            # (Older versions of Inductor do not say so.)
            assert is_inference == hasattr(torch._inductor.custom_graph_pass,
                                           "CustomInferenceAwareGraphPass")
            seen.append([str(n.target) for n in graph.nodes])

        def uuid(self):
            return None  # A graph out of a cache has its passes after it.

    x, = operands(device, "r")
    function = torch.compile(lambda x: x - x.mean(-1, keepdim=True), backend="lnbwd",
                             options={"post_grad_custom_pre_pass":
                                      Mine() if count == 1 else [Mine()] * count})
    assert torch.allclose(function(x), x - x.mean(-1, keepdim=True), atol=1e-6)
    assert len(seen) == count
    assert any("lnbwd._region" in name for names in seen for name in names)
    with pytest.raises(Exception, match="no_such_option"):
        torch.compile(lambda x: x + 1, backend="lnbwd", options={"no_such_option": 1})(x)


def test_decisions_of_graphs_out_of_a_cache(device, tmp_path, monkeypatch):
    """What is taken, what is left, reductions that are part of no region, and all that Inductor's
    scheduler has beside regions; forward, backward."""
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    lowering.register()
    codegen, names = Scheduler.codegen, set()

    def noted(scheduler):
        names.update(origin.name for node in scheduler.nodes for part in node.get_nodes()
                     for origin in part.node.origins
                     if origin.target is not torch.ops.lnbwd._region.default)
        return codegen(scheduler)

    monkeypatch.setattr(Scheduler, "codegen", noted)

    def function(x, h):
        centred = (x + h) - (x + h).mean(-1, keepdim=True)
        variance, _ = torch.var_mean(h, 0, correction=0)  # Two sums in the pass.
        return (centred, (x * h).cumsum(0).sum((0, 1)), h.argmax(0), variance,
                (centred @ x.mT).sin())

    x, h = (value.requires_grad_() for value in operands(device, "r", "r"))
    made = []
    for _ in range(2):
        torch._dynamo.reset()
        y, total, *_ = torch.compile(function, backend="lnbwd", fullgraph=True)(x, h)
        (y.square().sum() + total.sum()).backward()
        made.append(lnbwd.inductor.decisions(clear=True))
    # A cache may have the backward pass first.
    first, second = (sorted((d.region, d.taken, d.reason, d.nodes, d.kernel,
                             d.program.text() if d.program else "")
                            for d in found) for found in made)
    assert first == second
    assert {"mean", "sum_1", "argmax", "var_mean"} <= {name for d in made[1] for name in d.nodes}
    assert {d.taken for d in made[0]} == {True, False}
    assert any(d.region.startswith("argmax") for d in made[0])
    assert names <= {name for d in made[1] for name in d.nodes}
    kernels = {d.nodes[-1]: d.reason for d in made[1] if d.kernel}
    assert kernels["bmm"] == "calls extern_kernels.bmm, beside a region"
    assert kernels["sin"] == "has no reduction"
    assert kernels["argmax"] == next(d.reason for d in made[0] if d.region == "argmax")
    assert torch._dynamo.utils.counters["inductor"]["fxgraph_cache_hit"] > 0


def test_rows_of_a_region_have_no_gaps(device):
    """Inductor pads what the backward pass needs, and would copy it for the region."""
    x, w = torch.randn(64, 32, device=device), torch.randn(32, 1500, device=device)
    target = torch.randint(1500, (64,), device=device)

    def function(x, w):
        return torch.nn.functional.cross_entropy(x @ w, target)

    with torch._inductor.config.patch(disable_padding_cpu=False, fx_graph_cache=False):
        loss, code = run_and_get_code(
            torch.compile(function, backend="lnbwd"), x, w.requires_grad_())
    assert torch.allclose(loss, function(x, w), rtol=1e-5)
    assert re.findall(r"empty_strided_\w+\(\(64, 1500\), \((\d+), 1\)", code[0]) == ["1500"]


def test_rows_that_a_product_reads_in_front_of_a_region_keep_their_gaps(device):
    x, w = torch.randn(64, 32, device=device), torch.randn(32, 1500, device=device)

    def function(x, w):
        y = (x @ w).exp() @ w.t()
        return y - y.mean(-1, keepdim=True)

    found = []
    for backend in ("inductor", "lnbwd"):
        torch._dynamo.reset()
        with torch._inductor.config.patch(disable_padding_cpu=False, fx_graph_cache=False):
            _, code = run_and_get_code(torch.compile(function, backend=backend), x, w)
        found.append(re.findall(r"empty_strided_\w+\(\(64, 1500\), \((\d+), 1\)", code[0]))
    assert len(taken()) == 1 and found[0] == found[1] != ["1500"] * len(found[0])


def test_the_pass_has_a_name_for_caches():
    first, second = lnbwd.inductor.pass_(), lnbwd.inductor.pass_()
    assert first.uuid() == second.uuid() is not None
    assert lnbwd.inductor.pass_(then=lambda graph: None).uuid() is None


def test_a_wrong_log_is_refused(device):
    environment = {**os.environ, "LNBWD_LOG": "region", "LNBWD_SIMULATE": "gfx942",
                   "PYTHONPATH": str(ROOT / "python")}
    done = loaded_python.run(["-c", SCRIPT], env=environment)
    assert done.returncode != 0
    assert "LNBWD_LOG: expected 'regions', got 'region'" in done.stderr
