# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""All that this folder uses of torch._inductor: private names, which differ among versions of
PyTorch."""

from __future__ import annotations

import contextlib
import dataclasses
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch._inductor import config, ir, scheduler
from torch._inductor.async_compile import AsyncCompile
from torch._inductor.codecache import PyCodeCache
from torch._inductor.codegen import common
from torch._inductor.codegen.cpp import CppScheduling
from torch._inductor.codegen.cuda_combined_scheduling import CUDACombinedScheduling
from torch._inductor.codegen.triton import TritonScheduling
from torch._inductor.compile_fx import compile_fx, compile_fx_inner
from torch._inductor.custom_graph_pass import CustomGraphPass, get_hash_for_files
from torch._inductor.loop_body import LoopBody
from torch._inductor.ops_handler import DefaultHandler
from torch._inductor.virtualized import V
from torch.utils._triton import has_triton

__all__ = ["CUDACombinedScheduling", "CompiledKernel", "CppScheduling", "CustomGraphPass",
           "DefaultHandler", "LoopBody", "TritonScheduling", "V", "as_of_cpu", "compile_fx",
           "compile_fx_inner", "compiled_kernel", "emulates_casts", "fused_nodes",
           "get_hash_for_files", "has_triton", "hint_of", "ir", "is_local", "lowering_options",
           "layout_of", "memory_name", "memory_order", "registered", "run_body",
           "scheduled", "without_scatters", "write_call", "write_header", "writes_cpp"]

_MIX_ORDER = {"triton.mix_order_reduction_non_strict_mode": True,
              "triton.mix_order_reduction_max_reads": 0}


def _known(options: dict[str, Any]) -> dict[str, Any]:
    known = config.get_config_copy()
    return {name: value for name, value in options.items() if name in known}


def lowering_options() -> dict[str, Any]:
    """Options with which Inductor lowers a graph on a simulated chip as on a GPU."""
    return _known({"force_pointwise_cat": True})


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
        arguments: makes random arguments, with memory of their own.
        call: launches it.
    """

    arguments: Callable[[], Sequence[Any]]
    call: Callable[[Sequence[Any]], object]


def compiled_kernel(nodes: Sequence[Any]) -> Callable[[], CompiledKernel]:
    """Starts to compile Triton's kernel for nodes, and gives a function that waits for it."""
    backend = V.graph.scheduler.get_backend(nodes[0].get_device())
    source = backend.generate_kernel_code_from_nodes(nodes, benchmark_kernel=True)
    future = (AsyncCompile().triton("triton_", source) if AsyncCompile.use_process_pool()
              else None)

    def finish() -> CompiledKernel:
        if future is not None:
            future.result()
        module: Any = PyCodeCache.load(source)
        return CompiledKernel(module.get_args, module.call)

    return finish


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
        back: nodes of the graph for which that ends.
    """

    def __init__(self, names: frozenset[str], back: frozenset[str] = frozenset()) -> None:
        super().__init__(names, back)
        self.names, self.back = names, back


@dataclasses.dataclass
class Attempt:
    """An attempt to compile a graph.

    Attributes:
        left: the nodes of the graph that Inductor lowers and fuses as it does by itself.
        changed: the nodes that it would lower or fuse otherwise by itself.
        is_last: whether a :class:`LeftError` is not handled any more.
        waiting: row programs whose times wait for those of Inductor's own kernels.
    """

    left: frozenset[str] = frozenset()
    changed: set[str] = dataclasses.field(default_factory=set)
    is_last: bool = False
    waiting: list[Any] = dataclasses.field(default_factory=list)


def attempt() -> Attempt:
    """The attempt of this thread."""
    found: Attempt = getattr(_own, "attempt", None) or Attempt(is_last=True)
    return found


def compile_again(compile: Callable[[], Any], most: int = 4) -> Any:
    """Calls a function that compiles a graph, again for each :class:`LeftError`, at most so many
    times."""
    before = getattr(_own, "attempt", None)
    _own.attempt = Attempt()
    try:
        for number in range(most):
            attempt().changed.clear()
            attempt().is_last = number == most - 1
            try:
                return compile()
            except Exception as error:
                inner = getattr(error, "inner_exception", error)
                if not isinstance(inner, LeftError):
                    raise
                attempt().left = (attempt().left | inner.names) - inner.back
    finally:
        _own.attempt = before


def _is_left(names: Sequence[str]) -> bool:
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
        attempt().changed.add(node.name)
        return hint, 1

    return num_splits


def _can_fuse(original: Callable[..., bool]) -> Callable[..., bool]:
    """Sums of rows and of columns are fused whenever a row program may compute both."""
    def can_fuse(first: Any, second: Any) -> bool:
        names = [origin.name for node in (*first.get_nodes(), *second.get_nodes())
                 if node.node is not None for origin in node.node.get_origins()]
        is_fused = original(first, second)
        if is_fused or _is_left(names):
            return is_fused
        with config.patch(_known(_MIX_ORDER)):
            is_fused = original(first, second)
        if is_fused:
            attempt().changed.update(names)
        return is_fused

    return can_fuse


@contextlib.contextmanager
def registered(classes: dict[str, Callable[[Any], Any]]) -> Iterator[None]:
    """Has Inductor schedule graphs that this thread compiles by classes of ours, one for each type
    of device. Other threads have Inductor's, and so has this one afterwards."""
    global _entered
    common.init_backend_registration()
    with _lock:
        _entered += 1
        if _entered == 1:
            _enter(classes)
    before = getattr(_own, "classes", None)
    _own.classes = classes
    try:
        yield
    finally:
        _own.classes = before
        with _lock:
            _entered -= 1
            if _entered == 0:
                _leave()


def _replace(owner: Any, name: str, make: Callable[[Any], Any]) -> None:
    """Replaces a function until :func:`_leave`."""
    original = getattr(owner, name, None)
    if original is not None:  # An older version may have none.
        _replaced.append((owner, name, owner.__dict__[name]))
        made = make(original)
        setattr(owner, name, staticmethod(made) if isinstance(owner, type) else made)


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
    # On a simulated chip the nodes are on the CPU, and are fused as on a GPU.
    _replace(scheduler, "_is_gpu_triton_backend", lambda original: lambda first, second: (
        "cpu" in (getattr(_own, "classes", None) or {}) and first.is_cpu() and second.is_cpu()
    ) or original(first, second))
    _replace(ir.Reduction, "num_splits", _num_splits)
    _replace(getattr(scheduler, "MixOrderReduction", scheduler), "can_fuse", _can_fuse)


def _leave() -> None:
    while _replaced:
        owner, name, original = _replaced.pop()
        setattr(owner, name, original)
    common.device_codegens.update(_before)
    _before.clear()
