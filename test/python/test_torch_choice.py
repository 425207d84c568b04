# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The choice between row programs and Inductor's kernels, and graphs that are compiled again. Times
are given, and what Inductor does on a GPU alone is pretended."""

import dataclasses
import types

import pytest
import torch
import torch.nn.functional as F
from compiled import DEVICE, F32, leaf, normal, run
from torch._inductor import ir
from torch._inductor.graph import GraphLowering
from torch._subclasses.fake_tensor import FakeTensorMode

from conftest import HAS_GPU
from lnbwd.inductor import choice, scheduling
from lnbwd.inductor.calls import Argument, Call
from lnbwd.inductor.choice import Choice
from lnbwd.program.operands import Input, Output
from lnbwd.program.row_program import Builder
from lnbwd.program.torch_internals import attempts, fusion, graph, registration

pytestmark = [pytest.mark.compiler, pytest.mark.usefixtures("fresh_inductor"),
              pytest.mark.skipif(HAS_GPU, reason="there Inductor does what is pretended here")]


@pytest.fixture
def split(monkeypatch):
    """By itself Inductor splits each reduction of 64 or 512 elements into two."""
    def num_splits(*arguments, **options):
        count = options.get("reduction_numel", arguments[7] if len(arguments) > 7 else 0)
        return ir.ReductionHint.DEFAULT, 2 if count in (64, 512) else 1

    monkeypatch.setattr(ir.Reduction, "num_splits", staticmethod(num_splits))


@pytest.fixture
def lowered(monkeypatch):
    """The graphs that were lowered."""
    graphs = []
    original = GraphLowering.run

    def counted(self, *arguments):
        graphs.append(self)
        return original(self, *arguments)

    monkeypatch.setattr(GraphLowering, "run", counted)
    return graphs


class Given(Choice):
    """Times are given: of row programs, and of each kernel that Inductor has by itself."""

    rows, torch = 1.0, 2.0

    def start(self):
        if self.is_changed:
            kernels = fusion.own_kernels(graph.scheduled(self.node))
            self._is_joined = kernels is None
            self.microseconds = {"rows": self.rows, "torch": self.torch * len(kernels or [])}
        else:
            self.microseconds = {"rows": self.rows, "torch": self.torch}

    def finish(self):
        """All is known."""

    def spec(self):
        return tuple(call.program.text() for call in self.calls)


@pytest.fixture
def own(monkeypatch):
    """The nodes of Inductor's scheduler, with their reductions, for which it has kernels itself."""
    found = []

    def compiled_kernels(node):
        found.append([one.node.data.reduction_ranges for one in node.get_nodes()
                      if one.is_reduction()])
        return [lambda: None]

    monkeypatch.setattr(fusion, "compiled_kernels", compiled_kernels)
    return found


@pytest.fixture
def timed(monkeypatch, own):
    """As on a GPU, nodes are timed."""
    monkeypatch.setattr(scheduling, "Choice", Given)
    monkeypatch.setattr(scheduling, "is_timed", lambda device: True)
    return Given


def test_a_sum_is_not_split(split, lowered):
    found = run(lambda x: x.exp().sum(-1), normal(8, 512))
    assert [program.length for program in found.programs] == [512]
    assert len(lowered) == 1 and not found.reasons


def test_what_no_row_program_computes_is_lowered_as_by_itself(split, lowered):
    x = normal(8, 512)
    found = run(lambda x: x.double().sum(-1), x)
    torch.testing.assert_close(found.results[0].cpu(), x.double().sum(-1))
    assert len(lowered) == 2 and not found.taken
    assert all("float64" in reason for reason in found.reasons)


def test_a_faster_kernel_of_inductors_is_taken(split, lowered, timed, own, monkeypatch):
    """Of those that it has by itself, for which it lowers the node alone; then it does the whole
    graph again."""
    monkeypatch.setattr(timed, "rows", 5.0)
    x = normal(8, 512)
    found = run(lambda x: x.exp().sum(-1), x)
    torch.testing.assert_close(found.results[0].cpu(), x.exp().sum(-1))
    assert len(lowered) == 3 and not found.taken
    assert own == [[[256]], [[2]]]  # The sum is in two parts.


def test_a_faster_row_program_is_taken(split, lowered, timed, own):
    """And the graph is not lowered again."""
    found = run(lambda x: x.exp().sum(-1), normal(8, 512))
    assert [program.length for program in found.programs] == [512]
    assert len(lowered) == 2 and not found.reasons and len(own) == 2
    assert [one.microseconds for one in found.decisions] == [{"rows": 1.0, "torch": 4.0}]


def test_equal_nodes_are_compared_once(split, timed, own):
    """Which are layers of a model."""
    def function(x, w):
        for _ in range(3):
            x = (x.exp().sum(-1, keepdim=True) * x) @ w
        return x

    found = run(function, normal(8, 64), normal(64, 64, seed=1) / 64)
    assert len(found.programs) == 3 and len(own) == 2


