# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Made by scripts/generate-operations.py from LNBwdNorms.td and LNBwdRoles.td: do not edit.

:mod:`.operations` gives these tables a form.
"""

# Name, whether it has the groups of rows, the rows of a group, columns.
_KINDS = (
    ("row_block", True, True, True),
    ("column", False, False, True),
    ("row_scalar", True, True, False),
    ("group_column", True, False, True),
    ("repeated_row_block", False, True, True),
    ("repeated_row_scalar", False, True, False),
    ("group_scalar", True, False, False),
    ("number", False, False, False),
)
# Name, bytes, what row programs make of it, PyTorch's name, NumPy's; of floats bits of the
# fraction, bias of the exponent, and bits of the largest number.
_ELEMENTS = (
    ("f16", 2, "float", "float16", "float16", 10, 15, 0x7bff),
    ("bf16", 2, "float", "bfloat16", "uint16", 7, 127, 0x7f7f),
    ("f32", 4, "float", "float32", "float32", 23, 127, 0x7f7fffff),
    ("i8", 1, "mask", "bool", "uint8", 0, 0, 0x0),
    ("i32", 4, "integer", "int32", "int32", 0, 0, 0x0),
    ("i64", 8, "integer", "int64", "int64", 0, 0, 0x0),
    ("f8E4M3FN", 1, "float8", "float8_e4m3fn", "uint8", 3, 7, 0x7e),
    ("f8E5M2", 1, "float8", "float8_e5m2", "uint8", 2, 15, 0x7b),
    ("f8E4M3FNUZ", 1, "float8", "float8_e4m3fnuz", "uint8", 3, 8, 0x7f),
    ("f8E5M2FNUZ", 1, "float8", "float8_e5m2fnuz", "uint8", 2, 16, 0x7f),
    ("f8E8M0FNU", 1, "float8", "float8_e8m0fnu", "uint8", 0, 127, 0xfe),
    ("i16", 2, "integer", "int16", "int16", 0, 0, 0x0),
    ("si8", 1, "byte", "int8", "int8", 0, 0, 0x0),
    ("ui8", 1, "byte", "uint8", "uint8", 0, 0, 0x0),
    ("i1", 0, "condition", "bool", "bool", 0, 0, 0x0),
)

# Name, kind, whether the element is one of its own.
_ROLES = (
    ("dy", "row_block", False),
    ("x", "row_block", False),
    ("gamma", "column", False),
    ("residual", "row_block", True),
    ("beta", "column", False),
    ("dsum", "row_block", True),
    ("dgamma", "column", False),
    ("dbeta", "column", False),
    ("y", "row_block", False),
    ("mean", "row_scalar", False),
    ("rstd", "row_scalar", False),
    ("sum", "row_block", True),
    ("dx", "row_block", False),
    ("dresidual", "row_block", True),
)

LAYER_NORM = "layer_norm"
RMS_NORM = "rms_norm"
LAYER_NORM_BWD = "layer_norm_bwd"
RMS_NORM_BWD = "rms_norm_bwd"

# Name, counterpart, whether it is a forward pass, lib/Reference's formula, inputs and outputs:
# those with a question mark may be absent.
_OPERATIONS = (
    (LAYER_NORM, LAYER_NORM_BWD, True, "norm",
     "x residual? gamma? beta?", "y? sum? mean? rstd?"),
    (RMS_NORM, RMS_NORM_BWD, True, "norm",
     "x residual? gamma?", "y? sum? rstd?"),
    (LAYER_NORM_BWD, LAYER_NORM, False, "normGradient",
     "dy x? y? gamma? beta? mean? rstd? dsum?", "dx? dresidual? dgamma? dbeta?"),
    (RMS_NORM_BWD, RMS_NORM, False, "normGradient",
     "dy x? y? gamma? rstd? dsum?", "dx? dresidual? dgamma?"),
)
