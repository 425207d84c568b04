# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The operators' kernels in C++ (lib/Torch), where the package has them.

``liblnbwd-torch.so`` registers them with PyTorch's dispatcher when it is loaded. It keeps a table
of loaded kernels; a call that finds none asks this module, once, which asks the part of the package
that knows the caches and the compiler. LNBWD_NATIVE=0 in the environment, read at the import of
lnbwd's operators, leaves the library out; the operators are Python then.
"""

from __future__ import annotations

import ctypes
import functools
import os
import threading
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch

from . import runtime
from ._library import find_library
from .errors import LnbwdError

__all__ = ["ELEMENT_NAMES", "OPERATIONS", "add_kernel", "add_region", "load", "loaders", "original",
           "set_forward_by_torch", "set_simulated_chip"]

OPERATIONS = ("layer_norm", "layer_norm_bwd", "rms_norm", "rms_norm_bwd")
"""In the order of their numbers in the library."""

ELEMENT_NAMES = {torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32"}
"""The types that kernels have, and what they call them."""

# In the order of their numbers in the runtime's interface.
_KINDS = runtime.KINDS
_ELEMENTS = sorted(ELEMENT_NAMES, key=lambda dtype: runtime.ELEMENTS.index(ELEMENT_NAMES[dtype]))

# What the library says where PyTorch's allocator failed it.
_OUT_OF_MEMORY = "lnbwd: out of memory"

_NormLoader = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_int32, ctypes.c_int64, ctypes.c_int32, ctypes.c_int32, ctypes.c_int32,
    ctypes.c_uint32, ctypes.c_double, ctypes.c_int32, ctypes.c_void_p, ctypes.c_size_t)
_RegionLoader = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.c_int32, ctypes.c_void_p,
                                 ctypes.c_size_t)

loaders: dict[str, Callable[..., None]] = {}
"""Who loads a kernel ("norm") or a row program ("region"), and adds it to the table."""

_pending = threading.local()


def _report(error: BaseException, message: int, size: int) -> int:
    """Leaves an exception's words in the library's buffer, and itself for :func:`original`."""
    words = str(error).encode(errors="replace")[:size - 1]
    _pending.error, _pending.words = error, words.decode(errors="ignore")
    ctypes.memmove(message, words + b"\0", len(words) + 1)
    return 1


def _load_norm(operation: int, n: int, element: int, weight: int, bias: int, wants: int,
               epsilon: float, device: int, message: int, size: int) -> int:
    try:
        loaders["norm"](
            OPERATIONS[operation], n, _ELEMENTS[element], *(None if e < 0 else _ELEMENTS[e]
                                                           for e in (weight, bias)),
            tuple(bool(wants >> bit & 1) for bit in range(3)), None if epsilon < 0 else epsilon,
            device)
    except BaseException as error:
        return _report(error, message, size)
    return 0


def _load_region(text: bytes, device: int, message: int, size: int) -> int:
    try:
        loaders["region"](text.decode(), device)
    except BaseException as error:
        return _report(error, message, size)
    return 0


# The library keeps their addresses, so that they live as long as the process.
_norm_loader, _region_loader = _NormLoader(_load_norm), _RegionLoader(_load_region)


def original(error: BaseException) -> BaseException:
    """The exception behind one that came out of an operator: what Python raised while a kernel was
    loaded for C++, PyTorch's own for memory, the cause that was noted, or else ``error`` itself."""
    if isinstance(error.__cause__, Exception):
        error = error.__cause__
    pending: BaseException | None = getattr(_pending, "error", None)
    _pending.error = None
    if pending is not None and _pending.words in str(error):
        return pending
    if _OUT_OF_MEMORY in str(error) and not isinstance(error, torch.OutOfMemoryError):
        return torch.OutOfMemoryError(str(error))
    return error


