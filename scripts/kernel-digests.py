#!/usr/bin/env python3
# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Digests and instruction counts of kernels over a grid, to see what a change of the compiler does.

  scripts/kernel-digests.py write FILE           compiles the grid; one line for each kernel
  scripts/kernel-digests.py compare BEFORE AFTER says what became of the kernels of BEFORE

`write` takes lnbwd-opt from the build folder LNBWD_BUILD_DIR, build/ otherwise. --filter takes the
cases whose name has a part that matches; --every N each N-th of them; --jobs how many at once. With
--ir the digests are of what the code generators are given, at the end of --lnbwd-gpu-pipeline:
where these are equal, so is machine code, unless lib/Target or LLVM changed. It takes less than
half of the time.

A digest is of the assembly (AMD) or PTX (NVIDIA) of one kernel, without comments, line numbers and
the numbers of labels: equal digests are equal machine code. Counts are of the instructions in that
text; AMD kernels have registers, scratch and shared memory beside them, NVIDIA's not, since ptxas
is not at hand everywhere. What a launch executes, lnbwd-run --time counts.

`compare` exits with 1 where a kernel is missing, spills more or needs more shared memory, or where
a count of an AMD kernel grew by more than --allowed percent (1).
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import dataclasses
import hashlib
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator

SOURCE = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(SOURCE / "test" / "EndToEnd"))

import chips  # noqa: E402
import family  # noqa: E402
import grid  # noqa: E402
import linear_programs  # noqa: E402
import test_groups as groups  # noqa: E402
import test_masks as masks  # noqa: E402

CHIPS = (*chips.MANY, *chips.GPUS)
ROWS = 16384
LENGTHS = (96, 768, 1000, 1024, 3000, 4096, 8192, 16384, 65536)
# Schedules that set one mode of the row loop at a time, by the fields that differ from these.
PLAIN = {"prefetch": 0, "unroll": 1, "stages": 0}
MODES: dict[str, dict[str, int]] = {
    "plain": {},
    "one-group": {"row_groups": 1},
    "few-lanes": {"threads_per_row": 16, "row_groups": 8},
    "waves": {"threads_per_row": 128, "row_groups": 2},
    "prefetch": {"prefetch": 1},
    "paired": {"prefetch": 1, "unroll": 2},
    "reload": {"threads_per_row": 128, "row_groups": 2, "reload": 1},
}
_CLUSTER = {"workgroups_per_row": 2, "threads_per_row": 64, "row_groups": 4}
BULK_COPY_MODES: dict[str, dict[str, int]] = {
    "early": {"dependent_launch": 1},
    "stages": {"stages": 2},
    "stages-wave": {"threads_per_row": 32, "row_groups": 8, "stages": 2},
    "stages-waves": {"threads_per_row": 128, "row_groups": 4, "stages": 3},
    "stages-early": {"stages": 3, "dependent_launch": 1},
    "stages-ahead": {"threads_per_row": 128, "row_groups": 4, "prefetch": 1, "stages": 2},
    "cluster": {"workgroups_per_row": 2, "threads_per_row": 128, "row_groups": 1},
    "cluster-waves": {"workgroups_per_row": 8, "threads_per_row": 64, "row_groups": 2,
                      "vector_width": 1},
    "cluster-early": {**_CLUSTER, "threads_per_row": 32, "dependent_launch": 1},
    "cluster-ahead": {**_CLUSTER, "prefetch": 1},
    "cluster-paired": {**_CLUSTER, "prefetch": 1, "unroll": 2},
    "cluster-stages": {**_CLUSTER, "stages": 2, "dependent_launch": 1},
    "cluster-stages-ahead": {**_CLUSTER, "prefetch": 1, "stages": 3, "dependent_launch": 1},
}
BULK_COPY_PROGRAM_MODES = ("stages", "cluster", "cluster-stages")
# Row lengths beside those of all chips: rows that do not begin where a bulk copy can.
BULK_COPY_LENGTHS = (("bf16", 1001), ("f32", 1022))
# Sizes of layers, N to O.
LAYERS = (("bf16", 768, 2304), ("f32", 96, 100))
GROUPED = ((512, "bf16"), (1000, "f32"))
SAVING = "--lnbwd-differentiate=saved=mean,rstd"
EXAMPLES = {file.stem: file.read_text() for file in sorted((SOURCE / "examples").glob("*.mlir"))}
LABEL = r"\.?\$?L[A-Za-z_]*[0-9][0-9_]*|\$L__\w+"
# What may not grow at all; everything else may grow by --allowed percent.
HARD = ("scratch_bytes", "spilled_vector_registers", "spilled_scalar_registers", "shared_bytes")
# Two vector instructions issued as one: a gain.
GAINS = ("dual_issue",)
RESOURCES = ("vector_registers", "accumulation_registers", "scalar_registers", *HARD)


