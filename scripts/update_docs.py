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
from collections.abc import Callable

import doc_derivation
import doc_images
import doc_stages
from doc_tools import CHIP, EXAMPLE, LAYER_NORM_BWD, SOURCE, Stop, Tools, chip_lists, fence, table
from generate_chips import resolve
from generate_clocks import clock_values, matrix_rates
from lnbwd.core.compile.spec import norm_source

MARKER = re.compile(r"(<!-- generated: ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


# The generated texts that no file beside this one has.


def validation(tools: Tools) -> str:
    """The runner's table for the example on the simulator."""
    result = tools.run(tools.build / "bin" / "lnbwd-run", tools.kernel_file.name, "--m", "64",
                       "--device", "sim", "--verify")
    # Where the driver's library lies is of this machine alone.
    return fence(re.sub(r"\(\S*/(lib[^/\s]+)\)", r"(\1)", result.stdout.strip()), "text")


def chips(tools: Tools) -> str:
    """The chips, what programs have to fit, and how far each can be tried without the card."""
    simulated = list(chip_lists.SIMULATED)
    return table("chip | product | wave | compute units | shared memory, KiB: static, dynamic | "
                 "cluster | simulator device | tests",
                 ((f"`{name}`", row["product"], row["waveSize"], row["computeUnits"],
                   f"{row['sharedMemoryKiB']}, {row['dynamicSharedMemoryKiB']}",
                   row["clusterWorkgroups"], *(
                       (simulated.index(name), row["tests"]) if name in simulated
                       else ("none", "compiled"))) for name, row in chip_lists.FACTS.items()))


def clock_fields(tools: Tools) -> str:
    """The parameters of the timing model, with units and the values of products, those after the
    first where they differ."""
    chips = resolve(json.loads((SOURCE / "lib" / "Chips" / "Chips.json").read_text()))
    clocks = json.loads((SOURCE / "simulator" / "lib" / "Timing" / "Clocks.json").read_text())
    sets = clocks["sets"]

    def value(name: str, key: str) -> object:
        return (clock_values(clocks, name) | matrix_rates(chips[sets[name]["chip"]]))[key]

    products = [name for name, row in sets.items() if row["calibrated"]]
    return table(f"parameter | {'; '.join(products)} | unit | what it is", (
        (f"`{key}`", "; ".join(dict.fromkeys(f"{value(name, key):g}" for name in products)),
         field["unit"], field["about"]) for key, field in clocks["fields"].items()))


def chip_fields(tools: Tools) -> str:
    """The facts of a chip's row, with their units."""
    description = json.loads((SOURCE / "lib" / "Chips" / "Chips.json").read_text())
    rows = []
    labels = {"amd": "AMD", "nvidia": "NVIDIA"}
    for name, field in description["fields"].items():
        about = field["about"]
        if "product" in field:
            factors = " × ".join(f"`{factor}`" for factor in field["product"])
            about = f"{about.rstrip('.')}: {factors}"
        vendors = ", ".join(labels[vendor] for vendor in field.get("vendors", ()))
        vendor = f" ({vendors})" if vendors else ""
        rows.append((f"`{name}`{vendor}", field.get("unit", ""), about))
    return table("field | unit | what it is", rows)


def one_pass_limits(tools: Tools) -> str:
    """The largest row length, of multiples of 512, that the model runs whole."""
    dtypes = ("f16", "bf16", "f32")
    step, stride, longest = 512, 4096, 32768

    def longest_whole(chip: str, tried: dict[str, range]) -> dict[str, int]:
        functions = []
        for dtype, lengths in tried.items():
            for n in lengths:
                source = norm_source(LAYER_NORM_BWD, n=n, dtype=dtype)
                functions.append(source.mlir.replace(f"@{LAYER_NORM_BWD}", f"@f_{dtype}_{n}", 1))
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
    return table(f"chips | {' | '.join(dtypes)}", (
        (", ".join(names), *(f"{value} or more" if value == longest else value for value in values))
        for values, names in limits.items()))


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
    rows = []
    begin = next(i for i, line in enumerate(lines) if "--lnbwd-pipeline " in line)
    for line in lines[begin + 1:]:
        found = re.match(r" {8}--([\w-]+)=<(\w+)> +- (.*)", line)
        if not found:
            break
        rows.append((f"`{found.group(1)}`", found.group(3).replace("|", "\\|")))
    return table("option | meaning", rows)


def cells_of(name: str) -> dict[tuple[str, ...], dict[str, float]]:
    """A table of what scripts/accuracy.py measured: the errors of each case and output."""
    tables = json.loads((SOURCE / "docs/results/accuracy.json").read_text())["tables"]
    return {tuple(key.split(" | ")): errors for key, errors in tables[name].items()}


def errors_of_cases(name: str, *titles: str) -> str:
    """Of each case PyTorch's error and ours, on the first chip, for each output."""
    cells = cells_of(name)
    outputs = dict.fromkeys(key[-1] for key in cells)
    who = [*next(iter(cells.values()))][:2]
    columns = (f"{output}: {one}" for output in outputs for one in ("PyTorch", "ours"))
    return table(" | ".join((*titles, *columns)), (
        (*case, *(f"{cells[(*case, output)][one]:.1e}" for output in outputs for one in who))
        for case in dict.fromkeys(key[:-1] for key in cells)))


def errors_of_sums(_: Tools) -> str:
    """Of each column sum PyTorch's error and ours on all chips."""
    cells = cells_of("sums")
    chips = [*next(iter(cells.values()))][1:]
    return table(f"output | PyTorch | {' | '.join(chips)}", (
        (output, *(f"{error:.1e}" for error in errors.values()))
        for (output,), errors in cells.items()))


def functions(_: Tools) -> str:
    """The errors of functions, which lnbwd-math-tests measured, and the bounds that it checks."""
    return table("function | AMD | NVIDIA | bound | results below 2^-126", (
        (row["function"], f"{row['AMD']:.2f}", f"{row['NVIDIA']:.2f}", f"{row['bound']:g}",
         row["small"])
        for row in json.loads((SOURCE / "docs/results/functions.json").read_text())))


def faults(_: Tools) -> str:
    """The published faults that the simulator's checks are tested with."""
    file = SOURCE / "simulator/unittests/Inputs/published-faults.json"
    return table("fault | where | error | check | tested", (
        (f"[{row['fault']}]({row['url']})" if "url" in row else row["fault"], row["where"],
         row["error"], row["check"], "yes" if row.get("tested", True) else "no")
        for row in json.loads(file.read_text())))


def report(tools: Tools) -> str:
    """The report on the example."""
    text = tools.opt(EXAMPLE, f"--lnbwd-pipeline=chip={CHIP}", "--emit=report", "--rows=16384")
    return fence(text.rstrip(), "text")


def reference(generator: list[str], file: str, end: str = "\0") -> Callable[[Tools], str]:
    """The function that has mlir-tblgen make the reference of a file, as far as ``end``."""
    def make(tools: Tools) -> str:
        text = re.sub(r"^<!-- Autogenerated by mlir-tblgen.*?-->\n", "",
                      tools.tblgen(generator, f"include/lnbwd/{file}")).replace("[TOC]\n\n", "")
        lines = [line.rstrip() for line in text.partition(end)[0].strip().split("\n")]
        return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)) + "\n"

    return make


