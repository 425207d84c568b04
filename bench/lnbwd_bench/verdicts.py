# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Medians, geometric means, and whether the bars are met.

Works on the plain records that the benchmark writes to its JSON file, so that a stored run can be
judged again.
"""

from __future__ import annotations

import json
import math
import pathlib
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .shapes import TABLE, Shape

# The methods of timing.py, the one to judge by first.
METHODS = ("graph", "events")
# The one that --interleave adds; it is reported, and nothing is judged by it.
INTERLEAVED = "interleaved"
# A median of fewer repetitions decides nothing.
MIN_REPETITIONS = 30

LARGE_BYTES = 1_500_000_000
LARGE_SHARE = 0.97
MEDIUM = tuple(Shape(m, n) for m, n in (
    (8192, 4096), (4096, 8192), (8192, 8192), (16384, 2048), (65536, 768), (262144, 256),
    (524288, 128), (4096, 12288), (4096, 16384)))
MEDIUM_F32 = tuple(Shape(m, n, "f32") for m, n in ((8192, 4096), (65536, 768), (4096, 8192)))
MEDIUM_SHARE, MEDIUM_MEAN = 0.86, 0.90
RAGGED = {Shape(8192, 3000): 0.80, Shape(4096, 4093): 0.70}
WIDE = tuple(Shape(m, n) for m, n in ((1024, 16384), (256, 65536), (64, 65536)))
WIDE_SPEEDUP = 1.5
WIDEST, WIDEST_SHARE = Shape(1024, 65536), 0.65
SMALL = {Shape(4096, 1024): 13.5, Shape(8192, 768): 16.6, Shape(512, 4096): 11.3}
PEER_MEAN, EAGER_MEAN = 1.4, 3.0


@dataclass(frozen=True)
class Verdict:
    """One bar. ``value`` is None where a shape or peer that it needs was not measured."""

    bar: str
    value: float | None
    least: float
    text: str

    @property
    def word(self) -> str:
        """PASS, MISS or "not measured"."""
        if self.value is None:
            return "not measured"
        return "PASS" if self.value >= self.least else "MISS"


def median(values: Iterable[float]) -> float:
    """The median; NaN of nothing."""
    values = list(values)
    return statistics.median(values) if values else math.nan


def geometric_mean(values: Iterable[float]) -> float | None:
    """The geometric mean; None of nothing."""
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def load_recorded(path: pathlib.Path) -> dict[Shape, dict[str, float]]:
    """The figures of peers that were measured before: microseconds by shape and peer.

    The file gives rates of the minimal bytes, or, where only the time was kept, the time.
    """
    document = json.loads(path.read_text())
    recorded: dict[Shape, dict[str, float]] = {}
    for entry in document["figures"]:
        shape = Shape(entry["m"], entry["n"], entry["dtype"])
        times = {name: shape.minimal_bytes / (rate * 1e3)
                 for name, rate in entry.get("gb_per_s", {}).items()}
        times.update(entry.get("us", {}))
        recorded[shape] = times
    return recorded


def shape_of(record: Mapping[str, Any]) -> Shape:
    """The shape that a record is about."""
    return Shape(record["m"], record["n"], record["dtype"])


class Results:
    """What was measured, by shape. ``method`` names the timing method to judge by (timing.py)."""

    def __init__(self, records: Iterable[Mapping[str, Any]],
                 recorded: Mapping[Shape, Mapping[str, float]], method: str = METHODS[0]) -> None:
        self.records = {shape_of(record): record for record in records}
        self.recorded = recorded
        self.method = method

    def time(self, shape: Shape, name: str) -> float | None:
        """Microseconds of a competitor that is there and gave right results."""
        competitor = self.records.get(shape, {}).get("competitors", {}).get(name)
        if not competitor or not competitor.get("valid"):
            return None
        timing = competitor.get("times", {}).get(self.method)
        return timing["median_us"] if timing else None

    def ours(self, shape: Shape) -> float | None:
        """Microseconds of ours."""
        return self.time(shape, "ours")

    def peers(self, shape: Shape) -> dict[str, float]:
        """Microseconds of every other competitor of this run."""
        times = {name: self.time(shape, name)
                 for name in self.records.get(shape, {}).get("competitors", {}) if name != "ours"}
        return {name: time for name, time in times.items() if time is not None}

    def best_peer(self, shape: Shape) -> tuple[str, float] | None:
        """The fastest peer of this run and of the recorded ones; a recorded one is marked *."""
        times = self.peers(shape)
        times.update({f"{name}*": time for name, time in self.recorded.get(shape, {}).items()})
        return min(times.items(), key=lambda item: item[1]) if times else None

    def stream_rate(self, shape: Shape) -> float | None:
        """GB/s of the stream at this size."""
        stream = self.records.get(shape, {}).get("stream", {}).get(self.method)
        return shape.stream_bytes / stream["median_us"] / 1e3 if stream else None

    def rate(self, shape: Shape, name: str = "ours") -> float | None:
        """GB/s of the minimal bytes."""
        time = self.time(shape, name)
        return shape.minimal_bytes / time / 1e3 if time else None

    def share(self, shape: Shape) -> float | None:
        """Our rate over the stream's."""
        rate, stream = self.rate(shape), self.stream_rate(shape)
        return rate / stream if rate and stream else None

    def speedup(self, shape: Shape, name: str | None = None) -> float | None:
        """How many times faster ours is than a peer, or than the best one."""
        ours = self.ours(shape)
        best = self.best_peer(shape)
        time = self.time(shape, name) if name else best[1] if best else None
        return time / ours if time and ours else None


