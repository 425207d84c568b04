# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""All that this folder uses of torch._inductor, in one place: private names, which differ among
versions of PyTorch."""

from __future__ import annotations

import contextlib
import dataclasses
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch._inductor import config, ir, scheduler
from torch._inductor.codegen import common
from torch._inductor.codegen.cpp import CppScheduling
from torch._inductor.codegen.cuda_combined_scheduling import CUDACombinedScheduling
from torch._inductor.codegen.triton import TritonScheduling
from torch._inductor.compile_fx import compile_fx, compile_fx_inner
from torch._inductor.custom_graph_pass import CustomGraphPass, get_hash_for_files
from torch._inductor.loop_body import LoopBody
from torch._inductor.ops_handler import DefaultHandler
from torch._inductor.virtualized import V

__all__ = ["CUDACombinedScheduling", "CppScheduling", "CustomGraphPass", "DefaultHandler",
           "LoopBody", "TritonScheduling", "V", "as_of_cpu", "compile_fx", "compile_fx_inner",
           "emulates_casts", "fusion_options", "get_hash_for_files", "ir", "is_local", "layout_of",
           "memory_name", "registered", "run_body", "scheduled", "write_call"]

_OPTIONS = {"split_reductions": False, "online_softmax": False,
            "triton.mix_order_reduction_non_strict_mode": True,
            "triton.mix_order_reduction_max_reads": 0}


def fusion_options(is_simulated: bool) -> dict[str, Any]:
    """Options of Inductor that have it fuse what a row program can hold, where it has them; on a
    simulated chip also those that make it lower as on a GPU."""
    known = config.get_config_copy()
    wanted = _OPTIONS | ({"force_pointwise_cat": True} if is_simulated else {})
    return {name: value for name, value in wanted.items() if name in known}


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


def layout_of(name: str) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """The sizes and strides of a buffer; None if they are not known."""
    buffer = V.graph.try_get_buffer(memory_name(name))
    if buffer is None:
        return None
    try:
        return tuple(map(int, buffer.get_size())), tuple(map(int, buffer.get_stride()))
    except (TypeError, NotImplementedError, AttributeError):
        return None


def is_local(name: str, nodes: Sequence[Any]) -> bool:
    """Whether a buffer is used by these nodes alone."""
    names: Any = {node.get_name() for node in nodes}
    return bool(V.graph.scheduler.can_buffer_be_removed_through_fusion(name, names))


def scheduled(node: Any) -> list[Any]:
    """The nodes of a fused node for which code is to be generated."""
    removed = V.graph.scheduler.removed_ops
    return [one for one in node.get_nodes() if one.get_name() not in removed]


def write_call(nodes: Sequence[Any], removed: Sequence[str], imports: Sequence[str],
               definitions: Sequence[str], lines: Sequence[str]) -> None:
    """Allocates what nodes write, but for what is removed, and writes calls that compute it."""
    wrapper = V.graph.wrapper_code
    V.graph.removed_buffers.update(removed)
    for node in nodes:
        node.mark_run()
    for line in imports:
        wrapper.add_import_once(line)
    for line in definitions:
        if line not in wrapper.header.getvalue():
            wrapper.header.writeline(line)
    for line in lines:
        wrapper.writeline(line)
    V.graph.scheduler.free_buffers()


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


def _enter(classes: dict[str, Callable[[Any], Any]]) -> None:
    for device in classes:
        entry = _before[device] = common.device_codegens[device]

        def choose(of: Any, device: str = device, original: Any = entry.scheduling) -> Any:
            own = getattr(_own, "classes", None) or {}
            return own.get(device, original)(of)

        common.device_codegens[device] = dataclasses.replace(entry, scheduling=choose)
    is_gpu = _before["is_gpu"] = getattr(scheduler, "_is_gpu_triton_backend", None)
    if is_gpu is None:  # An older version.
        return
    # On a simulated chip the nodes are on the CPU, and are fused as on a GPU.
    own: Any = scheduler
    own._is_gpu_triton_backend = lambda first, second: (
        "cpu" in (getattr(_own, "classes", None) or {}) and first.is_cpu() and second.is_cpu()
    ) or is_gpu(first, second)


def _leave() -> None:
    if (is_gpu := _before.pop("is_gpu")) is not None:
        scheduler._is_gpu_triton_backend = is_gpu
    common.device_codegens.update(_before)
    _before.clear()
