# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""docs/features.md: every "yes" of this compiler links to a test that is there, and no cell
of the others is left empty."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "features.md"


def rows() -> list[list[str]]:
    """The table without its head: the cells of each row."""
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_the_table_is_found():
    assert len(rows()) > 20
    assert len({len(row) for row in rows()}) == 1


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0])
def test_a_yes_of_ours_has_its_test(row):
    feature, ours, *others = row
    assert all(others), f"{feature}: an empty cell"
    if ours == "no":
        return
    link = re.match(r"\[yes\]\(([^)#]+)\)", ours)
    assert link, f"{feature}: expected 'no' or a 'yes' that links to its test, got '{ours}'"
    file = (PAGE.parent / link[1]).resolve()
    assert file.is_file(), f"{feature}: {link[1]} is not there"
    assert ROOT / "test" in file.parents, f"{feature}: {link[1]} is no test"
