# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The store of kernels: the one place where a kernel comes from, whoever asks for it.

A kernel is looked up in memory, then in the cache on disk, and is compiled last.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import shutil
import threading
import warnings
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ..base import chip_table, schedule
from ..base.errors import LnbwdError
from ..base.settings import order
from ..runtime.objects import Device, Kernel, Program
from . import compiler, tuning
from .cache import KernelCache, default_folder
from .spec import ROWS_HINTS, GradientSpec, MeasurementSpec, ProgramSpec, Source


@functools.lru_cache(maxsize=1)
def has_ptxas() -> bool:
    """Whether the compiler finds NVIDIA's assembler."""
    home = os.environ.get("CUDA_HOME")
    return bool(shutil.which("ptxas") or (home and shutil.which("ptxas", path=f"{home}/bin")))


def code_format(chip: str) -> str:
    """The format that code for a chip is kept in: "hsaco"; for NVIDIA "cubin" where there is a
    ptxas, so that the driver has nothing left to compile, and else "ptx"."""
    return "cubin" if chip_table.is_nvidia(chip) and has_ptxas() else chip_table.code_format(chip)


def _capability(chip: str) -> int:
    """The number of "sm_90"; 0 for a chip that is not NVIDIA's."""
    digits = chip.removeprefix("sm_")
    return int(digits) if chip_table.is_nvidia(chip) and digits.isdigit() else 0


class Tuned(NamedTuple):
    """The result of a search: the schedule in the form of ``schedule=``, "" for the compiler's own
    choice, and the microseconds of a launch, or None if nothing was measured."""

    schedule: str
    microseconds: float | None = None


def _tuned(result: Mapping[str, Any], device: Device) -> Tuned:
    times = {one["schedule"]: one["us"] for one in result["measured"]}
    return Tuned(str(result["schedule"]),
                 None if device.is_stand_in else float(times[result["schedule"]]))


def _read(data: bytes | None, device: Device) -> Tuned | None:
    """A result from the cache; None if there is none that can be used."""
    if data is None:
        return None
    try:
        found = _tuned(json.loads(data), device)
        schedule.parse_printed(found.schedule)
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return found


