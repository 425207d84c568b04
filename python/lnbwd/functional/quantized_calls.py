# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operands and results of functions that write float8 or float4: checks, layout, computation."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..core.compile.spec import rows_hint
from ..ops.arguments import KERNEL_TYPES, check_dense, check_parameter, check_tensor
from ..ops.launching import falls_back
from ..ops.regions import Registered, find_program, raw_region
from ..program.operands import ELEMENT_NAMES, FLOAT8, Input
from .quantized_layouts import BLOCKS, FLOAT4, FORMATS, SIZES, Block, parts_of_blocks, placed

Operands = dict[str, tuple[str, "Tensor | Quantized | None"]]
"""Kind and tensor of each by its name."""

_NAMES = ELEMENT_NAMES | {torch.float4_e2m1fn_x2: FLOAT4}


class Quantized(NamedTuple):
    """The result of the functions.

    Attributes:
        data: the values times the factor, rounded to nearest even and clamped to the largest
            number. In float4, ``[..., N / 2]``: a byte has two values, the first in its lower half.
        scale: the factor of ``data.float()`` that gives the values: ``[..., 1]``, or for blocks
            ``[..., N / block]``; None for a given factor.
        amax: with a given factor, the largest magnitude of all values, for a later factor.
        sum: ``input + residual``, in input's type; in a gradient, the gradient with respect to it.
        mean, rstd: in a forward pass, the rows' statistics ``[..., 1]``, float32; mean for layer
            norm only.
        weight, bias: the gradients with respect to these, float32; in a forward pass None.
        columns: the same values in blocks of rows, transposed, if requested.
        up: for a gated unit's gradient, that with respect to ``up``; the others are of ``gate``.
    """

    data: Tensor
    scale: Tensor | None = None
    amax: Tensor | None = None
    sum: Tensor | None = None
    mean: Tensor | None = None
    rstd: Tensor | None = None
    weight: Tensor | None = None
    bias: Tensor | None = None
    columns: Quantized | None = None
    up: Quantized | None = None


def shape_of(rows: Tensor | Quantized) -> tuple[int, ...]:
    """The shape of an operand's values. (torch.Size has no symbols.)"""
    data = rows.data if isinstance(rows, Quantized) else rows
    return (*data.shape[:-1], 2 * data.shape[-1]) if (
        data.dtype == torch.float4_e2m1fn_x2) else tuple(data.shape)


def _stand_in(name: str, value: Any) -> Any:
    """An operand, or of a quantised one a tensor of its values' shape, after its check."""
    if not isinstance(value, Quantized):
        return value
    check_dense(f"{name}.data", value.data, (*FLOAT8, torch.float4_e2m1fn_x2))
    if value.scale is None:
        raise ValueError(f"{name}: expected a Quantized with a scale, got None; put the reciprocal "
                         "of the factor there, of the shape [..., 1]")
    check_dense(f"{name}.scale", value.scale,
                (torch.float32, torch.float8_e8m0fnu, torch.float8_e4m3fn))
    shape = shape_of(value)
    if shape and 0 not in shape:
        scale_input(name, value)
    return torch.empty(1, dtype=torch.float32, device=value.data.device).expand(shape)


