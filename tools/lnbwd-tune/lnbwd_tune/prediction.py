# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How long a candidate is predicted to take on a card, by the simulator's timing model
(simulator/docs/timing-model.md). A prediction is no measurement: it has keys and words of its
own, so that neither is taken for the other.
"""

from __future__ import annotations

import ctypes
import json
import os
from collections.abc import Callable
from typing import Any

from lnbwd import runtime

from .lnbwd_opt import TuneError

# Memory that no workgroup touches costs the host nothing, and a prediction touches little of it.
_SIMULATED_MEMORY_MB = "1000000"


def allow_large_buffers() -> None:
    """Lets simulated devices have more memory than the host, if the environment does not say how
    much; to be called before one is opened."""
    os.environ.setdefault("LNBWD_SIM_MEMORY_MB", _SIMULATED_MEMORY_MB)


class Predictor:
    """The timing model of a simulated device.

    Args:
        device: a simulated one.
        options: those of ``lnbwd-run --time-options``: "product=MI300A;caches=warm;...".

    Raises:
        TuneError: the simulator's library has no such model, or the options are wrong.
    """

    def __init__(self, device: runtime.Device, options: str = "") -> None:
        self._device, self._options = device, options.encode()
        self._set = self._function("lnbwdSimSetTiming", ctypes.c_int, ctypes.c_char_p)
        self._json = self._function("lnbwdSimGetTimingJson", ctypes.c_char_p)
        self._message = self._function("lnbwdSimLastErrorMessage", ctypes.c_char_p)
        about = self._predicted(lambda: None)
        self.about: dict[str, Any] = {
            "model": about["model"], "calibrated": about["calibrated"],
            "held_out_error_percent": about.get("held_out_error_percent")}
        """The product that is predicted, whether its parameters were fitted to times, and the
        model's error on kernels that were held out (None: not known)."""

    def _function(self, name: str, result: Any, *arguments: Any) -> Callable[..., Any]:
        address = self._device.symbol(name)
        if not address:
            raise TuneError("the simulator's library has no timing model; it is of another "
                            "release than this program")
        return ctypes.CFUNCTYPE(result, *arguments)(address)

    def _predicted(self, launch: Callable[[], None]) -> dict[str, Any]:
        self._device.make_current()
        if self._set(self._options) != 0:
            raise TuneError(f"--time-options: {self._message().decode()}")
        try:
            launch()
            self._device.synchronize()
            return dict(json.loads(self._json()))
        finally:
            self._set(None)

    def predict(self, launch: Callable[[], None]) -> dict[str, Any]:
        """What a candidate's results say of a prediction: microseconds of a launch in a stream of
        the same, the share of the stream, and what its waves wait for."""
        found = self._predicted(launch)
        gigabytes = found["footprint_bytes"] / found["predicted_us"] * 1e-3
        return {"predicted_us": found["predicted_us"],
                "stream_percent": 100 * gigabytes / found["stream_gigabytes_per_second"],
                "wave_time": found["wave_time"]}


def error_text(about: dict[str, Any]) -> str:
    """Of which product, and how far the model is off, in the words of lnbwd-run."""
    error = about["held_out_error_percent"]
    return f"predicted on {about['model']} (" + (
        "uncalibrated" if not about["calibrated"]
        else "model error not known" if error is None
        else f"model error on held-out kernels: {error:.0f} %") + ")"
