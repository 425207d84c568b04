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

__all__ = ["ELEMENT_NAMES", "add_program", "hear_refusals", "load", "load_program",
           "make_region_call", "note_error", "original", "override_aten", "set_default_epsilon",
           "set_simulated_chip"]

ELEMENT_NAMES = {torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32",
                 torch.bool: "i8"}
"""The types that kernels have, and what they call them; booleans in row programs alone."""

# In the order of their numbers in the runtime's interface.
_KINDS = runtime.KINDS
_ELEMENTS = sorted(ELEMENT_NAMES, key=lambda dtype: runtime.ELEMENTS.index(ELEMENT_NAMES[dtype]))

# What the library says where PyTorch's allocator failed it.
_OUT_OF_MEMORY = "lnbwd: out of memory"

_Loader = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.c_int32, ctypes.c_void_p,
                           ctypes.c_size_t)
_RefusalListener = ctypes.CFUNCTYPE(None, ctypes.c_char_p)


def load_program(text: str, device: int) -> None:
    """Loads a row program for a device of the library's numbers, and adds it to the table.
    :mod:`lnbwd.regions_op` puts its function here."""
    raise LnbwdError("import lnbwd.regions_op before the operators run")


_pending = threading.local()


# What the loader returns; 0: the program is in the table.
_REFUSED, _NOT_NOW, _INTERRUPTED = 1, 2, 3


class NotNowError(LnbwdError):
    """A kernel cannot be loaded at this moment."""


def _report(error: BaseException, message: int, size: int) -> int:
    """Leaves an exception's words in the library's buffer, and itself for :func:`original`."""
    words = str(error).encode(errors="replace")[:size - 1]
    _pending.error, _pending.words = error, words.decode(errors="ignore")
    ctypes.memmove(message, words + b"\0", len(words) + 1)
    if isinstance(error, NotNowError):
        return _NOT_NOW
    return _REFUSED if isinstance(error, Exception) else _INTERRUPTED


def _load(text: bytes, device: int, message: int, size: int) -> int:
    try:
        load_program(text.decode(), device)
    except BaseException as error:
        return _report(error, message, size)
    return 0


_refusals: list[Callable[[str], None]] = []


def hear_refusals(listener: Callable[[str], None]) -> None:
    """Sets the function that is told why a kernel could not be where PyTorch's took its place."""
    _refusals.append(listener)


def _hear_refusal(message: bytes) -> None:
    for listener in _refusals:
        listener(message.decode(errors="replace"))


# The library keeps their addresses, so that they live as long as the process.
_loader = _Loader(_load)
_refusal_listener = _RefusalListener(_hear_refusal)


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
            ("lnbwd_torch_set_loader", [_Loader, _RefusalListener]),
            ("lnbwd_torch_add_program", [ctypes.c_char_p, i32, p, p, p, p, ctypes.c_size_t,
                                         ctypes.c_size_t, i32]),
            ("lnbwd_torch_note_error", [ctypes.c_char_p]),
            ("lnbwd_torch_set_simulated_chip", [ctypes.c_char_p])):
        function = getattr(library, name)
        function.restype, function.argtypes = None, arguments
    library.lnbwd_torch_simulated_device.restype = i32
    library.lnbwd_torch_rows_hint.restype = i64
    library.lnbwd_torch_rows_hint.argtypes = [i64]
    library.lnbwd_torch_set_default_epsilon.restype = ctypes.c_int
    library.lnbwd_torch_set_default_epsilon.argtypes = [i32, ctypes.c_double]
    library.lnbwd_torch_override_aten.restype = ctypes.c_int
    library.lnbwd_torch_override_aten.argtypes = [ctypes.c_char_p, ctypes.POINTER(ctypes.c_char_p)]
    library.lnbwd_torch_set_loader(_loader, _refusal_listener)
    return library


def set_simulated_chip(chip: str) -> None:
    """Tells the library which chip CPU tensors are simulated on; "": the environment says it."""
    library = load()
    if library is not None:
        library.lnbwd_torch_set_simulated_chip(chip.encode())


