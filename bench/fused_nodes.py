#!/usr/bin/env python3
# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times nodes that Inductor fuses: our row programs beside Triton's kernels.

The steps, of which only the last needs a GPU:

  fused_nodes.py capture MODEL ... --out PATTERNS    what each fused node of models computes, with
                                                     reductions or without, as graphs of ATen
  fused_nodes.py convert PATTERNS --out CALLS [--counts FILE]
                                                     each graph fused again by Inductor's scheduler
                                                     for a GPU, and its nodes as row programs; how
                                                     many are converted, for the dashboard
  fused_nodes.py check CALLS                         row programs, computed by PyTorch's operations,
                                                     against float64
  fused_nodes.py time CALLS [--out FILE]             row programs beside torch.compile of the graph,
                                                     with Inductor's own options and with those of
                                                     our scheduling class; results against float64
"""

from __future__ import annotations

import argparse
import collections
import copy
import datetime
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
import unittest.mock
from collections.abc import Callable
from typing import Any

SOURCE = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(SOURCE / part) for part in ("python", "bench", "test/python", "test/Bench")]

import torch  # noqa: E402
from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402

from lnbwd_bench import patterns, processes  # noqa: E402

Pattern = dict[str, Any]

_LARGE = 8_000_000
"""Bytes of inputs from which a kernel takes longer than a launch."""

OTHER_LENGTH = 8192
"""Elements of a row where no sum says what a row is, which are tried as well."""


def _read(file: pathlib.Path) -> list[Pattern]:
    text = file.read_bytes()
    return [json.loads(line) for line in (
        lzma.decompress(text) if file.suffix == ".xz" else text).splitlines()]


def _write(file: pathlib.Path, rows: list[Pattern]) -> None:
    text = "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows).encode()
    file.write_bytes(lzma.compress(text) if file.suffix == ".xz" else text)


# --------------------------------------------------------------------------------------------------
# Capture
# --------------------------------------------------------------------------------------------------


def capture(models: list[str], out: pathlib.Path) -> None:
    """Writes the patterns of models of transformers and timm."""
    import region_capture

    region_capture.patterns_of = functools.partial(
        region_capture.patterns_of, reductions_only=False)
    region_capture.pretend_gpu()
    if any(name[0].islower() for name in models):
        _library = region_capture.define_missing_names()
    made: dict[str, Pattern] = {}
    for name, mode in itertools.product(models, region_capture.MODES):
        if name[0].islower() and "float32" not in mode:
            mode += " channels-last"
        try:
            found = region_capture.capture_published(name, mode)
        except Exception as error:  # Whatever a model does: the others go on.
            print(f"left out: {name} {mode}: {error!r:.160}", flush=True)
            continue
        for pattern in found:
            if all(target.split(".")[0] in ("aten", "prims", "getitem")
                   for target, *_ in pattern["nodes"]):
                one = made.setdefault(region_capture.key_of(pattern), pattern)
                one["occurs"] = one.get("occurs", 0) + 1
        print(f"{name} {mode}: {len(found)} nodes, {len(made)} patterns so far", flush=True)
        _write(out, [*made.values()])


# --------------------------------------------------------------------------------------------------
# Conversion
# --------------------------------------------------------------------------------------------------


def _encoded(calls: Any) -> list[dict[str, Any]]:
    return [{"program": call.program.text(), "numbers": call.numbers, "arguments": [
        [one.buffer, one.offset, one.count] for one in call.arguments]} for call in calls]


def _calls_of_graph(graph: Any) -> dict[str, Any]:
    """The fused nodes of a graph as calls, with the buffers that they have."""
    from torch._inductor import ir
    from torch._inductor.virtualized import V

    from lnbwd.inductor import converter, scheduling
    from lnbwd.inductor import torch_internals as internals
    from lnbwd.inductor.places import NotConvertible

    nodes: list[dict[str, Any]] = []
    buffers, outputs = dict[str, Any](), list[Any]()
    for node in graph.scheduler.nodes:
        if node.is_extern() or node.is_template() or not hasattr(node, "get_nodes"):
            nodes.append({"reason": "calls a product, a convolution or attention"})
            continue
        kinds = sorted({"reduction" if one.is_reduction() else "pointwise"
                        for one in node.get_nodes()})
        kind = ("mix-order" if "MixOrder" in type(node).__name__ else
                "reduction" if "reduction" in kinds else "pointwise")
        try:
            calls = scheduling.calls_of(internals.scheduled(node))
            nodes.append({"kind": kind, "calls": _encoded(calls)})
            if kind == "pointwise":
                with unittest.mock.patch.object(converter, "USUAL_LENGTH", OTHER_LENGTH):
                    other = _encoded(scheduling.calls_of(internals.scheduled(node)))
                if other != nodes[-1]["calls"]:
                    nodes[-1]["other"] = other
        except NotConvertible as error:
            nodes.append({"kind": kind, "reason": str(error)})
            continue
        for argument in (one for call in calls for one in call.arguments):
            layout: Any = internals.layout_of(argument.buffer)
            dtype = str(internals.dtype_of(argument.buffer)).removeprefix("torch.")
            buffers[argument.buffer] = [dtype, *(list(map(int, part)) for part in layout[:2])]
    for out in V.graph.graph_outputs:
        if isinstance(out, ir.IRNode) and out.has_tensor_output():
            layout = out.get_layout()
            outputs.append([internals.memory_name(out.get_name()), *(
                list(map(int, numbers)) for numbers in (layout.size, layout.stride)),
                int(layout.offset)])
        else:
            outputs.append(None)
    return {"fused": nodes, "buffers": buffers, "given": [*V.graph.graph_inputs],
            "results": outputs}


def converted(pattern: Pattern) -> dict[str, Any]:
    """What Inductor's scheduler makes of a pattern on a GPU, as row programs."""
    from torch._inductor.virtualized import V

    import region_capture

    torch._dynamo.reset()
    found: list[dict[str, Any]] = []

    def keep(graph: Any, _: str) -> list[Pattern]:
        with V.set_graph_handler(graph):
            found.append(_calls_of_graph(graph))
        return []

    region_capture.patterns_of = keep
    with FakeTensorMode(allow_non_fake_inputs=True):
        module = patterns.graph_of(pattern, "cuda")
        inputs = [node.meta["val"] for node in module.graph.find_nodes(op="placeholder")]
        for node in module.graph.nodes:
            node.meta.clear()
        with torch.no_grad():  # Not torch.compile, which has inputs in the order of their uses.
            region_capture.Capture("pattern")(module, inputs)(*inputs)
    [one] = found
    return one


