# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A norm and the linear layer after it as one operation, whose gradient is derived.

The forward pass is a norm and a row program with a product of matrices; the compiler derives the
gradient from both as one program. docs/python.md derives what it finds.

There are two ways through either pass, which read and keep the same tensors. ``kernel`` has all of
it computed by kernels of ours; ``torch`` has PyTorch's products, which are the vendor's, with row
programs of ours around them, in the gradient of a CUDA graph on two streams. On an H100 the latter
took the device least time for all but the smallest sizes, and ``kernel``, which is one launch, the
host: :func:`choose` has the rule. Whatever does not depend on a call's tensors is made once and
kept: texts, gradients, loaded kernels.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from ..core.base.errors import LnbwdError, renamed
from ..core.base.operations import LAYER_NORM, RMS_NORM
from ..core.base.settings import is_batch_invariant
from ..core.compile.spec import rows_hint
from ..ops import native, norms
from ..ops.arguments import (
    KERNEL_TYPES,
    RMS_EPSILONS,
    check_dense,
    check_eps,
    check_parameter,
    check_sizes,
    check_tensor,
)
from ..ops.choices import choices
from ..ops.launching import check_device, dense, falls_back, is_capturing
from ..ops.norms import NORMS
from ..ops.regions import is_plain
from ..ops.registration import eager, gradients_by_torch, is_derived, refuse_forward_mode
from ..program.torch_internals.eager import is_traced, reshaped
from .linear_layers import INPUTS, Gradient, Layer, find_layer

KERNEL, TORCH = "kernel", "torch"
_WAYS = ("auto", KERNEL, TORCH)
_whose = "auto"

# Passes, devices and ranges of rows that went by PyTorch's products.
_loaded: set[tuple[object, int | None, int]] = set()


# The ways -----------------------------------------------------------------------------------------


def _forward_by_kernels(layer: Layer, known: dict[str, Tensor]) -> dict[str, Tensor]:
    x = known["x"]
    results = {"out": x.new_empty(x.shape[0], layer.n), **{
        name: x.new_empty(x.shape[0], dtype=torch.float32) for name in layer.statistics}}
    layer.program(rows_hint(x.shape[0])).write(x.shape[0], known | results)
    return results


def _backward_by_kernels(gradient: Gradient, known: dict[str, Tensor]) -> dict[str, Tensor]:
    gradients = {"d" + name: torch.empty_like(known[name]) for name in gradient.wanted}
    rows = known["x"].shape[0]
    gradient.program(rows_hint(rows)).write(rows, known | gradients)
    return gradients


def _parameters(layer: Layer, known: Mapping[str, Tensor]) -> list[Tensor | None]:
    """The norm's, in types that its operators take."""
    return [norms.convert_parameter(known.get(name), known["x"])
            for name in ("gamma", "beta")[:NORMS[layer.norm].count]]


