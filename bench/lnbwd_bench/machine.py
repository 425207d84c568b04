# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The machine that the benchmark runs on: a GPU of PyTorch's, or a stand-in for dry runs.

The stand-in keeps tensors on the host, executes our kernel on the simulator and takes times with
the host's clock. It exists to try the whole program where there is no GPU; its times mean nothing.
"""

from __future__ import annotations

import functools
import importlib.util
import pathlib
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch

from lnbwd import runtime
from lnbwd.core.base import chip_table
from lnbwd.ops.launching import launch_kernel

from . import our_kernels
from .stream import Traffic
from .timing import Candidate

DTYPES = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}
# Of each buffer of the foreign kernel.
_FOREIGN_BYTES = 1 << 24


class Replay:
    """Stands in for a graph of calls, on the host."""

    def __init__(self, enqueue: Callable[[int], Any], calls: int) -> None:
        self._enqueue, self._calls = enqueue, calls

    def replay(self) -> None:
        """Makes the calls."""
        for call in range(self._calls):
            self._enqueue(call)


def current_gpu() -> str:
    """PyTorch's current GPU, as the runtime takes it: "cuda:0", or "hip:0" of PyTorch for ROCm."""
    return f"{'hip' if torch.version.hip else 'cuda'}:{torch.cuda.current_device()}"


def described_gpu() -> dict[str, str]:
    """A result file's line on the GPU, of programs that have PyTorch's times alone."""
    return {"name": torch.cuda.get_device_name(), "torch": torch.__version__}


class _Machine:
    """What holds of all machines."""

    device: torch.device
    ours: runtime.Device
    is_simulated: bool  # Times mean nothing, and little is measured.
    name: str
    compute_units: int
    l2_bytes: int

    def describe(self) -> dict[str, Any]:
        """What the result file says about the machine."""
        described = {"name": self.name, "compute_units": self.compute_units,
                     "l2_bytes": self.l2_bytes, "driver": self.ours.info.driver,
                     "torch": torch.__version__, "simulated": self.is_simulated}
        if importlib.util.find_spec("triton"):  # Comes with PyTorch's builds for GPUs.
            import triton

            described["triton"] = triton.__version__
        return described

    def foreign_kernel(self) -> Callable[[], Any]:
        """A call of a kernel that is nobody's competitor: PyTorch adds one to many numbers, in
        buffers of its own, for some ten microseconds."""
        source = torch.zeros(64 if self.is_simulated else _FOREIGN_BYTES // 4, device=self.device)
        result = torch.empty_like(source)
        return lambda: torch.add(source, 1.0, out=result)


class GpuMachine(_Machine):
    """PyTorch's current GPU, of NVIDIA or of AMD."""

    is_simulated = False

    def __init__(self) -> None:
        if not torch.cuda.is_available():
            raise RuntimeError(f"expected a PyTorch with a GPU, got {torch.__version__} without; "
                               "--dry-run needs none")
        self.device = torch.device("cuda", torch.cuda.current_device())
        properties = torch.cuda.get_device_properties(self.device)
        self.name = properties.name
        self.compute_units = properties.multi_processor_count
        self.ours = runtime.Device.open(current_gpu())
        self.l2_bytes = max(int(getattr(properties, "L2_cache_size", 0)), self.ours.cache_bytes)
        self._cycles_per_us = 2000.0

    def calibrate(self) -> None:
        """Brings the clocks up and finds out how many cycles a microsecond has."""
        for _ in range(3):
            start, stop = self.event(), self.event()
            start.record()
            torch.cuda._sleep(100_000_000)
            stop.record()
            stop.synchronize()
            self._cycles_per_us = 100_000_000 / (start.elapsed_time(stop) * 1e3)

    def event(self) -> Any:
        """An event that takes the device's time."""
        return torch.cuda.Event(enable_timing=True)

    def spin(self, microseconds: float) -> None:
        """Enqueues a kernel that keeps the device busy, and does nothing, for so long."""
        torch.cuda._sleep(int(microseconds * self._cycles_per_us))

    def capture(self, enqueue: Callable[[int], Any], calls: int) -> Any:
        """A graph of ``enqueue(0)``, ``enqueue(1)``, ...; a RuntimeError if it cannot be had."""
        graph = torch.cuda.CUDAGraph()
        kept = []
        with torch.cuda.graph(graph):
            for call in range(calls):
                kept.append(enqueue(call))
        return graph

    def synchronize(self) -> None:
        """Waits for the device."""
        torch.cuda.synchronize()


class _HostEvent:
    def __init__(self) -> None:
        self._time = 0.0

    def record(self) -> None:
        self._time = time.perf_counter()

    def query(self) -> bool:
        return False

    def elapsed_time(self, stop: _HostEvent) -> float:
        return max((stop._time - self._time) * 1e3, 1e-6)


class DryMachine(_Machine):
    """The stand-in: the host, and the simulator of a chip for our kernels."""

    is_simulated = True
    compute_units = 1
    l2_bytes = 1 << 14  # Few sets of buffers: times mean nothing.

    def __init__(self, chip: str = chip_table.SIMULATED) -> None:
        self.device = torch.device("cpu")
        self.ours = runtime.Device.open(f"sim:{chip}")
        self.name = f"dry run: host and simulated {chip}"

    def calibrate(self) -> None:
        """Nothing to do."""

    def event(self) -> Any:
        """An event that takes the host's time."""
        return _HostEvent()

    def spin(self, microseconds: float) -> None:
        """The host does not run ahead of itself."""

    def capture(self, enqueue: Callable[[int], Any], calls: int) -> Replay:
        """The calls, to be made again."""
        return Replay(enqueue, calls)

    def synchronize(self) -> None:
        """Nothing is under way on the host."""


@functools.cache
def _stream_kernels(machine: Any, traffic: Traffic,
                    folder: pathlib.Path | None) -> dict[str, runtime.Kernel]:
    return {name: runtime.Kernel(machine.ours, program) for name, program in (
        our_kernels.stream_programs(machine.ours.chip, folder, machine.is_simulated,
                                    traffic).items())}


def streams(machine: Any, traffic: Traffic, sets: Sequence[Sequence[torch.Tensor]],
            folder: pathlib.Path | None = None) -> list[Candidate]:
    """The stream in several launch shapes or schedules, to be timed on sets of tensors of one size,
    the ones that are read first. Less than a row of the kernel's at their end is left out, and
    kernels whose rows are longer. ``folder`` has operations.py's kernels, with AMD's streams."""
    def candidate(name: str, kernel: runtime.Kernel, rows: int) -> Candidate:
        return Candidate(name, lambda slot: launch_kernel(kernel, rows, sets[slot]))

    size = sets[0][0].nbytes
    return [candidate(name, kernel, rows)
            for name, kernel in _stream_kernels(machine, traffic, folder).items()
            if (rows := size // kernel.program.argument_size(0, 1))]
