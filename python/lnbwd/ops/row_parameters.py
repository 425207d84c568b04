# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The parameters of row functions: their annotations, and the checks of a call's arguments."""

from __future__ import annotations

import inspect
import sys
import threading
import typing
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import torch
from torch import Tensor

from ..core.base.errors import place_of, refusal
from ..program.evaluation import random_numbers
from ..program.operands import FLOAT8
from .arguments import TYPES, check_dense, check_parameter, check_tensor, part_dims, spread


class _Kind(str):
    """The kind of a parameter, from its annotation."""


Rows = Annotated[Tensor, _Kind("row")]
"""Rows of N elements, ``[..., N]``. All of a call have one shape."""

Columns = Annotated[Tensor, _Kind("column")]
"""A number for each element of a row, ``[N]``, the same for all rows: a scale, a shift."""

Scalars = Annotated[Tensor, _Kind("scalar")]
"""A number for each row, ``[..., 1]``."""

Parts = Annotated[Tensor, _Kind("part")]
"""A tensor that is repeated along some dimensions of rows. It broadcasts to them, of two dimensions
or more, ``[T, 1, N]`` to ``[B, T, H, N]``; or is ``[C]``, with a number for each C-th of the last
two dimensions of rows, a channel of ``[B, G, C / G * S]``; or has a number for each block of whole
parts of dimensions, the scales ``[M, N / 32]`` or ``[M / 128, N / 128]`` of ``[M, N]``. The
function sees rows."""

Seed = Annotated[Tensor, _Kind("number")]
"""The seed of :func:`uniform`, int64 without dimensions."""

_WORDS = {"row": "lnbwd.Rows", "column": "lnbwd.Columns", "scalar": "lnbwd.Scalars",
          "part": "lnbwd.Parts", "number": "lnbwd.Seed"}
_TYPES = {"row": (*TYPES, *FLOAT8), "column": TYPES, "scalar": (*TYPES, torch.int32, torch.int64),
          "part": (*TYPES, *FLOAT8, torch.float8_e8m0fnu), "number": (torch.int64,)}
_CONSTANTS = (bool, int, float, str)

state = threading.local()
"""Of a thread, whether it is tracing a row function: ``is_tracing``."""


@dataclass(frozen=True)
class _Parameter:
    """A parameter of a function. Its kind is empty where it is a Python value, a constant of the
    kernel; ``is_keyword``: it can be passed by its name alone."""

    name: str
    kind: str
    is_optional: bool
    default: Any
    is_keyword: bool


