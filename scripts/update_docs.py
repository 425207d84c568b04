# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Generates what the documentation quotes; run through scripts/update-docs.sh.

Each generated text has a name and a function, here or in a file doc_*.py beside. A page that
wants it has

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
import json
import pathlib
import re
import sys
import tempfile

import doc_derivation
import doc_images
import doc_stages
from doc_tools import (
    CHIP,
    EXAMPLE,
    LAYER_NORM_BWD,
    SOURCE,
    Stop,
    Tools,
    Unavailable,
    chip_lists,
    fence,
)
from generate_chips import resolve
from generate_clocks import clock_values, matrix_rates
from lnbwd.core.compile.spec import norm_source

MARKER = re.compile(r"(<!-- generated: ([\w-]+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)


# The generated texts that no file beside this one has.


def validation(tools: Tools) -> str:
    """The runner's table for the example on the simulator."""
    runner = tools.build / "bin" / "lnbwd-run"
    simulator = tools.build / "lib" / "liblnbwd-hip-sim.so"
    if not runner.exists() or not simulator.exists():
        raise Unavailable("the build has no lnbwd-run or no simulator")
    result = tools.run(runner, tools.kernel_file.name, "--m", "64", "--device", "sim", "--verify")
    # Where the driver's library lies is of this machine alone.
    return fence(re.sub(r"\(\S*/(lib[^/\s]+)\)", r"(\1)", result.stdout.strip()), "text")


def chips(tools: Tools) -> str:
    """The chips, what programs have to fit, and how far each can be tried without the card."""
    lines = ["| chip | product | wave | compute units | shared memory, KiB: static, dynamic | "
             "cluster | simulator device | tests |",
             "|---|---|---|---|---|---|---|---|"]
    simulated = list(chip_lists.SIMULATED)
    for name, row in chip_lists.FACTS.items():
        device = simulated.index(name) if name in simulated else "none"
        tests = row["tests"] if name in simulated else "compiled"
        memory = f"{row['sharedMemoryKiB']}, {row['dynamicSharedMemoryKiB']}"
        lines.append(f"| `{name}` | {row['product']} | {row['waveSize']} | {row['computeUnits']} | "
                     f"{memory} | {row['clusterWorkgroups']} | {device} | {tests} |")
    return "\n".join(lines) + "\n"


def clock_fields(tools: Tools) -> str:
    """The parameters of the timing model, with units and the values of products, those after the
    first where they differ."""
    chips = resolve(json.loads((SOURCE / "lib" / "Chips" / "Chips.json").read_text()))
    clocks = json.loads((SOURCE / "simulator" / "lib" / "Timing" / "Clocks.json").read_text())
    sets = clocks["sets"]

    def value(name: str, key: str) -> object:
        return (clock_values(clocks, name)
                | matrix_rates(chips[sets[name]["chip"]]))[key]

    products = [name for name, row in sets.items() if row["calibrated"]]
    lines = [f"| parameter | {'; '.join(products)} | unit | what it is |", "|---|---|---|---|"]
    for key, field in clocks["fields"].items():
        values = dict.fromkeys(f"{value(name, key):g}" for name in products)
        lines.append(f"| `{key}` | {'; '.join(values)} | {field['unit']} | {field['about']} |")
    return "\n".join(lines) + "\n"


def chip_fields(tools: Tools) -> str:
    """The facts of a chip's row, with their units."""
    description = json.loads((SOURCE / "lib" / "Chips" / "Chips.json").read_text())
    lines = ["| field | unit | what it is |", "|---|---|---|"]
    labels = {"amd": "AMD", "nvidia": "NVIDIA"}
    for name, field in description["fields"].items():
        about = field["about"]
        if "product" in field:
            factors = " × ".join(f"`{factor}`" for factor in field["product"])
            about = f"{about.rstrip('.')}: {factors}"
        vendors = ", ".join(labels[vendor] for vendor in field.get("vendors", ()))
        vendor = f" ({vendors})" if vendors else ""
        lines.append(f"| `{name}`{vendor} | {field.get('unit', '')} | {about} |")
    return "\n".join(lines) + "\n"


def one_pass_limits(tools: Tools) -> str:
    """The largest row length, of multiples of 512, that the model runs whole."""
    dtypes = ("f16", "bf16", "f32")
    step, stride, longest = 512, 4096, 32768

    def longest_whole(chip: str, tried: dict[str, range]) -> dict[str, int]:
        functions = []
        for dtype, lengths in tried.items():
            for n in lengths:
                source = norm_source(LAYER_NORM_BWD, n=n, dtype=dtype)
                functions.append(
                    source.mlir.replace(f"@{LAYER_NORM_BWD}", f"@f_{dtype}_{n}", 1))
        output = tools.opt("-", f"--lnbwd-set-chip=chip={chip}", "--lnbwd-lower-to-rowwise",
                           "--lnbwd-split-two-pass", stdin="".join(functions))
        whole = dict.fromkeys(dtypes, 0)
        for part in output.split("func.func @f_")[1:]:
            dtype, n = re.match(r"(\w+)_(\d+)\(", part).groups()
            if f"@{LAYER_NORM_BWD}_columns" not in part:
                whole[dtype] = max(whole[dtype], int(n))
        return whole

    limits: dict[tuple[int, ...], list[str]] = {}
    for chip in chip_lists.FACTS:
        # A few lengths first, then those between the last that was whole and the next.
        whole = longest_whole(chip, dict.fromkeys(dtypes, range(stride, longest + 1, stride)))
        whole = longest_whole(chip, {
            dtype: range(n or step, min(n + stride, longest + 1), step)
            for dtype, n in whole.items()})
        limits.setdefault(tuple(whole.values()), []).append(f"`{chip}`")
    lines = ["| chips | f16 | bf16 | f32 |", "|---|---|---|---|"]
    for values, names in limits.items():
        shown = (f"{value} or more" if value == longest else str(value) for value in values)
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


def accuracy(name: str) -> str:
    """A table of what scripts/accuracy.py measured: of each case and output PyTorch's error and
    ours, on the first chip, or, where the cases are the outputs, on all chips."""
    table = json.loads((SOURCE / "docs/results/accuracy.json").read_text())["tables"][name]
    cells = {tuple(key.split(" | ")): errors for key, errors in table.items()}
    if name == "sums":
        columns = list(next(iter(cells.values())))
        titles = ["output", "PyTorch", *columns[1:]]
        rows = {key[0]: [errors[who] for who in columns] for key, errors in cells.items()}
    else:
        outputs = dict.fromkeys(key[-1] for key in cells)
        ours = list(next(iter(cells.values())))[1]
        titles = [*(["type", "x"] if name == "gradients" else ["x"]),
                  *(f"{output}: {who}" for output in outputs for who in ("PyTorch", "ours"))]
        rows = {" | ".join(case): [cells[(*case, output)][who] for output in outputs
                                   for who in ("torch", ours)]
                for case in dict.fromkeys(key[:-1] for key in cells)}
    lines = [f"| {' | '.join(titles)} |", "|---" * len(titles) + "|"]
    lines += [f"| {key} | {' | '.join(f'{figure:.1e}' for figure in figures)} |"
              for key, figures in rows.items()]
    return "\n".join(lines) + "\n"


def functions() -> str:
    """The errors of functions, which lnbwd-math-tests measured, and the bounds that it checks."""
    lines = ["| function | AMD | NVIDIA | bound | results below 2^-126 |", "|---|---|---|---|---|"]
    for row in json.loads((SOURCE / "docs/results/functions.json").read_text()):
        lines.append(f"| {row['function']} | {row['AMD']:.2f} | {row['NVIDIA']:.2f} | "
                     f"{row['bound']:g} | {row['small']} |")
    return "\n".join(lines) + "\n"


def report(tools: Tools) -> str:
    """The report on the example."""
    text = tools.opt(EXAMPLE, f"--lnbwd-pipeline=chip={CHIP}", "--emit=report", "--rows=16384")
    return fence(text.rstrip(), "text")


TEXTS = {
    "named-op": doc_stages.named_op,
    "row-program": doc_stages.row_program,
    "schedule": doc_stages.schedule,
    "partial-sums": doc_stages.partial_sums,
    "lane-level": doc_stages.lane_level,
    "whole-plan": doc_stages.whole_plan,
    "assembly": doc_stages.assembly,
    "validation": validation,
    "report": report,
}


# Pages that are generated as a whole.


def generated_page(title: str, source: str, body: str) -> str:
    """A page that is made as a whole: where it is from, and its text."""
    body = re.sub(r"^<!-- Autogenerated by mlir-tblgen.*?-->\n", "", body).replace("[TOC]\n\n", "")
    lines = [line.rstrip() for line in body.strip().split("\n")]
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(lines))
    return (f"<!-- Generated by scripts/update-docs.sh from {source}; do not edit. -->\n\n"
            f"{title}{text}\n")


