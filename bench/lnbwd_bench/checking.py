# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether a competitor's gradients are right: against float64, and twice the same bits.

The allowed errors are those of lnbwd-run (docs/numerics.md): one rounding of the output type and
a little for the arithmetic before it, measured against the largest value of the output, with a
floor for results that are small differences of large terms.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

OUTPUTS = ("dx", "dgamma", "dbeta")
_ROUNDING = 2.0 ** -24
_ALLOWED = {"bf16": (4e-3, 4e-3), "f16": (6e-4, 6e-4), "f32": (5e-7, 1e-6)}


@dataclass
class Reference:
    """The gradients in float64, and the errors that are allowed, absolute."""

    outputs: dict[str, torch.Tensor]
    largest: dict[str, float]
    allowed: dict[str, float]


def reference(inputs: dict[str, torch.Tensor], dtype: str) -> Reference:
    """The formula in float64, from the very numbers that the kernels are given."""
    dy, x, gamma = (inputs[name].double() for name in ("dy", "x", "gamma"))
    mean, rstd = (inputs[name].double().unsqueeze(1) for name in ("mean", "rstd"))
    xhat = (x - mean) * rstd
    del x
    wdy = dy * gamma
    c1 = (wdy * xhat).mean(1, keepdim=True)
    c2 = wdy.mean(1, keepdim=True)
    outputs = {"dx": rstd * (wdy - xhat * c1 - c2), "dgamma": (dy * xhat).sum(0),
               "dbeta": dy.sum(0)}
    sizes = {"dx": float((rstd * (wdy.abs() + (xhat * c1).abs() + c2.abs())).max()),
             "dgamma": float((dy * xhat).square().sum(0).max().sqrt()),
             "dbeta": float(dy.square().sum(0).max().sqrt())}
    largest = {name: float(value.abs().max()) for name, value in outputs.items()}
    allowed = {}
    for name in OUTPUTS:
        is_row = name == "dx"
        share = _ALLOWED[dtype][0 if is_row else 1]
        allowed[name] = max(share * largest[name], (4 if is_row else 8) * _ROUNDING * sizes[name])
    return Reference(outputs, largest, allowed)


def same_bits(first: torch.Tensor, second: torch.Tensor) -> bool:
    """Whether two tensors hold the same bits, NaNs included."""
    kind = torch.int16 if first.element_size() == 2 else torch.int32
    return torch.equal(first.contiguous().view(kind), second.contiguous().view(kind))


# A peer whose error is this many times the allowed one is wrong; below, only less precise.
PEER_SLACK = 16.0


def compare(outputs: dict[str, torch.Tensor], again: dict[str, torch.Tensor],
            expected: Reference, slack: float = 1.0) -> dict[str, Any]:
    """What the result file says about a competitor's numbers.

    Args:
        outputs: the gradients of one run.
        again: those of a second one, after another poison.
        expected: the reference.
        slack: how many times the allowed error still counts as right.
    """
    errors: dict[str, float | None] = {}
    complaints = []
    for name in OUTPUTS:
        value = outputs[name].reshape(expected.outputs[name].shape)
        if not bool(torch.isfinite(value).all()):
            errors[name] = None
            complaints.append(f"{name} has elements that are not finite or not written")
            continue
        error = float((value.double() - expected.outputs[name]).abs().max())
        errors[name] = error / expected.largest[name] if expected.largest[name] else error
        if error > slack * expected.allowed[name]:
            complaints.append(f"{name}: error {error:.3g} above the allowed "
                              f"{slack * expected.allowed[name]:.3g}")
    repeatable = all(same_bits(outputs[name], again[name]) for name in OUTPUTS)
    return {"errors": errors, "repeatable": repeatable, "valid": not complaints,
            "complaints": complaints}
