# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Regret: the time of the schedule that the cost model chose, over that of the best one known."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

HEADING = f"{'':16} {'':4} {'mean':>7} {'median':>7} {'90 %':>7} {'95 %':>7} {'most':>7}"
"""Above :func:`line`."""


def line(title: str, values: Iterable[float]) -> str:
    """A line of a table of regrets, those that are not known (NaN) left out."""
    regrets = np.asarray(list(values), dtype=float)
    known = regrets[~np.isnan(regrets)]
    if not known.size:
        return f"{title:16} {0:4}"
    median, ninety, ninety_five = np.quantile(known, (0.5, 0.9, 0.95))
    return (f"{title:16} {len(known):4} {known.mean():7.3f} {median:7.3f} {ninety:7.3f} "
            f"{ninety_five:7.3f} {known.max():7.3f}")


def regret(record: Mapping[str, Any]) -> float:
    """Of a problem of a sweep: how long the model's schedule takes for the best one's time; NaN if
    the model's could not run, or nothing was tried beside it. The best one is the best of many
    noisy times, and so flattered; where both were timed once more, those times count, and the
    regret may be below 1."""
    candidates = record["candidates"]
    model = [candidate["us"] for candidate in candidates if candidate["origin"] == "model"]
    if not model or all(candidate["origin"] != "tried" for candidate in candidates):
        return math.nan
    if again := record.get("again"):
        return float(again["model"] / again["best"])
    return float(model[0] / min(candidate["us"] for candidate in candidates))


def text(records: Sequence[Mapping[str, Any]], worst: int = 5) -> str:
    """A table of regrets: of all problems, by kind, and the worst ones."""
    found = [regret(record) for record in records]
    lines = [HEADING, line("all", found)]
    for kind in sorted({record["kind"] for record in records}):
        lines.append(line(kind, (value for value, record in zip(found, records, strict=True)
                                 if record["kind"] == kind)))
    ranked = sorted(((value, index) for index, value in enumerate(found)
                     if not math.isnan(value)), reverse=True)
    for value, index in ranked[:worst]:
        record = records[index]
        lines.append(f"{value:.3f}  {record['kind']} {record['m']}x{record['n']}:{record['dtype']}"
                     f", best of {len(record['candidates'])}")
    return "\n".join(lines)
