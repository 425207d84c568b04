# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What docs/derivation.md and docs/math.md quote: LayerNorm's gradient as the compiler finds it,
operations and their derivatives, formulas beside finite differences."""

from __future__ import annotations

import random
import re

from doc_tools import CHIP, Stop, Tools, chip_lists, dedent, fence
from lnbwd.operations import LAYER_NORM, mlir

# docs/derivation.md: LayerNorm's gradient, as the compiler finds it.

FORWARD = mlir(LAYER_NORM, {
    **dict.fromkeys(("x", "y"), "memref<?x1024xf32>"),
    **dict.fromkeys(("gamma", "beta"), "memref<1024xf32>"),
    **dict.fromkeys(("mean", "rstd"), "memref<?xf32>")})
# The operations of the unsimplified gradient, by what each is the adjoint of; the page's
# headings follow them.
STEPS = {
    "xhat": ["mulf", "mulf"],
    "rstd": ["mulf", "mulf", "broadcast"],
    "variance": ["rsqrt"] * 4 + ["mulf"],
    "centred": ["reduction"] + ["mulf"] * 3,
    "mean": ["broadcast", "negf"],
    "x": ["mulf", "reduction", "reduction"],
}


def body_lines(text: str) -> list[str]:
    """The lines of a row program's region."""
    lines = text.split("\n")
    first = next(i for i, line in enumerate(lines) if "^bb0" in line)
    last = next(i for i, line in enumerate(lines) if "lnbwd.yield" in line)
    return dedent(lines[first:last + 1])


def derivation_forward(tools: Tools) -> str:
    """The forward pass, as a textbook has it."""
    text = tools.opt("-", "--lnbwd-lower-to-rowwise=textbook=true", "--canonicalize", "--cse",
                     stdin=FORWARD)
    return fence(body_lines(text), "mlir")


def derivation_step(name: str, tools: Tools) -> str:
    """The operations that one step of the derivation adds."""
    text = tools.opt("-", "--lnbwd-differentiate=annotate=true", stdin=FORWARD)
    operations, kinds = [], []
    for line in body_lines(text):
        match = re.search(r' ?\{lnbwd\.adjoint = "\w+\.(\w+)"\}', line)
        if match and "arith.constant" not in line:
            operations.append(line.replace(match[0], ""))
            kinds.append(match[1])
    if kinds != [kind for step in STEPS.values() for kind in step]:
        raise Stop("the steps of LayerNorm's gradient are others than those of "
                   f"docs/derivation.md: {', '.join(kinds)}; write the page anew")
    start = 0
    for step, expected in STEPS.items():
        if step == name:
            break
        start += len(expected)
    return fence(dedent(operations[start:start + len(STEPS[name])]), "mlir")


def derivation_constants(tools: Tools) -> str:
    """What the derivation computes ahead of the adjoints."""
    text = tools.opt("-", "--lnbwd-differentiate=annotate=true", stdin=FORWARD)
    lines = [re.sub(r' ?\{lnbwd\.adjoint = "[\w.]+"\}', "", line) for line in body_lines(text)]
    first = next(i for i, line in enumerate(lines) if "arith.mulf %dy" in line)
    return fence(dedent(lines[:first]), "mlir")


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


def operations(tools: Tools) -> str:
    """What can be differentiated, and what each vendor's backend has code for: tried out."""

    def holds(*arguments, stdin: str) -> bool:
        try:
            tools.opt("-", *arguments, "-o", tools.scratch / "out", stdin=stdin)
        except Stop:
            return False
        return True

    lines = ["| operation | derivative | where it has none, it is | AMD | NVIDIA |",
             "|---|---|---|---|---|"]
    for name, (text, note) in OPERATIONS.items():
        row = "vector<64xf32>"
        result = "%s" if "%y =" in text else "%y"
        buffer = "memref<?x64xf32>"
        program = f"""func.func @f(%fx: {buffer}, %fz: {buffer}, %fy: {buffer}) {{
  lnbwd.rowwise @f rows(%fx, %fz : {buffer}, {buffer}) outs rows(%fy : {buffer}) {{
  ^row(%x: $, %z: $):
    %c = arith.cmpf olt, %x, %z : $
    %k = arith.constant dense<2.5> : $
    {result} = {text}
    lnbwd.yield %y : $
  }}
  return
}}
""".replace("$", row).replace("!", "vector<64xi1>")
        answers = [holds("--lnbwd-differentiate", stdin=program)]
        for chip, output in ((CHIP, "hsaco"), (chip_lists.GPU, "ptx")):
            answers.append(holds(f"--lnbwd-pipeline=chip={chip}", f"--emit={output}",
                                 stdin=program))
        derivative, amd, nvidia = ("yes" if answer else "no" for answer in answers)
        names = ", ".join(f"`{part}`" for part in name.split(" / "))
        lines.append(f"| {names} | {derivative} | {note} | {amd} | {nvidia} |")
    return "\n".join(lines) + "\n"


def wrong_formulas(_: Tools) -> str:
    """How far each formula for dx is from finite differences, on 16 rows of 32 numbers."""
    rows, n, eps, step = 16, 32, 1e-5, 1e-5
    source = random.Random(1)
    x, dy = ([[source.gauss(0, 1) for _ in range(n)] for _ in range(rows)] for _ in range(2))
    gamma = [1 + 0.5 * source.gauss(0, 1) for _ in range(n)]

    def normalise(row):
        mean = sum(row) / n
        rstd = (sum((value - mean) ** 2 for value in row) / n + eps) ** -0.5
        return [(value - mean) * rstd for value in row], rstd

    def loss(row, adjoint):
        return sum(g * h * d for g, h, d in zip(gamma, normalise(row)[0], adjoint, strict=True))

    def moved(row, j, by):
        return [*row[:j], row[j] + by, *row[j + 1:]]

    xhat, rstd = zip(*(normalise(row) for row in x), strict=True)
    dgamma = [sum(dy[i][j] * xhat[i][j] for i in range(rows)) for j in range(n)]
    dbeta = [sum(dy[i][j] for i in range(rows)) for j in range(n)]
    squares = {name: 0.0 for name in ("above", "columns", "diagonal")}
    total = 0.0
    for i in range(rows):
        wdy = [g * d for g, d in zip(gamma, dy[i], strict=True)]
        c1 = sum(w * h for w, h in zip(wdy, xhat[i], strict=True)) / n
        c2 = sum(wdy) / n
        for j in range(n):
            slope = (loss(moved(x[i], j, step), dy[i]) - loss(moved(x[i], j, -step), dy[i]))
            expected = slope / (2 * step)
            h = xhat[i][j]
            found = {
                "above": rstd[i] * (wdy[j] - h * c1 - c2),
                "columns": gamma[j] * rstd[i] * (dy[i][j] - (dbeta[j] + h * dgamma[j]) / n),
                "diagonal": wdy[j] * rstd[i] * (1 - 1 / n - h * h / n),
            }
            total += expected ** 2
            for name, value in found.items():
                squares[name] += (value - expected) ** 2
    above = (squares["above"] / total) ** 0.5
    lines = ["| formula | relative error against finite differences |", "|---|---|",
             f"| the one above | {'below 1e-8' if above < 1e-8 else format(above, '.1e')} |",
             f"| with the column sums | {(squares['columns'] / total) ** 0.5:.2f} |",
             f"| the diagonal alone | {(squares['diagonal'] / total) ** 0.5:.2f} |"]
    return "\n".join(lines) + "\n"