@dataclasses.dataclass(frozen=True)
class Case:
    """What one compilation is for."""

    name: str
    chip: str
    text: str
    options: str = ""
    # Passes that turn `text` into what is compiled.
    prepare: str = ""


def schedule_of(mode: str) -> str:
    """The pipeline's option for a mode."""
    fields = PLAIN | (MODES | BULK_COPY_MODES)[mode]
    return "schedule=" + ",".join(f"{name}={value}" for name, value in fields.items())


def family_cases(chip: str) -> Iterator[Case]:
    """The named operations with all their options."""
    for case in family.cases(CHIPS):
        if case.chip != chip:  # The types of a case depend on its place among all chips'.
            continue
        source = case
        if case.derived:
            outputs = () if case.statistics == "saved" else ("y",)
            source = dataclasses.replace(case, op=case.op.removesuffix("_bwd"), statistics="saved",
                                         outputs=outputs)
        yield Case(f"family/{case.name}", chip, family.source(source), case.pipeline,
                   "--lnbwd-differentiate" if case.derived else "")


def length_cases(chip: str) -> Iterator[Case]:
    """LayerNorm backward, every type and length by the model's schedule."""
    for dtype, n in itertools.product(family.DTYPES, LENGTHS):
        yield Case(f"length/{dtype}-{n}", chip, grid.op_source(grid.Kernel(chip, dtype, n)))


def mode_cases(chip: str) -> Iterator[Case]:
    """Each mode of the row loop by hand, for a gradient and a forward pass."""
    lengths = [("bf16", 1024), ("f32", 1000), ("f16", 4096)]
    has_bulk_copy = chips.FACTS[chip]["hasBulkCopy"]
    for mode in (*MODES, *(BULK_COPY_MODES if has_bulk_copy else ())):
        kinds = [*lengths, *BULK_COPY_LENGTHS] if mode.startswith("stages") else lengths
        for op, (dtype, n) in itertools.product(family.OPS, kinds):
            # Column sums need their columns to stay with a lane.
            if mode != "reload" or not op.endswith("_bwd"):
                text = family.source(family.Case(op, chip, dtype, n))
                yield Case(f"mode/{mode}-{op}-{dtype}-{n}", chip, text, schedule_of(mode))


def program_cases(chip: str) -> Iterator[Case]:
    """Row programs that no named operation has: other functions, maxima, masks, no row sums."""
    modes = ["", "plain", "waves"]
    if chips.FACTS[chip]["hasBulkCopy"]:
        modes += BULK_COPY_PROGRAM_MODES
    for name, text in EXAMPLES.items():
        for mode in modes:
            yield Case(f"program/{name}-{mode}", chip, text, schedule_of(mode) if mode else "")
    for name in ("softmax", "l2_normalize", "dynamic_tanh"):
        yield Case(f"program/{name}-gradient", chip, EXAMPLES[name],
                   prepare="--lnbwd-differentiate")
    for has_sum, (n, dtype), mode in itertools.product((False, True), GROUPED, ("", "plain")):
        yield Case(f"program/mask-{n}-{dtype}-{has_sum}-{mode}", chip,
                   masks.source(n, dtype, has_sum), schedule_of(mode) if mode else "")


