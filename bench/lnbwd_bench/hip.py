# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""HIP's own streams, events and graphs, for a machine whose PyTorch knows no GPU.

The functions are those of the library that the runtime has opened: libamdhip64, or the simulator in
its place (LNBWD_HIP_LIBRARY).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from lnbwd import runtime

_NOT_READY = 600  # hipErrorNotReady
_RELAXED = 2  # hipStreamCaptureModeRelaxed


class HipError(RuntimeError):
    """A function of HIP failed; the message names it and what it said."""


class Hip:
    """The functions of a device's HIP library."""

    def __init__(self, device: runtime.Device) -> None:
        self._device = device
        self._functions: dict[str, Any] = {}

    def code(self, name: str, *arguments: Any) -> int:
        """Calls a function with ctypes' values; the hipError_t that it gives."""
        function = self._functions.get(name)
        if function is None:
            address = self._device.symbol(name)
            if not address:
                raise HipError(f"{self._device.info.driver} has no function {name}")
            function = ctypes.CFUNCTYPE(ctypes.c_int, *(type(a) for a in arguments))(address)
            self._functions[name] = function
        self._device.make_current()
        return int(function(*arguments))

    def call(self, name: str, *arguments: Any) -> None:
        """Calls a function of the driver that has to succeed.

        Raises:
            HipError: it does not.
        """
        code = self.code(name, *arguments)
        if code:
            said = ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_int)(
                self._device.symbol("hipGetErrorName") or 0)(code)
            raise HipError(f"{name} failed: {said.decode()}")

    def create(self, name: str, *arguments: Any) -> int:
        """Calls a function whose first argument is where a handle goes."""
        handle = ctypes.c_void_p()
        self.call(name, ctypes.c_void_p(ctypes.addressof(handle)), *arguments)
        return handle.value or 0

    def end_capture(self, stream: ctypes.c_void_p) -> int:
        """The graph of what a stream was given since hipStreamBeginCapture."""
        graph = ctypes.c_void_p()
        self.call("hipStreamEndCapture", stream, ctypes.c_void_p(ctypes.addressof(graph)))
        return graph.value or 0


class Event:
    """A point of a stream whose time the device notes."""

    def __init__(self, hip: Hip, stream: int) -> None:
        self._hip, self._stream = hip, stream
        self._handle = ctypes.c_void_p(hip.create("hipEventCreate"))

    def __del__(self) -> None:
        self._hip.code("hipEventDestroy", self._handle)

    def record(self) -> None:
        """Puts it into the stream."""
        self._hip.call("hipEventRecord", self._handle, ctypes.c_void_p(self._stream))

    def query(self) -> bool:
        """Whether the device has reached it."""
        code = self._hip.code("hipEventQuery", self._handle)
        if code not in (0, _NOT_READY):
            raise HipError(f"hipEventQuery failed: {code}")
        return code == 0

    def elapsed_time(self, stop: Event) -> float:
        """Milliseconds from this event to ``stop``, which is waited for."""
        self._hip.call("hipEventSynchronize", stop._handle)
        milliseconds = ctypes.c_float()
        self._hip.call("hipEventElapsedTime",
                       ctypes.c_void_p(ctypes.addressof(milliseconds)), self._handle, stop._handle)
        return milliseconds.value


class Graph:
    """Calls that were captured on a stream."""

    def __init__(self, hip: Hip, stream: int, enqueue: Callable[[int], Any], calls: int) -> None:
        self._hip, self._stream = hip, ctypes.c_void_p(stream)
        self._exec = ctypes.c_void_p()
        hip.call("hipStreamBeginCapture", self._stream, ctypes.c_int(_RELAXED))
        try:
            for call in range(calls):
                enqueue(call)
        finally:  # Whatever happened: the stream is to be of use again.
            graph = ctypes.c_void_p(hip.end_capture(self._stream))
        try:
            self._exec = ctypes.c_void_p(hip.create(
                "hipGraphInstantiate", graph, ctypes.c_void_p(), ctypes.c_void_p(),
                ctypes.c_size_t(0)))
        finally:
            hip.call("hipGraphDestroy", graph)

    def __del__(self) -> None:
        if self._exec:
            self._hip.code("hipGraphExecDestroy", self._exec)

    def replay(self) -> None:
        """Makes the calls."""
        self._hip.call("hipGraphLaunch", self._exec, self._stream)
