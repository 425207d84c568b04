# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs, devices, their memory, times of events in their streams, and loaded programs."""

from __future__ import annotations

import bisect
import ctypes
import os
import struct
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import ClassVar

from ..base import chip_table, operations
from .bindings import ArgumentInfo, DeviceStructure, Handle, check, make, open_runtime

_ACCESS = ("read", "write", "read_write")

KINDS = tuple(operations.KINDS)
"""Shapes of arguments, in the order of lnbwd_argument_kind."""

ELEMENTS = tuple(operations.ELEMENTS)
"""Element types, in the order of lnbwd_element."""

# The Infinity Cache of the largest card, an MI300X.
_MOST_AMD_CACHE = 256 << 20


@dataclass(frozen=True)
class Argument:
    """One argument of a program, a pointer at launch.

    Attributes:
        access: "read", "write" (every element is written) or "read_write".
        kind: the name of its dimensions in :data:`lnbwd.operations.KINDS`: "row_block" (M x
            row_length), "column" (row_length), "row_scalar" (M), "group_column" (B x row_length: a
            row for each of B groups of M / B rows), "repeated_row_block" (M / B x row_length), ...
        element: "f16", "bf16", "f32", or "i8": a byte, of a mask 0 or 1.
        alignment: what its address has to be a multiple of, in bytes.
    """

    name: str
    access: str
    kind: str
    element: str
    row_length: int
    alignment: int = 16


class Program(Handle):
    """A compiled file with its launch plan, before any device.

    Attributes:
        name, chip, format: "layer_norm_bwd", "gfx942", "hsaco".
        plan: the launch plan as JSON text (docs/runtime.md).
        arguments: in the order that a launch takes them.
    """

    _destroy = "lnbwd_program_destroy"

    def __init__(self, handle: int) -> None:
        super().__init__(handle)
        library = open_runtime()
        self.name, self.chip, self.format, self.plan = (
            str(getattr(library, f"lnbwd_program_{what}")(handle).decode())
            for what in ("name", "chip", "format", "plan"))
        arguments = []
        for index in range(library.lnbwd_program_argument_count(handle)):
            info = ArgumentInfo()
            check(library.lnbwd_program_argument(handle, index, ctypes.byref(info)))
            arguments.append(Argument(info.name.decode(), _ACCESS[info.access], KINDS[info.kind],
                                      ELEMENTS[info.element], info.row_length,
                                      info.alignment))
        self.arguments: tuple[Argument, ...] = tuple(arguments)

    @staticmethod
    def from_bytes(code: bytes) -> Program:
        """Reads a compiled kernel: an AMD code object, a cubin or PTX text. A RuntimeStatusError if
        the bytes are none, are cut off or damaged."""
        return Program(make(open_runtime().lnbwd_program_from_memory, code, len(code), None))

    @staticmethod
    def for_chip(code: bytes, chip: str) -> Program:
        """Reads a compiled kernel, or of a bundle for several chips the entry for ``chip``, the
        device's ``info.arch``. A RuntimeStatusError names the chips there are if it has none."""
        return Program(make(open_runtime().lnbwd_program_from_memory, code, len(code),
                            chip.encode()))

    @staticmethod
    def from_file(path: str | os.PathLike[str]) -> Program:
        """Reads a file that holds a compiled kernel."""
        return Program(make(open_runtime().lnbwd_program_from_file, os.fsencode(path)))

    @property
    def has_groups(self) -> bool:
        """Whether the rows are groups, so that sizes and launches depend on their number, too."""
        return any(operations.KINDS[argument.kind].tells_groups for argument in self.arguments)

    def argument_size(self, index: int, rows: int, groups: int | None = None) -> int:
        """The size in bytes of argument ``index`` for M = ``rows`` in B = ``groups``."""
        size = ctypes.c_size_t()
        check(open_runtime().lnbwd_program_argument_size(
            self._handle, index, rows, groups or 0, ctypes.byref(size)))
        return size.value