def convert(rows: list[Pattern], out: pathlib.Path) -> list[dict[str, Any]]:
    """Writes patterns with their calls, and prints what was converted. Returns the numbers of nodes
    of each kind."""
    import region_capture

    region_capture.pretend_gpu()
    made, counts = [], collections.Counter[tuple[str, str]]()
    reasons: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for place, pattern in enumerate(rows):
        try:
            row = {**pattern, **converted(pattern), "place": place}
        except Exception as error:
            print(f"{place} {pattern['model']}: {type(error).__name__}: {error!s:.200}",
                  flush=True)
            continue
        for node in row["fused"]:
            if kind := node.get("kind"):
                weight = pattern.get("occurs", 1)
                counts[kind, "all"] += 1
                counts[kind, "occurring"] += weight
                counts[kind, "converted"] += "calls" in node
                counts[kind, "converted, occurring"] += weight * ("calls" in node)
                if "reason" in node:
                    reasons[kind][re.sub(r"\b\d[\d, ]*\b", "#", node["reason"])] += 1
        made.append(row)
    _write(out, made)
    kinds = sorted({kind for kind, _ in counts})
    for kind in kinds:
        print(f"{kind}: {counts[kind, 'converted']} of {counts[kind, 'all']} converted; by "
              f"occurrence {counts[kind, 'converted, occurring']} of {counts[kind, 'occurring']}")
        for reason, count in reasons[kind].most_common():
            print(f"  {count:4} {reason}")
    return [{"kind": kind, "nodes": counts[kind, "all"], "converted": counts[kind, "converted"]}
            for kind in kinds]


