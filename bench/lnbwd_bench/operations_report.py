# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What operations.py stores and prints: a line for each operation and shape, and means.

A row of a result file has what is known of the kernel (``name``, ``m``, ``n``, ``dtype``), the
``bytes`` that it must move, under ``timed`` the names of those that were timed, under each of them
its times by method, and under ``stream`` by method the fastest stream, which moves
``stream_bytes``. Files from before there was a stream have a copy by PyTorch among those that were
timed.
"""

from __future__ import annotations

import json
import lzma
import pathlib
import statistics
from collections.abc import Iterable, Mapping
from typing import Any

from lnbwd.operations import OPERATIONS

from .verdicts import INTERLEAVED, METHODS

FORMAT, VERSION = "lnbwd-bench-operations", 2
LARGE_BYTES = 1e8
"""What is moved at least where the share of the stream is judged."""

# What is timed beside ours and is no peer: now a stream, before a copy.
STREAM, COPY = "stream", "copy"
_ROOFS = {STREAM: "the stream", COPY: "a copy"}

Row = Mapping[str, Any]


def read(path: pathlib.Path) -> dict[str, Any]:
    """A result file, plain or compressed by xz, of any version that says who was timed.

    Raises:
        OSError: it cannot be read.
        ValueError: it is none; the message names the file.
    """
    data = path.read_bytes()
    try:
        document = json.loads(lzma.decompress(data) if path.suffix == ".xz" else data)
    except (ValueError, lzma.LZMAError) as error:
        raise ValueError(f"{path}: {error}") from error
    found = document if isinstance(document, dict) else {}
    # The first version did not say of which format it is.
    if (found.get("format", FORMAT), found.get("version", VERSION)) != (FORMAT, VERSION) or not all(
            isinstance(row, dict) and "timed" in row for row in found.get("results", [None])):
        raise ValueError(f"{path}: expected results of operations.py, each with the names of those "
                         f"that were timed, got format '{found.get('format')}' version "
                         f"{found.get('version')}")
    return found


def times_of(row: Row, method: str) -> dict[str, float]:
    """Microseconds of all that were timed by a method."""
    return {name: row[name][method]["median_us"] for name in row["timed"] if method in row[name]}


def share(row: Row, method: str) -> tuple[str, float] | None:
    """What ours was held against, and our rate over its rate; None if nothing was."""
    times = times_of(row, method)
    ours = times.get("ours")
    if ours is None:
        return None
    if method in row.get(STREAM, {}):
        roof = row["stream_bytes"] / row[STREAM][method]["median_us"]
        return STREAM, row["bytes"] / ours / roof
    return (COPY, times[COPY] / ours) if COPY in times else None


def line(entry: Row, row: Row, method: str) -> str:
    """A result for people: microseconds of each, and how ours compares."""
    times = times_of(row, method)
    head = f"{entry['name']:30} {entry['m']}x{entry['n']}:{entry['dtype']:5}"
    ours = times.pop("ours", None)
    if ours is None:
        return f"{head} not timed by {method}"
    times.pop(COPY, None)
    beside = {name: times.pop(name) for name in row.get("beside", ()) if name in times}
    text = f"{head} {ours:8.2f} us {row['bytes'] / ours / 1e3:6.0f} GB/s"
    if roof := share(row, method):
        text += f"  {100 * roof[1]:5.1f} % of {_ROOFS[roof[0]]}"
    if times:
        best = min(times, key=lambda name: times[name])
        text += f"  {times[best] / ours:5.2f} times {best};"
        text += "".join(f" {name} {time:.2f}" for name, time in times.items())
    text += "".join(f"  {name} {time:.2f} ({ours / time:.3f})" for name, time in beside.items())
    return text


def summary_lines(results: Iterable[Row], method: str) -> list[str]:
    """For each operation: the geometric mean and the least of how many times faster ours is than
    the best peer, and of the share of the stream where 100 MB or more are moved."""
    results, lines = list(results), []
    for op in OPERATIONS:
        gains: list[float] = []
        shares: dict[str, list[float]] = {}
        ratios: dict[str, list[float]] = {}
        for row in results:
            times = times_of(row, method)
            if row["name"] != op or "ours" not in times:
                continue
            beside = row.get("beside", ())
            for name in beside:
                if name in times:
                    ratios.setdefault(name, []).append(times["ours"] / times[name])
            peers = [time for name, time in times.items() if name not in ("ours", COPY, *beside)]
            if peers:
                gains.append(min(peers) / times["ours"])
            roof = share(row, method)
            if roof and row["bytes"] >= LARGE_BYTES:
                shares.setdefault(roof[0], []).append(roof[1])
        means = {"times the best peer": gains,
                 **{f"of {_ROOFS[name]}, 100 MB and more": values
                    for name, values in shares.items()}}
        for what, values in means.items():
            if values:
                lines.append(f"{op:16} {what}: geometric mean "
                             f"{statistics.geometric_mean(values):.3f}, least {min(values):.3f}, "
                             f"{len(values)} shapes")
        for name, values in ratios.items():
            lines.append(f"{op:16} takes of the time of {name}: geometric mean "
                         f"{statistics.geometric_mean(values):.3f}, least {min(values):.3f}, most "
                         f"{max(values):.3f}, {len(values)} shapes")
    return lines


def methods_of(results: Iterable[Row]) -> list[str]:
    """The methods that something was timed by, the one to judge by first."""
    results = list(results)
    return [method for method in (*METHODS, INTERLEAVED)
            if any(method in row[name] for row in results for name in row["timed"])]


def text(document: Row) -> str:
    """A result file for people: the first method's lines, and means by all."""
    results = document["results"]
    methods = methods_of(results)
    machine = document["machine"]
    lines = [f"{machine['name']}, {document.get('date', 'no date')}"
             + (", SIMULATED: times mean nothing" if machine.get("simulated") else "")]
    for method in reversed(methods):
        lines += ["", f"method {method}:", *(line(row, row, method) for row in results)]
    for method in methods:
        lines += ["", f"by the method {method}:", *summary_lines(results, method)]
    return "\n".join(lines)
