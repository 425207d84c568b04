# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A row function run on stand-ins, in the form of a graph, while each call of PyTorch is seen."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import functools
import math
import re
import sys
import threading
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

import torch
from torch import Tensor
from torch.fx import GraphModule, Node
from torch.overrides import TorchFunctionMode

from ..core.base.errors import refusal
from .graphs.nodes import INTEGERS, known
from .operands import ELEMENT_NAMES, Input
from .row_program import RowProgram
from .torch_internals.eager import Tracer, decompositions, graph_in_progress

P = ParamSpec("P")
R = TypeVar("R")

aten, prims = torch.ops.aten, torch.ops.prims

MAX_DIMENSIONS = 6

FUNCTIONS = ("abs", "ceil", "clamp", "cos", "erf", "exp", "exp2", "expm1", "floor", "log", "log1p",
             "log2", "maximum", "minimum", "reciprocal", "relu", "round", "rsqrt", "sigmoid",
             "sign", "sin", "sqrt", "square", "tanh", "trunc", "where")
"""The functions of torch on elements that row functions may call."""

SUMS_OF_ROWS = ("all", "amax", "amin", "any", "argmax", "argmin", "log_softmax", "logsumexp", "max",
                "mean", "min", "norm", "softmax", "std", "sum", "var")
"""Those over the last dimension."""

SUPPORTED = (f"+, -, *, /, ** with a constant exponent, comparisons, {', '.join(FUNCTIONS)}; over "
             f"the last dimension {', '.join(SUMS_OF_ROWS)}; chunk of parameters; arange; and "
             "what torch.nn.functional makes of these (silu, gelu, ...)")

RANDOM = ("draws random numbers, which is not supported in row functions; draw them outside and "
          "pass them as a parameter annotated lnbwd.Rows")

EXPECTED = ("expected operations on the elements of a row, or over its last dimension; compute "
            "the rest outside of the function")

# Calls that give a Python value that depends on a tensor's elements.
_LOOKS = {"__bool__", "__int__", "__float__", "__complex__", "__index__", "item", "tolist", "numpy",
          "__array__", "__contains__", "is_nonzero", "equal", "allclose"}
_CASTS = {"to", "type", "type_as", "half", "bfloat16"}
# What users write for them.
_SPELLINGS = {"__getitem__": "indexing", "__floordiv__": "//", "__rfloordiv__": "//",
              "__rpow__": "** with an exponent that is no constant"}
_IN_PLACE = {f"__i{name}__" for name in ("add", "sub", "mul", "truediv", "div", "floordiv", "pow",
                                         "mod", "and", "or", "xor")} | {"__setitem__"}


@dataclass(frozen=True)
class Signature:
    """The arguments that a function is traced for.

    Attributes:
        kinds: by the name of each parameter that is a tensor: "row", "column", "scalar", "part" or
            "number".
        dtypes: their types.
        length: N.
        rank: the number of dimensions of its row blocks, 2 or more.
        parts: the shape of each parameter that is a "part", and its dimensions (``part_dims``), of
            any number of rows where the shape is ().
    """

    kinds: Mapping[str, str]
    dtypes: Mapping[str, torch.dtype]
    length: int
    rank: int
    parts: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def input(self, name: str) -> Input | None:
        """The input for a "part", a "number" or a scalar of integers; None for others."""
        if self.kinds[name] == "number":
            return Input("number", "i64")
        if self.dtypes[name] in INTEGERS:
            return Input("scalar", INTEGERS[self.dtypes[name]])
        if name not in self.parts:
            return None
        shape, dims = self.parts[name]
        kind = "part" if dims and dims != ((1, self.length),) else "column" if dims else "number"
        if dims and not shape:
            kind = "lead"
        return Input(kind, ELEMENT_NAMES[self.dtypes[name]],
                     dims if kind in ("part", "lead") else ())


