# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""``python -m lnbwd.bench``: how fast the backward pass is here.

On a GPU: the time of each shape for lnbwd and for PyTorch's own operator, with the device's copy
rate beside them. On the simulator, whose times mean nothing: bytes and instructions. bench/ in the
source tree compares with other projects, and measures what a call costs the host.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from . import launching, ops  # noqa: F401 (registers the operators)
from ._files import write_whole
from .errors import LnbwdError
from .launching import DEFAULT_CHIP

__all__ = ["main"]

_DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}
_GPU_SHAPES = ["4096x1024", "8192x4096", "4096x8192", "16384x2048", "65536x768", "1024x16384",
               "8192x768", "32768x1024", "512x4096"]
_SIMULATOR_SHAPES = ["64x256", "64x768", "32x1024"]


def _inputs(rows: int, n: int, dtype: torch.dtype, device: torch.device) -> tuple[Tensor, ...]:
    """dy, x, mean, rstd, weight, bias."""
    x, dy = (torch.randn(rows, n, device=device).to(dtype) for _ in range(2))
    weight, bias = (torch.randn(n, device=device).to(dtype) for _ in range(2))
    wide = x.float()
    mean = wide.mean(1)
    rstd = (wide.var(1, unbiased=False) + 1e-5).rsqrt()
    return dy, x, mean, rstd, weight, bias


def _minimal_bytes(rows: int, n: int, dtype: torch.dtype) -> int:
    """dy, x and dx once, weight and both gradients of parameters, and the statistics."""
    size = torch.empty(0, dtype=dtype).element_size()
    return 3 * rows * n * size + 3 * n * size + 2 * rows * 4


def _milliseconds(calls: Sequence[Callable[[], object]], repeats: int = 30) -> float:
    """The median time of one call on the device; the calls work on buffers that take turns."""
    for call in calls:
        call()
    torch.cuda.synchronize()
    times = []
    for index in range(repeats):
        start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        # The device is kept busy while the host prepares, so that no time of the host's is seen.
        torch.cuda._sleep(200_000)
        start.record()
        calls[index % len(calls)]()
        stop.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(stop))
    return float(statistics.median(times))


