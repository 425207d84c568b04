# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inductor's operations on elements as nodes of a row program.

Integers whose ranges are known and small are float32 inside, others are integers.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch

from ..program.operands import ELEMENT_NAMES
from ..program.row_program import Builder
from ..program.torch_internals.loops import DefaultHandler, emulates_casts
from .places import Digits, Form, NotConvertible, add
from .values import EIGHTS, FLOATS, INTEGERS, LARGEST_EXACT, WIDE, Value, range_of

_NARROW = (torch.float16, torch.bfloat16)

_SAME = ("abs", "exp", "exp2", "expm1", "sqrt", "rsqrt", "cos", "sin", "erf", "log", "log2",
         "log1p", "tanh", "copysign")
_NAMES = {**{name: name for name in _SAME}, "floor": "floor", "ceil": "ceil", "trunc": "trunc",
          "round": "roundeven", "truediv": "div", "div_rn": "div", "mul_rn": "mul"}
_COMPARED = ("lt", "le", "gt", "ge", "eq", "ne")
_LOGIC = {"logical_and": "and", "logical_or": "or", "logical_xor": "xor", "bitwise_and": "and",
          "bitwise_or": "or", "bitwise_xor": "xor", "and_": "and", "or_": "or", "xor": "xor"}
_OF_INTEGERS = {"bitwise_left_shift": "shl", "bitwise_right_shift": "shr", "floordiv": "floordiv",
                "remainder": "mod", "truncdiv": "floordiv", "mod": "mod", **_LOGIC}
_ROUNDS_TO_ZERO = ("truncdiv", "mod")


def _both(first: dict[Any, tuple[int, int]], second: dict[Any, tuple[int, int]]) -> dict[
        Any, tuple[int, int]]:
    """Ranges that both hold."""
    result = dict(first)
    for digits, (low, high) in second.items():
        before = result.get(digits, (low, high))
        result[digits] = max(before[0], low), min(before[1], high)
    return result


