# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the benchmark prints, draws and stores, and its command line."""

import concurrent.futures
import json
import lzma
import pathlib
import shutil
import subprocess
import sys

import pytest
import test_verdicts

from lnbwd_bench import our_kernels, report, stream, verdicts
from lnbwd_bench.shapes import Shape

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "bench" / "layer_norm_bwd.py"
# The method that the tests' records are timed by.
METHOD = verdicts.METHODS[0]


def document(records):
    for entry in records:
        entry["competitors"]["ours"].update(errors={"dx": 1e-3, "dgamma": 2e-3, "dbeta": None},
                                            complaints=[])
    return {"format": report.FORMAT, "version": report.VERSION, "date": "2026-11-20T10:00:00",
            "machine": {"name": "Card", "driver": "Driver", "torch": "2", "simulated": False},
            "methods": [METHOD], "repetitions": 50, "unavailable": ["liger: not installed"],
            "shapes": records}


def run(*arguments, **more):
    return subprocess.run([sys.executable, PROGRAM, *map(str, arguments)], capture_output=True,
                          text=True, check=False, **more)


def test_the_table_shows_what_was_measured():
    shape = Shape(8192, 4096)
    results = verdicts.Results([test_verdicts.record(shape, 60.0, 50.0, eager=120.0)], {})
    lines = report.table(results).splitlines()
    assert len(lines) == 2
    cells = lines[1].split()
    assert cells[0] == "8192x4096:bf16" and cells[1] == "60.00" and "eager" in cells
    assert f"{results.share(shape) * 100:.1f}" in cells and "2.00" in cells


def test_the_report_says_what_went_wrong():
    entry = test_verdicts.record(Shape(8192, 4096), 60.0, 50.0, eager=120.0)
    entry["competitors"]["eager"].update(valid=False, failure="OutOfMemoryError: too much")
    entry["competitors"]["ours"]["repeatable"] = False
    text = report.text_report(document([entry]), {})
    assert "8192x4096:bf16 eager: OutOfMemoryError: too much" in text
    assert "8192x4096:bf16 ours: two runs gave different bits" in text
    assert "left out: liger: not installed" in text
    assert text.splitlines()[-1].startswith(f"bars by {METHOD}: ")


def test_the_report_counts_the_bars():
    text = report.text_report(document(test_verdicts.run_at(0.98)), {})
    assert "PASS   0.980 (at least 0.97)  share of the stream, 1.5 GB and more" in text
    assert " 0 not measured" in text.splitlines()[-1]


def test_results_are_stored_whole_and_read_again(tmp_path):
    path = tmp_path / "result.json"
    written = document(test_verdicts.run_at(0.9))
    report.write_json(written, path)
    assert report.read_json(path) == written
    assert [file.name for file in tmp_path.iterdir()] == ["result.json"]
    path.write_text(json.dumps({**written, "version": 99}))
    with pytest.raises(ValueError, match="version 1, got 'lnbwd-bench' version 99"):
        report.read_json(path)


def test_plots_hold_every_shape(tmp_path):
    pytest.importorskip("matplotlib")
    files = report.plot(document(test_verdicts.run_at(0.9)), {}, tmp_path)
    assert {file.name for file in files} == {
        f"layer_norm_bwd-{dtype}-{METHOD}.{suffix}" for dtype in ("bf16", "f32")
        for suffix in ("svg", "png")}
    assert all(file.stat().st_size > 0 for file in files)
    svg = (tmp_path / f"layer_norm_bwd-bf16-{METHOD}.svg").read_text()
    assert "65536×4096" in svg and "stream" in svg


def test_a_stored_run_is_reported_without_a_gpu(tmp_path):
    path = tmp_path / "result.json"
    report.write_json(document(test_verdicts.run_at(0.9)), path)
    result = run("--report", path, "--out", tmp_path / "again", "--no-plot")
    assert result.returncode == 0, result.stderr
    assert f"bars by {METHOD}" in result.stdout
    assert (tmp_path / "again" / "result.txt").read_text() == result.stdout


@pytest.mark.parametrize("name", ["layer_norm_bwd.json", "h200-random-7-40.json.xz"])
def test_reports_of_two_runs_do_not_collide_in_a_folder(tmp_path, name):
    data = json.dumps(document(test_verdicts.run_at(0.9))).encode()
    (tmp_path / name).write_bytes(lzma.compress(data) if name.endswith("xz") else data)
    assert run("--report", tmp_path / name, "--no-plot").returncode == 0
    assert {file.name for file in tmp_path.iterdir()} == {name, name.split(".")[0] + ".txt"}


