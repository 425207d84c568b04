#!/usr/bin/env python3
# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Benchmarks LayerNorm backward on one GPU: ours, the peers and the memory stream, side by side.

    python bench/layer_norm_bwd.py --out results

compiles our kernels with lnbwd-opt, runs everything interleaved on PyTorch's current GPU, checks
every competitor's numbers, prints a table with the verdicts, and writes results/layer_norm_bwd.json
and, where matplotlib is installed, plots; with --random SEED COUNT they are called
layer_norm_bwd-random-SEED-COUNT, and what a run before left in the folder stays: the later one's
are numbered. docs/performance.md says what is in the numbers.

On a machine without the compiler, give it kernels that were compiled elsewhere:

    python bench/layer_norm_bwd.py --compile-to kernels        # where lnbwd-opt is
    python bench/layer_norm_bwd.py --kernels kernels --out results

On an AMD GPU, PyTorch for ROCm runs everything as PyTorch for CUDA does. Without it,

    python bench/layer_norm_bwd.py --device hip --kernels kernels --out results

measures our kernels and the stream through HIP itself; any PyTorch does, for the reference.

    python bench/layer_norm_bwd.py --report results/layer_norm_bwd.json   # table and plots again
    python bench/layer_norm_bwd.py --dry-run --out results     # no GPU: tiny shapes, simulator
