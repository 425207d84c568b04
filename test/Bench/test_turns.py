# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench/fit_turns.py: the model of turns is the compiler's, and the fit finds what it is given."""

from __future__ import annotations

import json
import pathlib
import re

import pytest

pytest.importorskip("torch")
np = pytest.importorskip("numpy")

import fit_turns  # noqa: E402
from lnbwd import compiler, schedule  # noqa: E402
from lnbwd_bench import sweeping, turns  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
PARAMETERS = json.loads((ROOT / "lib" / "Analysis" / "CostParameters.json").read_text()
                        )["turns"][fit_turns.CHIP]


@pytest.mark.parametrize("dtype, m, n", [
    ("bf16", 8192, 4096), ("f32", 8191, 1000), ("f16", 5000, 515), ("bf16", 65536, 768),
    ("f32", 300000, 160), ("bf16", 100, 9000)])
def test_the_compiler_predicts_the_same_times(dtype, m, n):
    problem = sweeping.Problem("layer_norm_bwd", dtype, m, n,
                               sweeping.source_of("layer_norm_bwd", dtype, n, fit_turns.CHIP))
    compiled = compiler.compile_mlir(problem.static_source(), fit_turns.CHIP, format="mlir",
                                     pipeline_options="tuned-schedules=off candidates=100")
    found = re.findall(r"predicted (\S+) us: #lnbwd\.schedule<([^>]*)>", compiled.diagnostics)
    assert found
    candidates = []
    for time, text in found:
        fields = schedule.parse_printed(text)
        candidates.append({"us": float(time), "schedule": [
            fields.get(name, schedule.FIELDS[name].default) for name in turns.FIELDS]})
    schedules = turns.Schedules([{"m": m, "n": n, "dtype": dtype, "candidates": candidates}])
    # The remarks have two digits behind the point.
    assert np.abs(turns.predict(schedules, PARAMETERS) - schedules.us).max() < 0.006


def test_a_fit_comes_back_to_the_parameters_that_made_the_times():
    schedules = turns.Schedules(turns.read([fit_turns.DATA]))
    schedules.us = turns.predict(schedules, PARAMETERS)
    start = {**PARAMETERS, "turn_us": 1.3 * PARAMETERS["turn_us"],
             "bandwidth_tb_per_s": 0.8 * PARAMETERS["bandwidth_tb_per_s"]}
    before = np.abs(np.log(turns.predict(schedules, start) / schedules.us)).mean()
    fitted = turns.fit(schedules, start, steps=15)
    after = np.abs(np.log(turns.predict(schedules, fitted) / schedules.us)).mean()
    assert after < 0.1 * before
    assert turns.regrets(schedules, turns.predict(schedules, PARAMETERS)).max() == 1


def test_the_stored_parameters_pick_well_among_what_they_were_fitted_to():
    schedules = turns.Schedules(turns.read([fit_turns.DATA]))
    assert turns.regrets(schedules, turns.predict(schedules, PARAMETERS)).mean() < 1.03
