# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The two passes of a norm with a linear layer after it, and the ways through either.

``kernel`` has all of a pass computed by kernels of ours; ``torch`` has PyTorch's products, which
are the vendor's, with row programs of ours around them, and ``branches`` the same on two streams.
All read and keep the same tensors. On an H100 ``branches`` took the device least time for all but
the smallest sizes, and ``kernel``, which is one launch, the host: :func:`choose` has the rule, and
docs/layer-norm-linear.md more. Whatever does not depend on a call's tensors is made once and kept:
texts, gradients, loaded kernels.
"""

from __future__ import annotations

import contextlib
import functools
import math
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from . import _chips, native, operations, ops, regions_op
from .compiler import Gradient as DerivedGradient
from .kernels import derive_gradient
from .launching import is_capturing, load_code
from .operations import LAYER_NORM, OPERATIONS, ROLES
from .rowprogram import Draft, Input
from .spec import GradientSpec, ProgramSpec, rows_hint, rows_option

INPUTS = ("x", "w", "gamma", "beta", "b")
"""What a gradient may be wanted of, in the order of the operator's results."""

KERNEL, TORCH, BRANCHES = "kernel", "torch", "branches"
_WAYS = ("auto", KERNEL, TORCH, BRANCHES)
_whose = "auto"

_SMALLEST, _SMALL = 1 << 12, 1 << 30
"""Multiplications of a product up to which all of a pass is one launch of ours: in a CUDA graph,
and of calls, where the host's time is longer than the device's."""

# Passes, devices and ranges of rows whose ways in a graph were run.
_loaded: set[tuple[object, int | None, int]] = set()

_MAX_LAYERS = 4096
_kept = functools.lru_cache(_MAX_LAYERS)


class _Program(NamedTuple):
    """A program that is registered: its name, and those of its operands, in order."""

    text: str
    names: Sequence[str]


@dataclass(frozen=True, eq=False)
class Layer:
    """What the kernels of a call depend on.

    Attributes:
        norm: the norm's operation, LayerNorm's or RMSNorm's.
        k, n: the length of a normalised row, and of a row of the result.
        dtype: of x, the weight and the result: "f16", "bf16" or "f32".
        columns: the types of gamma, beta and b, those that are there.
        epsilon: what is added to the variance, or to the mean square.
        tf32: whether what products multiply may be rounded from float32 to tf32.
    """

    norm: str
    k: int
    n: int
    dtype: str
    columns: tuple[tuple[str, str], ...]
    epsilon: float
    tf32: bool = False

    @functools.cached_property
    def statistics(self) -> tuple[str, ...]:
        """The numbers for each row that the forward pass puts out."""
        return ("mean", "rstd") if self.norm == LAYER_NORM else ("rstd",)

    def _element(self, name: str) -> str:
        return "f32" if ROLES[name].kind == "row_scalar" else dict(self.columns).get(
            name if name in INPUTS else name.removeprefix("d"), self.dtype)

    @functools.cached_property
    def names(self) -> list[str]:
        """The operands of the forward pass, in order."""
        absent = {"gamma", "beta", "b"} - set(dict(self.columns))
        return [o.name for o in OPERATIONS[self.norm + "_linear"].operands if o.name not in absent]

    @functools.cached_property
    def text(self) -> str:
        """The forward pass, of out and the statistics, as MLIR."""
        types = {name: operations.buffer_type(ROLES[name].kind, self._element(name),
                                              ROLES[name].row(self.k, self.n))
                 for name in self.names}
        return operations.mlir(self.norm + "_linear", types,
                               [f"epsilon = {self.epsilon:.17e} : f64"])

    def operand(self, name: str) -> regions_op.Operand:
        """What an operand is to the operator of row programs."""
        role = ROLES[name]
        return regions_op.Operand(role.kind, native.TYPES[self._element(name)], 1 if role.kind ==
                                  "row_scalar" else math.prod(role.row(self.k, self.n)))

    def register(self, source: str, names: Sequence[str], written: Iterable[str],
                 hint: int) -> _Program:
        """A program of kernels of ours.

        Args:
            source: the program as MLIR.
            names: of its arguments, in order; ``written`` are outputs.
            hint: the number of rows of calls.
        """
        def make(chip: str, format: str) -> ProgramSpec:
            is_rounded = self.tf32 and _chips.has_tf32_products(chip)
            return ProgramSpec(source, chip, "float32-products=tf32" * is_rounded, format,
                               rows_option(hint, chip))

        text = f"{source}// {hint} rows{', tf32' * self.tf32}\n"
        is_output = set(written).__contains__
        inputs, outputs = ([self.operand(name) for name in names if is_output(name) == group]
                           for group in (False, True))
        regions_op.register_program(text, inputs, outputs, functools.partial(load_code, make))
        return _Program(text, names)

    @_kept
    def program(self, hint: int) -> _Program:
        """The forward pass by kernels of ours."""
        return self.register(self.text, self.names, ("out", *self.statistics), hint)

    @_kept
    def bias_program(self, hint: int) -> _Program:
        """The column sums of dout, added up in float32 and rounded once. By kernels of ours:
        PyTorch's sum over the rows takes longer than the product beside it where rows are some
        hundred."""
        p = Draft(self.n, {"dout": Input("row", self.dtype)})
        p.write("db", "column_sum", dict(self.columns)["b"], p.values["dout"])
        program, _ = p.finish(None, hint)
        return _Program(regions_op.register_row_program(program).text, ["dout", "db"])

    @_kept
    def gradient(self, wanted: tuple[str, ...]) -> Gradient:
        """The gradient with respect to some inputs, given the statistics."""
        return Gradient(self, wanted)


