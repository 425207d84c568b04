# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From the operations of a row function's graph to those of a row program."""

from __future__ import annotations

import concurrent.futures
import functools
import math
import operator
from collections.abc import Callable
from typing import Any

import torch
from torch.fx import Node

from ..operands import COMPARISONS, CONDITIONS, Input
from ..row_program import Builder
from .domains import ELEMENTS, FLOATS, INTEGERS, SCALARS, SMALL, Domain
from .nodes import (
    CONSTANTS,
    INDICES,
    NORM,
    ROW_SUMS,
    SOFTMAXES,
    VIEWS,
    WITH_INDICES,
    is_block_max,
    is_constant,
    is_index,
    is_view,
    row_sum_axis,
    sources,
    sum_kind,
    summed_dims,
)

aten, prims = torch.ops.aten, torch.ops.prims

class Unsupported(Exception):
    """A node cannot be part of a row program; says why."""


class UnsupportedOperation(Unsupported):
    """No row program has what a node computes, whatever it computes it of."""


LARGEST_EXACT = 2 ** 24
"""Integers are float32 inside. Up to here they are the same."""

_Handler = Callable[["Conversion", Node], Any]

_HANDLERS: dict[Any, _Handler] = {}
"""For each operation what makes its value: a number of the program's node, or several."""


def converts(*targets: Any) -> Callable[[_Handler], _Handler]:
    """Has a function be the handler of operations, the only one of each."""
    assert _HANDLERS.keys().isdisjoint(targets), targets

    def register(handler: _Handler) -> _Handler:
        _HANDLERS.update(dict.fromkeys(targets, handler))
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
            return self.builder.constant(
                argument.args[CONSTANTS[argument.target]])  # type: ignore[arg-type, index]
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
        value = _HANDLERS[node.target](self, node)
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
    is_spread = node.target not in VIEWS or node.target in (aten.expand.default, aten.clone.default)
    if node.target in ROW_SUMS or not is_spread or domain.role(value) not in ("row", "lead"):
        return None
    return value


def is_misplaced(source: Node, over: torch.Tensor, domain: Domain) -> bool:
    """Whether a node that is spread over a row block is not there what its shape says alone: a
    weight of as many channels as there are rows."""
    value = source.meta.get("val")
    return isinstance(value, torch.Tensor) and value.shape != over.shape and (
        domain.place(value, over) != domain.role(value))


def describe(value: Any) -> str:
    """A tensor's type and shape, for a message."""
    if isinstance(value, torch.Tensor):
        return f"{value.dtype} {list(value.shape)}".replace("torch.", "")
    return type(value).__name__


_COMPARISONS = {getattr(getattr(aten, name), kind): name for name in COMPARISONS
                for kind in ("Tensor", "Scalar")}

_NUMBERS = {
    aten.neg.default: "neg", aten.abs.default: "abs", aten.exp.default: "exp",
    aten.exp2.default: "exp2", aten.expm1.default: "expm1", aten.log.default: "log",
    aten.log2.default: "log2", aten.log1p.default: "log1p", aten.sqrt.default: "sqrt",
    aten.rsqrt.default: "rsqrt", aten.tanh.default: "tanh", aten.erf.default: "erf",
    aten.floor.default: "floor", aten.ceil.default: "ceil", aten.trunc.default: "trunc",
    aten.round.default: "roundeven", aten.sin.default: "sin", aten.cos.default: "cos",
    aten.maximum.default: "max", aten.minimum.default: "min", **_COMPARISONS}
"""Operations of all their arguments as numbers."""

_CONDITIONS = {
    aten.logical_and.default: "and", aten.logical_or.default: "or",
    aten.logical_xor.default: "xor", aten.bitwise_and.Tensor: "and",
    aten.bitwise_or.Tensor: "or", aten.bitwise_xor.Tensor: "xor",
    aten.logical_not.default: "not", aten.bitwise_not.default: "not"}
"""Those of all their arguments as conditions."""

# Those that take a factor for the second operand, alpha.
_SUMS_OF_TWO = {aten.add.Tensor: "add", aten.add.Scalar: "add", aten.sub.Tensor: "sub",
                aten.sub.Scalar: "sub"}


@converts(*_NUMBERS)
def _of_numbers(c: Conversion, node: Node) -> int:
    return c.builder.add(_NUMBERS[node.target], *map(c.number, node.args))


