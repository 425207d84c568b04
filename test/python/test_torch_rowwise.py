# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""lnbwd.rowwise: Python functions over rows as operations with a derived gradient."""

import copy
import itertools
import os
import pathlib
import pickle
import random
import warnings

import loaded_python
import pytest
import torch
import torch.nn.functional as F
from row_cases import (
    BF16,
    F16,
    F32,
    F64,
    FUNCTIONS,
    N,
    add_column,
    gated_rms_norm,
    layer_norm_with_sum,
    library_norms,
    run,
    scaled_gelu,
    softmax,
    statistics,
    swiglu,
    tensors_of,
)
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._pytree import tree_leaves

import lnbwd
import lnbwd.inductor
from lnbwd import Columns, Rows, Scalars
from lnbwd.core.base import errors
from lnbwd.ops import regions
from lnbwd.ops.choices import Choices
from lnbwd.program import tracing, watching
from lnbwd.program.graphs import conversion

pytestmark = pytest.mark.compiler
ULP = {F32: 0.0, BF16: 2.0 ** -8, F16: 2.0 ** -11, F64: 0.0}


def assert_close(got, function, tensors):
    """What PyTorch's float32 operations give, and the rounding of what is written, are the measure
    of the error against float64."""
    want, plain = run(function, tensors, F64), run(function, tensors, F32)
    types = run(function, tensors)
    assert len(got) == len(want)
    for g, w, p, t in zip(got, want, plain, types, strict=True):
        if t is None:  # Nothing depends on it.
            assert g is None
            continue
        assert (g.shape, g.dtype) == (t.shape, t.dtype)
        size = w.abs().max().item()
        bound = max(4 * (p - w).abs().max().item(), 1e-6 * size) + ULP[g.dtype] * size
        assert (g - w).abs().max().item() <= bound


MIXES = [(BF16,), (F16, F32), (F32, BF16)]


def functions_and_types():
    """Every function in float32 or in a mix of types; in the others with --full. What each
    operation computes in each type is shown by the kernels themselves (test/EndToEnd)."""
    for number, function in enumerate(FUNCTIONS):
        # PyTorch's own layer_norm does not take several types together.
        mixes = [(F32,), *(MIXES[:1] if function is library_norms else MIXES)]
        for place, dtypes in enumerate(mixes):
            is_sample = place == number % len(mixes)
            yield pytest.param(function, dtypes, marks=[] if is_sample else [pytest.mark.full],
                               id=f"{function.__name__}-{dtypes}")


def test_the_sample_has_each_mix_with_several_functions():
    sample = [case.values for case in functions_and_types() if not case.marks]
    assert {function for function, _ in sample} == set(FUNCTIONS)
    assert all(sum(dtypes == mix for _, dtypes in sample) >= 3 for mix in [(F32,), *MIXES])


@pytest.mark.parametrize("function,dtypes", list(functions_and_types()))
def test_values_and_gradients(device, function, dtypes):
    tensors = [t.to(device) for t in tensors_of(function, (2, 3), dtypes)]
    got = run(lnbwd.rowwise(function), tensors)
    assert_close(got, function, tensors)
    again = run(lnbwd.rowwise(function), tensors)
    assert all(torch.equal(a, b) for a, b in zip(got, again, strict=True))


@pytest.mark.parametrize("leading,n", [
    ((), 64), ((1,), 1), ((1,), 7), ((5,), 7), ((5,), 64), ((2, 1, 3), 1), ((2, 1, 3), 64)])
def test_shapes(device, leading, n):
    for function in (layer_norm_with_sum, statistics, scaled_gelu):
        if n == 1 and function is statistics:
            continue  # The deviation of one number is no number.
        tensors = [t.to(device) for t in tensors_of(function, leading, n=n)]
        assert_close(run(lnbwd.rowwise(function), tensors), function, tensors)


@pytest.mark.parametrize("n", [1, 24])
@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_scalars_of_integers(device, dtype, n):
    @lnbwd.rowwise
    def times(x: lnbwd.Rows, count: lnbwd.Scalars):
        return x * count.float()

    x = torch.randn(5, n, device=device, requires_grad=True)
    count = torch.tensor([[0], [-3], [7], [1 << 20], [2]], dtype=dtype, device=device)
    y = times(x, count)
    assert torch.equal(y, x * count)
    y.sum().backward()
    assert torch.equal(x.grad, count.expand(5, n).float())
    with pytest.raises(TypeError, match="expected operations on the elements of a row"):
        lnbwd.rowwise(add_to_integers)(x, count)


def add_to_integers(x: lnbwd.Rows, count: lnbwd.Scalars):
    return x + (count + 1)


def test_no_rows(device):
    x, z, gamma = (t.to(device) for t in tensors_of(gated_rms_norm, (0,)))
    y, dx, dz, dgamma = run(lnbwd.rowwise(gated_rms_norm), [x, z, gamma])
    assert y.shape == dx.shape == dz.shape == (0, N)
    assert torch.equal(dgamma, torch.zeros_like(gamma))


def test_rows_that_are_not_dense(device):
    x, z, gamma = (t.to(device) for t in tensors_of(gated_rms_norm, (4,)))
    strided = torch.empty(4, 2 * N, device=device)[:, ::2].copy_(x)
    function = lnbwd.rowwise(gated_rms_norm)
    assert torch.equal(function(strided, z, gamma), function(x, z, gamma))


