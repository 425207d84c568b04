# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch's norms as operators: ``torch.ops.lnbwd``.

    lnbwd::layer_norm(x, normalized_shape, weight?, bias?, eps) -> (y, mean, rstd)
    lnbwd::layer_norm_bwd(dy, x, mean, rstd, weight?, bias?, normalized_shape, mask)
        -> (dx, dweight, dbias)

and the same for the other norm, which has neither mean nor bias. The statistics are float32, of
x's shape without the normalised dimensions. A gradient that ``mask`` leaves out is an empty tensor.
:mod:`.registration` says which operators there are of each, and what C++ does. In Python each is
a call of ``lnbwd::_region``. Inside of torch.func's transforms, and where a gradient is to have one
itself, PyTorch's operations compute all of it.

Their row programs have names that say all that decides their kernels::

    layer_norm 4096 bf16 f32 f32 1e-05 8192
    layer_norm_bwd 4096 bf16 f32 f32 111 8192

That is the operation, N, the types of x, scale and shift ("-": there is none), the epsilon of a
forward pass or which of dx, dgamma and dbeta a gradient computes, and the number of rows that the
schedule is chosen for (:func:`.spec.rows_hint`). The operators in C++ find programs by the
same as bytes (lib/Torch/Norms.cpp), from which :meth:`Norm.program_of` makes the name.

A norm is a :class:`Norm` of :data:`NORMS`, and all else here is written once for all of them. A
norm has as many statistics as parameters; what a function calls ``others`` are the arguments that
depend on it, in the order of the schemas above.

:mod:`lnbwd.functional` has the functions for users, which take float64 and rows without elements to
PyTorch.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import struct
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.overrides import handle_torch_function, has_torch_function_unary

from ..core.base.operations import LAYER_NORM, OPERATIONS, RMS_NORM
from ..core.compile.spec import GRADIENTS, hints_near, norm_operands, norm_source, rows_hint
from ..core.runtime.objects import ELEMENTS
from ..program.operands import ELEMENT_NAMES, TYPES
from ..program.torch_internals.eager import (
    has_autocast_kernel,
    is_traced,
    reshaped,
    transforms_are_active,
)
from . import native, regions, registration
from .arguments import HALVES, KERNEL_TYPES, check_eps, check_norm, subclass_watchers
from .launching import falls_back
from .registration import eager, gradients_by_torch, gradients_like, is_derived

# N, rows, epsilon, the bits of what is wanted, operation and types: NormKey of lib/Torch/Norms.cpp.
_KEY = struct.Struct("=qqdIB3b")

# What normalized_shape usually is; other kinds are turned into a list.
_SHAPES = (tuple, torch.Size, list)

_is_compiling, _is_grad_enabled = torch.compiler.is_compiling, torch.is_grad_enabled
_is_autocast_enabled = torch.is_autocast_enabled


def name_of(op: str, n: int, types: tuple[torch.dtype | None, ...],
            what: float | tuple[bool, ...], rows: int) -> str:
    """The name of a registered program, for calls with so many rows of n elements. The types are
    those of x and of the parameters of PyTorch's function, None for an absent one; ``what`` is the
    epsilon, or for a gradient whether dx, dgamma, dbeta are computed."""
    return _register(op, n, types, what, rows_hint(rows))


