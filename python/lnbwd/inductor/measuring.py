# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Regions by measurement: a row program beside torch.compile's kernels for the same program.

With ``mode="max-autotune"`` an estimate does not decide which of the two is taken. Each program is
timed by itself, on random tensors, in a process of its own: a compilation within a compilation
would share the state of the one around it. Times are kept in the kernel cache.
"""

from __future__ import annotations

import json
import logging
import os
import pathlib
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from .. import compiler, launching, regions_op
from ..cache import KernelCache
from ..errors import LnbwdError
from ..kernels import kernel_cache
from ..row_evaluation import evaluate
from ..rowprogram import RowProgram
from ..spec import MeasurementSpec

log = logging.getLogger("lnbwd.regions")

_SECONDS = 600


@dataclass(frozen=True)
class Times:
    """Medians, in microseconds: of a row program's kernel, and of torch.compile's kernels."""

    ours: float
    theirs: float


Timer = Callable[[str, torch.device], Times]
"""Times the row program in a text on a device. Raises LnbwdError if it cannot."""


class Measurements:
    """The times of row programs, which are measured once.

    Args:
        timer: measures a program; None: a process for each on its device, if that is a GPU.
        cache: where times are kept; None: in the kernel cache.
    """

    def __init__(self, timer: Timer | None = None, cache: KernelCache | None = None) -> None:
        self._timer, self._cache = timer, cache
        self._known: dict[MeasurementSpec, Times] = {}

    def find(self, program: RowProgram, device: torch.device) -> Times | None:
        """The times of a program on a device; None where there are none to be had: the number of
        rows is not known, no timer is for the device, it draws random numbers, for which PyTorch
        has no operation, or the measurement failed, which is logged.
        """
        if program.rows is None or program.draws or (
                self._timer is None and device.type != "cuda"):
            return None
        text, target = program.text(), launching.open_device(device)
        spec = MeasurementSpec("times", text, target.chip, target.info.name, program.rows,
                               torch.__version__)
        cache, identity = self._cache or kernel_cache(), compiler.compiler_id()
        times = self._known.get(spec) or _read(cache.load(spec, identity))
        if times is None:
            try:
                times = (self._timer or time_in_process)(text, device)
            except LnbwdError as error:
                log.info("not measured: %s: %s", program.name(), error)
                return None
            if identity is not None:
                cache.store(spec, identity, json.dumps(asdict(times)).encode())
        self._known[spec] = times
        return times


def _read(data: bytes | None) -> Times | None:
    """Times from the cache; None if there are none that can be used."""
    try:
        return None if data is None else Times(**json.loads(data))
    except (ValueError, TypeError):
        return None


def time_in_process(text: str, device: torch.device) -> Times:
    """Runs :func:`measure` in a new process.

    Raises:
        LnbwdError: it failed; the message has the end of what it wrote.
    """
    package = str(pathlib.Path(__file__).resolve().parents[2])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(
        [package, *filter(None, [os.environ.get("PYTHONPATH")])])}
    chip = launching.simulated_chip()
    if chip is not None:
        environment["LNBWD_SIMULATE"] = chip
    try:
        done = subprocess.run(
            [sys.executable, "-c", "from lnbwd.inductor import measuring; measuring.main()",
             str(device)],
            input=text, text=True, capture_output=True, check=False, timeout=_SECONDS,
            env=environment)
        *_, last = done.stdout.strip().splitlines() or [""]
        if done.returncode != 0:
            raise LnbwdError(done.stderr.strip()[-500:])
        return Times(**json.loads(last))
    except (OSError, subprocess.SubprocessError, ValueError, TypeError) as error:
        raise LnbwdError(f"the process that measures it failed: {error}") from error


def measure(program: RowProgram, device: torch.device) -> Times:
    """Times a program on a device, both ways on the same random tensors: on a GPU in CUDA graphs,
    so that the host's time does not count."""
    assert program.rows is not None
    text = program.text()
    loaded = regions_op.register_row_program(program, is_tuned=True)
    generator = torch.Generator(device=device).manual_seed(0)
    inputs: list[Tensor] = []
    for operand in loaded.inputs:
        groups = program.groups or 1
        shape: tuple[int, ...] = {
            "row_block": (groups, program.rows // groups, program.length),
            "column": (program.length,), "group_column": (groups, program.length),
            "row_scalar": (program.rows,)}[operand.kind]
        value = torch.rand(shape, generator=generator, device=device)
        inputs.append((value + 0.5).to(operand.dtype) if operand.dtype != torch.bool
                      else value > 0.5)
    # As one graph, or not at all: operations one by one are not what a region is measured against.
    compiled = torch.compile(lambda tensors: evaluate(program, tensors), dynamic=False,
                             mode="max-autotune-no-cudagraphs", fullgraph=True)
    # Loads the kernel, or says why that cannot be.
    regions_op.load_kernel(loaded, device)
    return Times(_time(lambda: torch.ops.lnbwd._region(inputs, text), device),
                 _time(lambda: compiled(inputs), device))


def _time(call: Callable[[], Sequence[Tensor]], device: torch.device) -> float:
    """The median of a call's times, in microseconds, the device's cache being emptied between."""
    from torch._inductor.runtime.benchmarking import benchmarker

    call()
    if device.type != "cuda":
        return 1e3 * float(benchmarker.benchmark_cpu(call, warmup=1, rep=20))
    stream = torch.cuda.Stream(device)
    stream.wait_stream(torch.cuda.current_stream(device))
    with torch.cuda.stream(stream):
        for _ in range(3):
            call()
    torch.cuda.current_stream(device).wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kept: Any = call()
    milliseconds = float(benchmarker.benchmark_gpu(graph.replay))
    del kept
    return 1e3 * milliseconds


def main() -> None:
    """Measures the program whose text is on the standard input, on the device that the first
    argument names, and prints a line of JSON."""
    device = torch.device(sys.argv[1])
    if device.type == "cuda":
        torch.cuda.set_device(device)
    times = measure(RowProgram.from_text(sys.stdin.read()), device)
    print(json.dumps(asdict(times)))
