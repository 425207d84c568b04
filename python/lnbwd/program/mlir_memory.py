# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The types of a row program's tensors in memory, as MLIR has them."""

from __future__ import annotations

import math

from .operands import (
    SUM_KINDS,
    TABLES,
    Input,
    Output,
    element_of,
)
from .row_program import RowProgram


class Layout:
    """How the tensors of a program lie in memory, by the dimensions of its rows and columns."""

    def __init__(self, program: RowProgram) -> None:
        self.program = program
        self.row_dims, self.column_dims = program.row_dims(), program.column_dims()
        self.dims = [*self.row_dims, *self.column_dims]

    def dims_of(self, value: Input | Output) -> list[tuple[str, int | None, int]]:
        """The dimensions of a tensor: of each its index, its size, and, of one that is strided, its
        elements from one index to the next."""
        if value.parts:
            return self.dims_of_parts(value)
        kind, found = value.dims, []
        for name, distance, size in self.row_dims:
            if kind.has_groups if self.is_of_groups(name, distance) else kind.has_rows:
                found.append((name, size, 0))
        if isinstance(value, Input) and value.kind in TABLES:
            found = [("*", value.rows, 0)]
            if value.kind == "elements":
                return found
        block = value.block if isinstance(value, Output) else 1
        return found + [(name, size, 0) for name, distance, size in self.column_dims
                        if kind.has_columns and distance >= block]

    def is_of_groups(self, name: str, distance: int) -> bool:
        """Whether a row dimension is one of the groups."""
        group = self.program.group_size() or 0
        return self.program.has_groups and (
            name == "b" or bool(group and name != "t" and distance >= group))

    def dims_of_place(self, distance: int, size: int) -> list[int]:
        """The dimensions that make an index. The one column of rows of one element makes none."""
        rows = len(self.row_dims)
        return [dim for dim, (_, step, _) in enumerate(self.dims)
                if distance <= step < distance * size and (dim < rows or self.program.length > 1)]

    def dims_of_parts(self, value: Input | Output) -> list[tuple[str, int | None, int]]:
        """The same of a tensor that has parts of the dimensions."""
        found = []
        for name, distance, size in self.dims:
            part = next((p for p in value.parts if p[0] <= distance < p[0] * p[1]), None)
            if part is None:
                # (Of a single row all have it: one must, to be a row block.)
                if distance >= (length := self.program.length) and (
                        value.kind == "lead" or (
                            value.kind == "group_column" and self.is_of_groups(name, distance))
                        or (self.program.rows == 1 and value.is_row(length))):
                    found.append((name, size, length))
                continue
            first, _, *rest = part
            index = name
            if distance == first and len(rest) > 1:
                index, size = f"{name} + {rest[1] or rest[2]}", rest[2]
            found.append((index, size, distance // first * rest[0] if rest else 0))
        return found

    def memory(self, value: Input | Output) -> str:
        """The type of a tensor."""
        dims = self.dims_of(value)
        shape = "x".join(["?" if size is None else str(size) for _, size, _ in dims]
                         + [element_of(value.dtype)])
        strides = ", ".join(str(stride) for _, _, stride in dims)
        return f"memref<{shape}{f', strided<[{strides}]>' if value.is_strided else ''}>"

    def kind(self, value: Input | Output) -> str:
        """The kind of a part for the compiler, which orders operands by kinds."""
        length = self.program.length
        if value.kind in SUM_KINDS:  # Of one index of each other dimension, a sum over all rows.
            is_of_all = bool(value.parts) and math.prod(value.parts[0]) <= length
            return (value.kind.replace("part_total", "total").replace("part_", "column_")
                    if is_of_all else value.kind)
        if not value.parts or value.kind == "group_column":
            return value.kind
        if not value.is_row(length):
            return "scalar"
        of_rows = any(d * size > length for d, size, *_ in value.parts)
        is_all = value.kind == "lead" or self.program.rows == 1
        return "row" if of_rows or is_all else "column"
