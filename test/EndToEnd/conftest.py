# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where the package and the build are, and what @pytest.mark.sample means: a test's cases are the
product of the options that it names, of which a run without --full has some, in which each value
meets each family of chips (samples.py).

  @pytest.mark.sample(chip=("gfx942", "gfx1201"), element=("bf16", "f32"), form=FORMS)
  def test_ragged(chip, element, form):

With "each" before the options each value is taken, on some chip. Of a dictionary the keys are the
values, and what stands beside them are their names in the cases'.
"""

import collections.abc
import itertools
import os
import pathlib
import sys

import pytest

import samples

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
BUILD = pathlib.Path(os.environ.get("LNBWD_BUILD_DIR", ROOT / "build")).resolve()
os.environ.setdefault("LNBWD_LIBRARY_DIR", str(BUILD / "lib"))


@pytest.fixture(scope="session")
def build() -> pathlib.Path:
    """The build folder, from LNBWD_BUILD_DIR; build/ in the checkout otherwise."""
    return BUILD


def pytest_configure(config):
    config.addinivalue_line("markers",
                            "sample(name=values, ...): a sample of the product of these options")


def pytest_generate_tests(metafunc):
    for mark in metafunc.definition.iter_markers("sample"):
        options = tuple(mark.kwargs.values())
        cases = list(itertools.product(*options))
        if not metafunc.config.getoption("--full"):
            has = samples.each_value
            if "chip" in mark.kwargs and "each" not in mark.args:
                at = list(mark.kwargs).index("chip")

                def has(case, at=at):
                    return samples.beside_family(case[at], case[:at] + case[at + 1:])
            cases = samples.cover(cases, has)

        def name(values, options=options):
            return "-".join(str(option[value]) if isinstance(option, collections.abc.Mapping)
                            else value if isinstance(value, str)
                            else "-".join(map(str, value)) if isinstance(value, tuple)
                            else str(value) for value, option in zip(values, options, strict=True))
        metafunc.parametrize(tuple(mark.kwargs), cases, ids=[name(case) for case in cases])
