# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The runtime half: loads compiled kernels and launches them.

A thin binding of ``include/lnbwd/Runtime/lnbwd_runtime.h`` by ctypes. It needs no LLVM, no torch
and no compiler, and works under any Python from 3.10 on::

    from lnbwd import runtime

    program = runtime.Program.from_file("layer_norm_bwd.hsaco")
    device = runtime.Device.open("sim", program.chip)
    kernel = runtime.Kernel(device, program)
    kernel.launch([dy, x, gamma, mean, rstd, dx, dgamma, dbeta], rows, workspace, size, stream)

All pointers are device addresses as plain integers, for example a tensor's ``data_ptr()``.
This folder may import :mod:`lnbwd.core.base` alone; users know it as ``lnbwd.runtime``.
"""

from ..base.errors import RuntimeStatusError
from .bindings import library_version
from .objects import (
    ELEMENTS,
    KINDS,
    Argument,
    Buffer,
    Device,
    DeviceInfo,
    Event,
    Kernel,
    Program,
    SimulatorCounters,
    launch_on_host_memory,
)

__all__ = ["ELEMENTS", "KINDS", "Argument", "Buffer", "Device", "DeviceInfo", "Event", "Kernel",
           "Program", "RuntimeStatusError", "SimulatorCounters", "launch_on_host_memory",
           "library_version"]