@dataclass(frozen=True, eq=False)
class Gradient:
    """A layer's gradient.

    Attributes:
        layer: the layer.
        wanted: the inputs that it is taken with respect to, some of :data:`INPUTS`.
    """

    layer: Layer
    wanted: tuple[str, ...]

    @functools.cached_property
    def spec(self) -> GradientSpec:
        """What its text is kept by."""
        return GradientSpec(self.layer.text, self.wanted, ("out",), self.layer.statistics)

    @functools.cached_property
    def derived(self) -> DerivedGradient:
        """The derived gradient."""
        return derive_gradient(self.spec)

    @functools.cached_property
    def norm_inputs(self) -> tuple[str, ...]:
        """Those of the wanted inputs that are the norm's own."""
        return tuple(name for name in ("x", "gamma", "beta") if name in self.wanted)

    @_kept
    def program(self, hint: int) -> _Program:
        """The gradient by kernels of ours."""
        return self.layer.register(self.derived.mlir, self.derived.operands,
                                   ["d" + name for name in self.wanted], hint)


@functools.lru_cache(_MAX_LAYERS)
def find_layer(norm: str, k: int, n: int, dtype: torch.dtype,
               columns: tuple[tuple[str, torch.dtype], ...], epsilon: float, tf32: bool) -> Layer:
    """The layer of these sizes and types, the same object each time."""
    names = native.ELEMENT_NAMES
    return Layer(norm, k, n, names[dtype], tuple((name, names[given]) for name, given in columns),
                 epsilon, tf32)


# --------------------------------------------------------------------------------------------------
# The ways
# --------------------------------------------------------------------------------------------------


def _run(program: _Program, tensors: Mapping[str, Tensor]) -> None:
    """Launches a program on tensors by the names of its operands."""
    first = tensors[program.names[0]]
    regions_op.call_of(program.text, first.device)(
        first.shape[0], *[tensors[name] for name in program.names])


