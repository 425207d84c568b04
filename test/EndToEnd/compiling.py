# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles MLIR text for the end-to-end tests, each kernel once in a run of the tests.

In this process, by the compiler's C interface: lnbwd-opt takes longer, for the start of a
process. That both emit the same bytes is test/python/test_compiler.py's;
passes alone go through lnbwd-opt, whose options they are. With LNBWD_TEST_BY_LNBWD_OPT=1 everything
does: a library with sanitizers in it cannot be loaded by a Python without.

What is compiled is kept in the folder LNBWD_TEST_COMPILED, which test/conftest.py makes for the
processes of one run; without it nothing is kept.
"""

from __future__ import annotations

import functools
import hashlib
import os
import pathlib
import subprocess
import sys
import tempfile


def compile_text(build: pathlib.Path, text: str, chip: str, options: str = "",
                 form: str = "") -> bytes:
    """What the compiler of a build folder emits for a chip.

    Args:
        options: of lnbwd-pipeline, beside the chip.
        form: as in lnbwd-opt's --emit; empty: the chip's machine code.

    Raises:
        lnbwd.CompileError: the compiler refused; diagnostics has every line.
    """
    folder = os.environ.get("LNBWD_TEST_COMPILED")
    if not folder:
        return _compile(build, text, chip, options, form)
    key = "\0".join((str(_compiler(build).compiler_id()), chip, options, form, text))
    file = pathlib.Path(folder) / hashlib.sha256(key.encode()).hexdigest()
    try:
        return file.read_bytes()
    except FileNotFoundError:
        code = _compile(build, text, chip, options, form)
    # Another process may write the same file at the same time.
    with tempfile.NamedTemporaryFile(dir=folder, delete=False) as output:
        output.write(code)
    os.replace(output.name, file)
    return code


def compile_to(file: pathlib.Path, build: pathlib.Path, text: str, chip: str,
               options: str = "") -> None:
    """Writes the chip's machine code to a file."""
    file.write_bytes(compile_text(build, text, chip, options))


@functools.cache
def run_passes(build: pathlib.Path, text: str, *options: str) -> str:
    """What lnbwd-opt prints after passes."""
    return subprocess.run([build / "bin" / "lnbwd-opt", "-", *options], input=text, text=True,
                          check=True, capture_output=True, timeout=120).stdout


def differentiate(build: pathlib.Path, text: str, options: str = "") -> str:
    """The gradient of a program, by the options of lnbwd-differentiate."""
    return run_passes(build, text, f"--lnbwd-differentiate={options}")


def load_lnbwd() -> None:
    """Loads the Python package, which is not needed where kernels are only run.

    As a whole: of two threads that begin with modules of a package that is not loaded yet, Python
    lets one find a module half loaded. Those that begin with the package wait for each other.
    """
    folder = str(pathlib.Path(__file__).resolve().parents[2] / "python")
    if folder not in sys.path:
        sys.path.insert(0, folder)
    import lnbwd  # noqa: F401


@functools.cache
def _compiler(build: pathlib.Path):
    os.environ.setdefault("LNBWD_LIBRARY_DIR", str(build / "lib"))
    load_lnbwd()
    from lnbwd import compiler

    return compiler


def _compile(build: pathlib.Path, text: str, chip: str, options: str, form: str) -> bytes:
    if not os.environ.get("LNBWD_TEST_BY_LNBWD_OPT"):
        return _compiler(build).compile_mlir(text, chip, pipeline_options=options,
                                             format=form).code
    form = form or ("hsaco" if chip.startswith("gfx") else "ptx")
    return subprocess.run(
        [build / "bin" / "lnbwd-opt", "-", f"--lnbwd-pipeline=chip={chip} {options}",
         f"--emit={form}", "-o", "-"], input=text.encode(), check=True, capture_output=True,
        timeout=600).stdout
