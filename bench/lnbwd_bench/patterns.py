# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Patterns of docs/results, which torch.compile fuses in real models: their graphs, their inputs,
and their results by PyTorch, in float64 too."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Container, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch._inductor import inductor_prims
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx import Graph, GraphModule, Node
from torch.utils import _pytree as pytree

from lnbwd.program.evaluation import random_numbers
from lnbwd.program.graphs.nodes import of_kinds
from lnbwd.program.row_program import reached

aten = torch.ops.aten

_MEAN, _SHARE_OF_TRUE = 0.5, 0.7

_INTEGERS = {torch.int64, torch.int32}

_VIEWS = {*of_kinds("view"), aten.transpose.int, aten.t.default, aten.slice.Tensor, aten.select.int}

_INDEXED = {aten.embedding, aten.gather, aten.index, aten._unsafe_index}
"""Operations that read places of their first operand."""

_SCATTERS = {aten.scatter, aten.scatter_add, aten.scatter_reduce, aten.index_put, aten.index_put_,
             aten._unsafe_index_put, aten._unsafe_masked_index_put_accumulate,
             aten.embedding_dense_backward}


def elements(value: Tensor) -> int:
    """How many elements of memory a tensor of some strides reaches over."""
    return 1 + sum((size - 1) * stride
                   for size, stride in zip(value.shape, value.stride(), strict=True))


def random_inputs(graph: Graph, values: Sequence[Tensor], generator: torch.Generator,
                  has_special: bool = False) -> list[Tensor]:
    """Tensors with the types and strides of ``values``, for a graph's inputs: normal numbers, whose
    mean is not 0, so that sums do not cancel; conditions, of which more hold than do not; and
    integers that are indices of all that they index. With ``has_special`` a NaN and infinities are
    among the numbers, except for those that become integers, which are 1 and larger."""
    integers = filter(_is_integer, graph.nodes)
    positions = reached(integers, lambda one: [
        source for source in one.all_input_nodes if not _is_of(source, {torch.bool})])
    options: dict[str, Any] = {"generator": generator, "device": generator.device}
    made = []
    for node, value in zip(graph.find_nodes(op="placeholder"), values, strict=True):
        count, dtype = elements(value), value.dtype
        if dtype == torch.bool:
            memory = torch.rand(count, **options) < _SHARE_OF_TRUE
        elif not dtype.is_floating_point:
            memory = torch.randint(limit(node), (count,), **options).to(dtype)
        else:
            memory = (torch.randn(count, **options) + _MEAN).to(dtype)
            if node in positions:
                memory = memory.abs() + 1
            elif has_special and count >= 64:
                memory[torch.randperm(count, **options)[:3]] = torch.tensor(
                    [math.nan, math.inf, -math.inf], dtype=dtype, device=generator.device)
        made.append(memory.as_strided(value.shape, value.stride()))
    return made


def _is_of(node: Node, dtypes: Container[torch.dtype]) -> bool:
    value = node.meta.get("val")
    return isinstance(value, Tensor) and value.dtype in dtypes


def _is_integer(node: Node) -> bool:
    return _is_of(node, _INTEGERS)


def is_scatter(node: Node) -> bool:
    """Whether a node writes to places of a tensor."""
    return getattr(node.target, "overloadpacket", None) in _SCATTERS


def _has_index(node: Node) -> bool:
    return getattr(node.target, "overloadpacket", None) in _INDEXED or is_scatter(node)


def _base_of(node: Node) -> Node:
    """The node that a node is a view of."""
    while node.target in _VIEWS:
        node = node.args[0]  # type: ignore[assignment]
    return node


def _origin(node: Node) -> Node:
    """The origin of a node's integers, but for their order and the wrapping of negative ones."""
    while node.target in _VIEWS or node.target is aten.remainder.Scalar:
        node = node.args[0]  # type: ignore[assignment]
    return node


