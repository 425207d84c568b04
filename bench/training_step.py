#!/usr/bin/env python3
# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times whole training steps: PyTorch alone, with lnbwd, and a limit that no norm kernel can pass.

A step is forward, backward and the optimizer (fused AdamW) of a transformer on random data. The
ways to compute it take turns within one process, so that all meet the same clocks:

  torch     the model as it is: eager, or compiled by Inductor
  lnbwd     eager: lnbwd.patch(model); compiled: backend="lnbwd"
  override  eager, the model as it is, with lnbwd.override_aten(): of use where its norms are
            torch.nn's
  liger     eager, its norms in the place of PyTorch's, where liger-kernel is installed
  free      torch's, with a norm backward that costs nothing and is wrong: the limit for a kernel
            that computes the backward pass of a norm alone

  training_step.py [--models gpt2-small ...] [--modes eager compiled reduce-overhead]
                   [--precision autocast bf16] [--steps 30] [--out FILE]
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import datetime
import gc
import json
import pathlib
import sys
import time
from collections.abc import Callable
from typing import Any

SOURCE = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(SOURCE / "python"), str(pathlib.Path(__file__).resolve().parent)]

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import Tensor, nn  # noqa: E402

from lnbwd_bench.models import (  # noqa: E402
    CONFIGS,
    Config,
    LlamaNorm,
    make_batch,
    make_model,
)
from lnbwd_bench.verdicts import median  # noqa: E402

MODES = ("eager", "compiled", "reduce-overhead")
# Consecutive steps between two looks at the clock: what a step leaves on the device the next finds.
STEPS_A_TURN = 3


class _FreeLayerNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None, zeros: Tensor,
                eps: float) -> Tensor:
        ctx.save_for_backward(zeros)
        ctx.has_bias = bias is not None
        return F.layer_norm(x, weight.shape, weight, bias, eps)

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> tuple[Any, ...]:
        zeros, = ctx.saved_tensors
        return dy, zeros, zeros if ctx.has_bias else None, None, None


class FreeLayerNorm(nn.Module):
    """LayerNorm whose backward pass hands the gradient on as it is."""

    def __init__(self, like: nn.LayerNorm) -> None:
        super().__init__()
        self.weight, self.bias, self.eps = like.weight, like.bias, like.eps
        self.register_buffer("zeros", torch.zeros_like(like.weight))

    def forward(self, x: Tensor) -> Tensor:
        """LayerNorm of ``x``."""
        if torch.is_autocast_enabled("cuda"):
            with torch.autocast("cuda", enabled=False):
                y: Tensor = _FreeLayerNorm.apply(x.float(), self.weight, self.bias, self.zeros,
                                                 self.eps)
                return y
        y = _FreeLayerNorm.apply(x, self.weight, self.bias, self.zeros, self.eps)
        return y


class _FreeRMSNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, zeros: Tensor, eps: float) -> Tensor:
        ctx.save_for_backward(zeros)
        wide = x.to(torch.float32)
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + eps)
        return weight * wide.to(x.dtype)

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> tuple[Any, ...]:
        return dy, ctx.saved_tensors[0], None, None


class FreeLlamaNorm(nn.Module):
    """The same of :class:`LlamaNorm`."""

    def __init__(self, like: LlamaNorm) -> None:
        super().__init__()
        self.weight, self.eps = like.weight, like.eps
        self.register_buffer("zeros", torch.zeros_like(like.weight))

    def forward(self, x: Tensor) -> Tensor:
        """RMSNorm of ``x``."""
        y: Tensor = _FreeRMSNorm.apply(x, self.weight, self.zeros, self.eps)
        return y


def swap(model: nn.Module, make: dict[type[nn.Module], Callable[[Any], nn.Module]]) -> int:
    """Puts other modules in the place of a model's norms; how many there were."""
    count = 0
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if type(child) in make:
                setattr(module, name, make[type(child)](child).to(child.weight.device))
                count += 1
    return count


def prepare(way: str, mode: str, model: nn.Module) -> Callable[..., Tensor] | None:
    """The model as one way computes it; None if this machine has not got it."""
    if way == "free":
        swap(model, {nn.LayerNorm: FreeLayerNorm, LlamaNorm: FreeLlamaNorm})
    if way == "override" and mode != "eager":
        return None  # Inductor takes those operators apart.
    if mode == "eager":
        if way == "lnbwd":
            import lnbwd

            lnbwd.patch(model)
        if way == "liger":
            try:
                from liger_kernel.transformers import LigerLayerNorm, LigerRMSNorm
            except ImportError:
                return None

            def layer(like: Any) -> nn.Module:
                new = LigerLayerNorm(like.weight.shape[0], eps=like.eps)
                new.weight, new.bias = like.weight, like.bias
                return new

            def rms(like: Any) -> nn.Module:
                new = LigerRMSNorm(like.weight.shape[0], eps=like.eps)
                new.weight = like.weight
                return new

            swap(model, {nn.LayerNorm: layer, LlamaNorm: rms})
        return model
    options: dict[str, Any] = {}
    if mode == "reduce-overhead":
        options["mode"] = mode
    if way == "lnbwd":
        import lnbwd.inductor

        options["backend"] = lnbwd.inductor.backend
    return torch.compile(model, dynamic=False, **options)


