# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors quantised to float4, mxfp4 and nvfp4, against the formulas of torchao and the nearest of
all numbers of the format."""

import itertools

import pytest
import torch
from cases import diagonal

import lnbwd

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")

CHIPS = ["gfx908", "gfx942", "gfx950", "gfx1100", "gfx1201"]
NUMBERS = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6])
FLOAT4 = torch.float4_e2m1fn_x2


def codes(values: torch.Tensor) -> torch.Tensor:
    """The nearest numbers' codes, of two the even one, in float64."""
    distance = (values.double().abs().clamp(max=6)[..., None] - NUMBERS.double()).abs()
    code = torch.where(distance == distance.amin(-1, True), torch.arange(8), 99)
    nearest = code.amin(-1)
    is_tie = (code < 99).sum(-1) == 2
    return nearest + (is_tie & (nearest % 2 == 1)) + 8 * values.signbit()


def packed(code: torch.Tensor) -> torch.Tensor:
    return (code[..., ::2] + 16 * code[..., 1::2]).to(torch.uint8)


def unpacked(data: torch.Tensor) -> torch.Tensor:
    data = data.view(torch.uint8).long()
    code = torch.stack((data & 15, data >> 4), -1).flatten(-2)
    return NUMBERS[code & 7] * torch.where(code > 7, -1.0, 1.0)


def reference(y: torch.Tensor, block: str, factor: float | None = None):
    """The bytes of the values and of the scales, as torchao has them: of "nv" those of a tensor
    whose scale is the factor's reciprocal."""
    blocks = y.float().unflatten(-1, (-1, {"mx": 32, "nv": 16}[block]))
    amax = blocks.abs().amax(-1)
    if block == "mx":
        code = (((amax.view(torch.int32) >> 23) & 255) - 2).clamp(min=0)
        scale = code.to(torch.uint8)
        inverse = (254 - code << 23).view(torch.float32)
    else:
        wide = amax / 6 * (1.0 if factor is None else factor)
        narrow = wide.clamp(2.0 ** -6, 448).to(torch.float8_e4m3fn)
        scale, inverse = narrow.view(torch.uint8), (factor or 1.0) / narrow.float()
    return packed(codes((blocks * inverse[..., None]).flatten(-2))), scale


