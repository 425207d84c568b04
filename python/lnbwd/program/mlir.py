# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A row program as MLIR: a function with one ``lnbwd.rowwise`` on memrefs."""

from __future__ import annotations

from collections.abc import Sequence

from .mlir_values import Values
from .operands import (
    INPUT_KINDS,
    OUTPUT_KINDS,
    SUM_KINDS,
    Input,
    Output,
    element_of,
)
from .row_program import RowProgram


def mlir(program: RowProgram, is_exact: bool = False) -> str:
    """A function with the program, on memrefs: inputs, then outputs.

    Args:
        program: the row program.
        is_exact: no function takes its cheaper form: for the source of a gradient, the outputs of
            which may have more digits.
    """
    return _Writer(program, is_exact).write()


class _Writer(Values):
    """Writes a program as MLIR."""

    def operands(self, values: Sequence[tuple[str, str, Input | Output]],
                 order: Sequence[str]) -> str:
        return ", ".join(
            f"{name}[{', '.join(index for index, _, _ in self.dims_of(v))}]"
            f"{f' {SUM_KINDS[wanted]}' if wanted in SUM_KINDS else ''} : {type_}"
            for wanted in order for name, type_, v in values if self.kind(v) == wanted)

    def write(self) -> str:
        program = self.program
        inputs = [(f"%arg{i}", self.memory(v), v) for i, v in enumerate(program.inputs)]
        outputs = [(f"%out{i}", self.memory(v), v) for i, v in enumerate(program.outputs)]
        for index in range(len(program.nodes)):
            if program.nodes[index][0] not in ("constant", "index"):
                self.names[index] = self.node(index)
        results, types = [], []
        # In the order of their kinds to the compiler.
        for output in (o for k in OUTPUT_KINDS for o in program.outputs if self.kind(o) == k):
            is_row = output.is_row(program.length)
            dtype = "f32" if output.kind in SUM_KINDS else output.dtype
            if dtype == "f32" and self.types[output.value] != "f32":
                raise ValueError(f"expected a number for what is written as {output.kind}, got "
                                 f"{self.types[output.value]}; convert it by 'float' or 'select'")
            results.append(self.value(output.value, is_row) if dtype == "f32"
                           else self.rounded(output.value, dtype, is_row))
            types.append(self.type(element_of(dtype), is_row))

        signature = ", ".join(f"{name}: {type_}" for name, type_, _ in inputs + outputs)
        arguments = ", ".join(
            f"%in{i}: {self.argument(v)}" for wanted in INPUT_KINDS
            for i, v in enumerate(program.inputs) if self.kind(v) == wanted)
        ordered = [value for values, order in ((inputs, INPUT_KINDS), (outputs, OUTPUT_KINDS))
                   for wanted in order for value in values if self.kind(value[2]) == wanted]
        names = ", ".join(f'"{name[1:]}"' for name, _, _ in ordered)
        name = program.name()
        return "\n".join([
            f"func.func @{name}({signature}) {{",
            f"  lnbwd.rowwise @{name} domain({', '.join(n for n, _, _ in self.row_dims)} | "
            + ", ".join(n for n, _, _ in self.column_dims) + ")"
            + (f"\n      ins({ins})" if (ins := self.operands(inputs, INPUT_KINDS)) else ""),
            f"      outs({self.operands(outputs, OUTPUT_KINDS)})",
            f"      attributes {{operand_names = [{names}]}} {{",
            f"  ^row({arguments}):",
            *self.lines,
            f"    lnbwd.yield {', '.join(results)} : {', '.join(types)}",
            "  }",
            "  return",
            "}", ""])
