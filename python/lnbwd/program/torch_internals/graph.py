# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Buffers and nodes of the graph that is being compiled, and lines of its code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from unittest import mock

import torch
from torch._inductor import ir, scheduler
from torch._inductor.codegen.cpp import CppScheduling as CppScheduling
from torch._inductor.codegen.cuda_combined_scheduling import (
    CUDACombinedScheduling as CUDACombinedScheduling,
)
from torch._inductor.codegen.triton import TritonScheduling as TritonScheduling
from torch._inductor.loop_body import LoopBody as LoopBody
from torch._inductor.virtualized import V as V
from torch._subclasses.fake_tensor import unset_fake_temporarily as unset_fake_temporarily
from torch.utils._triton import has_triton as has_triton

from ..graphs.nodes import is_reduction
from .attempts import attempt


def memory_name(name: str) -> str:
    """The buffer whose memory a name stands for: a node that changes a buffer has another name."""
    real = V.graph.scheduler.mutation_real_name
    return str(real.get(name, name))


def dtype_of(name: str) -> torch.dtype:
    """The type of a buffer's elements."""
    dtype: torch.dtype = V.graph.get_dtype(name)
    return dtype


def is_elsewhere(nodes: Sequence[Any]) -> bool:
    """Whether nodes read a tensor of another device: a GPU's that of a number on the CPU, of which
    Inductor's own kernels get the value."""
    devices = {node.get_device() for node in nodes}
    buffers = (V.graph.try_get_buffer(memory_name(dep.name))
               for node in nodes for dep in node.read_writes.reads)
    return len(devices) > 1 or any(
        isinstance(buffer, ir.TensorBox | ir.Buffer) and buffer.get_device() not in devices
        for buffer in buffers)


def layout_of(name: str) -> tuple[tuple[Any, ...], tuple[Any, ...], Any] | None:
    """A buffer's sizes, strides and offset, numbers or symbols; None if not known."""
    buffer = V.graph.try_get_buffer(memory_name(name))
    try:
        return (tuple(buffer.get_size()), tuple(buffer.get_stride()),
                buffer.get_layout().offset) if buffer is not None else None
    except (NotImplementedError, AttributeError):
        return None


def first_element(name: str) -> Any:
    """The element of another buffer at which a buffer begins; 0 if it is no part of one."""
    buffer: Any = V.graph.try_get_buffer(memory_name(name))
    layout = buffer.get_layout()
    return layout.view.get_layout().offset if isinstance(layout, ir.NonOwningLayout) else 0


def memory_order(sizes: Sequence[Any], strides: Sequence[Any]) -> tuple[int, ...] | None:
    """The order of dimensions in memory, empty if row-major; None with gaps, or if not known."""
    known_equal = V.graph.sizevars.statically_known_equals
    ones = [dim for dim, size in enumerate(sizes) if known_equal(size, 1)]
    left = [dim for dim in range(len(sizes)) if dim not in ones]
    found: list[int] = []
    distance: Any = 1
    while left:
        dim = next((dim for dim in reversed(left) if known_equal(strides[dim], distance)), None)
        if dim is None:
            return None
        left.remove(dim)
        found.insert(0, dim)
        distance = distance * sizes[dim]
    return () if found == sorted(found) else (*ones, *found)


def hint_of(expression: Any) -> int:
    """A likely value of an expression of symbols."""
    sizes: Any = V.graph.sizevars
    hint = getattr(sizes, "optimization_hint", None) or sizes.size_hint  # An older version's.
    return int(hint(expression))


def is_local(name: str, nodes: Sequence[Any]) -> bool:
    """Whether a buffer is used by these nodes alone."""
    names: Any = {node.get_name() for node in nodes}
    return bool(V.graph.scheduler.can_buffer_be_removed_through_fusion(name, names))


def scheduled(node: Any) -> list[Any]:
    """The nodes of a fused node for which code is to be generated."""
    removed = V.graph.scheduler.removed_ops
    return [one for one in node.get_nodes() if one.get_name() not in removed]


def names_of(nodes: Sequence[Any]) -> set[str]:
    """The names of the graph's nodes that are computed in nodes: for one without sums, the node
    whose result it has, if known; else all nodes of which it has a part."""
    names = set[str]()
    for one in nodes:
        if one.node is not None:
            origin = None if one.is_reduction() else one.node.get_origin_node()
            names |= {origin.name} if origin is not None else {
                origin.name for origin in one.node.get_origins()}
    return names


