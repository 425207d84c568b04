# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Columns that are loaded after a row's sum (late_columns), where several waves share rows:
executed on the simulator in several orders of waves, checked, and beside the reference."""

import subprocess

import pytest


@pytest.mark.sample(groups=(1, 2, 4), rows=(7, 33), op=("layer_norm", "rms_norm"))
def test_valid_in_any_order(build, op, rows, groups):
    """The last tile of rows is not full where groups share a workgroup."""
    schedule = (f"threads_per_row=128,row_groups={groups},vector_width=4,"
                f"rows_per_workgroup={groups},workgroups_per_compute_unit=0,prefetch=0")
    result = subprocess.run(
        [build / "bin" / "lnbwd-run", "--op", op, "--n", "1032", "--m", str(rows), "--chip",
         "gfx942", "--dtype", "bf16", "--schedule", schedule, "--verify", "--check",
         "--shuffle-waves", "3"], capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def test_vectors_come_behind_the_sum(build):
    """What is executed above loads them so."""
    source = """func.func @f(%x: memref<?x1032xbf16>, %gamma: memref<1032xbf16>,
    %y: memref<?x1032xbf16>, %rstd: memref<?xf32>) {
  lnbwd.rms_norm x(%x : memref<?x1032xbf16>) gamma(%gamma : memref<1032xbf16>)
      outs y(%y : memref<?x1032xbf16>) rstd(%rstd : memref<?xf32>)
  return
}"""
    schedule = ("schedule=threads_per_row=128,row_groups=1,vector_width=4,rows_per_workgroup=1,"
                "workgroups_per_compute_unit=0,prefetch=0")
    text = subprocess.run(
        [build / "bin" / "lnbwd-opt", "-", f"--lnbwd-pipeline=chip=gfx942 {schedule}",
         "--mlir-print-ir-after=lnbwd-distribute-rows"], input=source, text=True, check=True,
        capture_output=True, timeout=120).stderr
    body = text[text.index("lane.for_rows"):]
    assert body.index("lane.reduce") < body.index("lane.load_columns")
