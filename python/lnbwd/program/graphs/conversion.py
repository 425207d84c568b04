# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converts the operations of a row function's graph to those of a row program."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import Any

import torch
from torch.fx import Node

from ..operands import COMPARISONS, CONDITIONS, Input
from ..row_program import Builder
from .nodes import (
    ELEMENTS,
    FLOATS,
    INTEGERS,
    SCALARS,
    SMALL,
    Domain,
    is_constant,
    is_index,
    is_view,
    known,
    number_of,
    of_kinds,
    reduces_rows,
    row_sum_axis,
    sources,
)

aten, prims = torch.ops.aten, torch.ops.prims


class Unsupported(Exception):
    """A node cannot be part of a row program; says why."""


class UnsupportedOperation(Unsupported):
    """No row program has this operation, whatever its operands."""


LARGEST_EXACT = 2 ** 24
"""Integers are float32 inside. Up to here they are the same."""

_Handler = Callable[["Conversion", Node], Any]

HANDLERS: dict[Any, _Handler] = {}
"""For each operation the function that makes its value, a program's node, or several."""


def converts(*targets: Any) -> Callable[[_Handler], _Handler]:
    """Has a function be the handler of operations, the only one of each."""
    assert HANDLERS.keys().isdisjoint(targets), targets

    def register(handler: _Handler) -> _Handler:
        HANDLERS.update(dict.fromkeys(targets, handler))
        return handler

    return register


class Conversion:
    """Makes the nodes of one row program: the values of converted nodes, both of a variance with
    its mean; the nodes that are read, with their :class:`Input` and value; and ``over``, the row
    block or the lead that the operands of the node at hand are spread over."""

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
        return self.builder.add("select", value, self.builder.constant(1), self.builder.constant(0))

    def condition(self, argument: Any) -> int:
        """The value of a node's argument as a condition: of a number, whether it is not 0."""
        value = self.value(argument)
        if self.is_condition(value):
            return value
        return self.builder.add("ne", value, self.builder.constant(0))

    def convert(self, node: Node) -> None:
        """Makes the value of a node, for which :func:`check` holds, or raises Unsupported."""
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
    """Whether a tensor is spread over a row block against its shape: as many channels as rows."""
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


converts(*of_kinds("numbers"))(lambda c, node: c.builder.add(
    known(node.target).node, *map(c.number, node.args)))
converts(*of_kinds("conditions"))(lambda c, node: c.builder.add(
    known(node.target).node, *map(c.condition, node.args)))
converts(aten.sign.default)(lambda c, node: c.builder.sign(c.number(node.args[0])))
converts(aten.sigmoid.default)(lambda c, node: c.builder.sigmoid(c.number(node.args[0])))
converts(aten.reciprocal.default)(lambda c, node: c.builder.add(
    "div", c.builder.constant(1), c.number(node.args[0])))
converts(aten.where.self)(lambda c, node: c.builder.add(
    "select", c.condition(node.args[0]), *map(c.number, node.args[1:3])))
# Booleans and integers, or to booleans.
converts(prims.convert_element_type.default)(lambda c, node: (
    c.condition if node.meta["val"].dtype == torch.bool else c.number)(node.args[0]))


@converts(aten.mul.Tensor, aten.mul.Scalar)
def _product(c: Conversion, node: Node) -> int:
    is_and = node.meta["val"].dtype == torch.bool
    first, second = map(c.condition if is_and else c.number, node.args)
    return c.builder.add("and" if is_and else "mul", first, second)


@converts(aten.div.Tensor, aten.div.Scalar)
def _quotient(c: Conversion, node: Node) -> int:
    first, second = map(c.number, node.args)
    divisor = c.builder.number(second)
    # Exact for powers of two alone.
    if divisor and math.frexp(abs(divisor))[0] == 0.5:
        return c.multiply(first, 1 / divisor)
    return c.builder.add("div", first, second)


@converts(*of_kinds("sum"))
def _sum_of_two(c: Conversion, node: Node) -> int:
    alpha = node.kwargs.get("alpha", 1)
    if not isinstance(alpha, (int, float)):
        raise Unsupported(f"has the factor {alpha}")
    second = c.multiply(c.number(node.args[1]), alpha)
    return c.builder.add(known(node.target).node, c.number(node.args[0]), second)


@converts(*([prims.fma.default] if hasattr(prims, "fma") else []))
def _fma(c: Conversion, node: Node) -> int:
    # The product is not rounded: the compiler contracts it with the sum.
    first, second, addend = (c.number(argument) for argument in node.args[:3])
    return c.builder.add("add", c.builder.add("mul", first, second), addend)


@converts(aten.addcmul.default)
def _addcmul(c: Conversion, node: Node) -> int:
    addend, first, second = map(c.number, node.args)
    factor: Any = node.kwargs.get("value", 1)
    product = c.multiply(c.builder.add("mul", first, second), factor)
    return c.builder.add("add", addend, product)


