# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls of lnbwd.functional and the same by PyTorch, on random shapes (row_functions.py)."""

from __future__ import annotations

import math
import random
import types
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from lnbwd.core.base.operations import RMS_NORM

from . import quantized
from .machine import DTYPES
from .shapes import log_uniform

# Of the first argument; a forward pass reads and writes as much.
_LEAST_BYTES, _MOST_BYTES = 2e6, 4e8
_GROUPS, _VOCABULARY = 32, 50257

Shape = tuple[int, ...]


def _rms_norm_rope(x: Tensor, cos: Tensor, sin: Tensor, weight: Tensor) -> Tensor:
    h = F.rms_norm(x, x.shape[-1:], weight)
    first, second = h.chunk(2, -1)
    return h * cos + torch.cat((-second, first), -1) * sin


def _dropout_add_rms_norm(x: Tensor, residual: Tensor, weight: Tensor,
                          p: float) -> tuple[Tensor, Tensor]:
    h = residual + F.dropout(x, p)
    return F.rms_norm(h, h.shape[-1:], weight), h


PYTORCH = types.SimpleNamespace(
    group_norm=F.group_norm, batch_norm=F.batch_norm, softmax=F.softmax, log_softmax=F.log_softmax,
    cross_entropy=F.cross_entropy, swiglu=lambda a, b: F.silu(a) * b,
    geglu=lambda a, b, approximate: F.gelu(a, approximate=approximate) * b,
    rms_norm_rope=_rms_norm_rope, gated_rms_norm=lambda x, gate, weight: F.rms_norm(
        x * F.silu(gate), x.shape[-1:], weight), dropout_add_rms_norm=_dropout_add_rms_norm,
    **vars(quantized.FORMULAS))


CALLS: dict[str, Callable[..., Any]] = {
    "group_norm": lambda library, x, weight, bias: library.group_norm(x, _GROUPS, weight, bias),
    "batch_norm": lambda library, x, weight, bias, mean, var: library.batch_norm(
        x, mean, var, weight, bias, True),
    "softmax": lambda library, x: library.softmax(x, -1),
    "log_softmax": lambda library, x: library.log_softmax(x, -1),
    "cross_entropy": lambda library, x, target: library.cross_entropy(x, target),
    f"{RMS_NORM}_rope": lambda library, x, weight, cos, sin: library.rms_norm_rope(
        x, cos, sin, weight),
    "gated_rms_norm": lambda library, x, gate, weight: library.gated_rms_norm(x, gate, weight),
    "swiglu": lambda library, a, b: library.swiglu(a, b),
    "geglu": lambda library, a, b: library.geglu(a, b, "tanh"),
    "dropout_add_rms_norm": lambda library, x, residual, weight, p=0.1:
        library.dropout_add_rms_norm(x, residual, weight, p),
    **{name: quantized.call(name) for name in quantized.CASES}}
"""What is timed, by name: of a library and tensors."""


def _image(drawn: random.Random, samples: int, multiple: int) -> Shape:
    side = log_uniform(drawn, 8, 128, 2) + (drawn.random() < 0.1)
    return (log_uniform(drawn, 1, samples), log_uniform(drawn, 32, 1280, multiple), side, side)


def _matrix(drawn: random.Random) -> Shape:
    columns = log_uniform(drawn, 128, 32768, 8)
    return log_uniform(drawn, 64, 1 << 20), columns - (drawn.random() < 0.1)


DRAWN: dict[str, Callable[[random.Random], Shape]] = {
    **dict.fromkeys(CALLS, _matrix),
    **dict.fromkeys(quantized.CASES, quantized.draw),
    "group_norm": lambda drawn: _image(drawn, 64, _GROUPS),
    "batch_norm": lambda drawn: _image(drawn, 256, 8),
    "cross_entropy": lambda drawn: (log_uniform(drawn, 256, 32768), drawn.choice((
        _VOCABULARY, log_uniform(drawn, 8192, 262144)))),
    f"{RMS_NORM}_rope": lambda drawn: (
        log_uniform(drawn, 1, 16), log_uniform(drawn, 128, 8192), log_uniform(drawn, 4, 64),
        drawn.choice((64, 128, 256)))}


def draw(name: str, seed: int, count: int) -> list[tuple[Shape, str]]:
    """Different shapes of a function's first argument, and types, which take turns; cross entropy
    and what is quantised have bfloat16 alone. The same seed gives the same ones."""
    drawn = random.Random(f"{name} {seed}")
    found: dict[Shape, str] = {}
    while len(found) < count:
        is_bf16 = name == "cross_entropy" or name in quantized.CASES
        dtype = "bf16" if is_bf16 else list(DTYPES)[len(found) % len(DTYPES)]
        shape = DRAWN[name](drawn)
        if _LEAST_BYTES <= math.prod(shape) * DTYPES[dtype].itemsize <= _MOST_BYTES:
            found.setdefault(shape, dtype)
    return list(found.items())


def tiny(name: str, shape: Shape) -> Shape:
    """A shape for the simulator."""
    return (128, 256) if name in quantized.CASES else tuple(min(size, 32) for size in shape)


def operands(name: str, shape: Shape, dtype: str, device: torch.device) -> list[Tensor]:
    """The tensors of a call; a batch norm's, but the first, are float32, as under autocast."""
    def values(*sizes: int, dtype: str = dtype, has_gradient: bool = True) -> Tensor:
        return torch.randn(sizes, device=device).to(DTYPES[dtype]).requires_grad_(has_gradient)

    if name in quantized.CASES:
        return quantized.operands(name, shape, device)
    first, more = values(*shape), []
    if name in ("swiglu", "geglu"):
        more = [values(*shape)]
    elif name == "cross_entropy":
        more = [torch.randint(shape[1], shape[:1], device=device)]
    elif name == f"{RMS_NORM}_rope":
        more = [values(shape[-1]), *(values(shape[1], 1, shape[-1], has_gradient=False)
                                     for _ in range(2))]
    elif name in ("dropout_add_rms_norm", "gated_rms_norm"):
        more = [values(*shape), values(shape[-1])]
    elif name == "group_norm":
        more = [values(shape[1]) for _ in range(2)]
    elif name == "batch_norm":
        more = [*(values(shape[1], dtype="f32") for _ in range(2)),
                *(torch.ones(shape[1], device=device) for _ in range(2))]
    return [first, *more]


def row_length(name: str, shape: Shape) -> int:
    """Elements of what is normalised, or else of a row."""
    if name in ("group_norm", "batch_norm"):
        return math.prod(shape) // (shape[1] if name == "batch_norm" else _GROUPS * shape[0])
    return shape[-1]
