# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which schedules are worth a try: those nearest to the model's choice.

Which values of a field are tried, the table of the fields says (LNBwdSchedule.td), and what this
search has in common with the cost model's. A field without such values, or of another vendor's
chips, stays as the model has it; whether rows come early, which it decides by the others
(``early_rows``, ``early_next``), the compiler says of each candidate.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from ._schedule import (
    FIXED_REGISTERS,
    FLIGHTS,
    LEAST_COMPUTE_UNIT_THREADS,
    LEAST_LATE_SPLIT,
    MOST_COMPUTE_UNIT_THREADS,
    MOST_IDLE_PERCENT,
    MOST_LANE_COLUMNS,
    SHARED_COLUMN_UNIT,
)
from .schedule import (
    COLUMN_TILE,
    EARLY_START,
    FIELDS,
    PREFETCH,
    ROW_GROUPS,
    ROW_SLICES,
    ROWS_PER_WORKGROUP,
    STAGES,
    THREADS_PER_ROW,
    UNROLL,
    VECTOR_WIDTH,
    WORKGROUPS_PER_COMPUTE_UNIT,
    WORKGROUPS_PER_ROW,
)

__all__ = ["Size", "all_schedules", "candidates", "grid", "nearest", "shared_columns", "sliced",
           "starts_late"]


class Size(Protocol):
    """M rows of N elements."""

    @property
    def m(self) -> int:
        """M."""

    @property
    def n(self) -> int:
        """N."""


# A flight: (stages, prefetch, unroll).
_ALONE = (0, 0, 1)
# Rows, for each compute unit, up to which they may be too few to fill the chip, and their least
# length: then slices of them are worth a try.
_FEW_ROWS, _LONG_ROW = 4, 4096
# Idle lanes over busy ones beyond which nothing is good; where the center has more, so may others.
_MOST_IDLE = MOST_IDLE_PERCENT / 100
# Registers of a lane: those that it has, and about how many it takes beside its columns and for
# each of them, where workgroups stay for further rows and where they have one set. More would
# spill, which the compiler would find out slowly.
_REGISTERS, _MOST_REGISTERS = 64 * 1024, 255
_COLUMN_REGISTERS, _APART_COLUMN_REGISTERS = 5, 2


def _threads_per_row(wave: int, columns: float, width: int, home: int) -> list[int]:
    """Lanes a row: the fewest for each number of accesses that a lane then makes, as more would
    only idle; and as many as the center has."""
    powers = [1 << i for i in range(wave.bit_length())]
    result = []
    accesses = 0
    for threads in powers + list(range(2 * wave, 1025, wave)):
        before, accesses = accesses, math.ceil(columns / (threads * width))
        if accesses != before or threads == home:
            result.append(threads)
    return result


