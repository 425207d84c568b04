# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which cases the bars are held for: some, in which each type meets each chip, and each shape each
family of chips; with --full all.

A case is a tuple of the values of its options, the first of which is the chip.
"""

import itertools
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "EndToEnd"))

import chips as chips_of_tests
import samples


def take(options, chip, full):
    """The cases of one chip.

    Args:
        options: the values of each option beside the chip, of the type first.
    """
    every = list(itertools.product(chips_of_tests.MANY, *options))
    taken = every if full else samples.cover(
        every, lambda case: samples.beside_family(case[0], case[1:]) | {case[:2]})
    return [case for case in taken if case[0] == chip]