# --------------------------------------------------------------------------------------------------
# Results and times
# --------------------------------------------------------------------------------------------------


def is_whole(row: Pattern) -> bool:
    """Whether all that a pattern computes is row programs."""
    return bool(row["fused"]) and all(row["results"]) and all(
        "calls" in node for node in row["fused"]) and len(row["given"]) == len(row["inputs"])


def caller(row: Pattern, device: str, which: str = "calls") -> Callable[..., list[torch.Tensor]]:
    """A function that computes a pattern by its row programs, or by ``other`` ones."""
    from lnbwd.ops.regions import region_call

    calls = [call for node in row["fused"] for call in node.get(which, node["calls"])]
    functions = [region_call(call["program"], device) for call in calls]
    given = set(row["given"])

    def run(*inputs: torch.Tensor) -> list[torch.Tensor]:
        tensors = dict(zip(row["given"], inputs, strict=True))
        for name, (dtype, size, stride) in row["buffers"].items():
            if name not in given:
                tensors[name] = torch.empty_strided(size, stride, dtype=getattr(torch, dtype),
                                                    device=device)
        for function, call in zip(functions, calls, strict=True):
            function(*call["numbers"], *(
                torch.as_strided(tensors[name], (count,), (1,),
                                 tensors[name].storage_offset() + offset)
                for name, offset, count in call["arguments"]))
        return [tensors[name].as_strided(size, stride, tensors[name].storage_offset() + offset)
                for name, size, stride, offset in row["results"]]

    return run


def check(file: pathlib.Path, options: argparse.Namespace) -> int:
    """Computes what is whole and not too large by PyTorch's operations."""
    from pattern_check import expected, faults, inputs_of

    counts = {"right": 0, "wrong": 0}
    for place, row in _chosen(file, options).items():
        try:
            inputs = inputs_of(row)
            eager, exact = expected(row, inputs)
            found = []
            for which in ("calls", "other"):
                torch.manual_seed(0)
                found += faults(caller(row, "cpu", which)(*copy.deepcopy(inputs)), eager, exact)
        except Exception as error:
            found = [f"{type(error).__name__}: {error!s:.200}"]
        counts["wrong" if found else "right"] += 1
        for fault in found:
            print(f"WRONG: {place} {row['model']}: {fault}", flush=True)
    print(", ".join(f"{count} {what}" for what, count in counts.items()))
    return counts["wrong"] > 0


def _elements(row: Pattern) -> int:
    """The elements of all tensors of a pattern."""
    return sum(math.prod(size) for _, size, _ in [*row["inputs"], *row["buffers"].values()])


def _chosen(file: pathlib.Path, options: argparse.Namespace) -> dict[int, Pattern]:
    """Patterns that are whole, some of them at random."""
    rows = {place: row for place, row in enumerate(_read(file)) if is_whole(row) and (
        options.most is None or _elements(row) <= options.most)}
    chosen = options.only or random.Random(options.seed).sample(
        sorted(rows), min(options.count, len(rows)))
    return {place: rows[place] for place in chosen}


