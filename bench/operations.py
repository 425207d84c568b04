#!/usr/bin/env python3
# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times every operation of the family on an NVIDIA GPU, beside whoever else has it.

Like layer_norm_bwd.py, on rotating buffers, by the device's events and by graphs; a row for each
operation and each way to it that costs something: recomputed statistics, from the output, a
gradient that the compiler derived, a grid that is the same on every device. Kernels are for any M,
with the shape's as a hint, as Python compiles them. The outputs are compared with float64.

  operations.py compile --out KERNELS [--chip sm_90] [--shapes 8192x4096 ...] where the compiler is
  operations.py compile --out KERNELS --random SEED COUNT                     shapes drawn at random
  operations.py run --kernels KERNELS [--out FILE]                            where the GPU is
  operations.py run --kernels NEW --beside before=OLD --peers [--out FILE]    of two compilers

--beside takes a folder of kernels that another state of the compiler made, and times them in turns
with ours on the same buffers, checked the same way; it can be given several times.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import os
import pathlib
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any

SOURCE = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(SOURCE / "python"), str(SOURCE / "test" / "EndToEnd"),
                str(pathlib.Path(__file__).resolve().parent)]

import chips  # noqa: E402
import family  # noqa: E402
from lnbwd.operations import (  # noqa: E402
    LAYER_NORM,
    LAYER_NORM_BWD,
    OPERATIONS,
    RMS_NORM,
    RMS_NORM_BWD,
)
from lnbwd.spec import rows_option  # noqa: E402
from lnbwd_bench import PEERS  # noqa: E402
from lnbwd_bench.shapes import Shape, parse_shape, random_shapes, shape_argument  # noqa: E402

SHAPES = ("4096x1024", "8192x4096", "16384x2048", "65536x768")
CHIP = chips.GPU
EPSILON = 1e-5
# Error over the largest value of an output: one rounding, and some for the arithmetic before it.
ALLOWED = {"bf16": 6e-3, "f16": 8e-4, "f32": 4e-6}


def variants(shape: Shape, chip: str) -> dict[str, family.Case]:
    """What is timed, by name."""
    rows = rows_option(shape.m, chip)
    hint = f"rows={rows}" if rows else ""

    def case(op: str, pipeline: str = "", **options: Any) -> family.Case:
        return family.Case(op, chip, shape.dtype, shape.n,
                           pipeline=" ".join(filter(None, (hint, pipeline))), **options)

    return {
        LAYER_NORM: case(LAYER_NORM),
        f"{LAYER_NORM}, residual": case(LAYER_NORM, residual=shape.dtype),
        RMS_NORM: case(RMS_NORM),
        LAYER_NORM_BWD: case(LAYER_NORM_BWD),
        f"{LAYER_NORM_BWD}, recomputed": case(LAYER_NORM_BWD, statistics="recomputed"),
        f"{LAYER_NORM_BWD}, from output": case(LAYER_NORM_BWD, statistics="output"),
        f"{LAYER_NORM_BWD}, reproducible": case(LAYER_NORM_BWD, pipeline="reproducible=true"),
        f"{LAYER_NORM_BWD}, derived": case(LAYER_NORM_BWD, derived=True),
        RMS_NORM_BWD: case(RMS_NORM_BWD),
        f"{RMS_NORM_BWD}, derived": case(RMS_NORM_BWD, derived=True),
    }


def compile_main(options: argparse.Namespace) -> int:
    """Compiles the kernels, and writes what is known of them, to the folder."""
    build = pathlib.Path(os.environ.get("LNBWD_BUILD_DIR", SOURCE / "build"))
    options.out.mkdir(parents=True, exist_ok=True)
    kernels = []
    if options.random:
        options.shapes = random_shapes(*options.random)
    for shape in options.shapes:
        for name, case in variants(shape, options.chip).items():
            if options.only and name not in options.only:
                continue
            file = family.compile_case(build, case, options.out)
            kernels.append({"name": name, "m": shape.m, "n": shape.n, "dtype": shape.dtype,
                            "chip": options.chip, "file": file.name})
    (options.out / "operations.json").write_text(json.dumps(kernels, indent=1) + "\n")
    print(f"{len(kernels)} kernels in {options.out}")
    return 0


