# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Opens the package's shared libraries, and binds the runtime's functions by ctypes
(include/lnbwd/Runtime/lnbwd_runtime.h).

An installed package has the libraries in ``lnbwd/lib``, a checkout in ``build/lib``; if
``LNBWD_LIBRARY_DIR`` names a folder, only that one is searched.
"""

from __future__ import annotations

import ctypes
import functools
import pathlib
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from ..base import environment
from ..base.errors import LibraryError, RuntimeStatusError
from ..base.files import PACKAGE


def library_folders() -> list[pathlib.Path]:
    """The folders that are searched for shared libraries, the first match winning."""
    chosen = environment.read("LNBWD_LIBRARY_DIR")
    if chosen:
        return [pathlib.Path(chosen)]
    return [PACKAGE / "lib", PACKAGE.parents[1] / "build" / "lib"]


def find_library(name: str) -> pathlib.Path | None:
    """The file of the shared library ``name`` ("lnbwd-runtime"), or None if there is none."""
    for folder in library_folders():
        for file in (f"lib{name}.so", f"lib{name}.so.0"):
            path = folder / file
            if path.exists():
                return path
    return None


def open_library(name: str, signatures: Mapping[str, tuple[Any, Sequence[Any]]],
                 remedy: str, kind: type[ctypes.CDLL] = ctypes.CDLL) -> ctypes.CDLL:
    """Opens the shared library ``name``, with the result and the arguments of each function, or
    raises a LibraryError that ends in ``remedy``."""
    path = find_library(name)
    if path is None:
        places = ", ".join(str(folder) for folder in library_folders())
        if environment.read("LNBWD_LIBRARY_DIR"):
            places += ", which LNBWD_LIBRARY_DIR names"
        raise LibraryError(f"lib{name}.so was not found in {places}; {remedy}")
    try:
        library = kind(str(path))
    except OSError as error:
        raise LibraryError(f"cannot load {path}: {error}; {remedy}") from error
    for function, (result, arguments) in signatures.items():
        getattr(library, function).restype = result
        getattr(library, function).argtypes = arguments
    return library


_REMEDY = ("install the package with 'pip install .' in a checkout, or build the target "
           "lnbwd-runtime and set LNBWD_LIBRARY_DIR to the build's lib folder")


class ArgumentInfo(ctypes.Structure):
    """lnbwd_argument_info."""

    _fields_ = [("name", ctypes.c_char_p), ("access", ctypes.c_int), ("kind", ctypes.c_int),
                ("element", ctypes.c_int), ("row_length", ctypes.c_int64),
                ("row_stride", ctypes.c_int64), ("alignment", ctypes.c_int64)]


class DeviceStructure(ctypes.Structure):
    """lnbwd_device_info."""

    _fields_ = [("name", ctypes.c_char * 256), ("arch", ctypes.c_char * 64),
                ("driver", ctypes.c_char * 256), ("compute_units", ctypes.c_int64),
                ("wave_size", ctypes.c_int64), ("memory_bytes", ctypes.c_uint64),
                ("l2_bytes", ctypes.c_uint64), ("is_simulated", ctypes.c_int)]


_P, _S, _N, _I = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int64
_R = ctypes.POINTER
_CALLS: dict[str, list[Any]] = {
    "program_from_memory": [_S, _N, _S, _R(_P)],
    "program_from_file": [_S, _R(_P)],
    "program_argument": [_P, _N, _R(ArgumentInfo)],
    "program_argument_size": [_P, _N, _I, _I, _R(_N)],
    "device_open": [_S, _S, _R(_P)],
    "device_get_info": [_P, _R(DeviceStructure)],
    "device_memory": [_P, _R(ctypes.c_uint64), _R(ctypes.c_uint64)],
    "device_make_current": [_P],
    "kernel_load": [_P, _P, _R(_P)],
    "kernel_workspace_size": [_P, _I, _I, _R(_N)],
    "kernel_launch": [_P, _P, _N, _I, _I, _P, _N, _P],
    "malloc": [_P, _N, _R(_P)],
    "free": [_P, _P],
    "copy_to_device": [_P, _P, _P, _N],
    "copy_to_host": [_P, _P, _P, _N],
    "memset": [_P, _P, ctypes.c_int, _N, _P],
    "synchronize": [_P, _P],
    "event_create": [_P, _R(_P)],
    "event_record": [_P, _P],
    "event_elapsed": [_P, _P, _R(ctypes.c_double)],
}
"""The arguments of those functions that give a status."""

_SIGNATURES: dict[str, tuple[Any, list[Any]]] = {
    **{f"lnbwd_{name}": (ctypes.c_int, arguments) for name, arguments in _CALLS.items()},
    **{f"lnbwd_{name}": (_S, []) for name in ("runtime_version", "last_error")},
    **{f"lnbwd_program_{name}": (_S, [_P]) for name in ("plan", "name", "chip", "format")},
    **{f"lnbwd_{name}": (None, [_P]) for name in (
        "program_destroy", "device_close", "kernel_destroy", "event_destroy")},
    "lnbwd_status_name": (_S, [ctypes.c_int]), "lnbwd_program_argument_count": (_N, [_P]),
    "lnbwd_device_symbol": (_P, [_P, _S])}


@functools.lru_cache(maxsize=2)
def open_runtime(keeps_lock: bool = False) -> ctypes.CDLL:
    """Opens the library. Enqueuing keeps the interpreter's lock, which others take for 5 ms."""
    return open_library("lnbwd-runtime", _SIGNATURES, _REMEDY,
                        ctypes.PyDLL if keeps_lock else ctypes.CDLL)


def library_version() -> str:
    """The version of the runtime library, "0.2.0"."""
    return str(open_runtime().lnbwd_runtime_version().decode())


def check(status: int) -> None:
    """Raises an error for a status that is one."""
    if status:
        library = open_runtime()
        raise RuntimeStatusError(status, library.lnbwd_status_name(status).decode(),
                                 library.lnbwd_last_error().decode(errors="replace"))


def make(function: Any, *arguments: Any) -> Any:
    """The handle that a function of the library gives by its last argument."""
    handle = _P()
    check(function(*arguments, ctypes.byref(handle)))
    return handle.value


class Handle:
    """Owns one handle of the library; ``close()`` and the garbage collector give it back."""

    _destroy = ""

    def __init__(self, handle: int | None) -> None:
        self._handle = handle

    def close(self) -> None:
        """Gives the handle back; the object is of no further use. Calling it twice is allowed."""
        handle, self._handle = getattr(self, "_handle", None), None
        if handle:
            getattr(open_runtime(), self._destroy)(handle)

    def __del__(self) -> None:
        # At the process's end the driver gives everything back itself, and may be gone already.
        if not sys.is_finalizing():
            self.close()