STEPS = [
    lambda x, z, a, b: a + torch.tanh(b), lambda x, z, a, b: a * torch.sigmoid(b),
    lambda x, z, a, b: torch.erf(a) - x, lambda x, z, a, b: a / (1.5 + b * b),
    lambda x, z, a, b: torch.rsqrt(a.square() + 0.5) * z,
    lambda x, z, a, b: (x + torch.tanh(a)).mean(-1, keepdim=True),
    lambda x, z, a, b: torch.softmax(x + torch.tanh(a), -1) * b,
    lambda x, z, a, b: torch.where(x > 0.25, a, b), lambda x, z, a, b: F.silu(a) - b,
    lambda x, z, a, b: torch.sin(a) * z,
    lambda x, z, a, b: a - (x + torch.tanh(b)).amax(-1, keepdim=True)]


def random_function(seed):
    """A function whose values stay within reason."""
    rng = random.Random(seed)
    steps = [(rng.randrange(len(STEPS)), rng.random(), rng.random())
             for _ in range(rng.randint(3, 8))]

    def function(x: Rows, z: Rows, g: Columns, s: Scalars):
        values = [x, z, g, s, x * g]
        for kind, first, second in steps:
            a, b = (values[int(which * len(values))] for which in (first, second))
            values.append(STEPS[kind](x, z, a, b))
        return x + values[-1], (values[-2] + x).sum(-1)

    return function


@pytest.mark.parametrize("seed", [
    pytest.param(seed, marks=[] if seed in (0, 2) else [pytest.mark.full]) for seed in range(12)])
def test_random_functions(device, seed):
    function = random_function(seed)
    tensors = [t.to(device) for t in tensors_of(function, (5,), n=32, seed=seed)]
    assert_close(run(lnbwd.rowwise(function), tensors), function, tensors)


def test_a_value_is_rounded_where_the_function_casts(device):
    @lnbwd.rowwise
    def rounds(x: Rows):
        return (x * 1.1).to(BF16).float() * 3, (x * 1.1) * 3

    x = torch.randn(3, N, device=device)
    rounded, plain = rounds(x)
    assert torch.equal(rounded, (x * 1.1).bfloat16().float() * 3)
    assert not torch.equal(rounded, plain)

    @lnbwd.rowwise
    def rounds_what_has_the_type(x: Rows):
        return (x * 1.1).to(BF16).float(), (x * 1.1).float()

    # For PyTorch the product has that type; here it is rounded where the function says so.
    x = x.bfloat16()
    rounded, plain = rounds_what_has_the_type(x)
    assert torch.equal(rounded, (x.float() * 1.1).bfloat16().float())
    assert torch.equal(plain, x.float() * 1.1)


def test_what_is_detached_is_a_constant(device):
    def function(x: Rows):
        with torch.no_grad():
            mean = x.mean(-1, keepdim=True)
        return x * mean, x * x.sum(-1, keepdim=True).detach()

    tensors = [t.to(device) for t in tensors_of(function, (3,))]
    assert_close(run(lnbwd.rowwise(function), tensors), function, tensors)


@pytest.mark.parametrize("place", range(10))
def test_slopes_at_kinks(device, place):
    def function(x: Rows):
        return (F.relu(x), x.clamp(min=0), x.clamp(-1, 1), x.abs(), F.hardtanh(x), F.relu6(x),
                F.hardsigmoid(x), F.hardswish(x), torch.lerp(x, x * x, 0.3),
                torch.lerp(x, x * x, 0.7))

    x = torch.tensor([[-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 6.0]], device=device)
    leaves = [x.clone().requires_grad_() for _ in range(2)]
    for leaf, f in zip(leaves, (lnbwd.rowwise(function), function), strict=True):
        f(leaf)[place].sum().backward()
    torch.testing.assert_close(leaves[0].grad, leaves[1].grad)
    infinite = torch.tensor([[float("inf"), float("-inf"), float("nan")]], device=device)
    assert torch.equal(lnbwd.rowwise(function)(infinite)[place].nan_to_num(7),
                       function(infinite)[place].nan_to_num(7))


@pytest.mark.parametrize("function", [
    torch.abs, lambda x: x.abs().sqrt(), lambda x: x.clamp(-1, 1), lambda x: x.clamp(min=0),
    lambda x: x.clamp(max=0), lambda x: x.clamp(2, 1), F.hardsigmoid, F.softplus,
    lambda x: F.softplus(x, 2.0, 3.0), lambda x: F.l1_loss(x, torch.ones_like(x), reduction="none"),
    lambda x: F.smooth_l1_loss(x, torch.ones_like(x), reduction="none", beta=0.5),
    lambda x: F.smooth_l1_loss(x, torch.ones_like(x), reduction="none", beta=0.0),
    lambda x: F.huber_loss(x, torch.ones_like(x), reduction="none", delta=2.0)])
def test_slopes_at_infinity_and_of_nans(device, function):
    def rows(x: Rows):
        return function(x)

    x = torch.tensor([[0.0, 0.7, -2.0, float("inf"), float("-inf"), float("nan"), 30.0, 1.0]],
                     device=device)
    leaves = [x.clone().requires_grad_() for _ in range(2)]
    results = [f(leaf) for leaf, f in zip(leaves, (lnbwd.rowwise(rows), rows), strict=True)]
    for result in results:
        result.backward(torch.full_like(result, 1.5))
    torch.testing.assert_close(results[0], results[1], equal_nan=True)
    torch.testing.assert_close(leaves[0].grad, leaves[1].grad, equal_nan=True)


