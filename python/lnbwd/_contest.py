# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which of several kernels for the same arguments is fastest.

Time is taken of batches of launches between two events, on buffers that rotate so that none finds
its inputs in a cache. Before each batch the device fills memory for a while, so that the host is
ahead of it. All kernels take turns. After each round the slower half is out, until few are left,
which are measured often (successive halving); one that the others are held against stays to the
end.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping

from . import runtime

__all__ = ["Contest", "Rotation"]

_BATCH_US, _MOST_LAUNCHES = 150.0, 24
_FIRST_BATCHES, _LAST_BATCHES, _FINALISTS = 4, 40, 5
_LEAST_BYTES = 16


class Rotation:
    """Buffers for the arguments of kernels, in sets that launches rotate among.

    Attributes:
        device: where they are.
        rows: M of a launch.
        sets: buffers by the names of the arguments.
    """

    def __init__(self, device: runtime.Device, rows: int, sizes: Mapping[str, int],
                 count: int) -> None:
        self.device, self.rows = device, rows
        self.sets: list[dict[str, runtime.Buffer]] = []
        self._workspaces: list[runtime.Buffer] = []
        self._next = 0
        try:
            for _ in range(count):
                buffers: dict[str, runtime.Buffer] = {}
                self.sets.append(buffers)
                for name, size in sizes.items():
                    buffers[name] = device.allocate(max(size, _LEAST_BYTES))
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Gives the memory back."""
        for buffer in [*self._workspaces, *(buffer for buffers in self.sets
                                            for buffer in buffers.values())]:
            buffer.close()

    def workspace(self, index: int, size: int) -> runtime.Buffer:
        """The workspace of a set, which grows as kernels need."""
        size = max(size, _LEAST_BYTES)
        if not self._workspaces or self._workspaces[0].size < size:
            self.device.synchronize()
            for buffer in self._workspaces:
                buffer.close()
            self._workspaces = [self.device.allocate(size) for _ in self.sets]
        return self._workspaces[index]

    def launch_next(self, kernel: runtime.Kernel) -> None:
        """Enqueues a kernel on the set that was not used for longest."""
        self._next = (self._next + 1) % len(self.sets)
        buffers = self.sets[self._next]
        size = kernel.workspace_size(self.rows)
        kernel.launch([buffers[argument.name].pointer for argument in kernel.program.arguments],
                      self.rows, self.workspace(self._next, size).pointer, size)


class Contest:
    """Times kernels interleaved and drops the slow ones.

    Attributes:
        times: by the place of a kernel, microseconds of a launch; of those in the last round, of
            that alone.
    """

    def __init__(self, rotation: Rotation, filler: runtime.Buffer) -> None:
        self.rotation, self.filler = rotation, filler
        self.device = rotation.device
        self.times: dict[int, list[float]] = {}

    def _batch(self, kernel: runtime.Kernel,
               launches: int) -> tuple[runtime.Event, runtime.Event]:
        start, stop = self.device.create_event(), self.device.create_event()
        self.filler.fill(0)
        start.record()
        for _ in range(launches):
            self.rotation.launch_next(kernel)
        stop.record()
        return start, stop

    def _round(self, kernels: dict[int, runtime.Kernel], launches: int, batches: int) -> None:
        pending: list[tuple[int, runtime.Event, runtime.Event]] = []
        for _ in range(batches):
            for index, kernel in kernels.items():
                pending.append((index, *self._batch(kernel, launches)))
            if len(pending) > 200:
                self._collect(pending, launches)
        self._collect(pending, launches)

    def _collect(self, pending: list[tuple[int, runtime.Event, runtime.Event]],
                 launches: int) -> None:
        for index, start, stop in pending:
            self.times.setdefault(index, []).append(start.elapsed_ms(stop) * 1e3 / launches)
            start.close()
            stop.close()
        pending.clear()

    def run(self, kernels: dict[int, runtime.Kernel], keep: int) -> None:
        """Times ``kernels`` (by their place) into ``times``; ``keep`` is never dropped."""
        for kernel in kernels.values():  # Warm up: modules are loaded at the first launch.
            self.rotation.launch_next(kernel)
        self.device.synchronize()
        self._round({keep: kernels[keep]}, 3, 3)
        estimate = max(statistics.median(self.times.pop(keep)), 1.0)
        launches = int(min(_MOST_LAUNCHES, max(1, -(-_BATCH_US // estimate))))
        alive = dict(kernels)
        batches = _FIRST_BATCHES
        while len(alive) > _FINALISTS:
            self._round(alive, launches, batches)
            # Of those that are as fast the first.
            ranked = sorted(alive, key=lambda index: (statistics.median(self.times[index]), index))
            left = max(_FINALISTS, len(alive) // 2)
            alive = {index: kernels[index] for index in sorted({*ranked[:left], keep})}
            batches *= 2
            if len(alive) <= _FINALISTS + 1:
                break
        for index in alive:
            self.times[index] = []
        self._round(alive, launches, _LAST_BATCHES)
