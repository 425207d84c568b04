# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""LayerNorm and RMSNorm, as torch.nn.functional has them."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from ..core.base.operations import LAYER_NORM, RMS_NORM
from ..ops.arguments import RMS_EPSILONS
from ..ops.norms import NORMS, normalise

_LAYER, _RMS = NORMS[LAYER_NORM], NORMS[RMS_NORM]


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
        return normalise(_LAYER, input, normalized_shape, (weight, bias), eps)
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


_LAYER.function, _RMS.function = layer_norm, rms_norm
