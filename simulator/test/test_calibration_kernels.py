# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The clock's calibration kernels compute what they should: on the simulator, under its checks."""

from __future__ import annotations

import pytest

np = pytest.importorskip("numpy")

from timing_model import benchmarks, launches  # noqa: E402

RANDOM = np.random.default_rng(7)


def floats(count: int):
    return RANDOM.standard_normal(count).astype(np.float32)


@pytest.fixture
def run(simulator):
    """Executes a benchmark at a value, from these contents."""
    def execute(device, name, value, **contents):
        return simulator.execute(benchmarks.find(device, name).run(value), contents)
    return execute


def close(result, expected, units=2.0, terms=1):
    """Of float32 sums of `terms` products: each addition rounds once."""
    bound = units * terms * 2.0 ** -24 * np.maximum(np.abs(expected).max(), 1e-30)
    assert np.abs(result.astype(np.float64) - expected).max() <= bound


def test_triad(run):
    b, c = floats(1000), floats(1000)
    close(run("MI300X", "shoc_triad", "1000", b=b, c=c)["a"],
          b.astype(np.float64) + 1.75 * c.astype(np.float64))


def test_device_memory(run):
    n = 1 << 18
    x = floats(n)
    result = run("MI300X", "shoc_devicememory", "1", x=x)
    # One workgroup for each 256 elements, so that each work-item sums up one.
    assert np.array_equal(result["sums"], x)
    assert (result["x"] == 2.5).all()


def test_streams_stride_over_the_rest(simulator):
    """More elements than work-items, as above 64 MiB."""
    n = 10000
    x = floats(n)
    count = launches.Number("count", "i64", n)
    result = simulator.execute(launches.one(launches.Launch("stream", "read_stream", (3,), (256,), (
        launches.Buffer("sums", "out", "f32", 768), launches.Buffer("x", "in", "f32", n),
        count))), {"x": x})
    padded = np.zeros(768 * 14)
    padded[:n] = x
    close(result["sums"], padded.reshape(14, 768).sum(axis=0), terms=14)


def test_copy(run):
    x = np.arange(1 << 18, dtype=np.uint32)
    assert np.array_equal(run("MI300X", "memory_bandwidth", "1", x=x)["result"], x)
    assert np.array_equal(run("MI300A", "memcopy_d2d", "1MB", x=x)["result"], x)


def test_mixbench(run):
    x = floats(1 << 18)
    expected = x.astype(np.float64)
    for _ in range(16):
        expected = expected * np.float32(0.999) + 0.5
    close(run("MI300X", "mixbench", "1", x=x)["x"], expected, terms=16)


def test_vector_add_and_relu(run):
    b, c = floats(1000), floats(1000)
    assert np.array_equal(run("MI300A", "vectoradd", "1000", b=b, c=c)["a"], b + c)
    assert np.array_equal(run("MI300A", "relu", "1000", x=b)["result"], np.maximum(b, 0))


def test_empty_kernel(run):
    assert run("MI300X", "empty_kernel", "8") == {}


def test_the_cycle_comes_back_to_its_start(simulator):
    """As many steps as there are lines end where they began, fewer do not."""
    entry = benchmarks.find("MI300X", "cache_latency").run("4096").launches()[0]
    table = entry.arguments[1].contents()
    at, seen = 0, []
    for _ in range(64):
        at = int(table[at])
        seen.append(at)
    assert sorted(seen) == list(range(0, 1024, 16)) and seen[-1] == 0
    for loads, expected in ((64, 0), (10, seen[9])):
        arguments = (*entry.arguments[:2], launches.Number("loads", "i32", loads))
        result = simulator.execute(launches.one(launches.Launch(
            "latency", "chase", (1,), (1,), arguments)))
        assert result["last"][0] == expected


def test_lds_chain(run):
    cells, total = np.ones(48), 0.0
    for _ in range(3):
        for index in range(48):
            total += cells[index]
            cells[index] = total
    close(run("MI300X", "shared_mem_latency", "3")["sums"], np.full(256, total), terms=144)


@pytest.mark.parametrize("name, kind, factor, addend, digits", [
    ("fp32_throughput", np.float32, 0.999, 0.001, 24),
    ("fp64_throughput", np.float64, 0.999, 0.001, 53)])
