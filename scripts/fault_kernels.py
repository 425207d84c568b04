# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Counts the kernels on which the checker is tested: those with a fault, each with a twin
without, and those that only look as if they had one, by class. For docs/checker.md."""

from __future__ import annotations

import dataclasses
import pathlib
import re

SOURCE = pathlib.Path(__file__).resolve().parents[1]
INPUTS = SOURCE / "unittests" / "Simulator" / "Inputs"


@dataclasses.dataclass
class Group:
    """The kernels of a class in a file."""

    title: str
    file: str
    faults: list[str] = dataclasses.field(default_factory=list)
    tricky: list[str] = dataclasses.field(default_factory=list)


def by_headings(file: str, prefix: str = "") -> list[Group]:
    """Of a file with PAIR and ALONE (pairs.h): a class for each heading."""
    groups: list[Group] = []
    for line in (INPUTS / file).read_text().splitlines():
        if heading := re.match(r"/\* ---- (.*?) -+ \*/", line):
            groups.append(Group(prefix + heading[1], file))
        elif kernel := re.match(r"(PAIR|ALONE)\((\w+)\)", line):
            kind = groups[-1].faults if kernel[1] == "PAIR" else groups[-1].tricky
            kind.append(kernel[2])
    return groups


def kernels(file: str) -> list[str]:
    return re.findall(r"^KERNEL void (\w+)", (INPUTS / file).read_text(), re.MULTILINE)


def groups() -> list[Group]:
    defined = kernels("defined.c")
    faults = [name for name in defined if name + "_bad" in defined]
    tricky = [name for name in defined if name not in faults and not name.endswith("_bad")]
    return [
        *by_headings("order.c", "Order: "),
        *by_headings("faults.c"),
        Group("Parts of values and memory", "defined.c", faults, tricky),
        # The argument decides whether they leave their variable.
        Group("Neighbours", "borders.c", kernels("borders.c")),
    ]


def table() -> str:
    lines = ["| class | with a fault, and a twin without | only look like one | in |",
             "|---|---|---|---|"]
    lines += [f"| {group.title} | {len(group.faults) or ''} | {len(group.tricky) or ''} "
              f"| [{group.file}](../unittests/Simulator/Inputs/{group.file}) |"
              for group in groups()]
    faults = sum(len(group.faults) for group in groups())
    tricky = sum(len(group.tricky) for group in groups())
    lines.append(f"| together | {faults} | {tricky} | |")
    return "\n".join(lines) + "\n"
