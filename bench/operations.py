#!/usr/bin/env python3
# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times every operation of the family on a GPU, beside whoever else has it.

On rotating buffers, by graphs (lnbwd_bench/timing.py); a row for each operation. Kernels are for
any M, with the shape's as a hint, as Python compiles them. Outputs are compared with float64, and
ours have to be the same bits in two runs; the exit code is 1 if one of ours is wrong.

  operations.py compile --out KERNELS [--chip sm_90]        where the compiler is, for the dashboard
  operations.py compile --out KERNELS --shapes 8192x4096 ...                  of these shapes
  operations.py compile --out KERNELS --random SEED COUNT                     shapes drawn at random
  operations.py run --kernels KERNELS [--interleave] [--out FILE]             where the GPU is

Each is compared with the stream, the fastest kernel that reads and writes as many row blocks of the
size and does nothing else. bench/dashboard.py reads the files.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import json
import math
import os
import pathlib
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

SOURCE = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(SOURCE / "python"))
if "LNBWD_BUILD_DIR" in os.environ:
    os.environ.setdefault("LNBWD_LIBRARY_DIR",
                          str(pathlib.Path(os.environ["LNBWD_BUILD_DIR"]) / "lib"))

import torch  # noqa: E402
from torch import Tensor  # noqa: E402

from lnbwd import errors, operations, runtime  # noqa: E402
from lnbwd.core.base import chip_table  # noqa: E402
from lnbwd.core.compile import kernels as compiling  # noqa: E402
from lnbwd.core.compile import store  # noqa: E402
from lnbwd.core.compile.spec import rows_option  # noqa: E402
from lnbwd.ops.launching import launch_kernel  # noqa: E402
from lnbwd_bench import PEERS, our_kernels, peers, timing  # noqa: E402
from lnbwd_bench.machine import DTYPES, DryMachine, GpuMachine, streams  # noqa: E402
from lnbwd_bench.results import (  # noqa: E402
    ALLOWED,
    GRAPH,
    PEER_SLACK,
    STREAM,
    complaints,
    error_of,
    line,
    write,
)
from lnbwd_bench.shapes import Shape, default_shapes, parse_shape, random_shapes  # noqa: E402
from lnbwd_bench.stream import Traffic  # noqa: E402

# Of the dashboard's shapes those that all operations have, and not only LayerNorm's gradient.
SHAPES = (Shape(4096, 1024), Shape(8192, 4096), Shape(16384, 2048), Shape(65536, 768))
MANIFEST = "operations.json"
EPSILON = 1e-5
# Who of ours is timed, and the file of the kernel in the manifest.
OURS = {"ours": "file", "canonical": "canonical"}
# What our outputs hold before a run: no number, and then another one.
POISONS = (math.nan, 12345.0)

OPS = (operations.LAYER_NORM, operations.RMS_NORM, operations.LAYER_NORM_BWD,
       operations.RMS_NORM_BWD)

Arguments = list[tuple[str, str, str, bool]]
"""(name, kind, element, is_output) of each argument."""


def compile_kernel(op: str, shape: Shape, chip: str, order: str = "") -> bytes:
    """The code that Python runs for tensors of a shape, with sums in an order."""
    epsilon = {} if op.endswith("_bwd") else {"epsilon": EPSILON}
    spec = compiling.make_spec(op, n=shape.n, dtype=shape.dtype, chip=chip,
                               rows=rows_option(shape.m, chip),
                               format=chip_table.code_format(chip), **epsilon)
    return store.compile_spec(dataclasses.replace(spec, order=order)).code


def arguments_of(program: runtime.Program) -> Arguments:
    """The arguments of a kernel, in its order."""
    return [(each.name, each.kind, each.element, each.access == "write")
            for each in program.arguments]


def traffic_of(arguments: Arguments) -> Traffic:
    """How many row blocks an operation reads and writes."""
    blocks = [is_output for _, kind, _, is_output in arguments if kind == "row_block"]
    return Traffic(len(blocks) - sum(blocks), sum(blocks))


def compile_main(options: argparse.Namespace) -> int:
    """Compiles the kernels, and writes what is known of them, to the folder."""
    options.out.mkdir(parents=True, exist_ok=True)
    kernels: list[dict[str, Any]] = []
    traffics = set()
    if options.random:
        options.shapes = random_shapes(*options.random)
    for shape in options.shapes or default_shapes():
        for op in OPS:
            if (options.only and op not in options.only) or (
                    not options.shapes and op != operations.LAYER_NORM_BWD and shape not in SHAPES):
                continue
            file = options.out / f"{op}-{shape.m}-{shape.n}-{shape.dtype}.{options.chip}"
            file.write_bytes(compile_kernel(op, shape, options.chip))
            traffics.add(traffic_of(arguments_of(runtime.Program.from_file(file))))
            kernels.append({"name": op, "m": shape.m, "n": shape.n, "dtype": shape.dtype,
                            "chip": options.chip, "file": file.name,
                            **({"random": options.random} if options.random else {})})
            if options.canonical:
                beside = file.with_name(f"{file.name}.canonical")
                beside.write_bytes(compile_kernel(op, shape, options.chip, "canonical"))
                kernels[-1]["canonical"] = beside.name
    for traffic in traffics:
        our_kernels.compile_streams(options.chip, options.out, traffic)
    (options.out / MANIFEST).write_text(json.dumps(kernels, indent=1) + "\n")
    print(f"{len(kernels)} kernels in {options.out}")
    return 0


