# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Has Inductor lower graphs for our scheduling classes, in the threads that compile with them."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import math
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any
from unittest import mock

import torch
from torch._dynamo import compiled_autograd
from torch._guards import TracingContext
from torch._inductor import config, decomposition, ir, lowering, scheduler
from torch._inductor.codegen import common
from torch._inductor.compile_fx import compile_fx
from torch._inductor.compile_fx import compile_fx_inner as compile_fx_inner
from torch._inductor.custom_graph_pass import CustomGraphPass as CustomGraphPass
from torch._inductor.custom_graph_pass import get_hash_for_files as get_hash_for_files
from torch._inductor.dependencies import extract_read_writes
from torch._inductor.virtualized import V
from torch.utils._triton import has_triton

from .attempts import CountPrograms, attempt, is_left, own, scheduled_by
from .fusion import fuse_more_nodes


def lowering_options() -> dict[str, Any]:
    """Options with which Inductor lowers a graph on a simulated chip as on a GPU."""
    name = "force_pointwise_cat"
    return {name: True} if name in config.get_config_copy() else {}


@functools.cache
def _replace_decomposition() -> None:
    operator = torch.ops.aten.embedding_dense_backward.default
    lowering.make_fallback(operator, warn=False, override_decomp=True)
    for table in (decomposition.decompositions, decomposition.fast_random_decomps()):
        table[operator] = functools.partial(_embedding_gradient, table[operator])


def adds_in_order(values: torch.Tensor, devices: Collection[str]) -> bool:
    """Whether rows are added to places of a tensor in one order: if PyTorch's deterministic
    algorithms are asked for, and on ``devices`` if Triton has no atomics, or if the rows have 16
    bits, which atomics round in each step. Atomics take less time."""
    return torch.are_deterministic_algorithms_enabled() or (values.device.type in devices and (
        values.dtype.itemsize < 4 or (values.is_cuda and not has_triton())))


def _embedding_gradient(original: Callable[..., Any], gradient: torch.Tensor,
                        *arguments: Any) -> Any:
    devices = getattr(own, "keeps_embeddings", None)
    if devices is not None and adds_in_order(gradient, devices):
        return NotImplemented
    return original(gradient, *arguments)


@contextlib.contextmanager
def whole_embeddings(devices: Collection[str]) -> Iterator[None]:
    """In graphs that this thread traces, leaves the gradient of an embedding one operation where
    :func:`adds_in_order` holds. PyTorch's own kernel of it sorts the indices, and needs no float32
    copy of a gradient of 16 bits."""
    _replace_decomposition()
    before = getattr(own, "keeps_embeddings", None)
    own.keeps_embeddings = devices
    try:
        yield
    finally:
        own.keeps_embeddings = before


@contextlib.contextmanager
def without_scatters() -> Iterator[None]:
    """Without Triton PyTorch adds to places: has Inductor lower that as deterministic."""
    if has_triton() or not torch.cuda.is_available():
        yield
        return
    before = torch.get_deterministic_debug_mode()
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        yield
    finally:
        torch.set_deterministic_debug_mode(before)


_REDUCTIONS = {"sum", "max", "min", "any", "welford_reduce", "online_softmax_reduce"}


def keep_sums_whole(original: Callable[..., Any]) -> Callable[..., Any]:
    """A reduction that a row program may compute is not split into two."""
    def num_splits(*arguments: Any, **options: Any) -> Any:
        hint, count = original(*arguments, **options)
        node = V.graph.current_node
        kind = options.get("reduction_type", arguments[6] if len(arguments) > 6 else "")
        if kind not in _REDUCTIONS or count == 1 or node is None or is_left([node.name]):
            return hint, count
        attempt().whole.add(node.name)
        return hint, 1

    return num_splits


def keep_two_steps(original: Callable[..., bool]) -> Callable[..., bool]:
    """Keeps a variance over rows as two sums, as row programs compute it, not Welford's."""
    def use_two_steps(x: Any, axis: Any, *arguments: Any, **options: Any) -> bool:
        is_so, node = original(x, axis, *arguments, **options), V.graph.current_node
        own.is_shifted = False
        if is_so or axis is None or node is None or is_left([node.name]):
            return is_so
        if not _axes(x, axis).isdisjoint(_neighbours(x)):
            return False
        attempt().whole.add(node.name)
        own.is_shifted = True
        return True

    return use_two_steps


