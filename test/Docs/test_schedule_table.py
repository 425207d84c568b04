# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The schedule's fields are those that LNBwdSchedule.td declares, in C++, in Python and for the
compiler, and nobody else spells them."""

import ast
import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("LNBWD_BUILD_DIR", ROOT / "build")).resolve()
sys.path.insert(0, str(ROOT / "python"))

from lnbwd import schedule  # noqa: E402

# The declaration, and what is made from it.
TABLES = {"include/lnbwd/Dialect/LNBwd/IR/LNBwdSchedule.td",
          "python/lnbwd/core/base/schedule.py"}
# Keys of a launch plan (docs/runtime.md), which outlive the fields that they came from.
PLAN_KEYS = {"lib/Runtime/Plan.cpp", "lib/Report/Report.cpp", "lib/LaunchPlan/AttachLaunchPlan.cpp",
             "bench/lnbwd_bench/stream.py"}
# Fields whose names are no words of other things; those of the others count as whole strings.
NAMES = "|".join(name for name in schedule.FIELDS if "_" in name)
FOLDERS = ("include", "lib", "python", "tools", "bench")
CPP_TOKENS = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"', re.DOTALL)


def test_the_compiler_has_the_same_fields_in_the_same_order():
    source = """func.func @f(%x : memref<?x512xf32>, %y : memref<?x512xf32>) {
      lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xf32>)
          outs(%y[m, n] : memref<?x512xf32>) {
      ^bb0(%r: vector<512xf32>):
        lnbwd.yield %r : vector<512xf32>
      }
      return
    }"""
    result = subprocess.run(
        [BUILD / "bin" / "lnbwd-opt", "-", "--lnbwd-set-chip=chip=sm_90",
         "--lnbwd-select-schedule=schedule=?=0"],
        input=source, text=True, capture_output=True, check=False)
    listed = re.search(r"unknown schedule field '\?', expected one of: (.*)", result.stderr)
    assert listed and listed[1].split(", ") == list(schedule.FIELDS)


def cpp_strings(text: str) -> list[str]:
    """The string literals of C++ that is no comment."""
    return [match[0] for match in CPP_TOKENS.finditer(text) if match[0][0] in 'R"']


def python_strings(text: str) -> list[str]:
    """The string literals of Python that are no documentation."""
    tree = ast.parse(text)
    documentation = {id(node.value) for node in ast.walk(tree)
                     if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)}
    return [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)
            and isinstance(node.value, str) and id(node) not in documentation]


def test_strings_are_told_from_comments():
    assert cpp_strings('a("row"); // "no"\n/* "no" */ R"x(raw)x"') == ['"row"', 'R"x(raw)x"']
    assert python_strings('"""Doc."""\nf("row")  # "no"') == ["row"]


def test_nobody_else_spells_a_field():
    found = []
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            name = str(path.relative_to(ROOT))
            readers = {".cpp": cpp_strings, ".h": cpp_strings, ".inc": cpp_strings,
                       ".def": cpp_strings, ".py": python_strings}
            kind = ".py" if name == "tools/lnbwd-tune/lnbwd-tune" else path.suffix
            if kind in readers and name not in TABLES | PLAN_KEYS:
                strings = readers[kind](path.read_text())
                found += [f"{name}: {text}" for text in strings
                          if re.search(NAMES, text) or text.strip('"') in schedule.FIELDS]
    assert not found, "take the names from LNBwdSchedule.h or lnbwd.schedule"


@pytest.mark.parametrize("field", schedule.FIELDS.values(), ids=lambda field: field.name)
def test_each_field_is_described(field):
    page = (ROOT / "docs" / "reference" / "dialect.md").read_text()
    row, = (line for line in page.splitlines() if line.startswith(f"| `{field.name}` | "))
    _, unit, values, _, vendors, text = map(str.strip, row.strip(" |").split(" | "))
    assert text and not text.endswith(".") and vendors
    assert values.strip("`") and field.is_flag == (unit in ("", "flag"))


def test_schedules_are_written_and_read():
    fields = {"stages": 0, "prefetch": 1, "reload": True}
    assert schedule.overrides(fields) == "stages=0,prefetch=1,reload=1"
    assert schedule.parse_printed("stages=0, prefetch=1,reload=1") == fields
    assert schedule.parse_printed(
        "threads_per_row = 64, dependent_launch = true, reload = false") == {
            "threads_per_row": 64, "dependent_launch": 1, "reload": 0}
    printed = """module attributes {
      lnbwd.rejected_schedules = {k = [#lnbwd.schedule<stages = 2>]}} {
      attributes {schedule = #lnbwd.schedule<stages = 3,
                                             prefetch = 1>}"""
    assert schedule.of_programs(printed) == ["stages = 3, prefetch = 1"]
    assert schedule.overrides({}) == ""


def test_numbers_of_numpy_are_numbers():
    numpy = pytest.importorskip("numpy")
    assert schedule.overrides({"stages": numpy.int32(2)}) == "stages=2"