def results_of(nodes: Sequence[Any]) -> set[str]:
    """The names of the graph's nodes whose result, or a part of it, nodes compute."""
    names = set[str]()
    for one in nodes:
        reducing = {origin.name for origin in (
            one.node.get_origins() if one.is_reduction() and one.node is not None else ())
            if is_reduction(origin)}
        names |= reducing or names_of([one])
    return names


def is_changed(nodes: Sequence[Any]) -> bool:
    """Whether Inductor by itself would have lowered or fused some of the nodes otherwise."""
    if is_apart(nodes):
        return True
    return any(one.get_name() in attempt().fused or (
        one.is_reduction() and not attempt().whole.isdisjoint(names_of([one]))) for one in nodes)


def is_apart(nodes: Sequence[Any]) -> bool:
    """Whether Inductor would have fused nodes with additions to places of a tensor."""
    return any(one.get_name() in attempt().apart for one in nodes)


def is_scatter(node: Any) -> bool:
    """Whether a node of the scheduler adds to places of a tensor."""
    return any(entry.mode is not None for entries in (
        node._body.memory_usage.values() if isinstance(getattr(node, "_body", None), LoopBody)
        else ()) for entry in entries)


def fused_nodes() -> list[Any]:
    """The graph's nodes for which a scheduling class generates code, without combined ones."""
    return [node for node in V.graph.scheduler.nodes
            if not node.is_extern() and not node.is_template() and not node.is_foreach()
            and not isinstance(node, scheduler.NopKernelSchedulerNode)]


def writes_cpp() -> bool:
    """Whether Inductor generates C++ (``cpp_wrapper``)."""
    return bool(V.graph.cpp_wrapper)


class _Reuse:
    """Stands in for a kernel of Inductor while that decides which outputs take an input's memory:
    ``inplace_update_buffers`` are the inputs by the outputs."""

    def __init__(self) -> None:
        self.args = self
        self.inplace_update_buffers: dict[str, str] = {}

    def make_inplace(self, input_name: str, output_name: str) -> None:
        """Called by Inductor."""
        if input_name in V.graph.unaligned_buffers:
            V.graph.unaligned_buffers.add(output_name)


def write_call(nodes: Sequence[Any], removed: Sequence[str],
               is_possible: Callable[[str, str], bool],
               write: Callable[[dict[str, str]], tuple[Sequence[str], Sequence[str]]],
               imports: Sequence[str]) -> None:
    """Allocates the outputs of nodes, but for removed buffers, and writes calls that compute them.
    ``is_possible`` says whether an output may take an input's memory, of which nothing else needs
    the content; ``write`` gives lines for the head of the module, beside ``imports``, and lines of
    the call, from the outputs whose memory is an input's, by the inputs."""
    wrapper = V.graph.wrapper_code
    V.graph.removed_buffers.update(removed)
    reuse: Any = _Reuse()
    # Tensors that were saved for this backward pass alone.
    donated = getattr(V.graph.scheduler, "donated", {})
    buffers = donated or V.graph.scheduler.name_to_donated_buffer
    with V.set_kernel_handler(reuse), mock.patch.object(
            V.graph.scheduler, "name_to_donated_buffer", buffers):
        for node in nodes:
            node.decide_inplace_update()
        reuse.inplace_update_buffers = {
            new: old for new, old in reuse.inplace_update_buffers.items() if is_possible(old, new)}
        for old in filter(donated.__contains__, reuse.inplace_update_buffers.values()):
            imports = [*imports, "from lnbwd.regions_op import own_tensor as lnbwd_own_tensor"]
            wrapper.writeline(f"{old} = lnbwd_own_tensor({old})")
        for node in nodes:
            node.mark_run()
    definitions, lines = write({old: new for new, old in reuse.inplace_update_buffers.items()})
    write_header(imports, definitions)
    for line in lines:
        wrapper.writeline(line)
    V.graph.scheduler.free_buffers()


def write_header(imports: Sequence[str], definitions: Sequence[str]) -> None:
    """Writes lines, each once, to the head of the module, where it is loaded."""
    wrapper: Any = V.graph.wrapper_code
    while getattr(wrapper, "parent_wrapper", None) is not None:
        wrapper = wrapper.parent_wrapper  # A part of a graph has no head of its own.
    for line in imports:
        wrapper.add_import_once(line)
    for line in definitions:
        if line not in wrapper.header.getvalue():
            wrapper.header.writeline(line)


def as_of_cpu(node: Any, backend: CppScheduling) -> None:
    """Gives a node the group that Inductor's own scheduling for the CPU expects."""
    node.group = (node.get_device(), backend.group_fn(node._sizes))