def _axes(x: Any, axis: Any) -> set[int]:
    dims = len(x.get_size())
    return {one % dims for one in (axis if isinstance(axis, list | tuple) else [axis])}


def shift_variance(original: Callable[..., Any]) -> Callable[..., Any]:
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
        if not getattr(own, "is_shifted", False) or not are_known or freedom <= 0:
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
    """The dimensions of a tensor with neighbours in the largest tensor that is read for it."""
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


def register_backend(name: str, backend: Callable[..., Any]) -> None:
    """Makes a backend known to torch.compile, once; an installed package has an entry point."""
    if name not in torch._dynamo.list_backends(exclude_tags=()):
        torch._dynamo.register_backend(backend, name=name)


def options_of(mode: str | None, options: dict[str, Any] | None) -> dict[str, Any]:
    """Inductor's options that torch.compile's ``mode`` and ``options`` stand for."""
    wrapper = torch._TorchCompileInductorWrapper(mode, dict(options or {}), None)
    return dict(wrapper.config)


def option(name: str) -> Any:
    """The present value of one of Inductor's options."""
    return getattr(config, name)


def compile_graph(model: torch.fx.GraphModule, inputs: Sequence[Any],
                  inner_compile: Callable[..., Any], options: dict[str, Any]) -> Callable[..., Any]:
    """Compiles a graph and its backward pass as Inductor does, with a function that compiles each.
    The backward pass is compiled at once: measurements take no memory beside saved tensors. With
    compiled autograd it is a part of another graph, where Inductor cannot compile it by itself."""
    with torch._functorch.config.patch(
            force_non_lazy_backward_lowering=not compiled_autograd.compiled_autograd_enabled):
        result: Any = compile_fx(model, inputs, inner_compile=inner_compile, config_patches=options)
    return result  # type: ignore[no-any-return]


@contextlib.contextmanager
def retained(is_backward: bool = False, cudagraphs: Any = False, **_: Any) -> Iterator[None]:
    """A backward pass that is compiled within, with these options of Inductor's, may be called
    again (retain_graph=True). Inductor sees by the first call whether that may be, but ours is
    compiled before. So row programs alone write to saved tensors, or to copies
    (:func:`.graph.write_call`), and PyTorch need not refuse the call. CUDA graphs ask nothing when
    they run, and stay as they are."""
    own.copies = is_backward and not cudagraphs
    yield
    context = TracingContext.try_get()
    donated = getattr(context and context.fw_metadata, "bw_donated_idxs", None)
    if donated and own.copies:
        donated.clear()  # The list that PyTorch looks at before the call.


_lock = threading.Lock()
_entered = 0
_before: dict[str, Any] = {}


@contextlib.contextmanager
def registered(classes: dict[str, Callable[[Any], Any]],
               count_programs: CountPrograms) -> Iterator[None]:
    """Has Inductor schedule graphs that this thread compiles by classes of ours, one for each type
    of device; other threads have its own. Nodes are fused, beside those that Inductor fuses by
    itself, if ``count_programs`` says that this makes row programs fewer; None: these cannot
    compute them."""
    global _entered
    common.init_backend_registration()
    with _lock:
        _entered += 1
        if _entered == 1:
            _enter(classes)
    try:
        with scheduled_by(classes, count_programs):
            yield
    finally:
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
        is_static = isinstance(owner.__dict__[name], staticmethod | classmethod)
        setattr(owner, name, staticmethod(made) if is_static else made)


_replaced: list[tuple[Any, str, Any]] = []


def _enter(classes: dict[str, Callable[[Any], Any]]) -> None:
    for device in classes:
        entry = _before[device] = common.device_codegens[device]

        def choose(of: Any, device: str = device, original: Any = entry.scheduling) -> Any:
            found = getattr(own, "classes", None) or {}
            return found.get(device, original)(of)

        common.device_codegens[device] = dataclasses.replace(entry, scheduling=choose)
    # A graph of row programs alone needs no Triton.
    _replace(scheduler, "has_triton", lambda original: lambda: (
        getattr(own, "classes", None) is not None or original()))
    _replace(ir.Reduction, "num_splits", keep_sums_whole)
    _replace(lowering, "use_two_step_variance", keep_two_steps)
    _replace(lowering, "var_mean_sum_", shift_variance)
    _replace(scheduler.Scheduler, "fuse_nodes", fuse_more_nodes)


def _leave() -> None:
    while _replaced:
        owner, name, original = _replaced.pop()
        setattr(owner, name, original)
    common.device_codegens.update(_before)
    _before.clear()
