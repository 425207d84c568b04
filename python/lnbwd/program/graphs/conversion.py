# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The state of a conversion: the values of nodes, and errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.fx import Node

from ..operands import CONDITIONS, Input
from ..row_program import Builder
from .domains import ELEMENTS, SCALARS, SMALL, Domain
from .nodes import is_constant, is_view, number_of
from .operations import reduces_rows

aten = torch.ops.aten


class Unsupported(Exception):
    """A node cannot be part of a row program; says why."""


class UnsupportedOperation(Unsupported):
    """No row program has this operation, whatever its operands."""


LARGEST_EXACT = 2 ** 24
"""Integers are float32 inside. Up to here they are the same."""

_Handler = Callable[["Conversion", Node], Any]

HANDLERS: dict[Any, _Handler] = {}
"""For each operation, the function that makes its value: a number of the program's node, or
several."""


def converts(*targets: Any) -> Callable[[_Handler], _Handler]:
    """Has a function be the handler of operations, the only one of each."""
    assert HANDLERS.keys().isdisjoint(targets), targets

    def register(handler: _Handler) -> _Handler:
        HANDLERS.update(dict.fromkeys(targets, handler))
        return handler

    return register


class Conversion:
    """Makes the nodes of one row program.

    Attributes:
        builder: what has been made.
        values: for each converted node, its value; for a variance with its mean, both.
        inputs: the nodes that are read, each with its :class:`Input`, and their values.
        over: the row block, or the lead, that the operands of the node at hand are spread over.
    """

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        self.builder = Builder(domain.length)
        self.values: dict[Node, Any] = {}
        self.inputs: dict[tuple[Node, Input], int] = {}
        self.over: torch.Tensor | None = None
        self._masks: set[int] = set()

    def read(self, node: Node) -> int:
        """A node from outside, as an input."""
        value = node.meta.get("val")
        if isinstance(value, torch.SymInt):
            raise Unsupported("computes with the number of rows")
        role = self.domain.role(value)
        if role is None:
            raise Unsupported(f"reads {describe(value)}, which is neither a row block, a row "
                              f"scalar nor a column of {self.domain}")
        if role == "lead":
            raise Unsupported("reads a number for each part of a row")
        known = ELEMENTS if role == "row" else SCALARS if role == "scalar" else SMALL
        if value.dtype not in known:  # type: ignore[union-attr]
            raise Unsupported(f"reads a {role} of {value.dtype}")  # type: ignore[union-attr]
        return self.input(node, Input(role, known[value.dtype]))  # type: ignore[union-attr]

    def input(self, node: Node, place: Input) -> int:
        """The value of an input that is read as ``place`` says."""
        if (node, place) not in self.inputs:
            self.inputs[node, place] = result = self.builder.add("input", len(self.inputs))
            if place.dtype == "i8":
                self._masks.add(result)
        return self.inputs[node, place]

    def value(self, argument: Any) -> int:
        """The value of a node's argument."""
        if isinstance(argument, (int, float)):
            return self.builder.constant(argument)
        if not isinstance(argument, Node):
            raise Unsupported(f"has the argument {argument}")
        if is_constant(argument):
            return self.builder.constant(number_of(argument))
        if argument not in self.values:
            return self.read(argument)
        if self.over is not None and is_misplaced(argument, self.over, self.domain):
            raise Unsupported(f"spreads {argument.name} in its own way")
        return int(self.values[argument])

    def is_condition(self, value: int) -> bool:
        """Whether a value is a condition, not a number."""
        return value in self._masks or self.builder.nodes[value][0] in CONDITIONS

    def number(self, argument: Any) -> int:
        """The value of a node's argument as a number: 1 and 0 for booleans."""
        value = self.value(argument)
        if not self.is_condition(value):
            return value
        return self.builder.add("select", value, self.builder.constant(1),
                                self.builder.constant(0))

    def condition(self, argument: Any) -> int:
        """The value of a node's argument as a condition: of a number, whether it is not 0."""
        value = self.value(argument)
        if self.is_condition(value):
            return value
        return self.builder.add("ne", value, self.builder.constant(0))

    def convert(self, node: Node) -> None:
        """Makes the value of a node, for which :func:`check` holds.

        Raises:
            Unsupported: the node cannot be part of a row program.
        """
        self.over = spread_over(node, self.domain)
        value = HANDLERS[node.target](self, node)
        if isinstance(value, int) and self.is_condition(value) != (
                node.meta["val"].dtype == torch.bool):
            raise UnsupportedOperation(f"{node.target} of booleans is no operation of row programs")
        self.values[node] = value

    def multiply(self, value: int, factor: float) -> int:
        """A value times a constant."""
        return (value if factor == 1
                else self.builder.add("mul", value, self.builder.constant(factor)))

    def mean(self, value: int) -> int:
        """The mean of a row."""
        return self.multiply(self.builder.add("row_sum", value), 1 / self.domain.length)


def spread_over(node: Node, domain: Domain) -> torch.Tensor | None:
    """The row block, or the lead, that a node makes of operands that are spread over it; None where
    it makes something else, or keeps the elements in their order."""
    value = node.meta.get("val")
    is_spread = not is_view(node) or node.target in (aten.expand.default, aten.clone.default)
    if reduces_rows(node) or not is_spread or domain.role(value) not in ("row", "lead"):
        return None
    return value


def is_misplaced(source: Node, over: torch.Tensor, domain: Domain) -> bool:
    """Whether a tensor that is spread over a row block is placed differently from its shape: a
    weight of as many channels as there are rows."""
    value = source.meta.get("val")
    return isinstance(value, torch.Tensor) and value.shape != over.shape and (
        domain.place(value, over) != domain.role(value))


def describe(value: Any) -> str:
    """A tensor's type and shape, for a message."""
    if isinstance(value, torch.Tensor):
        return f"{value.dtype} {list(value.shape)}".replace("torch.", "")
    return type(value).__name__


def pick(c: Conversion, value: int, is_it: int) -> int:
    """The element of a row where a condition holds: of all the others, 0 is added to it."""
    return c.builder.add("row_sum", c.builder.add("select", is_it, value, c.builder.constant(0)))