def test_a_gradient_and_its_sum_are_one_program(lowered):
    """An elementwise gradient, and its sum over rows, which runs in another order."""
    found = run(lambda x, w, b, u: F.gelu(x @ w + b) @ u, leaf(64, 32), leaf(32, 128, seed=1),
                leaf(128, seed=2), leaf(128, 32, seed=3))
    kinds = [{output.kind for output in program.outputs} for program in found.programs]
    assert {"row", "column_sum"} in kinds and not found.reasons
    assert all(len(one.programs) == 1 for one in found.decisions)


def test_a_chain_is_no_circle(lowered):
    """A sum of columns between two nodes, of which the second reads the sum, is in neither."""
    def function(x, w):
        y = x * x.sum(-1, keepdim=True)
        return (y - (y.sum(0) @ w)).softmax(-1)

    x, w = normal(64, 32), normal(32, 32, seed=1)
    found = run(function, x, w)
    torch.testing.assert_close(found.results[0].cpu(), function(x, w), rtol=1e-3, atol=1e-5)


def test_a_node_between_two_is_found_in_a_long_chain():
    """Of 5000 nodes each needs the one before."""
    class Node:
        def __init__(self, name, *needed):
            self.name, self.ancestors = name, set(needed)

        def get_operation_names(self):
            return {self.name}

    chain = [Node("0")]
    chain += [Node(str(i), str(i - 1)) for i in range(1, 5000)]
    apart = Node("apart")
    of = types.SimpleNamespace(name_to_fused_node={one.name: one for one in (*chain, apart)})
    assert fusion._is_between(of, chain[0], chain[-1])
    assert fusion._is_between(of, chain[-1], chain[0])
    assert not fusion._is_between(of, chain[0], chain[1])
    assert not fusion._is_between(of, chain[0], apart)


def test_sums_are_taken_out_of_scatters(split, lowered):
    """A sum that Inductor would have split, fused with the gradient of an embedding."""
    def function(table, ids, w):
        return F.embedding(ids, table) * w

    ids = torch.arange(64) * 7 % 10
    found = run(function, leaf(10, 32), ids, leaf(32, seed=1))
    assert found.reasons == ["adds to places of a tensor"] * len(found.reasons)
    assert any(output.kind == "column_sum" for program in found.programs
               for output in program.outputs)


def test_gradients_of_embeddings_without_atomics(monkeypatch):
    """Those of 16 bits, and all where Triton has no atomics, stay whole."""
    def is_whole(dtype, device="cuda"):
        with FakeTensorMode():
            return registration._embedding_gradient(lambda gradient: gradient, torch.empty(
                4, 8, dtype=dtype, device=device)) is NotImplemented

    monkeypatch.setattr(registration, "has_triton", lambda: True)
    with registration.whole_embeddings({"cuda"}):
        assert is_whole(torch.bfloat16) and not is_whole(torch.float32)
        assert not is_whole(torch.bfloat16, "cpu")
        monkeypatch.setattr(registration, "has_triton", lambda: False)
        assert is_whole(torch.float32)
    assert not is_whole(torch.bfloat16)  # In graphs of Inductor alone.


# --------------------------------------------------------------------------------------------------
# Times
# --------------------------------------------------------------------------------------------------


class Nodes:
    """A node of Inductor's scheduler, of no nodes."""

    def get_nodes(self):
        return []


class Priced(Choice):
    """Nothing is known of it before, and nothing kept; the times are given."""

    ours, torch_us = 0.0, None

    def _look_up(self):
        return False

    def spec(self):
        return None

    def _measured(self, kernels):
        return {"rows": self.ours - 1, "torch": self.torch_us}


@pytest.fixture
def make(monkeypatch, no_compiler):
    """A choice for a program that moves 8 MB, in 10 us at best, and has a measured time; with the
    time of Inductor's kernel."""
    builder = Builder(1024)
    program = builder.finish(1024, [Input("row", "f32")], [
        Output("row", "f32", builder.add("input", 0))])
    call = Call(program, (Argument("x", 0, 1 << 20), Argument("y", 0, 1 << 20)), (0,), (1024,))
    monkeypatch.setattr(choice, "_peak", lambda device: (8 << 20) / 10)
    monkeypatch.setattr(graph, "dtype_of", lambda name: F32)
    monkeypatch.setattr(graph, "has_triton", lambda: True)
    monkeypatch.setattr(graph, "scheduled", lambda node: [])

    def made(ours, torch_us=None, is_changed=False, **fields):
        kernel = types.SimpleNamespace(microseconds=ours, program=types.SimpleNamespace(
            arguments=[types.SimpleNamespace(alignment=16)] * 2))
        found = Priced(Nodes(), [dataclasses.replace(call, **fields)], (), [kernel],
                       torch.device(DEVICE), is_changed)
        found.ours, found.torch_us = ours, torch_us
        monkeypatch.setattr(fusion, "compiled_kernels", lambda node: [lambda: None])
        monkeypatch.setattr(torch.cuda, "device", lambda device: torch.no_grad())
        found.start()
        found.finish()
        return found

    return made


