# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A few of many cases, in which all pairs of values still meet.

A fault that shows with one value of an option, or with two values of two options together, is found
by a case that has them, whatever the other options are there. So where the tests' cases are a
product of options, a run takes some of them, in which each two values that meet in any case meet;
with --full it takes all.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

Case = TypeVar("Case")


def find_pairs(values: Sequence[Hashable]) -> set[tuple]:
    """Each two values of a case, and which two of its options they are of."""
    return set(itertools.combinations(enumerate(values), 2))


def cover(cases: Iterable[Case], values: Callable[[Case], Sequence[Hashable]] = tuple,
          cost: Callable[[Case], float] = lambda case: 1.0) -> list[Case]:
    """Some of `cases`, in their order, that have all pairs of values that all of them have.

    Each time the one is taken that has the most new pairs for its cost, the first of several: the
    same ones in every run.

    Args:
        values: those of a case's options; as many of each case.
        cost: what a case takes, in any unit.
    """
    cases = list(cases)
    missing = {k: find_pairs(values(case)) for k, case in enumerate(cases)}
    costs = [cost(case) for case in cases]
    taken = []
    while missing:
        best = max(missing, key=lambda k: (len(missing[k]) / costs[k], -k))
        found = missing.pop(best)
        if found:
            taken.append(best)
        missing = {k: left for k, pairs in missing.items() if (left := pairs - found)}
    return [cases[k] for k in sorted(taken)]
