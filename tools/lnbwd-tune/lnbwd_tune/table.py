# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From results to the table that the compiler reads, and to a comparison with the model."""

from __future__ import annotations

import json
import math
import pathlib
from collections.abc import Iterable
from typing import Any

from lnbwd._files import write_whole
from lnbwd_bench.shapes import Shape

from .lnbwd_opt import TuneError

FORMAT, VERSION = "lnbwd-tuned-schedules", 1
# The model's pick is good if it is within this of the best.
MODEL_BOUND = 1.05
# A winner on rows of so many bytes is taken where the number of rows is not known.
_LARGE_BYTES = 100_000_000


def shape_of(problem: dict[str, Any]) -> Shape:
    """The shape of a problem in a file of results."""
    return Shape(problem["m"], problem["n"], problem["dtype"])


def timed(problem: dict[str, Any]) -> list[dict[str, Any]]:
    """The candidates that have a time, fastest first."""
    return sorted((candidate for candidate in problem["candidates"] if "median_us" in candidate),
                  key=lambda candidate: candidate["median_us"])


def finalists(problem: dict[str, Any]) -> list[dict[str, Any]]:
    """The candidates that were measured most often, fastest first: the others dropped out."""
    candidates = timed(problem)
    most = max((candidate["batches"] for candidate in candidates), default=0)
    return [candidate for candidate in candidates if candidate["batches"] == most]


def model_of(problem: dict[str, Any]) -> dict[str, Any] | None:
    """The model's own choice, if it has a time."""
    return next((candidate for candidate in timed(problem) if candidate["is_model"]), None)