def _is_exact(argument: Any) -> bool:
    """Whether an operand of a comparison is an integer, or integers, that float32 has."""
    while isinstance(argument, Node) and is_view(argument):
        argument = argument.args[0]
    if isinstance(argument, Node) and is_constant(argument):
        argument = number_of(argument)
    if isinstance(argument, Node):
        return is_index(argument)
    return isinstance(argument, int) and abs(argument) < LARGEST_EXACT


@converts(*of_kinds("view"))
def _view(c: Conversion, node: Node) -> int:
    source: Any = node.args[0]
    before, after = source.meta["val"], node.meta["val"]
    if node.target in (aten.permute.default, aten.as_strided.default) and not (
            before.is_contiguous() and after.is_contiguous()):
        raise UnsupportedOperation("changes the order of elements")
    value = c.value(source)
    return c.condition(source) if after.dtype == torch.bool else value


@converts(aten.pow.Tensor_Scalar, aten.square.default)
def _power(c: Conversion, node: Node) -> int:
    exponent = 2 if node.target is aten.square.default else node.args[1]
    if not isinstance(exponent, (int, float)) or not math.isfinite(exponent):
        raise Unsupported(f"has the exponent {exponent}")
    return c.builder.power(c.number(node.args[0]), exponent)


@converts(aten.relu.default)
def _relu(c: Conversion, node: Node) -> int:
    # Not the larger of two: the slope is 0 at 0, and a NaN stays one.
    value, zero = c.number(node.args[0]), c.builder.constant(0)
    return c.builder.add("select", c.builder.add("le", value, zero), zero, value)


@functools.cache
def clamp_has_slopes_at_bounds() -> bool:
    """Whether the gradient of PyTorch's clamp is 1 at its bounds, as up to 2.13, and not 0."""
    x = torch.zeros((), dtype=torch.float32, device="cpu", requires_grad=True)
    return bool(torch.autograd.grad(x.clamp(min=0), x)[0])


@converts(aten.clamp.default, aten.clamp_min.default, aten.clamp_max.default)
def _clamp(c: Conversion, node: Node) -> int:
    value = c.number(node.args[0])
    # The comparison that says that the result is the bound, which has no slope.
    below, above = ("lt", "gt") if clamp_has_slopes_at_bounds() else ("le", "ge")
    names = {aten.clamp_min.default: (below,), aten.clamp_max.default: (above,)}
    bounds = names.get(node.target, (below, above))  # type: ignore[call-overload]
    given = list(node.args[1:]) + [None] * (len(bounds) - len(node.args) + 1)
    # A NaN has no slope. (The forward pass has nothing of this.)
    value = c.builder.add("select", c.builder.add("eq", value, value), value,
                          c.builder.add("detach", value))
    for position, (name, bound) in enumerate(zip(bounds, given, strict=False)):
        if bound is None:
            bound = node.kwargs.get(("min", "max")[position])
        if bound is not None:
            limit = c.number(bound)
            value = c.builder.add("select", c.builder.add(name, value, limit), limit, value)
    return value


def check(node: Node, domain: Domain) -> None:
    """Raises :class:`Unsupported` if a row program has no such results or operands."""
    if node.op != "call_function":
        raise Unsupported(f"is a {node.op}")
    if node.target not in HANDLERS:
        raise UnsupportedOperation(f"{node.target} is no operation of row programs")
    value = node.meta.get("val")
    is_sum, where = reduces_rows(node), known(node.target).place
    takes_integers = is_view(node) or node.target is aten.where.self
    if node.target is operator.getitem:
        pair = node.args[0]
        if (not isinstance(pair, Node) or row_sum_axis(pair) != domain
                or not (pair.target is aten.var_mean.correction or known(pair.target).place == 1)):
            raise Unsupported("takes a part of a tuple")
        return
    if isinstance(value, torch.Tensor) and not is_sum and domain.role(value) in (None, "number"):
        raise Unsupported(f"gives {describe(value)}, which is no row block, row scalar or column "
                          f"of {domain}")
    results = value if isinstance(value, tuple) else (value,)
    for place, result in enumerate(results):
        if not isinstance(result, torch.Tensor) or not (
                result.dtype in ELEMENTS or (result.dtype in INTEGERS and (
                    takes_integers or where == place))):
            raise Unsupported(f"gives {describe(result)}")
    role, over = domain.role(results[0]), spread_over(node, domain)
    for source in sources(node):
        given = source.meta["val"]
        if is_constant(source):
            continue
        if not isinstance(given, torch.Tensor):
            raise Unsupported("takes a tuple")
        kind = domain.role(given) if over is None else domain.place(given, over)
        if kind == "lead" and over is not None and is_misplaced(source, over, domain):
            raise Unsupported(f"spreads {source.name} in its own way")
        if kind is None or (kind == "number" and given.dtype not in SMALL):
            raise Unsupported(f"reads {describe(given)}")
        if over is None and not is_sum and kind not in (role, "number"):
            raise Unsupported(f"makes a {role} of a {kind}")
        if given.dtype != torch.bool and given.dtype not in FLOATS and not (
                given.dtype in INTEGERS and (
                    takes_integers or node.target is prims.convert_element_type.default
                    or (known(node.target).node in COMPARISONS and any(
                        map(_is_exact, node.args))))):
            raise Unsupported(f"reads elements of {given.dtype}")
