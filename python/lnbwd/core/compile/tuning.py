# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A search for the fastest schedule on the user's own device, when a kernel is first used.

For regions of torch.compile a short one is made unless it is switched off, as Inductor times the
configurations of its kernels; for norms a longer one if it is asked for (:func:`autotune`,
LNBWD_AUTOTUNE). The store keeps results in the cache of kernels, where the next process finds them;
docs/python.md says what it costs.
"""

from __future__ import annotations

import concurrent.futures
import dataclasses
import itertools
import os
import pathlib
import re
import statistics
import tempfile
import threading
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..base import schedule, settings
from ..base.errors import CompileError
from ..runtime.objects import Buffer, Device, Event, Kernel, Program
from . import compiler
from .spec import ProgramSpec

CANDIDATES = 12
"""More schedules to try than the compiler's own choice."""

REGION_CANDIDATES = 2
"""The same for a region of torch.compile by default. Of 204 programs on H100s and an H200 the best
of three took 1.01 times as long as the best of six or seven, the first one 1.03."""

_LEAST_GAIN = 1.02
_MOST_SETS, _BATCH_US = 16, 150.0
# The host makes so many launches while the device fills memory once.
_LAUNCHES_AHEAD = 12
_ALIGNMENT, _WORKSPACE = 256, ""
# Bytes of small numbers, neither zero nor subnormal, in each element type.
_PATTERN = 0x3C

_compiling = threading.BoundedSemaphore(len(os.sched_getaffinity(0)))
"""Whoever compiles has one of these."""
measuring = threading.Lock()
"""Whoever times something on a device has it."""


def autotune(enabled: bool | None = True) -> None:
    """Whether the first use of a kernel searches for its fastest schedule, from now on.

    It holds for the whole process; at first it is what LNBWD_AUTOTUNE in the environment says,
    "1" or "0". If that says nothing, regions of torch.compile alone have a search, a shorter one.
    With a search, row programs are compared with torch.compile's kernels (:mod:`lnbwd.inductor`).
    Kernels that are loaded already stay as they are. The model's best :data:`CANDIDATES` schedules
    are compiled and timed on the device, on memory of their own, which takes a second or two a
    kernel; the result is kept in the cache on disk. The capture of a CUDA graph has no search.

    Args:
        enabled: whether; None: as LNBWD_AUTOTUNE says.

    Example:
        >>> lnbwd.autotune()
        >>> lnbwd.layer_norm(x, (4096,), weight, bias).sum().backward()
    """
    if not isinstance(enabled, bool | None):
        raise TypeError(f"enabled: expected True, False or None, got {enabled!r}")
    settings.AUTOTUNE.choose(enabled)


def is_on(is_region: bool = False) -> bool:
    """Whether schedules are searched for: of all kernels, or of regions of torch.compile."""
    found = settings.AUTOTUNE.is_on
    return is_region if found is None else found


class _Candidate(NamedTuple):
    """A schedule as ``schedule=`` takes it ("": the compiler's choice), and its code."""

    text: str
    code: bytes


def _compile(spec: ProgramSpec, options: str = "", save_temps: str = "") -> compiler.Compiled:
    with _compiling:
        return compiler.compile_mlir(
            spec.source, spec.chip, pipeline_options=f"{spec.pipeline_options()} {options}".strip(),
            format=spec.format, source_name=spec.source_name, save_temps=save_temps)


def _candidates(spec: ProgramSpec, count: int) -> list[_Candidate]:
    """The compiler's own choice and its ``count`` best others, of other code, without spills."""
    with tempfile.TemporaryDirectory(prefix="lnbwd-autotune-") as folder:
        own = _compile(spec, f"candidates={count + 1}", folder)
        chosen, ranked = schedule.choices(pathlib.Path(folder), own.diagnostics)
    found = [_Candidate("", own.code)]
    if len(chosen) != 1:  # In two passes: one schedule does not fit both.
        return found

    def attempt(text: str) -> _Candidate | None:
        try:
            compiled = _compile(dataclasses.replace(spec, schedule=text))
        except CompileError:
            return None
        if re.search(r"kernel @\S+ spills", compiled.diagnostics):
            return None
        return _Candidate(text, compiled.code)

    with concurrent.futures.ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
        for candidate in pool.map(attempt, [one for one in ranked if one not in chosen][:count]):
            if candidate and all(candidate.code != known.code for known in found):
                found.append(candidate)
    return found


