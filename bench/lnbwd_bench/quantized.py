# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions that write float8 and float4, their formulas in PyTorch's operations, and the bytes
that they move on AMD's chips, which the simulator counts."""

from __future__ import annotations

import ctypes
import itertools
import json
import math
import random
import re
import types
import unittest.mock
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

import lnbwd
from lnbwd import runtime
from lnbwd.core.base import chip_table
from lnbwd.core.base.operations import LAYER_NORM, RMS_NORM
from lnbwd.functional import Quantized

from . import results
from .shapes import log_uniform
from .stream import Traffic

Shape = tuple[int, ...]
ALLOWED = 1e-3
"""Of :func:`error`."""
_SIZES = {"mx": 32, "nv": 16, 128: 128}
_FLOAT4 = torch.float4_e2m1fn_x2


def _float4(value: Tensor) -> Tensor:
    """The bytes of float4: a number's code is the least of three, in steps of 1/2, 1 and 2."""
    size = value.abs()
    code = torch.minimum((size * 2).round(), torch.minimum(
        size.round() + 2, (size * 0.5).round() + 4)).clamp(max=7)
    pair = (code + 8 * value.signbit()).to(torch.uint8).unflatten(-1, (-1, 2))
    packed: Tensor = pair[..., 0] | pair[..., 1] << 4
    return packed


