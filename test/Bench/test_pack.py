# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The pack for an AMD GPU's machine, a sample of it: each part runs from its folder alone, through
HIP's functions, with the simulator behind them. A card's machine has no more."""

import json
import lzma
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("LNBWD_BUILD_DIR", ROOT / "build")).resolve()
PARTS = ["grid", "family", "published", "bench", "tune", "python"]

sys.path.insert(0, str(ROOT / "test" / "EndToEnd"))
import chips  # noqa: E402

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def pack(tmp_path_factory):
    if not (BUILD / "lib" / "liblnbwd-hip-sim.so").exists():
        pytest.skip("no simulator in the build")
    folder = tmp_path_factory.mktemp("pack")
    # Peers and pytest are not fetched.
    environment = dict(os.environ, LNBWD_BUILD_DIR=str(BUILD), PIP_NO_INDEX="1",
                       LNBWD_PACK_PYTHON=sys.executable)
    result = subprocess.run(
        ["bash", ROOT / "scripts" / "pack-gpu.sh", "--device", "hip", "--chip", "gfx942",
         "--sample", folder / "made", *PARTS], env=environment, capture_output=True, text=True,
        check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    # Not where it was made.
    moved = folder / "carried"
    (folder / "made").rename(moved)
    (folder / "driver").mkdir()
    shutil.copy(BUILD / "lib" / "liblnbwd-hip-sim.so", folder / "driver" / "libamdhip64.so")
    return moved


def run(pack, part, *arguments, megabytes=64):
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith("LNBWD_") and name != "PYTHONPATH"}
    driver = pack.parent / "driver" / "libamdhip64.so"
    environment.update(
        PATH=f"{pathlib.Path(sys.executable).parent}{os.pathsep}{environment['PATH']}",
        LNBWD_HIP_LIBRARY=str(driver), LNBWD_SIM_LIBRARY=str(driver), LNBWD_SIM_CHECK="0",
        LNBWD_DEVICE=f"hip:{chips.SIMULATED.index('gfx942')}",
        LNBWD_SIM_MEMORY_MB=str(megabytes))
    out = pack.parent / f"out-{part}"
    result = subprocess.run(["bash", pack / part / "run.sh", out, *arguments], env=environment,
                            cwd=pack.parent, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    return out, result.stdout


def test_grid(pack):
    _, output = run(pack, "grid")
    assert " 0 failed, 0 skipped" in output


def test_family(pack):
    _, output = run(pack, "family")
    assert output.count("ok  ") >= 9 and " 0 failed" in output


def test_published(pack):
    _, output = run(pack, "published", megabytes=2)
    assert output.count("verdict valid") == 3
    assert output.splitlines()[-1] == "all clean"


def test_bench(pack):
    out, output = run(pack, "bench", "--repetitions", "3", "--peers", "--dry-run")
    assert "SIMULATED" in output
    rows = json.loads((out / "operations.json").read_text())["results"]
    assert len(rows) == 4 and {"layer_norm_bwd", "rms_norm"} < {row["name"] for row in rows}
    for row in rows:
        assert row["complaints"] == [] and set(row["errors"]) <= {"ours"}
        assert set(row["graph"]) == {"ours"} and set(row["stream"]) == {"graph"}


def test_tune(pack):
    out, output = run(pack, "tune", "--shapes", "24x256", "--candidates", "1")
    with lzma.open(out / "sweep.jsonl.xz", "rt") as file:
        about, problem = map(json.loads, file)
    assert about["about"].startswith("timed on ") and len(problem["us"]) == 2, output


def test_python(pack):
    out, output = run(pack, "python")
    assert "lnbwd.check                  exit code 0" in output, output
    last = (out / "pytest.txt").read_text().splitlines()[-1]
    assert "passed" in last and "failed" not in last, last


@pytest.mark.parametrize("part", ["bench", "python"])
def test_a_python_without_pytorch_is_named(pack, part, tmp_path):
    (tmp_path / "python3").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "python3").chmod(0o755)
    result = subprocess.run(
        ["bash", pack / part / "run.sh", tmp_path / "out"], capture_output=True, text=True,
        env={**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}, check=False)
    assert result.returncode == 2
    assert f"expected a python3 with NumPy and PyTorch, got {tmp_path}/python3" in result.stderr
