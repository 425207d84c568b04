# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The pages beside the generated reference: few, short, and of what holds now."""

import re

from pages import PAGES, ROOT, each_page

# (The changes of a release are no page.)
WRITTEN = [page for page in PAGES if ROOT / "docs" / "reference" not in page.parents
           and page.name != "CHANGELOG.md"]
MOST_PAGES, MOST_WORDS = 18, 36_000

#: Who a page is for, when something was tried, and how it went.
OF_THE_PAST = re.compile(r"This page is for|\b20\d\d-\d\d|\bmissed\.|before this version|"
                         r"\b(trees|version) before|(?<!not )\blooked at\b")


def test_pages_are_few():
    own = [page for page in WRITTEN if page.name != "README.md"]
    assert len(own) <= MOST_PAGES


def test_pages_are_short():
    assert sum(len(page.read_text().split()) for page in WRITTEN) <= MOST_WORDS


@each_page
def test_pages_say_what_holds_now(page):
    assert not OF_THE_PAST.findall(page.read_text())


def test_cards_that_were_not_there_are_named_once():
    found = [page for page in PAGES for _ in re.findall(r"No AMD card", page.read_text())]
    assert found == [ROOT / "README.md"]