class KernelStore:
    """Kernels by their specs; ``cache`` has those on disk."""

    def __init__(self, cache: KernelCache) -> None:
        self.cache = cache
        self._codes: dict[str, bytes] = {}
        self._kernels: dict[tuple[str, Device], Kernel] = {}
        self._lock = threading.Lock()

    def find(self, spec: ProgramSpec | GradientSpec) -> bytes | None:
        """The code of a spec from memory or from disk."""
        code = self._codes.get(spec.digest())
        if code is None:
            code = self.cache.load(spec, compiler.compiler_id())
            if code is not None:
                self._codes[spec.digest()] = code
        return code

    def compile(self, spec: ProgramSpec | GradientSpec) -> compiler.Compiled:
        """Compiles a kernel, or derives a gradient, whatever the caches have, and keeps it. An
        LnbwdError without a compiler; a CompileError if it refuses."""
        identity = compiler.compiler_id()
        if identity is None:
            what, remedy = (
                (str(spec).replace("the", "no", 1), "run what needs it elsewhere")
                if isinstance(spec, GradientSpec) else
                (f"no kernel for {spec}", "compile it elsewhere with lnbwd.precompile"))
            raise LnbwdError(
                f"there is {what}: this installation has no compiler, and the kernel cache "
                f"({self.cache.folder or 'switched off'}) does not have it; {remedy}, and copy the "
                "cache's folder here (LNBWD_CACHE_DIR names it)")
        result = compile_spec(spec)
        self.cache.store(spec, identity, result.code)
        self._codes[spec.digest()] = result.code
        return result

    def code(self, spec: ProgramSpec | GradientSpec) -> bytes:
        """The machine code of a spec, or the MLIR of a gradient: found, or by :meth:`compile`."""
        code = self.find(spec)
        return self.compile(spec).code if code is None else code

    def code_for(self, make: Callable[[str, str], ProgramSpec], chip: str) -> bytes:
        """The code to run on a device whose chip is ``chip``: for the chip itself, from a cache
        before the compiler; for an NVIDIA chip that the compiler does not know, PTX for the latest
        chip before it. ``make`` gives the spec for a chip and a format."""
        formats = ("cubin", "ptx") if chip_table.is_nvidia(chip) else ("hsaco",)
        for format in formats:
            code = self.find(make(chip, format))
            if code is not None:
                return code
        if compiler.compiler_id() is None:
            # What was chosen for another number of rows, or for a usual one, is right for any.
            for rows in (0, *ROWS_HINTS):
                for format in formats:
                    code = self.find(dataclasses.replace(make(chip, format), rows=rows))
                    if code is not None:
                        return code
        known = list(compiler.chips()) if compiler.available() else self.cache.chips()
        if chip not in known and chip_table.is_nvidia(chip):
            earlier = [c for c in known if 0 < _capability(c) <= _capability(chip)]
            if earlier:
                return self.code(make(max(earlier, key=_capability), "ptx"))
        if chip not in known and compiler.available():
            raise LnbwdError(f"the device's chip {chip} is not one that the compiler knows: "
                             + ", ".join(known))
        return self.code(make(chip, code_format(chip)))

    def get(self, source: Source, device: Device, rows: int = 0) -> Kernel:
        """The kernel of a program on a device, loaded, with the fastest schedule if one is searched
        for, in the present order of additions. ``rows``: M of the call that asks, or 0."""
        found = Tuned("") if source.tuned_for is None else self.tuned(
            source.spec(device.chip, code_format(device.chip), rows), device, *source.tuned_for,
            source.is_region)

        def make(chip: str, format: str) -> ProgramSpec:
            return dataclasses.replace(source.spec(chip, format, rows), schedule=found.schedule,
                                       order=order())

        key = (make(device.chip, "").digest(), device)
        kernel = self._kernels.get(key)
        if kernel is None:
            code = self.code_for(make, device.chip)
            with self._lock:
                kernel = self._kernels.setdefault(
                    key, Kernel(device, Program.for_chip(code, device.info.arch)))
            kernel.microseconds = found.microseconds
        return kernel

    def tuned(self, spec: ProgramSpec, device: Device, rows: int, groups: int | None = None,
              is_region: bool = False) -> Tuned:
        """The fastest schedule for a kernel on a device, from the cache or searched for now. It is
        the compiler's own choice if that is the fastest, or if no search was possible, of which a
        warning says why if one was asked for.

        Args:
            spec: the kernel. One with a schedule of its own keeps it.
            device: where it is to run.
            rows, groups: M and B of the launches that are timed.
            is_region: whether it is one of torch.compile's, which have a search by default.
        """
        is_asked_for = tuning.is_on()
        count = tuning.CANDIDATES if is_asked_for else (
            0 if device.is_stand_in or not tuning.is_on(is_region) else tuning.REGION_CANDIDATES)
        # It times schedules of the default order.
        if spec.schedule or not count or order():
            return Tuned(spec.schedule)
        search = MeasurementSpec("tuning", spec.digest(), spec.chip, device.info.name, rows)
        identity = compiler.compiler_id()
        known = _read(self.cache.load(search, identity), device)
        if known is not None:
            return known
        if identity is None or spec.chip not in compiler.chips():
            return Tuned("")
        try:
            best, result = tuning.search(spec, device, rows, groups, count)
        except LnbwdError as error:
            if is_asked_for:
                warnings.warn("no schedule was searched for, and the compiler's own is used: "
                              f"{spec}: {error}", RuntimeWarning, stacklevel=2)
            return Tuned("")
        self.cache.store(search, identity, json.dumps(result).encode())
        self.cache.store(dataclasses.replace(spec, schedule=best.text), identity, best.code)
        return _tuned(result, device)


def compile_spec(spec: ProgramSpec | GradientSpec) -> compiler.Compiled:
    """A kernel by the compiler, or the MLIR of a gradient; nothing is kept."""
    if isinstance(spec, GradientSpec):
        text = compiler.differentiate(spec.source, wrt=spec.wrt, of=spec.of, saved=spec.saved).mlir
        return compiler.Compiled(text.encode(), "", "", "")
    return compiler.compile_mlir(
        spec.source, spec.chip, pipeline_options=spec.pipeline_options(), format=spec.format,
        source_name=spec.source_name)


def derive_gradient(spec: GradientSpec) -> compiler.Gradient:
    """A derived gradient, with :meth:`KernelStore.compile`'s errors."""
    return compiler.Gradient.from_mlir(kernel_store().code(spec).decode())


_store: KernelStore | None = None
_lock = threading.Lock()


def kernel_store() -> KernelStore:
    """The process's store."""
    global _store
    with _lock:
        _store = _store or KernelStore(KernelCache(default_folder()))
    return _store


def kernel_cache() -> KernelCache:
    """The process's cache on disk."""
    return kernel_store().cache


def set_cache_folder(folder: str | os.PathLike[str] | None) -> None:
    """Uses another folder for the cache on disk from now on; None: none. Loaded kernels stay."""
    kernel_store().cache = KernelCache(folder)
