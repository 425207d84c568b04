# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Generates what the documentation quotes; run through scripts/update-docs.sh.

Each generated text has a name and a function here. A page that wants it has

  <!-- generated: NAME -->
  <!-- end -->

and gets the text between the two lines. Nothing is quoted by line number, and
no file of --save-temps by its number, so that a change of the compiler changes
the excerpts and does not break them; an excerpt that can no longer be cut is an
error that names it.
"""

from __future__ import annotations

import argparse
import difflib
import functools
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import textwrap

SOURCE = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(SOURCE / "python"), str(SOURCE / "test" / "EndToEnd"),
                str(SOURCE / "lib" / "Chips")]

import chips as chip_lists  # noqa: E402
import fault_kernels  # noqa: E402
import generate_chips  # noqa: E402
from lnbwd.operations import LAYER_NORM, LAYER_NORM_BWD, mlir  # noqa: E402
from lnbwd.spec import KernelSpec  # noqa: E402

EXAMPLE = SOURCE / "examples" / f"{LAYER_NORM_BWD}.mlir"
CHIP = chip_lists.DEFAULT
WIDTH = 110
MARKER = re.compile(r"(<!-- generated: ([\w-]+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)


class Unavailable(Exception):
    """A text that this build cannot produce; what stands in the page stays."""


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
        return self.run(self.opt_program, *arguments, stdin=stdin).stdout

    @functools.cached_property
    def stages(self) -> dict[str, str]:
        """The IR after each stage of the example, by file name without its number.

        A pass that runs several times, as cse does, is also there as "cse-2" and
        so on.
        """
        folder = self.scratch / "stages"
        self.opt(EXAMPLE, f"--lnbwd-pipeline=chip={CHIP}", "--emit=hsaco",
                 f"--save-temps={folder}", "-o", self.kernel_file)
        stages: dict[str, str] = {}
        for file in sorted(folder.iterdir()):
            name = base = file.name.split("-", 1)[1].rsplit(".", 1)[0]
            if file.suffix != ".mlir":
                name = base = file.suffix[1:]
            count = 1
            while name in stages:
                count += 1
                name = f"{base}-{count}"
            stages[name] = file.read_text()
        return stages

    @property
    def kernel_file(self) -> pathlib.Path:
        return self.scratch / f"{LAYER_NORM_BWD}.hsaco"

    def stage(self, name: str) -> str:
        if name not in self.stages:
            raise Stop(f"--save-temps has no stage '{name}', only: {', '.join(self.stages)}")
        return self.stages[name]

    def tblgen(self, generator: list[str], file: str) -> str:
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


def wrap_header(line: str, width: int = WIDTH) -> list[str]:
    """The header of a lnbwd operation, one clause on a line."""
    if len(line) <= width:
        return [line]
    indent = " " * (len(line) - len(line.lstrip()))
    clauses = re.split(r" (?=(?:rows|columns|scalars|outs|column_sums|attributes|->)(?:\(| |$))",
                       line.strip())
    lines = [indent + clauses[0]]
    for clause in clauses[1:]:
        if lines[-1].endswith(" outs"):  # what is written stays with the word
            lines[-1] += " " + clause
        elif clause.startswith("column_sums"):
            lines.append(f"{indent}         {clause}")
        else:
            lines.append(f"{indent}    {clause}")
    result = []
    for text in lines:
        for piece in re.sub(r" (schedule = #)", rf"\n{indent}        \1", text).split("\n"):
            result += wrap(piece, width)
    return result


def dedent(lines: list[str]) -> list[str]:
    return textwrap.dedent("\n".join(lines)).split("\n")


def cut(text: str, first: str, last: str | None = None) -> list[str]:
    """The lines from the first that matches `first` to the one that closes it: the next
    that matches `last`, or the one of the same indent that begins with a brace."""
    lines = text.split("\n")
    for begin, line in enumerate(lines):
        if re.search(first, line):
            break
    else:
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
    text = lines if isinstance(lines, str) else "\n".join(lines)
    return f"```{language}\n{text.rstrip()}\n```\n"


# The generated texts.


def named_op(tools: Tools) -> str:
    return fence(EXAMPLE.read_text(), "mlir")


def row_program(tools: Tools) -> str:
    lines = dedent(cut(tools.stage("cse"), r"= lnbwd\.rowwise @"))
    return fence(wrap_header(lines[0]) + lines[1:], "mlir")


def schedule(tools: Tools) -> str:
    found = re.search(r"#lnbwd\.schedule<[^>]*>", tools.stage("lnbwd-select-schedule"))
    return fence(wrap(found.group()), "mlir")


def partial_sums(tools: Tools) -> str:
    """The two row programs, the first one's region left out: it is unchanged."""
    lines = dedent(cut(tools.stage("lnbwd-finalize-column-sums"), r"func\.func @"))
    result: list[str] = []
    region = 0
    inside = False
    for line in lines[1:-1]:
        if "lnbwd.rowwise @" in line:
            region += 1
            header = wrap_header(line)
            if region == 1:
                header[-1] += " ... }"
            result += header
            inside = region == 1
        elif inside:
            inside = line != "  }"
        elif line.strip() != "return":
            result += wrap(line)
    return fence(dedent(result), "mlir")


