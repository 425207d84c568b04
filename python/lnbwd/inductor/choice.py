# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The choice between row programs and Inductor's own kernels for a fused node, by their times.

Row programs that use most of the memory's bandwidth are taken at once: no kernel is much faster.
For other nodes Inductor's kernel is compiled and timed too. The kernel cache keeps both times.

Inductor by itself would have lowered or fused some nodes otherwise. It does so with the part of the
graph that such a node computes, and the times of the kernels that it has for that are added up.
"""

from __future__ import annotations

import json
import logging
import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from ..core import runtime
from ..core.base.errors import LnbwdError
from ..core.compile import compiler, tuning
from ..core.compile.spec import MeasurementSpec
from ..core.compile.store import kernel_cache
from ..ops import launching
from ..program.torch_internals import fusion
from ..program.torch_internals import graph as internals
from .calls import Argument, Call

log = logging.getLogger("lnbwd.regions")

_SHARE_OF_PEAK, _SHARE_IF_CHANGED = 0.87, 0.8
"""Row programs that use this share of the memory's bandwidth are not compared. The second is of
nodes for which Inductor by itself has two or more kernels, by lowering the graph again."""

_LEAST_US = 1.0
"""The time of any kernel besides that of its memory traffic."""

_MOST, _MOST_IF_CHANGED = 0.98, 0.95
"""Row programs are taken if they need at most this part of the time of Inductor's kernel; less may
be noise. Of two kernels that are timed separately, one may still find data in a cache."""

_GAP_US = 1.0
"""The time between two launches, which a search for a schedule counts too."""

_MOST_OF_MEMORY, _ALIGNMENT = 0.25, 16
# More than the caches of a GPU have.
_ROTATED_BYTES, _MOST_SETS = 150_000_000, 16
_SECONDS, _ROUNDS = 2e-3, 5


@dataclass(eq=False)
class Choice:
    """A node whose row programs are compiled, with the times that are known.

    Attributes:
        node: the node of Inductor's scheduler.
        calls: the row programs and their arguments.
        functions: the function of each call, as generated code has it.
        kernels: the loaded kernel of each call.
        device: where they run.
        is_changed: whether Inductor by itself would have lowered or fused the node otherwise.
        microseconds: the times, as :class:`.Decision` has them.
    """

    node: Any
    calls: Sequence[Call]
    functions: Sequence[Callable[..., object]]
    kernels: Sequence[runtime.Kernel]
    device: torch.device
    is_changed: bool = False
    microseconds: dict[str, float] = field(default_factory=dict)
    _is_joined: bool = False
    _compiled: Sequence[Callable[[], fusion.CompiledKernel]] = ()

    @property
    def reason(self) -> str:
        """Why the node is left to Inductor; empty: row programs compute it."""
        if self._is_joined:
            return "Inductor's kernel for it also adds to places of a tensor"
        most = _MOST_IF_CHANGED if self.is_changed else _MOST
        times = self.microseconds
        return ("Inductor's kernel is faster"
                if "torch" in times and times["rows"] > times["torch"] * most else "")

    def copy(self, other: Choice) -> None:
        """Takes over the times of an equal node."""
        self.microseconds, self._is_joined = dict(other.microseconds), other._is_joined

    def start(self) -> None:
        """Looks the times up, or starts to compile Inductor's kernel if it has to be timed."""
        times = [kernel.microseconds for kernel in self.kernels]
        if set(times) == {None}:  # There was no search: the model alone decides.
            return
        ours = self.microseconds["rows"] = sum(
            _LEAST_US + _GAP_US if time is None else time for time in times)
        share, least = ((_SHARE_IF_CHANGED, 2 * _LEAST_US) if self.is_changed
                        else (_SHARE_OF_PEAK, _LEAST_US))
        # (A search reads the same elements of a table again and again.)
        is_fast = ours - _GAP_US * len(times) <= least + self._bytes() / (
            share * _peak(self.device)) and not self._indices() and all(
                call.program.inputs for call in self.calls) and not self._has_copies()
        nodes = internals.scheduled(self.node)
        if (is_fast and not internals.is_apart(nodes)) or not internals.has_triton() or (
                self._look_up()):
            return
        try:
            if self.is_changed:
                compiled = fusion.own_kernels(nodes)
                self._is_joined = compiled is None
                self._compiled = compiled or ()
            else:
                self._compiled = fusion.compiled_kernels(self.node)
        except Exception as error:
            log.info("Inductor's kernel is not timed: %s: %s", type(error).__name__, error)

    def _look_up(self) -> bool:
        """Whether the times are known."""
        known = kernel_cache().load(self.spec(), compiler.compiler_id())
        if known is not None:
            self.microseconds = json.loads(known)
        return known is not None

    def finish(self) -> None:
        """Times the candidates of :meth:`start`, and keeps the times in the kernel cache."""
        if not self._compiled:
            return
        try:
            kernels = [compiled() for compiled in self._compiled]
            with (internals.unset_fake_temporarily(), torch.no_grad(),
                  torch.cuda.device(self.device)):
                self.microseconds = self._measured(kernels)
        except Exception as error:
            log.info("a node is not timed: %s: %s", type(error).__name__, error)
            return
        identity = compiler.compiler_id()
        if identity is not None:
            kernel_cache().store(self.spec(), identity, json.dumps(self.microseconds).encode())

    def spec(self) -> MeasurementSpec:
        """The times' name in the kernel cache."""
        target = launching.open_device(self.device)
        places = {name: place for place, name in enumerate(dict.fromkeys(
            one.buffer for call in self.calls for one in call.arguments))}
        source = "\n".join(f"{call.program.text()} " + str(
            [(places[one.buffer], one.offset, one.count) for one in call.arguments])
            for call in self.calls)
        return MeasurementSpec("times", f"{self.is_changed} {source}", target.chip,
                               target.info.name, self.calls[0].program.rows or 0,
                               torch.__version__)

    def _arguments(self) -> list[Argument]:
        return [*dict.fromkeys(one for call in self.calls for one in call.arguments)]

    def _bytes(self) -> int:
        """Bytes to read and write; parts of a buffer count at most the buffer."""
        counts, ends = dict[str, int](), dict[str, int]()
        for call in self.calls:
            for one, count in call.elements().items():
                counts[one.buffer] = counts.get(one.buffer, 0) + count
                ends[one.buffer] = max(ends.get(one.buffer, 0), one.offset + one.count)
        return sum(min(count, ends[name]) * internals.dtype_of(name).itemsize
                   for name, count in counts.items())

    def _has_copies(self) -> bool:
        """Whether calls copy operands, which begin where the kernels do not take them."""
        return any(one.offset * internals.dtype_of(one.buffer).itemsize % argument.alignment
                   for call, kernel in zip(self.calls, self.kernels, strict=True)
                   for one, argument in zip(call.arguments, kernel.program.arguments, strict=True))

    def _indices(self) -> dict[str, int]:
        """As :class:`Call` has them."""
        found = dict[str, int]()
        for buffer, count in (one for call in self.calls for one in call.indices):
            found[buffer] = min(count, found.get(buffer, count))
        return found

    def _measured(self, kernels: Sequence[fusion.CompiledKernel]) -> dict[str, float]:
        size = sum(one.count * internals.dtype_of(one.buffer).itemsize for one in self._arguments())
        count = int(min(_MOST_SETS, _ROTATED_BYTES // size + 1))
        free, _ = torch.cuda.mem_get_info(self.device)
        if size * count > _MOST_OF_MEMORY * free:
            raise LnbwdError("its operands take too much of the device's memory")

        def run(tensors: dict[Argument, Tensor]) -> None:
            for function, call in zip(self.functions, self.calls, strict=True):
                function(*call.numbers, *(tensors[one] for one in call.arguments))

        # One after the other: sets of both at once take twice the memory.
        times = {"rows": time_calls(run, [self._tensors() for _ in range(count)]), "torch": 0.0}
        for kernel in kernels:
            sets = [kernel.arguments() for _ in range(count)]
            for arguments in sets:
                for buffer, argument in zip(kernel.buffers, arguments, strict=False):
                    self._set_indices(buffer, argument)
            times["torch"] += time_calls(kernel.call, sets)
        return times

    def _set_indices(self, buffer: str, argument: object) -> None:
        """Makes integers random indices, if they are some."""
        count = self._indices().get(buffer)
        if count is not None and isinstance(argument, Tensor):
            argument.random_(count)

    def _tensors(self) -> dict[Argument, Tensor]:
        """Memory for the arguments, aligned as theirs: numbers near 1; zeros, or random indices."""
        def made(one: Argument) -> Tensor:
            dtype = internals.dtype_of(one.buffer)
            first = one.offset % (_ALIGNMENT // dtype.itemsize)
            if dtype.is_floating_point and dtype.itemsize > 1:
                tensor = torch.rand(first + one.count, dtype=dtype, device=self.device) + 0.5
            else:
                tensor = torch.zeros(first + one.count, dtype=dtype, device=self.device)
                self._set_indices(one.buffer, tensor)
            return tensor[first:]

        return {one: made(one) for one in self._arguments()}


def is_timed(device: torch.device) -> bool:
    """Whether kernels on a device have times."""
    return device.type == "cuda"


def _peak(device: torch.device) -> float:
    """Bytes that a GPU's memory moves in a microsecond at best; infinite if nobody knows."""
    properties: Any = torch.cuda.get_device_properties(device)
    clock, width = (getattr(properties, name, math.inf)
                    for name in ("memory_clock_rate", "memory_bus_width"))
    return float(2e3 * clock * width / 8e6)  # Both edges of a clock in kHz; bits.


def time_calls(call: Callable[[Any], object], sets: Sequence[Any]) -> float:
    """The median microseconds that a call adds on the device, on sets of arguments in turn, without
    the host's time. Another kernel runs before each: ours would start while one of ours ends."""
    first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    other = torch.zeros(1, device=torch.cuda.current_device())

    def captured(call: Callable[[Any], object]) -> torch.cuda.CUDAGraph:
        graph = torch.cuda.CUDAGraph()
        # Other threads load kernels meanwhile.
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):
            for arguments in sets:
                other.zero_()
                call(arguments)
        return graph

    def run(graph: torch.cuda.CUDAGraph, repetitions: int) -> float:
        first.record()
        for _ in range(repetitions):
            graph.replay()
        last.record()
        last.synchronize()
        return float(1e3 * first.elapsed_time(last) / repetitions)

    with tuning.measuring:
        call(sets[0])  # Triton tries its configurations.
        torch.cuda.synchronize()
        graph, empty = captured(call), captured(lambda _: None)
        repetitions = max(1, int(_SECONDS * 1e6 / run(graph, 1)))
        whole, others = (statistics.median(run(one, repetitions) for _ in range(_ROUNDS))
                         for one in (graph, empty))
        return max(whole - others, 0) / len(sets)