def _swizzled(scale: Tensor) -> Tensor:
    rows, columns = scale.shape
    blocks = scale.view(rows // 128, 128, columns // 4, 4).permute(0, 2, 1, 3)
    return blocks.reshape(-1, 4, 32, 4).transpose(1, 2).reshape(-1)


def _along_rows(y: Tensor, dtype: torch.dtype, block: str | int | None, factor: Tensor | None,
                swizzled: bool) -> dict[str, Any]:
    if block == "128x128":
        rows, length = y.shape
        tiles = y.view(rows // 128, 128, -1, 128).transpose(1, 2)
        found = _along_rows(tiles.flatten(2).flatten(0, 1), dtype, None, None, False)
        data = found["data"].view(tiles.shape).transpose(1, 2).reshape(y.shape)
        return {"data": data, "scale": found["scale"].view(-1, length // 128)}
    most = 6.0 if dtype == _FLOAT4 else torch.finfo(dtype).max
    if block is None:
        amax = y.abs().amax(-1, keepdim=True)
        used = (most / amax.double().clamp(min=1e-12)).float() if factor is None else factor
        data = (y * used).clamp(-most, most).to(dtype)
        return {"data": data, **({"scale": 1 / used} if factor is None else {"amax": amax.amax()})}
    blocks = y.unflatten(-1, (-1, _SIZES[block]))
    if block == 128:
        found = _along_rows(blocks, dtype, None, None, False)
        return {"data": found["data"].flatten(-2), "scale": found["scale"].squeeze(-1)}
    amax = blocks.abs().amax(-1)
    if block == "mx":
        exponent = {6.0: 2, 448.0: 8, 57344.0: 15}[most]
        code = ((amax.view(torch.int32) >> 23) & 255) - exponent
        code = torch.where(amax.isfinite(), code.clamp(min=0), 255)
        inverse = torch.where(code == 255, torch.nan, (254 - code << 23).view(torch.float32))
        scale = code.to(torch.uint8)
    else:
        rounded = (amax / 6).clamp(2.0 ** -6, 448).to(torch.float8_e4m3fn)
        scale, inverse = rounded.view(torch.uint8), 1 / rounded.float()
    values = (blocks * inverse[..., None]).flatten(-2)
    return {"data": _float4(values) if dtype == _FLOAT4 else values.clamp(-most, most).to(dtype),
            "scale": _swizzled(scale) if swizzled else scale}


def _quantized(y: Tensor, dtype: torch.dtype = torch.float8_e4m3fn, block: str | None = None,
               factor: Tensor | None = None, columns: bool = False, swizzled: bool = False,
               **others: Any) -> Quantized:
    """By torchao's formulas."""
    if columns:
        others["columns"] = Quantized(**_along_rows(
            y.t().contiguous(), dtype, block, factor, swizzled))
    return Quantized(**_along_rows(y, dtype, block, factor, swizzled), **others)


def _layer_norm(x: Tensor, weight: Tensor, bias: Tensor, *, mean: Tensor | None = None,
                rstd: Tensor | None = None, **options: Any) -> Quantized:
    x = x.float()
    mean = x.mean(-1, keepdim=True) if mean is None else mean
    if rstd is None:
        rstd = ((x - mean).square().mean(-1, keepdim=True) + 1e-5).rsqrt()
    return _quantized((x - mean) * rstd * weight + bias, mean=mean, rstd=rstd, **options)


def _rms_norm(x: Tensor, weight: Tensor, *, rstd: Tensor | None = None,
              **options: Any) -> Quantized:
    x = x.float()
    rstd = (x.square().mean(-1, keepdim=True) + 1e-6).rsqrt() if rstd is None else rstd
    return _quantized(x * rstd * weight, rstd=rstd, **options)


def _swiglu_backward(grad: Tensor, gate: Tensor, up: Tensor,
                     dtype: torch.dtype = torch.float8_e5m2, **options: Any) -> Quantized:
    dy, gate, up = grad.float(), gate.float(), up.float()
    part = 1 / (torch.exp(-gate) + 1)
    value = gate * part
    return _quantized(dy * up * (value * (1 - part) + part), dtype, **options,
                      up=_quantized(dy * value, dtype, **options))


def _dequantize(q: Quantized) -> Tensor:
    """Of mxfp8 whose scales are not subnormal."""
    assert q.scale is not None
    scale = (q.scale.view(torch.uint8).int() << 23).view(torch.float32)
    values: Tensor = q.data.float().unflatten(-1, (-1, 32)) * scale[..., None]
    return values.flatten(-2).bfloat16()


def _layer_norm_backward(grad: Tensor, x: Tensor, mean: Tensor, rstd: Tensor, weight: Tensor,
                         grad_sum: Tensor, dtype: torch.dtype = torch.float8_e5m2,
                         **options: Any) -> Quantized:
    dy = grad.float()
    xhat, weighted = (x.float() - mean) * rstd, dy * weight
    dx = rstd * (weighted - xhat * (weighted * xhat).mean(-1, keepdim=True)
                 - weighted.mean(-1, keepdim=True)) + grad_sum.float()
    rounded = dx.to(grad.dtype)
    return _quantized(rounded.float() if options.get("columns") else dx, dtype, sum=rounded,
                      weight=(dy * xhat).sum(0), bias=dy.sum(0), **options)


FORMULAS = types.SimpleNamespace(
    quantize=lambda x, **options: _quantized(x.float(), **options),
    glu_quantized=lambda gate, up, **options: _quantized(
        F.silu(gate.float()) * up.float(), **options),
    glu_backward_quantized=_swiglu_backward, dequantize=_dequantize,
    rms_norm_quantized=_rms_norm, layer_norm_quantized=_layer_norm,
    layer_norm_backward_quantized=_layer_norm_backward)
"""The functions by PyTorch; statistics that are given take the place of its own."""

_BOTH = {"block": "mx", "columns": True, "swizzled": True}


class Case(NamedTuple):
    """A function, which of a call's tensors it takes, its options, and the row blocks of the
    stream that moves as many bytes."""

    function: str
    kinds: str
    options: dict[str, Any]
    traffic: Traffic


CASES = {
    f"{RMS_NORM}-mxfp8-both": Case(f"{RMS_NORM}_quantized", "xw", _BOTH, Traffic(1, 1)),
    f"{RMS_NORM}-mxfp8": Case(f"{RMS_NORM}_quantized", "xw", {"block": "mx"}, Traffic(2, 1)),
    f"{RMS_NORM}-mxfp4": Case(f"{RMS_NORM}_quantized", "xw", {"block": "mx", "dtype": _FLOAT4},
                           Traffic(4, 1)),
    f"{RMS_NORM}-nvfp4": Case(f"{RMS_NORM}_quantized", "xw", {"block": "nv", "dtype": _FLOAT4},
                           Traffic(4, 1)),
    f"{LAYER_NORM}-float8-rows": Case(f"{LAYER_NORM}_quantized", "xww", {}, Traffic(2, 1)),
    f"{LAYER_NORM}-float8-tensor": Case(f"{LAYER_NORM}_quantized", "xwwf", {}, Traffic(2, 1)),
    f"{LAYER_NORM}_backward-float8": Case(f"{LAYER_NORM}_backward_quantized", "xxmrwx", {},
                                       Traffic(2, 1)),
    f"{LAYER_NORM}_backward-mxfp8-both": Case(f"{LAYER_NORM}_backward_quantized", "xxmrwx", _BOTH,
                                           Traffic(3, 2)),
    "swiglu-mxfp8-both": Case("glu_quantized", "xx", _BOTH, Traffic(2, 1)),
    "quantize-mxfp8-both": Case("quantize", "x", _BOTH, Traffic(1, 1)),
    f"{RMS_NORM}-float8-128": Case(f"{RMS_NORM}_quantized", "xw", {"block": 128}, Traffic(2, 1)),
    "quantize-float8-128x128": Case("quantize", "x", {"block": "128x128"}, Traffic(2, 1)),
    "dequantize-mxfp8": Case("dequantize", "qs", {}, Traffic(1, 2)),
    # Its tiles want the most registers, and the test's place has it on a chip with waves of 32.
    "swiglu_backward-mxfp8-both": Case("glu_backward_quantized", "xxx", _BOTH, Traffic(3, 2))}
"""What is timed, by name. ``kinds``: x rows, w a column, m and r statistics of rows, f a factor, q
float8 and s its scales."""


def _flat(result: Quantized | Tensor) -> tuple[Tensor, ...]:
    """All tensors, those of a byte an element, or less, as bytes."""
    if isinstance(result, Tensor):
        return (result,)
    parts = [part for value in result if value is not None
             for part in (_flat(value) if isinstance(value, Quantized) else [value])]
    return tuple(part.view(torch.uint8) if part.element_size() == 1 else part for part in parts)


def call(name: str) -> Callable[..., tuple[Tensor, ...]]:
    """A call of a case: of a library and tensors."""
    case = CASES[name]

    def run(library: Any, *tensors: Any, **statistics: Tensor) -> tuple[Tensor, ...]:
        options = {**case.options, **statistics}
        if case.kinds == "qs":
            tensors = (Quantized(*tensors),)
        if "f" in case.kinds:
            tensors, options["factor"] = tensors[:-1], tensors[-1]
        if case.function == f"{LAYER_NORM}_backward_quantized":
            tensors, options["grad_sum"] = tensors[:-1], tensors[-1]
        return _flat(getattr(library, case.function)(*tensors, **options))

    return run


def draw(drawn: random.Random) -> Shape:
    """Rows and elements of them in multiples of 128: whole tiles of swizzled scales."""
    return log_uniform(drawn, 1 << 7, 1 << 17, 128), log_uniform(drawn, 1 << 9, 1 << 14, 128)


def operands(name: str, shape: Shape, device: torch.device) -> list[Tensor]:
    """The tensors of a call: rows are bfloat16, all others float32."""
    made = {"x": lambda: torch.randn(shape, device=device).bfloat16(),
            "w": lambda: torch.randn(shape[1], device=device) + 1,
            "m": lambda: torch.randn(shape[0], 1, device=device) * 0.1,
            "r": lambda: torch.rand(shape[0], 1, device=device) + 0.5,
            "f": lambda: torch.tensor(37.0, device=device),
            "q": lambda: torch.randn(shape, device=device).to(torch.float8_e4m3fn),
            "s": lambda: torch.randint(120, 127, (shape[0], shape[1] // 32), dtype=torch.uint8,
                                       device=device).view(torch.float8_e8m0fnu)}
    return [made[kind]() for kind in CASES[name].kinds]


def _expected(name: str, tensors: Sequence[Tensor], found: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The formula's result, with the statistics of one that was found, of another order."""
    of_rows = [t for t in found if t.shape == (*tensors[0].shape[:-1], 1)]
    names = {f"{LAYER_NORM}_quantized": ("mean", "rstd"), f"{RMS_NORM}_quantized": ("rstd",)}.get(
        CASES[name].function, ())
    given = of_rows[-len(names):] if names else []
    return call(name)(FORMULAS, *tensors, **dict(zip(names, given, strict=True)))


def error(name: str, tensors: Sequence[Tensor], found: Sequence[Tensor]) -> float:
    """The error of a call's results: of float32, that over the largest value; of others, the share
    of elements with other bits than the formula's."""
    errors = [float((a.view(torch.int16 if a.element_size() == 2 else torch.uint8)
                     != b.view(torch.int16 if a.element_size() == 2 else torch.uint8))
                    .float().mean())
              for a, b in zip(found, _expected(name, tensors, found), strict=True)
              if a.dtype != torch.float32]
    own = call(name)(FORMULAS, *tensors)
    floats = [pair for pair in zip(found, own, strict=True) if pair[0].dtype == torch.float32]
    return max(*errors, results.error_of(*zip(*floats, strict=True)) if floats else 0.0)


MODELLED_CHIP = chip_table.SIMULATED


def counted_shapes() -> list[Shape]:
    """Three shapes of 8 to 32 MiB of bfloat16, by a seed: the simulator takes seconds for each."""
    drawn = random.Random(1)
    shapes = (draw(drawn) for _ in itertools.count())
    return list(itertools.islice((s for s in shapes if 2 ** 22 <= math.prod(s) <= 2 ** 24), 3))


def count(name: str, shape: Shape, chip: str) -> tuple[float, int | None]:
    """What a call costs on the simulator: the bytes that lanes access over those of its operands
    and results, and how many of its kernels spill, by the metadata of their code objects; None if
    an earlier call had the same."""
    codes: list[bytes] = []
    for_chip = runtime.Program.for_chip

    def take(code: bytes, *others: Any) -> runtime.Program:
        codes.append(code)
        return for_chip(code, *others)

    torch.manual_seed(0)
    tensors = operands(name, shape, torch.device("cpu"))
    with lnbwd.simulate(chip), unittest.mock.patch.object(runtime.Program, "for_chip", take):
        device = runtime.Device.open(f"sim:{chip}")
        device.reset_counters()
        results = call(name)(lnbwd.functional, *tensors)
        counters = device.counters()
    assert counters is not None
    moved = counters.global_bytes_read + counters.global_bytes_written
    # A number from 0 to 127 is a byte of its own in MessagePack.
    spills = sum(set(re.findall(rb"\.(?:[sv]gpr_spill_count|private_segment_fixed_size)(.)", code,
                                re.DOTALL)) != {b"\0"} for code in codes)
    return moved / sum(t.nbytes for t in (*tensors, *results)), spills if codes else None


def from_memory(name: str, shape: Shape, chip: str) -> float:
    """The bytes that a call moves to and from memory, by the timing model's caches, over those of
    its operands and results: what a kernel reads again of a cache counts once."""
    tensors = operands(name, shape, torch.device("cpu"))
    with lnbwd.simulate(chip):
        device = runtime.Device.open(f"sim:{chip}")
        device.make_current()
        set_timing = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p)(
            device.symbol("lnbwdSimSetTiming") or 0)
        get_timing = ctypes.CFUNCTYPE(ctypes.c_char_p)(device.symbol("lnbwdSimGetTimingJson") or 0)
        assert set_timing(b"") == 0
        try:
            results = call(name)(lnbwd.functional, *tensors)
            launches = json.loads(get_timing())["launches"]
        finally:
            set_timing(None)
    moved = sum(launch["bytes"]["memory"] for launch in launches)
    return float(moved / sum(t.nbytes for t in (*tensors, *results)))


def counted(case: tuple[str, str]) -> dict[str, Any]:
    """The dashboard's row of a chip and a function; without a chip, of the timing model's one, with
    the bytes that reach memory."""
    chip, name = case
    if not chip:
        return {"name": name, "chip": "MI300X, memory", "spills": 0, "bytes": [
            round(from_memory(name, shape, MODELLED_CHIP), 3) for shape in counted_shapes()]}
    counts = [count(name, shape, chip) for shape in counted_shapes()]
    return {"name": name, "chip": chip, "spills": sum(spills or 0 for _, spills in counts),
            "bytes": [round(ratio, 3) for ratio, _ in counts]}
