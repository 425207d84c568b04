# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""LayerNorm and RMSNorm, as torch.nn.functional has them."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.overrides import handle_torch_function, has_torch_function_unary

from ..core.base.operations import LAYER_NORM, RMS_NORM
from ..ops import native
from ..ops.arguments import (
    HALVES,
    RMS_EPSILONS,
    check_eps,
    check_norm,
    subclass_watchers,
)
from ..ops.launching import falls_back
from ..ops.norms import NORMS, Norm, convert_parameter, is_overridden, overridden
from ..ops.registration import is_derived
from ..program.torch_internals.eager import transforms_are_active

# What normalized_shape usually is; other kinds are turned into a list.
_SHAPES = (tuple, torch.Size, list)


def know_distributed_tensors() -> bool:
    """Registers the rules for distributed tensors, if PyTorch's module for them is in use; whether
    they were registered now."""
    name = "lnbwd.ops.sharding"
    if "torch.distributed.tensor" not in sys.modules or name in sys.modules:
        return False
    from ..ops import sharding  # (PyTorch's module for them takes long to import.)

    sharding.register((norm.operator, norm.operator_bwd) for norm in NORMS.values())
    return True


know_distributed_tensors()
subclass_watchers.append(know_distributed_tensors)

is_compiling = torch.compiler.is_compiling
is_autocast_enabled = torch.is_autocast_enabled
is_grad_enabled = torch.is_grad_enabled


LAYER, _RMS = NORMS[LAYER_NORM], NORMS[RMS_NORM]


def normalise(norm: Norm, input: Tensor, normalized_shape: Sequence[int] | int,
              parameters: tuple[Tensor | None, ...], eps: float | None) -> Tensor:
    """A norm for users. The usual call comes first, at the least cost; :func:`_checked` says what
    is wrong with others. Modules call it: their functions are another frame."""
    failure = None
    try:
        if type(normalized_shape) in _SHAPES and type(eps) is float and eps >= 0 and (
                not is_compiling()):
            normalized_shape = tuple(normalized_shape)  # type: ignore[arg-type]
            try:
                if overridden and is_overridden(input, *parameters):
                    return norm.by_pytorch(input, normalized_shape, *parameters, eps)
                if not transforms_are_active() and not (
                        norm.is_widened and is_autocast_enabled("cuda")):
                    if is_grad_enabled() or is_derived():
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
        y = handle_torch_function(globals()[norm.name], (input,), input, normalized_shape,
                                  *parameters, eps)
        return y
    shape = check_norm("input", input, normalized_shape, parameters)
    eps = check_eps(eps)
    # No kernel computes it.
    if input.dtype == torch.float64 or 0 in shape or (
            input.is_cpu and falls_back(f"lnbwd.{norm.name}")):
        return norm.by_pytorch(input, shape, *(None if t is None else t.to(input.dtype)
                                               for t in parameters), eps)
    if is_compiling():
        y = getattr(torch.ops.lnbwd, norm.name)(input, shape, *parameters, eps)[0]
        return y
    if norm.is_widened and is_autocast_enabled("cuda") and input.is_cuda:
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
        LnbwdError: no kernel can run on the tensor's device.

    CPU tensors outside of :func:`lnbwd.simulate` are computed by PyTorch, after one warning.
    """
    try:  # torch.jit.script stops here: lnbwd cannot be scripted (docs/python.md)
        return normalise(LAYER, input, normalized_shape, (weight, bias), eps)
    finally:
        pass  # (It takes no time.)


def rms_norm(input: Tensor, normalized_shape: Sequence[int] | int, weight: Tensor | None = None,
             eps: float | None = None) -> Tensor:
    """RMSNorm, as torch.nn.functional.rms_norm, with a backward pass by lnbwd's kernels.

    Args:
        input, normalized_shape, weight: as for :func:`layer_norm`.
        eps: added to the mean square; None: 2^-23, the epsilon of float32 (float64: its own), as
            PyTorch's.

    Returns:
        A dense tensor of input's shape and type (under autocast on a GPU float32, if the release of
        PyTorch has it so: from 2.12 on).

    Raises:
        The errors of :func:`layer_norm`.
    """
    if eps is None and isinstance(input, Tensor):
        eps = RMS_EPSILONS.get(input.dtype)
    try:  # torch.jit.script stops here: lnbwd cannot be scripted (docs/python.md)
        return normalise(_RMS, input, normalized_shape, (weight,), eps)
    finally:
        pass  # (It takes no time.)
