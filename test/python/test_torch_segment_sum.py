# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows that are added to places of a tensor: sums of segments, by hand and in compiled graphs."""

import pytest

torch = pytest.importorskip("torch")

from torch.nn import functional as F  # noqa: E402

import lnbwd.inductor  # noqa: E402
from lnbwd.ops import segment_sum as module  # noqa: E402
from lnbwd.ops.segment_sum import segment_sum  # noqa: E402

pytestmark = pytest.mark.compiler

F16, BF16, F32 = torch.float16, torch.bfloat16, torch.float32


def rows_of(count, segments, length, dtype, seed=0):
    random = torch.Generator().manual_seed(seed)
    return (torch.randn(count, length, generator=random).to(dtype),
            torch.randint(-1, segments + 1, (count,), generator=random))


def reference(values, index, segments, ignored=-1):
    """The sums and the sums of sizes, in float64."""
    is_there = (index >= 0) & (index < segments) & (index != ignored)
    values, index = values[is_there].double(), index[is_there]
    zeros = values.new_zeros(segments, values.shape[1])
    return zeros.index_add(0, index, values), zeros.index_add(0, index, values.abs())


def assert_sums(got, values, index, segments, ignored=-1):
    """Sums that are rounded once, of additions in float32: a tree's depth of roundings, at most
    that of 32 in a row, as many pieces, and both ends."""
    want, sizes = reference(values, index, segments, ignored)
    count = 96 + len(values) / 32
    bound = sizes * count * torch.finfo(F32).eps + want.abs() * torch.finfo(got.dtype).eps + 1e-30
    assert got.dtype == values.dtype and ((got.double() - want).abs() <= bound).all()


SIZES = {
    "one row": (1, 1, 8, F32),
    "a row less than a piece": (31, 5, 40, BF16),
    "one piece": (32, 3, 768, F32),
    "rows at any address": (100, 7, 17, F16),
    "segments of many pieces": (1000, 3, 64, F32),
    "elements": (300, 500, 1, F32),
    "more segments than rows": (257, 300, 1543, BF16),
    "long rows": (70, 2, 5000, F32),
}


@pytest.mark.parametrize("name", SIZES)
def test_sums(device, name, monkeypatch):
    """By counting and by sorting, with the same bits."""
    count, segments, length, dtype = SIZES[name]
    values, index = (one.to(device) for one in rows_of(count, segments, length, dtype))
    ignored = min(2, segments - 1)
    got = segment_sum(values, index, segments, ignored)
    assert_sums(got.cpu(), values.cpu(), index.cpu(), segments, ignored)
    monkeypatch.setattr(module, "MOST_COUNTED", 0)
    assert torch.equal(segment_sum(values, index, segments, ignored), got)


@pytest.mark.parametrize("index", [[5] * 70, [*range(70)], [*reversed(range(70))],
                                   [-(1 << 40), 1 << 40, *[0, 69] * 34]])
def test_orders(device, index):
    values = rows_of(70, 1, 24, F32)[0].to(device)
    index = torch.tensor(index, device=device)
    got = segment_sum(values, index, 70, -1)
    assert_sums(got.cpu(), values.cpu(), index.cpu(), 70)
    assert torch.equal(segment_sum(values, index.int(), 70, -1), got) or index.abs().max() > 70


def test_nothing_is_added(device):
    for values, segments in ((torch.empty(0, 8), 3), (torch.empty(4, 0), 3), (torch.ones(4, 8), 0)):
        got = segment_sum(values.to(device), torch.zeros(len(values), dtype=torch.int64).to(device),
                          segments, -1)
        assert got.shape == (segments, values.shape[1]) and not got.any()


@pytest.mark.simulator
def test_chips_have_the_same_bits():
    values, index = rows_of(200, 9, 96, F32)
    results = []
    for chip in ("gfx90a", "gfx950", "gfx1201"):
        with lnbwd.simulate(chip):
            results.append(segment_sum(values, index, 9, -1))
    assert torch.equal(results[0], results[1]) and torch.equal(results[0], results[2])


