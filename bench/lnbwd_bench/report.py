# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table, the plot and the result file."""

from __future__ import annotations

import itertools
import json
import pathlib
from collections.abc import Sequence
from typing import Any

from lnbwd._files import read_document, write_whole
from lnbwd.operations import LAYER_NORM_BWD

from . import PEERS
from .shapes import Shape
from .verdicts import METHODS, Results, geometric_mean, judge, median

FORMAT, VERSION = "lnbwd-bench", 1
_LARGE_BYTES = 1e8


def write_json(document: dict[str, Any], path: pathlib.Path) -> None:
    """Writes the result file whole or not at all."""
    write_whole(path, json.dumps(document, indent=1) + "\n")


def claim(path: pathlib.Path) -> pathlib.Path:
    """A file that no other run has, made now, empty: ``path`` (its folder too, if it is not there),
    or where that exists the first of NAME-2, NAME-3, ... that does not."""
    path.parent.mkdir(parents=True, exist_ok=True)
    for number in itertools.count(1):
        free = path if number == 1 else path.with_stem(f"{path.stem}-{number}")
        try:
            free.open("x").close()
        except FileExistsError:
            continue
        return free
    raise AssertionError("numbers do not end")


def stem_of(operation: str, drawn: Sequence[int] | None) -> str:
    """What the files of a run are called, but for the suffix: by the SEED and COUNT of --random, if
    its shapes were drawn."""
    return f"{operation}-random-{drawn[0]}-{drawn[1]}" if drawn else operation


def read_json(path: pathlib.Path) -> dict[str, Any]:
    """A result file.

    Raises:
        ValueError: it is none, or of another version.
    """
    return read_document(path, FORMAT, VERSION)