@functools.lru_cache(4096)
def _register(op: str, n: int, types: tuple[torch.dtype | None, ...],
              what: float | tuple[bool, ...], rows: int) -> str:
    absent = [None] * (3 - len(types))
    element, weight, bias = names = [ELEMENT_NAMES[t] if t else "" for t in (*types, *absent)]
    epsilon, wants = (what, ()) if isinstance(what, float) else (None, what)
    grads = [grad for grad, want in zip(GRADIENTS, wants, strict=False) if want]
    wanted = "".join(str(int(want)) for want in wants)
    text = f"{op} {n} {' '.join(name or '-' for name in names)} {wanted or epsilon} {rows}"

    def stand_ins() -> Iterable[str]:
        return (f"{text.rpartition(' ')[0]} {other}" for other in hints_near(rows))

    def operands(is_output: bool) -> list[regions.Operand]:
        return [regions.Operand(kind, TYPES[name], 1 if kind == "row_scalar" else n)
                for operand, name in norm_operands(op, element, weight, bias, grads)
                if operand.is_output == is_output for kind in (operand.role.kind,)]

    elements = [ELEMENTS.index(name) if name else -1 for name in names]
    key = _KEY.pack(n, rows, -1 if epsilon is None else epsilon, int(wanted[::-1] or "0", 2),
                    list(OPERATIONS).index(op), *elements)
    source = norm_source(op, n=n, dtype=element, weight=weight, bias=bias, grads=grads or None,
                         epsilon=epsilon)
    regions.register_program(
        text, operands(False), operands(True),
        dataclasses.replace(source, rows=rows, tuned_for=(rows, None)), stand_ins=stand_ins,
        key=key)
    return text


def convert_parameter(parameter: Tensor | None, x: Tensor) -> Tensor | None:
    """The parameter in a type that kernels take: x's or float32. PyTorch converts the gradient."""
    if parameter is None or parameter.dtype in (x.dtype, torch.float32):
        return parameter
    return parameter.float()


