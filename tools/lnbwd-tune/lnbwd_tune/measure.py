# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the candidates on a device: first whether they are right, then which is fastest.

All of it goes through the runtime's own interface, so that the device's machine needs Python, numpy
and the runtime library alone.

How they are timed, :mod:`lnbwd._contest` says; the model's own choice stays to the end.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import pathlib
import statistics
import time
import zipfile
from typing import Any

import numpy as np

from lnbwd import _chips, errors, runtime
from lnbwd._contest import Contest, Rotation
from lnbwd._files import write_whole
from lnbwd_bench.progress import Progress
from lnbwd_bench.shapes import Shape

from . import gradients
from .candidates import ARCHIVE, read_manifest
from .lnbwd_opt import TuneError

FORMAT, VERSION = "lnbwd-tune-results", 1

# Elements of a row block that correctness is checked on, and rows, at least.
_CHECK_ELEMENTS, _CHECK_ROWS = 1 << 22, 512
_FILLER_BYTES = 1 << 30

# The first device of each vendor.
_DEVICES = {"nvidia": "cuda", "amd": "hip"}


class Problem(Rotation):
    """Buffers of one problem on the device, in sets that launches rotate among."""

    def __init__(self, device: runtime.Device, shape: Shape, rotate_bytes: int) -> None:
        self.shape = shape
        size = shape.m * shape.n * shape.element_bytes
        scalar, column = 4 * shape.m, shape.n * shape.element_bytes
        super().__init__(device, shape.m,
                         {"dy": size, "x": size, "gamma": column, "mean": scalar, "rstd": scalar,
                          "dx": size, "dgamma": column, "dbeta": column},
                         max(2, -(-rotate_bytes // (2 * size)) + 1))
        self.check_rows = min(shape.m, max(_CHECK_ELEMENTS // shape.n, _CHECK_ROWS) - 3)
        self.inputs = gradients.make_inputs(shape, self.check_rows)
        self.reference = gradients.reference(self.inputs, shape.dtype)
        for name, values in self.inputs.items():
            rows = shape.m if name != "gamma" else shape.n
            repeated = np.resize(values, (rows, *values.shape[1:]))
            for buffers in self.sets:
                buffers[name].upload(np.ascontiguousarray(repeated))

    def _run_once(self, kernel: runtime.Kernel, fill: int) -> dict[str, np.ndarray[Any, Any]]:
        """The outputs of the check's rows, from poisoned memory."""
        shape, rows, buffers = self.shape, self.check_rows, self.sets[0]
        for name in gradients.OUTPUTS:
            size = (rows, shape.n) if name == "dx" else (shape.n,)
            buffers[name].upload(gradients.poison(size, shape.dtype))
        self.workspace(0, kernel.workspace_size(rows)).fill(fill)
        self.launch(kernel, rows, 0)
        self.device.synchronize()
        outputs = {}
        for name in gradients.OUTPUTS:
            size = (rows, shape.n) if name == "dx" else (shape.n,)
            outputs[name] = np.empty(size, gradients.poison((1,), shape.dtype).dtype)
            buffers[name].download(outputs[name])
        return outputs

    def complaint(self, kernel: runtime.Kernel) -> str:
        """What is wrong with a candidate's numbers; "" if nothing is."""
        first = self._run_once(kernel, 0xFF)
        problem = gradients.complaint(first, self.reference, self.shape.dtype)
        if problem:
            return problem
        again = self._run_once(kernel, 0x5A)
        for name in gradients.OUTPUTS:
            if not np.array_equal(first[name], again[name]):
                return f"{name}: two runs gave different bits"
        return ""


def measure(folder: pathlib.Path, device_name: str, budget: float,
            output: pathlib.Path) -> tuple[dict[str, Any], list[str]]:
    """Measures a folder of candidates, writing ``output`` after each problem.

    Args:
        folder: what ``lnbwd-tune compile`` wrote.
        device_name: "cuda", "hip:1", ...; "": of the chip that the candidates are for.
        budget: seconds for all; 0: no limit. When it is spent, the rest is left out.
        output: the file of results.

    Returns:
        the results; and notes for the user.
    """
    manifest = read_manifest(folder)
    device = runtime.Device.open(device_name or _DEVICES[_chips.vendor(manifest["chip"])],
                                 manifest["chip"])
    info = device.info
    document: dict[str, Any] = {
        "format": FORMAT, "version": VERSION, "chip": manifest["chip"],
        "date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
        "device": info.name, "driver": info.driver, "simulated": device.is_stand_in,
        "problems": []}
    notes: list[str] = []
    start = time.monotonic()
    simulated = device.is_stand_in
    filler = device.allocate(1 << 10 if simulated else _FILLER_BYTES)
    rotate = 1 << 12 if simulated else 5 * max(device.cache_bytes, 1 << 25)
    progress = Progress(sum(len(problem["candidates"]) for problem in manifest["problems"]),
                        "kernel")
    with zipfile.ZipFile(folder / ARCHIVE) as archive, contextlib.closing(filler), \
            contextlib.closing(progress):
        for place, entry in enumerate(manifest["problems"]):
            shape = Shape(entry["m"], entry["n"], entry["dtype"])
            elapsed = time.monotonic() - start
            if budget and elapsed > budget:
                notes.append(f"{shape} is left out: the time budget of {budget:g} s was spent")
                continue
            left = len(manifest["problems"]) - place
            deadline = time.monotonic() + ((budget - elapsed) / left if budget else 1e9)
            progress.say(f"{shape} inputs")
            problem = Problem(device, shape, rotate)
            try:
                document["problems"].append(
                    _measure_problem(problem, entry, archive, filler, deadline, progress))
            finally:
                problem.close()
            document["seconds"] = round(time.monotonic() - start, 1)
            write(document, output)
    return document, notes


def _measure_problem(problem: Problem, entry: dict[str, Any], archive: zipfile.ZipFile,
                     filler: runtime.Buffer, deadline: float, progress: Progress) -> dict[str, Any]:
    """The results of one problem."""
    candidates = [dict(candidate) for candidate in entry["candidates"]]
    kernels: dict[int, runtime.Kernel] = {}
    model = next(index for index, candidate in enumerate(candidates) if candidate["is_model"])
    for index, candidate in enumerate(candidates):
        progress.say(f"{problem.shape} checking")
        try:
            program = runtime.Program.from_bytes(archive.read(candidate.pop("file")))
            kernel = runtime.Kernel(problem.device, program)
            candidate["complaint"] = problem.complaint(kernel)
        except errors.LnbwdError as error:
            candidate["complaint"] = str(error)
        if not candidate["complaint"]:
            kernels[index] = kernel
        progress.step()
    result = {**entry, "candidates": candidates}
    if model not in kernels:
        return result
    progress.say(f"{problem.shape} timing")
    contest = Contest(problem, filler)
    contest.run(kernels, model, deadline)
    for index, times in contest.times.items():
        candidates[index].update(median_us=statistics.median(times), min_us=min(times),
                                 batches=len(times))
    for kernel in kernels.values():
        kernel.close()
    return result


def write(document: dict[str, Any], path: pathlib.Path) -> None:
    """Writes a file of results whole or not at all."""
    write_whole(path, json.dumps(document, indent=1) + "\n")


def read(path: pathlib.Path) -> dict[str, Any]:
    """A file of results.

    Raises:
        TuneError: it is none, or of another version.
    """
    try:
        document = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise TuneError(f"cannot read {path}: {error}") from error
    if document.get("format") != FORMAT or document.get("version") != VERSION:
        raise TuneError(f"{path}: expected format '{FORMAT}' version {VERSION}, got "
                        f"'{document.get('format')}' version {document.get('version')}")
    return dict(document)