def _forward_by_kernels(layer: Layer, known: dict[str, Tensor]) -> dict[str, Tensor]:
    x = known["x"]
    results = {"out": x.new_empty(x.shape[0], layer.n), **{
        name: x.new_empty(x.shape[0], dtype=torch.float32) for name in layer.statistics}}
    _run(layer.program(rows_hint(x.shape[0])), known | results)
    return results


def _backward_by_kernels(gradient: Gradient, known: dict[str, Tensor]) -> dict[str, Tensor]:
    gradients = {"d" + name: torch.empty_like(known[name]) for name in gradient.wanted}
    _run(gradient.program(rows_hint(known["x"].shape[0])), known | gradients)
    return gradients


def _parameters(layer: Layer, known: Mapping[str, Tensor]) -> list[Tensor | None]:
    """The norm's, in types that its operators take."""
    return [ops.convert_parameter(known.get(name), known["x"])
            for name in ("gamma", "beta")[:ops.NORMS[layer.norm].count]]


def _normalise(layer: Layer, known: Mapping[str, Tensor]) -> Sequence[Tensor]:
    """The normalised rows and the statistics."""
    results: Sequence[Tensor] = ops.NORMS[layer.norm].raw(
        known["x"], (layer.k,), *_parameters(layer, known), layer.epsilon)
    return results


def _forward_by_torch(layer: Layer, known: dict[str, Tensor]) -> dict[str, Tensor]:
    z, *statistics = _normalise(layer, known)
    b = known.get("b")
    if b is not None and b.dtype != z.dtype:
        b = b.to(z.dtype)
    return {"out": torch.nn.functional.linear(z, known["w"], b),
            **dict(zip(layer.statistics, statistics, strict=True))}


def _norm_gradients(gradient: Gradient, known: Mapping[str, Tensor],
                    dz: Tensor) -> dict[str, Tensor]:
    """The gradients of the norm's inputs by our kernel of them."""
    layer = gradient.layer
    parameters = _parameters(layer, known)
    names = ("x", "gamma", "beta")[:1 + len(parameters)]
    results: Sequence[Tensor] = ops.NORMS[layer.norm].raw_bwd(
        dz, known["x"], *(known[name] for name in layer.statistics), *parameters, (layer.k,),
        [name in gradient.wanted for name in names])
    return {"d" + name: result for name, result in zip(names, results, strict=True)
            if name in gradient.wanted}


def _backward_by_torch(gradient: Gradient, known: dict[str, Tensor],
                       side: torch.cuda.Stream | None = None) -> dict[str, Tensor]:
    """What dw and db need, which may be done on another stream, and what the norm's gradients need:
    neither waits for the other."""
    layer, wanted, dout = gradient.layer, gradient.wanted, known["dout"]
    # All that outlives the other stream's work is memory of the current one.
    gradients = {"d" + name: torch.empty_like(known[name]) for name in ("w", "b") if name in wanted}
    with torch.cuda.stream(side):
        if "w" in wanted:
            torch.mm(dout.t(), _normalise(layer, known)[0], out=gradients["dw"])
        if "b" in wanted:
            _run(layer.bias_program(rows_hint(dout.shape[0])), known | gradients)
    if gradient.norm_inputs:
        gradients |= _norm_gradients(gradient, known, dout @ known["w"])
    return gradients


_streams = threading.local()


def _side_stream(device: torch.device) -> torch.cuda.Stream:
    """The stream beside the current one; one each for a thread, since each stream has a workspace
    of the vendor's products, and what one thread captures is not to be another's."""
    known: dict[torch.device, torch.cuda.Stream] = _streams.__dict__.setdefault("known", {})
    stream = known.get(device)
    if stream is None:
        stream = known[device] = torch.cuda.Stream(device)
    return stream