class _Rotation:
    """Memory for the arguments and workspaces of kernels, in sets that launches of M ``rows`` in B
    ``groups`` rotate among: addresses by the names of the arguments. It is freed with this."""

    def __init__(self, kernels: Sequence[Kernel], rows: int, sizes: Mapping[str, int],
                 count: int, groups: int | None = None) -> None:
        device, self.rows, self.groups, self._next = kernels[0].device, rows, groups, 0
        most = max(kernel.workspace_size(rows, groups) for kernel in kernels)
        # (One allocation: each takes longer than a launch.)
        places = list(itertools.accumulate(
            (-(-size // _ALIGNMENT) * _ALIGNMENT for size in (*sizes.values(), most)), initial=0))
        self._memory = device.allocate(max(count * places[-1], _ALIGNMENT))
        self._memory.fill(_PATTERN)
        self.sets = [dict(zip((*sizes, _WORKSPACE), (
            self._memory.pointer + number * places[-1] + place for place in places), strict=False))
            for number in range(count)]

    def launch_next(self, kernel: Kernel) -> None:
        """Enqueues a kernel on the set that was not used for longest."""
        self._next = (self._next + 1) % len(self.sets)
        pointers = self.sets[self._next]
        kernel.launch([pointers[argument.name] for argument in kernel.program.arguments],
                      self.rows, pointers[_WORKSPACE],
                      kernel.workspace_size(self.rows, self.groups), groups=self.groups)


class Effort(NamedTuple):
    """Bytes that launches rotate through and that fill a device's time; the most launches of a
    batch; the fewest rounds of batches, and the most."""

    rotated_bytes: int = 400_000_000
    filler_bytes: int = 1 << 28
    launches: int = 24
    rounds: tuple[int, int] = (5, 24)


def _time_launches(kernels: Sequence[Kernel], rotation: _Rotation, filler: Buffer,
                   effort: Effort) -> list[float]:
    """The median microseconds of a launch of each kernel: of batches between two events, on buffers
    that rotate so that none finds its inputs in a cache. Before each batch the device fills memory,
    ``filler``, so that the host is ahead of it. All kernels take turns."""
    device = kernels[0].device

    def fill(launches: int) -> None:
        for _ in range(1 + launches // _LAUNCHES_AHEAD):
            filler.fill(0)

    def batch(kernel: Kernel, launches: int) -> tuple[Event, Event]:
        start, stop = device.create_event(), device.create_event()
        fill(launches)
        start.record()
        for _ in range(launches):
            rotation.launch_next(kernel)
        stop.record()
        return start, stop

    def medians(kernels: Sequence[Kernel], launches: int, rounds: int) -> list[float]:
        times: list[list[float]] = [[] for _ in kernels]
        for _ in range(rounds):
            # The device has caught up with the host, which the first kernel alone would wait for.
            fill(4 * launches)
            for of_kernel, (start, stop) in zip(
                    times, [batch(kernel, launches) for kernel in kernels], strict=True):
                of_kernel.append(start.elapsed_ms(stop) * 1e3 / launches)
        return list(map(statistics.median, times))

    for kernel in kernels:  # Warm up: modules are loaded at the first launch.
        rotation.launch_next(kernel)
    device.synchronize()
    [estimate] = medians(kernels[:1], 3, 3)
    launches = int(min(effort.launches, max(1, -(-_BATCH_US // max(estimate, 1.0)))))
    # Kernels that take longer than a batch should are measured less often.
    least, most = effort.rounds
    rounds = int(most * min(1.0, _BATCH_US / max(launches * estimate, 1.0)))
    return medians(kernels, launches, max(least, rounds))


def _count(device: Device, loaded: list[Kernel], rotation: _Rotation) -> list[float]:
    """Counts instructions of all waves, the simulator's substitute for times."""
    counts = []
    for kernel in loaded:
        device.reset_counters()
        rotation.launch_next(kernel)
        device.synchronize()
        counters = device.counters()
        assert counters is not None
        counts.append(float(counters.wave_instructions))
    return counts


def measure(device: Device, codes: list[bytes], rows: int, groups: int | None = None,
            effort: Effort = Effort()) -> list[float]:  # noqa: B008
    """Microseconds of a launch of each; on the simulator, counts. An LnbwdError without room."""
    programs = [Program.for_chip(code, device.info.arch) for code in codes]
    sizes = {argument.name: programs[0].argument_size(index, rows, groups)
             for index, argument in enumerate(programs[0].arguments)}
    size = sum(sizes.values())
    simulated = device.is_stand_in
    count = 1 if simulated else min(_MOST_SETS, effort.rotated_bytes // max(size, 1) + 1)
    # A driver that compiles PTX takes longer than what is measured.
    loaded = [Kernel(device, program, not simulated) for program in programs]
    with measuring:
        rotation = _Rotation(loaded, rows, sizes, count, groups)
        if simulated:
            return _count(device, loaded, rotation)
        return _time_launches(loaded, rotation, device.allocate(effort.filler_bytes), effort)


def search(spec: ProgramSpec, device: Device, rows: int, groups: int | None,
           count: int) -> tuple[_Candidate, dict[str, Any]]:
    """The best of the compiler's own schedule, "", and ``count`` others; and the measurements."""
    found = _candidates(spec, count)
    times = measure(device, [candidate.code for candidate in found], rows, groups)
    # Of those that are as fast the first, and the compiler's own unless another is faster by more
    # than measuring is unsure of.
    best = min(range(len(found)), key=lambda index: (times[index], index))
    if times[best] * _LEAST_GAIN > times[0]:
        best = 0
    return found[best], {
        "schedule": found[best].text,
        "measured": [{"schedule": candidate.text, "us": time}
                     for candidate, time in zip(found, times, strict=True)]}
