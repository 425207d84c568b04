# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of Triton against PyTorch: reductions, scans, sorts, layouts, atomics, control flow."""

import pytest
import torch
import triton
import triton.language as tl


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


F = {
    "f32": torch.float32,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "f64": torch.float64,
    "i8": torch.int8,
    "i16": torch.int16,
    "i32": torch.int32,
    "i64": torch.int64,
}


def rnd(t, *shape):
    if t[0] == "i":
        return torch.randint(-50, 50, shape).to(F[t])
    return torch.randn(*shape, dtype=torch.float64).to(F[t])


def close(got, want, tol=None):
    got = got.cpu()
    if want.dtype.is_floating_point:
        tol = (
            tol
            or {
                torch.float32: 1e-4,
                torch.float64: 1e-9,
                torch.float16: 2e-2,
                torch.bfloat16: 6e-2,
            }[want.dtype]
        )
        torch.testing.assert_close(got, want.to(got.dtype), rtol=tol, atol=tol)
    else:
        assert torch.equal(got, want.to(got.dtype)), (got, want)


@triton.jit
def reduce2d(x, out, M: tl.constexpr, N: tl.constexpr, OP: tl.constexpr, AX: tl.constexpr):
    om = tl.arange(0, M)
    on = tl.arange(0, N)
    v = tl.load(x + om[:, None] * N + on[None, :])
    if OP == "sum":
        r = tl.sum(v, axis=AX)
    elif OP == "max":
        r = tl.max(v, axis=AX)
    elif OP == "min":
        r = tl.min(v, axis=AX)
    elif OP == "argmax":
        r = tl.argmax(v, axis=AX)
    elif OP == "argmin":
        r = tl.argmin(v, axis=AX)
    elif OP == "xor":
        r = tl.xor_sum(v, axis=AX)
    tl.store(out + tl.arange(0, N if AX == 0 else M), r)


@pytest.mark.parametrize("shape", [(16, 64), (128, 8), (64, 128), (2, 512)])
@pytest.mark.parametrize("ax", [0, 1])
@pytest.mark.parametrize("opn", ["sum", "max", "min", "argmax", "argmin"])
@pytest.mark.parametrize("t", ["f32", "f16", "i32", "i64", "bf16", "i8", "f64"])
def test_reduce2d(t, opn, ax, shape):
    if t in ("bf16", "i8", "f64", "f16") and (shape != (16, 64)):
        pytest.skip("fewer")
    M, N = shape
    x = rnd(t, M, N)
    if opn.startswith("arg"):
        x = torch.stack([torch.randperm(M * N)]).view(M, N)
        if t in ("i8", "bf16"):
            pytest.skip("ties")
        x = x.to(F[t]) if t != "f16" else (x.float() / 2).to(F[t])
    want = {
        "sum": lambda: x.sum(ax).to(x.dtype),
        "max": lambda: x.amax(ax),
        "min": lambda: x.amin(ax),
        "argmax": lambda: x.argmax(ax).int(),
        "argmin": lambda: x.argmin(ax).int(),
    }[opn]()
    out = torch.empty(want.shape, dtype=want.dtype, device="cuda")
    reduce2d[(1,)](x.cuda(), out, M, N, opn, ax)
    close(out, want)


@triton.jit
def combine_prod(a, b):
    return a * b


@triton.jit
def combine_welford(m1, s1, w1, m2, s2, w2):
    d = m2 - m1
    w = w1 + w2
    r = tl.where(w == 0.0, 0.0, w2 / w)
    return m1 + d * r, s1 + s2 + d * d * w1 * r, w


@triton.jit
def welford(x, mean, var, N: tl.constexpr):
    o = tl.arange(0, N)
    v = tl.load(x + o)
    m, s, w = tl.reduce((v, tl.zeros_like(v), tl.full([N], 1.0, tl.float32)), 0, combine_welford)
    tl.store(mean, m)
    tl.store(var, s / w)


