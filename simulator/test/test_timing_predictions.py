# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench/timing_model: what a measurement is composed of, and how predictions are compared."""

from __future__ import annotations

import math
import re

import pytest

from timing_model import benchmark, benchmarks, compare, prediction

HOST = prediction.HostCosts(floor=5, base=3, gap=2, launch_and_wait=8, upload=10,
                            upload_gigabytes=50, allocation=26, clear=1)
VALUES = {
    "MI300X": "64",
    "vectoradd": "1024", "relu": "1024", "memcopy_d2d": "1MB", "kmeans": "pts1024_feat8_clus5",
    "im2col": "N1_C1_8x8_k3x3", "conv2d": "N1_C1_8x8_k3x3_OC3", "atax": "48x48", "bicg": "48x48",
    "spmv_csr_scalar": "1024x1024_nnz4096", "pagerank": "nodes64_sparsity0.5_priters2",
    "nbody": "256_particles", "matrixmultiplication": "32x32x32", "floydwarshall": "8_nodes",
    "bitonicsort": "1024", "fft1D_512": "512_elements", "nw": "length=64",
    "matrixtranspose": "64x64", "fir": "1024_taps8",
    "simpleconvolution": "128x128_mask3", "fastwalshtransform": "512", "stencil2d": "64x64"}


def test_every_benchmark_can_be_launched():
    """Each has launches of blocks that a compute unit takes, and a known kind."""
    for entry in benchmarks.table().values():
        value = VALUES["MI300X"] if entry.device == "MI300X" else VALUES[entry.name]
        run = entry.run(value)
        assert entry.kind in benchmark.KINDS and run.pairs and run.launches()
        for launch in run.launches():
            assert min(launch.grid) > 0 and 1 <= math.prod(launch.block) <= 1024
            assert launch.loop is None or launch.loop in {a.name for a in launch.arguments}
        assert entry.doubt_of(value) == entry.doubt


def test_the_twelve_judged_benchmarks_are_there():
    judged = {name for (_, name), entry in benchmarks.table().items() if entry.judged}
    assert judged == {
        "cuda_transpose", "polybench_mvt", "tango_blackscholes", "shoc_scan", "cuda_scan_large",
        "heteromark_fir", "parboil_sgemm", "matrixtranspose", "fir", "simpleconvolution",
        "fastwalshtransform", "stencil2d"}


def test_an_unknown_benchmark_is_refused():
    with pytest.raises(KeyError, match=r"expected a benchmark of MI300A \(atax, .*\), got 'triad'"):
        benchmarks.find("MI300A", "triad")


@pytest.mark.parametrize("device, name, value, duration, expected", [
    # The floor hides a short kernel, and then its duration shows beside the base.
    ("MI300X", "shoc_triad", "1024", 1, 5),
    ("MI300X", "shoc_triad", "1024", 10, 13),
    # Three pairs; two launches in a pair; fifty of them.
    ("MI300X", "shoc_devicememory", "1", 10, 3 * 13),
    ("MI300X", "shoc_reduction", "1024", 1, 5 + 2 + 1),
    ("MI300X", "polybench_jacobi2d", "64", 1, 5 + 49 * 3),
    # The third level of sums allocates; what adds up has a pair of its own.
    ("MI300X", "shoc_scan", "262144", 1, 5 + 3 + 5),
    ("MI300X", "shoc_scan", "262145", 1, 5 + 3 * 3 + 5 + 26),
    ("MI300X", "empty_kernel", "8", 1, 8 + 1),
    # An upload of 1 MiB, and twenty steps.
    ("MI300A", "fastwalshtransform", "262144", 1, 10 + 4 * 262144 / 50e3 + 5 + 17 * 3),
    ("MI300A", "atax", "48x48", 4, 2 * 1 + 7 + 6)])
def test_a_measurement_is_composed(device, name, value, duration, expected):
    run = benchmarks.find(device, name).run(value)
    assert prediction.compose(run, lambda _: duration, HOST) == pytest.approx(expected)


def test_long_loops_are_continued_along_a_line():
    asked = []

    def time(launch):
        count = launch.arguments[1].value
        asked.append(count)
        return 7 + 0.5 * count
    durations = prediction.Durations(time)
    for count in (65536, 1048576, 256):
        launch = benchmarks.find("MI300X", "fp32_throughput").run(str(count)).launches()[0]
        assert durations(launch) == pytest.approx(7 + 0.5 * count)
    assert asked == [2048, 4096, 256]


def test_launches_alike_are_timed_once():
    asked = []
    durations = prediction.Durations(lambda launch: asked.append(launch) or 1.0)
    run = benchmarks.find("MI300A", "floydwarshall").run("16_nodes")
    assert prediction.compose(run, durations, HOST) > 0 and len(asked) == 1
    run = benchmarks.find("MI300A", "fastwalshtransform").run("1024")
    prediction.compose(run, durations, HOST)
    assert len(asked) == 1 + 10