def _backward_by_branches(gradient: Gradient, known: dict[str, Tensor]) -> dict[str, Tensor]:
    """The same side by side: where rows are few, none of the products fills the device. On a
    simulated device all is done in order."""
    device = known["dout"].device
    if device.type != "cuda" or not gradient.norm_inputs or {"w", "b"}.isdisjoint(gradient.wanted):
        return _backward_by_torch(gradient, known)
    side = _side_stream(device)
    side.wait_stream(torch.cuda.current_stream(device))
    try:
        return _backward_by_torch(gradient, known, side)
    finally:
        torch.cuda.current_stream(device).wait_stream(side)


# --------------------------------------------------------------------------------------------------
# Either pass
# --------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def forced(whose: str) -> Iterator[None]:
    """Chooses the products of :func:`lnbwd.layer_norm_linear` until the ``with`` statement ends,
    for the whole process.

    Args:
        whose: "kernel" for ours; "torch" for PyTorch's with row programs of ours around them, one
            after another; "branches" for these with the weight's gradient beside the rows', on two
            streams (a forward pass goes by "torch" then, and so does a simulated device); or
            "auto", as it is otherwise: "kernel" on a simulated device and for small sizes, in a
            CUDA graph for the smallest; else "branches" where a graph is captured, and "torch" of
            other calls.
    """
    global _whose
    if whose not in _WAYS:
        raise ValueError(f"whose: expected one of {', '.join(map(repr, _WAYS))}, got {whose!r}")
    before, _whose = _whose, whose
    try:
        yield
    finally:
        _whose = before


def choose(one: object, device: torch.device, sizes: tuple[int, int, int],
           ways: Mapping[str, Callable[..., object]], *arguments: object) -> str:
    """The way that a pass is to go, one of ``ways``.

    Args:
        one: tells the pass from others.
        device: where the tensors are.
        sizes: M, N and K of the product.
        ways: of each way, a function that does what it would do. The way of a graph is called once
            outside of one, so that a graph that is captured later finds its kernels loaded.
        arguments: what they are called with.
    """
    if _whose != "auto":
        return _whose if _whose in ways else TORCH
    rows, n, k = sizes
    if device.type != "cuda" or rows * n * k <= _SMALLEST:
        return KERNEL
    in_graph = BRANCHES if BRANCHES in ways else TORCH
    if is_capturing(device):
        return in_graph
    called = KERNEL if rows * n * k <= _SMALL else TORCH
    key = (one, device.index, rows_hint(rows))
    if in_graph != called and key not in _loaded:
        ways[in_graph](*arguments)
        _loaded.add(key)
    return called


_FORWARD = {KERNEL: _forward_by_kernels, TORCH: _forward_by_torch}
_BACKWARD = {KERNEL: _backward_by_kernels, TORCH: _backward_by_torch,
             BRANCHES: _backward_by_branches}


def _compute(ways: Mapping[str, Callable[[Any, dict[str, Tensor]], dict[str, Tensor]]],
             one: Layer | Gradient, layer: Layer, known: dict[str, Tensor]) -> dict[str, Tensor]:
    x = known["x"]
    way = choose(one, x.device, (x.shape[0], layer.n, layer.k), ways, one, known)
    try:
        return ways[way](one, known)
    except RuntimeError as error:
        raise native.original(error) from None


def forward(layer: Layer, known: dict[str, Tensor]) -> dict[str, Tensor]:
    """The result and the statistics, by the way that is chosen.

    Args:
        layer: the layer.
        known: its tensors, dense, by the names of the operands; x of two dimensions.

    Returns:
        "out" and the statistics of the layer.
    """
    return _compute(_FORWARD, layer, layer, known)


def backward(layer: Layer, known: dict[str, Tensor],
             wanted: Sequence[str]) -> dict[str, Tensor]:
    """Gradients, by the way that is chosen.

    Args:
        layer: the layer.
        known: its tensors, dout and the statistics, as :func:`forward` takes them.
        wanted: one or more of :data:`INPUTS` that are there.

    Returns:
        "dx", "dw", ..., those that are wanted.
    """
    return _compute(_BACKWARD, layer.gradient(tuple(wanted)), layer, known)
