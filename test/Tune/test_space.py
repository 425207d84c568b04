# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which schedules lnbwd-tune tries, and in which order."""

import pytest

from lnbwd import KernelSpec, compiler, schedule
from lnbwd_bench.shapes import Shape
from lnbwd_tune import lnbwd_opt
from lnbwd_tune.candidates import in_order, split_rows

RANKED = [f"threads_per_row = {1 << i}, row_groups = {j}, vector_width = 1, rows_per_workgroup = 1,"
          " workgroups_per_compute_unit = 1" for i in range(5) for j in range(1, 5)]


def test_candidates_are_tried_once_and_the_best_are_among_the_first():
    found = list(in_order(RANKED))
    wanted = [schedule.whole(schedule.parse_printed(text)) for text in RANKED]
    assert len(found) == len(wanted) and all(fields in found for fields in wanted)
    assert found[:2] == wanted[:2] and found != wanted
    assert found == list(in_order(RANKED)) != list(in_order(RANKED, seed=2))


def test_around_a_schedule_those_that_differ_least_come_first():
    found = list(in_order(RANKED, center=RANKED[-1]))
    home = schedule.whole(schedule.parse_printed(RANKED[-1]))
    assert found[0] == home
    assert sum(found[1][name] != value for name, value in home.items()) == 1


@pytest.mark.parametrize("chip", ["sm_90", "gfx942", "gfx1100"])
def test_the_compiler_ranks_for_every_chip(chip):
    """By a model of NVIDIA's chips, one of gfx942, and by rules; each can be compiled."""
    shape = Shape(8192, 1024)
    ranked = lnbwd_opt.ranked(shape, chip, 30)
    assert len(set(ranked)) == 30
    for text in ranked[::10]:
        fields = schedule.whole(schedule.parse_printed(text))
        chosen = lnbwd_opt.select(shape, chip, schedule.overrides(fields)).schedule
        assert schedule.whole(schedule.parse_printed(chosen)) == fields


def test_clusters_that_fill_compute_units_start_late():
    spec = KernelSpec("layer_norm_bwd", 16384, "f16", "any", "f32", "f32")
    text = spec.mlir().replace("?x", "2048x")
    compiled = compiler.compile_mlir(text, "sm_90", format="mlir",
                                     pipeline_options="tuned-schedules=off candidates=400")
    found = [schedule.whole(schedule.parse_printed(one))
             for one in schedule.ranked(compiled.diagnostics)]
    late = [fields for fields in found if fields["workgroups_per_row"] >= 4
            and fields["workgroups_per_compute_unit"] > 1]
    assert late and len(late) < len(found)
    assert all(fields["dependent_launch"] == (fields not in late) for fields in found)


def test_slices_are_tried_where_rows_are_few_and_long():
    assert split_rows(Shape(64, 65536), 132) == [{"row_splits": n} for n in (1, 2, 4, 8, 16)]
    assert not split_rows(Shape(8192, 65536), 132)
    assert not split_rows(Shape(64, 1024), 132)
