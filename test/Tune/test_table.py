# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From results to the table, and to the comparison with the model."""

import json

import pytest

from lnbwd_tune import measure, table
from lnbwd_tune.lnbwd_opt import TuneError

PROGRAM = {"element": "bf16", "rows": 2, "row_outs": 1, "columns": 1, "column_sums": 2,
           "row_sums": 2}
MODEL, OTHER, SLOW = (f"threads_per_row = {n}, row_groups = 1, vector_width = 8, "
                      "rows_per_workgroup = 1, workgroups_per_compute_unit = 1"
                      for n in (32, 64, 128))


def candidate(schedule, us, is_model=False, batches=40, complaint=""):
    entry = {"schedule": schedule, "is_model": is_model, "complaint": complaint}
    return {**entry, "median_us": us, "batches": batches} if us else entry


def problem(m=8192, n=4096, model=20.0, other=16.0):
    return {"m": m, "n": n, "dtype": "bf16", "program": PROGRAM, "refused": {},
            "candidates": [candidate(MODEL, model, is_model=True), candidate(OTHER, other),
                           candidate(SLOW, 1.0, batches=4), candidate("wrong", None,
                                                                      complaint="dx: no")]}


def results(*problems, chip="sm_90"):
    return {"format": measure.FORMAT, "version": measure.VERSION, "chip": chip,
            "device": "Card", "driver": "Driver", "date": "2026-11-20T10:00:00",
            "simulated": False, "problems": list(problems)}


def test_a_candidate_that_dropped_out_does_not_win():
    """Few batches are noise: only those that came to the end are ranked."""
    assert [entry["schedule"] for entry in table.finalists(problem())] == [OTHER, MODEL]
    assert table.gain(problem()) == pytest.approx(1.25)


def predictions(*problems, product="MI300X"):
    """Results that were predicted: no candidate has a measured time."""
    for entry in problems:
        for one in entry["candidates"]:
            one.pop("batches", None)
            if "median_us" in one:
                one.update(predicted_us=one.pop("median_us"), stream_percent=80.0,
                           wave_time={"memory": 0.5, "LDS": 0.2, "issue": 0.01, "working": 0.29})
    return {**results(*problems, chip="gfx942"), "simulated": True,
            "prediction": {"model": product, "calibrated": True, "held_out_error_percent": 10}}


def test_predicted_entries_do_not_say_measured():
    entry, = table.make_entries(predictions(problem(m=100)), 1.02)
    assert "measured" not in entry
    assert entry["predicted"] == {
        "m": 100, "us": 1.0, "model_us": 20.0, "model": "MI300X", "calibrated": True,
        "held_out_error_percent": 10, "date": "2026-11-20"}


def test_predicted_times_are_not_mixed_with_measured_ones():
    measured = {**results(problem()), "chip": "gfx942"}
    with pytest.raises(TuneError, match=r"all measured, or all predicted for one product, got "
                       r"measured on Card and predicted on MI300X \(model error on held-out "
                       r"kernels: 10 %\)"):
        table.merge([measured, predictions(problem())])
    with pytest.raises(TuneError, match=r"predicted on MI300X .* and predicted on MI300A"):
        table.merge([predictions(problem()), predictions(problem(), product="MI300A")])


def test_the_comparison_of_predicted_times_says_so():
    text, good = table.comparison(predictions(problem(model=1.02)))
    assert good and "model predicted us  best predicted us  model/best  within 3 %" in text
    assert not table.comparison(predictions(problem(model=1.04)))[1]


def test_the_ranking_has_the_best_and_the_models_choice():
    lines = table.ranking(predictions(problem()), 1).splitlines()
    assert [line.split()[1:3] for line in lines[1:]] == [["1", "1.0"], ["3", "20.0"]]
    assert "memory 50 %, LDS 20 %" in lines[1] and "issue" not in lines[1]
    assert lines[1].endswith(SLOW) and lines[2].endswith(MODEL + " (the model's)")


