# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The compiler's model of turns once more, over arrays, for the fit to predicted times.

The terms are those of lib/Analysis/TurnModel.cpp, in the same order; docs/cost-model.md explains
them. test/Bench/test_turns.py checks that both give the same times. All problems are LayerNorm's
backward pass, on a chip of COMPUTE_UNITS.
"""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from lnbwd import schedule
from lnbwd._files import read_document

from .costs import overlap
from .shapes import ELEMENT_BYTES

Values = Mapping[str, float]
Array = np.ndarray[Any, np.dtype[np.float64]]

FORMAT, VERSION = "lnbwd-predicted-schedules", 1
FIELDS = (schedule.THREADS_PER_ROW, schedule.ROW_GROUPS, schedule.VECTOR_WIDTH,
          schedule.ROWS_PER_WORKGROUP, schedule.WORKGROUPS_PER_COMPUTE_UNIT, schedule.PREFETCH,
          schedule.UNROLL)
"""The fields of a schedule, in the order of the files."""

# What lib/Chips/Chips.json says of gfx942, and the constants of TurnModel.cpp.
COMPUTE_UNITS, WAVE, MEGAHERTZ = 304, 64, 2100
SIMDS, ISSUE_CLOCKS, LINE, LINE_NUMBERS, UNALIGNED_PARTIALS = 4, 4, 128, 32, 5 / 3
REGISTERS, REGISTER_GRANULE, SPARE_REGISTERS = 512 * 64 * 4, 8, 4
COMPUTE_UNIT_THREADS, COMPUTE_UNIT_SHARED = 2048, 64 * 1024
FIXED_REGISTERS, LIVE, LIVE_UNROLLED, LIVE_WIDENED = 24, 2, 2, 2
COMBINE_RADIX, COMBINE_BYTES = 8, 32 * 1024
# Of the program: row blocks read, all of them, sums over columns and rows, row scalars, and
# operations on an element.
READ, BLOCKS, SUMS, ROW_SUMS, SCALARS, OPERATIONS = 2, 3, 2, 2, 2, 7


def read(paths: Iterable[pathlib.Path]) -> list[dict[str, Any]]:
    """The problems of files of predicted times."""
    problems = []
    for path in paths:
        document = read_document(path, FORMAT, VERSION)
        if tuple(document["fields"]) != FIELDS:
            raise ValueError(f"{path}: expected the fields {', '.join(FIELDS)}")
        problems += document["problems"]
    return problems


class Schedules:
    """All schedules, and what follows from them: one array for each quantity. ``problem`` is the
    index of the problem that each belongs to."""

    def __init__(self, problems: Sequence[Mapping[str, Any]]) -> None:
        rows = [(index, problem["m"], problem["n"], ELEMENT_BYTES[problem["dtype"]],
                 *candidate["schedule"], candidate["us"])
                for index, problem in enumerate(problems) for candidate in problem["candidates"]]
        columns = np.array(rows, dtype=np.float64).T
        self.problem, self.count = columns[0].astype(int), len(problems)
        (self.rows, self.length, self.bytes, self.threads_per_row, self.groups, self.width,
         self.least_rows, self.per_unit, self.prefetch, self.unroll, self.us) = columns[1:]
        self.chunks = np.ceil(self.length / (self.threads_per_row * self.width))
        self.elements = self.chunks * self.width
        self.threads = self.threads_per_row * self.groups
        self.waves = np.ceil(self.threads / WAVE)
        self.is_exchanged = self.threads_per_row > WAVE
        self.workgroups = np.minimum(np.ceil(self.rows / self.least_rows),
                                     self.per_unit * COMPUTE_UNITS)
        self.busy_units = np.minimum(self.workgroups, COMPUTE_UNITS)
        self.of_unit = np.ceil(self.workgroups / COMPUTE_UNITS)
        room = self._room()
        self.together = np.minimum(self.of_unit, room)
        self.rounds = np.ceil(self.of_unit / room)
        self.sets = np.ceil(self.rows / (self.groups * self.workgroups))
        self.sets_of_turn = np.where(self.prefetch > 0, self.unroll, 1)
        self.turns = self.rounds * np.ceil(self.sets / self.sets_of_turn)
        lines = SCALARS * np.maximum(1, self.groups / LINE_NUMBERS) + READ * (
            (self.groups * self.length * self.bytes) % LINE != 0)
        set_bytes = self.groups * self.length * BLOCKS * self.bytes + lines * LINE
        self.bytes_of_unit = set_bytes * np.minimum(self.of_unit * self.sets,
                                                    self.rows / self.groups)
        self.unaligned = np.where(self.length % LINE_NUMBERS != 0, UNALIGNED_PARTIALS, 1)

    def _room(self) -> Array:
        """Workgroups that a compute unit has room for, by the estimate of ScheduleLimits.cpp."""
        element_bits = 8 * np.maximum(self.bytes, 4 / self.width)
        held = np.where(self.prefetch > 0, 2, self.unroll)
        packed = np.ceil((READ * element_bits * held + element_bits) * self.elements / 32)
        live = (LIVE + LIVE_UNROLLED * ((self.unroll == 2) & (self.prefetch > 0))
                + LIVE_WIDENED * (self.bytes < 4))
        registers = FIXED_REGISTERS + (SUMS + live) * self.elements + packed
        self.registers = registers
        registers = REGISTER_GRANULE * np.ceil((registers + SPARE_REGISTERS) / REGISTER_GRANULE)
        chunk = self.threads_per_row * self.width
        radix = np.full_like(self.us, COMBINE_RADIX)
        for _ in range(2):
            slots = self.groups - np.ceil(self.groups / radix)
            radix = np.where((radix > 2) & (4 * SUMS * chunk * slots > COMBINE_BYTES),
                             radix / 2, radix)
        slots = self.groups - np.ceil(self.groups / radix)
        shared = (2 * 4 * self.waves * ROW_SUMS * self.is_exchanged + 4 * SUMS * slots * chunk
                  + (self.groups > 1) * self.chunks * chunk * self.bytes)
        return np.maximum(1, np.minimum.reduce([
            np.floor(REGISTERS / (registers * self.threads)),
            np.floor(COMPUTE_UNIT_THREADS / self.threads),
            np.where(shared > 0, np.floor(COMPUTE_UNIT_SHARED / np.maximum(shared, 1)), np.inf)]))

    def best(self) -> Array:
        """The least time of each problem."""
        result = np.full(self.count, np.inf)
        np.minimum.at(result, self.problem, self.us)
        return result


def predict(s: Schedules, p: Values) -> Array:
    """Microseconds of each schedule."""
    instructions = p["row_instructions"] + s.elements * np.where(
        s.bytes < 4, p["narrow_instructions"], p["wide_instructions"]) * (
            OPERATIONS + SUMS + ROW_SUMS)
    instructions = instructions + p["moved_instructions"] * np.maximum(
        0, s.registers - p["reached_registers"])
    issued = instructions * ISSUE_CLOCKS / MEGAHERTZ
    issuing = s.rounds * s.sets * np.ceil(s.waves * s.together / SIMDS) * issued
    moved = s.bytes_of_unit * np.maximum(s.busy_units / (p["bandwidth_tb_per_s"] * 1e6),
                                         1 / (p["unit_bandwidth_tb_per_s"] * 1e6))
    work = p["turn_us"] + s.is_exchanged * p["exchange_us"] + p["issue_share"] * issued
    comes = p["load_us"] + moved / s.turns
    turn = np.where(s.prefetch > 0, overlap(p["turn_exponent"], s.sets_of_turn * work, comes),
                    work * s.together ** -p["beside_exponent"] + comes)
    end = work + (s.groups > 1) * (p["combine_us"] * np.log2(s.groups)
                                   + p["combined_us"] * s.elements)
    total = (p["launch_us"] + p["element_us"] * s.elements + p["wave_us"] * s.of_unit * s.waves
             + p["unrolled_us"] * (s.sets_of_turn - 1)
             + overlap(p["limit_exponent"], issuing, s.turns * turn)
             + np.maximum(0, end - p["drained_share"] * moved / s.turns))
    row = 4 * SUMS * s.length
    return np.asarray(total + s.workgroups * (
        row / (p["partial_write_tb_per_s"] * 1e6)
        + s.unaligned * np.maximum(p["partial_us"], row / (p["partial_read_tb_per_s"] * 1e6))))


# How far from the best a schedule may be to count half; the weight of a problem's own part in the
# residuals beside what is left of them; 0 where each schedule counts the same, 1 where each problem
# does; exponents, at most.
NEAR, WHOLE_WEIGHT, EVEN, MOST_EXPONENT = 0.12, 0.15, 0.75, 12.0
EXPONENTS = frozenset(("limit_exponent", "turn_exponent", "beside_exponent"))


def fit(s: Schedules, start: Values, keep: Array | None = None, steps: int = 40,
        say: Callable[[str], None] = lambda _: None) -> dict[str, float]:
    """Parameters by least squares of the logarithms, from ``start``; ``keep`` is a weight for each
    schedule, 0 to leave it out."""
    weight = 1 / (1 + ((s.us / s.best()[s.problem] - 1) / NEAR) ** 2)
    weight = weight / np.bincount(s.problem, weight, minlength=s.count)[s.problem] ** EVEN
    weight = weight * (1 if keep is None else keep)
    total = np.maximum(np.bincount(s.problem, weight, minlength=s.count), 1e-12)
    root = np.sqrt(weight)

    def residuals(p: Values) -> Array:
        error = np.log(predict(s, p) / s.us)
        mean = (np.bincount(s.problem, weight * error, minlength=s.count) / total)[s.problem]
        return np.concatenate([root * (error - mean), WHOLE_WEIGHT * root * error])

    parameters, names, damping = dict(start), list(start), 1e-3
    left = residuals(parameters)
    for step in range(steps):
        jacobian = np.array([
            (residuals({**parameters, name: 1.001 * parameters[name]}) - left) / 0.001
            for name in names])
        square = jacobian @ jacobian.T
        before = float(left @ left)
        for _ in range(10):
            change = -np.linalg.solve(
                square + damping * np.diag(np.diag(square))
                + 1e-7 * np.trace(square) * np.eye(len(names)), jacobian @ left)
            tried = {name: parameters[name] * float(np.exp(np.clip(part, -0.5, 0.5)))
                     for name, part in zip(names, change, strict=True)}
            tried = {name: min(value, MOST_EXPONENT) if name in EXPONENTS else value
                     for name, value in tried.items()}
            tried_left = residuals(tried)
            if float(tried_left @ tried_left) < before:
                parameters, left, damping = tried, tried_left, max(damping / 3, 1e-6)
                break
            damping *= 4
        say(f"step {step}: {float(left @ left):.6f}")
        if before - float(left @ left) < 1e-7 * before:
            break
    return parameters


def regrets(s: Schedules, predicted: Array) -> Array:
    """For each problem the time of the schedule that comes first over the least time."""
    order = np.lexsort((predicted, s.problem))
    _, first = np.unique(s.problem[order], return_index=True)
    return np.asarray((s.us / s.best()[s.problem])[order][first])


def cross_predicted(s: Schedules, start: Values, folds: int) -> Array:
    """Microseconds of each schedule by parameters that were fitted to other problems."""
    result = np.empty_like(s.us)
    for fold in range(folds):
        held = s.problem % folds == fold
        result[held] = predict(s, fit(s, start, (~held).astype(float)))[held]
    return result
