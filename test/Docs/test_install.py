# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Installing: what configuring says where something is missing, one configuration for scripts and
pip, presets, and the one version."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest
import tomllib
from pages import PAGES, ROOT

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
    if shutil.which("cmake") is None or shutil.which("ninja") is None:
        pytest.skip("needs CMake and ninja")
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
    result = subprocess.run(["cmake", "-G", "Ninja", "-S", tmp_path, "-B", tmp_path / "build",
                             *arguments], capture_output=True, text=True)
    said = " ".join(result.stderr.split())
    assert result.returncode != 0 and [part for part in words if part not in said] == [], said


def program(path: pathlib.Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


@pytest.fixture
def configured(tmp_path):
    """Runs a script up to its build; returns what CMake was called with, nothing if it was not."""
    log, build = tmp_path / "cmake.log", tmp_path / "build"
    program(tmp_path / "bin/cmake", f'mkdir -p {build}; touch {build}/build.ninja\n'
                                    f'printf "%s\\n" "$@" >{log}')
    program(tmp_path / "bin/dpkg-query", "echo installed")
    program(tmp_path / "bin/ninja", f'printf "%s\\n" "$@" >{tmp_path}/ninja.log; exit 77')

    def run(script):
        log.unlink(missing_ok=True)
        result = subprocess.run([ROOT / "scripts" / script], capture_output=True, text=True, env={
            **os.environ, "LNBWD_BUILD_DIR": str(build),
            "PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"})
        assert result.returncode == 77, result.stdout + result.stderr
        return log.read_text().splitlines() if log.exists() else []

    return run, build


def test_scripts_configure_alike(configured):
    """demo.sh and test.sh; PyTorch's Python is all that the second adds, and then both have it."""
    run, build = configured
    demo = run("demo.sh")
    assert demo and not run("demo.sh")
    python = build / "venv/bin/python"
    program(python, "exit 0")
    assert run("test.sh") == [*demo, f"-DLNBWD_TORCH_PYTHON={python}"]
    assert not run("demo.sh") and not run("test.sh")


@pytest.mark.parametrize("script", sorted(ROOT.glob("scripts/[!c]*.sh")),
                         ids=lambda path: path.name)
def test_scripts_explain_themselves(script):
    """--help prints the comment at the top."""
    result = subprocess.run([script, "--help"], capture_output=True, text=True)
    top = script.read_text().splitlines()[1]
    assert result.returncode == 0 and result.stdout.splitlines()[0] == top.removeprefix("# ")


@pytest.mark.parametrize("script", ["demo.sh", "test.sh", "lint.sh", "sanitize.sh", "tsan.sh",
                                    "fuzz.sh", "wheel.sh", "pack-gpu.sh"])
def test_scripts_refuse_an_unknown_option(script):
    result = subprocess.run([ROOT / "scripts" / script, "--wrong"], capture_output=True, text=True)
    assert result.returncode == 2 and not result.stdout and result.stderr


def test_pip_compiles_as_the_scripts_do(configured, tmp_path):
    """demo.sh builds the target of pip, which has what the first page uses. What both compile, they
    compile by one command, with PyTorch's operators or without: ccache has it from the other. It
    makes no path relative behind -Xclang, and none where MLIR's headers are compiled, and does not
    mind the locale, which Python sets for pip's build alone if nobody has."""
    if shutil.which("cmake") is None or shutil.which("ninja") is None:
        pytest.skip("needs CMake and Ninja")
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["scikit-build"]
    script = [argument for argument in configured[0]("demo.sh") if argument.startswith("-D")]
    assert settings["env"].keys() >= {"CC", "CXX"}  # Else the compiler is that of the Python.
    [target] = settings["build"]["targets"]
    assert (tmp_path / "ninja.log").read_text().split()[-1] == target
    pip = [f"-DCMAKE_BUILD_TYPE={settings['cmake']['build-type']}",
           *(f"-D{name}={value}" for name, value in settings["cmake"]["define"].items())]
    commands = []
    for name, arguments in {"scripts": [*script, f"-DLNBWD_TORCH_PYTHON={sys.executable}"],
                            "pip": pip}.items():
        folder = tmp_path / name
        subprocess.run(["cmake", "-G", "Ninja", "-S", ROOT, "-B", folder, *arguments],
                       capture_output=True, check=True)
        database = subprocess.run(["ninja", "-C", folder, "-t", "compdb"], capture_output=True,
                                  text=True, check=True).stdout
        needed = subprocess.run(["ninja", "-C", folder, "-t", "query", target],
                                capture_output=True, text=True, check=True).stdout.split()
        assert {*(f"bin/lnbwd-{tool}" for tool in ("opt", "run", "sim")),
                *(f"lib/liblnbwd-{library}.so" for library in ("runtime", "compiler", "hip-sim"))
                } <= set(needed)
        commands.append({entry["output"]: entry["command"].replace(str(folder), "BUILD")
                         for entry in json.loads(database) if entry["output"].endswith(".o")})
    both = commands[0].keys() & commands[1].keys()
    assert len(both) > 50
    assert {output: commands[1][output] for output in both
            if commands[0][output] != commands[1][output]} == {}
    [headers] = [command for output, command in commands[1].items() if "LnbwdHeaders" in output]
    assert "BUILD" not in headers and "-Xclang BUILD" not in " ".join(commands[1].values())
    assert shutil.which("ccache") is None or ",locale " in headers
    # Nothing that pip builds is left out of the comparison.
    assert commands[1].keys() - both <= {output for output in commands[1] if "lib/Torch" in output}


def test_presets_of_pages_are_there():
    presets = json.loads((ROOT / "CMakePresets.json").read_text())
    named = {name for page in PAGES for name in re.findall(r"--preset (\w+)", page.read_text())}
    assert named and named <= {preset["name"] for preset in presets["configurePresets"]}


def test_the_version_has_one_place():
    text = (ROOT / "python/lnbwd/core/base/version.py").read_text()
    version = re.search(r'__version__ = "(.+)"', text)[1]
    for path in ("CMakeLists.txt", "pyproject.toml", "include/lnbwd/Config.h.in"):
        assert version not in (ROOT / path).read_text(), path
    assert re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.M)[0] == version