def _indexed_by(node: Node, user: Node) -> Sequence[int] | None:
    """The sizes that ``user`` indexes by a node's integers; None if they are its table."""
    arguments: Any = user.args
    table, place, *_ = arguments
    if _base_of(table) is _base_of(node):
        return None
    shape: Sequence[int] = table.meta["val"].shape
    if isinstance(place, int):
        return shape[place:][:1]
    if user.target is aten.embedding.default:
        return shape[:1]
    if isinstance(place, list) and all(map(_is_integer, filter(None, place))):
        return [size for size, index in zip(shape, place, strict=False) if index is node]
    return shape


def limit(node: Node) -> int:
    """What the integers of an input may be smaller than: the least size of what they index; 1 if an
    index is computed of them; 2 if they are none."""
    sizes: list[int] = []
    for one in reached([node], lambda one: filter(_is_integer, one.users)):
        for user in filter(_has_index, one.users):
            if (found := _indexed_by(one, user)) is not None:
                if _origin(one) is not node:
                    return 1
                sizes += found
    return min(sizes, default=2)

Pattern = dict[str, Any]
_COMPARED = 1 << 26
"""Elements that are compared at a time: some tensors are large beside a GPU's memory."""


def graph_of(pattern: Pattern, device: str = "cpu") -> GraphModule:
    """The graph of a pattern: of each input its type, shape and strides; of each node the operator,
    its arguments and its options; and which of them are outputs."""
    graph = Graph()
    made: list[Node] = []

    def decode(item: Any, of: Any) -> Any:
        if isinstance(item, list):
            return [decode(part, of) for part in item]
        if not isinstance(item, dict):
            return item
        [(kind, value)] = item.items()
        if kind == "node":
            return of(made[value])
        return (torch.device(device) if kind == "device" else float(value)
                if kind == "float" else getattr(torch, value))

    for place, (dtype, shape, stride) in enumerate(pattern["inputs"]):
        made.append(graph.placeholder(f"arg{place}"))
        made[-1].meta["val"] = torch.empty_strided(
            shape, stride, dtype=getattr(torch, dtype), device=device)
    for target, args, options in pattern["nodes"]:
        function = operator.getitem if target == "getitem" else operator.attrgetter(target)(
            torch.ops)
        given, values = ((tuple(decode(args, of)), {k: decode(v, of) for k, v in options.items()})
                         for of in (lambda node: node, lambda node: node.meta["val"]))
        made.append(graph.call_function(function, *given))
        made[-1].meta["val"] = function(*values[0], **values[1])
    graph.output(tuple(made[place] for place in pattern["outputs"]))
    graph.eliminate_dead_code()
    return GraphModule(torch.nn.Module(), graph)


def inputs_of(pattern: Pattern, device: str = "cpu", seed: int = 1,
              has_special: bool = False) -> list[Tensor]:
    """Random inputs as a pattern wants them."""
    with FakeTensorMode():
        graph = graph_of(pattern, device).graph
    values = [node.meta["val"] for node in graph.find_nodes(op="placeholder")]
    return random_inputs(graph, values, torch.Generator(device).manual_seed(seed), has_special)


def _seeds(count: int, device: torch.device) -> Tensor:
    """What Inductor draws, of all integers; its operation by itself draws positive ones."""
    return torch.randint(-(2 ** 63), 2 ** 63 - 1, [count], device=device)


def _draw(size: list[int], seed: Tensor, mode: str) -> Tensor:
    """What kernels of Inductor draw; its operation by itself draws PyTorch's random numbers."""
    return random_numbers(seed, 1, math.prod(size)).reshape(size)


def _in_own_types(target: Any, types: Sequence[torch.dtype | None]) -> Callable[..., Any]:
    """An operation that PyTorch has not in float64, on arguments and with results of float64."""
    def compute(*arguments: Any, **options: Any) -> Any:
        results = target(*(value.to(dtype) if dtype and dtype.is_floating_point else value
                           for value, dtype in zip(arguments, types, strict=True)), **options)
        return pytree.tree_map_only(
            Tensor, lambda x: x.double() if x.is_floating_point() else x, results)

    return compute


