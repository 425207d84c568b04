# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The backend of torch.compile: Inductor, with scheduling classes of ours while it compiles.

Rows that are added to places of a tensor, gradients of embeddings and of indexed tensors, become
sums of segments. The operator ``lnbwd::_segment_sum`` computes them in one order, where Inductor
would call PyTorch's kernels or, in 16 bits, add to memory in any order.
"""

from __future__ import annotations

import copy
import functools
import math
import pathlib
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.fx import Graph, Node
from torch.utils.checkpoint import CheckpointPolicy

from ..core.base.errors import warn_once
from ..core.base.settings import is_batch_invariant
from ..core.compile import compiler, tuning
from ..ops import launching
from ..ops.segment_sum import DTYPES, MOST_ELEMENTS, segment_sum
from ..program.graphs.reductions import compared
from ..program.torch_internals import registration as internals
from ..program.torch_internals.attempts import compile_again
from .scheduling import classes, count_programs

aten, prims = torch.ops.aten, torch.ops.prims


def sum_segments(graph: Graph, is_ordered: Callable[[torch.Tensor], bool]) -> None:
    """Replaces additions to places of tensors by sums of segments, where their sizes are known, and
    ``is_ordered`` says of a fake tensor of what is added that this has one order."""
    for target, (place, make) in _ADDITIONS.items():
        for node in graph.find_nodes(op="call_function", target=target):
            added = node.args[place].meta["val"]
            if added.dtype in DTYPES and is_ordered(added):
                with graph.inserting_before(node):
                    sums = make(graph, *node.args)
                if sums is not None:
                    node.replace_all_uses_with(sums)
                    sums.meta = dict(node.meta)
                    graph.erase_node(node)


def _of_embedding(graph: Graph, gradient: Node, indices: Node, count: Any, padding: Any,
                  scales: bool) -> Node | None:
    shape, rows = gradient.meta["val"].shape, indices.meta["val"].numel()
    if scales or not _may_be(*shape) or not _may_be(count, shape[-1]):
        return None
    values, indices = (graph.call_function(aten.reshape.default, (node, sizes))
                       for node, sizes in ((gradient, [rows, shape[-1]]), (indices, [rows])))
    return graph.call_function(segment_sum, (values, indices, count, padding))


def _of_put(graph: Graph, base: Node, indices: Sequence[Node | None], values: Node,
            accumulates: bool = False) -> Node | None:
    size = base.meta["val"].shape
    found = [index for index in indices if index is not None]
    if not accumulates or [*indices[:len(found)]] != found or not all(
            index.meta["val"].dtype in (torch.int32, torch.int64) for index in found):
        return None
    places = torch.broadcast_shapes(*(index.meta["val"].shape for index in found))
    outer, inner = size[:len(found)], size[len(found):]
    if not _may_be(*size) or not _may_be(*places, *inner):
        return None
    call = graph.call_function
    segments: Any = None
    for index, of in zip(found, outer, strict=True):
        # A negative index counts from the end.
        is_negative = call(aten.lt.Scalar, (index, 0))
        place = call(aten.where.self, (is_negative, call(aten.add.Tensor, (index, of)), index))
        segments = place if segments is None else call(
            aten.add.Tensor, (call(aten.mul.Tensor, (segments, of)), place))
    return _add(graph, base, call(aten.expand.default, (values, [*places, *inner])),
                call(aten.expand.default, (segments, places)), math.prod(inner))


def _of_scatter(graph: Graph, base: Node, dim: int, index: Node, values: Node) -> Node | None:
    # In 16 bits, sorting as many numbers takes longer than atomics.
    size, places = base.meta["val"].shape, index.meta["val"].shape
    if not (torch.are_deterministic_algorithms_enabled() and size and _may_be(*size)
            and _may_be(*places) and values.meta["val"].shape == places):
        return None
    call = graph.call_function
    segments: Any = None
    for place, (of, count) in enumerate(zip(size, places, strict=True)):
        number = index
        if place != dim % len(size):
            shape = [1] * len(size)
            shape[place] = count
            number = call(aten.reshape.default, (call(prims.iota.default, (count,), {
                "start": 0, "step": 1, "dtype": torch.int64,
                "device": index.meta["val"].device, "requires_grad": False}), shape))
        segments = number if segments is None else call(
            aten.add.Tensor, (call(aten.mul.Tensor, (segments, of)), number))
    return _add(graph, base, values, segments, 1)


_ADDITIONS: dict[Any, tuple[int, Callable[..., Node | None]]] = {
    aten.embedding_dense_backward.default: (0, _of_embedding),
    aten.index_put.default: (2, _of_put),
    aten._unsafe_index_put.default: (2, _of_put),
    aten.scatter_add.default: (3, _of_scatter)}
"""The argument that an operation adds, and the replacement of its call."""


def _add(graph: Graph, base: Node, values: Node, segments: Node, length: int) -> Node | None:
    """A tensor plus the sums of rows of so many elements; ``segments`` gives their places."""
    call, size = graph.call_function, [*base.meta["val"].shape]
    segments = call(aten.reshape.default, (segments, [-1]))
    values = call(aten.reshape.default, (values, [-1, length]))
    sums = call(segment_sum, (values, segments, math.prod(size) // max(length, 1), -1))
    sums = call(aten.reshape.default, (sums, size))
    is_zero = base.target is aten.full.default and base.args[1] == 0
    return sums if is_zero else call(aten.add.Tensor, (base, sums))


def _may_be(*sizes: Any) -> bool:
    """Whether row programs have tensors of these sizes, which have to be known."""
    return all(isinstance(size, int) for size in sizes) and 0 < math.prod(sizes) <= MOST_ELEMENTS


@functools.lru_cache(maxsize=1)
def _package_hash() -> bytes:
    """A hash of all sources of the package: a cached graph calls functions of several modules."""
    folder = pathlib.Path(__file__).resolve().parents[1]
    files = [*folder.rglob("*.py"), *folder.rglob("*.json")]
    return internals.get_hash_for_files(tuple(map(str, sorted(files))))


class Key(internals.CustomGraphPass):
    """A pass that changes no operation, but the graph's keys in Inductor's caches; the user's
    passes ``then`` run after it."""

    def __init__(self, then: Any = None) -> None:
        self._then = [*then] if isinstance(then, list | tuple) else [then] * (then is not None)

    def uuid(self) -> Any:
        """The key; None, for no caching, if one of the user's passes has none."""
        then = [one.uuid() if isinstance(one, internals.CustomGraphPass) else None
                for one in self._then]
        return None if None in then else (
            _package_hash(), compiler.compiler_id(), launching.simulated_chip(),
            is_batch_invariant(), tuning.is_on(is_region=True), *then)

    def __call__(self, graph: torch.fx.Graph) -> None:
        """Runs the user's passes."""
        for one in self._then:
            one(graph)