def dialect_page(tools: Tools) -> str:
    """The reference of the dialect of row programs."""
    file = "include/lnbwd/Dialect/LNBwd/IR/LNBwdOps.td"
    return generated_page("", file.rsplit("/", 1)[0],
                          tools.tblgen(["-gen-dialect-doc", "-dialect=lnbwd"], file))


def lane_dialect_page(tools: Tools) -> str:
    """The reference of the lane level."""
    file = "include/lnbwd/Dialect/Lane/IR/LaneOps.td"
    text = tools.tblgen(["-gen-dialect-doc", "-dialect=lane"], file)
    # The enums at its end are upstream's.
    return generated_page("", file.rsplit("/", 1)[0], text.partition("## Enums")[0])


# The files that describe passes: heading, name of the registration, file.
PASS_FILES = (
    ("Row programs", "LNBwd", "include/lnbwd/Transforms/Passes.td"),
    ("From level to level", "LNBwdConversion", "include/lnbwd/Conversion/Passes.td"),
    ("The lane level", "LNBwdLane", "include/lnbwd/Transforms/Lane/Passes.td"),
    ("The launch plan", "LNBwdLaunchPlan", "include/lnbwd/LaunchPlan/Passes.td"),
)


def passes_page(tools: Tools) -> str:
    """The reference of pipelines and passes."""
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


