# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""LayerNorm and RMSNorm of PyTorch tensors against torch.float64 autograd: shapes, strides, types,
missing parameters, and what others got wrong."""

import itertools
import os

import pytest
import torch
from cases import (
    LENGTHS,
    TYPES,
    Config,
    assert_close,
    check,
    covering,
    device_configs,
    forward,
    make_tensors,
    reference,
    sampled_configs,
    shown_by,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lnbwd

FULL = (True, True, True)
QUICK = settings(deadline=None, max_examples=25 if os.environ.get("LNBWD_TEST_FULL") else 8,
                 derandomize=True, database=None,
                 suppress_health_check=[HealthCheck.function_scoped_fixture])
plain = Config("layer_norm", 64, "f32", "f32", "f32", FULL)
both_ops = pytest.mark.parametrize("config", [
    plain, Config("rms_norm", 64, "f32", "f32", "", (True, True, False))], ids=str)


def sampled():
    """The configurations; with --full also those that show nothing that the others do not."""
    configs = sampled_configs()
    every_run = covering(configs)
    return [pytest.param(config, id=str(config),
                         marks=[] if config in every_run else [pytest.mark.full])
            for config in configs]


def test_the_sample_of_configurations_shows_what_all_do():
    configs = sampled_configs()
    chosen = covering(configs)
    assert set().union(*map(shown_by, chosen)) == set().union(*map(shown_by, configs))
    assert len(chosen) < len(configs)
    assert {config.n for config in chosen} == set(LENGTHS)


@pytest.mark.parametrize("config", sampled())
def test_against_float64_autograd(config, device):
    check(config, (5,), device)


@pytest.mark.gpu
@pytest.mark.parametrize("config", list(device_configs()), ids=str)
def test_long_rows_on_a_gpu(config, device):
    for rows in (1, 64, 1000):
        check(config, (rows,), device, factor=2)


@QUICK
@given(leading=st.lists(st.integers(0, 4), max_size=3), seed=st.integers(0, 1000),
       config=st.sampled_from([plain, Config("layer_norm", 33, "bf16", "f32", "f32", FULL),
                               Config("rms_norm", 100, "f16", "f16", "", (True, True, False))]))
def test_any_leading_dimensions(device, leading, seed, config):
    check(config, leading, device, seed=seed)


@QUICK
@given(data=st.data(), seed=st.integers(0, 1000))
def test_any_strides(device, data, seed):
    """Views of x and dy that are transposed, stepped, expanded or shifted."""
    n = 64
    generator = torch.Generator().manual_seed(seed)

    def view(name):
        kind = data.draw(st.sampled_from(["dense", "transposed", "stepped", "expanded", "shifted",
                                          "flipped"]), label=name)
        if kind == "transposed":
            return torch.randn(n, 6, generator=generator).to(device).t()
        if kind == "stepped":
            return torch.randn(12, 2 * n, generator=generator).to(device)[::2, ::2]
        if kind == "expanded":
            return torch.randn(1, n, generator=generator).to(device).expand(6, n)
        if kind == "shifted":  # Dense, at an address that is a multiple of 4 only.
            return torch.randn(6 * n + 1, generator=generator).to(device)[1:].view(6, n)
        if kind == "flipped":
            return torch.randn(6, n, generator=generator).to(device).flip(0)
        return torch.randn(6, n, generator=generator).to(device)

    x, dy = view("x").detach().requires_grad_(), view("dy")
    weight, bias = (torch.randn(2 * n, generator=generator).to(device)[::2].detach()
                    .requires_grad_() for _ in range(2))
    y = lnbwd.layer_norm(x, (n,), weight, bias)
    y.backward(dy)
    expected, grads = reference(plain, x, weight, bias, dy)
    assert_close(y, expected, "y")
    for name, tensor, grad in zip(("x", "weight", "bias"), (x, weight, bias), grads, strict=True):
        assert_close(tensor.grad, grad, name, floor=1.0)


@pytest.mark.parametrize("shape,normalized", [((2, 3, 4, 16), (4, 16)), ((5, 2, 4, 8), (2, 4, 8)),
                                              ((64,), (64,)), ((4, 16), (4, 16))])
def test_several_normalised_dimensions(device, shape, normalized):
    """pytorch#193016, #192016; the whole tensor may be one row."""
    torch.manual_seed(0)
    x = torch.randn(shape, device=device, requires_grad=True)
    weight, bias = (torch.randn(normalized, device=device, requires_grad=True) for _ in range(2))
    dy = torch.randn(shape, device=device)
    lnbwd.layer_norm(x, normalized, weight, bias).backward(dy)
    wide = [t.detach().double().cpu().requires_grad_() for t in (x, weight, bias)]
    torch.nn.functional.layer_norm(wide[0], normalized, *wide[1:]).backward(dy.double().cpu())
    for tensor, expected in zip((x, weight, bias), wide, strict=True):
        assert_close(tensor.grad, expected.grad, "gradient", floor=1.0)


