# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Options that messages and pages name are there: whoever follows a remedy finds it."""

import functools
import os
import re
import subprocess
import sys

import pytest
from pages import BUILD, ROOT, each_page

TUNE = ROOT / "tools" / "lnbwd-tune" / "lnbwd-tune"

# Those in Python print theirs in one process, which loads PyTorch once.
PYTHON = f"""
import runpy, sys
sys.argv = ["lnbwd-tune", "--help"]
try:
    runpy.run_path({str(TUNE)!r}, run_name="__main__")
except SystemExit as end:
    assert not end.code
sys.argv = ["check", "--help"]
try:
    runpy.run_module("lnbwd.check", run_name="__main__")
except SystemExit as end:
    assert not end.code
"""
#: How our programs list their options.
PROGRAMS = {
    "lnbwd-opt": [BUILD / "bin" / "lnbwd-opt", "--help-hidden"],
    "lnbwd-run": [BUILD / "bin" / "lnbwd-run", "--help"],
    "lnbwd-sim": [BUILD / "bin" / "lnbwd-sim", "--help"],
    "Python": [sys.executable, "-c", PYTHON],
}
#: Options of other programs that literals name: cmake, clang-offload-bundler, ld.lld.
FOREIGN = {"--component", "--install", "--list", "--no-undefined", "--type", "--unbundle",
           "--threads", "--help", "--version"}
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9]*(?:-[a-z0-9]+)*(?![\w-])")


@functools.cache
def options_of(program: str) -> frozenset[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python"),
                   "LNBWD_LIBRARY_DIR": str(BUILD / "lib")}
    result = subprocess.run(PROGRAMS[program], capture_output=True, text=True, env=environment)
    assert result.returncode == 0, result.stderr
    return frozenset(OPTION.findall(result.stdout))


@pytest.fixture(scope="module")
def known() -> set[str]:
    if not (BUILD / "bin" / "lnbwd-opt").exists():
        pytest.skip("the compiler is not built")
    return set(FOREIGN).union(*map(options_of, PROGRAMS))


def literals(text: str) -> str:
    """What C++ or Python sources say to people: their literals, those of one message joined."""
    text = re.sub(r'"\s*\n\s*f?"', "", text)
    return "\n".join(re.findall(r'"(?:[^"\\\n]|\\.)*"', text))


def test_literals_are_joined():
    assert OPTION.findall(literals('fail("see --emit-"\n     "later");  // --other')) == \
        ["--emit-later"]


@pytest.mark.parametrize("folder", ["lib", "tools", "simulator/lib", "simulator/tools",
                                    "python/lnbwd"])
def test_messages_name_options_that_exist(folder, known):
    wrong = []
    for path in sorted((ROOT / folder).rglob("*")):
        if path.suffix in (".cpp", ".h", ".py") and "Dialect" not in path.parts:
            wrong += [f"{path.relative_to(ROOT)}: {name}"
                      for name in OPTION.findall(literals(path.read_text())) if name not in known]
    assert not wrong


def commands(text: str) -> list[str]:
    """Lines of commands on a page, continued ones joined."""
    blocks = re.findall(r"^```(?:sh|bash)?\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    return [line.partition(" #")[0] for block in blocks
            for line in block.replace("\\\n", " ").splitlines()]


@each_page
def test_commands_on_pages_have_options_that_exist(page, known):
    wrong = []
    for line in commands(page.read_text()):
        for part in re.split(r"[|;&]+", line):
            found = re.search(r"(?:^|[\s/])(lnbwd-(?:opt|run|sim))\s(.*)", part)
            if found:
                wrong += [f"{found[1]}: {name}" for name in OPTION.findall(found[2])
                          if name not in options_of(found[1]) | {"--help", "--version"}]
    assert not wrong
