# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training steps, each computed in several ways: how they are made, timed and compared.

training_step.py says what the ways are.
"""

from __future__ import annotations

import dataclasses
import math
import pathlib
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from . import processes
from .models import Config, make_batch, make_model

BACKENDS = {"torch": "inductor", "lnbwd": "lnbwd"}
"""Of each way to compute a step."""

# Consecutive steps between two looks at the clock: what a step leaves on the device the next finds.
STEPS_A_TURN = 3


@dataclasses.dataclass
class Way:
    """One way to compute a step."""

    name: str
    step: Callable[[], Tensor]
    first_seconds: float
    peak_bytes: int

    def check(self) -> None:
        """Takes one step more.

        Raises:
            ArithmeticError: the loss is not a number, so that the times are not those of training.
        """
        loss = float(self.step())
        if not math.isfinite(loss):
            raise ArithmeticError(f"{self.name}: expected a finite loss, got {loss}; its times say "
                                  "nothing")


def make_way(name: str, config: Config) -> Way:
    """Builds a model and runs the steps that compile it."""
    torch._dynamo.reset()
    model, batch = make_model(config, "cuda"), make_batch(config, "cuda")
    if name == "lnbwd":
        import lnbwd.inductor  # noqa: F401 (which registers the backend)

    run = torch.compile(model, dynamic=False, backend=BACKENDS[name])
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.0, fused=True)

    def step() -> Tensor:
        with torch.autocast("cuda", torch.bfloat16):
            loss: Tensor = run(*batch)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss.detach()

    torch.cuda.synchronize()
    start = time.perf_counter()
    step()
    torch.cuda.synchronize()
    seconds = time.perf_counter() - start
    for _ in range(3):
        step()
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    step()
    torch.cuda.synchronize()
    peak = torch.cuda.max_memory_allocated() - before
    return Way(name, step, seconds, peak)


_ways: list[Way] = []


def begin(name: str, config: Config, turns: pathlib.Path) -> dict[str, Any]:
    """What a process does first for the way that it is for: the step that compiles. What it times
    then on the device it times in turns with others."""
    processes.measure_in_turns(turns, has_ours=name == "lnbwd")
    # First steps are to compile: no way is to find what another, or another run, compiled.
    torch.compiler.config.force_disable_caches = True
    # What Inductor does once in a process is in no way's first step.
    torch.compile(lambda x: (x.exp() @ x).sum())(torch.ones(32, 32, device="cuda"))
    way = make_way(name, config)
    _ways.append(way)
    return {"first_seconds": way.first_seconds, "peak_bytes": way.peak_bytes}


def take_steps() -> float:
    """Milliseconds of a step, of some consecutive ones."""
    [way] = _ways
    way.step()  # Brings the way's own data back before the clock starts.
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(STEPS_A_TURN):
        way.step()
    torch.cuda.synchronize()
    return (time.perf_counter() - start) * 1e3 / STEPS_A_TURN


def check() -> None:
    """As :meth:`Way.check`."""
    _ways[0].check()
