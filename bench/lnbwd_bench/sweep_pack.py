# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Schedules of row programs that were compiled where the compiler is, to be timed where the GPU is:
a ZIP file with ``manifest.json`` and the machine code."""

from __future__ import annotations

import json
import os
import pathlib
import zipfile
from collections.abc import Iterable
from typing import Any

from . import sweeping

FORMAT, VERSION = "lnbwd-sweep-kernels", 1
_MANIFEST = "manifest.json"


def write(path: pathlib.Path, chip: str, compiled: Iterable[sweeping.Compiled]) -> int:
    """Writes what was compiled for a chip, whole or not at all.

    Returns:
        how many problems that are.
    """
    problems: list[dict[str, Any]] = []
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:
            for problem, candidates, refused in compiled:
                entries: list[dict[str, str]] = []
                for candidate in candidates:
                    name = f"{len(problems)}-{len(entries)}"
                    archive.writestr(name, candidate.code)
                    entries.append({"origin": candidate.origin, "schedule": candidate.schedule,
                                    "file": name})
                problems.append({"kind": problem.kind, "dtype": problem.dtype, "m": problem.m,
                                 "n": problem.n, "refused": refused, "candidates": entries})
            archive.writestr(_MANIFEST, json.dumps(
                {"format": FORMAT, "version": VERSION, "chip": chip, "fields": sweeping.FIELDS,
                 "problems": problems}))
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    return len(problems)


def read(path: pathlib.Path) -> tuple[str, list[sweeping.Compiled]]:
    """What :func:`write` has written: the chip, and what was compiled for it.

    Raises:
        OSError: it cannot be read.
        ValueError: it is none, or of another version; the message names the file.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            document = json.loads(archive.read(_MANIFEST))
            if (document.get("format"), document.get("version"),
                    tuple(document.get("fields", ()))) != (FORMAT, VERSION, sweeping.FIELDS):
                raise ValueError(f"{path}: expected schedules that --compile-to of this version "
                                 "has compiled; compile them again")
            return document["chip"], [
                (sweeping.Problem(entry["kind"], entry["dtype"], entry["m"], entry["n"], ""),
                 [sweeping.Candidate(candidate["origin"], candidate["schedule"],
                                     archive.read(candidate["file"]))
                  for candidate in entry["candidates"]], entry["refused"])
                for entry in document["problems"]]
    except (zipfile.BadZipFile, KeyError) as error:
        raise ValueError(f"{path}: expected a file of --compile-to: {error}") from error
