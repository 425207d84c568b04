# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Integers in compiled graphs: the results have the bits of PyTorch's."""

import pytest

pytest.importorskip("torch")

import torch
import torch.nn.functional as F
from torch._inductor.utils import fresh_cache
from torch.utils._pytree import tree_leaves

import lnbwd
from lnbwd import inductor

OF_INTEGERS = {}


def of_integers(*tensors):
    """A case of these tensors: a function whose results have the same bits."""
    def add(function):
        OF_INTEGERS[function.__name__] = function, tensors

    return add


def integers(dtype, *shape):
    """Integers of all bits."""
    generator = torch.Generator().manual_seed(len(shape))
    return torch.randint(0, 256, (*shape, dtype.itemsize), generator=generator,
                         dtype=torch.uint8).view(dtype)[..., 0].contiguous()


@of_integers(integers(torch.int64, 32, 64), integers(torch.int64, 64))
def wide(x, y):
    return (x * y ^ (x >> 3)) & (y | x), x < y, torch.minimum(x, y), torch.where(x > y, x, y - 1)


@of_integers(integers(torch.int32, 32, 64), integers(torch.int32, 32, 1))
def divided(x, y):
    return x // 7 + x % 5, x.to(torch.int16), x.long() + 2 ** 40, (x * 1000).to(torch.int8), y.abs()


@of_integers(integers(torch.int8, 32, 64), integers(torch.uint8, 64))
def narrow(x, y):
    return x + x, x * x, y >> 4, y + 200, x.float() * y, -x, ~y, x.abs(), y.abs()


@of_integers(integers(torch.int64, 32, 64))
def reduced(x):
    return (x & 1).ne(0).sum(-1), x.sum(-1), x.amax(-1), x.amin(-1), (x >> 40).sum()


@of_integers(torch.linspace(-200, 200, 512).reshape(8, 64))
def rounded(x):
    return x.to(torch.int32), x.round().clamp(-128, 127).to(torch.int8), (x * 9).long()


@of_integers()
def filled():
    return torch.zeros(8, 64), torch.arange(4096) * 2 ** 40, torch.ones(64, 64).tril()


@of_integers(integers(torch.int64, 16, 64))
def positions(x):
    return (x & 1).ne(1).int() * torch.arange(64) + 1


@of_integers(torch.arange(480.).reshape(4, 10, 12))
def padded_by_reflection(x):
    return F.pad(x, (2, 2), mode="reflect") * 2, F.pad(x, (3, 2), mode="replicate") * 2, x.flip(1)


@of_integers(torch.arange(512.).reshape(8, 64), integers(torch.int64, 64) % 64)
def elements_at_indices(x, columns):
    return x[:, columns] * 2, x.gather(1, columns[:8, None])[:, 0] + 1


@of_integers(torch.arange(480.).reshape(30, 16), torch.arange(480.).reshape(20, 24))
def rows_of_two_lengths(x, y):
    return (x + y.reshape(30, 16)).amax(-1), x * (torch.arange(480) // 7).reshape(30, 16)


@pytest.mark.parametrize("name", OF_INTEGERS)
def test_integers(name):
    function, tensors = OF_INTEGERS[name]
    torch._dynamo.reset()
    with lnbwd.simulate(), fresh_cache():
        inductor.decisions(clear=True)
        got = torch.compile(function, backend="lnbwd")(*tensors)
        made = inductor.decisions(clear=True)
    for mine, want in zip(tree_leaves(got), tree_leaves(function(*tensors)), strict=True):
        assert mine.dtype == want.dtype and torch.equal(mine, want)
    assert made and all(one.taken for one in made), [one.reason for one in made]


def test_a_count_in_place():
    """A batch norm counts its calls in an integer that it reads and writes."""
    norm = torch.nn.BatchNorm1d(8).train()
    with lnbwd.simulate("gfx942"), fresh_cache():
        inductor.decisions(clear=True)
        torch.compile(norm, backend="lnbwd")(torch.randn(4, 8))
        assert all(one.taken for one in inductor.decisions())
    assert norm.num_batches_tracked == 1
