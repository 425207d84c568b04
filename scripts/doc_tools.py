# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tools of generated documentation: a build's programs, and cutting and wrapping their output."""

from __future__ import annotations

import functools
import os
import pathlib
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterable

SOURCE = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(SOURCE / "python"), str(SOURCE / "test" / "EndToEnd"),
                str(SOURCE / "lib" / "Chips"), str(SOURCE / "simulator" / "lib" / "Timing")]

import chips as chip_lists  # noqa: E402
from lnbwd.core.base.operations import LAYER_NORM_BWD  # noqa: E402

EXAMPLE = SOURCE / "examples" / f"{LAYER_NORM_BWD}.mlir"
CHIP = chip_lists.DEFAULT
WIDTH = 110


class Stop(Exception):
    """An error for the person who runs the script."""


class Tools:
    """The programs of the build and of LLVM, and what the example compiles to."""

    def __init__(self, build: pathlib.Path, llvm: pathlib.Path, scratch: pathlib.Path):
        self.build = build
        self.scratch = scratch
        self.opt_program = build / "bin" / "lnbwd-opt"
        self.tblgen_program = llvm / "bin" / "mlir-tblgen"
        self.mlir_include = llvm / "include"
        if not self.opt_program.exists():
            raise Stop(f"{self.opt_program} is not there: build first (scripts/demo.sh), or "
                       "name the build folder with LNBWD_BUILD_DIR")
        if not self.tblgen_program.exists():
            raise Stop(f"{self.tblgen_program} is not there: install mlir-22-tools")

    def run(self, *command, stdin: str | None = None) -> subprocess.CompletedProcess:
        """A command that has ended; Stop, with its messages, if it failed."""
        # What is quoted does not depend on who asks.
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith("LNBWD_SIM_")}
        result = subprocess.run([str(part) for part in command], input=stdin, text=True,
                                env=environment,
                                capture_output=True, cwd=self.scratch, check=False)
        if result.returncode != 0:
            raise Stop(f"{' '.join(str(part) for part in command)} failed:\n{result.stderr}")
        return result

    def opt(self, *arguments, stdin: str | None = None) -> str:
        """What lnbwd-opt prints."""
        return self.run(self.opt_program, *arguments, stdin=stdin).stdout

    @functools.cached_property
    def kernel_file(self) -> pathlib.Path:
        """The example, compiled; the IR after each stage is in the folder "stages" beside it."""
        file = self.scratch / f"{LAYER_NORM_BWD}.hsaco"
        self.opt(EXAMPLE, f"--lnbwd-pipeline=chip={CHIP}", "--emit=hsaco",
                 f"--save-temps={self.scratch / 'stages'}", "-o", file)
        return file

    def stage(self, name: str) -> str:
        """The IR after the first run of a pass on the example, "cse.mlir", or its "kernel.s"."""
        files = sorted((self.kernel_file.parent / "stages").glob(f"*-{name}"))
        if not files:
            raise Stop(f"--save-temps has no stage '{name}'")
        return files[0].read_text()

    def tblgen(self, generator: list[str], file: str) -> str:
        """What mlir-tblgen makes of a file."""
        return self.run(self.tblgen_program, *generator, "-I", SOURCE / "include", "-I",
                        self.mlir_include, SOURCE / file).stdout


# Cutting and wrapping IR.


def wrap(line: str, width: int = WIDTH) -> list[str]:
    """One line of IR in several, broken at spaces; MLIR reads it the same."""
    if len(line) <= width:
        return [line]
    indent = " " * (len(line) - len(line.lstrip()))
    return textwrap.wrap(line.strip(), width, initial_indent=indent,
                         subsequent_indent=indent + "    ", break_long_words=False,
                         break_on_hyphens=False)


def wrap_header(line: str) -> list[str]:
    """The header of a lnbwd operation, one clause on a line."""
    if len(line) <= WIDTH:
        return [line]
    indent = " " * (len(line) - len(line.lstrip()))
    clauses = re.split(r" (?=(?:ins|outs|attributes|->)(?:\(| |$))", line.strip())
    lines = [indent + clauses[0]]
    for clause in clauses[1:]:
        lines.append(f"{indent}    {clause}")
    result = []
    for text in lines:
        for piece in re.sub(r" (schedule = #)", rf"\n{indent}        \1", text).split("\n"):
            result += wrap(piece)
    return result


def dedent(lines: list[str]) -> list[str]:
    """Lines without the indent that all of them have."""
    return textwrap.dedent("\n".join(lines)).split("\n")


def cut(text: str, first: str, last: str | None = None) -> list[str]:
    """The lines from the first that matches `first` to the one that closes it: the next
    that matches `last`, or the one of the same indent that begins with a brace."""
    lines = text.split("\n")
    begin = next((at for at, line in enumerate(lines) if re.search(first, line)), None)
    if begin is None:
        raise Stop(f"no line matches '{first}'")
    indent = re.match(r" *", lines[begin]).group()
    closing = last or rf"^{indent}\}}"
    for end in range(begin + 1, len(lines)):
        if re.search(closing, lines[end]):
            return lines[begin:end + 1]
    raise Stop(f"no line after '{first}' matches '{closing}'")


def pick(lines: list[str], limits: dict[str, int], comment: str) -> list[str]:
    """Of each kind of line, by pattern, the first few; "..." for what is left out."""
    left = dict(limits)
    result: list[str] = []
    for line in lines:
        kind = next((pattern for pattern in left if re.search(pattern, line)), None)
        if kind and left[kind] > 0:
            left[kind] -= 1
            result.append(line)
        elif result and result[-1].strip() != f"{comment} ...":
            indent = re.match(r"\s*", line).group()
            result.append(f"{indent}{comment} ...")
    return result


def fence(lines: list[str] | str, language: str) -> str:
    """A block of code in Markdown."""
    text = lines if isinstance(lines, str) else "\n".join(lines)
    return f"```{language}\n{text.rstrip()}\n```\n"


def table(head: str, rows: Iterable[Iterable[object]]) -> str:
    """A table in Markdown."""
    return "\n".join([f"| {head} |", "|---" * (head.count(" | ") + 1) + "|",
                      *(f"| {' | '.join(map(str, row))} |" for row in rows), ""])
