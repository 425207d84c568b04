# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The row programs of PyTorch's norms, under names that say all that decides their kernels.

    layer_norm 4096 bf16 f32 f32 1e-05 8192
    layer_norm_bwd 4096 bf16 f32 f32 111 8192

That is the operation, N, the types of x, scale and shift ("-": there is none), the epsilon of a
forward pass or which of dx, dgamma and dbeta a gradient computes, and the number of rows that the
schedule is chosen for (:func:`lnbwd.spec.rows_hint`). The operators in C++ find programs by the
same as bytes (lib/Torch/Norms.cpp).
"""

from __future__ import annotations

import functools
import struct
import threading
from collections.abc import Iterable

import torch

from . import _chips, regions_op, runtime
from .batch_invariance import order
from .native import ELEMENT_NAMES, TYPES
from .operations import OPERATIONS
from .spec import OPS, ROWS_HINTS, KernelSpec, rows_hint, rows_option

_lock = threading.Lock()
# Several names stand for one kernel where a chip's schedules do not depend on the number of rows.
_loaded: dict[tuple[KernelSpec, runtime.Device], runtime.Kernel] = {}


@functools.lru_cache(4096)
def name_of(op: str, n: int, types: tuple[torch.dtype | None, ...],
            what: float | tuple[bool, ...], rows: int) -> str:
    """The name of a program for calls with so many rows.

    Args:
        op: the operation.
        n: the length of a row.
        types: of x and of the parameters that PyTorch's function has; None: it was not given.
        what: the epsilon of a forward pass; of a gradient, whether dx, dgamma, dbeta are computed.
        rows: M.
    """
    elements = [ELEMENT_NAMES[t] if t else "-" for t in types] + ["-"] * (3 - len(types))
    wanted = repr(what) if isinstance(what, float) else "".join(str(int(want)) for want in what)
    return f"{op} {n} {' '.join(elements)} {wanted} {rows_hint(rows)}"


def _resolve(text: str) -> regions_op.RegionProgram | None:
    """The program of a name; None for another text."""
    op, *fields = text.split(" ")
    if op not in OPS or len(fields) != 6:
        return None
    n, *types, what, hint = fields
    element, weight, bias = (name.replace("-", "") for name in types)
    is_forward, rows = OPERATIONS[op].is_forward, int(hint)
    wants_x, wants_weight, wants_bias = (
        not is_forward and want == "1" for want in what[:3].ljust(3, "0"))

    def make(chip: str, format: str) -> KernelSpec:
        return KernelSpec(op, int(n), element, chip, weight, bias, wants_x, wants_weight,
                          wants_bias, format=format, epsilon=float(what) if is_forward else None,
                          rows=rows_option(rows, chip), order=order())

    load = regions_op.make_kernel_from_spec(make, (rows, None), is_region=False)

    def make_kernel(device: runtime.Device) -> runtime.Kernel:
        key = (make(device.chip, ""), device)
        with _lock:
            return _loaded.get(key) or _loaded.setdefault(key, load(device))

    def stand_ins() -> Iterable[str]:
        others = sorted(ROWS_HINTS, key=lambda other: max(other, rows) / min(other, rows))
        return (f"{text.rpartition(' ')[0]} {other}" for other in others)

    def operands(is_output: bool) -> list[regions_op.Operand]:
        return [regions_op.Operand(kind, TYPES[name], 1 if kind == "row_scalar" else int(n))
                for operand, name in make(_chips.SIMULATED, "").operands()
                if operand.is_output == is_output for kind in (operand.role.kind,)]

    wanted = 0 if is_forward else int(what[::-1], 2)
    elements = [runtime.ELEMENTS.index(name) if name in runtime.ELEMENTS else -1 for name in types]
    key = struct.pack("=qqdIB3b", int(n), rows, float(what) if is_forward else -1, wanted,
                      list(OPERATIONS).index(op), *elements)
    return regions_op.register_program(text, operands(False), operands(True), make_kernel,
                                       stand_ins=stand_ins, key=key)


regions_op.resolvers.append(_resolve)
