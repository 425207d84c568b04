# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the timing model predicts for fourteen benchmarks does not change unnoticed.

The figures are predictions, in microseconds. A new fit, or a change to the model or the compiler
that is meant to change them, changes them here, too.
"""

from __future__ import annotations

import importlib.util
import pathlib
import sys

import pytest

pytest.importorskip("numpy")

from timing_model import benchmarks, prediction

#: Clang's next version may order instructions otherwise.
TOLERANCE = 0.1

PREDICTED = [
    ("MI300X", "shoc_triad", "33554432", 98.92),
    ("MI300X", "mixbench", "128", 95.08),
    ("MI300X", "memory_bandwidth", "32", 16.76),
    ("MI300X", "cache_latency", "1048576", 11737),
    ("MI300X", "int32_throughput", "4096", 35.88),
    ("MI300X", "shoc_reduction", "1048576", 38.39),
    ("MI300X", "polybench_2dconv", "4096", 82.77),
    ("MI300X", "shoc_gemm", "256", 13.9),
    ("MI300X", "empty_kernel", "100000", 55.23),
    ("MI300X", "fp64_throughput", "4096", 30.05),
    ("MI300X", "shared_mem_latency", "512", 1238),
    ("MI300X", "warp_shuffle", "1024", 133.8),
    ("MI300X", "parboil_histogram", "65536", 25.66),
    ("MI300A", "relu", "16777216", 39.03),
]


@pytest.mark.parametrize("device,benchmark,value,microseconds", PREDICTED)
def test_prediction_is_pinned(simulator, device, benchmark, value, microseconds):
    durations = prediction.Durations(
        lambda launch: simulator.time(launch, f"product={device};caches=warm"))
    run = benchmarks.find(device, benchmark).run(value)
    found = prediction.compose(run, durations, prediction.host_costs(device))
    assert found == pytest.approx(microseconds, rel=TOLERANCE)


def test_the_values_to_write_keep_the_form():
    """fit-clock.py replaces numbers of one device's set and nothing else."""
    path = pathlib.Path(__file__).resolve().parents[1] / "scripts" / "fit-clock.py"
    spec = importlib.util.spec_from_file_location("fit_clock", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["fit_clock"] = module
    spec.loader.exec_module(module)
    before = module.CLOCKS.read_text()
    after = module.write_values(before, "MI300A", {"memoryGigabytes": 1234})
    changed = [(old, new) for old, new in zip(before.splitlines(), after.splitlines(), strict=True)
               if old != new]
    assert len(changed) == 1
    assert '"memoryGigabytes": 1234' in changed[0][1]
    with pytest.raises(ValueError, match="expected 'flux' once"):
        module.write_values(before, "MI300X", {"flux": 1})