@pytest.mark.parametrize("has_slopes", [False, True])
def test_slopes_of_clamp_are_those_of_the_version(device, monkeypatch, has_slopes):
    """From PyTorch 2.14 on they are 0 at the bounds."""
    def function(x: Rows):
        return x.clamp(-1, 2), x.clamp(min=0), x.clamp(max=0), x.clamp(2, 1)

    monkeypatch.setattr(conversion, "clamp_has_slopes_at_bounds", lambda: has_slopes)
    x = torch.tensor([[-2.0, -1.0, 0.0, 1.0, 2.0, 3.0]], device=device, requires_grad=True)
    got = [torch.autograd.grad(y.sum(), x, retain_graph=True)[0].tolist()
           for y in lnbwd.rowwise(function)(x)]
    at = float(has_slopes)
    assert got == [[[0, at, 1, 1, at, 0]], [[0, 0, at, 1, 1, 1]], [[1, 1, at, 0, 0, 0]], [[0] * 6]]


def test_what_is_traced_is_outside_of_the_callers_modes():
    def refuse(*_):
        raise AssertionError("a hook of the caller's")

    want = conversion.clamp_has_slopes_at_bounds()
    conversion.clamp_has_slopes_at_bounds.cache_clear()
    with (FakeTensorMode(), torch.inference_mode(), torch.device("meta"),
          torch.autograd.graph.saved_tensors_hooks(refuse, refuse)):
        assert watching.alone(conversion.clamp_has_slopes_at_bounds)() is want


def test_tracing_is_in_no_call_of_an_operator(device):
    """Compiled graphs call operators, whose kernels may trace, without torch.func."""
    def function(x: Rows):
        return x - x.amax(-1, keepdim=True).detach()

    x = torch.randn(3, 48, device=device)
    with torch._C._DisableFuncTorch():
        assert torch.equal(lnbwd.rowwise(function)(x), function(x))


def compare_with_double(device, bodies, x, rtol=2e-6):
    """Results of several functions of x, and the gradients of their sums, beside PyTorch's in
    float64; in one kernel, in whose rows each function has a part with the elements of x."""
    def function(x: Rows):
        return tuple(body(part) for body, part in zip(bodies, x.chunk(len(bodies), -1),
                                                      strict=True))

    leaves = [x.repeat(1, len(bodies)).to(device, dtype).requires_grad_() for dtype in (F32, F64)]
    results = [f(leaf) for f, leaf in zip((lnbwd.rowwise(function), function), leaves,
                                          strict=True)]
    for each in results:
        sum(result.sum() for result in each).backward()
    zero = torch.zeros_like(leaves[1])  # PyTorch's own may be none.
    for got, want in (*zip(*results, strict=True),
                      (leaves[0].grad, zero if leaves[1].grad is None else leaves[1].grad)):
        torch.testing.assert_close(got, want.float(), rtol=rtol, atol=1e-30, equal_nan=True)


def test_ties_share_the_gradient_of_extremes(device):
    x = torch.tensor([[3.0, 1, 3, 2, 3], [0, -0.0, 0, 0, -1], [1, 2, 3, 4, 5],
                      [float("inf"), 1, float("inf"), 0, -1], [float("nan"), 1, 2, 3, 3]])
    compare_with_double(device, [lambda x: x.amax(-1)], x)
    compare_with_double(device, [lambda x: x.amin(-1, keepdim=True)], -x)
    compare_with_double(device, [lambda x: x.norm(float("inf"), dim=-1)], x[:3])


@pytest.mark.parametrize("dtype,n", [
    pytest.param(dtype, n, marks=[] if is_sample else [pytest.mark.full]) for dtype, n, is_sample in
    ((F32, 1, True), (F32, 300, False), (F32, 20000, True), (BF16, 1, False), (BF16, 300, True),
     (BF16, 20000, False))], ids=str)
def test_a_largest_element_that_is_computed(device, n, dtype):
    """It is found again where the gradient computes the elements anew, rounded as they are there:
    a kernel for 16 bits may compute cheaper ones."""
    def function(x: Rows, g: Columns):
        y = torch.exp(torch.tanh(x * g) + g) * 0.5
        return y / y.amax(-1, keepdim=True), y.amin(-1)

    tensors = [t.to(device) for t in tensors_of(function, (3,), (dtype,), n=n)]
    assert_close(run(lnbwd.rowwise(function), tensors), function, tensors)


@pytest.mark.parametrize("orders", [(0, 0.5, 1, 1.5, 2, 2.5, 3, 4, float("inf")),
                                    (float("-inf"), -1)])
def test_norms_of_rows_with_zeros(device, orders):
    """Of a row of zeros the gradient is 0, as PyTorch has it, not the infinity of the root."""
    x = torch.tensor([[0.0, 0, 0, 0], [3, -4, 0.5, 1], [1, 2, -2, 0]])
    x = x[1:2] if orders[0] < 0 else x
    compare_with_double(device, [lambda x, order=order: x.norm(order, dim=-1) for order in orders],
                        x)


