# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Samples of cases in which all pairs of values meet."""

import itertools

import pytest

import pairs


def met(cases):
    return set().union(*map(pairs.find_pairs, cases))


@pytest.mark.parametrize("sizes", [(3,), (2, 3), (2, 2, 2), (5, 3, 4), (5, 3, 17, 5), (2, 3, 4, 5)])
def test_all_pairs_of_a_product(sizes):
    cases = list(itertools.product(*map(range, sizes)))
    taken = pairs.cover(cases)
    assert taken == [case for case in cases if case in taken]
    if len(sizes) < 2:
        assert taken == []
        return
    assert met(taken) == met(cases)
    largest = sorted(sizes)[-2:]
    assert largest[0] * largest[1] <= len(taken) <= 1.5 * largest[0] * largest[1]


def test_the_same_in_every_run():
    cases = list(itertools.product("abc", "def", "ghi"))
    assert pairs.cover(cases) == pairs.cover(iter(cases))


def test_pairs_that_some_cases_alone_have():
    """Where not all combinations are cases, all that are met stay."""
    cases = [(a, b, a * b) for a in range(7) for b in range(7) if (a + b) % 3]
    assert met(pairs.cover(cases)) == met(cases)


def test_the_cheaper_ones_are_taken():
    cases = list(itertools.product((1, 2), (1, 2), (1, 2)))
    taken = pairs.cover(cases, cost=lambda case: 100 if case == (1, 1, 1) else 1)
    assert (1, 1, 1) not in taken


@pytest.mark.pairs(first=("a", "b"), second={"x": "one", "y": "two"}, third=(1, 2))
def test_the_mark(request, first, second, third):
    """Half of the eight cases, by these names; with --full all."""
    collected = [item for item in request.session.items
                 if getattr(item, "originalname", "") == "test_the_mark"]
    assert f"[{first}-{dict(x='one', y='two')[second]}-{third}]" in request.node.name
    if not request.config.getoption("keyword") and len(collected) > 1:
        assert len(collected) == (8 if request.config.getoption("--full") else 4)
