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
    "DEPENDENT_LAUNCH",
    "RELOAD",
    "ROW_SPLITS",
    "PREFETCH_BEFORE_DEPENDENCY",
    "EARLY_TRIGGER",
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
DEPENDENT_LAUNCH = "dependent_launch"
RELOAD = "reload"
ROW_SPLITS = "row_splits"
PREFETCH_BEFORE_DEPENDENCY = "prefetch_before_dependency"
EARLY_TRIGGER = "early_trigger"

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
     "rows that a workgroup processes at least; 0: one workgroup processes all rows"),
    (WORKGROUPS_PER_COMPUTE_UNIT, False, "workgroups", 0,
     (), "at least 0", None, ("amd", "nvidia"),
     "persistent workgroups for each compute unit of the device: the grid has at most as "
     "many, each of which loops over its rows; 0: no bound. A cluster of "
     "`workgroups_per_row` counts as one workgroup on as many compute units"),
    (WORKGROUPS_PER_ROW, False, "workgroups", 1,
     (1, 2, 4, 8, 16), "a power of two from 1 to 16", 1, ("nvidia",),
     "workgroups of a cluster that split the columns of a row and exchange partial sums "
     "through distributed shared memory: 1, or a power of two up to the chip's cluster "
     "size"),
    (COLUMN_TILE, False, "columns", 0,
     (), "at least 0", 0, ("amd", "nvidia"),
     "columns that one workgroup covers, a multiple of `threads_per_row` times "
     "`vector_width`; 0: the whole row. Only for programs without row sums"),
    (PREFETCH, False, "tiles of rows", 0,
     (0, 1), "0 or 1", 0, ("amd", "nvidia"),
     "tiles of rows whose loads into registers are in flight while the current tile is "
     "processed"),
    (UNROLL, False, "tiles of rows", 1,
     (1, 2, 4, 8), "1, 2, 4 or 8", 1, ("amd", "nvidia"),
     "tiles of rows that one iteration of the row loop processes: 1; with `prefetch` also "
     "2, which uses prefetched registers where they were loaded instead of copying them; "
     "without it, for programs without row sums, also 2, 4 or 8, all of which are loaded "
     "before the first is processed. Not with `stages` or `reload`"),
    (STAGES, False, "tiles of rows", 0,
     (0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16), "0, or from 2 to 16", 0, ("nvidia",),
     "pipeline depth: tiles of rows that asynchronous bulk copies keep in flight to a "
     "multi-buffer in shared memory; 0: rows are loaded to registers. Only for chips with "
     "such copies"),
    (DEPENDENT_LAUNCH, True, "", 0,
     (0, 1), "0 or 1", 0, ("nvidia",),
     "programmatic dependent launch: the kernel may start before the preceding kernel of "
     "the stream has ended, and waits for it before its first access to memory. Only for "
     "chips with such launches, where each kernel triggers the launch of the next one when"
     " its own rows are done, or earlier (`early_trigger`)"),
    (RELOAD, True, "", 0,
     (0, 1), "0 or 1", 0, ("amd", "nvidia"),
     "rows are not kept in registers: each phase between two row sums loads them again, so"
     " that rows may have any length. Only for programs without column sums"),
    (ROW_SPLITS, False, "splits", 0,
     (), "at least 0", 0, ("amd", "nvidia"),
     "split-row reduction: parts into which a row's columns are split, for each of which a"
     " kernel of its own writes partial row sums to memory. The other fields then are "
     "those of a program without row sums. Few long rows so fill the chip, but are read "
     "once more; 0: row sums stay in the kernel. Only for programs with row sums, none of "
     "which is a maximum"),
    (PREFETCH_BEFORE_DEPENDENCY, True, "", 0,
     (0, 1), "0 or 1", 0, ("nvidia",),
     "the first rows of a workgroup are prefetched to the L2 cache while it waits for the "
     "preceding kernel. Only with `dependent_launch`, not with `reload`; a kernel that "
     "adds up partial sums of one with it has `early_trigger`"),
    (EARLY_TRIGGER, True, "", 0,
     (0, 1), "0 or 1", 0, ("nvidia",),
     "the launch of the next kernel of the stream is triggered as soon as all workgroups "
     "of this one run, and not when their rows are done. Not for programs with split row "
     "sums as outputs"),
)