@dataclasses.dataclass
class Way:
    """One way to compute a step, and its times in milliseconds."""

    name: str
    step: Callable[[], float]
    first_seconds: float
    peak_bytes: int
    around: Callable[[], contextlib.AbstractContextManager[Any]] = contextlib.nullcontext
    """What holds while its steps run."""
    times: list[float] = dataclasses.field(default_factory=list)


def make_way(name: str, mode: str, config: Config, autocast: bool, device: str) -> Way | None:
    """Builds a model and runs the steps that compile it."""
    dtype = torch.float32 if autocast else torch.bfloat16
    torch._dynamo.reset()
    model = make_model(config, device, dtype)
    run = prepare(name, mode, model)
    if run is None:
        return None
    batch = make_batch(config, device, dtype)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    def step() -> Tensor:
        if mode == "reduce-overhead":
            torch.compiler.cudagraph_mark_step_begin()
        with torch.autocast("cuda", torch.bfloat16, enabled=autocast):
            loss = run(*batch)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss.detach()

    around: Callable[[], contextlib.AbstractContextManager[Any]] = contextlib.nullcontext
    if name == "override":
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


def kernel_times(way: Way, top: int) -> dict[str, float]:
    """Milliseconds of device time in one step, by kind of kernel; prints the ``top`` dearest."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as found, way.around():
        way.step()
        torch.cuda.synchronize()
    dearest = sorted(found.key_averages(), key=lambda event: -event.self_device_time_total)
    for event in dearest[:top]:
        print(f"      {event.self_device_time_total / 1e3:8.3f} ms {event.count:5} x "
              f"{event.key[:90]}")
    kinds: dict[str, float] = {}
    for event in found.key_averages():
        name = event.key
        kind = ("lnbwd" if name.startswith(("rows", "layer_norm", "rms_norm"))
                and "kernel" not in name.lower() else
                "triton" if name.startswith("triton_") else
                "norm" if "norm" in name.lower() else "other")
        kinds[kind] = kinds.get(kind, 0.0) + event.self_device_time_total / 1e3
    return {kind: round(time, 3) for kind, time in sorted(kinds.items())}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", nargs="+", choices=sorted(CONFIGS), default=list(CONFIGS))
    parser.add_argument("--modes", nargs="+", choices=MODES, default=["eager", "compiled"])
    parser.add_argument("--precision", nargs="+", choices=("autocast", "bf16"),
                        default=["autocast"])
    parser.add_argument("--ways", nargs="+", choices=("torch", "lnbwd", "override", "liger", "free"),
                        default=["torch", "lnbwd", "liger", "free"])
    parser.add_argument("--steps", type=int, default=30, help="steps of each way (default 30)")
    parser.add_argument("--profile", type=int, default=0, metavar="N",
                        help="print times by kind of kernel, and of the N dearest kernels")
    parser.add_argument("--out", type=pathlib.Path, help="file for the numbers, JSON")
    options = parser.parse_args()

    results: list[dict[str, Any]] = []
    for name in options.models:
        for precision in options.precision:
            for mode in options.modes:
                ways = []
                for way_name in options.ways:
                    if way_name == "liger" and mode != "eager":
                        continue
                    way = make_way(way_name, mode, CONFIGS[name], precision == "autocast", "cuda")
                    if way is not None:
                        ways.append(way)
                time_in_turns(ways, options.steps)
                row: dict[str, Any] = {"model": name, "precision": precision, "mode": mode}
                text = f"{name:12} {precision:8} {mode:16}"
                for way in ways:
                    row[way.name] = {"median_ms": median(sorted(way.times)),
                                     "min_ms": min(way.times), "peak_bytes": way.peak_bytes,
                                     "first_seconds": way.first_seconds, "times_ms": way.times}
                    text += (f"  {way.name} {median(sorted(way.times)):7.2f} ({min(way.times):7.2f})"
                             f" {way.peak_bytes / 2**30:5.2f}G {way.first_seconds:5.1f}s")
                print(text, flush=True)
                if options.profile:
                    for way in ways:
                        row[way.name]["kernels_ms"] = kernel_times(way, options.profile)
                        print(f"    {way.name}: {row[way.name]['kernels_ms']}", flush=True)
                results.append(row)
                del ways
                gc.collect()
                torch._dynamo.reset()
                torch.cuda.empty_cache()
    if options.out:
        options.out.write_text(json.dumps(
            {"date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
             "command": [pathlib.Path(sys.argv[0]).name, *sys.argv[1:]],
             "machine": {"name": torch.cuda.get_device_name(), "torch": torch.__version__},
             "results": results}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