@converts(*_CONDITIONS)
def _of_conditions(c: Conversion, node: Node) -> int:
    return c.builder.add(_CONDITIONS[node.target],  # type: ignore[index]
                         *map(c.condition, node.args))


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


@converts(*_SUMS_OF_TWO)
def _sum_of_two(c: Conversion, node: Node) -> int:
    alpha = node.kwargs.get("alpha", 1)
    if not isinstance(alpha, (int, float)):
        raise Unsupported(f"has the factor {alpha}")
    second = c.multiply(c.number(node.args[1]), alpha)
    return c.builder.add(_SUMS_OF_TWO[node.target],  # type: ignore[index]
                         c.number(node.args[0]), second)


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


@converts(aten.where.self)
def _select(c: Conversion, node: Node) -> int:
    condition, *values = node.args[:3]
    return c.builder.add("select", c.condition(condition), *map(c.number, values))


def _is_exact(argument: Any) -> bool:
    """Whether an operand of a comparison is an integer, or integers, that float32 has."""
    while isinstance(argument, Node) and is_view(argument):
        argument = argument.args[0]
    if isinstance(argument, Node) and is_constant(argument):
        argument = argument.args[CONSTANTS[argument.target]]  # type: ignore[index]
    if isinstance(argument, Node):
        return is_index(argument)
    return isinstance(argument, int) and abs(argument) < LARGEST_EXACT


def _pick(c: Conversion, value: int, is_it: int) -> int:
    """The element of a row where a condition holds: of all the others, 0 is added to it."""
    return c.builder.add("row_sum", c.builder.add("select", is_it, value, c.builder.constant(0)))


@converts(*VIEWS)
def _view(c: Conversion, node: Node) -> int:
    source: Any = node.args[0]
    before, after = source.meta["val"], node.meta["val"]
    if node.target in (aten.permute.default, aten.as_strided.default) and not (
            before.is_contiguous() and after.is_contiguous()):
        raise UnsupportedOperation("changes the order of elements")
    value = c.value(source)
    return c.condition(source) if after.dtype == torch.bool else value


@converts(prims.convert_element_type.default)
def _cast(c: Conversion, node: Node) -> int:
    """Of booleans and integers, or to booleans."""
    is_condition = node.meta["val"].dtype == torch.bool
    return (c.condition if is_condition else c.number)(node.args[0])


@converts(aten.pow.Tensor_Scalar, aten.square.default)
def _power(c: Conversion, node: Node) -> int:
    exponent = 2 if node.target is aten.square.default else node.args[1]
    if not isinstance(exponent, (int, float)) or not math.isfinite(exponent):
        raise Unsupported(f"has the exponent {exponent}")
    return c.builder.power(c.number(node.args[0]), exponent)


@converts(aten.sign.default)
def _sign(c: Conversion, node: Node) -> int:
    """0 of 0 and of a NaN, as PyTorch has it."""
    b, value = c.builder, c.number(node.args[0])
    zero = b.constant(0)
    rest = b.add("select", b.add("lt", value, zero), b.constant(-1), zero)
    return b.add("select", b.add("gt", value, zero), b.constant(1), rest)


@converts(aten.reciprocal.default)
def _reciprocal(c: Conversion, node: Node) -> int:
    return c.builder.add("div", c.builder.constant(1), c.number(node.args[0]))


@converts(aten.sigmoid.default)
def _sigmoid(c: Conversion, node: Node) -> int:
    one = c.builder.constant(1)
    power = c.builder.add("exp", c.builder.add("neg", c.number(node.args[0])))
    return c.builder.add("div", one, c.builder.add("add", one, power))


@converts(aten.relu.default)
def _relu(c: Conversion, node: Node) -> int:
    # Not the larger of two: the slope is 0 at 0, and a NaN stays one.
    value, zero = c.number(node.args[0]), c.builder.constant(0)
    return c.builder.add("select", c.builder.add("le", value, zero), zero, value)


@functools.cache
def clamp_has_slopes_at_bounds() -> bool:
    """Whether the gradient of PyTorch's clamp, by numbers, is 1 at the bounds, as it is up to 2.13,
    and not 0."""
    def slope() -> bool:
        x = torch.zeros((), dtype=torch.float32, device="cpu", requires_grad=True)
        return bool(torch.autograd.grad(x.clamp(min=0), x)[0])

    # A thread of its own is in none of the caller's modes, transforms and hooks.
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        return pool.submit(slope).result()