@pytest.mark.parametrize("bodies,x", [
    ([lambda x: x / (x.std(-1, keepdim=True) + 1e-5), lambda x: x.std(-1, correction=0),
      lambda x: sum(torch.std_mean(x, -1, keepdim=True)) * x],
     [[0.0, 0, 0, 0], [1.5, 1.5, 1.5, 1.5], [1, 2, -2, 0]]),
    ([torch.sinc], [[0.0, -0.0, 0.5, 2.25]]),
    ([lambda x: x ** -1, lambda x: x ** -2, lambda x: x ** -3, lambda x: x ** -4,
      lambda x: x ** 0.5, lambda x: x ** 1.5],
     [[0.0, -0.0, 1, 2]]),
    ([torch.logit, lambda x: torch.logit(x, 0.125)], [[0.0, 0.125, 0.875, 1]]),
    ([lambda x: x / x.norm(dim=-1, keepdim=True).clamp_min(1e-12),
      lambda x: x * x.var(-1, keepdim=True), torch.abs],
     [[0.0, 0, 0, 0], [1.5, 1.5, 1.5, 1.5]])],
    ids=["std", "sinc", "powers", "logit", "norms"])
def test_slopes_where_a_part_has_none(device, bodies, x):
    """PyTorch has formulas of its own for these; a quotient or a root within has no slope there."""
    compare_with_double(device, bodies, torch.tensor(x))


def test_slopes_of_cross_entropy(device):
    def function(x: Rows, target: Rows, weight: Rows):
        return F.binary_cross_entropy(x, target, weight, reduction="none")

    x, target = (torch.tensor([values]) for values in (
        [0, 0, 0, 0.25, 0.75, 1, 1, 1.0], [0, 1, 0.25, 0, 1, 0, 1, 0.25]))
    leaves = [x.to(device, dtype, copy=True).requires_grad_() for dtype in (F32, F64)]
    results = [f(leaf, target.to(leaf), target.to(leaf) + 2)
               for f, leaf in zip((lnbwd.rowwise(function), function), leaves, strict=True)]
    for result in results:
        result.sum().backward()
    for got, want in (results, [leaf.grad for leaf in leaves]):
        torch.testing.assert_close(got, want.float(), rtol=2e-6, atol=1e-30)


def test_whole_powers_have_their_sign(device):
    x = torch.tensor([[-2.0, -1.5, -1, -0.75, 0.75, 1, 1.25, 2]])
    compare_with_double(device, [lambda x, exponent=exponent: x ** exponent for exponent in (
        1, 5, 7, 8, 9, 12, 33, -1, -5, -9, -12)], x, rtol=1e-5)


def test_steps(device):
    x = torch.tensor([[-2.5, -1.5, -0.5, -0.0, 0.0, 0.5, 1.5, 2.5, 1e30, float("inf"),
                       float("-inf"), float("nan")]])
    compare_with_double(device, [torch.round, torch.sign, torch.trunc, torch.sgn], x)


@pytest.mark.parametrize("rows", [1, 3])
def test_logic_over_no_dimension(device, rows):
    def logic(x: Rows):
        return (x > 0).any(()), x.all((), keepdim=True), x * x.sign().any(dim=())

    x = torch.randn(rows, N).relu().to(device)
    assert all(map(torch.equal, lnbwd.rowwise(logic)(x), logic(x)))


def test_waves_of_any_length(device):
    """The angle is reduced right however large it is."""
    x = torch.cat([torch.linspace(-10, 10, 37), torch.logspace(-30, 38, 59),
                   -torch.logspace(0, 38, 29), torch.tensor([float("inf"), 0.0, -0.0])])[None]
    compare_with_double(device, [torch.sin, torch.cos], x, rtol=2.5e-7)


def test_parts_of_rows(device):
    """Parts that are not used have the gradient 0; those of a tensor that is not dense, and the
    parts of more than two."""
    def function(x: Rows, z: Rows):
        a, _, c = x.chunk(3, -1)
        return a * torch.sigmoid(c) + z[..., 32:]

    def gated(x: Rows):
        return F.glu(x)

    tensors = [t.to(device) for t in tensors_of(function, (2, 3))]
    strided = [torch.empty(2, 3, 2 * N, device=device)[..., ::2].copy_(t) for t in tensors]
    for given in (tensors, strided):
        assert_close(run(lnbwd.rowwise(function), given), function, tensors)
    assert "memref<?x16xf32>" in lnbwd.rowwise(function).mlir(*tensors)
    assert_close(run(lnbwd.rowwise(gated), tensors[:1]), gated, tensors[:1])
    # The gradient's own, and inside of torch.func's transforms.
    x, = (t.double() for t in tensors[:1])

    def loss(f, x):
        return f(x).square().sum()

    for transform in (torch.func.grad, lambda f: torch.func.grad(
            lambda x: torch.func.grad(f)(x).square().sum())):
        got = transform(lambda x: loss(lnbwd.rowwise(gated), x))(x.float())
        torch.testing.assert_close(got.double(), transform(lambda x: loss(gated, x))(x),
                                   rtol=1e-4, atol=1e-5)


def test_a_row_function_in_another(device):
    inner = lnbwd.rowwise(gated_rms_norm)

    def outer(x: Rows, z: Rows, gamma: Columns):
        return x + inner(x, z, gamma, eps=1e-3)

    tensors = [t.to(device) for t in tensors_of(outer, (3,))]
    assert_close(run(lnbwd.rowwise(outer), tensors),
                 lambda x, z, gamma: x + gated_rms_norm(x, z, gamma, 1e-3), tensors)


# --------------------------------------------------------------------------------------------------
# What is made, kept and computed
# --------------------------------------------------------------------------------------------------


@pytest.fixture
def traced(monkeypatch):
    """The signatures that functions are traced for."""
    signatures = []

    def trace(function, call, signature, saved):
        signatures.append(signature)
        return original(function, call, signature, saved)

    original = tracing.trace
    monkeypatch.setattr(tracing, "trace", trace)
    return signatures


