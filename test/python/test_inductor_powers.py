# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Formulas of mxfp8 in PyTorch's operations, as torchao writes them, behind a norm in a graph."""

import functools

import pytest
import torch
from captured import run_captured

import lnbwd

SHIFTS = {torch.float8_e4m3fn: 8, torch.float8_e5m2: 15, torch.float8_e4m3fnuz: 7}


def rounded(values, shape, dtype):
    most = torch.finfo(dtype).max
    return values.clamp(-most, most).to(dtype).view(shape)


def by_inverse(y, dtype=torch.float8_e4m3fn, add=0):
    """The bits of the scale's reciprocal. A NaN and an infinity make a block NaN."""
    blocks = y.float().unflatten(-1, (-1, 32))
    amax = blocks.abs().amax(-1, keepdim=True)
    exponent = (torch.bitwise_right_shift(amax.view(torch.int32), 23) & 255) - 127 - SHIFTS[dtype]
    code = (exponent + add).clamp(-127, 128) + 127
    code = torch.where(amax.isfinite(), code.to(torch.uint8), 255)
    inverse = (254 - code.int()).to(torch.uint8)
    bits = torch.bitwise_left_shift(inverse.int(), 23)
    bits = torch.where(inverse == 0, 0x400000, bits)
    bits = torch.where(inverse == 255, 0x7F800001, bits)
    return code.view(torch.float8_e8m0fnu).squeeze(-1), rounded(
        blocks * bits.view(torch.float32), y.shape, dtype)


def by_quotient(y, dtype=torch.float8_e4m3fn, is_above=False):
    """What is divided by a scale of 2^-126 at least. Infinities have a scale; of a NaN it is
    infinite."""
    blocks = y.float().unflatten(-1, (-1, 32))
    amax = blocks.abs().amax(-1).unsqueeze(-1)
    bits = amax.view(torch.int32)
    exponent = ((bits >> 23) & 255) - 127
    if is_above:
        exponent = exponent + ((bits & 0x7FFFFF) > 0)
    code = ((exponent - SHIFTS[dtype]).clamp(-127, 128) + 127).to(torch.uint8)
    code = torch.where(amax.isnan(), 255, code)
    scale = torch.bitwise_left_shift(code.int(), 23).view(torch.float32).clamp(min=2.0 ** -126)
    return code.squeeze(-1), rounded(blocks / scale, y.shape, dtype)


