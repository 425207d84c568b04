# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests of Triton kernels as somebody with a card writes them; test_pytest_plugin.py runs them."""

import pytest
import torch
import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = o < n
    tl.store(out + o, tl.load(x + o, mask=mask) + tl.load(y + o, mask=mask), mask=mask)


@triton.jit
def add_one_more(x, out, n, BLOCK: tl.constexpr):
    o = tl.arange(0, BLOCK)
    values = tl.load(x + o, mask=o <= n)
    tl.store(out + o, values, mask=o < n)


@triton.jit
def reverse(x, y, BLOCK: tl.constexpr):
    o = tl.arange(0, BLOCK)
    tl.store(y + o, tl.load(x + o))
    tl.store(x + o, tl.load(y + BLOCK - 1 - o))


@triton.jit
def add_under_lock(x, total, lock, LOCK: tl.constexpr, BLOCK: tl.constexpr):
    o = tl.arange(0, BLOCK)
    values = tl.load(x + tl.program_id(0) * BLOCK + o)
    if LOCK:
        while tl.atomic_cas(lock, 0, 1) == 1:
            pass
    tl.debug_barrier()
    tl.store(total + o, tl.load(total + o) + values)
    tl.debug_barrier()
    if LOCK:
        tl.atomic_xchg(lock, 0)


@triton.autotune(configs=[triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 128})], key=["n"])
@triton.jit
def scale(x, out, n, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + o, 2 * tl.load(x + o, mask=o < n), mask=o < n)


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        out = torch.empty_like(x)
        scale[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, out, x.numel())
        return out

    @staticmethod
    def backward(ctx, grad):
        assert grad.is_cuda
        out = torch.zeros(grad.shape, device="cuda")
        scale[lambda meta: (triton.cdiv(grad.numel(), meta["BLOCK"]),)](grad, out, grad.numel())
        return out


def test_right():
    x, y = (torch.rand(1000, device="cuda") for _ in range(2))
    out = torch.empty_like(x)
    add[(triton.cdiv(1000, 256),)](x, y, out, 1000, BLOCK=256)
    torch.testing.assert_close(out, x + y)
    assert out.is_cuda and out.device == triton.runtime.driver.active.get_active_torch_device()


def test_autograd_and_autotuner():
    x = torch.rand(200, device="cuda", requires_grad=True)
    weight = torch.rand(200, device="cuda")
    (Double.apply(x) * weight).sum().backward()
    torch.testing.assert_close(x.grad, 2 * weight)


def partly_written():
    x, out = torch.rand(64, device="cuda"), torch.empty(100, device="cuda")
    add[(1,)](x, x, out, 64, BLOCK=64)
    return x, out


def test_parts():
    x, out = partly_written()
    torch.testing.assert_close(out[:64], 2 * x)
    torch.testing.assert_close(out.cpu()[:64].double(), 2 * x.cpu().double())
    host = out.cpu()
    host[64:] = out[64:] = 0
    assert torch.equal(host, torch.cat([2 * x, out[64:]]).cpu()) and torch.equal(host, out.cpu())


def test_gaps():
    out = partly_written()[1]
    torch.testing.assert_close(out.cpu().double(), torch.zeros(100).double())


def test_copies():
    x = torch.ones(4, device="cuda")
    host = x.cpu()
    x += 1
    assert host.sum() == 4 and x.sum() == 8 and not host.is_cuda
    with pytest.raises(TypeError, match="type tensor to numpy"):
        x.numpy()
    with pytest.raises(ValueError, match="cpu tensor"):
        add[(1,)](host, host, host, 4, BLOCK=64)


def test_out_of_bounds():
    x, out = torch.rand(100, device="cuda"), torch.empty(100, device="cuda")
    add_one_more[(1,)](x, out, 100, BLOCK=128)


@triton.jit
def add_far(x, w, out, n, pitch, BLOCK: tl.constexpr):
    o = tl.arange(0, BLOCK)
    row = w + tl.program_id(0).to(tl.int64) * pitch
    tl.store(out + o, tl.load(x + o, mask=o < n) + tl.load(row + o, mask=o < n), mask=o < n)


def test_far_out_of_bounds():
    """In the second workgroup an address 2^30 bytes past w, and nearer to the others."""
    tensors = [torch.rand(64, device="cuda") for _ in range(3)]
    w, x, out = sorted(tensors, key=torch.Tensor.data_ptr)
    add_far[(2,)](x, w, out, 64, 1 << 28, BLOCK=64)


