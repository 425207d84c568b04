# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The shapes that are measured, and how many bytes each must move."""

from __future__ import annotations

import argparse
import re
from dataclasses import dataclass

ELEMENT_BYTES = {"bf16": 2, "f16": 2, "f32": 4}

# M x N of the comparison with the peers, bf16.
TABLE = ((4096, 1024), (8192, 4096), (4096, 8192), (16384, 2048), (65536, 768), (131072, 256),
         (1024, 16384), (256, 65536), (8192, 768), (524288, 128), (32768, 1024), (8192, 5120),
         (4096, 12288), (8192, 3000), (4096, 4093), (512, 4096), (64, 65536))
# Further ones that a bar is set for, bf16.
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

    @property
    def minimal_bytes(self) -> int:
        """The fewest bytes the operation can move: every argument once. gamma, dgamma and dbeta
        are of the rows' type, mean and rstd are float32."""
        return self.stream_bytes + 3 * self.n * self.element_bytes + 2 * 4 * self.m


def default_shapes() -> list[Shape]:
    """All shapes that a bar is set for."""
    return ([Shape(m, n) for m, n in TABLE + FURTHER]
            + [Shape(m, n, "f32") for m, n in FLOAT32])


def parse_shape(text: str) -> Shape:
    """Reads "8192x4096" (bf16) or "8192x4096:f32".

    Raises:
        ValueError: says what was expected.
    """
    match = re.fullmatch(r"([1-9]\d*)x([1-9]\d*)(?::(\w+))?", text.strip())
    if not match:
        raise ValueError(f"expected a shape like 8192x4096 or 8192x4096:f32, got '{text}'")
    dtype = match[3] or "bf16"
    if dtype not in ELEMENT_BYTES:
        raise ValueError(f"unknown type '{dtype}' in '{text}', expected one of: "
                         + ", ".join(ELEMENT_BYTES))
    return Shape(int(match[1]), int(match[2]), dtype)


def shape_argument(text: str) -> Shape:
    """:func:`parse_shape` as a type of argparse's, which shows its message."""
    try:
        return parse_shape(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
