#!/usr/bin/env python3
# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes the tables of named operations from their one declaration.

  scripts/generate-operations.py                rewrites what is stale
  scripts/generate-operations.py --check        names what is stale and exits with 1
  scripts/generate-operations.py --header FILE  writes C++'s tables of those in Python

LNBwdNorms.td and LNBwdRoles.td declare the operations; llvm-tblgen prints them as JSON, and this
program writes them down for the Python package and for people. That is kept in the repository,
since the runtime and the package build where there is no LLVM; CMake has the tables of C++ made
of Python's (docs/adding.md says more).
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from typing import Any

import tablegen_records
from tablegen_records import DIALECT, SOURCE, Record

DECLARATION = DIALECT / "LNBwdNorms.td"
PYTHON = SOURCE / "python" / "lnbwd" / "core" / "base" / "operations.py"
PAGE = SOURCE / "docs" / "reference" / "operations.md"
DIMENSIONS = ("hasGroups", "hasRows", "hasColumns")


class Declaration:
    """The records of the .td files: kinds, roles and operations, each in the order of its file."""

    def __init__(self, records: Record) -> None:
        self._records = records
        self.kinds = self._all("LNBwd_Dims")
        self.elements = self._all("LNBwd_Element")
        self.roles = self._all("LNBwd_Role")
        self.operations = self._all("LNBwd_NormOp")
        for operation in self.operations:
            operation["name"] = operation["opName"]
            for group in ("inputs", "outputs"):
                operation[group] = [self._operand(entry["def"]) for entry in operation[group]]
            roles = [o["role"]["name"] for o in operation["inputs"] + operation["outputs"]]
            if len(set(roles)) != len(roles):
                raise ValueError(f"{operation['name']}: expected each role once, got {roles}")
        forward = {o["name"]: o for o in self.operations if not o["gradientOf"]}
        for operation in self.operations:
            operation["counterpart"] = None
        for operation in self.operations:
            if operation["gradientOf"]:
                other = forward[operation["gradientOf"]]
                operation["counterpart"], other["counterpart"] = other, operation

    def _all(self, base: str) -> list[Record]:
        return tablegen_records.instances(self._records, base)

    def _operand(self, name: str) -> Record:
        record = self._records[name]
        return {"role": self._records[record["role"]["def"]],
                "is_optional": bool(record["isOptional"])}

    def use_of(self, element: Record) -> str:
        """The name of what an element type is to a row program."""
        name: str = self._records[element["use"]["def"]]["name"]
        return name

    def kind_of(self, role: Record) -> Record:
        """The record of a role's kind."""
        kind: Record = self._records[role["kind"]["def"]]
        return kind

def camel(name: str) -> str:
    """The C++ enumerator of a name: "row_block" is RowBlock."""
    return "".join(part.capitalize() for part in name.split("_"))


def cpp(tables: dict[str, Any]) -> str:
    """The tables of lnbwd/Operations/Operations.h, of those of lnbwd.core.base.operations."""
    roles, operations = tables["_ROLES"], tables["_OPERATIONS"]

    def flag(value: object) -> str:
        return "true" if value else "false"

    lines = ["// Made by scripts/generate-operations.py.", "", "#ifdef LNBWD_OPERATION_ENUMS"]
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
    lines += [f'    {{"{name}", {kinds[kind]}, {flag(own)}}},'
              for name, kind, own in roles]
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


def python(declared: Declaration) -> str:
    """The module lnbwd.core.base.operations, with the declared tables."""
    lines = ["# Name, whether it has the groups of rows, the rows of a group, columns.",
             "_KINDS = (",
             *(f"    ({quoted(k)}, {', '.join(str(bool(k[has])) for has in DIMENSIONS)}),"
               for k in declared.kinds), ")",
             "# Name, bytes, what row programs make of it, PyTorch's name, NumPy's; of floats bits "
             "of the",
             "# fraction, bias of the exponent, and bits of the largest number.",
             "_ELEMENTS = (",
             *(f"    ({quoted(e)}, {e['bytes']}, \"{declared.use_of(e)}\", \"{e['torch']}\", "
               f"\"{e['numpy']}\", {e['fraction']}, {e['bias']}, 0x{e['largest']:x}),"
               for e in declared.elements), ")",
             "",
             "# Name, kind, whether the element is one of its own.",
             "_ROLES = ("]
    lines += [f"    ({quoted(r)}, {quoted(declared.kind_of(r))}, {bool(r['hasOwnElement'])}),"
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
    return tablegen_records.with_tables(PYTHON, [*lines, ")"])


def page(declared: Declaration) -> str:
    """docs/reference/operations.md."""
    lines = ["<!-- Made by scripts/generate-operations.py: do not edit. -->", "",
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
        kind = declared.kind_of(role)
        element = {"row_block": "f16, bf16 or f32" if role["hasOwnElement"] else "that of x",
                   "column": "that of x, or f32", "row_scalar": "f32"}[kind["name"]]
        lines.append(f"| `{role['name']}` | `{role['shape']}` | {element} | {role['text']} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """The command."""
    def make(records: Record) -> dict[Path, str]:
        declared = Declaration(records)
        return {PYTHON: python(declared), PAGE: page(declared)}

    if sys.argv[1:2] == ["--header"]:
        header = Path(sys.argv[2])
        header.parent.mkdir(parents=True, exist_ok=True)
        header.write_text(cpp(runpy.run_path(str(PYTHON))))
        return 0
    return tablegen_records.run("Makes the tables of named operations.", DECLARATION, make)


if __name__ == "__main__":
    sys.exit(main())
