# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The benchmark of the whole family, as far as it goes without a GPU: its kernels compile, and
the list beside them says what each is."""

import argparse
import json
import math
import os
import pathlib
import re
import subprocess
import sys

import pytest
import test_timing

import operations
from lnbwd import runtime
from lnbwd_bench import results, stream, timing
from lnbwd_bench.shapes import Shape
from lnbwd_bench.stream import Traffic

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("LNBWD_BUILD_DIR", SOURCE / "build")).resolve()
OPERATIONS = (sys.executable, SOURCE / "bench" / "operations.py")


def test_every_operation_has_kernels(tmp_path):
    subprocess.run([*OPERATIONS, "compile", "--out", tmp_path, "--shapes", "64x256", "32x512:f32"],
                   env={**os.environ, "LNBWD_BUILD_DIR": str(BUILD)}, check=True)
    kernels = json.loads((tmp_path / "operations.json").read_text())
    assert {(k["m"], k["n"], k["dtype"]) for k in kernels} == {(64, 256, "bf16"), (32, 512, "f32")}
    operations = {k["name"] for k in kernels}
    assert operations == {"layer_norm", "rms_norm", "layer_norm_bwd", "rms_norm_bwd"}
    for kernel in kernels:
        text = (tmp_path / kernel["file"]).read_text()
        assert text.startswith("//") and f'"row_length":{kernel["n"]}' in text


def test_another_chip_is_compiled_for(tmp_path):
    subprocess.run([*OPERATIONS, "compile", "--out", tmp_path, "--chip", "sm_80",
                    "--shapes", "64x256", "--only", "rms_norm", "layer_norm_bwd"],
                   env={**os.environ, "LNBWD_BUILD_DIR": str(BUILD)}, check=True)
    for kernel in json.loads((tmp_path / "operations.json").read_text()):
        assert kernel["chip"] == "sm_80"
        assert ".target sm_80" in (tmp_path / kernel["file"]).read_text()


def test_what_is_wrong_with_a_shape_is_said():
    result = subprocess.run([*OPERATIONS, "compile", "--out", "x", "--shapes", "64"],
                            capture_output=True, text=True, check=False)
    assert result.returncode == 2 and (
        "expected a shape like 8192x4096 or 8192x4096:f32, got '64'" in result.stderr)


def run_with(*arguments):
    return subprocess.run([sys.executable, SOURCE / "bench" / "operations.py", "run", *arguments],
                          capture_output=True, text=True, check=False)


def test_a_line_has_all_peers():
    row = {"name": "rms_norm", "m": 8, "n": 256, "dtype": "bf16", "bytes": 1 << 20,
           "graph": {"ours": 10, "eager": 20}}
    assert "2.00 times eager; eager 20.00" in operations.line(row, "graph")


def test_each_operation_has_a_stream_of_its_row_blocks():
    kernels = {op: runtime.Program.from_bytes(operations.compile_kernel(op, Shape(8, 256), "sm_90"))
               for op in operations.OPS}
    traffics = {op: operations.traffic_of(operations.arguments_of(program))
                for op, program in kernels.items()}
    assert traffics.pop("layer_norm") == traffics.pop("rms_norm") == Traffic(1, 1)
    assert traffics == {"layer_norm_bwd": Traffic(2, 1), "rms_norm_bwd": Traffic(2, 1)}


def measured(streams, behind_foreign=False, **others):
    """A row with times of a clock that the test owns: each takes as long as is said, 6 us less
    right after itself if it is an ``early`` one. The log has who was called."""
    machine, log = test_timing.Machine(), []

    def candidate(name, time):
        if not isinstance(time, tuple):
            return test_timing.work(machine, time, log=log, name=name)

        def call(slot):
            machine.clock.device += time[0] - (6.0 if log and log[-1][0] == name else 0.0)
            log.append((name, slot))
        return timing.Candidate(name, call)

    def foreign():
        machine.clock.device += 33.0
        log.append(("foreign", None))

    row = operations.measure(
        machine, [candidate(*each) for each in others.items()],
        [candidate(*each) for each in streams.items()], 3, 0.0, 30,
        foreign if behind_foreign else None)
    return {"name": "rms_norm", "m": 1, "n": 1, "dtype": "bf16", "bytes": 110_000_000,
            "stream_bytes": 100_000_000, **row}, log


def test_the_best_stream_takes_turns_with_the_candidates():
    row, log = measured({f"s{index}": 30.0 - index for index in range(8)}, ours=40.0, eager=60.0)
    assert row["graph"] == {"ours": pytest.approx(40.0), "eager": pytest.approx(60.0)}
    assert row["stream"] == {"graph": pytest.approx(23.0)}
    # The last ones of the log are repetitions of the graphs, two calls each.
    turns = [{name for name, _ in log[-10 * (turn + 1):len(log) - 10 * turn]} for turn in range(30)]
    assert turns == [{"ours", "eager", "s5", "s6", "s7"}] * 30


def test_ours_is_held_against_the_rate_of_the_stream():
    row, _ = measured({"s": 20.0}, ours=25.0, eager=50.0)
    # 110 MB in 25 us, of 100 MB in 20 us.
    assert "88.0 % of the stream   2.00 times eager" in operations.line(row, "graph")


def test_behind_a_foreign_kernel_nothing_overlaps():
    row, _ = measured({"s": 20.0}, True, ours=(26.0,), eager=50.0)
    # Of two calls the second one is after the first.
    assert row["graph"]["ours"] == pytest.approx(23.0)
    assert row["interleaved"]["ours"] == pytest.approx(26.0)
    assert row["stream"]["interleaved"] == pytest.approx(20.0)
    assert "95.7 % of the stream" in operations.line(row, "graph")
    assert "84.6 % of the stream" in operations.line(row, "interleaved")


def test_rows_without_a_time_are_no_error():
    row, _ = measured({}, ours=25.0)
    assert row["stream"] == {}
    assert operations.line(row, "graph").endswith("GB/s")
    assert operations.line(row, "interleaved").endswith("not timed by interleaved")


@pytest.mark.parametrize("data,problem", [
    (b"", ""), (b"{", ""), (b"\xff\xff", ""), (b"[]", "expected format"),
    (b'{"results": [{"name": "x"}]}', "expected format"),
    (b'{"format": "lnbwd-bench", "version": 99, "results": []}',
     f"expected format 'lnbwd-bench' version {results.VERSION}, got 'lnbwd-bench' version 99")])
def test_what_is_no_result_is_refused(tmp_path, data, problem):
    (tmp_path / "result.json").write_bytes(data)
    with pytest.raises(ValueError, match=re.escape(f"{tmp_path / 'result.json'}: {problem}")):
        results.read(tmp_path / "result.json")


def test_dry_run_measures_and_checks(tmp_path, monkeypatch, capsys):
    """The whole program on the host and the simulator."""
    pytest.importorskip("torch")
    if not (BUILD / "lib" / "liblnbwd-hip-sim.so").exists():
        pytest.skip("no simulator in the build")
    monkeypatch.setenv("LNBWD_BUILD_DIR", str(BUILD))
    monkeypatch.setattr(stream, "schedules", lambda: ["", "row_groups=2"])
    names = ["layer_norm", "rms_norm_bwd"]

    def main(*arguments):
        monkeypatch.setattr(sys, "argv", ["operations.py", *map(str, arguments)])
        return operations.main()

    # A row of the stream's has 4096 bytes.
    assert main("compile", "--chip", "gfx942", "--out", tmp_path / "k", "--shapes", "30x96:f32",
                "--only", *names) == 0
    assert main("run", "--dry-run", "--kernels", tmp_path / "k", "--peers", "eager", "--interleave",
                "--repetitions", 3, "--out", tmp_path / "out") == 0
    printed = capsys.readouterr().out
    assert "SIMULATED" in printed and "note: layer_norm " not in printed and "above" not in printed
    document = results.read(tmp_path / "out" / "operations.json")
    assert document["machine"]["simulated"]
    rows = {row["name"]: row for row in document["results"]}
    assert list(rows) == names
    # PyTorch has no gradient of RMSNorm on the CPU.
    assert [set(row["errors"]) for row in rows.values()] == [{"ours", "eager"}, {"ours"}]
    assert not any(row["complaints"] for row in rows.values())
    assert [*rows["layer_norm"]["graph"]] == ["ours", "eager"]
    arrays = {name: row["stream_bytes"] // (30 * 96 * 4) for name, row in rows.items()}
    assert arrays == {"layer_norm": 2, "rms_norm_bwd": 3}
    for row in rows.values():
        assert row["stream"].keys() == {"graph", "interleaved"} < row.keys()
        assert row["bytes"] > row["stream_bytes"]

    # Of two runs with different bits, or numbers that are wrong, the row says so.
    def broken(self, who, poison):
        return [tensor.fill_(poison) for tensor in right(self, who, poison)]

    right = operations.Timed._run
    monkeypatch.setattr(operations.Timed, "_run", broken)
    assert main("run", "--dry-run", "--kernels", tmp_path / "k", "--peers", "--repetitions", 3,
                "--only", "layer_norm") == 1
    problems = capsys.readouterr().err
    assert "layer_norm 30x96:f32: ours: two runs gave different bits" in problems
    assert "error nan above" in problems
    monkeypatch.undo()
    monkeypatch.setenv("LNBWD_BUILD_DIR", str(BUILD))

    # The stream reads what the operation reads, and writes what it writes.
    from lnbwd_bench.machine import DryMachine

    entry = json.loads((tmp_path / "k" / "operations.json").read_text())[1]
    timed = operations.Timed(DryMachine("gfx942"), entry, tmp_path / "k")
    tensors = timed.sets[-1]
    before = {name: tensor.clone() for name, tensor in tensors.items()}
    timed.streams()[0].call(timed.count - 1)
    changed = {name for name in tensors if not before[name].equal(tensors[name])
               and not tensors[name].isnan().all()}
    assert changed == {"dx"}
    # But for less than a row of the stream's at the end.
    moved = (before["dy"] + before["x"]).flatten()[:2048]
    assert tensors["dx"].flatten()[:2048].equal(moved)


def test_a_folder_without_kernels_is_named(tmp_path, monkeypatch, capsys):
    pytest.importorskip("torch")
    (tmp_path / "operations.json").write_text("[]")
    monkeypatch.setattr(
        sys, "argv", ["operations.py", "run", "--dry-run", "--kernels", str(tmp_path)])
    assert operations.main() == 1
    assert f"error: {tmp_path / 'operations.json'} names no kernels" in capsys.readouterr().err


def test_a_missing_gpu_is_named(monkeypatch):
    torch = pytest.importorskip("torch")
    from lnbwd_bench.machine import GpuMachine

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(RuntimeError, match="expected a PyTorch with a GPU"):
        GpuMachine()


def test_a_folder_that_has_no_kernels_is_refused(tmp_path):
    result = run_with("--kernels", str(tmp_path))
    assert result.returncode == 2
    expected = f"expected a folder with the operations.json of 'compile', got '{tmp_path}'"
    assert expected in result.stderr
    with pytest.raises(argparse.ArgumentTypeError):
        operations.kernels_argument("")


def test_an_output_that_is_no_number_is_an_error():
    torch = pytest.importorskip("torch")
    right, wrong = torch.ones(3, dtype=torch.float64), torch.full((3,), math.nan)
    assert math.isnan(operations.error_of([right, wrong], [right, right]))
    assert math.isnan(operations.error_of([wrong, right], [right, right]))
    assert operations.error_of([right, 0.5 * right], [right, right]) == 0.5