def shared_columns(length: int, split: int, width: int) -> int:
    """Columns of each workgroup that shares a row, as the compiler deals them out: equal parts, or
    as many accesses and whole copies as such a part needs."""
    if length % (split * width) == 0:
        return length // split
    unit = max(width, SHARED_COLUMN_UNIT)
    return -(-length // (split * unit)) * unit


def _idle(length: int, split: int, width: int, per_row: int) -> float:
    """Idle lanes over busy ones, where so many lanes work on each part of a row."""
    chunk = per_row * width
    chunks = math.ceil(shared_columns(length, split, width) / chunk)
    return chunks * chunk * split / length - 1


def _distance(one: int, other: int, step: float = 1.0) -> float:
    """How far two counts are apart, in doublings."""
    return step * abs(math.log2(max(one, 0.5)) - math.log2(max(other, 0.5)))


def _grid_distance(one: int, other: int) -> float:
    """How far two bounds of a grid are apart; a grid without one is a step from any other."""
    if 0 in (one, other):
        return float(one != other)
    return _distance(one, other)


def _flight_distance(one: tuple[int, int, int], other: tuple[int, int, int]) -> float:
    if one == other:
        return 0.0
    if one[0] and other[0]:
        return 0.5 * abs(one[0] - other[0])
    return 1.0


def starts_late(fields: Mapping[str, int]) -> bool:
    """Whether a kernel with column sums is better off when it starts after the one before it: not
    all clusters would find a place earlier, and those left over would start last."""
    return (fields.get(WORKGROUPS_PER_ROW, 1) >= LEAST_LATE_SPLIT
            and fields[WORKGROUPS_PER_COMPUTE_UNIT] > 1)


def all_schedules(shape: Size, center: Mapping[str, int], wave: int, known: Iterable[str],
                  unbounded: bool = False) -> Iterator[tuple[float, dict[str, int]]]:
    """Every schedule of the search ranges that is not hopeless, with its distance from
    ``center``: about one for each choice that differs.

    Args:
        shape: the problem.
        center: the fields of the schedule to search around.
        wave: lanes of a wave.
        known: the fields that may change (``schedule.names_for``).
        unbounded: whether a workgroup for each set of rows is worth a try, as it is for programs
            without column sums: with them each would have partial sums.
    """
    known = set(known)
    center = {**{name: field.default for name, field in FIELDS.items()
                 if name in known and field.default is not None}, **center}
    width = center[VECTOR_WIDTH]
    home = (center[STAGES], center[PREFETCH], center[UNROLL]) if STAGES in center else \
        (0, center.get(PREFETCH, 0), center.get(UNROLL, 1))
    home_turns = max(1, center[ROWS_PER_WORKGROUP] // max(1, center[ROW_GROUPS]))
    home_threads = center[THREADS_PER_ROW] * center[ROW_GROUPS]
    most_idle = max(_MOST_IDLE, _idle(shape.n, center.get(WORKGROUPS_PER_ROW, 1), width,
                                      center[THREADS_PER_ROW]))
    splits = FIELDS[WORKGROUPS_PER_ROW].tried if WORKGROUPS_PER_ROW in known else (1,)
    pairs = [(split, per_row) for split in splits for per_row in _threads_per_row(
        wave, shape.n / split, width, center[THREADS_PER_ROW])]
    for split, per_row in pairs:
        if split > 1 and per_row % wave:
            continue
        columns = shared_columns(shape.n, split, width)
        chunks = math.ceil(columns / (per_row * width))
        if (shape.n % width or chunks * width > MOST_LANE_COLUMNS
                or (split - 1) * columns >= shape.n
                or _idle(shape.n, split, width, per_row) > most_idle):
            continue
        groups = {1 << (threads // per_row).bit_length() - 1
                  for threads in FIELDS[ROW_GROUPS].tried if threads >= per_row}
        for group, workgroups, turns, flight in itertools.product(
                sorted(groups), FIELDS[WORKGROUPS_PER_COMPUTE_UNIT].tried,
                FIELDS[ROWS_PER_WORKGROUP].tried, FLIGHTS):
            threads = per_row * group
            each = _COLUMN_REGISTERS if workgroups else _APART_COLUMN_REGISTERS
            registers = FIXED_REGISTERS + each * chunks * width
            if threads > 1024 or registers > min(_MOST_REGISTERS, _REGISTERS // threads):
                continue
            # One set of rows has no others to keep in flight.
            if (not LEAST_COMPUTE_UNIT_THREADS <= threads * workgroups <= MOST_COMPUTE_UNIT_THREADS
                    if workgroups else
                    not unbounded or split > 1 or turns > 1 or flight != _ALONE):
                continue
            fields = {THREADS_PER_ROW: per_row, ROW_GROUPS: group, VECTOR_WIDTH: width,
                      ROWS_PER_WORKGROUP: turns * group,
                      WORKGROUPS_PER_COMPUTE_UNIT: workgroups,
                      PREFETCH: flight[1], UNROLL: flight[2], STAGES: flight[0],
                      WORKGROUPS_PER_ROW: split}
            if center.get(EARLY_START) or (not unbounded and starts_late(center)):
                fields[EARLY_START] = int(unbounded or not starts_late(fields))
            if center.get(ROW_SLICES):
                fields.update({ROW_SLICES: 0, COLUMN_TILE: 0})
            fields = {name: value for name, value in fields.items() if name in known}
            distance = (_distance(per_row, center[THREADS_PER_ROW])
                        + _distance(threads, home_threads)
                        + _grid_distance(workgroups, center[WORKGROUPS_PER_COMPUTE_UNIT])
                        + _distance(turns, home_turns, 0.7)
                        + _distance(split, center.get(WORKGROUPS_PER_ROW, 1))
                        + _flight_distance(flight, home))
            yield distance, fields


def sliced(shape: Size, known: Iterable[str], compute_units: int) -> list[dict[str, int]]:
    """What leaves row sums in parts, where rows are few and long: numbers of slices, for each of
    which the compiler has the other fields."""
    if ROW_SLICES not in known or shape.m > _FEW_ROWS * compute_units or shape.n < _LONG_ROW:
        return []
    return [{ROW_SLICES: slices} for slices in FIELDS[ROW_SLICES].tried if slices]


def grid(shape: Size, fields: Mapping[str, int], compute_units: int) -> int:
    """The workgroups of a launch on a chip of so many compute units (docs/runtime.md)."""
    count = -(-shape.m // max(1, fields[ROWS_PER_WORKGROUP]))
    if bound := fields[WORKGROUPS_PER_COMPUTE_UNIT]:
        count = min(count, bound * compute_units // fields.get(WORKGROUPS_PER_ROW, 1))
    return max(1, count)


def nearest(shape: Size, center: Mapping[str, int], wave: int, known: Iterable[str],
            compute_units: int, unbounded: bool = False) -> list[dict[str, int]]:
    """The schedules of the search ranges, those nearest to ``center`` first; each a set of fields
    to override. The center itself is not among them, and of those that lead to the same launch
    only the nearest is. The arguments are those of :func:`all_schedules` and the compute units
    of the chip."""
    ranked = sorted(all_schedules(shape, center, wave, known, unbounded),
                    key=lambda item: (item[0], sorted(item[1].items())))
    seen = set()
    near = []
    for distance, fields in ranked:
        launch = {**fields, ROWS_PER_WORKGROUP: grid(shape, fields, compute_units),
                  WORKGROUPS_PER_COMPUTE_UNIT: 0}
        key = tuple(sorted(launch.items()))
        if key not in seen and distance > 0:
            near.append(fields)
        seen.add(key)
    return near


def candidates(shape: Size, center: Mapping[str, int], wave: int, known: Iterable[str],
               compute_units: int, seed: int = 1, unbounded: bool = False) -> list[dict[str, int]]:
    """Those of :func:`nearest` in the order in which to try them where there is time for many:
    two are the nearest of those left, each third one is drawn from those that are farther
    away."""
    near = nearest(shape, center, wave, known, compute_units, unbounded)
    draw = random.Random(seed)
    order: list[dict[str, int]] = []
    while near:
        order += near[:2]
        del near[:2]
        if near:
            # Nearer ones are likelier: the distance of the drawn one falls off exponentially.
            place = min(int(draw.expovariate(8.0 / len(near))), len(near) - 1)
            order.append(near.pop(place))
    return order
