# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows that come to the cache while a kernel waits for the one before it, and kernels that let the
next one of their program start: what is before the wait, and what is not. Executed as PTX on the
CPU where a program has no sums, and read where it has."""

import json
import re
import subprocess

import numpy as np
import pytest

import ptx_machine

CHIP = "sm_90"
EARLY = "dependent_launch=1,prefetch_before_dependency=1"
COPY = """func.func @copy(
    %x: memref<?x{n}x{dtype}{layout}> {{lnbwd.argument = #lnbwd.argument<name = "x">}},
    %y: memref<?x{n}x{dtype}> {{lnbwd.argument = #lnbwd.argument<name = "y">}}) {{
  lnbwd.rowwise @copy domain(m | n) ins(%x[m, n] : memref<?x{n}x{dtype}{layout}>)
      outs(%y[m, n] : memref<?x{n}x{dtype}>) {{
  ^bb0(%r: vector<{n}x{dtype}>):
    lnbwd.yield %r : vector<{n}x{dtype}>
  }}
  return
}}"""
NORM_BWD = """func.func @norm(%dy: memref<?x{n}xbf16>, %x: memref<?x{n}xbf16>,
    %gamma: memref<{n}xbf16>, %mean: memref<?xf32>, %rstd: memref<?xf32>, %dx: memref<?x{n}xbf16>,
    %dgamma: memref<{n}xbf16>, %dbeta: memref<{n}xbf16>) {{
  lnbwd.layer_norm_bwd dy(%dy : memref<?x{n}xbf16>) x(%x : memref<?x{n}xbf16>)
      gamma(%gamma : memref<{n}xbf16>) mean(%mean : memref<?xf32>) rstd(%rstd : memref<?xf32>)
      outs dx(%dx : memref<?x{n}xbf16>) dgamma(%dgamma : memref<{n}xbf16>)
      dbeta(%dbeta : memref<{n}xbf16>)
  return
}}"""
NORM = """func.func @norm(%x: memref<?x{n}xbf16>, %gamma: memref<{n}xbf16>, %beta: memref<{n}xbf16>,
    %y: memref<?x{n}xbf16>, %mean: memref<?xf32>, %rstd: memref<?xf32>) {{
  lnbwd.layer_norm x(%x : memref<?x{n}xbf16>) gamma(%gamma : memref<{n}xbf16>)
      beta(%beta : memref<{n}xbf16>)
      outs y(%y : memref<?x{n}xbf16>) mean(%mean : memref<?xf32>) rstd(%rstd : memref<?xf32>)
  return
}}"""


def compiled(build, source, schedule, options=""):
    """PTX of a program."""
    pipeline = f"--lnbwd-pipeline=chip={CHIP} schedule={schedule} {options}".strip()
    return subprocess.run([build / "bin" / "lnbwd-opt", "-", pipeline, "--emit=ptx", "-o", "-"],
                          input=source, text=True, check=True, capture_output=True,
                          timeout=120).stdout


def entries(ptx):
    """The instructions of each kernel by its name."""
    names = re.findall(r"\.entry (\w+)\(", ptx)
    return {name: [(instruction, operands)
                   for _, instruction, operands in ptx_machine.Kernel(ptx, name).code]
            for name in names}


# Rows side by side or not, sets a turn, rows that do not begin where a copy can, in the last turn
# fewer rows than a set has; and a workgroup for each set. A schedule with two kinds of rows; with
# all with --full.
SCHEDULES = (
    "threads_per_row=32,row_groups=4,rows_per_workgroup=16,prefetch=1,unroll=1",
    "threads_per_row=32,row_groups=1,rows_per_workgroup=16,prefetch=1,unroll=1",
    "threads_per_row=16,row_groups=2,rows_per_workgroup=8,prefetch=0,unroll=4",
    "threads_per_row=32,row_groups=4,rows_per_workgroup=4,workgroups_per_compute_unit=0,"
    "prefetch=0,unroll=1")
ROWS = ((128, "f32", 0), (101, "f32", 0), (37, "bf16", 0), (36, "f32", 43))


@pytest.mark.parametrize("schedule,n,dtype,stride", [
    pytest.param(schedule, *row, marks=[] if (k - j) % 4 < 2 else [pytest.mark.full])
    for k, schedule in enumerate(SCHEDULES) for j, row in enumerate(ROWS)])
def test_first_rows_are_brought_near(build, schedule, n, dtype, stride):
    """Of each row that a workgroup begins with all bytes, and no memory besides but for the rest of
    their units; nothing is read or written ahead of the wait."""
    layout = f", strided<[{stride}, 1]>" if stride else ""
    # Accesses of an element, where nothing wider divides rows.
    ptx = compiled(build, COPY.format(n=n, dtype=dtype, layout=layout),
                   f"vector_width=1,stages=0,workgroups_per_row=1,{schedule},{EARLY}")
    fields = dict(field.split("=") for field in schedule.split(","))
    groups, least = int(fields["row_groups"]), int(fields["rows_per_workgroup"])
    is_once = fields.get("workgroups_per_compute_unit") == "0"
    sets = 1 if is_once else max(int(fields["unroll"]), int(fields["prefetch"]) + 1)
    width, distance = {"f32": 4, "bf16": 2}[dtype], stride or n
    for rows in (0, 1, 37):
        values = np.arange(rows * distance).astype(f"u{width}")
        prefetched = []
        found = ptx_machine.launch(ptx, rows, {"x": values.tobytes()}, prefetched)
        np.testing.assert_array_equal(np.frombuffer(found["y"], values.dtype).reshape(rows, n),
                                      values.reshape(rows, distance)[:, :n])
        seen = np.zeros((rows * distance * width + 31) // 16 * 16, bool)
        for name, begin, behind in prefetched:
            assert name == "x"
            seen[begin:behind] = True
        first = min(rows, sets * groups * max(1, -(-rows // least)))
        needed = np.zeros((rows, distance * width), bool)
        needed[:first, :n * width] = True
        needed = np.concatenate([needed.ravel(), np.zeros(len(seen) - needed.size, bool)])
        assert seen[needed].all()
        units = needed.reshape(-1, 16).any(axis=1).repeat(16)
        assert not seen[~units].any()


def test_an_access_ahead_of_the_wait_is_found(build):
    """By the machine that executes these kernels."""
    schedule = "threads_per_row=32,row_groups=4,rows_per_workgroup=16,prefetch=1,unroll=1,stages=0"
    ptx = compiled(build, COPY.format(n=128, dtype="f32", layout=""), f"{schedule},{EARLY}")
    wait = "griddepcontrol.wait;"
    assert ptx.count(wait) == 1
    late = ptx.replace(wait, "").replace("ret;", f"{wait}\n\tret;")
    with pytest.raises(AssertionError, match="before the preceding kernel has ended"):
        ptx_machine.launch(late, 16, {"x": bytes(16 * 128 * 4)})


def first_of(code, *names):
    """Where the first instruction is whose name begins so; after the last where there is none."""
    return next((place for place, (name, _) in enumerate(code) if name.startswith(names)),
                len(code))


ACCESSES = ("ld.global", "st.global", "st.async", "cp.async.bulk.shared", "atom", "red.")
LONG = ",".join(["threads_per_row=128", "row_groups=2", "rows_per_workgroup=4", "prefetch=1",
                 "workgroups_per_row=1", "unroll=1"])


@pytest.mark.parametrize("n,schedule,prefetches", [
    (1024, "threads_per_row=64,row_groups=4,rows_per_workgroup=8,stages=3,prefetch=1,unroll=1", 6),
    (1001, "threads_per_row=128,row_groups=2,rows_per_workgroup=4,stages=2,prefetch=1,unroll=1", 4),
    (4096, f"{LONG},stages=2", 4), (4096, f"{LONG},stages=0", 4),
    (768, "threads_per_row=32,row_groups=4,rows_per_workgroup=8,stages=0,prefetch=0,unroll=1", 2)])
def test_backward(build, n, schedule, prefetches):
    """The kernel with the rows brings them near and waits, and lets that start which adds up
    partial sums; that one waits, and lets nothing start."""
    both = entries(compiled(build, NORM_BWD.format(n=n), f"{schedule},{EARLY}"))
    rows, finalize = both["layer_norm_bwd"], both["layer_norm_bwd_finalize"]
    wait = first_of(rows, "griddepcontrol.wait")
    assert [name for name, _ in rows[:wait]].count(
        "cp.async.bulk.prefetch.L2.global") == prefetches
    assert first_of(rows[wait:], "cp.async.bulk.prefetch") == len(rows[wait:])
    assert wait < first_of(rows, *ACCESSES)
    allow = first_of(rows, "griddepcontrol.launch_dependents")
    assert first_of(rows, "ld.global", "cp.async.bulk.shared") < allow < len(rows)

    assert first_of(finalize, "griddepcontrol.wait") < first_of(finalize, *ACCESSES)
    for code, allowed in ((rows, 1), (finalize, 0)):
        names = [name for name, _ in code]
        assert names.count("griddepcontrol.wait") == 1
        assert names.count("griddepcontrol.launch_dependents") == allowed
    assert first_of(finalize, "cp.async.bulk.prefetch") == len(finalize)


@pytest.mark.parametrize("stages", [0, 2])
def test_forward(build, stages):
    """A single kernel lets nothing start: what follows a program need not wait."""
    code = entries(compiled(build, NORM.format(n=4096),
                            f"{LONG},stages={stages},{EARLY}"))["layer_norm"]
    wait = first_of(code, "griddepcontrol.wait")
    assert wait < first_of(code, *ACCESSES)
    assert first_of(code, "griddepcontrol.launch_dependents") == len(code)
    assert [name for name, _ in code[:wait]].count("cp.async.bulk.prefetch.L2.global") == 2


def test_slices(build):
    """Of rows in slices the kernel of the row sums begins: it waits before it lets the other start,
    whose rows are loaded at once."""
    kernels = entries(compiled(build, NORM_BWD.format(n=65536), f"row_splits=8,{EARLY}", "rows=64"))
    sums, rest = kernels["layer_norm_bwd_row_sums"], kernels["layer_norm_bwd"]
    wait = first_of(sums, "griddepcontrol.wait")
    assert first_of(sums, "cp.async.bulk.prefetch") < wait < first_of(sums, *ACCESSES)
    assert wait < first_of(sums, "griddepcontrol.launch_dependents")
    wait = first_of(rest, "griddepcontrol.wait")
    assert first_of(rest, "ld.global") < wait
    assert first_of(rest, "griddepcontrol.launch_dependents") == len(rest)
    assert first_of(rest, "cp.async.bulk.prefetch") == len(rest)
    assert wait < first_of(rest, "st.global")


@pytest.mark.parametrize("schedule", [
    "prefetch=1,stages=2", "prefetch=1,stages=0", "prefetch=0,stages=0",
    "workgroups_per_row=2,threads_per_row=32"])
def test_two_passes(build, schedule):
    """The columns wait before they let the rows start, which write nothing before the columns have
    been read: rows may lie over them. What follows waits for the rows alone, of none too."""
    kernels = entries(compiled(build, NORM_BWD.format(n=1024), f"{schedule},dependent_launch=1",
                               "two-pass=always"))
    columns, rows = kernels["layer_norm_bwd_columns"], kernels["layer_norm_bwd_rows"]
    before = kernels.get("layer_norm_bwd_columns_finalize", columns)
    wait = first_of(before, "griddepcontrol.wait")
    assert wait < first_of(before, "griddepcontrol.launch_dependents") < \
        first_of(before, *ACCESSES)
    wait = first_of(rows, "griddepcontrol.wait")
    assert first_of(rows, "ld.global", "cp.async.bulk.shared") < wait < first_of(rows, "st.global")
    assert first_of(rows[::-1], "griddepcontrol.wait") < first_of(rows[::-1], "st.global")
    assert first_of(rows, "griddepcontrol.launch_dependents") == len(rows)


def test_the_plan_stays(build):
    """Launches are the same: what is new is within the kernels."""
    def plan(schedule):
        ptx = compiled(build, NORM_BWD.format(n=1024), schedule)
        return json.loads(re.search(r"^// lnbwd-plan: (.*)$", ptx, re.M)[1])
    assert plan(EARLY) == plan("dependent_launch=1")