@triton.jit
def add_wide(x, out, n, step, MASK: tl.constexpr, BLOCK: tl.constexpr):
    """Offsets of 64 bits; with a mask, those beyond n are left out."""
    row, o = tl.program_id(0).to(tl.int64), tl.arange(0, BLOCK)
    at = row * step + o
    if MASK:
        tl.store(out + row * BLOCK + o, tl.load(x + at, mask=at < n, other=1.0) + 1)
    else:
        tl.store(out + row * BLOCK + o, tl.load(x + at) + 1)


@pytest.mark.parametrize("step, mask", [(64, False), (1 << 40, True), (1 << 40, False),
                                        (1 << 30, False)])
def test_wide_offset(step, mask):
    """The second workgroup reads far from x, at what wraps around in 32 bits to its beginning."""
    x, out = torch.ones(128, device="cuda"), torch.empty(128, device="cuda")
    add_wide[(2,)](x, out, 128, step, MASK=mask, BLOCK=64)
    assert out.sum() == 256


@triton.jit
def add_blocks(x, ids, out, stride, WIDE: tl.constexpr, BLOCK: tl.constexpr):
    o = tl.arange(0, BLOCK)
    block = tl.load(ids + tl.program_id(0))
    if WIDE:
        block = block.to(tl.int64)
    tl.store(out + tl.program_id(0) * BLOCK + o, tl.load(x + block * stride + o) + 1)


@pytest.mark.parametrize("wide", [False, True])
def test_blocks_far_apart(wide):
    """Right, but for a product of 32 bits that overflows from block 2143 on."""
    stride = 1002240
    x, out = torch.zeros(3 * stride, dtype=torch.int8, device="cuda"), torch.empty(
        2, 64, dtype=torch.int8, device="cuda")
    ids = torch.tensor([2, 1], dtype=torch.int32, device="cuda")
    add_blocks[(2,)](x, ids, out, stride, WIDE=wide, BLOCK=64)
    assert (out == 1).all()


@triton.jit
def sum_products(x, y, out, n, HALF: tl.constexpr, BLOCK: tl.constexpr):
    o = tl.arange(0, BLOCK)
    sums = tl.zeros([BLOCK, BLOCK], tl.float16 if HALF else tl.float32)
    for k in range(0, n, BLOCK):
        product = tl.dot(tl.load(x + o[:, None] * n + k + o),
                         tl.load(y + (k + o)[:, None] * BLOCK + o))
        sums += product.to(sums.dtype)
    tl.store(out + o[:, None] * BLOCK + o, sums)


@pytest.mark.parametrize("half", [False, True])
def test_sums_of_halves(half):
    x, y = (torch.ones(size, dtype=torch.float16, device="cuda") for size in ((32, 128), (128, 32)))
    out = torch.empty(32, 32, dtype=torch.float16, device="cuda")
    sum_products[(1,)](x, y, out, 128, HALF=half, BLOCK=32)
    assert (out == 128).all()


def test_never_written():
    x, out = torch.empty(64, device="cuda"), torch.empty(64, device="cuda")
    add[(1,)](x, x, out, 64, BLOCK=64)


def test_race():
    x, y = torch.rand(256, device="cuda"), torch.zeros(256, device="cuda")
    reverse[(1,)](x, y, BLOCK=256)


def test_race_of_a_block():
    x, y = torch.rand(4096, device="cuda"), torch.zeros(4096, device="cuda")
    reverse[(1,)](x, y, BLOCK=4096)


@pytest.mark.parametrize("block", [16, 256])
@pytest.mark.parametrize("lock", [True, False], ids=["locked", "unlocked"])
def test_lock(lock, block):
    """Of 16 elements all waves load each, and one stores it."""
    x, total = torch.rand(6, block, device="cuda"), torch.zeros(block, device="cuda")
    state = torch.zeros(1, dtype=torch.int32, device="cuda")
    add_under_lock[(6,)](x, total, state, lock, BLOCK=block)
    torch.testing.assert_close(total, x.sum(0))


def test_error_that_is_caught():
    with pytest.raises(RuntimeError):
        test_race()


@triton.jit
def shift(x, out, n, BLOCK: tl.constexpr):
    o = tl.arange(0, BLOCK)
    ahead = tl.load(x + o - 3, mask=(o >= 3) & (o < n), other=0.0)
    tl.store(out + o, ahead + tl.load(x + o - 2, mask=o < n), mask=o < n)


