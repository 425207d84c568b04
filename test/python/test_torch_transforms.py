# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of lnbwd.rowwise in torch.func's transforms, and their higher derivatives."""

import functools

import pytest
import torch
from row_cases import (
    N,
    add_column,
    gated_rms_norm,
    layer_norm_with_sum,
    softmax,
    statistics,
    tensors_of,
)

import lnbwd
from lnbwd import Rows
from lnbwd.ops import norms, row_functions

pytestmark = pytest.mark.compiler


def loss(function):
    def call(*tensors):
        results = function(*tensors)
        results = results if isinstance(results, tuple) else (results,)
        return sum((i + 1) * r.square().sum() for i, r in enumerate(results))
    return call


def flat(values):
    return [values] if isinstance(values, torch.Tensor) else [t for v in values for t in flat(v)]


def assert_same(got, want):
    for g, w in zip(flat(got), flat(want), strict=True):
        assert g.shape == w.shape
        assert (g - w).abs().max() <= 1e-5 * w.abs().max() + 1e-30


@pytest.mark.parametrize("function", [gated_rms_norm, layer_norm_with_sum, statistics, add_column],
                         ids=lambda f: f.__name__)
def test_derivatives_of_derivatives(device, function):
    def derivatives(function, tensors):
        tensors = [t.clone().requires_grad_() for t in tensors]
        found = []
        value = loss(function)(*tensors)
        for order in range(3):
            grads = torch.autograd.grad(value, tensors, create_graph=order < 2,
                                        materialize_grads=True)
            found += grads
            value = sum((g ** 2).sum() for g in grads)
        return found

    tensors = [t.to(device) for t in tensors_of(function, (3,), n=16)]
    assert_same(derivatives(lnbwd.rowwise(function), tensors),
                derivatives(function, [t.double() for t in tensors]))


def test_a_second_derivative_of_what_is_not_kept(device):
    @lnbwd.rowwise(saved=["h"])
    def product(x: Rows, z: Rows):
        h = x + z
        return h * h

    x, z = (torch.randn(3, N, device=device, requires_grad=True) for _ in range(2))
    grad, = torch.autograd.grad(product(x, z).sum(), x)
    torch.testing.assert_close(grad, 2 * (x + z).detach())
    with pytest.raises(lnbwd.LnbwdError, match=r"second derivatives, needs 'x', 'z', of which "
                                               r"something else is saved; expected saved=\(\)"):
        torch.autograd.grad(product(x, z).sum(), x, create_graph=True)
    # Inside of transforms nothing is saved.
    grad = torch.func.grad(lambda x: torch.func.grad(lambda x: (product(x, z) * x).sum())(x).sum())
    torch.testing.assert_close(grad(x), 6 * x + 4 * z)


def test_torch_func(device):
    function = lnbwd.rowwise(gated_rms_norm)
    tensors = [t.to(device) for t in tensors_of(gated_rms_norm, (3,), n=16)]
    wide = [t.double() for t in tensors]
    everything = (0, 1, 2)
    assert_same(torch.func.grad(loss(function), everything)(*tensors),
                torch.func.grad(loss(gated_rms_norm), everything)(*wide))
    assert_same(torch.func.jacrev(function, everything)(*tensors),
                torch.func.jacrev(gated_rms_norm, everything)(*wide))

    def hessian(function, x, z, gamma):
        return torch.func.jacrev(torch.func.jacrev(lambda x: function(x, z, gamma).sum()))(x)

    assert_same(hessian(function, *tensors), hessian(gated_rms_norm, *wide))


@pytest.mark.parametrize("dims", [(0, 0, None), (1, None, None), (None, 0, 0), (None, None, 0)],
                         ids=str)
def test_vmap(device, dims):
    function = lnbwd.rowwise(gated_rms_norm)
    tensors = [torch.stack([t, 2 * t], dim) if dim is not None else t
               for t, dim in zip(tensors_of(gated_rms_norm, (3,), n=16), dims, strict=True)]
    tensors = [t.to(device) for t in tensors]
    wide = [t.double() for t in tensors]
    assert_same(torch.vmap(function, dims)(*tensors), torch.vmap(gated_rms_norm, dims)(*wide))

    def grads(function):
        return torch.vmap(torch.func.grad(loss(function), (0, 1, 2)), dims)

    assert_same(grads(function)(*tensors), grads(gated_rms_norm)(*wide))


@pytest.mark.parametrize("function", [
    lnbwd.rowwise(softmax), lambda x: lnbwd.layer_norm(x, (N,)),
    lambda x: lnbwd.functional.group_norm(x.repeat(1, 2)[None], 3),
    lambda x: lnbwd.layer_norm_linear(x, (N,), None, None, x.detach()[:2]),
    lambda x: lnbwd.functional.rms_norm_rope(x, x.detach(), x.detach())],
    ids=["softmax", "norm", "groups", "linear", "rotary"])
def test_several_gradients_at_once(device, function):
    """As torch.autograd.functional.jacobian(vectorize=True) has them, which is no transform."""
    x = torch.randn(3, N, device=device, requires_grad=True)
    y = function(x)
    gradients = torch.randn(4, *y.shape, device=device)
    got, = torch.autograd.grad(y, x, gradients, is_grads_batched=True, retain_graph=True)
    assert_same(got, torch.stack([
        torch.autograd.grad(y, x, one, retain_graph=True)[0] for one in gradients]))


def test_forward_mode_is_torch_funcs_alone(device):
    """Of all things it must not drop the tangent."""
    function = lnbwd.rowwise(softmax)
    x = torch.randn(3, N, device=device)
    assert_same(torch.func.jvp(function, (x,), (x,)),
                torch.func.jvp(softmax, (x.double(),), (x.double(),)))
    with (torch.autograd.forward_ad.dual_level(), torch.no_grad(),
          pytest.raises(lnbwd.LnbwdError, match="forward-mode differentiation")):
        function(torch.autograd.forward_ad.make_dual(x, x))


def test_inference_takes_no_function_of_autograd(device, monkeypatch):
    """Neither of a row function nor of a norm; what a derivative may be asked of takes one."""
    x = torch.randn(3, N, device=device)
    calls = [functools.partial(lnbwd.rowwise(softmax), x),
             functools.partial(lnbwd.rms_norm, x, (N,), eps=1e-6)]
    want = [call() for call in calls]

    def refuse(*_):
        raise AssertionError("a function of autograd")

    monkeypatch.setattr(row_functions, "_apply_eager", refuse)
    monkeypatch.setattr(norms.NORMS["rms_norm"], "eager", refuse)
    with torch.no_grad():
        assert_same([call() for call in calls], want)
    for call in calls:
        with pytest.raises(AssertionError, match="a function of autograd"):
            call()
        with (torch.no_grad(), torch.autograd.forward_ad.dual_level(),
              pytest.raises(AssertionError, match="a function of autograd")):
            call()
