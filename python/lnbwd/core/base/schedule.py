# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The fields of a schedule: which there are, what each may be, and how schedules are written.

The table is made from the compiler's own declaration of the fields, LNBwdSchedule.td.
"""

from __future__ import annotations

import pathlib
import re
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Field:
    """A field of a schedule. LNBwdSchedule.td describes it (docs/reference/dialect.md).

    Attributes:
        is_flag: whether it is true or false; as a number, 1 or 0.
        values: what it may be, "at least 1". The compiler refuses others.
        default: None: it must be given.
    """

    name: str
    is_flag: bool
    values: str
    default: int | None


# Made by scripts/generate-tables.py from LNBwdSchedule.td: do not edit.
# Name, whether it is a flag, what it may be, default (None: must be given).
_FIELDS: tuple[tuple[str, bool, str, int | None], ...] = (
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
    ("most_registers", False, "at least 0", 0),
    ("lanes_across", True, "0 or 1", 0),
)
# End of the tables.

FIELDS = {row[0]: Field(*row) for row in _FIELDS}
"""All fields by name, in the order in which a schedule has them."""


def overrides(fields: Mapping[str, object]) -> str:
    """Fields as the compiler's option ``schedule``, which it checks: "stages=0,prefetch=1"."""
    return ",".join(f"{name}={int(value) if isinstance(value, bool) else value}"
                    for name, value in fields.items())


def choices(folder: pathlib.Path, diagnostics: str) -> tuple[list[str], list[str]]:
    """The schedules of a compilation that saved its stages to a folder (``--save-temps``): those
    that the compiler chose, one for each program, and those that it ranked, with all fields, as
    :func:`overrides` writes them. If a kernel spills, the compiler's last choice counts."""
    stages = {int(path.name.partition("-")[0]): path
              for path in folder.glob("*-lnbwd-select-schedule.mlir")}
    chosen = of_programs(stages[max(stages)].read_text()) if stages else []
    return list(map(complete, chosen)), list(map(complete, ranked(diagnostics)))


def of_programs(text: str) -> list[str]:
    """The schedules of the row programs in printed MLIR, as they are printed between
    "#lnbwd.schedule<" and ">"; those that a module has as rejected are none of them."""
    return [" ".join(found.split())
            for found in re.findall(r"\bschedule = #lnbwd\.schedule<([^>]*)>", text)]


def ranked(diagnostics: str) -> list[str]:
    """The schedules that the option ``candidates`` had the compiler name, best first, printed."""
    return [" ".join(found.split()) for found in
            re.findall(r"remark: predicted [^:]*: #lnbwd\.schedule<([^>]*)>", diagnostics)]


def complete(printed: str) -> str:
    """All fields of a printed schedule, as :func:`overrides` writes them."""
    given = parse_printed(printed)
    fields = {name: given.get(name, field.default) for name, field in FIELDS.items()}
    if missing := [name for name, value in fields.items() if value is None]:
        raise ValueError(f"schedule: expected a value for {missing[0]}, got none")
    return overrides(fields)


def parse_printed(text: str) -> dict[str, int]:
    """The fields of a printed schedule, "stages = 3, dependent_launch = true", or of a text as
    :func:`overrides` writes it, as numbers, without those that have their defaults. A KeyError if a
    name is no field, a ValueError if a value is no number."""
    words = {"true": 1, "false": 0}
    fields = {}
    for part in filter(None, text.split(",")):
        name, _, value = (word.strip() for word in part.partition("="))
        fields[FIELDS[name].name] = words[value] if value in words else int(value)
    return fields
