# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Counts the kernels on which the checker is tested: those with a fault, each with a twin
without, and those that only look as if they had one, by class; and the pairs of instructions
on which hazards are."""

from __future__ import annotations

import dataclasses
import pathlib
import re

SOURCE = pathlib.Path(__file__).resolve().parents[1]
TESTS = SOURCE / "unittests"
INPUTS = TESTS / "Inputs"


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
    """The names of the kernels of a file."""
    return re.findall(r"^KERNEL void (\w+)", (INPUTS / file).read_text(), re.MULTILINE)


def groups() -> list[Group]:
    """Which kernels there are, by the class of their faults."""
    defined = kernels("defined.c")
    faults = [name for name in defined if name + "_bad" in defined]
    tricky = [name for name in defined if name not in faults and not name.endswith("_bad")]
    return [
        *by_headings("order-global.c", "Order: "),
        *by_headings("order-lds.c", "Order: "),
        *by_headings("order-tricky.c", "Order: "),
        *by_headings("order-interleaved.c", "Order: "),
        *by_headings("faults.c"),
        Group("Parts of values and memory", "defined.c", faults, tricky),
        # The argument decides whether they leave their variable.
        Group("Neighbours", "redzones.c", kernels("redzones.c")),
    ]


@dataclasses.dataclass
class Hazards:
    """The cases of a test function: how many are too close, and how many far enough."""

    test: str
    faults: int
    clean: int


def hazards() -> list[Hazards]:
    """expectNeeds has a case of each, or, of 0 wait states, one that is far enough."""
    found = []
    text = (TESTS / "CheckerHazardTest.cpp").read_text()
    for function in re.split(r"(?m)^TEST_P\(", text)[1:]:
        fixture, name = function.split(")")[0].split(", ")
        function = function.split("\n}\n")[0]
        needs = len(re.findall(r"\bexpectNeeds\(", function))
        none = len(re.findall(r"\bexpectNeeds\(\s*0,", function))
        found.append(Hazards(f"{fixture}.{name}",
                             needs - none + len(re.findall(r"\bEXPECT_SAYS\(", function)),
                             needs + len(re.findall(r"\bEXPECT_CLEAN\(", function))))
    return found