def runnable(module: GraphModule, is_exact: bool = False) -> GraphModule:
    """A pattern's graph, to be run by PyTorch; if it is to be exact, in float64, but for attention,
    whose operations PyTorch has in the types of rows alone."""
    for node in module.graph.nodes:
        if is_exact and "attention" in str(node.target):
            node.target = _in_own_types(node.target, [
                getattr(value.meta.get("val"), "dtype", None) if isinstance(value, Node)
                else None for value in node.args])

    def wider(item: Any) -> Any:
        return (torch.float64 if is_exact and isinstance(item, torch.dtype)
                and item.is_floating_point else item)

    for node in module.graph.nodes:
        node.meta = {}
        node.args = torch.fx.node.map_aggregate(node.args, wider)
        node.kwargs = torch.fx.node.map_aggregate(node.kwargs, wider)
        if node.target is inductor_prims.random:
            node.target = _draw
        elif node.target is inductor_prims.seeds:
            node.target = _seeds
    module.recompile()
    return module


def _add_biases(graph: Graph) -> None:
    """Adds convolutions' biases behind them, as torch.compile does on a GPU: it rounds both."""
    for node in graph.find_nodes(op="call_function", target=torch.ops.aten.convolution.default):
        if (bias := node.args[2]) is not None:
            node.update_arg(2, None)
            with graph.inserting_after(node):
                row = graph.call_function(torch.ops.aten.reshape.default, (
                    bias, [-1] + [1] * (node.meta["val"].dim() - 2)))
            with graph.inserting_after(row):
                whole = graph.call_function(torch.ops.aten.add.Tensor, (node, row))
            node.replace_all_uses_with(whole, lambda user, whole=whole: user is not whole)


def expected(pattern: Pattern, inputs: Sequence[Tensor]) -> list[Any]:
    """What PyTorch computes, operation by operation, in the pattern's types and in float64."""
    device = inputs[0].device.type if inputs else ("cuda" if torch.cuda.is_available() else "cpu")
    found = []
    for is_exact in (False, True):
        with FakeTensorMode():
            module = graph_of(pattern, device)
        _add_biases(module.graph)
        torch.manual_seed(0)
        found.append(runnable(module, is_exact)(*(
            x.double() if is_exact and x.is_floating_point() else x for x in inputs)))
    return found


def faults(got: Iterable[Any], eager: Iterable[Any], exact: Iterable[Any]) -> list[str]:
    """What is wrong with outputs: in the norm, twice eager's error and a few roundings are right.
    What is finite in one of the two references may be finite."""
    found = []
    for place, (mine, theirs, want) in enumerate(zip(got, eager, exact, strict=True)):
        if not isinstance(mine, Tensor) or mine.is_complex():
            continue
        if (mine.shape, mine.dtype) != (theirs.shape, theirs.dtype):
            found.append(f"output {place}: expected {theirs.dtype} {tuple(theirs.shape)}, got "
                         f"{mine.dtype} {tuple(mine.shape)}")
            continue
        wrong, whole, ours, eagers = 0, 0.0, 0.0, 0.0
        for part in zip(*(t.reshape(-1).split(_COMPARED) for t in (mine, theirs, want)),
                        strict=True):
            of_mine, of_theirs, of_want = (t.isfinite() for t in part)
            wrong += int(((of_mine != of_theirs) & (of_mine != of_want)).sum())
            both = of_mine & of_theirs & of_want
            got_here, eager_here, exactly = (t[both].double() for t in part)
            whole, ours, eagers = map(math.hypot, (whole, ours, eagers), (
                t.norm().item() for t in (exactly, got_here - exactly, eager_here - exactly)))
        if wrong:
            found.append(f"output {place}: {wrong} of {mine.numel()} are finite that should not "
                         "be, or the reverse")
        rounding = torch.finfo(mine.dtype).eps if mine.is_floating_point() else 0.0
        if ours > 2 * eagers + (4 * rounding + 1e-6) * whole:
            found.append(f"output {place}: an error of {ours / (whole or 1):.1e}, eager's is "
                         f"{eagers / (whole or 1):.1e}")
    return found
