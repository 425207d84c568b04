# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions for users: drop-in replacements of PyTorch's, which check their arguments."""

from __future__ import annotations

import importlib
import operator
import sys
from collections.abc import Iterable, Sequence

import torch
from torch import Tensor
from torch.overrides import handle_torch_function, has_torch_function_unary

from . import aten, native
from ._arguments import check_parameter, check_tensor, check_type
from .operations import LAYER_NORM, RMS_NORM
from .ops import NORMS, Norm, Refused, convert_parameter

__all__ = ["layer_norm", "rms_norm"]

_HALVES = (torch.float16, torch.bfloat16)
_TYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


_WHOLE = (int, torch.SymInt)
# What normalized_shape usually is; other kinds are turned into a list.
_SHAPES = (tuple, torch.Size, list)

_EPSILONS = {kind: torch.finfo(kind).eps for kind in _TYPES}


def know_distributed_tensors() -> bool:
    """Registers the rules for distributed tensors, if PyTorch's module for them is in use; whether
    they were registered now."""
    name = f"{__package__}.sharding"
    if "torch.distributed.tensor" not in sys.modules or name in sys.modules:
        return False
    importlib.import_module(name)
    return True


know_distributed_tensors()

is_compiling = torch.compiler.is_compiling
is_autocast_enabled = torch.is_autocast_enabled
transforms_are_active = torch._C._are_functorch_transforms_active
overridden = aten.active


def checked_sizes(normalized_shape: Sequence[int] | int) -> list[int]:
    """The normalised dimensions as a list; whole numbers of NumPy's types are taken, too."""
    try:
        sizes = normalized_shape if isinstance(normalized_shape, Iterable) else [normalized_shape]
        return [size if isinstance(size, _WHOLE) else operator.index(size) for size in sizes]
    except TypeError:
        raise TypeError("normalized_shape: expected whole numbers, or one, got "
                        f"{normalized_shape!r}") from None


def _check(input: Tensor, normalized_shape: Sequence[int] | int, weight: Tensor | None,
           bias: Tensor | None = None) -> list[int]:
    """The normalised dimensions, after all arguments have been checked."""
    check_tensor("input", input)
    check_type("input", input, _TYPES, "; convert it by input.float()")
    if input.is_nested:
        raise TypeError("input: expected a dense tensor, got a nested one; normalise its "
                        "input.values()")
    if input.layout != torch.strided:
        raise TypeError(f"input: expected a dense tensor, got one of layout {input.layout}; "
                        "convert it by input.to_dense()")
    shape = checked_sizes(normalized_shape)
    if not shape:
        raise ValueError("normalized_shape: expected one dimension or more, got none")
    if list(input.shape[-len(shape):]) != shape or len(shape) > input.dim():
        raise ValueError(f"input: expected a shape that ends in {shape} (normalized_shape), got "
                         f"{list(input.shape)}")
    for name, parameter in (("weight", weight), ("bias", bias)):
        check_parameter(name, parameter, shape, "input", input, _TYPES, " (normalized_shape)")
    return shape


def checked_eps(eps: float | None) -> float:
    if eps is None or isinstance(eps, (str, Tensor)):
        raise TypeError(f"eps: expected a number that is 0 or more, got {eps!r}")
    if not eps >= 0:
        raise ValueError(f"eps: expected a number that is 0 or more, got {eps}")
    return float(eps)


_LAYER_NORM, _RMS_NORM = NORMS[LAYER_NORM], NORMS[RMS_NORM]


