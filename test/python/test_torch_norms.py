# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Norms, sums and elementwise operations of compiled models, forward and backward."""

import pytest
import torch
import torch.nn.functional as F
from compiled import (
    BF16,
    Case,
    Table,
    as_list,
    assert_near,
    check,
    evaluate,
    leaf,
    normal,
    on_device,
    run,
    simulated,
)

import lnbwd.inductor

pytestmark = pytest.mark.compiler


def gated_norm(x, z, weight):
    stream = x + z
    return stream, F.rms_norm(stream, (64,), weight) * F.silu(z)


def gradient_of_a_norm(dy, x, gamma, mean, rstd):
    """As a forward pass saves mean and deviation."""
    xhat = (x - mean) * rstd
    wdy = dy * gamma
    dx = rstd * (wdy - wdy.mean(-1, True) - xhat * (wdy * xhat).mean(-1, True))
    return dx, (dy * xhat).sum([0, 1]), dy.sum([0, 1])


def divided(x, y):
    largest = x.amax(-1, keepdim=True)
    power = torch.exp(x - largest)
    z = torch.where(y > 0, power, -y) / power.sum(-1, keepdim=True)
    return torch.clamp(z, -1.0, 0.5), z.abs().sum(-1)


def gradient_of_gelu(dy, h):
    """With that of the bias in front of it."""
    inner = torch.tanh(0.8 * (h + 0.045 * h * h * h))
    slope = 0.5 * (1 + inner) + 0.5 * h * (1 - inner * inner) * 0.8 * (1 + 0.135 * h * h)
    gradient = dy * slope
    return gradient, gradient.sum((0, 1))


def scaled_by_numbers(x, scale, half):
    y = x * scale + half
    return y * torch.rsqrt(y.square().mean(-1, keepdim=True) + 1e-5)


def elementwise(x, y):
    """Operations that kernels have, of values near 1."""
    x, y = 1 + 0.1 * x, 1 + 0.1 * y
    return (x.exp() + x.log() - x.sqrt() * x.rsqrt() / y + torch.erf(x) * x.tanh() - x.sigmoid(),
            torch.addcmul(x, x, y, value=0.5) + x.sin() * y.cos() + x ** -1.3 + x.expm1(),
            torch.maximum(x, y) - torch.minimum(x, 1.1 * y).abs() + x.log1p().floor() + x.exp2(),
            F.gelu(x) + F.gelu(y, approximate="tanh") + F.silu(x) + F.relu(x - y) + F.softplus(y))


def sums_of_others(x, y):
    """Sums of rows and over rows, of what is read and of what is computed."""
    return ((x + 1).exp().sum((0, 1)), y.sum(-1), (x * y).sum(-1), x.amin(-1), y.amax((0, 1)),
            y.any(-1))


TABLE = Table({
    "layer norm": Case(lambda *t: F.layer_norm(t[0], (64,), *t[1:]), [
        leaf(2, 3, 64), leaf(64, seed=1), leaf(64, seed=2)]),
    "layer norm, bfloat16": Case(lambda *t: F.gelu(F.layer_norm(t[0], (100,), *t[1:])), [
        leaf(12, 100, dtype=BF16), leaf(100, seed=1, dtype=BF16), leaf(100, seed=2, dtype=BF16)]),
    "layer norm, float16, odd rows": Case(lambda x, w: F.layer_norm(x, (63,), w), [
        leaf(5, 63, dtype=torch.float16), leaf(63, seed=1, dtype=torch.float16)]),
    "RMSNorm of Gemma": Case(lambda x, w: F.rms_norm(x, (64,)) * (1.0 + w), [
        leaf(2, 1, 4, 64), leaf(64, seed=1)]),
    "gated norm": Case(gated_norm, [leaf(6, 64), leaf(6, 64, seed=1), leaf(64, seed=2)]),
    "gradient of a norm": Case(gradient_of_a_norm, [
        normal(2, 3, 64), normal(2, 3, 64, seed=1), normal(64, seed=2), normal(2, 3, 1, seed=3),
        normal(2, 3, 1, seed=4).abs()]),
    "several dimensions": Case(lambda *t: F.layer_norm(t[0], (4, 8, 8), *t[1:]), [
        leaf(5, 4, 8, 8), leaf(4, 8, 8, seed=1), leaf(4, 8, 8, seed=2)]),
    "variances far from 0": Case(lambda x: torch.var_mean(x + 100, -1), [normal(6, 64)]),
    "norm of all elements": Case(torch.linalg.vector_norm, [leaf(6, 32)]),
    "divided": Case(divided, [leaf(2, 3, 64), normal(2, 3, 64, seed=1)]),
    "gradient of GELU": Case(gradient_of_gelu, [normal(2, 8, 64), normal(2, 8, 64, seed=1)]),
    "gradient of a bias, bfloat16": Case(lambda dy: dy.float().sum(0), [
        normal(512, 40, dtype=BF16)]),
    "gradient of a bias": Case(lambda dy: dy.sum(0), [normal(513, 40)]),
    "numbers": Case(scaled_by_numbers, [
        leaf(6, 64), torch.tensor(3.5), torch.tensor(0.25, dtype=BF16)]),
    "elementwise": Case(elementwise, [leaf(6, 64), leaf(6, 64, seed=1)]),
    "sums of others": Case(sums_of_others, [normal(2, 3, 64), normal(2, 3, 64, seed=1)]),
    "sums of sums": Case(lambda x: x.mean(-1) * x.mean((0, 1))[None, :8].sum(-1, keepdim=True), [
        leaf(4, 8, 64)]),
    "places of NaN": Case(lambda x: (torch.where(x > 2, torch.nan, x).amax(-1),
                                     torch.where(x > 2, torch.nan, x).amax(0),
                                     torch.where(x > 2, torch.inf, x).sum(0)), [normal(32, 64)]),
})