def group_cases(chip: str) -> Iterator[Case]:
    """Programs with a column and a column sum for each group of rows."""
    for mode, (n, dtype) in itertools.product(("", *MODES), GROUPED):
        name, text = f"group/{mode or 'model'}-{n}-{dtype}", groups.source(n, dtype)
        schedule = schedule_of(mode) if mode else ""
        yield Case(name, chip, text, schedule)
        if mode != "reload":
            yield Case(f"{name}-gradient", chip, text, schedule, SAVING)


def order_cases(chip: str) -> Iterator[Case]:
    """Sums in the canonical order: of rows, of columns, of groups, and of split rows."""
    schedules = {"model": "", **{mode: schedule_of(mode) for mode in MODES},
                 "splits": "schedule=row_splits=2", "whole": "schedule=rows_per_workgroup=0"}
    if chips.FACTS[chip]["hasBulkCopy"]:
        schedules["cluster"] = "schedule=workgroups_per_row=2"
    for dtype, n in (("bf16", 96), ("f32", 1000), ("bf16", 4096), ("f16", 8192)):
        for mode, schedule in schedules.items():
            for op in family.OPS if mode == "model" else family.OPS[::2]:
                text = family.source(family.Case(op, chip, dtype, n))
                yield Case(f"order/{mode}-{dtype}-{n}-{op}", chip, text,
                           f"order=canonical {schedule}")
    for n, dtype in GROUPED:
        text = groups.source(n, dtype)
        yield Case(f"order/group-{n}-{dtype}", chip, text, "order=canonical")
        yield Case(f"order/group-{n}-{dtype}-gradient", chip, text, "order=canonical", SAVING)
    for name, text in EXAMPLES.items():
        yield Case(f"order/{name}", chip, text, "order=canonical")


def product_cases(chip: str) -> Iterator[Case]:
    """Linear layers behind norms and after each other, and their gradients."""
    for (dtype, n, o), name in itertools.product(LAYERS, linear_programs.NAMES):
        program = linear_programs.build(name, n, o, dtype)
        case = f"product/{name}-{dtype}-{n}-{o}"
        saved = f"=saved={','.join(program.scalar_outputs)}" if program.scalar_outputs else ""
        yield Case(case, chip, program.text())
        yield Case(f"{case}-gradient", chip, program.text(),
                   prepare=f"--lnbwd-differentiate{saved}")


def all_cases() -> Iterator[Case]:
    """The whole grid."""
    for cases, chip in itertools.product((
            family_cases, length_cases, mode_cases, program_cases, group_cases, order_cases,
            product_cases), CHIPS):
        yield from cases(chip)


def normalised(lines: list[str]) -> list[str]:
    """The instructions of a kernel, without what does not reach the machine code: comments,
    directives, and labels that no instruction names, which stand for lines of debug information."""
    instructions = [re.sub(r"\s+", " ", text) for line in lines if (
        text := re.split(r"//|;\s", line, maxsplit=1)[0].strip().rstrip(";").strip())
        and not re.match(r"\.(loc|file|p2align|cfi_|section|type|size)\b", text)]
    used = {label for line in instructions for label in re.findall(rf"(?:{LABEL})(?!:)", line)
            if not line.endswith(":")}
    numbers: dict[str, str] = {}
    return [re.sub(LABEL, lambda match: numbers.setdefault(match[0], f"label:{len(numbers)}"), line)
            for line in instructions
            if not re.fullmatch(rf"(?:{LABEL}):", line) or line[:-1] in used]


