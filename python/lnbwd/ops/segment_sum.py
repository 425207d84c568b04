# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sums of the rows that belong to the same segment, as the gradient of an embedding is: the
operator ``lnbwd::_segment_sum``.

The rows are put into the order of their segments: each row's place is the number of rows that come
before it, which row programs count, or of many rows PyTorch's sort finds it. Then three row
programs compute: where each segment begins in that order; the sums of each 32 neighbours in the
order that are of one segment, so that many workgroups add up a segment of many rows; and the sum of
each segment, of such sums and of the rows before and after them. Each sum is in float32 and in one
order, so that all runs give the same bits.
"""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch import Tensor

from ..program.builder import Draft, Value
from ..program.operands import ELEMENT_NAMES, Input
from . import registration
from .regions import Registered, register_draft

_PIECE = 32
"""Rows of a segment that are added up before its other rows."""

_WIDTH = 256
"""Elements of a row of a program that has one result for each row or segment."""

MOST_COUNTED = 8192
"""Rows whose places are counted: that takes a comparison of each two."""

MOST_ELEMENTS = (1 << 31) - 1
"""The limit of a row program's table."""

DTYPES = (torch.float16, torch.bfloat16, torch.float32)
"""Types of the added rows."""


def _row(draft: Draft, rows: int) -> Value:
    """The number of the row."""
    place = (draft.builder.add("place", draft.length, rows) if rows > 1 else
             draft.builder.integer(0))
    return Value(draft.builder, place).integer("i64")


def _element(draft: Draft, rows: int) -> Value:
    """The number of each element."""
    column = Value(draft.builder, draft.builder.add("index")).integer("i64")
    return _row(draft, rows) * draft.length + column


