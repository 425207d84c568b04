# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What operations.py stores and prints: a line for each operation and shape, and means.

A row of a result file of operations.py or row_functions.py has what is known of the kernel
(``name``, ``m``, ``n``, ``dtype``), the ``bytes`` that it must move, under the name of each method
the median microseconds of each that it timed, under ``errors`` the largest error of each that was
compared with float64, and under ``stream`` by method the fastest stream, which moves
``stream_bytes``.
"""

from __future__ import annotations

import datetime
import json
import lzma
import math
import pathlib
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from lnbwd.core.base.files import write_whole

FORMAT, VERSION = "lnbwd-bench", 4
# The methods of timing.py, the one to judge by first, and the one that --interleave adds.
METHODS = GRAPH, INTERLEAVED = "graph", "interleaved"
LARGE_BYTES = 1e8
"""What is moved at least where the share of the stream is judged."""

ALLOWED = {"bf16": 6e-3, "f16": 8e-4, "f32": 4e-6}
"""Error over the largest value of an output: one rounding, and the arithmetic before it."""

PEER_SLACK = 16.0
"""A peer whose error is this many times the allowed one is wrong; below, only less precise."""

STREAM = "stream"
BLOCKS = ("training set", "held-out set")
"""The models that patterns are of."""
_FOLDER = pathlib.Path(__file__).resolve().parents[2] / "docs" / "results"
PATTERNS, FUSED_NODES = (_FOLDER / f"{name}.jsonl.xz" for name in (
    "region-patterns", "fused-nodes"))

Row = Mapping[str, Any]


def patterns(file: pathlib.Path = PATTERNS) -> list[str]:
    """The patterns of regions.py's file, each as JSON; held-out models' have ``"seen": false``."""
    return lzma.decompress(file.read_bytes()).decode().splitlines()


def write(path: pathlib.Path | None, rows: Any, machine: Mapping[str, Any] | None = None) -> None:
    """Writes a result file whole or not at all, with its date and command, if there is a path."""
    if path:
        write_whole(path, json.dumps({
            "format": FORMAT, "version": VERSION,
            "date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
            "command": [pathlib.Path(sys.argv[0]).name, *sys.argv[1:]],
            "machine": machine or {}, "results": rows}, indent=1) + "\n")


def read(path: pathlib.Path) -> dict[str, Any]:
    """A result file. A ValueError names a file that is none, or of another version."""
    try:
        document = json.loads(path.read_bytes())
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    found = document if isinstance(document, dict) else {}
    if (found.get("format"), found.get("version")) != (FORMAT, VERSION):
        raise ValueError(f"{path}: expected format '{FORMAT}' version {VERSION}, got "
                         f"'{found.get('format')}' version {found.get('version')}")
    return found


def share(row: Row, method: str) -> float | None:
    """Our rate over that of the stream; None if one of them was not timed."""
    ours, of_stream = row.get(method, {}).get("ours"), row.get(STREAM, {}).get(method)
    if ours is None or of_stream is None:
        return None
    return float(row["bytes"] / ours / (row["stream_bytes"] / of_stream))


def best_peer(row: Row, method: str) -> tuple[str, float] | None:
    """The fastest of those that are not ours, and its microseconds."""
    peers = {name: time for name, time in row.get(method, {}).items() if name != "ours"}
    return min(peers.items(), key=lambda peer: peer[1]) if peers else None


def gain(row: Row, method: str = GRAPH) -> float | None:
    """How many times faster ours is than the best peer."""
    best = best_peer(row, method)
    return float(best[1] / row[method]["ours"]) if best else None


def gains_of(rows: Iterable[Row], method: str = GRAPH) -> list[float]:
    """Of the rows that have a peer."""
    return [found for row in rows if (found := gain(row, method))]


def line(row: Row, method: str) -> str:
    """A result for people: microseconds of each, and how ours compares."""
    times = {**row.get(method, {})}
    head = f"{row['name']:30} {row['m']}x{row['n']}:{row['dtype']:5}"
    ours = times.pop("ours", None)
    if ours is None:
        return f"{head} not timed by {method}"
    text = f"{head} {ours:8.2f} us {row['bytes'] / ours / 1e3:6.0f} GB/s"
    if (of_stream := share(row, method)) is not None:
        text += f"  {100 * of_stream:5.1f} % of the stream"
    if best := best_peer(row, method):
        text += f"  {best[1] / ours:5.2f} times {best[0]};"
        text += "".join(f" {name} {time:.2f}" for name, time in times.items())
    return text


def error_of(outputs: Iterable[Any], expected: Iterable[Any]) -> float:
    """The largest error of all outputs, each over its largest value."""
    errors = [float((output.double().reshape(true.shape) - true).abs().max()
                    / true.abs().max().clamp_min(1e-30))
              for output, true in zip(outputs, expected, strict=False)]
    return math.nan if any(map(math.isnan, errors)) else max(errors)


def complaints(results: Iterable[Row]) -> list[str]:
    """What is wrong with our numbers."""
    return [f"{row['name']} {row['m']}x{row['n']}:{row['dtype']}: {problem}"
            for row in results for problem in row.get("complaints", ())]
