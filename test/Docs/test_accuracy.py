# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Our errors are no worse than others', and the order of summation in numpy, on which
scripts/accuracy.py relies, is the kernels'."""

import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "test" / "support"))

import layer_norm as ln  # noqa: E402
import summation  # noqa: E402


@pytest.mark.full
def test_ours_is_no_worse_than_others():
    pytest.importorskip("torch")
    environment = dict(os.environ)
    environment.setdefault("LNBWD_BUILD_DIR", str(SOURCE / "build"))
    result = subprocess.run([sys.executable, SOURCE / "scripts" / "accuracy.py", "--check"],
                            env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


# Several blocks of rows a lane, a block that is not full, a tail, and groups that fill a step of
# their combination and do not; 3 and 22 workgroups.
@pytest.mark.parametrize("chip,n,m,rows_per_workgroup", [
    ("gfx942", 256, 2077, 1024), ("gfx1100", 768, 700, 256), ("gfx90a", 128, 699, 32)])
def test_order_of_summation(chip, n, m, rows_per_workgroup):
    schedule = f"rows_per_workgroup={rows_per_workgroup}"
    if rows_per_workgroup == 32:
        schedule += ",row_groups=3,threads_per_row=64"
    if rows_per_workgroup == 256:
        schedule += ",row_groups=8,threads_per_row=64,prefetch=1,unroll=2"
    inputs = ln.random_inputs(3, m, n, "f32")
    got = ln.run(ln.kernel(n, "f32", chip, schedule=schedule), inputs, m)
    kernel, finalize = summation.kernels(ln.BUILD / "bin" / "lnbwd-opt", chip, n, m, schedule)
    assert -(-m // (kernel.groups * kernel.workgroups)) > kernel.block > 0
    x, dy, mean, rstd = (inputs[name].astype(np.float32) for name in ("x", "dy", "mean", "rstd"))
    xhat = (x - mean[:, None]) * rstd[:, None]
    np.testing.assert_array_equal(summation.column_sum(kernel, finalize, dy), got["dbeta"])
    np.testing.assert_array_equal(summation.column_sum(kernel, finalize, dy, xhat), got["dgamma"])
