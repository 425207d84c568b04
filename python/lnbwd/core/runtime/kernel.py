# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs on a device, and their launches."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence

from .bindings import Handle, check, fail, make, open_runtime
from .device import Device
from .program import Program


class Kernel(Handle):
    """A program on a device. With ``keeps_lock`` a launch keeps the interpreter's lock.

    Raises:
        RuntimeStatusError: the program is not for this device's chip, or the driver refuses it.
    """

    _destroy = "lnbwd_kernel_destroy"

    def __init__(self, device: Device, program: Program, keeps_lock: bool = False) -> None:
        super().__init__(None)
        self._handle = make(open_runtime().lnbwd_kernel_load, device._handle, program._handle)
        self.device = device
        self.program = program
        self._count = len(program.arguments)
        self._pack = struct.Struct(f"{self._count}P").pack  # A C array; faster than ctypes'.
        self._launch = open_runtime(keeps_lock).lnbwd_kernel_launch
        self.microseconds: float | None = None
        """The time of a launch as a search for its schedule measured it (:mod:`.tuning`)."""

    def workspace_size(self, rows: int, groups: int | None = None) -> int:
        """The bytes of workspace that a launch with M = ``rows`` in B = ``groups`` needs; may be
        0."""
        size = ctypes.c_size_t()
        check(open_runtime().lnbwd_kernel_workspace_size(
            self._handle, rows, groups or 0, ctypes.byref(size)))
        return size.value

    def launch(self, arguments: Sequence[int], rows: int, workspace: int = 0,
               workspace_bytes: int = 0, stream: int = 0, groups: int | None = None) -> None:
        """Enqueues all kernels of the plan on one stream and returns; allocates nothing.

        Args:
            arguments: device addresses in the order of ``program.arguments``, each a multiple
                of its ``alignment``; 0 only where the buffer is empty (M = 0).
            rows: M, 0 or more.
            workspace: the address of ``workspace_bytes`` bytes aligned to 256, of any content.
                Launches that may run at the same time need one each.
            workspace_bytes: at least ``workspace_size(rows)``.
            stream: a hipStream_t or CUstream as a number; 0 is the default stream.
            groups: B, of a program with groups of rows (``program.has_groups``): M is a multiple
                of it.

        Raises:
            RuntimeStatusError: an argument is wrong, or the driver refuses the launch.
        """
        if len(arguments) != self._count:
            raise ValueError(f"arguments: expected {self._count} addresses ("
                             + ", ".join(a.name for a in self.program.arguments)
                             + f"), got {len(arguments)}")
        status = self._launch(self._handle, self._pack(*arguments), self._count, rows,
                              groups or 0, workspace, workspace_bytes, stream)
        if status:
            fail(status)


def launch_on_host_memory(kernel: Kernel, rows: int, addresses: Sequence[int],
                          groups: int | None = None) -> None:
    """Runs a kernel on arguments in the host's memory, which are copied, and waits for it;
    otherwise as :meth:`Kernel.launch`."""
    device, program = kernel.device, kernel.program
    sizes = [program.argument_size(index, rows, groups) for index in range(len(addresses))]
    buffers = [device.allocate(size) for size in sizes]
    every = list(zip(program.arguments, addresses, sizes, buffers, strict=True))
    for argument, address, size, buffer in every:
        if argument.access != "write" and size:
            buffer.upload_from(address, size)
    size = kernel.workspace_size(rows, groups)
    workspace = device.allocate(size)
    kernel.launch([b.pointer for b in buffers], rows, workspace.pointer, size, groups=groups)
    device.synchronize()
    for argument, address, size, buffer in every:
        if argument.access != "read" and size:
            buffer.download_to(address, size)