def _normalise(layer: Layer, known: Mapping[str, Tensor]) -> Sequence[Tensor]:
    """The normalised rows and the statistics."""
    results: Sequence[Tensor] = NORMS[layer.norm].raw(
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
    results: Sequence[Tensor] = NORMS[layer.norm].raw_bwd(
        dz, known["x"], *(known[name] for name in layer.statistics), *parameters, (layer.k,),
        [name in gradient.wanted for name in names])
    return {"d" + name: result for name, result in zip(names, results, strict=True)
            if name in gradient.wanted}


_streams = threading.local()


def _side_stream(device: torch.device) -> torch.cuda.Stream:
    """A thread's second stream: streams have workspaces, and threads capture their own work."""
    known: dict[torch.device, torch.cuda.Stream] = _streams.__dict__.setdefault("known", {})
    stream = known.get(device)
    if stream is None:
        stream = known[device] = torch.cuda.Stream(device)
    return stream


def _backward_by_torch(gradient: Gradient, known: dict[str, Tensor]) -> dict[str, Tensor]:
    """Computes dw and db, and the norm's gradients. Neither waits for the other; in a graph they
    run side by side, because few rows do not fill the device."""
    layer, wanted, dout = gradient.layer, gradient.wanted, known["dout"]
    device = dout.device
    side = None
    is_of_norm = not {"x", "gamma", "beta"}.isdisjoint(wanted)
    if is_capturing(device) and is_of_norm and not {"w", "b"}.isdisjoint(wanted):
        side = _side_stream(device)
        side.wait_stream(torch.cuda.current_stream(device))
    # All that outlives the other stream's work is memory of the current one.
    gradients = {"d" + name: torch.empty_like(known[name]) for name in ("w", "b") if name in wanted}
    try:
        with torch.cuda.stream(side):
            if "w" in wanted:
                torch.mm(dout.t(), _normalise(layer, known)[0], out=gradients["dw"])
            if "b" in wanted:
                layer.bias_program(rows_hint(dout.shape[0])).write(dout.shape[0], known | gradients)
        if is_of_norm:
            gradients |= _norm_gradients(gradient, known, dout @ known["w"])
    finally:
        if side is not None:
            torch.cuda.current_stream(device).wait_stream(side)
    return gradients


# Either pass --------------------------------------------------------------------------------------


@contextlib.contextmanager
def forced(whose: str) -> Iterator[None]:
    """Chooses the products of :func:`lnbwd.layer_norm_linear` within ``with``, for all threads.

    Args:
        whose: "kernel" for ours; "torch" for PyTorch's with row programs of ours around them; or
            "auto", as it is otherwise: "kernel" on a simulated device and for small sizes, in a
            CUDA graph for the smallest, and else "torch".
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
        sizes: M, N and K of the product.
        ways: of each way, a function of the arguments that does what it would do. "torch" is called
            once where "kernel" is the way of a call: a later capture finds its kernels loaded.
    """
    if _whose != "auto":
        return _whose
    rows, n, k = sizes
    if device.type != "cuda" or choices.is_own_product(rows * n * k, is_captured=True):
        return KERNEL
    if is_capturing(device) or not choices.is_own_product(rows * n * k, is_captured=False):
        return TORCH
    key = (one, device.index, rows_hint(rows))
    if key not in _loaded:
        ways[TORCH](*arguments)
        _loaded.add(key)
    return KERNEL


_FORWARD = {KERNEL: _forward_by_kernels, TORCH: _forward_by_torch}
_BACKWARD = {KERNEL: _backward_by_kernels, TORCH: _backward_by_torch}


def _compute(ways: Mapping[str, Callable[[Any, dict[str, Tensor]], dict[str, Tensor]]],
             one: Layer | Gradient, layer: Layer, known: dict[str, Tensor]) -> dict[str, Tensor]:
    """The results of a pass by the way that is chosen: of the forward one "out" and the statistics,
    of a gradient "dx", "dw", ..., those that are wanted. ``known`` are the tensors, dense, by the
    names of the operands; x has two dimensions."""
    x = known["x"]
    way = choose(one, x.device, (x.shape[0], layer.n, layer.k), ways, one, known)
    try:
        return ways[way](one, known)
    except RuntimeError as error:
        raise native.original(error) from None


# The derivative -----------------------------------------------------------------------------------


_MOST_KNOWN = 4096
_is_compiling = torch.compiler.is_compiling


def _describe(x: Tensor, w: Tensor, gamma: Tensor | None, beta: Tensor | None, b: Tensor | None,
              norm: str, epsilon: float) -> tuple[Layer, dict[str, Tensor]]:
    """The layer of a call, and its tensors by the names of the operands."""
    columns = {name: dense(t) for name, t in (("gamma", gamma), ("beta", beta), ("b", b))
               if t is not None}
    layer = find_layer(norm, x.shape[1], w.shape[0], x.dtype,
                       tuple([(name, t.dtype) for name, t in columns.items()]), epsilon)
    return layer, {"x": dense(x), "w": dense(w), **columns}


def _by_torch(norm: str, eps: float, x: Tensor, w: Tensor, gamma: Tensor | None,
              beta: Tensor | None, b: Tensor | None) -> Tensor:
    """The layer by PyTorch's operations."""
    z = NORMS[norm].by_torch(x, x.shape[-1:], (gamma, beta), eps)[0]
    return torch.nn.functional.linear(z, w, None if b is None else b.to(z.dtype))


def _flat(tensor: Tensor) -> Tensor:
    """All rows of a tensor, one below another. (A call that changes nothing costs, too.)"""
    return tensor if tensor.dim() == 2 else tensor.reshape(-1, tensor.shape[-1])


def _forward(x: Tensor, *arguments: Any) -> dict[str, Tensor]:
    layer, known = _describe(_flat(x), *arguments)
    return _compute(_FORWARD, layer, layer, known)


class _NormLinear(torch.autograd.Function):
    """y of a norm with a linear layer, for x of any shape."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, w: Tensor, gamma: Tensor | None, beta: Tensor | None,
                b: Tensor | None, norm: str, eps: float) -> Tensor:
        results = _forward(x, w, gamma, beta, b, norm, eps)
        ctx.save_for_backward(x, w, gamma, beta, b, results.get("mean"), results["rstd"])
        ctx.norm, ctx.eps = norm, eps
        y = results["out"]
        return y if x.dim() == 2 else reshaped(y, (*x.shape[:-1], w.shape[0]))

    @staticmethod
    def backward(ctx: Any, dout: Tensor) -> tuple[Tensor | None, ...]:
        x, w, gamma, beta, b, mean, rstd = ctx.saved_tensors
        norm, eps, needs = ctx.norm, ctx.eps, ctx.needs_input_grad[:5]
        gradients: Sequence[Tensor | None]
        if torch.is_grad_enabled() or not is_plain((dout, w)):
            gradients = gradients_by_torch(functools.partial(_by_torch, norm, eps),
                                           (x, w, gamma, beta, b), needs, dout)
        else:
            flat = _flat(x)
            layer, known = _describe(flat, w, gamma, beta, b, norm, eps)
            known["dout"], known["rstd"] = dense(_flat(dout)), dense(rstd)
            if mean is not None:
                known["mean"] = dense(mean)
            named = _compute(_BACKWARD, layer.gradient(tuple([
                name for name, want in zip(INPUTS, needs, strict=True) if want])), layer, known)
            dx, *gradients = [named.get("d" + name) for name in INPUTS]
            gradients = (dx if dx is None or x is flat else dx.view(x.shape), *gradients)
        return (*gradients, None, None)

    jvp = staticmethod(refuse_forward_mode("a norm with a linear layer"))


_apply = eager(_NormLinear)


# For users ----------------------------------------------------------------------------------------


# What was checked, and is of types that kernels take.
_sound: set[Any] = set()


def _check(norm: str, normalized_shape: Sequence[int] | int, eps: float,
           tensors: Sequence[Tensor | None]) -> None:
    """Raises TypeError or ValueError for an argument that does not fit; the message names it.
    ``tensors`` are x, weight, the norm's weight and bias, and bias."""
    key: Any
    try:
        key = (norm, normalized_shape, eps,
               *[t if t is None else (t.shape, t.dtype, t.device, t.layout) for t in tensors])
        if key in _sound:
            return
    except (AttributeError, RuntimeError, TypeError):  # The last but one of nested tensors.
        key = None
    x, weight, norm_weight, norm_bias, bias = tensors
    check_tensor("input", x)
    check_tensor("weight", weight)
    assert x is not None and weight is not None
    check_dense("input", x)
    shape = check_sizes(normalized_shape)
    if len(shape) != 1 or x.dim() < 1 or x.shape[-1] != shape[0]:
        raise ValueError("normalized_shape: expected the last dimension of input, one number, "
                         f"got {shape} for an input of {list(x.shape)}")
    if weight.dim() != 2 or weight.shape[1] != shape[0]:
        raise ValueError(f"weight: expected the shape [N, {shape[0]}], as many columns as "
                         f"normalized_shape says, got {list(weight.shape)}")
    check_eps(eps)
    if x.dtype == torch.float64:
        return  # PyTorch computes it, and says the rest.
    if weight.dtype != x.dtype:
        raise TypeError(f"weight: expected the type of input, {x.dtype}, got {weight.dtype}; "
                        "convert one of them, or leave autocast to torch.nn's own modules")
    for name, parameter, expected in (
            ("norm_weight", norm_weight, shape), ("norm_bias", norm_bias, shape),
            ("weight", weight, weight.shape), ("bias", bias, weight.shape[:1])):
        check_parameter(name, parameter, expected, "input", x, types=KERNEL_TYPES)
    if key is not None:
        if len(_sound) >= _MOST_KNOWN:
            _sound.clear()
        _sound.add(key)


@renamed(x="it is called 'input'", ln_weight="it is called 'norm_weight'",
         ln_bias="it is called 'norm_bias'")
def layer_norm_linear(input: Tensor, normalized_shape: Sequence[int] | int,
                      norm_weight: Tensor | None, norm_bias: Tensor | None, weight: Tensor,
                      bias: Tensor | None = None, eps: float = 1e-5) -> Tensor:
    """LayerNorm and a linear layer in one operation: ``linear(layer_norm(input, ...), weight,
    bias)``.

    Its gradient is derived. It keeps input, the weights and two numbers for each row, but not the
    normalised rows. A pass uses PyTorch's product with our kernels around it, or for small sizes
    our kernels only (:func:`lnbwd.linear.forced`). Products of float32 are exact unless they are
    PyTorch's and it allows tf32. PyTorch's operations compute float64, distributed tensors, second
    derivatives, and calls inside of torch.compile, torch.func or a dispatch mode.

    Args:
        input: ``[..., K]``, float16, bfloat16 or float32, on a CUDA or ROCm device, or simulated
            (:func:`lnbwd.simulate`). PyTorch computes others on the CPU, after one warning.
        normalized_shape: ``K`` or ``(K,)``: one dimension, which the product sums over.
        norm_weight, norm_bias: scale and shift of the norm, ``[K]``, or None.
        weight: ``[N, K]``, of input's type.
        bias: ``[N]``, or None.
        eps: is added to the variance.

    Returns:
        ``[..., N]``, of input's type.

    Raises:
        ValueError, TypeError: an argument does not fit; the message names it.
        LnbwdError: no kernel can run where input is.
    """
    return _norm_linear(LAYER_NORM, input, normalized_shape, norm_weight, norm_bias, weight, bias,
                        eps)


@renamed(x="it is called 'input'")
def rms_norm_linear(input: Tensor, normalized_shape: Sequence[int] | int,
                    norm_weight: Tensor | None, weight: Tensor, bias: Tensor | None = None,
                    eps: float | None = None) -> Tensor:
    """RMSNorm and a linear layer, as :func:`layer_norm_linear`: ``linear(rms_norm(input, ...),
    ...)``.

    Args:
        input, normalized_shape, weight, bias: as there.
        norm_weight: scale of the norm, ``[K]``, or None.
        eps: as of :func:`lnbwd.rms_norm`.
    """
    if eps is None:
        check_dense("input", input)
        eps = RMS_EPSILONS[input.dtype]
    return _norm_linear(RMS_NORM, input, normalized_shape, norm_weight, None, weight, bias, eps)


def _norm_linear(norm: str, x: Tensor, normalized_shape: Sequence[int] | int,
                 norm_weight: Tensor | None, norm_bias: Tensor | None, weight: Tensor,
                 bias: Tensor | None, eps: float) -> Tensor:
    tensors = (x, weight, norm_weight, norm_bias, bias)
    _check(norm, normalized_shape, eps, tensors)
    if is_batch_invariant():
        raise LnbwdError(f"{norm}_linear: expected lnbwd.batch_invariant(False), for a product of "
                         "matrices has no canonical order of additions; call lnbwd."
                         f"{norm} and torch.nn.functional.linear, whose product is PyTorch's")
    arguments = (*tensors, norm, float(eps))
    if (x.dtype == torch.float64 or x.shape[-1] == 0 or _is_compiling() or is_traced()
            or not is_plain([t for t in tensors if t is not None])
            or (x.is_cpu and falls_back(f"lnbwd.{norm}_linear"))):
        return _by_torch(norm, float(eps), *tensors)
    check_device(x)
    y: Tensor
    if is_derived(*tensors):
        y = _apply(*arguments)
    else:
        y = _forward(*arguments)["out"]
        y = y if x.dim() == 2 else y.view(*x.shape[:-1], weight.shape[0])
    return y