@functools.lru_cache(256)
def _keys(count: int, segments: int, ignored: int) -> Registered:
    """A key for each row to sort by: the number of its segment, or of none, times the number of
    rows, plus its own number."""
    draft = Draft(_WIDTH, {"segments": Input("elements", "i64", rows=count)})
    rows = -(-count // _WIDTH)
    row = _element(draft, rows)
    segment, none = draft.values["segments"].take(row), row.made(segments)
    for is_none in (segment < 0, segment.ge(none), segment.eq(row.made(ignored))):
        segment = is_none.select(none, segment)
    draft.write("keys", "row", "i32", segment * count + row)
    return register_draft(draft, rows)


@functools.lru_cache(256)
def _places(count: int) -> Registered:
    """How many keys are less than each."""
    draft = Draft(count, {"keys": Input("column", "i32"), "key": Input("scalar", "i32")})
    is_less = draft.values["keys"].integer("i32") < draft.values["key"].integer("i32")
    draft.write("places", "scalar", "i32", is_less.select(1.0, 0.0).row_sum())
    return register_draft(draft, count)


@functools.lru_cache(256)
def _order(count: int) -> Registered:
    """The row that has each place, and its segment."""
    draft = Draft(count, {"places": Input("column", "i32"),
                          "keys": Input("elements", "i32", rows=count)})
    is_here = draft.values["places"].integer("i32").eq(_row(draft, count).integer("i32"))
    column = Value(draft.builder, draft.builder.add("index"))
    row = is_here.select(column, -1.0).row_max().integer("i32")
    draft.write("order", "scalar", "i64", row.integer("i64"))
    key = draft.values["keys"].take(row)
    draft.write("sorted", "scalar", "i64", key.floordiv(key.made(count)).integer("i64"))
    return register_draft(draft, count)


@functools.lru_cache(256)
def _begins(count: int, segments: int) -> Registered:
    """The beginnings of each segment, and of the numbers after the last one, among ``count`` sorted
    numbers: how many are less, found by powers of two, from the largest on."""
    draft = Draft(_WIDTH, {"sorted": Input("elements", "i64", rows=count)})
    rows = -(-(segments + 1) // _WIDTH)
    table, segment = draft.values["sorted"], _element(draft, rows)
    less = segment - segment
    for bit in reversed(range(count.bit_length())):
        end = less + (1 << bit)
        is_less = table.take(end - 1) < segment
        is_less = getattr(is_less, "and")(end.le(end.made(count)))
        less = is_less.select(end, less)
    draft.write("begins", "row", "i64", less)
    return register_draft(draft, rows)


@functools.lru_cache(256)
def _pieces(count: int, length: int, dtype: str) -> Registered:
    """The sum of each 32 rows that are neighbours in the order of the segments, and of one."""
    draft = Draft(length, {"values": Input("table", dtype, rows=count),
                           "sorted": Input("elements", "i64", rows=count),
                           "order": Input("elements", "i64", rows=count)})
    rows = count // _PIECE
    values, segments, order = (draft.values[name] for name in ("values", "sorted", "order"))
    begin = _row(draft, rows) * _PIECE
    last = begin + (_PIECE - 1)
    is_one = segments.take(begin).eq(segments.take(last))
    end = is_one.select(begin + _PIECE, begin)
    draft.write("pieces", "row", "f32", values.sum_rows(begin, end, order))
    return register_draft(draft, rows)


@functools.lru_cache(256)
def _sums(count: int, segments: int, length: int, dtype: str) -> Registered:
    """The sum of each segment."""
    pieces = count // _PIECE
    inputs = {"values": Input("table", dtype, rows=count),
              "begins": Input("elements", "i64", rows=segments + 1),
              "order": Input("elements", "i64", rows=count)}
    if pieces:
        inputs["pieces"] = Input("table", "f32", rows=pieces)
    draft = Draft(length, inputs)
    values, order, row = draft.values["values"], draft.values["order"], _row(draft, segments)
    begin, end = (draft.values["begins"].take(one) for one in (row, row + 1))
    if not pieces:
        total = values.sum_rows(begin, end, order)
    else:
        shift = begin.made(_PIECE.bit_length() - 1)
        first = (begin + (_PIECE - 1)).shr(shift)
        last = end.shr(shift).max(first)
        before = first.shl(shift).min(end)
        total = values.sum_rows(begin, before, order)
        total = total + draft.values["pieces"].sum_rows(first, last)
        total = total + values.sum_rows(last.shl(shift), end, order)
    draft.write("sums", "row", dtype, total)
    return register_draft(draft, segments)


def _sort(segments: Tensor, count: int, ignored: int) -> dict[str, Tensor]:
    """The order of the rows, and their segments in that order."""
    rows = len(segments)
    if rows > MOST_COUNTED or (count + 1) * rows > MOST_ELEMENTS:
        is_none = (segments < 0) | (segments == ignored)
        found, order = segments.masked_fill(is_none, count).sort(stable=True)
        return {"sorted": found, "order": order}
    tensors = {"segments": segments.contiguous()}
    tensors.update(_keys(rows, count, ignored)(-(-rows // _WIDTH), tensors))
    tensors["keys"] = tensors["key"] = tensors["keys"].view(-1)[:rows]
    tensors.update(_places(rows)(rows, tensors))
    return _order(rows)(rows, tensors)


def _segment_sum(values: Tensor, segments: Tensor, count: int, ignored: int) -> Tensor:
    rows, length = values.shape
    if not values.numel() or not count:
        return values.new_zeros(count, length)
    dtype = ELEMENT_NAMES[values.dtype]
    tensors = {"values": values.contiguous(), **_sort(segments.long(), count, ignored)}
    tensors.update(_begins(rows, count)(-(-(count + 1) // _WIDTH), tensors))
    tensors["begins"] = tensors["begins"].view(-1)[:count + 1]
    if rows >= _PIECE:
        tensors.update(_pieces(rows, length, dtype)(rows // _PIECE, tensors))
    return _sums(rows, count, length, dtype)(count, tensors)["sums"].view(count, length)


def _fake(values: Tensor, segments: Tensor, count: int, ignored: int) -> Tensor:
    return values.new_empty(count, values.shape[1])


segment_sum: Any = registration.define_kernel(
    "segment_sum", "(Tensor values, Tensor segments, SymInt count, int ignored) -> Tensor",
    _segment_sum, _fake)[0]
"""lnbwd::_segment_sum(values, segments, count, ignored): of values ``[M, N]`` of one of
:data:`DTYPES` and integers ``[M]``, the sums ``[count, N]`` of the values' type. Row i is the sum
of the rows whose integer is i. The rows of other integers, and of ``ignored``, are in no sum."""
