# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shapes that the benchmark draws at random."""

from lnbwd_bench.shapes import RANDOM_BYTES, random_shapes


def test_shapes_are_as_they_are_described():
    shapes = random_shapes(3, 40)
    assert len(set(shapes)) == 40
    assert all(RANDOM_BYTES[0] <= s.stream_bytes <= RANDOM_BYTES[1] for s in shapes)
    assert sum(s.n % 2 for s in shapes) == 4
    assert {s.dtype for s in shapes} == {"bf16", "f16", "f32"}
    assert min(s.n for s in shapes) < 512 and max(s.n for s in shapes) > 16384


def test_a_seed_decides():
    assert random_shapes(3, 20) == random_shapes(3, 20) == random_shapes(3, 40)[:20]
    assert random_shapes(3, 20) != random_shapes(4, 20)
