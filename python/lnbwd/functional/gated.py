# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gated units, and the gated RMSNorm."""

from __future__ import annotations

import torch
from torch import Tensor

from ..core.base.errors import renamed
from ..ops.arguments import check_dense, check_parameter, check_rms_eps
from ..ops.row_functions import Columns, Rows, rowwise

_renamed = renamed(a="it is called 'gate'", b="it is called 'up'")


@rowwise
def _swiglu(gate: Rows, up: Rows) -> Tensor:
    return torch.nn.functional.silu(gate) * up


@rowwise
def _geglu(gate: Rows, up: Rows, approximate: str) -> Tensor:
    return torch.nn.functional.gelu(gate, approximate=approximate) * up


def _check_pair(a: Tensor, b: Tensor, a_name: str = "gate", b_name: str = "up") -> None:
    check_dense(a_name, a)
    check_dense(b_name, b)
    check_parameter(b_name, b, a.shape, a_name, a, f" of {a_name}")


@_renamed
def swiglu(gate: Tensor, up: Tensor) -> Tensor:
    """``silu(gate) * up``, by kernels for the result and its gradient. It is rounded once.

    Args:
        gate, up: of one shape of 1 to 6 dimensions; float16, bfloat16 or float32 (float64: computed
            by PyTorch), in any mix.

    Returns:
        A dense tensor of that shape, of the type that PyTorch gives the product.

    Raises:
        TypeError, ValueError, LnbwdError: as :func:`softmax`.
    """
    _check_pair(gate, up)
    return _swiglu(gate, up)


@_renamed
def geglu(gate: Tensor, up: Tensor, approximate: str = "none") -> Tensor:
    """``gelu(gate, approximate) * up``; otherwise as :func:`swiglu`.

    Args:
        approximate: "none" (by erf) or "tanh", as of torch.nn.functional.gelu.
    """
    _check_pair(gate, up)
    if approximate not in ("none", "tanh"):
        raise ValueError(f"approximate: expected 'none' or 'tanh', got {approximate!r}")
    return _geglu(gate, up, approximate)


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
    check_parameter("weight", weight, input.shape[-1:], "input", input)
    return _gated_rms_norm(input, gate, weight, check_rms_eps(eps, input.dtype))
