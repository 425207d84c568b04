# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How a row program is written: node by node, or by arithmetic on values."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import Any

from .operands import INPUT_KINDS, OUTPUT_KINDS, Input, Output
from .row_program import Builder, RowProgram


def _operator(name: str) -> Callable[[Value, Value | float | int], Value]:
    return lambda left, right: left.node(name, left, left.made(right))


def _reversed(name: str) -> Callable[[Value, float], Value]:
    return lambda right, left: right.node(name, right.made(left), right)


@dataclasses.dataclass(frozen=True)
class Value:
    """A node of a builder, for programs that are written by hand: ``x * y + 1.0`` is nodes, and
    ``x.max(y)`` is the node "max" of both. Floats are constants, and integers beside operators."""

    builder: Builder
    index: int

    def node(self, name: str, *operands: Any) -> Value:
        """Adds a node with these operands: floats, values and attributes."""
        return Value(self.builder, self.builder.add(name, *(
            self.builder.constant(o) if isinstance(o, float) else
            o.index if isinstance(o, Value) else o for o in operands)))

    def made(self, number: Any) -> Any:
        """A whole number as a value; others as they are."""
        return Value(self.builder, self.builder.integer(number)) if isinstance(
            number, int) else number

    def __getattr__(self, name: str) -> Callable[..., Value]:
        if name.startswith("_"):
            raise AttributeError(name)
        return functools.partial(self.node, name, self)

    __add__, __sub__, __mul__ = _operator("add"), _operator("sub"), _operator("mul")
    __truediv__, __lt__ = _operator("div"), _operator("lt")
    __rsub__, __rtruediv__ = _reversed("sub"), _reversed("div")

    def mean(self) -> Value:
        """The mean of a row."""
        return self.row_sum() * (1 / self.builder.length)


class Draft:
    """A program that is written by hand, with names for its operands: inputs in the order that
    programs have, their values, and outputs in the order of the arguments within each kind."""

    def __init__(self, length: int, inputs: Mapping[str, Input]) -> None:
        self.length, self.builder = length, Builder(length)
        self.inputs = dict(sorted(inputs.items(), key=lambda i: INPUT_KINDS.index(i[1].kind)))
        self.values = {name: Value(self.builder, self.builder.add("input", place))
                       for place, name in enumerate(self.inputs)}
        self.outputs: dict[str, Output] = {}

    def write(self, name: str, kind: str, dtype: str, value: Value, block: int = 1,
              parts: tuple[tuple[int, ...], ...] = ()) -> None:
        """Adds an output."""
        self.outputs[name] = Output(kind, dtype, value.index, block, parts)

    def scaled(self, y: Value, weight: str = "weight", bias: str = "bias") -> Value:
        """A normalised row with its weight and bias, where there are some."""
        if weight in self.values:
            y = y * self.values[weight]
        return y + self.values[bias] if bias in self.values else y

    def norm_gradient(self, dy: Value, x: Value, weight: str = "weight") -> tuple[Value, Value]:
        """The gradient of a norm, with a "mean" or not, for ``x``; and the normalised row."""
        mean, rstd = self.values.get("mean"), self.values["rstd"]
        xhat = (x if mean is None else x - mean) * rstd
        wdy = dy * self.values[weight] if weight in self.values else dy
        inner = wdy - xhat * (wdy * xhat).mean()
        if mean is not None:
            inner = inner - wdy.mean()
        return inner * rstd, xhat

    def finish(self, rows: int | None, expected_rows: int | None = None) -> tuple[
            RowProgram, tuple[str, ...]]:
        """The program, and the names of its outputs in order."""
        names = sorted(self.outputs, key=lambda name: OUTPUT_KINDS.index(self.outputs[name].kind))
        program = self.builder.finish(rows, [*self.inputs.values()],
                                      [self.outputs[name] for name in names])
        return dataclasses.replace(program, expected_rows=expected_rows), tuple(names)
