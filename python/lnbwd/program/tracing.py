# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From a Python function over rows to a row program; :mod:`.row_functions` is for users.

The function is run once on tensors that have types and shapes but no elements, its leading
dimensions symbols, and what it does is written down (make_fx) in the operations that Inductor's
decompositions leave, which :mod:`.convert` makes nodes of a row program. While it
runs, each call of PyTorch is seen (:class:`_Watch`): that tells on which line an operation stands,
which casts the function itself asks for, what it takes out of the gradient, and where it looks at
data.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import operator
import re
import sys
import threading
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch._decomp import get_decompositions
from torch._functorch.pyfunctorch import temporarily_clear_interpreter_stack
from torch._inductor.decomposition import select_decomp_table
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx import GraphModule, Node
from torch.fx.experimental.proxy_tensor import get_proxy_mode, make_fx
from torch.fx.experimental.symbolic_shapes import (
    DimDynamic,
    ShapeEnv,
    StatelessSymbolicContext,
)
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import _disable_current_modes

from ..core.base.errors import refusal
from .element_types import ELEMENT_NAMES
from .graphs.convert import Conversion, Unsupported, UnsupportedOperation, check
from .graphs.domains import (
    DTYPES,
    ELEMENTS,
    FLOATS,
    INTEGERS,
    SCALARS,
    Domain,
    product,
)
from .graphs.maxima import ANY, turn_to_maxima
from .graphs.nodes import (
    NORM,
    SOFTMAXES,
    is_constant,
    is_index,
    is_random,
    is_view,
    sum_kind,
)
from .row_program import INPUT_KINDS, OUTPUT_KINDS, Input, Output, RowProgram, operands_of, reached

aten, prims = torch.ops.aten, torch.ops.prims

MAX_DIMENSIONS = 6

FUNCTIONS = ("abs", "ceil", "clamp", "cos", "erf", "exp", "exp2", "expm1", "floor", "log", "log1p",
             "log2", "maximum", "minimum", "reciprocal", "relu", "round", "rsqrt", "sigmoid",
             "sign", "sin", "sqrt", "square", "tanh", "trunc", "where")
"""The functions of torch on elements that row functions may call."""

SUMS_OF_ROWS = ("all", "amax", "amin", "any", "argmax", "argmin", "log_softmax", "logsumexp", "max",
                "mean", "min", "norm", "softmax", "std", "sum", "var")
"""Those over the last dimension."""

_NUMBERS = (aten.arange.default, aten.arange.start, aten.arange.start_step)

_SUPPORTED = (f"+, -, *, /, ** with a constant exponent, comparisons, {', '.join(FUNCTIONS)}; over "
              f"the last dimension {', '.join(SUMS_OF_ROWS)}; chunk of parameters; arange; and "
              "what torch.nn.functional makes of these (silu, gelu, ...)")

_RANDOM = ("draws random numbers, which is not supported in row functions; draw them outside and "
           "pass them as a parameter annotated lnbwd.Rows")

_PARTS = ("takes a part of each row; expected parts of one length, of parameters that nothing uses "
          "whole; or pass the parts as parameters, as in f(*x.chunk(2, -1))")

