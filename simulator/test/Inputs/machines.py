# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gives a code object each of the 256 machine numbers and runs lnbwd-sim on it.

usage: machines.py CODE.hsaco COMMAND [ARGUMENT...]

COMMAND gets the changed file as its last argument. It has to end with an exit code of its own; for
numbers other than those of the simulator's chips and of their generic targets with 2 and a message
that names the chips there are.
"""

import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))

from simulated_chips import CHIPS

FLAGS_OFFSET = 48  # of e_flags in a 64-bit ELF header

original = pathlib.Path(sys.argv[1])
changed = original.with_suffix(".machine")
wrong = simulated = 0
for machine in range(256):
    code = bytearray(original.read_bytes())
    code[FLAGS_OFFSET] = machine
    changed.write_bytes(code)
    result = subprocess.run([*sys.argv[2:], str(changed)], capture_output=True, text=True)
    refused = "expected an AMD code object for a chip that the simulator has" in result.stderr
    simulated += not refused
    good = result.returncode == 2 if refused else result.returncode in (0, 1, 2)
    if not good:
        print(f"0x{machine:02x}: exit code {result.returncode}: {result.stderr}", file=sys.stderr)
        wrong += 1
generic = {facts["genericTarget"] for facts in CHIPS.values()} - {""}
if simulated != len(CHIPS) + len(generic):
    print(f"{simulated} numbers are simulated, not {len(CHIPS)} of chips and "
          f"{len(generic)} of generic targets", file=sys.stderr)
    wrong += 1
print(f"{wrong} of 256 went wrong")
sys.exit(1 if wrong else 0)
