# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which schedules lnbwd-tune tries."""

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from lnbwd_bench.shapes import Shape
from lnbwd_tune import lnbwd_opt, space

FIELDS = ["threads_per_row", "row_groups", "vector_width", "rows_per_workgroup",
          "workgroups_per_compute_unit", "workgroups_per_row", "column_tile", "prefetch", "unroll",
          "stages", "early_start", "reload"]
CENTER = {"threads_per_row": 256, "row_groups": 2, "vector_width": 8, "rows_per_workgroup": 4,
          "workgroups_per_compute_unit": 1, "prefetch": 1, "stages": 4}
SHAPE = Shape(8192, 4096)


def test_candidates_are_tried_once_and_never_the_center():
    found = space.candidates(SHAPE, CENTER, 32, FIELDS, 132)
    assert len(found) > 100
    assert len({tuple(sorted(fields.items())) for fields in found}) == len(found)
    center = {**CENTER, "unroll": 1, "workgroups_per_row": 1}
    assert all(any(fields[name] != value for name, value in center.items()) for fields in found)


def test_the_first_candidate_is_a_small_step():
    first = space.candidates(SHAPE, CENTER, 32, FIELDS, 132)[0]
    assert sum(first[name] != value for name, value in CENTER.items() if name in first) == 1


def test_launches_that_are_the_same_are_tried_once():
    """Of many rows, the fewest rows worth a workgroup do not matter."""
    shape = Shape(1 << 20, 4096)
    found = space.candidates(shape, CENTER, 32, FIELDS, 132)
    rest = [tuple(sorted((name, value) for name, value in fields.items()
                         if name != "rows_per_workgroup")) for fields in found]
    assert len(set(rest)) == len(rest)


def test_fields_that_the_compiler_does_not_have_are_left_alone():
    known = [name for name in FIELDS if name != "workgroups_per_row"]
    found = space.candidates(SHAPE, CENTER, 32, known, 132)
    assert found and all("workgroups_per_row" not in fields for fields in found)


def test_fields_that_the_search_does_not_know_stay_with_the_model():
    found = space.candidates(SHAPE, {**CENTER, "later": 3}, 32, [*FIELDS, "later"], 132)
    assert found and all("later" not in fields for fields in found)


@settings(max_examples=25, deadline=None)
@given(n=st.integers(1, 70000), m=st.integers(1, 1 << 20), wave=st.sampled_from([32, 64]),
       width=st.sampled_from([1, 2, 4, 8]))
def test_every_candidate_is_within_the_limits(n, m, wave, width):
    n *= width
    center = {**CENTER, "threads_per_row": wave, "vector_width": width}
    for fields in itertools.islice(space.candidates(Shape(m, n), center, wave, FIELDS, 100), 50):
        threads = fields["threads_per_row"] * fields["row_groups"]
        assert 1 <= threads <= 1024
        assert fields["rows_per_workgroup"] >= fields["row_groups"]
        per_row = fields["threads_per_row"]
        assert per_row % wave == 0 or (per_row < wave and per_row & (per_row - 1) == 0)
        assert not (fields["stages"] and fields["unroll"] > 1)
        assert fields["prefetch"] or fields["unroll"] == 1


def test_overrides_are_what_the_compiler_takes():
    text = space.overrides({"stages": 0, "prefetch": 1})
    assert text == "stages=0,prefetch=1"


def test_printed_schedules_are_read():
    fields = lnbwd_opt.parse_fields("threads_per_row = 64, early_start = true, reload = false")
    assert fields == {"threads_per_row": 64, "early_start": 1, "reload": 0}
