# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which schedules lnbwd-tune tries."""

import itertools
import re
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lnbwd import KernelSpec, compiler, schedule
from lnbwd import schedule_space as space
from lnbwd_bench.shapes import Shape

FIELDS = schedule.names_for("nvidia")
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


def test_a_workgroup_for_each_set_of_rows_is_tried_where_that_is_worth_it():
    assert all(fields["workgroups_per_compute_unit"]
               for fields in space.candidates(SHAPE, CENTER, 32, FIELDS, 132))
    found = [fields for fields in space.candidates(SHAPE, CENTER, 32, FIELDS, 132, unbounded=True)
             if not fields["workgroups_per_compute_unit"]]
    assert len(found) > 5
    for fields in found:
        assert fields["rows_per_workgroup"] == fields["row_groups"]
        assert not fields["stages"] and not fields["prefetch"] and fields["workgroups_per_row"] == 1


def test_clusters_that_fill_compute_units_start_late():
    """Where there are column sums, whichever way the center starts."""
    early = {**CENTER, "early_start": 1}
    late = {**CENTER, "workgroups_per_row": 4, "workgroups_per_compute_unit": 2, "early_start": 0}
    for center in early, late:
        found = space.candidates(Shape(8192, 8192), center, 32, FIELDS, 132)
        several = [fields for fields in found if fields["workgroups_per_row"] >= 4
                   and fields["workgroups_per_compute_unit"] > 1]
        assert several and len(several) < len(found)
        assert {fields["early_start"] for fields in several} == {0}
        assert {fields["early_start"] for fields in found if fields not in several} == {1}
    found = space.candidates(Shape(8192, 8192), early, 32, FIELDS, 132, unbounded=True)
    assert {fields["early_start"] for fields in found} == {1}
    found = space.candidates(SHAPE, CENTER, 32, FIELDS, 132)
    assert not any(fields.get("early_start") for fields in found)


def test_what_the_compiler_decides_by_other_fields_is_left_to_it():
    """Whether rows come early, whatever the center has."""
    for early in 0, 1:
        center = {**CENTER, "early_start": 1, "early_rows": early, "early_next": early}
        for unbounded in False, True:
            found = space.candidates(SHAPE, center, 32, FIELDS, 132, unbounded=unbounded)
            assert not any({"early_rows", "early_next"} & set(fields) for fields in found)


def test_idle_lanes_are_tried_as_far_as_the_center_has_them():
    """Rows of 17 accesses: 5 for each of 4 lanes, 3 for 8, 2 for 16."""
    def lanes(per_row):
        center = {**CENTER, "threads_per_row": per_row, "row_groups": 16, "rows_per_workgroup": 32}
        return {fields["threads_per_row"]
                for fields in space.candidates(Shape(300_000, 136), center, 32, FIELDS, 132)}
    assert lanes(4) == {4}
    assert lanes(8) == {4, 8}
    assert lanes(16) == {4, 8, 16, 32}


def test_a_grid_without_a_bound_grows_with_the_rows():
    fields = {"rows_per_workgroup": 2, "workgroups_per_compute_unit": 0}
    assert [space.grid(Shape(m, 4096), fields, 132) for m in (1, 5, 1 << 20)] == [1, 3, 1 << 19]


def test_workgroups_that_share_a_row_count_as_one():
    """Of which so many bound the grid (docs/runtime.md): more rows change nothing."""
    fields = {"rows_per_workgroup": 2, "workgroups_per_compute_unit": 1, "workgroups_per_row": 8}
    assert [space.grid(Shape(m, 4096), fields, 132) for m in (1, 10, 33, 1 << 20)] == [1, 5, 16, 16]


def test_fields_of_another_vendor_are_left_alone():
    known = schedule.names_for("amd")
    others = set(FIELDS) - set(known)
    assert {"stages", "workgroups_per_row"} <= others
    found = space.candidates(SHAPE, CENTER, 64, known, 304)
    assert found and not any(others & set(fields) for fields in found)


def test_slices_are_tried_where_rows_are_few_and_long():
    found = space.sliced(Shape(64, 65536), FIELDS, 132)
    assert found == [{"row_slices": slices} for slices in (1, 2, 4, 8, 16)]
    assert not space.sliced(Shape(8192, 65536), FIELDS, 132)
    assert not space.sliced(Shape(64, 1024), FIELDS, 132)
    assert not space.sliced(Shape(64, 65536), ["threads_per_row"], 132)


def test_around_a_choice_with_slices_are_schedules_without():
    center = {**CENTER, "stages": 0, "column_tile": 256, "row_slices": 4, "rows_per_workgroup": 0}
    for fields in space.candidates(Shape(64, 65536), center, 32, FIELDS, 132):
        assert fields["row_slices"] == 0 and fields["column_tile"] == 0


def test_fields_without_values_to_try_stay_with_the_model():
    found = space.candidates(SHAPE, {**CENTER, "reload": 1}, 32, FIELDS, 132)
    assert found and all("reload" not in fields for fields in found)


@settings(max_examples=25, deadline=None, derandomize=True, database=None)
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


def test_the_compiler_starts_the_same_clusters_late():
    spec = KernelSpec("layer_norm_bwd", 16384, "f16", "any", "f32", "f32")
    text = spec.mlir().replace("?x", "2048x")
    compiled = compiler.compile_mlir(text, "sm_90", format="mlir",
                                     pipeline_options="tuned-schedules=off candidates=400")
    ranked = [schedule.parse_printed(one) for one in schedule.ranked(compiled.diagnostics)]
    late = [fields for fields in ranked if space.starts_late(fields)]
    assert late and len(late) < len(ranked)
    assert all(fields.get("early_start", 0) == (not space.starts_late(fields)) for fields in ranked)


@pytest.mark.parametrize("split,width,threads", [(2, 4, 256), (4, 4, 96), (8, 2, 64), (4, 1, 128)])
def test_the_compiler_deals_out_columns_alike(build, split, width, threads):
    lengths = [8192, 10008, 8 * 2039]
    programs = [f"""func.func @f{n}(%x : memref<?x{n}xf32>, %y : memref<?x{n}xf32>) {{
      lnbwd.rowwise @k{n} rows(%x : memref<?x{n}xf32>) outs rows(%y : memref<?x{n}xf32>) {{
      ^bb0(%r: vector<{n}xf32>):
        %s = vector.reduction <add>, %r : vector<{n}xf32> into f32
        %b = vector.broadcast %s : f32 to vector<{n}xf32>
        lnbwd.yield %b : vector<{n}xf32>
      }}
      return
    }}""" for n in lengths]
    fields = {"workgroups_per_row": split, "vector_width": width, "threads_per_row": threads,
              "row_groups": 1, "stages": 0, "prefetch": 0, "unroll": 1}
    result = subprocess.run(
        [build / "bin" / "lnbwd-opt", "-", "--lnbwd-select-schedule=chip=sm_90 schedule="
         + schedule.overrides(fields), "--lnbwd-distribute-rows=chip=sm_90"],
        input="\n".join(programs), capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    places = dict(re.findall(r"row_length = (\d+), .*columns = (\d+)>", result.stdout))
    assert {int(n): int(columns) for n, columns in places.items()} == {
        n: space.shared_columns(n, split, width) for n in lengths}
