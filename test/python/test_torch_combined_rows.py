# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Results of lnbwd.rowwise that combine rows, and operands of which a number is for all rows."""

import pytest
import torch
from row_cases import BF16, F32, N

import lnbwd
from lnbwd import Columns, Rows

pytestmark = pytest.mark.compiler


@pytest.mark.parametrize("leading", [(0,), (1,), (70,), (4, 9)])
@pytest.mark.parametrize("dtype", [F32, torch.bfloat16])
def test_what_combines_rows(device, leading, dtype):
    """As PyTorch has it, with the gradient that ties share; one that is detached has none."""
    @lnbwd.rowwise
    def combined(x: Rows, w: Columns):
        y, over = x * w, tuple(range(x.dim() - 1))
        return (x.sum(over), y.amax(over), y.amax(), x.detach().abs().amax(over),
                (x > 0).any(over), (x > -3).all(over), (x == 2).any(), (x < 2).all())

    generator = torch.Generator().manual_seed(len(leading))
    tensors = [torch.randint(low, 3, shape, generator=generator).to(device, dtype)
               for low, shape in ((-3, (*leading, N)), (1, (N,)))]
    if 0 in leading:
        assert [t.tolist()[0] for t in combined(*tensors)[4:6]] == [False, True]
        return
    found, expected = [], []
    for results, function in ((found, combined), (expected, combined.function)):
        given = [t.clone().requires_grad_() for t in tensors]
        results += function(*given)
        torch.autograd.backward(results[:3], [
            (torch.arange(t.numel()) % 5 - 2).to(t).view(t.shape) for t in results[:3]])
        results += [t.grad for t in given]
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5 if dtype == F32 else 0.02, atol=0.02)


@pytest.mark.parametrize("leading", [(5, 1), (1, 6), (7, 6), (3, 4, 5)])
@pytest.mark.parametrize("dtype", [F32, torch.bfloat16])
def test_what_combines_rows_along_the_first_dimensions(device, leading, dtype):
    @lnbwd.rowwise
    def combined(x: Rows, w: Columns):
        y, first = x * w, tuple(range(x.dim() - 2))
        return (y.sum(0), y.amax(first), y.sum((0, -1)), 2 * x, x.sum(-1, keepdim=True),
                torch.exp(y).amax((*first, -1)), (x > 1.5).any(0), y.sum((0, 1)))

    generator = torch.Generator().manual_seed(len(leading))
    tensors = [torch.randint(low, 3, shape, generator=generator).to(device, dtype)
               for low, shape in ((-3, (*leading, N)), (1, (N,)))]
    found, expected = [], []
    for results, function in ((found, combined), (expected, combined.function)):
        given = [t.clone().requires_grad_() for t in tensors]
        results += function(*given)
        used = [t for t in results if t.dtype != torch.bool]
        torch.autograd.backward(used, [
            (torch.arange(t.numel()) % 5 - 2).to(t).view(t.shape) for t in used])
        results += [t.grad for t in given]
    for one, other in zip(found, expected, strict=True):
        assert one.shape == other.shape
        torch.testing.assert_close(one, other, rtol=1e-5 if dtype == F32 else 0.02,
                                   atol=1e-4 if dtype == F32 else 0.1)


def test_a_maximum_that_another_program_may_round_otherwise(device):
    @lnbwd.rowwise
    def largest(x: Rows):
        y = torch.softmax(x, -1)
        return y.amax((0, 1)), y.log().amax()

    x = torch.randn(3, 4, N, generator=torch.Generator().manual_seed(5)).to(device)
    x[2], x[1, 2] = x[0], x[0, 0]  # So that maxima tie.
    given = x.clone().requires_grad_(), x.clone().requires_grad_()
    for leaf, function in zip(given, (largest, largest.function), strict=True):
        columns, total = function(leaf)
        (columns @ torch.arange(float(N), device=device) + total).backward()
    torch.testing.assert_close(given[0].grad, given[1].grad, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("dtype", [F32, BF16])
def test_results_of_all_rows(device, dtype):
    @lnbwd.rowwise
    def function(x: Rows, z: Rows):
        y = x * torch.rsqrt((x * x).mean(-1, keepdim=True)) + z
        return y, y.float().detach().abs().amax(), (y.float() * y).sum(), x.mean(-1).sum()

    @lnbwd.rowwise
    def alone(x: Rows):
        return x.sum()

    def plain(x, z):
        return function.function(x.float(), z.float())

    x, z = (torch.randn(3, 70, N, generator=torch.Generator().manual_seed(seed)).to(
        device, dtype).requires_grad_() for seed in range(2))
    function(x, z), alone(x)  # Which finds no kernel.
    got, want = function(x, z), plain(x, z)
    assert [g.shape for g in got] == [w.shape for w in want]
    for g, w in zip(got, want, strict=True):
        torch.testing.assert_close(g.float(), w, rtol=2e-2 if g.dtype == BF16 else 1e-4, atol=2e-2)
    assert alone(x).shape == ()
    gradients = [torch.autograd.grad((y.sum() + a * 1e-2 + b).float(), (x, z))
                 for y, _, a, b in (got, want)]
    torch.testing.assert_close(*gradients, rtol=2e-2, atol=1e-2)
    assert torch.autograd.grad(alone(x) * 3, x)[0].eq(3).all()


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_parts_of_one_number(device, shape):
    @lnbwd.rowwise
    def scaled(x: Rows, factor: lnbwd.Parts):
        return x * factor

    x = torch.randn(5, N, device=device, requires_grad=True)
    factor = torch.full(shape, 3.0, device=device)
    y = scaled(x, factor)
    assert torch.equal(y, x * 3)
    y.sum().backward()
    assert torch.equal(x.grad, torch.full_like(x, 3))
    for _ in range(2):  # The second time with the kernel at hand.
        gradient, = torch.autograd.grad(scaled(x, factor.requires_grad_()).sum(), factor)
        torch.testing.assert_close(gradient, x.detach().sum().view(shape), rtol=1e-4, atol=1e-4)
    apart = torch.ones(5, 1, N, device=device, requires_grad=True)
    with pytest.raises(lnbwd.LnbwdError, match="scaled: factor requires a gradient; expected"):
        scaled(x.detach().expand(5, 3, 5, N)[:, :, 0], apart).sum().backward()


@pytest.mark.parametrize("count", [1, 4, N])
def test_parts_of_no_rows(device, count):
    @lnbwd.rowwise
    def scaled(x: Rows, factors: lnbwd.Parts):
        return x * factors

    x = torch.empty(0, N, device=device, requires_grad=True)
    y = scaled(x, torch.ones(count, device=device))
    y.sum().backward()
    assert y.shape == x.grad.shape == (0, N)
