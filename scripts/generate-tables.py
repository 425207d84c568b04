#!/usr/bin/env python3
# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes the tables of named operations and of a schedule's fields from their declarations.

  scripts/generate-tables.py                            rewrites what is stale
  scripts/generate-tables.py --check                    names what is stale and exits with 1
  scripts/generate-tables.py --operations FILE          writes C++'s tables of operations
  scripts/generate-tables.py --schedule RECORDS FILE    writes C++'s tables of a schedule

LNBwdNorms.td and LNBwdRoles.td declare the operations, LNBwdSchedule.td the fields. llvm-tblgen
prints them as JSON, and this program writes them down for those who have no LLVM: the Python
package and people. CMake has the tables of C++ made, those of operations of Python's, since the
runtime builds without LLVM, too (docs/adding.md says more).
"""

from __future__ import annotations

import argparse
import json
import pathlib
import runpy
import subprocess
import sys
from typing import Any

SOURCE = pathlib.Path(__file__).resolve().parents[1]
DIALECT = SOURCE / "include" / "lnbwd" / "Dialect" / "LNBwd" / "IR"
TABLES = SOURCE / "python" / "lnbwd" / "core" / "base"
PAGE = SOURCE / "docs" / "reference" / "operations.md"
DIMENSIONS = ("hasGroups", "hasRows", "hasColumns")

Record = dict[str, Any]


def instances(records: Record, base: str) -> list[Record]:
    """The named records of a class, in the order of their file."""
    # A place is "LNBwdRoles.td:47".
    return sorted((records[name] for name in records["!instanceof"][base]
                   if not records[name]["!anonymous"]),
                  key=lambda r: [int(place.rpartition(":")[2]) for place in r["!locs"]][:1])


def with_tables(path: pathlib.Path, tables: list[str]) -> str:
    """The text of a file with other lines of its tables, between two comments."""
    head, begin, text = path.read_text().partition("# Made by scripts/")
    first, _, rest = text.partition("\n")
    _, end, tail = rest.partition("# End of the tables.\n")
    return "\n".join([head + begin + first, *tables, end + tail])


# The named operations ----------------------------------------------------------------------------


class Declaration:
    """The records of the .td files: kinds, elements, roles and operations, each in the order of its
    file; what a record names is in the place of its name."""

    def __init__(self, records: Record) -> None:
        self.kinds, self.elements, self.roles, self.operations = (
            instances(records, f"LNBwd_{name}") for name in ("Dims", "Element", "Role", "NormOp"))
        for element in self.elements:
            element["use"] = records[element["use"]["def"]]["name"]
        for role in self.roles:
            role["kind"] = records[role["kind"]["def"]]
        forward = {o["opName"]: o for o in self.operations if not o["gradientOf"]}
        for operation in self.operations:
            operation["name"] = operation["opName"]
            for group in ("inputs", "outputs"):
                operands = [records[entry["def"]] for entry in operation[group]]
                operation[group] = [{"role": records[o["role"]["def"]],
                                     "is_optional": bool(o["isOptional"])} for o in operands]
            roles = [o["role"]["name"] for o in operation["inputs"] + operation["outputs"]]
            if len(set(roles)) != len(roles):
                raise ValueError(f"{operation['name']}: expected each role once, got {roles}")
            operation.setdefault("counterpart", None)
            if operation["gradientOf"]:
                other = forward[operation["gradientOf"]]
                operation["counterpart"], other["counterpart"] = other, operation


def camel(name: str) -> str:
    """The C++ enumerator of a name: "row_block" is RowBlock."""
    return "".join(part.capitalize() for part in name.split("_"))


def flag(value: object) -> str:
    """A truth value in C++."""
    return "true" if value else "false"


def cpp_operations(tables: dict[str, Any]) -> str:
    """The tables of lnbwd/Operations/Operations.h, of those of lnbwd.core.base.operations."""
    roles, operations = tables["_ROLES"], tables["_OPERATIONS"]

    lines = ["// Made by scripts/generate-tables.py.", "", "#ifdef LNBWD_OPERATION_ENUMS"]
    for name, values in (("ElementUse", dict.fromkeys(e[2] for e in tables["_ELEMENTS"])),
                         ("Role", [role[0] for role in roles]),
                         ("NamedOperation", [operation[0] for operation in operations])):
        lines += [f"enum class {name} {{ {', '.join(map(camel, values))} }};",
                  f"inline constexpr size_t k{name}Count = {len(values)};"]
    elements = tables["_ELEMENTS"]
    lines += [f"enum class Element {{ {', '.join(e[0].upper() for e in elements)} }};",
              "/// Those in memory, which come first.",
              f"inline constexpr size_t kElementCount = {sum(e[1] > 0 for e in elements)};",
              "#endif // LNBWD_OPERATION_ENUMS", "", "#ifdef LNBWD_OPERATION_TABLES"]
    kinds = {name: f'{{{", ".join(map(flag, has))}}}' for name, *has in tables["_KINDS"]}
    lines += ["inline constexpr KindInfo kKinds[] = {",
              *(f'    {{"{name}", {dims}}},' for name, dims in kinds.items()), "};"]
    lines += ["inline constexpr ElementInfo kElements[] = {"]
    lines += [f'    {{"{name}", {size}, ElementUse::{camel(use)}, '
              f"{fraction}, {bias}, 0x{largest:x}}},"
              for name, size, use, _, _, fraction, bias, largest in elements]
    lines += ["};"]
    lines += ["inline constexpr RoleInfo kRoles[] = {"]
    lines += [f'    {{"{name}", {kinds[kind]}, {flag(own)}}},' for name, kind, own in roles]
    lines += ["};"]
    rows = []
    for name, counterpart, is_forward, _, *groups in operations:
        table = f"k{camel(name)}Operands"
        lines += [f"inline constexpr OperandInfo {table}[] = {{"]
        lines += [f"    {{Role::{camel(role.rstrip('?'))}, {flag(is_output)}, "
                  f"{flag('?' in role)}}},"
                  for is_output, group in enumerate(groups) for role in group.split()]
        lines += ["};"]
        other = f"NamedOperation::{camel(counterpart)}" if counterpart else "std::nullopt"
        rows += [f'    {{NamedOperation::{camel(name)}, "{name}", {flag(is_forward)},',
                 f"     {other}, {table}, std::size({table})}},"]
    lines += ["inline constexpr NamedOperationInfo kOperations[] = {", *rows, "};",
              "#endif // LNBWD_OPERATION_TABLES", "", "#ifdef LNBWD_OPERATION_REFERENCE"]
    lines += [f"LNBWD_OPERATION_REFERENCE({camel(operation[0])}, {operation[3]})"
              for operation in operations]
    lines += ["#endif // LNBWD_OPERATION_REFERENCE", "", "#ifdef LNBWD_ELEMENT"]
    lines += [f"LNBWD_ELEMENT({e[0].upper()}, {e[3]})" for e in elements if e[1]]
    lines += ["#endif // LNBWD_ELEMENT", ""]
    return "\n".join(lines)


def quoted(record: Record) -> str:
    """The name of a record as a literal."""
    return f'"{record["name"]}"'


def python_operations(declared: Declaration) -> str:
    """The module lnbwd.core.base.operations, with the declared tables."""
    lines = ["# Name, whether it has the groups of rows, the rows of a group, columns.",
             "_KINDS = (",
             *(f"    ({quoted(k)}, {', '.join(str(bool(k[has])) for has in DIMENSIONS)}),"
               for k in declared.kinds), ")",
             "# Name, bytes, what row programs make of it, PyTorch's name, NumPy's; of floats bits "
             "of the",
             "# fraction, bias of the exponent, and bits of the largest number.",
             "_ELEMENTS = (",
             *(f"    ({quoted(e)}, {e['bytes']}, \"{e['use']}\", \"{e['torch']}\", "
               f"\"{e['numpy']}\", {e['fraction']}, {e['bias']}, 0x{e['largest']:x}),"
               for e in declared.elements), ")",
             "",
             "# Name, kind, whether the element is one of its own.",
             "_ROLES = ("]
    lines += [f"    ({quoted(r)}, {quoted(r['kind'])}, {bool(r['hasOwnElement'])}),"
              for r in declared.roles]
    lines += [")", "", *(f"{o['name'].upper()} = {quoted(o)}" for o in declared.operations)]
    lines += ["", "# Name, counterpart, whether it is a forward pass, lib/Reference's formula, "
              "inputs and outputs:", "# those with a question mark may be absent.",
              "_OPERATIONS = ("]
    for operation in declared.operations:
        other = operation["counterpart"]
        lines += [f"    ({operation['name'].upper()}, {other['name'].upper() if other else None}, "
                  f"{not operation['gradientOf']}, \"{operation['reference']}\","]
        lines += ["     " + ", ".join('"' + " ".join(
            o["role"]["name"] + "?" * o["is_optional"] for o in operation[group]) + '"'
            for group in ("inputs", "outputs")) + "),"]
    return with_tables(TABLES / "operations.py", [*lines, ")"])


def page(declared: Declaration) -> str:
    """docs/reference/operations.md."""
    lines = ["<!-- Made by scripts/generate-tables.py: do not edit. -->", "",
             "# The named operations", "",
             "What each reads and writes, in the order of the launch plan's arguments; an operand "
             "in",
             "brackets may be absent. [The dialect's reference](dialect.md) has the formulas.", "",
             "| operation | inputs | outputs | gradient |", "|---|---|---|---|"]

    def listed(operands: list[Record]) -> str:
        names = ((f"`{o['role']['name']}`", o["is_optional"]) for o in operands)
        return ", ".join(f"[{name}]" if is_optional else name for name, is_optional in names)

    for o in declared.operations:
        has_gradient = o["counterpart"] and not o["gradientOf"]
        gradient = f"`{o['counterpart']['name']}`" if has_gradient else ""
        lines.append(f"| `lnbwd.{o['name']}` | {listed(o['inputs'])} | {listed(o['outputs'])} "
                     f"| {gradient} |")
    lines += ["", "| role | shape | element | what it is |", "|---|---|---|---|"]
    for role in declared.roles:
        kind = role["kind"]
        element = {"row_block": "f16, bf16 or f32" if role["hasOwnElement"] else "that of x",
                   "column": "that of x, or f32", "row_scalar": "f32"}[kind["name"]]
        lines.append(f"| `{role['name']}` | `{role['shape']}` | {element} | {role['text']} |")
    return "\n".join(lines) + "\n"


# A schedule's fields -----------------------------------------------------------------------------


def fields_of(records: Record) -> list[Record]:
    """The fields, in the attribute's order."""
    fields = instances(records, "LNBwd_ScheduleField")
    for field in fields:
        field["values"] = records[field["values"]["def"]]
        allowed, default = field["values"]["allowed"], field["defaultValue"]
        if default and (int(default) < field["values"]["least"]
                        or (allowed and int(default) not in allowed)):
            raise ValueError(f"{field['name']}: {default} is none of its values")
    return fields


