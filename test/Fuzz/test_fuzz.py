# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A bounded run of the fuzzer; the seed is printed, and set with LNBWD_FUZZ_SEED.

A long run: LNBWD_FUZZ_SECONDS=3600 pytest test/Fuzz (that long for each kind).
"""

import os
import pathlib
import random
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
SEED = int(os.environ.get("LNBWD_FUZZ_SEED", random.SystemRandom().randrange(1 << 31)))
SECONDS = float(os.environ.get("LNBWD_FUZZ_SECONDS", "20"))
# A kernel that loops because it was damaged is stopped by this, not by the test's patience.
MOST_INSTRUCTIONS = str(50_000_000)


@pytest.mark.parametrize("kind", ("kernels", "mlir", "options", "objects"))
def test_fuzz(kind):
    environment = dict(os.environ, LNBWD_SIM_MAX_INSTRUCTIONS=MOST_INSTRUCTIONS,
                       LNBWD_SIM_CHECK="all")
    command = [sys.executable, str(HERE / "fuzz_cases.py"), kind, "--seed", str(SEED),
               "--seconds", str(SECONDS)]
    print(f"seed {SEED}")
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False,
                            timeout=SECONDS + 300)
    last = result.stdout.splitlines()[-1:] or ["nothing"]
    assert result.returncode == 0, (f"seed {SEED}, exit code {result.returncode}, last: {last[0]}; "
                                    f"repeat with fuzz_cases.py {kind} --seed "
                                    f"{last[0].split()[-1]} --count 1\n{result.stderr[-3000:]}")
    assert last[0].startswith("done: "), last
    print(last[0])
