# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""``lnbwd.rowwise``: a Python function over rows as an operation with a kernel and a gradient.

    @lnbwd.rowwise
    def normalised(x: lnbwd.Rows, gamma: lnbwd.Columns, eps: float = 1e-5):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * gamma

A call in eager mode looks up what was made for its types, row length and numbers; the first one
traces the function (:mod:`.tracing`). :mod:`.row_gradients` has the programs that are launched.
Under torch.compile a call is the function itself: its operations are traced into the graph, where
Inductor fuses them with their surroundings, and backend="lnbwd" makes row programs of them together
with the casts and residual additions around.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import math
import threading
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, overload

import torch
from torch import Tensor

from ..core.base.errors import LnbwdError
from ..core.compile.spec import rows_hint
from ..program.operands import TYPES
from ..program.torch_internals.eager import (
    is_batched,
    is_traced,
    reshaped,
    transforms_are_active,
)
from . import native, regions
from .arguments import part_of
from .choices import choices
from .launching import falls_back
from .registration import eager, is_derived, refuse_forward_mode
from .row_parameters import Columns, Parameters, Parts, Rows, Scalars, Seed, state, uniform

if TYPE_CHECKING:
    from .row_gradients import Forward, Gradient, Plan

__all__ = ["Columns", "Parts", "RowFunction", "Rows", "Scalars", "Seed", "rowwise", "uniform"]

P = ParamSpec("P")
R = TypeVar("R")

_MAX_CALLS = 4096
_MANY_TRACES = 64

_is_compiling, _is_grad_enabled = torch.compiler.is_compiling, torch.is_grad_enabled


# Launches ---------------------------------------------------------------------------------------

def _write(plan: Plan, program: Forward | Gradient, shape: torch.Size,
           tensors: Sequence[Tensor]) -> None:
    """Runs a program on the inputs and outputs of a call, contiguous tensors."""
    device, rows, left = tensors[0].device, math.prod(shape[:-1]), 0
    if plan.is_flat:
        rows, left = divmod(shape.numel(), plan.length)
    regions.call_of(program.text, device)(rows, *tensors)
    if left:
        regions.call_of(program.rest, device)(left, *[
            tensor.view(-1)[rows * plan.length:] for tensor in tensors])


def _launch(plan: Plan, program: Forward | Gradient, shape: torch.Size, inputs: Sequence[Tensor],
            dtypes: Sequence[torch.dtype]) -> Sequence[Tensor]:
    """The outputs of a program, which have these types if the plan is flat."""
    if not plan.is_flat:
        return regions.run_rows(program.text, shape[:-1], inputs)
    if regions.is_plain(inputs):
        outputs = [inputs[0].new_empty(shape, dtype=dtype) for dtype in dtypes]
        _write(plan, program, shape, [*[t.contiguous() for t in inputs], *outputs])
        return outputs
    cut = shape.numel() // plan.length * plan.length
    flat = [tensor.reshape(-1) for tensor in inputs]
    parts = [regions.raw_region([tensor[:cut] for tensor in flat], program.text)]
    if cut < shape.numel():
        parts.append(regions.raw_region([tensor[cut:] for tensor in flat], program.rest))
    return [torch.cat([one.view(-1) for one in of_output]).view(shape)
            for of_output in zip(*parts, strict=True)]


def _compute(plan: Plan, forward: Forward, tensors: Sequence[Tensor],
             shape: torch.Size) -> tuple[tuple[Tensor, ...], Sequence[Tensor]]:
    """The results of a call on rows of ``shape``, and all outputs of its forward program."""
    outputs = _launch(plan, forward, shape, [tensors[place] for place in forward.inputs],
                      [TYPES[one.dtype] for one in forward.program.outputs])
    results = tuple([outputs[place] for place in forward.results])
    if plan.has_numbers:
        trace = plan.trace
        shapes: dict[Any, Sequence[int]] = {"number": shape[:-1], "total": ()}
        shapes |= {kind: shape[kind[0]:kind[1]] for kind in trace.shapes if isinstance(kind, tuple)}
        results = tuple([reshaped(result, shapes[kind]) if kind in shapes else result
                         for result, kind in zip(results, trace.shapes, strict=True)])
        results = tuple([
            result if condition is None else result > 0 if condition else result <= 0
            for result, condition in zip(results, trace.conditions, strict=True)])
    return results, outputs


def _run(plan: Plan, tensors: Sequence[Tensor]) -> Any:
    """A call with the tensors of the signature, on a device for which there are kernels."""
    if plan.trace.parts > 1:
        tensors = [part for tensor, count in zip(tensors, plan.parts, strict=True)
                   for part in tensor.chunk(count, -1)]
    try:
        # (Without a derivative, as in inference, its half of the host's time is saved.)
        results = (_apply_eager(plan, *tensors) if _is_grad_enabled() or is_derived() else
                   _compute(plan, plan.inference, tensors, tensors[plan.first].shape)[0])
    except RuntimeError as error:
        raise native.original(error) from None
    return results if plan.trace.is_tuple else results[0]


