# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the candidates on a device: first whether they are right, then which is fastest.

All of it goes through the runtime's own interface, so that the device's machine needs Python, numpy
and the runtime library alone.

How they are timed, :mod:`lnbwd._contest` says; the model's own choice stays to the end. On a
simulated device nothing is timed: how long they take on a card is predicted.
"""

from __future__ import annotations

import contextlib
import datetime
import functools
import json
import pathlib
import statistics
import time
import zipfile
from typing import Any, Protocol

import numpy as np

from lnbwd import _chips, errors, runtime
from lnbwd._contest import Contest, Rotation
from lnbwd._files import read_document, write_whole
from lnbwd_bench.progress import Progress
from lnbwd_bench.shapes import Shape

from . import gradients, prediction
from .candidates import ARCHIVE, read_manifest
from .lnbwd_opt import TuneError

FORMAT, VERSION = "lnbwd-tune-results", 1

# Elements of a row block that correctness is checked on, and rows, at least.
_CHECK_ELEMENTS, _CHECK_ROWS = 1 << 22, 512
# Elements and rows that it is checked on where each instruction is simulated.
_SIMULATED_CHECK_ELEMENTS, _SIMULATED_CHECK_ROWS = 1 << 17, 35
_FILLER_BYTES = 1 << 30

# What names the simulated device of a chip.
SIMULATED = "sim:"

# The first device of each vendor.
_DEVICES = {"nvidia": "cuda", "amd": "hip"}


class Problem(Rotation):
    """Buffers of one problem on the device, in sets that launches rotate among. A simulated device
    has one set, with values in the rows of the check alone."""

    def __init__(self, device: runtime.Device, shape: Shape, rotate_bytes: int) -> None:
        self.shape = shape
        simulated = device.info.is_simulated
        size = shape.m * shape.n * shape.element_bytes
        scalar, column = 4 * shape.m, shape.n * shape.element_bytes
        super().__init__(device, shape.m,
                         {"dy": size, "x": size, "gamma": column, "mean": scalar, "rstd": scalar,
                          "dx": size, "dgamma": column, "dbeta": column},
                         1 if simulated else max(2, -(-rotate_bytes // (2 * size)) + 1))
        elements, least = ((_SIMULATED_CHECK_ELEMENTS, _SIMULATED_CHECK_ROWS) if simulated
                           else (_CHECK_ELEMENTS, _CHECK_ROWS))
        self.check_rows = min(shape.m, max(elements // shape.n, least) - 3)
        self.inputs = gradients.make_inputs(shape, self.check_rows)
        self.reference = gradients.reference(self.inputs, shape.dtype)
        for name, values in self.inputs.items():
            rows = shape.m if name != "gamma" else shape.n
            repeated = values if simulated else np.resize(values, (rows, *values.shape[1:]))
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


def measure(folder: pathlib.Path, device_name: str, budget: float, output: pathlib.Path,
            timing: str = "") -> tuple[dict[str, Any], list[str]]:
    """Measures a folder of candidates, writing ``output`` after each problem. On a simulated device
    their times are predicted, and the results say so: "simulated", with the timing model under
    "prediction", and "predicted_us" of each candidate in the place of "median_us".

    Args:
        folder: what ``lnbwd-tune compile`` wrote.
        device_name: "cuda", "hip:1", ...; "": of the chip that the candidates are for.
        budget: seconds for all; 0: no limit. When it is spent, the rest is left out.
        output: the file of results.
        timing: options of the timing model, for a simulated device.

    Returns:
        the results; and notes for the user.

    Raises:
        TuneError: the device is a simulated one of another chip, or ``timing`` cannot be had.
    """
    manifest = read_manifest(folder)
    chip = manifest["chip"]
    if device_name.startswith(SIMULATED) and device_name != SIMULATED + chip:
        raise TuneError(f"--device {device_name}: the candidates are for {chip}; compile others "
                        f"with --chip {device_name.removeprefix(SIMULATED)}, or take --device sim")
    if device_name.startswith("sim"):
        prediction.allow_large_buffers()
    device = runtime.Device.open(device_name or _DEVICES[_chips.vendor(chip)], chip)
    info = device.info
    document: dict[str, Any] = {
        "format": FORMAT, "version": VERSION, "chip": chip,
        "date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
        "device": info.name, "driver": info.driver, "simulated": device.is_stand_in,
        "problems": []}
    notes: list[str] = []
    start = time.monotonic()
    timer: Timer
    if info.is_simulated:
        timer = PredictingTimer(device, timing)
        document["prediction"] = timer.about
    elif timing:
        raise TuneError(f"--time-options: {info.name} is measured; they are for a simulated device")
    else:
        timer = MeasuringTimer(device)
    # HIP with the simulator behind it is there to try the program out.
    is_tried_out = device.is_stand_in and not info.is_simulated
    rotate = 1 << 12 if is_tried_out else 5 * max(device.cache_bytes, 1 << 25)
    progress = Progress(sum(len(problem["candidates"]) for problem in manifest["problems"]),
                        "kernel")
    with zipfile.ZipFile(folder / ARCHIVE) as archive, contextlib.closing(timer), \
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
                    _measure_problem(problem, entry, archive, timer, deadline, progress))
            finally:
                problem.close()
            document["seconds"] = round(time.monotonic() - start, 1)
            write(document, output)
    return document, notes


class Timer(Protocol):
    """How long candidates take."""

    def time(self, problem: Problem, kernels: dict[int, runtime.Kernel], model: int,
             deadline: float, progress: Progress) -> dict[int, dict[str, Any]]:
        """What the results say of each candidate's time, by its place among the problem's.

        Args:
            problem: the buffers.
            kernels: the candidates whose numbers are right, by their places.
            model: the place of the cost model's own choice.
            deadline: of ``time.monotonic()``, when to come to an end.
            progress: the bar.
        """

    def close(self) -> None:
        """Gives memory back."""


class MeasuringTimer:
    """Times launches on a device."""

    def __init__(self, device: runtime.Device) -> None:
        self._filler = device.allocate(1 << 10 if device.is_stand_in else _FILLER_BYTES)

    def time(self, problem: Problem, kernels: dict[int, runtime.Kernel], model: int,
             deadline: float, progress: Progress) -> dict[int, dict[str, Any]]:
        """See :class:`Timer`."""
        progress.say(f"{problem.shape} timing")
        contest = Contest(problem, self._filler)
        contest.run(kernels, model, deadline)
        return {index: {"median_us": statistics.median(times), "min_us": min(times),
                        "batches": len(times)} for index, times in contest.times.items()}

    def close(self) -> None:
        """See :class:`Timer`."""
        self._filler.close()


class PredictingTimer:
    """Predicts the times of launches on a simulated device; the model's choice comes first, in case
    that time runs out."""

    def __init__(self, device: runtime.Device, options: str) -> None:
        self._predictor = prediction.Predictor(device, options)
        self.about = self._predictor.about

    def time(self, problem: Problem, kernels: dict[int, runtime.Kernel], model: int,
             deadline: float, progress: Progress) -> dict[int, dict[str, Any]]:
        """See :class:`Timer`."""
        times: dict[int, dict[str, Any]] = {}
        for index in sorted(kernels, key=lambda index: (index != model, index)):
            if times and time.monotonic() > deadline:
                break
            progress.say(f"{problem.shape} predicting {len(times) + 1} of {len(kernels)}")
            times[index] = self._predictor.predict(
                functools.partial(problem.launch_next, kernels[index]))
        return times

    def close(self) -> None:
        """See :class:`Timer`."""


def _measure_problem(problem: Problem, entry: dict[str, Any], archive: zipfile.ZipFile,
                     timer: Timer, deadline: float, progress: Progress) -> dict[str, Any]:
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
    if model in kernels:
        for index, times in timer.time(problem, kernels, model, deadline, progress).items():
            candidates[index].update(times)
    for kernel in kernels.values():
        kernel.close()
    return {**entry, "candidates": candidates}


def write(document: dict[str, Any], path: pathlib.Path) -> None:
    """Writes a file of results whole or not at all."""
    write_whole(path, json.dumps(document, indent=1) + "\n")


def read(path: pathlib.Path) -> dict[str, Any]:
    """A file of results.

    Raises:
        TuneError: it is none, or of another version.
    """
    try:
        return read_document(path, FORMAT, VERSION)
    except (OSError, ValueError) as error:
        raise TuneError(str(error)) from error
