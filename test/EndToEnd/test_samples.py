# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Samples of cases in which all values meet each family of chips."""

import itertools

import pytest

import samples


@pytest.mark.parametrize("sizes", [(3,), (2, 3), (2, 2, 2), (5, 3, 17, 5)])
def test_each_value(sizes):
    cases = list(itertools.product(*map(range, sizes)))
    taken = samples.cover(cases)
    assert taken == [case for case in cases if case in taken]
    assert {value for case in taken for value in enumerate(case)} == {
        value for case in cases for value in enumerate(case)}
    assert len(taken) == max(sizes)


def test_each_family():
    cases = list(itertools.product(("gfx90a", "gfx942", "gfx1201"), range(4)))
    taken = samples.cover(cases, lambda case: samples.beside_family(case[0], case[1:]))
    assert {chip for chip, _ in taken} == {"gfx90a", "gfx942", "gfx1201"}
    assert {value for chip, value in taken if chip == "gfx1201"} == set(range(4))
    assert {value for chip, value in taken if chip != "gfx1201"} == set(range(4))


def test_the_cheaper_ones_are_taken():
    cases = list(itertools.product((1, 2), (1, 2)))
    assert samples.cover(cases, cost=lambda case: 100 if case == (1, 1) else 1) == [(1, 2), (2, 1)]


@pytest.mark.sample(first=("a", "b"), second={"x": "one", "y": "two"}, third=(1, 2))
def test_the_mark(request, first, second, third):
    """Two of the eight cases, by these names; with --full all."""
    collected = [item for item in request.session.items
                 if getattr(item, "originalname", "") == "test_the_mark"]
    assert f"[{first}-{dict(x='one', y='two')[second]}-{third}]" in request.node.name
    if not request.config.getoption("keyword") and len(collected) > 1:
        assert len(collected) == (8 if request.config.getoption("--full") else 2)
