#!/usr/bin/env python3
# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes docs/reference/performance.md and its plots from docs/results/performance.json.

  dashboard.py [--check]          writes the page, or only says whether it is stale
  dashboard.py take BLOCK FILE... puts what a program of this folder measured in the place of a
                                  block of the results: known, random, stream, operations
                                  and operations_random from operations.py, row_functions and
                                  quantized from row_functions.py, regions from regions.py time,
                                  converted from regions.py convert, steps from
                                  training_step.py, host from host_cost.py, compile_time from
                                  compile_time.py, linear and linear_host from
                                  layer_norm_linear.py, linear_losses from
                                  linear_cross_entropy.py
  dashboard.py amd                counts and predicts the blocks of AMD's chips anew, on the
                                  simulator, with the build of LNBWD_BUILD_DIR, build/ otherwise
  dashboard.py chooser            trains the trees of docs/sweeps in five folds, for their regret

Each block has its date, its machine and its command; a block is replaced as a whole.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import datetime
import itertools
import json
import multiprocessing
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from statistics import geometric_mean as mean
from typing import Any

SOURCE = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(SOURCE / "python"))

from lnbwd.core.base import chip_table  # noqa: E402
from lnbwd.core.base.operations import (  # noqa: E402
    LAYER_NORM,
    LAYER_NORM_BWD,
    RMS_NORM,
    RMS_NORM_BWD,
)
from lnbwd_bench import PEERS, our_kernels, plots, results  # noqa: E402
from lnbwd_bench.results import GRAPH, INTERLEAVED, gain, gains_of  # noqa: E402
from lnbwd_bench.shapes import Shape, default_shapes  # noqa: E402

FILE = SOURCE / "docs" / "results" / "performance.json"
PAGE = SOURCE / "docs" / "reference" / "performance.md"
IMAGES = SOURCE / "docs" / "images"
_OUTCOMES = ("whole", "part", "left")
# The types and operations that are counted, with N and the numbers of rows.
COUNTED_TYPES, COUNTED_OPS = ("f32", "bf16"), (LAYER_NORM_BWD, LAYER_NORM, RMS_NORM)
COUNTED_N, COUNTED_ROWS = 1024, 16384

# The blocks of operations.py and row_functions.py: whether operations.py drew their shapes, and of
# which operations they are, all if it says none.
OF_OPERATIONS = {"known": (False, (LAYER_NORM_BWD,)), "random": (True, (LAYER_NORM_BWD,)),
                 "stream": (False, (LAYER_NORM_BWD,)),
                 "operations": (False, (LAYER_NORM, RMS_NORM, RMS_NORM_BWD)),
                 "operations_random": (True, (LAYER_NORM, RMS_NORM, RMS_NORM_BWD)),
                 "row_functions": (False, ())}

# Columns beyond which rows are long.
LONG_ROW = 36_000

Block = dict[str, Any]


def sizes(m: int, n: int, *more: int) -> str:
    """Sizes as the page has them."""
    return f"{m}×{n}" + "".join(f"→{other}" for other in more)


def of_type(shape: str, dtype: str) -> str:
    """A shape and its type, which goes without saying if it is bf16."""
    return shape if dtype == "bf16" else f"{shape} {dtype}"


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """A Markdown table."""
    head = list(head)
    return ["| " + " | ".join(head) + " |", "|---" * len(head) + "|",
            *("| " + " | ".join(row) + " |" for row in rows), ""]


def where(block: Block) -> str:
    """The line that says where a block's figures are from."""
    machine = block["machine"]
    return f"{machine[0].upper()}{machine[1:]}: `{block['command']}`"


def shares_of(rows: Iterable[results.Row], least_bytes: float = results.LARGE_BYTES) -> list[float]:
    """Shares of the stream where as much is moved."""
    return [share for row in rows if row["bytes"] >= least_bytes
            and (share := results.share(row, GRAPH))]


def mean_and_least(values: list[float]) -> tuple[str, str]:
    """Both, for a table."""
    return (f"{mean(values):.2f}", f"{min(values):.2f}") if values else ("", "")