def test_multiply_adds(run, name, kind, factor, addend, digits):
    result = run("MI300X", name, "16")["result"]
    values = np.arange(256)[:, None] + np.arange(4.0)
    for _ in range(4):
        values = values * float(kind(factor)) + float(kind(addend))
    expected = values.sum(axis=1)
    assert np.abs(result - expected).max() <= 8 * 2.0 ** -digits * expected.max()


def test_packed_half_multiply_adds(run):
    result = run("MI300X", "fp16_throughput", "16")["result"].view(np.float16).reshape(256, 2)
    values = (np.arange(256)[:, None] + np.arange(4.0)).astype(np.float16)
    for _ in range(4):
        values = (values.astype(np.float64) * 0.5 + 0.25).astype(np.float16)
    expected = values.astype(np.float64).sum(axis=1)
    for half in (0, 1):
        assert np.abs(result[:, half] - expected).max() <= 3 * 2.0 ** -11 * expected.max()


def test_integer_multiply_adds(run):
    values = np.arange(256, dtype=np.uint32)[:, None] + np.arange(4, dtype=np.uint32)
    for _ in range(4):
        values = values * np.uint32(3) + np.uint32(1)
    assert np.array_equal(run("MI300X", "int32_throughput", "16")["result"],
                          values.sum(axis=1, dtype=np.uint32))


def test_shuffles(simulator):
    variants = benchmarks.find("MI300X", "warp_shuffle").run("3").pairs
    lane, wave = np.arange(256) % 64, np.arange(256) // 64 * 64
    from_lane = {"shuffle_any": (lane + 3) % 64, "shuffle_up": np.maximum(lane - 3, 0),
                 "shuffle_down": np.minimum(lane + 3, 63), "shuffle_xor": lane ^ 1}
    assert {pair[0].kernel for pair in variants} == set(from_lane)
    for (variant,) in variants:
        assert np.array_equal(simulator.execute(launches.one(variant))["result"],
                              wave + from_lane[variant.kernel])


@pytest.mark.parametrize("size", [300, 1024, 1000, 300000])
def test_reduction(run, size):
    x = floats(size)
    result = run("MI300X", "shoc_reduction", str(size), x=x)
    total = x.astype(np.float64).sum()
    last = max((name for name in result if name.startswith("sums")),
               key=lambda name: int(name[4:]))
    # Each element goes through some 20 additions at most.
    assert abs(result[last][0] - total) <= 20 * 2.0 ** -24 * np.abs(x).sum()


@pytest.mark.parametrize("size", [512, 1024, 1300, 263000])
def test_scans(run, size):
    x = floats(size)
    expected = np.concatenate([[0], np.cumsum(x.astype(np.float64))[:-1]])
    result = run("MI300X", "shoc_scan", str(size), x=x)["result"]
    assert np.abs(result - expected).max() <= 40 * 2.0 ** -24 * np.abs(x).sum()
    x = RANDOM.integers(0, 1000, size).astype(np.uint32)
    result = run("MI300X", "cuda_scan_large", str(size), x=x)["x"]
    assert np.array_equal(result, np.concatenate([[0], np.cumsum(x)[:-1]]).astype(np.uint32))


@pytest.mark.parametrize("size", [64, 80])
def test_transposes(simulator, size):
    x = floats(size * size)
    for pair in benchmarks.find("MI300X", "cuda_transpose").run(str(size)).pairs:
        result = simulator.execute(launches.Run((pair,)), {"x": x})["result"]
        assert np.array_equal(result.reshape(size, size), x.reshape(size, size).T)


@pytest.mark.parametrize("size", [64, 192])
def test_transpose_in_vectors(run, size):
    x = floats(size * size)
    result = run("MI300A", "matrixtranspose", f"{size}x{size}", x=x)["result"]
    assert np.array_equal(result.reshape(size, size), x.reshape(size, size).T)


def test_matrix_vector_products(run):
    n = 100
    a, x, y, start = floats(n * n), floats(n), floats(n), floats(n)
    result = run("MI300X", "polybench_mvt", str(n), a=a, **{
        "row vector": x, "column vector": y, "row result": start, "column result": start})
    matrix = a.reshape(n, n).astype(np.float64)
    close(result["row result"], start + matrix @ x, terms=n)
    close(result["column result"], start + matrix.T @ y, terms=n)


