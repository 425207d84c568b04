# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of Gluon for CDNA5 against PyTorch: copies of tensors, asynchronous ones, barriers."""

import pytest
import torch
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.amd import gfx1250 as cdna5


@gluon.jit
def double(x, out, M, N, BM: gl.constexpr, BN: gl.constexpr, PAD: gl.constexpr):
    if PAD:
        layout: gl.constexpr = gl.PaddedSharedLayout.with_identity_for([[BN, PAD]], [BM, BN],
                                                                       [1, 0])
    else:
        layout: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [1, 0])
    at = [gl.program_id(0) * BM, gl.program_id(1) * BN]
    source = cdna5.tdm.make_tensor_descriptor(x, (M, N), (N, 1), (BM, BN), layout)
    target = cdna5.tdm.make_tensor_descriptor(out, (M, N), (N, 1), (BM, BN), layout)
    tile = gl.allocate_shared_memory(source.dtype, [BM, BN], layout)
    cdna5.tdm.async_load(source, at, tile)
    cdna5.tdm.async_wait(0)
    values = tile.load(layout=gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0]))
    tile.store(values + values)
    cdna5.tdm.async_store(target, at, tile)
    cdna5.tdm.async_wait(0)


@pytest.mark.parametrize("pad", [0, 8])
@pytest.mark.parametrize("m,n", [(64, 64), (50, 100), (33, 65)])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_double(m, n, pad, dtype):
    x = torch.randn(m, n, device="cuda").to(dtype)
    out = torch.zeros_like(x)
    double[(triton.cdiv(m, 32), triton.cdiv(n, 64))](x, out, m, n, 32, 64, pad)
    assert torch.equal(out, x + x)


@gluon.jit
def rows(x, out, index, M, N, BM: gl.constexpr, BN: gl.constexpr, SCATTER: gl.constexpr):
    layout: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [1, 0])
    many: gl.constexpr = gl.SliceLayout(1, gl.BlockedLayout([BM, 1], [1, 32], [1, 4], [1, 0]))
    which = gl.load(index + gl.arange(0, BM, layout=many))
    tile = gl.allocate_shared_memory(x.dtype.element_ty, [BM, BN], layout)
    if SCATTER:
        source = cdna5.tdm.make_tensor_descriptor(x, (BM, BN), (BN, 1), (BM, BN), layout)
        target = cdna5.tdm.make_tensor_descriptor(out, (M, N), (N, 1), (BM, BN), layout)
        cdna5.tdm.async_load(source, [0, 0], tile)
        cdna5.tdm.async_wait(0)
        gl.barrier()
        cdna5.tdm.async_scatter(target, which, tile)
    else:
        source = cdna5.tdm.make_tensor_descriptor(x, (M, N), (N, 1), (BM, BN), layout)
        target = cdna5.tdm.make_tensor_descriptor(out, (BM, BN), (BN, 1), (BM, BN), layout)
        cdna5.tdm.async_gather(source, which, tile)
        cdna5.tdm.async_wait(0)
        gl.barrier()
        cdna5.tdm.async_store(target, [0, 0], tile)
    cdna5.tdm.async_wait(0)


@pytest.mark.parametrize("scatter", [False, True])
@pytest.mark.parametrize("dtype", [torch.int16, torch.int32])
def test_rows(dtype, scatter):
    table, few = torch.randn(64, 32, device="cuda"), torch.randn(8, 32, device="cuda")
    index = torch.randperm(64, device="cuda")[:8]
    x, out = (few, table.clone()) if scatter else (table, torch.zeros_like(few))
    want = table.index_copy(0, index, few) if scatter else table[index]
    rows[(1,)](x, out, index.to(dtype), 64, 32, 8, 32, scatter)
    assert torch.equal(out, want)


