# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A bounded run of the fuzzer, with --full, and what it found.

The cases are counted, and the same in every run, so that what fails is what was changed.
LNBWD_FUZZ_SEED begins with others. A long run: LNBWD_FUZZ_SECONDS=3600 pytest --full test/Fuzz
(that long for each kind).
"""

import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
SEED = int(os.environ.get("LNBWD_FUZZ_SEED", "1"))
SECONDS = os.environ.get("LNBWD_FUZZ_SECONDS", "")
# Some 20 seconds of each on two cores.
CASES = {"kernels": 130, "mlir": 7500, "options": 10000, "objects": 5400}
# Seconds that a run may take before something must be wrong.
PATIENCE = 900
# A kernel that loops because it was damaged is stopped by this, not by the test's patience.
MOST_INSTRUCTIONS = str(50_000_000)


def run_cases(kind, seed, *bound):
    environment = dict(os.environ, LNBWD_SIM_MAX_INSTRUCTIONS=MOST_INSTRUCTIONS,
                       LNBWD_SIM_CHECK="all")
    command = [sys.executable, str(HERE / "fuzz_cases.py"), kind, "--seed", str(seed), *bound]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False,
                            timeout=float(SECONDS or 0) + PATIENCE)
    last = result.stdout.splitlines()[-1:] or ["nothing"]
    assert result.returncode == 0, (f"seed {seed}, exit code {result.returncode}, last: {last[0]}; "
                                    f"repeat with fuzz_cases.py {kind} --seed "
                                    f"{last[0].split()[-1]} --count 1\n{result.stderr[-3000:]}")
    assert last[0].startswith("done: "), last
    print(last[0])


@pytest.mark.full
@pytest.mark.parametrize("kind", CASES)
def test_fuzz(kind):
    bound = ("--seconds", SECONDS) if SECONDS else ("--count", str(CASES[kind]))
    run_cases(kind, SEED, *bound)


# The disassembler crashed where the checker printed an instruction; a result below f16's smallest
# number was held to more digits than it has. (The cases may be others after the fuzzer changes.)
@pytest.mark.parametrize("kind, seed", (("objects", 1269131234), ("kernels", 4756)))
def test_found_before(kind, seed):
    run_cases(kind, seed, "--count", "1")
