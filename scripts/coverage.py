#!/usr/bin/env python3
# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes docs/coverage.md: which instructions the simulator executes in a test, on which chip.

  scripts/coverage.py                  runs the simulator's tests and writes the page
  scripts/coverage.py --check          only says whether the page is what would be written
  scripts/coverage.py --executed FILE  runs nothing: all of the simulator's tests have just run,
                                       with LNBWD_SIM_COVERAGE=FILE (scripts/test.sh)

The build folder is LNBWD_BUILD_DIR, build/ otherwise.
"""

import argparse
import collections
import os
import pathlib
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "test" / "EndToEnd"))

import chips  # noqa: E402

CHIPS = chips.SIMULATED
PAGE = SOURCE / "docs" / "coverage.md"
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


def states_of(log: str) -> dict[str, dict[str, str]]:
    """State by instruction and chip, from lines that may repeat each other."""
    states: dict[str, dict[str, str]] = collections.defaultdict(dict)
    for line in log.splitlines():
        chip, name, state = line.split()
        if states[name].get(chip) != "executed":
            states[name][chip] = state
    return states


def group_of(name: str) -> str:
    """The heading that an instruction stands under."""
    for title, prefixes in GROUPS:
        if name.startswith(prefixes):
            return title
    return "Other"


def page(states: dict[str, dict[str, str]]) -> str:
    """The text of docs/coverage.md."""
    marks = {"executed": "x", "missing": "**no**", None: ""}
    counts = {chip: sum(1 for chips in states.values() if chips.get(chip) == "executed")
              for chip in CHIPS}
    missing = {chip: sum(1 for chips in states.values() if chips.get(chip) == "missing")
               for chip in CHIPS}
    lines = [
        "# Instructions that the simulator executes",
        "",
        "Written by `scripts/coverage.py`; do not edit. `x`: executed in a test on that chip, "
        "with results compared. **no**: in a code object of the tests, but not implemented. "
        "Empty: neither; the chip may not have it, or have it under another name. Names are "
        "LLVM's, without the suffix of the encoding.",
        "",
        "What is executed: the simulator's unit tests (instruction by instruction, hand-written "
        "kernels, and the C kernels of unittests/Simulator/Inputs compiled by clang at -O0, -O2 "
        "and -O3).",
        "",
        "| | " + " | ".join(CHIPS) + " |",
        "|---|" + "---:|" * len(CHIPS),
        "| executed | " + " | ".join(str(counts[chip]) for chip in CHIPS) + " |",
        "| not implemented | " + " | ".join(str(missing[chip]) for chip in CHIPS) + " |",
    ]
    groups: dict[str, list[str]] = collections.defaultdict(list)
    for name in sorted(states):
        groups[group_of(name)].append(name)
    for title in [title for title, _ in GROUPS] + ["Other"]:
        if not groups[title]:
            continue
        lines += ["", f"## {title}", "", "| instruction | " + " | ".join(CHIPS) + " |",
                  "|---|" + ":-:|" * len(CHIPS)]
        for name in groups[title]:
            cells = " | ".join(marks[states[name].get(chip)] for chip in CHIPS)
            lines.append(f"| `{name}` | {cells} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true",
                        help="write nothing; fail if the page is stale")
    parser.add_argument("--executed", type=pathlib.Path, metavar="FILE",
                        help="what the tests have executed; they are run otherwise")
    options = parser.parse_args()
    build = pathlib.Path(os.environ.get("LNBWD_BUILD_DIR", SOURCE / "build"))
    text = page(states_of(options.executed.read_text() if options.executed else run_tests(build)))
    if not options.check:
        PAGE.write_text(text)
        return 0
    if not PAGE.exists() or PAGE.read_text() != text:
        print("error: stale: docs/coverage.md; run scripts/coverage.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
