# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which schedules are worth a try: those nearest to the model's choice.

The search ranges are here and nowhere else. A field that the compiler has and this file does not
know stays as the model has it.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterable, Iterator, Mapping

from lnbwd_bench.shapes import Shape

# Values of the attribute's optional fields that are not printed.
_DEFAULTS = {"column_tile": 0, "prefetch": 0, "unroll": 1, "stages": 0, "early_start": 0,
             "reload": 0, "workgroups_per_row": 1}

_GROUP_THREADS = (32, 64, 96, 128, 192, 256, 384, 512, 640, 768, 1024)
_WORKGROUPS = (1, 2, 3, 4, 6, 8, 12, 16)
_SPLITS = (1, 2, 4, 8, 16)
_ROW_TURNS = (1, 2, 4, 8, 16)
# How rows are kept in flight: (stages, prefetch, unroll).
_FLIGHTS = ((0, 0, 1), (0, 1, 1), (0, 1, 2), (2, 1, 1), (3, 1, 1), (4, 1, 1), (5, 1, 1), (6, 1, 1),
            (8, 1, 1))
# Columns of one lane, and idle lanes over busy ones, beyond which nothing is good.
_MOST_COLUMNS, _MOST_IDLE = 64, 0.34
_LEAST_THREADS, _MOST_THREADS = 128, 2048
# Registers of a lane: those that it has, and about how many it takes beside its columns and for
# each of them. More would spill, which the compiler would find out slowly.
_REGISTERS, _MOST_REGISTERS = 64 * 1024, 255
_FIXED_REGISTERS, _COLUMN_REGISTERS = 24, 5


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


def _distance(one: int, other: int, step: float = 1.0) -> float:
    """How far two counts are apart, in doublings."""
    return step * abs(math.log2(max(one, 0.5)) - math.log2(max(other, 0.5)))


def _flight_distance(one: tuple[int, int, int], other: tuple[int, int, int]) -> float:
    if one == other:
        return 0.0
    if one[0] and other[0]:
        return 0.5 * abs(one[0] - other[0])
    return 1.0


def all_schedules(shape: Shape, center: Mapping[str, int], wave: int,
                  known: Iterable[str]) -> Iterator[tuple[float, dict[str, int]]]:
    """Every schedule of the search ranges that is not hopeless, with its distance from
    ``center``: about one for each choice that differs.

    Args:
        shape: the problem.
        center: the fields of the schedule to search around.
        wave: lanes of a wave.
        known: the fields that the compiler has.
    """
    known = set(known)
    center = {**{name: value for name, value in _DEFAULTS.items() if name in known}, **center}
    width = center["vector_width"]
    home = (center["stages"], center["prefetch"], center["unroll"]) if "stages" in center else \
        (0, center.get("prefetch", 0), center.get("unroll", 1))
    home_turns = max(1, center["rows_per_workgroup"] // max(1, center["row_groups"]))
    home_threads = center["threads_per_row"] * center["row_groups"]
    splits = _SPLITS if "workgroups_per_row" in known else (1,)
    pairs = [(split, per_row) for split in splits for per_row in _threads_per_row(
        wave, shape.n / split, width, center["threads_per_row"])]
    for split, per_row in pairs:
        if split > 1 and per_row % wave:
            continue
        columns = shape.n / split
        chunks = math.ceil(columns / (per_row * width))
        if (columns % width or chunks * width > _MOST_COLUMNS
                or chunks * width * per_row / columns > 1 + _MOST_IDLE):
            continue
        groups = {1 << max(0, threads // per_row).bit_length() - 1 for threads in _GROUP_THREADS
                  if threads >= per_row}
        for group, workgroups, turns, flight in itertools.product(
                sorted(groups), _WORKGROUPS, _ROW_TURNS, _FLIGHTS):
            threads = per_row * group
            registers = _FIXED_REGISTERS + _COLUMN_REGISTERS * chunks * width
            if (threads > 1024 or registers > min(_MOST_REGISTERS, _REGISTERS // threads)
                    or not _LEAST_THREADS <= threads * workgroups <= _MOST_THREADS):
                continue
            fields = {"threads_per_row": per_row, "row_groups": group, "vector_width": width,
                      "rows_per_workgroup": turns * group,
                      "workgroups_per_compute_unit": workgroups,
                      "prefetch": flight[1], "unroll": flight[2], "stages": flight[0],
                      "workgroups_per_row": split}
            fields = {name: value for name, value in fields.items() if name in known}
            distance = (_distance(per_row, center["threads_per_row"])
                        + _distance(threads, home_threads)
                        + _distance(workgroups, center["workgroups_per_compute_unit"])
                        + _distance(turns, home_turns, 0.7)
                        + _distance(split, center.get("workgroups_per_row", 1))
                        + _flight_distance(flight, home))
            yield distance, fields


def grid(shape: Shape, fields: Mapping[str, int], compute_units: int) -> int:
    """The workgroups of a launch on a chip of so many compute units (docs/abi.md)."""
    return max(1, min(-(-shape.m // max(1, fields["rows_per_workgroup"])),
                      fields["workgroups_per_compute_unit"] * compute_units))


def candidates(shape: Shape, center: Mapping[str, int], wave: int, known: Iterable[str],
               compute_units: int, seed: int = 1) -> list[dict[str, int]]:
    """The schedules of the search ranges, in the order in which to try them; each a set of fields
    to override. Two are the nearest to ``center`` of those left, each third one is drawn from
    those that are farther away. The choice of the model itself is not among them, and of those
    that lead to the same launch only the nearest is."""
    ranked = sorted(all_schedules(shape, center, wave, known),
                    key=lambda item: (item[0], sorted(item[1].items())))
    seen = set()
    near = []
    for distance, fields in ranked:
        launch = {**fields, "rows_per_workgroup": grid(shape, fields, compute_units),
                  "workgroups_per_compute_unit": 0}
        key = tuple(sorted(launch.items()))
        if key not in seen and distance > 0:
            near.append(fields)
        seen.add(key)
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


def overrides(fields: Mapping[str, int]) -> str:
    """As the compiler's option ``schedule`` takes them."""
    return ",".join(f"{name}={value}" for name, value in fields.items())
