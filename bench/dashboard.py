#!/usr/bin/env python3
# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the tables of docs/reference/performance.md from docs/results/performance.json.

  dashboard.py [--check]          writes the tables, or only says whether the page is stale
  dashboard.py take BLOCK FILE... puts what a program of this folder measured in the place of a
                                  block of the results: known, random, stream, canonical,
                                  operations and operations_random from operations.py,
                                  row_functions and quantized from row_functions.py, regions from
                                  regions.py time,
                                  converted from regions.py convert, steps from
                                  training_step.py, host from host_cost.py, linear and
                                  linear_host from linear.py layers, linear_losses from
                                  linear.py losses
  dashboard.py amd                counts and predicts the blocks of AMD's chips anew, on the
                                  simulator, with the build of LNBWD_BUILD_DIR, build/ otherwise
  dashboard.py compile_time       times the compiler on one core
  dashboard.py chooser            trains the trees of docs/sweeps in five folds, for their regret

Each block has its date, its machine and its command; a block is replaced as a whole. Its table
stands in the page between "<!-- measured: BLOCK -->" and "<!-- end -->".
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import datetime
import functools
import itertools
import json
import multiprocessing
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from statistics import geometric_mean as mean
from typing import Any

SOURCE = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(SOURCE / "python"))

from lnbwd.core.base import chip_table  # noqa: E402
from lnbwd.core.base.operations import LAYER_NORM, LAYER_NORM_BWD, RMS_NORM  # noqa: E402
from lnbwd_bench import PEERS, our_kernels, results  # noqa: E402
from lnbwd_bench.results import GRAPH, INTERLEAVED, Row, gain, gains_of  # noqa: E402
from lnbwd_bench.shapes import Shape, default_shapes  # noqa: E402

