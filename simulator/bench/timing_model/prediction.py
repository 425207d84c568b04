# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From durations of kernels to what a benchmark would have measured: events, launches, copies."""

from __future__ import annotations

import csv
import dataclasses
import json
import pathlib
from collections.abc import Callable, Iterable

from timing_model.launches import CLOCKS, Buffer, Launch, Number, Run

COLUMNS = ("device", "benchmark", "value", "predicted_ms")

#: A loop of more passes than this is predicted from this many and from half of it.
LONG_LOOP = 4096


@dataclasses.dataclass(frozen=True)
class HostCosts:
    """What a measurement holds beside the durations of kernels, in microseconds.

    The first three are parameters of the clock and belong to the chip's description; the others
    belong to the host of these measurements and to nothing that the clock predicts.
    """

    floor: float  #: what two events around a launch read at least
    base: float  #: what they read beyond the kernels between them
    gap: float  #: from a kernel's end to the next one's start
    launch_and_wait: float  #: host time of a launch and a synchronisation beyond the kernel
    upload: float  #: a copy from pageable host memory, beyond its bytes
    upload_gigabytes: float  #: 10^9 bytes a second of such a copy
    allocation: float  #: device memory allocated and freed between two launches
    clear: float  #: a small buffer set to zero by the runtime


#: Derived from given rows. MI300X: empty_kernel at one workgroup; shoc_reduction's step at 393,216
#: elements. MI300A: memcopy_h2d from 2 MB to 512 MB, less what events read; atax without bicg at
#: the smallest size. What the other device's rows do not contain is taken from this one's.
HOST = {
    "MI300X": {"launch_and_wait": 7.7, "upload": 6.0, "upload_gigabytes": 57.9,
               "allocation": 26.5, "clear": 2.8},
    "MI300A": {"launch_and_wait": 7.7, "upload": 6.0, "upload_gigabytes": 57.9,
               "allocation": 26.5, "clear": 2.8},
}


def clock_parameters(device: str) -> dict[str, float]:
    """The parameters of the timing model for a device, by name."""
    clocks = json.loads(CLOCKS.read_text())["sets"]
    row = clocks[device]
    while "like" in row:
        row = {**clocks[row["like"]], **{key: row[key] for key in row if key != "like"}}
    return {key: value for key, value in row.items()
            if isinstance(value, (int, float)) and not isinstance(value, bool)}


def host_costs(device: str) -> HostCosts:
    """The costs on a device, with the clock's own parameters for events and launches."""
    row = clock_parameters(device)
    return HostCosts(floor=row["floorMicroseconds"], base=row["baseMicroseconds"],
                     gap=row["gapMicroseconds"], **HOST[device])


def compose(run: Run, duration: Callable[[Launch], float], host: HostCosts) -> float:
    """Microseconds that the run measures, from the durations of its launches."""
    total = sum(host.upload + size / (1e3 * host.upload_gigabytes) for size in run.uploads)
    total += run.allocations * host.allocation + run.clears * host.clear
    for pair in run.pairs:
        durations = [duration(launch) for launch in pair for _ in range(launch.repeat)]
        if run.host:
            total += host.launch_and_wait + durations[0]
        else:
            total += max(host.floor, host.base + durations[0])
        total += sum(host.gap + later for later in durations[1:])
    return total


def with_number(launch: Launch, name: str, value: int) -> Launch:
    """The launch with another value of one of its numbers."""
    return dataclasses.replace(launch, arguments=tuple(
        dataclasses.replace(argument, value=value)
        if isinstance(argument, Number) and argument.name == name else argument
        for argument in launch.arguments))


def identity(launch: Launch) -> tuple[object, ...]:
    """What the duration of a launch depends on."""
    return (launch.source, launch.kernel, launch.grid, launch.block, tuple(
        (argument.type, argument.count, argument.contents is not None)
        if isinstance(argument, Buffer) else (argument.type, argument.value)
        for argument in launch.arguments
        if isinstance(argument, Buffer) or argument.name not in launch.alike))


class Durations:
    """Durations of launches in microseconds, each asked of ``time`` once.

    A long loop is asked for at two short lengths, and continued along the line through them.
    """

    def __init__(self, time: Callable[[Launch], float]):
        self._time = time
        self._known: dict[tuple[object, ...], float] = {}

    def __call__(self, launch: Launch) -> float:
        """Its microseconds; each launch is asked for once."""
        key = identity(launch)
        if key not in self._known:
            self._known[key] = self._ask(launch)
        return self._known[key]

    def _ask(self, launch: Launch) -> float:
        passes = next((int(argument.value) for argument in launch.arguments
                       if isinstance(argument, Number) and argument.name == launch.loop), 0)
        if launch.loop is None or passes <= LONG_LOOP:
            return self._time(launch)
        half, whole = (self(with_number(launch, launch.loop, count))
                       for count in (LONG_LOOP // 2, LONG_LOOP))
        return whole + (whole - half) / (LONG_LOOP // 2) * (passes - LONG_LOOP)


@dataclasses.dataclass(frozen=True)
class Measurement:
    """A row of the measurements; no time where it was kept back."""

    device: str
    benchmark: str
    value: str
    measured_ms: float | None

    @property
    def key(self) -> tuple[str, str, str]:
        """What identifies the row: device, benchmark and value."""
        return (self.device, self.benchmark, self.value)


def read_measurements(folder: pathlib.Path) -> list[Measurement]:
    """The rows of mi300x.csv and mi300a.csv, in order; of rows with one key, the first.

    Raises:
        FileNotFoundError: the folder lacks one of the files.
        KeyError: a file lacks a column.
    """
    rows: dict[tuple[str, str, str], Measurement] = {}
    for device, columns in (("MI300X", ("benchmark", "value", "kernel_ms")),
                            ("MI300A", ("kernel_name", "problem_size", "min_ms"))):
        with open(folder / f"{device.lower()}.csv", newline="", encoding="utf-8") as file:
            for line in csv.DictReader(file):
                name, value, time = (line[column] for column in columns)
                row = Measurement(device, name, value,
                                  None if time == "withheld" else float(time))
                rows.setdefault(row.key, row)
    return list(rows.values())


def write_predictions(predictions: Iterable[tuple[str, str, str, float]]) -> str:
    """The text of a file of predictions: device, benchmark, value, milliseconds."""
    lines = [",".join(COLUMNS)]
    lines += [f"{device},{benchmark},{value},{milliseconds:.6g}"
              for device, benchmark, value, milliseconds in predictions]
    return "\n".join(lines) + "\n"


def read_predictions(path: pathlib.Path) -> dict[tuple[str, str, str], float]:
    """A file of predictions, by device, benchmark and value.

    Raises:
        ValueError: it has other columns.
    """
    with open(path, newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        if tuple(reader.fieldnames or ()) != COLUMNS:
            raise ValueError(f"{path}: expected the columns {','.join(COLUMNS)}, got "
                             f"{','.join(reader.fieldnames or ())}")
        return {(line["device"], line["benchmark"], line["value"]): float(line["predicted_ms"])
                for line in reader}
