# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The operators' kernels in C++ (lib/Torch), where the package has them.

``liblnbwd-torch.so`` registers them with PyTorch's dispatcher. It keeps a table
of loaded kernels; a call that finds none is computed by the operator in Python
(:mod:`.registration`), which adds the kernel. LNBWD_NATIVE=0 in the environment, read at the
import of lnbwd's operators, leaves the library out; the operators are Python then.
"""

from __future__ import annotations

import ctypes
import functools
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from ..core.base import settings
from ..core.base.errors import LibraryError, LnbwdError
from ..core.base.operations import ELEMENTS, KINDS, OPERATIONS
from ..core.runtime.bindings import Handle, find_library, library_version, open_library
from ..program.operands import ELEMENT_NAMES
from ..program.torch_internals.eager import call_without_warnings

# What the library says where PyTorch's allocator failed it.
_OUT_OF_MEMORY = "lnbwd: out of memory"

_pending = threading.local()


class NotNowError(LnbwdError):
    """A kernel cannot be loaded at this moment."""


def called_from_library(function: Callable[..., Any], results: int) -> Callable[..., Any]:
    """An operator's function, which gives so many tensors, as C++ calls it: an error is left there,
    and for :func:`original`, for PyTorch would print it on the way."""
    def call(*arguments: Any) -> Any:
        try:
            return function(*arguments)
        except BaseException as given:
            # One may have come through another operator.
            error = original(given) if type(given) is RuntimeError else given
            words = str(error).replace("\0", "") or type(error).__name__
            # (Frames would keep the call's tensors.)
            _pending.error, _pending.words = error.with_traceback(None), words
            library = load()
            assert library is not None
            library.lnbwd_torch_note_error(words.encode(errors="replace"))
            return tuple(torch.empty(0) for _ in range(results))

    return call


def original(error: BaseException) -> BaseException:
    """The exception behind one that came out of an operator: Python's, if C++ called it, PyTorch's
    own for memory, the recorded cause, or else ``error`` itself."""
    if isinstance(error.__cause__, Exception):
        error = error.__cause__
    pending: BaseException | None = getattr(_pending, "error", None)
    _pending.error = None
    if pending is not None and _pending.words in str(error):
        return pending
    if _OUT_OF_MEMORY in str(error) and not isinstance(error, torch.OutOfMemoryError):
        return torch.OutOfMemoryError(str(error))
    return error


@functools.lru_cache(maxsize=1)
def load() -> ctypes.CDLL | None:
    """The library, its kernels registered; None without one, or, warned of, if it fails to load."""
    wanted = settings.choice("LNBWD_NATIVE", ("1", "0"), "'0' (operators in Python) or '1'")
    if wanted == "0" or find_library("lnbwd-torch") is None:
        return None
    library_version()  # The library uses the runtime that is loaded already.
    p = ctypes.c_void_p
    i32, i64 = ctypes.c_int32, ctypes.c_int64
    signatures: dict[str, tuple[Any, list[Any]]] = {
        "lnbwd_torch_add_program": (None, [ctypes.c_char_p, ctypes.c_size_t, i32, p, p, p,
                                           ctypes.c_size_t, ctypes.c_size_t]),
        "lnbwd_torch_note_error": (None, [ctypes.c_char_p]),
        "lnbwd_torch_set_simulated_chip": (None, [ctypes.c_char_p]),
        "lnbwd_torch_set_batch_invariant": (None, [ctypes.c_int]),
        "lnbwd_torch_place": (i32, [i32]),
        "lnbwd_torch_rows_hint": (i64, [i64]),
        "lnbwd_torch_register_norms": (ctypes.c_int, [
            ctypes.c_char_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_char_p),
            ctypes.POINTER(ctypes.c_double)])}
    try:
        library = open_library("lnbwd-torch", signatures, "lnbwd's operators run in Python, which "
                               "costs some 10 microseconds a call")
    except LibraryError as error:
        warnings.warn(str(error), RuntimeWarning, stacklevel=2)
        return None
    settings.BATCH_INVARIANT.watch(library.lnbwd_torch_set_batch_invariant)
    return library


def set_simulated_chip(chip: str) -> None:
    """Tells the library which chip CPU tensors are simulated on; "": the environment says it."""
    library = load()
    if library is not None:
        library.lnbwd_torch_set_simulated_chip(chip.encode())


def register_norms(space: str, dispatch_key: str, names: Mapping[str, str],
                   epsilons: Sequence[float] | None = None) -> bool:
    """Registers the library's kernels for a dispatch key, "CUDA" or "CPU". Replaces earlier
    registrations; True on success. PyTorch's warning about overridden kernels is not shown.
    ``space``: "lnbwd", or "aten" for PyTorch's own norms; ``names``: the operators of operations;
    without any, kernels are taken out alone; ``epsilons``: of PyTorch's own, what is added where no
    epsilon is given, for each of KERNEL_TYPES; below 0: it is not known, and such calls are
    PyTorch's."""
    library = load()
    assert library is not None
    texts = [names[op].encode() if op in names else None for op in OPERATIONS]
    arguments = (space.encode(), dispatch_key.encode(),
                 (ctypes.c_char_p * len(texts))(*texts) if names else None,
                 epsilons and (ctypes.c_double * len(epsilons))(*epsilons))

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"(?s).*Overriding a previously registered kernel")
        return call_without_warnings(lambda: library.lnbwd_torch_register_norms(*arguments)) == 0


# What the library's table points to, which is never cleared.
_held: list[Handle] = []


def add_program(program: Any, device: object, kernel: Any) -> None:
    """Puts the :class:`lnbwd.runtime.Kernel` of a :class:`lnbwd.regions_op.RegionProgram` on a
    device, a GPU's index or the simulated chip, into the library's table, for ever."""
    library = load()
    if library is None:
        return
    number = library.lnbwd_torch_place(device if isinstance(device, int) else -1)
    operands = (*program.inputs, *program.outputs)
    fields = [value for o, argument in zip(operands, kernel.program.arguments, strict=True)
              for value in (list(KINDS).index(o.kind),
                            list(ELEMENTS).index(ELEMENT_NAMES[o.dtype]), o.row_length,
                            argument.alignment)]
    _held.append(kernel)
    library.lnbwd_torch_add_program(
        program.key, len(program.key), number, kernel._handle, kernel.device._handle,
        (ctypes.c_int64 * len(fields))(*fields), len(program.inputs), len(program.outputs))


def make_region_call(text: str, device: torch.device, in_python: Callable[..., Any],
                     orders: Sequence[tuple[int, ...]] = ()) -> Callable[..., Any] | None:
    """The library's function of :func:`lnbwd.regions_op.region_call`, which calls ``in_python``
    where it does not launch; None if the library has none. The first call loads kernels."""
    library = load()
    if library is None or not hasattr(library, "lnbwd_torch_region_call"):
        return None
    # The interpreter's lock is kept: this function makes an object of Python.
    make = ctypes.PyDLL(library._name).lnbwd_torch_region_call
    make.restype = ctypes.py_object
    make.argtypes = [ctypes.c_char_p, ctypes.c_int32, ctypes.c_int32, ctypes.py_object,
                     ctypes.py_object]
    call: Callable[..., Any] = make(text.encode(), device.type == "cuda", device.index or 0,
                                    in_python, tuple(map(tuple, orders)))
    return call