@pytest.fixture
def data(tmp_path):
    (tmp_path / "mi300x.csv").write_text(
        "benchmark,parameter,value,settings,kernel_ms\n"
        "shoc_triad,array_size,1024,block=256,0.0057\n"
        "shoc_triad,array_size,1048576,block=256,0.0570\n"
        "shoc_triad,array_size,268435456,block=256,0.9\n"
        "cache_bandwidth,working_set_bytes,1024,mode=shared,0.5\n"
        "shoc_scan,array_size,1024,block=256,withheld\n")
    (tmp_path / "mi300a.csv").write_text(
        "kernel_name,problem_size,iterations,avg_ms,min_ms,max_ms\n"
        "relu,1048576,51,0.5,0.0415,1.0\nbfs,nodes1024,51,0.3,0.3,0.3\n")
    return tmp_path


def test_measurements_are_read(data):
    rows = prediction.read_measurements(data)
    assert [row.key for row in rows][-2:] == [("MI300A", "relu", "1048576"),
                                              ("MI300A", "bfs", "nodes1024")]
    assert [row.measured_ms for row in rows] == [0.0057, 0.057, 0.9, 0.5, None, 0.0415, 0.3]


def compared(data, text):
    path = data / "predictions.csv"
    path.write_text(text)
    return compare.compare(prediction.read_measurements(data), prediction.read_predictions(path))


def test_rows_weigh_what_lies_beyond_the_events(data):
    rows = compared(data, prediction.write_predictions([
        ("MI300X", "shoc_triad", "1024", 0.0100), ("MI300X", "shoc_triad", "1048576", 0.0627),
        ("MI300X", "shoc_triad", "268435456", 0.5), ("MI300X", "cache_bandwidth", "1024", 1.0),
        ("MI300X", "shoc_scan", "1024", 0.01), ("MI300A", "relu", "1048576", 0.0083)]))
    assert [row.weight for row in rows] == pytest.approx(
        [0, 0.9, 1 - 5.7 / 900, 1 - 5.7 / 500, 0.9])
    certain = [row for row in rows if not row.doubt]
    assert [row.benchmark for row in certain] == ["shoc_triad", "shoc_triad", "relu"]
    assert compare.weighted_error(certain) == pytest.approx((0.1 + 0.8) / 2)
    assert [row.value for row in certain if row.missed] == ["1048576"]
    text = compare.report(rows)
    assert "| all | 3 | 1.8 | 45.0 % |" in text
    assert re.search(r"\| MI300A \| relu \| 1048576 \| 0\.0415 \| 0\.0083 \| 5\.00 \|", text)
    assert "shoc_triad: large, and far below half the size" in text
    assert compare.plot(rows).count("<circle") == 3 + 1


def test_files_of_predictions_are_checked(data):
    with pytest.raises(ValueError, match="expected the columns device,benchmark,value,predicted"):
        compared(data, "device,value\n")


def test_the_script_compares(data, capsys, monkeypatch):
    compared(data, prediction.write_predictions([("MI300A", "relu", "1048576", 0.04)]))
    monkeypatch.setattr("sys.argv", ["compare.py", str(data), str(data / "predictions.csv"),
                                     "--plot", str(data / "plot.svg")])
    assert compare.main() == 0
    assert "| MI300A relu | 1 |" in capsys.readouterr().out
    assert (data / "plot.svg").read_text().startswith("<svg")


def test_the_judged_benchmarks_are_predicted(build, calibration_kernels, tmp_path, capsys,
                                             monkeypatch):
    from timing_model import launches, predict
    monkeypatch.setattr(launches, "compile_kernels", lambda _: calibration_kernels)
    (tmp_path / "mi300x.csv").write_text(
        "benchmark,parameter,value,settings,kernel_ms\nshoc_triad,array_size,1024,,0.0057\n"
        "cuda_transpose,size,64,,withheld\nshoc_scan,array_size,1024,,withheld\n")
    (tmp_path / "mi300a.csv").write_text("kernel_name,problem_size,min_ms\n"
                                         "fastwalshtransform,512,withheld\n")
    monkeypatch.setattr("sys.argv", ["predict.py", str(tmp_path), "--build", str(build), "-o",
                                     str(tmp_path / "predictions.csv")])
    assert predict.main() == 0
    times = prediction.read_predictions(tmp_path / "predictions.csv")
    assert [name for _, name, _ in times] == ["cuda_transpose", "shoc_scan", "fastwalshtransform"]
    # The floors of two pairs; two pairs and a launch; an upload and nine launches.
    assert times["MI300X", "cuda_transpose", "64"] >= 2 * 5e-3
    assert 0.01 < times["MI300X", "shoc_scan", "1024"] < 0.05
    assert 0.02 < times["MI300A", "fastwalshtransform", "512"] < 0.1
    monkeypatch.setattr("sys.argv", ["predict.py", str(tmp_path), "--build", str(build),
                                     "--set", "nosuch=1"])
    assert predict.main() == 1
    assert "nosuch" in capsys.readouterr().err