def chips_page(tools: Tools) -> str:
    """The chips, and the facts that each has."""
    text = f"""# Chips

`lib/Chips/Chips.json` describes the chips; no other source names one.
[adding.md](../adding.md#a-chip) adds a chip.

{chips(tools)}
The end-to-end tests run *many* cases on some simulated chips and *few* on others with similar
instructions. Kernels for other chips are *compiled*; those for `{chip_lists.GPU}` also run on
cards. LLVM has the registers, shared memory and waves of CDNA5; its bandwidth and clock are from
announcements, its compute units, bus and L2 from AMD's emulator alone.

## Facts

A family has the facts that its chips share; a chip's row has the others. `Chips.json` has the
source of each value.

{chip_fields(tools)}
## Rows in one pass

The longest rows, in multiples of 512, for which one pass over the rows gives dx and the column sums
of LayerNorm backward ([lowering.md](../lowering.md#long-rows)):

{one_pass_limits(tools)}"""
    return generated_page("", "lib/Chips/Chips.json", text)


def timing_page(tools: Tools) -> str:
    """The parameters of the simulator's timing model."""
    text = f"""# Parameters of the timing model

`--time-options` replaces any of them for a run ([timing
model](../../simulator/docs/simulator.md#parameters)). A second value is that of the second
product, where it differs.

{clock_fields(tools)}"""
    return generated_page("", "simulator/lib/Timing/Clocks.json", text)


def accuracy_page(_: Tools) -> str:
    """The errors that scripts/accuracy.py measured."""
    text = f"""# Measured errors

`scripts/accuracy.py` measures errors against float64. Each is the worst of 5 seeds. A test measures
a sample and fails where ours are worse than PyTorch's.

## Gradients

256 rows of 1024: root mean square error over the root mean square of the true gradients. PyTorch
runs on the CPU, ours on the simulated {CHIP}. PyTorch uses the statistics that its forward pass
saved, in 16 bits for 16-bit types; ours use the exact ones, rounded to float32. A test checks that
ours are no worse with PyTorch's statistics. Large mean: 1e4 (f32), 300 (f16), 30 (bf16), standard
deviation 1. Heavy tails: Student's t with two degrees of freedom. Tiny variance: x within a few
roundings of 1.

{accuracy("gradients")}
## Column sums of many rows

f32, 65536 rows of 768, standard normal: largest error over the largest true value. Ours are
computed in numpy, in the order of each chip.

{accuracy("sums")}
## Forward pass

f32, 2048 rows of 768: root mean square error over the root mean square of the true values.

{accuracy("forward")}
## Functions

Largest errors over all 2^32 inputs, in units in the last place, if every instruction has the
largest error that its vendor allows ([numerics.md](../numerics.md#functions)).

{functions()}"""
    return generated_page("", "docs/results", text)