def known_shapes(block: Block) -> list[str]:
    """LayerNorm backward of the table."""
    rows = block["rows"]
    cells = []
    for row in sorted(rows, key=lambda row: (row["dtype"], -row["bytes"])):
        ours = results.times_of(row, GRAPH)["ours"]
        name, theirs = results.best_peer(row, GRAPH) or ("", 0.0)
        cells.append((of_type(sizes(row["m"], row["n"]), row["dtype"]), f"{ours:.1f}",
                      f"{row['bytes'] / ours / 1e3:.0f}",
                      f"{100 * (results.share(row, GRAPH) or 0):.0f}",
                      f"{PEERS[name]} {theirs:.1f}", f"{theirs / ours:.2f}"))
    gains, apart = gains_of(rows), gains_of(rows, INTERLEAVED)
    text = [f"The fastest of five peers takes {mean(gains):.2f} times as long as lnbwd (geometric "
            f"mean of {len(gains)} shapes; least {min(gains):.2f}). lnbwd reaches "
            f"{100 * mean(shares_of(rows)):.0f} % of [copy bandwidth](#how-it-is-measured) on "
            "shapes that move 100 MB and more."]
    if apart:
        text += [f"If a kernel of PyTorch runs before each call, the factor is "
                 f"{mean(apart):.2f} (least {min(apart):.2f})."]
    return ["## LayerNorm backward, known shapes", "", " ".join(text), "",
            *table(("M × N, bf16", "lnbwd, µs", "GB/s", "% of copy", "best peer, µs",
                    "times faster"), cells), where(block), ""]


def of_the_stream(block: Block) -> list[str]:
    """LayerNorm backward of large shapes drawn at random, beside the stream alone."""
    kinds: dict[str, Callable[[results.Row], bool]] = {
        "even N to 36,000": lambda row: row["n"] % 2 == 0 and row["n"] <= LONG_ROW,
        "odd N": lambda row: row["n"] % 2 == 1,
        "N beyond 36,000": lambda row: row["n"] > LONG_ROW,
        "N beyond 36,000, 16 bits": lambda row: row["n"] > LONG_ROW and row["dtype"] != "f32",
        "all": lambda row: True}
    cells = []
    for kind, is_of in kinds.items():
        shares = shares_of(row for row in block["rows"] if is_of(row))
        cells.append((kind, str(len(shares)), *mean_and_least(shares)))
    return ["Large random shapes of other seeds, 100 MB to 1.4 GB, against copy bandwidth:", "",
            *table(("shapes", "number", "of copy: mean", "least"), cells), where(block), ""]


def random_shapes(block: Block, large: Block | None) -> list[str]:
    """LayerNorm backward of shapes drawn at random."""
    rows = block["rows"]
    cells = []
    for seed in sorted({row["random"][0] for row in rows}):
        drawn = [row for row in rows if row["random"][0] == seed]
        shares = shares_of(drawn)
        cells.append((str(seed), str(len(drawn)), *mean_and_least(gains_of(drawn)),
                      *mean_and_least(shares)))
    cells.append(("all", str(len(rows)), *mean_and_least(gains_of(rows)),
                  *mean_and_least(shares_of(rows))))
    beside = {}
    for who in dict.fromkeys(who for row in rows for who in row["timed"] if who != "ours"):
        both = [row for row in rows if who in row[GRAPH]]
        beside[who] = mean(row[GRAPH][who] / row[GRAPH]["ours"] for row in both)
    worst = min((row for row in rows if gain(row)), key=lambda row: gain(row) or 0)
    return ["## LayerNorm backward, random shapes", "",
            "Random shapes of 4 MB to 1.6 GB: log-uniform in M and N, all types, a tenth with odd "
            "N. Peers take these multiples of lnbwd's time (means): "
            + ", ".join(f"{PEERS[who]} {factor:.1f}" for who, factor in beside.items())
            + ". cuDNN and Quack do not support all shapes. The worst shape is "
            f"{sizes(worst['m'], worst['n'])} {worst['dtype']}: lnbwd takes "
            f"{worst[GRAPH]['ours']:.1f} µs, "
            f"{' '.join(best_words(worst))} µs.", "",
            "![How many times faster than the best peer, over the bytes moved]"
            "(../images/random_shapes.svg)", "",
            *table(("seed", "shapes", "times faster than the best peer: mean", "least",
                    "of copy: mean", "least"), cells),
            where(block), "", *(of_the_stream(large) if large else ())]


def best_words(row: results.Row) -> tuple[str, str]:
    """The best peer's name and microseconds."""
    name, time = results.best_peer(row, GRAPH) or ("", 0.0)
    return PEERS[name], f"{time:.1f}"


