# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Installing: what configuring says where something is missing, presets, and the one version."""

import json
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


PACKAGES = {
    "old": {"LLVM": "set(LLVM_PACKAGE_VERSION 21.1.0)\nset(LLVM_VERSION_MAJOR 21)\n"},
    "no LLVM": {"LLVM": "set(LLVM_FOUND FALSE)\n"},
    "no MLIR": {"LLVM": "set(LLVM_PACKAGE_VERSION 22.1.0)\nset(LLVM_VERSION_MAJOR 22)\n",
                "MLIR": "set(MLIR_FOUND FALSE)\n"},
}


@pytest.mark.parametrize("packages,words", [
    ("old", ["expected LLVM 22, got 21.1.0 in", "set LLVM_DIR", "docs/install.md"]),
    ("no LLVM", ["LLVM was not found", "Debian: llvm-22-dev", "set LLVM_DIR",
                 "-DLNBWD_ENABLE_COMPILER=OFF"]),
    ("no MLIR", ["MLIR was not found; the compiler needs it", "libmlir-22-dev", "set MLIR_DIR",
                 "-DLNBWD_ENABLE_COMPILER=OFF"]),
])
def test_configuring_says_what_is_missing(tmp_path, packages, words):
    """The modules that look for LLVM and MLIR, without the compilers' checks before them."""
    if shutil.which("cmake") is None:
        pytest.skip("needs CMake")
    arguments = []
    for name, text in PACKAGES[packages].items():
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}Config.cmake").write_text(text)
        arguments.append(f"-D{name}_DIR={tmp_path / name}")
    (tmp_path / "CMakeLists.txt").write_text(f"""cmake_minimum_required(VERSION 3.20)
project(missing LANGUAGES NONE)
list(APPEND CMAKE_MODULE_PATH {ROOT / "cmake"})
include(LnbwdFind)
lnbwd_find_llvm()
include(LnbwdMLIR)
""")
    result = subprocess.run(["cmake", "-S", tmp_path, "-B", tmp_path / "build", *arguments],
                            capture_output=True, text=True)
    said = " ".join(result.stderr.split())
    assert result.returncode != 0 and [part for part in words if part not in said] == [], said


def test_presets_are_those_of_the_page():
    presets = json.loads((ROOT / "CMakePresets.json").read_text())
    names = [preset["name"] for preset in presets["configurePresets"]]
    page = (ROOT / "docs" / "install.md").read_text()
    assert [name for name in names if f"`{name}`" not in page and f"--preset {name}" not in page
            ] == []
    assert set(re.findall(r"--preset (\w+)", page)) <= set(names)


def test_the_version_has_one_place():
    version = re.search(r'__version__ = "(.+)"', (ROOT / "python/lnbwd/_version.py").read_text())[1]
    assert f"## {version}" in (ROOT / "docs" / "releases.md").read_text()
    for path in ("CMakeLists.txt", "pyproject.toml", "include/lnbwd/Config.h.in"):
        assert version not in (ROOT / path).read_text(), path


def test_commands_that_were_not_run_are_marked():
    page = (ROOT / "docs" / "install.md").read_text()
    for system in ("Ubuntu", "Fedora"):
        assert re.search(rf"\*\*{system}[^*]*Not run\*\*", page), system
