# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The numbers of a problem: inputs, the float64 reference, and whether outputs are right.

The allowed errors are those of lnbwd-run (docs/numerics.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lnbwd_bench.shapes import Shape

OUTPUTS = ("dx", "dgamma", "dbeta")
# A NaN that no arithmetic gives, as bits of each type.
_POISON = {"bf16": 0x7FA5, "f16": 0x7DA5, "f32": 0x7FA5A5A5}
_BITS = {"bf16": np.uint16, "f16": np.uint16, "f32": np.uint32}
_ALLOWED = {"bf16": (4e-3, 4e-3), "f16": (6e-4, 6e-4), "f32": (5e-7, 1e-6)}
_ROUNDING = 2.0 ** -24
# dx is compared on so many rows at most; that each element was written is checked on all.
_SAMPLED_ELEMENTS = 1 << 19


def round_to(values: np.ndarray[Any, Any], dtype: str) -> np.ndarray[Any, Any]:
    """The bits of float32 values in a type, rounded to nearest even."""
    if dtype == "f32":
        return values.astype(np.float32).view(np.uint32)
    if dtype == "f16":
        return values.astype(np.float16).view(np.uint16)
    bits: np.ndarray[Any, Any] = values.astype(np.float32).view(np.uint32)
    return np.asarray((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16, dtype=np.uint16)


def widen(bits: np.ndarray[Any, Any], dtype: str) -> np.ndarray[Any, Any]:
    """The values of bits, in float64."""
    if dtype == "f32":
        return bits.view(np.float32).astype(np.float64)
    if dtype == "f16":
        return bits.view(np.float16).astype(np.float64)
    wide: np.ndarray[Any, Any] = (bits.astype(np.uint32) << 16).view(np.float32)
    return wide.astype(np.float64)


def make_inputs(shape: Shape, rows: int, seed: int = 1) -> dict[str, np.ndarray[Any, Any]]:
    """dy, x, gamma, mean and rstd for the first ``rows`` rows, as bits of their types."""
    generator = np.random.default_rng(seed)

    def normal(*size: int) -> np.ndarray[Any, Any]:
        return round_to(generator.standard_normal(size, dtype=np.float32), shape.dtype)

    x = normal(rows, shape.n)
    wide = widen(x, shape.dtype)
    mean = wide.mean(1)
    rstd = 1 / np.sqrt(wide.var(1) + 1e-5)
    gamma = round_to(1 + 0.25 * generator.standard_normal(shape.n, dtype=np.float32), shape.dtype)
    return {"dy": normal(rows, shape.n), "x": x, "gamma": gamma,
            "mean": mean.astype(np.float32).view(np.uint32),
            "rstd": rstd.astype(np.float32).view(np.uint32)}


@dataclass
class Reference:
    """What right outputs are.

    Attributes:
        dx_rows: the rows of dx that are compared.
        outputs: in float64; of dx those rows alone.
        allowed: the greatest absolute error of each.
    """

    dx_rows: np.ndarray[Any, Any]
    outputs: dict[str, np.ndarray[Any, Any]]
    allowed: dict[str, float]


def reference(inputs: dict[str, np.ndarray[Any, Any]], dtype: str) -> Reference:
    """The gradients in float64, from the very numbers that a kernel is given."""
    dy, x, gamma = (widen(inputs[name], dtype) for name in ("dy", "x", "gamma"))
    mean, rstd = (widen(inputs[name], "f32")[:, None] for name in ("mean", "rstd"))
    rows, n = dy.shape
    xhat = (x - mean) * rstd
    count = min(rows, max(8, _SAMPLED_ELEMENTS // n))
    chosen = np.unique(np.linspace(0, rows - 1, count).astype(np.int64))
    wdy = dy[chosen] * gamma
    c1 = (wdy * xhat[chosen]).mean(1, keepdims=True)
    c2 = wdy.mean(1, keepdims=True)
    outputs = {"dx": rstd[chosen] * (wdy - xhat[chosen] * c1 - c2),
               "dgamma": (dy * xhat).sum(0), "dbeta": dy.sum(0)}
    sizes = {"dx": (rstd[chosen] * (abs(wdy) + abs(xhat[chosen] * c1) + abs(c2))).max(),
             "dgamma": np.sqrt(np.square(dy * xhat).sum(0).max()),
             "dbeta": np.sqrt(np.square(dy).sum(0).max())}
    allowed = {name: float(max(_ALLOWED[dtype][name != "dx"] * abs(outputs[name]).max(),
                               (4 if name == "dx" else 8) * _ROUNDING * sizes[name]))
               for name in OUTPUTS}
    return Reference(chosen, outputs, allowed)


def poison(shape: tuple[int, ...], dtype: str) -> np.ndarray[Any, Any]:
    """An output before a launch."""
    return np.full(shape, _POISON[dtype], _BITS[dtype])


def complaint(outputs: dict[str, np.ndarray[Any, Any]], expected: Reference, dtype: str) -> str:
    """What is wrong with a kernel's outputs; "" if nothing is."""
    for name in OUTPUTS:
        unwritten = int((outputs[name] == _POISON[dtype]).sum())
        if unwritten:
            return f"{name}: {unwritten} elements were not written"
        values = outputs[name][expected.dx_rows] if name == "dx" else outputs[name]
        error = float(abs(widen(values, dtype) - expected.outputs[name]).max())
        if not error <= expected.allowed[name]:
            return f"{name}: error {error:.3g} above the allowed {expected.allowed[name]:.3g}"
    return ""
