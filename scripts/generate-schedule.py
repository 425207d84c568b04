#!/usr/bin/env python3
# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes what C++ and Python know of a schedule's fields from their one declaration.

  scripts/generate-schedule.py          rewrites what is stale
  scripts/generate-schedule.py --check  names what is stale and exits with 1

LNBwdSchedule.td declares the fields. docs/adding.md says more.
"""

from __future__ import annotations

import json
import sys
import textwrap
from pathlib import Path

import tablegen_records
from tablegen_records import DIALECT, SOURCE, Record

DECLARATION = DIALECT / "LNBwdSchedule.td"
CPP = DIALECT / "LNBwdSchedule.h.inc"
SEARCH_CPP = SOURCE / "lib" / "Analysis" / "SearchBounds.h.inc"
PYTHON = SOURCE / "python" / "lnbwd" / "_schedule.py"
MADE = "Made by scripts/generate-schedule.py from LNBwdSchedule.td: do not edit."


def read(records: Record) -> list[Record]:
    """The fields, in the attribute's order."""
    fields = tablegen_records.instances(records, "LNBwd_ScheduleField")
    for field in fields:
        field["values"] = records[field["values"]["def"]]
        allowed, default, tried = field["values"]["allowed"], field["defaultValue"], field["tried"]
        least = field["values"]["least"]
        for value in ([int(default)] if default else []) + tried:
            if value < least or (allowed and value not in allowed):
                raise ValueError(f"{field['name']}: {value} is none of its values")
    return fields


def pascal(field: Record) -> str:
    """"ThreadsPerRow", as in getThreadsPerRow."""
    return "".join(part.capitalize() for part in field["name"].split("_"))


def camel(field: Record) -> str:
    """"threadsPerRow"."""
    return pascal(field)[0].lower() + pascal(field)[1:]


def start(field: Record) -> int:
    """The default, or the least value of a field that has none."""
    return int(field["defaultValue"] or field["values"]["least"])


def cpp(fields: list[Record]) -> str:
    """The tables of lnbwd/Dialect/LNBwd/IR/LNBwdSchedule.h."""
    def numbers(values: list[int]) -> str:
        return "{" + ", ".join(map(str, values)) + "}"

    lines = [f"// {MADE}", "// clang-format off", "", "#ifdef LNBWD_SCHEDULE_TABLES",
             "namespace field {"]
    lines += [f'inline constexpr llvm::StringLiteral {camel(f)} = "{f["name"]}";' for f in fields]
    lines += ["} // namespace field", "namespace allowed {"]
    lines += [f"inline constexpr int64_t {camel(f)}[] = {numbers(f['values']['allowed'])};"
              for f in fields if f["values"]["allowed"]]
    lines += ["} // namespace allowed", "namespace tried {"]
    lines += [f"inline constexpr int64_t {camel(f)}[] = {numbers(f['tried'])};"
              for f in fields if f["tried"]]
    lines += ["} // namespace tried", "inline constexpr ScheduleFieldInfo kScheduleFields[] = {"]
    lines += [f"    {{field::{camel(f)}, {'true' if f['isFlag'] else 'false'}, "
              f"{f['values']['least']}, "
              f"{'allowed::' + camel(f) if f['values']['allowed'] else '{}'}, "
              f"{json.dumps(f['values']['text'])}}}," for f in fields]
    lines += ["};", "#endif // LNBWD_SCHEDULE_TABLES", "", "#ifdef LNBWD_SCHEDULE_PARAMETERS"]
    lines += [",\n".join(f"{f['type']} {camel(f)}" for f in fields)]
    lines += ["#endif // LNBWD_SCHEDULE_PARAMETERS", "", "#ifdef LNBWD_SCHEDULE_FIELD"]
    lines += [f"LNBWD_SCHEDULE_FIELD({f['type']}, {camel(f)}, get{pascal(f)}, {start(f)})"
              for f in fields]
    lines += ["#endif // LNBWD_SCHEDULE_FIELD", "", "#ifdef LNBWD_SCHEDULE_CHECK"]
    lines += [f"LNBWD_SCHEDULE_CHECK({pascal(f)})" for f in fields if f["hasLegalityCheck"]]
    lines += ["#endif // LNBWD_SCHEDULE_CHECK", ""]
    return "\n".join(lines)


