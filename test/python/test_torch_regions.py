# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""lnbwd::region: any row program as an operator of PyTorch."""

import pytest
import torch

import lnbwd
from lnbwd.ops import regions
from lnbwd.ops.regions import Operand

N = 64
SOURCE = f"""
func.func @scaled(%x: memref<?x{N}xf32>, %h: memref<?x{N}xbf16>, %r: memref<?xf32>,
                  %gamma: memref<{N}xf32>, %y: memref<?x{N}xbf16>, %dgamma: memref<{N}xf32>) {{
  lnbwd.rowwise @scaled domain(m | n)
      ins(%x[m, n] : memref<?x{N}xf32>, %h[m, n] : memref<?x{N}xbf16>,
      %gamma[n] : memref<{N}xf32>, %r[m] : memref<?xf32>)
      outs(%y[m, n] : memref<?x{N}xbf16>, %dgamma[n] add : memref<{N}xf32>)
      attributes {{operand_names = ["x", "h", "gamma", "r", "y", "dgamma"]}} {{
  ^row(%xr: vector<{N}xf32>, %hr: vector<{N}xbf16>, %g: vector<{N}xf32>, %s: f32):
    %wide = arith.extf %hr : vector<{N}xbf16> to vector<{N}xf32>
    %sum = arith.addf %xr, %wide : vector<{N}xf32>
    %sv = vector.broadcast %s : f32 to vector<{N}xf32>
    %scaled = arith.mulf %sum, %sv : vector<{N}xf32>
    %out = arith.mulf %scaled, %g : vector<{N}xf32>
    %y16 = arith.truncf %out : vector<{N}xf32> to vector<{N}xbf16>
    lnbwd.yield %y16, %scaled : vector<{N}xbf16>, vector<{N}xf32>
  }}
  return
}}
"""
F32, BF16 = torch.float32, torch.bfloat16
INPUTS = [Operand("row_block", F32, N), Operand("row_block", BF16, N),
          Operand("row_scalar", F32, 1), Operand("column", F32, N)]
OUTPUTS = [Operand("row_block", BF16, N), Operand("column", F32, N)]


@pytest.fixture
def program():
    return regions.register_program("scaled", INPUTS, OUTPUTS,
                                       SOURCE).text


def tensors(device, leading=(2, 3)):
    generator = torch.Generator().manual_seed(1)

    def random(*shape):
        return torch.randn(shape, generator=generator).to(device)

    return [random(*leading, N), random(*leading, N).bfloat16(), random(*leading), random(N)]


def expected(x, h, r, gamma):
    scaled = (x + h.float()) * r[..., None]
    return (scaled * gamma).bfloat16().reshape(-1, N), scaled.reshape(-1, N).sum(0)


def assert_right(got, inputs):
    y, dgamma = expected(*inputs)
    assert [t.shape for t in got] == [y.shape, dgamma.shape]
    assert [t.dtype for t in got] == [BF16, F32]
    torch.testing.assert_close(got[0], y)
    torch.testing.assert_close(got[1], dgamma, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("leading", [(6,), (2, 3), (1,), (0,)])
def test_a_region_computes(device, program, leading):
    inputs = tensors(device, leading)
    assert_right(torch.ops.lnbwd.region(inputs, program), inputs)


def test_inputs_that_are_not_dense_are_copied(device, program):
    x, h, r, gamma = tensors(device)
    strided = torch.empty(2, 3, 2 * N, device=device)[..., ::2].copy_(x)
    shifted = torch.empty(gamma.numel() + 1, device=device)[1:].copy_(gamma)
    assert shifted.data_ptr() % 16
    assert_right(torch.ops.lnbwd.region([strided, h, r, shifted], program), [x, h, r, gamma])


@pytest.mark.parametrize("dynamic", [False, True])
def test_a_region_compiles(device, program, dynamic):
    torch._dynamo.reset()
    function = torch.compile(lambda *t: torch.ops.lnbwd.region(list(t), program)[0].float() + 1,
                             fullgraph=True, dynamic=dynamic)
    for rows in (3, 5):
        inputs = tensors(device, (rows,))
        torch.testing.assert_close(function(*inputs), expected(*inputs)[0].float() + 1)


def test_long_texts_are_told_apart_anywhere(device):
    """They may differ far from their ends, and one may be registered again."""
    inputs = tensors(device)
    for place in (0, 5000, 9999):
        text = "x" * place + "y" + "x" * (9999 - place)
        for _ in range(2):
            regions.register_program(text, INPUTS, OUTPUTS,
                                        SOURCE)
            assert_right(torch.ops.lnbwd.region(inputs, text), inputs)
    with pytest.raises(RuntimeError, match="is not registered"):
        torch.ops.lnbwd.region(inputs, "x" * 10000)


def test_opcheck(device, program):
    torch.library.opcheck(torch.ops.lnbwd.region.default, (tensors(device), program))


def test_a_derivative_is_refused(device, program):
    x, h, r, gamma = tensors(device)
    _, dgamma = torch.ops.lnbwd.region([x.requires_grad_(), h, r, gamma], program)
    with pytest.raises(lnbwd.LnbwdError, match="lnbwd::region: expected no derivative"):
        dgamma.sum().backward()
    with torch.no_grad():
        assert not torch.ops.lnbwd.region([x, h, r, gamma], program)[0].requires_grad


def test_a_tangent_is_refused(device, program):
    x, h, r, gamma = tensors(device)
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x, x)
        with pytest.raises(lnbwd.LnbwdError, match="expected no forward-mode differentiation"):
            torch.ops.lnbwd.region([dual, h, r, gamma], program)


