#!/usr/bin/env python3
# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times patterns of real models with backend="lnbwd" of two checkouts, and with torch.compile.

Each checkout has processes of its own, which compile side by side; one at a time has the GPU. Every
pattern is timed by both, beside the same kernels of torch.compile, which this checkout compiles.
Kernels of Triton that differ in their names alone have the configuration that the first was tuned
to. The patterns are drawn by a seed: half of them of models that were looked at, half of others. To
each GPU of CUDA_VISIBLE_DEVICES comes its share of them.

  region_compare.py OTHER --out FILE [--seed S] [--count N] [--more PATTERNS] [--processes P]
                    [--seconds T]

FILE is for `dashboard.py take regions`. OTHER is a checkout with its libraries beside it, or
LNBWD_LIBRARY_DIR says where these are.
"""

from __future__ import annotations

import argparse
import datetime
import functools
import hashlib
import json
import lzma
import os
import pathlib
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any

SOURCE = pathlib.Path(__file__).resolve().parents[1]
_MOST_MS, _ROUNDS = 6.0, 9
"""A pattern that takes longer is skipped: it would keep the GPU for others' share of time."""

_GRACE_SECONDS = 40.0
"""How much longer the patterns may take that are begun last."""

Pattern = dict[str, Any]


def drawn(seed: int, count: int, more: pathlib.Path | None) -> list[Pattern]:
    """Patterns in a random order: half of models that were looked at, half of others, of these a
    half from a file of patterns that are in no corpus, if there is one."""
    from lnbwd_bench import results

    corpus = [{**json.loads(line), "at": place} for place, line in enumerate(results.patterns())]
    own = [] if more is None else [
        {**json.loads(line), "at": f"new{place}", "seen": False}
        for place, line in enumerate(lzma.decompress(more.read_bytes()).splitlines())]
    source = random.Random(seed)
    seen = [one for one in corpus if one.get("seen", True)]
    unseen = [one for one in corpus if not one.get("seen", True)]
    of_own = min(len(own), count // 4)
    chosen = (source.sample(seen, count - count // 2) + source.sample(own, of_own)
              + source.sample(unseen, count // 2 - of_own))
    source.shuffle(chosen)
    return chosen


# --------------------------------------------------------------------------------------------------
# What the processes of a checkout do
# --------------------------------------------------------------------------------------------------


def prepare(file: pathlib.Path) -> None:
    """What a process does first: kernels are tuned once."""
    from torch._inductor.runtime.triton_heuristics import CachingAutotuner

    import region_times

    tune: Any = CachingAutotuner.autotune_to_one_config

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

    owner: Any = CachingAutotuner
    owner.autotune_to_one_config = tuned
    region_times.prepare(file)


def timed(pattern: Pattern, file: pathlib.Path, backends: dict[str, str]) -> dict[str, Any]:
    """The medians of a pattern's times, in microseconds."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode

    import lnbwd.inductor
    import region_times
    from lnbwd_bench import processes

    try:
        from lnbwd_bench.patterns import graph_of
    except ImportError:  # An older checkout has it there.
        from region_exam import graph_of
    with FakeTensorMode():
        module = graph_of(pattern, "cuda")
    for node in module.graph.nodes:
        node.meta.clear()
    with processes.turn(file):
        first = region_times.inputs_of(pattern, "cuda")
    size = sum(max(operand.untyped_storage().nbytes(), 1) for operand in first)
    count = max(2, min(16, int(region_times._ROTATED_BYTES // size) + 1))
    repetitions = max(2, int(region_times._MEASURED_SECONDS / (count * (size / 3e12 + 4e-6))))
    torch._dynamo.reset()
    lnbwd.inductor.decisions(clear=True)
    calls = {}
    for name, backend in backends.items():
        calls[name] = torch.compile(module, backend=backend, fullgraph=True, dynamic=False)
        calls[name](*first)
        with processes.turn(file):
            torch.cuda.synchronize()
            start = time.perf_counter()
            calls[name](*first)
            torch.cuda.synchronize()
            if (time.perf_counter() - start) * 1e3 > _MOST_MS:
                return {"skipped": f"{name} takes more than {_MOST_MS} ms"}
    decisions: Any = lnbwd.inductor.decisions()  # Of an older checkout these are others.
    taken = {one.taken for one in decisions if hasattr(one, "taken")}
    row = {"outcome": "part" if len(taken) == 2 else "whole" if True in taken else "left",
           "decisions": [str(one)[:200] for one in decisions]}
    with processes.turn(file):
        torch.cuda.empty_cache()
        sets = [first, *(region_times.inputs_of(pattern, "cuda", seed)
                         for seed in range(2, count + 1))]
        graphs = {name: region_times.captured(call, sets) for name, call in calls.items()}
        times: dict[str, list[float]] = {name: [] for name in calls}
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        for number in range(_ROUNDS):
            for name in sorted(graphs, reverse=bool(number % 2)):
                graphs[name].replay()
                begin.record()
                for _ in range(repetitions):
                    graphs[name].replay()
                end.record()
                torch.cuda.synchronize()
                times[name].append(begin.elapsed_time(end) * 1e3 / repetitions / count)
    return {**row, "us": {name: statistics.median(values) for name, values in times.items()}}


def work(pattern: Pattern, file: pathlib.Path, backends: dict[str, str]) -> dict[str, Any]:
    """What a process does for a pattern."""
    import traceback

    import region_times

    row: dict[str, Any] = {}
    try:
        row |= timed(pattern, file, backends)
    except Exception as error:
        row |= {"failure": f"{type(error).__name__}: {str(error)[:300]}",
                "trace": traceback.format_exc()[-3000:]}
    return region_times.recovered(row)


def measure(options: argparse.Namespace) -> None:
    """What the command does for one checkout on one GPU: a row to the file for each pattern."""
    from lnbwd_bench import processes

    patterns = json.loads(options.measure.read_text())
    backends = {"lnbwd": "lnbwd"} if options.of == "other" else {
        "torch": "inductor", "lnbwd": "lnbwd"}
    turns = options.measure.with_suffix(".turns")
    turns.touch()
    with options.out.open("w") as out:
        for row in processes.rows_of(
                [(options.processes, dict(enumerate(patterns)))], time.time() + options.seconds,
                functools.partial(work, file=turns, backends=backends),
                functools.partial(prepare, turns)):
            print(json.dumps(row), file=out, flush=True)


# --------------------------------------------------------------------------------------------------
# The command
# --------------------------------------------------------------------------------------------------


def started(checkout: pathlib.Path, of: str, patterns: pathlib.Path, out: pathlib.Path, gpu: str,
            options: argparse.Namespace) -> subprocess.Popen[bytes]:
    """The processes of a checkout on a GPU."""
    path = [str(checkout / part) for part in ("python", "bench", "test/Bench")]
    return subprocess.Popen(
        [sys.executable, __file__, str(checkout), "--measure", str(patterns), "--of", of,
         "--out", str(out), "--processes", str(options.processes),
         "--seconds", str(options.seconds)], start_new_session=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path), "CUDA_VISIBLE_DEVICES": gpu,
             "OMP_NUM_THREADS": "2", "LNBWD_CACHE_DIR": f"{out}.kernels",
             # What Triton's kernels are tuned to, both have.
             "TORCHINDUCTOR_CACHE_DIR": f"{patterns}.inductor"})


def read(file: pathlib.Path) -> dict[int, dict[str, Any]]:
    """Rows by their places; of a process that was killed the last line may be none."""
    lines = file.read_text().splitlines(keepends=True) if file.exists() else []
    return {row["place"]: row for row in map(json.loads, (
        line for line in lines if line.endswith("\n")))}


def end(child: subprocess.Popen[bytes], by: float) -> None:
    """Waits for the processes of a checkout, and kills what has not ended by a time."""
    try:
        child.wait(max(0.0, by - time.time()))
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("other", type=pathlib.Path, help="the other checkout")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="JSON for the dashboard")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=300, help="patterns")
    parser.add_argument("--more", type=pathlib.Path, help="of region_capture.py")
    parser.add_argument("--processes", type=int, default=7, help="of each checkout and GPU")
    parser.add_argument("--seconds", type=float, default=3600, help="begins no pattern after these")
    parser.add_argument("--measure", type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("--of", choices=("this", "other"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        sys.path[:0] = [str(options.other / part) for part in ("bench", "test/Bench", "python")]
        measure(options)
        return 0
    sys.path[:0] = [str(SOURCE / part) for part in ("bench", "test/Bench", "python")]
    import torch

    if not torch.cuda.is_available():
        parser.error("expected a GPU, got none")
    patterns = drawn(options.seed, options.count, options.more)
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    gpus = visible.split(",") if visible else list(map(str, range(torch.cuda.device_count())))
    found, failures = [], []
    last = time.time() + options.seconds + _GRACE_SECONDS
    with tempfile.TemporaryDirectory(prefix="region-compare-") as folder:
        runs = []
        for number, gpu in enumerate(gpus):
            mine = patterns[number::len(gpus)]
            file = pathlib.Path(folder) / f"{gpu}.json"
            file.write_text(json.dumps(mine))
            outs = {of: file.with_suffix(f".{of}") for of in ("other", "this")}
            runs.append((mine, outs, [
                started(checkout.resolve(), of, file, outs[of], gpu, options)
                for of, checkout in (("other", options.other), ("this", SOURCE))]))
        for mine, outs, children in runs:
            for child in children:
                end(child, last)
            before, now = map(read, outs.values())
            failures += [f"{mine[place]['at']}: {row['failure']}" for rows in (before, now)
                         for place, row in rows.items() if "failure" in row]
            found += [{"pattern": mine[place]["at"], "model": mine[place]["model"],
                       "seen": mine[place].get("seen", True),
                       "occurs": mine[place].get("occurs", 0), "outcome": row["outcome"],
                       "us": row["us"], "before_us": {
                           "torch": row["us"]["torch"], "lnbwd": before[place]["us"]["lnbwd"]},
                       "decisions": row["decisions"]}
                      for place, row in sorted(now.items())
                      if "us" in row and "us" in before.get(place, {})]
    options.out.write_text(json.dumps({
        "date": datetime.date.today().isoformat(),
        "command": [pathlib.Path(sys.argv[0]).name, *sys.argv[1:]],
        "machine": {"name": torch.cuda.get_device_name(), "torch": torch.__version__},
        "results": found}, indent=1) + "\n")
    for name in ("before_us", "us"):
        gains = sorted(row["us"]["torch"] / row[name]["lnbwd"] for row in found)
        weighted = [row["us"]["torch"] / row[name]["lnbwd"] for row in found
                    for _ in range(row["occurs"])]
        print(f"{name}: {len(gains)} patterns, mean {statistics.mean(gains):.3f}, by occurrence "
              f"{statistics.mean(weighted or gains):.3f}, below 0.98 "
              f"{sum(gain < 0.98 for gain in gains)}, below 0.90 "
              f"{sum(gain < 0.9 for gain in gains)}")
    for row in sorted(found, key=lambda row: row["us"]["torch"] / row["us"]["lnbwd"])[:20]:
        print(f"{row['pattern']} {row['model']}: torch {row['us']['torch']:.1f} us, before "
              f"{row['before_us']['lnbwd']:.1f}, now {row['us']['lnbwd']:.1f}")
    print("\n".join(failures))
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