def flights(records: Record) -> list[tuple[int, int, int]]:
    """The ways to keep rows in flight that are tried, the fewest stages first."""
    return sorted((f["stages"], f["prefetch"], f["unroll"])
                  for f in tablegen_records.instances(records, "LNBwd_Flight") if f["isTried"])


def search_cpp(records: Record) -> str:
    """What lib/Analysis has in common with the tuner's search."""
    lines = [f"// {MADE}", "// clang-format off", ""]
    for bound in tablegen_records.instances(records, "LNBwd_SearchBound"):
        lines += textwrap.wrap(bound["text"] + ".", 80, initial_indent="/// ",
                               subsequent_indent="/// ")
        first, *rest = bound["name"].split("_")
        name = first + "".join(part.capitalize() for part in rest)
        lines += [f"inline constexpr int64_t {name} = {bound['value']};"]
    lines += ["/// Ways to keep rows in flight: `stages`, `prefetch` and `unroll` of a schedule.",
              "inline constexpr std::array<int64_t, 3> flights[] = {",
              *(f"    {{{', '.join(map(str, flight))}}}," for flight in flights(records)),
              "};", ""]
    return "\n".join(lines)


def search_python(records: Record) -> list[str]:
    """The same for the tuner."""
    lines = []
    for bound in tablegen_records.instances(records, "LNBwd_SearchBound"):
        lines += textwrap.wrap(bound["text"] + ".", 98, initial_indent="# ",
                               subsequent_indent="# ")
        lines += [f"{bound['name'].upper()} = {bound['value']}"]
    lines += ["# Ways to keep rows in flight: stages, prefetch and unroll.",
              "FLIGHTS = (", *(f"    {flight}," for flight in flights(records)), ")"]
    return lines


def tuple_of(values: list[object]) -> str:
    """A tuple as it is written down."""
    return "(" + ", ".join(map(quoted, values)) + ("," if len(values) == 1 else "") + ")"


def quoted(value: object) -> str:
    """A value as it is written down, text in double quotes."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def python(fields: list[Record], records: Record) -> str:
    """The module lnbwd._schedule."""
    lines = ["# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.",
             "# See LICENSE for license information.",
             "# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception",
             f'"""{MADE}', "", ":mod:`lnbwd.schedule` gives this table a form.", '"""', "",
             "__all__ = [", *(f'    "{f["name"].upper()}",' for f in fields), "]", ""]
    lines += [f'{f["name"].upper()} = "{f["name"]}"' for f in fields]
    lines += ["", "# Name, whether it is a flag, unit, least value, all values (none: no bound), "
              "what they are,", "# default (None: must be given), vendors, values to try, their "
              "unit, meaning.",
              "FIELDS: tuple[tuple[str, bool, str, int, tuple[int, ...], str, int | None, "
              "tuple[str, ...],",
              "                     tuple[int, ...], str, str], ...] = ("]
    for f in fields:
        meaning = f["text"] + (f"; {f['defaultText']}" if f["defaultText"] else "")
        default = int(f["defaultValue"]) if f["defaultValue"] else None
        lines += [f"    ({f['name'].upper()}, {bool(f['isFlag'])}, {quoted(f['unit'])}, "
                  f"{f['values']['least']},",
                  f"     {tuple_of(f['values']['allowed'])}, {quoted(f['values']['text'])}, "
                  f"{default}, {tuple_of(f['vendors'])},",
                  f"     {tuple_of(f['tried'])}, {quoted(f['triedUnit'])},"]
        parts = textwrap.wrap(meaning, 84, drop_whitespace=False, break_long_words=False)
        lines += [f"     {quoted(part)}" for part in parts]
        lines[-1] += "),"
    lines += [")", "", *search_python(records), ""]
    return "\n".join(lines)


def main() -> int:
    """The command."""
    def make(records: Record) -> dict[Path, str]:
        fields = read(records)
        return {CPP: cpp(fields), SEARCH_CPP: search_cpp(records),
                PYTHON: python(fields, records)}

    return tablegen_records.run("Makes the tables of a schedule's fields.", DECLARATION, make)


if __name__ == "__main__":
    sys.exit(main())
