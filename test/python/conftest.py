# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where the package and the libraries under test are: the checkout's, and those of
LNBWD_BUILD_DIR (build/ in the checkout otherwise)."""

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("LNBWD_BUILD_DIR", ROOT / "build")).resolve()

sys.path.insert(0, str(ROOT / "python"))
os.environ.setdefault("LNBWD_LIBRARY_DIR", str(BUILD / "lib"))


@pytest.fixture(scope="session")
def build() -> pathlib.Path:
    return BUILD


@pytest.fixture(scope="session")
def opt_compile(tmp_path_factory):
    """Compiles MLIR text by lnbwd-opt, without the package's compiler half; gives the bytes."""
    folder = tmp_path_factory.mktemp("opt")

    def compile_text(text: str, chip: str) -> bytes:
        output = folder / "kernel"
        form = "ptx" if chip.startswith("sm_") else "hsaco"
        subprocess.run([BUILD / "bin" / "lnbwd-opt", "-", f"--lnbwd-pipeline=chip={chip}",
                        f"--emit={form}", "-o", output], input=text, text=True, check=True)
        return output.read_bytes()

    return compile_text
