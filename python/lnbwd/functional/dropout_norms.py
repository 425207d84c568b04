# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Norms after a dropout and an addition, in one kernel."""

from __future__ import annotations

import torch
from torch import Tensor

from ..ops.arguments import check_dense, check_eps, check_number, check_parameter, check_rms_eps
from ..ops.launching import is_pytorchs
from ..ops.row_functions import Columns, Rows, Seed, rowwise, uniform


@rowwise
def _dropout_add_norm(input: Rows, residual: Rows | None, weight: Columns | None,
                      bias: Columns | None, seed: Seed | None, p: float, eps: float,
                      is_centred: bool) -> tuple[Tensor, Tensor]:
    total = input if input.dtype == torch.float64 else input.float()
    if seed is not None:
        total = torch.where(uniform(seed, input) >= p, total * (1 / (1 - p)), 0)
    if residual is not None:
        total = total + residual
    centred = total - total.mean(-1, keepdim=True) if is_centred else total
    y = centred * torch.rsqrt(centred.square().mean(-1, keepdim=True) + eps)
    y = y if weight is None else y * weight
    return (y if bias is None else y + bias).to(input.dtype), total.to(
        input.dtype if residual is None else residual.dtype)


def _add_norm(is_centred: bool, input: Tensor, residual: Tensor | None, weight: Tensor | None,
              bias: Tensor | None, p: float, training: bool, eps: float) -> tuple[Tensor, Tensor]:
    check_dense("input", input)
    check_parameter("residual", residual, input.shape, "input", input, " of input")
    for name, parameter in (("weight", weight), ("bias", bias)):
        check_parameter(name, parameter, input.shape[-1:], "input", input)
    p = check_number("p", p, "a probability from 0 to 1", 0, 1)
    p = p if training else 0.0
    if p == 1 or (p and is_pytorchs("lnbwd.functional.dropout_add_norm", input)):
        input, p = torch.nn.functional.dropout(input, p), 0.0
    seed = torch.randint(2 ** 62, (), device=input.device) if p else None
    return _dropout_add_norm(input, residual, weight, bias, seed, p, eps, is_centred)


def dropout_add_layer_norm(input: Tensor, residual: Tensor | None, weight: Tensor | None = None,
                           bias: Tensor | None = None, p: float = 0.0, training: bool = True,
                           eps: float = 1e-5) -> tuple[Tensor, Tensor]:
    """``h = residual + dropout(input, p)`` and the LayerNorm of it, in one kernel, and their
    gradients in one. The numbers are drawn again in the gradient, so that no mask is kept.

    Args:
        input: ``[..., N]``, float16, bfloat16 or float32 (float64: computed by PyTorch).
        residual: of input's shape, of any of these types, or None: there is none.
        weight, bias: the scale and the shift of the norm, ``[N]``; None: 1 and 0.
        p: the probability that an element becomes 0, without ``training`` none does.
        eps: added to the variance, 0 or more.

    Returns:
        The norm, of input's type, and h, of residual's type.

    Raises:
        TypeError, ValueError, LnbwdError: as :func:`softmax`. Second derivatives with dropout.
    """
    return _add_norm(True, input, residual, weight, bias, p, training, check_eps(eps))


def dropout_add_rms_norm(input: Tensor, residual: Tensor | None, weight: Tensor | None = None,
                         p: float = 0.0, training: bool = True,
                         eps: float | None = None) -> tuple[Tensor, Tensor]:
    """:func:`dropout_add_layer_norm` with an RMSNorm and the default epsilon of
    :func:`rms_norm`."""
    check_dense("input", input)
    return _add_norm(False, input, residual, weight, None, p, training,
                     check_rms_eps(eps, input.dtype))