@pytest.mark.parametrize("n", [64, 128, 1024, 4096])
@pytest.mark.parametrize("warps", [1, 4, 8])
@pytest.mark.parametrize("centred", [False, True])
def test_welford(n, warps, centred):
    # With a mean near 0, lanes that combine in another order have another one.
    x = torch.randn(n)
    x -= x.mean() * centred
    m = torch.empty(1, device="cuda")
    v = torch.empty(1, device="cuda")
    welford[(1,)](x.cuda(), m, v, n, num_warps=warps)
    close(m, x.mean()[None])
    close(v, x.var(unbiased=False)[None])


@triton.jit
def prod3(x, out, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr, AX: tl.constexpr):
    o = (
        tl.arange(0, A)[:, None, None] * B * C
        + tl.arange(0, B)[None, :, None] * C
        + tl.arange(0, C)[None, None, :]
    )
    r = tl.reduce(tl.load(x + o), AX, combine_prod)
    if AX == 0:
        p = tl.arange(0, B)[:, None] * C + tl.arange(0, C)[None, :]
    elif AX == 1:
        p = tl.arange(0, A)[:, None] * C + tl.arange(0, C)[None, :]
    else:
        p = tl.arange(0, A)[:, None] * B + tl.arange(0, B)[None, :]
    tl.store(out + p, r)


@pytest.mark.parametrize("ax", [0, 1, 2])
def test_prod3(ax):
    x = torch.rand(4, 16, 32) + 0.5
    want = x.prod(ax)
    out = torch.empty_like(want, device="cuda")
    prod3[(1,)](x.cuda(), out, 4, 16, 32, ax)
    close(out, want)


@triton.jit
def scan2d(
    x, out, M: tl.constexpr, N: tl.constexpr, OP: tl.constexpr, AX: tl.constexpr, REV: tl.constexpr
):
    o = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    v = tl.load(x + o)
    if OP == "cumsum":
        r = tl.cumsum(v, axis=AX, reverse=REV)
    elif OP == "cumprod":
        r = tl.cumprod(v, axis=AX, reverse=REV)
    else:
        r = tl.associative_scan(v, AX, combine_max, reverse=REV)
    tl.store(out + o, r)


@triton.jit
def combine_max(a, b):
    return tl.maximum(a, b)


@pytest.mark.parametrize("rev", [False, True])
@pytest.mark.parametrize("ax", [0, 1])
@pytest.mark.parametrize("opn", ["cumsum", "cumprod", "cummax"])
@pytest.mark.parametrize("t", ["f32", "i32", "f16", "f64"])
def test_scan(t, opn, ax, rev):
    M, N = 32, 64
    x = rnd(t, M, N) if opn != "cumprod" else (torch.rand(M, N) * 0.2 + 0.9).to(F[t])
    if opn == "cumprod" and t == "i32":
        x = torch.randint(-1, 2, (M, N)).to(F[t])
    y = x.flip(ax) if rev else x
    y = y.double() if t != "i32" else y.long()
    want = {
        "cumsum": lambda: y.cumsum(ax),
        "cumprod": lambda: y.cumprod(ax),
        "cummax": lambda: y.cummax(ax).values,
    }[opn]()
    want = (want.flip(ax) if rev else want).to(F[t])
    out = torch.empty_like(x, device="cuda")
    scan2d[(1,)](x.cuda(), out, M, N, opn, ax, rev)
    if t == "f16":
        torch.testing.assert_close(out.cpu(), want, rtol=5e-2, atol=0.3)
    else:
        close(out, want)


@triton.jit
def linrec(a1, b1, a2, b2):
    return a1 * a2, b1 * a2 + b2


@triton.jit
def linear_scan(a, b, out, N: tl.constexpr):
    o = tl.arange(0, N)
    _x, y = tl.associative_scan((tl.load(a + o), tl.load(b + o)), 0, linrec)
    tl.store(out + o, y)