@pytest.mark.parametrize("name", TABLE.cases)
def test_results(name):
    TABLE.check(name)


def test_all_nodes_are_taken():
    assert not TABLE.left()


def test_rows_may_be_a_symbol(fresh_inductor):
    """One graph and one program for all numbers of rows."""
    def function(x, w):
        y = F.rms_norm(x, (64,), w)
        return y, y.sum((0, 1))

    with simulated():
        compiled = torch.compile(function, backend="lnbwd", fullgraph=True)
        for rows in (5, 9, 17):
            x, w = on_device([normal(rows, 3, 64, seed=rows), normal(64)])
            torch._dynamo.mark_dynamic(x, 0)
            assert_near(compiled(x, w), Case(function, (x, w)))
    made = lnbwd.inductor.decisions(clear=True)
    assert made and all(one.taken for one in made)
    for program in (program for one in made for program in one.programs):
        assert program.rows is None and program.expected_rows
        assert type(program).from_text(program.text()) == program


def of_next_tokens(logits, tokens):
    return F.cross_entropy(logits[:, :-1].reshape(-1, 11), tokens[:, 1:].reshape(-1))


@pytest.mark.parametrize(("function", "operands"), [
    (lambda x: (x[1:] + x[:-1]).exp(), lambda n: [leaf(n)]),
    (of_next_tokens, lambda n: [leaf(2, n, 11), torch.arange(2 * n).view(2, n) % 11]),
    (lambda x: x.reshape(x.shape[0] // 2, -1, 16).exp(), lambda n: [leaf(n, 16)]),
    (lambda x: F.layer_norm(x, (16,)) + x.new_full((16,), x.shape[0] % 2), lambda n: [leaf(n, 16)]),
    (lambda x: x.mean(1), lambda n: [leaf(n, n + 1, n + 5)])],
    ids=["neighbours", "next tokens", "pairs", "odd", "middle"])
def test_sizes_that_a_symbol_does_not_multiply(function, operands, fresh_inductor):
    """Such as n - 1: no length of rows divides those of all n; others, such as n % 2, that are the
    same for some n; and strides of which either may be the larger one."""
    with simulated():
        compiled = torch.compile(function, backend="lnbwd", fullgraph=True, dynamic=True)
        for size in (6, 4, 10):
            given = on_device(operands(size))
            [results] = evaluate([function], [given], lambda x: [as_list(compiled(*x))])
            assert_near(results, Case(function, given))
    for made in lnbwd.inductor.decisions(clear=True):
        assert "an error" not in made.reason


def test_training_with_rows_that_are_a_symbol(fresh_inductor):
    """By dynamic=True, which makes symbols of all sizes but those of the norm."""
    check(lambda x, w: F.layer_norm(x, (64,), w), leaf(7, 64), leaf(64, seed=1), dynamic=True)


def test_what_is_between_products(fresh_inductor):
    """A sum that needs the product of what another one gives."""
    def function(x, w):
        y = x - x.mean(-1, keepdim=True)
        z = y @ w
        return y * z.sum(-1, keepdim=True), z

    found = check(function, normal(8, 64), normal(64, 64, seed=1))
    assert len(found.taken) == 2


def test_emulated_casts(fresh_inductor):
    """Values are rounded wherever the graph casts them: the bits are those of eager mode."""
    def function(x, h):
        return ((x + h) * 3 + 1, ((x * h).float() * h).bfloat16() + x)

    x, h = normal(8, 64, dtype=BF16), normal(8, 64, seed=1, dtype=BF16)
    with torch._inductor.config.patch(emulate_precision_casts=True):
        found = run(function, x, h)
    assert found.taken and not found.reasons
    assert all(map(torch.equal, found.results, function(*on_device([x, h]))))


def test_what_is_written_is_used_as_it_is_written(fresh_inductor):
    """Scores of attention in bfloat16, whose largest and sum go with those that are kept."""
    def function(x, h):
        scores = x * h
        most = scores.float().amax(-1, keepdim=True)
        return scores, most, (scores.float() - most).exp().sum(-1, keepdim=True)

    x, h = on_device([normal(2, 8, 64, dtype=BF16), normal(2, 8, 64, seed=1, dtype=BF16)])
    found = run(function, x, h)
    scores, most, total = function(x, h)
    assert found.taken and not found.reasons
    assert torch.equal(found.results[0], scores) and torch.equal(found.results[1], most)
    torch.testing.assert_close(found.results[2], total, rtol=1e-6, atol=0)


@pytest.mark.parametrize("dtype", [torch.float32, BF16])
def test_what_is_compared_with_its_largest_element(fresh_inductor, dtype):
    """The gradient divides by the number of elements that are equal to it: with other roundings,
    there might be none."""
    def function(x, gamma):
        y = (x * 1.5 * gamma + 1) * gamma
        centred = y - y.mean(-1, keepdim=True)
        return centred.amax(-1), centred.norm(torch.inf, 0)

    case = Case(function, [leaf(6, 64, dtype=dtype), leaf(64, seed=1, dtype=dtype)])
    found = run(*case[:1], *case.operands)
    assert found.taken
    [wanted] = evaluate([function], [on_device(case.operands)])
    for got, want in zip(found.results, wanted, strict=True):
        torch.testing.assert_close(got, want, rtol=0.02, atol=0.02 * want.abs().max().item())