@dataclass(frozen=True)
class Trace:
    """A function as a row program.

    Attributes:
        program: its outputs are the results, and then what may be saved for the gradient.
        inputs: the parameter of each of the program's inputs.
        results: for each result its place among the program's outputs.
        shapes: for each result "row" ([..., N]), "scalar" ([..., 1]), "number" ([...]), "column"
            ([N]), "total" ([]), or which of the dimensions of the rows it has.
        conditions: for each result None, or that it is whether a number is greater than 0, True, or
            that it is not.
        sources: for each result the parameters with respect to which it has a gradient.
        is_tuple: whether the function returns a tuple.
        saved: the places of the outputs that are there to be saved, and of results that serve.
        parts: how many parts the rows and columns of a call are cut into.
        signature: that of the program, in which each part is a parameter.
    """

    program: RowProgram
    inputs: tuple[str, ...]
    results: tuple[int, ...]
    shapes: tuple[str | tuple[int, int | None], ...]
    conditions: tuple[bool | None, ...]
    sources: tuple[frozenset[str], ...]
    is_tuple: bool
    saved: tuple[int, ...]
    parts: int
    signature: Signature

    def of_length(self, length: int) -> Trace:
        """The same of an elementwise program, for rows of another length."""
        return dataclasses.replace(
            self, program=dataclasses.replace(self.program, length=length),
            signature=dataclasses.replace(self.signature, length=length))

    def of_rows(self, shape: Sequence[int]) -> Trace:
        """The same for rows of a shape, whose first dimensions give combinations' elements."""
        outputs = list(self.program.outputs)
        for kind, place in zip(self.shapes, self.results, strict=True):
            if isinstance(kind, tuple):
                first, end = kind
                distance = self.program.length if end else 1
                size = math.prod(shape[first:-1]) * (1 if end else self.program.length)
                outputs[place] = dataclasses.replace(outputs[place], parts=((distance, size),))
        return dataclasses.replace(self, program=dataclasses.replace(
            self.program, outputs=tuple(outputs)))


@dataclass
class Label:
    """Facts about the call that made a node."""

    line: int | None
    call: str
    is_cast: bool = False
    is_detached: bool = False


class Refused(Exception):
    """A TypeError that is raised within a call of PyTorch's, which would take one for its own."""


class Watch(TorchFunctionMode):
    """Sees each call of PyTorch that a function makes, and labels the nodes that it leaves."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function
        self.parameters: list[Tensor] = []
        self.frame: types.FrameType | None = None
        self.labels: dict[Node, Label] = {}
        self.has_detached = False

    @property
    def line(self) -> int | None:
        """The line of the function that runs."""
        return None if self.frame is None else self.frame.f_lineno

    def refuse(self, reason: str) -> Refused:
        """The error that a function is none of rows, at the line that runs."""
        return Refused(str(refusal(self.function, self.line, reason)))

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        frame: types.FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_code is not self.function.__code__:
            frame = frame.f_back
        self.frame = frame or self.frame
        name = getattr(func, "__name__", str(func))
        if name in _LOOKS:
            raise self.refuse(
                f"{name} looks at a tensor's elements while the function is compiled, when there "
                "are none; expected no control flow that depends on data: select elements by "
                "torch.where, and hand over numbers as parameters")
        is_in_place = name in _IN_PLACE or (name.endswith("_") and not name.endswith("__"))
        if is_in_place and any(args[0] is parameter for parameter in self.parameters):
            raise self.refuse(f"{name} changes a parameter in place; expected a new tensor "
                              "(x = x + 1 in the place of x += 1)")
        try:
            result = func(*args, **(kwargs or {}))
        except Exception as error:
            words = str(error).strip().split("\n")[0]
            if "dropout" in name:
                raise self.refuse(f"{name} {RANDOM}") from error
            if "FakeTensor" in words:
                words = "it takes a tensor that is no parameter of the function"
            raise self.refuse(f"{name} fails: {words}; {EXPECTED}") from error
        if name == "squeeze" and self._drops_rows(*args, **(kwargs or {})):
            raise self.refuse("squeeze drops a dimension of one row but not of more; expected "
                              "squeeze(-1) of [..., 1], or none")
        if (name in _CASTS and isinstance(result, Tensor) and result is args[0]
                and result.dtype in (torch.float16, torch.bfloat16)):
            # It has the type already, for PyTorch, but has not been rounded to it.
            result = result.float().to(result.dtype)
        is_detach = name in ("detach", "detach_") or func is Tensor.data.__get__  # type: ignore[attr-defined]
        self.has_detached |= is_detach
        self._label(Label(self.line, _SPELLINGS.get(name, name), name in _CASTS,
                          is_detach or not torch.is_grad_enabled()))
        return result

    @staticmethod
    def _drops_rows(x: Tensor, dim: int | Sequence[int] | None = None, *dims: int) -> bool:
        """Whether a squeeze is of a dimension of rows, whose number is a symbol."""
        places = range(x.dim()) if dim is None else (dim,) if isinstance(dim, int) else dim
        return any(isinstance(x.shape[place], torch.SymInt) for place in (*places, *dims))

    def _label(self, label: Label) -> None:
        for node in reversed(graph_in_progress().nodes):
            if node in self.labels or node.op == "placeholder":
                break
            self.labels[node] = label


# One function is traced at a time: the default type belongs to the process.
_lock = threading.RLock()


def alone(function: Callable[P, R]) -> Callable[P, R]:
    """A decorator of a function that runs in a thread of its own, without the caller's transforms,
    and modes, and with PyTorch's own default type, so that a trace serves calls under any."""
    @functools.wraps(function)
    def run(*arguments: P.args, **options: P.kwargs) -> R:
        with _lock, concurrent.futures.ThreadPoolExecutor(1) as pool:
            default = torch.get_default_dtype()
            torch.set_default_dtype(torch.float32)
            try:
                return pool.submit(function, *arguments, **options).result()
            finally:
                torch.set_default_dtype(default)

    return run


