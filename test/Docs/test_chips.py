# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One description of the chips: no code beside it names one, and a mistake in it is told."""

import ast
import json
import pathlib
import re
import subprocess
import sys

import pytest
from pages import PAGES, ROOT

DESCRIPTION = ROOT / "lib" / "Chips" / "Chips.json"
TIMING = ROOT / "simulator" / "lib" / "Timing"
GENERATOR = ROOT / "lib" / "Chips" / "generate_chips.py"
# LLVM's names for sets of instructions are none.
NAME = re.compile(r"\b(gfx\d\w*|sm_\d\w*)\b(?!-insts)")


def python_code(text: str) -> str:
    """Python without comments and without the texts that only document."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [line for line in body
                         if not (isinstance(line, ast.Expr)
                                 and isinstance(line.value, ast.Constant))] or [ast.Pass()]
    return ast.unparse(tree)


def code_of(path: pathlib.Path) -> str:
    """What of a file is no comment."""
    text = path.read_text(errors="replace")
    first_line = text.split("\n", 1)[0]
    if path.suffix == ".py" or (first_line.startswith("#!") and "python" in first_line):
        return python_code(text)
    if path.suffix in (".sh", ".cmake"):
        return re.sub(r"^\s*#.*$", "", text, flags=re.MULTILINE)
    return re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.DOTALL)


def sources() -> list[pathlib.Path]:
    folders = ("lib", "include", "tools", "python", "bench", "scripts", "cmake", "fuzz",
               "simulator/lib", "simulator/include", "simulator/tools", "simulator/bench",
               "simulator/scripts", "simulator/fuzz")
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", *folders], capture_output=True,
                            text=True, check=False).stdout.split()
    # Measurements and schedules by chip are data, which pages and notebooks only show.
    return [ROOT / name for name in listed if (ROOT / name).is_file()
            and (ROOT / name).suffix not in (".json", ".md", ".ipynb", ".txt")]


def test_no_code_names_a_chip():
    files = sources()
    if not files:
        pytest.skip("git does not list the sources")
    found = [f"{path.relative_to(ROOT)}: {', '.join(sorted(set(names)))}"
             for path in files if (names := NAME.findall(code_of(path)))]
    assert not found, "\n".join(found)


def generate(tmp_path: pathlib.Path, description: dict) -> subprocess.CompletedProcess:
    file = tmp_path / "Chips.json"
    file.write_text(json.dumps(description))
    return subprocess.run([sys.executable, GENERATOR, file, tmp_path / "out"], capture_output=True,
                          text=True, check=False)


def test_a_new_chip_is_a_row(tmp_path):
    """The row that a page adds is all that it takes: the tables and the lists have it."""
    description = json.loads(DESCRIPTION.read_text())
    row, = [row for page in PAGES for row in re.findall(r"```json\n(.*?)```", page.read_text(),
                                                        re.DOTALL) if '"gfx1103"' in row]
    description["chips"].update(json.loads(f"{{{row}}}"))
    result = generate(tmp_path, description)
    assert result.returncode == 0, result.stderr
    compiler = (tmp_path / "out" / "CompilerChips.inc").read_text()
    simulator = (tmp_path / "out" / "SimulatorChips.inc").read_text()
    assert 'chip.name = "gfx1103";' in compiler and 'chip.Chip = "gfx1103";' in simulator
    assert "chip.ElfMachine = llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX1103;" in simulator
    assert "gfx1103" in (tmp_path / "out" / "ChipNames.h").read_text()
    subprocess.run([sys.executable, TIMING / "generate_clocks.py", TIMING / "Clocks.json",
                    tmp_path / "Chips.json", tmp_path / "out"], check=True)
    assert '{"gfx1103", "' in (tmp_path / "out" / "SimulatorClocks.inc").read_text()
    assert "set(LNBWD_WAVE_SIZE_gfx1103 32)" in (tmp_path / "out" / "chips.cmake").read_text()


@pytest.mark.parametrize("change,message", [
    (lambda d: d["chips"]["gfx942"].pop("computeUnits"),
     "chips.gfx942: the field 'computeUnits' is missing"),
    (lambda d: d["chips"]["gfx942"].update(computeUnit=4),
     "chips.gfx942: unknown field 'computeUnit', expected one of: "),
    (lambda d: d["chips"]["gfx942"].update(computeUnits="304"),
     "'computeUnits': expected a value of type integer, got '304'"),
    (lambda d: d["chips"]["sm_90"].update(family="hopper"),
     "chips.sm_90: expected a family, one of: cdna, rdna, cdna5, cuda"),
    (lambda d: d["chips"]["sm_90"].update(l2KiB=51200), "chips.sm_90: unknown field 'l2KiB'"),
    (lambda d: d["defaults"].update(gpu="sm_13"), "defaults.gpu: unknown chip 'sm_13'"),
])
def test_a_mistake_is_told(tmp_path, change, message):
    description = json.loads(DESCRIPTION.read_text())
    change(description)
    result = generate(tmp_path, description)
    assert result.returncode != 0 and message in result.stderr, result.stderr