def test_a_signature_is_traced_once(device, traced):
    function = lnbwd.rowwise(gated_rms_norm)
    x, z, gamma = (t.to(device) for t in tensors_of(gated_rms_norm, (4,)))
    for _ in range(3):
        function(x, z, gamma)
    function(x[:2], z[:2], gamma=gamma, eps=1e-5)
    assert len(traced) == 1
    function(x.bfloat16(), z, gamma)
    function(x[None], z[None], gamma)
    function(x[:, :16], z[:, :16], gamma[:16])
    assert len(traced) == 4


def test_numbers_are_constants(device, traced):
    @lnbwd.rowwise
    def power(x: Rows, exponent: int = 2, negate: bool = False, *, shift: float | None = None,
              name: str = ""):
        y = x ** exponent
        y = -y if negate else y
        y = y if shift is None else y + shift
        return y * 2 if name == "double" else y

    x = torch.randn(3, N, device=device)
    for _ in range(2):
        torch.testing.assert_close(power(x), x * x)
        torch.testing.assert_close(power(x, 3, True), -x ** 3)
        torch.testing.assert_close(power(x, negate=True, exponent=1), -x)
        torch.testing.assert_close(power(x, shift=0.5, name="double"), 2 * (x * x + 0.5))
        assert power(x, shift=float("nan")).isnan().all()
    assert len(traced) == 5
    power(x, shift=1)
    power(x, shift=1.0)
    assert len(traced) == 7


def test_an_optional_column(device):
    @lnbwd.rowwise
    def shifted(x: Rows, b: Columns | None = None):
        return 2 * x if b is None else 2 * x + b

    x, b = torch.randn(3, N, device=device), torch.randn(N, device=device)
    torch.testing.assert_close(shifted(x), 2 * x)
    torch.testing.assert_close(shifted(x, b), 2 * x + b)


def test_only_gradients_that_are_needed(device):
    function = lnbwd.rowwise(layer_norm_with_sum)
    tensors = [t.to(device) for t in tensors_of(layer_norm_with_sum, (4,))]
    want = run(layer_norm_with_sum, tensors, F64)[2:]
    for needs in ((True, False, False, False), (False, False, True, True), (False,) * 4):
        given = [t.clone().requires_grad_(n) for t, n in zip(tensors, needs, strict=True)]
        y, total = function(*given)
        assert y.requires_grad == any(needs)
        if not any(needs):
            continue
        generator = torch.Generator().manual_seed(7)
        grads = [torch.randn(y.shape, generator=generator).bfloat16().to(y) for _ in range(2)]
        for result, grad in zip((y, total), grads, strict=True):
            if result.requires_grad:
                result.backward(grad, retain_graph=True)
        for tensor, need, w in zip(given, needs, want, strict=True):
            assert (tensor.grad is not None) == need
            if need:
                torch.testing.assert_close(tensor.grad.double(), w, rtol=1e-5, atol=1e-5)


def test_results_that_the_loss_does_not_use(device):
    function = lnbwd.rowwise(statistics)
    for place in range(3):
        x = torch.randn(3, N, generator=torch.Generator().manual_seed(1)).to(device)
        leaves = [x.to(dtype, copy=True).requires_grad_() for dtype in (F32, F64)]
        for leaf, f in zip(leaves, (function, statistics), strict=True):
            f(leaf)[place].square().sum().backward()
        torch.testing.assert_close(leaves[0].grad.double(), leaves[1].grad, rtol=1e-5, atol=1e-6)


def test_a_gradient_that_is_zero(device):
    @lnbwd.rowwise
    def steps(x: Rows, g: Columns):
        return torch.floor(x) + 0 * g.detach()

    x, g = torch.randn(3, N, device=device), torch.ones(N, device=device)
    x.requires_grad_()
    g.requires_grad_()
    steps(x, g).sum().backward()
    assert torch.equal(x.grad, torch.zeros_like(x))
    assert torch.equal(g.grad, torch.zeros_like(g))


@pytest.mark.parametrize("saved", [None, ["h"]])
def test_a_gradient_that_is_the_same_for_all_rows(device, saved):
    def function(x: Rows, w: Columns):
        h = x.tanh()
        return h * h, (x * w + x).sum(0)

    x, w = torch.randn(3, N, device=device, requires_grad=True), torch.randn(N, device=device)
    [got], [want] = (torch.autograd.grad(f(x, w)[1].square().sum(), x)
                     for f in (lnbwd.rowwise(saved=saved)(function), function))
    torch.testing.assert_close(got, want)


def saved_shapes(function, tensors):
    tensors = [t.detach().requires_grad_() for t in tensors]
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(tuple(t.shape)) or t,
                                                  lambda t: t):
        function(*tensors)
    return kept


def test_what_is_saved(device):
    """The inputs and the statistic, unless something else is asked for."""
    tensors = [t.to(device) for t in tensors_of(gated_rms_norm, (4,))]
    shapes = [(4, N), (4, N), (N,)]
    assert saved_shapes(lnbwd.rowwise(gated_rms_norm), tensors) == [*shapes, (4, 1)]
    assert saved_shapes(lnbwd.rowwise(saved=())(gated_rms_norm), tensors) == shapes
    by_name = lnbwd.rowwise(saved=["h"])(gated_rms_norm)
    assert saved_shapes(by_name, tensors) == [*shapes, (4, N)]
    assert_close(run(by_name, tensors), gated_rms_norm, tensors)
    # What the gradient does not need is not kept.
    assert saved_shapes(lnbwd.rowwise(add_column), tensors[1:]) == []
    assert saved_shapes(lnbwd.rowwise(softmax), tensors[:1]) == [(4, N), (4, 1), (4, 1)]
    # A result serves.
    named = lnbwd.rowwise(saved=["total"])(layer_norm_with_sum)
    tensors = [t.to(device) for t in tensors_of(layer_norm_with_sum, (4,))]
    assert saved_shapes(named, tensors) == [(N,), (4, N)]
    assert_close(run(named, tensors), layer_norm_with_sum, tensors)
    with torch.no_grad():
        assert saved_shapes(named, tensors) == []


