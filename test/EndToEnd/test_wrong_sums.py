# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""lnbwd-run --verify with its default inputs finds a wrong row sum, whichever lanes it adds: in
machine code, steps of the sums within a wave are changed one at a time. In bf16, whose allowed
error is the largest."""

import os
import struct
import subprocess

import pytest

QUAD_PAIRS, QUAD_HALVES, ROW_MIRROR, ROW_HALF_MIRROR = 0xb1, 0x4e, 0x140, 0x141
"""What DPP adds to a lane: quad_perm:[1,0,3,2] and [2,3,0,1], and the mirrored rows."""

OTHERS = {QUAD_PAIRS: QUAD_HALVES, QUAD_HALVES: QUAD_PAIRS,
          ROW_MIRROR: ROW_HALF_MIRROR, ROW_HALF_MIRROR: ROW_MIRROR}

DPP = 0xfa
"""The first source of an instruction whose second word has the control, in bits 16:8."""

TRAP = struct.pack("<II", 0xbf920002, 0xbf800000)  # s_trap 2, s_nop 0


def find_steps(code):
    """The places of the instructions, with their controls."""
    for at in range(0, len(code) - 8, 4):
        first, second = struct.unpack_from("<II", code, at)
        control = second >> 8 & 0x1ff
        if first & 0x1ff == DPP and first >> 31 == 0 and second >> 24 == 0xff and control in OTHERS:
            yield at, control


def run(build, file, rows):
    return subprocess.run([build / "bin" / "lnbwd-run", file, "--verify", "--m", str(rows)],
                          env={**os.environ, "LNBWD_SIM_CHECK": "0"}, capture_output=True,
                          text=True, timeout=120, check=False)


@pytest.mark.parametrize("rows", [5, 17])
@pytest.mark.parametrize("op", ["layer_norm_bwd", "rms_norm_bwd", "layer_norm", "rms_norm"])
def test_is_found(build, tmp_path, op, rows):
    file = tmp_path / "k.hsaco"
    subprocess.run([build / "bin" / "lnbwd-run", "--op", op, "--n", "1024", "--dtype", "bf16",
                    "--chip", "gfx942", "--m", str(rows), "--keep", file], check=True,
                   capture_output=True, timeout=120)
    good = file.read_bytes()
    assert run(build, file, rows).returncode == 0
    executed = 0
    for at, control in find_steps(good):
        # Any number near the mean will do for the first sum of layer_norm.
        if op == "layer_norm" and control != ROW_MIRROR:
            continue
        file.write_bytes(good[:at] + TRAP + good[at + 8:])
        if "trap" not in run(build, file, rows).stderr:
            continue
        executed += 1
        second, = struct.unpack_from("<I", good, at + 4)
        wrong = second & ~(0x1ff << 8) | OTHERS[control] << 8
        file.write_bytes(good[:at + 4] + struct.pack("<I", wrong) + good[at + 8:])
        result = run(build, file, rows)
        assert result.returncode == 1, f"{at:#x}\n{result.stdout}{result.stderr}"
        assert "verdict" in result.stdout, result.stderr
    assert executed >= (2 if op == "layer_norm" else 4)
