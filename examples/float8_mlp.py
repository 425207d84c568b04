# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An MLP with its norm and residual whose products, forward and backward, are in mxfp8.

    python examples/float8_mlp.py

runs it on the simulated gfx950 and compares the result and the gradients with PyTorch's in float32.
It ends with 1 if one is off by more than the rounding of float8.
"""

import sys

import torch

import lnbwd
from lnbwd.functional import (
    glu_backward_quantized,
    glu_quantized,
    quantize,
    rms_norm_backward_quantized,
    rms_norm_quantized,
)


def wide(q):
    """The values of data and scale."""
    return (q.data.float().unflatten(-1, (-1, 32)) * q.scale.float()[..., None]).flatten(-2)


def product(a, b):
    """A Bᵀ; on a card a product of block-scaled operands, with swizzled scales."""
    return (wide(a) @ wide(b).t()).bfloat16()


def relative_error(value, expected):
    """The norm of the difference over that of the expected value."""
    return float((value.float() - expected.float()).norm() / expected.float().norm())


class MLP(torch.autograd.Function):
    """x + (silu(h G) * (h U)) D, h being RMSNorm of x; every product is in mxfp8."""

    @staticmethod
    def forward(ctx, x, scale, g, u, d):
        """The MLP, with what the backward pass reads."""
        both = {"block": "mx", "columns": True}
        h, g, u, d = rms_norm_quantized(x, scale, **both), *(quantize(w, **both) for w in (g, u, d))
        gate, up = product(h, g.columns), product(h, u.columns)
        a = glu_quantized(gate, up, **both)
        ctx.kept = x, scale, h, g, u, d, gate, up, a
        return x + product(a, d.columns)

    @staticmethod
    def backward(ctx, dy):
        """The gradients of x, scale, G, U and D."""
        x, scale, h, g, u, d, gate, up, a = ctx.kept
        both = {"block": "mx", "columns": True, "dtype": torch.float8_e5m2}
        q = quantize(dy, **both)
        s = glu_backward_quantized(product(q, d), gate, up, **both)
        dh = product(s, g) + product(s.up, u)
        last = rms_norm_backward_quantized(dh, x, h.rstd, scale, grad_sum=dy)
        return (last.sum, last.weight, product(h.columns, s.columns),
                product(h.columns, s.up.columns), product(a.columns, q.columns))


def main() -> int:
    """Compares the MLP with PyTorch's in float32; 1 if they differ too much."""
    torch.manual_seed(0)
    x = torch.randn(128, 128).bfloat16().requires_grad_()
    scale = torch.ones(128, requires_grad=True)
    weights = [(torch.randn(n, k) / n ** 0.5).bfloat16().requires_grad_()
               for n, k in ((128, 256), (128, 256), (256, 128))]
    with lnbwd.simulate("gfx950"):
        y = MLP.apply(x, scale, *weights)
        found = torch.autograd.grad(y, (x, scale, *weights), torch.ones_like(y))

    h = torch.nn.functional.rms_norm(x.float(), (128,), scale, 1e-6)
    g, u, d = (w.float() for w in weights)
    exact = x + (torch.nn.functional.silu(h @ g) * (h @ u)) @ d
    wanted = torch.autograd.grad(exact, (x, scale, *weights), torch.ones_like(exact))
    errors = {"result": relative_error(y.detach(), exact.detach())}
    for name, a, b in zip(("x", "scale", "G", "U", "D"), found, wanted, strict=True):
        errors[f"gradient of {name}"] = relative_error(a, b)
    for name, error in errors.items():
        print(f"{name}: {error:.3f}")
    return int(max(errors.values()) > 0.1)


if __name__ == "__main__":
    sys.exit(main())
