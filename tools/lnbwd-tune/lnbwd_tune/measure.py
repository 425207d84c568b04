# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the candidates on a device: first whether they are right, then which is fastest.

lnbwd-run says whether they are right. The rest goes through the runtime's own interface, so that
the device's machine needs Python, these two and no compiler.

How they are timed, :mod:`lnbwd._contest` says; the model's own choice stays to the end. On a
simulated device nothing is timed: how long they take on a card is predicted.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import datetime
import functools
import json
import os
import pathlib
import random
import statistics
import subprocess
import tempfile
import time
import zipfile
from collections.abc import Callable
from typing import Any

from lnbwd import _chips, runtime
from lnbwd._contest import Contest, Rotation
from lnbwd._files import read_document, write_whole
from lnbwd._library import library_folders
from lnbwd_bench.shapes import Shape

from . import prediction
from .candidates import ARCHIVE, read_manifest
from .lnbwd_opt import TuneError
from .progress import Progress

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


def _rotation(device: runtime.Device, shape: Shape, rotate_bytes: int) -> Rotation:
    """Buffers of one problem on the device, in sets that launches rotate among. A simulated device
    has one set, of no values: what it predicts does not depend on them."""
    size = shape.m * shape.n * shape.element_bytes
    scalar, column = 4 * shape.m, shape.n * shape.element_bytes
    simulated = device.info.is_simulated
    rotation = Rotation(device, shape.m,
                        {"dy": size, "x": size, "gamma": column, "mean": scalar, "rstd": scalar,
                         "dx": size, "dgamma": column, "dbeta": column},
                        1 if simulated else max(2, -(-rotate_bytes // (2 * size)) + 1))
    for buffers in rotation.sets if not simulated else []:
        for name, width in (("dy", shape.element_bytes), ("x", shape.element_bytes),
                            ("gamma", shape.element_bytes), ("mean", 4), ("rstd", 4)):
            # Random numbers of every type: all bytes but the one with the exponent.
            block = bytearray(random.Random(1).randbytes(1 << 16))
            block[width - 1::width] = b"\x3f" * (len(block) // width)
            count = buffers[name].size
            buffers[name].upload((block * (count // len(block) + 1))[:count])
    return rotation


def _find_checker() -> pathlib.Path:
    """lnbwd-run, which lies beside the libraries' folder.

    Raises:
        TuneError: it is not there.
    """
    places = [folder.parent / "bin" / "lnbwd-run" for folder in library_folders()]
    for path in places:
        if path.exists():
            return path
    raise TuneError("lnbwd-run, which checks the candidates, was not found: expected "
                    f"{' or '.join(map(str, places))}; build it")


def _complaint(checker: pathlib.Path, code: pathlib.Path, rows: int, device: str) -> str:
    """What is wrong with a candidate's numbers; "" if nothing is."""
    result = subprocess.run([checker, code, f"--m={rows}", "--verify", "--json",
                             f"--device={device}"], capture_output=True, text=True, check=False)
    if result.returncode == 0:
        return ""
    if not result.stdout:
        return result.stderr.strip() or f"lnbwd-run ended with {result.returncode}"
    report = json.loads(result.stdout)
    return "; ".join(report["complaints"] + [
        f"{one['name']}: error {one['max_abs_error']}, allowed {one['allowed_abs_error']}, "
        f"{one['unwritten']} elements were not written"
        for one in report["outputs"] if not one["valid"]])


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
    device_name = device_name or _DEVICES[_chips.vendor(chip)]
    device = runtime.Device.open(device_name, chip)
    info = device.info
    document: dict[str, Any] = {
        "format": FORMAT, "version": VERSION, "chip": chip,
        "date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
        "device": info.name, "driver": info.driver, "simulated": device.is_stand_in,
        "problems": []}
    notes: list[str] = []
    start = time.monotonic()
    filler = device.allocate(1 << 10 if device.is_stand_in else _FILLER_BYTES)
    timer: Timer = functools.partial(_time, filler)
    if info.is_simulated:
        predictor = prediction.Predictor(device, timing)
        document["prediction"] = predictor.about
        timer = functools.partial(_predict, predictor)
    elif timing:
        raise TuneError(f"--time-options: {info.name} is measured; they are for a simulated device")
    checker = _find_checker()
    check_elements, check_rows = ((_SIMULATED_CHECK_ELEMENTS, _SIMULATED_CHECK_ROWS)
                                  if info.is_simulated else (_CHECK_ELEMENTS, _CHECK_ROWS))
    # HIP with the simulator behind it is there to try the program out.
    is_tried_out = device.is_stand_in and not info.is_simulated
    rotate = 1 << 12 if is_tried_out else 5 * max(device.cache_bytes, 1 << 25)
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
            rows = min(shape.m, max(check_elements // shape.n, check_rows) - 3)
            check = functools.partial(_complaint, checker, rows=rows, device=device_name)
            progress.say(f"{shape} inputs")
            with contextlib.closing(_rotation(device, shape, rotate)) as rotation:
                document["problems"].append(
                    _measure_problem(rotation, entry, archive, check, timer, deadline, progress))
            document["seconds"] = round(time.monotonic() - start, 1)
            write(document, output)
    return document, notes


# What the results say of the time of each candidate whose numbers are right, by its place among the
# problem's. Takes the buffers, these candidates, the place of the model's own choice, when of
# ``time.monotonic()`` to come to an end, and what to tell of it.
Timer = Callable[[Rotation, dict[int, runtime.Kernel], int, float, Callable[[str], None]],
                 dict[int, dict[str, Any]]]


def _time(filler: runtime.Buffer, rotation: Rotation, kernels: dict[int, runtime.Kernel],
          model: int, deadline: float, say: Callable[[str], None]) -> dict[int, dict[str, Any]]:
    """A :data:`Timer` of launches on a device."""
    say("timing")
    contest = Contest(rotation, filler)
    contest.run(kernels, model, deadline)
    return {index: {"median_us": statistics.median(times), "min_us": min(times),
                    "batches": len(times)} for index, times in contest.times.items()}


def _predict(predictor: prediction.Predictor, rotation: Rotation,
             kernels: dict[int, runtime.Kernel], model: int, deadline: float,
             say: Callable[[str], None]) -> dict[int, dict[str, Any]]:
    """A :data:`Timer` of launches on a simulated device; the model's choice comes first, in case
    that time runs out."""
    times: dict[int, dict[str, Any]] = {}
    for index in sorted(kernels, key=lambda index: (index != model, index)):
        if times and time.monotonic() > deadline:
            break
        say(f"predicting {len(times) + 1} of {len(kernels)}")
        times[index] = predictor.predict(functools.partial(rotation.launch_next, kernels[index]))
    return times


def _measure_problem(rotation: Rotation, entry: dict[str, Any], archive: zipfile.ZipFile,
                     check: Callable[[pathlib.Path], str], timer: Timer, deadline: float,
                     progress: Progress) -> dict[str, Any]:
    """The results of one problem."""
    candidates = [dict(candidate) for candidate in entry["candidates"]]
    shape = Shape(entry["m"], entry["n"], entry["dtype"])
    kernels: dict[int, runtime.Kernel] = {}
    model = next(index for index, candidate in enumerate(candidates) if candidate["is_model"])
    progress.say(f"{shape} checking")
    with tempfile.TemporaryDirectory(prefix="lnbwd-tune-") as scratch, \
            concurrent.futures.ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
        files = [pathlib.Path(archive.extract(candidate.pop("file"), scratch))
                 for candidate in candidates]
        for index, complaint in enumerate(pool.map(check, files)):
            candidates[index]["complaint"] = complaint
            if not complaint:
                kernels[index] = runtime.Kernel(rotation.device,
                                                runtime.Program.from_file(files[index]))
            progress.step()
    if model in kernels:
        for index, times in timer(rotation, kernels, model, deadline,
                                  lambda text: progress.say(f"{shape} {text}")).items():
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
