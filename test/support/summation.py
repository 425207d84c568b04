# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The order in which LayerNorm backward adds up dgamma and dbeta (docs/numerics.md), in numpy.

For shapes that take the simulator too long, and for chips that it does not know. On AMD's chips the
bits are the simulator's: test/Docs/test_accuracy.py compares them.
"""

from __future__ import annotations

import json
import pathlib
import re
import subprocess
from dataclasses import dataclass

import numpy as np

F32 = np.float32


@dataclass
class Kernel:
    """What the order depends on, of one kernel's schedule and launch."""

    groups: int
    workgroups: int
    # Groups that one step adds up.
    radix: int
    # Tiles of rows whose sum is added to a total; 0: there are no totals.
    block: int


def kernels(opt: pathlib.Path, chip: str, n: int, rows: int, schedule: str = "") -> list[Kernel]:
    """The kernel of LayerNorm backward in float32 and the one that adds up its partial sums."""
    row, column, scalar = f"memref<?x{n}xf32>", f"memref<{n}xf32>", "memref<?xf32>"
    source = (f"func.func @f(%dy: {row}, %x: {row}, %g: {column}, %m: {scalar}, %r: {scalar}, "
              f"%dx: {row}, %dg: {column}, %db: {column}) {{\n"
              f"  lnbwd.layer_norm_bwd dy(%dy : {row}) x(%x : {row}) gamma(%g : {column})\n"
              f"      mean(%m : {scalar}) rstd(%r : {scalar})\n"
              f"      outs dx(%dx : {row}) dgamma(%dg : {column}) dbeta(%db : {column})\n"
              "  return\n}\n")
    options = f"chip={chip}" + (f" schedule={schedule}" if schedule else "")
    report = json.loads(subprocess.run(
        [opt, "-", f"--lnbwd-pipeline={options}", "--emit=report-json", f"--rows={rows}"],
        input=source, capture_output=True, text=True, check=True).stdout)
    result = []
    for kernel in report["kernels"]:
        fields = {name: int(value) for name, value in
                  re.findall(r"(\w+) = (\d+)", kernel["schedule"])}
        result.append(Kernel(fields["row_groups"],
                             kernel["workgroups"] // fields.get("workgroups_per_row", 1),
                             fields.get("combine_radix", 8),
                             fields.get("sum_block", 0) * fields.get("unroll", 1)))
    return result


def fused(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """a * b + c of float32, rounded once: the sum in float64 is rounded to odd on the way."""
    product = a.astype(np.float64) * b
    c64 = c.astype(np.float64)
    total = product + c64
    part = total - product
    lost = (product - (total - part)) + (c64 - part)
    bits = total.view(np.int64)
    is_even = (lost != 0) & (bits & 1 == 0)
    bits += np.where(is_even, np.where((lost > 0) == (total > 0), 1, -1), 0)
    return total.astype(F32)


def pairwise(terms: list[np.ndarray]) -> np.ndarray:
    while len(terms) > 1:
        pairs = [terms[i] + terms[i + 1] for i in range(0, len(terms) - 1, 2)]
        terms = pairs + terms[len(pairs) * 2:]
    return terms[0]


def combine_groups(sums: np.ndarray, kernel: Kernel) -> np.ndarray:
    """The groups' sums, [groups, ..., N], added up as lane.combine_groups does."""
    groups = list(sums)
    while len(groups) > 1:
        owners = -(-len(groups) // kernel.radix)
        # What an owner takes after its own; 0 where the last few groups are missing.
        groups += [np.zeros_like(groups[0])] * (-len(groups) % owners)
        groups = [pairwise(groups[owner::owners]) for owner in range(owners)]
    return groups[0]


def column_sum(kernel: Kernel, finalize: Kernel, dy: np.ndarray,
               xhat: np.ndarray | None = None) -> np.ndarray:
    """dbeta, or with xhat dgamma, of float32 rows [M, N], in float32."""
    rows, columns = dy.shape
    groups, workgroups = kernel.groups, kernel.workgroups

    def added(sums: np.ndarray, first: int, count: int) -> np.ndarray:
        part = dy[first:first + count].reshape(*sums.shape)
        if xhat is None:
            return sums + part
        return fused(part, xhat[first:first + count].reshape(*sums.shape), sums)

    # Workgroup by group; the last turn may not have a set for each workgroup.
    sums = np.zeros((workgroups, groups, columns), F32)
    totals = np.zeros_like(sums)
    sets = rows // groups
    for turn in range(-(-sets // workgroups)):
        first = turn * workgroups
        count = min(workgroups, sets - first)
        sums[:count] = added(sums[:count], first * groups, count * groups)
        if kernel.block and (turn + 1) % kernel.block == 0:
            totals += sums
            sums[:] = 0
    totals += sums
    if left := rows % groups:
        totals[-1, :left] = added(totals[-1, :left], sets * groups, left)
    partials = combine_groups(totals.swapaxes(0, 1), kernel)
    last = np.zeros((finalize.groups, columns), F32)
    for first in range(0, workgroups, finalize.groups):
        count = min(finalize.groups, workgroups - first)
        last[:count] += partials[first:first + count]
    return combine_groups(last, finalize)
