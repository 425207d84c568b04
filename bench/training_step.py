#!/usr/bin/env python3
# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times whole training steps: PyTorch's beside ours.

A step is forward, backward and the optimizer (fused AdamW) of a transformer on random data. The
ways to compute it take turns within one process, so that all meet the same clocks:

  torch     torch.compile(model)
  lnbwd     torch.compile(model, backend="lnbwd")

The learning rate is 0: the optimizer does its work, and the weights stay what they are, so that all
ways see the same numbers, on which the time of a matrix product depends.

bench/dashboard.py reads the files of --out.
"""

from __future__ import annotations

import argparse
import datetime
import gc
import json
import pathlib
import statistics
import sys
from typing import Any

SOURCE = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(SOURCE / "python"), str(pathlib.Path(__file__).resolve().parent)]

import torch  # noqa: E402

from lnbwd_bench import training  # noqa: E402
from lnbwd_bench.models import CONFIGS, Config  # noqa: E402


def line(row: dict[str, Any]) -> str:
    """Of each way: milliseconds a step, the fastest, peak memory, and the first step's seconds."""
    text = f"{row['model']:12} {row['precision']:8} {row['mode']:16}"
    for name, way in row["ways"].items():
        text += (f"  {name} {statistics.median(way['times_ms']):7.2f} ({min(way['times_ms']):7.2f})"
                 f" {way['peak_bytes'] / 2**30:5.2f}G {way['first_seconds']:5.1f}s")
    return text


def measure(config: Config, precision: str, mode: str, options: argparse.Namespace
            ) -> dict[str, Any]:
    """One row of the results: every way's times."""
    ways = [training.make_way(name, mode, config, precision == "autocast", "cuda")
            for name in options.ways]
    training.time_interleaved(ways, options.steps)
    row: dict[str, Any] = {"model": config.name, "precision": precision, "mode": mode, "ways": {}}
    for way in ways:
        way.check()
        row["ways"][way.name] = {"peak_bytes": way.peak_bytes, "first_seconds": way.first_seconds,
                                 "times_ms": way.times}
    print(line(row), flush=True)
    return row


def main() -> int:
    """Measures, prints, writes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", nargs="+", choices=sorted(CONFIGS), default=list(CONFIGS))
    parser.add_argument("--modes", nargs="+", choices=training.MODES, default=["compiled"])
    parser.add_argument("--precision", nargs="+", choices=("autocast", "bf16"),
                        default=["autocast"])
    parser.add_argument("--ways", nargs="+", choices=training.WAYS, default=list(training.WAYS))
    parser.add_argument("--steps", type=int, default=30, help="steps of each way (default 30)")
    parser.add_argument("--out", type=pathlib.Path, help="file for the numbers, JSON")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        parser.error("expected an NVIDIA GPU, found none")

    # First steps are to compile: no way is to find what another, or another run, compiled.
    torch.compiler.config.force_disable_caches = True
    training.warm_up("cuda")
    results = []
    for name in options.models:
        for precision in options.precision:
            for mode in options.modes:
                results.append(measure(CONFIGS[name], precision, mode, options))
                gc.collect()
                torch._dynamo.reset()
                torch.cuda.empty_cache()
    if options.out:
        options.out.write_text(json.dumps({
            "date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
            "command": [pathlib.Path(sys.argv[0]).name, *sys.argv[1:]],
            "machine": {"name": torch.cuda.get_device_name(), "torch": torch.__version__},
            "results": results}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
