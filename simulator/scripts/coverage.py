#!/usr/bin/env python3
# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes build/coverage.md: which instructions the simulator's tests execute, on which chip.

  coverage.py                  runs the simulator's tests and writes the list
  coverage.py --executed FILE  runs nothing: all of the simulator's tests have just run, with
                               LNBWD_SIM_COVERAGE=FILE (scripts/test.sh)

Fails if an instruction of their code objects is not implemented. The build folder is
LNBWD_BUILD_DIR, build/ otherwise.
"""

import argparse
import collections
import os
import pathlib
import subprocess
import sys
import tempfile

from simulated_chips import CHIPS

SOURCE = pathlib.Path(__file__).resolve().parents[2]
# What tests have in a code object to see that it is refused.
REFUSED = {"image_load", "v_cubeid_f32", "v_mfma_ld_scale_b32",
           # The simulator refuses these on gfx1250; other chips may execute them.
           "s_setreg_b32", "v_swmmac_f32_16x16x64_f16",
           "v_wmma_scale_f32_32x16x128_f4"}
GROUPS = (
    ("Matrix", ("v_mfma", "v_wmma", "v_smfma", "v_swmma")),
    ("Vector ALU", ("v_",)),
    ("Global, flat, scratch and buffer memory", ("global_", "flat_", "scratch_", "buffer_")),
    ("LDS", ("ds_",)),
    ("Scalar", ("s_",)),
)


def run_tests(build: pathlib.Path) -> str:
    """What the simulator's tests execute, as the simulator writes it."""
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder) / "coverage"
        environment = dict(os.environ, LNBWD_SIM_COVERAGE=str(log), LNBWD_SIM_CHECK="all")
        command = [str(build / "bin" / "lnbwd-sim-tests"), "--gtest_brief=1"]
        result = subprocess.run(command, env=environment, check=False, capture_output=True,
                                text=True)
        if result.returncode != 0:
            raise SystemExit(f"error: {' '.join(command)} failed:\n{result.stdout}{result.stderr}")
        return log.read_text()


class Executed:
    """What a log of the simulator says, whose lines may repeat each other."""

    def __init__(self, log: str) -> None:
        """Reads the lines: chip, instruction, state and perhaps a form of its operands."""
        #: The chips that executed an instruction, and those that have no function for it.
        self.executed: dict[str, set[str]] = collections.defaultdict(set)
        self.missing: dict[str, set[str]] = collections.defaultdict(set)
        #: By instruction and form of an operand, the chips that have it, and that executed it.
        self.having: dict[tuple[str, str], set[str]] = collections.defaultdict(set)
        self.forms: dict[tuple[str, str], set[str]] = collections.defaultdict(set)
        #: The names of each instruction that is declared, by its first one.
        self.declared: dict[str, set[str]] = collections.defaultdict(set)
        for line in log.splitlines():
            chip, name, state, *form = line.split()
            if state == "declared":
                self.declared[form[0]].add(name)
            elif form:
                (self.having if state == "has" else self.forms)[name, form[0]].add(chip)
            else:
                (self.missing if state == "missing" else self.executed)[name].add(chip)

    def mark(self, name: str, chip: str) -> str:
        """What stands in the table of instructions."""
        if chip not in self.executed[name]:
            return "**no**" if chip in self.missing[name] else ""
        whole = all(chip in self.forms[key] for key, chips in self.having.items()
                    if key[0] == name and chip in chips)
        return "x" if whole else "part"


def group_of(name: str) -> str:
    """The heading that an instruction stands under."""
    for title, prefixes in GROUPS:
        if name.startswith(prefixes):
            return title
    return "Other"


def page(log: Executed) -> str:
    """The list."""
    names = sorted(log.executed.keys() | log.missing.keys())
    marks = {name: [log.mark(name, chip) for chip in CHIPS] for name in names}

    def count(mark: str) -> str:
        return " | ".join(str(sum(row[i] == mark for row in marks.values()))
                          for i in range(len(CHIPS)))

    lines = [
        "# Instructions that the simulator executes",
        "",
        "Written by `simulator/scripts/coverage.py`. `x`: executed in a test on that chip, "
        "with results compared. `part`: likewise, but not in each [form of its "
        "operands](#forms-of-operands). **no**: in a code object of the tests, but not "
        "implemented. Empty: neither; the chip may not have it, or have it under another name. "
        "Names are LLVM's, without the suffix of the encoding.",
        "",
        "What is executed: the simulator's unit tests (instruction by instruction, hand-written "
        "kernels, and the C kernels of simulator/unittests/Inputs compiled by clang at -O0, -O2 "
        "and -O3).",
        "",
        "| | " + " | ".join(CHIPS) + " |",
        "|---|" + "---:|" * len(CHIPS),
        f"| executed | {count('x')} |",
        f"| in part | {count('part')} |",
        f"| not implemented | {count('**no**')} |",
    ]
    groups: dict[str, list[str]] = collections.defaultdict(list)
    for name in names:
        groups[group_of(name)].append(name)
    for title in [title for title, _ in GROUPS] + ["Other"]:
        if not groups[title]:
            continue
        lines += ["", f"## {title}", "", "| instruction | " + " | ".join(CHIPS) + " |",
                  "|---|" + ":-:|" * len(CHIPS)]
        lines += [f"| `{name}` | {' | '.join(marks[name])} |" for name in groups[title]]
    lines += [
        "",
        "## Forms of operands",
        "",
        "Operands of mixed precision are f32 or a half of a register, and the same constant is "
        "another number in each; of packed numbers, a constant is the low one. These forms are "
        "read in different ways, and an instruction counts as executed with all of them. Of those "
        "that are executed in part:",
        "",
        "| instruction | form | " + " | ".join(CHIPS) + " |",
        "|---|---|" + ":-:|" * len(CHIPS),
    ]
    for name, form in sorted(log.having):
        if "part" not in marks[name]:
            continue
        cells = " | ".join("x" if chip in log.forms[name, form] else "" for chip in CHIPS)
        lines.append(f"| `{name}` | {form.replace('-', ' ')} | {cells} |")
    untested = sorted(first for first, others in log.declared.items()
                      if not any(log.executed.get(name) for name in others))
    lines += ["", "## Executed in no test", "",
              f"{len(untested)} of {len(log.declared)} that simulator/lib/ISA/Instructions "
              "declares:", "", ", ".join(f"`{name}`" for name in untested)]
    return "\n".join(lines) + "\n"


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--executed", type=pathlib.Path, metavar="FILE",
                        help="what the tests have executed; they are run otherwise")
    options = parser.parse_args()
    build = pathlib.Path(os.environ.get("LNBWD_BUILD_DIR", SOURCE / "build"))
    log = Executed(options.executed.read_text() if options.executed else run_tests(build))
    (build / "coverage.md").write_text(page(log))
    missing = sorted({name for name, chips in log.missing.items() if chips - log.executed[name]}
                     - REFUSED)
    for name in missing:
        print(f"error: {name} is in a code object of the tests, but not implemented",
              file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
