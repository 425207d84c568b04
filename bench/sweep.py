#!/usr/bin/env python3
# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times hundreds of schedules of random row programs on this machine's GPU.

  sweep.py --seed 1 --count 100 --out FILE.json.xz
  sweep.py --regret FILE.json.xz ...      the model's choice over the best of each problem

Needs the compiler, ptxas and PyTorch. Some 4 seconds a problem on 16 cores. The numbers are what
a cost model is made from and judged by (docs/schedules.md).

In two halves, where the machine with the GPU has no compiler, here for given shapes:

  sweep.py --compile-to FILE.zip --random 7 10 --kinds layer_norm rms_norm --candidates 60
  sweep.py --kernels FILE.zip --out FILE.json.xz
"""

from __future__ import annotations

import argparse
import datetime
import json
import lzma
import os
import pathlib
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

SOURCE = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(SOURCE / "python"), str(pathlib.Path(__file__).resolve().parent)]

import torch  # noqa: E402

from lnbwd import _chips, compiler, schedule, schedule_space  # noqa: E402
from lnbwd._files import read_document, write_whole  # noqa: E402
from lnbwd_bench import regrets, sweep_pack, sweeping  # noqa: E402
from lnbwd_bench.shapes import random_shapes, shape_argument  # noqa: E402


def chooser(options: argparse.Namespace, chip: str
            ) -> Callable[[sweeping.Problem, list[int]], Iterable[Mapping[str, int]]]:
    """Which schedules are tried, given a problem and the model's fields."""
    properties = compiler.chips()[chip]

    def choose(problem: sweeping.Problem, model: list[int]) -> Iterable[Mapping[str, int]]:
        fields = dict(zip(sweeping.FIELDS, model, strict=True))
        if fields[schedule.COLUMN_TILE]:
            return []
        best = sweeping.ranked(problem, chip, options.ranked + 1)[1:] if options.ranked else []
        others = schedule_space.candidates(
            sweeping.shape_of(problem), fields, properties.wave_size, sweeping.FIELDS,
            properties.compute_units, options.seed, unbounded=not sweeping.has_sums(problem.kind))
        apart = [other for other in others if not other[schedule.WORKGROUPS_PER_COMPUTE_UNIT]]
        return (best + apart[:options.unbounded] + others)[:int(1.4 * options.candidates)]

    return choose


def problems_of(options: argparse.Namespace, chip: str) -> Iterable[sweeping.Problem]:
    """What the command line asks for."""
    shapes = random_shapes(*options.random) if options.random else options.shapes
    if shapes:
        return sweeping.problems_of(shapes, options.kinds, chip)
    return sweeping.draw(options.seed, options.count, chip, options.kinds)


def write(records: list[dict[str, Any]], chip: str, path: pathlib.Path) -> None:
    """Writes what was measured."""
    document = {"format": sweeping.FORMAT, "version": sweeping.VERSION, "chip": chip,
                "device": torch.cuda.get_device_name(), "torch": torch.__version__,
                "date": str(datetime.date.today()), "command": sys.argv[1:],
                "kernels": sweeping.KERNELS, "fields": sweeping.FIELDS, "problems": records}
    write_whole(path, lzma.compress(json.dumps(document, separators=(",", ":")).encode()))
    print(f"{len(records)} problems, "
          f"{sum(len(record['candidates']) for record in records)} schedules")


def parse_arguments() -> tuple[argparse.Namespace, argparse.ArgumentParser]:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100, help="problems (default 100)")
    parser.add_argument("--shapes", type=shape_argument, nargs="+", default=[],
                        help="each of --kinds on these shapes instead, as 8192x4096:f32")
    parser.add_argument("--random", nargs=2, type=int, metavar=("SEED", "COUNT"),
                        help="each of --kinds on the shapes that the benchmarks draw by SEED")
    parser.add_argument("--candidates", type=int, default=40, help="schedules a problem")
    parser.add_argument("--ranked", type=int, default=0,
                        help="of which so many are those that the cost model finds best "
                             "(default 0: all are drawn around its choice)")
    parser.add_argument("--kinds", nargs="+", choices=sorted(sweeping.KINDS), default=[],
                        help="the kinds to draw from, each as often")
    parser.add_argument("--unbounded", type=int, default=0,
                        help="of the schedules of a program without column sums so many, at least, "
                             "give each set of rows a workgroup of its own (default 0)")
    parser.add_argument("--seconds", type=float, default=540, help="stop after so long")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--chip", default=_chips.GPU,
                        help="chip to compile for (default %(default)s, or this machine's GPU)")
    modes = parser.add_mutually_exclusive_group(required=True)
    modes.add_argument("--out", type=pathlib.Path, help="a file .json.xz")
    modes.add_argument("--compile-to", type=pathlib.Path, metavar="FILE.zip",
                       help="only compile; needs no GPU")
    modes.add_argument("--regret", type=pathlib.Path, nargs="+", metavar="FILE",
                       help="only say what the model's choice costs in files of sweeps")
    parser.add_argument("--kernels", type=pathlib.Path, metavar="FILE.zip",
                        help="with --out: time what --compile-to has compiled; needs no compiler")
    options = parser.parse_args()
    if (options.shapes or options.random) and not options.kinds:
        parser.error("--shapes, --random: expected --kinds beside it")
    if options.kernels and not options.out:
        parser.error("--kernels: expected --out beside it")
    return options, parser


def main() -> int:
    """Collects and writes."""
    options, parser = parse_arguments()
    deadline = time.monotonic() + options.seconds
    try:
        if options.regret:
            print(regrets.text([
                problem for path in options.regret for problem in
                read_document(path, sweeping.FORMAT, sweeping.VERSION)["problems"]]))
            return 0
        if options.kernels:
            chip, compiled = sweep_pack.read(options.kernels)
            write(sweeping.measure_all(compiled, deadline), chip, options.out)
            return 0
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    chip = options.chip
    if not options.compile_to:
        if not torch.cuda.is_available():
            parser.error("expected an NVIDIA GPU, found none; --compile-to needs none")
        major, minor = torch.cuda.get_device_capability()
        chip = f"sm_{10 * major + minor}"
    if chip not in compiler.chips():
        parser.error(f"{chip}: the compiler knows {', '.join(compiler.chips())}")
    arguments = (problems_of(options, chip), chip, options.candidates, options.jobs, deadline,
                 chooser(options, chip))
    if options.compile_to:
        count = sweep_pack.write(options.compile_to, chip, sweeping.compile_all(*arguments))
        print(f"{count} problems in {options.compile_to}")
    else:
        write(sweeping.sweep(*arguments), chip, options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
