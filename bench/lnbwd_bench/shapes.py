# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The shapes that are measured, and how many bytes each must move."""

from __future__ import annotations

import argparse
import math
import re
from dataclasses import dataclass
from random import Random

ELEMENT_BYTES = {"bf16": 2, "f16": 2, "f32": 4}

RANDOM_BYTES = (4_000_000, 1_600_000_000)
"""The least and the most bytes of rows that :func:`random_shapes` moves."""

# M x N of the dashboard's table, bf16.
TABLE = ((4096, 1024), (8192, 4096), (4096, 8192), (16384, 2048), (65536, 768), (131072, 256),
         (1024, 16384), (256, 65536), (8192, 768), (524288, 128), (32768, 1024), (8192, 5120),
         (4096, 12288), (8192, 3000), (4096, 4093), (512, 4096), (64, 65536))
# Further ones, bf16 and f32.
FURTHER = ((65536, 4096), (8192, 8192), (262144, 256), (4096, 16384), (1024, 65536))
FLOAT32 = ((8192, 4096), (65536, 768), (4096, 8192))


@dataclass(frozen=True, order=True)
class Shape:
    """One problem: M rows of N elements of a type ("bf16", "f16" or "f32")."""

    m: int
    n: int
    dtype: str = "bf16"

    def __str__(self) -> str:
        return f"{self.m}x{self.n}:{self.dtype}"

    @property
    def element_bytes(self) -> int:
        """Bytes of one element."""
        return ELEMENT_BYTES[self.dtype]

    @property
    def stream_bytes(self) -> int:
        """Bytes of dy and x read and dx written: what the stream moves."""
        return 3 * self.m * self.n * self.element_bytes


def default_shapes() -> list[Shape]:
    """All shapes of the dashboard's table."""
    return ([Shape(m, n) for m, n in TABLE + FURTHER] + [Shape(m, n, "f32") for m, n in FLOAT32])


def log_uniform(random: Random, low: float, high: float, multiple: int = 1) -> int:
    """A random number of a range, on a logarithmic scale, rounded to a multiple."""
    value = math.exp(random.uniform(math.log(low), math.log(high)))
    return max(1, round(value / multiple)) * multiple


def random_shapes(seed: int, count: int) -> list[Shape]:
    """Different shapes drawn log-uniformly in M and in N, 4 MB to 1.6 GB of rows to move: M from 64
    to 2^20, N from 128 to 65536. A tenth (rounded up) has an odd N, the others one that is a
    multiple of 8; the types take turns. The same seed gives the same shapes.
    """
    random = Random(seed)
    shapes: list[Shape] = []
    while len(shapes) < count:
        n = log_uniform(random, 128, 65536)
        n = (n | 1) if len(shapes) % 10 == 0 else (n + 4) // 8 * 8
        shape = Shape(log_uniform(random, 64, 1 << 20), n, tuple(ELEMENT_BYTES)[len(shapes) % 3])
        if RANDOM_BYTES[0] <= shape.stream_bytes <= RANDOM_BYTES[1] and shape not in shapes:
            shapes.append(shape)
    return shapes


def parse_shape(text: str) -> Shape:
    """Reads "8192x4096" (bf16) or "8192x4096:f32", for argparse, which shows its errors."""
    match = re.fullmatch(r"([1-9]\d*)x([1-9]\d*)(?::(\w+))?", text.strip())
    if not match:
        raise argparse.ArgumentTypeError(
            f"expected a shape like 8192x4096 or 8192x4096:f32, got '{text}'")
    dtype = match[3] or "bf16"
    if dtype not in ELEMENT_BYTES:
        raise argparse.ArgumentTypeError(
            f"unknown type '{dtype}' in '{text}', expected one of: {', '.join(ELEMENT_BYTES)}")
    return Shape(int(match[1]), int(match[2]), dtype)
