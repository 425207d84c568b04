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
import re
import tempfile
import zipfile
from collections.abc import Iterable, Mapping
from typing import Any

from lnbwd import _chips, runtime, schedule, schedule_space
from lnbwd._files import check_writable, read_document, write_whole
from lnbwd_bench.progress import Progress
from lnbwd_bench.shapes import Shape

from . import lnbwd_opt
from .lnbwd_opt import Refused, Selection, TuneError

FORMAT, VERSION = "lnbwd-tune-candidates", 1
MANIFEST, ARCHIVE = "manifest.json", "kernels.zip"


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
    known = schedule.names_for(_chips.vendor(chip))
    units = lnbwd_opt.compute_units(chip)
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
            wave = json.loads(runtime.Program.from_file(path).plan)["wave_size"]
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
                schedule_space.sliced(shape, known, units),
                schedule_space.candidates(
                    shape, schedule.parse_printed(center["schedule"]) if center else model.fields,
                    wave, known, units))
            progress.step()
            taken = 0
            exhausted = False
            while taken < count and not exhausted:
                batch = []
                for fields in wanted:
                    batch.append(fields)
                    if len(batch) == min(2 * jobs, count - taken):
                        break
                exhausted = not batch
                futures = []
                for index, fields in enumerate(batch):
                    output = pathlib.Path(scratch) / str(index)
                    futures.append((output, pool.submit(_compile_one, shape, chip, emit, seen,
                                                        fields, output)))
                for output, future in futures:
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
