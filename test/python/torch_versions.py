# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What has to work with each version of PyTorch, in one small model.

Run as a program on a simulated chip it prints a line, and fails with the first thing that differs
from PyTorch: norms and their gradients, a patched model, a compiled one. Any warning is an error.
scripts/test-torch.sh runs it.
"""

import copy
import sys
import warnings

import torch
import torch.nn.functional as F
from training import TinyTransformer, batch, loss_of

import lnbwd
import lnbwd.inductor

warnings.simplefilter("error")
warnings.filterwarnings("ignore", category=DeprecationWarning)
warnings.filterwarnings("ignore", message=".*Profiler record function")


def gradients(model, run=None):
    """A step's loss and gradients."""
    model.zero_grad()
    loss = loss_of(model if run is None else run, *batch(0, 8, "cpu"))
    loss.backward()
    return [loss.detach(), *(p.grad for p in model.parameters())]


def near(what, got, want):
    """Holds tensors to PyTorch's own."""
    for place, (one, exact) in enumerate(zip(got, want, strict=True)):
        error = (one - exact).norm() / exact.norm()
        if not error < 1e-5:
            sys.exit(f"torch {torch.__version__}: {what}: tensor {place} is {error:.1e} off")


def main():
    """Everything."""
    model = TinyTransformer("layer_norm", torch.nn)
    want = gradients(copy.deepcopy(model))
    with lnbwd.simulate():
        x, weight = torch.randn(6, 64, requires_grad=True), torch.randn(64, requires_grad=True)
        for norm in ("layer_norm", "rms_norm"):
            near(norm, *(torch.autograd.grad(getattr(of, norm)(x, (64,), weight).exp().sum(),
                                             (x, weight)) for of in (lnbwd, F)))
        patched = copy.deepcopy(model)
        count = len(lnbwd.patch(patched).names)
        near("patched", gradients(patched), want)
        compiled = torch.compile(model, backend="lnbwd")
        near("compiled", gradients(model, compiled), want)
    decisions = lnbwd.inductor.decisions()
    taken = sum(one.taken for one in decisions)
    if not taken or not count:
        sys.exit(f"torch {torch.__version__}: expected patched norms and row programs, got "
                 f"{count} and {taken}")
    print(f"torch {torch.__version__}: norms, {count} patched ones, {taken} of {len(decisions)} "
          "fused nodes of a compiled model: right", flush=True)


if __name__ == "__main__":
    main()
