# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles the candidates into a folder that can be carried to the device.

The folder has ``manifest.json`` and ``kernels.zip``.
"""

from __future__ import annotations

import concurrent.futures
import dataclasses
import datetime
import itertools
import json
import pathlib
import random
import re
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from lnbwd import compiler, schedule
from lnbwd._files import check_writable, read_document, write_whole
from lnbwd_bench.shapes import Shape

from . import lnbwd_opt
from .lnbwd_opt import Refused, Selection, TuneError
from .progress import Progress

FORMAT, VERSION = "lnbwd-tune-candidates", 1
MANIFEST, ARCHIVE = "manifest.json", "kernels.zip"
# Rows, for each compute unit, up to which they may be too few to fill the chip, and their least
# length: then slices of them are worth a try.
_FEW_ROWS, _LONG_ROW = 4, 4096
# Schedules that the compiler ranks, of which candidates are taken.
_RANKED = 2000


def _add(archive: zipfile.ZipFile, name: str, path: pathlib.Path) -> None:
    """Adds a file with a fixed date, so that the same kernels give the same archive."""
    info = zipfile.ZipInfo(name, date_time=(2000, 1, 1, 0, 0, 0))
    info.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(info, path.read_bytes())
    path.unlink()


def _reason(text: str) -> str:
    """A refusal without its numbers, to count refusals of one kind."""
    text = text.partition(" with #lnbwd.schedule")[0]
    return re.sub(r"\b\d+\b", "N", text)


def split_rows(shape: Shape, units: int) -> list[dict[str, int]]:
    """What writes split row sums, where rows are few for so many compute units and long: numbers
    of slices, for each of which the compiler has the other fields."""
    if shape.m > _FEW_ROWS * units or shape.n < _LONG_ROW:
        return []
    return [{schedule.ROW_SPLITS: slices} for slices in (1, 2, 4, 8, 16)]


def in_order(ranked: Iterable[str], center: str = "", seed: int = 1) -> Iterator[dict[str, int]]:
    """The fields of schedules that the compiler ranked, in the order in which to try them: two are
    the best of those left, each third one is drawn from those behind. With a ``center`` those come
    first that differ from it in the fewest fields."""
    left = [schedule.whole(schedule.parse_printed(text)) for text in ranked]
    if center:
        home = schedule.whole(schedule.parse_printed(center))
        left.sort(key=lambda fields: sum(fields[name] != home[name] for name in home))
    draw = random.Random(seed)
    while left:
        for _ in range(min(2, len(left))):
            yield left.pop(0)
        if left:
            # Better ones are likelier: the place of the drawn one falls off exponentially.
            yield left.pop(min(int(draw.expovariate(8.0 / len(left))), len(left) - 1))


def _compile_one(shape: Shape, chip: str, emit: str, seen: set[str], fields: Mapping[str, int],
                 output: pathlib.Path) -> Selection:
    """Compiles one candidate.

    Raises:
        Refused: it cannot run, spills, or is the schedule of another one.
    """
    text = schedule.overrides(fields)
    selection = lnbwd_opt.select(shape, chip, text)
    if selection.schedule in seen:
        raise Refused("the same as another")
    seen.add(selection.schedule)
    lnbwd_opt.compile_schedule(shape, chip, text, emit, output)
    return selection


def compile_candidates(shapes: Iterable[Shape], chip: str, emit: str, count: int, jobs: int,
                       folder: pathlib.Path,
                       centers: Mapping[Shape, Mapping[str, Any]] | None = None) -> list[str]:
    """Writes a folder of candidates.

    Args:
        shapes: the problems.
        chip: the chip.
        emit: "cubin", "ptx" or "hsaco".
        count: candidates of each shape, the model's own choice beside them.
        jobs: compilers that run at once.
        folder: is made if it is not there.
        centers: for some shapes, what to search around instead of the model's choice: a schedule
            as it is printed, and those that need not be compiled again.

    Returns:
        notes for the user: shapes that were left out, and why; and those whose kernel spills
        whatever the model chooses.

    Raises:
        TuneError: the folder cannot be written.
    """
    shapes = list(shapes)
    centers = centers or {}
    units = compiler.chips()[chip.partition(":")[0]].compute_units
    notes: list[str] = []
    problems: list[dict[str, Any]] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in (MANIFEST, ARCHIVE):
            check_writable(folder / name)
    except OSError as error:
        raise TuneError(f"cannot write candidates to {folder}: {error}") from error
    progress = Progress(len(shapes) * (count + 1), "kernel")
    with tempfile.TemporaryDirectory(prefix="lnbwd-tune-") as scratch, \
            zipfile.ZipFile(folder / ARCHIVE, "w") as archive, \
            concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for shape in shapes:
            progress.say(str(shape))
            try:
                model = lnbwd_opt.select(shape, chip)
                path = pathlib.Path(scratch) / "model"
                used, spill = lnbwd_opt.compile_model(shape, chip, emit, path)
                model = dataclasses.replace(model, schedule=used)
                if spill:
                    notes.append(f"{shape}: no choice of the model does without spilling; {spill}")
            except Refused as error:
                notes.append(f"{shape} is left out: {error}")
                progress.step(count + 1)
                continue
            prefix = f"{shape.m}x{shape.n}-{shape.dtype}"
            _add(archive, f"{prefix}/model.{emit}", path)
            entry: dict[str, Any] = {
                "m": shape.m, "n": shape.n, "dtype": shape.dtype, "program": dict(model.program),
                "candidates": [{"file": f"{prefix}/model.{emit}", "schedule": model.schedule,
                                "is_model": True}],
                "refused": {}}
            problems.append(entry)
            center = centers.get(shape, {})
            seen = {model.schedule, *center.get("measured", ())}
            wanted = itertools.chain(
                split_rows(shape, units),
                in_order(lnbwd_opt.ranked(shape, chip, _RANKED), center.get("schedule", "")))
            progress.step()
            taken = 0
            while taken < count:
                batch = list(itertools.islice(wanted, min(2 * jobs, count - taken)))
                if not batch:
                    break
                outputs = [pathlib.Path(scratch) / str(index) for index in range(len(batch))]
                futures = [pool.submit(_compile_one, shape, chip, emit, seen, fields, output)
                           for fields, output in zip(batch, outputs, strict=True)]
                for output, future in zip(outputs, futures, strict=True):
                    try:
                        selection = future.result()
                    except Refused as error:
                        reason = _reason(str(error))
                        entry["refused"][reason] = entry["refused"].get(reason, 0) + 1
                        continue
                    taken += 1
                    name = f"{prefix}/{taken}.{emit}"
                    _add(archive, name, output)
                    entry["candidates"].append({"file": name, "schedule": selection.schedule,
                                                "is_model": False})
                    progress.step()
            progress.step(count - taken)
    progress.close()
    document = {"format": FORMAT, "version": VERSION, "chip": chip,
                "date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
                "problems": problems}
    write_whole(folder / MANIFEST, json.dumps(document, indent=1) + "\n")
    return notes


def read_manifest(folder: pathlib.Path) -> dict[str, Any]:
    """The manifest of a folder of candidates.

    Raises:
        TuneError: there is none, or it is of another version.
    """
    try:
        return read_document(folder / MANIFEST, FORMAT, VERSION)
    except (OSError, ValueError) as error:
        raise TuneError(f"{error}; make it with 'lnbwd-tune compile'") from error
