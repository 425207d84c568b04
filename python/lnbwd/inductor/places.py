# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Indices of Inductor's loops as sums of digits of an element's number.

The elements of a row block are numbered, M rows of N. *Cuts* divide the number into *digits*: a
digit has a distance, the elements from one index to the next, and a size. A loop's variable is a
sum of digits, and so is an index into memory, each digit times a stride, if floor divisions and
remainders fall on cuts. Where they do not, :class:`NeedsCut` says which cut is missing.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sympy  # type: ignore[import-untyped]

from ..program.torch_internals import loops


class NotConvertible(Exception):
    """A node cannot be a row program; says why."""


class NeedsCut(Exception):
    """An index needs another cut."""

    def __init__(self, cut: int) -> None:
        super().__init__(cut)
        self.cut = cut


@dataclass(frozen=True)
class Form:
    """A sum of digits, each times a stride: of each digit its distance and the stride.
    ``others`` are variables that are no digits, which are read from memory, and their strides."""

    strides: tuple[tuple[int, int], ...] = ()
    constant: int = 0
    others: tuple[tuple[Any, int], ...] = ()


def _sum(first: Mapping[Any, int], second: Mapping[Any, int], factor: int = 1) -> dict[Any, int]:
    result = dict(first)
    for key, stride in second.items():
        result[key] = result.get(key, 0) + factor * stride
    return {key: stride for key, stride in result.items() if stride}


def add(first: Form, second: Form, factor: int = 1) -> Form:
    """The first and ``factor`` times the second."""
    return Form(tuple(sorted(_sum(dict(first.strides), dict(second.strides), factor).items())),
                first.constant + factor * second.constant,
                tuple(_sum(dict(first.others), dict(second.others), factor).items()))


class Digits:
    """The digits of the number of one of ``count`` elements, which begin at distances, ``cuts``;
    none can begin at ``refused`` ones. NotConvertible: the cuts do not divide one another."""

    def __init__(self, count: int, cuts: Sequence[int], refused: Collection[int] = ()) -> None:
        self.count, self.refused = count, refused
        self.cuts = sorted({1, count, *cuts})
        if any(after % before for before, after in itertools.pairwise(self.cuts)):
            raise NotConvertible("its loops are no dimensions of one another")
        self.sizes = {before: after // before for before, after in itertools.pairwise(self.cuts)}

    def need(self, cut: int) -> None:
        """Asks for a cut that is missing."""
        if cut in self.refused:
            raise NotConvertible("its loops are no dimensions of one another")
        if cut not in self.cuts:
            raise NeedsCut(cut)

    def range(self, first: int, end: int, unit: int) -> Form:
        """The number that digits from a distance up to another make, in units of ``unit``."""
        for cut in (first, end):
            self.need(cut)
        return Form(tuple((d, d // unit) for d in self.cuts if first <= d < end))

    def bounds(self, form: Form) -> tuple[int, int]:
        """The smallest and the largest value."""
        ends = [(self.sizes[d] - 1) * stride for d, stride in form.strides]
        return (form.constant + sum(min(end, 0) for end in ends),
                form.constant + sum(max(end, 0) for end in ends))

    def divided(self, form: Form, divisor: int) -> tuple[Form, Form]:
        """The quotient, rounded down, and the remainder of a division by a number."""
        whole, rest = (Form(constant=part) for part in divmod(form.constant, divisor))
        for key, stride in form.others:
            if stride % divisor:
                raise NotConvertible("divides an index that is read from memory")
            whole = add(whole, Form(others=((key, stride // divisor),)))
        for distance, stride in form.strides:
            if stride % divisor == 0:
                whole = add(whole, Form(((distance, stride // divisor),)))
                continue
            rest = add(rest, Form(((distance, stride),)))
        low, high = self.bounds(rest)
        if low < 0 or high >= divisor:
            for distance, stride in rest.strides:
                if 0 < stride < divisor and divisor % stride == 0 and (
                        stride * self.sizes[distance] > divisor):
                    self.need(distance * (divisor // stride))
            raise NotConvertible(f"divides an index by {divisor} with a carry")
        return whole, rest

    def form(self, expression: Any, variables: Callable[[sympy.Symbol], Form]) -> Form:
        """An index as a sum of digits; ``variables`` gives the digits of each variable."""
        def walk(one: Any) -> Form:
            if isinstance(one, int) or one.is_Integer:
                return Form(constant=int(one))
            if isinstance(one, sympy.Symbol):
                return variables(one)
            if isinstance(one, sympy.Add):
                result = Form()
                for part in one.args:
                    result = add(result, walk(part))
                return result
            if isinstance(one, sympy.Mul):
                factor, rest = 1, []
                for part in one.args:
                    if part.is_Integer:
                        factor *= int(part)
                    else:
                        rest.append(part)
                if len(rest) == 1:
                    return add(Form(), walk(rest[0]), factor)
                raise NotConvertible("multiplies indices")
            if isinstance(one, loops.Identity):
                return walk(one.args[0])
            if isinstance(one, loops.DIVISIONS) and all(part.is_Integer for part in one.args[1:]):
                base, *numbers = one.args
                value = walk(base)
                if isinstance(one, loops.FloorDiv):
                    return self.divided(value, int(numbers[0]))[0]
                if isinstance(one, loops.ModularIndexing):
                    value = self.divided(value, int(numbers[0]))[0]
                return self.divided(value, int(numbers[-1]))[1]
            if isinstance(one, sympy.Min | sympy.Max | loops.Min | loops.Max | sympy.Abs):
                return chosen(one)
            raise NotConvertible(f"has an index with {type(one).__name__}")

        def chosen(one: Any) -> Form:
            """The smallest or the largest of some, where ranges say which that is."""
            parts = [walk(part) for part in one.args]
            if isinstance(one, sympy.Abs):
                parts.append(add(Form(), parts[0], -1))
            for part in parts:
                # The distances of the others from it.
                apart = [add(other, part, -1) for other in parts]
                ends = [end for form in apart for end in self.bounds(form)]
                is_it = min(ends) >= 0 if isinstance(one, sympy.Min | loops.Min) else max(ends) <= 0
                if is_it and not any(form.others for form in apart):
                    return part
            raise NotConvertible(f"has an index with {type(one).__name__}")

        return walk(sympy.sympify(expression))

    def runs(self, form: Form) -> list[tuple[int, int, int]]:
        """The digits of a form, outermost first, neighbours joined: distance, size and stride."""
        result: list[tuple[int, int, int]] = []
        for distance, stride in sorted(form.strides, reverse=True):
            size = self.sizes[distance]
            if result and result[-1][0] == distance * size and result[-1][2] == stride * size:
                result[-1] = (distance, size * result[-1][1], stride)
            else:
                result.append((distance, size, stride))
        return result
