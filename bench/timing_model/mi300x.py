# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The benchmarks measured on an MI300X, as launches of our kernels."""

from __future__ import annotations

from typing import Any

from timing_model.benchmarks import Benchmark
from timing_model.launches import Buffer, Launch, Number, Run, one

COMPUTE_UNITS = 304
MIB = 1 << 20
LINE_BYTES = 64


def groups(count: int, block: int = 256) -> int:
    """Workgroups with one work-item for each of ``count`` elements."""
    return -(-count // block)


def triad(n: int) -> Run:
    return one(Launch("stream", "triad", (groups(n),), (256,), (
        Buffer("a", "out", "f32", n), Buffer("b", "in", "f32", n), Buffer("c", "in", "f32", n),
        Number("factor", "f32", 1.75), Number("count", "i32", n))))


def device_memory(mib: int) -> Run:
    n = mib * MIB // 4
    blocks = min(groups(n), 65535)
    grid, block = (blocks,), (256,)
    count = Number("count", "i64", n)
    return Run((
        (Launch("stream", "read_stream", grid, block, (
            Buffer("sums", "out", "f32", 256 * blocks), Buffer("x", "in", "f32", n), count)),),
        (Launch("stream", "write_stream", grid, block, (
            Buffer("x", "out", "f32", n), Number("value", "f32", 1), count)),),
        (Launch("stream", "modify_stream", grid, block, (
            Buffer("x", "inout", "f32", n), Number("factor", "f32", 1.5), count)),)))


def copy_run(mib: int, compute_units: int) -> Run:
    """A copy between buffers as a kernel; the runtime's choice of a grid is not known."""
    steps = mib * MIB // 16
    blocks = min(groups(steps), 8 * compute_units)
    return one(Launch("stream", "copy", (blocks,), (256,), (
        Buffer("result", "out", "i32", 4 * steps), Buffer("x", "in", "i32", 4 * steps),
        Number("count", "i64", steps))))


def mixbench(mib: int) -> Run:
    n = mib * MIB // 4
    return one(Launch("stream", "mix", (groups(n),), (256,), (
        Buffer("x", "inout", "f32", n), Number("factor", "f32", 0.999),
        Number("count", "i32", n))))


def empty_kernel(blocks: int) -> Run:
    return Run(((Launch("stream", "empty", (blocks,), (256,)),),), host=True)


def cycle(size: int) -> Any:
    """A random cycle through lines of 64 bytes: each line's first dword is the next's number."""
    import numpy as np
    lines = size // LINE_BYTES
    order = np.random.default_rng(42).permutation(lines).astype(np.uint32)
    following: Any = np.zeros(size // 4, np.uint32)
    following[order * 16] = np.roll(order, -1) * 16
    return following


def cache_latency(size: int) -> Run:
    loads = min(max(4 * (size // LINE_BYTES), 131072), 16_000_000)
    return one(Launch("latency", "chase", (1,), (1,), (
        Buffer("last", "out", "i32", 1),
        Buffer("next", "in", "i32", size // 4, lambda: cycle(size)),
        Number("loads", "i32", loads)), loop="loads"))


def shared_memory_latency(rounds: int) -> Run:
    return one(Launch("latency", "lds_chain", (1,), (256,), (
        Buffer("sums", "out", "f32", 256), Number("rounds", "i32", rounds)), loop="rounds"))


def throughput(kernel: str, element: str) -> Any:
    def make(operations: int) -> Run:
        return one(Launch("throughput", kernel, (1,), (256,), (
            Buffer("result", "out", element, 256), Number("operations", "i32", operations)),
            loop="operations"))
    return make


def warp_shuffle(operations: int) -> Run:
    return Run(tuple((Launch("throughput", f"shuffle_{variant}", (1,), (256,), (
        Buffer("result", "out", "i32", 256), Number("operations", "i32", operations)),
        loop="operations"),) for variant in ("any", "up", "down", "xor")))


def _x(name: str, kind: str, make: Any, **more: Any) -> Benchmark:
    return Benchmark("MI300X", name, kind, make, **more)


BENCHMARKS = (
    _x("shoc_triad", "streaming", triad),
    _x("shoc_devicememory", "streaming", device_memory),
    _x("memory_bandwidth", "streaming", lambda mib: copy_run(mib, COMPUTE_UNITS)),
    _x("mixbench", "streaming", mixbench),
    _x("empty_kernel", "launches", empty_kernel),
    _x("cache_latency", "latency", cache_latency),
    _x("shared_mem_latency", "latency", shared_memory_latency),
    _x("fp32_throughput", "arithmetic", throughput("fma_f32", "f32")),
    _x("fp64_throughput", "arithmetic", throughput("fma_f64", "f64")),
    _x("fp16_throughput", "arithmetic", throughput("fma_f16", "i32")),
    _x("int32_throughput", "arithmetic", throughput("mad_i32", "i32")),
    _x("warp_shuffle", "latency", warp_shuffle),
)
