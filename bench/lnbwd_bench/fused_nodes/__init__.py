# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inductor's fused nodes as row programs, to time them beside Triton's kernels.

Inductor decides what is fused; :mod:`.converter` makes row programs of the fused loops, and
:mod:`.backend` has torch.compile call them. bench/fused_nodes.py measures whether that is faster.
It is no front end of lnbwd: the package imports nothing of this folder.
"""

from .backend import backend, pass_key, rows_scheduling
from .scheduling import Decision, decisions

__all__ = ["Decision", "backend", "decisions", "pass_key", "rows_scheduling"]
