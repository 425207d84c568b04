#!/usr/bin/env python3
# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times cross entropy of a linear layer's output, forward and backward, beside its peers.

Ways: ours, eager (F.cross_entropy of F.linear), torch.compile of that, Liger's, and "products":
the three products of matrices of the whole alone, by PyTorch. Calls take turns; a time is the
median of their events.

Memory is the peak beside the operands. Errors are relative to float64, of the loss and of both
gradients, at the first size.

  linear_cross_entropy.py [--sizes ROWSxHxV ...] [--out FILE]
"""

from __future__ import annotations

import argparse
import functools
import pathlib
import sys
from collections.abc import Callable
from typing import Any

SOURCE = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(SOURCE / "python"))

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import Tensor  # noqa: E402

from lnbwd.functional import linear_cross_entropy  # noqa: E402
from lnbwd_bench import machine, peers, results, timing  # noqa: E402

SIZES = [f"{rows}x4096x{classes}" for classes in (32000, 128256, 151936)
         for rows in (4096, 8192, 16384, 32768)]
_WAIT_US = 20_000.0
"""What the host takes at most to enqueue a call."""

Way = Callable[[Tensor, Tensor, Tensor], Any]


def eager(x: Tensor, weight: Tensor, target: Tensor) -> Tensor:
    """All logits, in bfloat16; the loss in float32."""
    return F.cross_entropy(F.linear(x, weight).float(), target)


def liger(x: Tensor, weight: Tensor, target: Tensor) -> Tensor:
    """Liger's, in chunks."""
    function = peers.import_liger("fused_linear_cross_entropy")
    found: Any = function.LigerFusedLinearCrossEntropyFunction.apply(x, weight, target)
    return found[0]  # type: ignore[no-any-return]


def products(x: Tensor, weight: Tensor, _: Tensor) -> None:
    """What any way has to multiply."""
    with torch.no_grad():
        logits = x @ weight.t()
        x.grad, weight.grad = logits @ weight, logits.t() @ x


def step(way: Way, operands: tuple[Tensor, Tensor, Tensor]) -> Any:
    """A call, forward and backward."""
    x, weight, _ = operands
    x.grad = weight.grad = None
    loss = way(*operands)
    if loss is not None:
        loss.backward()
    return loss


def errors(way: Way, operands: tuple[Tensor, Tensor, Tensor], exact: list[Tensor]) -> list[float]:
    """Those of the loss and of the gradients."""
    loss = step(way, operands)
    found = [loss.detach(), operands[0].grad, operands[1].grad]
    return [float((one.double() - want).norm() / want.norm())
            for one, want in zip(found, exact, strict=True)]


def exact_of(operands: tuple[Tensor, Tensor, Tensor]) -> list[Tensor]:
    """The same in float64."""
    x, weight = (one.detach().double().requires_grad_() for one in operands[:2])
    loss = F.cross_entropy(F.linear(x, weight), operands[2])
    loss.backward()
    assert x.grad is not None and weight.grad is not None
    return [loss.detach(), x.grad, weight.grad]


def main() -> int:
    """Measures, prints, writes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", nargs="+", default=SIZES, help="rows x H x V")
    parser.add_argument("--repetitions", type=int, default=7)
    parser.add_argument("--out", type=pathlib.Path, help="file for the numbers, JSON")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        parser.error("expected an NVIDIA GPU, found none")
    gpu = machine.GpuMachine()
    rows_of: list[dict[str, Any]] = []
    for place, size in enumerate(options.sizes):
        rows, width, classes = map(int, size.split("x"))
        torch.manual_seed(place)
        torch._dynamo.reset()
        operands = (torch.randn(rows, width, device="cuda").bfloat16().requires_grad_(),
                    (0.02 * torch.randn(classes, width, device="cuda")).bfloat16().requires_grad_(),
                    torch.randint(classes, (rows,), device="cuda"))
        ways: dict[str, Way] = {"ours": linear_cross_entropy, "eager": eager,
                                "compile": torch.compile(eager, dynamic=False), "liger": liger,
                                "products": products}
        row: dict[str, Any] = {"size": size, "ms": {}, "memory": {}, "errors": {}}
        exact = exact_of(operands) if place == 0 else None
        for name, way in [*ways.items()]:
            try:
                step(way, operands)
                torch.cuda.synchronize()
                operands[0].grad = operands[1].grad = None
                torch.cuda.empty_cache()
                before = torch.cuda.memory_allocated()
                torch.cuda.reset_peak_memory_stats()
                step(way, operands)
                torch.cuda.synchronize()
                row["memory"][name] = torch.cuda.max_memory_allocated() - before
                if exact is not None and name != "products":
                    row["errors"][name] = errors(way, operands, exact)
            except (torch.OutOfMemoryError, peers.Unavailable) as error:
                print(f"{size} {name}: {type(error).__name__}: {error!s:.120}", flush=True)
                del ways[name]
        del exact
        times = timing.measure_interleaved(
            gpu, [functools.partial(step, way, operands) for way in ways.values()],
            options.repetitions, wait_us=_WAIT_US)
        row["ms"] = {name: timing.median(us) / 1e3 for name, us in zip(ways, times, strict=True)}
        rows_of.append(row)
        best = min(ms for name, ms in row["ms"].items() if name not in ("ours", "products"))
        print(f"{size}: " + ", ".join(f"{name} {ms:.2f}" for name, ms in row["ms"].items())
              + f" ms; best peer over ours {best / row['ms']['ours']:.3f}; products over ours "
              f"{row['ms']['products'] / row['ms']['ours']:.3f}; memory of eager's "
              f"{row['memory']['ours'] / row['memory'].get('eager', float('nan')):.3f}", flush=True)
        for name, found in row["errors"].items():
            print(f"  {name}: errors " + " ".join(f"{one:.2e}" for one in found), flush=True)
        results.write(options.out, rows_of, machine.described_gpu())
    return 0


if __name__ == "__main__":
    sys.exit(main())