def exact(op: str, tensors: dict[str, Any]) -> tuple[Any, ...]:
    """The outputs of an operation in float64, in its order."""
    x, gamma = tensors["x"].double(), tensors["gamma"].double()
    if op in (LAYER_NORM, RMS_NORM):
        mean = x.mean(1, keepdim=True) if op == LAYER_NORM else 0 * x[:, :1]
        rstd = ((x - mean).square().mean(1, keepdim=True) + EPSILON).rsqrt()
        y = (x - mean) * rstd * gamma
        return (y + tensors["beta"].double(), mean, rstd) if op == LAYER_NORM else (y, rstd)
    dy, rstd = tensors["dy"].double(), tensors["rstd"].double()[:, None]
    mean = tensors["mean"].double()[:, None] if op == LAYER_NORM_BWD else 0
    xhat, weighted = (x - mean) * rstd, dy * gamma
    centre = weighted.mean(1, keepdim=True) if op == LAYER_NORM_BWD else 0
    dx = rstd * (weighted - xhat * (weighted * xhat).mean(1, keepdim=True) - centre)
    return dx, (dy * xhat).sum(0), *([dy.sum(0)] if op == LAYER_NORM_BWD else [])


def error_of(outputs: Iterable[Any], expected: Iterable[Any]) -> float:
    """The largest error of all outputs, each over its largest value."""
    errors = [float((output.double().reshape(true.shape) - true).abs().max()
                    / true.abs().max().clamp_min(1e-30))
              for output, true in zip(outputs, expected, strict=False)]
    return math.nan if any(map(math.isnan, errors)) else max(errors)


