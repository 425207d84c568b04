# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The operations as PyTorch knows them: ``torch.ops.lnbwd``.

    lnbwd::layer_norm(x, normalized_shape, weight?, bias?, eps) -> (y, mean, rstd)
    lnbwd::layer_norm_bwd(dy, x, mean, rstd, weight?, bias?, normalized_shape, mask)
        -> (dx, dweight, dbias)
    lnbwd::rms_norm(x, normalized_shape, weight?, eps) -> (y, rstd)
    lnbwd::rms_norm_bwd(dy, x, rstd, weight?, normalized_shape, mask) -> (dx, dweight)

The statistics are float32, of x's shape without the normalised dimensions. A gradient that
``mask`` leaves out is an empty tensor. Each is an autograd.Function around an operator of the same
name with an underscore before it, which launches a kernel and has no derivative: that is what
graphs of torch.compile contain. The kernels of these are C++ where the package has
liblnbwd-torch.so (lib/Torch, :mod:`lnbwd.native`), and else the functions of this file. What no
kernel computes (float64, rows without elements) is done by the operators whose names end in
_by_torch, with PyTorch's own operations.

A norm is a :class:`Norm` of :data:`NORMS`, and all else here is written once for all of them. A
norm has as many statistics as parameters; what a function calls ``others`` are the arguments that
depend on it, in the order of the schemas above.

:mod:`lnbwd.functional` has the functions for users, which check their arguments.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from . import native, regions_op
from .errors import LnbwdError
from .launching import check_device, dense
from .norm_programs import name_of
from .operations import LAYER_NORM, LAYER_NORM_BWD, RMS_NORM, RMS_NORM_BWD

__all__ = ["NORMS", "Norm", "Refused", "convert_parameter"]

_library = torch.library.Library("lnbwd", "FRAGMENT")


def _statistics_dtype(x: Tensor) -> torch.dtype:
    return torch.float64 if x.dtype == torch.float64 else torch.float32


def _empty_like(tensor: Tensor) -> Tensor:
    """A new dense tensor of the same shape. Saying the format costs half a microsecond more."""
    if tensor.is_contiguous():
        return torch.empty_like(tensor)
    return torch.empty_like(tensor, memory_format=torch.contiguous_format)


def _statistics_shape(x: Tensor, normalized_shape: Sequence[int]) -> torch.Size:
    return x.shape[:x.dim() - len(normalized_shape)]


def _normalised_dims(x: Tensor, normalized_shape: Sequence[int]) -> list[int]:
    return list(range(x.dim() - len(normalized_shape), x.dim()))


def _verify(x: Tensor, normalized_shape: Sequence[int],
            parameters: Sequence[Tensor | None]) -> None:
    """Refuses what kernels would read wrongly, as lib/Torch does; lnbwd.functional has the words
    for users."""
    shape = list(normalized_shape)
    if not shape or list(x.shape[-len(shape):]) != shape:
        raise ValueError(f"lnbwd: x: expected a shape that ends in {shape}, got {list(x.shape)}")
    for name, parameter in zip(("weight", "bias"), parameters, strict=False):
        if parameter is None:
            continue
        if list(parameter.shape) != shape or parameter.device != x.device:
            raise ValueError(f"lnbwd: {name}: expected the shape {shape} on the device of x")
        if parameter.dtype not in (x.dtype, _statistics_dtype(x)):
            raise TypeError(f"lnbwd: {name}: expected x's type or float32, got {parameter.dtype}")
    if x.dtype not in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        raise TypeError(f"lnbwd: x: expected a floating-point type, got {x.dtype}")


def _verify_gradient(dy: Tensor, x: Tensor, normalized_shape: Sequence[int],
                     statistics: Sequence[Tensor]) -> None:
    """Raises where dy or the statistics do not go with x."""
    if dy.dtype != x.dtype or dy.numel() != x.numel() or dy.device != x.device:
        raise ValueError("lnbwd: dy: expected x's type, size and device")
    rows = math.prod(_statistics_shape(x, normalized_shape))
    for tensor in statistics:
        if (tensor.dtype != _statistics_dtype(x) or tensor.numel() != rows
                or tensor.device != x.device):
            raise ValueError(f"lnbwd: mean, rstd: expected {rows} elements of "
                             f"{_statistics_dtype(x)} on the device of x")