def _cell(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


def table(results: Results) -> str:
    """One line for each shape, in the order of the run: our time, its rate and share of the
    stream's, the best peer and how many times faster ours is than it and than each of this run."""
    peers = [name for name in PEERS
             if any(name in record["competitors"] for record in results.records.values())]
    head = ("shape", "ours us", "GB/s", "stream", "% of it", "best peer", "us", "times", *peers,
            "error", "same bits")
    lines: list[tuple[str, ...]] = [head]
    for shape, record in results.records.items():
        best = results.best_peer(shape)
        ours = record["competitors"].get("ours", {})
        share = results.share(shape)
        errors = [error for error in ours.get("errors", {}).values() if error is not None]
        lines.append((
            str(shape), _cell(results.ours(shape), ".2f"), _cell(results.rate(shape), ".0f"),
            _cell(results.stream_rate(shape), ".0f"),
            _cell(share * 100 if share else None, ".1f"), best[0] if best else "-",
            _cell(best[1] if best else None, ".2f"), _cell(results.speedup(shape), ".2f"),
            *(_cell(results.speedup(shape, name), ".2f") for name in peers),
            f"{max(errors):.1e}" if errors else "-",
            {True: "yes", False: "NO"}.get(ours.get("repeatable", ""), "-")))
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    return "\n".join("  ".join(cell.ljust(width) if i in (0, 5) else cell.rjust(width)
                               for i, (cell, width) in enumerate(zip(line, widths, strict=True)))
                     for line in lines)


def notes(results: Results) -> list[str]:
    """What went wrong, and for whom."""
    lines = []
    for shape, record in results.records.items():
        for name, competitor in record["competitors"].items():
            if competitor.get("failure"):
                lines.append(f"{shape} {name}: {competitor['failure']}")
            for complaint in competitor.get("complaints", []):
                lines.append(f"{shape} {name}: {complaint}")
            if competitor.get("repeatable") is False:
                lines.append(f"{shape} {name}: two runs gave different bits")
    return lines


def means(results: Results) -> list[str]:
    """Geometric means and the least over all shapes of the run: by peer, and of the stream."""
    lines = []
    for name in (*PEERS, None):
        speedups = [results.speedup(shape, name) for shape in results.records]
        known = [speedup for speedup in speedups if speedup]
        mean = geometric_mean(known)
        if mean is not None:
            lines.append(f"geometric mean of times faster than {name or 'the best peer'}: "
                         f"{mean:.2f} over {len(known)} shapes, least {min(known):.2f}")
    shares = [share for shape in results.records
              if shape.minimal_bytes >= _LARGE_BYTES and (share := results.share(shape))]
    mean = geometric_mean(shares)
    if mean is not None:
        lines.append(f"geometric mean of the share of the stream where 100 MB and more are moved: "
                     f"{mean:.2f} over {len(shares)} shapes, least {min(shares):.2f}")
    return lines


def recorded_line(results: Results) -> str:
    """How the recorded figures compare with this run's, of the peers that are in both: near 1 for
    the method that the recorded ones were taken by."""
    ratios = [time / known for shape in results.records for name, known in
              results.recorded.get(shape, {}).items()
              if (time := results.time(shape, name.lower()))]
    mean = geometric_mean(ratios)
    return (f"peers of this run over what was recorded of them before: {mean:.2f}, geometric mean "
            f"of {len(ratios)}" if mean is not None else "")


def verdict_lines(results: Results) -> list[str]:
    """One line for each bar that was measured, and one that counts them all."""
    verdicts = judge(results)
    lines = [f"{verdict.word}  {verdict.value:6.3f} (at least {verdict.least:.2f})  {verdict.bar}"
             + (f"; {verdict.text}" if verdict.text else "")
             for verdict in verdicts if verdict.value is not None]
    words = [verdict.word for verdict in verdicts]
    counts = ", ".join(f"{words.count(word)} {word}" for word in ("PASS", "MISS", "not measured"))
    return [*lines, f"bars by {results.method}: {counts}"]


def text_report(document: dict[str, Any], recorded: dict[Shape, dict[str, float]]) -> str:
    """Everything that is printed at the end of a run."""
    parts = []
    machine = document["machine"]
    parts.append(f"{machine['name']}, {machine['driver']}, torch {machine['torch']}, "
                 f"{document['date']}" + (", SIMULATED: times mean nothing"
                                          if machine["simulated"] else ""))
    for reason in document["unavailable"]:
        parts.append(f"left out: {reason}")
    trouble = notes(Results(document["shapes"], recorded))
    if trouble:
        parts += ["", "what went wrong:", *trouble]

    def results_of(method: str) -> Results:
        # What was recorded before was not interleaved with anything.
        return Results(document["shapes"], recorded if method in METHODS else {}, method)

    # The first method is the one to judge by; it comes last, where a reader begins.
    for method in reversed(document["methods"]):
        results = results_of(method)
        empty = median(record["empty"][method]["median_us"] for record in document["shapes"]
                       if method in record["empty"])
        parts += ["", f"method {method}: median of {document['repetitions']} repetitions; "
                  f"an empty kernel shows {empty:.2f} us; * recorded before on such a card, and "
                  "faster than every peer of this run", table(results)]
    for method in reversed(document["methods"]):
        results = results_of(method)
        parts += ["", f"by the method {method}:", *means(results)]
        if method in METHODS:
            parts += [*filter(None, [recorded_line(results)]), *verdict_lines(results)]
    return "\n".join(parts)


def plot(document: dict[str, Any], recorded: dict[Shape, dict[str, float]],
         folder: pathlib.Path, stem: str = LAYER_NORM_BWD) -> list[pathlib.Path]:
    """Draws GB/s over shape with the stream as the roof, one picture for each type and method;
    ``stem`` is what their names begin with.

    Raises:
        ImportError: matplotlib is not installed.
    """
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "lnbwd"
    from matplotlib import pyplot

    files = []
    styles = {"ours": ("#c1272d", "o", 60), "compile": ("#0072b2", "s", 26),
              "liger": ("#009e73", "^", 30), "eager": ("#888888", "v", 30),
              "cudnn": ("#e69f00", "D", 22), "quack": ("#56b4e9", "P", 30),
              "aiter": ("#cc79a7", "D", 26)}
    machine = document["machine"]
    for method in document["methods"]:
        results = Results(document["shapes"], recorded, method)
        for dtype in sorted({shape.dtype for shape in results.records}):
            shapes = sorted((shape for shape in results.records if shape.dtype == dtype),
                            key=lambda shape: (shape.minimal_bytes, shape.n))
            width = max(8.0, 0.46 * len(shapes) + 2.2)
            figure, axes = pyplot.subplots(figsize=(width, 4.6), layout="constrained")
            places = range(len(shapes))
            middles = [place + 0.5 for place in places]
            roof = [results.stream_rate(shape) for shape in shapes]
            axes.step([*places, len(shapes)], [value if value else float("nan")
                                               for value in [*roof, roof[-1]]], where="post",
                      color="black", linewidth=1.4, label="stream: two reads, one write")
            for name, (colour, marker, size) in styles.items():
                rates = [results.rate(shape, name) for shape in shapes]
                if any(rates):
                    axes.scatter(middles, [value if value else float("nan") for value in rates],
                                 color=colour, marker=marker, s=size, label=name,
                                 zorder=4 if name == "ours" else 3)
            axes.set_xlim(0, len(shapes))
            axes.set_xticks(middles, [f"{shape.m}×{shape.n}" for shape in shapes],
                            rotation=60, ha="right", fontsize=8)
            axes.set_ylabel("GB/s of the minimal bytes")
            axes.set_ylim(bottom=0)
            axes.grid(axis="y", linewidth=0.4, alpha=0.6)
            axes.set_axisbelow(True)
            simulated = " (simulated)" if machine["simulated"] else ""
            axes.set_title(f"LayerNorm backward, {dtype}, {machine['name']}{simulated}, "
                           f"{document['date'][:10]}, {method}", fontsize=10)
            axes.legend(fontsize=8, ncols=8, loc="upper center", bbox_to_anchor=(0.5, -0.32),
                        frameon=False)
            for suffix in ("svg", "png"):
                path = folder / f"{stem}-{dtype}-{method}.{suffix}"
                metadata = {"Date": None} if suffix == "svg" else None
                figure.savefig(path, dpi=150, metadata=metadata)
                files.append(path)
            pyplot.close(figure)
    return files
