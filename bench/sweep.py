#!/usr/bin/env python3
# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times hundreds of schedules of random row programs on this machine's GPU.

  sweep.py --seed 1 --count 100 --out FILE.json.xz

Needs the compiler, ptxas and PyTorch. Some 4 seconds a problem on 16 cores. The numbers are what
the cost model is judged by, and made from; docs/tuning.md says what was collected so far.
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
from collections.abc import Iterable, Mapping

SOURCE = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(SOURCE / "python"), str(pathlib.Path(__file__).resolve().parent)]

import torch  # noqa: E402

from lnbwd import compiler, schedule, schedule_space  # noqa: E402
from lnbwd._files import write_whole  # noqa: E402
from lnbwd_bench import costs, sweeping  # noqa: E402


def main() -> int:
    """Collects and writes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100, help="problems (default 100)")
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
    parser.add_argument("--out", type=pathlib.Path, required=True, help="a file .json.xz")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        parser.error("expected an NVIDIA GPU, found none")
    major, minor = torch.cuda.get_device_capability()
    chip = f"sm_{10 * major + minor}"
    if chip not in compiler.chips():
        parser.error(f"{chip}: the compiler knows {', '.join(compiler.chips())}")
    properties = compiler.chips()[chip]

    def choose(problem: sweeping.Problem, model: list[int]) -> Iterable[Mapping[str, int]]:
        fields = dict(zip(sweeping.FIELDS, model, strict=True))
        if fields[schedule.COLUMN_TILE]:
            return []
        best = sweeping.ranked(problem, chip, options.ranked + 1)[1:] if options.ranked else []
        others = schedule_space.candidates(
            sweeping.shape_of(problem), fields, properties.wave_size, sweeping.FIELDS,
            properties.compute_units, options.seed, unbounded=not costs.has_sums(problem.kind))
        apart = [other for other in others if not other[schedule.WORKGROUPS_PER_COMPUTE_UNIT]]
        return (best + apart[:options.unbounded] + others)[:int(1.4 * options.candidates)]

    records = sweeping.sweep(sweeping.draw(options.seed, options.count, chip, options.kinds), chip,
                             options.candidates, options.jobs,
                             time.monotonic() + options.seconds, choose)
    document = {"format": sweeping.FORMAT, "version": sweeping.VERSION, "chip": chip,
                "device": torch.cuda.get_device_name(), "torch": torch.__version__,
                "date": str(datetime.date.today()), "command": sys.argv[1:],
                "fields": sweeping.FIELDS, "problems": records}
    write_whole(options.out, lzma.compress(json.dumps(document, separators=(",", ":")).encode()))
    print(f"{len(records)} problems, "
          f"{sum(len(record['candidates']) for record in records)} schedules")
    return 0


if __name__ == "__main__":
    sys.exit(main())
