# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors that have some of the dimensions of rows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from torch import Tensor


def part_dims(shape: Sequence[int], rows: Sequence[int]) -> tuple[tuple[int, int], ...] | None:
    """The dimensions of a tensor that is :data:`.Parts` of rows, as :class:`.operands.Input` has
    them; None of any other."""
    result: list[tuple[int, int]] = []
    distance = 1
    if rows[-1] == 1 or len(shape) > len(rows):
        return None
    if len(shape) == 1:
        length, whole = rows[-1], math.prod(rows[-2:])
        if shape[0] == 1:
            return ()
        distance = max(whole // max(shape[0], 1), 1)  # (Of no rows any are parts.)
        is_whole = whole in (0, distance * shape[0]) and 0 in (length % distance, distance % length)
        return ((distance, shape[0]),) if is_whole else None
    for size, own in itertools.zip_longest(reversed(rows), reversed(shape), fillvalue=1):
        if own not in (1, size) and (0 in (own, size) or size % own):
            return None
        block = distance if own == size else distance * size // own
        if own != 1 and result and math.prod(result[0]) == block:
            result[0] = (result[0][0], result[0][1] * own)
        elif own != 1:
            result.insert(0, (block, own))
        distance *= size
    return tuple(result)


def part_of(shape: Sequence[int], rows: Sequence[int]) -> tuple[Sequence[int], Any]:
    """A part's shape and dimensions; () for a scale per row and block."""
    if len(shape) > 1 and 1 < (count := shape[-1]) < rows[-1] and (
            (*shape[:-1],) == (*rows[:-1],)):
        return (), ((rows[-1] // count, count),)
    return tuple(shape), part_dims(shape, rows)


def spread(part: Tensor, rows: Tensor) -> Tensor:
    """Parts as rows."""
    if part.dim() == 1 != rows.dim():
        whole = rows.shape[-2:]
        part = part.repeat_interleave(whole.numel() // part.shape[0]).view(whole)
    for dim in range(part.dim()):
        own, size = part.shape[dim], rows.shape[rows.dim() - part.dim() + dim]
        if own not in (1, size):  # (Not by repeat_interleave, which PyTorch has for no float8.)
            wide = part.unflatten(dim, (own, 1))
            part = wide.expand(*wide.shape[:dim + 1], size // own,
                               *wide.shape[dim + 2:]).flatten(dim, dim + 1)
    return part if part.shape == rows.shape else part.expand(rows.shape)
