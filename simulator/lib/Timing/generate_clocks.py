# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the parameters of the timing model as ClockInfo.h includes them, SimulatorClocks.inc.

  generate_clocks.py Clocks.json Chips.json OUT

It needs nothing but Python's standard library, as generate_chips.py does.
"""

from __future__ import annotations

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "lib" / "Chips"))

from generate_chips import comment, guarded, resolve, write

BANNER = "Generated from simulator/lib/Timing/Clocks.json by generate_clocks.py: edit the former."


def fail(where: str, message: str) -> None:
    """Ends with a message about a place of the parameters."""
    sys.exit(f"Clocks.json: {where}: {message}")


def clock_values(description: dict, name: str) -> dict:
    """A set of parameters with those that it takes over from another one."""
    row = description["sets"].get(name)
    if row is None:
        fail("sets", f"there is no set '{name}'")
    like = row.get("like")
    own = {key: value for key, value in row.items()
           if key not in ("about", "chip", "like", "calibrated")}
    for key, value in own.items():
        if key not in description["fields"]:
            fail(f"sets.{name}", f"unknown field '{key}', expected one of: "
                                   f"{', '.join(description['fields'])}")
        if type(value) not in (int, float) or value < 0:
            fail(f"sets.{name}", f"'{key}': expected a number of 0 or more, got {value!r}")
    return (clock_values(description, like) if like else {}) | own


# Parameters of the timing model that a chip's facts say, for the whole compute unit.
MATRIX_RATES = {"matrixFlopsPerClock": "matrixHalfPerClock",
                "matrixSingleFlopsPerClock": "matrixSinglePerClock",
                "matrixXF32FlopsPerClock": "matrixTF32PerClock"}


def matrix_rates(facts: dict) -> dict:
    """Those that are known, for a SIMD."""
    return {key: facts[fact] / facts["simdsPerComputeUnit"] for key, fact in MATRIX_RATES.items()
            if facts[fact]}


def table(description: dict, families: dict[str, str], chips: dict[str, dict]) -> str:
    """Members and rows of the timing model: the sets of products, then a row for each chip without
    one."""
    fields = description["fields"]
    members = [line for key, field in fields.items()
               for line in [*comment(field, {}, "  "), f"  double {key[0].upper()}{key[1:]};"]]
    sets = [(row["chip"], name, row["calibrated"],
             clock_values(description, name) | matrix_rates(chips[row["chip"]]))
            for name, row in description["sets"].items() if "chip" in row]
    named = {chip for chip, *_ in sets}
    for chip, facts in chips.items():
        # Of families without a set nothing is predicted.
        if chip in named or families[chip] not in description["sets"]:
            continue
        values = clock_values(description, families[chip]) | matrix_rates(facts)
        # The efficiency of a stream is that of the card that was measured.
        values |= {"computeUnits": facts["computeUnits"], "megahertz": facts["megahertz"],
                   "l2KiB": facts["l2KiB"], "heldOutPercent": 0,
                   "memoryGigabytes": round(facts["gigabytesPerSecond"] * 0.8)}
        sets.append((chip, facts["product"], False, values))
    rows = []
    for chip, name, calibrated, values in sets:
        for key in fields.keys() - values.keys():
            fail(f"sets.{name}", f"the field '{key}' is missing")
        numbers = ", ".join(str(float(values[key])) for key in fields)
        rows.append(f'{{"{chip}", "{name}", {str(calibrated).lower()}, {numbers}}},')
    lines = [f"// {BANNER}", "", *guarded("GET_CLOCK_MEMBERS", members),
             *guarded("GET_CLOCK_ROWS", rows),
             *guarded("GET_CLOCK_NUMBERS",
                      [f'{{"{key}", &ClockInfo::{key[0].upper()}{key[1:]}}},' for key in fields])]
    return "\n".join(lines)


def main() -> None:
    """The command."""
    source, chips_file, out = (pathlib.Path(argument) for argument in sys.argv[1:])
    chips = json.loads(chips_file.read_text())
    simulated = {name: facts for name, facts in resolve(chips).items() if facts["simulated"]}
    families = {name: row["family"] for name, row in chips["chips"].items()}
    write(out / "SimulatorClocks.inc", table(json.loads(source.read_text()), families, simulated))


if __name__ == "__main__":
    main()
