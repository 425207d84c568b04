# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A row program as MLIR: a function with one ``lnbwd.rowwise`` on memrefs."""

from __future__ import annotations

from collections.abc import Sequence

from ..core.base.mlir import Access, function, rowwise
from .mlir_values import Values
from .operands import INPUT_KINDS, OUTPUT_KINDS, SUM_KINDS, Input, Output, element_of
from .row_program import RowProgram


def mlir(program: RowProgram, is_exact: bool = False) -> str:
    """A function with the program, on memrefs: inputs, then outputs.

    Args:
        program: the row program.
        is_exact: no function takes its cheaper form: for the source of a gradient, the outputs of
            which may have more digits.
    """
    return Writer(program, is_exact).write()


class Writer(Values):
    """Writes a program as MLIR."""

    def arguments(self) -> dict[str, str]:
        """The inputs in the region, in the order of their kinds to the compiler."""
        return {f"in{i}": self.argument(v) for kind in INPUT_KINDS
                for i, v in enumerate(self.program.inputs) if self.kind(v) == kind}

    def results(self) -> list[tuple[str, str]]:
        """Writes all values; the outputs' and their types, likewise."""
        for index, node in enumerate(self.program.nodes):
            if node[0] not in ("constant", "index"):
                self.names[index] = self.node(index)
        results = []
        for output in (o for k in OUTPUT_KINDS for o in self.program.outputs if self.kind(o) == k):
            is_row = output.is_row(self.program.length)
            dtype = "f32" if output.kind in SUM_KINDS else output.dtype
            if dtype == "f32" and self.types[output.value] != "f32":
                raise ValueError(f"expected a number for what is written as {output.kind}, got "
                                 f"{self.types[output.value]}; convert it by 'float' or 'select'")
            results.append((self.value(output.value, is_row) if dtype == "f32"
                            else self.rounded(output.value, dtype, is_row),
                            self.type(element_of(dtype), is_row)))
        return results

    def accesses(self, name: str, values: Sequence[Input | Output],
                 order: Sequence[str]) -> list[Access]:
        """Operands in the order of their kinds to the compiler."""
        return [Access(f"{name}{i}", ", ".join(index for index, _, _ in self.dims_of(v)),
                       self.memory(v), SUM_KINDS.get(kind, ""))
                for kind in order for i, v in enumerate(values) if self.kind(v) == kind]

    def write(self) -> str:
        """The function."""
        program, name = self.program, self.program.name()
        inputs = self.accesses("arg", program.inputs, INPUT_KINDS)
        outputs = self.accesses("out", program.outputs, OUTPUT_KINDS)
        domain = " | ".join(", ".join(n for n, _, _ in dims)
                            for dims in (self.row_dims, self.column_dims))
        results = self.results()
        memory = {f"arg{i}": self.memory(v) for i, v in enumerate(program.inputs)}
        memory |= {f"out{i}": self.memory(v) for i, v in enumerate(program.outputs)}
        return function(name, memory, rowwise(name, domain, inputs, outputs, self.arguments(),
                                              self.lines, results))
