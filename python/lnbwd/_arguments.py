# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks of the tensors that users pass. A message names the argument, says what was expected, what
came instead, and what to do."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


def _spell(types: Sequence[torch.dtype]) -> str:
    *most, last = (str(kind).removeprefix("torch.") for kind in types)
    return f"{', '.join(most)} or {last}"


def check_tensor(name: str, value: object, or_none: bool = False) -> None:
    """Raises TypeError for what is no tensor."""
    if not isinstance(value, Tensor):
        raise TypeError(f"{name}: expected a tensor{' or None' if or_none else ''}, got "
                        f"{type(value).__name__}")


def check_type(name: str, tensor: Tensor, types: Sequence[torch.dtype], remedy: str = "") -> None:
    """Raises TypeError for a tensor whose elements are of another type."""
    if tensor.dtype not in types:
        raise TypeError(f"{name}: expected {_spell(types)}, got {tensor.dtype}{remedy}")


def check_parameter(name: str, parameter: Tensor | None, shape: Sequence[int], x_name: str,
                    x: Tensor, types: Sequence[torch.dtype], where: str = "") -> None:
    """Raises TypeError or ValueError for a weight or bias that does not fit the tensor ``x``.

    Args:
        name, parameter: the argument; None fits.
        shape: what it must have; ``where`` says in the message where that comes from.
        x_name, x: the argument on whose device it must be.
        types: those that its elements may be of.
    """
    if parameter is None:
        return
    check_tensor(name, parameter, or_none=True)
    if list(parameter.shape) != list(shape):
        raise ValueError(f"{name}: expected the shape {list(shape)}{where}, got "
                         f"{list(parameter.shape)}")
    if parameter.device != x.device:
        raise ValueError(f"{name}: expected a tensor on {x.device} like {x_name}, got one on "
                         f"{parameter.device}; move it by {name}.to({x_name}.device)")
    check_type(name, parameter, types)
