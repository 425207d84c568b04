#!/usr/bin/env python3
# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Patterns that torch.compile fuses in real models: captured, converted to row programs, timed.

  regions.py capture [MODEL ...] --out PATTERNS   takes patterns out of models; needs no GPU
  regions.py convert [PATTERNS] [--out FILE]      counts the fused nodes that row programs can
                                                  compute; needs no GPU
  regions.py time [--out FILE]                    times backend="lnbwd" beside torch.compile

capture compiles models of transformers (two layers, otherwise as published) and of timm (two of
equal layers that follow each other). Each fused node with a reduction is a pattern, or each node
with --pointwise. Patterns that differ in shapes alone are taken once, with how often they occur.
Without names, models are drawn that --known has none of.

time compiles each pattern by both, times CUDA graphs of both in turns over rotating inputs, and
compares lnbwd's results with float64: it fails if some are wrong. Processes compile side by side;
one at a time has the GPU. Each GPU of CUDA_VISIBLE_DEVICES has its share of the patterns. With
--beside, processes with the package of another checkout time the same patterns, with the same
configurations of Triton's kernels.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import functools
import hashlib
import itertools
import json
import lzma
import math
import os
import pathlib
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any

SOURCE = pathlib.Path(__file__).resolve().parents[1]
if "LNBWD_BESIDE" not in os.environ:  # Another checkout's package comes by PYTHONPATH.
    sys.path.insert(0, str(SOURCE / "python"))

import torch  # noqa: E402
from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402

from lnbwd_bench import processes, results, timing  # noqa: E402
from lnbwd_bench.patterns import (  # noqa: E402
    Pattern,
    expected,
    faults,
    graph_of,
    inputs_of,
    is_scatter,
)

BACKENDS = {"torch": "inductor", "lnbwd": "lnbwd"}
_ROTATED_BYTES, _REPETITIONS = 200e6, 15
"""Inputs rotate through as many bytes, more than a cache has."""

_MOST_MS = 6.0
"""A pattern that takes longer keeps the GPU for others' share of time, and is skipped beside
another checkout."""

_LARGE = 1 << 27
"""Elements of an input of patterns that one process has: few fit a GPU's memory at once."""

_GRACE_SECONDS = 40.0
"""How much longer the patterns may take that are begun last."""


# capture ------------------------------------------------------------------------------------------


def draw_models(count: int, seed: int, known: set[str]) -> list[str]:
    """Models of transformers and, in turns, of timm that are not known."""
    import timm
    from transformers.models.auto import modeling_auto as auto
    tokens = sorted({name for task in ("CAUSAL_LM", "MASKED_LM", "SEQ_TO_SEQ_CAUSAL_LM")
                     for name in getattr(auto, f"MODEL_FOR_{task}_MAPPING_NAMES").values()
                     if isinstance(name, str)} - known)
    images = sorted({*timm.list_models()} - known)
    for names in (tokens, images):
        random.Random(seed).shuffle(names)
    return [name for pair in itertools.zip_longest(tokens, images) for name in pair if name][:count]


def capture(options: argparse.Namespace) -> int:
    """Writes the patterns of models."""
    from lnbwd_bench import capture

    old = [json.loads(line) for file in options.known for line in results.patterns(file)]
    taken = {*map(capture.key_of, old)}
    capture.pretend_gpu()
    if not options.models or any(name[0].islower() for name in options.models):
        _library = capture.define_missing_names()
    models = options.models or draw_models(
        options.draw, options.seed, {pattern["model"].split()[0] for pattern in old})
    made: dict[str, Pattern] = {}
    for name, mode in itertools.product(models, capture.MODES):
        if name[0].islower() and "float32" not in mode:
            mode += " channels-last"
        try:
            found = [(capture.key_of(pattern), pattern) for pattern in capture.capture_published(
                name, mode, options.pointwise)]
        except Exception as error:  # Whatever a model does: the others go on.
            print(f"left out: {name} {mode}: {error!r:.160}", flush=True)
            continue
        new = {key: pattern for key, pattern in found if key not in taken and all(
            name.split(".")[0] in ("aten", "prims", "getitem") for name, *_ in pattern["nodes"])}
        made |= new
        taken |= {key for key, _ in found}
        for key, _ in found:
            if key in made:
                made[key]["occurs"] = made[key].get("occurs", 0) + 1
        print(f"{name} {mode}: {len(dict(found))} patterns, {len(new)} new", flush=True)
        options.out.write_bytes(lzma.compress("".join(
            json.dumps(pattern, separators=(",", ":")) + "\n" for pattern in made.values()
        ).encode(), preset=9))
    return 0


