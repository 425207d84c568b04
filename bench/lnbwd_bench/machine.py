# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The machine that the benchmark runs on: an NVIDIA GPU, or a stand-in for dry runs.

The stand-in keeps tensors on the host, executes our kernel on the simulator and takes times with
the host's clock. It exists to try the whole program where there is no GPU; its times mean nothing.
"""

from __future__ import annotations

import time
from typing import Any

import torch

from lnbwd import _chips, runtime


class CudaMachine:
    """The current CUDA device."""

    is_simulated = False
    kernel_chip = _chips.GPU

    def __init__(self) -> None:
        self.device = torch.device("cuda", torch.cuda.current_device())
        properties = torch.cuda.get_device_properties(self.device)
        self.name = properties.name
        self.compute_units = properties.multi_processor_count
        self.ours = runtime.Device.open(f"cuda:{self.device.index}")
        self.l2_bytes = int(getattr(properties, "L2_cache_size", 0)) or self.ours.info.l2_bytes
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

    def stream(self) -> int:
        """torch's current stream, as the runtime takes it."""
        return int(torch.cuda.current_stream().cuda_stream)

    def synchronize(self) -> None:
        """Waits for the device."""
        torch.cuda.synchronize()

    def release_memory(self) -> None:
        """Gives cached memory back, between shapes."""
        torch.cuda.empty_cache()

    def describe(self) -> dict[str, Any]:
        """What the result file says about the machine."""
        import triton  # Comes with torch's CUDA builds.

        return {"name": self.name, "compute_units": self.compute_units, "l2_bytes": self.l2_bytes,
                "driver": self.ours.info.driver, "torch": torch.__version__,
                "triton": triton.__version__, "simulated": False}


class _HostEvent:
    def __init__(self) -> None:
        self._time = 0.0

    def record(self) -> None:
        self._time = time.perf_counter()

    def query(self) -> bool:
        return False

    def elapsed_time(self, stop: _HostEvent) -> float:
        return max((stop._time - self._time) * 1e3, 1e-6)


class DryMachine:
    """The stand-in: the host, and the simulator of a chip for our kernel."""

    is_simulated = True

    def __init__(self, chip: str = _chips.SIMULATED) -> None:
        self.device = torch.device("cpu")
        self.kernel_chip = chip
        self.name = f"dry run: host and simulated {chip}"
        self.compute_units = 1
        self.l2_bytes = 1 << 14
        self.ours = runtime.Device.open(f"sim:{chip}")

    def calibrate(self) -> None:
        """Nothing to do."""

    def event(self) -> Any:
        """An event that takes the host's time."""
        return _HostEvent()

    def spin(self, microseconds: float) -> None:
        """The host does not run ahead of itself."""

    def stream(self) -> int:
        """The default stream."""
        return 0

    def synchronize(self) -> None:
        """Nothing is under way on the host."""

    def release_memory(self) -> None:
        """Nothing is cached."""

    def describe(self) -> dict[str, Any]:
        """What the result file says about the machine."""
        return {"name": self.name, "compute_units": 1, "l2_bytes": self.l2_bytes,
                "driver": self.ours.info.driver, "torch": torch.__version__, "simulated": True}
