# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels for plant_faults.py: each shares memory between waves, or has masks, strides, atomics."""

import pytest
import torch
import triton
import triton.language as tl


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(3)


def near(got, want, tol=1e-4):
    torch.testing.assert_close(got.cpu(), want, rtol=tol, atol=tol)


@triton.jit
def row_moments(x, out, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], tl.float32)
    squares = tl.zeros([BLOCK], tl.float32)
    for k in range(0, n, BLOCK):
        o = k + tl.arange(0, BLOCK)
        v = tl.load(x + row * stride + o, mask=o < n, other=0.0)
        total += v
        squares += v * v
    mean = tl.sum(total) / n
    tl.store(out + row * 2, mean)
    tl.store(out + row * 2 + 1, tl.sum(squares) / n - mean * mean)


def test_row_moments():
    x = torch.randn(6, 700)
    out = torch.empty(6, 2, device="cuda")
    row_moments[(6,)](x.cuda(), out, 700, 700, 512)
    near(out, torch.stack([x.mean(1), x.var(1, unbiased=False)], 1))


@triton.jit
def turn(x, y, M, N, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    v = tl.load(x + m[:, None] * N + n[None, :], mask=(m[:, None] < M) & (n[None, :] < N))
    tl.store(y + n[:, None] * M + m[None, :], tl.trans(v),
             mask=(n[:, None] < N) & (m[None, :] < M))


def test_turn():
    x = torch.randn(70, 90)
    y = torch.empty(90, 70, device="cuda")
    turn[(3, 3)](x.cuda(), y, 70, 90, 32, 32)
    near(y, x.T.contiguous())


@triton.jit
def count_bins(x, bins, n, BINS: tl.constexpr, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + o, mask=o < n, other=0)
    tl.atomic_add(bins + v % BINS, 1, mask=o < n)


def test_count_bins():
    x = torch.randint(0, 1000, (900,), dtype=torch.int32)
    bins = torch.zeros(16, dtype=torch.int32, device="cuda")
    count_bins[(4,)](x.cuda(), bins, 900, 16, 256)
    assert torch.equal(bins.cpu(), torch.bincount(x % 16, minlength=16).int())


@triton.jit
def column_sums(x, out, M, N, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    v = tl.load(x + m[:, None] * N + n[None, :], mask=(m[:, None] < M) & (n[None, :] < N),
                other=0.0)
    tl.atomic_add(out + n, tl.sum(v, 0), mask=n < N)


def test_column_sums():
    x = torch.randn(100, 72)
    out = torch.zeros(72, device="cuda")
    column_sums[(4, 2)](x.cuda(), out, 100, 72, 32, 64)
    near(out, x.sum(0), 1e-3)


@triton.jit
def linear(x, w, b, y, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for at in range(0, K, BK):
        left = tl.load(x + m[:, None] * K + (at + k)[None, :],
                       mask=(m[:, None] < M) & (at + k[None, :] < K), other=0.0)
        right = tl.load(w + (at + k)[:, None] * N + n[None, :],
                        mask=(at + k[:, None] < K) & (n[None, :] < N), other=0.0)
        acc = tl.dot(left, right, acc)
    acc += tl.load(b + n, mask=n < N, other=0.0)[None, :]
    tl.store(y + m[:, None] * N + n[None, :], tl.maximum(acc, 0.0),
             mask=(m[:, None] < M) & (n[None, :] < N))


@pytest.mark.parametrize("stages", [1, 2])
def test_linear(stages):
    x, w, b = torch.randn(60, 80).half(), torch.randn(80, 50).half(), torch.randn(50)
    y = torch.empty(60, 50, device="cuda")
    linear[(2, 2)](x.cuda(), w.cuda(), b.cuda(), y, 60, 50, 80, 32, 32, 32, num_stages=stages)
    near(y, (x.float() @ w.float() + b).relu(), 2e-2)


@triton.jit
def running_sum(x, y, n, BLOCK: tl.constexpr):
    carry = 0.0
    for k in range(0, n, BLOCK):
        o = k + tl.arange(0, BLOCK)
        v = tl.load(x + o, mask=o < n, other=0.0)
        tl.store(y + o, tl.cumsum(v, 0) + carry, mask=o < n)
        carry += tl.sum(v)


def test_running_sum():
    x = torch.rand(1100)
    y = torch.empty(1100, device="cuda")
    running_sum[(1,)](x.cuda(), y, 1100, 512)
    near(y, x.double().cumsum(0).float(), 1e-3)


@triton.jit
def rotate(x, scratch, y, N: tl.constexpr, BY: tl.constexpr):
    o = tl.arange(0, N)
    tl.store(scratch + o, tl.load(x + o) * 2)
    tl.debug_barrier()
    tl.store(y + o, tl.load(scratch + (o + BY) % N))


@pytest.mark.parametrize("by", [1, 100])
def test_rotate(by):
    x = torch.randn(512)
    scratch, y = torch.zeros(512, device="cuda"), torch.empty(512, device="cuda")
    rotate[(1,)](x.cuda(), scratch, y, 512, by)
    near(y, torch.roll(2 * x, -by))


@triton.jit
def online_softmax(x, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    top = -float("inf")
    total = 0.0
    for k in range(0, n, BLOCK):
        o = k + tl.arange(0, BLOCK)
        v = tl.load(x + row * n + o, mask=o < n, other=-float("inf"))
        new = tl.maximum(top, tl.max(v))
        total = total * tl.exp(top - new) + tl.sum(tl.exp(v - new))
        top = new
    for k in range(0, n, BLOCK):
        o = k + tl.arange(0, BLOCK)
        v = tl.load(x + row * n + o, mask=o < n, other=-float("inf"))
        tl.store(y + row * n + o, tl.exp(v - top) / total, mask=o < n)


def test_online_softmax():
    x = torch.randn(3, 600) * 3
    y = torch.empty(3, 600, device="cuda")
    online_softmax[(3,)](x.cuda(), y, 600, 256)
    near(y, x.softmax(1))


@triton.jit
def best(x, where, value, n, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    o = tl.arange(0, BLOCK)
    v = tl.load(x + r[:, None] * n + o[None, :], mask=o[None, :] < n, other=-float("inf"))
    tl.store(where + r, tl.argmax(v, 1))
    tl.store(value + r, tl.max(v, 1))


def test_best():
    x = torch.randn(16, 200)
    where = torch.empty(16, dtype=torch.int32, device="cuda")
    value = torch.empty(16, device="cuda")
    best[(2,)](x.cuda(), where, value, 200, 8, 256)
    assert torch.equal(where.cpu(), x.argmax(1).int())
    near(value, x.amax(1))


@triton.jit
def group_norm(x, w, b, y, C: tl.constexpr, S, BC: tl.constexpr, BS: tl.constexpr):
    group = tl.program_id(0)
    c = tl.arange(0, BC)
    s = tl.arange(0, BS)
    at = (group * C + c)[:, None] * S + s[None, :]
    inside = (c[:, None] < C) & (s[None, :] < S)
    v = tl.load(x + at, mask=inside, other=0.0)
    mean = tl.sum(tl.sum(v, 1), 0) / (C * S)
    d = tl.where(inside, v - mean, 0.0)
    scale = 1 / tl.sqrt(tl.sum(tl.sum(d * d, 1), 0) / (C * S) + 1e-5)
    gain = tl.load(w + group * C + c, mask=c < C)
    offset = tl.load(b + group * C + c, mask=c < C)
    tl.store(y + at, d * scale * gain[:, None] + offset[:, None], mask=inside)


def test_group_norm():
    x, w, b = torch.randn(1, 12, 50), torch.randn(12), torch.randn(12)
    y = torch.empty(1, 12, 50, device="cuda")
    group_norm[(4,)](x.cuda(), w.cuda(), b.cuda(), y, 3, 50, 4, 64)
    near(y, torch.nn.functional.group_norm(x, 4, w, b))


@triton.jit
def order(x, y, N: tl.constexpr):
    o = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(y + o, tl.sort(tl.load(x + o)))


def test_order():
    x = torch.randn(2, 512)
    y = torch.empty_like(x, device="cuda")
    order[(2,)](x.cuda(), y, 512)
    near(y, x.sort(1).values)


@triton.jit
def total(x, part, count, out, n, GROUPS: tl.constexpr, BLOCK: tl.constexpr):
    p = tl.program_id(0)
    o = p * BLOCK + tl.arange(0, BLOCK)
    tl.store(part + p, tl.sum(tl.load(x + o, mask=o < n, other=0.0)))
    tl.debug_barrier()
    if tl.atomic_add(count, 1, sem="acq_rel") == GROUPS - 1:
        tl.store(out, tl.sum(tl.load(part + tl.arange(0, GROUPS), cache_modifier=".cv")))


def test_total():
    x = torch.randn(1000)
    part, out = torch.empty(4, device="cuda"), torch.empty(1, device="cuda")
    count = torch.zeros(1, dtype=torch.int32, device="cuda")
    total[(4,)](x.cuda(), part, count, out, 1000, 4, 256)
    near(out, x.sum()[None], 1e-3)


@triton.jit
def pick(table, index, y, rows, n, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    o = tl.arange(0, BLOCK)
    at = tl.load(index + r)
    v = tl.load(table + at * n + o, mask=(o < n) & (at < rows), other=0.0)
    tl.store(y + r * n + o, v, mask=o < n)


def test_pick():
    table, index = torch.randn(20, 100), torch.randint(0, 20, (8,), dtype=torch.int32)
    y = torch.empty(8, 100, device="cuda")
    pick[(8,)](table.cuda(), index.cuda(), y, 20, 100, 128)
    near(y, table[index.long()])