def test_what_a_run_before_left_stays(tmp_path):
    path = tmp_path / "out" / "layer_norm_bwd.json"
    names = []
    for index in range(3):
        names.append(report.claim(path))
        names[-1].write_text(str(index))
    assert [name.name for name in names] == ["layer_norm_bwd.json", "layer_norm_bwd-2.json",
                                             "layer_norm_bwd-3.json"]
    assert path.read_text() == "0"


def test_runs_at_the_same_time_have_files_of_their_own(tmp_path):
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        files = list(pool.map(lambda _: report.claim(tmp_path / "x.json"), range(40)))
    assert len(set(files)) == 40


def test_shapes_drawn_at_random_name_their_files():
    assert report.stem_of("layer_norm_bwd", None) == "layer_norm_bwd"
    assert report.stem_of("layer_norm_bwd", [7, 40]) == "layer_norm_bwd-random-7-40"


@pytest.mark.parametrize("variant", stream.variants(), ids=str)
def test_streams_are_kernels_that_the_runtime_reads(variant):
    from lnbwd import runtime

    program = runtime.Program.from_bytes(stream.stream_ptx(variant).encode())
    assert [argument.access for argument in program.arguments] == ["read", "read", "write"]


def test_streams_assemble(tmp_path):
    ptxas = shutil.which("ptxas")
    if not ptxas:
        pytest.skip("no ptxas")
    for variant in stream.variants()[::5] + stream.variants()[-1:]:
        source = tmp_path / "stream.ptx"
        source.write_text(stream.stream_ptx(variant))
        result = subprocess.run([ptxas, "-arch=sm_90", "-v", source, "-o", tmp_path / "cubin"],
                                capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr
        assert "0 bytes spill" in result.stderr or "spill" not in result.stderr


def test_kernels_are_compiled_into_a_folder(tmp_path, build):
    environment = {"LNBWD_BUILD_DIR": str(build), "PATH": "/usr/bin:/bin"}
    result = run("--compile-to", tmp_path, "--shapes", "64x128,8x96:f32", env=environment)
    assert result.returncode == 0, result.stderr
    files = our_kernels.read_folder(tmp_path)
    assert set(files) == {Shape(64, 128), Shape(8, 96, "f32")}
    assert all("lnbwd-plan" in file.read_text() for file in files.values())


def test_a_kernel_that_is_refused_is_an_error(tmp_path, build):
    environment = {"LNBWD_BUILD_DIR": str(build), "PATH": "/usr/bin:/bin"}
    result = run("--compile-to", tmp_path, "--shapes", "64x128", "--chip", "sm_90",
                 "--pipeline-options", "schedule=threads_per_row=7", env=environment)
    assert result.returncode == 1
    assert "64x128:bf16" in result.stderr and "threads_per_row" in result.stderr


@pytest.mark.parametrize("arguments,message", [
    ([], "expected --out DIR"),
    (["--out", "x", "--shapes", "8by8"], "expected a shape like"),
    (["--out", "x", "--peers", "apex"], "unknown peer 'apex'"),
    (["--out", "x", "--repetitions", "5"], "at least 30"),
    (["--out", "x", "--method", "clock"], "unknown method 'clock'"),
])
def test_wrong_command_lines_are_refused(arguments, message):
    result = run(*arguments)
    assert result.returncode == 2
    assert message in result.stderr


def test_missing_kernels_are_named(tmp_path):
    with pytest.raises(our_kernels.KernelError, match="--compile-to"):
        our_kernels.read_folder(tmp_path)


def test_dry_run_measures_and_checks(tmp_path, build):
    """The whole program on the host and the simulator."""
    pytest.importorskip("torch")
    if not (build / "lib" / "liblnbwd-hip-sim.so").exists():
        pytest.skip("no simulator in the build")
    result = run("--dry-run", "--out", tmp_path, "--peers", "eager,liger", "--shapes",
                 "17x96:f32,9x64", "--repetitions", 3, "--no-plot", "--interleave")
    assert result.returncode == 0, result.stdout + result.stderr
    stored = report.read_json(tmp_path / "layer_norm_bwd.json")
    assert stored["machine"]["simulated"] and len(stored["shapes"]) == 2
    for entry in stored["shapes"]:
        ours = entry["competitors"]["ours"]
        assert ours["valid"] and ours["repeatable"]
        assert len(ours["errors"]) == 3 and ours["times"]["events"]["repetitions"] == 3
        assert ours["times"].keys() == {"events", "graph", "interleaved"}
    # The other shape has less than a row of the stream's.
    assert [entry["stream"].keys() for entry in stored["shapes"]] == [
        {"events", "graph", "interleaved"}, set()]
    printed = (tmp_path / "layer_norm_bwd.txt").read_text()
    assert "by the method interleaved:" in printed and "bars by interleaved" not in printed
    assert any("liger" in reason for reason in stored["unavailable"])
