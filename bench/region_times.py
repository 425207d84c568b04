#!/usr/bin/env python3
# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times patterns of real models with backend="lnbwd" beside torch.compile's own kernels.

Each pattern is compiled by both, and lnbwd's results are compared with PyTorch's
in float64: the command fails if some are wrong. CUDA graphs of both, over rotating inputs, are
timed in turns. Processes compile side by side; one at a time has the GPU, to try configurations
and schedules as well. One has all large patterns. Another takes the place of one that dies.

  region_times.py [--only PLACE ...] [--processes P] [--seconds S] [--out FILE]
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import functools
import json
import math
import pathlib
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

SOURCE = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(SOURCE / "bench"), str(SOURCE / "test" / "Bench")]

import torch  # noqa: E402
from pattern_check import expected, faults, inputs_of  # noqa: E402
from torch import Tensor  # noqa: E402
from torch._inductor.runtime.triton_heuristics import CachingAutotuner  # noqa: E402
from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402

import lnbwd.inductor  # noqa: E402
from lnbwd.core.base.files import write_whole  # noqa: E402
from lnbwd.core.compile import tuning  # noqa: E402
from lnbwd.inductor import choice  # noqa: E402
from lnbwd_bench import processes, results  # noqa: E402
from lnbwd_bench.patterns import graph_of  # noqa: E402
from lnbwd_bench.random_inputs import is_scatter  # noqa: E402

# Inputs rotate through this many bytes, more than a cache has; a measurement takes this long.
_ROTATED_BYTES, _MEASURED_SECONDS, _ROUNDS = 200e6, 2e-3, 9
# Elements of an input, of which a GPU's memory holds what few processes have at once.
_LARGE = 1 << 27
BACKENDS = {"torch": "inductor", "lnbwd": "lnbwd"}


def captured(call: Callable[..., Any], sets: list[list[Tensor]]) -> torch.cuda.CUDAGraph:
    """A CUDA graph of calls on each of the sets."""
    for operands in sets:
        call(*operands)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        _outputs = [call(*operands) for operands in sets]  # Each has memory of its own.
    return graph


@contextlib.contextmanager
def in_order(graph: torch.fx.Graph) -> Iterator[None]:
    """Additions to places of a tensor come in the order of PyTorch's own: n atomic ones, in any
    order, have some sqrt(n / 6) roundings that are no region's, and must not hide what is."""
    torch.use_deterministic_algorithms(any(map(is_scatter, graph.nodes)), warn_only=True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(False)


def timed(pattern: dict[str, Any], file: pathlib.Path) -> dict[str, Any]:
    """The medians of a pattern's times, in microseconds, and what is wrong with the results."""
    with FakeTensorMode():
        module = graph_of(pattern, "cuda")
    for node in module.graph.nodes:
        node.meta.clear()
    with processes.turn(file):
        first = inputs_of(pattern, "cuda")
    size = sum(max(operand.untyped_storage().nbytes(), 1) for operand in first)
    count = max(2, min(16, int(_ROTATED_BYTES // size) + 1))
    repetitions = max(2, int(_MEASURED_SECONDS / (count * (size / 3e12 + 4e-6))))
    calls = {}
    torch._dynamo.reset()
    lnbwd.inductor.decisions(clear=True)
    for name, backend in BACKENDS.items():
        calls[name] = torch.compile(module, backend=backend, fullgraph=True, dynamic=False)
        calls[name](*first)
    taken = {one.taken for one in lnbwd.inductor.decisions()}
    outcome = "part" if len(taken) == 2 else "whole" if True in taken else "left"
    with in_order(module.graph):  # PyTorch has compiled code for each of both.
        calls["lnbwd"](*first)
    with processes.turn(file), in_order(module.graph):
        torch.manual_seed(0)
        wrong = faults(calls["lnbwd"](*first), *expected(pattern, first))
    with processes.turn(file):
        torch.cuda.empty_cache()
        sets = [first, *(inputs_of(pattern, "cuda", seed) for seed in range(2, count + 1))]
        graphs = [captured(call, sets) for call in calls.values()]
        times: dict[str, list[float]] = {name: [] for name in calls}
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        for number in range(_ROUNDS):
            for name, graph in sorted(zip(times, graphs, strict=True), reverse=bool(number % 2),
                                      key=lambda pair: pair[0]):
                graph.replay()
                start.record()
                for _ in range(repetitions):
                    graph.replay()
                end.record()
                torch.cuda.synchronize()
                times[name].append(start.elapsed_time(end) * 1e3 / repetitions / count)
        return {"us": {name: statistics.median(values) for name, values in times.items()},
                "outcome": outcome, "wrong": wrong}


def prepare(file: pathlib.Path) -> None:
    """What a process does first."""
    torch._inductor.config.fx_graph_cache = False
    torch._inductor.config.compile_threads = 1
    torch.set_grad_enabled(False)
    processes.take_turns(file, (CachingAutotuner, "autotune_to_one_config"), (tuning, "measure"),
                         (choice, "time_calls"))


def recovered(row: dict[str, Any]) -> dict[str, Any]:
    """The result of a pattern, after which the GPU is free for the next, or "is_lost" is set."""
    try:
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
    except RuntimeError:  # After an assertion in a kernel nothing runs in this process.
        row["is_lost"] = True
    return row


def work(pattern: dict[str, Any], file: pathlib.Path) -> dict[str, Any]:
    """What a process does for a pattern."""
    row: dict[str, Any] = {}
    try:
        row |= timed(pattern, file)
    except Exception as error:
        row["failure"] = f"{type(error).__name__}: {str(error)[:300]}"
    return recovered(row)


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--patterns", type=pathlib.Path, default=results.PATTERNS)
    parser.add_argument("--only", type=int, nargs="+", help="places in the file, from 0 on")
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=3600, help="begins no pattern after these")
    parser.add_argument("--out", type=pathlib.Path, help="JSON for the dashboard")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        parser.error("expected a GPU, got none; fused_nodes.py convert needs none")
    patterns = dict(enumerate(map(json.loads, results.patterns(options.patterns))))
    small, large = ({place: patterns[place] for place in options.only or patterns
                     if any(math.prod(shape) >= _LARGE for _, shape, _ in patterns[place]["inputs"])
                     == is_large}
                    for is_large in (False, True))
    rows = []
    for row in processes.rows_of(
            [(options.processes, small), (1, large)], time.time() + options.seconds,
            functools.partial(work, file=options.patterns),
            functools.partial(prepare, options.patterns)):
        row["model"] = patterns[row["place"]]["model"]
        rows.append(row)
        rows.sort(key=lambda row: row["place"])
        if options.out:
            write_whole(options.out, json.dumps({
                "date": datetime.date.today().isoformat(),
                "command": [pathlib.Path(sys.argv[0]).name, *sys.argv[1:]],
                "machine": {"name": torch.cuda.get_device_name(), "torch": torch.__version__},
                "results": rows}, indent=1) + "\n")
        if (times := row.get("us")):
            print(f"{row['place']:4} {row['model']:40.40} {row['outcome']:5} {times['torch']:9.2f} "
                  f"{times['lnbwd']:9.2f} us", flush=True)
    wrong = [f"WRONG: {row['place']} {row['model']}: {fault}" for row in rows
             for fault in (*row.get("wrong", ()), *filter(None, [row.get("failure")]))]
    print("\n".join(wrong) or "all results are right")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
