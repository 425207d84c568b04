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


@pytest.fixture(scope="module")
def simulator(build, tmp_path_factory):
    from timing_model.simulation import Simulator
    library = build / "lib" / "liblnbwd-hip-sim.so"
    if launches.find_clang() is None or not library.exists():
        pytest.skip("needs clang and the simulator")
    return Simulator(library, launches.compile_kernels(tmp_path_factory.mktemp("kernels")))


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