def test_negative_offset():
    x, out = torch.rand(100, device="cuda"), torch.empty(100, device="cuda")
    shift[(1,)](x, out, 100, BLOCK=128)


@triton.jit
def spread(x, out, BLOCK: tl.constexpr):
    o = tl.arange(0, BLOCK)
    tl.store(out + 2 * o, tl.load(x + o))


def test_stride():
    x, out = torch.rand(64, device="cuda"), torch.zeros(128, device="cuda")
    spread[(1,)](x, out, BLOCK=64)
    assert torch.equal(out[::2], x)


def test_large():
    """A large tensor is not copied for a launch."""
    import resource
    size = 96 << 20
    x = torch.zeros(size, dtype=torch.int8, device="cuda")
    out = torch.empty(128, dtype=torch.int8, device="cuda")
    spread[(1,)](x[:64].clone(), out, BLOCK=64)  # It is compiled.
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    spread[(1,)](x, out, BLOCK=64)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < size >> 10


@triton.jit
def row_sum(x, out, stride, n, BLOCK: tl.constexpr):
    o = tl.arange(0, BLOCK)
    at = tl.program_id(0)
    tl.store(out + at, tl.sum(tl.load(x + at * stride + o, mask=o < n, other=0.0)))


def test_stride_to_the_end():
    # Triton's reduction has values in LDS judged by another execution.
    x, out = torch.rand(3, 8, device="cuda"), torch.empty(3, device="cuda")
    row_sum[(3,)](x, out, 2, 8, BLOCK=256)


@triton.jit
def softmax(x, y, stride_x, stride_y, n, WRONG: tl.constexpr, BLOCK: tl.constexpr):
    o = tl.arange(0, BLOCK)
    at = tl.program_id(0)
    row = x + at * (n if WRONG else stride_x)
    values = tl.exp(tl.load(row + o, mask=o < n, other=-float("inf")))
    tl.store(y + at * stride_y + o, values / tl.sum(values), mask=o < n)


@pytest.mark.parametrize("case", ["right", "wrong", "other"])
def test_pitch(case):
    """Rows with padding: right, one that takes no stride, and one that is given another's."""
    x = torch.rand(16, 112, device="cuda")[:, :100]
    y = torch.empty(16, 104, device="cuda")[:, :100]
    softmax[(16,)](x, y, (y if case == "other" else x).stride(0), y.stride(0), 100, case == "wrong",
                   BLOCK=128)


@triton.jit
def add_four(a, b, c, d, y, stride, n, TAKES: tl.constexpr, BLOCK: tl.constexpr):
    o = tl.arange(0, BLOCK)
    rows_of_a = o + tl.program_id(0) * (n if TAKES == "none" else stride)
    others = o + tl.program_id(0) * (stride if TAKES == "all" else n)
    values = tl.load(a + rows_of_a, mask=o < n) + tl.load(b + rows_of_a, mask=o < n)
    values += tl.load(c + others, mask=o < n) + tl.load(d + others, mask=o < n)
    tl.store(y + others, values, mask=o < n)


@pytest.mark.parametrize("takes", ["all", "some", "none"])
def test_one_stride(takes):
    """A tensor's stride for five tensors of one pitch, for two of them, and for none."""
    a, b, c, d = (torch.rand(6, 100, device="cuda") for _ in range(4))
    y = torch.empty_like(a)
    add_four[(6,)](a, b, c, d, y, a.stride(0), 100, takes, BLOCK=128)
    assert torch.allclose(y, a + b + (c + d))


@triton.jit
def attend(q, k, out, stride, heads, D: tl.constexpr, BLOCK: tl.constexpr):
    """Packed heads: k is addressed from q, and sums of atomics are in each order others."""
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at = o[:, None] * stride + tl.program_id(1) * D + tl.arange(0, D)[None, :]
    tl.atomic_add(out + tl.program_id(1), tl.sum(tl.load(q + at) * tl.load(q + heads * D + at)))


def test_packed():
    packed = torch.rand(64, 3, 2, 16, device="cuda")
    out = torch.zeros(2, device="cuda")
    attend[(4, 2)](packed[:, 0], packed[:, 1], out, packed.stride(0), 2, D=16, BLOCK=16)
    torch.testing.assert_close(out, (packed[:, 0] * packed[:, 1]).sum((0, 2)))


