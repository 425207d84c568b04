# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""FlyDSL's launches on the simulator: its own compiler and runtime, which load HIP by its name."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

from .torch_device import Device
from .triton_driver import Report


def activate(device: Device, report: Report) -> None:
    """Describes the arguments of ``flyc.jit`` functions, and reports what their launches found."""
    function: Any = importlib.import_module("flydsl.compiler.jit_function").JitFunction
    call, library = function.__call__, device.library

    def launch(self: Any, *args: Any, **kwargs: Any) -> Any:
        device.kernel = self.func.__name__
        library.describe_lds(None)
        device.describe_launch(inspect.signature(self.func).bind(*args, **kwargs).arguments.items())
        result = call(self, *args, **kwargs)
        if found := library.errors():
            report(found, library.message(), ())
        return result

    function.__call__ = launch
