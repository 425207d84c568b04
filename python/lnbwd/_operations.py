# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Made by scripts/generate-operations.py from LNBwdNorms.td and LNBwdRoles.td: do not edit.

:mod:`lnbwd.operations` gives these tables a form.
"""

__all__ = [
    "LAYER_NORM",
    "RMS_NORM",
    "LAYER_NORM_BWD",
    "RMS_NORM_BWD",
    "GATED_RMS_NORM",
    "GATED_RMS_NORM_BWD",
]

KINDS = ("row_block", "column", "row_scalar", "group_column")

# Name, kind, whether the element is one of its own.
ROLES = (
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
    ("z", "row_block", False),
    ("dz", "row_block", False),
)

LAYER_NORM = "layer_norm"
RMS_NORM = "rms_norm"
LAYER_NORM_BWD = "layer_norm_bwd"
RMS_NORM_BWD = "rms_norm_bwd"
GATED_RMS_NORM = "gated_rms_norm"
GATED_RMS_NORM_BWD = "gated_rms_norm_bwd"

# Name, counterpart, whether it is a forward pass, inputs and outputs: role, whether it may be
# absent.
OPERATIONS = (
    (LAYER_NORM, LAYER_NORM_BWD, True,
     (("x", False), ("residual", True), ("gamma", True), ("beta", True),),
     (("y", True), ("sum", True), ("mean", True), ("rstd", True),)),
    (RMS_NORM, RMS_NORM_BWD, True,
     (("x", False), ("residual", True), ("gamma", True),),
     (("y", True), ("sum", True), ("rstd", True),)),
    (LAYER_NORM_BWD, LAYER_NORM, False,
     (("dy", False), ("x", True), ("y", True), ("gamma", True), ("beta", True), ("mean", True),
      ("rstd", True), ("dsum", True),),
     (("dx", True), ("dresidual", True), ("dgamma", True), ("dbeta", True),)),
    (RMS_NORM_BWD, RMS_NORM, False,
     (("dy", False), ("x", True), ("y", True), ("gamma", True), ("rstd", True), ("dsum", True),),
     (("dx", True), ("dresidual", True), ("dgamma", True),)),
    (GATED_RMS_NORM, GATED_RMS_NORM_BWD, True,
     (("x", False), ("z", False), ("gamma", True),),
     (("y", True), ("rstd", True),)),
    (GATED_RMS_NORM_BWD, GATED_RMS_NORM, False,
     (("dy", False), ("x", False), ("z", False), ("gamma", True), ("rstd", True),),
     (("dx", True), ("dz", True), ("dgamma", True),)),
)
