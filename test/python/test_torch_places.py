# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where in a row its largest element is, and masks, in row functions."""

import pytest
import torch
from compiled import normal

import lnbwd
from lnbwd import Rows

pytestmark = pytest.mark.compiler


def special(x):
    """Rows with a NaN, several, infinities of either sign, and elements that are all equal."""
    x[0, 0, 7] = x[0, 1, 9] = x[0, 1, 30] = float("nan")
    x[0, 2, 11] = x[0, 2, 40] = float("inf")
    x[1, 0], x[1, 1] = float("-inf"), 2.5
    return x


@lnbwd.rowwise
def places(x: Rows, z: Rows):
    y = x + z
    largest, place = y.max(-1)
    return largest, place, torch.argmin(y, -1, keepdim=True)


@lnbwd.rowwise
def before_the_largest(x: Rows):
    """Elements behind the row's largest become that; with masks of elements and of rows."""
    largest, place = torch.max(x, -1, keepdim=True)
    number = torch.arange(x.shape[-1], dtype=torch.float32, device=x.device)
    is_any = (x > 1.5).any(-1, keepdim=True) & ~(x > -3).all(-1, keepdim=True)
    return torch.where((number > place.float()) | is_any, largest, x), x > 1, is_any


@pytest.mark.parametrize("function", [places, before_the_largest])
def test_row_functions(device, function):
    """Results and gradients as PyTorch has them, ties included."""
    inputs = [special(x) if place == 0 and function is places else x for place, x in
              enumerate(normal(2, 3, 64, seed=seed).to(device)
                                    for seed in range(len(function._kinds)))]
    inputs[0][1, 2, 5] = inputs[0][1, 2, 9] = 40.0
    found = []
    for one in (function, function.function):
        leaves = [x.clone().requires_grad_() for x in inputs]
        results = one(*leaves)
        results = results if isinstance(results, tuple) else (results,)
        torch.autograd.backward([r.nan_to_num() for r in results if r.requires_grad],
                                [torch.ones_like(r) for r in results if r.requires_grad])
        found.append([*results, *(leaf.grad for leaf in leaves)])
    for got, want in zip(*found, strict=True):
        assert got.dtype == want.dtype
        torch.testing.assert_close(got, want, equal_nan=True)