def _is_computed_by_kernels(x: Tensor, normalized_shape: Sequence[int]) -> bool:
    return x.dtype != torch.float64 and math.prod(normalized_shape) > 0


def _fake_like(tensor: Tensor | None, want: bool, x: Tensor) -> Tensor:
    if tensor is None or not want:
        return x.new_empty(0)
    return torch.empty_like(tensor, memory_format=torch.contiguous_format)


# --------------------------------------------------------------------------------------------------
# Formulas in PyTorch's operations
# --------------------------------------------------------------------------------------------------

# One kernel for the forward pass, in PyTorch since 2.9.
_FUSED_RMS_NORM = getattr(torch.ops.aten, "_fused_rms_norm", None)


def _rms_norm(x: Tensor, normalized_shape: Sequence[int], weight: Tensor | None,
              eps: float) -> tuple[Tensor, Tensor]:
    """What torch.native_layer_norm is for the other norm."""
    if x.is_cuda and _FUSED_RMS_NORM:
        y, rstd = _FUSED_RMS_NORM(x, list(normalized_shape), weight, eps)
        return y, rstd
    rstd = torch.rsqrt(x.square().mean(_normalised_dims(x, normalized_shape), keepdim=True) + eps)
    y = x * rstd
    return y if weight is None else y * weight, rstd


def _sum_rows(value: Tensor, leading: int) -> Tensor:
    return value.sum(list(range(leading))) if leading else value


def _gradients(dy: Tensor, x: Tensor, mean: Tensor | None, rstd: Tensor, weight: Tensor | None,
               normalized_shape: Sequence[int]) -> tuple[Tensor, Tensor, Tensor]:
    """dx, dweight and dbias. ``mean``, None where none is subtracted, and ``rstd`` have 1 for each
    normalised dimension."""
    leading, dims = x.dim() - len(normalized_shape), _normalised_dims(x, normalized_shape)
    xhat = (x if mean is None else x - mean) * rstd
    wdy = dy if weight is None else dy * weight
    inner = wdy - xhat * (wdy * xhat).mean(dims, keepdim=True)
    if mean is not None:
        inner = inner - wdy.mean(dims, keepdim=True)
    return rstd * inner, _sum_rows(dy * xhat, leading), _sum_rows(dy, leading)


def _differentiated(formula: Callable[..., tuple[Tensor, ...]], grads: Sequence[Tensor | None],
                    tensors: Sequence[Tensor | None]) -> list[Tensor | None]:
    """Gradients of ``sum(grad * output)`` of a formula with respect to ``tensors``."""
    wide = _statistics_dtype(next(t for t in tensors if t is not None))
    with torch.enable_grad():
        leaves = [None if t is None else t.detach().to(wide).requires_grad_() for t in tensors]
        outputs = formula(*leaves)
        pairs = [(o, g.to(wide)) for o, g in zip(outputs, grads, strict=False)
                 if g is not None and g.numel() == o.numel()]
        wanted = [leaf for leaf in leaves if leaf is not None]
        if not pairs:
            return [None] * len(tensors)
        found = iter(torch.autograd.grad([o for o, _ in pairs], wanted, [g for _, g in pairs],
                                         allow_unused=True))
    result: list[Tensor | None] = []
    for tensor in tensors:
        grad = next(found) if tensor is not None else None
        result.append(None if grad is None or tensor is None else grad.to(tensor.dtype))
    return result


# --------------------------------------------------------------------------------------------------
# vmap: a batch of rows is more rows. Where a parameter or its gradient has the batch dimension, it
# is one call for each of the batch.
# --------------------------------------------------------------------------------------------------


def _front(tensor: Tensor | None, dim: int | None, size: int) -> Tensor | None:
    """The tensor with its batch dimension first; expanded if it has none."""
    if tensor is None:
        return None
    return tensor.expand(size, *tensor.shape) if dim is None else tensor.movedim(dim, 0)


