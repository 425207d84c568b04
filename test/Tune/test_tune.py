# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""lnbwd-tune from end to end: candidates compiled, checked on the simulator, their times predicted,
and the table that comes of it taken by the compiler."""

import json
import pathlib
import re
import subprocess
import sys
import zipfile

import pytest

from lnbwd import errors
from lnbwd_bench.our_kernels import find_compiler, operation
from lnbwd_bench.shapes import Shape
from lnbwd_tune import candidates, lnbwd_opt, measure, table

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "tools" / "lnbwd-tune" / "lnbwd-tune"


def run(*arguments):
    return subprocess.run([sys.executable, PROGRAM, *map(str, arguments)], capture_output=True,
                          text=True, check=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, build):
    """A few candidates of two shapes for the simulated gfx942."""
    if not (build / "lib" / "liblnbwd-hip-sim.so").exists():
        pytest.skip("no simulator in the build")
    path = tmp_path_factory.mktemp("candidates")
    result = run("compile", "--to", path, "--chip", "gfx942", "--shapes", "40x96:f32,70x256",
                 "--candidates", 3, "--jobs", 2)
    assert result.returncode == 0, result.stderr
    return path


def test_the_manifest_names_the_models_choice_and_the_others(folder):
    manifest = candidates.read_manifest(folder)
    assert [(entry["m"], entry["n"]) for entry in manifest["problems"]] == [(40, 96), (70, 256)]
    with zipfile.ZipFile(folder / candidates.ARCHIVE) as archive:
        for entry in manifest["problems"]:
            assert [one["is_model"] for one in entry["candidates"]] == [True, False, False, False]
            schedules = {one["schedule"] for one in entry["candidates"]}
            assert len(schedules) == 4
            for one in entry["candidates"]:
                assert archive.read(one["file"])[:4] == b"\x7fELF"
    assert manifest["problems"][0]["program"] == {
        "element": "f32", "rows": 2, "row_outs": 1, "columns": 1, "column_sums": 2, "row_sums": 2}


@pytest.fixture(scope="module")
def predicted(folder, tmp_path_factory):
    """What was printed for the candidates on the simulated gfx942, and the file of results."""
    results = tmp_path_factory.mktemp("results") / "results.json"
    result = run("measure", folder, "--results", results, "--device", "sim:gfx942", "--top", 1)
    assert result.returncode == 0, result.stderr
    return result.stdout, results


def test_schedules_are_ranked_by_predicted_time(predicted):
    """Always with the word, the product's name and the error of the model; no time is measured."""
    text, results = predicted
    assert "All times are predicted on MI300X (model error on held-out kernels: " in text
    assert "none was measured" in text and "predicted us" in text
    document = measure.read(results)
    assert document["simulated"] and document["prediction"]["model"] == "MI300X"
    for problem in document["problems"]:
        times = [one["predicted_us"] for one in problem["candidates"]]
        # A launch of two kernels takes some microseconds; none of these takes many.
        assert all(3 < time < 60 for time in times) and len(set(times)) > 1
        assert not any("median_us" in one for one in problem["candidates"])
        ranks = [line.split() for line in text.splitlines()
                 if line.startswith(f"{table.shape_of(problem)} ") and " % " in line]
        assert ranks[0][1] == "1" and float(ranks[0][2]) == pytest.approx(min(times), abs=0.051)
        # The model's choice is shown wherever it is.
        assert len(ranks) == (1 if times[0] == min(times) else 2)
        assert "(the model's)" in text


def test_what_is_predicted_becomes_what_the_compiler_takes(predicted, tmp_path):
    _, results = predicted
    path = tmp_path / "table.json"
    stored = run("store", results, "--table", path, "--least-gain", 0)
    assert stored.returncode == 0, stored.stderr
    entries = json.loads(path.read_text())["entries"]
    assert all(entry["predicted"]["model"] == "MI300X" and "measured" not in entry
               for entry in entries)
    document = measure.read(results)
    for problem in document["problems"]:
        shape = table.shape_of(problem)
        best = table.finalists(problem)[0]["schedule"]
        assert lnbwd_opt.select(shape, "gfx942", table=str(path)).schedule == best


