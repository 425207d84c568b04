#!/usr/bin/env python3
# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times whole training steps: PyTorch's beside ours.

A step is forward, backward and the optimizer (fused AdamW) of a model on random data, by autocast.
Each way to compute it has a process, caches and cores of its own:

  torch     torch.compile(model)
  lnbwd     torch.compile(model, backend="lnbwd")

They compile side by side: that is the first step's time. What either times on the device
meanwhile, and the steps after that, take turns. Nothing else is to run there.

The learning rate is 0: the optimizer does its work, and the weights stay what they are, so that all
ways see the same numbers, on which the time of a matrix product depends.

bench/dashboard.py reads the files of --out.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import multiprocessing
import os
import pathlib
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent import futures
from typing import Any

SOURCE = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(SOURCE / "python"))

import torch  # noqa: E402
from torch import Tensor  # noqa: E402

from lnbwd_bench import machine, processes, results  # noqa: E402
from lnbwd_bench.models import CONFIGS, Config, make_batch, make_model  # noqa: E402

# Consecutive steps between two looks at the clock: what a step leaves on the device the next finds.
STEPS_A_TURN = 3


Step = Callable[[], Tensor]
_steps: list[Step] = []
"""The step of the way that a process is for."""


def checked(name: str, loss: float) -> None:
    """Raises an ArithmeticError if a loss is not a number: its times are not those of training."""
    if not math.isfinite(loss):
        raise ArithmeticError(f"{name}: expected a finite loss, got {loss}; its times say nothing")


def make_step(name: str, config: Config) -> Step:
    """A model's training step."""
    torch._dynamo.reset()
    model, batch = make_model(config, "cuda"), make_batch(config, "cuda")
    if name == "lnbwd":
        import lnbwd.inductor  # noqa: F401 (which registers the backend)

    run = torch.compile(model, dynamic=False, backend=processes.BACKENDS[name])
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.0, fused=True)

    def step() -> Tensor:
        with torch.autocast("cuda", torch.bfloat16):
            loss: Tensor = run(*batch)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss.detach()

    return step


def timed(step: Step, count: int) -> float:
    """Seconds of a step, of some consecutive ones."""
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(count):
        step()
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / count


def begin(name: str, config: Config, turns: pathlib.Path) -> dict[str, Any]:
    """What a process does first for the way that it is for: the step that compiles. What it times
    then on the device it times in turns with others."""
    processes.measure_in_turns(turns, has_ours=name == "lnbwd")
    # First steps are to compile: no way is to find what another, or another run, compiled.
    torch.compiler.config.force_disable_caches = True
    # What Inductor does once in a process is in no way's first step.
    torch.compile(lambda x: (x.exp() @ x).sum())(torch.ones(32, 32, device="cuda"))
    step = make_step(name, config)
    first_seconds = timed(step, 1)
    timed(step, STEPS_A_TURN)
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    checked(name, float(step()))
    _steps.append(step)
    return {"first_seconds": first_seconds,
            "peak_bytes": torch.cuda.max_memory_allocated() - before}


def take_steps() -> float:
    """Milliseconds of a step."""
    _steps[0]()  # Brings the way's own data back before the clock starts.
    return timed(_steps[0], STEPS_A_TURN) * 1e3


def line(row: dict[str, Any]) -> str:
    """Of each way: milliseconds a step, the fastest, peak memory, and the first step's seconds."""
    text = f"{row['model']:28}"
    for name, way in row["ways"].items():
        text += (f"  {name} {statistics.median(way['times_ms']):7.2f} ({min(way['times_ms']):7.2f})"
                 f" {way['peak_bytes'] / 2**30:5.2f}G {way['first_seconds']:5.1f}s")
    return text


def measure(config: Config, steps: int) -> dict[str, Any]:
    """One row of the results: every way's times."""
    cores = sorted(os.sched_getaffinity(0))
    share = max(1, len(cores) // len(processes.BACKENDS))
    with contextlib.ExitStack() as stack:
        ways, started = [], []
        turns = pathlib.Path(stack.enter_context(tempfile.NamedTemporaryFile()).name)
        for place, name in enumerate(processes.BACKENDS):
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="training-step-"))
            pool = stack.enter_context(futures.ProcessPoolExecutor(
                1, multiprocessing.get_context("spawn")))
            # The process has what this one has when it is started.
            for kind in ("LNBWD", "TORCHINDUCTOR", "TRITON"):
                os.environ[f"{kind}_CACHE_DIR"] = f"{folder}/{kind}"
            os.sched_setaffinity(0, cores[place * share:(place + 1) * share])
            started.append(pool.submit(begin, name, config, turns))
            ways.append((name, pool))
        os.sched_setaffinity(0, cores)
        found = {name: {**one.result(), "times_ms": list[float]()}
                 for name, one in zip(processes.BACKENDS, started, strict=True)}
        for turn in range(steps // STEPS_A_TURN):
            for name, pool in ways[turn % len(ways):] + ways[:turn % len(ways)]:
                found[name]["times_ms"].append(pool.submit(take_steps).result())
    row: dict[str, Any] = {
        "model": f"{config.name}, autocast", "ways": found,
        "ms": {name: statistics.median(way["times_ms"]) for name, way in found.items()},
        "first_s": {name: way["first_seconds"] for name, way in found.items()},
        "memory": found["lnbwd"]["peak_bytes"] / found["torch"]["peak_bytes"]}
    print(line(row), flush=True)
    return row


def main() -> int:
    """Measures, prints, writes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", nargs="+", choices=sorted(CONFIGS), default=list(CONFIGS))
    parser.add_argument("--steps", type=int, default=30, help="steps of each way (default 30)")
    parser.add_argument("--out", type=pathlib.Path, help="file for the numbers, JSON")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        parser.error("expected an NVIDIA GPU, found none")

    rows = []
    for name in options.models:
        rows.append(measure(CONFIGS[name], options.steps))
        results.write(options.out, rows, machine.described_gpu())
    return 0


if __name__ == "__main__":
    sys.exit(main())