def test_bias_without_weight(device):
    """The scale absent, the shift's gradient wanted (pytorch#192016)."""
    check(Config("layer_norm", 64, "f32", "", "f32", (True, False, True)), (3, 4), device)


@pytest.mark.parametrize("weight", ["bf16", "f32"])
def test_bf16_rows_with_float32_parameters(device, weight):
    """pytorch#195638"""
    config = Config("layer_norm", 192, "bf16", weight, "f32", FULL)
    check(config, (7,), device)


KINDS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
OPS = ("layer_norm", "rms_norm")


def mixes_of_types():
    """All of them; those that every run has are a quarter, with any two of the four options."""
    for place in itertools.product(range(len(KINDS)), range(len(KINDS)), range(2), range(2)):
        x_type, weight_type, autocast, op = place
        values = (KINDS[x_type], KINDS[weight_type], bool(autocast), OPS[op])
        is_sample = autocast == (x_type + weight_type) % 2 and op == (x_type + weight_type // 2) % 2
        yield pytest.param(*values, marks=[] if is_sample else [pytest.mark.full],
                           id="-".join(map(str, values)))


def test_the_sample_of_mixes_has_any_two_options():
    every = list(mixes_of_types())
    sample = [mix.values for mix in every if not mix.marks]
    for two in itertools.combinations(range(4), 2):
        assert {tuple(mix[i] for i in two) for mix in sample} == {
            tuple(mix.values[i] for i in two) for mix in every}


@pytest.mark.parametrize("x_type,weight_type,autocast,op", list(mixes_of_types()))
def test_every_mix_of_types(device, op, autocast, x_type, weight_type):
    """What torch takes, ours takes: the result's type is torch's, each gradient's its tensor's."""
    torch.manual_seed(0)
    x = torch.randn(5, 64).to(x_type).to(device).requires_grad_()
    weight = torch.randn(64).to(weight_type).to(device).requires_grad_()
    with torch.autocast(device.type, dtype=torch.bfloat16, enabled=autocast):
        y = getattr(lnbwd, op)(x, (64,), weight, eps=1e-5)
        try:
            theirs = getattr(torch.nn.functional, op)(x, (64,), weight, eps=1e-5)
        except RuntimeError:  # A mix that torch does not take.
            theirs = None
    dy = torch.randn(5, 64).to(y.dtype).to(device)
    y.backward(dy)
    if theirs is not None:
        assert y.dtype == theirs.dtype
    wide = [t.detach().double().cpu().requires_grad_() for t in (x, weight)]
    expected = getattr(torch.nn.functional, op)(wide[0], (64,), wide[1], eps=1e-5)
    expected.backward(dy.double().cpu())
    for tensor, grad, name in ((y, expected.detach(), "y"), (x.grad, wide[0].grad, "dx"),
                               (weight.grad, wide[1].grad, "dweight")):
        # Kernels keep float32 where a parameter alone is float64.
        kind = torch.float32 if tensor.dtype == torch.float64 else tensor.dtype
        assert_close(tensor.to(kind), grad, f"{name}", factor=2, floor=1.0)
    assert (x.grad.dtype, weight.grad.dtype) == (x_type, weight_type)


@pytest.mark.parametrize("rows", [0, 1, 2, 3, 63, 64, 65])
@both_ops
def test_row_counts(device, rows, config):
    """M = 0 too: gradients of the parameters are zero (FlagGems#5474)."""
    check(config, (rows,), device)


def test_an_empty_row(device):
    x = torch.zeros(3, 0, device=device, requires_grad=True)
    weight = torch.zeros(0, device=device, requires_grad=True)
    lnbwd.layer_norm(x, (0,), weight).sum().backward()
    assert x.grad.shape == (3, 0) and weight.grad.shape == (0,)


@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_short_rows(device, n):
    """N = 1: x never reaches the output, and dx is 0 but for a rounding (pytorch#188375)."""
    config = Config("layer_norm", n, "f32", "f32", "f32", FULL)
    x, weight, bias, dy = make_tensors(config, (9,), device)
    # With few elements a row may have next to no deviation, and dx is a difference of large terms.
    y = forward(config, x, weight, bias, eps=1e-2)
    y.backward(dy)
    if n == 1:
        assert float(x.grad.abs().max()) <= 2**-23 * float((dy * weight).detach().abs().max()) / 0.1
    _, grads = reference(config, x, weight, bias, dy, eps=1e-2)
    assert_close(x.grad, grads[0], "dx", floor=10.0)
    assert_close(weight.grad, grads[1], "dweight", floor=3.0)


def test_a_large_mean(device):
    """Odd N and a mean of 1000: padded lanes would be counted (Liger#519, pytorch#51102)."""
    config = Config("layer_norm", 257, "f32", "f32", "f32", FULL)
    x, weight, bias, dy = make_tensors(config, (4,), device, mean=1000.0)
    forward(config, x, weight, bias).backward(dy)
    _, grads = reference(config, x, weight, bias, dy)
    # x itself has but 2^-14 of absolute precision at 1000; the saved mean has the same.
    for tensor, grad in zip((x, weight, bias), grads, strict=True):
        assert_close(tensor.grad, grad, "gradient", factor=100, floor=1.0)


@pytest.mark.parametrize("scale", [1e30, 1e-30])
def test_values_near_the_ends_of_the_range(device, scale):
    """pytorch#178123: a row whose squares float32 does not hold is NaN, as PyTorch's kernel for the
    CPU has it; the formula, and PyTorch's kernels for GPUs, make zeros of it."""
    torch.manual_seed(0)
    x = (torch.randn(4, 64) * scale).to(device).requires_grad_()
    dy = torch.randn(4, 64).to(device)
    for norm in (lnbwd.layer_norm, lnbwd.rms_norm):
        ours = norm(x, (64,), eps=1e-5)
        (grad,) = torch.autograd.grad(ours, x, dy)
        centred = x if norm is lnbwd.rms_norm else x - x.mean(-1, keepdim=True)
        square = centred.square().mean(-1, keepdim=True)
        (expected,) = torch.autograd.grad(centred * torch.rsqrt(square + 1e-5), x, dy)
        holds = square.isfinite().expand_as(ours)
        assert bool(holds.all()) == (scale < 1)
        assert torch.equal(ours.isnan(), ~holds)
        assert torch.equal(grad.isnan(), ~holds)
        if bool(holds.all()):
            assert_close(grad, expected.double().cpu(), "dx", factor=20)


def test_a_zero_row(device):
    """burn#1992"""
    x = torch.randn(3, 64).to(device)
    x[1] = 0
    x.requires_grad_()
    weight = torch.randn(64).to(device).requires_grad_()
    for config in (Config("layer_norm", 64, "f32", "f32", "", (True, True, False)),
                   Config("rms_norm", 64, "f32", "f32", "", (True, True, False))):
        x.grad = weight.grad = None
        dy = torch.randn(3, 64).to(device)
        forward(config, x, weight, None).backward(dy)
        _, grads = reference(config, x, weight, None, dy)
        assert_close(x.grad, grads[0], "dx", factor=2)
        assert_close(weight.grad, grads[1], "dweight", floor=1.0)


def test_a_zero_weight(device):
    """gamma = 0 (apex#1715): dx is 0, dweight is not."""
    x = torch.randn(3, 64).to(device).requires_grad_()
    weight = torch.zeros(64).to(device).requires_grad_()
    lnbwd.layer_norm(x, (64,), weight).backward(torch.randn(3, 64).to(device))
    assert not x.grad.any() and weight.grad.any() and bool(weight.grad.isfinite().all())


def test_the_incoming_gradient_is_left_alone(device):
    """dx written over dy (Liger#1305)."""
    x = torch.randn(3, 64).to(device).requires_grad_()
    dy = torch.randn(3, 64).to(device)
    kept, kept_x = dy.clone(), x.detach().clone()
    lnbwd.layer_norm(x, (64,)).backward(dy)
    assert torch.equal(dy, kept) and torch.equal(x.detach(), kept_x)


def test_nothing_is_written_beyond_the_outputs(device):
    """Neighbours in one allocation keep their bits."""
    arena = torch.full((3 * 64 + 128,), 7.0, device=device)
    x = torch.randn(3, 64).to(device).requires_grad_()
    weight = torch.randn(64).to(device).requires_grad_()
    for _ in range(3):
        lnbwd.layer_norm(x, (64,), weight).sum().backward()
    assert bool((arena == 7.0).all())


@pytest.mark.parametrize("dtype", ["bf16", "f16"])
def test_sums_over_many_rows_are_kept_in_float32(device, dtype):
    """16-bit partial sums would lose all but the first rows (pytorch#140259, Liger#950)."""
    rows = 3000
    x = torch.randn(rows, 64).to(TYPES[dtype]).to(device).requires_grad_()
    bias = torch.zeros(64, dtype=TYPES[dtype], device=device, requires_grad=True)
    dy = torch.full((rows, 64), 0.5, dtype=TYPES[dtype], device=device)
    lnbwd.layer_norm(x, (64,), None, bias).backward(dy)
    assert bool((bias.grad == rows / 2).all())


def test_two_runs_give_the_same_bits(device):
    config = Config("layer_norm", 192, "f32", "f32", "f32", FULL)
    results = []
    for _ in range(2):
        x, weight, bias, dy = make_tensors(config, (300,), device)
        forward(config, x, weight, bias).backward(dy)
        results.append((x.grad, weight.grad, bias.grad))
    for first, second in zip(*results, strict=True):
        assert torch.equal(first, second)


@pytest.mark.parametrize("config, chip", [
    pytest.param(config, chip, marks=[pytest.mark.full] * ((number + place) % 2))
    for number, config in enumerate((
        Config("layer_norm", 256, "bf16", "bf16", "bf16", FULL),
        Config("rms_norm", 257, "f32", "f32", "", (True, True, False))))
    for place, chip in enumerate(("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"))], ids=str)
@pytest.mark.compiler
@pytest.mark.simulator
def test_every_simulated_chip(config, chip):
    """Waves of 64 and of 32 lanes (pytorch#183861, #183864)."""
    with lnbwd.simulate(chip):
        check(config, (9,), torch.device("cpu"))


def test_float64_is_computed_by_torch():
    """No kernel has float64; the values are torch's own, without a simulator or a GPU."""
    torch.manual_seed(0)
    x = torch.randn(3, 16, dtype=torch.float64, requires_grad=True)
    weight, bias = (torch.randn(16, dtype=torch.float64, requires_grad=True) for _ in range(2))
    dy = torch.randn(3, 16, dtype=torch.float64)
    ours = torch.autograd.grad(lnbwd.layer_norm(x, (16,), weight, bias), (x, weight, bias), dy)
    theirs = torch.autograd.grad(torch.nn.functional.layer_norm(x, (16,), weight, bias),
                                 (x, weight, bias), dy)
    for a, b in zip(ours, theirs, strict=True):
        assert torch.equal(a, b)


@pytest.mark.parametrize("config", [
    Config("layer_norm", 64, "f32", "f32", "f32", FULL),
    Config("layer_norm", 257, "bf16", "f32", "", (True, True, False)),
    Config("layer_norm", 100, "f16", "", "f16", (True, False, True)),
    Config("rms_norm", 192, "bf16", "bf16", "", (True, True, False)),
    Config("rms_norm", 33, "f32", "", "", (True, False, False))], ids=str)
def test_forward_passes_by_our_kernels_and_by_torch(device, config):
    """The output and the statistics by our kernels, which is the default, and by PyTorch's."""
    check(config, (2, 3), device)
    check(config, (0,), device)
    x, weight, bias, _ = make_tensors(config, (5,), device)
    op = getattr(torch.ops.lnbwd, config.op)
    arguments = (weight, bias) if config.op == "layer_norm" else (weight,)
    ours = op(x.detach(), [config.n], *arguments, 1e-3)
    wide = x.detach().double()
    theirs = [torch.rsqrt(wide.square().mean(-1) + 1e-3)] if config.op == "rms_norm" else (
        wide.mean(-1), torch.rsqrt(wide.var(-1, correction=0) + 1e-3))
    assert not torch.equal(ours[1], torch.zeros_like(ours[1]))
    for a, b in zip(ours[1:], theirs, strict=True):
        torch.testing.assert_close(a, b.float(), rtol=1e-5, atol=1e-6)


@pytest.mark.gpu
def test_more_than_2_to_the_31_elements(device):
    """pytorch#181555, #184826: dx is compared at both ends, dweight as a whole."""
    n, rows = 4096, (1 << 31) // 4096 + 3
    x = torch.randn(rows, n, dtype=torch.bfloat16, device=device).requires_grad_()
    weight, bias = (torch.randn(n, dtype=torch.bfloat16, device=device).requires_grad_()
                    for _ in range(2))
    dy = torch.randn(rows, n, dtype=torch.bfloat16, device=device)
    lnbwd.layer_norm(x, (n,), weight, bias).backward(dy)
    config = Config("layer_norm", n, "bf16", "bf16", "bf16", FULL)
    for part in (slice(0, 64), slice(rows - 64, rows)):
        _, grads = reference(config, x.detach()[part], weight, bias, dy[part])
        assert_close(x.grad[part], grads[0], "dx")
    total = torch.zeros(n, dtype=torch.float64, device=device)
    for block in dy.split(8192):
        total += block.double().sum(0)
    assert_close(bias.grad, total.cpu(), "dbias")
