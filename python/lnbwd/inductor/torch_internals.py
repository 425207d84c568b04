# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""All that this folder uses of torch._inductor: private names, which differ among versions of
PyTorch."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import itertools
import logging
import math
import operator
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any
from unittest import mock

import torch
from torch._inductor import config, decomposition, ir, lowering, scheduler, tiling_utils
from torch._inductor.async_compile import AsyncCompile
from torch._inductor.codecache import PyCodeCache
from torch._inductor.codegen import common
from torch._inductor.codegen.cpp import CppScheduling
from torch._inductor.codegen.cuda_combined_scheduling import CUDACombinedScheduling
from torch._inductor.codegen.simd_kernel_features import SIMDKernelFeatures
from torch._inductor.codegen.triton import TritonScheduling
from torch._inductor.compile_fx import compile_fx, compile_fx_inner
from torch._inductor.custom_graph_pass import CustomGraphPass, get_hash_for_files
from torch._inductor.dependencies import extract_read_writes
from torch._inductor.graph import GraphLowering
from torch._inductor.loop_body import LoopBody
from torch._inductor.ops_handler import DefaultHandler
from torch._inductor.utils import Placeholder
from torch._inductor.virtualized import V
from torch.utils._triton import has_triton

from ..program.graphs.nodes import is_reduction

__all__ = ["CUDACombinedScheduling", "CompiledKernel", "CppScheduling", "CustomGraphPass",
           "DefaultHandler", "LoopBody", "TritonScheduling", "V", "as_of_cpu", "compile_fx",
           "compile_fx_inner", "compiled_kernels", "emulates_casts", "first_element",
           "fused_nodes", "get_hash_for_files", "has_triton", "hint_of", "ir", "is_apart",
           "is_changed", "is_local", "is_scatter", "layout_of", "lowering_options", "memory_name",
           "memory_order", "registered", "results_of", "run_body", "scheduled",
           "sorted_embeddings", "without_scatters", "write_call", "write_header", "writes_cpp"]

LEAST_FUSED = 1 << 20
"""Elements from which nodes are fused that Inductor by itself does not fuse: sums of fewer over
rows take as long as a launch, and reading them again does not."""

log = logging.getLogger("lnbwd.regions")
_CountPrograms = Callable[[Sequence[Any]], int | None]


def _known(options: dict[str, Any]) -> dict[str, Any]:
    known = config.get_config_copy()
    return {name: value for name, value in options.items() if name in known}


def lowering_options() -> dict[str, Any]:
    """Options with which Inductor lowers a graph on a simulated chip as on a GPU."""
    return _known({"force_pointwise_cat": True})


@functools.cache
def _replace_decomposition() -> None:
    operator = torch.ops.aten.embedding_dense_backward.default
    lowering.make_fallback(operator, warn=False, override_decomp=True)
    for table in (decomposition.decompositions, decomposition.fast_random_decomps()):
        table[operator] = functools.partial(_embedding_gradient, table[operator])


def _embedding_gradient(original: Callable[..., Any], gradient: torch.Tensor,
                        *arguments: Any) -> Any:
    is_sorted = getattr(_own, "sorts_embeddings", False) and (
        torch.are_deterministic_algorithms_enabled()
        or (gradient.is_cuda and (gradient.dtype.itemsize < 4 or not has_triton())))
    return NotImplemented if is_sorted else original(gradient, *arguments)


@contextlib.contextmanager
def sorted_embeddings() -> Iterator[None]:
    """Has PyTorch's own kernel compute gradients of embeddings in graphs that this thread traces,
    but for those of float32, which Triton adds up by atomics. It sorts the indices and adds in that
    order, so that all runs give the same bits, and needs no float32 copy of a gradient of 16 bits.
    """
    _replace_decomposition()
    before = getattr(_own, "sorts_embeddings", False)
    _own.sorts_embeddings = True
    try:
        yield
    finally:
        _own.sorts_embeddings = before