def timed(row: Pattern, file: pathlib.Path, loosened: bool) -> dict[str, Any]:
    """The medians of a pattern's times, in microseconds, and what is wrong with the results."""
    from pattern_check import expected, faults, inputs_of

    import region_times

    with FakeTensorMode():
        module = patterns.graph_of(row, "cuda")
    for node in module.graph.nodes:
        node.meta.clear()
    with processes.turn(file):
        first = inputs_of(row, "cuda")
    size = sum(max(operand.untyped_storage().nbytes(), 1) for operand in first)
    count = max(2, min(16, int(region_times._ROTATED_BYTES // size) + 1))
    repetitions = max(2, int(region_times._MEASURED_SECONDS / (count * (size / 3e12 + 4e-6))))
    ours = caller(row, f"cuda:{torch.cuda.current_device()}")
    calls: dict[str, Any] = {"rows": ours}
    if any("other" in node for node in row["fused"]):
        calls["other"] = caller(row, f"cuda:{torch.cuda.current_device()}", "other")
    torch._dynamo.reset()
    calls["torch"] = torch.compile(module, fullgraph=True, dynamic=False)
    if loosened:
        from torch._inductor import config
        known = config.get_config_copy()
        options: dict[str, Any] = {name: value for name, value in {
            "split_reductions": False, "online_softmax": False,
            "triton.mix_order_reduction_non_strict_mode": True}.items() if name in known}
        calls["loosened"] = torch.compile(module, fullgraph=True, dynamic=False, options=options)
    for call in calls.values():
        call(*first)
    with processes.turn(file), region_times.in_order(module.graph):
        torch.manual_seed(0)
        wrong = faults(ours(*first), *expected(row, first))
    with processes.turn(file):
        torch.cuda.empty_cache()
        sets = [first, *(inputs_of(row, "cuda", seed) for seed in range(2, count + 1))]
        graphs = {name: region_times.captured(call, sets) for name, call in calls.items()}
        times: dict[str, list[float]] = {name: [] for name in calls}
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        for number in range(region_times._ROUNDS):
            for name in sorted(graphs, reverse=bool(number % 2)):
                graphs[name].replay()
                start.record()
                for _ in range(repetitions):
                    graphs[name].replay()
                end.record()
                torch.cuda.synchronize()
                times[name].append(start.elapsed_time(end) * 1e3 / repetitions / count)
        return {"us": {name: statistics.median(values) for name, values in times.items()},
                "wrong": wrong, "bytes": size}


def _prepare(file: pathlib.Path) -> None:
    """What a process does first."""
    from torch._inductor.runtime.triton_heuristics import CachingAutotuner

    from lnbwd.core.compile import tuning

    torch._inductor.config.fx_graph_cache = False
    torch._inductor.config.compile_threads = 1
    torch.set_grad_enabled(False)
    processes.take_turns(file, (CachingAutotuner, "autotune_to_one_config"), (tuning, "measure"))


def _work(row: Pattern, file: pathlib.Path, loosened: bool) -> dict[str, Any]:
    """What a process does for a pattern."""
    import region_times

    result: dict[str, Any] = {}
    try:
        result |= timed(row, file, loosened)
    except Exception as error:
        result["failure"] = f"{type(error).__name__}: {str(error)[:300]}"
    return region_times.recovered(result)


def _mean(ratios: list[float], weights: list[float]) -> float:
    return math.exp(sum(w * math.log(r) for r, w in zip(ratios, weights, strict=True))
                    / sum(weights))


def summarize(rows: list[dict[str, Any]]) -> None:
    """Prints geometric means of the best of torch.compile's times over ours."""
    timed_rows = [row for row in rows if "us" in row]
    groups = {"all": timed_rows} if timed_rows else {}
    for row in timed_rows:
        groups.setdefault(row["kind"], []).append(row)
    if large := [row for row in timed_rows if row["bytes"] >= _LARGE]:
        groups[f"inputs of {_LARGE / 1e6:.0f} MB and more"] = large
    for name, group in groups.items():
        for against in ("torch", "best"):
            ratios = [(row["us"]["torch"] if against == "torch" else min(
                time for other, time in row["us"].items() if other not in ("rows", "other")))
                / row["us"]["rows"] for row in group]
            ordered = sorted(ratios)
            print(f"{name}: {len(group)} patterns, {against} over ours: mean "
                  f"{_mean(ratios, [1] * len(ratios)):.3f}, by occurrence "
                  f"{_mean(ratios, [row['occurs'] for row in group]):.3f}, below 0.98 "
                  f"{sum(r < 0.98 for r in ratios) / len(ratios):.1%}, below 0.9 "
                  f"{sum(r < 0.9 for r in ratios) / len(ratios):.1%}, least {ordered[0]:.2f}, "
                  f"median {statistics.median(ratios):.2f}")


def kind_of(row: Pattern) -> str:
    """What a pattern is mostly."""
    kinds = {node["kind"] for node in row["fused"]}
    return next(kind for kind in ("mix-order", "reduction", "pointwise") if kind in kinds)


def measure(file: pathlib.Path, options: argparse.Namespace) -> int:
    """Times what is whole, some of it at random."""
    items = _chosen(file, options)
    large = {place: row for place, row in items.items()
             if any(math.prod(shape) >= 1 << 27 for _, shape, _ in row["inputs"])}
    found = []
    for row in processes.rows_of(
            [(options.processes, {p: r for p, r in items.items() if p not in large}), (1, large)],
            time.time() + options.seconds,
            functools.partial(_work, file=file, loosened=not options.strict),
            functools.partial(_prepare, file)):
        pattern = items[row["place"]]
        row |= {"model": pattern["model"], "kind": kind_of(pattern),
                "occurs": pattern.get("occurs", 1), "nodes": len(pattern["fused"])}
        found.append(row)
        if "us" in row:
            numbers = " ".join(f"{name} {us:9.2f}" for name, us in row["us"].items())
            print(f"{row['place']:4} {row['kind']:9} {row['model']:40.40} {numbers} us",
                  flush=True)
        for fault in (*row.get("wrong", ()), *filter(None, [row.get("failure")])):
            print(f"WRONG: {row['place']} {row['model']}: {fault}", flush=True)
        if options.out:
            options.out.write_text(json.dumps({
                "machine": {"name": torch.cuda.get_device_name(), "torch": torch.__version__},
                "results": found}, indent=1) + "\n")
    summarize(found)
    return any(row.get("wrong") or row.get("failure") for row in found)


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    for name, takes in (("capture", "models"), ("convert", "file"), ("check", "file"),
                        ("time", "file")):
        command = commands.add_parser(name)
        command.add_argument(takes, nargs="+" if takes == "models" else None,
                             type=str if takes == "models" else pathlib.Path)
        command.add_argument("--out", type=pathlib.Path, required=name in ("capture", "convert"))
    of_convert = commands.choices["convert"]
    of_convert.add_argument("--most", type=int, help="so many of them, at random")
    of_convert.add_argument("--counts", type=pathlib.Path, metavar="FILE",
                            help="JSON for the dashboard: how many nodes are converted")
    for name, most in (("check", 1 << 24), ("time", 1 << 28)):
        command = commands.choices[name]
        command.add_argument("--count", type=int, default=200, help="so many of them, at random")
        command.add_argument("--seed", type=int, default=0)
        command.add_argument("--only", type=int, nargs="+", help="lines in the file, from 0 on")
        command.add_argument("--most", type=int, default=most, help="elements of all tensors")
    of_time = commands.choices["time"]
    of_time.add_argument("--processes", type=int, default=12)
    of_time.add_argument("--seconds", type=float, default=400, help="begins none after these")
    of_time.add_argument("--strict", action="store_true",
                         help="without torch.compile's times with our options")
    options = parser.parse_args()
    if options.command == "capture":
        capture(options.models, options.out)
    elif options.command == "convert":
        rows = _read(options.file)
        if options.most:
            rows = random.Random(0).sample(rows, options.most)
        counts = convert(rows, options.out)
        if options.counts:
            most = ["--most", str(options.most)] if options.most else []
            options.counts.write_text(json.dumps({
                "date": datetime.date.today().isoformat(),
                "command": ["fused_nodes.py", "convert", *most], "rows": counts}, indent=1) + "\n")
    elif options.command == "check":
        return check(options.file, options)
    else:
        if not torch.cuda.is_available():
            parser.error("expected a GPU, got none; capture and convert need none")
        return measure(options.file, options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
