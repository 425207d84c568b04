# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whose product of matrices a norm with a linear layer is computed by.

There are several ways through either pass, which keep the same tensors: kernels of ours for all of
it, or PyTorch's products, which are the vendor's, with row programs of ours around them, one after
another or in two branches. On an H100 the vendor's products took the device less time for all but
the smallest sizes, and branches least, but our kernels, which are one launch, took the host less.
docs/layer-norm-linear.md has more.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping

import torch

from .launching import is_capturing
from .spec import rows_hint

__all__ = ["BRANCHES", "KERNEL", "TORCH", "choose", "forced"]

KERNEL, TORCH, BRANCHES = "kernel", "torch", "branches"
_WAYS = ("auto", KERNEL, TORCH, BRANCHES)
_whose = "auto"

_SMALLEST, _SMALL = 1 << 12, 1 << 30
"""Multiplications of a product up to which all of a pass is one launch of ours: in a CUDA graph,
and of calls, where the host's time is longer than the device's."""

# Passes, devices and ranges of rows whose ways in a graph were run.
_loaded: set[tuple[object, int | None, int]] = set()


@contextlib.contextmanager
def forced(whose: str) -> Iterator[None]:
    """Chooses the products of :func:`lnbwd.layer_norm_linear` until the ``with`` statement ends,
    for the whole process.

    Args:
        whose: "kernel" for ours; "torch" for PyTorch's with row programs of ours around them, one
            after another; "branches" for these with the weight's gradient beside the rows', on two
            streams (a forward pass goes by "torch" then, and so does a simulated device); or
            "auto", as it is otherwise: "kernel" on a simulated device and for small sizes, in a
            CUDA graph for the smallest; else "branches" where a graph is captured, and "torch" of
            other calls.
    """
    global _whose
    if whose not in _WAYS:
        raise ValueError(f"whose: expected one of {', '.join(map(repr, _WAYS))}, got {whose!r}")
    before, _whose = _whose, whose
    try:
        yield
    finally:
        _whose = before


def choose(one: object, device: torch.device, sizes: tuple[int, int, int],
           ways: Mapping[str, Callable[..., object]], *arguments: object) -> str:
    """The way that a pass is to go, one of ``ways``.

    Args:
        one: tells the pass from others.
        device: where the tensors are.
        sizes: M, N and K of the product.
        ways: of each way, a function that does what it would do. The way of a graph is called once
            outside of one, so that a graph that is captured later finds its kernels loaded.
        arguments: what they are called with.
    """
    if _whose != "auto":
        return _whose if _whose in ways else TORCH
    rows, n, k = sizes
    if device.type != "cuda" or rows * n * k <= _SMALLEST:
        return KERNEL
    in_graph = BRANCHES if BRANCHES in ways else TORCH
    if is_capturing(device):
        return in_graph
    called = KERNEL if rows * n * k <= _SMALL else TORCH
    key = (one, device.index, rows_hint(rows))
    if in_graph != called and key not in _loaded:
        ways[in_graph](*arguments)
        _loaded.add(key)
    return called
