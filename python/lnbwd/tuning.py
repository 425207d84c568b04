# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A search for the fastest schedule on the user's own device, when a kernel is first used.

Off unless it is asked for (:func:`autotune`, LNBWD_AUTOTUNE=1). What was found is kept in the
cache of kernels, where the next process finds it; docs/python.md says what it costs.
"""

from __future__ import annotations

import concurrent.futures
import dataclasses
import json
import os
import pathlib
import re
import tempfile
import warnings
from typing import NamedTuple

from . import compiler, kernels, runtime, schedule
from ._contest import Rotation, time_launches
from .errors import CompileError, LnbwdError, environment
from .spec import KernelSpec, MeasurementSpec, rows_hint

CANDIDATES = 12
"""Schedules that are tried beside the compiler's own choice."""

_LEAST_GAIN = 1.01
_ROTATED_BYTES, _FILLER_BYTES, _MOST_SETS = 400_000_000, 1 << 28, 16
# Bytes of small numbers, neither zero nor subnormal, in each element type.
_PATTERN = 0x3C

_enabled: bool | None = None


def autotune(enabled: bool = True) -> None:
    """Whether the first use of a kernel searches for its fastest schedule, from now on.

    It holds for the whole process; at first it is what LNBWD_AUTOTUNE in the environment says,
    "1" or "0", or off. Kernels that are loaded already stay as they are. The model's best
    :data:`CANDIDATES` schedules are compiled and timed on the device, on memory of their own,
    which takes a second or two a kernel; the result is kept in the cache on disk. Nothing is
    searched for while a CUDA graph is captured.

    Args:
        enabled: whether.

    Example:
        >>> lnbwd.autotune()
        >>> lnbwd.layer_norm(x, (4096,), weight, bias).sum().backward()
    """
    global _enabled
    if not isinstance(enabled, bool):
        raise ValueError(f"enabled: expected True or False, got {enabled!r}")
    _enabled = enabled


def is_on() -> bool:
    """Whether schedules are searched for."""
    global _enabled
    if _enabled is None:
        _enabled = environment("LNBWD_AUTOTUNE", ("0", "1"), "'0' or '1'") == "1"
    return _enabled


class _Candidate(NamedTuple):
    """A schedule as ``schedule=`` takes it ("": the compiler's choice), and its code."""

    text: str
    code: bytes


def _compile(spec: KernelSpec, format: str = "", options: str = "",
             save_temps: str = "") -> compiler.Compiled:
    return compiler.compile_mlir(
        spec.mlir(), spec.chip, pipeline_options=f"{spec.pipeline_options()} {options}".strip(),
        format=format or spec.format, source_name=spec.source_name, save_temps=save_temps)


def _ranked(spec: KernelSpec, chosen: str) -> list[dict[str, int]]:
    """The fields of the schedules to try, those that the compiler finds best."""
    named = _compile(spec, "mlir", f"candidates={CANDIDATES + 1}")
    center = schedule.whole(schedule.parse_printed(chosen))
    best = [schedule.whole(schedule.parse_printed(text))
            for text in schedule.ranked(named.diagnostics)]
    return [fields for fields in best if fields != center][:CANDIDATES]


def _candidates(spec: KernelSpec) -> list[_Candidate]:
    """The compiler's own choice, and others that are not the same code and do not spill."""
    with tempfile.TemporaryDirectory(prefix="lnbwd-autotune-") as folder:
        own = _compile(spec, save_temps=folder)
        chosen = schedule.of_programs(schedule.last_stage(pathlib.Path(folder)))
    found = [_Candidate("", own.code)]
    if len(chosen) != 1:  # In two passes: one schedule does not fit both.
        return found

    def attempt(fields: dict[str, int]) -> _Candidate | None:
        text = schedule.overrides(fields)
        try:
            compiled = _compile(dataclasses.replace(spec, schedule=text))
        except CompileError:
            return None
        if re.search(r"kernel @\S+ spills", compiled.diagnostics):
            return None
        return _Candidate(text, compiled.code)

    with concurrent.futures.ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
        for candidate in pool.map(attempt, _ranked(spec, chosen[0])):
            if candidate and all(candidate.code != known.code for known in found):
                found.append(candidate)
    return found


