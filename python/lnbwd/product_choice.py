# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whose product of matrices a norm with a linear layer is computed by.

There are several ways through either pass, which keep the same tensors: kernels of ours for all of
it, or PyTorch's products, which are the vendor's, with row programs of ours around them, one after
another or in two branches. Which is fastest depends on the sizes and on the device, so it is
measured when a shape is first used, and kept in memory and in the cache of kernels: once by calls,
whose time is the host's or the device's, whichever is longer, and once in CUDA graphs, where it is
the device's alone. docs/layer-norm-linear.md has what was seen.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import statistics
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

import torch

from . import compiler, kernels
from .errors import LnbwdError
from .launching import is_capturing, open_device
from .spec import MeasurementSpec, rows_hint

__all__ = ["BRANCHES", "KERNEL", "TORCH", "choose", "forced", "use_product"]

KERNEL, TORCH, BRANCHES = "kernel", "torch", "branches"
_WAYS = (KERNEL, TORCH, BRANCHES)
_VARIABLE = "LNBWD_PRODUCT"
_EXPECTED = "expected 'auto', 'kernel', 'torch' or 'branches'"
_ROUNDS, _BATCH_US, _MOST_CALLS = 7, 1000.0, 50
# Longer passes are the device's time however they are called.
_GRAPH_CALLS, _LONGEST_IN_GRAPHS_US = 8, 2000.0

Ways = Mapping[str, Callable[..., object]]


class _Choice(NamedTuple):
    """The ways to go: of a call, and of one that a CUDA graph captures."""

    called: str
    captured: str


# By program, device and range of rows.
_found: dict[tuple[str, int | None, int], _Choice] = {}
_lock = threading.RLock()


def _of_environment() -> str:
    value = os.environ.get(_VARIABLE, "") or "auto"
    if value not in ("auto", *_WAYS):
        raise LnbwdError(f"the environment variable {_VARIABLE}: {_EXPECTED}, got {value!r}")
    return value


_whose = _of_environment()


def use_product(whose: str) -> None:
    """Chooses the products of :func:`lnbwd.layer_norm_linear`, from now on.

    It holds for the whole process; at first it is what LNBWD_PRODUCT in the environment says, which
    is read at the import, or "auto".

    Args:
        whose: "kernel" for ours; "torch" for PyTorch's with row programs of ours around them, one
            after another; "branches" for these with the weight's gradient beside the rows', on two
            streams (a forward pass goes by "torch" then, and so does a simulated device); or
            "auto": what is fastest, measured when a shape is first used on a device. On a simulated
            device, where times say nothing, "auto" is "kernel".
    """
    global _whose
    if whose not in ("auto", *_WAYS):
        raise ValueError(f"whose: {_EXPECTED}, got {whose!r}")
    _whose = whose


@contextlib.contextmanager
def forced(whose: str) -> Iterator[None]:
    """:func:`use_product` until the ``with`` statement ends."""
    before = _whose
    use_product(whose)
    try:
        yield
    finally:
        use_product(before)


def _batch(call: Callable[[], object], count: int) -> tuple[torch.cuda.Event, torch.cuda.Event]:
    start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(count):
        call()
    stop.record()
    return start, stop


def _interleaved(pairs: Mapping[str, Callable[[], tuple[torch.cuda.Event, torch.cuda.Event]]],
              calls: int, device: torch.device, *, from_idle: bool) -> dict[str, float]:
    """Microseconds of a call of each, medians of batches that take turns. ``from_idle``: each batch
    finds the device idle. Behind kernels of another batch the host's time is not seen."""
    pending = []
    for _ in range(_ROUNDS):
        for way, batch in pairs.items():
            if from_idle:
                torch.cuda.synchronize(device)
            pending.append((way, batch()))
    torch.cuda.synchronize(device)
    times: dict[str, list[float]] = {way: [] for way in pairs}
    for way, (start, stop) in pending:
        times[way].append(start.elapsed_time(stop) * 1e3 / calls)
    return {way: statistics.median(values) for way, values in times.items()}


def _left_out(way: str, error: Exception) -> None:
    warnings.warn(f"a norm and a linear layer by {way!r} was not measured: {error}",
                  RuntimeWarning, stacklevel=3)


