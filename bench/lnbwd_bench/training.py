# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training steps, each computed in several ways: how they are made, timed and compared.

training_step.py says what the ways are.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import statistics
import time
from collections.abc import Callable, Iterable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lnbwd.operations import LAYER_NORM, RMS_NORM

from .models import Config, make_batch, make_model

MODES = ("eager", "compiled", "reduce-overhead", "max-autotune")
WAYS = ("torch", "lnbwd", "override")
# Consecutive steps between two looks at the clock: what a step leaves on the device the next finds.
STEPS_A_TURN = 3


def prepare(way: str, mode: str, model: nn.Module) -> Callable[..., Tensor] | None:
    """The model as one way computes it; None if it cannot, here."""
    if way == "override" and (mode != "eager" or not any(
            isinstance(module, (nn.LayerNorm, nn.RMSNorm)) for module in model.modules())):
        return None  # Inductor takes those operators apart; other norms do not call them.
    if mode == "eager":
        if way == "lnbwd":
            import lnbwd

            lnbwd.patch(model, override=False)  # Which make_way sees to, for this way alone.
        return model
    options: dict[str, Any] = {}
    if mode != "compiled":
        options["mode"] = mode
    if way == "lnbwd":
        import lnbwd.inductor

        options["backend"] = lnbwd.inductor.backend
    return torch.compile(model, dynamic=False, **options)


Around = Callable[[], contextlib.AbstractContextManager[Any]]


@dataclasses.dataclass
class Way:
    """One way to compute a step, and its times in milliseconds."""

    name: str
    step: Callable[[], float]
    first_seconds: float
    peak_bytes: int
    around: Around = contextlib.nullcontext
    """What holds while its steps run."""
    times: list[float] = dataclasses.field(default_factory=list)

    def check(self) -> None:
        """Takes one step more.

        Raises:
            ArithmeticError: the loss is not a number, so that the times are not those of training.
        """
        with self.around():
            loss = float(self.step())
        if not math.isfinite(loss):
            raise ArithmeticError(f"{self.name}: expected a finite loss, got {loss}; its times say "
                                  "nothing")


def warm_up(device: str) -> None:
    """Has Inductor do what it does once in a process, so that no way's first step has it."""
    torch.compile(lambda x: (x.exp() @ x).sum())(torch.ones(32, 32, device=device))


def make_way(name: str, mode: str, config: Config, autocast: bool, device: str) -> Way | None:
    """Builds a model and runs the steps that compile it."""
    dtype = torch.float32 if autocast else torch.bfloat16
    torch._dynamo.reset()
    model = make_model(config, device, dtype)
    run = prepare(name, mode, model)
    if run is None:
        return None
    batch = make_batch(config, device, dtype)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.0, fused=True)

    def step() -> Tensor:
        if mode in ("reduce-overhead", "max-autotune"):  # Which have CUDA graphs.
            torch.compiler.cudagraph_mark_step_begin()
        with torch.autocast("cuda", torch.bfloat16, enabled=autocast):
            loss = run(*batch)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss.detach()

    around: Around = contextlib.nullcontext
    if name == "override" or (name == "lnbwd" and mode == "eager"):  # As lnbwd.patch does.
        import lnbwd

        around = lnbwd.override_aten
    with around():
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
    return Way(name, step, seconds, peak, around)  # type: ignore[arg-type]


def time_in_turns(ways: list[Way], steps: int) -> None:
    """Takes ``steps`` times of each way, some consecutive ones at a time."""
    for turn in range(-(-steps // STEPS_A_TURN)):
        for way in ways[turn % len(ways):] + ways[:turn % len(ways)]:
            with way.around():
                way.step()  # Brings the way's own data back before the clock starts.
                torch.cuda.synchronize()
                start = time.perf_counter()
                for _ in range(STEPS_A_TURN):
                    way.step()
                torch.cuda.synchronize()
            way.times.append((time.perf_counter() - start) * 1e3 / STEPS_A_TURN)


# What a kernel's name says of its kind; the first that fits. Row-wise is what regions are made of.
KINDS = (
    ("products", ("nvjet", "gemm", "cutlass", "cublas", "splitkreduce", "sdpa", "fmha", "flash",
                  "cudnn")),
    ("optimizer", ("multi_tensor_apply",)),
    ("row-wise, ours", ("rows", LAYER_NORM, RMS_NORM)),
    ("row-wise, others", ("triton_", "reduce_kernel", F.layer_norm.__name__, "elementwise",
                          "cunn")),
)


def kind_of(kernel: str) -> str:
    """The kind of a kernel, by its name."""
    name = kernel.lower()
    for kind, parts in KINDS:
        if any(name.startswith(part) if kind == "row-wise, ours" else part in name
               for part in parts):
            return kind
    return "rest"


def kernel_times(way: Way, top: int, steps: int = 3) -> dict[str, float]:
    """Milliseconds of device time a step, by kind of kernel; prints the ``top`` dearest."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as found, way.around():
        for _ in range(steps):
            way.step()
        torch.cuda.synchronize()
    events = [(event.key, event.self_device_time_total / 1e3 / steps, event.count / steps)
              for event in found.key_averages()]
    for name, milliseconds, count in sorted(events, key=lambda event: -event[1])[:top]:
        print(f"      {milliseconds:8.3f} ms {count:5.0f} x {name[:90]}")
    kinds: dict[str, float] = {}
    for name, milliseconds, _ in events:
        kinds[kind_of(name)] = kinds.get(kind_of(name), 0.0) + milliseconds
    return {kind: round(milliseconds, 3) for kind, milliseconds in sorted(kinds.items())}


def gradients(name: str, mode: str, config: Config, autocast: bool,
              device: str) -> dict[str, Tensor]:
    """The gradients of one step by each parameter's name. ``mode`` "float64": of the same numbers,
    all in float64, by PyTorch, one operation after another."""
    dtype = torch.float32 if autocast else torch.bfloat16
    torch._dynamo.reset()
    model = make_model(config, device, dtype)
    batch = make_batch(config, device, dtype)
    run: Callable[..., Tensor] | None = model
    if mode == "float64":
        model.double()
        inputs, targets = batch
        batch = (inputs.double() if inputs.is_floating_point() else inputs, targets)
    else:
        run = prepare(name, mode, model)
    assert run is not None
    with torch.autocast(device, torch.bfloat16, enabled=autocast and mode != "float64"):
        loss = run(*batch)
    loss.backward()
    return {name: parameter.grad.detach() for name, parameter in model.named_parameters()
            if parameter.grad is not None}


def gradient_errors(got: dict[str, Tensor], wanted: dict[str, Tensor]) -> dict[str, float]:
    """Relative errors, in the root mean square: of all gradients together, and of each norm's and
    bias's (what has one dimension), their median and their greatest."""
    def error(names: Iterable[str]) -> float:
        chosen = [(got[name].double(), wanted[name]) for name in names]
        apart = sum(float((g - w).square().sum()) for g, w in chosen)
        return math.sqrt(apart / sum(float(w.square().sum()) for _, w in chosen))

    assert got.keys() == wanted.keys()
    columns = [error([name]) for name, value in wanted.items()
               if value.dim() == 1 and value.count_nonzero()]
    return {"all": error(wanted), "columns": statistics.median(columns), "worst": max(columns)}
