# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables, bars and plot of the training steps that training_step.py measured.

T is PyTorch's step, L ours, F the one with a free norm backward. Works on the plain records of the
JSON file, so that a stored run can be judged again.
"""

from __future__ import annotations

import json
import pathlib
from collections.abc import Callable, Iterable
from typing import Any

from .verdicts import Verdict, median

Row = dict[str, Any]
ROW_WISE = ("row-wise, ours", "row-wise, others")
# The share of T - F that ours is to gain, by model and mode; a small model is to lose nothing.
SHARES = {"eager": 0.6, "compiled": 0.7}
LLAMA_SHARE = 0.5
SLOWEST = 1.005
SLOWEST_SMALL = 1.03
MOST_MEMORY = 1.01
# Sums in another order give other last bits: how far a ratio of errors may be from 1 by that.
GRADIENT_NOISE = 1.02


def times(row: Row, way: str, reduce: Callable[[list[float]], float] = median) -> float | None:
    """Milliseconds a step of one way, if it was measured."""
    found = row["ways"].get(way)
    return reduce(sorted(found["times_ms"])) if found else None


def row_wise_ms(row: Row, way: str) -> float | None:
    """Device time of all but products and optimizer, if it was profiled."""
    kinds = row["ways"].get(way, {}).get("kernels_ms")
    return sum(kinds.get(kind, 0.0) for kind in ROW_WISE) if kinds else None


def gain(t: float | None, ours: float | None, f: float | None) -> float | None:
    """(T - L) / (T - F); None where T - F is too little of T (half a percent) to divide by."""
    if t is None or ours is None or f is None or t - f < 0.005 * t:
        return None
    return (t - ours) / (t - f)


def line(row: Row) -> str:
    """One row while it is measured."""
    text = f"{row['model']:12} {row['precision']:8} {row['mode']:16}"
    for name, way in row["ways"].items():
        text += (f"  {name} {median(way['times_ms']):7.2f} ({min(way['times_ms']):7.2f})"
                 f" {way['peak_bytes'] / 2**30:5.2f}G {way['first_seconds']:5.1f}s")
    return text


def losses_line(row: Row) -> str:
    """How far the losses of a training are apart: PyTorch's own runs, and ours."""
    torch = row["losses"]["torch"]

    def apart(name: str) -> float:
        return max(abs(float(a) - float(b))
                   for a, b in zip(torch, row["losses"][name], strict=True))

    return (f"{row['model']:12} {row['precision']:8} {row['mode']:16} loss {torch[0]:.3f} to "
            f"{torch[-1]:.3f}, largest difference in {len(torch)} steps: torch again "
            f"{apart('again'):.2e}, torch eager {apart('eager'):.2e}, lnbwd {apart('lnbwd'):.2e}")


def gradients_line(row: Row) -> str:
    """How far the gradients of a step are from float64's, and whether ours are no further."""
    errors = row["gradients"]
    parts = [f"{name} {e['all']:.3e} (norms and biases {e['columns']:.3e}, worst {e['worst']:.3e})"
             for name, e in errors.items()]
    ratio = max(errors["lnbwd"][part] / errors["torch"][part] for part in ("all", "columns"))
    word = "PASS" if ratio <= GRADIENT_NOISE else "MISS"
    return (f"{row['model']:12} {row['precision']:8} {row['mode']:16} gradients against float64, "
            f"relative: {', '.join(parts)}; {word}: ours to torch's {ratio:.3f}, at most "
            f"{GRADIENT_NOISE}")


def verdicts(row: Row) -> list[Verdict]:
    """The bars of one row; each value is to be 1 or more, or the share that is named."""
    where = f"{row['model']}, {row['precision']}, {row['mode']}"
    t, ours, f = (times(row, way) for way in ("torch", "lnbwd", "free"))
    found = []

    def at_least(bar: str, value: float | None, least: float) -> None:
        text = "not measured" if value is None else f"{value:.3f}"
        found.append(Verdict(f"{where}: {bar}", value, least, text))

    small = row["model"] == "tiny"
    if t is not None and ours is not None:
        most = SLOWEST_SMALL if small and row["mode"] == "eager" else SLOWEST
        at_least(f"T / L, at least 1 / {most}", t / ours, 1 / most)
    share = SHARES.get(row["mode"])
    if share is not None and not small:
        if row["model"].startswith("llama") and row["mode"] != "eager":
            share = LLAMA_SHARE
        at_least(f"(T - L) / (T - F), at least {share}", gain(t, ours, f), share)
    ways = row["ways"]
    # What a CUDA graph takes is not among what is counted.
    if "torch" in ways and "lnbwd" in ways and row["mode"] != "reduce-overhead":
        at_least(f"peak memory, torch's to ours, at least 1 / {MOST_MEMORY}",
                 ways["torch"]["peak_bytes"] / ways["lnbwd"]["peak_bytes"], 1 / MOST_MEMORY)
    return found


