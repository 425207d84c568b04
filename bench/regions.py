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
one at a time has the GPU.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import functools
import itertools
import json
import lzma
import math
import pathlib
import random
import re
import statistics
import sys
import time
from collections.abc import Iterator
from typing import Any

SOURCE = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(SOURCE / "python"))

import torch  # noqa: E402
from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402

from lnbwd_bench import processes, results, timing  # noqa: E402
from lnbwd_bench.patterns import Pattern, expected, faults, graph_of, inputs_of, is_scatter  # noqa: E402

_ROTATED_BYTES, _REPETITIONS = 200e6, 15
"""Inputs rotate through as many bytes, more than a cache has."""

_LARGE = 1 << 27
"""Elements of an input of patterns that one process has: few fit a GPU's memory at once."""


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
    """The kind of each fused node of a scheduled graph, and the reason without a row program."""
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


# time ---------------------------------------------------------------------------------------------


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
    """Prepares a process."""
    torch.set_grad_enabled(False)
    processes.prepare_inductor(file)


def timed(pattern: Pattern, file: pathlib.Path) -> dict[str, Any]:
    """The medians of a pattern's times, in microseconds, and what is wrong with the results."""
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
    calls = {name: torch.compile(module, backend=backend, fullgraph=True, dynamic=False)
             for name, backend in processes.BACKENDS.items()}
    for call in calls.values():
        call(*first)
    decisions = lnbwd.inductor.decisions()
    taken = {one.taken for one in decisions}
    with in_order(module.graph):  # PyTorch has compiled code for each of both.
        calls["lnbwd"](*first)
    with processes.turn(file), in_order(module.graph):
        torch.manual_seed(0)
        wrong = faults(calls["lnbwd"](*first), *expected(pattern, first))
    count = max(2, min(16, int(_ROTATED_BYTES // size) + 1))
    with processes.turn(file):
        torch.cuda.empty_cache()
        sets = [first, *(inputs_of(pattern, "cuda", seed) for seed in range(2, count + 1))]
        us = timing.time_in_graphs(GpuMachine(), {
            name: lambda slot, call=call: call(*sets[slot])  # type: ignore[misc]
            for name, call in calls.items()}, count, _REPETITIONS, size)
    return {"outcome": "part" if len(taken) == 2 else "whole" if True in taken else "left",
            "decisions": [str(one)[:200] for one in decisions], "wrong": wrong, "us": us}


def work(pattern: Pattern, file: pathlib.Path) -> dict[str, Any]:
    """Times a pattern in a process. After it the GPU is free for the next, or "is_lost" is set."""
    row: dict[str, Any] = {}
    try:
        row |= timed(pattern, file)
    except Exception as error:
        row["failure"] = f"{type(error).__name__}: {str(error)[:300]}"
    try:
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
    except RuntimeError:  # After an assertion in a kernel nothing runs in this process.
        row["is_lost"] = True
    return row


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


def time_main(options: argparse.Namespace) -> int:
    """Times patterns, and writes the rows."""
    if not torch.cuda.is_available():
        sys.exit("regions.py: error: expected a GPU, got none; capture and convert need none")
    from lnbwd_bench.machine import described_gpu

    patterns = dict(enumerate(chosen(options)))
    large = {place for place, pattern in patterns.items()
             if any(math.prod(shape) >= _LARGE for _, shape, _ in pattern["inputs"])}
    pools = [(count, {place: patterns[place] for place in patterns if (place in large) == is_large})
             for count, is_large in ((options.processes, False), (1, True))]
    found, wrong = [], []
    file = pathlib.Path(__file__)
    for row in processes.rows_of(pools, time.time() + options.seconds,
                                 functools.partial(work, file=file),
                                 functools.partial(prepare, file)):
        pattern = patterns[row["place"]]
        about = {"pattern": pattern["at"], **{key: pattern.get(key, 0) for key in (
            "model", "seen", "occurs")}}
        wrong += [f"WRONG: {pattern['at']} {pattern['model']}: {fault}"
                  for fault in (*row.get("wrong", ()), *filter(None, [row.get("failure")]))]
        if "us" in row:
            found.append({**about, **row})
            results.write(options.out, found, described_gpu())
    gains = [(row["us"]["torch"] / row["us"]["lnbwd"], row) for row in found]
    if gains:
        print(f"{len(gains)} patterns, mean {statistics.mean(gain for gain, _ in gains):.3f}, "
              f"below 0.98 {sum(gain < 0.98 for gain, _ in gains)}")
    for gain, row in sorted(gains, key=lambda one: one[0])[:20]:
        print(f"{row['pattern']} {row['model']} {row['outcome']}: {gain:.2f}, " + ", ".join(
            f"{name} {taken:.1f} us" for name, taken in row["us"].items()))
    print("\n".join(wrong) or "all results are right")
    return bool(wrong)


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    capturing, converting, timing_ = map(commands.add_parser, ("capture", "convert", "time"))
    capturing.add_argument("models", nargs="*", metavar="MODEL")
    capturing.add_argument("--draw", type=int, default=20, metavar="N", help="so many models")
    capturing.add_argument("--known", type=pathlib.Path, nargs="+", default=[results.PATTERNS],
                           metavar="FILE", help="patterns to leave out")
    capturing.add_argument("--pointwise", action="store_true", help="nodes without reductions too")
    converting.add_argument("patterns", type=pathlib.Path, nargs="?", default=results.FUSED_NODES)
    timing_.add_argument("--patterns", type=pathlib.Path, default=results.PATTERNS)
    timing_.add_argument("--only", type=int, nargs="+", help="places in the file, from 0 on")
    timing_.add_argument("--more", type=pathlib.Path, help="patterns that are in no corpus")
    timing_.add_argument("--processes", type=int, default=8)
    timing_.add_argument("--seconds", type=float, default=3600, help="begins none after these")
    for command in (capturing, converting, timing_):
        command.add_argument("--seed", type=int, default=0)
        command.add_argument("--out", type=pathlib.Path, required=command is capturing)
    for command in (converting, timing_):
        command.add_argument("--count", type=int, help="so many patterns, at random")
    options = parser.parse_args()
    run = {"capture": capture, "convert": convert, "time": time_main}
    return run[options.command](options)


if __name__ == "__main__":
    sys.exit(main())
