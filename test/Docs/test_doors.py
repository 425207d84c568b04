# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What Python shows in the README's first steps is so.

test_commands.py executes the commands. Left to hands: the lines that install (scripts/demo.sh and
pip), and those for a card.
"""

import os
import pathlib
import re
import sys

import pytest
import tomllib
from pages import BUILD, PAGES, ROOT

sys.path.append(str(ROOT / "test" / "python"))
import loaded_python

README = (ROOT / "README.md").read_text()
DOORS = {name: (language, text) for name, language, text in re.findall(
    r"<!-- door: ([\w-]+) -->\n```(\w+)\n(.*?)```", README, re.DOTALL)}


def run(folder: pathlib.Path, *arguments: str) -> str:
    environment = dict(os.environ, PYTHONPATH=str(ROOT / "python"), LNBWD_BUILD_DIR=str(BUILD),
                       LNBWD_LIBRARY_DIR=str(BUILD / "lib"),
                       LNBWD_CACHE_DIR=os.environ["LNBWD_TEST_CACHE"])
    result = loaded_python.run(arguments, cwd=folder, env=environment)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_pytorch(tmp_path):
    """The last line of the door, and what pages say that it ends with."""
    program, *arguments = DOORS["pytorch"][1].splitlines()[-1].partition("#")[0].split()
    assert program == "env/bin/python"
    output = run(tmp_path, *arguments)
    assert "gfx942" in output, output
    said = {count for page in PAGES for count in
            re.findall(r"\d+ of \d+ right", page.read_text())}
    assert set(re.findall(r"\d+ of \d+ right", output)) <= said


def test_pytorch_model(tmp_path):
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("CPU tensors are not simulated beside a GPU")
    language, text = DOORS["pytorch-model"]
    assert language == "python"
    # What pip would write beside the package: PyTorch finds the backend by it.
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    installed = tmp_path / "lnbwd-0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: lnbwd\nVersion: 0\n")
    (installed / "entry_points.txt").write_text("".join(
        f"[{group}]\n" + "".join(f"{name} = {place}\n" for name, place in places.items())
        for group, places in project["entry-points"].items()))
    # The imports stand above a model of the reader's.
    imports, _, rest = text.partition("\n\n")
    (tmp_path / "door.py").write_text(f"""{imports}
model = plain = torch.nn.Sequential(torch.nn.Linear(96, 96), torch.nn.LayerNorm(96))
{rest}
x = torch.linspace(-1, 1, 8 * 96).reshape(8, 96)
with lnbwd.simulate("gfx942"):
    torch.testing.assert_close(model(x), plain(x))
print("the same")
""")
    assert "the same" in run(tmp_path, "door.py")