@dataclass(frozen=True)
class DeviceInfo:
    """Constant properties of a device.

    Attributes:
        arch: "gfx942:sramecc+:xnack-" or "sm_90", as the driver says it.
        compute_units: compute units or streaming multiprocessors; on RDNA twice what HIP and
            torch call the multiprocessor count, which is that of workgroup processors there.
        l2_bytes: the last-level cache; 0 if the driver does not say.
        is_simulated: whether times mean nothing.
    """

    name: str
    arch: str
    driver: str
    compute_units: int
    wave_size: int
    memory_bytes: int
    l2_bytes: int
    is_simulated: bool


@dataclass(frozen=True)
class SimulatorCounters:
    """Counts of executed instructions since the counters were reset (SimulatorAPI.h)."""

    wave_instructions: int
    scalar_instructions: int
    vector_lane_instructions: int
    memory_lane_instructions: int
    lds_lane_instructions: int
    barriers: int
    global_bytes_read: int
    global_bytes_written: int
    lds_bytes: int
    workgroups: int
    waves: int


class Device(Handle):
    """A GPU, or the simulator of one.

    Attributes:
        spec: what it was opened by, "cuda:0".
        chip: the architecture without its feature suffixes, "gfx942" or "sm_90".
    """

    _destroy = "lnbwd_device_close"
    _opened: ClassVar[dict[tuple[str, str], Device]] = {}
    _lock = threading.Lock()

    def __init__(self, handle: int, spec: str) -> None:
        super().__init__(handle)
        info = DeviceStructure()
        check(open_runtime().lnbwd_device_get_info(handle, ctypes.byref(info)))
        self.spec = spec
        self.info = DeviceInfo(info.name.decode(), info.arch.decode(), info.driver.decode(),
                               info.compute_units, info.wave_size, info.memory_bytes,
                               info.l2_bytes, bool(info.is_simulated))
        self.chip = self.info.arch.partition(":")[0]

    @classmethod
    def open(cls, spec: str, chip: str = "") -> Device:
        """Opens a device, or gives the one that is open already.

        Args:
            spec: "sim:gfx942", "sim" (the simulated device of ``chip``), "hip", "hip:I", "cuda"
                or "cuda:I".
            chip: the program's chip; used by "sim" alone.

        Raises:
            RuntimeStatusError: there is no driver or no such device.
        """
        key = (spec, chip)
        with cls._lock:
            device = cls._opened.get(key)
            if device is None or device._handle is None:
                device = cls._opened[key] = cls(
                    make(open_runtime().lnbwd_device_open, spec.encode(), chip.encode()), spec)
            return device

    @property
    def is_stand_in(self) -> bool:
        """Whether the simulator answers, as "sim" or by LNBWD_HIP_LIBRARY: times mean nothing."""
        return self.info.is_simulated or self.symbol("lnbwdSimGetCounters") is not None

    @property
    def cache_bytes(self) -> int:
        """Bytes that data must exceed to miss every cache: the last-level cache, as far as the
        driver reports it. HIP does not report caches behind an AMD GPU's L2, of up to 256 MiB."""
        return max(self.info.l2_bytes, 0 if chip_table.is_nvidia(self.chip) else _MOST_AMD_CACHE)

    def memory(self) -> tuple[int, int]:
        """Free and total bytes of the device's memory, now."""
        free, total = ctypes.c_uint64(), ctypes.c_uint64()
        check(open_runtime().lnbwd_device_memory(self._handle, ctypes.byref(free),
                                                 ctypes.byref(total)))
        return free.value, total.value

    def make_current(self) -> None:
        """Makes it the thread's current device, for the driver's own functions."""
        check(open_runtime().lnbwd_device_make_current(self._handle))

    def symbol(self, name: str) -> int | None:
        """The address of a function of the driver library by its name, or None."""
        address = open_runtime().lnbwd_device_symbol(self._handle, name.encode())
        return None if address is None else int(address)

    def allocate(self, size: int) -> Buffer:
        """Device memory of ``size`` bytes, aligned to 256 bytes."""
        return Buffer(self, size)

    def synchronize(self, stream: int = 0) -> None:
        """Waits for a stream (0: the default one); raises errors of the device."""
        check(open_runtime().lnbwd_synchronize(self._handle, stream or None))

    def create_event(self) -> Event:
        """An event that notes the device's time when it is reached in a stream."""
        return Event(make(open_runtime().lnbwd_event_create, self._handle))

    def reset_counters(self) -> None:
        """Sets the simulator's counters to zero. On a real device: does nothing."""
        self.make_current()
        address = self.symbol("lnbwdSimResetCounters")
        if address:
            ctypes.CFUNCTYPE(None)(address)()

    def counters(self) -> SimulatorCounters | None:
        """Counts since :meth:`reset_counters`; None on a real device."""
        self.make_current()
        address = self.symbol("lnbwdSimGetCounters")
        if not address:
            return None
        counters = (ctypes.c_uint64 * len(fields(SimulatorCounters)))()
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address)(counters)
        return SimulatorCounters(*counters)


