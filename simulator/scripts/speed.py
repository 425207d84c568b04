# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures the processor's seconds that tests of Triton kernels take under the pytest plugin.

  python simulator/scripts/speed.py --amdgpu gfx942 simulator/test/Inputs/triton_corpus/tiles.py

The arguments are pytest's. The tests run twice, and the second run is measured, in which Triton
compiles nothing. LNBWD_SIM_LIBRARY names the simulator's library, PYTHONPATH simulator/python.
"""

from __future__ import annotations

import ctypes
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator

import pytest


class Speed:
    """The time of each test that has passed, and what the simulator has executed."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.instructions = 0

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        """Takes the time of all threads, which other processes of a busy machine do not change."""
        begin = time.process_time()
        result = yield
        self.seconds[item.nodeid] = time.process_time() - begin
        return result

    def pytest_sessionfinish(self) -> None:
        """Reads lnbwd_sim_counters, whose first number are the instructions of waves."""
        from lnbwd_sim.library import library_path
        counters = (ctypes.c_uint64 * 16)()
        ctypes.CDLL(str(library_path())).lnbwdSimGetCounters(counters)
        self.instructions = counters[0]


def main(arguments: list[str]) -> int:
    """Runs pytest in a process of its own, then here."""
    options = ["-q", "-p", "lnbwd_sim.pytest_plugin", "-p", "no:cacheprovider", *arguments]
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TRITON_CACHE_DIR"] = str(pathlib.Path(folder) / "cache")
        if code := subprocess.run([sys.executable, "-m", "pytest", *options],
                                  check=False).returncode:
            return code
        speed = Speed()
        code = int(pytest.main(options, plugins=[speed]))
    if code or not speed.seconds:
        return code or 1
    worst = max(speed.seconds, key=lambda test: speed.seconds[test])
    total = sum(speed.seconds.values())
    print(f"{len(speed.seconds)} tests: median {statistics.median(speed.seconds.values()):.2f} s, "
          f"worst {speed.seconds[worst]:.1f} s ({worst}), {total:.0f} s in all; "
          f"{speed.instructions / 1e6:.0f} million instructions of waves, "
          f"{speed.instructions / total / 1e6:.2f} million a second")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