@gluon.jit
def lanes(x, out, n, BLOCK: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([4], [32], [4], [0])
    o = gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, layout=layout)
    tile = gl.allocate_shared_memory(gl.float32, [BLOCK], gl.SwizzledSharedLayout(1, 1, 1, [0]))
    cdna5.async_copy.global_to_shared(tile, x + o, mask=o < n)
    cdna5.async_copy.commit_group()
    cdna5.async_copy.wait_group(0)
    tile.store(tile.load(layout=layout) * 2)
    cdna5.async_copy.shared_to_global(out + o, tile, mask=o < n)
    cdna5.async_copy.commit_group()
    cdna5.async_copy.wait_group(0)


@pytest.mark.parametrize("n", [512, 1000, 1001])
def test_lanes(n):
    x = torch.randn(n, device="cuda")
    out = torch.zeros_like(x)
    lanes[(triton.cdiv(n, 512),)](x, out, n, 512)
    assert torch.equal(out, x * 2)


@gluon.jit
def arrivals(x, out, N, BM: gl.constexpr, BN: gl.constexpr):
    shared: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [1, 0])
    layout: gl.constexpr = gl.BlockedLayout([1, 8], [8, 4], [4, 1], [1, 0])
    source = cdna5.tdm.make_tensor_descriptor(x, (BM, N), (N, 1), (BM, BN), shared)
    tile = gl.allocate_shared_memory(source.dtype, [BM, BN], shared)
    bar = gl.allocate_shared_memory(gl.int64, [1], cdna5.mbarrier.MBarrierLayout())
    cdna5.mbarrier.init(bar, 4)
    m = gl.arange(0, BM, layout=gl.SliceLayout(1, layout))[:, None]
    n = gl.arange(0, BN, layout=gl.SliceLayout(0, layout))[None, :]
    for k in range(0, N // BN):
        cdna5.tdm.async_load(source, [0, k * BN], tile, mbarrier=bar)
        cdna5.mbarrier.wait(bar, k & 1)
        gl.store(out + m * N + k * BN + n, tile.load(layout=layout))
        gl.barrier()


def test_arrivals():
    x = torch.randn(32, 96, device="cuda")
    out = torch.zeros_like(x)
    arrivals[(1,)](x, out, 96, 32, 32)
    assert torch.equal(out, x)


@gluon.jit
def outer(a, b, out, M: gl.constexpr, N: gl.constexpr, TENSOR: gl.constexpr):
    """Workgroups of a cluster have a half of the columns each, and all of the rows."""
    layout: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0], cga_layout=[[0, 1]])
    m = gl.arange(0, M, layout=gl.SliceLayout(1, layout))
    n = gl.arange(0, N, layout=gl.SliceLayout(0, layout))
    if TENSOR:
        shared: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [1, 0], cga_layout=[[0, 0]])
        rows: gl.constexpr = gl.BlockedLayout([1, 1], [32, 1], [4, 1], [1, 0], cga_layout=[[0, 0]])
        source = cdna5.tdm.make_tensor_descriptor(a, (M, 1), (1, 1), (M, 1), shared)
        tile = gl.allocate_shared_memory(a.dtype.element_ty, [M, 1], shared)
        cdna5.tdm.async_load(source, [0, 0], tile)
        cdna5.tdm.async_wait(0)
        column = gl.convert_layout(tile.load(layout=rows), layout)
    else:
        column = gl.load(a + m)[:, None]
    cdna5.cluster.arrive()
    cdna5.cluster.wait()
    gl.store(out + m[:, None] * N + n[None, :], column + gl.load(b + n)[None, :])


@pytest.mark.parametrize("tensor", [False, True])
def test_cluster(tensor):
    a, b = torch.randn(64, device="cuda"), torch.randn(64, device="cuda")
    out = torch.zeros(64, 64, device="cuda")
    kernel = outer[(1,)](a, b, out, 64, 64, tensor, num_ctas=2)
    assert "s_barrier_signal -3" in kernel.asm["amdgcn"]
    assert tensor or "cluster_load" in kernel.asm["amdgcn"]
    assert torch.equal(out, a[:, None] + b[None, :])