def test_entries_need_a_gain():
    assert table.make_entries(results(problem(model=16.1)), 1.02) == []
    entries = table.make_entries(results(problem()), 1.02)
    assert entries[0]["schedule"] == OTHER and entries[0]["n"] == 4096
    assert entries[0]["measured"] == {"m": 8192, "us": 16.0, "model_us": 20.0, "device": "Card",
                                      "date": "2026-11-20"}


def test_ranges_of_rows_meet_in_the_middle():
    entries = table.make_entries(results(problem(m=100), problem(m=6400), problem(m=1600)), 1.02)
    known = [entry["m"] for entry in entries if "m" in entry]
    assert known == [[50, 400], [401, 3200], [3201, 12800]]
    # The largest is of 157 MB: it also stands for unknown numbers of rows, after the others.
    assert [entry["measured"]["m"] for entry in entries if "m" not in entry] == [6400]
    assert "m" not in entries[-1]


def test_a_small_winner_does_not_stand_for_unknown_rows():
    entries = table.make_entries(results(problem(m=100)), 1.02)
    assert len(entries) == 1 and "m" in entries[0]


def test_a_model_that_wins_leaves_its_rows_to_the_model():
    entries = table.make_entries(results(problem(m=100, model=15.9), problem(m=400)), 1.02)
    assert [entry.get("m") for entry in entries] == [[201, 800]]


def test_the_table_keeps_what_was_not_measured(tmp_path):
    path = tmp_path / "table.json"
    table.update_table(path, results(problem(n=4096), problem(n=768)), 1.02)
    first = json.loads(path.read_text())["entries"]
    # 4096 is measured again, and its model is as good now.
    table.update_table(path, results(problem(n=4096, model=16.0)), 1.02)
    second = json.loads(path.read_text())["entries"]
    assert [entry for entry in first if entry["n"] == 768] == second and second
    # Another chip's entries stay as well.
    table.update_table(path, results(problem(n=4096), chip="sm_80"), 1.02)
    third = json.loads(path.read_text())["entries"]
    assert {entry["chip"] for entry in third} == {"sm_80", "sm_90"}
    assert [file.name for file in tmp_path.iterdir()] == ["table.json"]


def test_a_file_that_is_no_table_is_not_overwritten(tmp_path):
    path = tmp_path / "table.json"
    path.write_text("[]")
    with pytest.raises(TuneError, match="is no table of tuned schedules"):
        table.update_table(path, results(problem()), 1.02)
    assert path.read_text() == "[]"


def test_merging_keeps_the_greater_gain():
    merged = table.merge([results(problem(model=18.0), problem(n=768)),
                          results(problem(model=19.0))])
    assert [(entry["n"], table.gain(entry)) for entry in merged["problems"]] == [
        (4096, pytest.approx(19 / 16)), (768, pytest.approx(1.25))]
    with pytest.raises(TuneError, match="results of one chip"):
        table.merge([results(problem()), results(problem(), chip="sm_80")])


def test_the_comparison_names_a_model_that_is_not_good_enough():
    text, good = table.comparison(results(problem()))
    assert not good and "1.250" in text and "NO" in text and OTHER in text
    text, good = table.comparison(results(problem(model=16.5)))
    assert good and "yes" in text
    text, good = table.comparison(results(problem(model=15.0)))
    assert good and "the model's" in text


def test_a_model_whose_numbers_are_wrong_is_said():
    entry = problem()
    entry["candidates"][0] = candidate(MODEL, None, is_model=True, complaint="dx: error 1")
    text, good = table.comparison(results(entry))
    assert not good and "dx: error 1" in text


def test_results_of_another_version_are_refused(tmp_path):
    path = tmp_path / "results.json"
    path.write_text(json.dumps({**results(), "version": 7}))
    with pytest.raises(TuneError, match="version 1, got"):
        measure.read(path)


def test_times_of_a_simulator_in_a_cards_place_are_not_stored(tmp_path):
    tried_out = {**results(problem(), chip="gfx942"), "simulated": True}
    with pytest.raises(TuneError, match="which mean nothing: take --device sim:gfx942 to predict"):
        table.update_table(tmp_path / "table.json", tried_out, 0.03)
    assert not (tmp_path / "table.json").exists()
