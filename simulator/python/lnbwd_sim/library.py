# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The simulator's library, as far as tests in Python need it."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import pathlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from . import LIBRARY

_MOST_ERRORS = 20
SEVERAL = (1 << 32) - 1
"""In place of a workgroup's number."""


class SimulatorError(RuntimeError):
    """A function of HIP failed."""


@dataclass(frozen=True)
class Properties:
    """What a program asks of a device; the names are those of ``torch.cuda``."""

    name: str
    major: int
    minor: int
    total_memory: int
    multi_processor_count: int
    shared_memory_per_block: int
    warp_size: int
    gcnArchName: str


def library_path() -> pathlib.Path:
    """The library: LNBWD_SIM_LIBRARY, or the one in the package."""
    return pathlib.Path(os.environ.get("LNBWD_SIM_LIBRARY") or LIBRARY)


@contextlib.contextmanager
def environment(name: str, value: str) -> Iterator[None]:
    """Sets a variable that the library reads at each launch."""
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        os.environ.pop(name)
        if before is not None:
            os.environ[name] = before


class Library:
    """The library with one device of a chip."""

    def __init__(self, chip: str) -> None:
        path = library_path()
        if not path.exists():
            raise SimulatorError(f"expected the simulator's library at {path}; "
                                 "install lnbwd-sim, or set LNBWD_SIM_LIBRARY")
        # Read when the library is loaded: the program sees this device alone.
        os.environ["LNBWD_SIM_CHIP"] = chip
        self.chip = chip
        self._library = ctypes.CDLL(str(path))
        for name in ("lnbwdSimLastErrorMessage", "lnbwdSimGetErrorsJson",
                     "lnbwdSimGetCheckSummary", "lnbwdSimGetAccessJson",
                     "lnbwdSimGetPropertiesJson"):
            getattr(self._library, name).restype = ctypes.c_char_p
        self._library.lnbwdSimCountUnwritten.restype = ctypes.c_int64
        self._library.lnbwdSimConstant.restype = ctypes.c_int64
        self._unwritten = self._constant("BUFFER_UNWRITTEN")
        count = ctypes.c_int()
        self._call("hipGetDeviceCount", ctypes.byref(count))
        self._library.lnbwdSimSetChecks(ctypes.c_uint(
            self._constant("CHECK_ALL") & ~self._constant("CHECK_COUNTS")))
        self._library.lnbwdSimSetMaxErrors(ctypes.c_uint(_MOST_ERRORS))

    def _call(self, name: str, *arguments: Any) -> None:
        if getattr(self._library, name)(*arguments):
            raise SimulatorError(self.message())

    def _constant(self, name: str) -> int:
        """An enumerator of SimulatorAPI.h."""
        value: int = self._library.lnbwdSimConstant(f"LNBWD_SIM_{name}".encode())
        if value < 0:
            raise SimulatorError(f"expected LNBWD_SIM_{name} in the simulator's library at "
                                 f"{library_path()}, got one of another version")
        return value

    def message(self) -> str:
        """The text behind the last error."""
        return bytes(self._library.lnbwdSimLastErrorMessage()).decode()

    def errors(self) -> list[dict[str, Any]]:
        """What the last launch reported (lnbwdSimGetErrorsJson)."""
        found: list[dict[str, Any]] = json.loads(self._library.lnbwdSimGetErrorsJson())
        return found

    def summary(self) -> str:
        """What the last launch was checked for, and what was left out."""
        return bytes(self._library.lnbwdSimGetCheckSummary()).decode()

    def accesses(self, pointer: int, size: int) -> bytearray | None:
        """What the last launch has done to each byte: 1 read, 2 written (lnbwdSimGetAccesses)."""
        ways = bytearray(size)
        failed = self._library.lnbwdSimGetAccesses(
            ctypes.c_void_p(pointer), ctypes.c_uint64(size),
            (ctypes.c_char * size).from_buffer(ways))
        return None if failed else ways

    def accessors(self, pointer: int, count: int, element: int, writes: bool, one: int = 0
                  ) -> bytearray | None:
        """The workgroup that has read, or written, each element, as 32 bits: its number plus 1, 0
        for none, and ``SEVERAL``, or ``one`` if it is among them (lnbwdSimGetAccessors)."""
        groups = bytearray(4 * count)
        failed = self._library.lnbwdSimGetAccessors(
            ctypes.c_void_p(pointer), ctypes.c_uint64(count), ctypes.c_uint64(element),
            ctypes.c_int(writes), ctypes.c_uint32(one),
            (ctypes.c_char * len(groups)).from_buffer(groups))
        return None if failed else groups

    def access(self, pointer: int, writes: bool) -> dict[str, Any] | None:
        """An instruction that has read, or written, the byte (lnbwdSimGetAccessJson)."""
        text = self._library.lnbwdSimGetAccessJson(ctypes.c_void_p(pointer), ctypes.c_int(writes))
        where: dict[str, Any] | None = json.loads(text)
        return where

    def register(self, pointer: int, size: int) -> None:
        """Makes memory of the process a buffer of the device, with its contents."""
        self._call("hipHostRegister", ctypes.c_void_p(pointer), ctypes.c_size_t(size),
                   ctypes.c_uint(0))

    def unregister(self, pointer: int) -> None:
        """Takes that back."""
        self._call("hipHostUnregister", ctypes.c_void_p(pointer))

    def describe(self, pointer: int, size: int, name: str, unwritten: bool = False) -> None:
        """Names a buffer in errors; ``unwritten``: its contents count as never written."""
        self._library.lnbwdSimDescribeBuffer(ctypes.c_void_p(pointer), ctypes.c_uint64(size),
                                             name.encode(),
                                             ctypes.c_uint(self._unwritten if unwritten else 0))

    def describe_lds(self, others: str | None, once: bool = False) -> None:
        """How the launches that follow use LDS (lnbwdSimDescribeLds)."""
        self._library.lnbwdSimDescribeLds(None if others is None else others.encode(),
                                          ctypes.c_int(once))

    def count_unwritten(self, pointer: int, size: int, element: int) -> tuple[int, int]:
        """Elements of a buffer that were never written, and the first; below 0: not known."""
        first = ctypes.c_uint64()
        count = self._library.lnbwdSimCountUnwritten(
            ctypes.c_void_p(pointer), ctypes.c_uint64(size), ctypes.c_uint64(element),
            ctypes.byref(first))
        return count, first.value

    def properties(self) -> Properties:
        """Those of the device."""
        return Properties(**json.loads(self._library.lnbwdSimGetPropertiesJson()))

    def microseconds(self) -> float:
        """What time it is on the device's clock, which launches and copies move on."""
        first, now = ctypes.c_void_p(), ctypes.c_void_p()
        elapsed = ctypes.c_float()
        if not hasattr(self, "_start"):
            self._call("hipEventCreate", ctypes.byref(first))
            self._call("hipEventRecord", first, None)
            self._start = first
        self._call("hipEventCreate", ctypes.byref(now))
        self._call("hipEventRecord", now, None)
        self._call("hipEventElapsedTime", ctypes.byref(elapsed), self._start, now)
        self._call("hipEventDestroy", now)
        return elapsed.value * 1e3
