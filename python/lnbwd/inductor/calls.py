# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls of row programs in generated code: a program and the memory of its operands."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..program.operands import TABLES
from ..program.row_program import RowProgram


@dataclass(frozen=True)
class Argument:
    """An argument of a call: its buffer, its first element, their number or an expression of it."""

    buffer: str
    offset: int
    count: Any


@dataclass(frozen=True)
class Call:
    """A call of a row program.

    Attributes:
        program: the row program.
        arguments: its inputs and then its outputs.
        bodies: the places of the loop bodies that it computes.
        numbers: M, and where there are groups of rows B, which stand before the tensors; with
            dynamic shapes they may be expressions.
        indices: buffers whose integers are indices, each with the number of what they count.
    """

    program: RowProgram
    arguments: tuple[Argument, ...]
    bodies: tuple[int, ...]
    numbers: tuple[Any, ...]
    indices: tuple[tuple[str, int], ...] = ()

    def elements(self) -> dict[Argument, int]:
        """How many elements the program reads or writes of each argument."""
        program, found = self.program, dict[Argument, int]()
        for one, operand in zip(self.arguments, (*program.inputs, *program.outputs), strict=True):
            count = math.prod(part[1] for part in operand.parts) if operand.parts else one.count
            if operand.kind in TABLES and program.rows is not None:
                count = program.rows * program.length
            found[one] = max(found.get(one, 0), min(count, one.count))
        return found


def may_reuse(calls: Sequence[Call], old: str, new: str) -> bool:
    """Whether the output ``new`` of calls may have the memory of the input ``old``: a kernel reads
    each element of a row block before it writes that."""
    uses = [(number, place, one) for number, call in enumerate(calls)
            for place, one in enumerate(call.arguments) if one.buffer in (old, new)]
    if len(uses) < 2 or any(one.offset for *_, one in uses):
        return False
    *earlier, (number, place, written) = uses
    inputs = calls[number].program.inputs
    if written.buffer != new or place < len(inputs) or any(
            one.buffer == new for *_, one in earlier):
        return False
    output = calls[number].program.outputs[place - len(inputs)]
    return all(other < number or (
        at < len(inputs) and inputs[at].kind == output.kind == "row" and output.block == 1
        and inputs[at].parts == output.parts and inputs[at].dtype == output.dtype
        and one.count == written.count) for other, at, one in earlier)
