# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The documentation: generated parts are fresh, links lead somewhere, examples compile, and
the source tree is layered as docs/development.md says."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("LNBWD_BUILD_DIR", ROOT / "build")).resolve()
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
page = pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))


def without_code(text: str) -> str:
    """Markdown without its code, whose brackets are no links."""
    text = re.sub(r"^ *```.*?^ *```", "", text, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"`[^`\n]*`", "", text)


def anchors(text: str) -> set[str]:
    """What a link to a heading of the page may name, by GitHub's rule."""
    text = re.sub(r"^ *```.*?^ *```", "", text, flags=re.DOTALL | re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-")
            for title in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}


def test_generated_parts_are_fresh():
    result = subprocess.run([ROOT / "scripts" / "update-docs.sh", "--check"],
                            env={**os.environ, "LNBWD_BUILD_DIR": str(BUILD)},
                            capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def test_check_names_a_stale_page(tmp_path):
    """On a copy of the sources, one generated line is changed."""
    copy = tmp_path / "copy"
    for folder in ("docs", "scripts", "examples", "include", "lib/Chips", "lib/Target",
                   "python/lnbwd"):
        shutil.copytree(ROOT / folder, copy / folder)
    (copy / "test" / "EndToEnd").mkdir(parents=True)
    shutil.copy(ROOT / "test" / "EndToEnd" / "chips.py", copy / "test" / "EndToEnd")
    text = (ROOT / "docs" / "tutorial.md").read_text()
    stale = text.replace("lnbwd.yield", "lnbwd.field")
    assert stale != text
    shutil.copy(ROOT / "README.md", copy)
    (copy / "docs" / "tutorial.md").write_text(stale)
    update = [copy / "scripts" / "update-docs.sh"]
    environment = {**os.environ, "LNBWD_BUILD_DIR": str(BUILD)}
    check = subprocess.run([*update, "--check"], env=environment, capture_output=True, text=True,
                           check=False)
    assert check.returncode == 1
    assert "stale: docs/tutorial.md;" in check.stderr
    subprocess.run(update, env=environment, capture_output=True, check=True)
    assert (copy / "docs" / "tutorial.md").read_text() == text


@page
def test_links_resolve(page):
    text = page.read_text()
    for target in re.findall(r"\]\(([^)\s]+)\)", without_code(text)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), f"{page.name} links to {target}, which is not there"
        assert ROOT in file.parents, f"{page.name} links to {target}, outside the project"
        if anchor:
            assert anchor in anchors(file.read_text()), f"{target} names no heading"


@page
def test_no_machine_specific_paths(page):
    found = re.findall(r"(?<![\w.<>-])/(?:root|home|work|tmp|Users|mnt)/\S*", page.read_text())
    assert not found


@page
def test_markers_are_paired(page):
    markers = re.findall(r"<!-- (generated: [\w-]+|end) -->", page.read_text())
    assert all((text == "end") == (i % 2 == 1) for i, text in enumerate(markers))
    assert len(markers) % 2 == 0


@page
def test_files_that_are_named_exist(page):
    """A page that names a source file in backquotes names one that is there."""
    names = re.findall(r"`((?:include|lib|tools|test|unittests|scripts|examples|docs)/[\w./-]+)`",
                       page.read_text())
    missing = [name for name in names if not (ROOT / name).exists()]
    assert not missing


def mlir_functions():
    """Complete functions that pages quote, and the examples."""
    for file in PAGES:
        for code in re.findall(r"^```mlir\n(.*?)^```", file.read_text(),
                               flags=re.DOTALL | re.MULTILINE):
            if re.match(r"(//.*\n)*func\.func @", code) and "..." not in code:
                yield pytest.param(code, id=str(file.relative_to(ROOT)))
    for file in sorted((ROOT / "examples").glob("*.mlir")):
        yield pytest.param(file.read_text(), id=str(file.relative_to(ROOT)))


@pytest.mark.parametrize("chip,format", [("gfx942", "hsaco"), ("gfx1201", "hsaco"),
                                         ("sm_90", "ptx")])
@pytest.mark.parametrize("code", mlir_functions())
def test_functions_compile(code, chip, format, tmp_path):
    output = tmp_path / "kernel"
    subprocess.run([BUILD / "bin" / "lnbwd-opt", "-", f"--lnbwd-pipeline=chip={chip}",
                    f"--emit={format}", "-o", output], input=code, text=True, check=True)
    assert output.stat().st_size > 0


def test_launch_example(tmp_path):
    """examples/launch.c compiles without a warning and, with a simulator, runs."""
    runtime = BUILD / "lib" / "liblnbwd-runtime.so"
    compiler = shutil.which("cc")
    if not runtime.exists() or not compiler:
        pytest.skip("no runtime library in the build, or no C compiler")
    program, kernel = tmp_path / "launch", tmp_path / "kernel.hsaco"
    subprocess.run([compiler, "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic",
                    f"-I{ROOT}/include", ROOT / "examples" / "launch.c", f"-L{BUILD}/lib",
                    f"-Wl,-rpath,{BUILD}/lib", "-llnbwd-runtime", "-o", program], check=True)
    subprocess.run([BUILD / "bin" / "lnbwd-opt", ROOT / "examples" / "layer_norm_bwd.mlir",
                    "--lnbwd-pipeline=chip=gfx942", "--emit=hsaco", "-o", kernel], check=True)
    if not (BUILD / "lib" / "liblnbwd-hip-sim.so").exists():
        pytest.skip("no simulator in the build")
    result = subprocess.run([program, kernel, "sim", "64"], capture_output=True, text=True,
                            check=False)
    assert result.returncode == 0, result.stderr
    assert "launched on sim" in result.stdout


# The rooms of docs/development.md, lowest first, and those that each may look into.
ROOMS = {
    "Chips": set(),
    "Support": set(),
    "Operations": set(),
    "Reference": {"Operations"},
    "Runtime": {"Chips", "Simulator/SimulatorAPI.h"},
    "ISA": set(),
    "Simulator": {"Chips", "ISA"},
    "Dialect": {"Operations"},
    "Interfaces": set(),
    "Target": {"Chips", "Dialect", "Operations"},
    "Transforms": {"Dialect", "Interfaces", "Operations", "Target"},
    "Conversion": {"Dialect", "Target", "Transforms"},
    "Pipelines": {"Support", "Dialect", "Target", "Transforms", "Conversion"},
    "Report": {"Dialect", "ISA", "Target", "Transforms"},
    "Compiler": {"Chips", "Dialect", "Target", "Transforms", "Pipelines", "Report"},
}


@pytest.mark.parametrize("room", ROOMS)
def test_lower_rooms_do_not_include_upper_ones(room):
    allowed = {room, "Config.h", *ROOMS[room]}
    for folder in (ROOT / "include" / "lnbwd" / room, ROOT / "lib" / room):
        for file in folder.rglob("*.[ch]*"):
            if file.suffix not in (".h", ".cpp", ".c"):
                continue
            for header in re.findall(r'#include "lnbwd/([^"]+)"', file.read_text()):
                assert header in allowed or header.split("/")[0] in allowed, (
                    f"{file.relative_to(ROOT)} includes lnbwd/{header}")


@pytest.mark.parametrize("folder", ["lib/Runtime", "lib/Reference", "lib/Support",
                                    "tools/lnbwd-run", "include/lnbwd/Runtime",
                                    "include/lnbwd/Operations", "include/lnbwd/Reference",
                                    "include/lnbwd/Support"])
def test_the_runtime_is_free_of_llvm(folder):
    for file in (ROOT / folder).rglob("*.*"):
        if file.suffix in (".h", ".cpp", ".c"):
            assert not re.search(r'#include [<"](llvm|mlir|lld)/', file.read_text()), file