class Timed:
    """One operation on one shape: its buffers, ``count`` sets of tensors by name, and who is timed
    on them; ``moved`` are the bytes of all arguments, ``block_bytes`` of a row block."""

    def __init__(self, machine: Any, entry: dict[str, Any], kernels: pathlib.Path) -> None:
        self.shape = shape = Shape(entry["m"], entry["n"], entry["dtype"])
        self.op = entry["name"]
        self._machine, self._folder = machine, kernels
        program = runtime.Program.from_file(kernels / entry["file"])
        # By who is timed.
        self._kernels = {who: runtime.Kernel(machine.ours, runtime.Program.from_file(
            kernels / entry[key])) for who, key in OURS.items() if key in entry}
        arguments = arguments_of(program)
        dims = {"row_block": (shape.m, shape.n), "column": (shape.n,), "row_scalar": (shape.m,)}
        self.moved = sum(math.prod(dims[kind]) * DTYPES[element].itemsize
                         for _, kind, element, _ in arguments)
        self.traffic = traffic_of(arguments)
        self.block_bytes = shape.m * shape.n * shape.element_bytes
        self.count = max(2, -(-5 * machine.l2_bytes // self.moved) + 1)
        self.sets: list[dict[str, Tensor]] = []
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
        self._names = [name for name, *_ in arguments]
        self._outputs = [name for name, _, _, is_output in arguments if is_output]
        self._blocks = [name for wanted in (False, True)
                        for name, kind, _, is_output in arguments
                        if kind == "row_block" and is_output == wanted]

    def _launch(self, who: str, slot: int) -> None:
        launch_kernel(self._kernels[who], self.shape.m,
                      [self.sets[slot][name] for name in self._names])

    def streams(self) -> list[timing.Candidate]:
        """Streams of as many arrays between the row blocks; what was in the outputs is lost."""
        return streams(self._machine, self.traffic, [
            [tensors[name] for name in self._blocks] for tensors in self.sets], self._folder)

    def _run(self, who: str, poison: float) -> list[Any]:
        """The outputs of one of ours on the first set, from memory that holds ``poison``."""
        outputs = [self.sets[0][name].fill_(poison) for name in self._outputs]
        self._launch(who, 0)
        return [output.clone() for output in outputs]

    def check_ours(self) -> dict[str, Any]:
        """What a row says of our numbers: the errors against float64, and what is wrong."""
        wrong: list[str] = []
        found: dict[str, float] = {}
        for who in self._kernels:
            first, again = (self._run(who, poison) for poison in POISONS)
            if not all(map(torch.equal, *([output.view(torch.uint8) for output in outputs]
                                          for outputs in (first, again)))):
                wrong.append(f"{who}: two runs gave different bits")
            error = found[who] = error_of(first, peers.exact(self.op, self.sets[0]))
            if not error <= ALLOWED[self.shape.dtype]:
                wrong.append(f"{who}: error {error:.2g} above {ALLOWED[self.shape.dtype]:.2g}")
        return {"errors": found, "complaints": wrong}

    def candidates(self, others: Iterable[Any], errors: dict[str, float],
                   say: Callable[[str], None]) -> list[timing.Candidate]:
        """Ours, and the peers that have the operation and get it right; ``errors`` has theirs
        then."""
        result = [timing.Candidate(who, functools.partial(self._launch, who))
                  for who in self._kernels]
        first = self.sets[0]
        expected = peers.exact(self.op, first)
        for peer in others:
            kept: dict[int, Any] = {}
            try:
                function = peer.function(self.op, self.shape)
                error = error_of(function(first), expected)
            except Exception as problem:  # Whatever a peer does: the others go on.
                lines = str(problem).strip().splitlines() or [type(problem).__name__]
                say(f"{self.op} {self.shape} {peer.name}: {lines[0][:200]}")
                continue
            if not error <= PEER_SLACK * ALLOWED[self.shape.dtype]:
                say(f"{self.op} {self.shape} {peer.name}: error {error:.2g}")
                continue
            errors[peer.name] = error

            def call(slot: int, function: Any = function, kept: dict[int, Any] = kept) -> None:
                kept[slot] = function(self.sets[slot])

            result.append(timing.Candidate(peer.name, call))
        return result


def measure(machine: Any, candidates: Sequence[timing.Candidate],
            streams: Sequence[timing.Candidate], sets: int, moved: float, repetitions: int,
            foreign: Callable[[], Any] | None = None) -> dict[str, Any]:
    """What a row of the result file has of times: those of the candidates, and of the best of the
    streams, which take turns with them, for so many bytes."""
    best = timing.best_streams(machine, streams, sets, moved)
    timing.time_interleaved(machine, [*candidates, *best], sets, repetitions, moved, foreign)
    return {**timing.medians(candidates), STREAM: {
        method: min(times.values()) for method, times in timing.medians(best).items()}}


def kernels_argument(argument: str) -> pathlib.Path:
    """A folder of kernels, for argparse."""
    if not (pathlib.Path(argument) / MANIFEST).is_file():
        raise argparse.ArgumentTypeError(f"expected a folder with the {MANIFEST} of 'compile', got "
                                         f"'{argument}'")
    return pathlib.Path(argument)


def run_main(options: argparse.Namespace) -> int:
    """Checks and measures the kernels of a folder, and writes the figures."""
    entries = json.loads((options.kernels / MANIFEST).read_text())
    if not entries:
        raise our_kernels.KernelError(f"{options.kernels / MANIFEST} names no kernels: compile "
                                      "some into the folder")
    machine: Any = DryMachine(entries[0]["chip"]) if options.dry_run else GpuMachine()
    machine.calibrate()
    others = []
    for name in options.peers:
        try:
            others.append(peers.CLASSES[name](machine))
        except peers.Unavailable as error:
            print(f"left out: {name}: {error}")
    if machine.is_simulated:
        print("SIMULATED: times mean nothing")
    foreign = machine.foreign_kernel() if options.interleave else None
    results: list[dict[str, Any]] = []
    path = options.out
    if path and (path.is_dir() or not path.suffix):
        path.mkdir(parents=True, exist_ok=True)
        path /= "operations.json"
    for entry in entries:
        if options.only and entry["name"] not in options.only:
            continue
        timed = Timed(machine, entry, options.kernels)
        checked = timed.check_ours()
        candidates = timed.candidates(others, checked["errors"],
                                      lambda note: print(f"note: {note}", flush=True))
        row = {**entry, **checked, "bytes": timed.moved,
               "stream_bytes": (timed.traffic.reads + timed.traffic.writes) * timed.block_bytes,
               **measure(machine, candidates, timed.streams(), timed.count, timed.moved,
                         options.repetitions, foreign)}
        results.append(row)
        print(line(row, GRAPH), flush=True)
        # What there is, is kept, whatever becomes of the rest.
        write(path, results, machine.describe())
        del timed, candidates
        torch.cuda.empty_cache()
    for problem in complaints(results):
        print(f"error: {problem}", file=sys.stderr)
    return 1 if complaints(results) else 0


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    compiling = commands.add_parser("compile")
    compiling.add_argument("--out", type=pathlib.Path, required=True)
    compiling.add_argument("--chip", default=chip_table.GPU,
                           help="chip to compile for (default %(default)s)")
    compiling.add_argument("--shapes", type=parse_shape, nargs="+",
                           default=[], help="all operations on these (default: the dashboard's)")
    compiling.add_argument("--canonical", action="store_true",
                           help="the kernels in the canonical order too, to be timed beside ours")
    compiling.add_argument("--random", nargs=2, type=int, metavar=("SEED", "COUNT"),
                           help="so many shapes drawn at random instead")
    running = commands.add_parser("run")
    running.add_argument("--kernels", type=kernels_argument, required=True)
    running.add_argument("--out", type=pathlib.Path, help="file for the numbers, JSON, or a "
                         "folder: operations.json there")
    running.add_argument("--repetitions", type=int, default=30)
    running.add_argument("--peers", nargs="*", choices=PEERS, default=list(PEERS),
                         help=f"of {', '.join(PEERS)} (default: all)")
    running.add_argument("--interleave", action="store_true",
                         help="time a second way too: in graphs with a kernel of somebody else in "
                         "front of each call, whose time is taken off")
    running.add_argument("--dry-run", action="store_true",
                         help="on the host and the simulator; kernels of an AMD chip, tiny shapes")
    for command in (compiling, running):
        command.add_argument("--only", nargs="+", default=[], metavar="NAME",
                             help="only these, as the table names them (default: all)")
    options = parser.parse_args()
    command = {"compile": compile_main, "run": run_main}[options.command]
    try:
        return command(options)
    except (our_kernels.KernelError, errors.LnbwdError, RuntimeError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