@converts(aten.clamp.default, aten.clamp_min.default, aten.clamp_max.default)
def _clamp(c: Conversion, node: Node) -> int:
    value = c.number(node.args[0])
    # The comparison that says that the result is the bound, which has no slope.
    below, above = ("lt", "gt") if clamp_has_slopes_at_bounds() else ("le", "ge")
    names = {aten.clamp_min.default: (below,), aten.clamp_max.default: (above,)}
    bounds = names.get(node.target, (below, above))  # type: ignore[call-overload]
    given = list(node.args[1:]) + [None] * (len(bounds) - len(node.args) + 1)
    for position, (name, bound) in enumerate(zip(bounds, given, strict=False)):
        if bound is None:
            bound = node.kwargs.get(("min", "max")[position])
        if bound is not None:
            limit = c.number(bound)
            value = c.builder.add("select", c.builder.add(name, value, limit), limit, value)
    return value


def _check_row(c: Conversion, node: Node) -> int:
    value = node.args[0].meta.get("val")  # type: ignore[union-attr]
    if c.domain.role(value) != "row":
        raise Unsupported("sums over something else than a row")
    return c.number(node.args[0])


def _row_sum(c: Conversion, node: Node) -> Any:
    if is_block_max(node, c.domain):
        return c.builder.add("block_max", _check_row(c, node),
                             c.domain.repeats(node.meta["val"]), 1)
    if row_sum_axis(node) != c.domain:
        raise Unsupported(f"does not sum over rows of {c.domain}")
    value = _check_row(c, node)
    if node.target is aten.amax.default:
        return c.builder.add("row_max", value)
    if node.target in (aten.any.dim, aten.any.dims):
        zero = c.builder.constant(0)
        if not c.is_condition(c.value(node.args[0])):
            # A NaN is not 0.
            value = c.builder.add("select", c.builder.add("eq", value, zero), zero,
                                  c.builder.constant(1))
        return c.builder.add("ne", c.builder.add("row_max", value), zero)
    if node.target is aten.amin.default:
        return c.builder.add("neg", c.builder.add("row_max", c.builder.add("neg", value)))
    if node.target in INDICES or node.target in WITH_INDICES:
        return _place_of_largest(c, node, value)
    if node.target is NORM:
        return _norm(c, node, value)
    if node.target is aten.sum.dim_IntList:
        return c.builder.add("row_sum", value)
    mean = c.mean(value)
    if node.target is aten.mean.dim:
        return mean
    correction = node.kwargs.get("correction", 1)
    if not isinstance(correction, (int, float)) or correction >= c.domain.length:
        raise Unsupported(f"has the correction {correction}")
    centred = c.builder.add("sub", value, mean)
    total = c.builder.add("row_sum", c.builder.add("mul", centred, centred))
    variance = c.multiply(total, 1 / (c.domain.length - correction))
    return (variance, mean) if node.target is aten.var_mean.correction else variance


def _place_of_largest(c: Conversion, node: Node, value: int) -> Any:
    """The number of the first of a row's largest elements, of which a NaN is one, or of its
    smallest, or that element and its number. The element's gradient is its own alone."""
    if c.domain.length > LARGEST_EXACT:
        raise Unsupported("gives numbers that float32 does not have")
    b = c.builder
    sized = b.add("neg", value) if node.target in (aten.argmin.default, aten.min.dim) else value
    is_it = b.add("or", b.add("eq", sized, b.add("detach", b.add("row_max", sized))),
                  b.add("ne", sized, sized))
    place = b.add("select", is_it, b.add("neg", b.add("index")), b.constant(-math.inf))
    first = b.add("detach", b.add("neg", b.add("row_max", place)))
    if node.target in INDICES:
        return first
    return _pick(c, value, b.add("eq", b.add("index"), first)), first