def _measure(ways: Ways, device: torch.device) -> dict[str, float]:
    """Microseconds of a call of each, interleaved; those that cannot run are left out.

    Raises:
        LnbwdError: none can.
    """
    able: dict[str, Callable[[], object]] = {}
    failure: Exception | None = None
    for way, call in ways.items():
        try:
            call()  # Compiles, and loads modules.
            able[way] = call
        except (LnbwdError, RuntimeError) as error:
            failure = error
            _left_out(way, error)
    if not able:
        raise LnbwdError(f"a norm and a linear layer: no way runs: {failure}") from failure
    with torch.cuda.device(device):
        first = {way: _batch(call, 2) for way, call in able.items()}
        torch.cuda.synchronize(device)
        longest = max(start.elapsed_time(stop) * 500 for start, stop in first.values())
        count = int(min(_MOST_CALLS, max(1, _BATCH_US // max(longest, 1.0))))
        return _interleaved({way: lambda call=call: _batch(call, count)  # type: ignore[misc]
                          for way, call in able.items()}, count, device, from_idle=True)


def _capture(call: Callable[[], object]) -> torch.cuda.CUDAGraph:
    """A graph of some calls."""
    graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        call()  # What is allocated once for a stream is no part of the graph.
        # Other threads go on as they like.
        graph.capture_begin(capture_error_mode="thread_local")
        try:
            for _ in range(_GRAPH_CALLS):
                call()
        finally:
            graph.capture_end()
    torch.cuda.current_stream().wait_stream(stream)
    return graph


def _measure_captured(ways: Ways, device: torch.device) -> dict[str, float]:
    """Microseconds of each way in CUDA graphs; those that cannot be captured are left out."""
    graphs = {}
    with torch.cuda.device(device):
        for way, call in ways.items():
            try:
                graphs[way] = _capture(call)
            except (LnbwdError, RuntimeError) as error:
                _left_out(f"{way} in a CUDA graph", error)
        return _interleaved({way: lambda graph=graph: _batch(graph.replay, 1)  # type: ignore[misc]
                          for way, graph in graphs.items()}, _GRAPH_CALLS, device,
                         from_idle=False)


def _read(data: bytes | None) -> _Choice | None:
    """The ways of a result from the cache; None if there is none that can be used."""
    if data is None:
        return None
    try:
        fields = json.loads(data)
        choice = _Choice(fields["called"], fields["captured"])
    except (ValueError, KeyError, TypeError):
        return None
    return choice if all(way in _WAYS for way in choice) else None


def _fastest(times: Mapping[str, float]) -> str:
    return min(times, key=lambda way: times[way])


def _of_graphs(ways: Iterable[str]) -> list[str]:
    """The ways that a graph may go: what branches cost beside a row of the same kernels is the
    host's time, and a pass that is measured alone does not show all that they win among others."""
    ways = list(ways)
    return [way for way in ways if way != TORCH or BRANCHES not in ways]


def choose(source: str, device: torch.device, rows: int, ways: Ways, *arguments: object) -> str:
    """The way that a pass is to go, one of ``ways``.

    Args:
        source: names the program that our kernels are compiled from: with the number of rows and
            the device it says what is measured.
        device: where the tensors are.
        rows: M of the call; a result holds for its range (``spec.rows_hint``).
        ways: of each way, a function that does what it would do. They are called where nothing is
            known yet.
        arguments: what they are called with.
    """
    if _whose != "auto":
        return _whose if _whose in ways else TORCH
    if device.type != "cuda":
        return KERNEL
    hint = rows_hint(rows)
    choice = _found.get((source, device.index, hint))
    if choice is None:
        choice = _find(source, device, hint,
                       {way: functools.partial(call, *arguments) for way, call in ways.items()})
        if choice is None:
            return BRANCHES if BRANCHES in ways else TORCH
    if choice.called == choice.captured:
        return choice.called
    return choice.captured if is_capturing(device) else choice.called


def _find(source: str, device: torch.device, hint: int, ways: Ways) -> _Choice | None:
    """The ways of a shape that this process has not had on this device: of another device like it,
    from the cache, or measured. None: a graph is being captured, and nothing is known."""
    key = (source, device.index, hint)
    with _lock:
        if key in _found:
            return _found[key]
        if is_capturing(device):
            return None
        target = open_device(device)
        spec = MeasurementSpec("choice", source, target.chip, target.info.name, hint,
                               torch.__version__)
        cache, identity = kernels.kernel_cache(), compiler.compiler_id()
        choice = _read(cache.load(spec, identity))
        if choice is None:
            times = _measure(ways, device)
            captured: Mapping[str, float] = {}
            if max(times.values()) <= _LONGEST_IN_GRAPHS_US:
                captured = _measure_captured({way: ways[way] for way in _of_graphs(times)}, device)
            of_graphs = captured or {way: times[way] for way in _of_graphs(times)}
            choice = _Choice(_fastest(times), _fastest(of_graphs))
            if identity is not None:
                cache.store(spec, identity, json.dumps({
                    **choice._asdict(), "called_us": times, "captured_us": captured}).encode())
        elif choice.captured != choice.called:
            ways[choice.captured]()  # A graph that is captured later finds its kernels loaded.
        _found[key] = choice
        return choice
