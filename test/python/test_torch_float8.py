# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Float8 tensors in row functions and compiled graphs, against PyTorch's conversions after a
clamp."""

import functools
import importlib
import pathlib

import pytest
import torch
import torch._dynamo.testing
from cases import diagonal
from compiled import run

import lnbwd
import lnbwd.inductor
from lnbwd import compiler
from lnbwd.core.compile import store
from lnbwd.functional import quantized_calls, quantized_programs
from lnbwd.program.evaluation import evaluate
from lnbwd.program.mlir import mlir
from lnbwd.program.operands import ELEMENT_NAMES, TYPES, Input
from lnbwd.program.row_program import RowProgram

# A program without a kernel would be computed by PyTorch's operations, after a warning.
pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")

FORMATS = [torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz]


def same(actual: torch.Tensor, expected: torch.Tensor) -> bool:
    """Whether all bits are equal, but for those of NaN."""
    assert actual.dtype == expected.dtype and actual.shape == expected.shape
    are_nan = actual.float().isnan() & expected.float().isnan()
    return bool((are_nan | (actual.view(torch.uint8) == expected.view(torch.uint8))).all())


def narrow(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    most = torch.finfo(dtype).max
    return x.float().clamp(-most, most).to(dtype)


def rows() -> torch.Tensor:
    x = torch.randn(12, 96, generator=torch.Generator().manual_seed(1)) * 200
    x[0, :6] = torch.tensor([float("nan"), float("inf"), -float("inf"), 1e-9, -0.0, 448])
    return x


@lnbwd.rowwise
def scaled(x: lnbwd.Rows, scale: lnbwd.Scalars, format: str):
    return (x * scale).to(getattr(torch, format))


@lnbwd.rowwise
def widened(x: lnbwd.Rows, scale: lnbwd.Scalars):
    return x.float() * scale


@lnbwd.rowwise
def rounded(x: lnbwd.Rows, format: str):
    return x.to(getattr(torch, format)).float() - x


@pytest.mark.parametrize("chip, dtype", diagonal(["gfx1100", "gfx950", "gfx942"], FORMATS))
def test_row_functions_round_and_widen(chip, dtype):
    x, scale = rows(), torch.rand(12, 1)
    name = str(dtype).removeprefix("torch.")
    with lnbwd.simulate(chip):
        codes, residue = scaled(x, scale, name), rounded(x, name)
        wide = widened(codes, scale)
    assert same(codes, narrow(x * scale, dtype))
    torch.testing.assert_close(residue, narrow(x, dtype).float() - x, rtol=0, atol=0,
                               equal_nan=True)
    torch.testing.assert_close(wide, codes.float() * scale, rtol=0, atol=0, equal_nan=True)


def test_float8_is_of_rows():
    with lnbwd.simulate("gfx942"), pytest.raises(
            TypeError, match=r"scale: expected float16, bfloat16.*got torch\.float8_e4m3fn"):
        widened(rows(), torch.ones(12, 1).to(torch.float8_e4m3fn))


def scaled_rows(y: torch.Tensor):
    """As torchao: in float64, so that the factor is rounded once."""
    amax = y.abs().amax(-1, keepdim=True).to(torch.float64)
    factor = (448.0 / amax.clamp(min=1e-12)).to(torch.float32)
    return (y.float() * factor).clamp(-448.0, 448.0).to(torch.float8_e4m3fn), 1 / factor


def scaled_blocks(y: torch.Tensor, size: int = 128):
    blocks = y.float().unflatten(-1, (-1, size))
    factor = 448.0 / blocks.abs().amax(-1, keepdim=True).clamp(min=1e-12)
    data = (blocks * factor).clamp(-448.0, 448.0).to(torch.float8_e4m3fn)
    return data.view(y.shape), (1 / factor).squeeze(-1)


@lnbwd.rowwise
def blocks_of_rows(x: lnbwd.Rows, size: int):
    return scaled_blocks(x, size)


@pytest.mark.parametrize("chip, shape, size", [
    ("gfx942", (2, 5, 384), 128), ("gfx1201", (128, 256), 128), ("gfx942", (7, 96), 32)])
def test_row_functions_have_scales_of_blocks(chip, shape, size):
    x = made(*shape) * 100
    x.view(-1)[:32], x.view(-1)[-1] = 0, float("inf")
    with lnbwd.simulate(chip):
        data, scale = blocks_of_rows(x, size)
    wanted = scaled_blocks(x, size)
    assert same(data, wanted[0])
    assert scale.shape == wanted[1].shape and torch.equal(scale, wanted[1])


@lnbwd.rowwise
def normalised(x: lnbwd.Rows, scale: lnbwd.Parts, gamma: lnbwd.Columns):
    wide = x.float() * scale.float()
    return wide, wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-6) * gamma


@pytest.mark.parametrize("chip, shape, across, down, type", [
    ("gfx942", (2, 5, 384), 128, 1, "float32"), ("gfx950", (7, 96), 32, 1, "float8_e8m0fnu"),
    ("gfx950", (256, 384), 128, 128, "float32"), ("gfx942", (12, 64), 16, 1, "float8_e4m3fn")])
def test_row_functions_take_scales_of_blocks(chip, shape, across, down, type):
    """Of mxfp8 with powers of two from 2^-127 on and NaN, 1x128, 128x128; any number of rows."""
    data = (made(*shape) * 100).to(torch.float8_e4m3fn)
    scale = torch.rand(*shape[:-2], shape[-2] // down, shape[-1] // across) * 8
    scale = scale.to(getattr(torch, type))
    if type == "float8_e8m0fnu":
        scale.view(torch.uint8)[0] = torch.tensor([0, 120, 255])
    gamma = torch.rand(shape[-1])
    wide = data.float() * scale.float().repeat_interleave(across, -1).repeat_interleave(down, -2)
    with lnbwd.simulate(chip):
        for last in (shape[-2], shape[-2] - 1)[:2 if down == 1 else 1]:
            found, norm = normalised(data[..., :last, :].contiguous(),
                                     scale[..., :last, :].contiguous() if down == 1 else scale,
                                     gamma)
            part = wide[..., :last, :]
            torch.testing.assert_close(found, part, rtol=0, atol=0, equal_nan=True)
            torch.testing.assert_close(
                norm, torch.nn.functional.rms_norm(part, shape[-1:], gamma, 1e-6), rtol=1e-5,
                atol=1e-5, equal_nan=True)
        with pytest.raises(ValueError, match=r"scale: expected a shape that broadcasts.*blocks"):
            normalised(data, scale[..., :-1].contiguous() if scale.shape[-1] > 3 else
                       torch.ones(shape[-2] + 1, 3), gamma)
        bf16 = wide.nan_to_num().bfloat16().requires_grad_()
        normalised(bf16, scale, gamma)[0].sum().backward()
    wanted = scale.float().repeat_interleave(across, -1).repeat_interleave(down, -2).bfloat16()
    torch.testing.assert_close(bf16.grad, wanted, rtol=0, atol=0, equal_nan=True)


def test_scales_of_blocks_have_no_gradient():
    with lnbwd.simulate("gfx942"), pytest.raises(
            lnbwd.CompileError, match=r"'lnbwd.block_max' op cannot be differentiated"):
        blocks_of_rows(made(4, 256).requires_grad_(), 128)


@lnbwd.rowwise
def straight_through(x: lnbwd.Rows, gamma: lnbwd.Columns, has_blocks: bool):
    y = norm = torch.nn.functional.rms_norm(x, x.shape[-1:], gamma, 1e-6)
    if has_blocks:
        data, scale = scaled_blocks(norm, 32)
        y = (data.float().unflatten(-1, (-1, 32)) * scale.unsqueeze(-1)).view(norm.shape)
    else:
        y = (norm * 37).to(torch.float8_e4m3fn).float() / 37
    return norm + (y - norm).detach()


@pytest.mark.parametrize("has_blocks", [False, True])
def test_gradients_go_straight_through_rounding(has_blocks):
    x, gamma = made(12, 96).requires_grad_(), (torch.rand(96) + 0.5).requires_grad_()
    dy = made(12, 96)
    with lnbwd.simulate("gfx950"):
        y = straight_through(x, gamma, has_blocks)
        found = torch.autograd.grad(y, (x, gamma), dy)
    norm = torch.nn.functional.rms_norm(x, (96,), gamma, 1e-6)
    assert 1e-3 < (y - norm).abs().max() < 0.25
    torch.testing.assert_close(found, torch.autograd.grad(norm, (x, gamma), dy), rtol=1e-4,
                               atol=1e-4)


def scaled_tensor(y: torch.Tensor):
    return ((y.float() * torch.full((), 37.0)).clamp(-448.0, 448.0).to(torch.float8_e4m3fn),)


def scaled_rows_in_float32(y: torch.Tensor):
    factor = 448.0 / y.abs().amax(-1, keepdim=True).clamp(min=1e-12)
    return (y.float() * factor).clamp(-448.0, 448.0).to(torch.float8_e4m3fn), 1 / factor


def in_other_formats(y: torch.Tensor):
    return tuple(narrow(y * 100, dtype) for dtype in FORMATS)


# Factors in float64 and of blocks are Inductor's.
@pytest.mark.parametrize("quantise, shape, is_taken", [
    (scaled_rows_in_float32, (2, 48, 256), True), (scaled_tensor, (96, 256), True),
    (in_other_formats, (12, 96), True), (scaled_rows, (2, 48, 256), False),
    (scaled_blocks, (2, 48, 384), None)])
def test_quantisations_join_the_program_of_a_norm(fresh_inductor, quantise, shape, is_taken):
    def norm(x, residual, weight):
        total = x + residual
        return total, *quantise(torch.nn.functional.rms_norm(total, shape[-1:], weight, 1e-5))

    x, residual, weight = made(*shape), made(*shape, seed=1), made(shape[-1], seed=2)
    x[..., :4] *= 1e3
    x[..., 0, :] = 0
    residual[..., 0, :] = 0
    found = run(norm, x, residual, weight)
    assert is_taken is None or bool(found.reasons) != is_taken, found.reasons
    for result, wanted in zip(found.results, norm(x, residual, weight), strict=True):
        result = result.cpu()
        assert result.shape == wanted.shape and result.dtype == wanted.dtype
        # Float32 sums in another order: the next number, at most, and of few.
        assert ((result.float() - wanted.float()).abs() > 1e-6 * wanted.float().abs()).float().mean(
            ) < 0.01
        torch.testing.assert_close(result.float(), wanted.float(), rtol=0.13, atol=1e-6)


def test_compiled_graphs_read_float8(fresh_inductor):
    def widen(x, scale):
        wide = x.float() * scale
        return wide, wide - wide.mean(-1, keepdim=True)

    x, scale = narrow(rows()[1:], torch.float8_e4m3fn), made(11, 1)
    found = run(widen, x, scale)
    assert found.taken and not found.reasons
    for result, wanted in zip(found.results, widen(x, scale), strict=True):
        torch.testing.assert_close(result.cpu(), wanted, rtol=1e-5, atol=1e-3)


def reference(y: torch.Tensor, dtype: torch.dtype, factor: torch.Tensor | None):
    """torchao's formulas: the factor of a row, the values times it, clamped and rounded."""
    most = torch.finfo(dtype).max
    amax = y.abs().amax(-1, keepdim=True)
    if factor is None:
        # In float64, as torchao: PyTorch multiplies by a rounded reciprocal.
        factor = (most / amax.double().clamp(min=1e-12)).float()
    return narrow(y * factor, dtype), 1 / factor, amax.amax()