def made(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def hard(length: int) -> torch.Tensor:
    """Ties and their neighbours, zeros of both signs, tiny and large blocks."""
    ties = torch.tensor([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5, 6])
    ties = torch.cat((ties, ties.nextafter(torch.tensor(9.0)), ties.nextafter(torch.tensor(0.0)),
                      -ties))
    x = made(6, length)
    x[0] = ties.repeat(length // 32)
    x[1, :32] = torch.tensor([0.0, -0.0]).repeat(16)
    x[2, :32] *= 1e-30
    x[3, :32] *= 1e4
    x[4, :32] = torch.tensor([448.0 * 6, -448 * 6, 1e9, -1e9]).repeat(8)
    return x


@pytest.mark.parametrize("chip, format, length", diagonal(
    CHIPS, [("mx", None), ("nv", None), ("nv", 8.0), ("nv", 0.3)], [64, 96, 4128]))
def test_values_are_torchaos(chip, format, length):
    (block, factor), x = format, hard(length)
    given = None if factor is None else torch.tensor(factor)
    with lnbwd.simulate(chip):
        result = lnbwd.functional.quantize(x, dtype=FLOAT4, block=block, factor=given)
    data, scale = reference(x, block, given and float(given))
    assert result.data.dtype == FLOAT4 and result.data.shape == (6, length // 2)
    assert torch.equal(result.scale.view(torch.uint8), scale)
    assert torch.equal(result.data.view(torch.uint8), data)
    assert result.amax is None if factor is None else result.amax == x.abs().max()


@pytest.mark.parametrize("block", ["mx", "nv"])
def test_blocks_of_nan_have_a_scale_of_nan(block):
    x = made(4, 64)
    x[1, 3], x[2, 40] = float("nan"), float("nan")
    with lnbwd.simulate("gfx942"):
        result = lnbwd.functional.quantize(x, dtype=FLOAT4, block=block)
    is_nan = result.scale.float().isnan()
    assert torch.equal(is_nan, x.unflatten(-1, (-1, x.shape[1] // is_nan.shape[1])).isnan().any(-1))
    rest = reference(x.nan_to_num(), block)[0]
    assert torch.equal(result.data.view(torch.uint8)[[0, 3]], rest[[0, 3]])


def swizzled(scale: torch.Tensor) -> torch.Tensor:
    """torchao's to_blocked, of whole tiles."""
    rows, columns = scale.shape
    blocks = scale.view(rows // 128, 128, columns // 4, 4).permute(0, 2, 1, 3)
    return blocks.reshape(-1, 4, 32, 4).transpose(1, 2).reshape(-1)


@pytest.mark.parametrize("chip, layout", diagonal(
    ["gfx942", "gfx1201"],
    list(itertools.product(["mx", "nv"], [(64, 96), (128, 128), (256, 384)]))))
def test_norms_are_quantised_both_ways(chip, layout):
    block, (rows, length) = layout
    x, weight = made(rows, length).bfloat16(), made(length, seed=2)
    is_swizzled = rows % 128 == 0
    with lnbwd.simulate(chip):
        result = lnbwd.functional.rms_norm_quantized(
            x, weight, dtype=FLOAT4, block=block, columns=True, swizzled=is_swizzled)
    y = x.float() * result.rstd * weight
    for found, values in ((result, y), (result.columns, y.t().contiguous())):
        data, scale = reference(values, block)
        scale = swizzled(scale) if is_swizzled else scale
        assert torch.equal(found.scale.view(torch.uint8), scale)
        assert torch.equal(found.data.view(torch.uint8), data)


def test_gradients_and_gated_units_are_quantised():
    gate, up, dy = (made(64, 128, seed=seed).bfloat16() for seed in range(3))
    options = {"dtype": FLOAT4, "block": "nv", "factor": torch.tensor(4.0)}
    with lnbwd.simulate("gfx950"):
        unit = lnbwd.functional.glu_quantized(gate, up, columns=True, **options)
        back = lnbwd.functional.glu_backward_quantized(dy, gate, up, **options)
        norm = lnbwd.functional.rms_norm_backward_quantized(dy, gate, torch.ones(64, 1), **options)
    wide = [t.float().requires_grad_() for t in (gate, up)]
    value = torch.nn.functional.silu(wide[0]) * wide[1]
    gradients = torch.autograd.grad(value, wide, dy.float())
    for result, wanted in ((unit, value), (unit.columns, value.t()), (back, gradients[0]),
                           (back.up, gradients[1]), (norm, norm.sum)):
        data, scale = reference(wanted.detach().contiguous(), "nv", 4.0)
        # Another exponential, or rounded to bfloat16 before, by up to 2^-9 of a value of up to four
        # steps: a few neighbours.
        assert (result.data.view(torch.uint8) != data).float().mean() < 0.05
        assert (result.scale.view(torch.uint8) != scale).float().mean() < 0.05
        step = result.scale.float().repeat_interleave(16, -1) / 4
        error = (unpacked(result.data) * step - wanted).abs()
        assert (error <= 0.26 * (wanted.abs() + step)).all()


@pytest.mark.parametrize("block", ["mx", "nv"])
def test_values_are_rounded_by_chance(block):
    x = made(8, 512, seed=3)
    with lnbwd.simulate("gfx942"):
        one, again, other = (lnbwd.functional.quantize(x, dtype=FLOAT4, block=block,
                                                       seed=torch.tensor(seed))
                             for seed in (5, 5, 6))
    scale = one.scale.float().repeat_interleave({"mx": 32, "nv": 16}[block], -1)
    found, wanted = unpacked(one.data), (x / scale).clamp(-6, 6)
    assert torch.equal(found, unpacked(again.data))
    assert 0.1 < (found != unpacked(other.data)).float().mean() < 0.9
    # No number of the format lies between: to a neighbour.
    low, high = torch.minimum(found, wanted)[..., None], torch.maximum(found, wanted)[..., None]
    numbers = torch.cat((NUMBERS, -NUMBERS))
    assert not ((low + 1e-5 < numbers) & (numbers + 1e-5 < high)).any()
    assert abs(float((found - wanted).mean())) < 0.02


FORMATS_READ = {"nvfp4": ("nv", FLOAT4), "mxfp4": ("mx", FLOAT4),
                "mxfp8": ("mx", torch.float8_e4m3fn), "rows": (None, torch.float8_e5m2),
                "128": (128, torch.float8_e4m3fn), "128x128": ("128x128", torch.float8_e4m3fn)}


def widened(q, is_swizzled: bool):
    """A quantised tensor by PyTorch: data times scales."""
    data = unpacked(q.data) if q.data.dtype == FLOAT4 else q.data.float()
    scale = q.scale
    if is_swizzled:  # Tiles of 128 rows and 4 blocks, 32 rows of 4 side by side.
        tiles = scale.view(torch.uint8).view(data.shape[0] // 128, -1, 32, 4, 4)
        scale = tiles.permute(0, 3, 2, 1, 4).reshape(data.shape[0], -1).view(scale.dtype)
    scale = scale.float()
    return data * scale.repeat_interleave(data.shape[-1] // scale.shape[-1], -1).repeat_interleave(
        data.shape[0] // scale.shape[0], 0)


@pytest.mark.parametrize("chip, format, is_swizzled", [
    ("gfx950", "nvfp4", False), ("gfx942", "nvfp4", True), ("gfx1100", "mxfp4", False),
    ("gfx950", "mxfp8", True), ("gfx942", "mxfp8", False), ("gfx950", "rows", False),
    ("gfx950", "128", False), ("gfx942", "128x128", False)])
def test_quantised_operands_are_widened(chip, format, is_swizzled):
    block, dtype = FORMATS_READ[format]
    x, weight = made(256 if format == "128x128" else 128, 256) * 3, made(256, seed=1)
    x[0, :16], x[1] = 0, -x[1] * 1e-30
    with lnbwd.simulate(chip):
        q = lnbwd.functional.quantize(x, dtype=dtype, block=block, swizzled=is_swizzled)
        if q.data.dtype == FLOAT4:  # All codes in both halves.
            q.data.view(torch.uint8)[0] = torch.arange(128)
            q.data.view(torch.uint8)[1] = torch.arange(128, 256)
        wanted = widened(q, is_swizzled)
        if format == "rows":  # One row without a dimension of rows.
            assert torch.equal(lnbwd.functional.dequantize(
                lnbwd.functional.Quantized(q.data[2], q.scale[2])), wanted[2].bfloat16())
        for to in (torch.float32, torch.bfloat16):
            found = lnbwd.functional.dequantize(q, to)
            assert found.shape == x.shape and torch.equal(found, wanted.to(to))
            assert torch.equal(found.signbit(), wanted.signbit())
        graph = torch.compile(lambda data, scale: lnbwd.functional.dequantize(
            lnbwd.functional.Quantized(data, scale)), backend="eager", fullgraph=True)
        assert torch.equal(graph(q.data, q.scale), wanted.bfloat16())
        norm = lnbwd.functional.rms_norm_quantized(q, weight, dtype=torch.float8_e4m3fn)
        again = lnbwd.functional.rms_norm_quantized(wanted, weight, dtype=torch.float8_e4m3fn)
        # Sums over the row may be in another order.
        torch.testing.assert_close(norm.scale, again.scale, rtol=1e-6, atol=0)
        assert (norm.data.float() != again.data.float()).float().mean() < 0.01
        gated = lnbwd.functional.glu_quantized(q, wanted, block="mx")
        by_hand = lnbwd.functional.glu_quantized(wanted, wanted, block="mx")
        assert torch.equal(gated.data.float(), by_hand.data.float())
        for both, of in ((lnbwd.functional.quantize(q, block="mx", columns=True),
                          lnbwd.functional.quantize(wanted, block="mx", columns=True)),
                         (lnbwd.functional.rms_norm_quantized(q, block=128, columns=True),
                          lnbwd.functional.rms_norm_quantized(wanted, block=128, columns=True))):
            differ = both.columns.data.float() != of.columns.data.float()
            assert differ.float().mean() < (0.01 if both.rstd is not None else 1e-9)
            torch.testing.assert_close(both.columns.scale.float(), of.columns.scale.float(),
                                       rtol=1e-6, atol=0)
    # By PyTorch, without a chip.
    assert torch.equal(lnbwd.functional.dequantize(q), wanted.bfloat16())


def test_quantised_operands_that_do_not_fit_are_named():
    with lnbwd.simulate("gfx942"):
        q = lnbwd.functional.quantize(made(4, 64), dtype=FLOAT4, block="nv")
        with pytest.raises(ValueError, match=r"input.scale: expected f8E4M3FN .*got \[4, 3\]"):
            lnbwd.functional.dequantize(q._replace(scale=q.scale[:, :3].contiguous()))
        with pytest.raises(ValueError, match="input: expected a Quantized with a scale, got None"):
            lnbwd.functional.rms_norm_quantized(q._replace(scale=None))
