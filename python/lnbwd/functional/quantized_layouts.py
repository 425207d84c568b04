# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The formats of quantised tensors, and how their scales lie in memory."""

from __future__ import annotations

from typing import Literal, NamedTuple

import torch

from ..core.base.operations import ELEMENTS
from ..program.operands import ELEMENT_NAMES, FLOAT8, Input

Block = Literal["mx", "mx-rceil", "nv"] | int | None

Parts = tuple[tuple[int, ...], ...]

BLOCKS: dict[Block, int] = {None: 0, "mx": 32, "mx-rceil": 32, "nv": 16, 128: 128}
"""Elements of a scale's block: a row, 32 (powers of two), 16 (float4, float8 scales), or 128."""

SIZES = {"f8E8M0FNU": 32, "f8E4M3FN": 16, "f32": 128}
"""The same by the type of the scales."""


class Format(NamedTuple):
    """A format to round to: the largest number, the exponent's bias, bits of the fraction."""

    most: float
    bias: int
    fraction: int


FLOAT4 = "f4E2M1FN"

FORMATS = {ELEMENT_NAMES[dtype]: Format(torch.finfo(dtype).max, element.bias, element.fraction)
           for dtype in FLOAT8 for element in [ELEMENTS[ELEMENT_NAMES[dtype]]]} | {
                FLOAT4: Format(6.0, 1, 1)}

def placed(digits: Parts, places: Parts) -> Parts:
    """Composes strided layouts: ``digits``, element to index, and ``places``, index to address."""
    parts = []
    for apart, size, first in digits:
        for unit, count, stride in places:
            low, high = max(first, unit), min(first * size, unit * count)
            if low < high:
                parts.append((apart * low // first, high // low, stride * low // unit))
    return tuple(parts)


def of_scales(count: int, blocks: int, size: int, is_swizzled: bool) -> tuple[Parts, Parts]:
    """The layout of scales by the row and by the element in it, for ``count`` rows of ``blocks`` of
    ``size``. Swizzled, as cuBLASLt's, row r of a 128x4 tile is at 16 (r mod 32) + 4 (r / 32)."""
    if not is_swizzled:
        return ((1, count, blocks),), ((size, blocks, 1),)
    return (((1, 32, 16), (32, 4, 4), (128, count // 128, blocks // 4 * 512)),
            ((size, 4, 1), (4 * size, blocks // 4, 512)))


def parts_of_blocks(given: Input, rows: int, length: int) -> tuple[Parts, Parts]:
    """The layout, by the row and by the element, of scales of blocks or bytes of two values."""
    if given.dtype == "i8":
        return ((1, rows, length // 2),), ((2, length // 2, 1),)
    size = SIZES[given.dtype]
    blocks = length // size
    if given.kind == "part" and size == 128:
        return ((size, rows // size, blocks),), ((size, blocks, 1),)
    return of_scales(rows, blocks, size, given.kind == "part")
