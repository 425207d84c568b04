# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes what C++ and CMake know of the chips, from their description.

  generate_chips.py Chips.json OUT

makes in the folder OUT

  CompilerChips.inc   members and rows of the compiler's table (lnbwd/Target/ChipInfo.h)
  SimulatorChips.inc  the same for the simulator's (simulator/lib/SimulatedChip.h)
  ChipNames.h         names for the parts that know no more of a chip
  chips.cmake         lists for CMake

It needs nothing but Python's standard library, since the runtime is built without LLVM.
"""

from __future__ import annotations

import json
import math
import pathlib
import sys
import textwrap

BANNER = "Generated from lib/Chips/Chips.json by lib/Chips/generate_chips.py: edit the former."
# What a row and a family may say beside facts.
ROW_KEYS = {"family", "tests"}
FAMILY_KEYS = {"about", "vendor", "simulated", "tests"}
PYTHON_TYPES = {"integer": int, "flag": bool, "text": str, "backend": str, "matrixUnit": str,
                "float8Unit": str}
# Types whose values are those of an enumeration in lnbwd/Target/ChipInfo.h.
ENUMERATIONS = ("backend", "matrixUnit", "float8Unit")


class Side:
    """One of the two tables: how it spells types and values."""

    def __init__(self, key: str, row: str, types: dict[str, str], name: str) -> None:
        self.key, self.row, self.types, self.name = key, row, types, name

    def value(self, kind: str, value: object, mapping: dict) -> str:
        """A value as this side spells it."""
        if kind == "integer":
            return str(value * mapping.get("times", 1))
        if kind == "flag":
            return "true" if value else "false"
        return f"{self.types[kind]}::{value}" if kind in ENUMERATIONS else json.dumps(value)


COMPILER = Side("compiler", "ChipInfo", {"integer": "int64_t", "flag": "bool",
                                         "text": "llvm::StringRef", "backend": "Backend",
                                         "matrixUnit": "MatrixUnit",
                                         "float8Unit": "Float8Unit"}, "name")
SIMULATOR = Side("simulator", "SimulatedChip", {"integer": "unsigned", "flag": "bool",
                                                "text": "const char *"}, "Chip")


def fail(where: str, message: str) -> None:
    """Ends with a message about a place of the description."""
    sys.exit(f"Chips.json: {where}: {message}")


def check(where: str, fields: dict, values: dict, wanted: set[str]) -> None:
    """Every fact that is wanted, no other, each of its type."""
    for key in values.keys() - wanted:
        fail(where, f"unknown field '{key}', expected one of: {', '.join(sorted(wanted))}")
    for key in wanted - values.keys():
        fail(where, f"the field '{key}' is missing")
    for key, value in values.items():
        expected = PYTHON_TYPES[fields[key]["type"]]
        if type(value) is not expected or (expected is int and value < 0):
            fail(where, f"'{key}': expected a value of type {fields[key]['type']}, got {value!r}")


def resolve(description: dict) -> dict[str, dict]:
    """The chips with all their facts: those of the family, of the row, and what is computed."""
    fields, families = description["fields"], description["families"]
    chips = {}
    for name, row in description["chips"].items():
        family = families.get(row.get("family"))
        if family is None:
            fail(f"chips.{name}", f"expected a family, one of: {', '.join(families)}")
        both = family | row
        facts = {key: value for key, value in both.items() if key not in ROW_KEYS | FAMILY_KEYS}
        wanted = {key for key, field in fields.items() if "product" not in field
                  and family["vendor"] in field.get("vendors", [family["vendor"]])}
        check(f"chips.{name}", fields, facts, wanted)
        for key, field in fields.items():
            if "product" in field:
                facts[key] = math.prod(facts[factor] for factor in field["product"])
        chips[name] = facts | {key: both[key] for key in ("family", "vendor", "simulated", "tests")}
    for key, name in description["defaults"].items():
        if key not in ("about", "ptx") and name not in chips:
            fail(f"defaults.{key}", f"unknown chip '{name}'")
    return chips


def comment(field: dict, mapping: dict, indent: str) -> list[str]:
    """The comment of a member: what it is, and its unit."""
    unit = mapping.get("unit", field.get("unit", ""))
    text = field["about"] + (f" Unit: {unit}." if unit not in field["about"].lower() else "")
    return textwrap.wrap(text, 80, initial_indent=f"{indent}/// ",
                         subsequent_indent=f"{indent}/// ")


def member(side: Side, field: dict, mapping: dict, name: str) -> list[str]:
    """The declaration of a member, with its comment."""
    spelling = side.types[field["type"]]
    space = "" if spelling.endswith("*") else " "
    return [*comment(field, mapping, "  "), f"  {spelling}{space}{name};"]


def guarded(macro: str, lines: list[str]) -> list[str]:
    """Lines that are there only where the macro is defined, which they undefine."""
    return [f"#ifdef {macro}", f"#undef {macro}", *lines, f"#endif // {macro}", ""]


def machine(target: str) -> str:
    """LLVM's name for the e_flags number of a chip or a generic target."""
    return f"llvm::ELF::EF_AMDGPU_MACH_AMDGCN_{target.upper().replace('-', '_')}"