def _stand_ins(signature: Signature, tracer: Tracer) -> list[Tensor]:
    # Sizes that differ are symbols that differ; one of the row length would be no symbol.
    leading = tuple(size for size in range(2, signature.rank + 2)
                    if size != signature.length)[:signature.rank - 1]
    result: list[Tensor] = []
    for name, kind in signature.kinds.items():
        last = 1 if kind == "scalar" else signature.length
        shape = () if kind == "number" else (last,) if kind == "column" else (*leading, last)
        result.append(tracer.stand_in(
            torch.empty(shape, dtype=signature.dtypes[name], device="cpu")))
    return result


def _results(watch: Watch, result: Any) -> list[Tensor]:
    """The results of a function, as a list."""
    if isinstance(result, Tensor):
        return [result]
    if type(result) is tuple and result and all(isinstance(r, Tensor) for r in result):
        return list(result)
    if type(result) is tuple:
        got = "(" + ", ".join(type(r).__name__ for r in result) + ")"
    else:
        got = "nothing" if result is None else f"a {type(result).__name__}"
    raise watch.refuse(f"it returns {got}; expected a tensor of rows, or a tuple of them")


def _locals(watch: Watch, names: Sequence[str]) -> list[Tensor]:
    """The tensors that the function's variables of these names were at its end."""
    known = {} if watch.frame is None else dict(watch.frame.f_locals)
    for name in names:
        if not isinstance(known.get(name), Tensor):
            tensors = [key for key, value in known.items() if isinstance(value, Tensor)]
            raise watch.refuse(
                f"saved: expected names of its variables that are tensors, of "
                f"{', '.join(tensors)}, got {name!r}")
    return [known[name] for name in names]


def _hardtanh(x: Tensor, low: float = -1., high: float = 1.) -> Tensor:
    """PyTorch's hardtanh, with the gradient 0 at both ends; up to 2.13 clamp's is 1 there."""
    return torch.where(x <= low, low, torch.where(x >= high, high, x))


