#!/usr/bin/env python3
# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times whole training steps: PyTorch alone, with lnbwd, and a limit for norm kernels.

A step is forward, backward and the optimizer (fused AdamW) of a transformer on random data. The
ways to compute it take turns within one process, so that all meet the same clocks:

  torch     the model as it is: eager, or compiled by Inductor
  lnbwd     eager: lnbwd.patch(model); compiled: backend="lnbwd"
  override  eager, the model as it is, with lnbwd.override_aten(): of use where its norms are
            torch.nn's
  liger     eager, its norms in the place of PyTorch's, where liger-kernel is installed
  free      torch's, with a norm backward that costs nothing and is wrong: the limit for a kernel
            that computes the backward pass of a norm alone

The learning rate is 0: the optimizer does its work, and the weights stay what they are, so that all
ways see the same numbers. (What a matrix product takes depends on them: the wrong gradients of
"free" end in NaN within a few real steps, and products of NaN take a sixth less time.)

  training_step.py [--models gpt2-small ...] [--modes eager compiled reduce-overhead]
                   [--precision autocast bf16] [--steps 30] [--profile 10] [--out FILE]
  training_step.py --losses 50 ...       compares the losses of real training steps instead
  training_step.py --gradients ...       compares one step's gradients with float64's instead
  training_step.py --report FILE [--plot FILE.svg]    tables, bars and plot of a stored run
"""

from __future__ import annotations

import argparse
import datetime
import gc
import json
import pathlib
import sys
from typing import Any

SOURCE = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(SOURCE / "python"), str(pathlib.Path(__file__).resolve().parent)]

import torch  # noqa: E402

from lnbwd_bench import training, training_report  # noqa: E402
from lnbwd_bench.models import CONFIGS, Config  # noqa: E402


def measure(config: Config, precision: str, mode: str, options: argparse.Namespace
            ) -> dict[str, Any]:
    """One row of the results: every way's times."""
    ways = []
    for name in options.ways:
        if name == "liger" and mode != "eager":
            continue
        way = training.make_way(name, mode, config, precision == "autocast", "cuda")
        if way is not None:
            ways.append(way)
    training.time_in_turns(ways, options.steps)
    row: dict[str, Any] = {"model": config.name, "precision": precision, "mode": mode, "ways": {}}
    for way in ways:
        way.check()
        row["ways"][way.name] = {"peak_bytes": way.peak_bytes, "first_seconds": way.first_seconds,
                                 "times_ms": way.times}
    print(training_report.line(row), flush=True)
    if options.profile:
        for way in ways:
            kinds = training.kernel_times(way, options.profile)
            row["ways"][way.name]["kernels_ms"] = kinds
            print(f"    {way.name}: {kinds}", flush=True)
    return row


def compare_losses(config: Config, precision: str, mode: str, steps: int) -> dict[str, Any]:
    """Losses of the same training by PyTorch, twice and eagerly, and by ours."""
    autocast = precision == "autocast"
    runs = {"torch": ("torch", mode), "again": ("torch", mode), "eager": ("torch", "eager"),
            "lnbwd": ("lnbwd", mode)}
    row: dict[str, Any] = {"model": config.name, "precision": precision, "mode": mode, "losses": {
        name: training.train(way, way_mode, config, autocast, "cuda", steps)
        for name, (way, way_mode) in runs.items()}}
    print(training_report.losses_line(row), flush=True)
    return row


def compare_gradients(config: Config, precision: str, mode: str) -> dict[str, Any]:
    """How far one step's gradients are from float64's: PyTorch's, eager as well, and ours."""
    autocast = precision == "autocast"
    wanted = training.gradients("torch", "float64", config, autocast, "cuda")
    runs = {"torch": ("torch", mode), "eager": ("torch", "eager"), "lnbwd": ("lnbwd", mode)}
    row: dict[str, Any] = {"model": config.name, "precision": precision, "mode": mode,
                           "gradients": {}}
    for name, (way, way_mode) in runs.items():
        got = training.gradients(way, way_mode, config, autocast, "cuda")
        row["gradients"][name] = training.gradient_errors(got, wanted)
        del got
        torch.cuda.empty_cache()
    print(training_report.gradients_line(row), flush=True)
    return row


def main() -> int:
    """Measures, or reports what was measured."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", nargs="+", choices=sorted(CONFIGS), default=list(CONFIGS))
    parser.add_argument("--modes", nargs="+", choices=training.MODES,
                        default=["eager", "compiled"])
    parser.add_argument("--precision", nargs="+", choices=("autocast", "bf16"),
                        default=["autocast"])
    parser.add_argument("--ways", nargs="+", choices=training.WAYS, default=list(training.WAYS))
    parser.add_argument("--steps", type=int, default=30, help="steps of each way (default 30)")
    parser.add_argument("--profile", type=int, default=0, metavar="N",
                        help="print times by kind of kernel, and of the N dearest kernels")
    parser.add_argument("--losses", type=int, default=0, metavar="N",
                        help="compare the losses of N real steps, in the place of times")
    parser.add_argument("--gradients", action="store_true",
                        help="compare one step's gradients with float64's, in the place of times")
    parser.add_argument("--out", type=pathlib.Path, help="file for the numbers, JSON")
    parser.add_argument("--report", type=pathlib.Path, help="a file of --out: print its tables")
    parser.add_argument("--plot", type=pathlib.Path, help="draw the steps to this file (SVG, PNG)")
    options = parser.parse_args()

    if options.report is not None:
        try:
            document = training_report.read(options.report)
        except (OSError, ValueError) as error:
            parser.error(f"--report: {options.report}: {error}")
    else:
        if not torch.cuda.is_available():
            parser.error("expected an NVIDIA GPU, found none; --report shows what was measured")
        # First steps are to compile: no way is to find what another, or another run, compiled.
        torch.compiler.config.force_disable_caches = True
        training.warm_up("cuda")
        results = []
        for name in options.models:
            for precision in options.precision:
                for mode in options.modes:
                    config = CONFIGS[name]
                    results.append(compare_losses(config, precision, mode, options.losses)
                                   if options.losses else
                                   compare_gradients(config, precision, mode)
                                   if options.gradients else
                                   measure(config, precision, mode, options))
                    gc.collect()
                    torch._dynamo.reset()
                    torch.cuda.empty_cache()
        document = {
            "date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
            "command": [pathlib.Path(sys.argv[0]).name, *sys.argv[1:]],
            "machine": {"name": torch.cuda.get_device_name(), "torch": torch.__version__},
            "results": results}
        if options.out:
            options.out.write_text(json.dumps(document, indent=1) + "\n")
    print(training_report.report(document))
    if options.plot is not None:
        training_report.plot(document, options.plot)
    return 0


if __name__ == "__main__":
    sys.exit(main())
