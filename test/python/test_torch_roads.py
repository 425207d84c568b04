# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every road of a call gives the same: each small model of model_roads.py in processes that compile
it, that take it out of Inductor's cache, that have no operators in C++, no kernels, no
autotuning."""

import fcntl
import functools
import json
import os
import pathlib
import shutil
from typing import NamedTuple

import loaded_python
import pytest
from model_roads import LAYOUTS, MODELS
from test_torch_without_kernels import broken_installation

from conftest import HAS_GPU, ROOT

pytestmark = [pytest.mark.compiler, pytest.mark.simulator,
              pytest.mark.skipif(HAS_GPU, reason="tests installations on the CPU"),
              pytest.mark.skipif(bool(os.environ.get("LNBWD_TEST_INSTALLED")),
                                 reason="needs a build folder")]
SCRIPT = pathlib.Path(__file__).with_name("model_roads.py")


class Road(NamedTuple):
    """How a process comes to its kernels: what its environment says, whether Inductor has the
    graphs in its cache, whether there are kernels, and whether layouts are tried beside models."""

    environment: dict[str, str]
    is_warm: bool = True
    has_kernels: bool = True
    has_layouts: bool = True


ROADS = {
    "cold": Road({}, is_warm=False),
    "warm": Road({}),
    "warm, no operators in C++": Road({"LNBWD_NATIVE": "0"}),
    "warm, no kernels": Road({}, has_kernels=False),
    "cold, no autotuning, no operators in C++": Road(
        {"LNBWD_AUTOTUNE": "0", "LNBWD_NATIVE": "0"}, is_warm=False, has_layouts=False),
}


@functools.lru_cache
def results(name):
    """What the process of a road printed, by case, and its warnings. The first fills the caches.
    The processes of this run of the tests share what each road gave."""
    folder = pathlib.Path(os.environ["LNBWD_TEST_COMPILED"], "roads")
    folder.mkdir(exist_ok=True)
    if name != "cold":
        results("cold")
    printed = folder / f"{name}.json"
    with open(folder / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not printed.exists():
            printed.write_text(run_road(name, folder))
    *lines, warned = map(json.loads, printed.read_text().splitlines())
    return {line.pop("case"): line for line in lines}, warned


def run_road(name, folder):
    """What the process of a road prints."""
    road = ROADS[name]
    environment = {**os.environ, "LNBWD_SIMULATE": "gfx942", "PYTHONPATH": str(ROOT / "python"),
                   "TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor"),
                   "LNBWD_CACHE_DIR": str(folder / "kernels"), **road.environment}
    if not road.has_kernels:
        libraries = folder / name
        libraries.mkdir()
        environment |= {"LNBWD_CACHE_DIR": str(folder / "empty"), "LNBWD_LIBRARY_DIR": str(
            broken_installation(libraries, keeps_its_name=True))}
    done = loaded_python.run([SCRIPT, *["models"] * (not road.has_layouts)], env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("road,case", [
    (name, case) for name, road in ROADS.items()
    for case in (*MODELS, *[LAYOUTS] * road.has_layouts)])
def test_every_road_computes_the_same(road, case):
    """In the first call as in the second, and where there are kernels bit by bit."""
    got, reference = results(road)[0][case], results("cold")[0][case]
    assert got["taken"] == reference["taken"] > 0
    assert got["error"] <= got["tolerance"]
    assert len(set(got["digests"])) == 1
    assert not (ROADS[road].is_warm and got["misses"])
    if ROADS[road].has_kernels:
        assert got["digests"] == reference["digests"]


@pytest.mark.parametrize("road", ROADS)
def test_a_road_without_kernels_says_so(road):
    warned = [words for words in results(road)[1] if "cannot load" in words]
    assert len(warned) == (not ROADS[road].has_kernels)


def test_the_key_of_cached_graphs_covers_the_package(tmp_path):
    """Generated code calls functions whose meaning modules all over the package decide: a graph of
    another version is not taken."""
    shutil.copytree(ROOT / "python" / "lnbwd", tmp_path / "lnbwd",
                    ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "lib" / "Chips" / "Chips.json", tmp_path / "lnbwd" / "chips.json")
    program = ("from lnbwd.core.compile import spec; print(spec.__file__); "
               "from lnbwd.inductor.backend import Key; print(Key().uuid())")

    def key():
        done = loaded_python.run(["-c", program], env={**os.environ, "PYTHONPATH": str(tmp_path)})
        assert done.returncode == 0, done.stderr
        place, text = done.stdout.splitlines()
        assert place == str(tmp_path / "lnbwd" / "core" / "compile" / "spec.py")
        return text

    keys = [key(), key()]
    with open(tmp_path / "lnbwd" / "core" / "compile" / "spec.py", "a") as file:
        file.write("# A change.\n")
    keys.append(key())
    assert keys[0] == keys[1] != keys[2]