@pytest.mark.parametrize("leading,n", [((5,), 2), ((5, 2, 3), 2), ((5, 2, 3), 4)])
def test_short_rows(device, leading, n):
    """No sample size of a trace is the row length."""
    def function(x: Rows, g: Columns):
        y = x * g
        return y / (1 + y.square().sum(-1, keepdim=True))

    tensors = [t.to(device) for t in tensors_of(function, leading, n=n)]
    assert_close(run(lnbwd.rowwise(function), tensors), function, tensors)


def relative_to_largest(x: Rows, z: Rows):
    largest = (x + x * 0.5 + z).amax(-1, keepdim=True)
    return x * largest, torch.where(x + x * 0.5 + z == largest.detach(), z, x)


def bounded_by_largest(x: Rows, s: Scalars):
    y = torch.sin(x / (1 + s.square())) * x
    largest = torch.nn.functional.log_softmax(y, -1).amax(-1, keepdim=True)
    return torch.where(y > largest, y, largest * 0.5), largest


@pytest.mark.parametrize("function,saved", [
    (relative_to_largest, None), (relative_to_largest, ["largest"]), (bounded_by_largest, None)])
def test_a_gradient_finds_the_largest_element_again(device, function, saved):
    """It is computed again in another way, and would not be equal to one that was saved."""
    tensors = [t.to(device) for t in tensors_of(function, (200,), n=16)]
    assert_close(run(lnbwd.rowwise(saved=saved)(function), tensors), function, tensors)


def test_results_without_a_gradient(device):
    def numbers(x: Rows, s: Scalars):
        return (x * s).argmax(-1), x > s

    x, s = (t.to(device).requires_grad_() for t in tensors_of(numbers, (5,)))
    for got, want in zip(lnbwd.rowwise(numbers)(x, s), numbers(x, s), strict=True):
        assert torch.equal(got, want)
        assert not got.requires_grad
    assert "_bwd" not in lnbwd.rowwise(numbers).mlir(x, s)


def of_numbers(x: Rows, s: Scalars):
    return s * s, (x * s).detach(), x + 1


def numbers_alone(x: Rows, s: Scalars):
    return s.exp()


def largest_and_sums(x: Rows, s: Scalars):
    return x.argmax(-1, keepdim=True), x.amax(-1, keepdim=True) * s, x.sum(0)


@pytest.mark.parametrize("n", [1, 24])
@pytest.mark.parametrize("function", [of_numbers, numbers_alone, largest_and_sums])
def test_each_result_has_the_gradients_that_it_has(device, function, n):
    """A result that follows from no input with a gradient needs none."""
    for needs in itertools.product([True, False], repeat=2):
        tensors = [t.to(device).requires_grad_(need)
                   for t, need in zip(tensors_of(function, (5,), n=n), needs, strict=True)]
        results = [tree_leaves(f(*tensors)) for f in (lnbwd.rowwise(function), function)]
        for got, want in zip(*results, strict=True):
            torch.testing.assert_close(got, want)
            assert got.requires_grad == want.requires_grad
            if want.requires_grad:
                torch.testing.assert_close(*(torch.autograd.grad(
                    one.square().sum(), [t for t in tensors if t.requires_grad],
                    retain_graph=True, materialize_grads=True) for one in (got, want)))


def test_a_row_scalar_is_a_result_after_a_row_of_one_row_each(device):
    def ends_in_another_shape(x: Rows, z: Rows):
        place = (x + z).argmax(-1)
        return (x * z).sum(-1) / 3, x + z, place

    x, z = (t.to(device) for t in tensors_of(ends_in_another_shape, (1, 3, 1)))
    for got, want in zip(lnbwd.rowwise(ends_in_another_shape)(x, z), ends_in_another_shape(x, z),
                         strict=True):
        torch.testing.assert_close(got, want)


def test_the_row_programs_can_be_read(device):
    tensors = tensors_of(gated_rms_norm, (4,))
    text = lnbwd.rowwise(gated_rms_norm).mlir(*tensors)
    assert text.count("lnbwd.rowwise") == 2
    for one in text.split("// -----\n"):
        assert one.strip().startswith("func.func @")
        assert lnbwd.compile_mlir(one, "gfx942").code
    with pytest.raises(lnbwd.CompileError, match="write each to a file of its own"):
        lnbwd.compile_mlir(text, "gfx942")
    assert '"dout0", "arg0", "arg1", "arg2", "out1", "darg0", "darg1", "darg2"' in text
    # The cheaper functions of results in 16 bits are not for gradients in 32.
    a, b = tensors_of(swiglu, (4,), (BF16,))
    forward, gradient = lnbwd.rowwise(swiglu).mlir(a, b).split("// -----")
    assert "fastmath<afn>" in forward
    assert "fastmath<afn>" not in gradient


