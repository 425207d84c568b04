# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Softmax, masks and losses of compiled models: booleans, and integers of rows."""

import pytest
import torch
import torch.nn.functional as F
from compiled import BF16, Case, Table, as_list, assert_near, check, leaf, normal, on_device, run
from torch import nn

from lnbwd.program.mlir import mlir

pytestmark = pytest.mark.compiler


def dropout_and_norm(x, h, mask, gamma):
    """Dropout by a given mask, the residual addition, RMSNorm, and a mask of the result."""
    stream = x + mask * h * 1.25
    y = stream * torch.rsqrt(stream.square().mean(-1, keepdim=True) + 1e-5) * gamma
    return stream, y, y > 0


def masks_of_masks(x, y, mask):
    """Booleans by logic, by conversion, and as numbers."""
    both = torch.logical_and(mask, x > 0.1) | ~(y > x) ^ mask
    any_ = torch.logical_or(x.clamp(min=0), mask) & (mask.float() <= 0.5).bool()
    z = torch.where(both, x, y).masked_fill(any_, 0.25) + mask
    return z - z.mean(-1, keepdim=True), both, any_


def relu_and_norm(x, h, gamma):
    """The backward pass reads a mask."""
    y = torch.relu(x + h)
    return y * torch.rsqrt(y.square().mean(-1, keepdim=True) + 1e-5) * gamma


def masks_of_rows_and_columns(x, keep, channels):
    y = torch.where(keep, x, 0.0) * channels
    return y - y.mean(-1, keepdim=True)


def safe_softmax(x, mask):
    """0 where all of a row is masked; whether it is, is a result."""
    x = x.masked_fill(mask, float("-inf"))
    is_masked = (x == float("-inf")).all(-1, keepdim=True)
    return torch.where(is_masked, 0.0, torch.softmax(x, -1)), is_masked


def centre_unless_zero(x, mask):
    return torch.where(x.any(-1, keepdim=True), x - x.mean(-1, keepdim=True), 1.0) * mask


def causal_softmax(x):
    place = torch.arange(16, device=x.device)
    return torch.where(place[:, None] >= place, x, float("-inf")).softmax(-1)


def window_softmax(x, begin=3, window=5):
    """A padded causal window: all of it follows from indices."""
    rows = torch.arange(16, device=x.device)[begin:].view(1, 1, -1, 1)
    keys = torch.arange(32 - begin, device=x.device).view(1, 1, 1, -1)
    mask = ((keys <= rows) & (keys > rows - window)).expand(2, 1, 16 - begin, 32 - begin)
    return torch.softmax(x * 0.25 + torch.where(mask, 0.0, -torch.inf), -1)


def cross_entropy(x, target):
    return F.cross_entropy(x.float(), target, reduction="none")


def picked(x, target):
    """Elements of rows at a place that is read."""
    return -(x * 0.5).log_softmax(-1).gather(1, target)


def all_but_the_target(x, target):
    is_it = torch.arange(x.shape[-1], device=x.device) == target
    y = torch.where(is_it, 0.0, x)
    return y - y.mean(-1, keepdim=True)


def places(x):
    """Where the largest and smallest elements are."""
    y = x * 2 + 1
    return y.argmax(-1), y.argmin(-1, keepdim=True), y.amax(-1), *y.max(-1), *y.min(-1, True)


def where_it_is_right(x, target):
    y = x * 2 + 1
    is_right = y.argmax(-1, keepdim=True) == target
    return torch.where(is_right, y, 0.0), torch.logsumexp(y, -1)


def shared_gradient(x):
    """``max`` gives its gradient to the element that it gives, ``amax`` shares it."""
    y = x * 2 + 1
    return y.max(-1).values + 3 * y.amax(-1)


class MaskedSoftmax(nn.Module):
    """The softmax of attention's heads, with a mask that heads share and a slope for each."""

    def forward(self, x, slope, mask):
        return torch.softmax(x * slope + mask, -1)