def _worst(values: Mapping[Shape, float | None]) -> tuple[float | None, str]:
    """The least value and where it is; None if one of them is missing."""
    if not values or None in values.values():
        return None, ""
    shape = min(values, key=lambda key: values[key] or 0)
    return values[shape], f"least at {shape}"


def _mean(values: Mapping[Shape, float | None]) -> tuple[float | None, str]:
    """The geometric mean; None if one of the values is missing."""
    if None in values.values():
        return None, ""
    return geometric_mean(value for value in values.values() if value), f"{len(values)} shapes"


def judge(results: Results) -> list[Verdict]:
    """Every bar of the benchmark, held against the results."""
    verdicts: list[Verdict] = []

    def add(bar: str, least: float, measured: tuple[float | None, str]) -> None:
        verdicts.append(Verdict(bar, measured[0], least, measured[1]))

    large = [shape for shape in results.records if shape.minimal_bytes >= LARGE_BYTES]
    add("share of the stream, 1.5 GB and more", LARGE_SHARE,
        _worst({shape: results.share(shape) for shape in large or [Shape(65536, 4096)]}))
    for shape in MEDIUM + MEDIUM_F32:
        add(f"share of the stream, {shape}", MEDIUM_SHARE,
            (results.share(shape), "150 to 600 MB"))
    add("share of the stream, geometric mean of bf16 150 to 600 MB", MEDIUM_MEAN,
        _mean({shape: results.share(shape) for shape in MEDIUM}))
    add("share of the stream, geometric mean of f32 150 to 600 MB", MEDIUM_MEAN,
        _mean({shape: results.share(shape) for shape in MEDIUM_F32}))
    for shape, least in RAGGED.items():
        add(f"share of the stream, {shape}", least, (results.share(shape), "ragged rows"))
    for shape in WIDE:
        best = results.best_peer(shape)
        add(f"times the best peer, {shape}", WIDE_SPEEDUP,
            (results.speedup(shape), f"over {best[0]}" if best else ""))
    add(f"share of the stream, {WIDEST}", WIDEST_SHARE, (results.share(WIDEST), "widest"))
    for shape, bound in SMALL.items():
        time = results.ours(shape)
        add(f"times faster than {bound} us, {shape}", 1.0,
            (bound / time if time else None, f"{time:.2f} us" if time else ""))
    table = [Shape(m, n) for m, n in TABLE]
    add("times the best peer, every shape of the table", 1.0,
        _worst({shape: results.speedup(shape) for shape in table}))
    add("times the best peer, every f32 shape", 1.0,
        _worst({shape: results.speedup(shape) for shape in MEDIUM_F32}))
    add("times the best peer, geometric mean of the table", PEER_MEAN,
        _mean({shape: results.speedup(shape) for shape in table}))
    add("times torch eager, geometric mean of the table", EAGER_MEAN,
        _mean({shape: results.speedup(shape, "eager") for shape in table}))
    return verdicts