def test_the_example_runs():
    example = pathlib.Path(__file__).resolve().parents[2] / "examples" / "row_function.py"
    package = pathlib.Path(lnbwd.__file__).parents[1]
    done = loaded_python.run([example], env={**os.environ, "PYTHONPATH": str(package)})
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("lnbwd.rowwise @") == 2
    assert "dgamma  torch.float32" in done.stdout


def test_without_a_compiler(device, tmp_path, new_process, request):
    """Forward pass and gradient come out of a cache that was filled elsewhere."""
    tensors = [t.to(device) for t in tensors_of(swiglu, (3,), n=40)]
    new_process(tmp_path)
    want = run(lnbwd.rowwise(swiglu), tensors)
    assert (tmp_path / "v1" / "any").is_dir()
    assert "any" not in lnbwd.kernel_cache().chips()
    new_process()
    request.getfixturevalue("no_compiler")
    got = run(lnbwd.rowwise(swiglu), tensors)
    assert all(torch.equal(a, b) for a, b in zip(got, want, strict=True))
    with pytest.raises(lnbwd.LnbwdError, match=r"there is no gradient of a row program of .*"
                                               "this installation has no compiler"):
        run(lnbwd.rowwise(scaled_gelu), [t.to(device) for t in tensors_of(scaled_gelu, (3,))])


def test_copies_and_pickles():
    assert copy.deepcopy(pickled_function) is pickled_function
    assert pickle.loads(pickle.dumps(pickled_function)) is pickled_function
    assert pickled_function.__name__ == "pickled_function"


@lnbwd.rowwise
def pickled_function(x: "Rows", b: "lnbwd.Columns"):
    return x + b


# --------------------------------------------------------------------------------------------------
# What surrounds a call
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend,dynamic", [("eager", True), ("inductor", False),
                                             ("lnbwd", False)])
def test_torch_compile(device, backend, dynamic, monkeypatch, tmp_path):
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    torch._dynamo.reset()
    function = lnbwd.rowwise(gated_rms_norm)

    def model(x, z, gamma):
        return function(x + z, z, gamma, eps=1e-6).tanh()

    def plain(x, z, gamma):
        return gated_rms_norm(x + z, z, gamma, eps=1e-6).tanh()

    tensors = [t.to(device) for t in tensors_of(gated_rms_norm, (2, 3))]
    lnbwd.inductor.decisions(clear=True)
    compiled = torch.compile(model, backend=backend, fullgraph=True, dynamic=dynamic)
    assert_close(run(compiled, tensors), plain, tensors)
    if backend == "lnbwd":
        # What surrounds the call is in the same kernels.
        made = lnbwd.inductor.decisions(clear=True)
        assert made and all(one.taken for one in made)
        assert any(node[0] == "tanh" for node in made[0].programs[0].nodes)
    torch._dynamo.reset()


def test_autocast_changes_nothing(device):
    function = lnbwd.rowwise(gated_rms_norm)
    x, z, gamma = (t.to(device).bfloat16() for t in tensors_of(gated_rms_norm, (4,)))
    want = function(x, z, gamma)
    torch._dynamo.reset()
    with torch.autocast(device.type, dtype=torch.bfloat16):
        assert torch.equal(function(x, z, gamma), want)
        compiled = torch.compile(lambda *t: function(*t), backend="eager", fullgraph=True)
        assert compiled(x, z, gamma).dtype == want.dtype
    torch._dynamo.reset()


def test_export_has_the_operations():
    class Model(torch.nn.Module):
        def forward(self, x, z, gamma):
            return FOR_EXPORT(x, z, gamma)

    graph = torch.export.export(Model(), tuple(tensors_of(gated_rms_norm, (4,)))).graph
    assert "aten.rsqrt.default" in {str(node.target) for node in graph.nodes}


FOR_EXPORT = lnbwd.rowwise(gated_rms_norm)


def test_opcheck(device):
    function = lnbwd.rowwise(gated_rms_norm)
    tensors = [t.to(device) for t in tensors_of(gated_rms_norm, (4,))]
    run(function, tensors)
    plan, = function._plans.values()
    forward, _ = plan.training()
    torch.library.opcheck(torch.ops.lnbwd._region.default,
                          ([tensors[i] for i in forward.inputs], forward.text))
    outputs = regions.raw_region([tensors[i] for i in forward.inputs], forward.text)
    gradient = plan.gradient((True,), (True,) * 3)
    at_hand = [outputs[0], *tensors, outputs[1]]
    torch.library.opcheck(torch.ops.lnbwd._region.default,
                          ([at_hand[i] for i in gradient.inputs], gradient.text))


def test_the_first_call_may_be_anywhere(device):
    """Whatever mode it is in, what is traced is the same."""
    x = torch.randn(2, 3, N, device=device)
    want = lnbwd.rowwise(softmax)(x)
    with torch.inference_mode():
        assert torch.equal(lnbwd.rowwise(softmax)(x), want)
    with torch.no_grad():
        function = lnbwd.rowwise(softmax)
        assert torch.equal(function(x), want)
    leaf = x.clone().requires_grad_()
    function(leaf).square().sum().backward()
    assert leaf.grad.abs().sum() > 0
    function = lnbwd.rowwise(softmax)
    torch.testing.assert_close(torch.vmap(function)(x), want)
    assert torch.equal(function(x), want)
    with torch.device("meta"):
        assert torch.equal(lnbwd.rowwise(softmax)(x), want)


def test_tensors_without_memory(device):
    """They have shapes alone, also where a kernel of the same program is loaded."""
    function = lnbwd.rowwise(softmax)
    x = torch.randn(2, 3, N, device=device)
    function(x)
    leaf = x.to("meta").requires_grad_()
    y = function(leaf)
    y.sum().backward()
    assert (y.shape, y.device.type, leaf.grad.shape) == (x.shape, "meta", x.shape)