@contextlib.contextmanager
def without_scatters() -> Iterator[None]:
    """Without Triton, operations of PyTorch add to places of a tensor: has Inductor lower them as
    it does for deterministic algorithms."""
    if has_triton() or not torch.cuda.is_available():
        yield
        return
    before = torch.get_deterministic_debug_mode()
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        yield
    finally:
        torch.set_deterministic_debug_mode(before)


def run_body(handler: Any, body: LoopBody) -> None:
    """Hands the operations of a loop body to a handler, with the body's own variables."""
    with V.set_ops_handler(handler):
        body(body.iter_vars, body.reduce_vars, allow_same_symbol_in_index=True)


def emulates_casts() -> bool:
    """Whether values are rounded wherever the graph casts them."""
    return bool(config.emulate_precision_casts)


# --------------------------------------------------------------------------------------------------
# Buffers and nodes of the graph that is being compiled
# --------------------------------------------------------------------------------------------------


def memory_name(name: str) -> str:
    """The buffer whose memory a name stands for: what changes a buffer has another name."""
    real = V.graph.scheduler.mutation_real_name
    return str(real.get(name, name))


def dtype_of(name: str) -> torch.dtype:
    """The type of a buffer's elements."""
    dtype: torch.dtype = V.graph.get_dtype(name)
    return dtype


def layout_of(name: str) -> tuple[tuple[Any, ...], tuple[Any, ...], Any] | None:
    """The sizes and strides of a buffer and its offset, numbers or symbols; None if they are not
    known."""
    buffer = V.graph.try_get_buffer(memory_name(name))
    try:
        return (tuple(buffer.get_size()), tuple(buffer.get_stride()),
                buffer.get_layout().offset) if buffer is not None else None
    except (NotImplementedError, AttributeError):
        return None


def first_element(name: str) -> Any:
    """The element of another buffer at which a buffer begins that is a part of that; 0 for any
    other."""
    buffer: Any = V.graph.try_get_buffer(memory_name(name))
    layout = buffer.get_layout()
    return layout.view.get_layout().offset if isinstance(layout, ir.NonOwningLayout) else 0


def memory_order(sizes: Sequence[Any], strides: Sequence[Any]) -> tuple[int, ...] | None:
    """The order of a tensor's dimensions in memory, empty if it is row-major; None if the memory
    has gaps, or the order is not known for all sizes."""
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
    """The names of the graph's nodes that are computed in nodes: of one without sums that whose
    result it has, if that is known; else all of which it has something."""
    names = set[str]()
    for one in nodes:
        if one.node is not None:
            origin = None if one.is_reduction() else one.node.get_origin_node()
            names |= {origin.name} if origin is not None else {
                origin.name for origin in one.node.get_origins()}
    return names


def results_of(nodes: Sequence[Any]) -> set[str]:
    """The names of the graph's nodes of which nodes compute the result, or a part of it."""
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
    """Whether Inductor by itself would have fused some of the nodes with additions to places of a
    tensor."""
    return any(one.get_name() in attempt().apart for one in nodes)


def fused_nodes() -> list[Any]:
    """The nodes of the graph that is being compiled for which a scheduling class generates code,
    but for those that start several kernels at once."""
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
    """Allocates what nodes write and writes calls that compute it.

    Args:
        nodes: the nodes.
        removed: buffers that the calls do not write.
        is_possible: whether an output may take an input's memory, of which nothing else needs the
            content.
        write: gives lines for the head of the module and lines of the call; gets the outputs whose
            memory is an input's, by the inputs.
        imports: lines for the head of the module.
    """
    wrapper = V.graph.wrapper_code
    V.graph.removed_buffers.update(removed)
    reuse: Any = _Reuse()
    with V.set_kernel_handler(reuse):
        for node in nodes:
            node.decide_inplace_update()
        reuse.inplace_update_buffers = {
            new: old for new, old in reuse.inplace_update_buffers.items() if is_possible(old, new)}
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