@pytest.mark.parametrize("transform", [torch.vmap, torch.func.grad, torch.func.jacfwd])
def test_a_transform_is_refused(device, program, transform):
    x, *others = tensors(device)

    def call(x):
        return torch.ops.lnbwd.region([x, *others], program)[0].sum()

    with pytest.raises(lnbwd.LnbwdError, match=r"expected no transform of torch\.func"):
        transform(call)(x)


def test_a_program_of_another_process_is_resolved(device):
    asked = []

    def resolve(text):
        asked.append(text)
        if text != "resolved":
            return None
        return regions.register_program(text, INPUTS, OUTPUTS,
                                           SOURCE)

    regions.resolvers.append(resolve)
    try:
        inputs = tensors(device)
        for _ in range(2):
            assert_right(torch.ops.lnbwd.region(inputs, "resolved"), inputs)
        assert asked == ["resolved"]
        with pytest.raises(RuntimeError, match="'nobody' is not registered in this process"):
            torch.ops.lnbwd.region(inputs, "nobody")
    finally:
        regions.resolvers.remove(resolve)


def change(index, make):
    def apply(inputs):
        inputs[index] = make(inputs[index])
        return inputs
    return apply


@pytest.mark.parametrize("spoil,words", [
    (lambda t: t[:-1], "expected 4 inputs, got 3"),
    (change(1, lambda t: t.float()), "input 1: expected .*(bfloat16|bf16).*, got .*(float32|f32)"),
    (change(2, lambda t: t.reshape(-1)[:-1]),
     r"input 2 \(row_scalar\): expected 6 elements, got 5"),
    (change(3, lambda t: t[:-1]), r"input 3 \(column\): expected 64 elements, got 63")],
    ids=["count", "type", "scalar", "column"])
def test_wrong_inputs_are_named(device, program, spoil, words):
    with pytest.raises((RuntimeError, TypeError, ValueError), match=words):
        torch.ops.lnbwd.region(spoil(tensors(device)), program)


def test_a_kernel_of_other_operands_is_refused(device):
    wrong = regions.register_program(
        "wrong", [*INPUTS[:3], Operand("column", BF16, N)], OUTPUTS,
        SOURCE)
    inputs = tensors(device)
    inputs[3] = inputs[3].bfloat16()
    with pytest.raises(RuntimeError, match="argument 'gamma' of the program 'scaled': registered"):
        torch.ops.lnbwd.region(inputs, wrong.text)


GROUPS_SOURCE = f"""
func.func @groups(%x: memref<?x?x{N}xf32>, %s: memref<?x{N}xf32>, %y: memref<?x?x{N}xf32>,
                  %ds: memref<?x{N}xf32>) {{
  lnbwd.rowwise @groups domain(b, t | n)
      ins(%x[b, t, n] : memref<?x?x{N}xf32>, %s[b, n] : memref<?x{N}xf32>)
      outs(%y[b, t, n] : memref<?x?x{N}xf32>, %ds[b, n] add : memref<?x{N}xf32>)
      attributes {{operand_names = ["x", "s", "y", "ds"]}} {{
  ^row(%xr: vector<{N}xf32>, %sr: vector<{N}xf32>):
    %yr = arith.mulf %xr, %sr : vector<{N}xf32>
    lnbwd.yield %yr, %xr : vector<{N}xf32>, vector<{N}xf32>
  }}
  return
}}
"""


@pytest.mark.parametrize("in_python", [False, True])
def test_groups_of_rows(device, in_python):
    block, column = Operand("row_block", F32, N), Operand("group_column", F32, N)
    text = regions.register_program(
        "groups", [block, column], [block, column],
        GROUPS_SOURCE).text
    run = regions.run_region if in_python else torch.ops.lnbwd.region
    x = torch.randint(-8, 8, (4, 3, N)).float().to(device)
    s = torch.randint(-8, 8, (4, 1, N)).float().to(device)
    y, ds = run([x, s], text)
    assert torch.equal(y, (x * s).reshape(-1, N))
    assert torch.equal(ds, x.sum(1))
    empty = run([x[:0], s[:0]], text)
    assert [t.shape for t in empty] == [(0, N), (0, N)]
    with pytest.raises(RuntimeError, match="expected a multiple of B"):
        run([x[:, :2], s[:3]], text)


