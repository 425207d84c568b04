# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Made by scripts/generate-schedule.py from LNBwdSchedule.td: do not edit.

:mod:`.schedule` gives this table a form.
"""

# Name, whether it is a flag, what it may be, default (None: must be given).
FIELDS: tuple[tuple[str, bool, str, int | None], ...] = (
    ("threads_per_row", False, "at least 1", None),
    ("row_groups", False, "at least 1", None),
    ("vector_width", False, "a power of two from 1 to 16", None),
    ("rows_per_workgroup", False, "at least 0", None),
    ("workgroups_per_compute_unit", False, "at least 0", None),
    ("workgroups_per_row", False, "from 1 to 16", 1),
    ("column_tile", False, "at least 0", 0),
    ("prefetch", False, "0 or 1", 0),
    ("unroll", False, "1, 2, 4 or 8", 1),
    ("stages", False, "0, or from 2 to 16", 0),
    ("dependent_launch", True, "0 or 1", 0),
    ("reload", True, "0 or 1", 0),
    ("row_splits", False, "at least 0", 0),
    ("prefetch_before_dependency", True, "0 or 1", 0),
    ("sum_block", False, "at least 0", 0),
    ("combine_radix", False, "2, 4, 8 or 16", 8),
    ("late_columns", True, "0 or 1", 0),
    ("widen_columns", True, "0 or 1", 0),
    ("lanes_across", True, "0 or 1", 0),
)
