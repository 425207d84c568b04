# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""NVIDIA's kernels whose rows workgroups share, as PTX on the CPU: no access beyond a buffer, no
copy that does not begin and end where one can, nothing in flight to a workgroup that has ended,
and right."""

from __future__ import annotations

import numpy as np
import pytest

import compiling
import device as devices
import family
import ptx_machine


def run(build, case, rows):
    text = compiling.compile_text(build, family.source(case), case.chip, case.pipeline, "ptx")
    values = family.make_inputs(case, rows)
    types = {name: element for name, _, element, _ in case.arguments()}
    outputs = {name for name, _, _, is_output in case.arguments() if is_output}
    bits = {name: devices.encode(values[name].ravel(), element).tobytes()
            for name, element in types.items() if name not in outputs}
    found = ptx_machine.launch(text.decode(), rows, bits)
    expectations = family.reference(case, values)
    for name in outputs:
        expected, terms = expectations[name]
        bits_of = {2: np.uint16, 4: np.uint32}[devices.ELEMENT_BYTES[types[name]]]
        value = devices.decode(np.frombuffer(found[name], bits_of), types[name])
        error = np.abs(value.reshape(expected.shape) - expected).max(initial=0)
        assert error <= family.allowed_error(name, types[name], expected, terms), name


def make_case(op, dtype, n, schedule):
    return family.Case(op, chip="sm_90", dtype=dtype, n=n,
                       pipeline=f"schedule={schedule},dependent_launch=1")


# Rows that begin anywhere, at every second or fourth element, at a unit of a copy, and at two; the
# last workgroup has fewer columns than the others, or as many.
@pytest.mark.parametrize("dtype, n, split, groups", [
    ("bf16", 333, 2, 1), ("bf16", 1500, 4, 1), ("f16", 1030, 2, 2), ("f32", 702, 4, 1),
    ("bf16", 1032, 2, 1), ("f16", 1024, 4, 2), *(pytest.param(*case, marks=pytest.mark.full)
        for case in [("f16", 333, 2, 2), ("f32", 333, 2, 1), ("bf16", 1048, 4, 2),
                     ("f32", 1020, 2, 1), ("f16", 1040, 2, 2)])])
def test_staged(build, dtype, n, split, groups):
    schedule = (f"threads_per_row=32,row_groups={groups},workgroups_per_row={split},"
                f"rows_per_workgroup={2 * groups},stages=2,prefetch=1")
    for rows in (0, 1, 9):
        run(build, make_case("layer_norm_bwd", dtype, n, schedule), rows)


@pytest.mark.parametrize(
    "way", ["stages=3,prefetch=0", "stages=0,prefetch=1", "stages=0,prefetch=0"])
def test_other_ways(build, way):
    """Row scalars that do not come ahead, and rows that come to registers."""
    schedule = f"threads_per_row=32,row_groups=2,workgroups_per_row=2,rows_per_workgroup=4,{way}"
    run(build, make_case("layer_norm_bwd", "bf16", 333, schedule), 9)


@pytest.mark.parametrize("dtype, n, groups", [
    ("f16", 264, 2), ("f32", 260, 1), ("f16", 167, 8), ("bf16", 333, 1)])
def test_whole(build, dtype, n, groups):
    """Whole rows: sets that begin at every unit of a copy, or at every second one."""
    schedule = (f"threads_per_row=32,row_groups={groups},rows_per_workgroup={2 * groups},stages=2,"
                "prefetch=1")
    for rows in (1, 37):
        run(build, make_case("layer_norm_bwd", dtype, n, schedule), rows)


@pytest.mark.parametrize("n, dtype", [(333, "bf16"), (1002, "f32"), (1032, "f16")])
def test_forward(build, n, dtype):
    """Two phases of row sums; without column sums."""
    schedule = "threads_per_row=32,workgroups_per_row=2,row_groups=2,rows_per_workgroup=4,stages=2"
    for rows in (1, 8):
        run(build, make_case("layer_norm", dtype, n, schedule), rows)
