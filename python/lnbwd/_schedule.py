# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Made by scripts/generate-schedule.py from LNBwdSchedule.td: do not edit.

:mod:`lnbwd.schedule` gives this table a form.
"""

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

# Name, whether it is a flag, least value, all values (none: no bound), what they are,
# default (None: must be given).
_FIELDS: tuple[tuple[str, bool, int, tuple[int, ...], str, int | None], ...] = (
    (THREADS_PER_ROW, False, 1, (), "at least 1", None),
    (ROW_GROUPS, False, 1, (), "at least 1", None),
    (VECTOR_WIDTH, False, 1, (1, 2, 4, 8, 16), "a power of two from 1 to 16", None),
    (ROWS_PER_WORKGROUP, False, 0, (), "at least 0", None),
    (WORKGROUPS_PER_COMPUTE_UNIT, False, 0, (), "at least 0", None),
    (WORKGROUPS_PER_ROW, False, 1, (1, 2, 4, 8, 16), "a power of two from 1 to 16", 1),
    (COLUMN_TILE, False, 0, (), "at least 0", 0),
    (PREFETCH, False, 0, (0, 1), "0 or 1", 0),
    (UNROLL, False, 1, (1, 2, 4, 8), "1, 2, 4 or 8", 1),
    (STAGES, False, 0, (0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16),
     "0, or from 2 to 16", 0),
    (DEPENDENT_LAUNCH, True, 0, (0, 1), "0 or 1", 0),
    (RELOAD, True, 0, (0, 1), "0 or 1", 0),
    (ROW_SPLITS, False, 0, (), "at least 0", 0),
    (PREFETCH_BEFORE_DEPENDENCY, True, 0, (0, 1), "0 or 1", 0),
    (EARLY_TRIGGER, True, 0, (0, 1), "0 or 1", 0),
)