def _count(device: runtime.Device, loaded: list[runtime.Kernel], rotation: Rotation
           ) -> list[float]:
    """What the simulator has instead of times: instructions of all waves."""
    counts = []
    for kernel in loaded:
        device.reset_counters()
        rotation.launch_next(kernel)
        device.synchronize()
        counters = device.counters()
        assert counters is not None
        counts.append(float(counters.wave_instructions))
    return counts


def _measure(device: runtime.Device, codes: list[bytes], rows: int) -> list[float]:
    """Microseconds of a launch of each; on the simulator, counts.

    Raises:
        LnbwdError: the device has no room, or refuses a kernel.
    """
    programs = [runtime.Program.for_chip(code, device.info.arch) for code in codes]
    sizes = {argument.name: programs[0].argument_size(index, rows)
             for index, argument in enumerate(programs[0].arguments)}
    size = sum(sizes.values())
    simulated = device.is_stand_in
    count = 1 if simulated else min(_MOST_SETS, max(2, _ROTATED_BYTES // max(size, 1) + 1))
    loaded = [runtime.Kernel(device, program) for program in programs]
    rotation = Rotation(loaded, rows, sizes, count)
    for buffers in rotation.sets:
        for buffer in buffers.values():
            buffer.fill(_PATTERN)
    if simulated:
        return _count(device, loaded, rotation)
    return time_launches(loaded, rotation, device.allocate(_FILLER_BYTES))


def _search(spec: KernelSpec, device: runtime.Device, rows: int) -> dict[str, object]:
    """What is kept of a search: the schedule ("": the compiler's own), and what was measured."""
    found = _candidates(spec)
    times = _measure(device, [candidate.code for candidate in found], rows) if len(found) > 1 \
        else [0.0]
    # Of those that are as fast the first, and the compiler's own unless another is faster by more
    # than measuring is unsure of.
    best = min(range(len(found)), key=lambda index: (times[index], index))
    if times[best] * _LEAST_GAIN > times[0]:
        best = 0
    return {"schedule": found[best].text,
            "measured": [{"schedule": candidate.text, "us": time}
                         for candidate, time in zip(found, times, strict=True)]}


def _read(data: bytes | None) -> str | None:
    """The schedule of a result from the cache; None if there is none that can be used."""
    if data is None:
        return None
    try:
        text = json.loads(data)["schedule"]
        schedule.parse(text)
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return str(text)


def tuned(spec: KernelSpec, device: runtime.Device, rows: int) -> str:
    """The fastest schedule for a kernel on a device, from the cache or searched for now.

    Args:
        spec: the kernel. One with a schedule of its own keeps it.
        device: where it is to run.
        rows: M of the call; the search takes the number of its range (``spec.rows_hint``).

    Returns:
        the schedule as ``schedule=`` takes it; "" for the compiler's own choice: it is the
        fastest, or no search was possible, of which a warning says why.
    """
    if spec.schedule:
        return spec.schedule
    search = MeasurementSpec("tuning", spec.digest(), spec.chip, device.info.name, rows_hint(rows))
    cache = kernels.kernel_cache()
    identity = compiler.compiler_id()
    known = _read(cache.load(search, identity))
    if known is not None:
        return known
    if identity is None or spec.chip not in compiler.chips():
        return ""
    try:
        result = _search(spec, device, search.rows)
    except LnbwdError as error:
        warnings.warn(f"no schedule was searched for, and the compiler's own is used: {spec}: "
                      f"{error}", RuntimeWarning, stacklevel=2)
        return ""
    cache.store(search, identity, json.dumps(result).encode())
    return str(result["schedule"])