class Timed:
    """One operation on one shape: its buffers, and who is timed on them."""

    def __init__(self, machine: Any, entry: dict[str, Any], kernels: pathlib.Path) -> None:
        import torch

        from lnbwd_bench.competitors import DTYPES

        self.shape = Shape(entry["m"], entry["n"], entry["dtype"])
        self.op = entry["name"]
        self._machine, self._torch = machine, torch
        shape = self.shape
        case = variants(shape, entry["chip"])[entry["name"]]
        arguments = case.arguments()
        dims = {"row_block": (shape.m, shape.n), "column": (shape.n,), "row_scalar": (shape.m,)}
        self.moved = sum(math.prod(dims[kind]) * DTYPES[element].itemsize
                         for _, kind, element, _ in arguments)
        self.count = max(2, -(-5 * machine.l2_bytes // self.moved) + 1)
        self.sets: list[dict[str, Any]] = []
        for _ in range(self.count):
            tensors = {}
            for name, kind, element, is_output in arguments:
                value = (torch.full(dims[kind], math.nan, device=machine.device) if is_output
                         else torch.randn(dims[kind], device=machine.device)).to(DTYPES[element])
                tensors[name] = value.abs() + 0.5 if name in ("rstd", "gamma") and not is_output \
                    else value
            # Peers' gradients of LayerNorm take it, though no result depends on it.
            tensors.setdefault("beta", torch.zeros_like(tensors["gamma"]))
            self.sets.append(tensors)
        self._outputs = [name for name, _, _, is_output in arguments if is_output]
        self._ours = {"ours": self._call_of(kernels / entry["file"])}

    def _call_of(self, file: pathlib.Path) -> Callable[[int], None]:
        """A call of the kernel in a file; each set of buffers has a workspace of its own."""
        from lnbwd import runtime

        program = runtime.Program.from_file(file)
        kernel = runtime.Kernel(self._machine.ours, program)
        rows = self.shape.m
        pointers = [[tensors[argument.name].data_ptr() for argument in program.arguments]
                    for tensors in self.sets]
        size = kernel.workspace_size(rows)
        workspaces = [self._torch.empty(max(size, 1), dtype=self._torch.uint8,
                                        device=self._machine.device) for _ in range(self.count)]

        def call(slot: int) -> None:
            kernel.launch(pointers[slot], rows, workspaces[slot].data_ptr(), size,
                          self._machine.stream())

        return call

    def add(self, name: str, file: pathlib.Path) -> None:
        """Takes the kernel in a file as one of ours, too."""
        self._ours[name] = self._call_of(file)

    def candidates(self, peers: Iterable[Any], say: Callable[[str], None]) -> list[Any]:
        """Ours, the peers that have the operation and get it right, and for a forward pass a copy,
        which moves what it must move."""
        from lnbwd_bench.checking import PEER_SLACK
        from lnbwd_bench.timing import Candidate

        result = [Candidate(name, call) for name, call in self._ours.items()]
        if self.op not in OPERATIONS:
            return result
        first = self.sets[0]
        expected = exact(self.op, first)
        allowed = ALLOWED[self.shape.dtype]
        for name, call in self._ours.items():
            for output in self._outputs:
                first[output].fill_(math.nan)
            call(0)
            error = error_of((first[output] for output in self._outputs), expected)
            if not error <= allowed:
                say(f"{self.op} {self.shape} {name}: error {error:.2g} above {allowed:.2g}")
        for peer in peers:
            kept: dict[int, Any] = {}
            try:
                function = peer.function(self.op, self.shape)
                error = error_of(function(first), expected)
            except Exception as problem:  # Whatever a peer does: the others go on.
                lines = str(problem).strip().splitlines() or [type(problem).__name__]
                say(f"{self.op} {self.shape} {peer.name}: {lines[0][:200]}")
                continue
            if not error <= PEER_SLACK * allowed:
                say(f"{self.op} {self.shape} {peer.name}: error {error:.2g}")
                continue

            def call(slot: int, function: Any = function, kept: dict[int, Any] = kept) -> None:
                kept[slot] = function(self.sets[slot])

            result.append(Candidate(peer.name, call))
        if OPERATIONS[self.op].is_forward:
            targets = [self._torch.empty_like(tensors["x"]) for tensors in self.sets]
            result.append(Candidate("copy", lambda slot: targets[slot].copy_(
                self.sets[slot]["x"])))
        return result


def line(entry: dict[str, Any], row: dict[str, Any], method: str) -> str:
    """A result for people: microseconds of each, and how ours compares."""
    times = {name: row[name][method]["median_us"] for name in row["timed"] if method in row[name]}
    ours = times.pop("ours")
    copy = times.pop("copy", None)
    beside = {name: times.pop(name) for name in row.get("beside", ()) if name in times}
    text = (f"{entry['name']:30} {entry['m']}x{entry['n']}:{entry['dtype']:5} {ours:8.2f} us "
            f"{row['bytes'] / ours / 1e3:6.0f} GB/s")
    if copy:
        text += f"  {100 * copy / ours:5.1f} % of a copy"
    if times:
        best = min(times, key=lambda name: times[name])
        text += f"  {times[best] / ours:5.2f} times {best};"
        text += "".join(f" {name} {time:.2f}" for name, time in times.items())
    text += "".join(f"  {name} {time:.2f} ({ours / time:.3f})" for name, time in beside.items())
    return text


def summary_lines(results: list[dict[str, Any]], method: str) -> list[str]:
    """For each operation: the geometric mean and the least of how many times faster ours is than
    the best peer, and of the share of a copy's rate where 100 MB or more are moved."""
    lines = []
    for op in OPERATIONS:
        gains, shares = [], []
        ratios: dict[str, list[float]] = {}
        for row in results:
            times = {name: row[name][method]["median_us"] for name in row["timed"]
                     if method in row[name]}
            if row["name"] != op or "ours" not in times:
                continue
            beside = row.get("beside", ())
            for name in beside:
                if name in times:
                    ratios.setdefault(name, []).append(times["ours"] / times[name])
            peers = [time for name, time in times.items()
                     if name not in ("ours", "copy", *beside)]
            if peers:
                gains.append(min(peers) / times["ours"])
            if "copy" in times and row["bytes"] >= 1e8:
                shares.append(times["copy"] / times["ours"])
        for what, values in (("times the best peer", gains),
                             ("of a copy, 100 MB and more", shares)):
            if values:
                lines.append(f"{op:16} {what}: geometric mean "
                             f"{statistics.geometric_mean(values):.3f}, least {min(values):.3f}, "
                             f"{len(values)} shapes")
        for name, values in ratios.items():
            lines.append(f"{op:16} takes of the time of {name}: geometric mean "
                         f"{statistics.geometric_mean(values):.3f}, least {min(values):.3f}, most "
                         f"{max(values):.3f}, {len(values)} shapes")
    return lines


def read_beside(beside: Iterable[tuple[str, pathlib.Path]]) -> dict[str, dict[Any, pathlib.Path]]:
    """For each name the files of its folder, by what they compute."""
    return {name: {key_of(entry): folder / entry["file"]
                   for entry in json.loads((folder / "operations.json").read_text())}
            for name, folder in beside}


def key_of(entry: dict[str, Any]) -> tuple[Any, ...]:
    """What a kernel of a folder computes."""
    return tuple(entry[part] for part in ("name", "m", "n", "dtype", "chip"))


def beside_argument(text: str) -> tuple[str, pathlib.Path]:
    """NAME=FOLDER, for argparse."""
    name, sign, folder = text.partition("=")
    if not (name and sign and (pathlib.Path(folder) / "operations.json").is_file()):
        raise argparse.ArgumentTypeError(
            "expected NAME=FOLDER, where FOLDER has the operations.json of 'compile', got "
            f"'{text}'")
    if name in ("ours", "copy", *PEERS):
        raise argparse.ArgumentTypeError(f"expected a name that is not taken, got '{name}'")
    return name, pathlib.Path(folder)


def run_main(options: argparse.Namespace) -> int:
    """Checks and measures the kernels of a folder, and writes the figures."""
    from lnbwd_bench import peers as known_peers
    from lnbwd_bench.machine import GpuMachine
    from lnbwd_bench.timing import SlotCounter, summary, time_events, time_graph
    from lnbwd_bench.verdicts import METHODS

    machine = GpuMachine()
    machine.calibrate()
    peers = []
    for name in options.peers:
        try:
            peers.append(known_peers.make_peer(name, machine))
        except known_peers.Unavailable as error:
            print(f"left out: {name}: {error}")
    others = read_beside(options.beside)
    results = []
    start = time.monotonic()
    for entry in json.loads((options.kernels / "operations.json").read_text()):
        if options.only and entry["name"] not in options.only:
            continue
        if options.time_budget and time.monotonic() - start > options.time_budget:
            print(f"left out: {entry['name']} {entry['m']}x{entry['n']}: the time is spent")
            continue
        timed = Timed(machine, entry, options.kernels)
        known = [name for name, files in others.items() if key_of(entry) in files]
        for name in known:
            timed.add(name, others[name][key_of(entry)])
        candidates = timed.candidates(peers, lambda text: print(f"note: {text}", flush=True))
        slots = SlotCounter(timed.count)
        time_events(machine, candidates, slots, options.repetitions)
        estimates = [statistics.median(candidate.times["events"]) for candidate in candidates]
        time_graph(machine, candidates, slots, options.repetitions, estimates)
        row = {**entry, "bytes": timed.moved, **({"beside": known} if known else {}),
               "timed": [each.name for each in candidates],
               **{each.name: {method: summary(times) for method, times in each.times.items()}
                  for each in candidates}}
        results.append(row)
        print(line(entry, row, "graph"), flush=True)
        del timed, candidates
        machine.release_memory()
    for method in METHODS:
        print(f"by the method {method}:", *summary_lines(results, method), sep="\n")
    if options.out:
        document = {"date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
                    "command": [pathlib.Path(sys.argv[0]).name, *sys.argv[1:]],
                    "machine": machine.describe(), "repetitions": options.repetitions,
                    "results": results}
        options.out.write_text(json.dumps(document, indent=1) + "\n")
    return 0


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    compiling = commands.add_parser("compile")
    compiling.add_argument("--out", type=pathlib.Path, required=True)
    compiling.add_argument("--chip", default=CHIP, help=f"chip to compile for (default {CHIP})")
    compiling.add_argument("--shapes", type=shape_argument, nargs="+",
                           default=[parse_shape(text) for text in SHAPES])
    compiling.add_argument("--random", nargs=2, type=int, metavar=("SEED", "COUNT"),
                           help="so many shapes drawn at random instead")
    running = commands.add_parser("run")
    running.add_argument("--kernels", type=pathlib.Path, required=True)
    running.add_argument("--beside", type=beside_argument, action="append", default=[],
                         metavar="NAME=FOLDER", help="kernels of another state of the compiler, "
                         "timed in turns with ours; several times for several")
    running.add_argument("--out", type=pathlib.Path, help="file for the numbers, JSON")
    running.add_argument("--repetitions", type=int, default=30)
    running.add_argument("--peers", nargs="*", choices=PEERS, default=PEERS,
                         help=f"of {', '.join(PEERS)} (default: all)")
    running.add_argument("--time-budget", type=float, default=0, metavar="SECONDS",
                         help="start nothing further after so long (default: no limit)")
    for command in (compiling, running):
        command.add_argument("--only", nargs="+", default=[], metavar="NAME",
                             help="only these, as the table names them (default: all)")
    options = parser.parse_args()
    return compile_main(options) if options.command == "compile" else run_main(options)


if __name__ == "__main__":
    sys.exit(main())