def test_float64_is_pytorchs(device):
    tensors = [t.double().requires_grad_() for t in tensors_of(gated_rms_norm, (3,), n=5)]
    assert torch.autograd.gradcheck(lnbwd.rowwise(gated_rms_norm), tensors)


@pytest.mark.simulator
def test_on_the_cpu_it_is_pytorchs(monkeypatch):
    monkeypatch.delenv("LNBWD_SIMULATE", raising=False)
    errors.forget_warnings()
    function = lnbwd.rowwise(gated_rms_norm)
    tensors = tensors_of(gated_rms_norm, (3,))
    with pytest.warns(UserWarning, match=r"a function of lnbwd.rowwise is on the CPU"):
        got = run(function, tensors)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        function(*tensors)
    assert all(torch.equal(a, b) for a, b in zip(got, run(gated_rms_norm, tensors), strict=True))


# --------------------------------------------------------------------------------------------------
# Elementwise functions, whose kernels have rows of their own
# --------------------------------------------------------------------------------------------------


@lnbwd.rowwise
def gated(gate: lnbwd.Rows, up: lnbwd.Rows):
    return F.silu(gate) * up, gate.float() + up.float()


@pytest.fixture
def in_two(monkeypatch):
    """Few elements are computed in two launches, as many are."""
    monkeypatch.setattr(gated, "_calls", {})
    monkeypatch.setattr(Choices, "least_in_two", 0)


@pytest.mark.parametrize("shape", [
    (5, 3331), (16411,), (3, 7, 800), (130, 136), (129, 136), (2, 11264), (1, 16 * 1031)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_elementwise_functions_of_many_elements(device, in_two, shape, dtype):
    """Each element is what it is among few, in both passes, and whatever the strides are."""
    generator = torch.Generator().manual_seed(0)
    made = [torch.randn(shape, generator=generator).to(device, kind)
            for kind in (dtype, dtype, dtype, F32)]
    gate, up = (tensor.clone().requires_grad_() for tensor in made[:2])
    results = gated(gate, up)
    assert [result.shape for result in results] == [gate.shape] * 2
    assert [result.dtype for result in results] == [dtype, F32]
    found = [*results, *torch.autograd.grad(results, [gate, up], made[2:])]
    few = [tensor.reshape(-1)[-900:].clone() for tensor in made]
    leaves = [tensor.requires_grad_() for tensor in few[:2]]
    want = gated(*leaves)
    want = [*want, *torch.autograd.grad(want, leaves, few[2:])]
    for got, one in zip(found, want, strict=True):
        assert torch.equal(got.reshape(-1)[-900:], one)
    exact = [tensor.detach().double().requires_grad_() for tensor in made[:2]]
    outputs = gated.function(*exact)
    wanted = [*outputs, *torch.autograd.grad(outputs, exact, [t.double() for t in made[2:]])]
    bound = 1e-6 if dtype == F32 else 5e-3
    for got, one in zip(found, wanted, strict=True):
        assert (got.double() - one).norm() <= bound * one.norm()
    if len(shape) > 1:
        moved = [tensor.transpose(0, 1).contiguous().transpose(0, 1) for tensor in made[:2]]
        assert torch.equal(gated(*moved)[0], results[0])
    with torch.no_grad():
        into = [torch.empty_like(result) for result in results]
        gated.write(into, *made[:2])
        assert all(torch.equal(got, one) for got, one in zip(into, results, strict=True))


def test_an_elementwise_gradient_of_what_is_expanded(device, in_two):
    x, y = (torch.randn(5, 3331, device=device, requires_grad=True) for _ in range(2))
    found = torch.autograd.grad(gated(x, y)[0].sum(), [x, y])
    want = torch.autograd.grad((F.silu(x) * y).sum(), [x, y])
    for got, one in zip(found, want, strict=True):
        torch.testing.assert_close(got, one)


@pytest.mark.parametrize("least,launches", [(0, 2), (1 << 22, 1)])
def test_an_elementwise_function_that_is_watched(device, in_two, monkeypatch, least, launches):
    """Where a dispatch mode sees the operators: one launch of the rows of a small call."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Seen(TorchDispatchMode):
        def __torch_dispatch__(self, function, kinds, arguments=(), options=None):
            names.append(str(function))
            return function(*arguments, **(options or {}))

    names = []
    monkeypatch.setattr(Choices, "least_in_two", least)
    x, y = (torch.randn(5, 3331, device=device) for _ in range(2))
    want = gated(x, y)
    with Seen():
        found = gated(x, y)
    assert names.count("lnbwd._region.default") == launches
    assert all(torch.equal(got, one) for got, one in zip(found, want, strict=True))


def test_functions_that_are_not_elementwise_keep_their_rows(device):
    """One that numbers the columns, and one that reads a number for each."""
    def numbered(x: lnbwd.Rows):
        return x * torch.arange(x.shape[-1], dtype=F32, device=x.device)

    def scaled(x: lnbwd.Rows, gamma: lnbwd.Columns):
        return x * gamma

    x, gamma = torch.randn(20, 1000, device=device), torch.randn(1000, device=device)
    torch.testing.assert_close(lnbwd.rowwise(numbered)(x), numbered(x))
    torch.testing.assert_close(lnbwd.rowwise(scaled)(x, gamma), scaled(x, gamma))