def check_quantized(result, y, dtype, factor):
    """That the result is y's but for a few values of which another order of sums makes the
    neighbour, and that it is made of its own scale exactly."""
    data, scale, amax = reference(y, dtype, factor)
    assert result.data.dtype == dtype and result.data.shape == y.shape
    assert (result.data.view(torch.uint8) != data.view(torch.uint8)).float().mean() < 0.01
    step = 2.0 ** -(2 if "e5m2" in str(dtype) else 3)
    torch.testing.assert_close(result.data.float(), data.float(), rtol=1.1 * step, atol=2e-3)
    if factor is None:
        torch.testing.assert_close(result.scale, scale, rtol=2e-6, atol=0)
        assert result.amax is None
    else:
        torch.testing.assert_close(result.amax, amax, rtol=2e-6, atol=0)
        assert result.scale is None


def made(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("chip, dtype, options", diagonal(
    ["gfx942", "gfx1100"], [torch.float8_e4m3fn, torch.float8_e5m2fnuz],
    [(None, False), (torch.tensor(37.0), True), (torch.tensor(37.0), False), (None, True)]))
def test_norms_are_quantised(chip, dtype, options):
    factor, has_all = options
    x = made(3, 5, 320).bfloat16()
    x[0, 0] = 0
    residual, weight, bias = ((made(3, 5, 320, seed=1).bfloat16(), made(320, seed=2) + 1,
                               made(320, seed=3)) if has_all else (None, None, None))
    total = x.float() if residual is None else x.float() + residual.float()
    with lnbwd.simulate(chip):
        rms = lnbwd.functional.rms_norm_quantized(x, weight, 1e-5, residual=residual, dtype=dtype,
                                                  factor=factor)
        layer = lnbwd.functional.layer_norm_quantized(x, weight, bias, residual=residual,
                                                      dtype=dtype, factor=factor)
    check_quantized(rms, torch.nn.functional.rms_norm(total, (320,), weight, 1e-5), dtype, factor)
    check_quantized(layer, torch.nn.functional.layer_norm(total, (320,), weight, bias), dtype,
                    factor)
    for result in (rms, layer):
        assert (result.sum is None) == (residual is None)
        if residual is not None:
            torch.testing.assert_close(result.sum, total.bfloat16(), rtol=0, atol=0)
    torch.testing.assert_close(layer.mean, total.mean(-1, keepdim=True), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype, factor", diagonal(
    [torch.float8_e4m3fnuz, torch.float8_e5m2], [None, torch.tensor(900.0)]))