def _kernel_devices() -> set[str]:
    """The types of devices for which there are kernels."""
    return {"cuda"} if launching.simulated_chip() is None else {"cuda", "cpu"}


class Sum(Key):
    """A pass over the graph before Inductor lowers it. It replaces additions of rows to places of a
    tensor by sums of segments, which have one order."""

    def __call__(self, graph: torch.fx.Graph) -> None:
        """Replaces these nodes, and runs the user's passes."""
        devices = _kernel_devices()
        sum_segments(graph, lambda values: values.device.type in devices
                     and internals.adds_in_order(values, devices))
        super().__call__(graph)


class Keep(Key):
    """A pass over forward and backward pass together. It keeps for the backward pass the values
    that are compared with their own largest elements, as in the gradient of amax: recomputed by
    another kernel, with other roundings, none might equal the largest."""

    def __call__(self, graph: torch.fx.Graph) -> None:
        """Marks these nodes, and runs the user's passes."""
        for node in compared(graph):
            node.meta.setdefault("recompute", CheckpointPolicy.MUST_SAVE)
        super().__call__(graph)


def _compile_inner(module: torch.fx.GraphModule, *arguments: Any, **options: Any) -> Any:
    def compile() -> Any:
        # Inductor changes the graph. Its constants cannot be copied among fake tensors.
        constants = {id(one): one for one in (*module.buffers(), *module.parameters())}
        return internals.compile_fx_inner(copy.deepcopy(module, constants), *arguments, **options)

    with (internals.registered(classes(), count_programs), internals.without_scatters(),
          internals.retained(**options)):
        return compile_again(compile)


def backend(model: torch.fx.GraphModule, example_inputs: Sequence[Any], *,
            mode: str | None = None, options: dict[str, Any] | None = None) -> Callable[..., Any]:
    """``torch.compile(model, backend="lnbwd")``: Inductor, with row programs of ours.

    Args:
        model, example_inputs: what torch.compile hands to a backend.
        mode, options: as for Inductor, which takes them.
    """
    devices = {value.device.type for value in example_inputs if isinstance(value, torch.Tensor)}
    is_simulated = launching.simulated_chip() is not None
    # (Beside a model on a GPU, a graph on the CPU is meant to be there.)
    if devices == {"cpu"} and not is_simulated and not torch.cuda.is_initialized():
        warn_once(
            "a graph on the CPU", 'torch.compile(backend="lnbwd"): the tensors are on the CPU, for '
            "which there are no kernels, and torch.compile's own are used. Move the model and "
            "inputs to a GPU, or compile and call it in 'with lnbwd.simulate():'", UserWarning)
    patches = internals.options_of(mode, options)
    if is_simulated:
        patches = {**internals.lowering_options(), **patches}
    for name, of_ours in (("post_grad_custom_pre_pass", Sum), ("joint_custom_post_pass", Keep)):
        patches[name] = of_ours(patches.get(name) or internals.option(name))
    with internals.whole_embeddings(_kernel_devices()):
        return internals.compile_graph(model, example_inputs, _compile_inner, patches)


internals.register_backend("lnbwd", backend)
