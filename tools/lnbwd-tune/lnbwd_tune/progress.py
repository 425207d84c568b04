# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How far a long run has come."""

from __future__ import annotations

import sys
import time
from typing import Any


class Progress:
    """A progress bar on the terminal's error stream: tqdm's where it is installed, else lines."""

    def __init__(self, total: int, unit: str = "shape") -> None:
        self._start = time.monotonic()
        self._total, self._done = total, 0
        self._said = ""
        self._bar: Any = None
        try:
            from tqdm import tqdm
        except ImportError:
            return
        self._bar = tqdm(total=total, file=sys.stderr, unit=unit, dynamic_ncols=True,
                         mininterval=1.0)

    def say(self, text: str) -> None:
        """What is being done now."""
        if self._bar is not None:
            self._bar.set_description(text)
            return
        if text == self._said:
            return
        self._said = text
        seconds = time.monotonic() - self._start
        filled = "#" * (20 * self._done // max(self._total, 1))
        print(f"[{filled:20}] {self._done}/{self._total} {seconds:5.0f} s  {text}",
              file=sys.stderr, flush=True)

    def step(self, count: int = 1) -> None:
        """So many more are done."""
        self._done += count
        if self._bar is not None:
            self._bar.update(count)

    def close(self) -> None:
        """Leaves the bar."""
        if self._bar is not None:
            self._bar.close()