def shorten_spaces(text: str) -> str:
    """The text with one word for each memory space."""
    for name in ("global", "workgroup"):
        text = text.replace(f"#gpu.address_space<{name}>", f"#{name}")
    return text


def lane_level(tools: Tools) -> str:
    """The first kernel at the lane level, without its parameters."""
    stage = tools.stage("lnbwd-distribute-rows")
    place = re.search(r"^!place = .*$", stage, re.MULTILINE)
    if not place:
        raise Stop("the first place of lnbwd-distribute-rows has no name")
    lines = dedent(cut(shorten_spaces(stage), r"= lane\.place : !place$", r"gpu\.return"))
    return fence([place.group(), "", *(piece for line in lines[:-1] for piece in wrap(line))], "mlir")


def pipelined(tools: Tools) -> str:
    """What loads ahead in the same kernel, a turn of its loop."""
    stage = shorten_spaces(tools.stage("lnbwd-pipeline-rows"))
    loop = dedent(cut(stage, r"= lane\.for_rows "))
    shown = pick(loop[1:-1], {
        r"lane\.load_within ": 9, r"lane\.load_scalar_within ": 9, r"lane\.row ": 2,
        r"lane\.share_scalar ": 4, r"lane\.reduce ": 2, r"lane\.store ": 2, r"scf\.if ": 1,
        r"keep_order$": 9, r"lane\.yield ": 1, r"^  \} ": 2, r"scf\.yield ": 2,
    }, "//")
    result: list[str] = []
    for line in [re.sub(r" : .*", " : ... {", loop[0]), *shown, loop[-1]]:
        result += wrap(re.sub(r"((?:lane|scf)\.yield .*?) : .*", r"\1 : ...", line))
    return fence(result, "mlir")


def gpu_kernel(tools: Tools) -> str:
    """The kernel's head and the first lines of each kind in its row loop."""
    module = tools.opt(EXAMPLE, f"--lnbwd-gpu-pipeline=chip={CHIP}")
    aliases = {name: f"#gpu.address_space<{name}>" for name in ("global", "workgroup")}
    kernel = dedent(cut(shorten_spaces(module), rf"gpu\.func @{LAYER_NORM_BWD}\("))
    loop = cut("\n".join(kernel), r"= scf\.while ")
    shown = pick(loop[1:-1], {
        r"vector\.load ": 2, r"memref\.load ": 1, r"arith\.extf ": 2, r"arith\.subf ": 1,
        r"arith\.mulf .*vector": 2, r"arith\.addf %arg": 1, r"gpu\.subgroup_reduce ": 2,
        r"vector\.fma ": 2, r"arith\.truncf ": 1, r"vector\.store ": 1, r"scf\.yield ": 1,
    }, "//")
    result = [f"#{name} = {value}" for name, value in aliases.items()]
    result += wrap(kernel[0])
    result.append("  // ...")
    for line in [re.sub(r"\) -> \(.*", ") -> (...) {", loop[0]), *shown, loop[-1]]:
        result += wrap(re.sub(r"(scf\.yield .*?) : .*", r"\1 : ...", line))
    return fence(result + ["  // ...", "}"], "mlir")


