# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs compiled kernels on arrays, through the runtime's C interface.

Each launch sets the traps of lnbwd-run: guard bands around every buffer, outputs
that start as NaN, a second run whose bits must be the same, and a look at the
inputs afterwards. The second run is without the simulator's checks: they had the
same instructions in the same order before them. Needs the runtime's library (and
the simulator's) and numpy, no compiler.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import pathlib

import numpy as np

import reference  # noqa: F401 (with which the package is found)
from lnbwd import operations

GUARD_BYTES = 4096
GUARD = 0x5A
ELEMENT_BYTES = {name: element.bytes for name, element in operations.ELEMENTS.items()}
KINDS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
# The smallest subnormal of each type: results below are rounded by that much, however small.
SMALLEST = {"f16": 2.0 ** -24, "bf16": 2.0 ** -133, "f32": 2.0 ** -149}


class LaunchError(Exception):
    """What the runtime said, or which trap a kernel stepped into."""


def encode(values: np.ndarray, element: str) -> np.ndarray:
    """float64 values rounded to the element type, as an array of its bits."""
    with np.errstate(over="ignore", invalid="ignore"):
        if element == "f16":
            return np.ascontiguousarray(values).astype(np.float16).view(np.uint16)
        single = np.ascontiguousarray(values, dtype=np.float32)
    bits = single.view(np.uint32)
    if element == "f32":
        return bits
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
    return np.where(np.isnan(single), np.uint32(0x7FC0), rounded).astype(np.uint16)


def decode(bits: np.ndarray, element: str) -> np.ndarray:
    """The values of an array of bits, in float64."""
    if element == "f16":
        return bits.view(np.float16).astype(np.float64)
    if element == "bf16":
        return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32).astype(np.float64)
    return bits.view(np.float32).astype(np.float64)


class Runtime:
    """The runtime library of a build folder."""

    def __init__(self, build: pathlib.Path):
        self.library = ctypes.CDLL(str(build / "lib" / "liblnbwd-runtime.so"))
        for name in ("lnbwd_last_error", "lnbwd_program_plan"):
            getattr(self.library, name).restype = ctypes.c_char_p
        self.library.lnbwd_device_symbol.restype = ctypes.c_void_p

    def call(self, name: str, *arguments):
        if getattr(self.library, name)(*arguments) != 0:
            raise LaunchError(f"{name}: {self.library.lnbwd_last_error().decode()}")

    def open(self, spec: str, chip: str) -> Device:
        return Device(self, spec, chip)


class Counters(ctypes.Structure):
    """lnbwd_sim_counters of simulator/include/lnbwd/Simulator/SimulatorAPI.h."""

    _fields_ = [(name, ctypes.c_uint64) for name in (
        "wave_instructions", "scalar_instructions", "vector_lane_instructions",
        "memory_lane_instructions", "lds_lane_instructions", "barriers", "global_bytes_read",
        "global_bytes_written", "lds_bytes", "workgroups", "waves")]


class Device:
    """An open device ("sim", "cuda", ...)."""

    def __init__(self, runtime: Runtime, spec: str, chip: str):
        self.runtime, self.is_simulated = runtime, spec == "sim"
        self.handle = ctypes.c_void_p()
        runtime.call("lnbwd_device_open", spec.encode(), chip.encode(), ctypes.byref(self.handle))

    @contextlib.contextmanager
    def without_checks(self):
        """Launches inside are not checked, where a simulator could."""
        if not self.is_simulated:
            yield
            return
        checks = self._simulator("lnbwdSimGetChecks", ctypes.c_uint)()
        choose = self._simulator("lnbwdSimSetChecks", None, ctypes.c_uint)
        choose(0)
        try:
            yield
        finally:
            choose(checks)

    @contextlib.contextmanager
    def counted(self):
        """What the simulator counts inside; filled in at the end."""
        counters = Counters()
        self.runtime.call("lnbwd_device_make_current", self.handle)
        self._simulator("lnbwdSimResetCounters", None)()
        yield counters
        self.runtime.call("lnbwd_device_make_current", self.handle)
        self._simulator("lnbwdSimGetCounters", None, ctypes.POINTER(Counters))(counters)

    def _simulator(self, name: str, result, *arguments):
        address = self.runtime.library.lnbwd_device_symbol(self.handle, name.encode())
        return ctypes.CFUNCTYPE(result, *arguments)(address)

    def allocate(self, size: int) -> ctypes.c_void_p:
        pointer = ctypes.c_void_p()
        self.runtime.call("lnbwd_malloc", self.handle, ctypes.c_size_t(size),
                          ctypes.byref(pointer))
        return pointer

    def write(self, pointer: int, data: np.ndarray):
        data = np.ascontiguousarray(data)
        self.runtime.call("lnbwd_copy_to_device", self.handle, ctypes.c_void_p(pointer),
                          data.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(data.nbytes))

    def read(self, pointer: int, size: int) -> np.ndarray:
        data = np.empty(size, np.uint8)
        self.runtime.call("lnbwd_copy_to_host", self.handle,
                          data.ctypes.data_as(ctypes.c_void_p), ctypes.c_void_p(pointer),
                          ctypes.c_size_t(size))
        return data


