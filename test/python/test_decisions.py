# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table of decisions about torch.compile's graphs, as text and as a page."""

import html.parser

from lnbwd.inductor import Decision, Decisions
from lnbwd.program.row_program import RowProgram

PROGRAM = RowProgram.from_text(
    '{"format":"lnbwd-row-program 1","length":768,"rows":64,"inputs":[["row","f32"]],'
    '"nodes":[["input",0],["exp",0]],"outputs":[[1,"row","f32"]]}')
TABLE = Decisions([
    Decision("op" + "_op".join(map(str, range(12))), True, "", ("var_mean", "mul"), (PROGRAM,)),
    Decision("op31", False, "x < y: Inductor's is faster", ("a<b>",), (),
             {"rows": 81.54, "torch": 69.7})])


class Cells(html.parser.HTMLParser):
    """The text of each cell of a page's table; every element that is opened is closed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self._open: list[str] = []
        self.feed(page)
        assert self._open == []

    def handle_starttag(self, tag, attrs):
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")
        if tag not in ("meta", "br"):
            self._open.append(tag)

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        if {"td", "th"} & {*self._open}:
            self.rows[-1][-1] += data


def test_decisions_print_as_a_table():
    assert str(TABLE).splitlines() == [
        "       kernel                            rows x columns  nodes  rows us  torch us  why",
        "taken  op0_op1_op2_op...8_op9_op10_op11  64x768              2",
        "left   op31                                                  1     81.5      69.7  "
        "x < y: Inductor's is faster",
        "1 of 2 fused nodes taken"]

    assert str(Decisions()).startswith("no decisions: ")


def test_decisions_are_a_page(tmp_path):
    page = tmp_path / "page.html"
    TABLE.save(page)
    heads, taken, left = Cells(page.read_text()).rows
    assert heads == ["", "kernel", "rows x columns", "nodes", "rows us", "torch us", "why"]
    assert taken == ["taken", TABLE[0].kernel, "64x768", "2var_meanmul", "", "", ""]
    assert left == ["left", "op31", "", "1a<b>", "81.5", "69.7", "x < y: Inductor's is faster"]
    assert TABLE._repr_html_() in page.read_text()