def operations(block: Block, drawn: Block | None) -> list[str]:
    """The family of operations."""
    rows = block["rows"]
    shapes = list(dict.fromkeys((row["m"], row["n"], row["dtype"]) for row in rows))
    cells = []
    for op in dict.fromkeys(row["name"] for row in rows):
        mine = {(row["m"], row["n"], row["dtype"]): row for row in rows if row["name"] == op}
        cells.append((f"`{op}`", *(f"{mine[shape][GRAPH]['ours']:.1f}; "
                                   f"{' '.join(best_words(mine[shape]))}" for shape in shapes),
                      f"{mean(gains_of(mine.values())):.2f}",
                      f"{100 * mean(shares_of(mine.values())):.0f}"))
    text = ["## Forward passes and RMSNorm", "",
            "Each cell has lnbwd's microseconds, then the best peer's. The last columns are means: "
            "how many times faster lnbwd is, and its share of copy bandwidth on shapes that move "
            "100 MB and more.", "",
            *table(("bf16", *(sizes(m, n) for m, n, _ in shapes), "times faster",
                    "% of copy"), cells)]
    apart = [(op, gains_of([row for row in rows if row["name"] == op], INTERLEAVED))
             for op in dict.fromkeys(row["name"] for row in rows)]
    if all(values for _, values in apart):
        text += ["If a kernel of PyTorch runs before each call, the factors are "
                 + ", ".join(f"{mean(values):.2f} (`{op}`)" for op, values in apart) + ".", ""]
    text += [where(block), ""]
    if drawn:
        cells = []
        for op in dict.fromkeys(row["name"] for row in drawn["rows"]):
            mine_drawn = [row for row in drawn["rows"] if row["name"] == op]
            cells.append((f"`{op}`", str(len(mine_drawn)), *mean_and_least(gains_of(mine_drawn)),
                          *mean_and_least(shares_of(mine_drawn))))
        text += [*table(("random shapes", "number", "times faster than the best peer: mean",
                         "least", "of copy: mean", "least"), cells),
                 where(drawn), ""]
    return text


def row_functions(block: Block) -> list[str]:
    """The functions of lnbwd.functional."""
    rows = block["rows"]
    cells = []
    for name in dict.fromkeys(row["name"].partition(",")[0] for row in rows):
        passes = [gains_of(row for row in rows if row["name"] == f"{name}, {what}")
                  for what in ("forward", "backward", "both")]
        cells.append((f"`{name}`", str(len(passes[-1])),
                      *(text for gains in passes for text in mean_and_least(gains))))
    return ["## Row functions", "",
            "How many times faster the functions of `lnbwd.functional` are than the best of "
            "PyTorch, torch.compile and Liger, on random shapes. The first input has 2 to 400 MB, "
            "in each type by turns. Cross entropy is in bf16, with 50,257 or a random number of "
            "classes. Liger computes its gradient in the forward pass: compare `both`.",
            "", *table(("function", "shapes", "forward: mean", "least", "backward: mean", "least",
                        "both: mean", "least"), cells), where(block), ""]


def quantized(block: Block) -> list[str]:
    """The functions that write float8 and float4."""
    by_hand = " and ".join(f"{mean(row['by_hand']):.2f} (least {min(row['by_hand']):.2f})"
                           for row in block["rows"] if row["by_hand"])
    return ["## Float8 and float4", "",
            "The functions of [float8.md](../float8.md) on random shapes in bf16, against PyTorch "
            "and torch.compile, and against copy bandwidth (large: from 100 MB on). `both`: both "
            "layouts." + (" Kernels by hand (Liger's RMSNorm, torchao 0.18.0's layouts; PyTorch's "
                          f"gradient, quantised by torch.compile) take {by_hand} times as long."
                          if by_hand else ""), "",
            *table(("function", "shapes", "times faster", "least", "of copy", "least", "large"),
                   ((f"`{row['name']}`", str(len(row["gains"])), *mean_and_least(row["gains"]),
                     *mean_and_least(row["shares"]), mean_and_least(row["large"])[0])
                    for row in block["rows"])), where(block), ""]


def conversions(block: Block) -> list[str]:
    """How many of the nodes that Inductor fuses are row programs."""
    return ["Nodes that Inductor fuses in graphs of real models, and how many of them become row "
            "programs:", "",
            *table(("fused nodes", "number", "converted", "%"),
                   ((row["kind"], str(row["nodes"]), str(row["converted"]),
                     f"{100 * row['converted'] / row['nodes']:.0f}") for row in block["rows"])),
            where(block), ""]


def speeds(found: list[float]) -> tuple[str, ...]:
    """How many there are of torch.compile's times over ours, means, parts and the slow ones."""
    found = sorted(found)
    return (str(len(found)), f"{statistics.fmean(found):.3f}", f"{mean(found):.3f}",
            *(f"{found[int(part * (len(found) - 1))]:.2f}" for part in (0, 0.05, 0.5, 0.95)),
            *(str(sum(factor < bound for factor in found)) for bound in (0.98, 0.9)))


