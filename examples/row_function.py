# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An operation of one's own: the gated RMSNorm of a state-space model, as a Python function.

    python examples/row_function.py

runs its kernel and the gradient that the compiler derives, on a GPU or else on the simulator, and
compares both with PyTorch's autograd in float64. It ends with 1 if one is wrong.
"""

import contextlib
import sys

import torch

import lnbwd


@lnbwd.rowwise
def gated_rms_norm(x: lnbwd.Rows, z: lnbwd.Rows, gamma: lnbwd.Columns, eps: float = 1e-5):
    """x times silu(z), divided by the root of its mean square, times gamma."""
    h = x * torch.nn.functional.silu(z)
    return h * torch.rsqrt(h.square().mean(-1, keepdim=True) + eps) * gamma


def value_and_gradients(function, x, z, gamma, dy):
    """The result of a function and its gradients, for the gradient dy of the result."""
    leaves = [tensor.detach().requires_grad_() for tensor in (x, z, gamma)]
    y = function(*leaves)
    return [y.detach(), *torch.autograd.grad(y, leaves, dy.to(y.dtype))]


def main():
    """Both ways, and how far they are apart."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    batch, tokens, width = 2, 3, 256
    torch.manual_seed(0)
    x, z, dy = (torch.randn(batch, tokens, width, device=device).bfloat16() for _ in range(3))
    gamma = torch.randn(width, device=device)
    # On a CPU the machine code of an AMD GPU is executed by the simulator.
    with lnbwd.simulate() if device == "cpu" else contextlib.nullcontext():
        print(gated_rms_norm.mlir(x, z, gamma))
        got = value_and_gradients(gated_rms_norm, x, z, gamma, dy)
    # The attribute 'function' is the function as it was written.
    want = value_and_gradients(gated_rms_norm.function,
                               *(tensor.double() for tensor in (x, z, gamma)), dy)
    is_right = True
    for name, ours, exact in zip(("y", "dx", "dz", "dgamma"), got, want, strict=True):
        error = ((ours - exact).abs().max() / exact.abs().max()).item()
        allowed = 1e-6 if ours.dtype == torch.float32 else 2.0 ** -8
        is_right &= error <= allowed
        print(f"{name:6}  {ours.dtype!s:14}  relative error {error:.1e}, allowed {allowed:.1e}")
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