class Norm:
    """A norm as PyTorch has it, which defines its operators.

    Attributes:
        name: the operation's, and that of PyTorch's function.
        gradient: the gradient's.
        count: how many parameters and how many statistics there are.
        operator, operator_bwd: the operators that launch a kernel.
        raw, raw_bwd: the same without a frame of Python in between.
        eager: y, with its derivative; not inside of torch.func's transforms.
        by_pytorch: PyTorch's own function.
        aten: PyTorch's operators of both passes, which lnbwd.override_aten gives our kernels, by
            the names of ours.
        function: the function for users, which a tensor-like's ``__torch_function__`` is given.
        is_widened: whether autocast on a GPU computes it in float32, as PyTorch's function.
    """

    function: Callable[..., Tensor]

    def __init__(self, name: str, aten: str) -> None:
        gradient = OPERATIONS[name].counterpart
        assert gradient is not None
        self.name, self.gradient = name, gradient
        self.aten = {name: aten, gradient: f"{aten}_backward"}
        self.by_pytorch: Callable[..., Tensor] = getattr(torch, name)
        # Of a norm it has no other kernel, and releases of PyTorch differ.
        self.is_widened = has_autocast_kernel(name)
        self.count = count = sum(o.role.kind == "column" for o in OPERATIONS[name].operands)
        parameters = "".join(f", Tensor? {p}" for p in ("weight", "bias")[:count])
        statistics = "".join(f", Tensor {s}" for s in ("mean", "rstd")[-count:])
        results = " -> (" + ", ".join(["Tensor"] * (1 + count)) + ")"
        schema = f"(Tensor x, int[] normalized_shape{parameters}, float eps)" + results
        schema_bwd = (f"(Tensor dy, Tensor x{statistics}{parameters}, int[] normalized_shape, "
                      "bool[] mask)" + results)
        self.operator, self.raw = registration.define_kernel(
            name, schema, self._forward, self._fake_forward, results=1 + count)
        self.operator_bwd, self.raw_bwd = registration.define_kernel(
            gradient, schema_bwd, self._backward, self._fake_backward, results=1 + count)
        self._define_derivatives()
        registration.define(name, schema, self.differentiable)
        registration.define(gradient, schema_bwd, self._gradient)
        if self.is_widened:
            registration.widen(name)

    def _split(self, others: Sequence[Any]) -> tuple[Sequence[Tensor], Sequence[Tensor | None],
                                                     Sequence[int], Sequence[bool]]:
        """Statistics, parameters, normalized_shape and mask of a gradient's arguments."""
        return (others[:self.count], others[self.count:2 * self.count], *others[2 * self.count:])

    def program(self, x: Tensor, normalized_shape: Sequence[int],
                parameters: Sequence[Tensor | None], what: float | Sequence[bool]) -> str:
        """The row program of a call (:func:`name_of`), after its arguments were checked; ``what``
        is the epsilon of a forward pass, or the mask of a gradient. Empty: nothing is wanted."""
        check_norm("x", x, normalized_shape, parameters, KERNEL_TYPES, (x.dtype, torch.float32))
        n = math.prod(normalized_shape)
        types = (x.dtype, *[None if p is None else p.dtype for p in parameters])
        if isinstance(what, float):
            return name_of(self.name, n, types, check_eps(what), x.numel() // n)
        return name_of(self.gradient, n, types, tuple(what), x.numel() // n) if any(what) else ""

    def program_of(self, key: Sequence[int]) -> str:
        """The row program of a key of the library's, in whole numbers of 64 bits."""
        n, rows, epsilon, bits, op, *elements = _KEY.unpack(struct.pack(f"={len(key)}q", *key))
        types = [None if element < 0 else TYPES[ELEMENTS[element]] for element in elements]
        name = list(OPERATIONS)[op]
        return name_of(name, n, tuple(types[:1 + self.count]), epsilon if name == self.name else
                       tuple(bool(bits >> i & 1) for i in range(1 + self.count)), rows)

    def _forward(self, x: Tensor, normalized_shape: Sequence[int], *others: Any) -> Any:
        """The operator of the forward pass."""
        *parameters, eps = others
        name = self.program(x, normalized_shape, parameters, float(eps))
        y, *statistics = regions.raw_region([x, *(p for p in parameters if p is not None)], name)
        leading = x.shape[:-len(normalized_shape)]
        return reshaped(y, x.shape), *(reshaped(s, leading) for s in statistics)

    def _backward(self, dy: Tensor, x: Tensor, *others: Any) -> Any:
        """The operator of the gradient."""
        statistics, parameters, normalized_shape, mask = self._split(others)
        likes: Sequence[Tensor | None] = (x, *parameters)
        if len(mask) != len(likes):
            raise ValueError(f"mask: expected a truth value for each gradient, got {len(mask)}")
        wants = [want and like is not None for want, like in zip(mask, likes, strict=True)]
        name = self.program(x, normalized_shape, parameters, wants)
        if not any(wants):
            return gradients_like(x, likes, wants)
        inputs = [t for t in (dy, x, parameters[0], *statistics) if t is not None]
        found = iter(regions.raw_region(inputs, name))
        return tuple(x.new_empty(0) if like is None or not want else next(found).view(like.shape)
                     for like, want in zip(likes, wants, strict=True))

    # Shapes and types, for tracing ----------------------------------------------------------------

    def _fake_forward(self, x: Tensor, normalized_shape: Sequence[int],
                      *others: Any) -> tuple[Tensor, ...]:
        *parameters, _ = others
        for other in parameters:
            # A tensor on 'meta' among others would have the whole call computed there, to nothing.
            if other is not None and other.device != x.device:
                raise ValueError(f"lnbwd: expected tensors on {x.device} like x, got one on "
                                 f"{other.device}")
        leading = x.shape[:-len(normalized_shape)]
        return (torch.empty_like(x, memory_format=torch.contiguous_format),
                *(x.new_empty(leading, dtype=torch.float32) for _ in parameters))

    def _fake_backward(self, dy: Tensor, x: Tensor, *others: Any) -> tuple[Tensor, ...]:
        _, parameters, _, mask = self._split(others)
        return gradients_like(x, (x, *parameters), mask)

    # Derivatives ----------------------------------------------------------------------------------

    def differentiable(self, x: Tensor, normalized_shape: Sequence[int], *others: Any) -> Any:
        """The operator with its derivative, inside of torch.func's transforms too."""
        *parameters, eps = others
        if transforms_are_active():
            return self.by_torch(x, normalized_shape, parameters, eps)
        return self._whole(x, normalized_shape, *(convert_parameter(p, x) for p in parameters), eps)

    def by_torch(self, x: Tensor, normalized_shape: Sequence[int],
                 parameters: Sequence[Tensor | None], eps: float,
                 rstd: Tensor | None = None) -> tuple[Tensor, ...]:
        """The operator by PyTorch's operations; where there is ``rstd``, its epsilon is taken."""
        leading, dims = x.shape[:-len(normalized_shape)], tuple(range(-len(normalized_shape), 0))
        centred = x.float() if x.dtype.itemsize < 4 else x
        mean = centred.mean(dims, keepdim=True)
        if self.count == 2:
            centred = centred - mean
        square = centred.square().mean(dims, keepdim=True)
        found = torch.rsqrt(square + (eps if rstd is None else
                                      (rstd.view(square.shape).pow(-2) - square).detach()))
        scale, shift = (*parameters, None)[:2]
        y = centred * found if scale is None else centred * found * scale
        y = y if shift is None else y + shift
        return (y.to(x.dtype), *(t.detach().reshape(leading) for t in (mean, found)[-self.count:]))

    def _gradient(self, dy: Tensor, x: Tensor, *others: Any) -> Any:
        """The operator of the gradient, with a derivative of PyTorch's."""
        statistics, parameters, normalized_shape, mask = self._split(others)
        if not is_derived(dy, x, *parameters):
            return self.raw_bwd(dy, x, *others)
        found = gradients_by_torch(
            lambda x, *parameters: self.by_torch(x, normalized_shape, parameters, 0.0,
                                                 statistics[-1])[0], (x, *parameters), mask, dy)
        return tuple(dy.new_empty(0) if gradient is None else gradient for gradient in found)

    def _define_derivatives(self) -> None:
        raw, raw_bwd, gradient_function = self.raw, self.raw_bwd, self._gradient

        class Eager(torch.autograd.Function):
            """y."""

            @staticmethod
            def forward(ctx: Any, *arguments: Any) -> Any:
                results = raw(*arguments)
                # (What save_for_backward does, without its frame.)
                ctx.to_save = (arguments[0], *results[1:], *arguments[2:-1])
                ctx.normalized_shape = arguments[1]
                return results[0]

            @staticmethod
            def backward(ctx: Any, dy: Tensor, *_: Any) -> tuple[Tensor | None, ...]:
                saved, needs = ctx.saved_tensors, ctx.needs_input_grad
                # (A parameter that is not there needs none.)
                mask = [needs[0], *needs[2:-1]]
                x = saved[0]
                if dy.dtype != x.dtype:
                    dy = dy.to(x.dtype)
                if torch.is_grad_enabled() or transforms_are_active():
                    gradients = gradient_function(dy, *saved, ctx.normalized_shape, mask)
                else:
                    try:
                        gradients = raw_bwd(dy, *saved, ctx.normalized_shape, mask)
                    except RuntimeError as error:
                        raise native.original(error) from None
                if False in mask:
                    gradients = [gradient if want else None
                                 for gradient, want in zip(gradients, mask, strict=True)]
                return (gradients[0], None, *gradients[1:], None)

            jvp = staticmethod(registration.refuse_forward_mode("lnbwd's operations"))

        class Whole(Eager):
            """All results."""

            @staticmethod
            def forward(ctx: Any, *arguments: Any) -> Any:
                results = raw(*arguments)
                ctx.save_for_backward(arguments[0], *results[1:], *arguments[2:-1])
                ctx.mark_non_differentiable(*results[1:])
                ctx.normalized_shape = arguments[1]
                return results

        self.eager: Callable[..., Tensor] = eager(Eager)
        self._whole = eager(Whole)


NORMS = {norm.name: norm for norm in (
    Norm(LAYER_NORM, "native_layer_norm"), Norm(RMS_NORM, "_fused_rms_norm"))}
"""PyTorch's norms by the names of their operations."""

overridden: set[str] = set()
"""The kinds of devices on which PyTorch's norms have our kernels now (:mod:`.aten`)."""


def is_overridden(input: Tensor, weight: Tensor | None, bias: Tensor | None = None) -> bool:
    """Whether PyTorch's function runs our kernels on these: it is asked only while
    :data:`overridden` is not empty, and takes one type alone."""
    return (input.device.type in overridden and (weight is None or weight.dtype == input.dtype)
            and (bias is None or bias.dtype == input.dtype))


def know_distributed_tensors() -> bool:
    """Registers the rules for DTensors if PyTorch's module is in use; whether it did so now."""
    name = "lnbwd.ops.sharding"
    if "torch.distributed.tensor" not in sys.modules or name in sys.modules:
        return False
    from . import sharding  # (PyTorch's module for them takes long to import.)

    sharding.register((norm.operator, norm.operator_bwd) for norm in NORMS.values())
    return True


def normalise(norm: Norm, input: Tensor, normalized_shape: Sequence[int] | int,
              parameters: tuple[Tensor | None, ...], eps: float | None) -> Tensor:
    """A norm for users. The usual call comes first, at the least cost; :func:`_checked` says what
    is wrong with others. Modules call it: their functions are another frame."""
    failure = None
    try:
        if type(normalized_shape) in _SHAPES and type(eps) is float and eps >= 0 and (
                not _is_compiling() and not is_traced()):
            normalized_shape = tuple(normalized_shape)  # type: ignore[arg-type]
            try:
                if overridden and is_overridden(input, *parameters):
                    return norm.by_pytorch(input, normalized_shape, *parameters, eps)
                if not transforms_are_active() and not (
                        norm.is_widened and _is_autocast_enabled("cuda")):
                    if _is_grad_enabled() or is_derived():
                        return norm.eager(input, normalized_shape, *parameters, eps)
                    # (An autograd.Function takes the host another 2 microseconds.)
                    y: Tensor = norm.raw(input, normalized_shape, *parameters, eps)[0]
                    return y
            except Exception as error:
                failure = error.with_traceback(None)  # Whose frames would keep the tensors.
        return _checked(norm, input, normalized_shape, parameters, eps, failure)
    except RuntimeError as error:
        raise native.original(error) from None


def _checked(norm: Norm, input: Tensor, normalized_shape: Sequence[int] | int,
             parameters: tuple[Tensor | None, ...], eps: float | None,
             failure: Exception | None) -> Tensor:
    """The norm, or what is wrong with its arguments, after the usual call has failed."""
    y: Tensor
    if not isinstance(input, Tensor) and has_torch_function_unary(input):
        y = handle_torch_function(norm.function, (input,), input, normalized_shape,
                                  *parameters, eps)
        return y
    shape = check_norm("input", input, normalized_shape, parameters)
    eps = check_eps(eps)
    # No kernel computes it.
    if input.dtype == torch.float64 or 0 in shape or is_traced() or (
            input.is_cpu and falls_back(f"lnbwd.{norm.name}")):
        return norm.by_pytorch(input, shape, *(None if t is None else t.to(input.dtype)
                                               for t in parameters), eps)
    if _is_compiling():
        y = getattr(torch.ops.lnbwd, norm.name)(input, shape, *parameters, eps)[0]
        return y
    if norm.is_widened and _is_autocast_enabled("cuda") and input.is_cuda:
        input = input.float() if input.dtype in HALVES else input
        parameters = tuple(t.float() if t is not None and t.dtype in HALVES else t
                           for t in parameters)
    if transforms_are_active():
        y = norm.differentiable(input, shape, *parameters, eps)[0]
        return y
    converted = tuple(convert_parameter(t, input) for t in parameters)
    are_same = all(new is old for new, old in zip(converted, parameters, strict=True))
    if not know_distributed_tensors() and failure and are_same:
        raise failure
    return norm.eager(input, tuple(shape), *converted, eps)


if native.load() is not None:
    for _key in ("CPU", "CUDA"):
        native.register_norms("lnbwd", _key, {
            op: f"_{op}" for norm in NORMS.values() for op in norm.aten})

know_distributed_tensors()
subclass_watchers.append(know_distributed_tensors)
