# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which of several kernels for the same arguments is fastest.

Time is taken of batches of launches between two events, on buffers that rotate so that none finds
its inputs in a cache. Before each batch the device fills memory for a while, so that the host is
ahead of it. All kernels take turns, and are measured equally often.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from . import runtime

__all__ = ["Rotation", "time_launches"]

_BATCH_US, _MOST_LAUNCHES = 150.0, 24
# The host makes so many launches while the device fills memory once.
_LAUNCHES_AHEAD = 12
_LEAST_ROUNDS, _MOST_ROUNDS = 5, 24
_LEAST_BYTES = 16


class Rotation:
    """Buffers for the arguments and workspaces of kernels, in sets that launches rotate among. They
    are freed when it goes.

    Attributes:
        rows, groups: M and B of a launch.
        sets: buffers by the names of the arguments.
    """

    def __init__(self, kernels: Sequence[runtime.Kernel], rows: int, sizes: Mapping[str, int],
                 count: int, groups: int | None = None) -> None:
        device, self.rows, self.groups, self._next = kernels[0].device, rows, groups, 0
        most = max(kernel.workspace_size(rows, groups) for kernel in kernels)
        self.sets = [{name: device.allocate(max(size, _LEAST_BYTES))
                      for name, size in sizes.items()} for _ in range(count)]
        self._workspaces = [device.allocate(max(most, _LEAST_BYTES)) for _ in range(count)]

    def launch_next(self, kernel: runtime.Kernel) -> None:
        """Enqueues a kernel on the set that was not used for longest."""
        self._next = (self._next + 1) % len(self.sets)
        buffers = self.sets[self._next]
        kernel.launch([buffers[argument.name].pointer for argument in kernel.program.arguments],
                      self.rows, self._workspaces[self._next].pointer,
                      kernel.workspace_size(self.rows, self.groups), groups=self.groups)


def time_launches(kernels: Sequence[runtime.Kernel], rotation: Rotation,
                  filler: runtime.Buffer) -> list[float]:
    """The median microseconds of a launch of each kernel; ``filler`` is the memory that is filled
    before a batch."""
    device = kernels[0].device

    def batch(kernel: runtime.Kernel, launches: int) -> tuple[runtime.Event, runtime.Event]:
        start, stop = device.create_event(), device.create_event()
        for _ in range(1 + launches // _LAUNCHES_AHEAD):
            filler.fill(0)
        start.record()
        for _ in range(launches):
            rotation.launch_next(kernel)
        stop.record()
        return start, stop

    def medians(kernels: Sequence[runtime.Kernel], launches: int, rounds: int) -> list[float]:
        times: list[list[float]] = [[] for _ in kernels]
        for _ in range(rounds):
            for of_kernel, (start, stop) in zip(
                    times, [batch(kernel, launches) for kernel in kernels], strict=True):
                of_kernel.append(start.elapsed_ms(stop) * 1e3 / launches)
        return list(map(statistics.median, times))

    for kernel in kernels:  # Warm up: modules are loaded at the first launch.
        rotation.launch_next(kernel)
    device.synchronize()
    [estimate] = medians(kernels[:1], 3, 3)
    launches = int(min(_MOST_LAUNCHES, max(1, -(-_BATCH_US // max(estimate, 1.0)))))
    # Kernels that take longer than a batch should are measured less often.
    rounds = int(_MOST_ROUNDS * min(1.0, _BATCH_US / max(launches * estimate, 1.0)))
    return medians(kernels, launches, max(_LEAST_ROUNDS, rounds))