def test_groups_are_traced(device):
    block, column = Operand("row_block", F32, N), Operand("group_column", F32, N)
    text = regions.register_program(
        "groups", [block, column], [block, column],
        GROUPS_SOURCE).text
    x, s = torch.randn(4, 3, N, device="meta"), torch.randn(4, N, device="meta")
    assert [t.shape for t in torch.ops.lnbwd.region([x, s], text)] == [(12, N), (4, N)]


def test_the_operator_needs_an_input_with_rows():
    for kind in ("column", "group_column"):
        regions.register_program(kind, [Operand(kind, F32, N)], OUTPUTS, SOURCE)
        with pytest.raises(ValueError, match="expected a row block or a row scalar among"):
            regions.run_region([torch.zeros(N)], kind)


def test_what_cannot_be_registered():
    make = SOURCE
    groups = [Operand("group_column", F32, N)]
    with pytest.raises(ValueError, match="inputs: expected a group column or a row block"):
        regions.register_program("groups", [Operand("row_scalar", F32, 1)], groups, make)
    with pytest.raises(ValueError, match="outputs: expected one or more"):
        regions.register_program("none", INPUTS, [], make)
    with pytest.raises(ValueError, match="text: expected no zero characters"):
        regions.register_program("a\0b", INPUTS, OUTPUTS, make)
    with pytest.raises(ValueError, match="kind: expected row_block"):
        Operand("row", F32, N)
    with pytest.raises(ValueError, match="dtype: expected float16"):
        Operand("column", torch.float64, N)
    with pytest.raises(ValueError, match=r"for a column, got torch\.float8_e5m2"):
        Operand("column", torch.float8_e5m2, N)
    with pytest.raises(ValueError, match="row_length: expected 1 for a row_scalar, got 2"):
        Operand("row_scalar", F32, 2)


def test_a_program_with_masks(device):
    """They are tensors of booleans, and no other type stands for them."""
    source = f"""
func.func @keep(%x: memref<?x{N}xf32>, %m: memref<?x{N}xi8>, %p: memref<?x{N}xi8>) {{
  lnbwd.rowwise @keep domain(m | n) ins(%x[m, n] : memref<?x{N}xf32>, %m[m, n] : memref<?x{N}xi8>)
      outs(%p[m, n] : memref<?x{N}xi8>) attributes {{operand_names = ["x", "m", "p"]}} {{
  ^row(%xr: vector<{N}xf32>, %mr: vector<{N}xi8>):
    %zero = arith.constant dense<0> : vector<{N}xi8>
    %none = arith.constant dense<0.0> : vector<{N}xf32>
    %tile = arith.cmpi ne, %mr, %zero : vector<{N}xi8>
    %positive = arith.cmpf ogt, %xr, %none : vector<{N}xf32>
    %both = arith.andi %tile, %positive : vector<{N}xi1>
    %pr = arith.extui %both : vector<{N}xi1> to vector<{N}xi8>
    lnbwd.yield %pr : vector<{N}xi8>
  }}
  return
}}
"""
    mask = Operand("row_block", torch.bool, N)
    text = regions.register_program("keep", [INPUTS[0], mask], [mask],
                                       source).text
    x = tensors(device)[0]
    m = x > -0.5
    p, = torch.ops.lnbwd.region([x, m], text)
    assert p.dtype == torch.bool and torch.equal(p, ((x > 0) & m).reshape(-1, N))
    strided = torch.zeros(2, 3, 2 * N, dtype=torch.bool, device=device)[..., ::2].copy_(m)
    assert torch.equal(torch.ops.lnbwd.region([x, strided], text)[0], p)
    for wrong in (m.float(), m.byte()):
        with pytest.raises((RuntimeError, TypeError), match=r"input 1: expected .*bool"):
            torch.ops.lnbwd.region([x, wrong], text)
    torch.library.opcheck(torch.ops.lnbwd.region.default, ([x, m], text))


@pytest.mark.simulator
def test_cpu_tensors_need_the_simulator_here_too(program, monkeypatch):
    monkeypatch.delenv("LNBWD_SIMULATE", raising=False)
    with pytest.raises(RuntimeError, match="on the CPU"):
        torch.ops.lnbwd.region(tensors(torch.device("cpu")), program)
    with lnbwd.simulate("gfx1100"):
        assert_right(torch.ops.lnbwd.region(tensors(torch.device("cpu")), program),
                     tensors(torch.device("cpu")))
