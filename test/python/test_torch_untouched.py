# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A graph of which nothing is taken: torch.compile's own code, line by line."""

import operator
from unittest import mock

import pytest
import test_inductor_powers as powers
import torch
import torch.nn.functional as F
from captured import run_captured, taken
from torch._functorch.partitioners import min_cut_rematerialization_partition
from torch._inductor.custom_graph_pass import CustomPartitionerFn
from torch._inductor.graph import GraphLowering

import lnbwd.inductor
from lnbwd.graphs.conversion import Unsupported
from lnbwd.inductor import grafting, graph_pass, partial_sums
from lnbwd.inductor.graph_pass import RegionPass

pytestmark = [pytest.mark.compiler, pytest.mark.usefixtures("fresh_regions")]


def random(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(0))


def a_number(x, mask):
    """A scalar_tensor, which Inductor writes in the kernel that reads it."""
    scale = torch.ops.aten.scalar_tensor(2.0, dtype=torch.float32)
    return torch.where(mask, x * scale, torch.ops.aten.scalar_tensor(-1.0)).sum(-1)


def positions(x, table, weight):
    """Rows that follow each other in a table, and parts of a tensor."""
    y = x + table[torch.arange(x.shape[1])]
    first, second = y.split(32, -1)
    return F.layer_norm(y, (64,), weight), first * second, y.amin((0, 1))


def sequences(numbers, scores):
    """Integers that are compared with each other."""
    mask = numbers[:, :, None] == numbers[:, None, :]
    return scores.masked_fill(~mask, -1e9).softmax(-1)


def images(x, bias):
    """Sums over the first and the last dimensions, variances of which are split."""
    variance, mean = torch.var_mean(x, (0, 2, 3), correction=0, keepdim=True)
    y = (x - mean) * torch.rsqrt(variance + 1e-5) + bias
    return y.relu(), y.sum((0, 2, 3))


def channels_last(x, weight, bias):
    """The bias of a convolution, and a norm of what it gives."""
    y = F.conv2d(x, weight, bias)
    return F.batch_norm(y, None, None, training=True).relu()


def heads(x, weight):
    """What is split and permuted after it was computed."""
    y = (x @ weight).mul(2.0).view(2, 8, 4, 16).permute(0, 2, 1, 3).contiguous()
    return y.softmax(-1)


def scattered(x, index, y):
    """Sums of what is written to places of a tensor."""
    return torch.zeros_like(x).index_put((index,), y, accumulate=True).sum(0), y.sum(0)


def normalised(x, weight, bias):
    """A norm whose rows torch.compile computes again in the backward pass, and a region reads."""
    return F.layer_norm(x.atan(), (64,), weight, bias).sin()


def largest(x):
    """What the backward pass compares with its largest elements, and has to be kept."""
    y = (x * 1.5 + 1) * x
    return (y - y.mean(-1, keepdim=True)).amax(-1)


CASES = {
    "norm": (normalised, lambda: [
        t.bfloat16().requires_grad_() for t in (random(16, 64), random(64), random(64))]),
    "largest": (largest, lambda: [random(16, 64).requires_grad_()]),
    "number": (a_number, lambda: (random(16, 64), random(16, 64) > 0)),
    "positions": (positions, lambda: (random(3, 8, 64), random(20, 64), random(64))),
    "sequences": (sequences, lambda: (
        torch.randint(3, (2, 32), generator=torch.Generator().manual_seed(0)),
        random(2, 32, 32))),
    "powers": (lambda x, weight: powers.by_quotient(F.layer_norm(x, (64,), weight)),
               lambda: (random(16, 64), random(64))),
    "images": (images, lambda: (random(4, 8, 24, 24), random(8, 1, 1))),
    "convolution": (channels_last, lambda: (
        random(4, 8, 16, 16).to(memory_format=torch.channels_last), random(8, 8, 3, 3), random(8))),
    "heads": (heads, lambda: (random(2, 8, 64), random(64, 64))),
    "scattered": (scattered, lambda: (
        random(16, 64), torch.randint(16, (24,), generator=torch.Generator().manual_seed(0)),
        random(24, 64))),
}


class Compiled(Exception):
    """A function is compiled, and would run."""


def code_of(function, arguments, backend, **options):
    """The code of all graphs of a function, without what tells of decisions. It is not compiled
    itself."""
    made = []

    class Module:
        def call(self, *_):
            raise Compiled

    def compile_to_module(lowering):
        made.append(lowering.codegen()[0].value)
        return Module()

    torch._dynamo.reset()
    with (mock.patch.object(GraphLowering, "compile_to_module", compile_to_module),
          torch._inductor.config.patch(force_disable_caches=True),
          torch._functorch.config.patch(force_non_lazy_backward_lowering=True,
                                        enable_autograd_cache=False),
          pytest.raises(Compiled)):
        torch.compile(function, backend=backend, fullgraph=True, options=options)(*arguments)
    return [[line for line in text.splitlines() if "lnbwd" not in line and "AOT ID" not in line]
            for text in made]


