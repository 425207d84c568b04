# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""lnbwd.batch_invariant: the same bits of a row whatever the batch, by every road to a kernel."""

import pytest
import torch

import lnbwd
import lnbwd.inductor
from lnbwd.core.base.errors import LnbwdError
from lnbwd.core.base.settings import is_batch_invariant

N, ROWS = 96, 512  # Two leaves of a sum over rows.


@pytest.fixture
def invariant():
    with lnbwd.batch_invariant():
        yield


@lnbwd.rowwise
def normalised(x: lnbwd.Rows, gamma: lnbwd.Columns):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-5) * gamma


def layer_norm(x, gamma):
    return lnbwd.layer_norm(x, (x.shape[-1],), gamma)


def gradients(function, x, gamma, dy):
    """y, dx and dgamma of some rows."""
    x, gamma = x.clone().requires_grad_(), gamma.clone().requires_grad_()
    y = function(x, gamma)
    return (y.detach(), *torch.autograd.grad(y, (x, gamma), dy))


@pytest.fixture
def tensors(device):
    generator = torch.Generator().manual_seed(3)
    x, dy = (torch.randn(ROWS, N, generator=generator).to(device) for _ in range(2))
    return x, torch.randn(N, generator=generator).to(device), dy


@pytest.mark.parametrize("function", [layer_norm, normalised], ids=["operator", "row-function"])
def test_a_batch_in_two_parts_has_the_bits_of_the_whole(function, tensors, invariant):
    x, gamma, dy = tensors
    y, dx, dgamma = gradients(function, x, gamma, dy)
    half = ROWS // 2
    parts = [gradients(function, x[rows], gamma, dy[rows])
             for rows in (slice(half), slice(half, None))]
    assert torch.equal(torch.cat([part[0] for part in parts]), y)
    assert torch.equal(torch.cat([part[1] for part in parts]), dx)
    assert torch.equal(parts[0][2] + parts[1][2], dgamma)


def test_rows_do_not_depend_on_how_many_there_are(tensors, invariant):
    x, gamma, _ = tensors
    y = layer_norm(x, gamma)
    for rows in (1, 7, 200):
        assert torch.equal(layer_norm(x[:rows], gamma), y[:rows])


def test_both_orders_can_be_used_in_turn(tensors):
    x, gamma, dy = tensors
    plain = gradients(layer_norm, x, gamma, dy)
    with lnbwd.batch_invariant():
        canonical = gradients(layer_norm, x, gamma, dy)
    for got, expected in zip(canonical, plain, strict=True):
        torch.testing.assert_close(got, expected)
    assert not torch.equal(canonical[2], plain[2])  # Of 512 rows the orders show.
    for got, expected in zip(gradients(layer_norm, x, gamma, dy), plain, strict=True):
        assert torch.equal(got, expected)


def test_compiled_graphs_obey(tensors, invariant):
    x, gamma, dy = tensors

    def step(x, gamma, dy):
        rstd = torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-5)
        return x * rstd * gamma, (dy * x * rstd).sum(0)

    torch._dynamo.reset()
    lnbwd.inductor.decisions(clear=True)
    compiled = torch.compile(step, backend="lnbwd", dynamic=False)
    y, total = compiled(x, gamma, dy)
    assert {d.taken for d in lnbwd.inductor.decisions()} == {True}
    half = ROWS // 2
    (y0, first), (y1, second) = (compiled(x[rows], gamma, dy[rows])
                                 for rows in (slice(half), slice(half, None)))
    assert torch.equal(torch.cat([y0, y1]), y)
    assert torch.equal(first + second, total)


def test_a_single_sum_is_taken_too(tensors, invariant):
    x, _, _ = tensors
    torch._dynamo.reset()
    lnbwd.inductor.decisions(clear=True)
    torch.compile(lambda x: x.sum(0), backend="lnbwd")(x.repeat(2, 1))
    assert [d.taken for d in lnbwd.inductor.decisions()] == [True]


def test_the_switch(monkeypatch):
    assert not is_batch_invariant()
    with lnbwd.batch_invariant():
        assert is_batch_invariant()
        with lnbwd.batch_invariant(False):
            assert not is_batch_invariant()
        assert is_batch_invariant()
    assert not is_batch_invariant()
    monkeypatch.setenv("LNBWD_BATCH_INVARIANT", "1")
    assert is_batch_invariant()
    monkeypatch.setenv("LNBWD_BATCH_INVARIANT", "yes")
    with pytest.raises(LnbwdError, match=r"LNBWD_BATCH_INVARIANT: expected '0' or '1', got 'yes'"):
        is_batch_invariant()
    with pytest.raises(TypeError, match="mode: expected True or False, got 1"):
        lnbwd.batch_invariant(1)


def test_machine_code_ahead_of_time_obeys():
    plain = lnbwd.compile("rms_norm", n=256, chip="gfx942")
    with lnbwd.batch_invariant():
        canonical = lnbwd.compile("rms_norm", n=256, chip="gfx942")
    assert (plain.spec.order, canonical.spec.order) == ("", "canonical")
    assert plain.code != canonical.code


def test_a_norm_with_a_linear_layer_is_refused(device, invariant):
    x = torch.randn(8, 64, device=device)
    with pytest.raises(LnbwdError, match="a product of matrices has no canonical order"):
        lnbwd.layer_norm_linear(x, (64,), None, None, torch.randn(32, 64, device=device))