def _norm(c: Conversion, node: Node, value: int) -> int:
    """The p-norm of a row. Its gradient is 0 where it is 0, as PyTorch has it: there a root has
    none. The same holds of an element that is 0, for powers below 1."""
    b = c.builder
    order = node.args[1] if len(node.args) > 1 else 2
    if not isinstance(order, (int, float)) or math.isnan(order):
        raise Unsupported(f"has the order {order}")
    zero, one = b.constant(0), b.constant(1)
    if order == 0:
        return b.add("row_sum", b.add("select", b.add("eq", value, zero), zero, one))
    size = b.add("abs", value)
    if order == math.inf:
        return b.add("row_max", size)
    if order == -math.inf:
        return b.add("neg", b.add("row_max", b.add("neg", size)))
    if order == 1:
        return b.add("row_sum", size)
    if order == 2:
        terms = b.add("mul", value, value)
    elif 0 < order < 1:
        is_zero = b.add("eq", value, zero)
        terms = b.power(b.add("select", is_zero, one, size), order)
        terms = b.add("select", is_zero, zero, terms)
    else:
        terms = b.power(size, order)
    total = b.add("row_sum", terms)
    is_zero = b.add("eq", total, zero)
    root = b.power(b.add("select", is_zero, one, total), 1 / order)
    return b.add("select", is_zero, zero if order > 0 else b.constant(math.inf), root)


@converts(*SOFTMAXES)
def _softmax(c: Conversion, node: Node) -> int:
    """softmax, log_softmax and logsumexp, which PyTorch's decompositions write with the row's
    largest element. None of them depends on what is taken off, so it counts as a constant."""
    b = c.builder
    found = summed_dims(node)
    if found is None or found[0] != [found[1] - 1] or (
            node.args[0].meta["val"].shape[-1] != c.domain.length):  # type: ignore[union-attr]
        raise Unsupported("does not go over the row")
    value = _check_row(c, node)
    largest = b.add("detach", b.add("row_max", value))
    if node.target is aten.logsumexp.default:
        # Where all elements are -inf, or one is inf, nothing is taken off.
        infinite = b.add("eq", b.add("abs", largest), b.constant(math.inf))
        largest = b.add("select", infinite, b.constant(0), largest)
    shifted = b.add("sub", value, largest)
    exponential = b.add("exp", shifted)
    total = b.add("row_sum", exponential)
    if node.target is aten._softmax.default:
        return b.add("div", exponential, total)
    if node.target is aten._log_softmax.default:
        return b.add("sub", shifted, b.add("log", total))
    return b.add("add", b.add("log", total), largest)


@converts(operator.getitem)
def _getitem(c: Conversion, node: Node) -> int:
    pair = c.values.get(node.args[0])  # type: ignore[arg-type]
    if not isinstance(pair, tuple):
        raise Unsupported("takes a part of something that is no pair of numbers of a row")
    return int(pair[node.args[1]])  # type: ignore[index]


@converts(*ROW_SUMS.keys() - SOFTMAXES)
def _sum(c: Conversion, node: Node) -> Any:
    return _check_row(c, node) if sum_kind(node, c.domain) else _row_sum(c, node)


def check(node: Node, domain: Domain) -> None:
    """Raises :class:`Unsupported`, with the reason, where the results or the operands of a node are
    none of a row program."""
    if node.op != "call_function":
        raise Unsupported(f"is a {node.op}")
    if node.target not in _HANDLERS:
        raise UnsupportedOperation(f"{node.target} is no operation of row programs")
    value = node.meta.get("val")
    is_sum = node.target in ROW_SUMS
    if node.target is operator.getitem:
        pair = node.args[0]
        if (not isinstance(pair, Node) or row_sum_axis(pair) != domain
                or pair.target not in (aten.var_mean.correction, *WITH_INDICES)):
            raise Unsupported("takes a part of a tuple")
        return
    if isinstance(value, torch.Tensor) and not is_sum and domain.role(value) in (None, "number"):
        raise Unsupported(f"gives {describe(value)}, which is no row block, row scalar or column "
                          f"of {domain}")
    results = value if isinstance(value, tuple) else (value,)
    gives_integers = node.target in _OF_INTEGERS or node.target in INDICES
    for place, result in enumerate(results):
        if not isinstance(result, torch.Tensor) or not (
                result.dtype in ELEMENTS or (result.dtype in INTEGERS and (
                    gives_integers or (node.target in WITH_INDICES and place == 1)))):
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
                    node.target in _OF_INTEGERS or node.target is prims.convert_element_type.default
                    or (node.target in _COMPARISONS and any(map(_is_exact, node.args))))):
            raise Unsupported(f"reads elements of {given.dtype}")


_OF_INTEGERS = {*VIEWS, aten.where.self}
"""What gives integers that a program knows: where largest elements are, and the numbers that it is
given."""
