# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The README's three doors: they stand first, and what Python shows there is so.

test_commands.py executes the commands. Left to hands: the lines that install (scripts/demo.sh and
pip), and those for a card. docs/install.md says when they were run last.
"""

import os
import pathlib
import re
import subprocess
import sys

import pytest
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("LNBWD_BUILD_DIR", ROOT / "build"))
README = (ROOT / "README.md").read_text()
DOORS = {name: (language, text) for name, language, text in re.findall(
    r"<!-- door: ([\w-]+) -->\n```(\w+)\n(.*?)```", README, re.DOTALL)}


def run(folder: pathlib.Path, *arguments: str) -> str:
    environment = dict(os.environ, PYTHONPATH=str(ROOT / "python"), LNBWD_BUILD_DIR=str(BUILD),
                       LNBWD_LIBRARY_DIR=str(BUILD / "lib"),
                       LNBWD_CACHE_DIR=str(folder / "cache"))
    result = subprocess.run([sys.executable, *arguments], cwd=folder, env=environment,
                            capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_the_doors():
    assert list(DOORS) == ["pytorch", "pytorch-model", "kernels", "mlir"]
    assert len(README.splitlines()) <= 150
    # The table of doors is on the first screen.
    assert README.index("#mlir-how-it-works") < len("\n".join(README.splitlines()[:15]))


def test_pytorch(tmp_path):
    """The last line of the door, and what pages say that it ends with."""
    program, *arguments = DOORS["pytorch"][1].splitlines()[-1].partition("#")[0].split()
    assert program == "env/bin/python"
    output = run(tmp_path, *arguments)
    assert "gfx942" in output, output
    said = {count for page in ("install", "amd") for count in
            re.findall(r"\d+ of \d+ right", (ROOT / "docs" / f"{page}.md").read_text())}
    assert said == set(re.findall(r"\d+ of \d+ right", output))


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
