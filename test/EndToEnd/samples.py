# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A few of many cases, in which each value still meets each family of chips.

Where the tests' cases are a product of options, a run takes some of them: each chip, and each value
of the other options on a chip of each family (those of one have the same instructions but for a
few). With --full it takes all.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

import chips

Case = TypeVar("Case")


def each_value(values: Sequence[Hashable]) -> set[Hashable]:
    """What a case is taken for: its values."""
    return set(enumerate(values))


def beside_family(chip: str, values: Sequence[Hashable]) -> set[Hashable]:
    """What a case is taken for: its chip, and its values with the chip's family."""
    family = chips.FACTS[chip]["family"]
    return {chip, *((family, *value) for value in enumerate(values))}


def cover(cases: Iterable[Case], has: Callable[[Case], set[Hashable]] = each_value,
          cost: Callable[[Case], float] = lambda case: 1.0) -> list[Case]:
    """Some of `cases`, in their order, that together have all that all of them have.

    Each time the one is taken that has the most that is new for its cost, the first of several: the
    same ones in every run.

    Args:
        has: what a case is taken for.
        cost: what a case takes, in any unit.
    """
    cases = list(cases)
    missing = {k: has(case) for k, case in enumerate(cases)}
    costs = [cost(case) for case in cases]
    taken = []
    while missing:
        best = max(missing, key=lambda k: (len(missing[k]) / costs[k], -k))
        found = missing.pop(best)
        if found:
            taken.append(best)
        missing = {k: left for k, values in missing.items() if (left := values - found)}
    return [cases[k] for k in sorted(taken)]
