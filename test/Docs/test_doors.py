# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The README's three doors: what stands there is executed as it stands.

Left to hands: the two lines that install (scripts/demo.sh and pip, which build everything once
more), and the lines for a card. docs/install.md says when they were run last.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("LNBWD_BUILD_DIR", ROOT / "build"))
README = (ROOT / "README.md").read_text()
DOORS = {name: (language, text) for name, language, text in re.findall(
    r"<!-- door: ([\w-]+) -->\n```(\w+)\n(.*?)```", README, re.DOTALL)}


def commands(name: str) -> list[str]:
    language, text = DOORS[name]
    assert language == "sh"
    lines = [line for line in text.splitlines() if line.strip()]
    assert len(lines) <= 5
    return lines


def run(folder: pathlib.Path, lines: list[str]) -> str:
    environment = dict(os.environ, PATH=f"{BUILD / 'bin'}{os.pathsep}{os.environ['PATH']}",
                       PYTHONPATH=str(ROOT / "python"), LNBWD_BUILD_DIR=str(BUILD),
                       LNBWD_LIBRARY_DIR=str(BUILD / "lib"),
                       LNBWD_CACHE_DIR=str(folder / "cache"))
    result = subprocess.run(["bash", "-euo", "pipefail", "-c", "\n".join(lines)], cwd=folder,
                            env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.fixture
def folder(tmp_path):
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    return tmp_path


def test_the_doors():
    assert list(DOORS) == ["pytorch", "pytorch-model", "kernels", "mlir"]
    assert len(README.splitlines()) <= 150
    # The table of doors is on the first screen.
    assert README.index("#mlir-how-it-works") < len("\n".join(README.splitlines()[:15]))


def test_kernels(folder):
    output = run(folder, commands("kernels"))
    assert "VALID" in output or "valid" in output, output
    assert (folder / "k.hsaco").read_bytes().startswith(b"\x7fELF")
    assert ".target sm_90" in (folder / "k.ptx").read_text()


def test_mlir(folder):
    output = run(folder, commands("mlir"))
    assert "lnbwd.rowwise" in output
    assert len(list((folder / "stages").iterdir())) > 10


def test_pytorch(folder):
    install, pip, check = commands("pytorch")
    assert install.split()[0] == "scripts/demo.sh" and (ROOT / "scripts/demo.sh").is_file()
    assert re.match(r"python3 -m venv env && env/bin/pip install torch \.", pip)
    program = check.removeprefix("env/bin/python")
    assert program != check
    output = run(folder, [f"{sys.executable}{program}"])
    assert "gfx942" in output, output


def test_pytorch_model(folder):
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("CPU tensors are not simulated beside a GPU")
    language, text = DOORS["pytorch-model"]
    assert language == "python"
    # What pip would write beside the package: PyTorch finds the backend by it.
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    installed = folder / "lnbwd-0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: lnbwd\nVersion: 0\n")
    (installed / "entry_points.txt").write_text("".join(
        f"[{group}]\n" + "".join(f"{name} = {place}\n" for name, place in places.items())
        for group, places in project["entry-points"].items()))
    # The imports stand above a model of the reader's.
    imports, _, rest = text.partition("\n\n")
    (folder / "door.py").write_text(f"""{imports}
model = plain = torch.nn.Sequential(torch.nn.Linear(96, 96), torch.nn.LayerNorm(96))
{rest}
x = torch.linspace(-1, 1, 8 * 96).reshape(8, 96)
with lnbwd.simulate("gfx942"):
    torch.testing.assert_close(model(x), plain(x))
print("the same")
""")
    assert "the same" in run(folder, [f"{sys.executable} door.py"])