def test_products_in_memory(run):
    n = 70
    a, x, r = floats(n * n), floats(n), floats(n)
    matrix = a.reshape(n, n).astype(np.float64)
    result = run("MI300A", "bicg", f"{n}x{n}", a=a, x=x, r=r)
    close(result["p"], matrix @ x, terms=n)
    close(result["q"], matrix.T @ r, terms=n)
    result = run("MI300A", "atax", f"{n}x{n}", a=a, x=x)
    close(result["q"], matrix.T @ result["p"].astype(np.float64), terms=n)


@pytest.mark.parametrize("name, alpha, beta", [
    ("parboil_sgemm", 1.5, 0.5), ("polybench_gemm", 1.5, 0.5), ("shoc_gemm", 1.0, 0.0)])
def test_matrix_products(run, name, alpha, beta):
    n = 48
    a, b, c = floats(n * n), floats(n * n), floats(n * n)
    result = run("MI300X", name, str(n), a=a, b=b, **({"c": c} if beta else {}))["c"]
    expected = alpha * a.reshape(n, n).astype(np.float64) @ b.reshape(n, n)
    close(result.reshape(n, n), expected + beta * c.reshape(n, n), terms=n)


def test_matrix_product_in_vectors(run):
    """With one workgroup: more of them race for the staged tile, as in what is timed."""
    n = 32
    a, b = floats(n * n), floats(n * n)
    result = run("MI300A", "matrixmultiplication", f"{n}x{n}x{n}", a=a, b=b)["c"]
    close(result.reshape(n, n), a.reshape(n, n).astype(np.float64) @ b.reshape(n, n), terms=n)


def test_bodies(run):
    """With one workgroup, for the same reason."""
    n = 256
    places, speeds = floats(4 * n), floats(4 * n)
    result = run("MI300A", "nbody", f"{n}_particles", positions=places, velocities=speeds)
    place, speed = (v.reshape(n, 4).astype(np.float64) for v in (places, speeds))
    d = place[None, :, :3] - place[:, None, :3]
    inverse = ((d ** 2).sum(axis=2) + 500) ** -1.5
    force = (place[None, :, 3:] * inverse[:, :, None] * d).sum(axis=1)
    expected = speed.copy()
    expected[:, :3] += force * np.float32(0.005)
    close(result["new velocities"], expected.ravel(), terms=16)
    place[:, :3] += speed[:, :3] * 0.005 + force * (0.5 * 0.005 ** 2)
    close(result["new positions"], place.ravel(), terms=16)


def windows(image, rows, columns):
    return np.lib.stride_tricks.sliding_window_view(image.astype(np.float64), (rows, columns))


def test_convolution_of_3x3(run):
    n = 40
    x = floats(n * n)
    mask = np.array([[0.2, 0.5, -0.8], [-0.3, 0.6, -0.9], [0.4, 0.7, 0.1]])
    result = run("MI300X", "polybench_2dconv", str(n), x=x)["result"].reshape(n, n)
    expected = (windows(x.reshape(n, n), 3, 3) * mask).sum(axis=(2, 3))
    close(result[1:-1, 1:-1], expected, terms=9)
    assert (result[0] == 0).all() and (result[:, -1] == 0).all()


def test_jacobi(run):
    n = 20
    a = floats(n * n)
    result = run("MI300X", "polybench_jacobi2d", str(n), a=a, b=a)["a"].reshape(n, n)
    cross = np.array([[0, 0.2, 0], [0.2, 0.2, 0.2], [0, 0.2, 0]])
    expected = a.reshape(n, n).astype(np.float64)
    for _ in range(50):
        expected[1:-1, 1:-1] = (windows(expected, 3, 3) * cross).sum(axis=(2, 3))
    close(result, expected, terms=50)


