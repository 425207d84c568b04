# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench/fit_costs.py: the model is the compiler's, and the fit finds what it is given."""

from __future__ import annotations

import json
import lzma
import pathlib
import re

import pytest

pytest.importorskip("torch")
np = pytest.importorskip("numpy")

import fit_costs  # noqa: E402
from lnbwd import compiler  # noqa: E402
from lnbwd_bench import costs, sweeping  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
PARAMETERS = json.loads((ROOT / "lib" / "Analysis" / "CostParameters.json").read_text()
                        )["chips"]["sm_90"]
# Bytes of an element of all row blocks read, and written.
BYTES = {"layer_norm_bwd": (4, 2), "rms_norm_bwd": (4, 2), "layer_norm": (2, 2),
         "rms_norm": (2, 2), "norm_backward": (12, 6), "norm_forward": (6, 2),
         "gelu_backward": (4, 2), "rms_backward": (6, 2), "layer_norm_bwd_dx": (4, 2),
         "rms_norm_bwd_dx": (4, 2), "rms_forward": (4, 4)}


def schedules_of(kind, dtype, m, n, chosen):
    scale = 2 if dtype == "f32" else 1
    read, written = (scale * size for size in BYTES[kind])
    problem = {"kind": kind, "dtype": dtype, "m": m, "n": n, "bytes_read": read,
               "bytes_written": written, "candidates": [
                   {"schedule": fields, "us": us, "rounds": 12} for fields, us in chosen]}
    return costs.Schedules([problem], PARAMETERS)


@pytest.mark.parametrize("kind, dtype, m, n", [
    ("layer_norm_bwd", "bf16", 8192, 4096), ("layer_norm_bwd", "f32", 8191, 1000),
    ("layer_norm_bwd", "bf16", 1500, 11032), ("layer_norm_bwd", "f16", 1500, 11033),
    ("rms_norm_bwd", "f16", 5000, 515), ("layer_norm", "bf16", 65536, 768),
    ("rms_norm", "f32", 4096, 128), ("norm_backward", "bf16", 4096, 10368),
    ("norm_forward", "bf16", 4000, 1024), ("gelu_backward", "bf16", 8192, 4096),
    ("rms_backward", "bf16", 11840, 10688), ("layer_norm_bwd_dx", "bf16", 8192, 3072),
    ("rms_norm_bwd_dx", "f32", 16384, 1024), ("rms_forward", "bf16", 8192, 4096)])
def test_the_compiler_predicts_the_same_times(kind, dtype, m, n):
    problem = sweeping.Problem(kind, dtype, m, n, sweeping.source_of(kind, dtype, n, "sm_90"))
    compiled = compiler.compile_mlir(problem.static_source(), "sm_90", format="mlir",
                                     pipeline_options="tuned-schedules=off candidates=400")
    found = re.findall(r"predicted (\S+) us: #lnbwd\.schedule<([^>]*)>", compiled.diagnostics)
    assert len(found) == 400
    schedules = schedules_of(kind, dtype, m, n, [
        (sweeping.parse_schedule(text), 1.0) for _, text in found])
    predicted = costs.predict(schedules, PARAMETERS)
    # The remarks have two digits behind the point.
    assert np.abs(predicted - [float(time) for time, _ in found]).max() < 0.006
    # Clusters start late where they fill compute units and there are column sums.
    is_crowded = (schedules.split >= 4) & (schedules.per_compute_unit > 1)
    assert (schedules.is_late == (is_crowded & costs.has_sums(kind))).all()
    assert schedules.is_late.any() or not (costs.has_sums(kind) and n > 8192)
    # A workgroup for each row is tried where there are no column sums alone.
    assert not (schedules.is_unbounded.any() and costs.has_sums(kind))


def some_schedules():
    paths = [ROOT / "docs" / "results" / "h200-schedules-101.json.xz"]
    # Of each enough to choose from.
    problems = [problem for problem in costs.read(paths) if len(problem["candidates"]) >= 5]
    return costs.Schedules(problems[:20], PARAMETERS)


def test_a_fit_comes_back_to_the_parameters_that_made_the_times():
    schedules = some_schedules()
    schedules.us = costs.predict(schedules, PARAMETERS)
    start = {**PARAMETERS, "load_us": 1.3 * PARAMETERS["load_us"],
             "bandwidth_tb_per_s": 0.8 * PARAMETERS["bandwidth_tb_per_s"]}
    before = np.abs(np.log(costs.predict(schedules, start) / schedules.us)).mean()
    fitted = costs.fit(schedules, start, steps=15, regret_weight=0.0)
    after = np.abs(np.log(costs.predict(schedules, fitted) / schedules.us)).mean()
    assert after < 0.1 * before
    assert costs.regrets(schedules, costs.predict(schedules, PARAMETERS)).max() == 1


def test_a_fit_is_the_same_every_time():
    schedules = some_schedules()
    assert costs.fit(schedules, PARAMETERS, steps=2) == costs.fit(schedules, PARAMETERS, steps=2)


def test_the_slope_of_the_loss_is_its_derivative():
    schedules = some_schedules()
    weight = costs.weights(schedules)
    predicted = costs.predict(schedules, PARAMETERS)
    value, slope = costs.loss(schedules, weight, predicted, 0.03, 0.5)
    direction = np.sin(np.arange(len(predicted)))
    step = 1e-6
    moved, _ = costs.loss(schedules, weight, predicted * np.exp(step * direction), 0.03, 0.5)
    assert (moved - value) / step == pytest.approx(float(slope @ direction), rel=1e-3)