def member(field: Record) -> str:
    """The member of a field: "threadsPerRow"."""
    name = camel(field["name"])
    return name[0].lower() + name[1:]


def start(field: Record) -> int:
    """The default, or the least value of a field that has none."""
    return int(field["defaultValue"] or field["values"]["least"])


def cpp_schedule(fields: list[Record]) -> str:
    """The tables of lnbwd/Dialect/LNBwd/IR/LNBwdSchedule.h."""
    def numbers(values: list[int]) -> str:
        return "{" + ", ".join(map(str, values)) + "}"

    lines = ["// Made by scripts/generate-tables.py.", "", "#ifdef LNBWD_SCHEDULE_MEMBERS"]
    lines += [f"int64_t {member(f)} = {start(f)};" for f in fields]
    lines += ["#endif // LNBWD_SCHEDULE_MEMBERS", "", "#ifdef LNBWD_SCHEDULE_TABLES",
              "namespace field {"]
    lines += [f'inline constexpr llvm::StringLiteral {member(f)} = "{f["name"]}";' for f in fields]
    lines += ["} // namespace field", "namespace allowed {"]
    lines += [f"inline constexpr int64_t {member(f)}[] = {numbers(f['values']['allowed'])};"
              for f in fields if f["values"]["allowed"]]
    lines += ["} // namespace allowed", "inline constexpr ScheduleFieldInfo kScheduleFields[] = {"]
    lines += [f"    {{field::{member(f)}, &Schedule::{member(f)}, {flag(f['isFlag'])}, "
              f"{flag(not f['defaultValue'])}, {flag(f['follows'])}, "
              f"{f['values']['least']}, "
              f"{'allowed::' + member(f) if f['values']['allowed'] else '{}'}, "
              f"{json.dumps(f['values']['text'])}}}," for f in fields]
    lines += ["};", "#endif // LNBWD_SCHEDULE_TABLES", ""]
    return "\n".join(lines)


