# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The benchmarks measured on an MI300A, as launches of our kernels."""

from __future__ import annotations

from typing import Any

from timing_model.benchmark import Benchmark
from timing_model.launches import Buffer, Launch, Number, Run, one
from timing_model.mi300x import copy_run, fir, groups

COMPUTE_UNITS = 228
LARGEST_COLUMNS = 6144


def vector_add(n: int) -> Run:
    """Sums of two vectors of n elements."""
    return one(Launch("stream", "vector_add", (groups(n),), (256,), (
        Buffer("a", "out", "f32", n), Buffer("b", "in", "f32", n), Buffer("c", "in", "f32", n),
        Number("count", "i32", n))))


def relu(n: int) -> Run:
    """The larger of 0 and each of n numbers."""
    return one(Launch("stream", "relu", (groups(n),), (256,), (
        Buffer("result", "out", "f32", n), Buffer("x", "in", "f32", n),
        Number("count", "i32", n))))


def transpose(n: int, _: int) -> Run:
    """A matrix of n x n, by blocks."""
    blocks = groups(n, 64)
    return one(Launch("transpose", "transpose_vectors", (blocks, blocks), (16, 16), (
        Buffer("result", "out", "f32", n * n), Buffer("x", "in", "f32", n * n),
        Number("n", "i32", n // 4))))


def image_convolution(width: int, height: int, mask: int) -> Run:
    """An image under a square mask, with a border that is there already."""
    padded = width + mask - 1
    return one(Launch("stencil", "convolve_image", (groups(width * height, 64),), (64,), (
        Buffer("result", "out", "i32", width * height),
        Buffer("image", "in", "i32", padded * (height + mask - 1)),
        Buffer("mask", "in", "f32", mask * mask),
        *(Number(name, "i32", value) for name, value in (
            ("width", width), ("height", height), ("mask width", mask),
            ("padded width", padded))))))


def columns_of_image(images: int, channels: int, width: int, height: int, k: int, _: int) -> Launch:
    """What lies under the mask at each place becomes a column."""
    across, down = width - k + 1, height - k + 1
    return Launch("stencil", "image_to_columns", (groups(across * down),), (256,), (
        Buffer("columns", "out", "f32", channels * k * k * across * down),
        Buffer("image", "in", "f32", channels * width * height),
        *(Number(name, "i32", value) for name, value in (
            ("width", width), ("height", height), ("channels", channels),
            ("output width", across), ("output height", down), ("k", k)))))


def image_to_columns(*sizes: int) -> Run:
    """The columns alone."""
    return one(columns_of_image(*sizes))


def convolution_by_product(*sizes: int) -> Run:
    """The columns of the image, and their product with the coefficients of three outputs."""
    outputs, first = sizes[6], columns_of_image(*sizes[:6])
    k = sizes[1] * sizes[4] ** 2
    positions = (sizes[2] - sizes[4] + 1) * (sizes[3] - sizes[4] + 1)
    return Run(((first, Launch(
        "product", "product_of_few_rows", (groups(positions, 16), groups(outputs, 16)), (16, 16), (
            Buffer("result", "out", "f32", outputs * positions),
            Buffer("coefficients", "in", "f32", outputs * k),
            Buffer("columns", "in", "f32", k * positions), Number("rows", "i32", outputs),
            Number("columns of result", "i32", positions), Number("n", "i32", k)))),))


def nearest_centres(points: int, features: int, centres: int) -> Run:
    """Which centre each point is nearest to: a step of k-means."""
    return one(Launch("points", "nearest_centre", (groups(points),), (256,), (
        Buffer("nearest", "out", "i32", points), Buffer("features", "in", "f32", points * features),
        Buffer("centres", "in", "f32", centres * features), Number("points", "i32", points),
        Number("centre count", "i32", centres), Number("feature count", "i32", features))))


def nine_points(n: int, _: int) -> Run:
    """A stencil of nine points on n x n places."""
    stride = n + 2
    return one(Launch("stencil", "nine_points", (n // 16, n // 64), (1, 64), (
        Buffer("result", "inout", "f32", stride * stride),
        Buffer("x", "in", "f32", stride * stride), Number("centre", "f32", 0.5),
        Number("side", "f32", 0.25), Number("corner", "f32", 0.125),
        Number("stride", "i32", stride))))


def two_products(vector_of_columns: str, clears: int = 0) -> Any:
    """A product of all rows, or of all columns, with a vector, and then the other one."""
    def make(n: int, _: int) -> Run:
        matrix, count = Buffer("a", "in", "f32", n * n), Number("n", "i32", n)

        def launch(side: str, result: str, vector: str) -> Launch:
            return Launch("product", f"{side}_product_in_memory", (groups(n),), (256,), (
                Buffer(result, "out", "f32", n), matrix, Buffer(vector, "in", "f32", n), count))
        return Run(((launch("row", "p", "x"), launch("column", "q", vector_of_columns)),),
                   clears=clears)
    return make


def sparse_rows(rows: int, _: int, entries: int) -> Run:
    """A sparse matrix, as many entries in each row, times a vector."""
    each = entries // rows
    return one(Launch("sparse", "sparse_rows", (groups(rows),), (256,), (
        Buffer("y", "out", "f32", rows), Buffer("values", "in", "f32", entries),
        Buffer("columns", "in", "i32", entries, lambda: band(rows, each)),
        Buffer("starts", "in", "i32", rows + 1, lambda: band_starts(rows, each)),
        Buffer("x", "in", "f32", rows), Number("rows", "i32", rows))))


def band(rows: int, each: int) -> Any:
    """The columns of a band matrix: in row r, those from r on, around the end."""
    import numpy as np
    return ((np.arange(rows)[:, None] + np.arange(each)) % rows).astype(np.uint32).ravel()


def band_starts(rows: int, each: int) -> Any:
    """Where the rows begin, of which each has so many entries."""
    import numpy as np
    return (np.arange(rows + 1) * each).astype(np.uint32)


def page_rank(nodes: int, *_: int) -> Run:
    """Two launches with half of all entries present: every other column.

    The columns of large matrices are left out; what they point to lies in a cache anyway.
    """
    each = nodes // 2

    def columns() -> Any:
        import numpy as np
        return np.tile(np.arange(0, 2 * each, 2, dtype=np.uint32), nodes)
    launch = Launch("sparse", "page_rank", (nodes,), (64,), (
        Buffer("ranks", "out", "f32", nodes), Buffer("values", "in", "f32", nodes * each),
        Buffer("columns", "in", "i32", nodes * each,
               columns if nodes <= LARGEST_COLUMNS else None),
        Buffer("starts", "in", "i32", nodes + 1, lambda: band_starts(nodes, each)),
        Buffer("x", "in", "f32", nodes), Number("rows", "i32", nodes)), repeat=2)
    return Run(((launch,),), uploads=(4 * nodes,))


def bodies(n: int) -> Run:
    """One step of n bodies that attract each other."""
    vectors = ("new positions", "new velocities", "positions", "velocities")
    return one(Launch("points", "attract", (groups(n),), (256,), (
        *(Buffer(name, "in" if at > 1 else "out", "f32", 4 * n)
          for at, name in enumerate(vectors)), Buffer("tile", "inout", "f32", 1024),
        Number("count", "i32", n), Number("step", "f32", 0.005),
        Number("softening", "f32", 500))))


def matrix_product(n: int, *_: int) -> Run:
    """A product of two matrices of n x n, by tiles in shared memory."""
    return one(Launch("product", "product_vectors", (groups(n, 32),) * 2, (8, 8), (
        Buffer("c", "out", "f32", n * n), Buffer("a", "in", "f32", n * n),
        Buffer("b", "in", "f32", n * n), Buffer("tile", "inout", "f32", 1024),
        Number("n", "i32", n // 4))))


def shortest_paths(nodes: int) -> Run:
    """Floyd and Warshall: a launch for each node that paths may lead through."""
    arguments = (Buffer("distances", "inout", "i32", nodes * nodes),
                 Buffer("over", "inout", "i32", nodes * nodes), Number("n", "i32", nodes))
    return Run((tuple(Launch("sparse", "shorter_paths", (groups(nodes, 8),) * 2, (8, 8), (
        *arguments, Number("through", "i32", through)), alike=("through",))
        for through in range(nodes)),), uploads=(4 * nodes * nodes,) * 2)


def walsh(n: int) -> Run:
    """A step for each power of two below ``n``."""
    return Run((tuple(Launch("butterflies", "walsh", (groups(n // 2),), (256,), (
        Buffer("x", "inout", "f32", n), Number("step", "i32", 1 << at)))
        for at in range(n.bit_length() - 1)),), uploads=(4 * n,))


def bitonic_sort(n: int) -> Run:
    """A launch for each distance of each stage."""
    return Run((tuple(Launch("butterflies", "bitonic", (groups(n // 2, 64),), (64,), (
        Buffer("x", "inout", "i32", n), Number("distance", "i32", 1 << (stage - at)),
        Number("stage", "i32", stage)), alike=("stage",))
        for stage in range(n.bit_length() - 1) for at in range(stage + 1)),), uploads=(4 * n,))


def transform512(points: int) -> Run:
    """Fourier transforms of 512 points each."""
    return one(Launch("butterflies", "transform512", (points // 512,), (64,), (
        Buffer("x", "inout", "f32", 2 * points),)))


def align(length: int) -> Run:
    """Tiles of 64 x 64 along the diagonals, first longer and then shorter ones."""
    tiles, side = length // 64, length + 1
    launches = []
    for diagonal in range(2 * tiles - 1):
        first = max(0, diagonal - tiles + 1)
        launches.append(Launch("sequences", "align_tiles", (diagonal - 2 * first + 1,), (64,), (
            Buffer("scores", "inout", "i32", side * side),
            Buffer("matches", "in", "i32", side * side), Number("n", "i32", length),
            Number("penalty", "i32", 10), Number("diagonal", "i32", diagonal),
            Number("first row", "i32", first)), alike=("diagonal", "first row")))
    return Run((tuple(launches),), uploads=(4 * side * side,))


def _a(name: str, kind: str, make: Any, **more: Any) -> Benchmark:
    return Benchmark("MI300A", name, kind, make, **more)


BENCHMARKS = (
    _a("vectoradd", "streaming", vector_add),
    _a("relu", "streaming", relu),
    _a("kmeans", "irregular", nearest_centres),
    _a("im2col", "stencil", image_to_columns),
    _a("conv2d", "product", convolution_by_product),
    _a("atax", "product", two_products("p", clears=2)),
    _a("bicg", "product", two_products("r")),
    _a("spmv_csr_scalar", "irregular", sparse_rows),
    _a("pagerank", "irregular", page_rank),
    _a("fft1D_512", "streaming", transform512),
    _a("nw", "launches", align),
    _a("nbody", "irregular", bodies),
    _a("matrixmultiplication", "product", matrix_product),
    _a("floydwarshall", "launches", shortest_paths),
    _a("bitonicsort", "launches", bitonic_sort),
    _a("matrixtranspose", "transpose", transpose, judged=True),
    _a("fir", "stencil", fir, judged=True),
    _a("simpleconvolution", "stencil", image_convolution, judged=True),
    _a("fastwalshtransform", "launches", walsh, judged=True),
    _a("stencil2d", "stencil", nine_points, judged=True),
    _a("memcopy_d2d", "streaming", lambda mib: copy_run(mib, COMPUTE_UNITS)),
)
