# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""LayerNorm's gradient as the compiler derives it, and operations with their derivatives."""

from __future__ import annotations

import re

from doc_tools import CHIP, Stop, Tools, chip_lists, dedent, fence, table
from lnbwd.core.base.operations import LAYER_NORM, mlir

# LayerNorm's gradient, as the compiler derives it.

FORWARD = mlir(LAYER_NORM, {
    **dict.fromkeys(("x", "y"), "memref<?x1024xf32>"),
    **dict.fromkeys(("gamma", "beta"), "memref<1024xf32>"),
    **dict.fromkeys(("mean", "rstd"), "memref<?xf32>")})


def body_lines(text: str) -> list[str]:
    """The lines of a row program's region."""
    lines = text.split("\n")
    first = next(i for i, line in enumerate(lines) if "^bb0" in line)
    last = next(i for i, line in enumerate(lines) if "lnbwd.yield" in line)
    return dedent(lines[first:last + 1])


def derivation_result(tools: Tools) -> str:
    """The derivative, simplified."""
    return fence(body_lines(tools.opt("-", "--lnbwd-differentiate", stdin=FORWARD)), "mlir")


# What may stand in a row program, as y of x and z, and what is said of its derivative.
SMOOTH = ""
STEP = "0, also where it jumps"
OPERATIONS = {
    "arith.addf": ("arith.addf %x, %z : $", SMOOTH),
    "arith.subf": ("arith.subf %x, %z : $", SMOOTH),
    "arith.mulf": ("arith.mulf %x, %z : $", SMOOTH),
    "arith.divf": ("arith.divf %x, %z : $", SMOOTH),
    "arith.remf": ("arith.remf %x, %z : $", SMOOTH),
    "arith.negf": ("arith.negf %x : $", SMOOTH),
    "math.fma / vector.fma": ("vector.fma %x, %z, %x : $", SMOOTH),
    "arith.maximumf / minimumf": ("arith.maximumf %x, %z : $", "equal operands: half to each"),
    "arith.maxnumf / minnumf": ("arith.maxnumf %x, %z : $",
                               "equal operands: half to each; a NaN beside a number: 0"),
    "arith.select": ("arith.select %c, %x, %z : !, $", "of the operand that was selected"),
    "arith.cmpf": ("arith.uitofp %c : ! to $", STEP),
    "math.absf": ("math.absf %x : $", "0 at 0"),
    "math.copysign": ("math.copysign %x, %z : $", "0 at 0; 0 by the sign"),
    **{f"math.{name}": (f"math.{name} %x : $", STEP)
       for name in ("floor", "ceil", "trunc", "round", "roundeven")},
    **{f"math.{name}": (f"math.{name} %x : $", SMOOTH)
       for name in ("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt",
                    "cbrt")},
    "math.powf": ("math.powf %x, %z : $",
                  "0 by the base where the exponent is 0; 0 by the exponent where the base is 0 "
                  "and the exponent is not below"),
    "math.powf %x, 2.5": ("""math.powf %x, %k : $
    %y = arith.negf %s : $""", "0 where the exponent is 0"),
    **{f"math.{name}": (f"math.{name} %x : $", SMOOTH)
       for name in ("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "erf",
                    "erfc")},
    "vector.reduction <add>": ("""vector.reduction <add>, %x : $ into f32
    %y = vector.broadcast %s : f32 to $""", SMOOTH),
    "vector.reduction <maximumf>": ("""vector.reduction <maximumf>, %x : $ into f32
    %y = vector.broadcast %s : f32 to $""",
                                   "equal elements share it evenly; with `lnbwd.detach` a "
                                   "constant"),
}


def function_of(names: list[str]) -> str:
    """A function with a row program for each of these of OPERATIONS."""
    buffer = "memref<?x64xf32>"
    lines = [f"func.func @f(%fx: {buffer}, %fz: {buffer}, %fy: {buffer}) {{"]
    for i, name in enumerate(names):
        text = OPERATIONS[name][0]
        result = "%s" if "%y =" in text else "%y"
        lines += f"""  lnbwd.rowwise @f{i} domain(m | n)
      ins(%fx[m, n] : {buffer}, %fz[m, n] : {buffer}) outs(%fy[m, n] : {buffer}) {{
  ^row(%x: $, %z: $):
    %c = arith.cmpf olt, %x, %z : $
    %k = arith.constant dense<2.5> : $
    {result} = {text}
    lnbwd.yield %y : $
  }}""".replace("$", "vector<64xf32>").replace("!", "vector<64xi1>").split("\n")
    return "\n".join([*lines, "  return", "}", ""])


def operations(tools: Tools) -> str:
    """What can be differentiated, and what each vendor's backend has code for: tried out."""
    def run(*arguments, stdin: str) -> str:
        """The errors."""
        try:
            tools.opt("-", *arguments, "-o", tools.scratch / "out", stdin=stdin)
        except Stop as problem:
            return str(problem)
        return ""

    # Many programs in one run, whose start takes longer than one of them. Passes name the lines
    # of all that they do not take; what emits code stops at the first, and names none.
    def passed(*arguments) -> list[str]:
        programs = {name: function_of([name]) for name in OPERATIONS}
        errors = run("--split-input-file", *arguments, stdin="// -----\n".join(programs.values()))
        refused = {int(line) for line in re.findall(r"^<stdin>:(\d+):\d+: error", errors,
                                                    re.MULTILINE)}
        if bool(errors) != bool(refused):
            raise Stop(f"no line is named in: {errors}")
        names, first = [], 1
        for name, program in programs.items():
            end = first + program.count("\n") + 1
            if refused.isdisjoint(range(first, end)):
                names.append(name)
            first = end
        return names

    def emitted(names: list[str], *arguments) -> list[str]:
        if not run(*arguments, stdin=function_of(names)):
            return names
        if len(names) == 1:
            return []
        half = len(names) // 2
        return emitted(names[:half], *arguments) + emitted(names[half:], *arguments)

    answers = [passed("--lnbwd-differentiate")]
    for chip, output in ((CHIP, "hsaco"), (chip_lists.GPU, "ptx")):
        pipeline = f"--lnbwd-pipeline=chip={chip}"
        answers.append(emitted(passed(pipeline), pipeline, f"--emit={output}"))
    rows: dict[tuple[str, ...], list[str]] = {}
    for name, (_, note) in OPERATIONS.items():
        cells = (note, *("yes" if name in holding else "no" for holding in answers))
        rows.setdefault(cells, []).extend(f"`{part}`" for part in name.split(" / "))
    return table("operations | derivative | at a kink or jump | AMD | NVIDIA", (
        (", ".join(names), derivative, note, amd, nvidia)
        for (note, derivative, amd, nvidia), names in rows.items()))