def _normalise(norm: Norm, input: Tensor, normalized_shape: Sequence[int] | int,
               parameters: tuple[Tensor | None, ...], eps: float | None) -> Tensor:
    """The norm of a tensor that is PyTorch's own; checks all arguments. Raises Refused where
    nothing can compute it."""
    failure = None
    y: Tensor
    # The usual call, at the least cost; the words for what is refused are below.
    if type(normalized_shape) in _SHAPES and type(eps) is float and eps >= 0:
        normalized_shape = tuple(normalized_shape)  # type: ignore[arg-type]
        if (not is_compiling() and not transforms_are_active()
                and not (norm.is_widened and is_autocast_enabled("cuda"))):
            try:
                # (Under autocast PyTorch's functions may give float32.)
                if (overridden and not is_autocast_enabled("cuda")
                        and aten.serves(input, *parameters)):
                    return norm.aten(input, normalized_shape, *parameters, eps)
                return norm.eager(input, normalized_shape, *parameters, eps)
            except Refused as refused:
                failure = refused.__cause__
            except (RuntimeError, TypeError, AttributeError):
                _check(input, normalized_shape, *parameters)
                raise
    shape = _check(input, normalized_shape, *parameters)
    eps = checked_eps(eps)
    if is_compiling():
        y = getattr(torch.ops.lnbwd, norm.name)(input, shape, *parameters, eps)[0]
        return y
    if norm.is_widened and is_autocast_enabled("cuda") and input.is_cuda:
        input = input.float() if input.dtype in _HALVES else input
        parameters = tuple(t.float() if t is not None and t.dtype in _HALVES else t
                           for t in parameters)
    if transforms_are_active():
        try:
            y = norm.differentiable(input, shape, *parameters, eps)[0]
            return y
        except RuntimeError as error:
            raise native.original(error) from None
    converted = tuple(convert_parameter(t, input) for t in parameters)
    are_same = all(new is old for new, old in zip(converted, parameters, strict=True))
    if not know_distributed_tensors() and failure and are_same:
        raise native.original(failure) from None
    return norm.eager(input, tuple(shape), *converted, eps)


def layer_norm(input: Tensor, normalized_shape: Sequence[int] | int, weight: Tensor | None = None,
               bias: Tensor | None = None, eps: float = 1e-5) -> Tensor:
    """LayerNorm, as torch.nn.functional.layer_norm, with a backward pass by lnbwd's kernels.

    Args:
        input: ``[..., *normalized_shape]``, float16, bfloat16 or float32, on a CUDA or ROCm
            device (float64: computed by PyTorch). Any strides; rows that are not dense are copied.
        normalized_shape: the trailing dimensions that are normalised together.
        weight: the scale, of shape ``normalized_shape``; None: 1. Kernels take input's type and
            float32; a parameter of another floating-point type is converted, and its gradient
            back.
        bias: the shift, likewise; None: 0.
        eps: added to the variance, 0 or more.

    Returns:
        A dense tensor of input's shape and type (under autocast on a GPU float32, as PyTorch's).

    Raises:
        TypeError, ValueError: an argument has a wrong type, shape or device; the message names it.
        LnbwdError: no kernel can run on the tensor's device, for example on the CPU outside of
            :func:`lnbwd.simulate`.
    """
    if not isinstance(input, Tensor) and has_torch_function_unary(input):
        y: Tensor = handle_torch_function(layer_norm, (input,), input, normalized_shape, weight,
                                          bias, eps)
        return y
    try:  # torch.jit.script stops here: lnbwd cannot be scripted (docs/python.md)
        return _normalise(_LAYER_NORM, input, normalized_shape, (weight, bias), eps)
    except Refused as refused:
        raise native.original(refused) from None


def rms_norm(input: Tensor, normalized_shape: Sequence[int] | int, weight: Tensor | None = None,
             eps: float | None = None) -> Tensor:
    """RMSNorm, as torch.nn.functional.rms_norm, with a backward pass by lnbwd's kernels.

    Args:
        input, normalized_shape, weight: as for :func:`layer_norm`.
        eps: added to the mean square; None: the smallest difference of input's type from 1.

    Returns:
        A dense tensor of input's shape and type.

    Raises:
        The errors of :func:`layer_norm`.
    """
    if not isinstance(input, Tensor) and has_torch_function_unary(input):
        y: Tensor = handle_torch_function(rms_norm, (input,), input, normalized_shape, weight, eps)
        return y
    if eps is None and isinstance(input, Tensor):
        eps = _EPSILONS.get(input.dtype)
    try:  # torch.jit.script stops here: lnbwd cannot be scripted (docs/python.md)
        return _normalise(_RMS_NORM, input, normalized_shape, (weight,), eps)
    except Refused as refused:
        raise native.original(refused) from None