def rows(count: int, length: int) -> torch.Tensor:
    """Blocks of all sizes, of zeros, subnormal and huge numbers, powers of two and their
    neighbours, NaN and infinity."""
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(count, length, generator=generator)
    exponents = torch.randint(-145, 120, (count, length // 32), generator=generator)
    x = (x.double().unflatten(-1, (-1, 32)) * 2.0 ** exponents[..., None].double()).flatten(1)
    x = x.float()
    below = 2.0 ** -118 * (1 - 2.0 ** -24)
    hard = torch.tensor([0, float("nan"), float("inf"), -float("inf"), 3e38, 2.0 ** -126, 1e-42,
                         -4.0, 1 + 2.0 ** -23, 2 - 2.0 ** -23, below, 2.0 ** -118])
    x[:len(hard), :32] = hard[:, None]
    x[:len(hard), 1:3] = torch.tensor([1e-45, 0])
    return x


@pytest.mark.parametrize("chip, quantise", [
    ("gfx950", by_inverse), ("gfx942", functools.partial(by_inverse, dtype=torch.float8_e5m2)),
    ("gfx1100", functools.partial(by_inverse, dtype=torch.float8_e4m3fnuz)),
    ("gfx1201", by_quotient), ("gfx950", functools.partial(by_quotient, is_above=True)),
    ("gfx942", functools.partial(by_quotient, dtype=torch.float8_e5m2, is_above=True))])
def test_powers_of_two_have_the_bits_of_their_formula(chip, quantise):
    def function(x):
        # No sum, whose order would change bits.
        return quantise(x * torch.where(x.abs().amax(-1, keepdim=True) > 1, 2.0, 1.0))

    x = rows(24, 256)
    with lnbwd.simulate(chip):
        found, captured = run_captured(function, x)
    targets = [str(node.target) for node in captured.graphs[0].nodes if node.op == "call_function"]
    assert targets.count("lnbwd._region.default") == 1 and "aten.amax.default" not in targets
    for value, wanted in zip(found, function(x), strict=True):
        assert value.dtype == wanted.dtype and value.shape == wanted.shape
        is_number = ~(value.float().isnan() & wanted.float().isnan())
        differs = value.view(torch.uint8) != wanted.view(torch.uint8)
        assert not (differs & is_number).any()


def test_powers_of_two_join_the_region_of_a_norm():
    def norm(x, residual, weight):
        total = x + residual
        y = torch.nn.functional.rms_norm(total, (256,), weight, 1e-5)
        return total, *by_inverse(y), *by_quotient(y)

    x, residual = (torch.randn(2, 6, 256, generator=torch.Generator().manual_seed(seed))
                   for seed in range(2))
    weight = torch.rand(256) + 0.5
    with lnbwd.simulate("gfx950"):
        found, captured = run_captured(norm, x, residual, weight)
    operations = {str(node.target) for node in captured.graphs[0].nodes
                  if node.op == "call_function" and node.users}
    assert operations <= {"lnbwd._region.default", "<built-in function getitem>",
                          "aten.view.dtype", "aten.reshape.default"}, operations
    for value, wanted in zip(found, norm(x, residual, weight), strict=True):
        assert value.dtype == wanted.dtype and value.shape == wanted.shape
        # Float32 sums in another order: the next number, at most, and of few.
        assert (value.view(torch.uint8) != wanted.view(torch.uint8)).float().mean() < 0.01


def test_other_exponents_are_left():
    """A power of two above the one that mxfp8 has: as right as before, outside of the region."""
    def function(x):
        return by_inverse(x * torch.where(x.abs().amax(-1, keepdim=True) > 1, 2.0, 1.0), add=3)

    x = rows(24, 256)
    with lnbwd.simulate("gfx950"):
        found, captured = run_captured(function, x)
    assert any(str(node.target) == "aten.bitwise_right_shift.Tensor_Scalar"
               for node in captured.graphs[0].nodes)
    for value, wanted in zip(found, function(x), strict=True):
        assert torch.equal(value.view(torch.uint8), wanted.view(torch.uint8))


def by_element(x):
    """Powers of two of numbers, not of blocks, beside a sum over the row."""
    amax = x.abs()
    code, _ = by_inverse(amax.unsqueeze(-1).expand(*x.shape, 32).flatten(-2))
    exponent = (torch.bitwise_right_shift(amax.view(torch.int32), 23) & 255) - 8
    exponent = torch.where(amax.isfinite(), exponent.clamp(min=0), 255)
    return code, exponent.to(torch.uint8), amax.amax(-1, keepdim=True) + amax


@pytest.mark.parametrize("function", [
    by_inverse, by_quotient, by_element, lambda x: by_inverse(x[:, :32] * x[:, 32:64])])
def test_powers_of_two_of_other_shapes(monkeypatch, function):
    """Blocks without a norm, which are rows themselves; numbers; rows of one block: right in
    whatever regions there are."""
    monkeypatch.setattr(lnbwd.inductor.graph_pass, "_is_worth", lambda _: True)
    x = rows(24, 256)
    with lnbwd.simulate("gfx950"):
        found, _ = run_captured(function, x)
    for value, wanted in zip(found, function(x), strict=True):
        is_number = ~(value.float().isnan() & wanted.float().isnan())
        bits = (torch.uint8, torch.int32)[value.element_size() == 4]
        assert not ((value.view(bits) != wanted.view(bits)) & is_number).any()
