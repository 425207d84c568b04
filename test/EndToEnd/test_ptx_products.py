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
import ptx_machine
from test_products import FORMS, check_launch, text


def compile_ptx(build, *arguments, chip="sm_90"):
    return compiling.compile_text(build, text(*arguments), chip).decode()


def check(ptx, form, kind, sizes, rows):
    def launch(rows, bits):
        outputs = ptx_machine.launch(ptx, rows,
                                     {name: value.tobytes() for name, value in bits.items()})
        return np.frombuffer(outputs["c"], np.float32)

    check_launch(launch, form, (kind, kind), sizes, rows)


@pytest.mark.sample(kind=("bf16", "f16"), form=FORMS, rows=(1, 150, 450))
def test_tiles(build, form, kind, rows):
    """Sizes that no tile divides, sums of less than a tile, of some, and in parts; rows beyond the
    matrices are not read."""
    sizes = (200, 168)
    ptx = compile_ptx(build, form, (kind, kind), sizes, chip="sm_80")
    assert "mma.sync" in ptx
    check(ptx, form, kind, sizes, rows)


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
    """A wave's 32 by 32 by 64: 32 instructions, and 4 fragments of two blocks for each 32 of the
    sum; two barriers; and the work-item's 8 blocks of 16 bytes, loaded once, 8 bytes at a time or
    more, stored whole."""
    loop = loop_of(compile_ptx(build, form, ("bf16", "bf16"), (4096, 4096)))
    expected = {"mma.sync": 32, "ld.shared.v4": 16, "ld.shared": 16, "bar.sync": 2,
                "st.shared.v4": 8, "st.shared": 8}
    assert {name: len(re.findall(re.escape(name), loop)) for name in expected} == expected
    loads = [int(count) * int(bits) // 8
             for count, bits in re.findall(r"ld\.global\.v([24])\.b(16|32)", loop)]
    assert sum(loads) == 128 and min(loads) >= 8 and len(loads) == loop.count("ld.global")


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