def _cell(value: float | None, digits: int = 2) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def _table(rows: Iterable[Row]) -> Iterable[str]:
    yield ("| model | mode | T | L | F | gain | row-wise kernels: T | L | F | gain "
           "| peak, GiB: T | L | first step, s: T | L |")
    yield "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|"
    for row in rows:
        cells = [f"{row['model']}, {row['precision']}", row["mode"]]
        ways = ("torch", "lnbwd", "free")
        clock = [times(row, way) for way in ways]
        for way, value in zip(ways, clock, strict=True):
            fastest = times(row, way, min)
            cells.append("" if value is None else f"{value:.2f} ({fastest:.2f})")
        cells.append(_cell(gain(*clock)))
        device = [row_wise_ms(row, way) for way in ways]
        cells += [_cell(value) for value in device] + [_cell(gain(*device))]
        for key, unit, digits in (("peak_bytes", 2**30, 3), ("first_seconds", 1, 1)):
            cells += [_cell(row["ways"][way][key] / unit if way in row["ways"] else None, digits)
                      for way in ways[:2]]
        yield "| " + " | ".join(cells) + " |"


def read(path: pathlib.Path) -> dict[str, Any]:
    """A run that training_step.py wrote.

    Raises:
        OSError: the file cannot be read.
        ValueError: it has no such run.
    """
    document: dict[str, Any] = json.loads(path.read_text())
    rows = document.get("results") if isinstance(document, dict) else None
    if not isinstance(rows, list) or not all(
            isinstance(row, dict) and {"model", "precision", "mode"} <= row.keys()
            and row.keys() & {"ways", "losses", "gradients"} for row in rows):
        raise ValueError("expected a run that training_step.py --out wrote")
    return document


def report(document: dict[str, Any]) -> str:
    """The table and the verdicts of a run, Markdown."""
    timed = [row for row in document["results"] if "ways" in row]
    parts = [losses_line(row) for row in document["results"] if "losses" in row]
    parts += [gradients_line(row) for row in document["results"] if "gradients" in row]
    if timed:
        parts += ["Milliseconds a step, median (fastest):", "", *_table(timed), ""]
        parts += [f"{verdict.word:4} {verdict.bar}: {verdict.text}"
                  for row in timed for verdict in verdicts(row)]
    return "\n".join(parts)


def plot(document: dict[str, Any], path: pathlib.Path) -> None:
    """Draws each row's ways as shares of PyTorch's time.

    Raises:
        ImportError: matplotlib is not installed.
    """
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "lnbwd"
    from matplotlib import pyplot

    rows = [row for row in document["results"] if "ways" in row and "torch" in row["ways"]]
    styles = {"torch": "#888888", "liger": "#009e73", "lnbwd": "#c1272d",
              "override": "#e69f00", "free": "#0072b2"}
    figure, axes = pyplot.subplots(figsize=(max(6.0, 1.5 * len(rows) + 1.5), 4.4),
                                   layout="constrained")
    for place, row in enumerate(rows):
        base = times(row, "torch")
        names = [name for name in styles if name in row["ways"]]
        for index, name in enumerate(names):
            value = times(row, name)
            assert value is not None and base is not None
            left = place + (index - (len(names) - 1) / 2) * 0.2
            axes.bar(left, value / base, 0.19, color=styles[name])
            axes.text(left, value / base + 0.005, f"{value:.1f}", ha="center", va="bottom",
                      fontsize=7, rotation=90)
    for name, colour in styles.items():
        if any(name in row["ways"] for row in rows):
            axes.bar(0, 0, color=colour, label={"free": "free norm backward"}.get(name, name))
    axes.axhline(1, color="black", linewidth=0.6)
    axes.set_xticks(range(len(rows)), [f"{row['model']}\n{row['precision']}\n{row['mode']}"
                                       for row in rows], fontsize=8)
    axes.set_ylim(0.8, 1.28)
    axes.set_ylabel("step, as a share of torch's (ms above)")
    axes.legend(fontsize=8, ncols=4, loc="upper left")
    axes.set_title(f"Training steps, {document['machine']['name']}, torch "
                   f"{document['machine']['torch']}, {document['date'][:10]}", fontsize=10)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    pyplot.close(figure)