def uniform(seed: Tensor, like: Tensor) -> Tensor:
    """Random numbers from [0, 1), of a row function's :data:`Seed`, for each element of rows. They
    are the same in the gradient."""
    if getattr(state, "is_tracing", False):
        drawn: Tensor = torch.ops.prims.inductor_random(like.shape, seed, "rand")
        return drawn
    length = like.shape[-1]
    return random_numbers(seed, like.numel() // (length or 1), length).view(like.shape)


def _evaluate(function: Callable[..., Any], annotation: Any) -> Any:
    """An annotation; a text is read with the names of the function's module."""
    if not isinstance(annotation, str):
        return annotation
    names = {"lnbwd": sys.modules[__package__.partition(".")[0]], "Rows": Rows, "Columns": Columns,
             "Scalars": Scalars, "Parts": Parts, "Seed": Seed, **function.__globals__}
    return eval(annotation, names)


def _describe_parameters(function: Callable[..., Any]) -> tuple[_Parameter, ...]:
    def refuse(reason: str) -> TypeError:
        return refusal(function, None, reason)

    result = []
    for parameter in inspect.signature(function).parameters.values():
        name = f"its parameter '{parameter.name}'"
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise refuse(f"{name} takes any number of arguments; expected one each")
        if parameter.annotation is parameter.empty:
            raise refuse(f"{name} has no annotation; expected lnbwd.Rows ([..., N]), lnbwd.Columns "
                         "([N]), lnbwd.Scalars ([..., 1]), or float, int, bool or str for a "
                         "constant")
        try:
            annotation = _evaluate(function, parameter.annotation)
        except Exception as error:
            raise refuse(f"{name} has an annotation that cannot be read, "
                         f"{parameter.annotation!r}: {error}") from None
        choices = typing.get_args(annotation) if (
            typing.get_origin(annotation) is not Annotated
            and type(None) in typing.get_args(annotation)) else (annotation,)
        kinds = [k for choice in choices for k in getattr(choice, "__metadata__", ())
                 if isinstance(k, _Kind)]
        others = [choice for choice in choices if not hasattr(choice, "__metadata__")
                  and choice is not type(None)]
        if len(kinds) + len(others) != 1 or any(o not in _CONSTANTS for o in others):
            raise refuse(f"{name} is annotated {parameter.annotation}; expected lnbwd.Rows, "
                         "lnbwd.Columns, lnbwd.Scalars, float, int, bool or str, or one of them "
                         "'| None'")
        result.append(_Parameter(parameter.name, kinds[0] if kinds else "",
                                 type(None) in choices, parameter.default,
                                 parameter.kind is parameter.KEYWORD_ONLY))
    if not any(p.kind == "row" and not p.is_optional for p in result):
        raise refuse("expected at least one parameter annotated lnbwd.Rows, got none")
    return tuple(result)


def _check_tensor(parameter: _Parameter, value: Any, first_name: str, first: Tensor) -> None:
    """Raises an error if a tensor does not fit the first rows of a call."""
    name, kind, rows = parameter.name, parameter.kind, list(first.shape)
    if kind == "number":
        check_tensor(name, value)
    else:
        check_dense(name, value, _TYPES[kind])
    if kind == "part" and part_dims(value.shape, rows) is None:
        raise ValueError(f"{name}: expected a shape that broadcasts to {first_name}'s, {rows}, or "
                         "has a number for each of whole blocks of its dimensions, or one "
                         "dimension of as many elements as its last two are whole parts of "
                         f"({_WORDS['part']}), got {list(value.shape)}")
    expected = {"row": rows, "column": rows[-1:], "scalar": [*rows[:-1], 1], "number": []}
    check_parameter(name, value, expected.get(kind, value.shape), first_name, first,
                    f" ({_WORDS[kind]}, {first_name} being {rows})", _TYPES[kind])


class Parameters:
    """All parameters of a function in order, their kinds, the place of the first rows, and how many
    can be passed by position."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.all = _describe_parameters(function)
        self.kinds = [p.kind for p in self.all]
        self.first = self.kinds.index("row")
        self.positional = sum(not p.is_keyword for p in self.all)

    def call(self, values: Sequence[Any]) -> Any:
        """The function of the values of all parameters, its parts as rows."""
        count, rows = self.positional, values[self.first]
        values = [spread(value, rows) if kind == "part" and value is not None else value
                  for value, kind in zip(values, self.kinds, strict=True)]
        named = {p.name: value for p, value in zip(self.all[count:], values[count:], strict=True)}
        return self.function(*values[:count], **named)

    def error(self, words: str) -> str:
        """The words about a call, after the function and its place."""
        return f"{self.function.__name__} ({place_of(self.function)}): {words}"

    def bind(self, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
        """The values of all parameters in order."""
        if len(args) > self.positional:
            raise TypeError(self.error(f"expected at most {self.positional} arguments by "
                                        f"position, got {len(args)}"))
        values = list(args)
        for parameter in self.all[len(args):]:
            value = kwargs.get(parameter.name, parameter.default)
            if value is inspect.Parameter.empty:
                raise TypeError(self.error(f"the argument '{parameter.name}' is missing"))
            values.append(value)
        unknown = set(kwargs) - {p.name for p in self.all[len(args):]}
        if unknown:
            raise TypeError(self.error(f"got an unexpected or second argument "
                                        f"'{sorted(unknown)[0]}'"))
        return values

    def check(self, values: Sequence[Any]) -> None:
        """Raises an error if a call's arguments do not fit together."""
        first, first_name = values[self.first], self.all[self.first].name
        try:
            check_dense(first_name, first, _TYPES["row"])
            if first.dim() == 0:
                raise ValueError(f"{first_name}: expected one dimension or more, got none")
            for parameter, value in zip(self.all, values, strict=True):
                if value is None and parameter.is_optional:
                    continue
                if parameter.kind:
                    _check_tensor(parameter, value, first_name, first)
                elif not isinstance(value, _CONSTANTS):
                    raise TypeError(
                        f"{parameter.name}: expected a number, a bool or a str, got "
                        f"{type(value).__name__}; a tensor is a parameter annotated lnbwd.Rows, "
                        "lnbwd.Columns or lnbwd.Scalars")
        except (TypeError, ValueError) as error:
            raise type(error)(self.error(str(error))) from None
