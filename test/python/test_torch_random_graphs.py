# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random functions of elementwise operations, sums over the row, and sums or maxima over all rows:
compiled, they give what PyTorch gives in float64. So do functions of more operations, on tensors
with few different sizes."""

import os

import pytest
import torch
from compiled import BF16, F32, Case, assert_near, normal, run
from drawn_graphs import FAILURES, Drawn
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lnbwd.inductor

pytestmark = pytest.mark.compiler

# Operations that let nothing grow: of values of the size 1, values of the size 1.
UNARY = [torch.tanh, torch.sigmoid, torch.neg, torch.erf, torch.nn.functional.gelu,
         lambda x: torch.exp(-x.abs()), lambda x: torch.rsqrt(x.square() + 0.5),
         lambda x: torch.nn.functional.silu(torch.tanh(x)), torch.sin, torch.cos,
         lambda x: (x.square() + 0.5) ** -1.3]
BINARY = [lambda x, y: (x + y) * 0.5, lambda x, y: x - torch.tanh(y), lambda x, y: x * y.sigmoid(),
          torch.maximum, torch.minimum, lambda x, y: x / (1 + y.square())]
ROW_SUMS = [lambda x: x.mean(-1, keepdim=True), lambda x: torch.tanh(x).sum(-1, True) / 8,
            lambda x: torch.rsqrt(x.var(-1, correction=0, keepdim=True) + 0.1),
            lambda x: x.amax(-1, keepdim=True), lambda x: x.amin(-1, keepdim=True),
            lambda x: x.max(-1, keepdim=True)[0]]
OVER_ROWS = [torch.sum, torch.amax]

STEP = st.one_of(
    st.tuples(st.just("unary"), st.integers(0, len(UNARY) - 1), st.integers(0, 20)),
    st.tuples(st.just("binary"), st.integers(0, len(BINARY) - 1), st.integers(0, 20),
              st.integers(0, 20)),
    st.tuples(st.just("row"), st.integers(0, len(ROW_SUMS) - 1), st.integers(0, 20),
              st.integers(0, 20)),
    st.tuples(st.just("where"), st.integers(0, 20), st.integers(0, 20)),
    st.tuples(st.just("reshape"), st.integers(0, 20)))


def make_function(steps, sums):
    """A function of two row blocks, a mask and a column. The steps take values by number, the
    latest first."""
    def function(x, h, mask, gamma):
        h = h.to(x.dtype)
        values = [x, h, h * gamma]
        # Of numbers that float32 has as well, so that comparisons fall the same way.
        masks = [mask, x > 0.25, torch.logical_or(mask, h <= 0)]

        def take(number):
            return values[-1 - number % len(values)]

        for name, *numbers in steps:
            if name == "unary":
                value = UNARY[numbers[0]](take(numbers[1]))
            elif name == "binary":
                value = BINARY[numbers[0]](take(numbers[1]), take(numbers[2]))
            elif name == "row":
                value = take(numbers[1]) - torch.tanh(ROW_SUMS[numbers[0]](take(numbers[2])))
            elif name == "where":
                value = torch.where(masks[numbers[0] % 3], take(numbers[1]), x)
            else:
                value = take(numbers[0]).reshape(-1, x.shape[-1]).reshape(x.shape) * 0.5
            values.append(value)
        outputs = [values[-1], values[-1].mean(-1)]
        return (*outputs, *(OVER_ROWS[which](take(number), (0, 1)) for which, number in sums),
                masks[2])

    return function


@given(steps=st.lists(STEP, min_size=3, max_size=9),
       sums=st.lists(st.tuples(st.integers(0, 1), st.integers(0, 20)), max_size=2),
       leading=st.sampled_from([(2, 3), (5, 1)]), n=st.sampled_from([16, 40, 65]),
       narrow=st.booleans())
@settings(max_examples=20 if os.environ.get("LNBWD_TEST_FULL") else 6, deadline=None,
          derandomize=True, database=None, suppress_health_check=list(HealthCheck))
def check(steps, sums, leading, n, narrow):
    case = Case(make_function(steps, sums), [
        normal(*leading, n), normal(*leading, n, seed=1, dtype=BF16 if narrow else F32),
        normal(*leading, n, seed=2) > -0.5, normal(n, seed=3)])
    found = run(case.function, *case.operands)
    assert_near(found.results, case)
    assert found.taken and not found.reasons


def test_random_graphs(fresh_inductor):
    check()


# What gave wrong results, or regions that did not compile: what is read in another order than it is
# computed in, views of paddings that cut, copies whose sizes are not those of what has their order,
# what is compared with its largest elements, groups of rows that others divide, parts of rows that
# lie apart, expanded tensors in their users' order.
ONCE_WRONG = [10100001, 10100237, 10100408, 10200076, 360100034, 360100064, 360100075, 360100137,
              360100158, 360100271, 360100274, 360300179, 360300285]
NEVER_WRONG = [7007, 7012, 7024, 7028]


@pytest.mark.parametrize("number", [pytest.param(
    number, marks=[] if place % 4 == 0 else [pytest.mark.full])
    for place, number in enumerate((*ONCE_WRONG, *NEVER_WRONG))])
def test_few_different_sizes(device, fresh_inductor, number):
    drawn = Drawn(number)
    drawn.operands = [operand.to(device) for operand in drawn.operands]
    assert not drawn.difference()
    made = lnbwd.inductor.decisions(clear=True)
    assert any(one.taken for one in made)
    assert not [one for one in made if any(what in one.reason for what in FAILURES)]
