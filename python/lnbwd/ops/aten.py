# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Replaces the kernels of PyTorch's own operators by ours, for the whole process.

PyTorch's functions of norms end in operators of ATen, whose kernels for a kind of device can be
replaced. All that surrounds a kernel is PyTorch's then, derivatives in C++ included: that saves the
3 to 4 microseconds a pass that an autograd.Function in Python costs, and serves models as they are.
What no kernel of ours computes goes on to the kernel that was there.
"""

from __future__ import annotations

import contextlib
import functools
import threading
import warnings
from typing import Any

import torch

from ..core.base.errors import LnbwdError
from ..program.torch_internals.eager import call_kernel, formula_of, schema_of
from . import native, regions
from .arguments import KERNEL_TYPES
from .launching import device_key, kernel_key
from .norms import NORMS, Norm, overridden
from .registration import define_for_library

# ATen's name of each of our operators.
_OPERATORS = {op: name for norm in NORMS.values() for op, name in norm.aten.items()}
_KEYS = {"cuda": "CUDA", "cpu": "CPU"}

_lock = threading.Lock()
_counts = {"cuda": 0, "cpu": 0}
_originals: dict[tuple[str, str], Any] = {}
_refused: set[tuple[str, object, str]] = set()


def _compute(norm: Norm, name: str, *arguments: Any) -> Any:
    """Computes calls that C++ leaves to Python. With the key of a program, its kernel is not loaded
    yet, and is loaded; without a key, or without a kernel, PyTorch computes the call."""
    *given, program_key = arguments
    x = given[name == norm.gradient]
    key = _KEYS[x.device.type]
    where = device_key(x.device)
    operator = getattr(torch.ops.aten, _OPERATORS[name]).default
    kernel = _originals[name, key]
    program = norm.program_of(program_key) if program_key and where is not None else None
    if program is not None and kernel_key(program, where) not in _refused:
        try:
            found = regions.find_program(program)
            rows = x.numel() // found.inputs[0].row_length
            regions.load_kernel(found, x.device, rows)
            kernel = torch.library.get_kernel(operator.name(), key)
        except native.NotNowError:
            pass
        except LnbwdError as error:
            _refused.add(kernel_key(program, where))
            warnings.warn("lnbwd.override_aten: PyTorch's own kernel computes calls without a "
                          f"kernel of ours: {error}", RuntimeWarning, stacklevel=2)
    if kernel is None:
        # On the CPU PyTorch has no kernel of RMSNorm's gradient, but the formula.
        return formula_of(operator)(*given)
    return call_kernel(kernel, key, given)


@functools.cache
def _define() -> None:
    """Defines the operators in Python that hold PyTorch's kernels, once."""
    for norm in NORMS.values():
        for name in (norm.name, norm.gradient):
            schema = schema_of(getattr(torch.ops.aten, _OPERATORS[name]).default)
            arguments, results = schema.replace("SymInt", "int").partition("(")[2].split(") ->")
            define_for_library(f"_original_{name}", f"({arguments}, int[] key) ->{results}",
                               functools.partial(_compute, norm, name), 1 + norm.count)


def _keep_originals(key: str) -> None:
    """Remembers PyTorch's kernels, as long as they are those."""
    for name, aten in _OPERATORS.items():
        try:
            _originals[name, key] = torch.library.get_kernel(f"aten::{aten}", key)
        except RuntimeError:
            _originals[name, key] = None


@functools.cache
def _default_epsilon(dtype: torch.dtype, device_type: str) -> float:
    """The default epsilon of PyTorch's norm, which differs among its releases: the type's, or that
    of float32. Rows of zeros show it; below 0 if it is neither."""
    try:
        zeros = torch.zeros(1, 16, dtype=dtype, device=device_type)
        name = next(norm.name for norm in NORMS.values() if norm.count == 1)
        rstd = getattr(torch.ops.aten, _OPERATORS[name]).default(zeros, [16], None, None)[1]
    except (RuntimeError, AssertionError):  # There may be no such device.
        return -1.0
    found = float(rstd.double().item()) ** -2
    for candidate in (torch.finfo(dtype).eps, torch.finfo(torch.float32).eps):
        if abs(found - candidate) < 1e-2 * candidate:
            return candidate
    return -1.0


class Override(contextlib.AbstractContextManager["Override"]):
    """The result of :func:`override_aten`, also a context manager that undoes it."""

    def __init__(self, device_type: str) -> None:
        self._device_type: str | None = device_type

    def undo(self) -> None:
        """Gives PyTorch its kernels back, if nobody else asked for ours. Once is enough."""
        with _lock:
            device_type, self._device_type = self._device_type, None
            if device_type is None:
                return
            _counts[device_type] -= 1
            if _counts[device_type] == 0:
                overridden.discard(device_type)
                native.register_norms("aten", _KEYS[device_type], {})

    def __exit__(self, *error: object) -> None:
        self.undo()


def override_aten(device_type: str = "cuda") -> Override:
    """Replaces the kernels of PyTorch's norms (docs/python.md names them) by ours, until it is
    undone.

    Its modules and functions, and whatever else calls the operators of ATen that these end in, run
    our kernels in eager mode, in all threads; so do :func:`lnbwd.layer_norm` and the modules, by
    way of them. Graphs of torch.compile do not: Inductor takes those operators apart.

    PyTorch's kernels go on to compute what ours do not: float64, weights of another type than x's,
    no elements, a kernel that cannot be compiled (one warning each). Such a call costs some 20
    microseconds more than without this function.

    Args:
        device_type: "cuda" (ROCm's devices, too), or "cpu" for tensors that are simulated.

    Returns:
        An object whose ``undo()`` ends it; in a ``with`` statement, its end does.

    Raises:
        ValueError: another ``device_type``.
        LnbwdError: the package has no operators in C++ here, or PyTorch refuses it.

    Example:
        >>> lnbwd.override_aten()               # once, before training
        >>> with lnbwd.override_aten(): ...     # or for a while
    """
    if device_type not in _KEYS:
        raise ValueError(f"device_type: expected 'cuda' or 'cpu', got {device_type!r}")
    if native.load() is None:
        raise LnbwdError("lnbwd.override_aten: the operators in C++ (liblnbwd-torch.so) are not in "
                         "use here: build the package with PyTorch at hand, and leave LNBWD_NATIVE "
                         "unset")
    with _lock:
        if _counts[device_type] == 0:
            _define()
            _keep_originals(_KEYS[device_type])
            if not native.register_norms("aten", _KEYS[device_type], _OPERATORS, [
                    _default_epsilon(dtype, device_type) for dtype in KERNEL_TYPES]):
                raise LnbwdError("lnbwd.override_aten: PyTorch refuses other kernels for its "
                                 "operators; its words are on the standard error output")
        _counts[device_type] += 1
        overridden.add(device_type)
    return Override(device_type)