@dataclasses.dataclass(frozen=True)
class CompiledKernel:
    """Inductor's kernel for a node, by itself.

    Attributes:
        buffers: the buffers of the first arguments.
        arguments: makes random arguments, with memory of their own.
        call: launches it.
    """

    buffers: Sequence[str]
    arguments: Callable[[], Sequence[Any]]
    call: Callable[[Sequence[Any]], object]


def compiled_kernels(node: Any) -> list[Callable[[], CompiledKernel]]:
    """Starts to compile the kernels that Inductor has for a fused node; gives functions that wait
    for them.

    One kernel may reduce rows, and columns in parts that PyTorch adds up. It cannot be called by
    itself. The kernel that reduces the rows alone, and the additions, stand for it: together they
    take no longer.
    """
    rows, other = (getattr(node, name, None) for name in ("node1", "node2"))
    if rows is None or other is None:
        return [_compiled_kernel(node)]
    sums = (sum(one.is_reduction() for one in other.get_nodes())
            if isinstance(node, scheduler.FusedMixOrderReductions) else 0)
    return [_compiled_kernel(rows), *[functools.partial(_sum_of_parts, rows)] * sums]


def own_kernels(nodes: Sequence[Any]) -> list[Callable[[], CompiledKernel]] | None:
    """As :func:`compiled_kernels`, of those that Inductor by itself has for what nodes compute: it
    lowers and fuses that part of the graph alone. None: one of them also adds to places of a
    tensor."""
    beside = {id(one): one for node in nodes for one in attempt().apart.get(node.get_name(), ())}
    module, inputs, buffers = _part_of_graph([*nodes, *beside.values()])
    results = results_of(nodes)
    graph: Any = GraphLowering(module, inputs, V.graph._shape_env,
                               is_inference=V.graph.is_inference,
                               is_backward=V.graph.is_backward)
    compiled: list[Callable[[], CompiledKernel]] = []
    with _suspended(), V.set_graph_handler(graph):
        graph.run(*inputs)
        graph.init_wrapper_code()
        graph._update_scheduler()
        for node in fused_nodes():
            if beside and results.isdisjoint(results_of(node.get_nodes())):
                continue
            if beside and any(is_scatter(one) for one in node.get_nodes()):
                return None
            graph.scheduler.current_device = node.get_device()
            compiled += compiled_kernels(node)

    def finish(compiled: Callable[[], CompiledKernel]) -> CompiledKernel:
        found = compiled()
        return dataclasses.replace(found, buffers=[
            buffers.get(name, name) for name in found.buffers])

    return [functools.partial(finish, one) for one in compiled]