def test_without_kernels(device, no_kernels, new_process):
    values, index = (one.to(device) for one in rows_of(100, 7, 17, F32))
    assert_sums(segment_sum(values, index, 7, 3).cpu(), values.cpu(), index.cpu(), 7, 3)


def test_the_operator_is_one_of_pytorchs(device):
    values, index = (one.to(device) for one in rows_of(40, 5, 16, F32))
    torch.library.opcheck(segment_sum, (values, index, 5, -1))


# --------------------------------------------------------------------------------------------------
# Compiled graphs
# --------------------------------------------------------------------------------------------------


def lookup(table, index, scale):
    return F.embedding(index, table, padding_idx=3).float().sin() * scale


def indexed(table, index, scale):
    return table[index].float() * scale


def indexed_from_the_end(table, index, scale):
    return table[index - 50].float() * scale


def indexed_twice(table, index, scale):
    return table.view(5, 10, 64)[index % 5, index % 10].float() * scale


def gathered(table, index, scale):
    return torch.gather(table.view(10, 320), 1, index[0, :40].view(10, 4)).float() * scale[0, 0, 0]


@pytest.fixture
def calls(monkeypatch):
    """What the sums of segments in graphs are computed of."""
    made = []
    compute = module._sort

    def record(*arguments):
        made.append(arguments[1:])
        return compute(*arguments)

    monkeypatch.setattr(module, "_sort", record)
    return made


@pytest.mark.parametrize("function,dtype,is_deterministic", [
    (lookup, BF16, False), (lookup, F32, True), (indexed, F16, False), (indexed, F32, True),
    (indexed_from_the_end, BF16, False), (indexed_twice, BF16, False), (gathered, F32, True),
])
def test_gradients_of_tables(device, calls, fresh_inductor, function, dtype, is_deterministic):
    torch.use_deterministic_algorithms(is_deterministic)
    try:
        table, index = rows_of(50, 50, 64, dtype)[0], rows_of(400, 48, 1, dtype)[1].view(4, 100) + 1
        scale = torch.rand(4, 100, 64) + 0.5
        table, index, scale = (one.to(device) for one in (table, index, scale))
        table.requires_grad_()
        compiled = torch.compile(function, backend="lnbwd")
        found = [torch.autograd.grad(compiled(table, index, scale).sum(), table)[0]
                 for _ in range(2)]
        wide = table.detach().double().requires_grad_()
        [want] = torch.autograd.grad(function(wide, index, scale).double().sum(), wide)
    finally:
        torch.use_deterministic_algorithms(False)
    assert len(calls) == 2 and torch.equal(*found)
    # Each of some 8 terms, at most 2, and their sum are rounded to the table's type.
    tolerance = 40 * torch.finfo(dtype).eps
    torch.testing.assert_close(found[0].double(), want, atol=tolerance, rtol=tolerance)
    if function is not gathered:
        assert all(one.taken for one in lnbwd.inductor.decisions())


def test_float32_is_added_by_atomics(device, calls, fresh_inductor):
    """It takes less time, and is as precise; but its bits differ from run to run."""
    table, index = (one.to(device) for one in rows_of(50, 50, 64, F32))
    table.requires_grad_()
    compiled = torch.compile(lambda table, index: table[index].sin(), backend="lnbwd")
    torch.autograd.grad(compiled(table, index.clamp(0, 49)).sum(), table)
    assert not calls


def test_a_changing_number_of_rows_is_pytorchs(device, calls, fresh_inductor):
    table = rows_of(50, 50, 64, BF16)[0].to(device).requires_grad_()
    compiled = torch.compile(lambda table, index: F.embedding(index, table).sin(),
                             backend="lnbwd", dynamic=True)
    for count in (12, 30):
        index = torch.arange(count, device=device) % 7
        [found] = torch.autograd.grad(compiled(table, index).sum(), table)
        [want] = torch.autograd.grad(F.embedding(index, table).sin().sum(), table)
        torch.testing.assert_close(found, want)
    assert not calls