def regions(block: Block, converted: Block | None) -> list[str]:
    """Patterns of torch.compile's graphs: what row programs compute of them, and how fast."""
    rows = block["rows"]
    outcomes = collections.Counter(
        (results.BLOCKS[not row["seen"]], row["outcome"]) for row in rows)
    counts = [(models, [outcomes[models, outcome] for outcome in _OUTCOMES])
              for models in results.BLOCKS]
    weights: dict[str, Callable[[Block], int]] = {
        "all": lambda row: 1,
        **{kind: lambda row, is_seen=is_seen: row["seen"] == is_seen
           for kind, is_seen in zip(results.BLOCKS, (True, False), strict=True)},
        "by occurrence": lambda row: row["occurs"]}
    cells = []
    for kind, weight in weights.items():
        found = [row["us"]["torch"] / row["us"]["lnbwd"]
                 for row in rows for _ in range(weight(row))]
        if found:
            cells.append((kind, *speeds(found)))
    slowest = sorted(rows, key=lambda row: row["us"]["torch"] / row["us"]["lnbwd"])[:5]
    return ["## Regions of compiled graphs", "",
            "Patterns that Inductor fuses around a reduction, of models that the development used "
            "(training set) and of others (held-out set). Row programs compute a pattern whole, in "
            "part, or leave it:", "",
            *table(("models", "patterns", "whole", "part", "left"),
                   ((models, *map(str, (sum(found), *found))) for models, found in counts)),
            *(conversions(converted) if converted else []),
            "How many times faster the backend `lnbwd` is than torch.compile's kernels. *By "
            "occurrence* counts a pattern as often as it occurs in models; the number is known for "
            f"{sum(row['occurs'] > 0 for row in rows)} patterns.", "",
            *table(("patterns", "number", "arithmetic mean", "geometric mean", "least", "5 %",
                    "median", "95 %", "below 0.98", "below 0.9"), cells),
            where(block), "",
            "The five slowest. A number is a line of "
            "[region-patterns.jsonl.xz](../results/region-patterns.jsonl.xz), from 0 on; patterns "
            "with \"new\" are not in the file:", "",
            *table(("pattern", "model", "lnbwd, µs", "torch.compile, µs", "torch.compile ÷ lnbwd"),
                   ((str(row["pattern"]), row["model"],
                     *(f"{row['us'][who]:.1f}" for who in ("lnbwd", "torch")),
                     f"{row['us']['torch'] / row['us']['lnbwd']:.2f}") for row in slowest))]


def steps(block: Block) -> list[str]:
    """Training steps of whole models."""
    rows = block["rows"]
    ratios, first = ([row[what]["lnbwd"] / row[what]["torch"] for row in rows if what in row]
                     for what in ("ms", "first_s"))
    cells = [(row["model"], *(f"{row['ms'][who]:.1f}" for who in ("lnbwd", "torch")),
              f"{ratio:.3f}", f"{row['memory']:.3f}",
              *(f"{row['first_s'][who]:.1f}" if "first_s" in row else "" for who in (
                  "lnbwd", "torch")))
             for row, ratio in zip(rows, ratios, strict=True)]
    return ["## Training steps of whole models", "",
            "Forward, backward and fused AdamW, by `torch.compile(model, backend=\"lnbwd\")` and "
            f"by `torch.compile(model)`. A step takes {mean(ratios):.3f} of torch.compile's time "
            f"(geometric mean; {min(ratios):.3f} to {max(ratios):.3f})."
            + (f" The first step, which compiles, takes {mean(first):.2f} ({min(first):.2f} to "
               f"{max(first):.2f})." if first else ""), "",
            *table(("model", "lnbwd, ms", "torch.compile, ms", "ratio", "peak memory, ratio",
                    "first step: lnbwd, s", "torch.compile, s"), cells), where(block), ""]


def linear_losses(block: Block) -> list[str]:
    """Cross entropy of a linear layer's output."""
    cells = []
    for row in block["rows"]:
        ms, memory = row["ms"], row["memory"]
        best = min(taken for who, taken in ms.items() if who not in ("ours", "products"))
        cells.append(("×".join(row["size"].split("x")), *(
            f"{ms[who]:.1f}" if who in ms else "" for who in (
                "ours", "eager", "compile", "liger", "products")),
            f"{best / ms['ours']:.2f}", f"{ms['products'] / ms['ours']:.2f}",
            f"{memory['ours'] / memory['eager']:.2f}" if "eager" in memory else ""))
    return ["## Cross entropy of a linear layer", "",
            "`lnbwd.functional.linear_cross_entropy`, forward and backward, in bf16. \"products\" "
            "are the three matrix products alone, of all rows at once, by PyTorch. Memory is the "
            "peak without the operands.", "",
            *table(("rows × H × V", "lnbwd, ms", "eager", "torch.compile", "Liger", "products",
                    "best peer ÷ lnbwd", "products ÷ lnbwd", "memory ÷ eager's"), cells),
            where(block), ""]