@triton.jit
def through_table(table, out, BLOCK: tl.constexpr):
    o = tl.arange(0, BLOCK)
    tl.store(out + o, tl.load(tl.load(table).to(tl.pointer_type(tl.float32)) + o))


@pytest.mark.parametrize("fate", ["kept", "freed", "resized"])
def test_table(fate):
    """Where a tensor was that is gone PyTorch puts the next one of its size."""
    x = torch.rand(2048, device="cuda")
    table = torch.tensor([x.data_ptr()], device="cuda")
    if fate == "freed":
        del x
    elif fate == "resized":
        x.resize_(8192)
    others = [torch.rand(2048, device="cuda") for _ in range(3)]
    out = torch.zeros_like(others[0])
    through_table[(1,)](table, out, BLOCK=2048)


@triton.jit
def outer(x, y, out, m, n, WRONG: tl.constexpr, BLOCK: tl.constexpr):
    """Products of pairs: wrong in the order of columns, and so in all elements."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    j = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    products = tl.load(x + i, mask=i < m)[:, None] * tl.load(y + j, mask=j < n)[None, :]
    at = i[:, None] + j[None, :] * m if WRONG else i[:, None] * n + j[None, :]
    tl.store(out + at, products, mask=(i < m)[:, None] & (j < n)[None, :])


@pytest.mark.parametrize("wrong", [False, True], ids=["right", "wrong"])
def test_outer(wrong):
    x, y = torch.rand(28, device="cuda"), torch.rand(37, device="cuda")
    out = torch.zeros(28, 37, device="cuda")
    outer[(2, 3)](x, y, out, 28, 37, wrong, BLOCK=16)
    torch.testing.assert_close(out, x[:, None] * y)


@triton.jit
def each_row(x, out, pitch, n, BLOCK: tl.constexpr):
    o = tl.arange(0, BLOCK)
    row = tl.program_id(0)
    tl.store(out + row, tl.sum(tl.load(x + row * pitch + o, mask=o < n, other=0.0)))


@pytest.mark.parametrize("pitch", [30, 29, 15], ids=["right", "short", "half"])
def test_each_row(pitch):
    x, out = torch.rand(12, 30, device="cuda"), torch.empty(12, device="cuda")
    each_row[(12,)](x, out, pitch, 30, BLOCK=32)
    torch.testing.assert_close(out, x.sum(1))


@triton.jit
def fill_cache(x, cache, batch, row, n, WRONG: tl.constexpr, BLOCK: tl.constexpr):
    """Copies rows to the first ones of each batch of a cache that has room for more."""
    o = tl.arange(0, BLOCK)
    source = tl.program_id(1) * tl.num_programs(0) + tl.program_id(0)
    to = tl.program_id(1) * (tl.num_programs(0) * n if WRONG else batch) + tl.program_id(0) * row
    tl.store(cache + to + o, tl.load(x + source * n + o, mask=o < n), mask=o < n)


@pytest.mark.parametrize("wrong", [False, True], ids=["right", "wrong"])
def test_cache(wrong):
    x, cache = torch.rand(3, 5, 24, device="cuda"), torch.zeros(3, 8, 24, device="cuda")
    fill_cache[(5, 3)](x, cache, cache.stride(0), cache.stride(1), 24, wrong, BLOCK=32)


@triton.jit
def add_position(x, position, y, n, WRONG: tl.constexpr, BLOCK: tl.constexpr):
    o = tl.arange(0, BLOCK)
    at = (tl.program_id(0) * tl.num_programs(1) + tl.program_id(1)) * n + o
    row = tl.program_id(0 if WRONG else 1)
    added = tl.load(position + row * n + o, mask=o < n)
    tl.store(y + at, tl.load(x + at, mask=o < n) + added, mask=o < n)


@pytest.mark.parametrize("case", ["right", "longer", "wrong"])
def test_position(case):
    """Of a table of positions a kernel needs as many rows as there are."""
    x, y = torch.rand(4, 9, 28, device="cuda"), torch.empty(4, 9, 28, device="cuda")
    position = torch.rand(12 if case == "longer" else 9, 28, device="cuda")
    add_position[(4, 9)](x, position, y, 28, case == "wrong", BLOCK=32)
    torch.testing.assert_close(y, x + position[:9])


@triton.jit
def interleave(a, b, y, n, WRONG: tl.constexpr, BLOCK: tl.constexpr):
    o = tl.arange(0, BLOCK)
    at = tl.program_id(0) * n + o
    tl.store(y + 2 * at, tl.load(a + at, mask=o < n), mask=o < n)
    tl.store(y + 2 * at + (0 if WRONG else 1), tl.load(b + at, mask=o < n), mask=o < n)


@pytest.mark.parametrize("wrong", [False, True], ids=["right", "wrong"])
def test_interleave(wrong):
    a, b = torch.rand(7, 15, device="cuda"), torch.rand(7, 15, device="cuda")
    y = torch.zeros(7, 30, device="cuda")
    interleave[(7,)](a, b, y, 15, wrong, BLOCK=16)
    torch.testing.assert_close(y, torch.stack([a, b], -1).flatten(1))


@triton.jit
def log_sum_exp(x, y, n, WRONG: tl.constexpr, BLOCK: tl.constexpr):
    """The second loop is wrong, after one that has read all."""
    row, o = tl.program_id(0), tl.arange(0, BLOCK)
    most, total = -float("inf"), 0.0
    for k in range(0, n, BLOCK):
        most = tl.maximum(most, tl.max(tl.load(x + row * n + k + o, mask=k + o < n, other=-1e9)))
    for k in range(0, n, BLOCK):
        at = o + (k // 2 if WRONG else k)
        total += tl.sum(tl.exp(tl.load(x + row * n + at, mask=k + o < n, other=-1e9) - most))
    tl.store(y + row, tl.log(total) + most)


@pytest.mark.parametrize("wrong", [False, True], ids=["right", "wrong"])
def test_two_loops(wrong):
    x, y = torch.rand(7, 100, device="cuda"), torch.empty(7, device="cuda")
    log_sum_exp[(7,)](x, y, 100, wrong, BLOCK=32)
    torch.testing.assert_close(y, x.logsumexp(1))


@triton.jit
def filter_rows(x, index, w, out, FAULT: tl.constexpr, N: tl.constexpr):
    row, o = tl.program_id(0), tl.arange(0, N)
    at = tl.load(index + (row // 2 if FAULT == "index" else row))
    total = tl.zeros((N,), tl.float32)
    for k in range(1 if FAULT == "late" else 0, 3, 1):
        factor = tl.load(w + (2 - k if FAULT == "backwards" else k))
        total += tl.load(x + at * (N + 2) + o + k) * factor
    to = 5 - row if FAULT == "stored" else row
    tl.store(out + to * N + o, total * 1.1 if FAULT == "value" else total)


@pytest.mark.parametrize("fault", ["none", "index", "backwards", "stored", "late", "value"])
def test_filter(fault):
    torch.manual_seed(0)
    x, w, out = (torch.rand(*shape, device="cuda") for shape in ((8, 34), (3,), (6, 32)))
    index = torch.tensor([3, 0, 7, 5, 1, 6], dtype=torch.int32, device="cuda")
    expected = (x[index.long()].unfold(1, 3, 1) * w).sum(-1)
    assert not torch.equal(out, expected)
    filter_rows[(6,)](x, index, w, out, fault, 32)
    torch.testing.assert_close(out, expected)


@triton.jit
def two_outputs(x, y, z, FAULT: tl.constexpr, N: tl.constexpr):
    o = tl.arange(0, N)
    values = tl.load(x + o)
    if FAULT != "first" and FAULT != "twice":
        tl.store(y + o, values * 2 + tl.load(z + o))
    if FAULT != "second":
        tl.store(z + o, values * 3, mask=o >= (37 if FAULT == "part" else 0))


@pytest.fixture(scope="module")
def stored_before():
    x = torch.rand(128, device="cuda")
    y, z = torch.zeros_like(x), torch.zeros_like(x)
    two_outputs[(1,)](x, y, z, "none", 128)
    return y


@pytest.mark.parametrize("fault", ["none", "first", "second", "part", "twice", "chance", "before"])
def test_left_out(fault, stored_before):
    x = stored_before if fault == "before" else torch.rand(128, device="cuda") + 1
    y, z = torch.zeros_like(x), torch.zeros_like(x)
    if fault == "twice":
        two_outputs[(1,)](x + 1, y, z, "none", 128)
    two_outputs[(1,)](x, y, z, "second" if fault == "chance" else fault, 128)
    if fault == "before":
        assert torch.equal(x.cpu(), torch.ones(128))
    # What is wrong is 0, as what no launch stores is.
    assert fault != "chance" or torch.equal(y - x * 2, x)
    assert torch.equal(y, x * 2)
    assert torch.equal(z, x * 3)
