# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The benchmarks measured on an MI300X, as launches of our kernels."""

from __future__ import annotations

import functools
from typing import Any

from timing_model.benchmark import Benchmark
from timing_model.launches import Buffer, Launch, Number, Run, one

COMPUTE_UNITS = 304
MIB = 1 << 20
LINE_BYTES = 64
LARGEST_CYCLE = 32 * MIB


def groups(count: int, block: int = 256) -> int:
    """Workgroups with one work-item for each of ``count`` elements."""
    return -(-count // block)


def triad(n: int) -> Run:
    """a = b + factor * c, of n elements."""
    return one(Launch("stream", "triad", (groups(n),), (256,), (
        Buffer("a", "out", "f32", n), Buffer("b", "in", "f32", n), Buffer("c", "in", "f32", n),
        Number("factor", "f32", 1.75), Number("count", "i32", n))))


def device_memory(mib: int) -> Run:
    """Reading, writing and changing what no cache holds."""
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
    """Each element read, multiplied and written."""
    n = mib * MIB // 4
    return one(Launch("stream", "mix", (groups(n),), (256,), (
        Buffer("x", "inout", "f32", n), Number("factor", "f32", 0.999),
        Number("count", "i32", n))))


def empty_kernel(blocks: int) -> Run:
    """A launch that does nothing, as the host sees it."""
    return Run(((Launch("stream", "empty", (blocks,), (256,)),),), host=True)


def cycle(size: int) -> Any:
    """A random cycle through lines of 64 bytes: each line's first dword is the next's number.

    Of a large array only its beginning, as indices and values: a prediction follows no more.
    """
    import numpy as np
    lines = size // LINE_BYTES
    random = np.random.default_rng(42)
    if size > LARGEST_CYCLE:
        some = LARGEST_CYCLE // 16 // LINE_BYTES
        order = 16 * np.unique(random.integers(1, lines, some, dtype=np.uint64))
        order = np.concatenate([[0], random.permutation(order)]).astype(np.uint64)
        return order[:-1], order[1:].astype(np.uint32)
    order = random.permutation(lines).astype(np.uint32)
    following: Any = np.zeros(size // 4, np.uint32)
    following[order * 16] = np.roll(order, -1) * 16
    return following


def cache_latency(size: int) -> Run:
    """One lane that follows a chain of loads."""
    loads = min(max(4 * (size // LINE_BYTES), 131072), 16_000_000)
    return one(Launch("latency", "chase", (1,), (1,), (
        Buffer("last", "out", "i32", 1),
        Buffer("next", "in", "i32", size // 4, lambda: cycle(size)),
        Number("loads", "i32", loads))))


def shared_memory_latency(rounds: int) -> Run:
    """Chains of loads from shared memory."""
    return one(Launch("latency", "lds_chain", (1,), (256,), (
        Buffer("sums", "out", "f32", 256), Number("rounds", "i32", rounds)), loop="rounds"))


def throughput(kernel: str, element: str) -> Any:
    """The benchmark of a kernel that does one operation again and again, on one workgroup."""
    def make(operations: int) -> Run:
        return one(Launch("throughput", kernel, (1,), (256,), (
            Buffer("result", "out", element, 256), Number("operations", "i32", operations)),
            loop="operations"))
    return make


def warp_shuffle(operations: int) -> Run:
    """Exchanges between the lanes of a wave, by each of the four instructions."""
    return Run(tuple((Launch("throughput", f"shuffle_{variant}", (1,), (256,), (
        Buffer("result", "out", "i32", 256), Number("operations", "i32", operations)),
        loop="operations"),) for variant in ("any", "up", "down", "xor")))


def reduction(n: int) -> Run:
    """Sums of 512 elements a workgroup, of those sums, and so on, between two events."""
    launches: list[Launch] = []
    source = "x"
    while n > 1:
        blocks = groups(n, 512)
        launches.append(Launch("reduction", "reduce", (blocks,), (256,), (
            Buffer(f"sums{len(launches)}", "out", "f32", blocks),
            Buffer(source, "in", "f32", n), Number("count", "i32", n))))
        source, n = f"sums{len(launches) - 1}", blocks
    return Run((tuple(launches),), allocations=max(len(launches) - 2, 0))


def scan(kind: str, element: str, in_place: bool = False) -> Any:
    """Sums within workgroups and of their sums, between two events; then those are added.

    A third level of sums needs memory that is allocated in between.
    """
    def steps(n: int, source: str, result: str) -> list[Launch]:
        blocks = groups(n, 512)
        count, totals = Number("count", "i32", n), f"totals of {source}"
        sums = totals if in_place else f"running {totals}"
        data = [Buffer(result, "out", element, n), Buffer(source, "in", element, n)]
        if in_place:
            data = [Buffer(source, "inout", element, n)]
        last = Buffer(totals, "out", element, blocks) if blocks > 1 else Number("none", "i64", 0)
        scanned = Launch("reduction", f"scan_{kind}", (blocks,), (256,), (*data, last, count))
        if blocks == 1:
            return [scanned]
        return [scanned, *steps(blocks, totals, sums), Launch(
            "reduction", f"scan_add_{kind}", (blocks,), (256,), (
                Buffer(source if in_place else result, "inout", element, n),
                Buffer(sums, "in", element, blocks), count))]

    def make(n: int) -> Run:
        launches = steps(n, "x", "result")
        if len(launches) == 1:
            return Run((tuple(launches),))
        return Run((tuple(launches[:-1]), (launches[-1],)), allocations=(len(launches) - 3) // 2)
    return make


def transpose(n: int) -> Run:
    """A matrix of n x n, plainly and by tiles in shared memory."""
    arguments = (Buffer("result", "out", "f32", n * n), Buffer("x", "in", "f32", n * n),
                 Number("n", "i32", n))
    return Run(tuple((Launch("transpose", kernel, (groups(n, 32),) * 2, (32, 8), arguments),)
                     for kernel in ("transpose_plain", "transpose_tile")))


def matrix_vector(n: int) -> Run:
    """A row product and a column product, each with vectors of its own."""
    return Run(tuple((Launch("product", f"{side}_product", (groups(n),), (256,), (
        Buffer(f"{side} result", "inout", "f32", n), Buffer("a", "in", "f32", n * n),
        Buffer(f"{side} vector", "in", "f32", n), Number("n", "i32", n))),)
        for side in ("row", "column")))


def black_scholes(n: int) -> Run:
    """Prices of n options."""
    return one(Launch("options", "black_scholes", (groups(n),), (256,), (
        Buffer("call", "out", "f32", n), Buffer("put", "out", "f32", n),
        *(Buffer(name, "in", "f32", n, functools.partial(between, low, high, n))
          for name, low, high in (("price", 5, 30), ("strike", 1, 100), ("years", 0.25, 10),
                                  ("volatility", 0.1, 0.5))),
        Number("rate", "f32", 0.02), Number("count", "i32", n))))


def between(low: float, high: float, count: int) -> Any:
    """Random float32 values of an interval, the same every time."""
    import numpy as np
    return np.random.default_rng(count).uniform(low, high, count).astype(np.float32)


def fir(n: int, taps: int = 64) -> Run:
    """A filter over n samples."""
    return one(Launch("stencil", "fir", (groups(n),), (256,), (
        Buffer("result", "out", "f32", n), Buffer("coefficients", "in", "f32", taps),
        Buffer("x", "in", "f32", n), Number("taps", "i32", taps), Number("count", "i32", n))))


def convolution(n: int) -> Run:
    """An image of n x n under a mask of 3 x 3."""
    return one(Launch("stencil", "convolve_3x3", (groups(n, 16),) * 2, (16, 16), (
        Buffer("result", "inout", "f32", n * n), Buffer("x", "in", "f32", n * n),
        Number("n", "i32", n))))


def jacobi(n: int, steps: int = 50) -> Run:
    """Steps from one buffer to another and back, between two events."""
    def step(result: str, source: str) -> Launch:
        return Launch("stencil", "five_points", (groups(n, 16),) * 2, (16, 16), (
            Buffer(result, "inout", "f32", n * n), Buffer(source, "inout", "f32", n * n),
            Number("n", "i32", n)))
    return Run(((step("b", "a"), step("a", "b")) * (steps // 2),))


def product(scaled: bool) -> Any:
    """The benchmark of a product of two matrices, with or without factors and an addend."""
    def make(n: int) -> Run:
        factors = (Buffer("a", "in", "f32", n * n), Buffer("b", "in", "f32", n * n))
        numbers = (Number("alpha", "f32", 1.5), Number("beta", "f32", 0.5)) if scaled else ()
        return one(Launch("product", "product_scaled" if scaled else "product",
                          (groups(n, 16),) * 2, (16, 16), (
                              Buffer("c", "inout" if scaled else "out", "f32", n * n), *factors,
                              *numbers, Number("n", "i32", n))))
    return make


def atomics(operations: int) -> Run:
    """All lanes add to one counter."""
    return one(Launch("atomics", "count_up", (2048,), (256,), (
        Buffer("counter", "inout", "i32", 1), Number("operations", "i32", operations)),
        loop="operations"))


def random_updates(entries: int) -> Run:
    """Atomic operations at random places of a table."""
    return one(Launch("atomics", "random_updates", (256,), (256,), (
        Buffer("table", "inout", "i64", entries), Number("entries", "i64", entries),
        Number("updates", "i32", 128))))


def random_integers(count: int, kind: str) -> Any:
    """Random integers from 0 to 255, the same every time."""
    import numpy as np
    return np.random.default_rng(count).integers(0, 256, count).astype(kind)


def histogram(n: int) -> Run:
    """How often each of 256 values occurs among n integers."""
    return one(Launch("atomics", "histogram", (groups(n),), (256,), (
        Buffer("counters", "inout", "i32", 256),
        Buffer("x", "in", "i32", n, lambda: random_integers(n, "u4")), Number("count", "i32", n))))


def histogram_of_bytes(n: int) -> Run:
    """The same of bytes."""
    return one(Launch("atomics", "histogram_bytes", (min(groups(n), 1024),), (256,), (
        Buffer("counters", "inout", "i32", 256),
        Buffer("x", "in", "i8", n, lambda: random_integers(n, "u1")), Number("count", "i32", n))))


def cache_bandwidth(size: int) -> Run:
    """Reading the same bytes again and again."""
    return one(Launch("bandwidth", "read_again", (2048,), (256,), (
        Buffer("sums", "out", "f32", 2048 * 256), Buffer("x", "in", "f32", size // 4),
        Number("count", "i32", size // 4), Number("passes", "i32", max(MIB // size, 1)))))


def _x(name: str, kind: str, make: Any, **more: Any) -> Benchmark:
    return Benchmark("MI300X", name, kind, make, **more)


BENCHMARKS = (
    _x("shoc_triad", "streaming", triad,
       doubts={"268435456": "large, and far below half the size"}),
    _x("shoc_devicememory", "streaming", device_memory),
    _x("memory_bandwidth", "streaming", lambda mib: copy_run(mib, COMPUTE_UNITS),
       doubts=dict.fromkeys(("1", "2", "4", "8", "16"), "faster than the memory")),
    _x("mixbench", "streaming", mixbench),
    _x("empty_kernel", "launches", empty_kernel),
    _x("cache_latency", "latency", cache_latency),
    _x("shared_mem_latency", "latency", shared_memory_latency),
    _x("fp32_throughput", "arithmetic", throughput("fma_f32", "f32")),
    _x("fp64_throughput", "arithmetic", throughput("fma_f64", "f64")),
    _x("fp16_throughput", "arithmetic", throughput("fma_f16", "i32")),
    _x("int32_throughput", "arithmetic", throughput("mad_i32", "i32")),
    _x("warp_shuffle", "latency", warp_shuffle),
    _x("shoc_reduction", "reduction", reduction,
       doubts={"67108864": "faster than its neighbours"}),
    _x("polybench_2dconv", "stencil", convolution),
    _x("polybench_jacobi2d", "stencil", jacobi),
    _x("polybench_gemm", "product", product(scaled=True)),
    _x("shoc_gemm", "product", product(scaled=False)),
    _x("altis_gups", "atomics", random_updates),
    _x("parboil_histogram", "atomics", histogram),
    _x("chai_hsto", "atomics", histogram_of_bytes),
    _x("atomic_operations", "atomics", atomics, doubt="which addresses is not known"),
    _x("cache_bandwidth", "latency", cache_bandwidth,
       doubt="the grid and the passes are not known"),
    _x("shoc_scan", "reduction", scan("f32", "f32"), judged=True),
    _x("cuda_scan_large", "reduction", scan("u32", "i32", in_place=True), judged=True),
    _x("cuda_transpose", "transpose", transpose, judged=True),
    _x("polybench_mvt", "product", matrix_vector, judged=True),
    _x("tango_blackscholes", "streaming", black_scholes, judged=True),
    _x("heteromark_fir", "stencil", fir, judged=True),
    _x("parboil_sgemm", "product", product(scaled=True), judged=True),
)