def special(x):
    """Rows with a NaN, several, infinities of either sign, and elements that are all equal."""
    x[0, 0, 7] = x[0, 1, 9] = x[0, 1, 30] = float("nan")
    x[0, 2, 11] = x[0, 2, 40] = float("inf")
    x[1, 0], x[1, 1] = float("-inf"), 2.5
    return x


def with_equal(x):
    x[0, 0, 5] = x[0, 0, 9] = 4.0
    return x.requires_grad_()


def logits(dtype):
    """Of which some are not finite."""
    x = normal(12, 300, seed=1, dtype=dtype)
    x[4, 7], x[5, 8], x[6], x[7, 9] = float("inf"), float("nan"), float("-inf"), float("-inf")
    return x


def masked_rows():
    mask = normal(2, 3, 64, seed=5) > -0.5
    mask[0, 1], mask[1, 2] = True, False
    return mask


MASK = normal(2, 3, 64, seed=4) > -0.5
TARGET = (torch.arange(12) * 29) % 300
IGNORED = torch.where(torch.arange(12) == 3, -100, TARGET)
TABLE = Table({
    "softmax": Case(lambda x: (x * 0.5).softmax(-1), [leaf(2, 3, 64)]),
    "softmax, bfloat16": Case(lambda x: x.softmax(-1), [leaf(2, 8, 64, dtype=BF16)]),
    "log of softmax": Case(lambda x: x.log_softmax(-1), [leaf(5, 63)]),
    "causal softmax": Case(causal_softmax, [leaf(2, 3, 16, 16)]),
    "softmax in a window": Case(window_softmax, [leaf(2, 3, 13, 29)]),
    "softmax with slopes and a mask": Case(MaskedSoftmax(), [
        leaf(2, 3, 16, 32), torch.arange(1, 4)[:, None, None] / 3, normal(1, 1, 16, 32, seed=1)]),
    "softmax with masks of samples": Case(lambda x, mask: torch.softmax(x + mask, -1), [
        leaf(2, 3, 16, 32),
        normal(2, 1, 16, 32).masked_fill(torch.arange(32) % 3 > 1, -torch.inf)]),
    "safe softmax": Case(safe_softmax, [normal(2, 3, 64), masked_rows()]),
    "rows of zeros": Case(centre_unless_zero, [
        normal(2, 3, 64) * (torch.arange(3) % 2)[:, None], MASK]),
    "dropout and norm": Case(dropout_and_norm, [
        normal(2, 3, 64), normal(2, 3, 64, seed=1), MASK, normal(64, seed=2)]),
    "infinity times a mask": Case(lambda x, mask: (x * mask).exp() - (x * mask).amax(-1, True), [
        normal(2, 3, 64).masked_fill(~MASK, torch.inf), MASK]),
    "masks of masks": Case(masks_of_masks, [normal(2, 3, 64), normal(2, 3, 64, seed=1), MASK]),
    "ReLU and norm": Case(relu_and_norm, [
        leaf(2, 3, 64), leaf(2, 3, 64, seed=1), leaf(64, seed=2)]),
    "masks of rows and columns": Case(masks_of_rows_and_columns, [
        normal(2, 3, 64), torch.arange(6).view(2, 3, 1) % 5 > 1, torch.arange(64) % 3 > 0]),
    "cross entropy, given logits": Case(cross_entropy, [logits(torch.float32), TARGET]),
    "softmax with part of a mask": Case(lambda x, mask: torch.softmax(x + mask[..., :32], -1), [
        leaf(2, 3, 16, 32), normal(2, 1, 16, 40, seed=1)]),
    "cross entropy, bfloat16": Case(cross_entropy, [
        leaf(12, 300, seed=1, dtype=BF16), IGNORED]),
    "divergence": Case(lambda x, y: F.kl_div(x.log_softmax(-1), y.softmax(-1), reduction="sum"), [
        leaf(12, 100), normal(12, 100, seed=1)]),
    "picked": Case(picked, [normal(6, 300), torch.arange(6).view(6, 1) * 59]),
    "places": Case(places, [special(normal(2, 3, 64))]),
    "places, bfloat16": Case(lambda x: places(x.float()), [special(normal(2, 3, 64, dtype=BF16))]),
    "right ones": Case(where_it_is_right, [
        normal(2, 3, 64), normal(2, 3, 64).argmax(-1, keepdim=True).index_fill(
            1, torch.tensor([1]), 2 ** 40)]),
    **{f"all but {target}": Case(all_but_the_target, [
        normal(2, 3, 300), torch.full((2, 3, 1), target)])
       for target in (2 ** 24 + 1, 2 ** 40, -2 ** 40, 299, 300)},
})