@pytest.mark.parametrize("n,w", [(64, 1), (512, 4), (2048, 8)])
def test_linear_scan(n, w):
    a, b = torch.rand(n), torch.randn(n)
    s = 0.0
    want = []
    for p, q in zip(a.double().tolist(), b.double().tolist(), strict=False):
        s = s * p + q
        want.append(s)
    out = torch.empty(n, device="cuda")
    linear_scan[(1,)](a.cuda(), b.cuda(), out, n, num_warps=w)
    close(out, torch.tensor(want).float())


@triton.jit
def sort2d(x, out, M: tl.constexpr, N: tl.constexpr, DESC: tl.constexpr):
    o = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out + o, tl.sort(tl.load(x + o), descending=DESC))


@pytest.mark.parametrize("desc", [False, True])
@pytest.mark.parametrize("t", ["f32", "i32", "f16", "i8", "i64"])
@pytest.mark.parametrize("n", [16, 128])
def test_sort(t, desc, n):
    x = rnd(t, 8, n)
    out = torch.empty_like(x, device="cuda")
    sort2d[(1,)](x.cuda(), out, 8, n, desc)
    close(out, x.sort(1, descending=desc).values)


@triton.jit
def topk(x, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    o = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(
        out + tl.arange(0, M)[:, None] * K + tl.arange(0, K)[None, :], tl.topk(tl.load(x + o), K)
    )


@pytest.mark.parametrize("k", [1, 8, 32])
def test_topk(k):
    x = torch.randn(4, 64)
    out = torch.empty(4, k, device="cuda")
    topk[(1,)](x.cuda(), out, 4, 64, k)
    close(out, x.topk(k, 1).values)


@triton.jit
def hist(x, out, N: tl.constexpr, B: tl.constexpr):
    tl.store(out + tl.arange(0, B), tl.histogram(tl.load(x + tl.arange(0, N)), B))


@pytest.mark.parametrize("n,b", [(256, 16), (2048, 64), (1024, 256), (512, 2)])
def test_hist(n, b):
    x = torch.randint(0, b, (n,), dtype=torch.int32)
    out = torch.empty(b, dtype=torch.int32, device="cuda")
    hist[(1,)](x.cuda(), out, n, b)
    close(out, torch.bincount(x, minlength=b).int())


@triton.jit
def shapes(x, out, M: tl.constexpr, N: tl.constexpr, OP: tl.constexpr):
    o = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    v = tl.load(x + o)
    if OP == "trans":
        tl.store(out + tl.arange(0, N)[:, None] * M + tl.arange(0, M)[None, :], tl.trans(v))
    elif OP == "flip":
        tl.store(out + o, tl.flip(v, 1))
    elif OP == "flip0":
        tl.store(out + o, tl.flip(v, 0))
    elif OP == "reshape":
        tl.store(out + tl.arange(0, M * N), tl.reshape(v, [M * N]))
    elif OP == "permute":
        tl.store(
            out + tl.arange(0, M * N),
            tl.reshape(tl.permute(tl.reshape(v, [M, N // 4, 4]), [2, 0, 1]), [M * N]),
        )
    elif OP == "split":
        a, b = tl.split(tl.reshape(v, [M, N // 2, 2]))
        tl.store(out + tl.arange(0, M)[:, None] * (N // 2) + tl.arange(0, N // 2)[None, :], a - b)
    elif OP == "join":
        tl.store(out + tl.arange(0, M * N * 2), tl.reshape(tl.join(v, v * 2), [M * N * 2]))
    elif OP == "interleave":
        tl.store(
            out + tl.arange(0, M)[:, None] * N * 2 + tl.arange(0, 2 * N)[None, :],
            tl.interleave(v, -v),
        )
    elif OP == "cat":
        tl.store(
            out + tl.arange(0, M * N * 2),
            tl.cat(tl.reshape(v, [M * N]), tl.reshape(v + 1, [M * N]), can_reorder=False),
        )
    elif OP == "bcast":
        tl.store(out + o, v + tl.sum(v, 1)[:, None] + tl.max(v, 0)[None, :])
    elif OP == "gather":
        idx = (tl.arange(0, M)[:, None] * 7 + tl.arange(0, N)[None, :] * 3) % N
        tl.store(out + o, tl.gather(v, idx, 1))
    elif OP == "gather0":
        idx = (tl.arange(0, M)[:, None] * 5 + tl.arange(0, N)[None, :]) % M
        tl.store(out + o, tl.gather(v, idx, 0))


@pytest.mark.parametrize("t", ["f32", "f16", "i8", "i64"])
@pytest.mark.parametrize(
    "opn",
    [
        "trans",
        "flip",
        "flip0",
        "reshape",
        "permute",
        "split",
        "join",
        "interleave",
        "cat",
        "bcast",
        "gather",
        "gather0",
    ],
)
@pytest.mark.parametrize("shape", [(16, 32), (64, 64)])
def test_shapes(opn, t, shape):
    if shape == (64, 64) and t in ("f16", "i64"):
        pytest.skip("fewer")
    M, N = shape
    x = rnd(t, M, N)
    if t == "i8":
        x = x % 10
    i, j = torch.arange(M)[:, None], torch.arange(N)[None, :]
    want = {
        "trans": lambda: x.t().contiguous(),
        "flip": lambda: x.flip(1),
        "flip0": lambda: x.flip(0),
        "reshape": lambda: x.reshape(-1),
        "permute": lambda: x.view(M, N // 4, 4).permute(2, 0, 1).reshape(-1),
        "split": lambda: x[:, ::2] - x[:, 1::2],
        "join": lambda: torch.stack([x, x * 2], -1).reshape(-1),
        "interleave": lambda: torch.stack([x, -x], -1).reshape(M, 2 * N),
        "cat": lambda: torch.cat([x.reshape(-1), x.reshape(-1) + 1]),
        "bcast": lambda: x + x.sum(1, keepdim=True).to(x.dtype) + x.amax(0, keepdim=True),
        "gather": lambda: x.gather(1, (i * 7 + j * 3) % N),
        "gather0": lambda: x.gather(0, (i * 5 + j) % M),
    }[opn]()
    out = torch.empty_like(want, device="cuda")
    shapes[(1,)](x.cuda(), out, M, N, opn)
    close(out, want)


# ---- atomics
@triton.jit
def atomics(
    x,
    out,
    n,
    OP: tl.constexpr,
    BLOCK: tl.constexpr,
    BINS: tl.constexpr,
    SEM: tl.constexpr,
    SCOPE: tl.constexpr,
):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = o < n
    v = tl.load(x + o, mask=m)
    p = out + o % BINS
    if OP == "add":
        tl.atomic_add(p, v, mask=m, sem=SEM, scope=SCOPE)
    elif OP == "max":
        tl.atomic_max(p, v, mask=m, sem=SEM, scope=SCOPE)
    elif OP == "min":
        tl.atomic_min(p, v, mask=m, sem=SEM, scope=SCOPE)
    elif OP == "and":
        tl.atomic_and(p, v, mask=m, sem=SEM, scope=SCOPE)
    elif OP == "or":
        tl.atomic_or(p, v, mask=m, sem=SEM, scope=SCOPE)
    elif OP == "xor":
        tl.atomic_xor(p, v, mask=m, sem=SEM, scope=SCOPE)


@pytest.mark.parametrize(
    "sem,scope", [("relaxed", "gpu"), ("acq_rel", "gpu"), ("acquire", "cta"), ("release", "sys")]
)
@pytest.mark.parametrize(
    "opn,t",
    [
        ("add", "f32"),
        ("add", "f16"),
        ("add", "bf16"),
        ("add", "f64"),
        ("add", "i32"),
        ("add", "i64"),
        ("max", "f32"),
        ("min", "f32"),
        ("max", "i32"),
        ("min", "i64"),
        ("and", "i32"),
        ("or", "i64"),
        ("xor", "i32"),
        ("max", "f64"),
    ],
)
def test_atomics(opn, t, sem, scope):
    if sem != "relaxed" and t not in ("f32", "i32"):
        pytest.skip("fewer")
    blocks = 1 if scope == "cta" else 3
    n, bins = 256 * blocks - 17, 32
    x = rnd(t, n)
    init = (torch.zeros(bins) if opn != "and" else torch.full((bins,), -1)).to(F[t])
    want = init.clone()
    idx = torch.arange(n) % bins
    if opn == "add":
        want = torch.zeros(bins, dtype=torch.float64).index_add(0, idx, x.double()).to(F[t])
    elif opn in ("max", "min"):
        want = want.scatter_reduce(0, idx, x, "amax" if opn == "max" else "amin")
    else:
        for i, v in zip(idx.tolist(), x.tolist(), strict=False):
            w = int(want[i])
            want[i] = w & v if opn == "and" else w | v if opn == "or" else w ^ v
    out = init.cuda()
    atomics[(blocks,)](x.cuda(), out, n, opn, 256, bins, sem, scope)
    if t in ("f16", "bf16"):
        torch.testing.assert_close(out.cpu(), want, rtol=0.1, atol=0.5)
    else:
        close(out, want)


@triton.jit
def lock_sum(x, out, lock, count, n, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.sum(tl.load(x + o, mask=o < n, other=0.0))
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    c = tl.load(count)
    tl.debug_barrier()
    if c == 0:
        tl.store(out, v)
    else:
        tl.store(out, tl.load(out) + v)
    tl.store(count, c + 1)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


def test_lock():
    x = torch.randn(2000)
    out = torch.zeros(1, device="cuda")
    lock = torch.zeros(1, dtype=torch.int32, device="cuda")
    c = torch.zeros_like(lock)
    lock_sum[(8,)](x.cuda(), out, lock, c, 2000, 256)
    close(out, x.sum()[None])


@triton.jit
def last_block(x, part, count, out, n, G: tl.constexpr, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(part + tl.program_id(0), tl.sum(tl.load(x + o, mask=o < n, other=0.0)))
    tl.debug_barrier()
    if tl.atomic_add(count, 1, sem="acq_rel") == G - 1:
        tl.debug_barrier()
        tl.store(out, tl.sum(tl.load(part + tl.arange(0, G), volatile=True)))


def test_last_block():
    x = torch.randn(2000)
    out = torch.zeros(1, device="cuda")
    c = torch.zeros(1, dtype=torch.int32, device="cuda")
    p = torch.empty(8, device="cuda")
    last_block[(8,)](x.cuda(), p, c, out, 2000, 8, 256)
    close(out, x.sum()[None])


@triton.jit
def cas_kernel(p, out, T: tl.constexpr):
    i = tl.program_id(0)
    old = tl.atomic_cas(p + i, (i % 2).to(p.dtype.element_ty), (i + 100).to(p.dtype.element_ty))
    tl.store(out + i, old)


@pytest.mark.parametrize("t", ["i32", "i64"])
def test_cas(t):
    x = (torch.arange(16) % 4).to(F[t])
    p = x.cuda()
    out = torch.empty_like(p)
    cas_kernel[(16,)](p, out, 0)
    i = torch.arange(16)
    close(out, x)
    close(p, torch.where(x == i % 2, i + 100, x).to(F[t]))


@triton.jit
def xchg(x, p, old, N: tl.constexpr):
    o = tl.arange(0, N)
    tl.store(old + o, tl.atomic_xchg(p + o, tl.load(x + o)))


@pytest.mark.parametrize("t", ["f32", "i32", "i64"])
def test_xchg(t):
    x, y = rnd(t, 128), rnd(t, 128)
    p = y.cuda()
    old = torch.empty_like(p)
    xchg[(1,)](x.cuda(), p, old, 128)
    close(p, x)
    close(old, y)


@triton.jit
def decoupled(x, out, flag, agg, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    o = pid * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + o, mask=o < n, other=0)
    s = tl.cumsum(v, 0)
    total = tl.sum(v)
    prefix = tl.zeros((), tl.int32)
    if pid > 0:
        while tl.atomic_add(flag + pid - 1, 0, sem="acquire") == 0:
            pass
        prefix = tl.load(agg + pid - 1, volatile=True)
    tl.store(agg + pid, prefix + total)
    tl.debug_barrier()
    tl.atomic_xchg(flag + pid, 1, sem="release")
    tl.store(out + o, s + prefix, mask=o < n)


def test_decoupled():
    x = torch.randint(0, 9, (1500,), dtype=torch.int32)
    out = torch.empty(1500, dtype=torch.int32, device="cuda")
    f = torch.zeros(6, dtype=torch.int32, device="cuda")
    a = torch.zeros_like(f)
    decoupled[(6,)](x.cuda(), out, f, a, 1500, 256)
    close(out, x.cumsum(0).int())


# ---- control flow, random numbers, calls
@triton.jit
def collatz(x, out, N: tl.constexpr):
    v = tl.load(x + tl.program_id(0))
    c = 0
    while v != 1:
        v = v // 2 if v % 2 == 0 else 3 * v + 1
        c += 1
    tl.store(out + tl.program_id(0), c)


def test_collatz():
    x = torch.arange(1, 30, dtype=torch.int32)
    out = torch.empty_like(x, device="cuda")
    collatz[(29,)](x.cuda(), out, 0)

    def c(v):
        k = 0
        while v != 1:
            v = v // 2 if v % 2 == 0 else 3 * v + 1
            k += 1
        return k

    close(out, torch.tensor([c(v) for v in range(1, 30)], dtype=torch.int32))


@triton.jit(noinline=True)
def helper(x, k):
    return tl.load(x + k) * 2 + 1


@triton.jit
def calls(x, out, N: tl.constexpr):
    v = 0.0
    for k in range(3):
        v += helper(x, k)
    tl.store(out, v)


@pytest.mark.parametrize("w", [1, 4])
def test_noinline(w):
    x = torch.randn(256)
    out = torch.empty(1, device="cuda")
    calls[(1,)](x.cuda(), out, 256, num_warps=w)
    close(out, (x[:3] * 2 + 1).sum()[None])


@triton.jit
def rands(out, KIND: tl.constexpr, N: tl.constexpr):
    o = tl.arange(0, N)
    if KIND == "rand":
        r = tl.rand(42, o)
    elif KIND == "randn":
        r = tl.randn(42, o)
    elif KIND == "randint":
        r = tl.randint(42, o).to(tl.float32)
    elif KIND == "rand4":
        a, b, c, d = tl.rand4x(42, o)
        r = (a + b + c + d) / 4
    else:
        r = tl.rand(42, o.to(tl.int64))
    tl.store(out + o, r)


@pytest.mark.parametrize("kind", ["rand", "randn", "randint", "rand4", "rand64"])
def test_rand(kind):
    out = torch.empty(1024, device="cuda")
    rands[(1,)](out, kind, 1024)
    v = out.cpu()
    assert v.isfinite().all() and v.unique().numel() > 900
    if kind == "rand":
        assert abs(v.mean() - 0.5) < 0.05
    if kind == "randn":
        assert abs(v.mean()) < 0.15 and abs(v.std() - 1) < 0.1


@triton.jit
def grid3(out, X: tl.constexpr, Y: tl.constexpr, Z: tl.constexpr):
    i = (tl.program_id(0) * Y + tl.program_id(1)) * Z + tl.program_id(2)
    tl.store(out + i, i + tl.num_programs(0) * 100 + tl.num_programs(1) * 10 + tl.num_programs(2))


def test_grid3():
    out = torch.empty(24, dtype=torch.int32, device="cuda")
    grid3[(4, 3, 2)](out, 4, 3, 2)
    close(out, torch.arange(24, dtype=torch.int32) + 432)


@triton.jit
def descs(x, out, M, N, BM: tl.constexpr, BN: tl.constexpr):
    d = tl.make_tensor_descriptor(x, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    e = tl.make_tensor_descriptor(out, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    i = tl.program_id(0) * BM
    for k in range(0, tl.cdiv(N, BN)):
        e.store([i, k * BN], d.load([i, k * BN]) * 2)


@pytest.mark.parametrize("kernel", [descs])
@pytest.mark.parametrize("t", ["f32", "f16", "i8"])
def test_blocks(kernel, t):
    x = rnd(t, 50, 80)
    out = torch.empty_like(x, device="cuda")
    kernel[(4,)](x.cuda(), out, 50, 80, 16, 32)
    close(out, x * 2)


@triton.jit
def caches(x, out, n, EV: tl.constexpr, CM: tl.constexpr, SM: tl.constexpr, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(
        out + o,
        tl.load(x + o, mask=o < n, eviction_policy=EV, cache_modifier=CM),
        mask=o < n,
        cache_modifier=SM,
    )


@pytest.mark.parametrize(
    "ev,cm,sm",
    [
        ("evict_first", "", ""),
        ("evict_last", ".ca", ".wb"),
        ("", ".cg", ".cg"),
        ("", ".cv", ".wt"),
        ("", "", ".cs"),
    ],
)
@pytest.mark.parametrize("t", ["f32", "f16", "i8", "f64"])
def test_caches(ev, cm, sm, t):
    x = rnd(t, 1000)
    out = torch.empty_like(x, device="cuda")
    caches[(2,)](x.cuda(), out, 1000, ev, cm, sm, 512)
    close(out, x)


@triton.jit
def inline(x, out, N: tl.constexpr):
    o = tl.arange(0, N)
    r = tl.inline_asm_elementwise(
        "v_xor_b32 $0, $1, 7", "=v,v", [tl.load(x + o)], dtype=tl.int32, is_pure=True, pack=1
    )
    tl.store(out + o, r)


def test_inline():
    x = rnd("i32", 256)
    out = torch.empty_like(x, device="cuda")
    inline[(1,)](x.cuda(), out, 256)
    close(out, x ^ 7)


@triton.jit
def scatter(x, idx, out, n, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = o < n
    tl.store(out + tl.load(idx + o, mask=m), tl.load(x + o, mask=m), mask=m)


@pytest.mark.parametrize("it", ["i32", "i64"])
@pytest.mark.parametrize("t", ["f32", "f16", "i8"])
def test_scatter(it, t):
    x = rnd(t, 900)
    p = torch.randperm(900)
    out = torch.empty_like(x, device="cuda")
    scatter[(4,)](x.cuda(), p.to(F[it]).cuda(), out, 900, 256)
    w = torch.empty_like(x)
    w[p] = x
    close(out, w)


@triton.jit
def binsearch(x, q, out, n, BLOCK: tl.constexpr):
    o = tl.arange(0, BLOCK)
    v = tl.load(q + o)
    lo = tl.zeros([BLOCK], tl.int32)
    hi = lo + n
    for _ in range(10):
        mid = (lo + hi) // 2
        a = lo < hi
        g = tl.load(x + mid, mask=a, other=0.0) < v
        lo = tl.where(a & g, mid + 1, lo)
        hi = tl.where(a & ~g, mid, hi)
    tl.store(out + o, lo)


def test_binsearch():
    x = torch.randn(600).sort().values
    q = torch.randn(128)
    out = torch.empty(128, dtype=torch.int32, device="cuda")
    binsearch[(1,)](x.cuda(), q.cuda(), out, 600, 128)
    close(out, torch.searchsorted(x, q).int())


@triton.jit
def asserts(x, out, N: tl.constexpr):
    o = tl.arange(0, N)
    v = tl.load(x + o)
    tl.device_assert(v >= 0, "negative")
    tl.assume(N > 0)
    tl.static_assert(N == 128)
    tl.store(out + o, tl.multiple_of(v, 1))


def test_asserts():
    x = torch.rand(128)
    out = torch.empty_like(x, device="cuda")
    asserts[(1,)](x.cuda(), out, 128)
    close(out, x)