def host(block: Block) -> list[str]:
    """What a call costs the host."""
    cells = [(f"{row['op']}, {row['pass']}",
              *(f"{row[who]:.1f}" if who in row else "" for who in
                ("torch", "ours", "overridden", "patched")))
             for row in block["rows"] if row["case"].startswith("chain")]
    return ["## What a call costs the host", "",
            "Host time of one norm in a chain of modules, with the launch: eager PyTorch, the "
            "modules of `lnbwd.nn`, and PyTorch's modules under `lnbwd.override_aten()` and after "
            "`lnbwd.patch`.", "",
            *table(("", "PyTorch, µs", "lnbwd, µs", "override_aten, µs", "patch, µs"), cells),
            where(block), ""]


def linear(block: Block, host_block: Block | None) -> list[str]:
    """LayerNorm with a linear layer."""
    cells: dict[str, list[str]] = {}
    for row in block["rows"]:  # The forward pass, then both.
        us = row["us"]
        cells.setdefault(of_type(sizes(*row["sizes"]), row["dtype"]), []).extend((
            *(f"{us[who]:.1f}" for who in ("auto", "eager", "compile")),
            f"{min(us['eager'], us['compile']) / us['auto']:.2f}"))
    text = ["## LayerNorm with a linear layer", "",
            f"`lnbwd.{LAYER_NORM}_linear` in CUDA graphs: the forward pass without gradients, and "
            "both passes with all five gradients.", "",
            *table(("M × K → O, bf16", *(f"{what}{who}" for what in ("forward: ", "both: ")
                                         for who in ("lnbwd, µs", "PyTorch", "torch.compile",
                                                     "times faster than the better"))),
                   ((shape, *row) for shape, row in cells.items())), where(block), ""]
    if host_block:
        calls: dict[str, list[str]] = {}
        for row in host_block["rows"]:
            calls.setdefault(sizes(*row["sizes"]), []).append("; ".join(
                f"{row['us'][who]:.0f}" for who in ("ours", "eager", "compile")))
        text += ["Host time of one call, µs: lnbwd; PyTorch; torch.compile.", "",
                 *table(("bf16", *dict.fromkeys(row["pass"] for row in host_block["rows"])),
                        ((shape, *row) for shape, row in calls.items())), where(host_block), ""]
    return text


def compile_time(block: Block) -> list[str]:
    """What a compilation of a kernel takes."""
    text = ["## Compile time", "",
            "A run of `lnbwd-opt`, from the operation to the code object, on one core, for the "
            "shapes of the first table: "
            + "; ".join(f"{row['chip']} {row['median_ms']:.0f} ms in the median, "
                        f"{row['worst_ms']:.0f} ms at most" for row in block["rows"])
            + ".", "", where(block), ""]
    return text


def amd(counts: Block, predicted: Block, float8: Block) -> list[str]:
    """What the simulator says of AMD's chips."""
    found = {(row["chip"], row["dtype"], row["op"]): f"{row['bytes']:.2f}; {row['vector']:.1f}"
             for row in counts["rows"]}
    cells = [(f"{chip} {dtype}", *(found[chip, dtype, op] for op in COUNTED_OPS))
             for chip in our_kernels.COUNTED_CHIPS for dtype in COUNTED_TYPES]
    of_float8 = {(row["name"], row["chip"]): " to ".join(dict.fromkeys(
        f"{ratio:.2f}" for ratio in (min(row["bytes"]), max(row["bytes"]))))
                 for row in float8["rows"]}
    names, chips_of_float8 = map(dict.fromkeys, zip(*of_float8, strict=True))
    times = [(of_type(sizes(row["m"], row["n"]), row["dtype"]), f"{row['us']:.1f}",
              f"{100 * row['share']:.0f}") for row in predicted["rows"]]
    return ["## AMD: counted and predicted", "",
            "The simulator's counts are exact. Each cell has two counts for 16384×1024: bytes that "
            "lanes access over the least that the operation can move; vector instructions of a "
            "lane per element. `test/EndToEnd/test_counts.py` checks upper bounds. The model that "
            f"chooses schedules was trained on {', '.join(our_kernels.BOUNDED_CHIPS)}.",
            "",
            *table(("chip, type", *(f"`{op}`" for op in COUNTED_OPS)), cells),
            "The same byte counts for functions that write float8 and float4, least and most of "
            f"{', '.join(sizes(*shape) for shape in float8['shapes'])}. "
            f"{sum(row['spills'] for row in float8['rows']) or 'No'} kernels spill. Norms "
            "reload their weights for every few rows, from a cache; for both layouts they read "
            "rows twice. The last column counts bytes that reach memory by the timing model, "
            "partial sums included.", "",
            *table(("bf16", *chips_of_float8),
                   ((f"`{name}`", *(of_float8[name, chip] for chip in chips_of_float8))
                    for name in names)), where(float8), "",
            f"Predicted times of LayerNorm backward on an {predicted['product']}, with static M "
            "and cold caches. The timing model's error on held-out kernels is "
            f"{predicted['error_percent']} %.", "",
            *table(("M × N, bf16", "predicted, µs", "% of copy"), times),
            where(predicted), ""]


