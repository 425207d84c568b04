# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Made by scripts/generate-schedule.py from LNBwdSchedule.td: do not edit.

:mod:`lnbwd.schedule` gives this table a form.
"""

__all__ = [
    "THREADS_PER_ROW",
    "ROW_GROUPS",
    "VECTOR_WIDTH",
    "ROWS_PER_WORKGROUP",
    "WORKGROUPS_PER_COMPUTE_UNIT",
    "WORKGROUPS_PER_ROW",
    "COLUMN_TILE",
    "PREFETCH",
    "UNROLL",
    "STAGES",
    "EARLY_START",
    "RELOAD",
    "ROW_SLICES",
    "EARLY_ROWS",
    "EARLY_NEXT",
]

THREADS_PER_ROW = "threads_per_row"
ROW_GROUPS = "row_groups"
VECTOR_WIDTH = "vector_width"
ROWS_PER_WORKGROUP = "rows_per_workgroup"
WORKGROUPS_PER_COMPUTE_UNIT = "workgroups_per_compute_unit"
WORKGROUPS_PER_ROW = "workgroups_per_row"
COLUMN_TILE = "column_tile"
PREFETCH = "prefetch"
UNROLL = "unroll"
STAGES = "stages"
EARLY_START = "early_start"
RELOAD = "reload"
ROW_SLICES = "row_slices"
EARLY_ROWS = "early_rows"
EARLY_NEXT = "early_next"

# Name, whether it is a flag, unit, least value, all values (none: no bound), what they are,
# default (None: must be given), vendors, meaning.
FIELDS: tuple[tuple[str, bool, str, int, tuple[int, ...], str, int | None, tuple[str, ...],
                     str], ...] = (
    (THREADS_PER_ROW, False, "lanes", 1,
     (), "at least 1", None, ("amd", "nvidia"),
     "lanes that share one row: a power of two up to the wave size, or a multiple of the "
     "wave size"),
    (ROW_GROUPS, False, "rows", 1,
     (), "at least 1", None, ("amd", "nvidia"),
     "rows that a workgroup works on side by side; a workgroup has `threads_per_row` times"
     " `row_groups` work-items"),
    (VECTOR_WIDTH, False, "elements", 1,
     (1, 2, 4, 8, 16), "a power of two from 1 to 16", None, ("amd", "nvidia"),
     "elements of one access; divides the row length"),
    (ROWS_PER_WORKGROUP, False, "rows", 0,
     (), "at least 0", None, ("amd", "nvidia"),
     "the fewest rows worth a workgroup of their own; 0: one workgroup takes all rows"),
    (WORKGROUPS_PER_COMPUTE_UNIT, False, "workgroups", 0,
     (), "at least 0", None, ("amd", "nvidia"),
     "upper bound of the grid, times the device's compute units: workgroups are persistent"
     " and take further rows in turn; 0: no bound. Workgroups that share a row count as "
     "one, for so many compute units"),
    (WORKGROUPS_PER_ROW, False, "workgroups", 1,
     (1, 2, 4, 8, 16), "a power of two from 1 to 16", 1, ("nvidia",),
     "workgroups that split the columns of a row between them and exchange its sums: 1, or"
     " a power of two up to what the chip launches together as one cluster"),
    (COLUMN_TILE, False, "columns", 0,
     (), "at least 0", 0, ("amd", "nvidia"),
     "columns that one workgroup covers, a multiple of `threads_per_row` times "
     "`vector_width`; 0: the whole row. Only for programs without row sums"),
    (PREFETCH, False, "sets of rows", 0,
     (0, 1), "0 or 1", 0, ("amd", "nvidia"),
     "sets of rows whose loads into registers are in flight while the current one is "
     "worked on"),
    (UNROLL, False, "sets of rows", 1,
     (1, 2, 4, 8), "1, 2, 4 or 8", 1, ("amd", "nvidia"),
     "sets of rows that one turn of the row loop works on: 1; with `prefetch` also 2, with"
     " which prefetched registers are used where they were loaded instead of being copied;"
     " without, for programs without row sums, also 2, 4 or 8, all of which are loaded "
     "before the first is worked on. Not with `stages` or `reload`"),
    (STAGES, False, "sets of rows", 0,
     (0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16), "0, or from 2 to 16", 0, ("nvidia",),
     "sets of rows that asynchronous bulk copies keep in flight in shared memory; 0: rows "
     "come through registers. Only for chips that have such copies"),
    (EARLY_START, True, "", 0,
     (0, 1), "0 or 1", 0, ("nvidia",),
     "the kernel may start before the one before it on the stream has ended, whatever that"
     " is, and waits before its first access to memory. Only for chips that can launch so,"
     " where each kernel lets the next one start when its own rows are done, or sooner "
     "(`early_next`)"),
    (RELOAD, True, "", 0,
     (0, 1), "0 or 1", 0, ("amd", "nvidia"),
     "the row does not stay in registers: every phase between two row sums reads it again,"
     " which serves any row length. Only for programs without column sums"),
    (ROW_SLICES, False, "slices", 0,
     (), "at least 0", 0, ("amd", "nvidia"),
     "slices of a row's columns whose shares of the row sums kernels of their own leave in"
     " memory, for which the other fields have no row sums: few long rows fill the chip, "
     "but are read once more; 0: row sums stay in the kernel. Only for programs with row "
     "sums, none of which is a maximum"),
    (EARLY_ROWS, True, "", 0,
     (0, 1), "0 or 1", 0, ("nvidia",),
     "the rows that a workgroup begins with are on their way to the cache of all compute "
     "units while it waits for the kernel before. Only with `early_start`, not with "
     "`reload`; a kernel that adds up partial sums of one with it has `early_next`"),
    (EARLY_NEXT, True, "", 0,
     (0, 1), "0 or 1", 0, ("nvidia",),
     "the next kernel on the stream may start as soon as all workgroups of this one run, "
     "and not when their rows are done. Not for programs that leave row sums in parts"),
)