"""

from __future__ import annotations

import argparse
import datetime
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "bench"))
sys.path.insert(0, str(ROOT / "python"))
if "LNBWD_BUILD_DIR" in os.environ:
    os.environ.setdefault("LNBWD_LIBRARY_DIR",
                          str(pathlib.Path(os.environ["LNBWD_BUILD_DIR"]) / "lib"))

from lnbwd import _chips  # noqa: E402
from lnbwd.operations import LAYER_NORM_BWD  # noqa: E402
from lnbwd_bench import PEERS, our_kernels, report  # noqa: E402
from lnbwd_bench.progress import Progress  # noqa: E402
from lnbwd_bench.shapes import Shape, default_shapes, parse_shape, random_shapes  # noqa: E402
from lnbwd_bench.verdicts import (  # noqa: E402
    INTERLEAVED,
    METHODS,
    MIN_REPETITIONS,
    load_recorded,
)

RECORDED = ROOT / "bench" / "recorded_peers.json"
DRY_SHAPES = ("24x256", "17x96", "16x512:f32")


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    """The command line; exits with 2 and a message where it is wrong."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, metavar="DIR",
                        help="folder for the result file and the plots")
    parser.add_argument("--shapes", metavar="MxN[:TYPE],...",
                        help="shapes to measure; TYPE is bf16 (default), f16 or f32; default: all "
                        "of --kernels, or all that a bar is set for")
    parser.add_argument("--random", nargs=2, type=int, metavar=("SEED", "COUNT"),
                        help="so many shapes drawn at random instead: 4 MB to 1.6 GB, log-uniform "
                        "in M and N, of all types, a tenth with odd N")
    parser.add_argument("--dtypes", metavar="TYPE,...", help="only shapes of these types")
    parser.add_argument("--peers", default=",".join(PEERS), metavar="NAME,...",
                        help=f"of {', '.join(PEERS)}; '' for none (default: those that are "
                        "installed)")
    parser.add_argument("--repetitions", type=int, default=50, metavar="R",
                        help="timed repetitions of each competitor, at least "
                        f"{MIN_REPETITIONS} (default 50)")
    parser.add_argument("--method", default=",".join(METHODS), metavar="NAME,...",
                        help="how to time: events, graph or both (default)")
    parser.add_argument("--interleave", action="store_true",
                        help="time a third way too: in graphs with a kernel of somebody else in "
                        "front of each call, whose time is taken off")
    parser.add_argument("--time-budget", type=float, default=0, metavar="SECONDS",
                        help="start no further shape after so long (default: no limit)")
    parser.add_argument("--compile-jobs", type=int, metavar="J",
                        default=min(8, max(1, (os.cpu_count() or 2) // 2)),
                        help="processes that fill torch.compile's cache before anything is timed "
                        "(default %(default)s)")
    parser.add_argument("--kernels", type=pathlib.Path, metavar="DIR",
                        help="our kernels, compiled before with --compile-to")
    parser.add_argument("--compile-to", type=pathlib.Path, metavar="DIR",
                        help="only compile our kernels into this folder; needs no GPU, no torch")
    parser.add_argument("--device", default="", metavar="hip[:I]",
                        help="an AMD GPU through HIP itself (default: PyTorch's current GPU)")
    parser.add_argument("--chip", default="", help=f"chip to compile for (default {_chips.GPU}, an "
                        f"AMD GPU's own, or for a dry run {_chips.SIMULATED})")
    parser.add_argument("--emit", default="", choices=["", "ptx", "cubin", "hsaco"],
                        help="what to compile to (default: ptx, hsaco for AMD)")
    parser.add_argument("--pipeline-options", default="", metavar="TEXT",
                        help="further options of lnbwd-pipeline, e.g. 'schedule=stages=3'")
    parser.add_argument("--report", type=pathlib.Path, metavar="FILE",
                        help="only print and plot a result file again; needs no GPU, no torch")
    parser.add_argument("--no-plot", action="store_true",
                        help="draw nothing; --report draws it later")
    parser.add_argument("--dry-run", action="store_true",
                        help="run everything on the host and the simulator, on tiny shapes")
    parser.add_argument("--warm-compile", metavar="SHAPES", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)

    def names(text: str, allowed: tuple[str, ...], what: str) -> list[str]:
        chosen = [name for name in text.split(",") if name]
        for name in chosen:
            if name not in allowed:
                parser.error(f"unknown {what} '{name}', expected some of: {', '.join(allowed)}")
        return chosen

    options.peers = names(options.peers, PEERS, "peer")
    options.methods = names(options.method, METHODS, "method")
    if not options.methods:
        parser.error("--method: expected events, graph or both")
    if options.interleave:
        options.methods.append(INTERLEAVED)
    if options.repetitions < 1:
        parser.error(f"--repetitions: expected at least 1, got {options.repetitions}")
    if options.repetitions < MIN_REPETITIONS and not options.dry_run:
        parser.error(f"--repetitions: expected at least {MIN_REPETITIONS}, got "
                     f"{options.repetitions}; fewer decide nothing")
    try:
        if options.random:
            if options.shapes or options.dry_run:
                parser.error("--random: expected neither --shapes nor --dry-run beside it")
            if options.random[1] < 1:
                parser.error(f"--random: expected a COUNT of at least 1, got {options.random[1]}")
            options.shapes = random_shapes(*options.random)
        elif options.shapes:
            options.shapes = [parse_shape(text) for text in options.shapes.split(",")]
        elif options.dry_run:
            options.shapes = [parse_shape(text) for text in DRY_SHAPES]
        elif options.kernels:
            options.shapes = list(our_kernels.read_folder(options.kernels))
        else:
            options.shapes = default_shapes()
    except ValueError as error:
        parser.error(f"--shapes: {error}")
    except our_kernels.KernelError as error:
        parser.error(f"--kernels: {error}")
    if options.dtypes:
        types = names(options.dtypes, ("bf16", "f16", "f32"), "type")
        options.shapes = [shape for shape in options.shapes if shape.dtype in types]
    if not (options.out or options.compile_to or options.report or options.warm_compile):
        parser.error("expected --out DIR (or --compile-to, --report)")
    if options.device and (options.dry_run or not re.fullmatch(r"hip(:\d+)?", options.device)):
        parser.error(f"--device: expected hip or hip:I and no --dry-run, got {options.device}")
    if options.compile_to or options.dry_run:
        choose_chip(options, _chips.SIMULATED if options.dry_run else _chips.GPU)
    return options


def choose_chip(options: argparse.Namespace, default: str) -> None:
    """Fills in what is compiled for, and what to."""
    options.chip = options.chip or default
    options.emit = options.emit or _chips.code_format(options.chip)


def fail(text: str) -> int:
    """Prints an error."""
    print(f"error: {text}", file=sys.stderr)
    return 1


def warm_compile(shapes: list[Shape]) -> int:
    """What the processes that fill torch.compile's cache do."""
    import torch

    from lnbwd_bench.competitors import DTYPES
    from lnbwd_bench.peers import aten_backward

    for shape in shapes:
        torch._dynamo.reset()
        dtype = DTYPES[shape.dtype]
        block = [torch.empty(shape.m, shape.n, dtype=dtype, device="cuda") for _ in range(2)]
        column = [torch.empty(shape.n, dtype=dtype, device="cuda") for _ in range(2)]
        scalar = [torch.empty(shape.m, device="cuda") for _ in range(2)]
        torch.compile(aten_backward, dynamic=False, fullgraph=True)(*block, *column, *scalar)
    torch.cuda.synchronize()
    return 0


def fill_compile_cache(shapes: list[Shape], jobs: int, folder: pathlib.Path,
                       progress: Progress) -> None:
    """Compiles for torch.compile in several processes, into ``folder``. What they autotuned is
    forgotten, because they disturbed each other; the run itself autotunes again, alone."""
    progress.say(f"torch.compile in {jobs} processes")
    parts = [shapes[index::jobs] for index in range(min(jobs, len(shapes)))]
    workers = [subprocess.Popen([sys.executable, __file__, "--warm-compile",
                                 ",".join(map(str, part))],
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
               for part in parts]
    for worker in workers:
        worker.wait()
    for file in folder.rglob("*.best_config"):
        file.unlink(missing_ok=True)


class Run:
    """One run over all shapes."""

    def __init__(self, options: argparse.Namespace, machine: Any) -> None:
        from lnbwd_bench import competitors, peers

        self.options = options
        self.machine = machine
        self.unavailable: list[str] = []
        self.peers: list[Any] = []
        for name in options.peers:
            try:
                self.peers.append(competitors.PeerCompetitor(peers.make_peer(name, machine)))
            except peers.Unavailable as error:
                self.unavailable.append(f"{name}: {error}")
        if options.kernels:
            files = our_kernels.read_folder(options.kernels)
            self.scratch = None
        else:
            files = {}
            self.scratch = tempfile.TemporaryDirectory(prefix="lnbwd-bench-")

        def kernel_of(shape: Shape) -> pathlib.Path:
            if self.scratch is None:
                if shape not in files:
                    raise our_kernels.KernelError(f"{options.kernels} has no kernel for {shape}")
                return files[shape]
            file = pathlib.Path(self.scratch.name) / f"{shape.m}x{shape.n}-{shape.dtype}"
            if not file.exists():
                our_kernels.compile_kernel(shape, options.chip, options.emit, file,
                                        options.pipeline_options)
            return file

        self.ours = competitors.Ours(machine, kernel_of)
        self.stream = competitors.Stream(machine, our_kernels.stream_programs(
            machine.ours.chip, options.kernels, machine.is_simulated))
        self.empty = competitors.prepare_empty(machine, self.stream)
        self.foreign = (competitors.prepare_foreign(machine) if INTERLEAVED in options.methods
                        else None)

    def measure(self, shape: Shape, progress: Progress) -> dict[str, Any]:
        """The record of one shape."""
        import torch

        from lnbwd_bench import checking, competitors, timing

        machine, options = self.machine, self.options
        progress.say(f"{shape} inputs")
        buffers = competitors.Buffers(machine, shape)
        record: dict[str, Any] = {
            "m": shape.m, "n": shape.n, "dtype": shape.dtype,
            "minimal_bytes": shape.minimal_bytes, "buffer_sets": buffers.sets, "competitors": {}}
        expected = checking.reference(buffers.inputs[0], shape.dtype)
        candidates: list[timing.Candidate] = []
        for competitor in [self.ours, *self.peers]:
            progress.say(f"{shape} {competitor.name}")
            entry: dict[str, Any] = {}
            record["competitors"][competitor.name] = entry
            try:
                call = competitor.prepare(shape, buffers)
                outcomes = []
                for poison in competitors.POISONS:
                    if competitor is self.ours:
                        for value in buffers.outputs[0].values():
                            value.fill_(poison)
                        buffers.send(0)
                    else:
                        competitors.poison_allocator(shape, machine, poison)
                    outputs = call(0)
                    machine.synchronize()
                    if competitor is self.ours:
                        buffers.fetch(0)
                    named = zip(checking.OUTPUTS, outputs, strict=True)
                    outcomes.append({name: value.clone() for name, value in named})
                slack = 1.0 if competitor is self.ours else checking.PEER_SLACK
                entry.update(checking.compare(*outcomes, expected, slack))
                del outcomes, outputs
            except torch.cuda.OutOfMemoryError:
                entry.update(valid=False, failure="the device is out of memory")
                continue
            except Exception as error:  # Whatever a peer does: the others go on.
                lines = str(error).strip().splitlines() or ["no message"]
                entry.update(valid=False, failure=f"{type(error).__name__}: {lines[0]}")
                if competitor is self.ours and not isinstance(error, our_kernels.KernelError):
                    entry["failure"] = f"{type(error).__name__}: {' '.join(lines)[:500]}"
                continue
            candidates.append(timing.Candidate(competitor.name, call))
        del expected
        machine.release_memory()

        slots = timing.SlotCounter(buffers.sets)
        progress.say(f"{shape} stream")
        best = timing.best_streams(machine, self.stream.candidates(
            shape.stream_bytes // 3,
            [[places[name] for name in ("dy", "x", "dx")] for places in buffers.pointers]), slots)
        empty = timing.Candidate("empty", self.empty)
        record["thrown_away"] = timing.time_in_turns(
            machine, [*candidates, *best, empty], slots, options.methods, options.repetitions,
            self.foreign, lambda method: progress.say(f"{shape} {method}"))
        record["stream"], record["empty"] = timing.stream_record(best, options.methods), {}
        for method in options.methods:
            for candidate in candidates:
                if candidate.times.get(method):
                    record["competitors"][candidate.name].setdefault("times", {})[method] = \
                        timing.summary(candidate.times[method])
            if empty.times.get(method):
                record["empty"][method] = timing.summary(empty.times[method])
        return record


def run(options: argparse.Namespace) -> int:
    """Measures, and writes everything."""
    try:
        import torch
    except ImportError as error:
        return fail(f"this needs PyTorch: {error}; --compile-to and --report do not")
    if not options.dry_run and not options.device and not torch.cuda.is_available():
        return fail("torch sees no GPU; run this on a machine with one and a PyTorch for it, take "
                    "--device hip on an AMD GPU without, or try the program out with --dry-run")
    # A cache of its own: each run compiles and autotunes anew.
    cache = tempfile.TemporaryDirectory(prefix="lnbwd-bench-inductor-", ignore_cleanup_errors=True)
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = cache.name
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"

    from lnbwd import errors
    from lnbwd_bench.machine import DryMachine, GpuMachine, HipMachine
    from lnbwd_bench.peers import Unavailable

    options.out.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    progress = Progress(len(options.shapes))
    try:
        machine: Any = (DryMachine(options.chip) if options.dry_run
                        else HipMachine(options.device) if options.device else GpuMachine())
        choose_chip(options, _chips.GPU if _chips.is_nvidia(machine.ours.chip)
                    else machine.ours.chip)
        session = Run(options, machine)
    except (errors.LnbwdError, our_kernels.KernelError, Unavailable) as error:
        progress.close()
        return fail(str(error))
    wants_compile = any(peer.name == "compile" for peer in session.peers)
    if wants_compile and machine.device.type != "cpu" and options.compile_jobs > 1:
        fill_compile_cache(options.shapes, options.compile_jobs, pathlib.Path(cache.name), progress)
    machine.calibrate()
    document: dict[str, Any] = {
        "format": report.FORMAT, "version": report.VERSION,
        "date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
        "command": [pathlib.Path(sys.argv[0]).name, *sys.argv[1:]],
        "machine": machine.describe(), "methods": options.methods,
        "repetitions": options.repetitions, "unavailable": session.unavailable, "shapes": []}
    path = report.claim(options.out / f"{report.stem_of(LAYER_NORM_BWD, options.random)}.json")
    report.write_json(document, path)
    status = 0
    for shape in options.shapes:
        if options.time_budget and time.monotonic() - start > options.time_budget:
            document["unavailable"].append(f"{shape}: the time budget of "
                                           f"{options.time_budget:g} s was spent")
            continue
        try:
            record = session.measure(shape, progress)
        except torch.cuda.OutOfMemoryError:
            document["unavailable"].append(f"{shape}: the device is out of memory")
            status = 1
        except Exception as error:  # The device may be lost; what there is, is kept.
            document["unavailable"].append(f"{shape}: {type(error).__name__}: {error}")
            status = 1
            if "CUDA" in str(error) or "HIP" in str(error):
                break
        else:
            record["seconds"] = round(time.monotonic() - start, 1)
            document["shapes"].append(record)
            report.write_json(document, path)
        machine.release_memory()
        progress.step()
    progress.close()
    document["seconds"] = round(time.monotonic() - start, 1)
    report.write_json(document, path)
    for record in document["shapes"]:
        ours = record["competitors"]["ours"]
        if not ours.get("valid") or not ours.get("repeatable"):
            status = 1
    print(f"numbers: {path}")
    finish(document, path, plots=not options.no_plot)
    return status


def finish(document: dict[str, Any], path: pathlib.Path, plots: bool) -> None:
    """Plots and prints a result, into files beside ``path`` that are called alike."""
    stem = path.name.partition(".json")[0]
    # They are of an NVIDIA card.
    is_amd = str(document["machine"].get("driver", "")).startswith("HIP")
    recorded = {} if is_amd else load_recorded(RECORDED)
    if plots:
        try:
            report.plot(document, recorded, path.parent, stem)
        except ImportError as error:
            print(f"note: no plot, {error}; --report draws it elsewhere")
    text = report.text_report(document, recorded)
    (path.parent / f"{stem}.txt").write_text(text + "\n")
    print(text)


def main(arguments: list[str]) -> int:
    """Runs the command line; the exit code is 0 if ours was right everywhere."""
    if arguments[:1] == ["--warm-compile"]:
        return warm_compile([parse_shape(text) for text in arguments[1].split(",")])
    options = parse_arguments(arguments)
    if options.report:
        try:
            document = report.read_json(options.report)
        except (OSError, ValueError) as error:
            return fail(str(error))
        folder = options.out or options.report.parent
        folder.mkdir(parents=True, exist_ok=True)
        finish(document, folder / options.report.name, plots=not options.no_plot)
        return 0
    if options.compile_to:
        progress = Progress(len(options.shapes) + (options.emit == "hsaco"))

        def say(text: str) -> None:
            progress.say(text)
            progress.step()

        try:
            our_kernels.compile_folder(options.shapes, options.chip, options.emit,
                                    options.compile_to, options.pipeline_options, say)
        except our_kernels.KernelError as error:
            return fail(str(error))
        finally:
            progress.close()
        return 0
    return run(options)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
