# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which schedules the compiler ranks, and lnbwd-tune, which times them, on the simulator."""

import importlib.machinery
import importlib.util
import json
import lzma
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
BUILD = pathlib.Path(os.environ.get("LNBWD_BUILD_DIR", ROOT / "build")).resolve()
os.environ.setdefault("LNBWD_LIBRARY_DIR", str(BUILD / "lib"))
PROGRAM = ROOT / "tools" / "lnbwd-tune" / "lnbwd-tune"

from lnbwd import schedule  # noqa: E402


def load_program():
    loader = importlib.machinery.SourceFileLoader("lnbwd_tune", str(PROGRAM))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("lnbwd_tune", loader))
    loader.exec_module(module)
    return module


tune = load_program()
Shape = tune.Shape


def run(*arguments):
    return subprocess.run([sys.executable, PROGRAM, *map(str, arguments)], capture_output=True,
                          text=True, check=False)


def test_candidates_are_tried_once_and_the_best_are_among_the_first():
    ranked = [str(number) for number in range(20)]
    found = list(tune.in_order(ranked))
    assert sorted(found) == sorted(ranked) and found[:2] == ranked[:2] and found != ranked
    assert found == list(tune.in_order(ranked)) != list(tune.in_order(ranked, seed=2))


@pytest.mark.parametrize("chip", ["sm_90", "gfx942", "gfx1100"])
def test_the_compiler_ranks_for_every_chip(chip):
    """Each can be compiled."""
    shape = Shape(8192, 1024)
    ranked = schedule.ranked(tune.compile_to_rows(
        shape, "layer_norm_bwd", f"--lnbwd-set-chip=chip={chip}",
        "--lnbwd-select-schedule=candidates=30").stderr)
    assert len(set(ranked)) == 30
    for text in ranked[::10]:
        chosen, = schedule.of_programs(tune.compile_to_rows(
            shape, "layer_norm_bwd", f"--lnbwd-set-chip=chip={chip}",
            f"--lnbwd-select-schedule=schedule={schedule.complete(text)}").stdout)
        assert schedule.complete(chosen) == schedule.complete(text)


def test_a_sweep_by_predicted_times_is_what_trees_learn_from(tmp_path):
    """Always with the word, the product's name and the error of the model; no time is measured."""
    if not (BUILD / "lib" / "liblnbwd-hip-sim.so").exists():
        pytest.skip("no simulator in the build")
    sweep = tmp_path / "sweep.jsonl.xz"
    options = ["--chip", "gfx942", "--device", "sim:gfx942", "--candidates", 2, "--sweep", sweep]
    result = run(*options, "--shapes", "24x256")
    assert result.returncode in (0, 1) and "the best of 3" in result.stdout, result.stderr
    assert "All times are predicted on MI300X (model error on held-out kernels: " in result.stdout
    result = run(*options, "--shapes", "40x96:f32")
    with lzma.open(sweep, "rt") as file:
        about, *problems = map(json.loads, file)
    assert (about["chip"], about["family"]) == ("gfx942", "amd")
    assert about["about"].startswith("predicted on MI300X (model error")
    assert [problem["rows"] for problem in problems] == [24, 40]
    for problem in problems:
        # A launch of two kernels takes some microseconds; none of these takes many.
        assert len(problem["us"]) == 3 and all(3 < time < 60 for time in problem["us"])
        schedules = tmp_path / "schedules.txt"
        schedules.write_text("\n".join(problem["schedules"]))
        features = subprocess.run(
            [tune.find_compiler(), "--lnbwd-set-chip=chip=gfx942",
             "--lnbwd-print-schedule-features="
             f"rows={problem['rows']} schedules={schedules}", "-o", os.devnull],
            input=problem["program"], capture_output=True, text=True, check=True).stdout
        assert len(set(features.splitlines())) == 1 + len(problem["us"])


@pytest.mark.parametrize("chip", ["gfx942", "gfx1100:xnack-", "sm_90"])
def test_the_project_has_a_sweep_for_every_chip(chip):
    family = tune.family_of(chip)
    sweep, *_ = tune.sweeps_of(family)
    with lzma.open(sweep, "rt") as file:
        assert json.loads(file.readline())["family"] == family