def chooser(block: Block) -> list[str]:
    """How good the choice of schedules is."""
    return ["## The choice of schedules", "", "Regret is the time of the chosen schedule over the "
            "best one's, for programs outside of the training set. AMD times are predicted.", "",
            *table(("trees", "programs", "regret, median", "95th percentile"),
                   ((row["trees"], row["sweep"], f"{row['median']:.3f}", f"{row['p95']:.3f}")
                    for row in block["rows"])), where(block), ""]


METHOD = """## How it is measured

All candidates run in one process, in alternation, on rotating buffers, so that no input is in a
cache. Figures are medians of 25 to 30 repetitions for norms; for others, the line below the table
has the number. Kernel times are those of CUDA graphs of many calls over the number of calls:
kernels and the gaps between them, as in a training step. Peers are PyTorch's eager operators,
torch.compile for the exact shape, Liger 0.8.5, cuDNN by its front end 1.32, and Quack 0.6.5. A peer
that gives wrong results or does not support a shape has no time there. Outputs are compared with
float64 in the same run ([numerics.md](../numerics.md)), and two runs of lnbwd must give the same
bits.

GB/s count the least bytes that the operation can move. *Copy bandwidth* is the rate of a kernel
that only reads and writes the same number of arrays of the same size, in the fastest of 27 launch
shapes; means over shares of it take shapes that move 100 MB or more. Kernels are those that Python
compiles: for any M, with the shape's M as a hint, and the schedule that the compiler chooses
([schedules.md](../schedules.md)).

## To measure again

```sh
python bench/operations.py compile --out K                                  # where the build is
python bench/operations.py run --kernels K --interleave --out known.json    # where the GPU is
python bench/dashboard.py take known known.json
python bench/dashboard.py take operations known.json
python bench/dashboard.py amd                                               # without a card
python bench/dashboard.py chooser                                           # LightGBM, no card
python bench/dashboard.py
```

`scripts/pack-gpu.sh FOLDER bench` packs `operations.py` with compiled kernels for a machine
without the compiler. `bench/dashboard.py --help` names the program of each block.
"""


def page(blocks: dict[str, Block]) -> str:
    """The text of the page."""
    lines = ["<!-- Written by bench/dashboard.py from docs/results/performance.json; do not edit. "
             "-->", "", "# Performance", ""]
    sections: list[tuple[Callable[..., list[str]], tuple[str, ...]]] = [
        (known_shapes, ("known",)), (random_shapes, ("random", "stream")),
        (operations, ("operations", "operations_random")), (row_functions, ("row_functions",)),
        (quantized, ("quantized",)),
        (regions, ("regions", "converted")),
        (steps, ("steps",)), (linear, ("linear", "linear_host")),
        (linear_losses, ("linear_losses",)), (host, ("host",)),
        (compile_time, ("compile_time",)),
        (amd, ("amd_counts", "amd_predicted", "amd_float8")),
        (chooser, ("chooser",))]
    for section, names in sections:
        if names[0] in blocks:
            lines += section(*(blocks.get(name) for name in names))
    return "\n".join(lines) + "\n" + METHOD


def pictures(blocks: dict[str, Block]) -> dict[str, str]:
    """The plots, by file name."""
    drawn = [(row["bytes"] / 1e6, found) for row in blocks["random"]["rows"]
             if (found := gain(row))]
    return {"random_shapes.svg": plots.points(
        "LayerNorm backward, random shapes: time of the best peer over lnbwd's", drawn, "MB moved")}


def of_operations(rows: Iterable[Block]) -> Iterator[Block]:
    """Rows of operations.py and row_functions.py as the file has them."""
    for row in rows:
        kept = {key: row[key] for key in ("name", "m", "n", "dtype", "bytes", "stream_bytes",
                                          "random", "timed") if key in row}
        for method in (GRAPH, INTERLEAVED):
            kept[method] = {who: round(row[who][method]["median_us"], 3) for who in row["timed"]
                            if method in row[who]}
        kept["stream"] = {method: round(times["median_us"], 3)
                          for method, times in row["stream"].items() if method in kept}
        yield {key: value for key, value in kept.items()
               if value and (key, value) != ("timed", [*kept[GRAPH]])}