def kernels_of(text: str, is_amd: bool) -> dict[str, list[str]]:
    """The lines of each kernel of an assembly or PTX text."""
    kernels: dict[str, list[str]] = {}
    current: list[str] | None = None
    if is_amd:
        names = set(re.findall(r"\.type\s+(\w+),@function", text))
        for line in text.splitlines():
            if line.rstrip(":") in names and line.endswith(":"):
                current = kernels.setdefault(line[:-1], [])
            elif ".section" in line or line.startswith(".Lfunc_end"):
                current = None
            elif current is not None:
                current.append(line)
        return kernels
    for line in text.splitlines():
        entry = re.search(r"\.entry (\w+)\(", line)
        if entry:
            current = kernels.setdefault(entry[1], [])
        if current is not None:
            current.append(line)
        if line.startswith("}"):
            current = None
    return kernels


AMD_KINDS = (
    ("matrix", r"v_(mfma|wmma)"),
    ("vector", r"v_"),
    ("memory", r"(global|buffer|flat|scratch)_"),
    ("lds", r"ds_"),
    ("barrier", r"s_barrier"),
    ("wait", r"s_(wait|delay|nop)"),
    ("scalar", r"s_"),
)
PTX_KINDS = (
    ("global", r"(ld|st)(\.\w+)*\.global|cp\.async"),
    ("shared", r"(ld|st)(\.\w+)*\.shared|st\.async|mbarrier"),
    ("barrier", r"bar(rier)?\."),
    ("shuffle", r"shfl"),
    ("branch", r"bra\b|ret\b"),
    ("register", r"mov\b|ld\.param|cvta"),
)


def count(lines: list[str], kinds: tuple[tuple[str, str], ...]) -> dict[str, float]:
    """Instructions of a kernel by kind."""
    counts: collections.Counter[str] = collections.Counter()
    for line in lines:
        line = re.sub(r"^@!?%\w+ ", "", line)
        if not re.match(r"[a-z]", line) or line.startswith("label"):
            continue
        kind = next((kind for kind, pattern in kinds if re.match(pattern, line)), "arithmetic")
        counts[kind] += 1
    return dict(counts)


def compile_case(opt: pathlib.Path, case: Case, only_ir: bool) -> list[str]:
    """One line for each kernel, or for all of them in IR, or one that says why there is none."""
    is_amd = case.chip.startswith("gfx")
    name = f"{case.chip}/{case.name}"
    text = case.text
    with tempfile.TemporaryDirectory() as folder:
        if case.prepare:
            prepared = subprocess.run([opt, "-", case.prepare], input=text, text=True,
                                      capture_output=True, check=False)
            if prepared.returncode != 0:
                return [f"{name}\t-\tnot compiled: {first_error(prepared.stderr)}\t{{}}"]
            text = prepared.stdout
        options = f"chip={case.chip} {case.options}".strip()
        if only_ir:
            command = [opt, "-", f"--lnbwd-gpu-pipeline={options}"]
        else:
            command = [opt, "-", f"--lnbwd-pipeline={options}", f"--save-temps={folder}/stages"]
            command += ["--emit=report-json", f"--rows={ROWS}"] if is_amd else ["--emit=ptx"]
        result = subprocess.run(command, input=text, text=True, capture_output=True, check=False)
        if result.returncode != 0:
            return [f"{name}\t-\tnot compiled: {first_error(result.stderr)}\t{{}}"]
        code = result.stdout
        if only_ir:
            return [f"{name}\tIR\t{hashlib.sha256(code.encode()).hexdigest()[:16]}\t{{}}"]
        counts: dict[str, dict[str, float]] = {}
        if is_amd:
            code = max(pathlib.Path(folder, "stages").glob("*-kernel.s")).read_text()
            report = json.loads(result.stdout)
            for kernel in report["kernels"]:
                counts[kernel["name"]] = {key: kernel[key] for key in RESOURCES}
    lines = []
    for kernel, body in sorted(kernels_of(code, is_amd).items()):
        body = normalised(body)
        digest = hashlib.sha256("\n".join(body).encode()).hexdigest()[:16]
        figures = {**counts.get(kernel, {}), **count(body, AMD_KINDS if is_amd else PTX_KINDS)}
        lines.append(f"{name}\t{kernel}\t{digest}\t{json.dumps(figures)}")
    return lines


