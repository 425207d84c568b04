# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""docs/coverage.md is what scripts/coverage.py writes.

With LNBWD_TEST_EXECUTED=FILE the simulator's tests are not run for it: they have just run, all of
them, and the simulator has written into that file what they executed.
"""

import os
import pathlib
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]


def test_coverage_page_is_fresh():
    environment = dict(os.environ)
    environment.setdefault("LNBWD_BUILD_DIR", str(SOURCE / "build"))
    executed = os.environ.get("LNBWD_TEST_EXECUTED")
    result = subprocess.run([sys.executable, SOURCE / "scripts" / "coverage.py", "--check",
                             *(["--executed", executed] if executed else [])],
                            env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
