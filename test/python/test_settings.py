# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Environment variables, and warnings that are given once."""

import re
import warnings

import pytest

from conftest import ROOT
from lnbwd.core.base import environment, errors, settings
from lnbwd.core.base.errors import LnbwdError

SOURCES = {path: path.read_text() for path in (ROOT / "python" / "lnbwd").rglob("*.py")}
PAGE = (ROOT / "docs" / "python.md").read_text()


def test_all_variables_are_known():
    """Each that a module reads is in the table, and each in the table is read."""
    read = {name for text in SOURCES.values() for name in re.findall(
        r'(?:environment\.read|settings\.(?:choice|error)|Switch)\(\s*"(\w+)"', text)}
    assert read == environment.VARIABLES.keys()
    assert not [path for path, text in SOURCES.items() if "environ" in text and re.search(
        r'environ(\.get\(|\[)"LNBWD_', text)]


@pytest.mark.parametrize("variable", environment.VARIABLES)
def test_a_variable_is_documented(variable):
    meaning = environment.VARIABLES[variable].replace("'", "`")
    assert f"| `{variable}` | {meaning} |" in PAGE


def test_a_choice(monkeypatch):
    for value, expected in ((None, "0"), ("", "0"), ("1", "1")):
        if value is None:
            monkeypatch.delenv("LNBWD_AUTOTUNE", raising=False)
        else:
            monkeypatch.setenv("LNBWD_AUTOTUNE", value)
        assert settings.choice("LNBWD_AUTOTUNE", ("0", "1"), "'0' or '1'") == expected
    monkeypatch.setenv("LNBWD_AUTOTUNE", "yes")
    with pytest.raises(LnbwdError, match="variable LNBWD_AUTOTUNE: expected '0' or '1', got 'yes'"):
        settings.choice("LNBWD_AUTOTUNE", ("0", "1"), "'0' or '1'")


def test_a_switch(monkeypatch):
    monkeypatch.delenv("LNBWD_AUTOTUNE", raising=False)
    switch, seen = settings.Switch("LNBWD_AUTOTUNE"), []
    switch.watch(seen.append)
    assert switch.is_on is None
    monkeypatch.setenv("LNBWD_AUTOTUNE", "1")
    assert switch.is_on is True
    for chosen in (False, None):
        switch.choose(chosen)
    assert seen == [False, False, True] and switch.is_on is True


def test_a_warning_is_given_once():
    errors.forget_warnings()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for what in ("one", "two", "one"):
            errors.warn_once(what, f"of {what}", UserWarning, stacklevel=1)
    assert [str(one.message) for one in caught] == ["of one", "of two"]
    assert {one.filename for one in caught} == {__file__}