FILE = SOURCE / "docs" / "results" / "performance.json"
PAGE = SOURCE / "docs" / "reference" / "performance.md"
MARKER = re.compile(r"(<!-- measured: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
# The types and operations that are counted, with N and the numbers of rows.
COUNTED_TYPES, COUNTED_OPS = ("f32", "bf16"), (LAYER_NORM_BWD, LAYER_NORM, RMS_NORM)
COUNTED_N, COUNTED_ROWS = 1024, 16384
LONG_ROW = 36_000

Block = dict[str, Any]


def sizes(m: int, n: int, *more: int) -> str:
    """Sizes as the page has them."""
    return f"{m}×{n}" + "".join(f"→{other}" for other in more)


def shape_of(row: Row) -> str:
    """A row's shape and its type, which goes without saying if it is bf16."""
    return sizes(row["m"], row["n"]) + ("" if row["dtype"] == "bf16" else f" {row['dtype']}")


def table(head: str, rows: Iterable[Iterable[object]]) -> list[str]:
    """A Markdown table."""
    return [f"| {head} |", "|---" * (head.count(" | ") + 1) + "|",
            *("| " + " | ".join(map(str, row)) + " |" for row in rows), ""]


def grouped(rows: Iterable[Row], key: Callable[[Row], str]) -> dict[str, list[Row]]:
    """Rows by a text, in the order of the first ones."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


def shares_of(rows: Iterable[Row], least_bytes: float = results.LARGE_BYTES) -> list[float]:
    """Shares of copy bandwidth where as much is moved."""
    return [share for row in rows if row["bytes"] >= least_bytes
            and (share := results.share(row, GRAPH))]


def mean_and_least(values: list[float]) -> tuple[str, str]:
    """Both, for a table."""
    return (f"{mean(values):.2f}", f"{min(values):.2f}") if values else ("", "")


def best_words(row: Row) -> tuple[str, str]:
    """The best peer's name and microseconds."""
    name, taken = results.best_peer(row, GRAPH) or ("", 0.0)
    return PEERS[name], f"{taken:.1f}"


# Each function makes a block's table, of the block. Factors are times over lnbwd's.


def known(block: Block) -> list[str]:
    """LayerNorm backward of known shapes."""
    rows, apart = block["rows"], gains_of(block["rows"], INTERLEAVED)
    cells = ((shape_of(row), f"{row[GRAPH]['ours']:.1f}",
              f"{row['bytes'] / row[GRAPH]['ours'] / 1e3:.0f}",
              f"{100 * (results.share(row, GRAPH) or 0):.0f}", " ".join(best_words(row)),
              f"{gain(row):.2f}")
             for row in sorted(rows, key=lambda row: (row["dtype"], -row["bytes"])))
    factors, least = mean_and_least(gains_of(rows))
    text = (f"The fastest of five peers takes {factors} times as long as lnbwd (geometric mean of "
            f"{len(rows)} shapes; least {least}). lnbwd reaches {100 * mean(shares_of(rows)):.0f} "
            "% of [copy bandwidth](#how-it-is-measured) on shapes that move 100 MB and more.")
    if apart:
        text += (" If a kernel of PyTorch runs before each call, the factor is "
                 "{} (least {}).".format(*mean_and_least(apart)))
    return [text, "", *table("M × N, bf16 | lnbwd, µs | GB/s | % of copy | best peer, µs | times "
                             "faster", cells)]


def random(block: Block) -> list[str]:
    """LayerNorm backward of shapes drawn at random."""
    rows = block["rows"]
    beside: dict[str, list[float]] = {}
    for row in rows:
        for who, taken in row[GRAPH].items():
            beside.setdefault(who, []).append(taken / row[GRAPH]["ours"])
    del beside["ours"]
    worst = min((row for row in rows if gain(row)), key=lambda row: gain(row) or 0)
    by_size = grouped(rows, lambda row: (
        "100 MB and more" if row["bytes"] >= results.LARGE_BYTES else "less than 100 MB"))
    return ["Peers take these multiples of lnbwd's time (means): " + ", ".join(
                f"{PEERS[who]} {mean(factors):.1f}" for who, factors in beside.items())
            + f". The worst shape is {sizes(worst['m'], worst['n'])} {worst['dtype']}: lnbwd takes "
            f"{worst[GRAPH]['ours']:.1f} µs, {' '.join(best_words(worst))} µs.", "",
            *table("moved | shapes | times faster than the best peer: mean | least | "
                   "of copy: mean | least",
                   ((size, len(mine), *mean_and_least(gains_of(mine)),
                     *mean_and_least(shares_of(mine)))
                    for size, mine in ({**by_size, "all": rows}).items()))]


def stream(block: Block) -> list[str]:
    """LayerNorm backward of large shapes drawn at random, beside copy bandwidth alone."""
    kinds: dict[str, Callable[[Row], bool]] = {
        "even N to 36,000": lambda row: row["n"] % 2 == 0 and row["n"] <= LONG_ROW,
        "odd N": lambda row: row["n"] % 2 == 1,
        "N beyond 36,000": lambda row: row["n"] > LONG_ROW,
        "N beyond 36,000, 16 bits": lambda row: row["n"] > LONG_ROW and row["dtype"] != "f32",
        "all": lambda row: True}
    found = {kind: shares_of(filter(is_of, block["rows"])) for kind, is_of in kinds.items()}
    return table("shapes | number | of copy: mean | least",
                 ((kind, len(shares), *mean_and_least(shares)) for kind, shares in found.items()))


def operations(block: Block) -> list[str]:
    """The family of operations, of a few shapes."""
    by_name = grouped(block["rows"], lambda row: row["name"])
    shapes = [shape_of(row) for row in next(iter(by_name.values()))]
    apart = {op: gains_of(rows, INTERLEAVED) for op, rows in by_name.items()}
    text = table(f"bf16 | {' | '.join(shapes)} | times faster | % of copy", (
        (f"`{op}`", *(f"{row[GRAPH]['ours']:.1f}; {' '.join(best_words(row))}" for row in rows),
         f"{mean(gains_of(rows)):.2f}", f"{100 * mean(shares_of(rows)):.0f}")
        for op, rows in by_name.items()))
    if all(apart.values()):
        text += ["If a kernel of PyTorch runs before each call, the factors are " + ", ".join(
            f"{mean(values):.2f} (`{op}`)" for op, values in apart.items()) + ".", ""]
    return text


def operations_random(block: Block) -> list[str]:
    """The family of operations, of shapes drawn at random."""
    return table("random shapes | number | times faster than the best peer: mean | least | of "
                 "copy: mean | least",
                 ((f"`{op}`", len(rows), *mean_and_least(gains_of(rows)),
                   *mean_and_least(shares_of(rows)))
                  for op, rows in grouped(block["rows"], lambda row: row["name"]).items()))


def canonical(block: Block) -> list[str]:
    """The canonical order's times over the default one's, which stands as ours."""
    def cells(rows: list[Row]) -> tuple[str, ...]:
        found = sorted(gains_of(rows))
        return f"{mean(found):.2f}", f"{found[len(found) // 2]:.2f}", f"{found[-1]:.2f}"

    return table("order=canonical over the default | shapes | mean | median | most",
                 ((f"`{op}`", len(rows), *cells(rows))
                  for op, rows in grouped(block["rows"], lambda row: row["name"]).items()))


def row_functions(block: Block) -> list[str]:
    """The functions of lnbwd.functional."""
    gains = {name: gains_of(rows) for name, rows in grouped(
        block["rows"], lambda row: row["name"]).items()}
    names = dict.fromkeys(name.partition(",")[0] for name in gains)
    return table("function | shapes | forward: mean | least | backward: mean | least | both: mean "
                 "| least",
                 ((f"`{name}`", len(gains[f"{name}, both"]), *itertools.chain.from_iterable(
                     mean_and_least(gains[f"{name}, {what}"])
                     for what in ("forward", "backward", "both"))) for name in names))


def quantized(block: Block) -> list[str]:
    """The functions that write float8 and float4."""
    by_hand = " and ".join("{} (least {})".format(*mean_and_least(row["by_hand"]))
                           for row in block["rows"] if row["by_hand"])
    return [f"Kernels by hand take {by_hand} times as long.", "",
            *table("function | shapes | times faster | least | of copy | least | large", (
                (f"`{row['name']}`", len(row["gains"]), *mean_and_least(row["gains"]),
                 *mean_and_least(row["shares"]), mean_and_least(row["large"])[0])
                for row in block["rows"]))]


def converted(block: Block) -> list[str]:
    """How many of the nodes that Inductor fuses are row programs."""
    return table("fused nodes | number | converted | %",
                 ((row["kind"], row["nodes"], row["converted"],
                   f"{100 * row['converted'] / row['nodes']:.0f}") for row in block["rows"]))


def speeds(found: list[float]) -> tuple[str, ...]:
    """How many there are of torch.compile's times over ours, means, parts and the slow ones."""
    found = sorted(found)
    return (str(len(found)), f"{statistics.fmean(found):.3f}", f"{mean(found):.3f}",
            *(f"{found[int(part * (len(found) - 1))]:.2f}" for part in (0, 0.05, 0.5, 0.95)),
            *(str(sum(factor < bound for factor in found)) for bound in (0.98, 0.9)))


def regions(block: Block) -> list[str]:
    """Patterns of torch.compile's graphs: what row programs compute of them, and how fast."""
    rows = sorted(block["rows"], key=lambda row: row["us"]["torch"] / row["us"]["lnbwd"])
    sets = {kind: [row for row in rows if row["seen"] == is_seen]
            for kind, is_seen in zip(results.BLOCKS, (True, False), strict=True)}
    outcomes = {kind: collections.Counter(row["outcome"] for row in mine)
                for kind, mine in sets.items()}
    factors = {kind: [row["us"]["torch"] / row["us"]["lnbwd"] for row in mine]
               for kind, mine in {"all": rows, **sets, "by occurrence": [
                   row for row in rows for _ in range(row["occurs"])]}.items()}
    return [*table("models | patterns | whole | part | left",
                   ((kind, found.total(), *(found[one] for one in ("whole", "part", "left")))
                    for kind, found in outcomes.items())),
            "How many times faster the backend `lnbwd` is than torch.compile's kernels. *By "
            "occurrence* counts a pattern as often as it occurs in models; the number is known for "
            f"{sum(row['occurs'] > 0 for row in rows)} patterns.", "",
            *table("patterns | number | arithmetic mean | geometric mean | least | 5 % | median | "
                   "95 % | below 0.98 | below 0.9",
                   ((kind, *speeds(found)) for kind, found in factors.items() if found)),
            "The five slowest. A number is a line of "
            "[region-patterns.jsonl.xz](../results/region-patterns.jsonl.xz), from 0 on; patterns "
            "with \"new\" are not in the file:", "",
            *table("pattern | model | lnbwd, µs | torch.compile, µs | torch.compile ÷ lnbwd",
                   ((row["pattern"], row["model"],
                     *(f"{row['us'][who]:.1f}" for who in ("lnbwd", "torch")),
                     f"{row['us']['torch'] / row['us']['lnbwd']:.2f}") for row in rows[:5]))]


def steps(block: Block) -> list[str]:
    """Training steps of whole models."""
    rows = block["rows"]
    ratios, first = ([row[what]["lnbwd"] / row[what]["torch"] for row in rows]
                     for what in ("ms", "first_s"))
    return [f"A step takes {mean(ratios):.3f} of torch.compile's time (geometric mean; "
            f"{min(ratios):.3f} to {max(ratios):.3f}). The first step, which compiles, takes "
            f"{mean(first):.2f} ({min(first):.2f} to {max(first):.2f}).", "",
            *table("model | lnbwd, ms | torch.compile, ms | ratio | peak memory, ratio | first "
                   "step: lnbwd, s | torch.compile, s",
                   ((row["model"], *(f"{row['ms'][who]:.1f}" for who in ("lnbwd", "torch")),
                     f"{ratio:.3f}", f"{row['memory']:.3f}",
                     *(f"{row['first_s'][who]:.1f}" for who in ("lnbwd", "torch")))
                    for row, ratio in zip(rows, ratios, strict=True)))]


def linear(block: Block) -> list[str]:
    """LayerNorm with a linear layer."""
    titles = (f"{what}: {who}" for what in ("forward", "both") for who in (
        "lnbwd, µs", "PyTorch", "torch.compile", "times faster than the better"))
    by_shape = grouped(block["rows"], lambda row: sizes(*row["sizes"]))  # Forward, then both.
    return table(f"M × K → O, bf16 | {' | '.join(titles)}", (
        (shape, *(cell for us in (row["us"] for row in rows) for cell in (
            *(f"{us[who]:.1f}" for who in ("ours", "eager", "compile")),
            f"{min(us['eager'], us['compile']) / us['ours']:.2f}")))
        for shape, rows in by_shape.items()))


def linear_host(block: Block) -> list[str]:
    """What such a layer costs the host."""
    by_shape = grouped(block["rows"], lambda row: sizes(*row["sizes"]))
    passes = dict.fromkeys(row["pass"] for row in block["rows"])
    return table(f"bf16 | {' | '.join(passes)}", (
        (shape, *("; ".join(f"{row['us'][who]:.0f}" for who in ("ours", "eager", "compile"))
                  for row in rows)) for shape, rows in by_shape.items()))


def linear_losses(block: Block) -> list[str]:
    """Cross entropy of a linear layer's output."""
    def cells(row: Row) -> Iterable[str]:
        ms, memory = row["ms"], row["memory"]
        best = min(taken for who, taken in ms.items() if who not in ("ours", "products"))
        return ("×".join(row["size"].split("x")), *(
            f"{ms[who]:.1f}" if who in ms else "" for who in (
                "ours", "eager", "compile", "liger", "products")),
            f"{best / ms['ours']:.2f}", f"{ms['products'] / ms['ours']:.2f}",
            f"{memory['ours'] / memory['eager']:.2f}" if "eager" in memory else "")

    return table("rows × H × V | lnbwd, ms | eager | torch.compile | Liger | products | best peer ÷"
                 " lnbwd | products ÷ lnbwd | memory ÷ eager's", map(cells, block["rows"]))


def host(block: Block) -> list[str]:
    """What a call costs the host."""
    return table("norm in a chain | PyTorch, µs | lnbwd, µs | override_aten, µs | patch, µs", (
        (f"{row['op']}, {row['pass']}", *(f"{row[who]:.1f}" if who in row else "" for who in (
            "torch", "ours", "overridden", "patched"))) for row in block["rows"]))


def compile_time(block: Block) -> list[str]:
    """What a compilation of a kernel takes."""
    return table("chip | median, ms | most, ms", (
        (row["chip"], f"{row['median_ms']:.0f}", f"{row['worst_ms']:.0f}")
        for row in block["rows"]))


def amd_counts(block: Block) -> list[str]:
    """What the simulator counts of AMD's chips."""
    found = {(row["chip"], row["dtype"], row["op"]): f"{row['bytes']:.2f}; {row['vector']:.1f}"
             for row in block["rows"]}
    return ["`test/EndToEnd/test_counts.py` checks upper bounds. The model that chooses schedules "
            f"was trained on {', '.join(our_kernels.BOUNDED_CHIPS)}.", "",
            *table(f"chip, type | {' | '.join(f'`{op}`' for op in COUNTED_OPS)}", (
                (f"{chip} {dtype}", *(found[chip, dtype, op] for op in COUNTED_OPS))
                for chip in our_kernels.COUNTED_CHIPS for dtype in COUNTED_TYPES))]


def amd_float8(block: Block) -> list[str]:
    """The bytes of functions that write float8 and float4."""
    found = {(row["name"], row["chip"]): " to ".join(dict.fromkeys(
        f"{ratio:.2f}" for ratio in (min(row["bytes"]), max(row["bytes"]))))
             for row in block["rows"]}
    names, chips = map(dict.fromkeys, zip(*found, strict=True))
    return [f"Of {', '.join(sizes(*shape) for shape in block['shapes'])}; "
            f"{sum(row['spills'] for row in block['rows']) or 'no'} kernels spill:", "",
            *table(f"bf16 | {' | '.join(chips)}",
                   ((f"`{name}`", *(found[name, chip] for chip in chips)) for name in names))]


def amd_predicted(block: Block) -> list[str]:
    """The times that the simulator predicts."""
    return [f"On an {block['product']}; the timing model's error on held-out kernels is "
            f"{block['error_percent']} %:", "",
            *table("M × N, bf16 | predicted, µs | % of copy", (
                (shape_of(row), f"{row['us']:.1f}", f"{100 * row['share']:.0f}")
                for row in block["rows"]))]


def chooser(block: Block) -> list[str]:
    """How good the choice of schedules is."""
    return table("trees | programs | regret, median | 95th percentile",
                 ((row["trees"], row["sweep"], f"{row['median']:.3f}", f"{row['p95']:.3f}")
                  for row in block["rows"]))


TABLES: dict[str, Callable[[Block], list[str]]] = {make.__name__: make for make in (
    known, random, stream, canonical, operations, operations_random, row_functions, quantized,
    converted, regions, steps, linear, linear_host, linear_losses, host, compile_time, amd_counts,
    amd_float8, amd_predicted, chooser)}


def page(text: str, blocks: dict[str, Block]) -> str:
    """The page with all its tables anew, each with the line that says where it is from."""
    def replace(match: re.Match[str]) -> str:
        head, name, end = match.groups()
        block = blocks[name]
        machine = block["machine"]
        return head + "\n".join([
            *TABLES[name](block), f"{machine[0].upper()}{machine[1:]}: `{block['command']}`", end])

    return MARKER.sub(replace, text)


TIMED = "name m n dtype bytes stream_bytes random graph interleaved stream"
KEPT = {**dict.fromkeys(("known", "random", "stream", "canonical", "operations",
                         "operations_random", "row_functions"), TIMED),
        "regions": "pattern model seen occurs outcome us", "converted": "kind nodes converted",
        "steps": "model ms memory first_s", "host": "op case pass torch ours overridden patched",
        "linear": "sizes dtype pass us", "linear_host": "sizes pass us",
        "linear_losses": "size ms memory errors",
        "quantized": "name gains shares large by_hand"}
"""The blocks that other programs measure, and the fields of a row that each keeps."""


def is_of(row: Row, name: str) -> bool:
    """Whether a row of a program's results belongs to a block."""
    if name in ("known", "random", "stream", "operations", "operations_random"):
        return (("random" in row) == name.endswith("random")
                and (row["name"] == LAYER_NORM_BWD) == (not name.startswith("operations")))
    return bool(row.get("block", name) == name)


def of_quantized(rows: Iterable[Row]) -> Iterable[Row]:
    """A row for each function of row_functions.py --quantized, with figures of all shapes."""
    for name, mine in grouped(rows, lambda row: row["name"].removesuffix(", forward")).items():
        yield {"name": name, "gains": gains_of(mine), "shares": shares_of(mine, 0),
               "large": shares_of(mine), "by_hand": [
                   row[GRAPH]["liger"] / row[GRAPH]["ours"] for row in mine
                   if "liger" in row[GRAPH]]}


def rounded(value: Any) -> Any:
    """Four digits of a number, or of those of a dictionary or list."""
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [*map(rounded, value)]
    return float(f"{value:.4g}") if isinstance(value, float) else value


def take(name: str, files: list[pathlib.Path]) -> Block:
    """A block of what was measured; several files make one block."""
    documents = [*map(results.read, files)]
    rows: Iterable[Row] = (row for document in documents for row in document["results"]
                           if is_of(row, name))
    if name == "quantized":
        rows = of_quantized(rows)
    machine = documents[0]["machine"]
    parts = [str(machine[key]) if key == "name" else f"{key} {machine[key]}"
             for key in ("name", "driver", "torch", "triton") if key in machine]
    return {"date": documents[0]["date"][:10], "machine": ", ".join(parts) or "one core",
            "command": " ".join(documents[0]["command"]), "rows": [
                {key: rounded(row[key]) for key in KEPT[name].split() if key in row}
                for row in rows]}


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


def compile_times(chip: str, shapes: Iterable[Shape], repetitions: int = 5) -> Row:
    """Milliseconds of whole runs of lnbwd-opt, from the operation to the code, on one core: of the
    medians of the shapes the median and the largest."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # The compiler inherits it.
    medians = []
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "op.mlir"
        for shape in shapes:
            source.write_text(our_kernels.operation(shape))
            times = []
            for _ in range(repetitions + 1):  # The first one warms the file cache.
                start = time.perf_counter()
                subprocess.run([our_kernels.find_compiler(), source,
                                f"--lnbwd-pipeline=chip={chip}",
                                f"--emit={chip_table.code_format(chip)}", "-o",
                                source.with_suffix(".code")], check=True)
                times.append(time.perf_counter() - start)
            medians.append(1e3 * statistics.median(times[1:]))
            print(f"{chip} {shape!s:>16}  {medians[-1]:7.1f} ms", flush=True)
    return {"chip": chip, "median_ms": statistics.median(medians), "worst_ms": max(medians)}


def time_compiler() -> dict[str, Block]:
    """The block of the compiler."""
    return {"compile_time": made("one core", "compile_time", [rounded(
        compile_times(chip, default_shapes())) for chip in (chip_table.SIMULATED, chip_table.GPU)])}


def made(machine: str, command: str, rows: list[Row], **about: Any) -> Block:
    """A block that a command of this program makes."""
    return {"date": str(datetime.date.today()), "machine": machine,
            "command": f"dashboard.py {command}", **about, "rows": rows}


def simulate() -> dict[str, Block]:
    """The blocks of AMD's chips."""
    build = pathlib.Path(os.environ.get("LNBWD_BUILD_DIR", SOURCE / "build")).resolve()
    cases = [(chip, dtype, op) for chip in our_kernels.COUNTED_CHIPS for dtype in COUNTED_TYPES
             for op in COUNTED_OPS]
    of_simulator = functools.partial(made, "the simulator", "amd")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        counted = list(pool.map(lambda case: count(build, case), cases))
        predicted = list(pool.map(lambda shape: predict(build, shape), default_shapes()))
    from lnbwd_bench import quantized

    of_float8 = itertools.product((*our_kernels.COUNTED_CHIPS, ""), quantized.CASES)
    with concurrent.futures.ProcessPoolExecutor(
            mp_context=multiprocessing.get_context("spawn")) as processes:
        float8 = list(processes.map(quantized.counted, of_float8))
    of_all = [{key: row.pop(key) for key in ("product", "error_percent")} for row in predicted]
    return {"amd_counts": of_simulator(counted),
            "amd_predicted": of_simulator(predicted, **of_all[0]),
            "amd_float8": of_simulator(float8, shapes=quantized.counted_shapes())}


def learn() -> dict[str, Block]:
    """The block of the trees that choose schedules."""
    rows = [json.loads(line) for vendor in ("amd", "nvidia") for line in subprocess.check_output(
        [sys.executable, SOURCE / "bench/chooser/train.py", "--held-out", "5",
         *sorted((SOURCE / "docs/sweeps").glob(f"*-{vendor}.*"), reverse=True)]).splitlines()]
    # Drawn problems are no sweep, and need a card.
    rows += [row for row in read_blocks()["chooser"]["rows"] if "card" in row]
    return {"chooser": made("one core", "chooser", rows)}


def read_blocks() -> dict[str, Block]:
    """The blocks of the file."""
    blocks: dict[str, Block] = json.loads(FILE.read_text())
    return blocks


def write_blocks(new: dict[str, Block]) -> None:
    """Puts blocks in the place of those of their names; a line for each row."""
    texts = []
    for name, block in (read_blocks() | new).items():
        about = json.dumps({key: value for key, value in block.items() if key != "rows"})
        rows = ",\n".join("  " + json.dumps(row) for row in block["rows"])
        texts.append(f'"{name}": {about[:-1]}, "rows": [\n{rows}]}}')
    FILE.write_text("{\n" + ",\n".join(texts) + "\n}\n")


MAKING = {"amd": simulate, "compile_time": time_compiler, "chooser": learn}
"""The commands that measure blocks here."""


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if stale")
    commands = parser.add_subparsers(dest="command")
    taking = commands.add_parser("take", help="put a result in the place of a block")
    taking.add_argument("block", choices=KEPT)
    taking.add_argument("files", nargs="+", type=pathlib.Path, metavar="FILE")
    for name in MAKING:
        commands.add_parser(name)
    options = parser.parse_args()
    try:
        if options.command:
            write_blocks({options.block: take(options.block, options.files)}
                         if options.command == "take" else MAKING[options.command]())
            return 0
    except (OSError, ValueError, subprocess.SubprocessError, our_kernels.KernelError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    old = PAGE.read_text()
    new = page(old, read_blocks())
    if new != old:
        print(f"{'stale' if options.check else 'written'}: {PAGE.relative_to(SOURCE)}")
        if not options.check:
            PAGE.write_text(new)
    return int(options.check and new != old)


if __name__ == "__main__":
    sys.exit(main())