def _part_of_graph(nodes: Sequence[Any]
                   ) -> tuple[torch.fx.GraphModule, list[torch.Tensor], dict[str, str]]:
    """The part of the graph that nodes compute, what stands for its inputs, and the buffers that
    those are in the whole graph."""
    buffers_of = {buffer.get_origin_node(): buffer for buffer in V.graph.buffers}
    origins, results = set[torch.fx.Node](), set[torch.fx.Node]()
    for one in nodes:
        origin = one.node.get_origin_node()
        origins |= {*one.node.get_origins(), *([origin] if origin is not None else [])}
        buffers_of.pop(origin, None)
        if origin is not None and not is_local(one.get_outputs()[0].get_name(), nodes):
            results.add(origin)
    if not results:
        raise NotImplementedError("no result is known as a node of the graph")
    # What has a buffer of its own is read from there. An element of a result has no origin of its
    # own where it is read.
    origins -= buffers_of.keys()
    origins |= {user for one in origins for user in one.users
                if user.target is operator.getitem and not origins.isdisjoint(user.users)}
    inside, left = set[torch.fx.Node](), [*results]
    while left:
        if (node := left.pop()) in origins and node not in inside:
            inside.add(node)
            left += node.all_input_nodes
    part, copies = torch.fx.Graph(), dict[torch.fx.Node, torch.fx.Node]()
    inputs, buffers = list[torch.Tensor](), dict[str, str]()

    def outside(node: torch.fx.Node) -> torch.fx.Node:
        if node not in copies:
            value = node.meta["val"]
            if not isinstance(value, torch.Tensor):
                raise NotImplementedError(f"an input is no tensor: {node}")
            buffer = V.graph.graph_inputs.get(node.name) or buffers_of.get(node)
            strides = value.stride()
            if buffer is not None and [*buffer.get_size()] == [*value.shape]:
                strides = tuple(map(int, buffer.get_stride()))
                buffers[f"part_{node.name}"] = buffer.get_name()
            with V.fake_mode:
                inputs.append(torch.empty_strided(value.shape, strides, dtype=value.dtype,
                                                  device=value.device))
            copies[node] = part.placeholder(f"part_{node.name}")
            copies[node].meta["val"] = inputs[-1]
        return copies[node]

    module: Any = V.graph.module
    order = [node for node in module.graph.nodes if node in inside]
    for node in order:
        for one in node.all_input_nodes:
            if one not in inside:
                outside(one)
    for node in order:
        copies[node] = part.node_copy(node, copies.__getitem__)
    part.output(tuple(copies[node] for node in order if node in results))
    return torch.fx.GraphModule(module, part), inputs, buffers


def _sum_of_parts(node: Any) -> CompiledKernel:
    """The addition of the parts of a sum over rows, of which each workgroup makes one."""
    device = node.get_device()
    parts = 8 * torch.cuda.get_device_properties(device).multi_processor_count
    columns = hint_of(node.group[1][1])
    return CompiledKernel((), lambda: [torch.ones(parts, columns, device=device)],
                          lambda arguments: arguments[0].sum(0))


def _compiled_kernel(node: Any) -> Callable[[], CompiledKernel]:
    backend = V.graph.scheduler.get_backend(node.get_device())
    buffers: Sequence[str] = ()
    try:
        source, buffers = _source(getattr(backend, "_triton_scheduling", backend), node)
    except (AttributeError, TypeError) as error:  # Another version's functions.
        log.info("Triton's kernel is not tiled as usual: %s", error)
        source = backend.generate_kernel_code_from_nodes(scheduled(node), benchmark_kernel=True)
    future = (AsyncCompile().triton("triton_", source) if AsyncCompile.use_process_pool()
              else None)

    def finish() -> CompiledKernel:
        if future is not None:
            future.result()
        module: Any = PyCodeCache.load(source)
        return CompiledKernel(buffers, module.get_args, module.call)

    return finish


def _source(triton: Any, node: Any) -> tuple[str, list[str]]:
    """What :meth:`SIMDScheduling.codegen_node` makes of a node, with what calls it, and the buffers
    of its arguments. (What generate_kernel_code_from_nodes makes is tiled otherwise.)"""
    nodes = scheduled(node)
    analysis = None
    if config.triton.coalesce_tiling_analysis:
        node = node if len(nodes) == len(node.get_nodes()) else scheduler.FusedSchedulerNode(
            V.graph.scheduler, nodes)
        own = getattr(node, "get_coalesce_analysis", None)
        older: Any = tiling_utils  # What older versions have in its place.
        analysis = own() if own is not None else older.analyze_memory_coalescing(node)
    _, (numel, reduced) = max(nodes, key=lambda one: int(one.is_reduction())).group
    schedule = triton.generate_node_schedule(nodes, numel, reduced)
    features = SIMDKernelFeatures(schedule, numel, reduced, analysis)
    tiling, scores = triton.get_tiling_and_scores(schedule, numel, reduced, analysis)
    kernel, *_ = triton.create_kernel_choices(
        features, [tiling], {"features": features, "tiling_scores": scores})
    triton.codegen_node_schedule_with_kernel(schedule, kernel)
    with config.patch(benchmark_kernel=True), V.set_kernel_handler(kernel):
        source = str(kernel.codegen_kernel()).replace(str(Placeholder.KERNEL_NAME), "triton_")
        _, arguments, *_ = kernel.args.python_argdefs()
    return source, [memory_name(str(one)) for one in arguments]