def test_a_prediction_does_not_know_its_own_problem():
    schedules = some_schedules()
    predicted = costs.cross_predicted(schedules, PARAMETERS, folds=2, steps=1)
    first = costs.fit(schedules, PARAMETERS, (schedules.problem % 2 == 1).astype(float), steps=1)
    own = schedules.problem % 2 == 0
    assert (predicted[own] == costs.predict(schedules, first)[own]).all()
    problem, chosen, best = costs.worst(schedules, predicted, 1)[0]
    regret = costs.regrets(schedules, predicted)
    assert regret[problem] == np.nanmax(regret) == schedules.us[chosen] / schedules.us[best]


def test_clusters_that_started_early_are_left_out():
    def is_left_out(kind, workgroups, early):
        whole = {**dict.fromkeys(sweeping.FIELDS, 0), "threads_per_row": 128, "row_groups": 1,
                 "vector_width": 8, "rows_per_workgroup": 2, "workgroups_per_row": 1,
                 "workgroups_per_compute_unit": 2, "unroll": 1, "early_start": 1}
        cluster = {**whole, "workgroups_per_row": 4, "workgroups_per_compute_unit": workgroups,
                   "early_start": early}
        found = schedules_of(kind, "bf16", 8192, 8192, [
            (list(fields.values()), 1.0) for fields in (whole, cluster)])
        return found.split.tolist() == [1]
    assert is_left_out("layer_norm_bwd", 2, 1)
    assert not is_left_out("layer_norm_bwd", 2, 0)
    assert not is_left_out("layer_norm_bwd", 1, 1)
    assert not is_left_out("layer_norm", 2, 1)


def count_read(tmp_path, date, problem, schedules, **since):
    """How many of some schedules of a problem costs.read keeps of a sweep's file."""
    usual = {"threads_per_row": 32, "row_groups": 1, "vector_width": 8, "rows_per_workgroup": 2,
             "workgroups_per_compute_unit": 2, "workgroups_per_row": 1}
    candidates = [
        {"origin": "tried", "us": 1.0, "rounds": 3, "schedule": list(
            {**dict.fromkeys(sweeping.FIELDS, 0), **usual, **fields}.values())}
        for fields in schedules]
    path = tmp_path / "x.json.xz"
    path.write_bytes(lzma.compress(json.dumps(
        {"format": sweeping.FORMAT, "version": sweeping.VERSION, "date": date,
         "fields": sweeping.FIELDS, **since,
         "problems": [{"m": 64, "candidates": candidates, **problem}]}).encode()))
    read, = costs.read([path])
    return len(read["candidates"])


def test_schedules_of_old_kernels_are_left_out(tmp_path):
    def count(date, kind, dtype, groups):
        return count_read(tmp_path, date, {"kind": kind, "dtype": dtype, "n": 256},
                          [{}, {"row_groups": groups}])
    assert count("2026-11-21", "layer_norm", "bf16", 2) == 1
    assert count("2026-11-22", "layer_norm", "bf16", 2) == 2
    assert count("2026-11-21", "layer_norm", "bf16", 1) == 2
    assert count("2026-11-21", "layer_norm", "f32", 2) == 2
    assert count("2026-11-21", "rms_norm", "bf16", 2) == 2


def test_shares_of_whole_turns_are_left_out(tmp_path):
    """A row's parts were whole turns of the lanes, 256 columns, where they could not be equal."""
    def count(n, split, **since):
        problem = {"kind": "layer_norm_bwd", "dtype": "bf16", "n": n}
        return count_read(tmp_path, "2026-11-22", problem, [{"workgroups_per_row": split}], **since)
    assert count(1096, 2) == 0
    assert count(1096, 2, kernels=2) == 1
    assert count(1096, 1) == 1
    assert count(1088, 2) == 1  # 544 each, a part of a turn
    assert count(1016, 2) == 1  # 512 and 504, as before


def test_vectors_loaded_ahead_of_the_only_row_are_left_out(tmp_path):
    """Where several waves share the one row of a workgroup, and no row sum needs the vectors."""
    def count(kind, threads, per_compute_unit, kernels):
        return count_read(tmp_path, "2026-11-22", {"kind": kind, "dtype": "f32", "n": 1024},
                          [{"threads_per_row": threads,
                            "workgroups_per_compute_unit": per_compute_unit}], kernels=kernels)
    assert count("rms_norm", 64, 0, kernels=2) == 0
    assert count("rms_norm", 64, 0, kernels=3) == 1
    assert count("rms_norm", 32, 0, kernels=2) == 1
    assert count("rms_norm", 64, 2, kernels=2) == 1
    assert count("rms_norm_bwd_dx", 64, 0, kernels=2) == 1


def test_data_of_another_format_is_refused(tmp_path):
    path = tmp_path / "x.json.xz"
    path.write_bytes(lzma.compress(json.dumps({"format": "other", "version": 1}).encode()))
    with pytest.raises(ValueError, match="expected format 'lnbwd-sweep'"):
        costs.read([path])


def test_the_script_shows_writes_and_plots(tmp_path, capsys, monkeypatch):
    table = tmp_path / "parameters.json"
    table.write_text(json.dumps({"chips": {"sm_90": PARAMETERS}}))
    monkeypatch.setattr("sys.argv", [
        "fit_costs.py", str(ROOT / "docs" / "results" / "h200-schedules-pairs.json.xz"),
        str(ROOT / "docs" / "results" / "h200-schedules-101.json.xz"), "--table", str(table),
        "--write", "--worst", "2", "--plot", str(tmp_path / "plot.svg")])
    assert fit_costs.main() == 0
    assert json.loads(table.read_text())["chips"]["sm_90"] == PARAMETERS
    assert (tmp_path / "plot.svg").read_text().startswith("<svg")
    shown = capsys.readouterr().out
    assert "layer_norm_bwd" in shown and shown.count("  chosen ") == 2
    assert "threads_per_row = " in shown