def python_schedule(fields: list[Record]) -> str:
    """The module lnbwd.core.base.schedule, with the declared fields."""
    lines = ["# Name, whether it is a flag, what it may be, default (None: must be given).",
             "_FIELDS: tuple[tuple[str, bool, str, int | None], ...] = ("]
    for f in fields:
        default = int(f["defaultValue"]) if f["defaultValue"] else None
        lines.append(f"    ({json.dumps(f['name'])}, {bool(f['isFlag'])}, "
                     f"{json.dumps(f['values']['text'])}, {default}),")
    return with_tables(TABLES / "schedule.py", [*lines, ")"])


# The command -------------------------------------------------------------------------------------


def stale_files(llvm: pathlib.Path) -> dict[pathlib.Path, str]:
    """The texts of files that differ from their declarations."""
    def records(name: str) -> Record:
        result = subprocess.run(
            [llvm / "bin" / "llvm-tblgen", "--dump-json", "-I", llvm / "include", "-I",
             SOURCE / "include", DIALECT / name], check=True, capture_output=True, text=True)
        found: Record = json.loads(result.stdout)
        return found

    declared = Declaration(records("LNBwdNorms.td"))
    wanted = {TABLES / "operations.py": python_operations(declared), PAGE: page(declared),
              TABLES / "schedule.py": python_schedule(fields_of(records("LNBwdSchedule.td")))}
    return {path: text for path, text in wanted.items()
            if not path.exists() or path.read_text() != text}


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if stale")
    parser.add_argument("--llvm", type=pathlib.Path, default=pathlib.Path("/usr/lib/llvm-22"),
                        help="the folder with bin/llvm-tblgen and include/mlir (/usr/lib/llvm-22)")
    parser.add_argument("--operations", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--schedule", type=pathlib.Path, nargs=2, metavar=("RECORDS", "FILE"))
    options = parser.parse_args()
    if options.operations:
        options.operations.parent.mkdir(parents=True, exist_ok=True)
        options.operations.write_text(cpp_operations(runpy.run_path(str(TABLES / "operations.py"))))
        return 0
    if options.schedule:
        source, file = options.schedule
        file.write_text(cpp_schedule(fields_of(json.loads(source.read_text()))))
        return 0
    stale = stale_files(options.llvm)
    for path, text in stale.items():
        print(f"{'stale' if options.check else 'written'}: {path.relative_to(SOURCE)}")
        if not options.check:
            path.write_text(text)
    if stale and options.check:
        print("run scripts/generate-tables.py", file=sys.stderr)
    return int(bool(stale) and options.check)


if __name__ == "__main__":
    sys.exit(main())
