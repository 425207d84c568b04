# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gated RMSNorm as a function from Python, held against PyTorch's autograd in float64
and against the module that Mamba-2 has in transformers."""

import numpy as np
import pytest
import torch

import lnbwd

M, N, EPSILON = 5, 96, 1e-5


def inputs() -> dict[str, np.ndarray]:
    """Some gates are wide open or shut."""
    rng = np.random.default_rng(3)
    values = {name: rng.standard_normal((M, N)).astype(np.float32) for name in ("dy", "x", "z")}
    values["z"][:, ::7] *= 40
    values["gamma"] = (1 + 0.25 * rng.standard_normal(N)).astype(np.float32)
    return values


def forward(x: torch.Tensor, z: torch.Tensor, gamma: torch.Tensor) -> torch.Tensor:
    u = x * torch.nn.functional.silu(z)
    return torch.nn.functional.rms_norm(u, (N,), gamma, EPSILON)


@pytest.mark.parametrize("types", [("float32", "float32"), ("bfloat16", "float32"),
                                   ("float64", "float64")])
def test_the_function_agrees_with_autograd(types):
    given = {name: torch.tensor(value) for name, value in inputs().items()}
    x, z = (given[name].to(getattr(torch, kind)) for name, kind in zip("xz", types, strict=True))
    leaves = [t.requires_grad_() for t in (x, z, given["gamma"].to(z.dtype))]
    wide = [t.detach().double().requires_grad_() for t in leaves]
    with lnbwd.simulate("gfx942"):
        y = lnbwd.functional.gated_rms_norm(*leaves, EPSILON)
        ours = [y, *torch.autograd.grad(y, leaves, given["dy"].to(y.dtype))]
    exact = forward(*wide)
    exact = [exact, *torch.autograd.grad(exact, wide, given["dy"].to(y.dtype).double())]
    assert [t.dtype for t in ours] == [x.dtype, *(t.dtype for t in leaves)]
    for got, want in zip(ours, exact, strict=True):
        error = (got.double() - want).abs().max() / want.abs().max()
        assert error <= {torch.float64: 1e-12, torch.float32: 1e-6}.get(got.dtype, 5e-3)


def test_wrong_gates_are_named():
    with pytest.raises(ValueError, match=r"gate: expected the shape \[2, 8\] of input, got \[8\]"):
        lnbwd.functional.gated_rms_norm(torch.zeros(2, 8), torch.zeros(8))


def test_it_is_what_mamba_computes():
    modeling = pytest.importorskip("transformers.models.mamba2.modeling_mamba2")
    given = inputs()
    module = modeling.MambaRMSNormGated(N, group_size=N, eps=EPSILON)
    x, z, gamma = (torch.tensor(given[name]) for name in ("x", "z", "gamma"))
    with torch.no_grad():
        module.weight.copy_(gamma)
        theirs = module(x, z)
    torch.testing.assert_close(theirs.double(), forward(x.double(), z.double(), gamma.double()),
                               rtol=1e-5, atol=1e-6)
