# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How the operators of this package are known to PyTorch.

An operator has two names. ``lnbwd::_name`` launches a kernel and has no derivative: it is what
graphs of torch.compile contain. Its kernel is C++ where the package has liblnbwd-torch.so
(lib/Torch, :mod:`.native`) and a function of Python otherwise. ``lnbwd::name`` is the function
of an autograd.Function around it, or inside of torch.func's transforms PyTorch's operations.

C++ computes what is usual, by kernels that are loaded. Everything else is done by the same
function of Python, as the operator ``lnbwd::_name_in_python``: it loads the kernel, says what is
wrong with an argument, or has PyTorch compute.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from ..core.base.errors import LnbwdError
from ..program.torch_internals.eager import is_forward_mode, raw, transforms_are_active
from . import native

_library = torch.library.Library("lnbwd", "FRAGMENT")
_tags = (torch.Tag.pt2_compliant_tag,)


def is_derived(*tensors: Tensor | None) -> bool:
    """Whether a derivative of a result may be asked for, in either mode."""
    if torch.is_grad_enabled():
        for tensor in tensors:
            if tensor is not None and tensor.requires_grad:
                return True
    return is_forward_mode() or transforms_are_active()


def define_kernel(name: str, schema: str, kernel: Callable[..., Any], fake: Callable[..., Any], *,
                  results: int = 0) -> tuple[Any, Callable[..., Any]]:
    """Defines ``lnbwd::_name``, if the library may have a kernel of it. ``fake`` gives tensors of
    the results' shapes and types, ``results`` is their number. Returns the operator, and a way to
    call it without a frame of Python in between."""
    _library.define(f"_{name}{schema}", tags=_tags)
    torch.library.register_fake(f"lnbwd::_{name}", fake, lib=_library)
    # It is called below autograd, by an autograd.Function.
    _library.impl(f"_{name}", torch.library.fallthrough_kernel, "Autograd")
    if results and native.load():
        define_for_library(f"_{name}_in_python", schema, kernel, results)
    else:
        for key in ("CPU", "CUDA"):
            _library.impl(f"_{name}", kernel, key)
    operator = getattr(torch.ops.lnbwd, f"_{name}").default
    return operator, raw(operator)


def define_for_library(name: str, schema: str, function: Callable[..., Any], results: int) -> None:
    """Defines ``lnbwd::name``, which the library calls, and which gives so many tensors."""
    _library.define(name + schema)
    _library.impl(name, native.called_from_library(function, results), "CompositeExplicitAutograd")


def define(name: str, schema: str, function: Callable[..., Any]) -> None:
    """Defines ``lnbwd::name``, which is a function around autograd.Function.apply."""
    _library.define(name + schema, tags=_tags)
    # The second key is torch.func's: what is inside of a transform is the function's to see.
    for key in ("CompositeImplicitAutograd", "FuncTorchDynamicLayerFrontMode"):
        _library.impl(name, function, key)


def widen(name: str) -> None:
    """Has autocast on a GPU compute ``lnbwd::name`` in float32."""
    torch.library.register_autocast(f"lnbwd::{name}", "cuda", torch.float32, lib=_library)


def refuse(words: str) -> Callable[..., Any]:
    """A derivative, in whichever mode, that says that there is none."""
    def derivative(ctx: Any, *gradients: Any) -> None:
        raise LnbwdError(words)

    return derivative


def refuse_forward_mode(of: str) -> Callable[..., Any]:
    """A ``jvp`` that says that there is none."""
    return refuse(f"forward-mode differentiation (torch.autograd.forward_ad) of {of}: there is "
                  "none; use torch.func.jvp or jacfwd, or reverse mode")


def eager(function: type[torch.autograd.Function]) -> Callable[..., Any]:
    """torch.autograd.Function.apply without its half for torch.func, 3 microseconds."""
    apply: Callable[..., Any] = super(  # type: ignore[misc]
        torch.autograd.Function, function).apply
    return apply


def gradients_like(x: Tensor, tensors: Sequence[Tensor | None],
                   mask: Sequence[bool]) -> tuple[Tensor, ...]:
    """New tensors for wanted gradients of tensors; for others one without elements."""
    return tuple(x.new_empty(0) if tensor is None or not want
                 else torch.empty_like(tensor, memory_format=torch.contiguous_format)
                 for tensor, want in zip(tensors, mask, strict=True))


def group_norm_by_torch(input: Tensor, groups: int, weight: Tensor | None,
                        bias: Tensor | None, eps: float) -> Tensor:
    """PyTorch's function. Without autocast it refuses several types on a GPU: they are widened.
    Its kernel for channels_last on CPUs crashes for the gradients of parameters alone (2.13)."""
    parameters = [t for t in (weight, bias) if t is not None]
    if any(t.requires_grad for t in parameters):
        input = input.contiguous()
    tensors = [input, *parameters]
    widest = functools.reduce(torch.promote_types, (t.dtype for t in tensors))
    if all(t.dtype == widest for t in tensors) or torch.is_autocast_enabled(input.device.type):
        return F.group_norm(input, groups, weight, bias, eps)
    weight, bias = (None if t is None else t.to(widest) for t in (weight, bias))
    return F.group_norm(input.to(widest), groups, weight, bias, eps).to(input.dtype)


def gradients_by_torch(function: Callable[..., Tensor], tensors: Sequence[Tensor | None],
                       mask: Sequence[bool], dy: Tensor) -> tuple[Tensor | None, ...]:
    """Gradients that have derivatives themselves, of a function of the tensors, made of PyTorch's
    operations; None for those that are not there or not wanted."""
    def call(*there: Tensor) -> Tensor:
        left = iter(there)
        return function(*[None if tensor is None else next(left) for tensor in tensors])

    found = iter(torch.func.vjp(call, *(t for t in tensors if t is not None))[1](dy))
    gradients = [None if tensor is None else next(found) for tensor in tensors]
    return tuple(gradient if want else None for gradient, want in zip(gradients, mask, strict=True))