def test_one_command_sweeps_and_makes_trees(tmp_path):
    """Which the compiler takes."""
    pytest.importorskip("lightgbm")
    if not (BUILD / "lib" / "liblnbwd-hip-sim.so").exists():
        pytest.skip("no simulator in the build")
    with lzma.open(ROOT / "docs/sweeps/schedules-amd.jsonl.xz", "rt") as file:
        about, *problems = file
    few = [next(line for line in problems if len(json.loads(line).get(key, ())) > 4)
           for key in ("us", "registers")]
    beside, sweep, trees = (tmp_path / name for name in ("few.xz", "mine.xz", "mine.trees"))
    beside.write_bytes(lzma.compress("".join([about, *few]).encode()))
    result = run("--chip", "gfx942", "--device", "sim:gfx942", "--ops", "layer_norm_bwd,rms_norm",
                 "--shapes", "24x256", "--candidates", 2, "--sweep", sweep, "--beside", beside,
                 "--learn", trees)
    assert result.returncode == 0 and result.stdout.count("the best of 3") == 2, result.stderr
    assert " of 3 row programs: predicted by" in trees.read_text()
    chosen, = schedule.of_programs(subprocess.run(
        [tune.find_compiler(), "-", "--lnbwd-set-chip=chip=gfx942", "--lnbwd-select-schedule"],
        text=True, check=True, capture_output=True,
        input=tune.compile_to_rows(Shape(24, 256), "rms_norm").stdout,
        env={**os.environ, "LNBWD_MODEL": str(trees)}).stdout)
    assert schedule.parse_printed(chosen)["threads_per_row"] > 0


@pytest.mark.parametrize("arguments,words", [
    (["--ops", "softmax"], "--ops: expected some of layer_norm, "),
    (["--shapes", "4096"], "--shapes: "),
    (["--candidates", "-1"], "--candidates: expected 0 or more, got -1"),
    (["--sweep", "/nowhere/s.xz"], "--sweep: cannot write /nowhere/s.xz"),
    (["--learn", "/nowhere/s.trees"], "--learn: cannot write /nowhere/s.trees"),
    (["--shapes", ""], "--shapes: expected a shape like"),
    (["--chip", "gfx9999"], "--chip: expected one of gfx908, "),
    (["--beside", __file__], "--beside: expected a whole sweep, got "),
    (["--beside", "/nowhere/s.xz"], "--beside: expected a whole sweep, got "),
    (["--chip", "sm_90", "--sweep", ROOT / "docs/sweeps/schedules-amd.jsonl.xz"],
     "--sweep: expected a sweep of nvidia's chips, as sm_90, got "),
])
def test_wrong_usage_is_an_error(arguments, words, tmp_path):
    result = run("--sweep", tmp_path / "s.jsonl.xz", *arguments)
    assert result.returncode == 2 and words in result.stderr


def test_a_card_has_the_schedules_that_do_not_spill(tmp_path, monkeypatch):
    """As the simulator behind the driver's interface, which counts instructions."""
    library = BUILD / "lib" / "liblnbwd-hip-sim.so"
    if not library.exists():
        pytest.skip("no simulator in the build")
    monkeypatch.setenv("LNBWD_HIP_LIBRARY", str(library))
    result = run("--chip", "gfx908", "--device", "hip", "--shapes", "24x256", "--candidates", 2,
                 "--sweep", tmp_path / "s.jsonl.xz")
    assert "the best of 3" in result.stdout and "All times are timed on " in result.stdout, (
        result.stderr)


def test_shapes_are_drawn_until_the_minutes_are_over(tmp_path, monkeypatch, capsys):
    """Each once for every operation, and half of the time is left for training."""
    seen = []
    monkeypatch.setattr(tune.time, "monotonic", lambda: float(len(seen)))
    monkeypatch.setattr(tune, "time_shape", lambda shape, op, device: seen.append((shape, op)) or (
        {"us": [1.0]}, 1.0, {"": 1.0}))
    monkeypatch.setattr(tune, "append", lambda *_: None)
    arguments = ["--chip", "gfx942", "--ops", "layer_norm,rms_norm", "--shapes", "24x256",
                 "--sweep", str(tmp_path / "s.jsonl.xz")]
    tune.main(arguments)
    assert seen == [(Shape(24, 256), "layer_norm"), (Shape(24, 256), "rms_norm")]
    seen.clear()
    tune.main([*arguments, "--minutes", "0.2"])
    assert len(seen) == len(set(seen)) == 7 and capsys.readouterr().out.count("the best of 1") == 9


def test_what_cannot_be_timed_is_named(tmp_path):
    result = run("--chip", "sm_90", "--device", "sim", "--shapes", "40x96", "--candidates", 0,
                 "--sweep", tmp_path / "s.jsonl.xz")
    assert result.returncode == 2 and "the simulator has no chip 'sm_90'" in result.stderr
    assert not (tmp_path / "s.jsonl.xz").exists()
    result = run("--chip", "gfx942", "--shapes", "24x256", "--time-options", "no=1",
                 "--sweep", tmp_path / "s.jsonl.xz")
    assert result.returncode == 2 and result.stderr.count("there is no parameter 'no'") == 1