def launches(tools: Tools) -> str:
    """The function that launches, without the casts of its buffers."""
    module = tools.opt(EXAMPLE, f"--lnbwd-gpu-pipeline=chip={CHIP}")
    function = dedent(cut(module, rf"func\.func @{LAYER_NORM_BWD}\("))
    shown = pick(function[1:-1], {
        r"lnbwd\.": 9, r"memref\.alloc\(": 9, r"gpu\.launch_func ": 9, r"memref\.dealloc": 9,
    }, "//")
    result = []
    for line in shown:
        line = re.sub(r" +args\(.*", " args(...)", line)
        for part in re.sub(r" (blocks in|threads in|args)", r"\n      \1", line).split("\n"):
            result += wrap(part)
    return fence(dedent(result), "mlir")


def plan_entry(entry: dict) -> list[str]:
    """An entry of a list of the plan, its parameters in lines of their own."""
    keys = ("name", "grid", "block", "dynamic_shared_bytes", "parameters")
    first = {key: entry[key] for key in keys[:-1] if key in entry}
    first |= {key: value for key, value in entry.items() if key not in keys}
    text = json.dumps(first)
    if "parameters" not in entry:
        return ["    " + text]
    parameters = ", ".join(json.dumps(value) for value in entry["parameters"])
    return [*wrap(f"    {text[:-1]},"), *wrap(f'     "parameters": [{parameters}]}}')]


def plan_lines(tools: Tools) -> dict[str, list[str]]:
    """What the code object says about its launch: the lines of each key."""
    tools.stages
    code = tools.kernel_file.read_bytes()
    begin = code.index(b'{"format":"lnbwd-plan"')
    plan = json.loads(code[begin:code.index(b"\0", begin)])
    texts = {}
    for key, value in plan.items():
        if not isinstance(value, list):
            texts[key] = wrap(f'  "{key}": {json.dumps(value)}')
            continue
        entries = [plan_entry(entry) for entry in value]
        for entry in entries[:-1]:
            entry[-1] += ","
        texts[key] = [f'  "{key}": [', *(line for entry in entries for line in entry), "  ]"]
    for lines in list(texts.values())[:-1]:
        lines[-1] += ","
    return texts


def launch_plan(tools: Tools) -> str:
    """Of the launch plan, what is launched."""
    texts = plan_lines(tools)
    shown = ("workgroup_counts", "workspace", "kernels")
    return fence(["{", "  ...", *(line for key in shown for line in texts[key]), "}"], "json")


def whole_plan(tools: Tools) -> str:
    """The launch plan of the example."""
    return fence(["{", *(line for lines in plan_lines(tools).values() for line in lines), "}"],
                 "json")


def assembly(tools: Tools) -> str:
    """The row loop of the machine code, the first lines of each kind."""
    lines = [line.split(";")[0].rstrip().expandtabs(8) for line in tools.stage("s").split("\n")]
    begin = lines.index(f"{LAYER_NORM_BWD}:")
    end = next(i for i in range(begin, len(lines)) if "s_endpgm" in lines[i])
    body = [line for line in lines[begin:end] if line and not re.match(r"\s+\.", line)]
    for start, line in enumerate(body):
        label = re.match(r"(\.\w+):", line)
        if not label:
            continue
        branches = [i for i in range(start, len(body))
                    if re.search(rf"s_c?branch\w*\s+{re.escape(label.group(1))}$", body[i])]
        if branches:
            break
    else:
        raise Stop("the machine code has no loop")
    loop = body[start:branches[-1] + 1]
    shown = pick(loop, {
        r"^\.": 1, r"v_and_b32|v_lshlrev_b32": 2, r"v_sub_f32": 1, r"v_pk_mul_f32": 1,
        r"v_pk_fma_f32": 1, r"global_load_dwordx4": 4, r"v_add_f32_dpp": 4,
        r"v_readlane_b32": 1, r"global_store_dwordx4": 2, r"s_cbranch": 1,
    }, ";")
    return fence([re.sub(r"\s+;", "        ;", line) for line in shown], "asm")


