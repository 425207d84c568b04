# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""scripts/coverage.py counts an instruction as executed with all forms of its operands."""

import importlib.util
import pathlib

SCRIPT = pathlib.Path(__file__).resolve().parents[1] / "scripts" / "coverage.py"


def test_every_form_counts():
    spec = importlib.util.spec_from_file_location("coverage_page", SCRIPT)
    coverage = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(coverage)
    some = ["* v_add_f32 declared v_add_f32", "* v_add_nc_u32 declared v_add_u32",
            "gfx90a v_fma_mix_f32 executed", "gfx90a v_fma_mix_f32 has f32",
            "gfx90a v_fma_mix_f32 has f16-constant", "gfx90a v_fma_mix_f32 executed f32",
            "gfx90a v_add_f32 executed", "gfx90a v_add_f32 missing", "gfx90a v_sub_f32 missing"]
    log = coverage.Executed("\n".join(some))
    assert log.mark("v_fma_mix_f32", "gfx90a") == "part"
    assert log.mark("v_fma_mix_f32", "gfx942") == ""
    assert log.mark("v_add_f32", "gfx90a") == "x"
    assert log.mark("v_sub_f32", "gfx90a") == "**no**"
    assert "| `v_fma_mix_f32` | f16 constant |" in coverage.page(log)
    # Of the declared ones v_add_f32 is, and v_add_u32 is not under any of its names.
    assert coverage.page(log).endswith("1 of 2 that simulator/lib/ISA/Instructions declares:\n\n"
                                       "`v_add_u32`\n")
    log = coverage.Executed("\n".join([*some, "gfx90a v_fma_mix_f32 executed f16-constant"]))
    assert log.mark("v_fma_mix_f32", "gfx90a") == "x"
    assert "f16 constant" not in coverage.page(log)