def as_of_cpu(node: Any, backend: CppScheduling) -> None:
    """Gives a node the group that Inductor's own scheduling for the CPU expects."""
    node.group = (node.get_device(), backend.group_fn(node._sizes))


# --------------------------------------------------------------------------------------------------
# Registration
# --------------------------------------------------------------------------------------------------

_own = threading.local()
_lock = threading.Lock()
_entered = 0
_before: dict[str, Any] = {}


class LeftError(Exception):
    """The graph is to be compiled again, with other nodes left to Inductor.

    Attributes:
        names: nodes of the graph that Inductor is to lower and fuse as it does by itself.
    """

    def __init__(self, names: frozenset[str]) -> None:
        super().__init__(names)
        self.names = names


@dataclasses.dataclass
class Attempt:
    """An attempt to compile a graph.

    Attributes:
        left: the nodes of the graph that Inductor lowers and fuses as it does by itself, by
            :func:`names_of`.
        is_last: whether a :class:`LeftError` is not handled any more.
        whole: sums that it would split by itself.
        fused: nodes of its scheduler that it would fuse otherwise by itself.
        apart: those that it may fuse with additions to places of a tensor by itself, with the nodes
            of these.
    """

    left: frozenset[str] = frozenset()
    is_last: bool = False
    whole: set[str] = dataclasses.field(default_factory=set)
    fused: set[str] = dataclasses.field(default_factory=set)
    apart: dict[str, list[Any]] = dataclasses.field(default_factory=dict)


def attempt() -> Attempt:
    """The attempt of this thread."""
    found: Attempt = getattr(_own, "attempt", None) or Attempt(is_last=True)
    return found


def compile_again(compile: Callable[[], Any], most: int = 4) -> Any:
    """Calls a function that compiles a graph, again for each :class:`LeftError`, at most so many
    times."""
    before = getattr(_own, "attempt", None)
    left = frozenset[str]()
    try:
        for number in range(most):
            _own.attempt = Attempt(left, number == most - 1)
            try:
                return compile()
            except Exception as error:
                inner = getattr(error, "inner_exception", error)
                if not isinstance(inner, LeftError):
                    raise
                left |= inner.names
    finally:
        _own.attempt = before


def _is_left(names: Collection[str]) -> bool:
    return getattr(_own, "classes", None) is None or not attempt().left.isdisjoint(names)


_REDUCTIONS = {"sum", "max", "min", "any", "welford_reduce", "online_softmax_reduce"}


def _num_splits(original: Callable[..., Any]) -> Callable[..., Any]:
    """A reduction that a row program may compute is not split into two."""
    def num_splits(*arguments: Any, **options: Any) -> Any:
        hint, count = original(*arguments, **options)
        node = V.graph.current_node
        kind = options.get("reduction_type", arguments[6] if len(arguments) > 6 else "")
        if kind not in _REDUCTIONS or count == 1 or node is None or _is_left([node.name]):
            return hint, count
        attempt().whole.add(node.name)
        return hint, 1

    return num_splits


def _use_two_steps(original: Callable[..., bool]) -> Callable[..., bool]:
    """A variance over rows is two sums, which a row program may compute, not Welford's, of which it
    has none."""
    def use_two_steps(x: Any, axis: Any, *arguments: Any, **options: Any) -> bool:
        is_so, node = original(x, axis, *arguments, **options), V.graph.current_node
        _own.is_shifted = False
        if is_so or axis is None or node is None or _is_left([node.name]):
            return is_so
        if not _axes(x, axis).isdisjoint(_neighbours(x)):
            return False
        attempt().whole.add(node.name)
        _own.is_shifted = True
        return True

    return use_two_steps