def test_stencil_of_nine_points(run):
    n, mask = 64, np.array([[0.125, 0.25, 0.125], [0.25, 0.5, 0.25], [0.125, 0.25, 0.125]])
    x = floats((n + 2) ** 2).reshape(n + 2, n + 2)
    result = run("MI300A", "stencil2d", f"{n}x{n}", x=x.ravel())["result"]
    close(result.reshape(n + 2, n + 2)[1:-1, 1:-1],
          (windows(x, 3, 3) * mask).sum(axis=(2, 3)), terms=9)


def test_filters(run):
    for device, name, value, taps in (("MI300X", "heteromark_fir", "1000", 64),
                                      ("MI300A", "fir", "1000_taps8", 8)):
        x, coefficients = floats(1000), floats(taps)
        expected = np.convolve(x.astype(np.float64), coefficients)[:1000]
        close(run(device, name, value, x=x, coefficients=coefficients)["result"], expected,
              terms=taps)


def test_convolution_of_an_image(run):
    width, height, k = 40, 24, 5
    image = RANDOM.integers(0, 256, (height + k - 1, width + k - 1)).astype(np.uint32)
    mask = RANDOM.integers(0, 8, (k, k)).astype(np.float32)
    result = run("MI300A", "simpleconvolution", f"{width}x{height}_mask{k}",
                 image=image.ravel(), mask=mask.ravel())["result"]
    assert np.array_equal(result.reshape(height, width),
                          (windows(image, k, k) * mask).sum(axis=(2, 3)).astype(np.uint32))


def test_columns_of_an_image_and_their_product(run):
    image = floats(64)
    columns = windows(image.reshape(8, 8), 3, 3).reshape(36, 9).T
    result = run("MI300A", "im2col", "N1_C1_8x8_k3x3", image=image)["columns"]
    assert np.array_equal(result.reshape(9, 36), columns)
    coefficients = floats(27)
    result = run("MI300A", "conv2d", "N1_C1_8x8_k3x3_OC3", image=image,
                 coefficients=coefficients)["result"]
    close(result.reshape(3, 36), coefficients.reshape(3, 9) @ columns, terms=9)


def test_prices_of_options(run):
    n = 500
    result = run("MI300X", "tango_blackscholes", str(n))
    from math import erf
    price, strike, years, volatility = (
        buffer.contents().astype(np.float64) for buffer in
        benchmarks.find("MI300X", "tango_blackscholes").run(str(n)).launches()[0].arguments[2:6])
    d1 = (np.log(price / strike) + (0.02 + volatility ** 2 / 2) * years) / (
        volatility * np.sqrt(years))
    d2 = d1 - volatility * np.sqrt(years)
    n1, n2 = (np.array([(1 + erf(v / 2 ** 0.5)) / 2 for v in d]) for d in (d1, d2))
    worth = strike * np.exp(-0.02 * years)
    # The polynomial is good to 7.5e-8, relative to prices of up to 100; float32 to 6e-8.
    assert np.abs(result["call"] - (price * n1 - worth * n2)).max() < 1e-4
    assert np.abs(result["put"] - (worth * (1 - n2) - price * (1 - n1))).max() < 1e-4


def test_walsh_transform(run):
    n = 1024
    x = RANDOM.integers(-8, 8, n).astype(np.float32)
    expected = np.array([[1.0]])
    for _ in range(10):
        expected = np.block([[expected, expected], [expected, -expected]])
    assert np.array_equal(run("MI300A", "fastwalshtransform", str(n), x=x)["x"], expected @ x)


def test_bitonic_sort(run):
    x = RANDOM.integers(0, 2 ** 32, 1024).astype(np.uint32)
    assert np.array_equal(run("MI300A", "bitonicsort", "1024", x=x)["x"], np.sort(x))


def test_atomics(run):
    assert run("MI300X", "atomic_operations", "2")["counter"][0] == 2048 * 256 * 2


def test_random_updates(simulator):
    """Twice the same updates leave nothing."""
    launch = benchmarks.find("MI300X", "altis_gups").run("65536").launches()[0]
    short = launches.Launch("atomics", launch.kernel, (2,), (64,), (
        *launch.arguments[:2], launches.Number("updates", "i32", 4)))
    assert np.count_nonzero(simulator.execute(launches.one(short))["table"]) > 400
    twice = launches.Run(((short, short),))
    assert not simulator.execute(twice)["table"].any()