def scale_input(name: str, value: Quantized) -> Input:
    """How a program reads the scales; a "part" is of a known number of rows."""
    shape, scale = shape_of(value), value.scale
    assert scale is not None
    length, count, own = int(shape[-1]), math.prod(shape[:-1]), ELEMENT_NAMES[scale.dtype]
    blocks, size = scale.shape[-1], SIZES[own]
    if scale.shape[:-1] == shape[:-1] and blocks == 1:
        return Input("scalar", own)
    if scale.shape == (*shape[:-1], length // size) and length % size == 0:
        return Input("lead", own, ((size, length // size),))
    is_swizzled = size < 128 and scale.dim() == 1 and length % (4 * size) == 0 and (
        blocks == count * length // size)
    if count % 128 == 0 and (is_swizzled or (size == 128 and length % 128 == 0 and scale.shape == (
            count // 128, length // 128))):
        by_row, by_element = parts_of_blocks(Input("part", own), int(count), length)
        parts = (*placed(((length, int(count), 1),), by_row),
                 *placed(((1, length, 1),), by_element))
        return Input("part" if parts else "number", own, parts)
    raise ValueError(f"{name}.scale: expected {own} of each row, [..., 1], of blocks of {size} "
                     f"elements{' or 128x128' if size == 128 else ', swizzled or not,'} of "
                     f"{list(shape)}, got {list(scale.shape)}")


def inputs_of(name: str, kind: str, value: Tensor | Quantized) -> list[tuple[str, Input, Tensor]]:
    """The inputs of a program for an operand."""
    if not isinstance(value, Quantized):
        return [(name, Input(kind, ELEMENT_NAMES[value.dtype]), value.detach())]
    assert value.scale is not None
    data, given = value.data.detach(), Input(
        "row", ELEMENT_NAMES[value.data.dtype] if value.data.dtype in FLOAT8 else "i8")
    if given.dtype == "i8":
        data = data.view(torch.uint8).view(torch.bool)
        given = Input("lead", "i8", ((2, int(data.shape[-1])),))
    return [(name, given, data), (name + "_scale", scale_input(name, value), value.scale)]


def run(make: functools._lru_cache_wrapper[Registered], operands: Operands, dtype: torch.dtype,
        block: Block, *options: float | str, is_flat: bool = False,
        has_known_rows: bool = False) -> dict[str, Tensor]:
    """The results of a program by their names, of its operands, those that are not None.
    ``is_flat``: scales have one dimension; ``has_known_rows``: each number of rows compiles."""
    read = [one for name, (kind, t) in operands.items() if t is not None
            for one in inputs_of(name, kind, t)]
    first, whole = read[0][2], next(t for _, t in operands.values() if t is not None)
    shape_of_rows = shape_of(whole)
    length = shape_of_rows[-1]
    rows = math.prod(shape_of_rows) // length
    types = tuple((name, given) for name, given, _ in read)
    tensors = {name: tensor for name, _, tensor in read}
    is_known = is_flat or has_known_rows or any(i.kind == "part" for _, i in types)
    # In torch.compile's graphs numbers may be symbols: one that is known there is guarded.
    hint = int(rows) if is_known or isinstance(rows, int) else int(rows.node.hint)
    program = make(types, int(length), hint if is_known else rows_hint(hint), _NAMES[dtype], block,
                   *options)
    inputs = [tensors[name] for name in program.inputs]
    evaluate = find_program(program.text).evaluate
    outputs = (evaluate(inputs) if evaluate and first.is_cpu and falls_back("lnbwd.functional")
               else raw_region(inputs, program.text))
    results = {}
    for name, output in zip(program.outputs, outputs, strict=True):
        kind = name.rpartition("_")[2]
        shape, count = shape_of_rows, rows
        if "columns_" in name:
            shape, count = (length, rows), length
        if kind == "data" and output.dtype != dtype:
            output = output.view(torch.uint8).view(dtype).view(*shape[:-1], -1)
        elif kind in ("data", "sum"):
            output = output.view(shape)
        elif kind == "amax":
            output = output.amax()
        elif kind in ("scale", "mean", "rstd") and not (kind == "scale" and is_flat):
            output = output.view(*shape[:-1], output.numel() // count)
        results[name] = output
    return results


def joined(results: dict[str, Tensor]) -> Quantized:
    """Joins the results of kernels."""
    fields: dict[str, Any] = dict(results)
    for whose in ("up", "columns"):
        inner = {name: fields.pop(name) for name in [*fields] if name.startswith(whose + "_")}
        if inner:
            fields[whose] = joined({name.removeprefix(whose + "_"): value
                                    for name, value in inner.items()})
    return Quantized(**fields)


def check_operands(operands: Operands, dtype: torch.dtype, block: Block, columns: bool = False,
                   swizzled: bool = False, along_rows: bool = True,
                   required: Sequence[str] = ()) -> None:
    """Raises TypeError or ValueError for operands that do not fit the first, which is rows."""
    (name, (_, x)), *others = ((name, (kind, _stand_in(name, value)))
                               for name, (kind, value) in operands.items())
    check_dense(name, x, KERNEL_TYPES)
    if x.dim() == 0 or x.numel() == 0:
        raise ValueError(f"{name}: expected rows [..., N] of one element or more, got the shape "
                         f"{list(x.shape)}")
    for other, (kind, value) in others:
        if other in required:
            check_tensor(other, value)
        types: Sequence[torch.dtype] = KERNEL_TYPES if kind in ("row", "column") else [
            torch.int64 if other == "seed" else torch.float32]
        shape, where = {
            "row": (x.shape, f" of {name}"), "column": (x.shape[-1:], f" (a row of {name})"),
            "scalar": ((*x.shape[:-1], 1), f" (a number for each row of {name})"),
            "number": ((), " (one number)")}[kind]
        check_parameter(other, value, shape, name, x, where, types)
    if not isinstance(dtype, torch.dtype) or _NAMES.get(dtype) not in FORMATS:
        names = ", ".join(str(known) for known in (*FLOAT8, torch.float4_e2m1fn_x2))
        raise TypeError(f"dtype: expected {names}, got {dtype}")
    factor = operands.get("factor", ("", None))[1]
    is_float4 = dtype == torch.float4_e2m1fn_x2
    if block not in ("mx", "mx-rceil", *(("nv",) if is_float4 else (None, 128))) or (
            factor is not None and block not in (None, "nv")):
        wanted = "'mx', 'mx-rceil'" + (" or 'nv', and 'nv' with a factor" if is_float4 else
                  ", None or 128 (or, of quantize, '128x128'), and None with a factor")
        raise ValueError(f"block: expected {wanted}, got {block!r}"
                         f"{' with a factor' if factor is not None else ''} for {dtype}")
    size, length = BLOCKS[block], x.shape[-1]
    rows = x.numel() // length
    if along_rows and size and (length % size or length == size):
        raise ValueError(f"{name}: expected rows of two or more whole blocks of {size} elements, "
                         f"got {list(x.shape)}; pad the rows, or leave block out")
    tile = 128 if columns else 4 * size
    if swizzled and (size not in (16, 32) or length % tile or rows % 128):
        raise ValueError("swizzled: expected blocks of 'mx', 'mx-rceil' or 'nv', a multiple of 128 "
                         "rows and of 4 blocks in each, of both along columns, got "
                         f"{rows} rows of {length} with block={block!r}")
    if columns and (block is None or rows % max(size, 64)):
        raise ValueError(f"columns: expected a block and a multiple of {max(size, 64)} rows, got "
                         f"{rows} rows with block={block!r}")