def merge(documents: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """One file of results from several of one chip: of each problem, the candidates of all. A
    problem that was measured again is the last one's, together with those winners of the earlier
    ones that are relatively faster, measured against the model of their own run."""
    merged: dict[str, Any] = {}
    problems: dict[Shape, dict[str, Any]] = {}
    for document in documents:
        if merged and document["chip"] != merged["chip"]:
            raise TuneError(f"expected results of one chip, got {merged['chip']} and "
                            f"{document['chip']}")
        merged = {**document}
        for problem in document["problems"]:
            shape = shape_of(problem)
            known = problems.get(shape)
            if known is None or gain(problem) >= gain(known):
                problems[shape] = problem
    merged["problems"] = list(problems.values())
    return merged


def gain(problem: dict[str, Any]) -> float:
    """The model's time over the best: 1 if nothing is better."""
    best, model = finalists(problem), model_of(problem)
    return model["median_us"] / best[0]["median_us"] if best and model else 0.0


def _middle(one: int, other: int) -> int:
    return int(math.sqrt(one * other))


def make_entries(document: dict[str, Any], least_gain: float) -> list[dict[str, Any]]:
    """The table's entries: for each problem whose winner beats the model by ``least_gain``.

    A number of rows that was measured stands for those around it: up to the middle, in doublings,
    to the next one that was measured, and twice as far down and up at the ends. The winner of the
    largest problem of a row length, if that is large, also stands for unknown numbers of rows.
    """
    groups: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for problem in document["problems"]:
        if timed(problem) and model_of(problem):
            key = (json.dumps(problem["program"], sort_keys=True), problem["n"])
            groups.setdefault(key, []).append(problem)
    entries = []
    for _, problems in sorted(groups.items()):
        problems.sort(key=lambda problem: int(problem["m"]))
        for place, problem in enumerate(problems):
            m = problem["m"]
            least = (_middle(problems[place - 1]["m"], m) + 1) if place else max(1, m // 2)
            most = (_middle(m, problems[place + 1]["m"]) if place + 1 < len(problems) else 2 * m)
            if gain(problem) < least_gain:
                continue
            best, model = finalists(problem)[0], model_of(problem)
            assert model is not None
            entry: dict[str, Any] = {
                "chip": document["chip"], "program": problem["program"], "n": problem["n"],
                "m": [least, most], "schedule": best["schedule"],
                "measured": {"m": m, "us": round(best["median_us"], 3),
                             "model_us": round(model["median_us"], 3),
                             "device": document["device"], "date": document["date"][:10]}}
            entries.append(entry)
            is_large = 3 * m * problem["n"] * shape_of(problem).element_bytes >= _LARGE_BYTES
            if place + 1 == len(problems) and is_large:
                entries.append({name: value for name, value in entry.items() if name != "m"})
    return entries


def _key(entry: dict[str, Any]) -> tuple[str, str, str]:
    return (entry["chip"], json.dumps(entry["program"], sort_keys=True), json.dumps(entry["n"]))


def update_table(path: pathlib.Path, document: dict[str, Any], least_gain: float) -> int:
    """Writes the table, keeping what ``path`` has of other chips, programs and row lengths.

    Returns:
        the number of entries that come from ``document``.

    Raises:
        TuneError: ``path`` is there and is no table.
    """
    kept: list[dict[str, Any]] = []
    if path.exists():
        try:
            table = json.loads(path.read_text())
            if table.get("format") != FORMAT or table.get("version") != VERSION:
                raise ValueError(f"expected format '{FORMAT}' version {VERSION}")
            kept = table["entries"]
        except (OSError, ValueError, KeyError, AttributeError) as error:
            raise TuneError(f"{path} is no table of tuned schedules: {error}") from error
    entries = make_entries(document, least_gain)
    # Problems that were measured and whose model won have no entry any more either.
    measured = {_key({"chip": document["chip"], **problem}) for problem in document["problems"]
                if timed(problem)}
    kept = [entry for entry in kept if _key(entry) not in measured]
    lines = ",\n".join("    " + json.dumps(entry)
                       for entry in sorted(kept + entries, key=_sort_key))
    text = (f'{{\n  "format": "{FORMAT}",\n  "version": {VERSION},\n  "entries": ['
            + (f"\n{lines}\n  ]" if lines else "]") + "\n}\n")
    write_whole(path, text)
    return len(entries)


def _sort_key(entry: dict[str, Any]) -> tuple[Any, ...]:
    """By chip, program and row length; entries for known numbers of rows first."""
    n = entry["n"] if isinstance(entry["n"], list) else [entry["n"], entry["n"]]
    return (entry["chip"], json.dumps(entry["program"], sort_keys=True), n, "m" not in entry,
            entry.get("m", []))


def comparison(document: dict[str, Any]) -> tuple[str, bool]:
    """A table of the model's pick and the best, and whether the model is good everywhere."""
    lines = [("shape", "model us", "best us", "model/best", "within 5 %", "tried", "wrong",
              "best schedule")]
    good = True
    for problem in document["problems"]:
        best, model = finalists(problem), model_of(problem)
        wrong = [candidate for candidate in problem["candidates"] if candidate.get("complaint")]
        tried = str(len(problem["candidates"]))
        if not best or not model:
            good = False
            lines.append((str(shape_of(problem)), "-", "-", "-", "NO", tried, str(len(wrong)),
                          "the model's own choice is wrong: " + model_complaint(problem)))
            continue
        ratio = model["median_us"] / best[0]["median_us"]
        good &= ratio <= MODEL_BOUND
        lines.append((str(shape_of(problem)), f"{model['median_us']:.2f}",
                      f"{best[0]['median_us']:.2f}", f"{ratio:.3f}",
                      "yes" if ratio <= MODEL_BOUND else "NO", tried, str(len(wrong)),
                      "the model's" if best[0]["is_model"] else best[0]["schedule"]))
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]) - 1)]
    text = "\n".join("  ".join([line[0].ljust(widths[0]),
                                *(cell.rjust(width) for cell, width in
                                  zip(line[1:-1], widths[1:], strict=True)), line[-1]])
                     for line in lines)
    return text, good


def model_complaint(problem: dict[str, Any]) -> str:
    """What is wrong with the model's own choice."""
    return next((candidate.get("complaint") or "no time" for candidate in problem["candidates"]
                 if candidate["is_model"]), "it is not there")
