# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Asks lnbwd-opt: which schedule it chooses, which fields there are, and for machine code."""

from __future__ import annotations

import pathlib
import re
import subprocess
import tempfile
from dataclasses import dataclass

from lnbwd import schedule
from lnbwd.schedule import last_stage, of_programs
from lnbwd_bench.our_kernels import find_compiler, operation
from lnbwd_bench.shapes import Shape

# The passes that lead to a schedule; the input is on memrefs, so that none bufferizes.
_TO_SCHEDULE = ("--lnbwd-lower-to-rowwise", "--canonicalize", "--cse")


class Refused(Exception):
    """The compiler does not take a schedule; the message has its words."""


class TuneError(RuntimeError):
    """Something that the user can put right; the message says what and how."""


@dataclass(frozen=True)
class Selection:
    """A row program and its schedule.

    Attributes:
        schedule: as it is printed between "#lnbwd.schedule<" and ">".
        program: what the table is keyed by: element, rows, row_outs, columns, column_sums,
            row_sums.
    """

    schedule: str
    program: tuple[tuple[str, str | int], ...]


def _run(arguments: list[str], text: str, what: str) -> subprocess.CompletedProcess[str]:
    command = [str(find_compiler()), "-", *arguments]
    try:
        return subprocess.run(command, input=text, capture_output=True, text=True, check=False,
                              timeout=120)
    except subprocess.TimeoutExpired as error:
        raise Refused(f"{what}: the compiler took longer than {error.timeout:.0f} s") from error


def _first_error(text: str) -> str:
    for line in text.splitlines():
        if "error:" in line:
            return line.partition("error:")[2].strip()
    return text.strip() or "no message"


def _program_of(ir: str, dtype: str) -> tuple[tuple[str, str | int], ...]:
    """The table's key of the one row program in printed IR."""
    header = ir[ir.index("lnbwd.rowwise"):]
    body = header[header.index("{\n"):]
    inputs, _, outputs = header[:header.index("attributes")].partition(" outs(")
    return (("element", dtype), ("rows", inputs.count("[m, n]")),
            ("row_outs", outputs.count("[m, n]")), ("columns", inputs.count("[n]")),
            ("column_sums", outputs.count("[n] add")),
            ("row_sums", body.count("vector.reduction")))


def _select(shape: Shape, chip: str, options: str) -> subprocess.CompletedProcess[str]:
    result = _run([*_TO_SCHEDULE, f"--lnbwd-split-two-pass=chip={chip}",
                   f"--lnbwd-select-schedule=chip={chip} {options}"], operation(shape), str(shape))
    if result.returncode != 0:
        raise Refused(_first_error(result.stderr))
    return result


def select(shape: Shape, chip: str, overrides: str = "", table: str = "off") -> Selection:
    """The schedule for a shape: the model's choice, with the fields that ``overrides`` names.

    Raises:
        Refused: the schedule cannot run, or the program would be split in two.
    """
    result = _select(shape, chip, f"tuned-schedules={table}"
                     + (f" schedule={overrides}" if overrides else ""))
    schedules = of_programs(result.stdout)
    programs = result.stdout.count("lnbwd.rowwise")
    if len(schedules) != 1 or programs != 1:
        raise Refused(f"{shape} becomes {programs} row programs on {chip}; only whole ones are "
                      "tuned")
    return Selection(schedules[0], _program_of(result.stdout, shape.dtype))


def ranked(shape: Shape, chip: str, count: int) -> list[str]:
    """So many schedules for a shape as they are printed, those that the compiler finds best first.

    Raises:
        Refused: it cannot be compiled.
    """
    return schedule.ranked(_select(shape, chip, f"candidates={count}").stderr)


def _compile(shape: Shape, chip: str, overrides: str, emit: str, output: pathlib.Path,
             *arguments: str) -> str:
    """Compiles to a file; what the compiler had to say.

    Raises:
        Refused: it cannot be compiled.
    """
    options = f"chip={chip} tuned-schedules=off" + (f" schedule={overrides}" if overrides else "")
    result = _run([f"--lnbwd-pipeline={options}", f"--emit={emit}", "-o", str(output), *arguments],
                  operation(shape), str(shape))
    if result.returncode != 0:
        raise Refused(_first_error(result.stderr))
    return result.stderr


def compile_schedule(shape: Shape, chip: str, overrides: str, emit: str,
                     output: pathlib.Path) -> None:
    """Compiles a shape with some fields set by hand to a file.

    Raises:
        Refused: it cannot be compiled, or a kernel of it spills.
    """
    spill = re.search(r"(?:warning|remark): (kernel @\S+ spills[^;\n]*)",
                      _compile(shape, chip, overrides, emit, output))
    if spill:
        output.unlink(missing_ok=True)
        raise Refused(spill[1])


def compile_model(shape: Shape, chip: str, emit: str, output: pathlib.Path) -> tuple[str, str]:
    """Compiles a shape as the model has it to a file. Where its first choice spills, the compiler
    goes on to the next ones (docs/schedules.md), and so does this.

    Returns:
        the schedule that was taken, as it is printed; and, where even that spills, what the
        compiler says of it, else "".

    Raises:
        Refused: it cannot be compiled.
    """
    with tempfile.TemporaryDirectory(prefix="lnbwd-tune-") as folder:
        messages = _compile(shape, chip, "", emit, output, f"--save-temps={folder}")
        text = last_stage(pathlib.Path(folder))
    entry = re.search(r"lnbwd\.rowwise @(\w+)", text)
    warning = entry and re.search(
        rf"warning: (kernel @{entry[1]} spills[^;\n]*?) with #lnbwd\.schedule<([^>]*)>", messages)
    if warning:  # The last one that was tried need not be the one that spills least.
        return " ".join(warning[2].split()), warning[1]
    taken, = of_programs(text)
    return taken, ""