def _axes(x: Any, axis: Any) -> set[int]:
    dims = len(x.get_size())
    return {one % dims for one in (axis if isinstance(axis, list | tuple) else [axis])}


def _shift_variance(original: Callable[..., Any]) -> Callable[..., Any]:
    """Such a variance in one pass. With d = x - x[0], of M rows: mean = x[0] + sum(d) / M and
    variance = (sum(d^2) - sum(d)^2 / M) / M. The sums cancel by as much as the first row is off the
    mean, in units of the standard deviation, and not by the mean itself.

    Of rows of bfloat16, whose mean is at most some hundred standard deviations, sum(x) takes the
    place of sum(d): a mean near 0 has float32's relative precision then, not that of x[0]."""
    def var_mean_sum(x: Any, axis: Any, correction: Any, keepdim: bool, return_mean: bool) -> Any:
        axes = sorted(_axes(x, axis or []))
        sizes = [x.get_size()[dim] for dim in axes]
        freedom = math.prod(sizes) - (1 if correction is None else correction)
        are_known = all(getattr(one, "is_Integer", isinstance(one, int)) for one in sizes)
        if not getattr(_own, "is_shifted", False) or not are_known or freedom <= 0:
            return original(x, axis, correction, keepdim, return_mean)
        aten, count = torch.ops.aten, int(math.prod(sizes))
        shift = x
        for dim in axes:
            shift = _lower(aten.slice.Tensor, shift, dim, 0, 1)
        difference = _lower(aten.sub.Tensor, x, shift)
        is_summed = _dtype_in_memory(V.graph.current_node) == torch.bfloat16
        total, squares = (_lower(aten.sum.dim_IntList, one, axes, True) for one in (
            x if is_summed else difference, _lower(aten.mul.Tensor, difference, difference)))
        mean = offset = _lower(aten.mul.Tensor, total, 1 / count)
        if is_summed:
            offset = _lower(aten.sub.Tensor, mean, shift)
        else:
            mean = _lower(aten.add.Tensor, offset, shift)
        centred = _lower(aten.sub.Tensor, squares, _lower(
            aten.mul.Tensor, _lower(aten.mul.Tensor, offset, count), offset))
        # Not negative by rounding.
        variance = _lower(aten.relu.default, _lower(aten.mul.Tensor, centred, 1 / float(freedom)))
        results = [variance, mean] if return_mean else [variance]
        return tuple(one if keepdim else _lower(aten.squeeze.dims, one, axes) for one in results)

    return var_mean_sum


def _lower(target: Any, *arguments: Any) -> Any:
    return lowering.lowerings[target](*arguments)


def _dtype_in_memory(node: Any) -> torch.dtype | None:
    """The type of a node's first operand before it was converted; None if it is not known."""
    source: Any = node.args[0] if node.args else None
    while getattr(source, "target", None) is torch.ops.prims.convert_element_type.default:
        source = source.args[0]
    return getattr(getattr(source, "meta", {}).get("val"), "dtype", None)


def _neighbours(x: Any) -> set[int]:
    """The dimensions of a tensor, which need not be in memory, whose elements are neighbours in
    the largest tensor that is read for it."""
    sizes = x.get_size()
    with mock.patch.object(ir.FlexibleLayout, "allow_indexing", True):  # As it is by now.
        found = extract_read_writes(x.make_loader(), sizes)
    known_equal = V.graph.sizevars.statically_known_equals
    dims = [dim for dim, size in enumerate(sizes) if not known_equal(size, 1)]
    variables: dict[Any, int] = dict(zip(found.var_ranges or (), dims, strict=False))
    most, result = 0, set[int]()
    for read in found.reads:
        index: Any = getattr(read, "index", None)
        symbols: set[Any] = getattr(index, "free_symbols", set()) & variables.keys()
        if len(symbols) > most:
            most = len(symbols)
            result = {variables[symbol] for symbol in symbols if index.coeff(symbol) == 1}
    return result