def _loop(call: Callable[..., tuple[Tensor, ...]], size: int, in_dims: Sequence[int | None],
          arguments: Sequence[Any]) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
    rows = [call(*(a if d is None else a.select(d, i)
                   for a, d in zip(arguments, in_dims, strict=True))) for i in range(size)]
    outputs = tuple(torch.stack(parts) for parts in zip(*rows, strict=True))
    return outputs, (0,) * len(outputs)


# --------------------------------------------------------------------------------------------------
# The autograd functions. Those with a setup_context know torch.func's transforms, and their
# statistics are outputs; finding out their arguments takes PyTorch 15 microseconds. Those for eager
# mode have neither.
# --------------------------------------------------------------------------------------------------

_transforms_are_active = torch._C._are_functorch_transforms_active


class Refused(Exception):
    """The operator did not take its arguments, or could not run; its cause says why."""


def convert_parameter(parameter: Tensor | None, x: Tensor) -> Tensor | None:
    """The parameter in a type that kernels take: x's or float32. PyTorch converts the gradient."""
    if parameter is None or parameter.dtype == x.dtype:
        return parameter
    wide = _statistics_dtype(x)
    return parameter if parameter.dtype == wide else parameter.to(wide)


def _refuse_forward_mode(ctx: Any, *tangents: Any) -> None:
    raise LnbwdError("forward-mode differentiation (torch.autograd.forward_ad, torch.func.jvp, "
                     "jacfwd) of lnbwd's operations: there is none; use reverse mode "
                     "(torch.func.vjp, grad, jacrev), or torch.nn.functional's function for the "
                     "forward mode")


