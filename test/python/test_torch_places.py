# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where in a row its largest element is, and masks: as outputs of regions, operands, and in row
functions."""

import pytest
import torch
from captured import Captured, operands, reasons, run_captured, taken

import lnbwd
from lnbwd import Rows

pytestmark = [pytest.mark.compiler, pytest.mark.usefixtures("fresh_regions")]


def special(x):
    """Rows with a NaN, several, infinities of either sign, and elements that are all equal."""
    x[0, 0, 7] = x[0, 1, 9] = x[0, 1, 30] = float("nan")
    x[0, 2, 11] = x[0, 2, 40] = float("inf")
    x[1, 0], x[1, 1] = float("-inf"), 2.5
    return x


def by_argmax(x):
    y = x * 2 + 1
    return y.argmax(-1), y.argmin(-1, keepdim=True), y.amax(-1)


def by_max(x):
    y = x * 2 + 1
    values, places = y.max(-1)
    return values, places, *y.min(-1, keepdim=True)


@pytest.mark.parametrize("function", [by_argmax, by_max])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_regions(device, function, dtype):
    """The first of the largest elements, of which a NaN is one, as PyTorch has it."""
    x = special(operands(device, "r")[0]).to(dtype)
    # What is computed of bfloat16 is not rounded in between.
    want = function(x.float())
    got, _ = run_captured(lambda x: function(x.float()), x)
    [program] = [d.program for d in taken()]
    assert {o.dtype for o in program.outputs if o.kind == "scalar"} == {"f32", "i64"}
    for one, other in zip(got, want, strict=True):
        assert one.dtype == other.dtype and one.shape == other.shape
        torch.testing.assert_close(one, other, equal_nan=True, rtol=0, atol=0)


def test_compared_with_a_target(device):
    """Where the largest is right stays within the region."""
    def function(x, target):
        y = x * 2 + 1
        is_right = y.argmax(-1, keepdim=True) == target
        return torch.where(is_right, y, 0.0), torch.logsumexp(y, -1)

    x, = operands(device, "r")
    target = x.argmax(-1, keepdim=True)
    target[0, 1] = 2 ** 40
    got, _ = run_captured(function, x, target)
    assert len(taken()) == 1 and not reasons()
    for one, other in zip(got, function(x, target), strict=True):
        torch.testing.assert_close(one, other)


def test_integers_of_any_size_are_no_output(device):
    """A place and another integer are selected outside, where integers are integers."""
    def function(x, target):
        y = x * 2 + 1
        place = y.argmax(-1, keepdim=True)
        return torch.where(place > 5, place, target), torch.logsumexp(y, -1)

    x, = operands(device, "r")
    target = torch.full((2, 3, 1), 2 ** 40 + 1, device=device)
    got, _ = run_captured(function, x, target)
    for one, other in zip(got, function(x, target), strict=True):
        torch.testing.assert_close(one, other)


def test_gradients(device):
    """``max`` gives its gradient to the element that it gives, ``amax`` shares it."""
    def function(x):
        y = x * 2 + 1
        return y.max(-1).values + 3 * y.amax(-1)

    x, = operands(device, "r")
    x[0, 0, 5] = x[0, 0, 9] = 4.0
    gradients = []
    for one in (torch.compile(function, backend=Captured(True).backend), function):
        leaf = x.clone().requires_grad_()
        one(leaf).sum().backward()
        gradients.append(leaf.grad)
    torch.testing.assert_close(*gradients)


@lnbwd.rowwise
def places(x: Rows, z: Rows):
    y = x + z
    largest, place = y.max(-1)
    return largest, place, torch.argmin(y, -1, keepdim=True)


@lnbwd.rowwise
def before_the_largest(x: Rows):
    """Elements behind the row's largest become that; with masks of elements and of rows."""
    largest, place = torch.max(x, -1, keepdim=True)
    number = torch.arange(x.shape[-1], dtype=torch.float32)
    is_any = (x > 1.5).any(-1, keepdim=True) & ~(x > -3).all(-1, keepdim=True)
    return torch.where((number > place.float()) | is_any, largest, x), x > 1, is_any


@pytest.mark.parametrize("function", [places, before_the_largest])
def test_row_functions(device, function):
    """Results and gradients as PyTorch has them, ties included."""
    inputs = [special(x) if place == 0 and function is places else x for place, x in
              enumerate(operands(device, *"rr"[:len(function._kinds)]))]
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