@pytest.mark.parametrize("name", TABLE.cases)
def test_results(name):
    TABLE.check(name)


def test_all_nodes_are_taken():
    assert not TABLE.left()


def test_a_program_with_masks(fresh_inductor):
    """As MLIR: a mask is a block of bytes, and a condition inside."""
    operands = [normal(6, 64), normal(6, 64, seed=1), MASK.view(6, 64), normal(64, seed=2)]
    found = check(dropout_and_norm, *operands)
    [program] = found.programs
    lines = [line.strip() for line in mlir(program).splitlines()]
    assert sorted((i.kind, i.dtype) for i in program.inputs) == [
        ("column", "f32"), ("row", "f32"), ("row", "f32"), ("row", "i8")]
    assert sorted((o.kind, o.dtype) for o in program.outputs) == [
        ("row", "f32"), ("row", "f32"), ("row", "i8")]
    assert any("arith.cmpi ne" in line and "vector<64xi8>" in line for line in lines)
    end = next(i for i, line in enumerate(lines) if line.startswith("lnbwd.yield"))
    assert any("arith.extui" in line for line in lines[end - 3:end])


@pytest.mark.parametrize("dtype", [
    torch.int64, pytest.param(torch.int32, marks=pytest.mark.full)])
def test_packed_sequences(fresh_inductor, dtype):
    """Rows see what has their sequence's number, all of whose bits count, and is no later."""
    def function(x, numbers):
        samples = torch.arange(2, device=x.device).view(-1, 1, 1, 1)
        rows = torch.arange(32, device=x.device)
        rows, keys = rows.view(1, 1, -1, 1), rows.view(1, 1, 1, -1)
        mask = (numbers[samples, rows] == numbers[samples, keys]) & (keys <= rows)
        mask &= (rows - keys).abs() < 20
        return torch.softmax(x + torch.where(mask, 0.0, -torch.inf), -1)

    bits = dtype.itemsize * 8
    values = torch.tensor([0, 1, 1 << 24, (1 << bits - 1) - 1, -1, -(1 << bits - 1),
                           1 << bits - 2, (1 << bits - 2) + 1], dtype=dtype)
    operands = on_device([normal(2, 16, 32, 32), torch.stack([
        values.repeat(4), values.repeat_interleave(4)])])
    found = run(function, *operands)
    torch.testing.assert_close(found.results[0], function(*operands), rtol=1e-5, atol=1e-6)


def test_gradients_at_places_that_are_read(fresh_inductor):
    """Inductor puts them there; all else is taken."""
    case = Case(shared_gradient, [with_equal(normal(2, 3, 64))])
    found = run(case.function, *case.operands)
    assert_near(found.results, case)
    assert found.reasons == ["writes at indices that are read"], [*map(str, found.decisions)]


def test_all_of_cross_entropy_is_taken(fresh_inductor):
    """The count of the targets too."""
    check(F.cross_entropy, leaf(12, 300), IGNORED)


def test_integers_of_any_size(fresh_inductor):
    """Float32 does not say whether two of them are equal, and selects none."""
    def function(x, first, second):
        y = torch.where(first == second, x, 0.0)
        place = x.argmax(-1, keepdim=True)
        return (y - y.mean(-1, keepdim=True), torch.where(place > 5, place, first), first + second,
                torch.where(first == 2 ** 24, x, 1).exp())

    first = torch.full((2, 3, 1), 2 ** 24 + 1)
    operands = on_device([normal(2, 3, 64), first, first - 1])
    found = run(function, *operands)
    for got, want in zip(found.results, as_list(function(*operands)), strict=True):
        torch.testing.assert_close(got, want)
