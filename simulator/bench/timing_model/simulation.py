# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs launches on the simulator: in full, under its checks, or to predict how long they take.

Buffers of the same name are the same buffer in all launches of a run, so that a kernel takes what
the one before it has made.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import pathlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from timing_model.launches import CHIP, Buffer, Launch, Number, Run

TYPES = {"i8": np.uint8, "i16": np.uint16, "i32": np.uint32, "i64": np.uint64,
         "f16": np.float16, "f32": np.float32, "f64": np.float64}


class SimulationError(Exception):
    """What the simulator found in a launch."""


class Simulator:
    """The simulator's shared library, and one of its devices."""

    def __init__(self, library: pathlib.Path, objects: Mapping[str, pathlib.Path],
                 chip: str = CHIP):
        # Memory that no workgroup touches costs the host nothing; predictions need much of it.
        os.environ.setdefault("LNBWD_SIM_MEMORY_MB", "1000000")
        self._library = ctypes.CDLL(str(library))
        self._library.lnbwdSimLastErrorMessage.restype = ctypes.c_char_p
        self._library.hipGetErrorName.restype = ctypes.c_char_p
        self._library.lnbwdSimCountUnwritten.restype = ctypes.c_int64
        if hasattr(self._library, "lnbwdSimGetTimingJson"):
            self._library.lnbwdSimGetTimingJson.restype = ctypes.c_char_p
        self._library.lnbwdSimConstant.restype = ctypes.c_int64
        self._library.lnbwdSimSetChecks(ctypes.c_uint(self._constant("CHECK_ALL")))
        self._objects = dict(objects)
        self._modules: dict[str, ctypes.c_void_p] = {}
        self._select(chip)

    def _call(self, name: str, *arguments: Any) -> None:
        code = getattr(self._library, name)(*arguments)
        if code != 0:
            raise SimulationError(f"{self._library.hipGetErrorName(code).decode()}: "
                                  f"{self._library.lnbwdSimLastErrorMessage().decode()}")

    def _constant(self, name: str) -> int:
        """An enumerator of SimulatorAPI.h."""
        return self._library.lnbwdSimConstant(f"LNBWD_SIM_{name}".encode())

    def _select(self, chip: str) -> None:
        """Makes the first device the current one that takes a code object of the chip."""
        count = ctypes.c_int()
        self._call("hipGetDeviceCount", ctypes.byref(count))
        source = next(iter(self._objects))
        for device in range(count.value):
            self._call("hipSetDevice", device)
            try:
                self._module(source)
                return
            except SimulationError:
                continue
        raise SimulationError(f"the simulator has no {chip}")

    def _module(self, source: str) -> ctypes.c_void_p:
        if source not in self._modules:
            module = ctypes.c_void_p()
            self._call("hipModuleLoad", ctypes.byref(module),
                       str(self._objects[source]).encode())
            self._modules[source] = module
        return self._modules[source]

    def execute(self, run: Run, contents: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Executes all launches of the run once, or ``repeat`` times, in order.

        ``contents`` has what buffers hold before, by name; the others hold what their
        ``contents`` makes, or zeros. Returns what all buffers hold afterwards, as arrays.

        Raises:
            SimulationError: a check found something, or an output was not written whole.
        """
        given = contents or {}
        buffers = run.buffers()
        with self._allocated(buffers) as pointers:
            for name, buffer in buffers.items():
                self._fill(buffer, pointers[name], given.get(name))
            for launch in run.launches():
                for _ in range(launch.repeat):
                    self._launch(launch, pointers)
            return {name: self._result(buffer, pointers[name])
                    for name, buffer in buffers.items()}

    def time(self, launch: Launch, options: str) -> float:
        """The predicted duration of a launch in microseconds, without events or launch costs.

        ``options`` are those of lnbwdSimSetTiming: a product, caches, parameters of the model.
        Buffers without ``contents`` are left as they are.

        Raises:
            SimulationError: the launch failed, or the options are wrong.
        """
        buffers = Run(((launch,),)).buffers()
        with self._allocated(buffers) as pointers:
            for name, buffer in buffers.items():
                if buffer.contents is not None:
                    self._fill(buffer, pointers[name], None)
            if self._library.lnbwdSimSetTiming(options.encode()) != 0:
                raise SimulationError(self._library.lnbwdSimLastErrorMessage().decode())
            try:
                self._launch(launch, pointers)
                found = json.loads(self._library.lnbwdSimGetTimingJson())
            finally:
                self._library.lnbwdSimSetTiming(None)
        return float(found["launches"][0]["predicted_us"])

    @contextlib.contextmanager
    def _allocated(self, buffers: Mapping[str, Buffer]) -> Iterator[dict[str, ctypes.c_void_p]]:
        pointers: dict[str, ctypes.c_void_p] = {}
        try:
            for name, buffer in buffers.items():
                pointer = ctypes.c_void_p()
                self._call("hipMalloc", ctypes.byref(pointer), ctypes.c_size_t(buffer.bytes))
                pointers[name] = pointer
            yield pointers
        finally:
            for pointer in pointers.values():
                self._call("hipFree", pointer)

    def _fill(self, buffer: Buffer, pointer: ctypes.c_void_p, contents: Any) -> None:
        kind = np.dtype(TYPES[buffer.type])
        if contents is None:
            contents = buffer.contents() if buffer.contents else np.zeros(buffer.count, kind)
        if isinstance(contents, tuple):
            for index, value in zip(contents[0], contents[1].astype(kind), strict=True):
                data: Any = np.array([value])
                self._call("hipMemcpy", ctypes.c_void_p((pointer.value or 0)
                                                        + int(index) * kind.itemsize),
                           data.ctypes.data_as(ctypes.c_void_p),
                           ctypes.c_size_t(kind.itemsize), 1)
            return
        data = np.ascontiguousarray(contents).view(kind)
        if data.size != buffer.count:
            raise ValueError(f"expected {buffer.count} elements of {buffer.name}, got {data.size}")
        self._call("hipMemcpy", pointer, data.ctypes.data_as(ctypes.c_void_p),
                   ctypes.c_size_t(data.nbytes), 1)
        if buffer.access == "out":
            self._describe(buffer, pointer, self._constant("BUFFER_UNWRITTEN"))

    def _describe(self, buffer: Buffer, pointer: ctypes.c_void_p, flags: int) -> None:
        size = ctypes.c_uint64(buffer.bytes)
        if self._library.lnbwdSimDescribeBuffer(pointer, size, buffer.name.encode(), flags) != 0:
            raise SimulationError(f"{buffer.name} is not a buffer")

    def _launch(self, launch: Launch, pointers: Mapping[str, ctypes.c_void_p]) -> None:
        function = ctypes.c_void_p()
        self._call("hipModuleGetFunction", ctypes.byref(function), self._module(launch.source),
                   launch.kernel.encode())
        values: list[Any] = []
        for argument in launch.arguments:
            if isinstance(argument, Number):
                kind = np.dtype(TYPES[argument.type])
                value = argument.value if kind.kind == "f" else int(argument.value)
                values.append(np.array([value]).astype(kind).ctypes.data_as(ctypes.c_void_p))
            else:
                self._describe(argument, pointers[argument.name],
                               self._constant("BUFFER_READ_ONLY") if argument.access == "in"
                               else 0)
                values.append(ctypes.cast(ctypes.byref(pointers[argument.name]),
                                          ctypes.c_void_p))
        parameters = (ctypes.c_void_p * (len(values) + 1))(*values, None)
        grid, block = ((*sizes, 1, 1)[:3] for sizes in (launch.grid, launch.block))
        self._call("hipModuleLaunchKernel", function, *grid, *block, 0, None, parameters, None)

    def _result(self, buffer: Buffer, pointer: ctypes.c_void_p) -> Any:
        kind = np.dtype(TYPES[buffer.type])
        data: Any = np.empty(buffer.count, kind)
        if buffer.access == "out":
            missing = self._library.lnbwdSimCountUnwritten(
                pointer, ctypes.c_uint64(data.nbytes), ctypes.c_uint64(kind.itemsize), None)
            if missing != 0:
                raise SimulationError(f"{missing} of {buffer.count} elements of {buffer.name} "
                                      "were never written")
        self._call("hipMemcpy", data.ctypes.data_as(ctypes.c_void_p), pointer,
                   ctypes.c_size_t(data.nbytes), 2)
        return data
