# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An MLP with its norm and residual whose products, forward and backward, are in mxfp8.

    python examples/float8_mlp.py

runs it on a GPU, or without one on the simulated gfx950. Result and gradients are compared with
PyTorch's in float32, and what was quantised with the formula of mxfp8 in PyTorch's operations. It
ends with 1 if an error is larger than the rounding of float8, or a byte another than the formula's.
"""

import contextlib
import math
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


def formula(values, dtype):
    """Data and scales of values in mxfp8: each 32 have the largest power of two up to their largest
    magnitude over that up to the largest number."""
    most = torch.finfo(dtype).max
    blocks = values.float().unflatten(-1, (-1, 32))
    amax = blocks.abs().amax(-1, keepdim=True)
    exponent = (torch.frexp(amax)[1] - math.frexp(most)[1]).clamp(min=-127)
    power = (127 - exponent << 23).view(torch.float32)  # 2^-exponent, by its bits.
    data = (blocks * power).clamp(-most, most).to(dtype)
    return data.flatten(-2), (exponent.squeeze(-1) + 127).to(torch.uint8)


def different_bytes(q, values):
    """How many bytes of both layouts are other than the formula's of these values."""
    count = 0
    for found, along in ((q, values), (q.columns, values.t().contiguous())):
        for part, expected in zip((found.data, found.scale), formula(along, q.data.dtype),
                                  strict=True):
            count += int((part.view(torch.uint8) != expected.view(torch.uint8)).sum())
    return count


def main() -> int:
    """Compares the MLP with PyTorch's in float32, and its operands with the formula; 1 if they
    differ too much."""
    is_card = torch.cuda.is_available()
    device = "cuda" if is_card else "cpu"
    rows, n, k = (4096, 1024, 4096) if is_card else (128, 128, 256)
    torch.manual_seed(0)
    x = torch.randn(rows, n, device=device).bfloat16().requires_grad_()
    scale = torch.ones(n, device=device, requires_grad=True)
    weights = [(torch.randn(*shape, device=device) / shape[0] ** 0.5).bfloat16().requires_grad_()
               for shape in ((n, k), (n, k), (k, n))]
    both = {"block": "mx", "columns": True}
    with contextlib.nullcontext() if is_card else lnbwd.simulate("gfx950"):
        y = MLP.apply(x, scale, *weights)
        found = torch.autograd.grad(y, (x, scale, *weights), torch.ones_like(y))
        normed = rms_norm_quantized(x, scale, **both)
        kept, gradient = (quantize(x, dtype=dtype, **both)
                          for dtype in (torch.float8_e4m3fn, torch.float8_e5m2))

    h = torch.nn.functional.rms_norm(x.float(), (n,), scale, 1e-6)
    g, u, d = (w.float() for w in weights)
    exact = x + (torch.nn.functional.silu(h @ g) * (h @ u)) @ d
    wanted = torch.autograd.grad(exact, (x, scale, *weights), torch.ones_like(exact))
    errors = {"result": relative_error(y.detach(), exact.detach())}
    for name, a, b in zip(("x", "scale", "G", "U", "D"), found, wanted, strict=True):
        errors[f"gradient of {name}"] = relative_error(a, b)
    with torch.no_grad():
        bytes_of = {"RMSNorm in E4M3": different_bytes(normed, x.float() * normed.rstd * scale),
                    "x in E4M3": different_bytes(kept, x), "x in E5M2": different_bytes(
                        gradient, x)}

    print(f"{rows}x{n}x{k} on {torch.cuda.get_device_name() if is_card else 'gfx950, simulated'}")
    print("\nrelative error against float32")
    for name, error in errors.items():
        print(f"  {name:<18}{error:8.3f}")
    print("\nbytes other than the formula's, of both layouts")
    for name, count in bytes_of.items():
        print(f"  {name:<18}{count:8}")
    return int(max(errors.values()) > 0.1 or any(bytes_of.values()))


if __name__ == "__main__":
    sys.exit(main())