def _fuse_nodes(original: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
    """Beside what Inductor fuses, nodes are fused that fewer row programs compute together."""
    def fuse_nodes(self: Any, nodes: list[Any]) -> list[Any]:
        fused = original(self, nodes)
        count_programs = getattr(_own, "count_programs", None)
        if count_programs is None or attempt().is_last:
            return fused
        return _fuse_more(self, fused, count_programs)

    return fuse_nodes


def _fuse_more(of: Any, nodes: list[Any], count_programs: _CountPrograms) -> list[Any]:
    """Fuses nodes of as many elements, which Inductor runs in other orders, if they read or write
    the same elements."""
    left = dict.fromkeys(itertools.chain.from_iterable(
        _without_scatters(of, node, count_programs) for node in nodes))
    users: dict[str, list[Any]] = {}
    for node in left:
        if _is_of_loops(node):
            for name in node.used_buffer_names():
                users.setdefault(name, []).append(node)
    tried = set[tuple[Any, Any]]()
    for name, found in users.items():
        for pair in itertools.combinations(found, 2):
            first, second = (of.name_to_fused_node[one.get_first_name()] for one in pair)
            if first is second or (first, second) in tried:
                continue
            tried.add((first, second))
            if second.get_operation_names() & first.ancestors:
                first, second = second, first
            names = names_of([*first.get_nodes(), *second.get_nodes()])
            if (first.group[1] == second.group[1] or not _is_read_by_both(name, first, second)
                    or _is_left(names) or _is_between(of, first, second)
                    or not _makes_fewer(count_programs, first, second)):
                continue
            del left[first], left[second]
            node = scheduler.FusedSchedulerNode.fuse(first, second)
            left[node] = None
            of.name_to_fused_node.update({one.get_name(): node for one in node.get_nodes()})
            attempt().fused.update(one.get_name() for one in node.get_nodes())
    return list(of.topological_sort_schedule(sorted(left, key=lambda node: int(node.min_order))))


def _without_scatters(of: Any, node: Any, count_programs: _CountPrograms) -> list[Any]:
    """A node; or two, where a sum that Inductor would have split is fused with additions to places
    of a tensor, which no row program computes."""
    parts: dict[bool, list[Any]] = {False: [], True: []}
    for one in node.get_nodes():
        parts[is_scatter(one)].append(one)
    others, scatters = parts[False], parts[True]
    names = {name for one in scatters for name in one.get_operation_names()}
    if (not scatters or not any(one.is_reduction() for one in others)
            or not is_changed(others) or _is_left(names_of(others))
            or any(names & set(one.ancestors) for one in others) or count_programs(others) is None):
        return [node]
    attempt().apart.update((one.get_name(), scatters) for one in others)
    found = [part[0] if len(part) == 1 else scheduler.FusedSchedulerNode(of, part)
             for part in (others, scatters)]
    of.name_to_fused_node.update({one.get_name(): part for part in found
                                  for one in part.get_nodes()})
    return found


def is_scatter(node: Any) -> bool:
    """Whether a node of the scheduler adds to places of a tensor."""
    return any(entry.mode is not None for entries in (
        node._body.memory_usage.values() if isinstance(getattr(node, "_body", None), LoopBody)
        else ()) for entry in entries)


def _is_between(of: Any, first: Any, second: Any) -> bool:
    """Whether another node needs one of two nodes, and the other one of them needs that node."""
    for one, other in ((first, second), (second, first)):
        names = one.get_operation_names()
        seen, left = {first, second}, [other]
        while left:
            for node in {of.name_to_fused_node[name] for name in left.pop().ancestors} - seen:
                if any(name in node.ancestors for name in names):
                    return True
                seen.add(node)
                left.append(node)
    return False


def _makes_fewer(count_programs: _CountPrograms, first: Any, second: Any) -> bool:
    """Whether fewer row programs compute two nodes together, or nothing else does."""
    one, other, both = (count_programs(nodes) for nodes in (
        first.get_nodes(), second.get_nodes(), [*first.get_nodes(), *second.get_nodes()]))
    return both is not None and (one is None or other is None or both < one + other)


def _is_of_loops(node: Any) -> bool:
    return (isinstance(node, (scheduler.SchedulerNode, scheduler.FusedSchedulerNode))
            and not node.is_template() and not node.is_foreach()
            and not node.has_aliasing_or_mutation())


def _is_read_by_both(name: str, first: Any, second: Any) -> bool:
    """Whether two nodes, one of which reduces, run through all elements of a buffer, which are so
    many that reading them again takes longer than two kernels."""
    layout = layout_of(name)
    if layout is None or not (first.is_reduction() or second.is_reduction()):
        return False
    count = math.prod(layout[0])
    known_equal = V.graph.sizevars.statically_known_equals
    return hint_of(count) >= LEAST_FUSED and all(
        known_equal(math.prod(node.group[1]), count) for node in (first, second))


@contextlib.contextmanager
def registered(classes: dict[str, Callable[[Any], Any]],
               count_programs: _CountPrograms) -> Iterator[None]:
    """Has Inductor schedule graphs that this thread compiles by classes of ours, one for each type
    of device. Other threads have Inductor's, and so has this one afterwards.

    Args:
        classes: the classes.
        count_programs: how many row programs compute nodes; None: these cannot. Nodes are fused,
            beside those that Inductor fuses by itself, if that makes the programs fewer.
    """
    global _entered
    common.init_backend_registration()
    with _lock:
        _entered += 1
        if _entered == 1:
            _enter(classes)
    before = [getattr(_own, name, None) for name in ("classes", "count_programs")]
    _own.classes, _own.count_programs = classes, count_programs
    try:
        yield
    finally:
        _own.classes, _own.count_programs = before
        with _lock:
            _entered -= 1
            if _entered == 0:
                _leave()


@contextlib.contextmanager
def _suspended() -> Iterator[None]:
    """Has this thread schedule graphs by Inductor's own classes, within :func:`registered`."""
    before = _own.classes, _own.count_programs
    _own.classes = _own.count_programs = None
    try:
        yield
    finally:
        _own.classes, _own.count_programs = before


def _replace(owner: Any, name: str, make: Callable[[Any], Any]) -> None:
    """Replaces a function until :func:`_leave`."""
    original = getattr(owner, name, None)
    if original is not None:  # An older version may have none.
        _replaced.append((owner, name, owner.__dict__[name]))
        made = make(original)
        is_static = isinstance(owner.__dict__[name], staticmethod | classmethod)
        setattr(owner, name, staticmethod(made) if is_static else made)


_replaced: list[tuple[Any, str, Any]] = []


def _enter(classes: dict[str, Callable[[Any], Any]]) -> None:
    for device in classes:
        entry = _before[device] = common.device_codegens[device]

        def choose(of: Any, device: str = device, original: Any = entry.scheduling) -> Any:
            own = getattr(_own, "classes", None) or {}
            return own.get(device, original)(of)

        common.device_codegens[device] = dataclasses.replace(entry, scheduling=choose)
    # A graph of row programs alone needs no Triton.
    _replace(scheduler, "has_triton", lambda original: lambda: (
        getattr(_own, "classes", None) is not None or original()))
    _replace(ir.Reduction, "num_splits", _num_splits)
    _replace(lowering, "use_two_step_variance", _use_two_steps)
    _replace(lowering, "var_mean_sum_", _shift_variance)
    _replace(scheduler.Scheduler, "fuse_nodes", _fuse_nodes)


def _leave() -> None:
    while _replaced:
        owner, name, original = _replaced.pop()
        setattr(owner, name, original)
    common.device_codegens.update(_before)
    _before.clear()
