# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How the operators of this package are known to PyTorch.

An operator has two names. ``lnbwd::_name`` launches a kernel and has no derivative: it is what
graphs of torch.compile contain. Its kernel is C++ where the package has liblnbwd-torch.so
(lib/Torch, :mod:`lnbwd.native`) and a function of Python otherwise. ``lnbwd::name`` is the function
of an autograd.Function around it, which knows torch.func's transforms too.

C++ computes what is usual, by kernels that are loaded. Everything else is done by the same
function of Python, as the operator ``lnbwd::_name_in_python``: it loads the kernel, says what is
wrong with an argument, or has PyTorch compute.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from . import native
from .errors import LnbwdError

_library = torch.library.Library("lnbwd", "FRAGMENT")
_tags = (torch.Tag.pt2_compliant_tag,)

transforms_are_active: Callable[[], bool] = torch._C._are_functorch_transforms_active
"""Whether a transform of torch.func is being computed."""


_unsafe_view = torch.ops.aten._unsafe_view.default
reshaped: Callable[..., Tensor] = getattr(_unsafe_view, "_op", _unsafe_view)
"""A tensor in another shape, which is no view to autograd: what an autograd.Function gives may be
changed in place then, as by ReLU(inplace=True)."""


def define_kernel(name: str, schema: str, kernel: Callable[..., Any], fake: Callable[..., Any], *,
                  results: int = 0, is_decomposed: bool = False,
                  vmap: Callable[..., Any] | None = None) -> tuple[Any, Callable[..., Any]]:
    """Defines ``lnbwd::_name``.

    Args:
        name, schema: its name without the underscore, its arguments and results.
        kernel: computes it.
        fake: gives tensors of the results' shapes and types.
        results: how many tensors it gives, of an operator of which the library has a kernel, if
            there is one.
        is_decomposed: whether ``kernel`` computes a batch by other operators.
        vmap: computes a batch, as torch.library.register_vmap has it.

    Returns:
        The operator, and how it is called without a frame of Python in between.
    """
    _library.define(f"_{name}{schema}", tags=_tags)
    torch.library.register_fake(f"lnbwd::_{name}", fake, lib=_library)
    # It is called below autograd, by what differentiable() makes.
    _library.impl(f"_{name}", torch.library.fallthrough_kernel, "Autograd")
    if vmap is not None:
        torch.library.register_vmap(f"lnbwd::_{name}", vmap, lib=_library)
    if is_decomposed:
        _library.impl(f"_{name}", kernel, "FuncTorchBatched")
    if results and native.load():
        define_for_library(f"_{name}_in_python", schema, kernel, results)
    else:
        for key in ("CPU", "CUDA"):
            _library.impl(f"_{name}", kernel, key)
    operator = getattr(torch.ops.lnbwd, f"_{name}").default
    return operator, getattr(operator, "_op", operator)


def define_for_library(name: str, schema: str, function: Callable[..., Any], results: int) -> None:
    """Defines ``lnbwd::name``, which the library calls, and which gives so many tensors."""
    _library.define(name + schema)
    _library.impl(name, native.called_from_library(function, results), "CompositeExplicitAutograd")


def define(name: str, schema: str, function: Callable[..., Any]) -> None:
    """Defines ``lnbwd::name``, which is a function around autograd.Function.apply."""
    _library.define(name + schema, tags=_tags)
    # The second key is torch.func's: its transforms are to see the autograd.Function.
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


def refuse_forward_mode(of: str, instead: str) -> Callable[..., Any]:
    """A ``jvp`` that says that there is none."""
    return refuse("forward-mode differentiation (torch.autograd.forward_ad, torch.func.jvp, "
                  f"jacfwd) of {of}: there is none; use reverse mode (torch.func.vjp, grad, "
                  f"jacrev), or {instead}")


def differentiable(name: str, forward: Callable[..., Any], setup: Callable[..., Any],
                   backward: Callable[..., Any], jvp: Callable[..., Any]) -> Callable[..., Any]:
    """A function with a derivative, also inside of torch.func's transforms, from the parts of an
    autograd.Function. Finding out its arguments takes PyTorch 15 microseconds."""
    made = type(name, (torch.autograd.Function,), {
        "generate_vmap_rule": True, "forward": staticmethod(lambda *given: forward(*given)),
        "setup_context": staticmethod(setup), "backward": staticmethod(backward),
        "jvp": staticmethod(jvp)})
    apply: Callable[..., Any] = made.apply  # type: ignore[attr-defined]
    return apply


def eager(function: type[torch.autograd.Function]) -> Callable[..., Any]:
    """torch.autograd.Function.apply without its Python half, 3 microseconds that are for
    torch.func."""
    apply: Callable[..., Any] = super(  # type: ignore[misc]
        torch.autograd.Function, function).apply
    return apply


def gradients_like(x: Tensor, tensors: Sequence[Tensor | None],
                   mask: Sequence[bool]) -> tuple[Tensor, ...]:
    """New tensors for the gradients of those tensors that are there and wanted; for others one
    without elements."""
    return tuple(x.new_empty(0) if tensor is None or not want
                 else torch.empty_like(tensor, memory_format=torch.contiguous_format)
                 for tensor, want in zip(tensors, mask, strict=True))
