#!/usr/bin/env python3
# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes what C++ and Python know of a schedule's fields from their one declaration.

  scripts/generate-schedule.py                        rewrites what is stale
  scripts/generate-schedule.py --check                names what is stale and exits with 1
  scripts/generate-schedule.py --header RECORDS FILE  writes C++'s tables

LNBwdSchedule.td declares the fields; RECORDS are those of llvm-tblgen, as JSON. CMake has the
tables of C++ made. docs/adding.md says more.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import tablegen_records
from tablegen_records import DIALECT, SOURCE, Record

DECLARATION = DIALECT / "LNBwdSchedule.td"
PYTHON = SOURCE / "python" / "lnbwd" / "core" / "base" / "schedule.py"
MADE = "Made by scripts/generate-schedule.py from LNBwdSchedule.td: do not edit."


def read(records: Record) -> list[Record]:
    """The fields, in the attribute's order."""
    fields = tablegen_records.instances(records, "LNBwd_ScheduleField")
    for field in fields:
        field["values"] = records[field["values"]["def"]]
        allowed, default = field["values"]["allowed"], field["defaultValue"]
        if default and (int(default) < field["values"]["least"]
                        or (allowed and int(default) not in allowed)):
            raise ValueError(f"{field['name']}: {default} is none of its values")
    return fields


def camel(field: Record) -> str:
    """"threadsPerRow"."""
    first, *others = field["name"].split("_")
    return first + "".join(part.capitalize() for part in others)


def start(field: Record) -> int:
    """The default, or the least value of a field that has none."""
    return int(field["defaultValue"] or field["values"]["least"])


def cpp(fields: list[Record]) -> str:
    """The tables of lnbwd/Dialect/LNBwd/IR/LNBwdSchedule.h."""
    def numbers(values: list[int]) -> str:
        return "{" + ", ".join(map(str, values)) + "}"

    lines = [f"// {MADE}", "", "#ifdef LNBWD_SCHEDULE_MEMBERS"]
    lines += [f"int64_t {camel(f)} = {start(f)};" for f in fields]
    lines += ["#endif // LNBWD_SCHEDULE_MEMBERS", "", "#ifdef LNBWD_SCHEDULE_TABLES",
              "namespace field {"]
    lines += [f'inline constexpr llvm::StringLiteral {camel(f)} = "{f["name"]}";' for f in fields]
    lines += ["} // namespace field", "namespace allowed {"]
    lines += [f"inline constexpr int64_t {camel(f)}[] = {numbers(f['values']['allowed'])};"
              for f in fields if f["values"]["allowed"]]
    lines += ["} // namespace allowed", "inline constexpr ScheduleFieldInfo kScheduleFields[] = {"]
    lines += [f"    {{field::{camel(f)}, &Schedule::{camel(f)}, {str(bool(f['isFlag'])).lower()}, "
              f"{str(not f['defaultValue']).lower()}, {str(bool(f['follows'])).lower()}, "
              f"{f['values']['least']}, "
              f"{'allowed::' + camel(f) if f['values']['allowed'] else '{}'}, "
              f"{json.dumps(f['values']['text'])}}}," for f in fields]
    lines += ["};", "#endif // LNBWD_SCHEDULE_TABLES", ""]
    return "\n".join(lines)


def python(fields: list[Record]) -> str:
    """The module lnbwd.core.base.schedule, with the declared fields."""
    lines = ["# Name, whether it is a flag, what it may be, default (None: must be given).",
             "_FIELDS: tuple[tuple[str, bool, str, int | None], ...] = ("]
    for f in fields:
        default = int(f["defaultValue"]) if f["defaultValue"] else None
        lines.append(f"    ({json.dumps(f['name'])}, {bool(f['isFlag'])}, "
                     f"{json.dumps(f['values']['text'])}, {default}),")
    return tablegen_records.with_tables(PYTHON, [*lines, ")"])


def main() -> int:
    """The command."""
    if sys.argv[1:2] == ["--header"]:
        records, header = map(Path, sys.argv[2:])
        header.write_text(cpp(read(json.loads(records.read_text()))))
        return 0

    def make(records: Record) -> dict[Path, str]:
        return {PYTHON: python(read(records))}

    return tablegen_records.run("Makes the tables of a schedule's fields.", DECLARATION, make)


if __name__ == "__main__":
    sys.exit(main())