@pytest.mark.parametrize(("ours", "torch_us", "taken", "compared"), [
    (None, None, True, False),  # There was no search.
    (13.4, None, True, False),  # 87 % of the bandwidth, and a launch.
    (15.0, 20.0, True, True), (15.0, 14.3, True, True), (15.0, 14.2, False, True)])
def test_nodes_are_compared_if_they_are_not_near_the_bandwidth(make, ours, torch_us, taken,
                                                               compared):
    found = make(ours, torch_us)
    assert (not found.reason, "torch" in found.microseconds) == (taken, compared)


def test_a_changed_node_is_compared_with_all_its_kernels(make, monkeypatch):
    """Unless it is so fast that two kernels are no faster."""
    monkeypatch.setattr(fusion, "own_kernels", lambda nodes: [lambda: None] * 2)
    assert make(15.4, is_changed=True).microseconds == {"rows": 15.4}
    assert make(15.6, 15.0, is_changed=True).reason
    assert not make(15.6, 15.5, is_changed=True).reason


def test_indices_of_each_table(monkeypatch):
    """What is read at an index may be another one, of another table."""
    found, original = [], scheduling.convert
    monkeypatch.setattr(scheduling, "convert", lambda *arguments: found.extend(
        original(*arguments)) or original(*arguments))
    run(lambda table, middle, ids: table[middle[ids]].exp(), normal(40, 8),
        torch.arange(20) * 2, torch.arange(64) % 20)
    assert {tuple(sorted(count for _, count in call.indices)) for call in found} == {(20, 40)}


def test_kernels_of_a_node_are_added_up(monkeypatch):
    kernels = [fusion.CompiledKernel([], tuple, time) for time in (3.0, 5.0)]
    monkeypatch.setattr(choice, "time_calls",
                        lambda call, sets: call if isinstance(call, float) else 9.0)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (1 << 40, 1 << 40))
    monkeypatch.setattr(graph, "dtype_of", lambda name: F32)
    monkeypatch.setattr(Choice, "_arguments", lambda self: [Argument("x", 0, 8)])
    assert Choice(None, (), (), (), torch.device(DEVICE))._measured(kernels) == {
        "rows": 9.0, "torch": 8.0}


def test_what_reads_at_indices_is_always_compared(make):
    """A search reads one row of a table."""
    assert "torch" in make(13.4, 20.0, indices=(("x", 100),)).microseconds


def test_what_is_copied_in_each_call_is_compared(make):
    """An input that begins at a multiple of 4 bytes."""
    arguments = Argument("x", 1, 1 << 20), Argument("y", 0, 1 << 20)
    assert "torch" in make(13.4, 20.0, arguments=arguments).microseconds


def test_parts_of_a_buffer_are_counted_once(make):
    """Two arguments that overlap, of a buffer of 1 MB: one of four bytes is read."""
    builder = Builder(256)
    parts = ((256, 256, 1024), (1, 256, 2))
    program = builder.finish(256, [Input("part", "f32", parts)] * 2, [Output(
        "row", "f32", builder.add("add", builder.add("input", 0), builder.add("input", 1)))])
    count = 255 * 1024 + 255 * 2 + 1
    call = Call(program, (Argument("x", 0, count), Argument("x", 1, count),
                          Argument("y", 0, 1 << 16)), (0,), (256,))
    assert call.elements() == {call.arguments[0]: 1 << 16, call.arguments[1]: 1 << 16,
                               call.arguments[2]: 1 << 16}


def test_what_another_kernel_has_computed_is_not_computed_again(monkeypatch):
    """Where Inductor's own kernel has computed the second part of a sum, that is removed."""
    class Node(str):
        def get_name(self):
            return str(self)

    rows, node = scheduling._Rows(), Node("op1")
    rows._prepared = {node: scheduling._Prepared(["first", "second"])}
    monkeypatch.setattr(graph, "scheduled", lambda _: [])
    monkeypatch.setattr(rows, "_prepare", lambda nodes: {
        one: scheduling._Prepared(graph.scheduled(one)) for one in nodes}, raising=False)
    assert rows._take(node)  # And nothing is written, for which there would have to be a graph.


def test_what_is_fused_with_scatters_by_itself_stays(split, timed, monkeypatch):
    """Where Inductor by itself adds to places of a tensor in the same kernel, that would take a
    kernel beside the row program."""
    is_scatter = graph.is_scatter
    monkeypatch.setattr(fusion.internals, "is_scatter", lambda node: (  # As on a GPU.
        attempts.own.classes is None or is_scatter(node)))
    found = run(lambda table, ids, w: F.embedding(ids, table) * w, leaf(10, 64),
                torch.arange(32) * 7 % 10, leaf(32, 1, seed=1))
    [left] = [one for one in found.decisions if not one.taken]
    assert left.reason == "adds to places of a tensor" and "mul_1" in left.nodes
