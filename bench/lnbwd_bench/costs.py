# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The compiler's cost model once more, over arrays, and the fit of its parameters to sweeps.

The terms are those of lib/Analysis/CostModel.cpp, in the same order and under the same names;
docs/cost-model.md explains them. test/Bench/test_costs.py checks that both give the same times.
"""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from lnbwd import schedule, schedule_space
from lnbwd._files import read_document
from lnbwd.operations import LAYER_NORM, LAYER_NORM_BWD, RMS_NORM, RMS_NORM_BWD

from . import sweeping

Values = Mapping[str, float]
Array = np.ndarray[Any, np.dtype[np.float64]]


class Program(NamedTuple):
    """What the model knows of a kind of program.

    Attributes:
        rows_read, rows_written: row blocks.
        vectors: that are read for all rows, and, of those, ``late_vectors`` that a row needs only
            behind its first sum.
        column_sums, row_sums: and how many of the latter wait one for the other, ``phases``.
        operations: of the region on an element, with ``functions`` among them.
    """

    rows_read: int
    rows_written: int
    vectors: int
    late_vectors: int
    column_sums: int
    row_sums: int
    phases: int
    operations: int
    functions: int


PROGRAMS = {
    LAYER_NORM_BWD: Program(2, 1, 1, 0, 2, 2, 1, 7, 0),
    RMS_NORM_BWD: Program(2, 1, 1, 0, 1, 1, 1, 6, 0),
    LAYER_NORM: Program(1, 1, 2, 2, 0, 3, 2, 5, 0), RMS_NORM: Program(1, 1, 1, 1, 0, 1, 1, 3, 0),
    "norm_backward": Program(4, 2, 1, 0, 3, 2, 1, 12, 0),
    "norm_forward": Program(2, 1, 2, 2, 0, 2, 2, 6, 0),
    "gelu_backward": Program(2, 1, 0, 0, 1, 0, 0, 9, 2),
    "rms_backward": Program(3, 1, 1, 0, 1, 1, 1, 8, 0),
    LAYER_NORM_BWD + sweeping.DX: Program(2, 1, 1, 0, 0, 2, 1, 6, 0),
    RMS_NORM_BWD + sweeping.DX: Program(2, 1, 1, 0, 0, 1, 1, 5, 0),
    "rms_forward": Program(2, 2, 1, 1, 0, 1, 1, 4, 0)}
"""By kind."""


def has_sums(kind: str) -> bool:
    """Whether a kind of program has column sums."""
    return PROGRAMS[kind].column_sums > 0


# What lib/Target/ChipInfo.cpp says of sm_90, and the constants of CostModel.cpp.
COMPUTE_UNITS, WAVE, SCHEDULERS, MEGAHERTZ = 132, 32, 4, 1980
REGISTERS_PER_SCHEDULER, REGISTER_GRANULE, MOST_REGISTERS = 512, 8, 255
COMPUTE_UNIT_THREADS, COMPUTE_UNIT_SHARED = 2048, 228 * 1024
RESERVED_SHARED, COMBINED_SHARE, CROWDING_BYTES, LINE = 1024, 0.75, 128 * 1024, 128
COPY_UNIT, PLACE_UNIT = 16, 32
CACHED_BYTES = 50e6
CLUSTER_PARTS = ((6, 16), (2, 18))
# Registers of a lane with which a scheduler holds so many waves, the most first.
REGISTER_STEPS = tuple(REGISTERS_PER_SCHEDULER // waves // REGISTER_GRANULE * REGISTER_GRANULE
                       for waves in range(COMPUTE_UNIT_THREADS // WAVE // SCHEDULERS, 1, -1))
REGISTER_ERRORS, SPILL_SCALE = (-6, 0, 6), 8
TURN_TOLERANCE = 0.0503
MOST_RESIDENT = 32

# Parameters that were fitted to what ptxas allots, and not to times.
OF_REGISTERS = frozenset((
    "registers", "element_registers", "sum_registers", "column_registers",
    "summed_column_registers", "widened_registers", "prefetched_registers", "unrolled_registers",
    "grouped_registers", "exchanged_registers", "staged_registers", "register_squeeze",
    "apart_registers", "apart_element_registers", "apart_column_registers",
    "sunk_registers", "sunk_element_registers", "sunk_phase_registers", "sunk_grouped_registers"))

# What was measured and is in no sweep, or set by scans: of grids without a bound, and of what
# persistent ones cost beside them.
MEASURED = frozenset(("late_us", "column_share", "apart_share", "apart_kib", "sunk_us",
                      "sunk_share", "sunk_exponent", "stay_share"))

# Bounds of the compiler's search, which no time depends on.
BOUNDS = frozenset(("apart_threads", "apart_columns", "sunk_columns", "apart_narrow_columns"))


# From this day on LayerNorm's forward pass keeps its vectors once where rows of 16 bits lie side by
# side. Until then such kernels took up to 74 registers more.
_VECTORS_KEPT_ONCE = "2026-11-22"
# The kernels of `sweeping.KERNELS` from which on workgroups share rows as evenly as copies allow,
# from which on those with one set of rows load vectors when they are needed, and from which on
# copies are put where they lie alike in memory.
_EVEN_SHARES, _SUNK_VECTORS, _LIKE_COPIES = 2, 3, 4


def _has_placed_copies(problem: Mapping[str, Any], fields: Mapping[str, int]) -> bool:
    """Whether staged rows are copied to other places than those behind each other: needsOffset of
    StageLayout.h."""
    size = problem["bytes_read"] // PROGRAMS[problem["kind"]].rows_read
    columns = schedule_space.shared_columns(problem["n"], fields[schedule.WORKGROUPS_PER_ROW],
                                            fields[schedule.VECTOR_WIDTH])
    if columns < problem["n"]:
        return (columns * size) % PLACE_UNIT != 0 or (problem["n"] * size) % PLACE_UNIT != 0
    copied = fields[schedule.ROW_GROUPS] * columns * size
    if (columns * size) % COPY_UNIT:
        return copied % COPY_UNIT != 0
    return copied % PLACE_UNIT != 0


def _is_of_old_kernel(document: Mapping[str, Any], problem: Mapping[str, Any],
                      values: Sequence[int]) -> bool:
    """Whether a schedule was timed when the compiler made another kernel of it."""
    fields = dict(zip(sweeping.FIELDS, values, strict=True))
    if (document["date"] < _VECTORS_KEPT_ONCE and problem["kind"] == LAYER_NORM
            and problem["dtype"] != "f32" and fields[schedule.ROW_GROUPS] > 1
            and fields[schedule.WORKGROUPS_PER_COMPUTE_UNIT]):
        return True
    if (document.get("kernels", 1) < _SUNK_VECTORS and PROGRAMS[problem["kind"]].late_vectors
            and not fields[schedule.WORKGROUPS_PER_COMPUTE_UNIT]
            and fields[schedule.THREADS_PER_ROW] > WAVE):
        return True
    if (document.get("kernels", 1) < _LIKE_COPIES and fields[schedule.STAGES]
            and _has_placed_copies(problem, fields)):
        return True
    # Workgroups that shared a row had whole turns of their lanes.
    split, width = fields[schedule.WORKGROUPS_PER_ROW], fields[schedule.VECTOR_WIDTH]
    if (document.get("kernels", 1) < _EVEN_SHARES and split > 1
            and problem["n"] % (split * width)):
        chunk = fields[schedule.THREADS_PER_ROW] * width
        return bool(-(-problem["n"] // (split * chunk)) * chunk
                    != schedule_space.shared_columns(problem["n"], split, width))
    return False


def read(paths: Iterable[pathlib.Path]) -> list[dict[str, Any]]:
    """The problems of files that sweep.py wrote, before there were some of the fields perhaps:
    those have their defaults then. Schedules of which the compiler makes other kernels now are left
    out."""
    problems = []
    for path in paths:
        document = read_document(path, sweeping.FORMAT, sweeping.VERSION)
        known = tuple(document["fields"])
        if known != sweeping.FIELDS[:len(known)]:
            raise ValueError(f"{path}: expected the fields {', '.join(sweeping.FIELDS)}, or the "
                             "first of them")
        since = [schedule.FIELDS[name].default or 0 for name in sweeping.FIELDS[len(known):]]
        for problem in document["problems"]:
            candidates = [{**candidate, "schedule": [*candidate["schedule"], *since]}
                          for candidate in problem["candidates"]]
            kept = [candidate for candidate in candidates
                    if not _is_of_old_kernel(document, problem, candidate["schedule"])]
            problems.append({**problem, "candidates": kept, "file": path.name})
    return problems


class Schedules:
    """All schedules of whole rows that were timed and are still used, and what follows from them
    alone: one array for each quantity. ``problem`` is the index of the problem that each belongs
    to."""

    def __init__(self, problems: Sequence[Mapping[str, Any]], registers: Values) -> None:
        rows = []
        for index, problem in enumerate(problems):
            program = PROGRAMS[problem["kind"]]
            is_wide = problem["dtype"] == "f32" or problem["kind"].startswith("norm_")
            for candidate in problem["candidates"]:
                fields = dict(zip(sweeping.FIELDS, candidate["schedule"], strict=True))
                if (fields[schedule.COLUMN_TILE] or fields[schedule.RELOAD]
                        or fields[schedule.ROW_SLICES]):
                    continue
                # The sweeps are of a time when such clusters started early.
                if (fields[schedule.EARLY_START] and has_sums(problem["kind"])
                        and schedule_space.starts_late(fields)):
                    continue
                rows.append((index, candidate["us"], candidate["rounds"], problem["m"],
                             problem["n"], problem["bytes_read"], problem["bytes_written"],
                             *program, program.vectors * (4 if is_wide else 2),
                             program.late_vectors * (4 if is_wide else 2), *fields.values()))
        columns = iter(np.array(rows, dtype=np.float64).T)
        self.problem = next(columns).astype(int)
        self.count = len(problems)
        (self.us, self.rounds, self.rows, self.length, self.bytes_read, self.bytes_written,
         self.rows_read, self.rows_written, self.columns, _, self.sums,
         self.row_sums, self.phases, self.operations, self.functions, self.column_bytes,
         self.late_column_bytes) = (next(columns) for _ in range(17))
        fields = dict(zip(sweeping.FIELDS, columns, strict=True))
        self.threads_per_row = fields[schedule.THREADS_PER_ROW]
        self.groups = fields[schedule.ROW_GROUPS]
        self.width, self.split = fields[schedule.VECTOR_WIDTH], fields[schedule.WORKGROUPS_PER_ROW]
        self.per_compute_unit = fields[schedule.WORKGROUPS_PER_COMPUTE_UNIT]
        self.is_unbounded = self.per_compute_unit == 0
        self.stages = fields[schedule.STAGES]
        self.is_late = fields[schedule.EARLY_START] == 0
        self.is_early = (fields[schedule.EARLY_ROWS] > 0) & (fields[schedule.EARLY_NEXT] > 0)
        self._fields = fields
        self._shape(fields)
        self._registers(registers)
        self._residency(fields, registers)

    def _shape(self, fields: Mapping[str, Array]) -> None:
        self.threads = self.threads_per_row * self.groups
        self.waves = np.ceil(self.threads / WAVE)
        self.wave_share = np.ceil(self.waves / SCHEDULERS)
        self.waves_per_row = np.ceil(self.threads_per_row / WAVE)
        self.part = np.vectorize(schedule_space.shared_columns, otypes=[float])(
            self.length.astype(int), self.split.astype(int), self.width.astype(int))
        self.chunks = np.ceil(self.part / (self.threads_per_row * self.width))
        self.elements = self.chunks * self.width
        self.is_staged = self.stages > 0
        self.is_prefetched = ~self.is_staged & (fields[schedule.PREFETCH] > 0)
        self.is_unrolled = self.is_prefetched & (fields[schedule.UNROLL] == 2)
        self.is_exchanged = (self.threads_per_row > WAVE) | (self.split > 1)
        self.steps = np.log2(np.minimum(self.threads_per_row, WAVE))
        self.row_bytes = self.groups * self.part * self.bytes_read
        read_bytes = self.bytes_read / self.rows_read
        self.is_shifted = self.is_staged & (
            ((self.part * read_bytes) % COPY_UNIT != 0) | self._shares_apart(read_bytes))
        read = self.rows_read * self._lines(self.bytes_read / self.rows_read)
        written = self.rows_written * self._lines(
            self.bytes_written / np.maximum(self.rows_written, 1))
        self.lines = self.chunks * (np.where(self.is_staged, 0, read) + written)

    def _shares_apart(self, element_bytes: Array) -> Array:
        """Whether workgroups share rows that do not all begin where a copy can."""
        return (self.split > 1) & ((self.length * element_bytes) % COPY_UNIT != 0)

    def _lines(self, element_bytes: Array) -> Array:
        lanes = np.minimum(self.threads_per_row, WAVE)
        share = lanes * self.width * element_bytes / LINE
        is_apart = ((self.part * element_bytes) % LINE != 0) | self._shares_apart(element_bytes)
        return np.asarray(WAVE / lanes * np.maximum(np.ceil(share), share + is_apart))

    def _registers(self, p: Values) -> None:
        # Without rows behind it in flight a row is read when it is needed: in parts.
        per_packed = np.where(self.is_unrolled, p["unrolled_registers"],
                              np.where(self.is_prefetched, p["prefetched_registers"], 0))
        needed = (
            p["registers"]
            + self.elements * (
                p["element_registers"] + p["sum_registers"] * self.sums
                + np.where(self.sums > 0, p["summed_column_registers"], p["column_registers"])
                * self.columns
                + per_packed * self.bytes_read / 4
                + p["widened_registers"] * (self.bytes_read == 2 * self.rows_read)
                * self.rows_read
                + p["grouped_registers"] * (self.groups > 1))
            + p["exchanged_registers"] * self.is_exchanged
            + p["staged_registers"] * (self.is_staged & ~self.is_shifted))
        # Nothing goes from row to row, and vectors stay as they were loaded until needed, or come
        # when they are.
        apart = p["apart_registers"] + self.elements * (
            p["apart_element_registers"] + p["apart_column_registers"] * self.column_bytes / 4)
        self.loaded_late_bytes = self.late_column_bytes * (
            self.is_unbounded & (self.threads_per_row > WAVE))
        sunk = p["sunk_registers"] + self.elements * (
            p["sunk_element_registers"]
            + p["sunk_phase_registers"] * np.maximum(0, self.phases - 1)
            + p["sunk_grouped_registers"] * (self.groups > 1))
        needed = np.where(self.is_unbounded,
                          np.where(self.loaded_late_bytes > 0, sunk, apart), needed)
        self.needed = np.maximum(needed, 24)
        self.limit = np.minimum(
            np.floor(REGISTERS_PER_SCHEDULER / self.wave_share / REGISTER_GRANULE)
            * REGISTER_GRANULE, MOST_REGISTERS)
        self.spilling = np.log1p(np.exp((self.needed - self.limit) / SPILL_SCALE))

    def _residency(self, fields: Mapping[str, Array], p: Values) -> None:
        self.stage_bytes = self.stages * self.row_bytes
        shared = (RESERVED_SHARED + self.stage_bytes
                  + np.where(self.is_exchanged, 2 * 4 * self.waves * self.row_sums * self.split, 0)
                  + np.where(self.groups > 1,
                             self.chunks * self.threads_per_row * self.width
                             * (4 * self.sums * self.groups * COMBINED_SHARE + self.column_bytes),
                             0))
        by_shared = np.maximum(1, np.floor(COMPUTE_UNIT_SHARED / shared))
        by_threads = np.floor(COMPUTE_UNIT_THREADS / self.threads)
        sets = np.ceil(self.rows / fields[schedule.ROWS_PER_WORKGROUP])
        most = np.where(self.is_unbounded, sets, np.maximum(1, np.minimum(
            sets, np.floor(self.per_compute_unit * COMPUTE_UNITS / self.split))))
        together = np.where(self.is_unbounded, MOST_RESIDENT, self.per_compute_unit)
        # A kernel that loads vectors late keeps what it has, and so do rows of 32 bits that
        # workgroups share.
        is_squeezed = (self.loaded_late_bytes == 0) & (
            (self.split == 1) | (self.bytes_read <= 2 * self.rows_read))
        # The estimate of the registers is off by a few: the mean over such errors.
        zero = np.zeros_like(self.us)
        self.grid, self.resident, self.whole, self.rest = zero, zero, zero, zero
        for error in REGISTER_ERRORS:
            needed = self.needed + error
            for step in REGISTER_STEPS:
                needed = np.where(is_squeezed & (needed > step)
                                  & (needed <= p["register_squeeze"] * step), step, needed)
            taken = REGISTER_GRANULE * np.ceil(
                np.maximum(24, np.minimum(needed, self.limit)) / REGISTER_GRANULE)
            by_registers = np.maximum(1, np.floor(
                SCHEDULERS * np.floor(REGISTERS_PER_SCHEDULER / taken) / self.waves))
            room = np.minimum.reduce([by_registers, by_threads, by_shared, together])
            clusters = np.maximum(1, np.sum(
                [count * np.floor(units * room / self.split) for count, units in CLUSTER_PARTS],
                axis=0))
            is_split = self.split > 1
            grid = np.where(is_split, np.minimum(most, clusters), most)
            workgroups = grid * self.split
            resident = np.minimum(room, np.ceil(workgroups / COMPUTE_UNITS))
            waves = workgroups / (COMPUTE_UNITS * resident)
            waves = np.where(is_split, np.minimum(1, waves), waves)
            share = 1 / len(REGISTER_ERRORS)
            self.grid = self.grid + share * grid
            self.resident = self.resident + share * resident
            self.whole = self.whole + share * np.maximum(waves, 1)
            self.rest = self.rest + share * np.where(waves < 1, 0, np.ceil(waves) - waves)
        self.workgroups = self.grid * self.split
        self.flight_kib = self.resident * self.row_bytes / 1024
        self.turns = np.ceil(self.rows / (self.grid * self.groups) - TURN_TOLERANCE)

    def describe(self, index: int) -> str:
        """The fields of a schedule, for people."""
        return ", ".join(f"{name} = {values[index]:.0f}" for name, values in self._fields.items()
                         if values[index] != (schedule.FIELDS[name].default or 0))

    def each_problem(self, values: Array) -> Array:
        """The sum of values of its schedules, for each problem."""
        return np.asarray(np.bincount(self.problem, values, minlength=self.count))

    def best(self) -> Array:
        """The least time of each problem."""
        result: Array = np.full(self.count, np.inf)
        np.minimum.at(result, self.problem, self.us)
        return result


def overlap(exponent: float, *times: Array) -> Array:
    """The longer of times that overlap, and a bit more."""
    longest: Array = np.maximum.reduce(times)
    total: Array = sum(((time / longest) ** exponent for time in times), np.zeros_like(longest))
    return longest * total ** (1 / exponent)


def predict(s: Schedules, p: Values) -> Array:
    """Microseconds of each schedule."""
    waves = s.whole + s.rest * min(p["wave_share"], 1)
    # Without row sums nothing waits within a turn, and lines are what a wave waits for.
    is_summed = s.row_sums > 0
    turn_us = np.where(is_summed, p["turn_us"], p["independent_turn_us"])
    line_instructions = np.where(is_summed, p["line_instructions"],
                                 p["independent_line_instructions"])
    # Instructions of a wave for its part of a row.
    instructions = (
        p["row_instructions"] + p["shuffle_instructions"] * s.steps * s.row_sums
        + p["access_instructions"] * s.chunks * (s.rows_read + s.rows_written)
        + line_instructions * s.lines
        + s.elements * (p["element_instructions"] * (s.operations + s.sums + s.row_sums)
                        + p["function_instructions"] * s.functions
                        + p["shifted_instructions"] * s.is_shifted * s.rows_read))
    instructions = instructions * (1 + p["spill_share"] * s.spilling)

    # The work of one turn, and what it waits for.
    work = turn_us + p["issue_share"] * instructions * s.wave_share / MEGAHERTZ
    work = work + s.phases * (s.is_exchanged * p["exchanged_us"] * s.waves_per_row * s.split
                              + (s.split > 1) * p["cluster_us"])
    fetch = p["fetched_us"] * s.row_bytes / 1024
    staged = p["staged_us"] + p["copy_us"] * s.groups * s.rows_read + fetch
    loaded = p["load_us"] + fetch
    turn = np.where(
        s.is_staged,
        overlap(p["turn_exponent"], work, (staged + work) / np.maximum(s.stages, 1)),
        np.where(s.is_prefetched,
                 overlap(p["turn_exponent"], work,
                         loaded * np.where(s.is_unrolled, p["unrolled_share"], 1)),
                 work + loaded))
    # Where each set of rows has a workgroup of its own, others start while it waits.
    is_sunk = s.loaded_late_bytes > 0
    share = np.where(is_sunk, p["sunk_share"], np.where(s.is_unbounded, p["apart_share"], 1))
    waiting = waves * s.turns * turn * share

    busy = np.minimum(s.workgroups, COMPUTE_UNITS)
    issuing = (s.rows * s.split * s.threads_per_row / WAVE * instructions
               / (busy * SCHEDULERS * MEGAHERTZ))

    each = s.workgroups / COMPUTE_UNITS
    bytes_moved = s.rows * (s.bytes_read + s.bytes_written)
    crowd = (p["crowding"] * s.resident * np.minimum(1, each) * s.stage_bytes / CROWDING_BYTES
             + ~s.is_unbounded * p["stream_share"]
             * np.log2(np.maximum(1, np.minimum(s.resident, each)))
             + (~s.is_unbounded & (s.sums == 0) & (s.phases == 1)) * p["stay_share"]
             * np.maximum(0, 1 - CACHED_BYTES / (s.length * bytes_moved)))
    moved = (s.length * (bytes_moved
                         + s.is_unbounded * p["column_share"] * s.grid
                         * (s.column_bytes - s.loaded_late_bytes))
             / (p["bandwidth_tb_per_s"] * 1e6) * (1 + crowd)
             # What comes in a time is what is on the way, and nothing is loaded ahead.
             * np.where(s.is_unbounded, np.maximum(1, p["apart_kib"] / s.flight_kib), 1))

    limits = (moved, issuing, waiting, p["dispatch_us"] * each)
    # Rows that come early fill the stages while the kernel waits.
    start = (p["workgroup_us"] + p["thread_us"] * s.wave_share
             + (s.is_staged & ~s.is_early) * p["stage_us"]
             * np.log2(1 + np.minimum(s.stages, s.turns))
             + s.is_unrolled * p["unrolled_us"] + (s.split > 1) * p["cluster_start_us"])
    total = (p["launch_us"] + s.is_late * p["late_us"]
             + is_sunk * p["sunk_us"] * s.phases
             + np.where(s.is_unbounded, 1, waves) * start
             + np.where(is_sunk, overlap(p["sunk_exponent"], *limits),
                        overlap(p["limit_exponent"], *limits)))
    combined = (p["finalize_us"]
                + p["combine_us"] * s.elements * s.sums * np.log2(s.groups + 1)
                + 2 * 4 * s.sums * s.length * s.grid / (p["partial_bandwidth_tb_per_s"] * 1e6))
    return np.asarray(total + (s.sums > 0) * combined)


# The fit ----------------------------------------------------------------------------------------

# How sharply the softened choice prefers a shorter prediction, as a share of the time; how far
# from the best a schedule may be to count half; the weight of the softened regret beside the
# residuals, and of the residuals with the problem's own part in them.
SHARPNESS, NEAR, REGRET_WEIGHT, WHOLE_WEIGHT = 0.03, 0.15, 0.5, 0.2
FEW_ROUNDS, FEW_WEIGHT = 3, 0.7
# 0 where each schedule counts the same, 1 where each problem does.
EVEN = 0.75


def weights(s: Schedules) -> Array:
    """What each schedule counts: those far from the best of their problem, or timed a few times
    only, count less; and a problem with many schedules counts not much more than one with few."""
    slower = s.us / s.best()[s.problem] - 1
    weight = np.where(s.rounds <= FEW_ROUNDS, FEW_WEIGHT, 1) / (1 + (slower / NEAR) ** 2)
    total = s.each_problem(weight)[s.problem]
    return np.asarray(weight * (total.max() / total) ** EVEN)


def loss(s: Schedules, weight: Array, predicted: Array, sharpness: float, regret_weight: float,
         ) -> tuple[float, Array]:
    """What is minimised, and its derivatives by the logarithms of the predictions."""
    logarithm = np.log(predicted)
    error = logarithm - np.log(s.us)
    has_any = s.each_problem(weight) > 0
    mean = s.each_problem(weight * error) / np.where(has_any, s.each_problem(weight), 1)
    apart = error - mean[s.problem]
    total = weight.sum()
    value = float((weight * (WHOLE_WEIGHT * error**2 + apart**2)).sum() / total)
    slope = 2 * weight * (WHOLE_WEIGHT * error + apart) / total
    # The expected regret of a choice with probabilities exp(-time / sharpness).
    exponent = -logarithm / sharpness
    most = np.full(s.count, -np.inf)
    np.maximum.at(most, s.problem, exponent)
    share = np.exp(exponent - most[s.problem])
    share = share / s.each_problem(share)[s.problem]
    lost = np.log(s.us / s.best()[s.problem])
    expected = s.each_problem(share * lost)
    count = has_any.sum()
    value += regret_weight * float((expected * has_any).sum() / count)
    slope = slope + (regret_weight * has_any[s.problem] * share
                     * (expected[s.problem] - lost) / sharpness / count)
    return value, slope


def fit(s: Schedules, start: Values, keep: Array | None = None, steps: int = 40,
        sharpness: float = SHARPNESS, regret_weight: float = REGRET_WEIGHT,
        say: Callable[[str], None] = lambda _: None) -> dict[str, float]:
    """Parameters that lower the loss, from ``start``, by damped Newton steps in their logarithms.

    Args:
        s: the schedules.
        start: parameters; those of the registers and of measurements stay.
        keep: a weight for each schedule, 0 to leave it out.
        steps: at most so many.
        sharpness, regret_weight: see above.
        say: is told of each step.
    """
    weight: Array = weights(s) * (1 if keep is None else keep)
    parameters = dict(start)
    names = [name for name in parameters if name not in OF_REGISTERS | MEASURED | BOUNDS]
    predicted = predict(s, parameters)
    value, slope = loss(s, weight, predicted, sharpness, regret_weight)
    damping = 1e-3
    each = np.maximum(s.each_problem(weight), 1e-12)
    for step in range(steps):
        jacobian = np.array([
            np.log(predict(s, {**parameters, name: 1.001 * parameters[name]}) / predicted) / 0.001
            for name in names])
        apart = jacobian - np.array([s.each_problem(weight * row) / each
                                     for row in jacobian])[:, s.problem]
        hessian = 2 * (WHOLE_WEIGHT * (jacobian * weight) @ jacobian.T
                       + (apart * weight) @ apart.T) / weight.sum()
        gradient = jacobian @ slope
        before = value
        for _ in range(12):
            change = -np.linalg.solve(
                hessian + damping * np.diag(np.diag(hessian)) + 1e-6 * np.eye(len(names)), gradient)
            tried = {**parameters, **{
                name: parameters[name] * float(np.exp(np.clip(part, -0.5, 0.5)))
                for name, part in zip(names, change, strict=True)}}
            tried_prediction = predict(s, tried)
            tried_value, tried_slope = loss(s, weight, tried_prediction, sharpness, regret_weight)
            if tried_value < value:
                parameters, predicted, value, slope = (tried, tried_prediction, tried_value,
                                                       tried_slope)
                damping = max(damping / 3, 1e-5)
                break
            damping *= 4
        say(f"step {step}: {value:.6f}")
        if before - value < 1e-6:
            break
    return parameters


def regrets(s: Schedules, predicted: Array, least: int = 5) -> Array:
    """For each problem the time of the schedule that is predicted to be the fastest over the least
    time, or nan with fewer than ``least`` schedules."""
    order = np.lexsort((predicted, s.problem))
    found, first = np.unique(s.problem[order], return_index=True)
    result = np.full(s.count, np.nan)
    result[found] = (s.us / s.best()[s.problem])[order][first]
    result[np.bincount(s.problem, minlength=s.count) < least] = np.nan
    return result


def cross_predicted(s: Schedules, start: Values, folds: int = 4, **options: Any) -> Array:
    """Microseconds of each schedule by parameters that were fitted to other problems."""
    result = np.empty_like(s.us)
    for fold in range(folds):
        held = s.problem % folds == fold
        result[held] = predict(s, fit(s, start, (~held).astype(float), **options))[held]
    return result


def worst(s: Schedules, predicted: Array, count: int) -> list[tuple[int, int, int]]:
    """The problems with the largest regrets: each with its schedule that is predicted to be the
    fastest, and the one that is."""
    regret = np.nan_to_num(regrets(s, predicted))
    found = []
    for problem in np.argsort(-regret, kind="stable")[:count]:
        own = np.flatnonzero(s.problem == problem)
        found.append((int(problem), int(own[predicted[own].argmin()]),
                      int(own[s.us[own].argmin()])))
    return found