def test_gradients_are_quantised(dtype, factor):
    x, dy, dsum = (made(6, 320, seed=seed).bfloat16() for seed in range(3))
    weight = (made(320, seed=4) + 1).requires_grad_()
    bias = torch.zeros(320, requires_grad=True)
    functional = lnbwd.functional
    with lnbwd.simulate("gfx942"):
        forward = functional.layer_norm_quantized(x, weight, bias)
        layer = functional.layer_norm_backward_quantized(
            dy, x, forward.mean, forward.rstd, weight, grad_sum=dsum, dtype=dtype, factor=factor)
        forward = functional.rms_norm_quantized(x, weight, 1e-5)
        rms = functional.rms_norm_backward_quantized(dy, x, forward.rstd, dtype=dtype,
                                                     factor=factor, has_sum=False)
    wide = x.float().requires_grad_()
    y = torch.nn.functional.layer_norm(wide, (320,), weight, bias)
    dx, dweight, dbias = torch.autograd.grad(y, (wide, weight, bias), dy.float())
    check_quantized(layer, dx + dsum.float(), dtype, factor)
    torch.testing.assert_close(layer.sum, (dx + dsum.float()).bfloat16(), rtol=8e-3, atol=1e-5)
    torch.testing.assert_close(layer.weight, dweight, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(layer.bias, dbias, rtol=1e-5, atol=1e-5)
    y = torch.nn.functional.rms_norm(wide, (320,), None, 1e-5)
    check_quantized(rms, torch.autograd.grad(y, wide, dy.float())[0], dtype, factor)
    assert rms.sum is None and rms.weight is None


def test_rows_of_nan_and_infinity():
    x = made(4, 64)
    x[0, 3], x[1, 5] = float("nan"), float("inf")
    with lnbwd.simulate("gfx1201"):
        result = lnbwd.functional.rms_norm_quantized(x)
    data, _, _ = reference(torch.nn.functional.rms_norm(x, (64,)), torch.float8_e4m3fn, None)
    assert same(result.data[:2], data[:2])
    assert result.data[2:].float().isfinite().all()


def mx_reference(y: torch.Tensor, dtype: torch.dtype, is_up: bool = False):
    """The OCP's MX formats, by integers: the scale is 2^(floor(log2 of the block's largest
    magnitude) - the exponent of the format's largest number), or the next power of two from the
    magnitude over the largest number on: torchao's FLOOR and RCEIL, which is TransformerEngine's
    formula too."""
    blocks = y.unflatten(-1, (-1, 32))
    amax = blocks.abs().amax(-1)
    most = torch.finfo(dtype).max
    if is_up:
        bits = (amax / most).view(torch.int32)
        # From 2^-127 on, a subnormal number.
        code = (bits >> 23) + (bits & 0x7FFFFF > torch.where(bits >> 23 > 0, 0, 0x400000)).int()
        code = torch.where(amax.isinf(), 254, torch.where(amax.isnan(), 255, code))
        inverse = torch.where(code == 254, 2.0 ** -127, (254 - code << 23).view(torch.float32))
        inverse = torch.where(code == 0, 1.0, torch.where(code == 255, torch.nan, inverse))
    else:
        target = {448.0: 8, 57344.0: 15, 240.0: 7}[most]
        code = ((amax.view(torch.int32) >> 23) & 255) - target
        code = torch.where(amax.isfinite(), code.clamp(min=0), 255)
        inverse = torch.where(code == 255, torch.nan, (254 - code << 23).view(torch.float32))
    data = (blocks * inverse[..., None]).clamp(-most, most).to(dtype)
    return data.flatten(-2), code.to(torch.uint8)


def quantize(x: torch.Tensor, dtype: str, block):
    """Rows as they are, quantised."""
    p = quantized_programs.Program(x.shape[-1], {"input": Input("row", "f32")})
    p.quantize(p.values["input"], dtype, block)
    text, _, _, names = p.made(1024)
    program = RowProgram.from_text(text)
    assert program == p.finish(None, 1024)[0]
    outputs = torch.ops.lnbwd._region([x], text)
    wanted = evaluate(program, [x])
    for output, value in zip(outputs, wanted, strict=True):
        assert same(output, value) if output.element_size() == 1 else torch.equal(output, value)
    return dict(zip(names, outputs, strict=True))


def block_rows(length: int) -> torch.Tensor:
    """Blocks of all sizes, of zeros, subnormal and huge numbers, NaN and infinity."""
    x = made(7, length)
    scales = 2.0 ** torch.randint(-150, 127, (7, length // 32),
                                  generator=torch.Generator().manual_seed(5)).double()
    x = (x.double().unflatten(-1, (-1, 32)) * scales[..., None]).flatten(1).float()
    # The last is rounded up if it is divided.
    for block, value in enumerate((0.0, 1e-42, 3e38, float("nan"), float("inf"), -2.0 ** -126,
                                   2.0 ** -118 * (1 - 2.0 ** -24))):
        x[block, :32] = 0
        x[block, 5] = value
        x[block, 7] = 1e-45
    return x


# Lanes of a wave, one wave and several to a row.
@pytest.mark.parametrize("block", ["mx", "mx-rceil"])
@pytest.mark.parametrize("chip, name, length", diagonal(
    ["gfx908", "gfx942", "gfx950", "gfx1100", "gfx1201"], ["f8E4M3FN", "f8E5M2", "f8E4M3FNUZ"],
    [64, 96, 512, 4128]))
def test_mx_scales_are_torchaos(chip, name, length, block):
    x = block_rows(length)
    # Over 448 or 57344: a power of two, and the numbers beside it.
    x[5, :32], x[6, :32] = 7.0, 0
    x[5, 3], x[6, :3] = 7.0 * (1 + 2.0 ** -22), 7.0 * (1 - 2.0 ** -24)
    dtype = TYPES[name]
    with lnbwd.simulate(chip):
        results = quantize(x, name, block)
    data, code = mx_reference(x, dtype, block == "mx-rceil")
    assert torch.equal(results["scale"].view(torch.uint8), code)
    assert same(results["data"], data)


@pytest.mark.parametrize("chip, length", diagonal(
    ["gfx908", "gfx942", "gfx950", "gfx1100", "gfx1201"], [256, 384, 4224]))
def test_scales_of_128_elements(chip, length):
    x = made(5, length) * 10
    x[0, :128] = 0
    with lnbwd.simulate(chip):
        results = quantize(x, "f8E4M3FN", 128)
    blocks = x.unflatten(-1, (-1, 128))
    data, scale, _ = reference(blocks, torch.float8_e4m3fn, None)
    assert same(results["data"], data.flatten(1))
    torch.testing.assert_close(results["scale"], scale[..., 0], rtol=0, atol=0)


@pytest.mark.parametrize("block", ["mx", 128])
def test_norms_have_scales_of_blocks(block):
    x, dy = made(4, 6, 256).bfloat16(), made(4, 6, 256, seed=1).bfloat16()
    weight = made(256, seed=2)
    functional = lnbwd.functional
    with lnbwd.simulate("gfx950"):
        rms = functional.rms_norm_quantized(x, weight, 1e-5, residual=dy, block=block)
        layer = functional.layer_norm_quantized(x, weight, block=block)
        gradient = functional.layer_norm_backward_quantized(
            dy, x, layer.mean, layer.rstd, weight, block=block)
    total = x.float() + dy.float()
    wide = x.float().requires_grad_()
    y = torch.nn.functional.layer_norm(wide, (256,), weight)
    for result, wanted, dtype in (
            (rms, torch.nn.functional.rms_norm(total, (256,), weight, 1e-5), torch.float8_e4m3fn),
            (layer, y.detach(), torch.float8_e4m3fn),
            (gradient, torch.autograd.grad(y, wide, dy.float())[0], torch.float8_e5m2)):
        size = 32 if block == "mx" else 128
        assert result.scale.shape == (4, 6, 256 // size)
        scale = result.scale.float()
        values = result.data.float().unflatten(-1, (-1, size)) * scale[..., None]
        step = 2.0 ** -(2 if dtype == torch.float8_e5m2 else 3)
        # A block whose largest is beyond the largest number times its power of two saturates.
        error = 0.13 if block == "mx" else 0.51 * step
        torch.testing.assert_close(values.flatten(-2), wanted, rtol=error,
                                   atol=1e-3 * float(wanted.abs().max()))


def swizzled(scale: torch.Tensor) -> torch.Tensor:
    """torchao's to_blocked, of whole tiles."""
    rows, columns = scale.shape
    blocks = scale.view(rows // 128, 128, columns // 4, 4).permute(0, 2, 1, 3)
    return blocks.reshape(-1, 4, 32, 4).transpose(1, 2).reshape(-1)


CHIPS = ["gfx942", "gfx950", "gfx1100", "gfx1201"]


@pytest.mark.parametrize("chip, dtype", diagonal(
    CHIPS, [torch.float8_e4m3fn, torch.float8_e5m2fnuz]))
def test_blocks_of_rows_are_transposed(chip, dtype):
    """Blocks down the columns, with hard numbers among them."""
    x = block_rows(192).t().contiguous()
    most = {torch.float8_e4m3fn: 448.0, torch.float8_e5m2fnuz: 57344.0}[dtype]
    with lnbwd.simulate(chip):
        mx = lnbwd.functional.quantize_columns(x, dtype=dtype)
        wide = lnbwd.functional.quantize_columns(made(256, 33), dtype=dtype, block=128)
    assert most == torch.finfo(dtype).max
    data, code = mx_reference(x.t().contiguous(), dtype)
    assert same(mx.data, data)
    assert torch.equal(mx.scale.view(torch.uint8), code)
    data, scale, _ = reference(made(256, 33).t().contiguous().unflatten(-1, (-1, 128)), dtype, None)
    assert same(wide.data, data.flatten(1))
    torch.testing.assert_close(wide.scale, scale[..., 0], rtol=0, atol=0)


# One tile and several of rows, and of scales along and down.
@pytest.mark.parametrize("chip, size, has_mean", diagonal(
    CHIPS, [(128, 256), (64, 96), (256, 512)], [False, True]))
def test_norms_are_quantised_both_ways(chip, size, has_mean):
    rows, length = size
    x, residual = made(rows, length).bfloat16(), made(rows, length, seed=1).bfloat16()
    weight, is_swizzled = made(length, seed=2), rows % 128 == 0
    norm = (lnbwd.functional.layer_norm_quantized if has_mean else
            lnbwd.functional.rms_norm_quantized)
    with lnbwd.simulate(chip):
        result = norm(x.view(2, -1, length), weight, residual=residual.view(2, -1, length),
                      block="mx", columns=True, swizzled=is_swizzled)
    y = x.float() + residual.float()
    if has_mean:
        y = y - result.mean.view(-1, 1)
    y = y * result.rstd.view(-1, 1) * weight
    for found, values in ((result, y), (result.columns, y.t().contiguous())):
        data, code = mx_reference(values, torch.float8_e4m3fn)
        assert same(found.data.flatten(0, -2), data)
        code = swizzled(code) if is_swizzled else code.view(found.scale.shape)
        assert torch.equal(found.scale.view(torch.uint8), code)


def hard_gradient(rows: int, length: int) -> torch.Tensor:
    """Values that saturate, infinities, NaN, zeros and subnormal ones, and in each block others
    whose scale is theirs alone."""
    x = made(rows, length, seed=3)
    scales = 2.0 ** torch.randint(-140, 120, (rows, length // 32),
                                  generator=torch.Generator().manual_seed(5)).double()
    x = (x.double().unflatten(-1, (-1, 32)) * scales[..., None]).flatten(1).float()
    x[:5, 1] = torch.tensor([float("nan"), float("inf"), -float("inf"), 3e38, -2.0 ** -126])
    x[5:40, :64] = 0
    return x


# Where dy is 0, what is quantised is the other gradient.
@pytest.mark.parametrize("chip, dtype, options", diagonal(
    CHIPS, [torch.float8_e5m2, torch.float8_e4m3fn, torch.float8_e4m3fnuz],
    [(128, True, False), (64, False, True), (256, True, True)]))
def test_gradients_are_quantised_both_ways(chip, dtype, options):
    rows, has_sum, has_mean = options
    dy, x = torch.zeros(rows, 256), made(rows, 256)
    dy[-32:] = made(32, 256, seed=1)
    other, weight, is_swizzled = hard_gradient(rows, 256), made(256, seed=2), rows % 128 == 0
    mean, rstd = x.mean(-1, keepdim=True), made(rows, 1, seed=4).abs()
    layout = {"block": "mx", "columns": True, "swizzled": is_swizzled}
    run = (functools.partial(lnbwd.functional.layer_norm_backward_quantized, dy, x, mean)
           if has_mean else functools.partial(lnbwd.functional.rms_norm_backward_quantized, dy, x))
    with lnbwd.simulate(chip):
        result, again = (run(rstd, weight, grad_sum=other, dtype=dtype, has_sum=wanted, **layout)
                         for wanted in (has_sum, True))
    xhat, weighted = (x - mean if has_mean else x) * rstd, dy * weight
    total = rstd * (weighted - xhat * (weighted * xhat).mean(-1, keepdim=True)
                    - (weighted.mean(-1, keepdim=True) if has_mean else 0)) + other
    torch.testing.assert_close(again.sum, total, rtol=1e-5, atol=1e-5, equal_nan=True)
    assert torch.equal(again.sum[:-32].nan_to_num(), other[:-32].nan_to_num())
    torch.testing.assert_close(result.weight, (dy * xhat).sum(0), rtol=1e-5, atol=1e-5)
    assert (result.sum is not None) == has_sum and (result.bias is not None) == has_mean
    for found, values in ((result, again.sum), (result.columns, again.sum.t().contiguous())):
        data, code = mx_reference(values, dtype)
        assert same(found.data, data)
        code = swizzled(code) if is_swizzled else code
        assert torch.equal(found.scale.view(torch.uint8), code)


def test_scales_of_gradients_are_swizzled():
    with lnbwd.simulate("gfx942"):
        result = lnbwd.functional.rms_norm_backward_quantized(
            made(128, 256), made(128, 256, seed=1), made(128, 1, seed=2).abs(), block="mx",
            swizzled=True)
    data, code = mx_reference(result.sum, torch.float8_e5m2)
    assert same(result.data, data)
    assert torch.equal(result.scale.view(torch.uint8), swizzled(code))





def gradient_of_gated(dy, gate, up, activation):
    gate, up = gate.float().requires_grad_(), up.float().requires_grad_()
    return torch.autograd.grad(activation(gate) * up, (gate, up), dy.float())


@pytest.mark.parametrize("chip, name, options", diagonal(
    ["gfx942", "gfx1100"], ["silu", "gelu"], [{}, {"factor": torch.tensor(30.0)}]))
def test_gated_units_are_quantised(chip, name, options):
    dy, gate, up = (made(2, 6, 320, seed=seed).bfloat16() for seed in range(3))
    activation = getattr(torch.nn.functional, name)
    with lnbwd.simulate(chip):
        forward = lnbwd.functional.glu_quantized(gate, up, name, **options)
        backward = lnbwd.functional.glu_backward_quantized(dy, gate, up, name, **options)
    factor = options.get("factor")
    check_quantized(forward, activation(gate.float()) * up.float(), torch.float8_e4m3fn, factor)
    for found, wanted in zip((backward, backward.up),
                             gradient_of_gated(dy, gate, up, activation), strict=True):
        check_quantized(found, wanted, torch.float8_e5m2, factor)


def test_schedules_are_searched_for(monkeypatch):
    """As those of norms: where it is asked for."""
    asked = []

    def tuned(self, spec, device, rows, groups, is_region):
        asked.append((rows, is_region))
        return store.Tuned(spec.schedule)

    monkeypatch.setattr(store.KernelStore, "tuned", tuned)
    with lnbwd.simulate("gfx942"):
        lnbwd.functional.quantize(made(7, 1056))
        lnbwd.functional.quantize(made(128, 1056), block="mx", columns=True)
    tiles = 128 * 1056 // (32 * 32)
    assert asked == [(64, False), (tiles, False)]


@pytest.mark.parametrize("is_swizzled, dtype", [(False, torch.bfloat16), (True, torch.float32)])
def test_gated_units_are_quantised_both_ways(is_swizzled, dtype):
    dy, gate, up = (made(128, 256, seed=seed).to(dtype) for seed in range(3))
    options = {"block": "mx", "columns": True, "swizzled": is_swizzled}
    with lnbwd.simulate("gfx950"):
        forward = lnbwd.functional.glu_quantized(gate, up, **options)
        backward = lnbwd.functional.glu_backward_quantized(dy, gate, up, **options)
    silu = torch.nn.functional.silu
    values = [(forward, silu(gate.float()) * up.float(), torch.float8_e4m3fn)]
    values += [(found, value, torch.float8_e5m2) for found, value in zip(
        (backward, backward.up), gradient_of_gated(dy, gate, up, silu), strict=True)]
    for result, value, dtype in values:
        for found, wanted in ((result, value), (result.columns, value.t().contiguous())):
            data, code = mx_reference(wanted, dtype)
            code = swizzled(code) if is_swizzled else code
            assert found.data.shape == data.shape and found.scale.shape == code.shape
            # Another exponential: a few neighbours, hardly a scale.
            assert (found.data.view(torch.uint8) != data.view(torch.uint8)).float().mean() < 0.01
            assert (found.scale.view(torch.uint8) != code).float().mean() < 0.01


@pytest.mark.parametrize("chip, dtype", diagonal(CHIPS, FORMATS))
def test_values_are_rounded_by_chance(chip, dtype):
    """To both neighbours, by the formula of torch on the same numbers; what is a number of the
    format stays it, and the mean is that of the values."""
    x = block_rows(512)
    x[6] = 1.1
    x[5] = narrow(made(512, seed=9), dtype).float()
    most = torch.finfo(dtype).max
    name = ELEMENT_NAMES[dtype]
    p = quantized_programs.Program(512, {
        "input": Input("row", "f32"), "seed": Input("number", "i64"),
        "factor": Input("number", "f32")})
    p.quantize(p.values["input"], name, None)
    text, _, _, names = p.made(1024)
    program = RowProgram.from_text(text)
    assert program == p.finish(None, 1024)[0]
    operands = [x, torch.tensor(7), torch.tensor(1.0)]
    with lnbwd.simulate(chip):
        data = dict(zip(names, torch.ops.lnbwd._region(operands, text), strict=True))["data"]
    wanted = dict(zip(names, evaluate(program, operands), strict=True))["data"]
    assert same(data, wanted)
    bits = x.clamp(-most, most).double()
    assert torch.equal(data[5].float(), x[5])
    found = data.float().double()
    numbers = ~x.isnan()
    # No farther than a step, and to the value's own neighbours.
    step = (found - bits).abs()
    exponent = torch.frexp(bits.abs().clamp(min=torch.finfo(dtype).smallest_normal))[1] - 1
    fraction = 2 if "e5m2" in str(dtype) else 3
    assert (step < torch.ldexp(torch.ones_like(bits), exponent - fraction))[numbers].all()
    ones = found[6, 32:]
    assert len(ones.unique()) == 2 and abs(float(ones.mean()) - 1.1) < 0.02


def test_norms_are_rounded_by_chance():
    x, seed = made(64, 64).bfloat16(), torch.tensor(11)
    with lnbwd.simulate("gfx942"):
        one, again, other, nearest = (
            lnbwd.functional.rms_norm_quantized(x, block="mx", columns=True, seed=of)
            for of in (seed, seed, torch.tensor(12), None))
        gradient = lnbwd.functional.rms_norm_backward_quantized(x, x, one.rstd, seed=seed)
    for of in (lambda result: result, lambda result: result.columns):
        assert same(of(one).data, of(again).data)
        differ = of(one).data.view(torch.uint8) != of(other).data.view(torch.uint8)
        assert 0.2 < differ.float().mean() < 0.8
        assert torch.equal(of(one).scale.view(torch.uint8), of(nearest).scale.view(torch.uint8))
    assert gradient.data.dtype == torch.float8_e5m2
    with lnbwd.simulate("gfx942"), pytest.raises(TypeError, match="seed: expected int64"):
        lnbwd.functional.rms_norm_quantized(x, seed=torch.tensor(1.0))


def test_tensors_are_quantised_both_ways():
    x = made(256, 384).bfloat16()
    with lnbwd.simulate("gfx1201"):
        mx, wide, late = (lnbwd.functional.quantize(x, **options) for options in (
            {"block": "mx", "columns": True, "swizzled": True}, {"block": 128, "columns": True},
            {"factor": torch.tensor(50.0)}))
    for found, of, values in ((mx, wide, x.float()),
                              (mx.columns, wide.columns, x.float().t().contiguous())):
        data, code = mx_reference(values, torch.float8_e4m3fn)
        assert same(found.data, data)
        assert torch.equal(found.scale.view(torch.uint8), swizzled(code))
        data, scale, _ = reference(values.unflatten(-1, (-1, 128)), torch.float8_e4m3fn, None)
        assert same(of.data, data.flatten(1)) and torch.equal(of.scale, scale[..., 0])
    assert same(late.data, narrow(x.float() * 50, torch.float8_e4m3fn))
    assert late.amax == x.abs().max() and late.columns is None


@pytest.mark.parametrize("chip, size", diagonal(
    CHIPS, [(128, 128), (256, 128), (128, 384), (256, 256)]))
def test_square_blocks_have_a_scale(chip, size):
    rows, length = size
    x = made(rows, length) * 20
    x[3, 5], x[-1, -1] = float("inf"), 1e-41
    x[:128, 128:256] = 0
    with lnbwd.simulate(chip):
        found = lnbwd.functional.quantize(x, block="128x128")
    blocks = x.view(rows // 128, 128, -1, 128).transpose(1, 2).flatten(2)
    data, scale, _ = reference(blocks, torch.float8_e4m3fn, None)
    data = data.view(torch.uint8).unflatten(2, (128, 128)).transpose(1, 2).reshape(rows, length)
    assert same(found.data, data.view(torch.float8_e4m3fn))
    torch.testing.assert_close(found.scale, scale[..., 0], rtol=0, atol=0)


def every_function(x, y, weight, mean, rstd):
    functional, both = lnbwd.functional, {"block": "mx", "columns": True, "swizzled": True}
    norm = functional.rms_norm_quantized(x * 2, weight, residual=y, **both)
    gradient = functional.layer_norm_backward_quantized(x, y, mean, rstd, weight, grad_sum=y,
                                                        **both)
    unit = functional.glu_backward_quantized(x, y, x, block=128)
    results = [norm, norm.columns, gradient, gradient.columns, unit, unit.up,
               functional.quantize(x, block="128x128"), functional.quantize_columns(y),
               functional.quantize(x, factor=rstd[0, 0])]
    return [value for result in results for value in result if isinstance(value, torch.Tensor)]


@pytest.mark.parametrize("backend", ["aot_eager", pytest.param(
    lnbwd.inductor.backend, marks=pytest.mark.full)])
def test_graphs_have_the_functions(backend):
    operands = (*(made(128, 256, seed=seed).bfloat16() for seed in range(2)),
                made(256).requires_grad_(), made(128, 1), made(128, 1, seed=1).abs())
    torch._dynamo.reset()
    with lnbwd.simulate("gfx942"):
        results = torch.compile(every_function, backend=backend, fullgraph=True)(*operands)
        wanted = every_function(*operands)
    for found, value in zip(results, wanted, strict=True):
        assert found.shape == value.shape and found.dtype == value.dtype
        assert torch.equal(found.reshape(-1).view(torch.uint8),
                           value.reshape(-1).view(torch.uint8))


@pytest.fixture
def example(monkeypatch):
    monkeypatch.syspath_prepend(pathlib.Path(__file__).parents[2] / "examples")
    return importlib.import_module("float8_mlp")


def test_the_example_is_right(example, capsys):
    assert example.main() == 0, capsys.readouterr().out
    counts = capsys.readouterr().out.partition("bytes other than the formula's")[2].split("\n")[1:]
    assert [line.split()[-1] for line in counts if line] == ["0", "0", "0"]


def test_the_example_shows_other_bytes(example):
    x = made(128, 128).bfloat16()
    with lnbwd.simulate("gfx950"):
        result = lnbwd.functional.quantize(x, block="mx", columns=True)
    assert example.different_bytes(result, x) == 0
    x[5, 7] *= -1
    assert example.different_bytes(result, x) == 2


@pytest.mark.full
def test_the_example_compiles(example):
    """A layer's own autograd.Function, forward and backward in one graph each."""
    mlp = example.MLP.apply
    operands = [made(128, 128).bfloat16(), torch.ones(128),
                *(made(*shape, seed=1).bfloat16() / 12
                  for shape in ((128, 256), (128, 256), (256, 128)))]
    operands = [operand.requires_grad_() for operand in operands]
    torch._dynamo.reset()
    with lnbwd.simulate("gfx950"):
        results = [torch.autograd.grad(y, operands, torch.ones_like(y)) for y in (
            mlp(*operands), torch.compile(lambda *all: mlp(*all), backend="aot_eager",
                                          fullgraph=True)(*operands))]
    assert all(map(torch.equal, *results))


def test_graphs_have_the_functions_for_any_rows():
    def norm(x):
        return lnbwd.functional.rms_norm_quantized(x + 1, block="mx")[:2]

    x = made(64, 128)
    torch._dynamo.reset()
    torch._dynamo.mark_dynamic(x, 0)
    counter = torch._dynamo.testing.CompileCounterWithBackend("aot_eager")
    with lnbwd.simulate("gfx942"):
        compiled = torch.compile(norm, backend=counter, fullgraph=True)
        for rows in (x, made(40, 128)):
            for found, value in zip(compiled(rows), norm(rows), strict=True):
                assert same(found, value)
    assert counter.frame_count == 1


def test_square_blocks_are_whole():
    with lnbwd.simulate("gfx942"), pytest.raises(ValueError, match="block='128x128': expected"):
        lnbwd.functional.quantize(made(130, 128), block="128x128")


NORM = {"x": made(128, 256).bfloat16(), "residual": made(128, 256, seed=1).bfloat16(),
        "weight": made(256), "bias": made(256)}
BOTH = {"block": "mx", "columns": True}
FLOAT4 = {"columns": True, "swizzled": True, "dtype": torch.float4_e2m1fn_x2}


# LayerNorm has the most operands, and the gradient of a gated unit the most results: what has fewer
# with the same options runs with --full.
@pytest.mark.parametrize("name, options", [
    ("layer", {"block": 128, "columns": True}), pytest.param("layer", BOTH, marks=pytest.mark.full),
    ("layer", {**BOTH, "swizzled": True}), ("layer", {**FLOAT4, "block": "mx"}),
    pytest.param("rms", {**BOTH, "swizzled": True}, marks=pytest.mark.full),
    ("glu_backward", {**BOTH, "swizzled": True}),
    ("glu_backward", {**FLOAT4, "block": "nv"}), ("layer_backward", {"block": "mx"}),
    ("layer_backward", {**BOTH, "swizzled": True}),
    ("dequantize", {**FLOAT4, "block": "nv", "swizzled": True})])
def test_kernels_compile_for_nvidia(monkeypatch, name, options):
    """What simulated chips do not show: each program has a schedule for registers of that size."""
    def compile_and_evaluate(tensors, text):
        program = RowProgram.from_text(text)
        assert compiler.compile_mlir(mlir(program), "sm_90", format="ptx").code
        return evaluate(program, tensors)

    monkeypatch.setattr(quantized_calls, "raw_region", compile_and_evaluate)
    functional, x, y = lnbwd.functional, NORM["x"], NORM["residual"]
    weight, bias, rstd = NORM["weight"], NORM["bias"], made(128, 1)
    run = {"layer": lambda: functional.layer_norm_quantized(x, weight, bias, residual=y, **options),
           "rms": lambda: functional.rms_norm_quantized(x, weight, residual=y, **options),
           "glu_backward": lambda: functional.glu_backward_quantized(x, y, y, **options),
           "dequantize": lambda: functional.dequantize(functional.quantize(x, **options)),
           "layer_backward": lambda: functional.layer_norm_backward_quantized(
               x, y, rstd, rstd, weight, grad_sum=y, **options)}[name]
    with lnbwd.simulate():
        run()
