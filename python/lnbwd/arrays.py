# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels on NumPy arrays: allocate, copy, launch, copy back. No torch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import runtime
from .operations import ELEMENTS

_TYPES = {name: element.numpy for name, element in ELEMENTS.items()}


def _import_numpy() -> Any:
    try:
        import numpy
    except ImportError as error:
        raise ImportError("kernels on arrays need NumPy: pip install numpy") from error
    return numpy


def run_kernel(kernel: runtime.Kernel, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Runs a kernel once and waits for it; see :meth:`lnbwd.CompiledKernel.run`."""
    np = _import_numpy()
    arguments = kernel.program.arguments
    read = [a for a in arguments if a.access != "write"]
    unknown = sorted(set(inputs) - {a.name for a in read})
    missing = [a.name for a in read if a.name not in inputs]
    if unknown or missing:
        raise ValueError(f"inputs: expected arrays {', '.join(a.name for a in read)}"
                         + (f"; missing: {', '.join(missing)}" if missing else "")
                         + (f"; unknown: {', '.join(unknown)}" if unknown else ""))
    arrays: dict[str, Any] = {}
    rows: int | None = None
    for a in read:
        array = np.ascontiguousarray(inputs[a.name])
        if a.element == "i8" and array.dtype in ("bool", "int8"):
            array = array.view("uint8")
        if str(array.dtype) not in (_TYPES[a.element], ELEMENTS[a.element].torch):
            of_bits = f" (the bits of {ELEMENTS[a.element].torch})"
            is_bits = a.element != "i8" and _TYPES[a.element] != ELEMENTS[a.element].torch
            raise ValueError(f"{a.name}: expected {_TYPES[a.element]}"
                             f"{of_bits if is_bits else ''}, got {array.dtype}")
        if a.kind == "column":
            if array.size != a.row_length:
                raise ValueError(f"{a.name}: expected {a.row_length} elements, got {array.size}")
        else:
            length = a.row_length if a.kind == "row_block" else 1
            count, rest = divmod(array.size, length)
            if rest or (a.kind == "row_block" and array.shape[-1:] != (length,)):
                raise ValueError(f"{a.name}: expected rows of {length} elements, got the shape "
                                 f"{array.shape}")
            if rows is not None and count != rows:
                raise ValueError(f"{a.name}: expected {rows} rows like the arrays before it, got "
                                 f"{count}")
            rows = count
        arrays[a.name] = array
    assert rows is not None
    outputs = {a.name: np.empty(
        (rows, a.row_length) if a.kind == "row_block"
        else (a.row_length,) if a.kind == "column" else (rows,), _TYPES[a.element])
        for a in arguments if a.access == "write"}
    arrays |= outputs
    runtime.launch_on_host_memory(kernel, rows, [arrays[a.name].ctypes.data for a in arguments])
    return outputs