def test_histograms(run):
    words = RANDOM.integers(0, 256, 3000).astype(np.uint32)
    result = run("MI300X", "parboil_histogram", "3000", x=words)["counters"]
    assert np.array_equal(result, np.bincount(words, minlength=256))
    data = words.astype(np.uint8)
    result = run("MI300X", "chai_hsto", "3000", x=data)["counters"]
    assert np.array_equal(result, np.bincount(data, minlength=256))


def test_reading_again(simulator):
    entry = benchmarks.find("MI300X", "cache_bandwidth").run("2048").launches()[0]
    x = floats(512)
    short = launches.Launch("bandwidth", entry.kernel, (2,), (256,), (
        launches.Buffer("sums", "out", "f32", 512), entry.arguments[1], entry.arguments[2],
        launches.Number("passes", "i32", 3)))
    result = simulator.execute(launches.one(short), {"x": x})["sums"]
    close(result, np.tile(3 * x.reshape(2, 256).astype(np.float64).sum(axis=0), 2), terms=6)


def test_nearest_centres(run):
    points, features, centres = 300, 8, 5
    x, c = floats(points * features), floats(centres * features)
    result = run("MI300A", "kmeans", f"pts{points}_feat{features}_clus{centres}", features=x,
                 centres=c)["nearest"]
    d = x.reshape(features, points).T[:, None, :] - c.reshape(centres, features)[None]
    assert np.array_equal(result, (d.astype(np.float64) ** 2).sum(axis=2).argmin(axis=1))


def test_sparse_rows(run):
    rows, each = 128, 4
    values, x = floats(rows * each), floats(rows)
    result = run("MI300A", "spmv_csr_scalar", f"{rows}x{rows}_nnz{rows * each}", values=values,
                 x=x)["y"]
    at = (np.arange(rows)[:, None] + np.arange(each)) % rows
    close(result, (values.reshape(rows, each).astype(np.float64) * x[at]).sum(axis=1), terms=each)


def test_page_rank(run):
    nodes = 192
    values, x = floats(nodes * nodes // 2), floats(nodes)
    result = run("MI300A", "pagerank", f"nodes{nodes}_sparsity0.5_priters2", values=values,
                 x=x)["ranks"]
    close(result, values.reshape(nodes, nodes // 2).astype(np.float64) @ x[::2], terms=nodes)


def test_shortest_paths(run):
    nodes = 24
    distances = RANDOM.integers(1, 1000, (nodes, nodes)).astype(np.uint32)
    expected = distances.copy()
    for through in range(nodes):
        expected = np.minimum(expected, expected[:, through, None] + expected[through])
    result = run("MI300A", "floydwarshall", f"{nodes}_nodes", distances=distances.ravel())
    assert np.array_equal(result["distances"].reshape(nodes, nodes), expected)


def test_transform_of_512_points(run):
    x = floats(2 * 1024)
    result = run("MI300A", "fft1D_512", "1024_elements", x=x)["x"].astype(np.float64)
    expected = np.fft.fft((x[::2] + 1j * x[1::2].astype(np.float64)).reshape(2, 512), axis=1)
    # Nine additions on the way to each number, and two products with rounded roots.
    assert np.abs(result[::2] + 1j * result[1::2] - expected.ravel()).max() <= (
        16 * 2.0 ** -24 * np.sqrt(512) * np.abs(x).max() * 4)


def test_alignment(run):
    n = 128
    matches = RANDOM.integers(-10, 10, (n + 1, n + 1))
    scores = np.zeros((n + 1, n + 1), np.int64)
    scores[0], scores[:, 0] = -10 * np.arange(n + 1), -10 * np.arange(n + 1)
    start = scores.copy()
    for i in range(1, n + 1):
        for j in range(1, n + 1):
            scores[i, j] = max(scores[i - 1, j - 1] + matches[i, j], scores[i - 1, j] - 10,
                               scores[i, j - 1] - 10)
    result = run("MI300A", "nw", f"length={n}", scores=start.astype(np.int32).ravel(),
                 matches=matches.astype(np.int32).ravel())["scores"].view(np.int32)
    assert np.array_equal(result.reshape(n + 1, n + 1), scores)
