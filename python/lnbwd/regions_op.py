# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Row programs as operators of PyTorch, for users; :mod:`.ops.regions` says how it works.

Graphs that torch.compile's backend left on disk import ``region_call`` and ``own_tensor``
from here.
"""

from .ops.region_programs import Operand, RegionProgram, find_program, register_program
from .ops.regions import (
    is_loaded,
    load_kernel,
    own_tensor,
    region_call,
    register_row_program,
    resolvers,
)

__all__ = ["Operand", "RegionProgram", "find_program", "is_loaded", "load_kernel", "own_tensor",
           "region_call", "register_program", "register_row_program", "resolvers"]
