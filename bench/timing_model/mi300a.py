# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The benchmarks measured on an MI300A, as launches of our kernels."""

from __future__ import annotations

from typing import Any

from timing_model.benchmarks import Benchmark
from timing_model.launches import Buffer, Launch, Number, Run, one
from timing_model.mi300x import copy_run, groups

COMPUTE_UNITS = 228


def vector_add(n: int) -> Run:
    return one(Launch("stream", "vector_add", (groups(n),), (256,), (
        Buffer("a", "out", "f32", n), Buffer("b", "in", "f32", n), Buffer("c", "in", "f32", n),
        Number("count", "i32", n))))


def relu(n: int) -> Run:
    return one(Launch("stream", "relu", (groups(n),), (256,), (
        Buffer("result", "out", "f32", n), Buffer("x", "in", "f32", n),
        Number("count", "i32", n))))


def _a(name: str, kind: str, make: Any, **more: Any) -> Benchmark:
    return Benchmark("MI300A", name, kind, make, **more)


BENCHMARKS = (
    _a("vectoradd", "streaming", vector_add),
    _a("relu", "streaming", relu),
    _a("memcopy_d2d", "streaming", lambda mib: copy_run(mib, COMPUTE_UNITS)),
)