# convert ------------------------------------------------------------------------------------------


def converted_nodes(graph: Any) -> Iterator[dict[str, Any]]:
    """The kind of each fused node of a scheduled graph, and the reason if no row program computes
    it."""
    from lnbwd.inductor import scheduling
    from lnbwd.inductor.places import NotConvertible
    from lnbwd.program.torch_internals.graph import scheduled

    for node in graph.scheduler.nodes:
        if node.is_extern() or node.is_template() or not hasattr(node, "get_nodes"):
            continue  # A product, a convolution or attention.
        kind = ("mix-order" if "MixOrder" in type(node).__name__ else "reduction" if any(
            one.is_reduction() for one in node.get_nodes()) else "pointwise")
        try:
            scheduling.calls_of(scheduled(node))
            yield {"kind": kind}
        except NotConvertible as error:
            yield {"kind": kind, "reason": str(error)}


def converted(pattern: Pattern) -> list[dict[str, Any]]:
    """The nodes that Inductor's scheduler makes of a pattern on a GPU."""
    from lnbwd_bench.capture import Capture

    torch._dynamo.reset()
    capture = Capture(converted_nodes)
    with FakeTensorMode(allow_non_fake_inputs=True):
        module = graph_of(pattern, "cuda")
        inputs = [node.meta["val"] for node in module.graph.find_nodes(op="placeholder")]
        for node in module.graph.nodes:
            node.meta.clear()
        with torch.no_grad():  # Not torch.compile, which has inputs in the order of their uses.
            capture(module, inputs)(*inputs)
    return capture.found


def convert(options: argparse.Namespace) -> int:
    """Prints how many nodes of each kind are converted, and why others are not."""
    from lnbwd_bench.capture import pretend_gpu

    pretend_gpu()
    patterns = [*map(json.loads, results.patterns(options.patterns))]
    if options.count:
        patterns = random.Random(options.seed).sample(patterns, options.count)
    nodes: dict[str, list[tuple[int, str]]] = collections.defaultdict(list)
    for place, pattern in enumerate(patterns):
        try:
            for node in converted(pattern):
                nodes[node["kind"]].append((pattern.get("occurs", 1), node.get("reason", "")))
        except Exception as error:
            print(f"{place} {pattern['model']}: {type(error).__name__}: {error!s:.200}", flush=True)
    rows = []
    for kind, found in sorted(nodes.items()):
        right = [weight for weight, reason in found if not reason]
        print(f"{kind}: {len(right)} of {len(found)} converted; by occurrence {sum(right)} of "
              f"{sum(weight for weight, _ in found)}")
        for reason, count in collections.Counter(
                re.sub(r"\b\d[\d, ]*\b", "#", reason) for _, reason in found if reason
        ).most_common():
            print(f"  {count:4} {reason}")
        rows.append({"kind": kind, "nodes": len(found), "converted": len(right)})
    if options.out:
        results.write(options.out, rows)
    return 0


# time: the processes of a checkout ----------------------------------------------------------------


