# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The float64 reference of the named operations, from Python: lib/Reference, as lnbwd-run has it.

Needs liblnbwd-reference.so of a build folder, LNBWD_BUILD_DIR or build/, and the lnbwd package for
the tables of operands; no compiler.
"""

from __future__ import annotations

import ctypes
import functools
import os
import pathlib
import sys

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
if not os.environ.get("LNBWD_TEST_INSTALLED"):
    sys.path.insert(0, str(ROOT / "python"))

from lnbwd.core.base.operations import OPERATIONS, ROLES  # noqa: E402

_FLOATS, _DOUBLES = (ctypes.POINTER(t) for t in (ctypes.c_float, ctypes.c_double))


@functools.cache
def _library() -> ctypes.CDLL:
    build = pathlib.Path(os.environ.get("LNBWD_BUILD_DIR", ROOT / "build")).resolve()
    library = ctypes.CDLL(str(build / "lib" / "liblnbwd-reference.so"))
    library.lnbwd_reference.argtypes = [
        ctypes.c_char_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int, ctypes.c_double,
        ctypes.c_int, ctypes.POINTER(_FLOATS), ctypes.POINTER(_DOUBLES), _DOUBLES]
    return library


def evaluate(op: str, inputs: dict[str, np.ndarray], rows: int, columns: int, *,
             zero_centred: bool = False, epsilon: float = 1e-5,
             in_float32: bool = True) -> tuple[dict[str, np.ndarray], dict[str, float]]:
    """The outputs of an operation, and the sizes of the terms that they are sums of.

    Args:
        op: its name.
        inputs: by the operands' names, of those that are there; of a column sum what it is added
            to. Values that float32 holds: others are rounded to it.
        rows, columns: M and N.
        zero_centred: whether 1 + gamma stands in the place of gamma.
        epsilon: where statistics are computed.
        in_float32: whether rstd is NaN where the sum of squares is beyond float32's range.
    """
    def shape(role):
        leading = () if role.kind == "column" else (rows,)
        return leading if role.kind == "row_scalar" else (*leading, columns)

    with np.errstate(over="ignore", invalid="ignore"):
        held = {name: np.ascontiguousarray(values, dtype=np.float32).reshape(
            shape(ROLES[name])) for name, values in inputs.items()}
    outputs = {operand.name: np.zeros(shape(operand.role))
               for operand in OPERATIONS[op].operands if operand.is_output}
    # An array without elements is there all the same.
    none = np.zeros(1, np.float32)

    def pointers(arrays, kind):
        return (kind * len(ROLES))(*(
            (arrays[name] if arrays[name].size else none).ctypes.data_as(kind)
            if name in arrays else None for name in ROLES))

    terms = (ctypes.c_double * len(ROLES))()
    status = _library().lnbwd_reference(
        op.encode(), rows, columns, zero_centred, epsilon, in_float32,
        pointers(held, _FLOATS), pointers(outputs, _DOUBLES), terms)
    assert status == 0, op
    return outputs, dict(zip(ROLES, terms, strict=True))
