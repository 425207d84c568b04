# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every command of a page, and of an example's header, is executed as it stands.

The commands of a page run one after another in one shell, in a copy of the sources that has the
build in build/; what a page has the reader save is there. What cannot run is listed here, with the
reason.
"""

import ast
import contextlib
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

import pages
import pytest
from pages import BUILD, ROOT

# Regular expressions, searched for in commands without their comments, by the reason.
NOT_RUN = {
    "a form with something to fill in": [
        r"…", r"\.\.\.", r"\[--", r"\bNEW\b", r"FIELD=", r"\b(BEFORE|AFTER)\b", r"compare before"],
    "needs a GPU, or what was measured on one": [
        r"--device (hip|cuda|gpu)\b", r"K\.ptx", r"(FOLDER|OUT)/",
        r"operations\.py run --kernels", r"dashboard\.py take",
        r"lnbwd-tune --sweep"],
    "the measurements are not part of the repository": [r"\bDATA\b"],
    "needs ROCm, or an emulator that is no package": [r"hipcc", r"\./launch_hip", r"rocjitsu"],
    "the reader's own program": [r"train\.py", r"test_mine\.py"],
    "needs FlyDSL": [r"[ =]rocm[/ ]"],
    "needs LightGBM": [r"dashboard\.py chooser"],
    "test_torch_rowwise.py runs it": [r"examples/row_function\.py"],
    "test_doors.py runs it": [r"lnbwd\.check --device sim"],
    "test_docs.py runs it with --check": [r"update-docs\.sh"],
    "test_pack.py runs it with --sample": [r"pack-gpu\.sh"],
    "test_pytest_plugin.py does it": [r"TRITON_KERNEL_", r"edited/HASH",
                                      r"lnbwd_sim report errors"],
    "installs, or builds": [
        r"demo\.sh", r"/test\.sh", r"pip install", r"apt-get", r"\bdnf\b", r"debootstrap",
        r"test-wheel\.sh", r"^cmake", r"^ninja"],
}
SLOW = {
    "run with --full": [r"pytest test/EndToEnd", r"ROUNDTRIP=1 \S*lit",
                        r"dashboard\.py (amd|compile_time)", r"operations\.py compile",
                        r"plant_faults\.py", r"scripts/speed\.py"],
}

FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)
SAVED = re.compile(r"[Ss]ave [\w ]+ as `([\w.-]+)`:\n\n```\w+\n(.*?)^```", re.DOTALL | re.MULTILINE)
# How a line begins that is a command.
COMMAND = re.compile(
    r"(\w+=\S* )*([\w./-]*/)?((lnbwd-(opt|run|sim|tune)|python3?|pip|cmake|ctest|ninja|lit|bash|cc|"
    r"c\+\+|clang\+\+|hipcc)(?= [^ |])|[\w-]+\.(sh|py)(?= |$))|\./\w+ ")


def whole(text: str) -> list[str]:
    """Its commands, each in one line, without comments."""
    text = re.sub(r" *\\\n *|\n *(?=\| |--)", " ", text)
    return [line for line in (re.sub(r"(^|\s+)# .*", "", line).strip()
                              for line in text.splitlines()) if line]


def header(path: pathlib.Path) -> str:
    """The comment that an example begins with."""
    text = path.read_text()
    if path.suffix == ".py":
        return ast.get_docstring(ast.parse(text)) or ""
    leader = {".c": r"\|\*"}.get(path.suffix, "//")
    return "\n".join(re.findall(rf"^{leader}(.*)$", text, re.MULTILINE))


def commands(path: pathlib.Path) -> list[str]:
    if path.suffix != ".md":
        return [line for line in whole(header(path)) if COMMAND.match(line)]
    return [line for _, language, body in FENCE.findall(path.read_text()) for line in whole(
        body if language == "sh" else "\n".join(re.findall(r"^ *\$ (.*)", body, re.MULTILINE)))]


PAGES = {path: found for path in [*pages.PAGES, *sorted((ROOT / "examples").glob("*.*"))]
         if path.suffix != ".ipynb" and (found := commands(path))}


def listed(reasons: dict[str, list[str]], command: str) -> bool:
    return any(re.search(pattern, command) for patterns in reasons.values() for pattern in patterns)


def files_of(folder: pathlib.Path) -> dict[pathlib.Path, tuple[int, int]]:
    """Its files and links, each with what a change of it changes; but for what Python keeps."""
    found = {}
    for place, folders, names in os.walk(folder):
        links = [name for name in folders if os.path.islink(os.path.join(place, name))]
        folders[:] = [name for name in folders if name != "__pycache__"]
        for path in (pathlib.Path(place, name) for name in (*names, *links)):
            status = path.lstat()
            found[path] = (status.st_mtime_ns, status.st_size)
    return found


@pytest.fixture(scope="module")
def copied():
    """The sources, the build, and a Python with the package; and which files there are."""
    with tempfile.TemporaryDirectory(prefix="lnbwd-test-commands-") as name:
        folder = pathlib.Path(name)
        shutil.copytree(ROOT, folder, dirs_exist_ok=True, symlinks=True,
                        ignore=shutil.ignore_patterns("build", "build-*", ".git", ".*cache",
                                                      "__pycache__"))
        (folder / "build").symlink_to(BUILD)
        (folder / "env/bin").mkdir(parents=True)
        for program in ("python", "python3"):
            path = folder / "env/bin" / program
            path.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n')
            path.chmod(0o755)
        yield folder, files_of(folder)


@pytest.fixture
def sources(copied, monkeypatch):
    """The copy, in which a page finds nothing that the one before it has left."""
    folder, files = copied
    monkeypatch.setenv("PATH", str(folder / "env/bin"), prepend=os.pathsep)
    monkeypatch.setenv("PYTHONPATH", str(folder / "python"))
    monkeypatch.setenv("LNBWD_BUILD_DIR", str(BUILD))
    monkeypatch.setenv("LNBWD_LIBRARY_DIR", str(BUILD / "lib"))
    monkeypatch.setenv("LNBWD_CACHE_DIR", os.environ["LNBWD_TEST_CACHE"])
    yield folder
    left = files_of(folder)
    for path in left.keys() - files.keys():
        path.unlink()
    for path in (path for path, seen in files.items() if left.get(path) != seen):
        shutil.copy2(ROOT / path.relative_to(folder), path)
    for place, _, _ in os.walk(folder, topdown=False):
        with contextlib.suppress(OSError):  # One that has files.
            os.rmdir(place)
    assert files_of(folder) == files


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_commands(page, request, monkeypatch):
    left_out = [NOT_RUN] if request.config.getoption("--full") else [NOT_RUN, SLOW]
    run = [command for command in PAGES[page]
           if not any(listed(reasons, command) for reasons in left_out)]
    if not run:
        return
    folder = request.getfixturevalue("sources")
    for name, body in SAVED.findall(page.read_text()):
        (folder / name).write_text(body)
    if page != ROOT / "README.md":  # The first page says itself where the programs are.
        monkeypatch.setenv("PATH", str(BUILD / "bin"), prepend=os.pathsep)
    if "K.hsaco" in " ".join(run):  # What pages call any compiled kernel.
        run.insert(0, "lnbwd-opt examples/layer_norm_bwd.mlir --lnbwd-pipeline=chip=gfx942 "
                      "--emit=hsaco -o K.hsaco")
    lines = ["set -euo pipefail"]
    for command in run:
        lines += [f"printf '%s\\n' {shlex.quote('+ ' + command)} >&2", command]
    result = subprocess.run(["bash", "-c", "\n".join(lines)], cwd=folder, capture_output=True,
                            text=True)
    assert result.returncode == 0, result.stdout[-4000:] + result.stderr[-4000:]


def test_commands_are_found():
    assert sum(map(len, PAGES.values())) > 60  # Else they are written in another way now.


@pytest.mark.parametrize("page", [path for path in PAGES if path.suffix == ".md"],
                         ids=lambda path: str(path.relative_to(ROOT)))
def test_commands_stand_in_blocks_of_sh(page):
    rest = FENCE.sub(lambda match: "" if match[2] == "sh" else match[0], page.read_text())
    assert [line for line in rest.splitlines() if COMMAND.match(line.strip())] == []