def first_error(text: str) -> str:
    """The first error among the compiler's messages."""
    return next((line.split("error: ", 1)[1] for line in text.splitlines() if "error: " in line),
                "unknown").replace("\t", " ")


def write(options: argparse.Namespace) -> int:
    """Compiles the grid; returns the exit status."""
    build = pathlib.Path(os.environ.get("LNBWD_BUILD_DIR", SOURCE / "build"))
    opt = (build / "bin" / "lnbwd-opt").resolve()
    cases = [case for case in all_cases()
             if re.search(options.filter, f"{case.chip}/{case.name}")][::options.every]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        compiled = pool.map(lambda case: compile_case(opt, case, options.ir), cases)
        lines = [line for lines in compiled for line in lines]
    options.file.write_text("".join(line + "\n" for line in sorted(set(lines))))
    refused = sum("\tnot compiled: " in line for line in lines)
    print(f"{len(cases)} cases, {len(lines) - refused} kernels, {refused} cases refused")
    return 0


def read(file: pathlib.Path) -> dict[tuple[str, str], tuple[str, dict[str, float]]]:
    """(case, kernel) to digest and counts."""
    table = {}
    for line in file.read_text().splitlines():
        case, kernel, digest, counts = line.split("\t")
        table[case, kernel] = digest, json.loads(counts)
    return table


def compare(options: argparse.Namespace) -> int:
    """Prints what became of each kernel; returns the exit status."""
    before, after = read(options.before), read(options.after)
    same, changed, worse = 0, 0, 0
    for key, (digest, counts) in before.items():
        where = " ".join(key)
        if key not in after:
            print(f"missing  {where}")
            worse += 1
            continue
        new_digest, new_counts = after[key]
        if digest == new_digest:
            same += 1
            continue
        changed += 1
        differences, bad = [], False
        for name in sorted(counts.keys() | new_counts.keys()):
            old, new = counts.get(name, 0), new_counts.get(name, 0)
            if old == new:
                continue
            differences.append(f"{name} {old:g} -> {new:g}")
            is_amd = key[0].startswith("gfx")
            allowed = old * (1 + options.allowed / 100)
            if name not in GAINS:
                bad |= new > old if name in HARD else is_amd and new > allowed
        if "not compiled" in digest + new_digest:
            differences, bad = [f"{digest} -> {new_digest}"], True
        worse += bad
        verdict = "worse   " if bad else "changed "
        print(f"{verdict} {where}: {', '.join(differences) or 'order only'}")
    print(f"{same} kernels are the same, {changed} changed, {worse} are worse or missing; "
          f"{len(after.keys() - before.keys())} are new")
    return 1 if worse else 0


def main() -> int:
    """Runs the command that was asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(required=True)
    writer = commands.add_parser("write", help="compile the grid")
    writer.add_argument("file", type=pathlib.Path)
    writer.add_argument("--filter", default="", help="a regular expression, searched in CHIP/CASE")
    writer.add_argument("--every", type=int, default=1, help="take each N-th case")
    writer.add_argument("--ir", action="store_true",
                        help="digests of what the code generators are given")
    writer.add_argument("--jobs", type=int, default=os.cpu_count(), help="compilations at once")
    writer.set_defaults(run=write)
    comparer = commands.add_parser("compare", help="compare two files")
    comparer.add_argument("before", type=pathlib.Path)
    comparer.add_argument("after", type=pathlib.Path)
    comparer.add_argument("--allowed", type=float, default=1, help="percent that a count may grow")
    comparer.set_defaults(run=compare)
    options = parser.parse_args()
    result: int = options.run(options)
    return result


if __name__ == "__main__":
    sys.exit(main())