@contextlib.contextmanager
def in_order(graph: torch.fx.Graph) -> Iterator[None]:
    """Additions to places of a tensor come in the order of PyTorch's own: n atomic ones, in any
    order, have some sqrt(n / 6) roundings that are no region's, and must not hide what is."""
    torch.use_deterministic_algorithms(any(map(is_scatter, graph.nodes)), warn_only=True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(False)


def prepare(file: pathlib.Path) -> None:
    """Prepares a process: kernels of Triton that differ in their names alone have the configuration
    that the first one was tuned to, in either checkout."""
    tune: Any = processes.autotuner().autotune_to_one_config

    def tuned(self: Any, *arguments: Any, **named: Any) -> None:
        source = self.fn.src.replace(self.fn.__name__, "")
        launchers = {str(one.config): one for one in self.launchers}
        key = hashlib.sha256(repr((source, self.size_hints, sorted(launchers))).encode())
        kept = file.with_suffix(f".{key.hexdigest()}")
        found = launchers.get(kept.read_text()) if kept.exists() else None
        if found is not None:
            self.launchers = [found]
            return
        tune(self, *arguments, **named)
        kept.write_text(str(self.launchers[0].config))

    processes.autotuner().autotune_to_one_config = tuned
    torch.set_grad_enabled(False)
    processes.prepare_inductor(file)


def timed(pattern: Pattern, file: pathlib.Path, is_beside: bool) -> dict[str, Any]:
    """The medians of a pattern's times, in microseconds, and what is wrong with the results, which
    is not asked of another checkout's."""
    import lnbwd.inductor
    from lnbwd_bench.machine import GpuMachine

    with FakeTensorMode():
        module = graph_of(pattern, "cuda")
    for node in module.graph.nodes:
        node.meta.clear()
    with processes.turn(file):
        first = inputs_of(pattern, "cuda")
    size = sum(operand.untyped_storage().nbytes() for operand in first) or 1
    torch._dynamo.reset()
    lnbwd.inductor.decisions(clear=True)
    calls = {}
    is_other = "LNBWD_BESIDE" in os.environ
    for name, backend in BACKENDS.items():
        if is_other and name != "lnbwd":
            continue
        call = calls[name] = torch.compile(module, backend=backend, fullgraph=True, dynamic=False)
        call(*first)
        with processes.turn(file):
            torch.cuda.synchronize()
            start = time.perf_counter()
            call(*first)
            torch.cuda.synchronize()
            if is_beside and (time.perf_counter() - start) * 1e3 > _MOST_MS:
                return {"skipped": f"{name} takes more than {_MOST_MS} ms"}
    decisions = lnbwd.inductor.decisions()
    taken = {one.taken for one in decisions}
    row: dict[str, Any] = {
        "outcome": "part" if len(taken) == 2 else "whole" if True in taken else "left",
        "decisions": [str(one)[:200] for one in decisions], "wrong": []}
    if not is_other:
        with in_order(module.graph):  # PyTorch has compiled code for each of both.
            calls["lnbwd"](*first)
        with processes.turn(file), in_order(module.graph):
            torch.manual_seed(0)
            row["wrong"] = faults(calls["lnbwd"](*first), *expected(pattern, first))
    count = max(2, min(16, int(_ROTATED_BYTES // size) + 1))
    with processes.turn(file):
        torch.cuda.empty_cache()
        sets = [first, *(inputs_of(pattern, "cuda", seed) for seed in range(2, count + 1))]
        row["us"] = timing.time_in_graphs(GpuMachine(), {
            name: lambda slot, call=call: call(*sets[slot])  # type: ignore[misc]
            for name, call in calls.items()}, count, _REPETITIONS, size)
    return row


def work(pattern: Pattern, file: pathlib.Path, is_beside: bool) -> dict[str, Any]:
    """Times a pattern in a process. After it the GPU is free for the next, or "is_lost" is set."""
    row: dict[str, Any] = {}
    try:
        row |= timed(pattern, file, is_beside)
    except Exception as error:
        row["failure"] = f"{type(error).__name__}: {str(error)[:300]}"
    try:
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
    except RuntimeError:  # After an assertion in a kernel nothing runs in this process.
        row["is_lost"] = True
    return row


def measure(options: argparse.Namespace) -> int:
    """Times the patterns of one checkout on one GPU, and writes a row for each."""
    patterns = dict(enumerate(json.loads(options.patterns.read_text())))
    large = {place for place, pattern in patterns.items()
             if any(math.prod(shape) >= _LARGE for _, shape, _ in pattern["inputs"])}
    turns = options.patterns.with_suffix(".turns")
    turns.touch()
    pools = [(count, {place: patterns[place] for place in patterns if (place in large) == is_large})
             for count, is_large in ((options.processes, False), (1, True))]
    with options.out.open("w") as out:
        for row in processes.rows_of(
                pools, time.time() + options.seconds,
                functools.partial(work, file=turns, is_beside=options.is_beside),
                functools.partial(prepare, turns)):
            print(json.dumps(row), file=out, flush=True)
    return 0


# time: the command --------------------------------------------------------------------------------


def chosen(options: argparse.Namespace) -> list[Pattern]:
    """The patterns of the file, those that were asked for, or so many at random: half of models
    of the training set, half of the held-out set, of these a half from --more."""
    corpus = [{"seen": True, **json.loads(line), "at": place}
              for place, line in enumerate(results.patterns(options.patterns))]
    own = [{**json.loads(line), "seen": False, "at": f"new{place}"} for place, line in enumerate(
        results.patterns(options.more) if options.more else ())]
    if options.only or not options.count:
        return [corpus[place] for place in options.only or range(len(corpus))]
    source, count = random.Random(options.seed), options.count
    seen, unseen = ([one for one in corpus if one["seen"] == is_seen] for is_seen in (True, False))
    of_own = min(len(own), count // 4)
    patterns = (source.sample(seen, count - count // 2) + source.sample(own, of_own)
                + source.sample(unseen, count // 2 - of_own))
    source.shuffle(patterns)
    return patterns


def started(checkout: pathlib.Path, is_other: bool, patterns: pathlib.Path, out: pathlib.Path,
            gpu: str, options: argparse.Namespace) -> subprocess.Popen[bytes]:
    """The processes of a checkout on a GPU."""
    return subprocess.Popen(
        [sys.executable, __file__, "measure", str(patterns), "--out", str(out), "--processes",
         str(options.processes), "--seconds", str(options.seconds),
         *["--is-beside"] * bool(options.beside)], start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(checkout / "python"), "CUDA_VISIBLE_DEVICES": gpu,
             "OMP_NUM_THREADS": "2", "LNBWD_CACHE_DIR": f"{out}.kernels",
             # What Triton's kernels are tuned to, both have.
             "TORCHINDUCTOR_CACHE_DIR": f"{patterns}.inductor",
             **({"LNBWD_BESIDE": "1"} if is_other else {})})


def read(file: pathlib.Path) -> dict[int, dict[str, Any]]:
    """Rows by their places; of a process that was killed the last line may be none."""
    lines = file.read_text().splitlines(keepends=True) if file.exists() else []
    return {row["place"]: row for row in map(json.loads, (
        line for line in lines if line.endswith("\n")))}


def merged(patterns: list[Pattern], now: dict[int, dict[str, Any]],
           before: dict[int, dict[str, Any]] | None) -> Iterator[dict[str, Any]]:
    """The rows of this checkout, with the times of the other one if there is one."""
    for place, row in sorted(now.items()):
        if "us" in row and (before is None or "us" in before.get(place, {})):
            pattern = patterns[place]
            yield {"pattern": pattern["at"], "model": pattern["model"], "seen": pattern["seen"],
                   "occurs": pattern.get("occurs", 0), **{key: row[key] for key in (
                       "outcome", "us", "wrong", "decisions")},
                   **({"before_us": {**row["us"], **before[place]["us"]}} if before else {})}


def time_main(options: argparse.Namespace) -> int:
    """Times on all GPUs, and writes the rows."""
    if not torch.cuda.is_available():
        sys.exit("regions.py: error: expected a GPU, got none; capture and convert need none")
    patterns = chosen(options)
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    gpus = visible.split(",") if visible else list(map(str, range(torch.cuda.device_count())))
    checkouts = {"now": SOURCE, **({"before": options.beside.resolve()} if options.beside else {})}
    found, wrong = [], []
    last = time.time() + options.seconds + _GRACE_SECONDS
    with tempfile.TemporaryDirectory(prefix="regions-") as folder:
        runs = []
        for number, gpu in enumerate(gpus):
            mine = patterns[number::len(gpus)]
            file = pathlib.Path(folder) / f"{gpu}.json"
            file.write_text(json.dumps(mine))
            runs.append((mine, [(file.with_suffix(f".{of}"), started(
                checkout, of == "before", file, file.with_suffix(f".{of}"), gpu, options))
                for of, checkout in checkouts.items()]))
        for mine, children in runs:
            for _, child in children:
                try:
                    child.wait(max(0.0, last - time.time()))
                except subprocess.TimeoutExpired:
                    os.killpg(child.pid, signal.SIGKILL)
                    child.wait()
            rows = [read(out) for out, _ in children]
            wrong += [f"WRONG: {mine[place]['at']} {mine[place]['model']}: {fault}"
                      for of_one in rows for place, row in of_one.items()
                      for fault in (*row.get("wrong", ()), *filter(None, [row.get("failure")]))]
            found += merged(mine, rows[0], rows[1] if options.beside else None)
    if options.out:
        from lnbwd_bench.machine import described_gpu
        results.write(options.out, found, described_gpu())
    for name in ("before_us", "us"):
        gains = [(row["us"]["torch"] / row[name]["lnbwd"], row["occurs"]) for row in found
                 if name in row]
        if gains:
            ratios = [gain for gain, _ in gains]
            weighted = [gain for gain, occurs in gains for _ in range(occurs)]
            print(f"{name}: {len(gains)} patterns, mean {statistics.mean(ratios):.3f}, by "
                  f"occurrence {statistics.mean(weighted or ratios):.3f}, below 0.98 "
                  f"{sum(gain < 0.98 for gain in ratios)}, below 0.90 "
                  f"{sum(gain < 0.9 for gain in ratios)}")
    for row in sorted(found, key=lambda row: row["us"]["torch"] / row["us"]["lnbwd"])[:20]:
        print(f"{row['pattern']} {row['model']} {row['outcome']}: " + ", ".join(
            f"{name} {taken:.1f} us" for name, taken in (
                *row["us"].items(), *(("before", us["lnbwd"]) for us in [row.get("before_us")]
                                      if us))))
    print("\n".join(wrong) or "all results are right")
    return bool(wrong)


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    capturing, converting, timing_, measuring = (commands.add_parser(name) for name in (
        "capture", "convert", "time", "measure"))
    capturing.add_argument("models", nargs="*", metavar="MODEL")
    capturing.add_argument("--draw", type=int, default=20, metavar="N", help="so many models")
    capturing.add_argument("--known", type=pathlib.Path, nargs="+", default=[results.PATTERNS],
                           metavar="FILE", help="patterns to leave out")
    capturing.add_argument("--pointwise", action="store_true", help="nodes without reductions too")
    converting.add_argument("patterns", type=pathlib.Path, nargs="?", default=results.FUSED_NODES)
    timing_.add_argument("--patterns", type=pathlib.Path, default=results.PATTERNS)
    timing_.add_argument("--only", type=int, nargs="+", help="places in the file, from 0 on")
    timing_.add_argument("--more", type=pathlib.Path, help="patterns that are in no corpus")
    timing_.add_argument("--beside", type=pathlib.Path, metavar="OTHER", help="a checkout whose "
                         "package has the same folders, with its libraries beside it")
    measuring.add_argument("patterns", type=pathlib.Path)
    measuring.add_argument("--is-beside", action="store_true")
    for command in (timing_, measuring):
        command.add_argument("--processes", type=int, default=8, help="of each checkout and GPU")
        command.add_argument("--seconds", type=float, default=3600, help="begins none after these")
    for command in (capturing, converting, timing_):
        command.add_argument("--seed", type=int, default=0)
    for command in (converting, timing_):
        command.add_argument("--count", type=int, help="so many patterns, at random")
    for command in (capturing, converting, timing_, measuring):
        command.add_argument("--out", type=pathlib.Path, required=command is capturing)
    options = parser.parse_args()
    run = {"capture": capture, "convert": convert, "time": time_main, "measure": measure}
    return run[options.command](options)


if __name__ == "__main__":
    sys.exit(main())
