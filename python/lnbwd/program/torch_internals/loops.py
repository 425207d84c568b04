# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loop bodies, and the functions of their indices."""

from __future__ import annotations

from typing import Any

from torch._inductor import config
from torch._inductor.loop_body import LoopBody
from torch._inductor.ops_handler import DefaultHandler
from torch._inductor.virtualized import V
from torch.utils._sympy import functions
from torch.utils._sympy.functions import FloorDiv, Identity, Max, Min, Mod, ModularIndexing

__all__ = ["DIVISIONS", "DefaultHandler", "FloorDiv", "Identity", "LoopBody", "Max", "Min", "Mod",
           "ModularIndexing", "PythonMod", "emulates_casts", "run_body"]

PythonMod = functions.PythonMod
DIVISIONS = (FloorDiv, ModularIndexing, Mod, PythonMod)


def run_body(handler: Any, body: LoopBody) -> None:
    """Hands the operations of a loop body to a handler, with the body's own variables."""
    with V.set_ops_handler(handler):
        body(body.iter_vars, body.reduce_vars, allow_same_symbol_in_index=True)


def emulates_casts() -> bool:
    """Whether values are rounded wherever the graph casts them."""
    return bool(config.emulate_precision_casts)