def as_row(kept: Block) -> Block:
    """A row of a block as results.py takes it."""
    row = {GRAPH: {}, INTERLEAVED: {}, results.STREAM: {}, **kept}
    for who in row.setdefault("timed", list(row[GRAPH])):
        row[who] = {method: {"median_us": row[method][who]} for method in (GRAPH, INTERLEAVED)
                    if who in row[method]}
    row[results.STREAM] = {method: {"median_us": time}
                           for method, time in row[results.STREAM].items()}
    return row


def of_quantized(rows: Iterable[Block]) -> Iterator[Block]:
    """A row for each function of row_functions.py --quantized, with figures of all shapes."""
    by_name: dict[str, list[Block]] = {}
    for row in rows:
        by_name.setdefault(row["name"].removesuffix(", forward"), []).append(row)
    for name, mine in by_name.items():
        yield {"name": name, **{
            key: [round(value, 3) for value in values] for key, values in (
                ("gains", gains_of(mine)), ("shares", shares_of(mine, 0)),
                ("large", shares_of(mine)),
                ("by_hand", gains_of({**row, "timed": ["ours", "liger"]} for row in mine
                                     if "liger" in row["timed"])))}}


KEPT = {"regions": "pattern model seen occurs outcome us before_us",
        "converted": "kind nodes converted", "steps": "model ms memory first_s",
        "host": "op case pass torch ours overridden patched", "linear": "sizes dtype pass us",
        "linear_host": "sizes pass us", "linear_losses": "size ms memory errors",
        "compile_time": "chip median_ms worst_ms"}
"""Fields of a row that the blocks of the other programs keep."""


def rounded(value: Any) -> Any:
    """Four digits of a number, or of those of a dictionary."""
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    return float(f"{value:.4g}") if isinstance(value, float) else value


def take(name: str, files: list[pathlib.Path]) -> Block:
    """A block of what was measured; several files make one block."""
    is_drawn, names = OF_OPERATIONS.get(name, (False, ()))
    documents = [json.loads(file.read_text()) if name in KEPT else results.read(file)
                 for file in files]
    rows: Iterable[Block] = (row for document in documents for row in document["results"])
    if name in OF_OPERATIONS:
        rows = of_operations(row for row in rows if ("random" in row) == is_drawn
                             and row["name"] in (names or [row["name"]]))
    elif name in KEPT:
        rows = ({key: rounded(row[key]) for key in KEPT[name].split() if key in row}
                for row in rows if row.get("block", name) == name)
    else:
        rows = of_quantized(rows)
    machine = documents[0]["machine"]
    parts = [str(machine[key]) if key == "name" else f"{key} {machine[key]}"
             for key in ("name", "driver", "torch", "triton") if key in machine]
    return {"date": documents[0]["date"][:10], "machine": ", ".join(parts) or "one core",
            "command": " ".join(documents[0]["command"]), "rows": list(rows)}


def runner(build: pathlib.Path, *options: object) -> Block:
    """The report of lnbwd-run on the simulator, without its checks."""
    result = subprocess.run(
        [str(build / "bin" / "lnbwd-run"), *map(str, options), "--device", "sim", "--json"],
        env={**os.environ, "LNBWD_SIM_CHECK": "0"}, capture_output=True, text=True, check=False)
    if result.returncode:
        raise our_kernels.KernelError(result.stderr.strip())
    report: Block = json.loads(result.stdout)
    return report


def count(build: pathlib.Path, case: tuple[str, str, str]) -> Block:
    """A row of the counts."""
    chip, dtype, op = case
    counters = runner(build, "--op", op, "--chip", chip, "--dtype", dtype, "--n", COUNTED_N,
                      "--m", COUNTED_ROWS, "--time")["counters"]
    moved = counters["global_bytes_read"] + counters["global_bytes_written"]
    return {"chip": chip, "dtype": dtype, "op": op,
            "bytes": round(moved / counters["minimal_bytes"], 3),
            "vector": round(counters["vector_lane_instructions"] / (COUNTED_ROWS * COUNTED_N), 2)}