def _wanted() -> bool:
    value = os.environ.get("LNBWD_NATIVE", "")
    if value not in ("", "0", "1"):
        raise LnbwdError("the environment variable LNBWD_NATIVE: expected '0' (operators in "
                         f"Python) or '1', got {value!r}")
    return value != "0"


@functools.lru_cache(maxsize=1)
def load() -> ctypes.CDLL | None:
    """The library, with its kernels registered; None if there is none, or it cannot be loaded
    beside this PyTorch (one warning)."""
    path = find_library("lnbwd-torch") if _wanted() else None
    if path is None:
        return None
    runtime.library_version()  # The library uses the runtime that is loaded already.
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        warnings.warn(f"cannot load {path}: {error}; lnbwd's operators run in Python, which costs "
                      "some 10 microseconds a call", RuntimeWarning, stacklevel=2)
        return None
    p = ctypes.c_void_p
    i32, i64 = ctypes.c_int32, ctypes.c_int64
    for name, arguments in (
            ("lnbwd_torch_set_loaders", [_NormLoader, _RegionLoader]),
            ("lnbwd_torch_add_kernel", [i32, i64, i32, i32, i32, ctypes.c_uint32, ctypes.c_double,
                                        i32, p, p, p]),
            ("lnbwd_torch_add_region", [ctypes.c_char_p, i32, p, p, p, p, ctypes.c_size_t,
                                        ctypes.c_size_t]),
            ("lnbwd_torch_set_forward_by_torch", [ctypes.c_int]),
            ("lnbwd_torch_set_simulated_chip", [ctypes.c_char_p])):
        function = getattr(library, name)
        function.restype, function.argtypes = None, arguments
    library.lnbwd_torch_simulated_device.restype = i32
    library.lnbwd_torch_set_loaders(_norm_loader, _region_loader)
    return library


def set_simulated_chip(chip: str) -> None:
    """Tells the library which chip CPU tensors are simulated on; "": the environment says it."""
    library = load()
    if library is not None:
        library.lnbwd_torch_set_simulated_chip(chip.encode())


def set_forward_by_torch(by_torch: bool) -> None:
    """Tells the library whose forward passes are used."""
    library = load()
    if library is not None:
        library.lnbwd_torch_set_forward_by_torch(by_torch)


def _handles(kernel: runtime.Kernel | None) -> list[Any]:
    if kernel is None:
        return [None, None, None]
    return [kernel._handle, kernel.device._handle, kernel.program._handle]


def add_kernel(op: str, n: int, dtype: torch.dtype, weight: torch.dtype | None,
               bias: torch.dtype | None, wants: Sequence[bool], epsilon: float | None,
               device: int, kernel: runtime.Kernel | None) -> None:
    """Puts a kernel into the library's table. The caller keeps it alive for ever.

    Args:
        op, n, dtype, weight, bias, wants, epsilon: what it computes.
        device: a GPU's index, or the library's number of the simulated chip.
        kernel: the kernel; None: one that does nothing, for measurements of the host.
    """
    library = load()
    assert library is not None
    library.lnbwd_torch_add_kernel(
        OPERATIONS.index(op), n, _ELEMENTS.index(dtype),
        *(-1 if t is None else _ELEMENTS.index(t) for t in (weight, bias)),
        sum(want << bit for bit, want in enumerate(wants)), -1.0 if epsilon is None else epsilon,
        device, *_handles(kernel))


def add_region(text: str, device: int, kernel: runtime.Kernel | None,
               inputs: Sequence[tuple[str, torch.dtype, int]],
               outputs: Sequence[tuple[str, torch.dtype, int]]) -> None:
    """The same for a row program; operands as kind, type and row length."""
    library = load()
    assert library is not None
    fields = [value for kind, dtype, length in (*inputs, *outputs)
              for value in (_KINDS.index(kind), _ELEMENTS.index(dtype), length)]
    library.lnbwd_torch_add_region(text.encode(), device, *_handles(kernel),
                                   (ctypes.c_int64 * len(fields))(*fields), len(inputs),
                                   len(outputs))