def _backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
    plan: Plan = ctx.plan
    needs: tuple[bool, ...] = ctx.needs_input_grad
    of = tuple([grad is not None for grad in grads])
    gradient = plan.gradient(of, needs)
    result: list[Tensor | None] = [None] * len(needs)
    at_hand = (*grads, *ctx.saved_tensors)
    if not gradient.inputs:
        for tensor in gradient.outputs:
            like = next(grad for grad in grads if grad is not None)
            result[tensor - plan.count] = like.new_zeros(plan.shape_of(tensor, ctx.shape),
                                                         dtype=plan.dtypes[tensor])
        return tuple(result)
    outputs: Sequence[Tensor]
    if (torch.is_grad_enabled() or transforms_are_active() or not gradient.text
            or any(grad is not None and is_batched(grad) for grad in grads)):
        if "number" in plan.kinds:
            raise LnbwdError(f"{plan.function.__name__}: create_graph=True: expected a function "
                             "that draws no random numbers")
        outputs = plan.gradient_by_torch(of, needs, ctx.shape, at_hand)
    else:
        try:
            outputs = _launch(plan, gradient, ctx.shape,
                              [at_hand[place] for place in gradient.inputs],
                              [plan.dtypes[tensor] for tensor in gradient.outputs])
        except RuntimeError as error:
            raise native.original(error) from None
    for tensor, output in zip(gradient.outputs, outputs, strict=True):
        part = plan.part_shapes.get(tensor)
        result[tensor - plan.count] = output if part is None else output.view(part)
    return tuple(result)


class _EagerForward(torch.autograd.Function):
    """The results of a row function."""

    @staticmethod
    def forward(ctx: Any, plan: Plan, *tensors: Tensor) -> tuple[Tensor, ...]:
        ctx.plan, ctx.shape = plan, tensors[plan.first].shape
        kept: tuple[int, ...] = ()
        if True in ctx.needs_input_grad:
            forward, kept = plan.training()
        else:
            forward = plan.inference
        results, outputs = _compute(plan, forward, tensors, ctx.shape)
        if kept or forward.saved:
            saved = [results[forward.results.index(place)] if place in forward.results
                     else outputs[place] for place in forward.saved]
            ctx.save_for_backward(*[tensors[place] for place in kept], *saved)
        ctx.mark_non_differentiable(
            *[results[place] for place in plan.constant_results(ctx.needs_input_grad)])
        ctx.set_materialize_grads(False)
        return results

    backward = staticmethod(_backward)
    jvp = staticmethod(refuse_forward_mode("a function of lnbwd.rowwise"))


_apply_eager: Callable[..., tuple[Tensor, ...]] = eager(_EagerForward)


