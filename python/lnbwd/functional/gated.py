# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gated units, and the gated RMSNorm."""

from __future__ import annotations

import torch
from torch import Tensor

from ..ops.arguments import TYPES, check_dense, check_parameter, check_rms_eps
from ..ops.row_functions import Columns, Rows, rowwise


@rowwise
def _swiglu(a: Rows, b: Rows) -> Tensor:
    return torch.nn.functional.silu(a) * b


@rowwise
def _geglu(a: Rows, b: Rows, approximate: str) -> Tensor:
    return torch.nn.functional.gelu(a, approximate=approximate) * b


def _check_pair(a: Tensor, b: Tensor, a_name: str = "a", b_name: str = "b") -> None:
    check_dense(a_name, a)
    check_dense(b_name, b)
    check_parameter(b_name, b, a.shape, a_name, a, TYPES, f" of {a_name}")


def swiglu(a: Tensor, b: Tensor) -> Tensor:
    """``silu(a) * b``, by kernels for the result and its gradient. It is rounded once.

    Args:
        a, b: of one shape of 1 to 6 dimensions; float16, bfloat16 or float32 (float64: computed by
            PyTorch), in any mix.

    Returns:
        A dense tensor of that shape, of the type that PyTorch gives the product.

    Raises:
        TypeError, ValueError, LnbwdError: as :func:`softmax`.
    """
    _check_pair(a, b)
    return _swiglu(a, b)


def geglu(a: Tensor, b: Tensor, approximate: str = "none") -> Tensor:
    """``gelu(a, approximate) * b``; otherwise as :func:`swiglu`.

    Args:
        approximate: "none" (by erf) or "tanh", as of torch.nn.functional.gelu.
    """
    _check_pair(a, b)
    if approximate not in ("none", "tanh"):
        raise ValueError(f"approximate: expected 'none' or 'tanh', got {approximate!r}")
    return _geglu(a, b, approximate)


@rowwise
def _gated_rms_norm(input: Rows, gate: Rows, weight: Columns | None, eps: float) -> Tensor:
    x, z = (t if t.dtype == torch.float64 else t.float() for t in (input, gate))
    h = x * torch.nn.functional.silu(z)
    y = h * torch.rsqrt(h.square().mean(-1, keepdim=True) + eps)
    return (y if weight is None else y * weight).to(input.dtype)


def gated_rms_norm(input: Tensor, gate: Tensor, weight: Tensor | None = None,
                   eps: float | None = None) -> Tensor:
    """The RMSNorm of ``input * silu(gate)``, as behind the state space layers of Mamba-2, by
    kernels for the result and its gradient. It is rounded once.

    Args:
        input, gate: ``[..., N]``, of one shape; float16, bfloat16 or float32 (float64: computed by
            PyTorch), in any mix.
        weight: the scale of the norm, ``[N]``; None: 1.
        eps: as of :func:`rms_norm`.

    Returns:
        A dense tensor of input's shape and type.

    Raises:
        TypeError, ValueError, LnbwdError: as :func:`softmax`.
    """
    _check_pair(input, gate, "input", "gate")
    check_parameter("weight", weight, input.shape[-1:], "input", input, TYPES)
    return _gated_rms_norm(input, gate, weight, check_rms_eps(eps, input.dtype))