_EXPECTED = ("expected operations on the elements of a row, or over its last dimension; compute "
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
    """What a function is traced for.

    Attributes:
        kinds: by the name of each parameter that is a tensor: "row", "column", "scalar", "part" or
            "number".
        dtypes: their types.
        length: N.
        rank: the number of dimensions of its row blocks, 2 or more.
        constants: the values of the other parameters.
        parts: the shape of each parameter that is a "part", and its dimensions (``part_dims``), of
            any number of rows where the shape is ().
    """

    kinds: Mapping[str, str]
    dtypes: Mapping[str, torch.dtype]
    length: int
    rank: int
    constants: Mapping[str, Any]
    parts: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def input(self, name: str) -> Input | None:
        """What a "part", a "number" or a scalar of integers is in a program; None of other
        parameters."""
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
        has_gradient: for each result whether it has one.
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
    has_gradient: tuple[bool, ...]
    is_tuple: bool
    saved: tuple[int, ...]
    parts: int
    signature: Signature

    def of_rows(self, shape: Sequence[int]) -> Trace:
        """The same for rows of a shape, which says how many elements are kept of what combines rows
        along their first dimensions."""
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
class _Label:
    """What is known of the call that made a node."""

    line: int | None
    call: str
    is_cast: bool = False
    is_detached: bool = False


class _Refused(Exception):
    """A TypeError that is raised within a call of PyTorch's, which would take one for its own."""


class _Watch(TorchFunctionMode):
    """Sees each call of PyTorch that a function makes, and labels the nodes that it leaves."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function
        self.parameters: list[Tensor] = []
        self.frame: types.FrameType | None = None
        self.labels: dict[Node, _Label] = {}
        self.has_detached = False

    @property
    def line(self) -> int | None:
        """The line of the function that runs."""
        return None if self.frame is None else self.frame.f_lineno

    def refuse(self, reason: str) -> _Refused:
        return _Refused(str(refusal(self.function, self.line, reason)))

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
                raise self.refuse(f"{name} {_RANDOM}") from error
            if "FakeTensor" in words:
                words = "it takes a tensor that is no parameter of the function"
            raise self.refuse(f"{name} fails: {words}; {_EXPECTED}") from error
        if (name in _CASTS and isinstance(result, Tensor) and result is args[0]
                and result.dtype in (torch.float16, torch.bfloat16)):
            # It has the type already, for PyTorch, but has not been rounded to it.
            result = result.float().to(result.dtype)
        is_detach = name in ("detach", "detach_") or func is Tensor.data.__get__  # type: ignore[attr-defined]
        self.has_detached |= is_detach
        self._label(_Label(self.line, _SPELLINGS.get(name, name), name in _CASTS,
                           is_detach or not torch.is_grad_enabled()))
        return result

    def _label(self, label: _Label) -> None:
        mode = get_proxy_mode()
        assert mode is not None
        for node in reversed(mode.tracer.graph.nodes):
            if node in self.labels or node.op == "placeholder":
                break
            self.labels[node] = label


# One function is traced at a time: the default type belongs to the process.
_lock = threading.RLock()


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """Without the transforms and modes that the caller may be in, and with PyTorch's own default
    type: what is traced serves calls under any."""
    with (_lock, temporarily_clear_interpreter_stack(), _disable_current_modes(),
          torch.inference_mode(False), torch.enable_grad(), torch._C._DisableAutocast()):
        default = torch.get_default_dtype()
        torch.set_default_dtype(torch.float32)
        try:
            yield
        finally:
            torch.set_default_dtype(default)


def _fake_arguments(signature: Signature, mode: FakeTensorMode) -> list[Tensor]:
    # Sizes that differ are symbols that differ.
    leading = tuple(range(2, signature.rank + 1))
    result: list[Tensor] = []
    for name, kind in signature.kinds.items():
        last = 1 if kind == "scalar" else signature.length
        shape = () if kind == "number" else (last,) if kind == "column" else (*leading, last)
        sizes = [DimDynamic.DUCK] * (len(shape) - 1) + [DimDynamic.STATIC] * bool(shape)
        tensor = torch.empty(shape, dtype=signature.dtypes[name], device="cpu")
        result.append(mode.from_tensor(
            tensor, symbolic_context=StatelessSymbolicContext(dynamic_sizes=sizes)))
    return result


def _results(watch: _Watch, result: Any) -> list[Tensor]:
    """What a function returned, as a list."""
    if isinstance(result, Tensor):
        return [result]
    if type(result) is tuple and result and all(isinstance(r, Tensor) for r in result):
        return list(result)
    if type(result) is tuple:
        got = "(" + ", ".join(type(r).__name__ for r in result) + ")"
    else:
        got = "nothing" if result is None else f"a {type(result).__name__}"
    raise watch.refuse(f"it returns {got}; expected a tensor of rows, or a tuple of such")


def _locals(watch: _Watch, names: Sequence[str]) -> list[Tensor]:
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
    """PyTorch's, whose gradient is 0 at both ends; that of clamp is 1 there up to PyTorch 2.13."""
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
    """Of negative exponents the gradient is infinite at 0."""
    return (1 / x) ** -exponent if exponent in (-2, -3, -4) else NotImplemented


def _logit(x: Tensor, eps: float | None = None) -> Tensor:
    """The gradient is infinite at 0 and 1, and not 0 at the bounds."""
    if eps is not None:
        x = torch.where(x < eps, eps, torch.where(x > 1 - eps, 1 - eps, x))
    return x.log() - torch.log1p(-x)


def _binary_cross_entropy(x: Tensor, target: Tensor, weight: Tensor | None = None,
                          reduction: int = 1) -> Tensor:
    """The gradient at 0 and 1 is a difference times 1e12, and not that of an infinite logarithm."""
    end = x.round()  # A constant.
    is_end = x == end
    inner = torch.where(is_end, 0.5, x)
    loss = torch.where(
        is_end, 100 * (end + target - 2 * end * target) + (x - end) * (1e12 * (end - target)),
        (target - 1) * torch.log1p(-inner).clamp(min=-100) - target * inner.log().clamp(min=-100))
    loss = loss if weight is None else loss * weight
    return loss.mean() if reduction == 1 else loss.sum() if reduction == 2 else loss


_KINKS: dict[Any, Callable[..., Any]] = {
    aten.std.correction: _std, aten.std_mean.correction: _std_mean, aten.sinc.default: _sinc,
    aten.pow.Tensor_Scalar: _power, aten.logit.default: _logit,
    aten.binary_cross_entropy.default: _binary_cross_entropy,
    aten.hardtanh.default: _hardtanh,
    aten.hardsigmoid.default: lambda x: _hardtanh(x + 3, 0, 6) / 6,
    aten.hardswish.default: lambda x: x * _hardtanh(x + 3, 0, 6) / 6}
"""Functions whose gradient, PyTorch's, differs somewhere from that of the operations of which
Inductor's decompositions make them, which is often NaN there."""


def _run(function: Callable[..., Any], call: Callable[[Sequence[Tensor]], Any],
         signature: Signature, saved: Sequence[str]) -> tuple[GraphModule, _Watch, list[Any]]:
    """The graph of a function, of which the last outputs are what is saved by name."""
    watch = _Watch(function)
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
    table = {op: rule for op, rule in {**get_decompositions([aten.glu]),
                                       **select_decomp_table(), **_KINKS}.items()
             if op not in SOFTMAXES and op is not NORM and op not in _NUMBERS}
    environment = ShapeEnv()
    mode = FakeTensorMode(shape_env=environment)
    arguments = _fake_arguments(signature, mode)
    rows = arguments[list(signature.kinds.values()).index("row")]
    sizes = [str(size) for size in rows.shape[:-1]]
    try:
        with mode:
            module = make_fx(torch.func.functionalize(run), table)(*arguments)
    except _Refused as error:
        raise TypeError(str(error)) from error.__cause__
    watch.frame = None
    watch.parameters = []
    if environment.guards:
        raise refusal(function, None, "it depends on the number of rows, "
                      f"{_readable(str(environment.guards[0].expr), sizes)}; expected the same for "
                      "any number of them")
    module.graph.eliminate_dead_code()
    return module, watch, facts


def _readable(text: str, sizes: Sequence[str]) -> str:
    """A text with M, or M0 and M1, in the place of the symbols of the leading dimensions."""
    for place, name in enumerate(sizes):
        text = re.sub(rf"\b{re.escape(name)}(?!\d)", "M" if len(sizes) == 1 else f"M{place}", text)
    return text


def _make_functional(node: Node, order: Mapping[Node, int]) -> None:
    """Some of PyTorch's own functions are written with operations in place on what they made."""
    schema = node.target._schema  # type: ignore[union-attr]
    if not schema.is_mutable:
        return
    changed = node.args[0]
    packet = getattr(aten, schema.name.split("::")[1].rstrip("_"), None)
    overload = getattr(packet, schema.overload_name or "default", None)
    if (overload is None or not isinstance(changed, Node) or changed.op == "placeholder"
            or any(user is not node and (is_view(user) or order[user] > order[node])
                   for user in changed.users)):
        raise Unsupported("changes a tensor in place")
    node.target = overload


_SPLITS = (aten.split.Tensor, aten.split_with_sizes.default)


def _part(node: Node) -> tuple[Node, int, int] | None:
    """What a node takes a part of each row of, the part's first element and its length."""
    source: Any
    dim: Any
    start: Any
    if node.target is operator.getitem:
        split: Any = node.args[0]
        if not isinstance(split, Node) or split.target not in _SPLITS:
            return None
        source, dim = split.args[0], split.args[2] if len(split.args) > 2 else 0
        start = sum(part.shape[-1] for part in split.meta["val"][:node.args[1]])
    elif node.target is aten.slice.Tensor:
        given = dict(enumerate(node.args))
        source, dim, start = node.args[0], given.get(1, 0), given.get(2) or 0
        if given.get(4, 1) != 1:
            return None
    else:
        return None
    shape = source.meta["val"].shape
    if dim % len(shape) != len(shape) - 1:
        return None
    return source, start % shape[-1], node.meta["val"].shape[-1]


def _cut(graph: torch.fx.Graph, signature: Signature) -> tuple[int, Signature]:
    """Makes each part of rows and columns a parameter, where a function uses nothing else of them
    and all parts have one length; how many parts there are, and the signature with these."""
    nodes = dict(zip(signature.kinds, (n for n in graph.nodes if n.op == "placeholder"),
                     strict=True))
    wholes = {node for name, node in nodes.items() if signature.kinds[name] in ("row", "column")}
    found = {node: part for node in graph.nodes
             if (part := _part(node)) is not None and part[0] in wholes}
    lengths = {length for _, _, length in found.values()}
    length = lengths.pop() if lengths else 0
    users = {user for whole in wholes for user in whole.users}
    if (lengths or not length or signature.length % length
            or any(start % length for _, start, _ in found.values())
            or not all(user in found or (user.target in _SPLITS and all(
                part in found for part in user.users)) for user in users)):
        return 1, signature
    count = signature.length // length
    kinds, dtypes = dict[str, str](), dict[str, torch.dtype]()
    for name, node in nodes.items():
        kind, dtype = signature.kinds[name], signature.dtypes[name]
        if node not in wholes:
            kinds[name], dtypes[name] = kind, dtype
            continue
        value, parts = node.meta["val"], []
        for place in range(count):
            with graph.inserting_before(node):
                parts.append(graph.placeholder(f"{node.name}_{place}"))
            parts[-1].meta["val"] = value.new_empty((*value.shape[:-1], length))
            kinds[f"{name}[{place}]"], dtypes[f"{name}[{place}]"] = kind, dtype
        for taken, (source, start, _) in found.items():
            if source is node:
                taken.replace_all_uses_with(parts[start // length])
    for node in dict.fromkeys((*found, *users, *wholes)):
        graph.erase_node(node)
    return count, dataclasses.replace(signature, kinds=kinds, dtypes=dtypes, length=length)


def _column_numbers(conversion: Conversion, node: Node) -> int:
    """The number of each column, which torch.arange of the row length gives."""
    length = conversion.domain.length
    if (node.target is not aten.arange.default or node.args[0] != length
            or node.meta["val"].dtype != torch.float32 or length > 2 ** 24):
        raise UnsupportedOperation(f"{node.target} gives other numbers")
    return conversion.builder.add("index")


_TOTALS: dict[Any, str] = {
    aten.sum.default: "total", aten.sum.dim_IntList: "total",
    aten.amax.default: "total_max", aten.max.default: "total_max"}


def _partial(node: Node, domain: Domain) -> str | None:
    """What a node is that combines rows along their first dimensions, and not along all."""
    if node.target not in (aten.sum.dim_IntList, aten.amax.default) or len(node.args) != 2:
        return None
    source: Any = node.args[0]
    along: Any = node.args[1]
    shape = source.meta["val"].shape
    dims = sorted(d % len(shape) for d in ([along] if isinstance(along, int) else along))
    is_number = bool(dims) and dims[-1] == len(shape) - 1
    first = dims[:-1] if is_number else dims
    if (domain.length == 1 or domain.role(source.meta["val"]) != "row"
            or not 0 < len(first) < len(shape) - 1 or first != list(range(len(first)))):
        return None
    return ("part_total" if is_number else "part") + (
        "_max" if node.target is aten.amax.default else "" if is_number else "_sum")


def _combined(node: Node, domain: Domain) -> tuple[str, bool | None] | None:
    """What a node is that combines rows, or is that in another type, as an output, and the
    condition that it is of it."""
    value = node.meta.get("val")
    if not isinstance(value, Tensor):
        return None
    if value.dtype == torch.bool:
        found = node.target in (aten.ne.Scalar, aten.logical_not.default) and _combined(
            node.args[0], domain)  # type: ignore[arg-type]
        return (found[0], found[1] is None) if found else None
    if value.dtype not in DTYPES:
        return None
    if node.target is prims.convert_element_type.default:
        return _combined(node.args[0], domain)  # type: ignore[arg-type]
    if value.dim() == 1 and (kind := sum_kind(node, domain)):
        return kind, None
    kind = _partial(node, domain) if value.dim() else _TOTALS.get(node.target)
    return (kind, None) if kind else None


def _is_detached(conversion: Conversion, node: Node) -> bool:
    """Whether a value has no gradient with respect to any input."""
    made = conversion.builder.nodes
    used = reached([conversion.values[node]],
                   lambda index: () if made[index][0] == "detach" else operands_of(made[index]))
    return all(made[index][0] != "input" for index in used)


def _convert(conversion: Conversion, node: Node, label: _Label, order: Mapping[Node, int],
             has_detached: bool) -> None:
    """Makes the value of a node, with what its label says."""
    conversion.over = None  # (Where the node before stood.)
    if node.op == "get_attr":
        raise Unsupported("reads a tensor that is no parameter; expected parameters and numbers")
    if isinstance(node.target, torch._ops.OpOverload):
        _make_functional(node, order)
    if node.target in _NUMBERS:
        conversion.values[node] = _column_numbers(conversion, node)
        return
    if node.target is prims.inductor_random.default and node.args[1] in conversion.values:
        conversion.values[node] = conversion.builder.add(
            "random", conversion.values[node.args[1]])  # type: ignore[index]
        return
    if found := _combined(node, conversion.domain):
        source: Any = node.args[0]
        conversion.values[node] = conversion.value(source)
        if "total" in found[0] and conversion.domain.role(source.meta["val"]) == "row":
            conversion.values[node] = conversion.builder.add(
                "row_max" if found[0].endswith("_max") else "row_sum", conversion.values[node])
        return
    if any(_combined(used, conversion.domain) for used in node.all_input_nodes):
        raise Unsupported("uses what combines all rows; expected it to be returned as it is")
    if sum_kind(node, conversion.domain):
        raise Unsupported("sums over the rows; expected no operation that mixes rows")
    source = node.args[0].meta.get("val") if isinstance(node.args[0], Node) else None
    is_cast = node.target is prims.convert_element_type.default and isinstance(source, Tensor)
    is_power = is_cast and source.dtype == torch.float8_e8m0fnu
    if not is_power:
        check(node, conversion.domain)
    if is_power or (is_cast and source.dtype in FLOATS and node.meta["val"].dtype in FLOATS):
        # Values are float32, whatever PyTorch's type for them is, but where the function itself
        # asks for another one.
        value = conversion.value(node.args[0])
        to = node.meta["val"].dtype
        if label.is_cast and to != torch.float32:
            value = conversion.builder.add("round", value, FLOATS[to])
        conversion.values[node] = value
    else:
        conversion.convert(node)
    value = conversion.values[node]
    is_alias = node.target in (aten.alias.default, aten.detach.default)
    is_condition = isinstance(node.meta["val"], Tensor) and node.meta["val"].dtype == torch.bool
    if (label.is_detached or (is_alias and has_detached)) and not is_condition:
        def detach(v: int) -> int:
            return conversion.builder.add("detach", v)

        conversion.values[node] = (tuple(map(detach, value)) if isinstance(value, tuple)
                                   else detach(value))


def _arrange(program: RowProgram, results: Sequence[Output],
             extras: Sequence[Output]) -> tuple[RowProgram, tuple[int, ...], tuple[int, ...]]:
    """The program with results and what is saved beside them in the order that programs have, and
    their places. A result serves as what is saved if it is the same."""
    outputs = list(results)
    saved = []
    for extra in extras:
        if extra not in outputs:
            outputs.append(extra)
        saved.append(outputs.index(extra))
    order = sorted(range(len(outputs)), key=lambda place: OUTPUT_KINDS.index(
        outputs[place].kind))
    places = {old: new for new, old in enumerate(order)}
    return (dataclasses.replace(program, outputs=tuple(outputs[old] for old in order)),
            tuple(places[place] for place in range(len(results))),
            tuple(sorted({places[place] for place in saved})))


def trace(function: Callable[..., Any], call: Callable[[Sequence[Tensor]], Any],
          signature: Signature, saved: Sequence[str] | None) -> Trace:
    """Makes a function a row program.

    Args:
        function, call: the function, and what runs it on tensors in the order of
            ``signature.kinds``.
        saved: names of variables whose values the gradient may be given; None: the statistics
            (:meth:`RowProgram.statistics`).

    Raises:
        TypeError: it is none, with the line of the function and what was expected there.
    """
    with _alone():
        return _trace(function, call, signature, saved)


def _why(node: Node, call: str) -> str:
    """Why a call is refused of which there is a node that no row program has."""
    if is_random(node):
        return _RANDOM
    if node.target in (*_SPLITS, aten.slice.Tensor):
        return _PARTS
    if call == "arange":
        return ("gives other numbers than those of the columns; expected "
                "torch.arange(x.shape[-1], dtype=torch.float32), of 2^24 at most")
    if call in SUMS_OF_ROWS:
        return "goes over more than a row; expected the last dimension alone, dim=-1"
    return f"is not supported in row functions; supported are: {_SUPPORTED}"


def _trace(function: Callable[..., Any], call: Callable[[Sequence[Tensor]], Any],
           signature: Signature, saved: Sequence[str] | None) -> Trace:
    module, watch, (count, is_tuple) = _run(function, call, signature, saved or ())
    parts, signature = _cut(module.graph, signature)
    nodes = list(module.graph.nodes)
    *_, output = nodes
    placeholders = dict(zip((n for n in nodes if n.op == "placeholder"), signature.kinds,
                            strict=True))
    rows = next(n.meta["val"] for n, name in placeholders.items()
                if signature.kinds[name] == "row")
    domain = Domain(product(rows.shape[:-1]), signature.length)
    names = [str(size) for size in rows.shape[:-1]]

    def refuse(node: Node, reason: str) -> TypeError:
        label = watch.labels.get(node)
        return refusal(function, label.line if label else None,
                       f"{label.call if label else node.target} {_readable(reason, names)}")

    turn_to_maxima(module.graph, ANY, lambda most: _combined(most, domain))
    nodes = list(module.graph.nodes)
    order = {node: place for place, node in enumerate(nodes)}
    conversion = Conversion(domain)
    used = [n for n in placeholders if n.users]
    given = {n: signature.input(placeholders[n]) for n in used}
    kinds = {n: i.kind if i else domain.role(n.meta["val"]) or "row" for n, i in given.items()}
    for node in sorted(used, key=lambda n: INPUT_KINDS.index(kinds[n])):
        given_as = given[node]
        # In one way, so that it has one gradient.
        conversion.values[node] = (conversion.read(node) if given_as is None
                                   else conversion.input(node, given_as))
    unlabelled = _Label(None, "")
    for node in nodes:
        if (node.op in ("placeholder", "output") or is_constant(node)
                or isinstance(node.meta.get("val"), (torch.SymInt, int))):
            continue
        label = watch.labels.get(node, unlabelled)
        try:
            _convert(conversion, node, label, order, watch.has_detached)
        except UnsupportedOperation:
            raise refuse(node, _why(node, label.call)) from None
        except Unsupported as error:
            reason = str(error)
            raise refuse(node, reason if "expected" in reason
                         else f"{reason}; {_EXPECTED}") from None

    outputs, has_gradient = [], []
    shapes: list[str | tuple[int, int | None]] = []
    conditions: list[bool | None] = []
    conversion.over = None
    returned: Sequence[Node] = output.args[0]
    for place, node in enumerate(returned):
        value = node.meta["val"]
        if found := _combined(node, domain):
            kind, condition = found
            conditions.append(condition)
            has_gradient.append(condition is None and not _is_detached(conversion, node))
            is_number = "total" in kind
            first = rows.dim() - is_number - value.dim()
            shapes.append((first, -1 if is_number else None) if kind.startswith("part")
                          else "column" if value.dim() else "total")
            outputs.append(Output(kind, DTYPES.get(value.dtype, "f32"), conversion.values[node]))
            continue
        role = domain.role(value)
        shape = list(value.shape)
        block = domain.repeats(value) or 1 if role == "lead" else 1
        shapes.append("row" if role in ("row", "lead") else
                      "scalar" if len(shape) == len(names) + 1 else "number")
        what = "it returns" if place < count else f"saved: {saved and saved[place - count]!r} is"
        got = f"{str(value.dtype).replace('torch.', '')} {shape}"
        expected = [*rows.shape[:-1], *{"row": [signature.length // block], "scalar": [1],
                                        "number": []}[str(shapes[-1])]]
        types = ELEMENTS if role == "row" else DTYPES if role == "lead" else SCALARS
        if (role not in ("row", "lead", "scalar") or value.dtype not in types or shape != expected
                or (value.dtype in INTEGERS and not is_index(node))):
            raise refuse(node, f"is what {what}, {got}; expected rows {list(rows.shape)} or row "
                               f"scalars {[*rows.shape[:-1], 1]} of a floating-point type or bool, "
                               "or where a row's largest element is")
        outputs.append(Output("row" if role == "lead" else role, types[value.dtype],
                              conversion.value(node), block))
        # Conditions and integers have none, and neither has what follows from them alone.
        conditions.append(None)
        has_gradient.append(outputs[-1].dtype[0] != "i")
    results, extras = outputs[:count], outputs[count:]
    builder = conversion.builder
    needed = builder.needed(result.value for result in results)
    program, read = builder.finish(None, [place for _, place in conversion.inputs], [
        *results, *(extra for extra in extras if extra.value in needed)]).without_unused_inputs()
    if all(not i.dims.has_rows for i in program.inputs):
        raise refusal(function, None, "none of its results depends on its rows")
    compared = program.compared_maxima()
    kept_outputs = [output for output in program.outputs[count:] if output.value not in compared]
    if saved is None:
        kept_outputs = [Output("scalar", "f32", value) for value in program.statistics()]
    program, places, kept = _arrange(program, program.outputs[:count], kept_outputs)
    # The gradient of a maximum compares with it.
    kept = tuple(sorted({*kept, *(place for place, has in zip(places, has_gradient, strict=False)
                                  if has and program.outputs[place].kind.endswith("_max"))}))
    reads = [placeholders[node] for node, _ in conversion.inputs]
    return Trace(program, tuple(reads[place] for place in read), places, tuple(shapes[:count]),
                 tuple(conditions[:count]), tuple(has_gradient[:count]), is_tuple, kept, parts,
                 signature)