def predict(build: pathlib.Path, shape: Shape) -> Block:
    """A row of the predictions, with the product and the model's error."""
    with tempfile.TemporaryDirectory(prefix="lnbwd-dashboard-") as folder:
        kernel = pathlib.Path(folder) / "kernel.hsaco"
        subprocess.run([our_kernels.find_compiler(), "-",
                        f"--lnbwd-pipeline=chip={chip_table.SIMULATED}", "--emit=hsaco", "-o",
                        kernel],
                       input=our_kernels.operation(shape), text=True, check=True,
                       capture_output=True)
        report = runner(build, kernel, "--m", shape.m, "--predict")["prediction"]
    rate = shape.stream_bytes / report["predicted_us"] / 1e3
    return {"m": shape.m, "n": shape.n, "dtype": shape.dtype,
            "us": round(report["predicted_us"], 2),
            "share": round(rate / report["stream_gigabytes_per_second"], 3),
            "product": report["model"], "error_percent": report["held_out_error_percent"]}


def simulate() -> dict[str, Block]:
    """The blocks of AMD's chips."""
    build = pathlib.Path(os.environ.get("LNBWD_BUILD_DIR", SOURCE / "build")).resolve()
    cases = [(chip, dtype, op) for chip in our_kernels.COUNTED_CHIPS for dtype in COUNTED_TYPES
             for op in COUNTED_OPS]
    about = {"date": str(datetime.date.today()), "machine": "the simulator",
             "command": "dashboard.py amd"}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        counted = list(pool.map(lambda case: count(build, case), cases))
        predicted = list(pool.map(lambda shape: predict(build, shape), default_shapes()))
    from lnbwd_bench import quantized

    of_float8 = itertools.product((*our_kernels.COUNTED_CHIPS, ""), quantized.CASES)
    with concurrent.futures.ProcessPoolExecutor(
            mp_context=multiprocessing.get_context("spawn")) as processes:
        float8 = list(processes.map(quantized.counted, of_float8))
    of_all = [{key: row.pop(key) for key in ("product", "error_percent")} for row in predicted]
    return {"amd_counts": {**about, "rows": counted},
            "amd_predicted": {**about, **of_all[0], "rows": predicted},
            "amd_float8": {**about, "shapes": quantized.counted_shapes(), "rows": float8}}


def learn() -> dict[str, Block]:
    """The block of the trees that choose schedules."""
    rows = [json.loads(line) for vendor in ("amd", "nvidia") for line in subprocess.check_output(
        [sys.executable, SOURCE / "bench/chooser/train.py", "--held-out", "5",
         *sorted((SOURCE / "docs/sweeps").glob(f"*-{vendor}.*"), reverse=True)]).splitlines()]
    # Drawn problems are no sweep, and need a card.
    rows += [row for row in read_blocks()["chooser"]["rows"] if "card" in row]
    return {"chooser": {"date": str(datetime.date.today()), "machine": "one core",
                        "command": "dashboard.py chooser", "rows": rows}}


def read_blocks() -> dict[str, Block]:
    """The blocks of the file."""
    blocks: dict[str, Block] = json.loads(FILE.read_text())
    for name in OF_OPERATIONS:
        if name in blocks:
            blocks[name]["rows"] = [as_row(row) for row in blocks[name]["rows"]]
    return blocks


def write_blocks(new: dict[str, Block]) -> None:
    """Puts blocks in the place of those of their names; a line for each row."""
    blocks = {**(json.loads(FILE.read_text()) if FILE.exists() else {}), **new}
    texts = []
    for name, block in blocks.items():
        about = json.dumps({key: value for key, value in block.items() if key != "rows"})
        rows = ",\n".join("  " + json.dumps(row) for row in block["rows"])
        texts.append(f'"{name}": {about[:-1]}, "rows": [\n{rows}]}}')
    FILE.write_text("{\n" + ",\n".join(texts) + "\n}\n")


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if stale")
    commands = parser.add_subparsers(dest="command")
    taking = commands.add_parser("take", help="put a result in the place of a block")
    taking.add_argument("block", choices=[*OF_OPERATIONS, "quantized", *KEPT])
    taking.add_argument("files", nargs="+", type=pathlib.Path, metavar="FILE")
    commands.add_parser("amd", help="count and predict AMD's blocks anew")
    commands.add_parser("chooser", help="measure the regret of the choice of schedules anew")
    options = parser.parse_args()
    try:
        if options.command:
            write_blocks({options.block: take(options.block, options.files)}
                         if options.command == "take"
                         else simulate() if options.command == "amd" else learn())
            return 0
    except (OSError, ValueError, subprocess.SubprocessError, our_kernels.KernelError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    blocks = read_blocks()
    wanted = {PAGE: page(blocks),
              **{IMAGES / name: text for name, text in pictures(blocks).items()}}
    stale = [path for path, text in wanted.items()
             if not path.exists() or path.read_text() != text]
    for path in stale:
        print(f"{'stale' if options.check else 'written'}: {path.relative_to(SOURCE)}")
        if not options.check:
            path.write_text(wanted[path])
    return 1 if options.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
