# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From results to the table that the compiler reads, and to a comparison with the model."""

from __future__ import annotations

import json
import math
import pathlib
from collections.abc import Iterable, Sequence
from typing import Any

from lnbwd._files import read_document, write_whole
from lnbwd_bench.shapes import Shape

from . import prediction
from .lnbwd_opt import TuneError

FORMAT, VERSION = "lnbwd-tuned-schedules", 1
# The model's pick is good if it is within this of the best: measured, and predicted, where
# nothing is noise.
MODEL_BOUND, PREDICTED_BOUND = 1.05, 1.03
# A winner on rows of so many bytes is taken where the number of rows is not known.
_LARGE_BYTES = 100_000_000


def shape_of(problem: dict[str, Any]) -> Shape:
    """The shape of a problem in a file of results."""
    return Shape(problem["m"], problem["n"], problem["dtype"])


# A candidate has one of these: its results say which (:func:`is_predicted`).
_TIMES = ("median_us", "predicted_us")


def microseconds(candidate: dict[str, Any]) -> float:
    """The time, measured or predicted, of a candidate that has one."""
    time, = (candidate[name] for name in _TIMES if name in candidate)
    return float(time)


def is_predicted(document: dict[str, Any]) -> bool:
    """Whether results are predictions."""
    return "prediction" in document


def timed(problem: dict[str, Any]) -> list[dict[str, Any]]:
    """The candidates that have a time, fastest first."""
    return sorted((candidate for candidate in problem["candidates"]
                   if any(name in candidate for name in _TIMES)), key=microseconds)


def finalists(problem: dict[str, Any]) -> list[dict[str, Any]]:
    """The candidates that were measured most often, fastest first: the others dropped out. All that
    were predicted."""
    candidates = timed(problem)
    most = max((candidate.get("batches", 0) for candidate in candidates), default=0)
    return [candidate for candidate in candidates if candidate.get("batches", 0) == most]


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
        if merged and merged.get("prediction") != document.get("prediction"):
            raise TuneError("expected results that were all measured, or all predicted for one "
                            f"product, got {origin(merged)} and {origin(document)}")
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
    return microseconds(model) / microseconds(best[0]) if best and model else 0.0


def origin(document: dict[str, Any]) -> str:
    """Where the times of results come from, in words."""
    if is_predicted(document):
        return prediction.error_text(document["prediction"])
    if document["simulated"]:
        return "those of a simulator in a card's place, which mean nothing"
    return f"measured on {document['device']}"


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
                **_evidence(document, m, best, model)}
            entries.append(entry)
            is_large = 3 * m * problem["n"] * shape_of(problem).element_bytes >= _LARGE_BYTES
            if place + 1 == len(problems) and is_large:
                entries.append({name: value for name, value in entry.items() if name != "m"})
    return entries


def _evidence(document: dict[str, Any], m: int, best: dict[str, Any],
              model: dict[str, Any]) -> dict[str, Any]:
    """What an entry is in the table for; what was predicted does not say measured."""
    times = {"m": m, "us": round(microseconds(best), 3),
             "model_us": round(microseconds(model), 3)}
    if is_predicted(document):
        return {"predicted": {**times, **document["prediction"], "date": document["date"][:10]}}
    return {"measured": {**times, "device": document["device"], "date": document["date"][:10]}}


def _key(entry: dict[str, Any]) -> tuple[str, str, str]:
    return (entry["chip"], json.dumps(entry["program"], sort_keys=True), json.dumps(entry["n"]))


def update_table(path: pathlib.Path, document: dict[str, Any], least_gain: float) -> int:
    """Writes the table, keeping what ``path`` has of other chips, programs and row lengths.

    Returns:
        the number of entries that come from ``document``.

    Raises:
        TuneError: ``path`` is there and is no table, or the times mean nothing.
    """
    if document["simulated"] and not is_predicted(document):
        raise TuneError(f"the times are {origin(document)}: take --device sim:{document['chip']} "
                        "to predict them, or measure on a card")
    kept: list[dict[str, Any]] = []
    if path.exists():
        try:
            kept = read_document(path, FORMAT, VERSION)["entries"]
        except (OSError, ValueError, KeyError) as error:
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


def _aligned(lines: Sequence[Sequence[str]]) -> str:
    """Columns side by side: the first and the last to the left, the others to the right."""
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]) - 1)]
    return "\n".join("  ".join([line[0].ljust(widths[0]),
                                *(cell.rjust(width) for cell, width in
                                  zip(line[1:-1], widths[1:], strict=True)), line[-1]])
                     for line in lines)


def comparison(document: dict[str, Any]) -> tuple[str, bool]:
    """A table of the model's pick and the best, and whether the model is good everywhere."""
    word, bound = ("predicted ", PREDICTED_BOUND) if is_predicted(document) else ("", MODEL_BOUND)
    lines = [("shape", f"model {word}us", f"best {word}us", "model/best",
              f"within {round(100 * (bound - 1))} %", "tried", "wrong", "best schedule")]
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
        ratio = gain(problem)
        good &= ratio <= bound
        lines.append((str(shape_of(problem)), f"{microseconds(model):.2f}",
                      f"{microseconds(best[0]):.2f}", f"{ratio:.3f}",
                      "yes" if ratio <= bound else "NO", tried, str(len(wrong)),
                      "the model's" if best[0]["is_model"] else best[0]["schedule"]))
    return _aligned(lines), good


def ranking(document: dict[str, Any], count: int) -> str:
    """The best ``count`` schedules of each problem of predicted results, and the model's choice,
    with what their waves wait for."""
    assert is_predicted(document)
    lines = [("shape", "rank", "predicted us", "of the stream", "waits of waves", "schedule")]
    for problem in document["problems"]:
        for rank, candidate in enumerate(timed(problem), 1):
            if rank <= count or candidate["is_model"]:
                lines.append((str(shape_of(problem)), str(rank),
                              f"{candidate['predicted_us']:.1f}",
                              f"{candidate['stream_percent']:.0f} %", waits_text(candidate),
                              candidate["schedule"]
                              + (" (the model's)" if candidate["is_model"] else "")))
    return _aligned(lines)


# Shares of the waves' time that are too small to be named.
_LEAST_SHARE = 0.095


def waits_text(candidate: dict[str, Any]) -> str:
    """What most of the waves' time goes to, the longest first: "memory 61 %, barrier 12 %"."""
    shares = sorted(candidate["wave_time"].items(), key=lambda item: -item[1])
    return ", ".join(f"{name} {100 * share:.0f} %" for name, share in shares
                     if share >= _LEAST_SHARE and name != "working")


def model_complaint(problem: dict[str, Any]) -> str:
    """What is wrong with the model's own choice."""
    return next((candidate.get("complaint") or "no time" for candidate in problem["candidates"]
                 if candidate["is_model"]), "it is not there")
