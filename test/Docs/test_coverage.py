# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""docs/coverage.md is what scripts/coverage.py writes, and counts forms of operands.

With LNBWD_TEST_EXECUTED=FILE the simulator's tests are not run for it: they have just run, all of
them, and the simulator has written into that file what they executed.
"""

import importlib.util
import os
import pathlib
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]


def test_every_form_counts():
    spec = importlib.util.spec_from_file_location("coverage_page", SOURCE / "scripts/coverage.py")
    coverage = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(coverage)
    some = ["gfx90a v_fma_mix_f32 executed", "gfx90a v_fma_mix_f32 has f32",
            "gfx90a v_fma_mix_f32 has f16-constant", "gfx90a v_fma_mix_f32 executed f32",
            "gfx90a v_add_f32 executed", "gfx90a v_add_f32 missing", "gfx90a v_sub_f32 missing"]
    log = coverage.Executed("\n".join(some))
    assert log.mark("v_fma_mix_f32", "gfx90a") == "part"
    assert log.mark("v_fma_mix_f32", "gfx942") == ""
    assert log.mark("v_add_f32", "gfx90a") == "x"
    assert log.mark("v_sub_f32", "gfx90a") == "**no**"
    assert "| `v_fma_mix_f32` | f16 constant |" in coverage.page(log)
    log = coverage.Executed("\n".join([*some, "gfx90a v_fma_mix_f32 executed f16-constant"]))
    assert log.mark("v_fma_mix_f32", "gfx90a") == "x"
    assert "f16 constant" not in coverage.page(log)


def test_coverage_page_is_fresh():
    environment = dict(os.environ)
    environment.setdefault("LNBWD_BUILD_DIR", str(SOURCE / "build"))
    executed = os.environ.get("LNBWD_TEST_EXECUTED")
    result = subprocess.run([sys.executable, SOURCE / "scripts" / "coverage.py", "--check",
                             *(["--executed", executed] if executed else [])],
                            env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