def note_error(words: str) -> None:
    """Leaves an exception's words for C++ that is waiting for an operator in Python."""
    library = load()
    assert library is not None
    library.lnbwd_torch_note_error(words.encode(errors="replace").replace(b"\0", b""))


def override_aten(dispatch_key: str, names: Sequence[str] | None) -> bool:
    """Puts our kernels into the places of PyTorch's norms for a dispatch key, or takes them out;
    whether PyTorch let it. PyTorch's warning of kernels that are overridden, which is what was
    asked for, is not shown.

    Args:
        dispatch_key: "CUDA" or "CPU".
        names: ATen's names of the operators, in the order of :mod:`lnbwd.operations`; None takes
            ours out.
    """
    library = load()
    assert library is not None
    given = names and (ctypes.c_char_p * len(names))(*(name.encode() for name in names))

    def override() -> int:
        result: int = library.lnbwd_torch_override_aten(dispatch_key.encode(), given)
        return result

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"(?s).*Overriding a previously registered kernel")
        # This function calls another, and does nothing else here: warnings of PyTorch's C++ within
        # a call of its Python interface become Python's, and lines on standard error elsewhere.
        return bool(torch._C._disabled_torch_function_impl(override, (), (), {}) == 0)


def set_default_epsilon(dtype: torch.dtype, epsilon: float) -> None:
    """Says what PyTorch's RMSNorm adds to rows of a type where no epsilon is given; below 0: it
    is not known, and such calls are PyTorch's.

    Raises:
        ValueError: no rows are of that type: a mask's.
    """
    library = load()
    assert library is not None
    if library.lnbwd_torch_set_default_epsilon(_ELEMENTS.index(dtype), epsilon) != 0:
        raise ValueError(f"dtype: expected a type of rows, float16, bfloat16 or float32, got "
                         f"{dtype}")


# What the library's tables point to, which are never cleared.
_held: list[runtime.Kernel] = []


def _handles(kernel: runtime.Kernel | None) -> list[Any]:
    """A kernel as the library takes it, which is kept alive from here on."""
    if kernel is None:
        return [None, None, None]
    _held.append(kernel)
    return [kernel._handle, kernel.device._handle, kernel.program._handle]


def add_program(text: str, device: int, kernel: runtime.Kernel | None,
                inputs: Sequence[tuple[str, torch.dtype, int]],
                outputs: Sequence[tuple[str, torch.dtype, int]], *, by_torch: bool) -> None:
    """Puts a row program's kernel into the library's table, which keeps it alive for ever.

    Args:
        text: the program's name.
        device: a GPU's index, or the library's number of the simulated chip.
        kernel: the kernel; None: one that does nothing, for measurements of the host.
        inputs, outputs: kind, type and row length of each operand.
        by_torch: there is no kernel, and PyTorch computes it (``lnbwd::_region_by_torch``).
    """
    library = load()
    assert library is not None
    fields = [value for kind, dtype, length in (*inputs, *outputs)
              for value in (_KINDS.index(kind), _ELEMENTS.index(dtype), length)]
    library.lnbwd_torch_add_program(text.encode(), device, *_handles(kernel),
                                    (ctypes.c_int64 * len(fields))(*fields), len(inputs),
                                    len(outputs), by_torch)


@functools.lru_cache(maxsize=1)
def _make_region_call() -> Callable[..., Any] | None:
    library = load()
    if library is None or not hasattr(library, "lnbwd_torch_region_call"):
        return None
    # The interpreter's lock is kept: this function makes an object of Python.
    function = ctypes.PyDLL(library._name).lnbwd_torch_region_call
    function.restype = ctypes.py_object
    function.argtypes = [ctypes.c_char_p, ctypes.c_int32, ctypes.c_int32]
    return function


def make_region_call(text: str, device: torch.device) -> Callable[..., None] | None:
    """The library's function ``(rows, *inputs, *outputs) -> None`` for a row program on a device;
    None if the library has none. Nothing is loaded yet: its first call does that."""
    make = _make_region_call()
    if make is None:
        return None
    call: Callable[..., None] = make(text.encode(), device.type == "cuda", device.index or 0)
    return call
