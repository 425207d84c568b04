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
SHAPES = {
    "large": f"rows = 128, columns = 128, depth = 64, wave_rows = 64, wave_columns = 32, "
             f"{INSTRUCTION}",
    "small": f"rows = 64, columns = 64, depth = 64, wave_rows = 32, wave_columns = 16, "
             f"{INSTRUCTION}",
    "in parts": f"rows = 64, columns = 64, depth = 64, wave_rows = 32, wave_columns = 32, "
                f"{INSTRUCTION}, splits = 3",
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


@pytest.mark.sample(form=FORMS, shape=tuple(SHAPES), rows=(1, 150, 450))
def test_each_shape_of_tiles(build, form, shape, rows):
    """Sizes that no tile divides, sums of less than a turn and of some; rows beyond the matrices
    are not read."""
    sizes = (200, 168)
    check(compile_ptx(build, form, ("bf16", "bf16"), sizes,
                      f"tiling = #lnbwd.tiling<{SHAPES[shape]}>"), form, "bf16", sizes, rows)


@pytest.mark.sample(kind=("bf16", "f16"), form=FORMS)
def test_tiles_that_are_chosen(build, form, kind):
    for sizes, options in (((64, 48), "rows=64"), ((576, 72), "rows=64")):
        ptx = compile_ptx(build, form, (kind, kind), sizes, chip="sm_80", options=options)
        assert "mma.sync" in ptx
        check(ptx, form, kind, sizes, 100)


def test_rows_of_no_whole_blocks(build):
    ptx = compile_ptx(build, "rhs_transposed", ("bf16", "bf16"), (100, 74))
    assert "mma.sync" in ptx
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
    """A wave's 64 by 32 by 64: 64 instructions, of 4 and 2 fragments for each 16; two barriers; and
    the work-item's 8 blocks of 16 bytes, loaded once, 8 bytes at a time or more, stored whole."""
    loop = loop_of(compile_ptx(build, form, ("bf16", "bf16"), (4096, 4096),
                               f"tiling = #lnbwd.tiling<{SHAPES['large']}>"))
    expected = {"mma.sync": 64, "ldmatrix": 24, "bar.sync": 2, "st.shared.v4": 8, "st.shared": 8}
    assert {name: len(re.findall(re.escape(name), loop)) for name in expected} == expected
    loads = re.findall(r"ld\.global\.v([24])\.b32", loop)
    assert sum(4 * int(words) for words in loads) == 128 and len(loads) == loop.count("ld.global")


def test_ptxas_finds_nothing_to_say(build, tmp_path):
    """No spill."""
    if (ptxas := shutil.which("ptxas")) is None:
        pytest.skip("no ptxas")
    for form in FORMS:
        (tmp_path / "k.ptx").write_text(compile_ptx(build, form, ("bf16", "bf16"), (4096, 4096)))
        log = subprocess.run([ptxas, "-arch=sm_90", "-v", tmp_path / "k.ptx", "-o",
                              tmp_path / "k.cubin"], check=True, capture_output=True, text=True,
                             timeout=120).stderr
        assert "0 bytes spill stores" in log and "warning" not in log, log