def test_another_product_is_predicted_otherwise(folder, predicted, tmp_path):
    document, _ = measure.measure(folder, "sim", 0, tmp_path / "r.json", "product=MI300A")
    assert document["prediction"]["model"] == "MI300A"
    assert "MI300A" in table.origin(document)
    times, others = ([one["predicted_us"] for one in results["problems"][0]["candidates"]]
                     for results in (document, measure.read(predicted[1])))
    assert times != others


@pytest.mark.parametrize("device,options,words", [
    ("sim:gfx90a", "", "the candidates are for gfx942; compile others with --chip gfx90a"),
    ("sim:gfx942", "flux=1", "--time-options: "),
    ("sim:gfx942", "product=MI300Z", "--time-options: .*expected one that carries gfx942")])
def test_predictions_that_cannot_be_made_are_refused(folder, tmp_path, device, options, words):
    with pytest.raises(lnbwd_opt.TuneError, match=words):
        measure.measure(folder, device, 0, tmp_path / "r.json", options)


def test_the_chip_is_that_of_the_simulated_device(tmp_path):
    """All in one, with no --chip."""
    result = run("all", "--device", "sim:gfx942", "--shapes", "40x96:f32", "--candidates", 1,
                 "--results", tmp_path / "r.json", "--table", tmp_path / "t.json")
    assert result.returncode == 0, result.stderr
    assert measure.read(tmp_path / "r.json")["chip"] == "gfx942"


def test_a_kernel_of_wrong_numbers_is_found(folder, tmp_path):
    """One candidate's code is that of another row program: 1/N is wrong in it."""
    broken = tmp_path / "broken"
    broken.mkdir()
    manifest = candidates.read_manifest(folder)
    victim = manifest["problems"][0]["candidates"][1]["file"]
    lowered = subprocess.run([find_compiler(), "-", "--lnbwd-lower-to-rowwise"], text=True,
                             input=operation(Shape(40, 96, "f32")), stdout=subprocess.PIPE,
                             check=True).stdout
    source, count = re.subn(r"(arith\.constant) -[\d.E-]+ : f32", r"\1 -2.0 : f32", lowered)
    assert count == 1
    code = tmp_path / "code"
    subprocess.run([find_compiler(), "-", "--lnbwd-pipeline=chip=gfx942", "--emit=hsaco", "-o",
                    code], input=source, text=True, check=True)
    with zipfile.ZipFile(folder / candidates.ARCHIVE) as old, \
            zipfile.ZipFile(broken / candidates.ARCHIVE, "w") as new:
        for name in old.namelist():
            new.writestr(name, code.read_bytes() if name == victim else old.read(name))
    (broken / candidates.MANIFEST).write_text(json.dumps(manifest))
    document, _ = measure.measure(broken, "sim", 0, tmp_path / "results.json")
    complaints = [one["complaint"] for one in document["problems"][0]["candidates"]]
    assert complaints[1] and not complaints[0] and not complaints[2]
    assert "predicted_us" not in document["problems"][0]["candidates"][1]


def test_a_second_turn_leaves_out_what_was_tried(folder, predicted, tmp_path):
    _, results = predicted
    again = tmp_path / "again"
    result = run("compile", "--to", again, "--chip", "gfx942", "--shapes", "40x96:f32",
                 "--candidates", 3, "--around", results)
    assert result.returncode == 0, result.stderr
    before = {one["schedule"] for one in measure.read(results)["problems"][0]["candidates"]}
    after = [one["schedule"] for one in candidates.read_manifest(again)["problems"][0]["candidates"]
             if not one["is_model"]]
    assert after and not before & set(after)


def test_shapes_that_cannot_be_tuned_are_named(tmp_path):
    result = run("compile", "--to", tmp_path, "--chip", "gfx942", "--shapes", "8x262144",
                 "--candidates", 1)
    assert result.returncode == 0, result.stderr
    assert "note: 8x262144:bf16 is left out" in result.stdout


def limited(tmp_path, monkeypatch, registers):
    """From here on the compiler has so few registers for a lane, as --max-registers says."""
    program = tmp_path / "limited-opt"
    program.write_text(f'#!/bin/sh\nexec {find_compiler()} "$@" --max-registers={registers}\n')
    program.chmod(0o755)
    monkeypatch.setenv("LNBWD_OPT", str(program))


