# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What one workgroup of a product of SIZE x SIZE x SIZE of bf16 costs on AMD's chips, by count,
with whatever the product does to an operand or to its result."""

import json
import re
import subprocess

import chips
import compiling

SIZE, TILE = 4096, 64
# Of one instruction.
DEPTH = {"gfx90a": 16, "gfx942": 16, "gfx950": 32, "gfx1100": 16, "gfx1201": 16, "gfx1250": 32}
WAVES = 4


def check_workgroup(build, folder, chip: str, text: str, arguments: list[str]) -> list[dict]:
    """Runs a workgroup of the kernel f of `text` the whole way along the sum, with all checks of
    the simulator on, and holds it against what a product has to cost.

    Args:
        arguments: as lnbwd-sim takes them; the first two are the matrices. No value changes a
            count, and random ones take longer than the kernel.

    Returns:
        What each buffer counted.
    """
    file = folder / "f.hsaco"
    file.write_bytes(compiling.compile_text(build, text, chip, form="hsaco"))
    run = subprocess.run(
        [build / "bin" / "lnbwd-sim", file, "--kernel=f", "--grid=1", "--json", "--show=0",
         f"--block={WAVES * chips.FACTS[chip]['waveSize']}",
         *[f"--arg={argument}" for argument in arguments]],
        capture_output=True, text=True, check=False, timeout=600)
    assert run.returncode == 0, run.stdout + run.stderr
    counts = json.loads(run.stdout)["counts"]
    least = TILE * TILE * SIZE / (16 * 16 * DEPTH[chip])
    assert least <= counts["instructions"]["matrix"] <= 1.02 * least
    assert counts["lds"]["bank_conflict_cycles"] == 0
    tiles = 2 * TILE * SIZE * 2
    assert tiles <= sum(buffer["bytes_read"] for buffer in counts["buffers"][:2]) <= 1.15 * tiles
    return counts["buffers"]


def find_spills(isa: str) -> list[str]:
    """The lines of assembly that bring registers to memory and back."""
    return [line for line in isa.splitlines()
            if re.match(r"\t(scratch|buffer)_(load|store)", line)]