def _bench_shape(rows: int, n: int, dtype: torch.dtype, device: torch.device) -> dict[str, Any]:
    moved = _minimal_bytes(rows, n, dtype)
    cache = max(1, torch.cuda.get_device_properties(device).L2_cache_size)
    # Enough sets of buffers that none is in the last-level cache when its turn comes.
    sets = [_inputs(rows, n, dtype, device) for _ in range(min(16, 2 + 3 * cache // moved))]
    mask = [True, True, True]

    def ours(t: tuple[Tensor, ...]) -> Callable[[], object]:
        return lambda: torch.ops.lnbwd._layer_norm_bwd(*t, [n], mask)

    def theirs(t: tuple[Tensor, ...]) -> Callable[[], object]:
        dy, x, mean, rstd, weight, bias = t
        return lambda: torch.ops.aten.native_layer_norm_backward(
            dy, x, [n], mean.view(-1, 1), rstd.view(-1, 1), weight, bias, mask)

    times = {"lnbwd": _milliseconds([ours(t) for t in sets]),
             "torch": _milliseconds([theirs(t) for t in sets])}
    return {"rows": rows, "n": n, "bytes": moved,
            **{f"{k}_us": 1e3 * v for k, v in times.items()},
            **{f"{k}_gbps": moved / v / 1e6 for k, v in times.items()}}


def _copy_rate(device: torch.device) -> float:
    """Bytes read and written by a large copy, in GB/s."""
    source = torch.empty(1 << 30, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    return 2 * source.nbytes / _milliseconds([lambda: target.copy_(source)], 10) / 1e6


def _simulate_shape(rows: int, n: int, dtype: torch.dtype) -> dict[str, Any]:
    t = _inputs(rows, n, dtype, torch.device("cpu"))
    device = launching.open_device(torch.device("cpu"))
    torch.ops.lnbwd._layer_norm_bwd(*t, [n], [True, True, True])
    device.reset_counters()
    torch.ops.lnbwd._layer_norm_bwd(*t, [n], [True, True, True])
    counters = device.counters()
    assert counters is not None
    moved = _minimal_bytes(rows, n, dtype)
    return {"rows": rows, "n": n, "bytes": moved,
            "asked": counters.global_bytes_read + counters.global_bytes_written,
            "vector": counters.vector_lane_instructions / (rows * n),
            "memory": counters.memory_lane_instructions / (rows * n),
            "lds": counters.lds_lane_instructions / (rows * n)}


def _shape(text: str) -> tuple[int, int]:
    rows, cross, n = text.partition("x")
    if not (cross and rows.isdigit() and n.isdigit() and int(rows) and int(n)):
        raise argparse.ArgumentTypeError(f"expected ROWSxN, for example 8192x4096, got {text!r}")
    return int(rows), int(n)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m lnbwd.bench",
        description="Measures LayerNorm's backward pass on a GPU, or counts on the simulator.")
    parser.add_argument("--device", default="",
                        help="gpu, sim or sim:CHIP (default: a GPU if PyTorch has one, else sim)")
    parser.add_argument("--shape", type=_shape, action="append",
                        help="ROWSxN; may be given several times (default: a list)")
    parser.add_argument("--dtype", default="bf16", choices=list(_DTYPES))
    parser.add_argument("--json", help="write all numbers to this file")
    return parser


def _run_on_gpu(dtype_name: str, shapes: Sequence[tuple[int, int]]) -> dict[str, Any]:
    device = torch.device("cuda", torch.cuda.current_device())
    print(f"{torch.cuda.get_device_name(device)}, torch {torch.__version__}, {dtype_name}")
    copy_rate = _copy_rate(device)
    print(f"\n{'M x N':>14} {'lnbwd us':>10} {'torch us':>10} {'lnbwd GB/s':>11} "
          f"{'torch GB/s':>11} {'of copy':>8} {'speed-up':>9}")
    results = []
    for rows, n in shapes:
        r = _bench_shape(rows, n, _DTYPES[dtype_name], device)
        results.append(r)
        print(f"{rows:>7} x {n:<5}{r['lnbwd_us']:10.1f} {r['torch_us']:10.1f} "
              f"{r['lnbwd_gbps']:11.0f} {r['torch_gbps']:11.0f} "
              f"{100 * r['lnbwd_gbps'] / copy_rate:6.0f} % {r['torch_us'] / r['lnbwd_us']:8.2f}x",
              flush=True)
    print(f"copy: {copy_rate:.0f} GB/s, read and written")
    return {"shapes": results, "copy_gbps": copy_rate}


def _run_on_simulator(dtype_name: str, shapes: Sequence[tuple[int, int]]) -> dict[str, Any]:
    info = launching.open_device(torch.device("cpu")).info
    print(f"{info.name}, {dtype_name}; counts, since the simulator's times mean nothing")
    print(f"\n{'M x N':>14} {'bytes asked / minimal':>22} {'per element: vector':>20} "
          f"{'memory':>7} {'LDS':>6}")
    results = []
    for rows, n in shapes:
        r = _simulate_shape(rows, n, _DTYPES[dtype_name])
        results.append(r)
        print(f"{rows:>7} x {n:<5}{r['asked'] / r['bytes']:22.2f} {r['vector']:20.1f} "
              f"{r['memory']:7.2f} {r['lds']:6.2f}", flush=True)
    return {"shapes": results}


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; gives its exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.device not in ("", "gpu", "sim") and not options.device.startswith("sim:"):
        parser.error(f"--device: expected gpu, sim or sim:CHIP, got {options.device!r}")
    on_gpu = options.device == "gpu" or (not options.device and torch.cuda.is_available())
    if on_gpu and not torch.cuda.is_available():
        print("error: --device gpu: PyTorch has no GPU here; use --device sim", file=sys.stderr)
        return 2
    shapes = options.shape or [_shape(text)
                               for text in (_GPU_SHAPES if on_gpu else _SIMULATOR_SHAPES)]
    try:
        if on_gpu:
            report = _run_on_gpu(options.dtype, shapes)
        else:
            with launching.simulate(options.device.partition(":")[2] or DEFAULT_CHIP):
                report = _run_on_simulator(options.dtype, shapes)
    except LnbwdError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if options.json:
        try:
            write_whole(options.json, json.dumps(report, indent=1) + "\n")
        except OSError as error:
            print(f"error: cannot write '{options.json}': {error.strerror}", file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
