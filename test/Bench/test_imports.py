# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Benches import nothing of tests, and no tests but these import benches."""

import ast

from conftest import ROOT

BENCH, TEST = ROOT / "bench", ROOT / "test"


def imported(folder):
    """Each Python file of a folder, and the first names of the modules that it imports."""
    for file in folder.rglob("*.py"):
        nodes = [*ast.walk(ast.parse(file.read_text()))]
        yield file, {name.partition(".")[0] for node in nodes for name in (
            [alias.name for alias in node.names] if isinstance(node, ast.Import) else
            [node.module] if isinstance(node, ast.ImportFrom) and not node.level else [])}


def modules(folder):
    return {file.stem for file in folder.rglob("*.py") if file.stem != "__init__"}


def test_benches_import_nothing_of_tests():
    of_tests = modules(TEST)
    assert not {file.name: found for file, names in imported(BENCH) if (found := names & of_tests)}


def test_other_tests_import_nothing_of_benches():
    of_benches = {"lnbwd_bench", *modules(BENCH)} - modules(TEST)
    assert not {file.name: found for file, names in imported(TEST)
                if TEST / "Bench" not in file.parents and (found := names & of_benches)}