class Norm:
    """A norm as PyTorch has it, which defines its operators.

    Attributes:
        name: the operation's, and that of PyTorch's function.
        gradient: the gradient's.
        count: how many parameters and how many statistics there are.
        raw, raw_bwd: the operators that launch a kernel, without a frame of Python in between.
        eager: y, with its derivative, outside of torch.func's transforms. Raises :class:`Refused`.
        aten: PyTorch's own function, which lnbwd.override_aten gives to lnbwd's kernels.
        is_widened: whether autocast on a GPU computes it in float32.
    """

    def __init__(self, name: str, gradient: str, count: int, aten: Callable[..., Tensor],
                 fused: Callable[..., tuple[Tensor, ...]], *, is_widened: bool) -> None:
        self.name, self.gradient, self.count = name, gradient, count
        self.aten, self.is_widened = aten, is_widened
        self._fused = fused
        parameters = "".join(f", Tensor? {p}" for p in ("weight", "bias")[:count])
        statistics = "".join(f", Tensor {s}" for s in ("mean", "rstd")[-count:])
        results = " -> (" + ", ".join(["Tensor"] * (1 + count)) + ")"
        schemas = {name: f"(Tensor x, int[] normalized_shape{parameters}, float eps)",
                   gradient: f"(Tensor dy, Tensor x{statistics}{parameters}, "
                             "int[] normalized_shape, bool[] mask)"}
        for operator, schema in schemas.items():
            for full in (operator, f"_{operator}", f"_{operator}_by_torch"):
                _library.define(full + schema + results, tags=(torch.Tag.pt2_compliant_tag,))
        for operator, kernel, by_torch, fake, vmap in (
                (name, self._forward, self._forward_by_torch, self._fake_forward,
                 self._forward_vmap),
                (gradient, self._backward, self._backward_by_torch, self._fake_backward,
                 self._backward_vmap)):
            _library.impl(f"_{operator}_by_torch", by_torch, "CompositeExplicitAutograd")
            torch.library.register_fake(f"lnbwd::_{operator}", fake, lib=_library)
            torch.library.register_vmap(f"lnbwd::_{operator}", vmap, lib=_library)
            # They are called below autograd, by the functions below.
            _library.impl(f"_{operator}", torch.library.fallthrough_kernel, "Autograd")
            if not native.load():
                for key in ("CPU", "CUDA"):
                    _library.impl(f"_{operator}", kernel, key)
        self.operator, self.operator_bwd = (
            getattr(torch.ops.lnbwd, f"_{operator}").default for operator in (name, gradient))
        self.raw, self.raw_bwd = (getattr(operator, "_op", operator)
                                  for operator in (self.operator, self.operator_bwd))
        self._define_derivatives()

    # By kernels -----------------------------------------------------------------------------------

    def _split(self, others: Sequence[Any]) -> tuple[Sequence[Tensor], Sequence[Tensor | None],
                                                     Sequence[int], Sequence[bool]]:
        """Statistics, parameters, normalized_shape and mask of a gradient's arguments."""
        return (others[:self.count], others[self.count:2 * self.count], *others[2 * self.count:])

    def _forward(self, x: Tensor, normalized_shape: Sequence[int], *others: Any) -> Any:
        """The operator of the forward pass."""
        *parameters, eps = others
        _verify(x, normalized_shape, parameters)
        check_device(x)
        if not _is_computed_by_kernels(x, normalized_shape):
            return self._forward_by_torch(x, normalized_shape, *others)
        n = math.prod(normalized_shape)
        outputs = [torch.empty_like(x, memory_format=torch.contiguous_format)]
        outputs += [x.new_empty(_statistics_shape(x, normalized_shape), dtype=torch.float32)
                    for _ in parameters]
        self._launch(self.name, n, x, parameters, float(eps), (x, *parameters), outputs)
        return tuple(outputs)

    @staticmethod
    def _launch(op: str, n: int, x: Tensor, parameters: Sequence[Tensor | None],
                what: float | tuple[bool, ...], inputs: Sequence[Tensor | None],
                outputs: Sequence[Tensor]) -> None:
        """Runs the row program that :func:`name_of` names."""
        rows = x.numel() // n
        types = (x.dtype, *[None if p is None else p.dtype for p in parameters])
        name = name_of(op, n, types, what, rows)
        regions_op.launch_program(name, rows, [*[dense(t) for t in inputs if t is not None],
                                               *outputs])

    def _backward(self, dy: Tensor, x: Tensor, *others: Any) -> Any:
        """The operator of the gradient."""
        statistics, parameters, normalized_shape, mask = self._split(others)
        _verify(x, normalized_shape, parameters)
        _verify_gradient(dy, x, normalized_shape, statistics)
        check_device(x, "x")
        if not _is_computed_by_kernels(x, normalized_shape):
            return self._backward_by_torch(dy, x, *others)
        wanted = [like if want else None
                  for like, want in zip((x, *parameters), mask, strict=True)]
        gradients = [x.new_empty(0) if like is None else _empty_like(like) for like in wanted]
        outputs = [gradient for gradient, like in zip(gradients, wanted, strict=True)
                   if like is not None]
        if outputs:
            self._launch(self.gradient, math.prod(normalized_shape), x, parameters,
                         tuple([like is not None for like in wanted]),
                         (dy, x, parameters[0], *statistics), outputs)
        return tuple(gradients)

    # By PyTorch -----------------------------------------------------------------------------------

    @torch.no_grad()
    def _forward_by_torch(self, x: Tensor, normalized_shape: Sequence[int],
                          *others: Any) -> tuple[Tensor, ...]:
        *parameters, eps = others
        wide = _statistics_dtype(x)
        given = [x, *parameters]
        if x.device.type == "cpu" or any(p is not None and p.dtype != x.dtype for p in parameters):
            # PyTorch's kernels take one type, and on the CPU they round the statistics to it.
            given = [None if t is None else t.to(wide) for t in given]
        y, *statistics = self._fused(given[0], list(normalized_shape), *given[1:], eps)
        leading = _statistics_shape(x, normalized_shape)
        return (y.to(x.dtype).contiguous(), *(s.reshape(leading).to(wide) for s in statistics))

    @torch.no_grad()
    def _backward_by_torch(self, dy: Tensor, x: Tensor, *others: Any) -> tuple[Tensor, ...]:
        statistics, parameters, normalized_shape, mask = self._split(others)
        likes = (x, *parameters)
        wants = [want and like is not None for want, like in zip(mask, likes, strict=True)]
        gradients: Sequence[Tensor | None]
        if 0 in normalized_shape:  # Rows without elements: so are all gradients.
            gradients = [None if like is None else _empty_like(like) for like in likes]
        else:
            shape = (*_statistics_shape(x, normalized_shape), *[1] * len(normalized_shape))
            views = [s.view(shape) for s in statistics]
            if self.name == LAYER_NORM:
                gradients = torch.ops.aten.native_layer_norm_backward(
                    dy, x, list(normalized_shape), *views, *parameters, wants)
            else:
                gradients = _gradients(dy, x, None, views[0], parameters[0], normalized_shape)
        # PyTorch may return views.
        return tuple(gradient.clone() if want and gradient is not None else x.new_empty(0)
                     for want, gradient in zip(wants, gradients, strict=False))

    # Shapes and types, for tracing ----------------------------------------------------------------

    def _fake_forward(self, x: Tensor, normalized_shape: Sequence[int],
                      *others: Any) -> tuple[Tensor, ...]:
        *parameters, _ = others
        for other in parameters:
            # A tensor on 'meta' among others would have the whole call computed there, to nothing.
            if other is not None and other.device != x.device:
                raise ValueError(f"lnbwd: expected tensors on {x.device} like x, got one on "
                                 f"{other.device}")
        return (_fake_like(x, True, x),
                *(x.new_empty(_statistics_shape(x, normalized_shape), dtype=_statistics_dtype(x))
                  for _ in parameters))

    def _fake_backward(self, dy: Tensor, x: Tensor, *others: Any) -> tuple[Tensor, ...]:
        _, parameters, _, mask = self._split(others)
        return tuple(_fake_like(tensor, want, x)
                     for tensor, want in zip((x, *parameters), mask, strict=True))

    # vmap -----------------------------------------------------------------------------------------

    def _forward_vmap(self, info: Any, in_dims: tuple[Any, ...], x: Tensor,
                      *others: Any) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
        if any(dim is not None for dim in in_dims[2:-1]):
            return _loop(self.operator, info.batch_size, (in_dims[0], None, *in_dims[2:-1], None),
                         (x, *others))
        outputs = self.operator(x.movedim(in_dims[0], 0), *others)
        return outputs, (0,) * len(outputs)

    def _backward_vmap(self, info: Any, in_dims: tuple[Any, ...],
                       *arguments: Any) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
        size, read = info.batch_size, 2 + self.count  # dy, x and the statistics.
        if in_dims[read] is not None or any(arguments[-1][1:]):
            return _loop(self.operator_bwd, size, (*in_dims[:-2], None, None), arguments)
        rows = (_front(t, d, size) for t, d in zip(arguments[:read], in_dims[:read], strict=True))
        dx, *others = self.operator_bwd(*rows, *arguments[read:])
        return (dx, *(other.expand(size, 0) for other in others)), (0,) * (1 + len(others))

    # Derivatives ----------------------------------------------------------------------------------

    def differentiable(self, x: Tensor, normalized_shape: Sequence[int], *others: Any) -> Any:
        """The operator with its derivative, inside of torch.func's transforms too."""
        *parameters, eps = others
        return self._function.apply(x, normalized_shape,
                                    *(convert_parameter(p, x) for p in parameters), eps)

    def _define_derivatives(self) -> None:
        raw, raw_bwd, count = self.raw, self.raw_bwd, self.count

        def setup(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
            x, ctx.normalized_shape, *parameters, _ = inputs
            statistics = output[1:]
            ctx.save_for_backward(x, *statistics, *parameters)
            ctx.mark_non_differentiable(*statistics)
            ctx.set_materialize_grads(False)

        def derive(ctx: Any, dy: Tensor | None, *_: Any) -> tuple[Tensor | None, ...]:
            if dy is None:
                return (None,) * (3 + count)
            x, *saved = ctx.saved_tensors
            # (A parameter that is not there needs none.)
            needs_x, _shape, *needs, _eps = ctx.needs_input_grad
            mask = [needs_x, *needs]
            if dy.dtype != x.dtype:
                dy = dy.to(x.dtype)
            if torch.is_grad_enabled() or _transforms_are_active():
                gradients = gradient_function.apply(dy, x, *saved, ctx.normalized_shape, mask)
            else:
                try:
                    gradients = raw_bwd(dy, x, *saved, ctx.normalized_shape, mask)
                except RuntimeError as error:
                    raise native.original(error) from None
            if False in mask:
                gradients = [gradient if want else None
                             for gradient, want in zip(gradients, mask, strict=True)]
            dx, *others = gradients
            return (dx, None, *others, None)

        def setup_bwd(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
            dy, x, *others = inputs
            statistics, parameters, ctx.normalized_shape, _ = self._split(others)
            ctx.save_for_backward(dy, x, statistics[-1], parameters[0])
            ctx.set_materialize_grads(False)

        def derive_bwd(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
            """The gradient's gradient: the same formulas in PyTorch's operations, which
            differentiate themselves. The saved statistics are functions of x there, as they are in
            the forward pass."""
            dy, x, rstd, weight = ctx.saved_tensors
            dims = _normalised_dims(x, ctx.normalized_shape)

            def formula(dy: Tensor, x: Tensor, weight: Tensor | None) -> tuple[Tensor, ...]:
                mean = x.mean(dims, keepdim=True) if self.name == LAYER_NORM else None
                centred = x if mean is None else x - mean
                square = centred.square().mean(dims, keepdim=True)
                eps = rstd.detach().view(square.shape).to(x.dtype).pow(-2) - square.detach()
                return _gradients(dy, x, mean, torch.rsqrt(square + eps), weight,
                                  ctx.normalized_shape)

            ddy, dx, dweight = _differentiated(formula, grads, (dy, x, weight))
            return (ddy, dx, *[None] * count, dweight, *[None] * (count + 1))

        def function(operator: str, forward: Any, setup: Any, derive: Any) -> Any:
            return type(operator, (torch.autograd.Function,), {
                "generate_vmap_rule": True,
                "forward": staticmethod(lambda *arguments: forward(*arguments)),
                "setup_context": staticmethod(setup), "backward": staticmethod(derive),
                "jvp": staticmethod(_refuse_forward_mode)})

        class Eager(torch.autograd.Function):
            """y."""

            @staticmethod
            def forward(ctx: Any, x: Tensor, normalized_shape: Sequence[int],
                        *others: Any) -> Tensor:
                y: Tensor
                try:
                    y, *statistics = raw(x, normalized_shape, *others)
                except Exception as error:
                    raise Refused from error
                ctx.save_for_backward(x, *statistics, *others[:-1])
                ctx.normalized_shape = normalized_shape
                return y

            backward = staticmethod(derive)
            jvp = staticmethod(_refuse_forward_mode)

        self._function = function(self.name, raw, setup, derive)
        gradient_function = function(self.gradient, raw_bwd, setup_bwd, derive_bwd)
        # torch.autograd.Function.apply without its Python half, 3 microseconds that are for
        # torch.func.
        self.eager: Callable[..., Tensor] = super(  # type: ignore[misc]
            torch.autograd.Function, Eager).apply
        for operator, differentiable in ((self.name, self.differentiable),
                                         (self.gradient, gradient_function.apply)):
            # The second key is torch.func's: its transforms are to see the autograd.Function.
            for key in ("CompositeImplicitAutograd", "FuncTorchDynamicLayerFrontMode"):
                _library.impl(operator, differentiable, key)
        if self.is_widened:
            torch.library.register_autocast(f"lnbwd::{self.name}", "cuda", torch.float32,
                                            lib=_library)


NORMS = {norm.name: norm for norm in (
    # Under autocast on a GPU PyTorch's layer_norm computes and returns float32; so does this one.
    Norm(LAYER_NORM, LAYER_NORM_BWD, 2, torch.layer_norm, torch.native_layer_norm,
         is_widened=True),
    Norm(RMS_NORM, RMS_NORM_BWD, 1, torch.rms_norm, _rms_norm, is_widened=False))}
"""PyTorch's norms by the names of their operations."""