def row_operations_page(tools: Tools) -> str:
    """The operations of row programs: derivatives, and chips that have them."""
    text = f"""# Operations of row programs

Derivatives by `--lnbwd-differentiate`, and backends that compile the operation, on float32 rows for
{CHIP} and {chip_lists.GPU}. At a kink any number between the slopes of the two sides is valid; the
table has PyTorch's choices.

{doc_derivation.operations(tools)}
## LayerNorm's gradient

As `--lnbwd-differentiate` derives it:

{doc_derivation.derivation_result(tools)}"""
    return generated_page("", "lnbwd-opt", text)


def faults_page(_: Tools) -> str:
    """The published faults that the simulator's checks are tested with."""
    file = "simulator/unittests/Inputs/published-faults.json"
    lines = ["| fault | where | error | check | tested |", "|---|---|---|---|---|"]
    for row in json.loads((SOURCE / file).read_text()):
        name = f"[{row['fault']}]({row['url']})" if "url" in row else row["fault"]
        tested = "yes" if row.get("tested", True) else "no"
        lines.append(f"| {name} | {row['where']} | {row['error']} | {row['check']} | {tested} |")
    table = "\n".join(lines)
    text = f"""# Published faults

Faults of shipped code, and the [check](../../simulator/docs/checker.md) that reports them.
`always` needs no check. `CheckerEscapeTest` runs the tested ones, broken and fixed; the checks
report no fixed code.

{table}"""
    return generated_page("", file, text)


PAGES = {
    "docs/reference/accuracy.md": accuracy_page,
    "docs/reference/chips.md": chips_page,
    "docs/reference/published-faults.md": faults_page,
    "docs/reference/row-operations.md": row_operations_page,
    "docs/reference/timing-parameters.md": timing_page,
    "docs/reference/dialect.md": dialect_page,
    "docs/reference/lane-dialect.md": lane_dialect_page,
    "docs/reference/passes.md": passes_page,
    "docs/images/report.svg": doc_images.report_image,
}

# Made where it is not there: the timing model's caches depend on a process's addresses, so that two
# runs may differ by a little.
TIMELINE = SOURCE / "simulator" / "docs" / "images" / "timeline.svg"


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
    """The command."""
    parser = argparse.ArgumentParser(prog="scripts/update-docs.sh",
                                     description=__doc__.splitlines()[0])
    for name in ("--build", "--llvm"):  # given by update-docs.sh
        parser.add_argument(name, type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--check", action="store_true",
                        help="change nothing; exit with 1 if anything is stale")
    parser.add_argument("pages", nargs="*", metavar="PAGE", help="these alone, as docs/math.md")
    options = parser.parse_args()
    others = [SOURCE / "README.md", *sorted((SOURCE / "docs").rglob("*.md")),
              *sorted((SOURCE / "simulator" / "docs").rglob("*.md"))]
    only = [SOURCE / name for name in options.pages] or [
        *(SOURCE / name for name in PAGES), *others, TIMELINE]
    if missing := [str(page) for page in only if options.pages and not page.exists()]:
        parser.error(f"expected pages of the repository, got {', '.join(missing)}")

    stale = []
    left_alone: set[str] = set()
    with tempfile.TemporaryDirectory() as scratch:
        tools = Tools(options.build.resolve(), options.llvm, pathlib.Path(scratch))
        wanted = {SOURCE / name: page(tools) for name, page in PAGES.items()
                  if SOURCE / name in only}
        if TIMELINE in only and TIMELINE.parent.exists() and not TIMELINE.exists():
            wanted[TIMELINE] = doc_images.timeline_image(tools)
        for page in others:
            if page in only and page not in wanted and MARKER.search(page.read_text()):
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