class Kernel:
    """A compiled file, loaded on a device."""

    def __init__(self, device: Device, file: pathlib.Path):
        self.device, self.runtime = device, device.runtime
        self.program, self.handle = ctypes.c_void_p(), ctypes.c_void_p()
        self.runtime.call("lnbwd_program_from_file", str(file).encode(),
                          ctypes.byref(self.program))
        plan = self.runtime.library.lnbwd_program_plan(self.program)
        self.plan = json.loads(plan)
        self.runtime.call("lnbwd_kernel_load", device.handle, self.program,
                          ctypes.byref(self.handle))

    def launch(self, rows: int, inputs: dict[str, np.ndarray],
               same_buffer: dict[str, str] | None = None,
               groups: int = 1) -> dict[str, np.ndarray]:
        """One launch with M = rows, in B = groups. `inputs` has the bits of every argument that
        is read, flat; `same_buffer` says which output lies over which input. Returns
        the bits of all that is written, flat."""
        same_buffer = same_buffer or {}
        first = self._launch_once(rows, groups, inputs, same_buffer, 0xFFC1)
        with self.device.without_checks():
            second = self._launch_once(rows, groups, inputs, same_buffer, 0xFFC3)
        for name, bits in first.items():
            if not np.array_equal(bits, second[name]):
                raise LaunchError(f"two runs differ in {name}, or it was not written whole")
        return first

    def count(self, rows: int) -> dict[str, int]:
        """What lnbwd-run --time counts on the simulator, for zeros, since no value changes a count;
        without checks, which change none either, and without a predicted time."""
        sizes = {argument["name"]: (operations.KINDS[argument["kind"]].count_rows(rows)
                                    * argument["row_length"])
                 for argument in self.plan["arguments"]}
        elements = {argument["name"]: ELEMENT_BYTES[argument["element"]]
                    for argument in self.plan["arguments"]}
        inputs = {name: np.zeros(size, KINDS[elements[name]]) for name, size in sizes.items()}
        with self.device.without_checks(), self.device.counted() as counters:
            self._launch_once(rows, 1, inputs, {}, 0xFFC1)
        return {"minimal_bytes": sum(size * elements[name] for name, size in sizes.items()),
                **{name: getattr(counters, name) for name, _ in Counters._fields_}}

    def _launch_once(self, rows, groups, inputs, same_buffer, poison):
        device, plan = self.device, self.plan["arguments"]
        pointers, sizes, before = {}, {}, {}
        allocations = []
        try:
            for argument in plan:
                name = argument["name"]
                if name in same_buffer:
                    continue
                length, element = argument["row_length"], argument["element"]
                stride = argument.get("row_stride", length)
                elements = operations.KINDS[argument["kind"]].count_rows(rows, groups) * stride
                size = elements * ELEMENT_BYTES[element]
                kind = KINDS[ELEMENT_BYTES[element]]
                if argument["access"] == "write":
                    pattern = {np.uint8: poison & 0xFF, np.uint16: poison,
                               np.uint32: poison * 0x10001,
                               np.uint64: poison * 0x1000100010001}[kind]
                    contents = np.full(elements, pattern, kind)
                else:
                    contents = inputs[name]
                    assert contents.size == elements, (name, contents.size, elements)
                base = device.allocate(size + 2 * GUARD_BYTES)
                allocations.append(base)
                guard = np.full(GUARD_BYTES, GUARD, np.uint8)
                device.write(base.value, guard)
                device.write(base.value + GUARD_BYTES + size, guard)
                pointers[name] = base.value + GUARD_BYTES
                if size:
                    device.write(pointers[name], contents)
                sizes[name], before[name] = size, contents
            for output, source in same_buffer.items():
                pointers[output] = pointers[source]
            size = ctypes.c_size_t()
            self.runtime.call("lnbwd_kernel_workspace_size", self.handle,
                              ctypes.c_int64(rows), ctypes.c_int64(groups), ctypes.byref(size))
            workspace = device.allocate(size.value)
            allocations.append(workspace)
            if size.value:
                device.write(workspace.value, np.full(size.value // 2, poison, np.uint16))
            arguments = (ctypes.c_void_p * len(plan))(*(pointers[a["name"]] for a in plan))
            self.runtime.call("lnbwd_kernel_launch", self.handle, arguments,
                              ctypes.c_size_t(len(plan)), ctypes.c_int64(rows),
                              ctypes.c_int64(groups), workspace, size, None)
            self.runtime.call("lnbwd_synchronize", device.handle, None)
            return self._collect(plan, pointers, sizes, before, same_buffer)
        finally:
            for base in allocations:
                self.runtime.library.lnbwd_free(device.handle, base)

    def _collect(self, plan, pointers, sizes, before, same_buffer):
        outputs = {}
        overwritten = set(same_buffer.values())
        for argument in plan:
            name = argument["name"]
            source = same_buffer.get(name, name)
            data = self.device.read(pointers[source] - GUARD_BYTES,
                                    sizes[source] + 2 * GUARD_BYTES)
            end = GUARD_BYTES + sizes[source]
            if np.any(data[:GUARD_BYTES] != GUARD) or np.any(data[end:] != GUARD):
                raise LaunchError(f"guard bands of {name} were overwritten")
            bits = data[GUARD_BYTES:end].view(before[source].dtype)
            length, stride = argument["row_length"], argument.get("row_stride", 0)
            if stride and argument["access"] == "write":
                # What lies between the rows is nobody's to write.
                gaps = bits.reshape(-1, stride)[:, length:]
                if not np.array_equal(gaps, before[source].reshape(-1, stride)[:, length:]):
                    raise LaunchError(f"something was written between the rows of {name}")
                gaps[:] = 0
            if argument["access"] != "read":
                outputs[name] = bits
            elif name not in overwritten and not np.array_equal(bits, before[name]):
                raise LaunchError(f"the input {name} was changed")
        return outputs