def _std(x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """The gradient is 0 where the row is constant."""
    variance = torch.var(x, *args, **kwargs)
    is_zero = variance == 0
    return torch.where(is_zero, 0.0, torch.where(is_zero, 1.0, variance).sqrt())


def _std_mean(x: Tensor, dim: Any = None, *, keepdim: bool = False,
              **kwargs: Any) -> tuple[Tensor, Tensor]:
    return _std(x, dim, keepdim=keepdim, **kwargs), x.mean(dim, keepdim=keepdim)


def _sinc(x: Tensor) -> Tensor:
    """The gradient is 0 at 0."""
    is_zero = x == 0
    angle = torch.where(is_zero, 1.0, x) * math.pi
    return torch.where(is_zero, 1.0, angle.sin() / angle)


def _power(x: Tensor, exponent: float) -> Tensor:
    """A power, whose gradient is infinite at 0 for negative exponents."""
    return (1 / x) ** -exponent if exponent in (-2, -3, -4) else NotImplemented


def _logit(x: Tensor, eps: float | None = None) -> Tensor:
    """The gradient is infinite at 0 and 1, and not 0 at the bounds."""
    if eps is not None:
        x = torch.where(x < eps, eps, torch.where(x > 1 - eps, 1 - eps, x))
    return x.log() - torch.log1p(-x)


def _softplus(x: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """The gradient at infinity is 1."""
    is_linear = x * beta > threshold
    return torch.where(is_linear, x, torch.where(is_linear, 0.0, x * beta).exp().log1p() / beta)


def _reduced(loss: Tensor, reduction: int) -> Tensor:
    return loss.mean() if reduction == 1 else loss.sum() if reduction == 2 else loss


def _smooth_l1(x: Tensor, target: Tensor, reduction: int = 1, beta: float = 1.0) -> Tensor:
    """The loss, whose gradient at an infinite difference is 1 or -1."""
    size = (x - target).abs()
    is_far = size >= beta
    near = torch.where(is_far, 0.0, x - target)
    return _reduced(torch.where(is_far, size - beta / 2, near * near / (2 * beta or 1)), reduction)


def _binary_cross_entropy(x: Tensor, target: Tensor, weight: Tensor | None = None,
                          reduction: int = 1) -> Tensor:
    """The loss, whose gradient at 0 and 1 is a difference times 1e12, not infinite."""
    end = x.round()  # A constant.
    is_end = x == end
    inner = torch.where(is_end, 0.5, x)
    loss = torch.where(
        is_end, 100 * (end + target - 2 * end * target) + (x - end) * (1e12 * (end - target)),
        (target - 1) * torch.log1p(-inner).clamp(min=-100) - target * inner.log().clamp(min=-100))
    return _reduced(loss if weight is None else loss * weight, reduction)


def _lerp(start: Tensor, end: Tensor, weight: float) -> Tensor:
    """As PyTorch's; up to 2.12 its decomposition computes the weight in tensors."""
    step = end - start
    return start + weight * step if abs(weight) < 0.5 else end - (1 - weight) * step


def _truth(rule: Callable[..., Any] | None, x: Tensor, dim: Sequence[int] | None = None,
           keepdim: bool = False) -> Tensor:
    """any and all, which combine nothing over no dimensions; by the decomposition, all rows."""
    if dim is not None and not dim:
        return x != 0
    return rule(x, dim, keepdim) if rule else NotImplemented


_KINKS: dict[Any, Callable[..., Any]] = {
    aten.std.correction: _std, aten.std_mean.correction: _std_mean, aten.sinc.default: _sinc,
    aten.pow.Tensor_Scalar: _power, aten.logit.default: _logit,
    aten.binary_cross_entropy.default: _binary_cross_entropy,
    aten.softplus.default: _softplus, aten.smooth_l1_loss.default: _smooth_l1,
    aten.huber_loss.default: lambda x, target, reduction=1, delta=1.0: (
        delta * _smooth_l1(x, target, reduction, delta)),
    aten.hardtanh.default: _hardtanh, aten.lerp.Scalar: _lerp,
    aten.hardsigmoid.default: lambda x: torch.where(x == x, _hardtanh(x + 3, 0, 6) / 6, math.nan),
    aten.hardswish.default: lambda x: x * _hardtanh(x + 3, 0, 6) / 6}
"""Functions whose result or gradient by Inductor's decomposition is another, often NaN."""


def run_function(function: Callable[..., Any], call: Callable[[Sequence[Tensor]], Any],
                 signature: Signature, saved: Sequence[str]) -> tuple[GraphModule, Watch,
                                                                      list[Any]]:
    """The graph of a function, whose last outputs are the values saved by name."""
    watch = Watch(function)
    facts: list[Any] = [0, False]

    def run(*tensors: Tensor) -> list[Tensor]:
        watch.parameters = list(tensors)
        with watch, torch.device("cpu"):
            result = call(tensors)
        results = _results(watch, result)
        facts[:] = [len(results), isinstance(result, tuple)]
        return [*results, *_locals(watch, saved)]

    # Softmaxes are kept, of the largest element of a row they need no gradient, and so are norms,
    # whose gradient is 0 where they are.
    rules = {**decompositions(aten.glu), **_KINKS}
    rules |= {op: functools.partial(_truth, rules.get(op)) for op in (aten.any.dims, aten.all.dims)}
    table = {op: rule for op, rule in rules.items()
             if known(op).kind not in ("softmax", "norm", "columns")}
    tracer = Tracer()
    arguments = _stand_ins(signature, tracer)
    rows = arguments[list(signature.kinds.values()).index("row")]
    sizes = [str(size) for size in rows.shape[:-1]]
    try:
        module = tracer.trace(run, arguments, table)
    except Refused as error:
        raise TypeError(str(error)) from error.__cause__
    watch.frame = None
    watch.parameters = []
    if tracer.conditions:
        words = readable_sizes(tracer.conditions[0], sizes)
        raise refusal(function, None, f"it depends on the number of rows, {words}; expected the "
                      "same for any number of them")
    module.graph.eliminate_dead_code()
    return module, watch, facts


def readable_sizes(text: str, sizes: Sequence[str]) -> str:
    """A text with M, or M0 and M1, in the place of the symbols of the leading dimensions."""
    for place, name in enumerate(sizes):
        text = re.sub(rf"\b{re.escape(name)}(?!\d)", "M" if len(sizes) == 1 else f"M{place}", text)
    return text