def table(side: Side, description: dict, chips: dict[str, dict]) -> str:
    """Groups, members and rows of one side."""
    grouped: dict[str, list[str]] = {"": []}
    for field in description["fields"].values():
        mapping = field.get(side.key)
        if not mapping:
            continue
        group, _, name = mapping["member"].rpartition(".")
        grouped.setdefault(group, []).extend(member(side, field, mapping, name))
    groups = []
    for group, members in grouped.items():
        if group:
            what = description["groups"][group]
            groups += [*comment(what, {}, ""), f"struct {what['type']} {{", *members, "};", ""]
            grouped[""] += [f"  {what['type']} {group};"]

    rows = []
    for name, facts in chips.items():
        rows += ["[] {", f"  {side.row} chip{{}};", f'  chip.{side.name} = "{name}";']
        if side is SIMULATOR:
            generic = facts["genericTarget"]
            rows += [f"  chip.ElfMachine = {machine(name)};",
                     f"  chip.GenericMachine = {machine(generic) if generic else 0};"]
        for key, field in description["fields"].items():
            mapping = field.get(side.key)
            if not mapping or key not in facts:
                continue
            rows.append(f"  chip.{mapping['member']} = "
                        f"{side.value(field['type'], facts[key], mapping)};")
        rows += ["  return chip;", "}(),"]
    lines = [f"// {BANNER}", "",
             *guarded("GET_CHIP_GROUPS", groups),
             *guarded("GET_CHIP_MEMBERS", grouped[""]),
             *guarded("GET_CHIP_COUNT", [str(len(chips))]),
             *guarded("GET_CHIP_ROWS", rows)]
    return "\n".join(lines)


def names(description: dict, chips: dict[str, dict]) -> str:
    """The header of names."""
    defaults = description["defaults"]
    simulated = ", ".join(name for name, facts in chips.items() if facts["simulated"])
    return f"""// {BANNER}

#ifndef LNBWD_CHIPS_CHIPNAMES_H
#define LNBWD_CHIPS_CHIPNAMES_H

// The chip that is simulated, and the GPU that is compiled for, where none is
// named. Macros, so that they can be parts of longer texts.
#define LNBWD_DEFAULT_SIMULATED_CHIP "{defaults['simulated']}"
#define LNBWD_DEFAULT_GPU "{defaults['gpu']}"
/// All chips that are simulated.
#define LNBWD_SIMULATED_CHIPS "{simulated}"

#endif // LNBWD_CHIPS_CHIPNAMES_H
"""


def cmake(description: dict, chips: dict[str, dict]) -> str:
    """Names, and for each simulated chip what its kernels for tests depend on."""
    simulated = {name: facts for name, facts in chips.items() if facts["simulated"]}
    lines = [f"# {BANNER}", f"set(LNBWD_SIMULATED_CHIPS {' '.join(simulated)})",
             f"set(LNBWD_DEFAULT_SIMULATED_CHIP {description['defaults']['simulated']})"]
    for name, facts in simulated.items():
        lines += [f"set(LNBWD_WAVE_SIZE_{name} {facts['waveSize']})",
                  f"set(LNBWD_TESTS_{name} {facts['tests']})"]
    return "\n".join(lines) + "\n"


def write(file: pathlib.Path, text: str) -> None:
    """What has not changed keeps its date, and what includes it is not built again."""
    if not file.exists() or file.read_text() != text:
        file.write_text(text)


def main() -> None:
    """The command."""
    source, out = (pathlib.Path(argument) for argument in sys.argv[1:])
    description = json.loads(source.read_text())
    chips = resolve(description)
    simulated = {name: facts for name, facts in chips.items() if facts["simulated"]}
    out.mkdir(parents=True, exist_ok=True)
    for file, text in (("CompilerChips.inc", table(COMPILER, description, chips)),
                       ("SimulatorChips.inc", table(SIMULATOR, description, simulated)),
                       ("ChipNames.h", names(description, chips)),
                       ("chips.cmake", cmake(description, chips))):
        write(out / file, text)


if __name__ == "__main__":
    main()
