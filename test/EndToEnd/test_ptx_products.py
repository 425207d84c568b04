# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of matrices on NVIDIA's chips: their PTX, executed on the CPU, beside float64."""

import re
import shutil
import subprocess

import numpy as np
import pytest

import compiling
import device as devices
import ptx_machine
from test_products import FORMS, TOLERANCE, text

INSTRUCTION = "instruction_rows = 16, instruction_columns = 8, instruction_depth = 16"
GROUP = "instruction_rows = 64, instruction_columns = "
SHAPES = {
    "large": f"rows = 128, columns = 256, depth = 64, wave_rows = 64, wave_columns = 64, "
             f"{INSTRUCTION}, stages = 4",
    "middle": f"rows = 128, columns = 128, depth = 64, wave_rows = 64, wave_columns = 64, "
              f"{INSTRUCTION}, stages = 3",
    "small": f"rows = 64, columns = 64, depth = 64, wave_rows = 32, wave_columns = 32, "
             f"{INSTRUCTION}, stages = 4",
    "in parts": f"rows = 64, columns = 64, depth = 64, wave_rows = 32, wave_columns = 32, "
                f"{INSTRUCTION}, splits = 3, stages = 2",
    "groups of waves": f"rows = 128, columns = 256, depth = 64, wave_rows = 64, "
                       f"wave_columns = 256, {GROUP}256, instruction_depth = 16, stages = 3",
    "one group of waves": f"rows = 64, columns = 128, depth = 64, wave_rows = 64, "
                          f"wave_columns = 128, {GROUP}128, instruction_depth = 16, splits = 2, "
                          f"stages = 4",
    "in registers": f"rows = 64, columns = 64, depth = 64, wave_rows = 32, wave_columns = 16, "
                    f"{INSTRUCTION}",
}


def compile_ptx(build, *arguments, chip="sm_90", options="", **named):
    return compiling.compile_text(build, text(*arguments, **named), chip, options).decode()


def check(ptx, form, kind, sizes, rows):
    rng = np.random.default_rng(rows)
    first, second = sizes
    shapes = {"": ((rows, first), (first, second)),
              "rhs_transposed": ((rows, first), (second, first)),
              "lhs_transposed": ((rows, first), (rows, second))}[form]
    bits = {name: devices.encode(rng.standard_normal(shape).ravel(), kind)
            for name, shape in zip("ab", shapes, strict=True)}
    a, b = (devices.decode(bits[name], kind).reshape(shape)
            for name, shape in zip("ab", shapes, strict=True))
    expected = (a.T if form == "lhs_transposed" else a) @ (
        b.T if form == "rhs_transposed" else b)
    outputs = ptx_machine.launch(ptx, rows, {name: value.tobytes() for name, value in bits.items()})
    actual = np.frombuffer(outputs["c"], np.float32).reshape(expected.shape)
    depth = rows if form == "lhs_transposed" else first
    error = np.abs(actual - expected).max(initial=0)
    assert error <= TOLERANCE * max(1, np.sqrt(depth)), (rows, error)


def check_shape(build, form, shape, rows):
    """Sizes that no tile divides, sums of less than a turn, of some, and of none; rows beyond the
    matrices are not read, and nothing is read before it has arrived."""
    sizes = (200, 168)
    ptx = compile_ptx(build, form, ("bf16", "bf16"), sizes,
                      f"tiling = #lnbwd.tiling<{SHAPES[shape]}>")
    in_groups = "group" in shape
    assert ("cp.async.cg" in ptx) == (shape != "in registers" and not in_groups)
    assert ("wgmma.mma_async" in ptx) == (".target sm_90a" in ptx) == in_groups
    check(ptx, form, "bf16", sizes, rows)


@pytest.mark.pairs(form=FORMS, shape=tuple(name for name in SHAPES if "group" not in name),
                   rows=(1, 150, 450))
def test_each_shape_of_tiles(build, form, shape, rows):
    check_shape(build, form, shape, rows)


@pytest.mark.parametrize("shape", [name for name in SHAPES if "group" in name])
@pytest.mark.parametrize("form", FORMS, ids=FORMS.values())
def test_each_shape_of_tiles_in_groups(build, form, shape):
    """Each workgroup of a fixed number is executed, also those without a tile."""
    check_shape(build, form, shape, 150)


@pytest.mark.parametrize("kind", ["bf16", "f16"])
@pytest.mark.parametrize("form", FORMS, ids=FORMS.values())
def test_tiles_that_are_chosen(build, form, kind):
    for sizes, options in (((64, 48), "rows=64"), ((576, 72), "rows=64")):
        ptx = compile_ptx(build, form, (kind, kind), sizes, chip="sm_80", options=options)
        assert "cp.async.cg" in ptx
        check(ptx, form, kind, sizes, 100)


def test_rows_that_are_no_whole_copies(build):
    """These wait in registers."""
    ptx = compile_ptx(build, "rhs_transposed", ("bf16", "bf16"), (100, 74))
    assert "cp.async" not in ptx and "mma.sync" in ptx
    check(ptx, "rhs_transposed", "bf16", (100, 74), 70)


def loop_of(ptx):
    """The text of the loop over the sum."""
    body = ptx[ptx.index("mma.sync") - 20000 if ptx.index("mma.sync") > 20000 else 0:]
    for label in re.findall(r"^(\$L\w+):", body, re.M):
        loop = body[body.index(label + ":"):]
        if (end := re.search(r"bra(\.uni)? \t?" + re.escape(label) + ";", loop)) is not None:
            return loop[:end.end()]
    raise AssertionError("no loop")


@pytest.mark.parametrize("form", FORMS, ids=FORMS.values())
def test_the_loop_has_the_least_there_can_be(build, form):
    """A wave's 64 by 64 by 64: 128 instructions, of 4 and 4 fragments for each 16; a barrier; and
    the workgroup's tiles in copies of 16 bytes."""
    loop = loop_of(compile_ptx(build, form, ("bf16", "bf16"), (4096, 4096),
                               f"tiling = #lnbwd.tiling<{SHAPES['large']}>"))
    counts = {name: len(re.findall(re.escape(name), loop)) for name in (
        "mma.sync", "ldmatrix", "cp.async.cg", "bar.sync", "cp.async.wait_group", "ld.global",
        "st.shared")}
    assert counts == {"mma.sync": 128, "ldmatrix": 32, "cp.async.cg": 12, "bar.sync": 1,
                      "cp.async.wait_group": 1, "ld.global": 0, "st.shared": 0}


def test_ptxas_finds_nothing_to_say(build, tmp_path):
    """No spill, and products are not waited for one by one, which ptxas would say."""
    if (ptxas := shutil.which("ptxas")) is None:
        pytest.skip("no ptxas")
    for form in FORMS:
        (tmp_path / "k.ptx").write_text(compile_ptx(build, form, ("bf16", "bf16"), (4096, 4096)))
        log = subprocess.run([ptxas, "-arch=sm_90a", "-v", tmp_path / "k.ptx", "-o",
                              tmp_path / "k.cubin"], check=True, capture_output=True, text=True,
                             timeout=120).stderr
        assert "0 bytes spill stores" in log and "serial" not in log and "warning" not in log, log