def stage_files(tools: Tools) -> str:
    tools.stages
    names = sorted(file.name for file in (tools.scratch / "stages").iterdir())
    return fence(names, "text")


def validation(tools: Tools) -> str:
    """The runner's table for the example on the simulator."""
    runner = tools.build / "bin" / "lnbwd-run"
    simulator = tools.build / "lib" / "liblnbwd-hip-sim.so"
    if not runner.exists() or not simulator.exists():
        raise Unavailable("the build has no lnbwd-run or no simulator")
    tools.stages
    result = tools.run(runner, tools.kernel_file.name, "--m", "64", "--device", "sim", "--verify")
    # Where the driver's library lies is of this machine alone.
    return fence(re.sub(r"\(\S*/(lib[^/\s]+)\)", r"(\1)", result.stdout.strip()), "text")


def chips(tools: Tools) -> str:
    """What docs/compiler.md shows of the chips."""
    def flag(value: bool) -> str:
        return "yes" if value else "no"

    columns = {
        "a product with it": lambda row: row["product"],
        "lanes of a wave": lambda row: row["waveSize"],
        "compute units": lambda row: row["computeUnits"],
        "shared memory of a workgroup: declared": lambda row: f"{row['sharedMemoryKiB']} KiB",
        "at launch": lambda row: f"{row['dynamicSharedMemoryKiB']} KiB",
        "float32 to bf16 in one instruction": lambda row: flag(row["hasBF16Pack"]),
        "bulk copies to shared memory": lambda row: flag(row["hasBulkCopy"]),
        "workgroups that can share a row": lambda row: row["clusterWorkgroups"],
    }
    lines = [f"| chip | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    for name, row in chip_lists.FACTS.items():
        lines.append(f"| `{name}` | {' | '.join(str(cell(row)) for cell in columns.values())} |")
    return "\n".join(lines) + "\n"


def chip_devices(tools: Tools) -> str:
    """The chips and how far each can be tried without the card."""
    lines = ["| chip | stands for | HIP device of the simulator | end-to-end tests |",
             "|---|---|---|---|"]
    simulated = list(chip_lists.SIMULATED)
    for name, row in chip_lists.FACTS.items():
        device = simulated.index(name) if name in simulated else "compiled only"
        tests = ("many cases" if row["tests"] == "many" else "a few") if name in simulated else ""
        lines.append(f"| `{name}` | {row['product']} | {device} | {tests} |")
    return "\n".join(lines) + "\n"


def clock_fields(tools: Tools) -> str:
    """The parameters of the model of time, with units, origins and the values of products."""
    description = json.loads((SOURCE / "lib" / "Chips" / "Chips.json").read_text())
    sets = description["clocks"]
    chips = generate_chips.resolve(description)

    def value(name: str, key: str) -> object:
        return (generate_chips.clock_values(description, name)
                | generate_chips.matrix_rates(chips[sets[name]["chip"]]))[key]

    products = [name for name, row in sets.items() if row["calibrated"]]
    lines = [f"| parameter | {' | '.join(products)} | unit | what it is | origin |",
             "|---" * (len(products) + 4) + "|"]
    for key, field in description["clockFields"].items():
        values = " | ".join(f"{value(name, key):g}" for name in products)
        lines.append(f"| `{key}` | {values} | {field['unit']} | {field['about']} | {field['origin']} |")
    return "\n".join(lines)


def chip_fields(tools: Tools) -> str:
    """The facts of a chip's row, with unit and origin."""
    description = json.loads((SOURCE / "lib" / "Chips" / "Chips.json").read_text())
    lines = ["| field | unit | what it is | origin | compiler | simulator |",
             "|---|---|---|---|---|---|"]
    for name, field in description["fields"].items():
        origin = field["origin"]
        if "product" in field:
            origin = " × ".join(f"`{factor}`" for factor in field["product"])
        labels = {"amd": "AMD", "nvidia": "NVIDIA"}
        vendors = ", ".join(labels[vendor] for vendor in field.get("vendors", ()))
        vendor = f" ({vendors})" if vendors else ""
        sides = (f"`{field[side]['member']}`" if side in field else ""
                 for side in ("compiler", "simulator"))
        lines.append(f"| `{name}`{vendor} | {field.get('unit', '')} | {field['about']} | {origin} | "
                     f"{' | '.join(sides)} |")
    return "\n".join(lines) + "\n"


def one_pass_limits(tools: Tools) -> str:
    """The largest row length, of multiples of 512, that the model runs whole."""
    dtypes = ("f16", "bf16", "f32")
    lengths = range(512, 32769, 512)
    functions = []
    for dtype in dtypes:
        for n in lengths:
            spec = KernelSpec(LAYER_NORM_BWD, n, dtype, "any", dtype, dtype)
            functions.append(spec.mlir().replace(f"@{spec.op}", f"@f_{dtype}_{n}", 1))
    limits: dict[tuple[int, ...], list[str]] = {}
    for chip in chip_lists.FACTS:
        output = tools.opt("-", "--lnbwd-lower-to-rowwise",
                           f"--lnbwd-split-two-pass=chip={chip}",
                           stdin="".join(functions))
        whole = dict.fromkeys(dtypes, 0)
        for part in output.split("func.func @f_")[1:]:
            dtype, n = re.match(r"(\w+)_(\d+)\(", part).groups()
            if f"@{LAYER_NORM_BWD}_columns" not in part:
                whole[dtype] = max(whole[dtype], int(n))
        limits.setdefault(tuple(whole.values()), []).append(f"`{chip}`")
    lines = ["| chips | f16 | bf16 | f32 |", "|---|---|---|---|"]
    for values, names in limits.items():
        shown = (f"{value} or more" if value == lengths[-1] else str(value) for value in values)
        lines.append(f"| {', '.join(names)} | {' | '.join(shown)} |")
    return "\n".join(lines) + "\n"


def pipeline_passes(tools: Tools) -> str:
    """What --lnbwd-pipeline runs, for one chip of each backend."""
    text = []
    for chip in (CHIP, chip_lists.GPU):
        dump = tools.run(tools.opt_program, EXAMPLE, f"--lnbwd-pipeline=chip={chip}",
                         "--dump-pass-pipeline", "-o", "/dev/null").stderr
        passes = []
        for line in dump.split("\n"):
            found = re.match(r"( +)([\w.-]+)(\{.*\})?(\()?", line)
            if found:
                passes.append(found.group(1)[2:] + found.group(2) +
                              (" (" if found.group(4) else ""))
            elif line.strip() in (")", "),"):
                passes.append(line.rstrip(",")[2:])
        while passes and not passes[-1]:
            passes.pop()
        if not passes:
            raise Stop("--dump-pass-pipeline printed nothing")
        text.append(f"For `{chip}`:\n\n" + fence(passes, "text"))
    return "\n".join(text)


def pipeline_options(tools: Tools) -> str:
    """The options of the pipelines, as --help-hidden prints them."""
    lines = tools.opt("--help-hidden").split("\n")
    result = ["| option | meaning |", "|---|---|"]
    begin = next(i for i, line in enumerate(lines) if "--lnbwd-pipeline " in line)
    for line in lines[begin + 1:]:
        found = re.match(r" {8}--([\w-]+)=<(\w+)> +- (.*)", line)
        if not found:
            break
        result.append(f"| `{found.group(1)}` | {found.group(3).replace('|', chr(92) + '|')} |")
    return "\n".join(result) + "\n"



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
    text = tools.opt("-", "--lnbwd-lower-to-rowwise=textbook=true", "--canonicalize", "--cse",
                     stdin=FORWARD)
    return fence(body_lines(text), "mlir")


def derivation_step(name: str, tools: Tools) -> str:
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
    text = tools.opt("-", "--lnbwd-differentiate=annotate=true", stdin=FORWARD)
    lines = [re.sub(r' ?\{lnbwd\.adjoint = "[\w.]+"\}', "", line) for line in body_lines(text)]
    first = next(i for i, line in enumerate(lines) if "arith.mulf %dy" in line)
    return fence(dedent(lines[:first]), "mlir")


def derivation_result(tools: Tools) -> str:
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
    %y = vector.broadcast %s : f32 to $""", "with `lnbwd.detach` a constant"),
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


def checker_kernels(_: Tools) -> str:
    """The kernels on which the checker is tested, by class."""
    return fault_kernels.table()


def checker_hazards(_: Tools) -> str:
    """The pairs of instructions on which the check of hazards is tested, by test."""
    return fault_kernels.hazard_table()


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
        return sum(g * h * d for g, h, d in zip(gamma, normalise(row)[0], adjoint))

    def moved(row, j, by):
        return row[:j] + [row[j] + by] + row[j + 1:]

    xhat, rstd = zip(*(normalise(row) for row in x))
    dgamma = [sum(dy[i][j] * xhat[i][j] for i in range(rows)) for j in range(n)]
    dbeta = [sum(dy[i][j] for i in range(rows)) for j in range(n)]
    squares = {name: 0.0 for name in ("above", "columns", "diagonal")}
    total = 0.0
    for i in range(rows):
        wdy = [g * d for g, d in zip(gamma, dy[i])]
        c1 = sum(w * h for w, h in zip(wdy, xhat[i])) / n
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


def report(tools: Tools) -> str:
    text = tools.opt(EXAMPLE, f"--lnbwd-pipeline=chip={CHIP}", "--emit=report", "--rows=16384")
    return fence(text.rstrip(), "text")


PRODUCT = """func.func @matmul(%a: memref<?x768xbf16>, %b: memref<2304x768xbf16>, %c: memref<?x2304xf32>) {
  lnbwd.product @matmul lhs(%a : memref<?x768xbf16>) rhs(%b : memref<2304x768xbf16>)
      outs(%c : memref<?x2304xf32>) attributes {rhs_transposed}
  return
}
"""


def report_product(tools: Tools) -> str:
    text = tools.opt("-", f"--lnbwd-pipeline=chip={CHIP}", "--emit=report", "--rows=4096",
                     stdin=PRODUCT)
    return fence(text[:text.index("\nall kernels")].rstrip(), "text")


TEXTS = {
    "derivation-forward": derivation_forward,
    "derivation-constants": derivation_constants,
    "derivation-result": derivation_result,
    "operations": operations,
    "wrong-formulas": wrong_formulas,
    "checker-kernels": checker_kernels,
    "checker-hazards": checker_hazards,
    **{f"derivation-{step}": functools.partial(derivation_step, step) for step in STEPS},
    "named-op": named_op,
    "row-program": row_program,
    "schedule": schedule,
    "partial-sums": partial_sums,
    "lane-level": lane_level,
    "pipelined": pipelined,
    "gpu-kernel": gpu_kernel,
    "launches": launches,
    "launch-plan": launch_plan,
    "whole-plan": whole_plan,
    "assembly": assembly,
    "stage-files": stage_files,
    "validation": validation,
    "chips": chips,
    "chip-devices": chip_devices,
    "chip-fields": chip_fields,
    "clock-fields": clock_fields,
    "one-pass-limits": one_pass_limits,
    "report": report,
    "report-product": report_product,
}


# Pages that are generated as a whole.


def generated_page(title: str, source: str, body: str) -> str:
    body = re.sub(r"^<!-- Autogenerated by mlir-tblgen.*?-->\n", "", body).replace("[TOC]\n\n", "")
    lines = [line.rstrip() for line in body.strip().split("\n")]
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(lines))
    return (f"<!-- Generated by scripts/update-docs.sh from {source}; do not edit. -->\n\n"
            f"{title}{text}\n")


def dialect_page(tools: Tools) -> str:
    file = "include/lnbwd/Dialect/LNBwd/IR/LNBwdReference.td"
    return generated_page("", file.rsplit("/", 1)[0],
                          tools.tblgen(["-gen-dialect-doc", "-dialect=lnbwd"], file))


def lane_dialect_page(tools: Tools) -> str:
    file = "include/lnbwd/Dialect/Lane/IR/LaneOps.td"
    return generated_page("", file.rsplit("/", 1)[0],
                          tools.tblgen(["-gen-dialect-doc", "-dialect=lane"], file))


# The files that describe passes: heading, name of the registration, file.
PASS_FILES = (
    ("Row programs", "LNBwd", "include/lnbwd/Transforms/Passes.td"),
    ("Products of matrices", "LNBwdProduct", "include/lnbwd/Transforms/ProductPasses.td"),
    ("From level to level", "LNBwdConversion", "include/lnbwd/Conversion/Passes.td"),
    ("The lane level", "LNBwdLane", "include/lnbwd/Transforms/Lane/Passes.td"),
    ("The launch plan", "LNBwdLaunchPlan", "include/lnbwd/LaunchPlan/Passes.td"),
    ("Code emission", "LNBwdTarget", "include/lnbwd/Target/Passes.td"),
)


def passes_page(tools: Tools) -> str:
    title = ("# Passes and pipelines\n\n"
             "`lnbwd-opt` has all passes of upstream's `mlir-opt` and the ones below.\n\n"
             "## Pipelines\n\n"
             "`--lnbwd-pipeline=\"chip=...\"` goes from named operations to LLVM's dialect, ready "
             "for `--emit`;\n`--lnbwd-gpu-pipeline` ends before the first pass that depends on a "
             "code generator, with `lnbwd-attach-launch-plan`.\nBoth take the same options:\n\n" +
             pipeline_options(tools) + "\nThe passes that `--lnbwd-pipeline` runs, in order:\n\n" +
             pipeline_passes(tools) + "\n")
    parts = []
    for heading, name, file in PASS_FILES:
        text = tools.tblgen(["-gen-pass-doc", "-name", name], file)
        text = re.sub(r"^<!-- Autogenerated by mlir-tblgen.*?-->\n", "", text)
        parts.append(f"## {heading}\n\n{text}")
    source = ", ".join(file for _, _, file in PASS_FILES)
    return generated_page(title, f"{source} and lnbwd-opt", "\n".join(parts))


PAGES = {
    "docs/reference/dialect.md": dialect_page,
    "docs/reference/lane-dialect.md": lane_dialect_page,
    "docs/reference/passes.md": passes_page,
}


def fill(page: pathlib.Path, tools: Tools, left_alone: set[str]) -> str:
    """The page with all its generated texts anew."""

    def replace(match: re.Match) -> str:
        head, name, old, tail = match.groups()
        if name not in TEXTS:
            raise Stop(f"{page}: unknown text '{name}', expected one of: {', '.join(TEXTS)}")
        try:
            return head + TEXTS[name](tools) + tail
        except Unavailable as reason:
            left_alone.add(f"'{name}' was left as it is: {reason}")
            return head + old + tail

    return MARKER.sub(replace, page.read_text())


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/update-docs.sh",
                                     description=__doc__.splitlines()[0])
    for name in ("--build", "--llvm"):  # given by update-docs.sh
        parser.add_argument(name, type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--check", action="store_true",
                        help="change nothing; exit with 1 if anything is stale")
    options = parser.parse_args()

    stale = []
    left_alone: set[str] = set()
    with tempfile.TemporaryDirectory() as scratch:
        tools = Tools(options.build.resolve(), options.llvm, pathlib.Path(scratch))
        wanted = {SOURCE / name: page(tools) for name, page in PAGES.items()}
        for page in [SOURCE / "README.md", *sorted((SOURCE / "docs").rglob("*.md"))]:
            if page not in wanted and MARKER.search(page.read_text()):
                wanted[page] = fill(page, tools, left_alone)
    for page, text in wanted.items():
        old = page.read_text() if page.exists() else ""
        if text == old:
            continue
        name = str(page.relative_to(SOURCE))
        stale.append(name)
        if options.check:
            print("".join(list(difflib.unified_diff(
                old.splitlines(True), text.splitlines(True), name, f"{name} as generated"))[:60]))
        else:
            page.parent.mkdir(parents=True, exist_ok=True)
            page.write_text(text)
            print(f"{name} was rewritten")
    for note in sorted(left_alone):
        print(f"note: {note}", file=sys.stderr)
    if options.check and stale:
        print(f"error: stale: {', '.join(stale)}; run scripts/update-docs.sh", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Stop as problem:
        print(f"error: {problem}", file=sys.stderr)
        sys.exit(2)
