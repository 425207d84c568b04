# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations of MLIR as lines of text."""

from __future__ import annotations

from .operands import Input, element_of
from .row_program import RowProgram


class Lines:
    """Writes operations, one on each line."""

    def __init__(self, program: RowProgram) -> None:
        self.program = program
        self.lines: list[str] = []

    def type(self, element: str, is_row: bool) -> str:
        """The type of a value: a vector for a row."""
        return f"vector<{self.program.length}x{element}>" if is_row else element

    def argument(self, value: Input) -> str:
        """The type of an input in the region."""
        if value.kind == "table":
            return f"vector<{value.rows}x{self.program.length}x{value.dtype}>"
        if value.kind == "elements":
            return f"vector<{value.rows}x{element_of(value.dtype)}>"
        return self.type(element_of(value.dtype), value.is_row(self.program.length))

    def emit(self, text: str) -> str:
        """Writes an operation; the name of its result."""
        name = f"%{len(self.lines)}"
        self.lines.append(f"    {name} = {text}")
        return name

    def op(self, name: str, type_: str, *operands: object) -> str:
        """The same of an operation whose operands and result have one type."""
        return self.emit(f"{name} {', '.join(map(str, operands))} : {type_}")

    def cast(self, name: str, value: str, type_: str, to: str) -> str:
        """The same of one from a type to another."""
        return self.emit(f"{name} {value} : {type_} to {to}")

    def constant(self, number: int | str, type_: str) -> str:
        """The name of a constant, which is the same for all elements of a vector."""
        text = f"dense<{number}>" if type_.startswith("vector") else number
        return self.emit(f"arith.constant {text}" + (f" : {type_}" if type_ != "i1" else ""))

    def resized(self, value: str, element: str, to: str, is_row: bool, sign: str = "s") -> str:
        """An integer in another type."""
        bits, wanted = int(element[1:]), int(to[1:])
        if bits == wanted:
            return value
        return self.cast("arith.trunci" if wanted < bits else f"arith.ext{sign}i", value,
                         self.type(element, is_row), self.type(to, is_row))