TEXTS: dict[str, Callable[[Tools], str]] = {
    "dialect": reference(["-gen-dialect-doc", "-dialect=lnbwd"], "Dialect/LNBwd/IR/LNBwdOps.td"),
    # The enums at its end are upstream's.
    "lane-dialect": reference(["-gen-dialect-doc", "-dialect=lane"], "Dialect/Lane/IR/LaneOps.td",
                              end="## Enums"),
    **{f"passes-{name}": reference(["-gen-pass-doc", "-name", name], file) for name, file in (
        ("LNBwd", "Transforms/Passes.td"), ("LNBwdConversion", "Conversion/Passes.td"),
        ("LNBwdLane", "Transforms/Lane/Passes.td"), ("LNBwdLaunchPlan", "LaunchPlan/Passes.td"))},
    "pipeline-options": pipeline_options,
    "pipeline-passes": pipeline_passes,
    "named-op": doc_stages.named_op,
    "row-program": doc_stages.row_program,
    "schedule": doc_stages.schedule,
    "partial-sums": doc_stages.partial_sums,
    "lane-level": doc_stages.lane_level,
    "whole-plan": doc_stages.whole_plan,
    "assembly": doc_stages.assembly,
    "validation": validation,
    "report": report,
    "chips": chips,
    "chip-fields": chip_fields,
    "one-pass-limits": one_pass_limits,
    "clock-fields": clock_fields,
    "errors-of-gradients": lambda _: errors_of_cases("gradients", "type", "x"),
    "errors-of-sums": errors_of_sums,
    "errors-of-forward": lambda _: errors_of_cases("forward", "x"),
    "errors-of-functions": functions,
    "operations": doc_derivation.operations,
    "derivation": doc_derivation.derivation_result,
    "published-faults": faults,
}


REPORT = SOURCE / "docs" / "images" / "report.svg"
# Made where it is not there: the timing model's caches depend on a process's addresses, so that two
# runs may differ by a little.
TIMELINE = SOURCE / "simulator" / "docs" / "images" / "timeline.svg"


def fill(page: pathlib.Path, tools: Tools) -> str:
    """The page with all its generated texts anew."""

    def replace(match: re.Match) -> str:
        head, name, tail = match.groups()
        if name not in TEXTS:
            raise Stop(f"{page}: unknown text '{name}', expected one of: {', '.join(TEXTS)}")
        return head + TEXTS[name](tools) + tail

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
    pages = [SOURCE / "README.md", *sorted((SOURCE / "docs").rglob("*.md")),
             *sorted((SOURCE / "simulator" / "docs").rglob("*.md"))]
    images = {REPORT: doc_images.report_image, TIMELINE: doc_images.timeline_image}
    only = [SOURCE / name for name in options.pages] or [*pages, REPORT, *(
        [TIMELINE] if TIMELINE.parent.exists() and not TIMELINE.exists() else ())]
    if missing := [str(page) for page in only if page not in (*pages, *images)]:
        parser.error(f"expected pages of the repository, got {', '.join(missing)}")

    stale = []
    with tempfile.TemporaryDirectory() as scratch:
        tools = Tools(options.build.resolve(), options.llvm, pathlib.Path(scratch))
        wanted = {page: images[page](tools) if page in images else fill(page, tools)
                  for page in only}
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
            page.write_text(text)
            print(f"{name} was rewritten")
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