# Calls ------------------------------------------------------------------------------------------

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
        self._parameters = Parameters(function)
        self._kinds, self._first = self._parameters.kinds, self._parameters.first
        self._positional = self._parameters.positional
        self._calls: dict[Any, Any] = {}
        self._traces: dict[Any, Any] = {}
        self._plans: dict[Any, Any] = {}
        self._lock = threading.Lock()

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Calls the operation; see :func:`rowwise`."""
        if _is_compiling():
            return self._inline(args, kwargs)
        # Defaults are the same in each call, so that only what was passed tells calls apart.
        values: Sequence[Any] = self._parameters.bind(args, kwargs) if kwargs else args
        key: Any
        try:
            key = tuple([(value.shape, value.dtype, value.device, value.layout) if kind else
                         _constant_key(value)
                         for value, kind in zip(values, self._kinds, strict=False)])
            plan = self._calls.get(key) if len(args) <= self._positional else None
        except (AttributeError, RuntimeError, TypeError):  # The words for it are elsewhere.
            plan = key = None
        if plan is None:
            if is_traced():
                return self._inline(args, kwargs)
            if getattr(state, "is_tracing", False):
                # A part of another row function.
                part: R = self._parameters.call(self._parameters.bind(args, kwargs))
                return part
            plan = self._plan(self._parameters.bind(args, kwargs), key)
        if plan.is_by_torch or transforms_are_active() or (
                values[self._first].is_cpu and falls_back("a function of lnbwd.rowwise")):
            return self._inline(args, kwargs)
        result: R = _run(plan, [value for value, kind in zip(values, self._kinds, strict=False)
                               if kind and value is not None])
        return result

    def write(self, results: Sequence[Tensor], *args: P.args, **kwargs: P.kwargs) -> None:
        """Writes results to contiguous tensors, perhaps the rows that it reads; no gradient."""
        values = self._parameters.bind(args, kwargs)
        plan = self._plan(values, None)
        if plan.is_by_torch or (values[self._first].is_cpu
                                and falls_back("a function of lnbwd.rowwise")):
            found: Any = self._inline(args, kwargs)
            for result, one in zip(results, found, strict=True):
                result.copy_(one.reshape(result.shape))
            return
        tensors = [value for value, kind in zip(values, self._kinds, strict=True)
                   if kind and value is not None]
        forward = plan.inference
        outputs = dict(zip(forward.results, results, strict=True))
        _write(plan, forward, tensors[plan.first].shape, [
            *[tensors[place].contiguous() for place in forward.inputs],
            *[outputs[place] for place in range(len(forward.program.outputs))]])

    def __repr__(self) -> str:
        return f"<lnbwd.rowwise {self.function.__qualname__}>"

    def __reduce__(self) -> str:
        return self.function.__qualname__

    def mlir(self, *args: P.args, **kwargs: P.kwargs) -> str:
        """A call's row programs as MLIR: the forward pass in training, and its whole gradient."""
        plan = self._plan(self._parameters.bind(args, kwargs), None)
        return str(plan.mlir())

    def _inline(self, args: Any, kwargs: Any) -> R:
        """A call by the function's own operations, as in graphs, whose types autocast leaves."""
        function: Callable[..., R] = self.function
        kind = next(value.device.type for value in (*args, *kwargs.values())
                    if isinstance(value, Tensor))
        if "part" in self._kinds:
            args, kwargs = self._parameters.bind(args, kwargs), {}
            function = lambda *values: self._parameters.call(values)  # noqa: E731
        if kind != "meta" and torch.is_autocast_enabled(kind):
            with torch.autocast(kind, enabled=False):
                return function(*args, **kwargs)
        return function(*args, **kwargs)

    def _trace(self, key: Any, call: Callable[[Sequence[Tensor]], Any], signature: Any) -> Any:
        """The function as a row program, traced once a signature."""
        from ..program.tracing import trace

        def run(given: Sequence[Tensor]) -> Any:
            state.is_tracing = True  # (In the thread that traces, which ends then.)
            return call(given)

        if key not in self._traces:
            self._traces[key] = trace(self.function, run, signature, self.saved)
            if len(self._traces) == _MANY_TRACES:
                warnings.warn(self._parameters.error(
                    f"compiled for {_MANY_TRACES} sets of types, shapes and constants; a number "
                    "that changes from call to call is better handed over in a tensor, as "
                    "lnbwd.Scalars or lnbwd.Columns"), UserWarning, stacklevel=5)
        return self._traces[key]

    def _trace_rows(self, key: Any, call: Callable[[Sequence[Tensor]], Any],
                    signature: Any) -> tuple[Any, bool]:
        """The trace, and whether PyTorch computes the function: a row of one element is a number,
        too, and only with two elements it may be seen which is meant."""
        try:
            return self._trace(key, call, signature), False
        except TypeError:
            if signature.length > 1 or signature.parts:
                raise
            return self._trace((key, 2), call, dataclasses.replace(signature, length=2)), True

    def _plan(self, values: Sequence[Any], key: Any) -> Any:
        """The plan of a call with these arguments, which are checked."""
        self._parameters.check(values)
        # (What traces takes long to import, and calls under torch.compile do without.)
        from ..program.watching import MAX_DIMENSIONS, Signature
        from .row_gradients import Plan

        first, name = values[self._first], self._parameters.all[self._first].name
        if first.dim() > MAX_DIMENSIONS:
            raise ValueError(self._parameters.error(
                f"{name}: expected at most {MAX_DIMENSIONS} dimensions, got {first.dim()}; "
                "flatten the leading ones"))
        pairs = list(zip(self._parameters.all, values, strict=True))
        tensors = {p.name: value for p, value in pairs if p.kind and value is not None}
        constants = {p.name: value for p, value in pairs if p.name not in tensors}
        is_by_torch = (first.is_meta or not first.shape[-1]
                       or any(t.dtype == torch.float64 for t in tensors.values()))
        # float64 is PyTorch's; that the function is one over rows is seen with float32.
        dtypes = {name: torch.float32 if t.dtype == torch.float64 else t.dtype
                  for name, t in tensors.items()}
        signature = Signature({p.name: p.kind for p in self._parameters.all if p.name in tensors},
                              dtypes, first.shape[-1] or 1, max(first.dim(), 2),
                              {p.name: part_of(value.shape, first.shape)
                               for p, value in pairs if p.kind == "part" and value is not None})
        short = (tuple(dtypes.items()), signature.length, signature.rank, is_by_torch,
                 tuple(signature.parts.items()),
                 tuple((name, _constant_key(value)) for name, value in constants.items()))
        rows = rows_hint(math.prod(first.shape[:-1]))

        def call(given: Sequence[Tensor]) -> Any:
            named = {**constants, **dict(zip(tensors, given, strict=True))}
            return self._parameters.call([named[p.name] for p in self._parameters.all])

        with self._lock:
            found, is_unclear = self._trace_rows(short, call, signature)
            found, is_by_torch = found.of_rows(first.shape), is_by_torch or is_unclear
            if first.dim() == 1 and "column" in found.shapes:
                raise ValueError(self._parameters.error(
                    f"{name}: expected two dimensions or more to combine rows, got one; pass "
                    f"{name}[None]"))
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
