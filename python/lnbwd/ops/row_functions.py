# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""``lnbwd.rowwise``: a Python function over rows as an operation with a kernel and a gradient.

    @lnbwd.rowwise
    def normalised(x: lnbwd.Rows, gamma: lnbwd.Columns, eps: float = 1e-5):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * gamma

A call in eager mode looks up what was made for its types, row length and numbers; the first one
traces the function (:mod:`.tracing`). :mod:`.row_gradients` has what is launched, and
the derivatives. Under torch.compile a call is the function itself: its operations are traced into
the graph, where Inductor fuses them with their surroundings, and backend="lnbwd" makes row programs
of them together with the casts and residual additions around.
"""

from __future__ import annotations

import functools
import inspect
import math
import sys
import threading
import typing
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Generic, ParamSpec, TypeVar, overload

import torch
from torch import Tensor

from ..core.base.errors import place_of, refusal
from ..core.compile.spec import rows_hint
from ..program.evaluation import random_numbers
from ..program.operands import FLOAT8
from ..program.torch_internals.eager import transforms_are_active
from .arguments import TYPES, check_dense, check_parameter, check_tensor, part_dims, part_of, spread
from .choices import choices
from .launching import falls_back

__all__ = ["Columns", "Parts", "RowFunction", "Rows", "Scalars", "Seed", "rowwise", "uniform"]

P = ParamSpec("P")
R = TypeVar("R")


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
_MAX_CALLS = 4096
_MANY_TRACES = 64

_is_compiling = torch.compiler.is_compiling
_state = threading.local()


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
    if getattr(_state, "is_tracing", False):
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
    check_parameter(name, value, expected.get(kind, value.shape), first_name, first, _TYPES[kind],
                    f" ({_WORDS[kind]}, {first_name} being {rows})")


def _constant_key(value: Any) -> Any:
    """Tells 1 from 1.0 and True, 0.0 from -0.0, and knows a NaN again."""
    return (value.__class__, value if value and value == value else repr(value))


class RowFunction(Generic[P, R]):
    """A function over rows; see :func:`rowwise`, which makes it.

    Attributes:
        function: the Python function.
        saved: the names of the variables that are saved for the gradient; None: the statistics.
    """

    def __init__(self, function: Callable[P, R], saved: Sequence[str] | None) -> None:
        if not inspect.isfunction(function):
            raise TypeError(f"lnbwd.rowwise: expected a Python function, got {function!r}")
        functools.update_wrapper(self, function)
        self.function = function
        self.saved = None if saved is None else tuple(saved)
        self._parameters = _describe_parameters(function)
        self._kinds = [p.kind for p in self._parameters]
        self._first = self._kinds.index("row")
        self._positional = sum(not p.is_keyword for p in self._parameters)
        self._calls: dict[Any, Any] = {}
        self._traces: dict[Any, Any] = {}
        self._plans: dict[Any, Any] = {}
        self._lock = threading.Lock()

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Calls the operation; see :func:`rowwise`."""
        if _is_compiling():
            return self._inline(args, kwargs)
        # Defaults are the same in each call, so that only what was passed tells calls apart.
        values: Sequence[Any] = self._bind(args, kwargs) if kwargs else args
        key: Any
        try:
            key = tuple([(value.shape, value.dtype, value.device, value.layout) if kind else
                         _constant_key(value)
                         for value, kind in zip(values, self._kinds, strict=False)])
            plan = self._calls.get(key) if len(args) <= self._positional else None
        except (AttributeError, RuntimeError, TypeError):  # The words for it are elsewhere.
            plan = key = None
        if plan is None:
            if getattr(_state, "is_tracing", False):
                return self._by_torch(self._bind(args, kwargs))  # A part of another row function.
            plan = self._plan(self._bind(args, kwargs), key)
        if plan.is_by_torch or transforms_are_active() or (
                values[self._first].is_cpu and falls_back("a function of lnbwd.rowwise")):
            return self._inline(args, kwargs)
        result: R = plan.run([value for value, kind in zip(values, self._kinds, strict=False)
                              if kind and value is not None])
        return result

    def write(self, results: Sequence[Tensor], *args: P.args, **kwargs: P.kwargs) -> None:
        """A call without a gradient that writes its results to contiguous tensors, which may be the
        rows that it reads."""
        values = self._bind(args, kwargs)
        plan = self._plan(values, None)
        if plan.is_by_torch or (values[self._first].is_cpu
                                and falls_back("a function of lnbwd.rowwise")):
            found: Any = self._inline(args, kwargs)
            for result, one in zip(results, found, strict=True):
                result.copy_(one.reshape(result.shape))
            return
        plan.write([value for value, kind in zip(values, self._kinds, strict=True)
                    if kind and value is not None], results)

    def __repr__(self) -> str:
        return f"<lnbwd.rowwise {self.function.__qualname__}>"

    def __reduce__(self) -> str:
        return self.function.__qualname__

    def mlir(self, *args: P.args, **kwargs: P.kwargs) -> str:
        """The row programs of a call with these arguments, as MLIR: the forward pass in training,
        and its gradient with respect to all tensors."""
        plan = self._plan(self._bind(args, kwargs), None)
        text: str = plan.mlir()
        return text

    def _inline(self, args: Any, kwargs: Any) -> R:
        """A call in a graph of torch.compile, or where no kernel computes it: the function's own
        operations. Autocast does not change their types."""
        function: Callable[..., R] = self.function
        kind = next(value.device.type for value in (*args, *kwargs.values())
                    if isinstance(value, Tensor))
        if "part" in self._kinds:
            args, kwargs = self._bind(args, kwargs), {}
            function = lambda *values: self._by_torch(values)  # noqa: E731
        if kind != "meta" and torch.is_autocast_enabled(kind):
            with torch.autocast(kind, enabled=False):
                return function(*args, **kwargs)
        return function(*args, **kwargs)

    def _by_torch(self, values: Sequence[Any]) -> R:
        function: Callable[..., R] = self.function
        count, rows = self._positional, values[self._first]
        values = [spread(value, rows) if kind == "part" and value is not None else value
                  for value, kind in zip(values, self._kinds, strict=True)]
        named = {p.name: value for p, value in zip(self._parameters[count:], values[count:],
                                                   strict=True)}
        return function(*values[:count], **named)

    def _error(self, words: str) -> str:
        return f"{self.function.__name__} ({place_of(self.function)}): {words}"

    def _bind(self, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
        """The values of all parameters in order."""
        if len(args) > self._positional:
            raise TypeError(self._error(f"expected at most {self._positional} arguments by "
                                        f"position, got {len(args)}"))
        values = list(args)
        for parameter in self._parameters[len(args):]:
            value = kwargs.get(parameter.name, parameter.default)
            if value is inspect.Parameter.empty:
                raise TypeError(self._error(f"the argument '{parameter.name}' is missing"))
            values.append(value)
        unknown = set(kwargs) - {p.name for p in self._parameters[len(args):]}
        if unknown:
            raise TypeError(self._error(f"got an unexpected or second argument "
                                        f"'{sorted(unknown)[0]}'"))
        return values

    def _check(self, values: Sequence[Any]) -> None:
        """Raises an error if a call's arguments do not fit together."""
        first, first_name = values[self._first], self._parameters[self._first].name
        try:
            check_dense(first_name, first, _TYPES["row"])
            if first.dim() == 0:
                raise ValueError(f"{first_name}: expected one dimension or more, got none")
            for parameter, value in zip(self._parameters, values, strict=True):
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
            raise type(error)(self._error(str(error))) from None

    def _trace(self, key: Any, call: Callable[[Sequence[Tensor]], Any], signature: Any) -> Any:
        """The function as a row program, traced once a signature."""
        from ..program.tracing import trace

        def run(given: Sequence[Tensor]) -> Any:
            _state.is_tracing = True  # (In the thread that traces, which ends then.)
            return call(given)

        if key not in self._traces:
            self._traces[key] = trace(self.function, run, signature, self.saved)
            if len(self._traces) == _MANY_TRACES:
                warnings.warn(self._error(
                    f"compiled for {_MANY_TRACES} sets of types, shapes and constants; a number "
                    "that changes from call to call is better handed over in a tensor, as "
                    "lnbwd.Scalars or lnbwd.Columns"), UserWarning, stacklevel=5)
        return self._traces[key]

    def _plan(self, values: Sequence[Any], key: Any) -> Any:
        """The plan of a call with these arguments, which are checked."""
        self._check(values)
        # (What traces takes long to import, and calls under torch.compile do without.)
        from ..program.watching import MAX_DIMENSIONS, Signature
        from .row_gradients import Plan

        first, name = values[self._first], self._parameters[self._first].name
        if first.dim() > MAX_DIMENSIONS:
            raise ValueError(self._error(f"{name}: expected at most {MAX_DIMENSIONS} dimensions, "
                                         f"got {first.dim()}; flatten the leading ones"))
        pairs = list(zip(self._parameters, values, strict=True))
        tensors = {p.name: value for p, value in pairs if p.kind and value is not None}
        constants = {p.name: value for p, value in pairs if p.name not in tensors}
        is_by_torch = (first.is_meta or not first.shape[-1]
                       or any(t.dtype == torch.float64 for t in tensors.values()))
        # float64 is PyTorch's; that the function is one over rows is seen with float32.
        dtypes = {name: torch.float32 if t.dtype == torch.float64 else t.dtype
                  for name, t in tensors.items()}
        signature = Signature({p.name: p.kind for p in self._parameters if p.name in tensors},
                              dtypes, first.shape[-1] or 1, max(first.dim(), 2), constants,
                              {p.name: part_of(value.shape, first.shape)
                               for p, value in pairs if p.kind == "part" and value is not None})
        short = (tuple(dtypes.items()), signature.length, signature.rank, is_by_torch,
                 tuple(signature.parts.items()),
                 tuple((name, _constant_key(value)) for name, value in constants.items()))

        rows = rows_hint(math.prod(first.shape[:-1]))

        def call(given: Sequence[Tensor]) -> Any:
            named = {**constants, **dict(zip(tensors, given, strict=True))}
            return self._by_torch([named[p.name] for p in self._parameters])

        with self._lock:
            found = self._trace(short, call, signature).of_rows(first.shape)
            if first.dim() == 1 and "column" in found.shapes:
                raise ValueError(self._error(f"{name}: expected two dimensions or more to "
                                             f"combine rows, got one; pass {name}[None]"))
            is_flat = found.parts == 1 and found.program.is_elementwise
            if is_flat and (length := choices.flat_length(
                    first.shape, found.program)) != first.shape[-1]:
                is_of_pieces = length == choices.piece(found.program)
                found = found.of_length(length)
                rows = (choices.rows_of_pieces if is_of_pieces
                        else rows_hint(first.numel() // length))
            plan = self._plans.get((short, rows, found.program))
            if plan is None:
                plan = self._plans[short, rows, found.program] = Plan(
                    self.function, call, signature, found, rows, is_by_torch, is_flat)
            if key is not None:
                if len(self._calls) >= _MAX_CALLS:
                    self._calls.clear()
                self._calls[key] = plan
        return plan


@overload
def rowwise(function: Callable[P, R], /) -> RowFunction[P, R]: ...


@overload
def rowwise(*, saved: Sequence[str] | None = None) -> Callable[
    [Callable[P, R]], RowFunction[P, R]]: ...


def rowwise(function: Any = None, /, *, saved: Sequence[str] | None = None) -> Any:
    """Makes a Python function over rows an operation: a forward kernel, a gradient that the
    compiler derives, autograd and torch.compile.

    The function computes with PyTorch's operations on the elements of a row: arithmetic, powers
    with constant exponents, comparisons and ``torch.where``, exp, log, sqrt, sin, cos, tanh, erf,
    sigmoid, round, sign, activations and norms that are made of these, softmax, and sums, means,
    variances, largest and smallest elements and p-norms over the last dimension. ``chunk`` may cut
    its parameters into parts, which rows are then (docs/python.md has the whole list).
    It is traced once for each set of types, row length, rank and numbers; what is no tensor is a
    constant then. Its tensors are parameters:

    - :data:`Rows`, ``[..., N]``: all of one shape, N from 1;
    - :data:`Columns`, ``[N]``;
    - :data:`Scalars`, ``[..., 1]``;
    - :data:`Parts`, what is repeated along some dimensions of the rows;
    - :data:`Seed`, of which :func:`uniform` draws random numbers;

    float16, bfloat16, float32 or, of rows, float8, in any mix; ``| None`` may stand after each.
    Scalars may be int32 or int64, of which the function takes ``.float()`` first.
    Parameters annotated float, int, bool or str are constants of the kernel, compiled in for each
    value.

    It returns one tensor or a tuple, of ``[..., N]``, ``[..., 1]`` or ``[...]``, or what combines
    all rows, ``[N]`` or ``[]``, or those along the first dimensions, ``[T, N]`` or ``[T]``, of the
    types that PyTorch's own rules give. Values are float32 within, rounded where the function
    itself casts (``.to(torch.bfloat16)``) and where they are written. A call with float64 tensors
    is computed by PyTorch, and so is one on the CPU where no chip is simulated, after one warning.

    Args:
        saved: names of the function's variables of which the values at its end are kept for the
            gradient if it needs them, rows or row scalars; everything else is computed again. None:
            the statistics, row scalars that follow from sums over the row. (): nothing.

    Returns:
        A :class:`RowFunction`, which is called as the function is.

    Raises:
        TypeError: at once, where a parameter has no or a wrong annotation; at a call, where the
            function mixes rows, looks at data, uses an operation that row programs have not, or
            returns something else. The message has file, line and text of the line. Wrong types of
            arguments.
        ValueError: at a call, where shapes or devices do not fit together.
        LnbwdError: no kernel can run, or the compiler refuses it.

    Example:
        >>> @lnbwd.rowwise
        ... def gated_norm(x: lnbwd.Rows, z: lnbwd.Rows, gamma: lnbwd.Columns,
        ...                eps: float = 1e-5):
        ...     h = x * torch.nn.functional.silu(z)
        ...     return h * torch.rsqrt(h.square().mean(-1, keepdim=True) + eps) * gamma
    """
    if isinstance(saved, str) or not all(isinstance(name, str) for name in saved or ()):
        raise TypeError(f"saved: expected names of variables, ['rstd'], got {saved!r}")
    if function is None:
        return lambda function: RowFunction(function, saved)
    return RowFunction(function, saved)