class Event(Handle):
    """A point of a stream whose time the device notes."""

    _destroy = "lnbwd_event_destroy"

    def record(self, stream: int = 0) -> None:
        """Puts the event into a stream (0: the default one)."""
        check(open_runtime(True).lnbwd_event_record(self._handle, stream or None))

    def elapsed_ms(self, stop: Event) -> float:
        """Waits for ``stop`` and gives the time from this event to it, in milliseconds."""
        milliseconds = ctypes.c_double()
        check(open_runtime().lnbwd_event_elapsed(self._handle, stop._handle,
                                                 ctypes.byref(milliseconds)))
        return milliseconds.value


class Buffer(Handle):
    """Device memory of ``size`` bytes; its device address, ``pointer``, is 0 if that is 0."""

    def __init__(self, device: Device, size: int) -> None:
        super().__init__(None)
        self._handle = make(open_runtime().lnbwd_malloc, device._handle, size)
        self.device = device
        self.size = size
        self.pointer: int = self._handle or 0

    def close(self) -> None:
        """Frees the memory. Calling it twice is allowed."""
        handle, self._handle = getattr(self, "_handle", None), None
        if handle and self.device._handle:
            open_runtime().lnbwd_free(self.device._handle, handle)

    def _at(self, size: int, offset: int) -> int:
        if size + offset > self.size:
            raise ValueError(f"size: expected at most {self.size - offset} bytes, got {size}")
        return self.pointer + offset

    def upload_from(self, address: int, size: int, offset: int = 0) -> None:
        """Copies ``size`` bytes of host memory at ``address`` into the memory."""
        check(open_runtime().lnbwd_copy_to_device(self.device._handle, self._at(size, offset),
                                                  address, size))

    def download_to(self, address: int, size: int, offset: int = 0) -> None:
        """Copies ``size`` bytes of the memory to host memory at ``address``."""
        check(open_runtime().lnbwd_copy_to_host(self.device._handle, address,
                                                self._at(size, offset), size))

    def fill(self, value: int, stream: int = 0) -> None:
        """Enqueues setting each byte to ``value`` (0 to 255)."""
        check(open_runtime(True).lnbwd_memset(self.device._handle, self._handle, value,
                                              self.size, stream or None))