class Operations(DefaultHandler):
    """The handler of operations on values of a row block: the ``digits`` of an element's number, N,
    ``length``, the nodes, and ``masks``, conditions under which is computed what is at hand."""

    def __init__(self, digits: Digits, length: int) -> None:
        self.digits, self.length = digits, length
        self.builder = Builder(length)
        self.masks: list[Value] = []

    def _default(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        values = [one for one in args if isinstance(one, Value)]
        if values and all(isinstance(one, Value | int | float) for one in args):
            args = tuple(one if isinstance(one, Value) else self.constant(one, values[0].dtype)
                         for one in args)
        if kwargs or not all(isinstance(one, Value) for one in args):
            raise NotConvertible(f"computes {name}")
        if name in _COMPARED:
            return self._compared(name, *args)
        if name in _LOGIC and all(one.is_condition for one in args):
            ranges = _both(*(one.ranges for one in args)) if _LOGIC[name] == "and" else {}
            return Value(self.builder.add(_LOGIC[name], *(one.node for one in args)), torch.bool,
                          ranges=ranges)
        if name.startswith("logical_") and name in _LOGIC:
            return self._default(name, tuple(self.to_dtype(one, torch.bool) for one in args), {})
        if name in _NAMES and not any(one.is_integer or one.is_condition for one in args):
            return self._number(_NAMES[name], *args)
        if name in _OF_INTEGERS and all(one.is_integer for one in args):
            is_positive = all(one.bounds and one.bounds[0] >= 0 for one in args)
            if name not in _ROUNDS_TO_ZERO or is_positive:
                return self._integers(_OF_INTEGERS[name], *args)
        if name == "abs" and args[0].is_integer:
            if not args[0].dtype.is_signed:
                return args[0]
            return self.maximum(args[0], self.neg(args[0]))
        raise NotConvertible(f"computes {name}" + " of integers" * any(
            one.is_integer for one in args))

    def _number(self, name: str, *values: Value) -> Value:
        dtype = functools.reduce(torch.promote_types, (value.dtype for value in values))
        return Value(self.builder.add(name, *(value.node for value in values)), dtype)

    def _compared(self, name: str, first: Value, second: Value) -> Value:
        if first.is_condition and second.is_condition and name in ("eq", "ne"):
            node = self.builder.add("xor", first.node, second.node)
            return Value(node if name == "ne" else self.builder.add("not", node), torch.bool)
        dtype = torch.promote_types(first.dtype, second.dtype)
        if dtype in INTEGERS:
            values = [self.to_dtype(one, dtype) for one in (first, second)]
            # An integer that is rounded compares with one that is exact as before.
            if any(one.is_exact for one in values) or not any(one.is_small for one in values):
                values = [self._exact(one) for one in values]
        else:
            values = [one if one.dtype.is_floating_point else self.to_dtype(one, torch.float32)
                      for one in (first, second)]
            # The largest element of a row has been rounded, and is equal to one of those that are.
            if values[0].dtype == values[1].dtype in _NARROW and all(
                    one.number is None for one in values):
                values = [self.rounded(one, one.dtype) for one in values]
        return Value(self.builder.add(name, *(one.node for one in values)), torch.bool,
                      ranges=self._range(name, first, second))

    def _exact(self, value: Value) -> Value:
        """An integer whose node is one."""
        if value.is_exact:
            return value
        node = value.node if value.number is None else self.builder.integer(int(value.number))
        return replace(value, is_exact=True, node=self.builder.add(
            "integer", node, INTEGERS[value.dtype]))

    def _integers(self, name: str, *values: Value) -> Value:
        """An operation on integers of any range, which wraps around."""
        dtype = functools.reduce(torch.promote_types, (value.dtype for value in values))
        node = self.builder.add(name, *(
            self._exact(self.to_dtype(value, dtype)).node for value in values))
        if dtype not in WIDE:
            node = self.builder.add("integer", node, INTEGERS[dtype])
        return Value(node, dtype, is_exact=True)

    def _range(self, name: str, first: Value, second: Value) -> dict[
            tuple[int, int], tuple[int, int]]:
        """The digits that a comparison with a number bounds."""
        if first.form is None or second.number is None:
            return {}
        runs = self.digits.runs(first.form)
        if len(runs) != 1 or runs[0][2] != 1:
            return {}
        [(distance, size, _)] = runs
        number = second.number - first.form.constant
        low, high = {"lt": (0, math.ceil(number) - 1), "le": (0, math.floor(number)),
                     "gt": (math.floor(number) + 1, size - 1), "ge": (math.ceil(number), size - 1),
                     "eq": (math.ceil(number), math.floor(number))}.get(name, (0, size - 1))
        return {(distance, size): (max(low, 0), min(high, size - 1))}

    def _arithmetic(self, name: str, first: Value, second: Value) -> Value:
        if first.is_condition or second.is_condition:
            raise NotConvertible(f"computes {name} of conditions")
        dtype = torch.promote_types(first.dtype, second.dtype)
        if dtype not in INTEGERS:
            return self._number(name, *(one if not one.is_integer else self.to_dtype(one, dtype)
                                        for one in (first, second)))
        if first.bounds is None or second.bounds is None:
            return self._integers(name, first, second)
        corners: Any = {"add": operator.add, "sub": operator.sub, "mul": operator.mul,
                        "max": max, "min": min}[name]
        ends = [corners(a, b) for a in first.bounds for b in second.bounds]
        low, high = range_of(dtype)
        if min(ends) < low or max(ends) > high:
            return self._integers(name, first, second)
        form = None
        if name in ("add", "sub") and first.form is not None and second.form is not None:
            form = add(first.form, second.form, 1 if name == "add" else -1)
        is_small = first.is_small and second.is_small and max(map(abs, ends)) <= LARGEST_EXACT
        result = self._integers(name, first, second) if not is_small else Value(
            self.builder.add(name, first.node, second.node), dtype)
        return replace(result, bounds=(min(ends), max(ends)), form=form)

    def add(self, first: Value, second: Value) -> Value:
        return self._arithmetic("add", first, second)

    def sub(self, first: Value, second: Value) -> Value:
        return self._arithmetic("sub", first, second)

    def mul(self, first: Value, second: Value) -> Value:
        if first.is_condition and second.is_condition:
            return self.bitwise_and(first, second)  # type: ignore[no-any-return]
        return self._arithmetic("mul", first, second)

    def maximum(self, first: Value, second: Value) -> Value:
        return self._arithmetic("max", first, second)

    def minimum(self, first: Value, second: Value) -> Value:
        return self._arithmetic("min", first, second)

    def neg(self, value: Value) -> Value:
        if value.is_integer:
            return self._arithmetic("sub", self.constant(0, value.dtype), value)
        return self._number("neg", value)

    def square(self, value: Value) -> Value:
        return self._arithmetic("mul", value, value)

    def fma(self, x: Value, y: Value, z: Value) -> Value:
        return self.add(self.mul(x, y), z)

    def relu(self, value: Value) -> Value:
        return self.maximum(value, self.constant(0, value.dtype))

    def reciprocal(self, value: Value) -> Value:
        return self._number("div", self.constant(1, value.dtype), value)

    def sigmoid(self, value: Value) -> Value:
        return Value(self.builder.sigmoid(value.node), value.dtype)

    def sign(self, value: Value) -> Value:
        return Value(self.builder.sign(value.node), value.dtype,
                     (-1, 1) if value.is_integer else None)

    def isnan(self, value: Value) -> Value:
        return Value(self.builder.add("ne", value.node, value.node), torch.bool)

    def isinf(self, value: Value) -> Value:
        size = self.builder.add("abs", value.node)
        return Value(self.builder.add("eq", size, self.builder.constant(math.inf)), torch.bool)

    def pow(self, base: Value, exponent: Value) -> Value:
        if exponent.number is None or base.is_integer:
            raise NotConvertible("computes powers with exponents that differ")
        return Value(self.builder.power(base.node, exponent.number), base.dtype)

    def logical_not(self, value: Value) -> Value:
        return Value(self.builder.add("not", self.to_dtype(value, torch.bool).node), torch.bool)

    def bitwise_not(self, value: Value) -> Value:
        return self.logical_not(value) if value.is_condition else self._integers("not", value)

    def identity(self, value: Value) -> Value:
        return value

    def where(self, condition: Value, first: Value, second: Value) -> Value:
        condition, b = self.to_dtype(condition, torch.bool), self.builder
        if first.is_condition and second.is_condition:
            node = b.add("or", b.add("and", condition.node, first.node),
                         b.add("and", b.add("not", condition.node), second.node))
            return Value(node, torch.bool)
        dtype = torch.promote_types(first.dtype, second.dtype)
        values = [self.to_dtype(one, dtype) for one in (first, second)]
        is_exact = dtype in INTEGERS and not all(one.is_small for one in values)
        if is_exact:
            values = [self._exact(one) for one in values]
        bounds = None
        if first.bounds is not None and second.bounds is not None:
            bounds = (min(first.bounds[0], second.bounds[0]),
                      max(first.bounds[1], second.bounds[1]))
        return Value(b.add("select", condition.node, *(one.node for one in values)), dtype,
                      bounds, is_exact=is_exact)

    def constant(self, value: Any, dtype: torch.dtype) -> Value:
        if dtype == torch.bool:
            zero = self.builder.constant(0)
            return Value(self.builder.add("eq" if value else "ne", zero, zero), torch.bool)
        if dtype in (torch.float64, torch.complex64, torch.complex128):
            raise NotConvertible(f"computes in {str(dtype).removeprefix('torch.')}")
        if dtype.is_floating_point:
            return Value(self.builder.constant(float(value)), dtype, number=float(value))
        value = int(value)
        result = Value(self.builder.constant(float(value)), dtype, (value, value), number=value)
        return result if abs(value) <= LARGEST_EXACT else self._exact(result)

    def _integer_index(self, form: Form, dtype: str) -> int:
        """The digits of an index as an integer."""
        b = self.builder
        node = b.add("integer", b.integer(form.constant), dtype)
        for distance, size, stride in self._rows_and_columns(self.digits.runs(form)):
            one = b.add("integer", self._digit(distance, size), dtype)
            node = b.add("add", node, b.add("mul", one, b.integer(stride)))
        return node

    def _digit(self, distance: int, size: int) -> int:
        return (self.builder.add("index") if (distance, size) == (1, self.length)
                else self.builder.add("place", distance, size))

    def trunc_to_int(self, value: Value, dtype: torch.dtype) -> Value:
        return self.to_dtype(value, dtype)

    def floor_to_int(self, value: Value, dtype: torch.dtype) -> Value:
        return self.to_dtype(self._number("floor", value), dtype)

    def ceil_to_int(self, value: Value, dtype: torch.dtype) -> Value:
        return self.to_dtype(self._number("ceil", value), dtype)

    def _rows_and_columns(self, runs: Sequence[tuple[int, int, int]]) -> Iterator[
            tuple[int, int, int]]:
        """Splits runs, so that each is of rows or of columns."""
        for distance, size, stride in runs:
            if distance < self.length < distance * size:
                inner = self.length // distance
                yield self.length, size // inner, stride * inner
                yield distance, inner, stride
            else:
                yield distance, size, stride

    def to_dtype(self, value: Value, dtype: torch.dtype, src_dtype: Any = None,
                 use_compute_types: bool = True) -> Value:
        b = self.builder
        if dtype == value.dtype and (use_compute_types or dtype not in FLOATS):
            return value
        if dtype == torch.bool:
            return Value(b.add("ne", value.node, b.constant(0)), torch.bool)
        if value.is_condition:
            node = b.add("select", value.node, b.constant(1), b.constant(0))
            if dtype not in FLOATS and dtype not in INTEGERS:
                raise NotConvertible(f"computes in {str(dtype).removeprefix('torch.')}")
            return Value(node, dtype, (0, 1))
        if dtype in EIGHTS and value.dtype in FLOATS:
            return self.rounded(value, dtype)
        if dtype in FLOATS:
            node = b.add("float", value.node) if value.is_exact else value.node
            result = Value(node, dtype, number=value.number)
            if dtype != torch.float32 and (emulates_casts() or not use_compute_types):
                result = self.rounded(result, dtype)
            return result
        if dtype in INTEGERS and value.is_integer:
            low, high = range_of(dtype)
            own = value.bounds or range_of(value.dtype)
            fits = low <= own[0] and own[1] <= high
            if value.is_exact or not fits:
                node = self._exact(value).node
                return Value(b.add("integer", node, INTEGERS[dtype]), dtype,
                              value.bounds if fits else None, value.form if fits else None,
                              is_exact=True)
            return replace(value, dtype=dtype)
        if dtype in INTEGERS and value.dtype.is_floating_point:
            return Value(b.add("integer", value.node, INTEGERS[dtype]), dtype, is_exact=True)
        raise NotConvertible(f"converts {str(value.dtype).removeprefix('torch.')} to "
                             f"{str(dtype).removeprefix('torch.')}")

    def rounded(self, value: Value, dtype: torch.dtype) -> Value:
        """A value in the type that it has in memory."""
        return Value(self.builder.add("round", value.node, ELEMENT_NAMES[dtype]), dtype)

    def _integer_reduction(self, dtype: torch.dtype, kind: str, value: Value) -> Value:
        """Integers of a row, reduced."""
        b = self.builder
        if kind == "sum":
            value = self.to_dtype(value, dtype)
            low, high = value.bounds or range_of(dtype)
            if not value.is_exact and self.length * max(-low, high) <= LARGEST_EXACT:
                return Value(b.add("row_sum", value.node), dtype,
                              (low * self.length, high * self.length))
            return Value(b.add("row_sum", self._exact(value).node), dtype, is_exact=True)
        if kind not in ("max", "min"):
            raise NotConvertible(f"reduces integers by {kind}")
        value = value if value.is_small else self._exact(value)
        turn = "not" if value.is_exact else "neg"
        if kind == "max":
            return replace(value, node=b.add("row_max", value.node), form=None)
        return replace(value, form=None, node=b.add(
            turn, b.add("row_max", b.add(turn, value.node))))

    def masked(self, mask: Value, body: Callable[[], Any], other: Any) -> Value:
        self.masks.append(mask)
        try:
            value = body()
        finally:
            self.masks.pop()
        if not isinstance(other, Value):
            other = self.constant(other, value.dtype)
        return self.where(mask, value, other)