def test_a_shape_whose_first_choice_spills_is_tuned_around_the_next(tmp_path, monkeypatch):
    shape = Shape(7281, 1536, "f32")
    first = lnbwd_opt.select(shape, "gfx942").schedule
    limited(tmp_path, monkeypatch, 48)
    result = run("compile", "--to", tmp_path / "to", "--chip", "gfx942", "--shapes",
                 "7281x1536:f32", "--candidates", 1)
    assert result.returncode == 0 and "note" not in result.stdout, result.stdout + result.stderr
    problem, = candidates.read_manifest(tmp_path / "to")["problems"]
    model = problem["candidates"][0]
    assert model["is_model"] and model["schedule"] != first
    # It is what the compiler takes by itself, and does not spill.
    taken, spill = lnbwd_opt.compile_model(shape, "gfx942", "hsaco", tmp_path / "code")
    assert (taken, spill) == (model["schedule"], "")


def test_a_shape_all_of_whose_choices_spill_is_tuned_with_a_note(tmp_path, monkeypatch):
    limited(tmp_path, monkeypatch, 8)
    result = run("compile", "--to", tmp_path / "to", "--chip", "gfx942", "--shapes", "512x1024:f32",
                 "--candidates", 0)
    assert result.returncode == 0, result.stderr
    assert "note: 512x1024:f32: no choice of the model does without spilling; kernel @" \
        in result.stdout
    problem, = candidates.read_manifest(tmp_path / "to")["problems"]
    assert problem["candidates"][0]["is_model"]


@pytest.mark.parametrize("arguments,words", [
    (["measure", "nowhere", "--results", "{missing}/r.json"], "--results: cannot write"),
    (["store", "nowhere.json", "--table", "{folder}"], "--table: cannot write"),
    (["all", "--table", "{missing}/t.json", "--results", "{folder}/r.json"],
     "--table: cannot write"),
    (["all", "--table", "{folder}/t.json", "--results", "{missing}/r.json"],
     "--results: cannot write"),
    (["compile", "--to", "{file}"], "cannot write candidates to"),
])
def test_what_cannot_be_written_is_said_before_any_work(tmp_path, monkeypatch, arguments, words):
    """The compiler and the candidates, which are not there either, would be missed later."""
    monkeypatch.setenv("LNBWD_OPT", str(tmp_path / "no-compiler"))
    (tmp_path / "file").write_text("")
    places = {"missing": tmp_path / "no" / "folder", "folder": tmp_path, "file": tmp_path / "file"}
    result = run(*(text.format(**places) for text in arguments))
    assert result.returncode == 1 and words in result.stderr
    assert "no-compiler" not in result.stderr and "nowhere" not in result.stderr
    # Nothing was made, and nothing was left behind.
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("chip,device", [("gfx942", "hip"), ("sm_90", "cuda")])
def test_the_device_is_of_the_chips_vendor(tmp_path, monkeypatch, chip, device):
    (tmp_path / candidates.MANIFEST).write_text(json.dumps(
        {"format": candidates.FORMAT, "version": candidates.VERSION, "chip": chip,
         "problems": []}))
    opened = []

    def no_device(spec, program_chip):
        opened.append((spec, program_chip))
        raise errors.LnbwdError("none here")

    monkeypatch.setattr(measure.runtime.Device, "open", no_device)
    for given in ("", "cuda:1"):
        with pytest.raises(errors.LnbwdError):
            measure.measure(tmp_path, given, 0, tmp_path / "r.json")
    assert opened == [(device, chip), ("cuda:1", chip)]


@pytest.mark.parametrize("arguments,message", [
    (["compile", "--to", "x", "--shapes", "8"], "expected a shape like"),
    (["compile", "--to", "x", "--chip", "gfx942", "--emit", "ptx"],
     "--emit: expected hsaco for gfx942, got ptx"),
    (["all", "--table", "x", "--chip", "sm_90", "--emit", "hsaco"],
     "--emit: expected cubin or ptx for sm_90, got hsaco"),
    (["compile", "--to", "x", "--chip", "gfx1"], "--chip: expected one of gfx908, "),
    (["store", "x"], "--table"),
    ([], "command"),
])
def test_wrong_command_lines_are_refused(arguments, message):
    result = run(*arguments)
    assert result.returncode == 2 and message in result.stderr


def test_a_folder_without_candidates_is_an_error(tmp_path):
    result = run("measure", tmp_path, "--results", tmp_path / "r.json")
    assert result.returncode == 1 and "lnbwd-tune compile" in result.stderr


def test_version():
    result = run("--version")
    assert result.returncode == 0 and result.stdout.startswith("lnbwd-tune ")