@pytest.fixture
def nothing_taken(monkeypatch):
    """Regions are found, and left."""
    look_at = RegionPass._look_at

    def leave(self, region, splits):
        look_at(self, region, splits)
        raise Unsupported("it is left")

    monkeypatch.setattr(RegionPass, "_look_at", leave)


@pytest.mark.usefixtures("always_taken", "nothing_taken")
@pytest.mark.parametrize("name", CASES)
def test_what_is_left_becomes_torch_compiles_code(device, name):
    function, make = CASES[name]
    theirs, ours = (code_of(function, [t.to(device) for t in make()], backend)
                    for backend in ("inductor", "lnbwd"))
    made = lnbwd.inductor.decisions()
    assert made and not any(d.taken or "error" in d.reason for d in made), made
    assert ours == theirs and len(ours) == (2 if name in ("norm", "largest") else 1)


@pytest.mark.usefixtures("always_taken")
@pytest.mark.parametrize("name", CASES)
def test_what_is_left_beside_a_region_stays(device, monkeypatch, name):
    """The nodes themselves, with the operands that they had."""
    function, make = CASES[name]
    take, seen = RegionPass._take, []

    def take_norms(self, graph, region, *others):
        if region.domain.length != 96:
            raise Unsupported("it is no norm of ours")
        return take(self, graph, region, *others)

    def look(graph):
        before = {node: (node.args, node.kwargs) for node in graph.nodes if node.op != "output"}
        RegionPass()(graph)
        seen.append((before, list(graph.nodes)))

    monkeypatch.setattr(RegionPass, "_take", take_norms)

    def with_norm(rows, *given):
        y = F.layer_norm(rows, (96,))
        return y, y.view(2, 3, 96), y.flatten(), function(*given)

    run_captured(with_norm, random(6, 96).to(device), *(t.to(device) for t in make()),
                 region_pass=look)
    [(before, after)] = seen
    [decision] = taken()
    assert {node.name for node in before.keys() - set(after)} == {*decision.nodes}
    assert all(before[node] == (node.args, node.kwargs) for node in after if node in before)
    assert {node.target for node in after if node not in before} <= {
        torch.ops.lnbwd._region.default, operator.getitem, torch.ops.aten.reshape.default, "output"}


@pytest.mark.usefixtures("always_taken")
@pytest.mark.parametrize("is_left", [False, True])
def test_a_partition_of_the_users_stays(device, request, is_left):
    """It divides the passes as the backend wants them, and again, where nothing is taken."""
    found = []

    class Mine(CustomPartitionerFn):
        def __call__(self, gm, joint_inputs, **options):
            found.append(any("recompute" in node.meta for node in gm.graph.nodes))
            return min_cut_rematerialization_partition(gm, joint_inputs, **options)

        def uuid(self):
            return "mine"

    if is_left:
        request.getfixturevalue("nothing_taken")
    function, make = CASES["norm"]
    code_of(function, [t.to(device) for t in make()], "lnbwd", custom_partitioner_fn=Mine())
    assert found == ([True, False] if is_left else [True])
    assert graph_pass.Partition(Mine()).uuid()[-1] == "mine"


def test_two_nodes_that_stay_share_one_whose_operand_does_not():
    """A region computes `a`; what torch.compile computes of it, `c` and `d`, stays, by way of `b`,
    which the changed copy no longer has."""
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    a = graph.call_function(torch.relu, (x,))
    b = graph.call_function(torch.neg, (a,))
    c, d = (graph.call_function(function, (b,)) for function in (torch.exp, torch.sin))
    graph.output((c, d))
    changed, copies = grafting.copy_of(graph)
    with changed.inserting_before(copies[c]):
        call = changed.call_function(torch.ops.lnbwd._region.default, ([copies[x]], "a program"))
        made = changed.call_function(operator.getitem, (call, 0))
        others = [changed.call_function(function, (copies[x],))
                  for function in (torch.cos, torch.tan)]
    for node, other in zip((c, d), others, strict=True):
        copies[node].replace_all_uses_with(other)
        copies[node].meta[partial_sums.REPLACED] = other
        changed.erase_node(copies[node])
    changed.erase_node(copies[b])
    copies[a].meta[partial_sums.REPLACED] = made
    changed.erase_node(copies[a])
    grafting.graft(graph, changed, copies)
    graph.lint()
    assert graph.output_node().args == ((c, d),)
    assert c.args == d.args == (b,)
    assert b.args[0].target is operator.getitem