class Kernel(Handle):
    """A program on a device. With ``keeps_lock`` a launch keeps the interpreter's lock. A
    RuntimeStatusError if it is not for this device's chip, or the driver refuses it."""

    _destroy = "lnbwd_kernel_destroy"

    def __init__(self, device: Device, program: Program, keeps_lock: bool = False) -> None:
        super().__init__(None)
        self._handle = make(open_runtime().lnbwd_kernel_load, device._handle, program._handle)
        self.device = device
        self.program = program
        self._count = len(program.arguments)
        self._pack = struct.Struct(f"{self._count}P").pack  # A C array; faster than ctypes'.
        self._launch = open_runtime(keeps_lock).lnbwd_kernel_launch
        self.microseconds: float | None = None
        """The time of a launch as a search for its schedule measured it (:mod:`.tuning`)."""

    def workspace_size(self, rows: int, groups: int | None = None) -> int:
        """The bytes of workspace of a launch with M = ``rows`` in B = ``groups``; may be 0."""
        size = ctypes.c_size_t()
        check(open_runtime().lnbwd_kernel_workspace_size(
            self._handle, rows, groups or 0, ctypes.byref(size)))
        return size.value

    def launch(self, arguments: Sequence[int], rows: int, workspace: int = 0,
               workspace_bytes: int = 0, stream: int = 0, groups: int | None = None) -> None:
        """Enqueues all kernels of the plan on one stream and returns; allocates nothing.

        Args:
            arguments: device addresses in the order of ``program.arguments``, each a multiple
                of its ``alignment``; 0 only where the buffer is empty (M = 0).
            rows: M, 0 or more.
            workspace: the address of ``workspace_bytes`` bytes aligned to 256, of any content.
                Launches that may run at the same time need one each.
            workspace_bytes: at least ``workspace_size(rows)``.
            stream: a hipStream_t or CUstream as a number; 0 is the default stream.
            groups: B, of a program with groups of rows (``program.has_groups``); it divides M.

        Raises:
            RuntimeStatusError: an argument is wrong, or the driver refuses the launch.
        """
        if len(arguments) != self._count:
            raise ValueError(f"arguments: expected {self._count} addresses ("
                             + ", ".join(a.name for a in self.program.arguments)
                             + f"), got {len(arguments)}")
        status = self._launch(self._handle, self._pack(*arguments), self._count, rows,
                              groups or 0, workspace, workspace_bytes, stream)
        if status:
            check(status)


_LEAST_ALIGNMENT = 16


def launch_on_host_memory(kernel: Kernel, rows: int, addresses: Sequence[int],
                          groups: int | None = None) -> None:
    """As :meth:`Kernel.launch`, on copies of arguments in the host's memory; waits for it."""
    device, program = kernel.device, kernel.program
    arguments = [(address, program.argument_size(index, rows, groups))
                 for index, address in enumerate(addresses)]
    # Arguments that overlap do so on the device too: an input that is changed in place, outputs
    # in each other's gaps.
    ranges: list[tuple[int, int]] = []
    for address, size in sorted(arguments):
        end = address + size
        if ranges and address < ranges[-1][1]:
            address, before = ranges.pop()
            end = max(end, before)
        ranges.append((address, end))
    offsets = [first % _LEAST_ALIGNMENT for first, _ in ranges]
    buffers = [device.allocate(offset + end - first if end > first else 0)
               for (first, end), offset in zip(ranges, offsets, strict=True)]
    for (first, end), offset, buffer in zip(ranges, offsets, buffers, strict=True):
        if end > first:
            buffer.upload_from(first, end - first, offset)
    places = []
    for address, _ in arguments:
        number = bisect.bisect(ranges, (address, sys.maxsize)) - 1
        places.append((buffers[number], address - ranges[number][0] + offsets[number]))
    size = kernel.workspace_size(rows, groups)
    workspace = device.allocate(size)
    kernel.launch([buffer.pointer + offset if buffer.pointer else 0 for buffer, offset in places],
                  rows, workspace.pointer, size, groups=groups)
    device.synchronize()
    for argument, (address, size), (buffer, offset) in zip(
            program.arguments, arguments, places, strict=True):
        if argument.access != "read" and size:
            buffer.download_to(address, size, offset)
