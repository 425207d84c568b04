# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cross entropy of a linear layer's output, in chunks of rows."""

import pytest
import torch
import torch.nn.functional as F
from compiled import BF16, F32, normal, on_device, simulated

from lnbwd.functional import linear_cross_entropy
from lnbwd.nn import LinearCrossEntropyLoss
from lnbwd.ops.choices import choices

pytestmark = pytest.mark.compiler
ROWS, SIZE, CLASSES = 20, 32, 70
TARGET = (torch.arange(ROWS) * 37 % CLASSES).index_fill(0, torch.tensor([3, 11]), -100)
F16, F64 = torch.float16, torch.float64


@pytest.fixture(autouse=True)
def chunks(monkeypatch):
    """Of 8 rows, the last of which has 4."""
    monkeypatch.setattr(choices, "most_logits_bytes", 1)
    monkeypatch.setattr(choices, "least_chunk", 8)


def results(function, dtype, has_bias=False, has_weight=False, **options):
    """The loss and the gradients of input, weight and bias."""
    tensors = [normal(ROWS, SIZE), 0.3 * normal(CLASSES, SIZE, seed=1)]
    tensors += [0.1 * normal(CLASSES, seed=2)] * has_bias
    tensors = [one.to(dtype).requires_grad_() for one in on_device(tensors)]
    [target] = on_device([TARGET])
    weight = on_device([normal(CLASSES, seed=3).abs() + 0.5])[0] if has_weight else None
    if weight is not None and dtype == F64:
        weight = weight.double()
    loss = function(tensors[0], tensors[1], target, weight=weight,
                    linear_bias=tensors[2] if has_bias else None, **options)
    factor = torch.linspace(0.5, 2, ROWS, device=loss.device) if loss.dim() else torch.tensor(3.0)
    loss.backward(factor.to(loss))
    return [loss.detach(), *(one.grad for one in tensors)]


CASES = [{}, {"reduction": "sum"}, {"reduction": "none"}, {"label_smoothing": 0.1},
         {"z_loss": 1e-2}, {"softcap": 2.0}, {"has_bias": True}, {"has_weight": True},
         {"has_weight": True, "reduction": "none"}]
ALL = {"has_bias": True, "has_weight": True, "label_smoothing": 0.1, "z_loss": 1e-2, "softcap": 2.0}
CASES += [ALL, {**ALL, "reduction": "none"}]


def check(got, options, bound):
    """Holds results to those of float64, which PyTorch computes."""
    for place, (one, want) in enumerate(zip(got, results(linear_cross_entropy, F64, **options),
                                            strict=True)):
        error = (one.double() - want).norm() / want.norm()
        assert error < bound, (place, float(error))


@pytest.mark.parametrize("options", CASES, ids=str)
def test_results(options):
    with simulated():
        check(results(linear_cross_entropy, F32, **options), options, 2e-6)


def test_operands_with_gaps():
    def strided(input, linear_weight, target, *, linear_bias, weight, **options):
        return linear_cross_entropy(
            input.t().contiguous().t(), linear_weight.t().contiguous().t(), target,
            linear_bias=torch.stack([linear_bias, linear_bias], 1)[:, 0],
            weight=torch.stack([weight, weight], 1)[:, 0], **options)

    with simulated():
        check(results(strided, F32, **ALL), ALL, 2e-6)


@pytest.mark.parametrize("options", [{}, ALL, {"reduction": "none"}], ids=str)
@pytest.mark.parametrize(("dtype", "bound"), [(BF16, 2e-2), (F16, 3e-3)])
def test_results_of_halves(dtype, bound, options):
    with simulated():
        check(results(linear_cross_entropy, dtype, **options), options, bound)


def test_it_is_pytorchs_formula():
    def by_pytorch(input, linear_weight, target, *, linear_bias, **options):
        return F.cross_entropy(F.linear(input, linear_weight, linear_bias), target, **options)

    options = {"has_bias": True, "has_weight": True, "label_smoothing": 0.1}
    with simulated():
        for one, want in zip(results(linear_cross_entropy, F32, **options),
                             results(by_pytorch, F32, **options), strict=True):
            torch.testing.assert_close(one, want)


@pytest.mark.parametrize("options", [{}, ALL, {"reduction": "none"}], ids=str)
def test_a_compiled_call(options, fresh_inductor):
    """The logits are in no graph: a call is one operation there."""
    with simulated():
        compiled = torch.compile(linear_cross_entropy, backend="lnbwd", fullgraph=True)
        check(results(compiled, F32, **options), options, 2e-6)


def test_without_a_simulated_chip():
    """PyTorch computes it."""
    check(results(linear_cross_entropy, F32, **ALL), ALL, 2e-6)


def test_without_gradients():
    x, weight, target = on_device([normal(ROWS, SIZE), normal(CLASSES, SIZE, seed=1), TARGET])
    with simulated(), torch.no_grad():
        got = linear_cross_entropy(x, weight, target)
    torch.testing.assert_close(got, F.cross_entropy(x @ weight.t(), target))


def test_one_gradient_alone():
    for place in range(2):
        tensors = on_device([normal(ROWS, SIZE), 0.3 * normal(CLASSES, SIZE, seed=1)])
        tensors[place].requires_grad_()
        [target] = on_device([TARGET])
        with simulated():
            linear_cross_entropy(*tensors, target).backward()
        want = results(linear_cross_entropy, F64)[1 + place] / 3
        torch.testing.assert_close(tensors[place].grad.double(), want, rtol=1e-4, atol=1e-6)


def test_targets_that_are_no_classes():
    x, weight, target = on_device([normal(4, SIZE), normal(CLASSES, SIZE, seed=1),
                                   torch.tensor([1, -1, CLASSES, -100])])
    x.requires_grad_()
    with simulated():
        found = linear_cross_entropy(x, weight, target, reduction="none")
        ignored = linear_cross_entropy(x, weight, torch.full_like(target, -100))
        ignored.backward()
    assert found.isnan().tolist() == [False, True, True, False] and found[3] == 0
    # As PyTorch has it: the loss of such a batch says so, and no parameter is lost.
    assert ignored.isnan() and not x.grad.any()


def test_a_module():
    module = LinearCrossEntropyLoss(SIZE, CLASSES, bias=True, softcap=3.0)
    x = normal(2, 10, SIZE)
    want = linear_cross_entropy(x, module.linear.weight, TARGET.view(2, 10),
                                linear_bias=module.linear.bias, softcap=3.0)
    torch.testing.assert_close(module(x, TARGET.view(2, 10)), want)
    assert "softcap=3.0" in repr(module)


def test_a_second_backward_pass():
    x = normal(ROWS, SIZE).requires_grad_()
    with simulated():
        x, weight, target = on_device([x, normal(CLASSES, SIZE, seed=1), TARGET])
        loss = linear_cross_entropy(x, weight.requires_grad_(), target)
        loss.backward(retain_graph=True)
        with pytest.raises(RuntimeError, match="expected one backward pass"):
            loss.backward()


@pytest.mark.parametrize("reduction", ["mean", "none"])
def test_second_derivatives_are_refused(reduction):
    """They would be missing in a penalty's gradient, without a word."""
    x = normal(ROWS, SIZE).requires_grad_()
    with simulated():
        x, weight, target = on_device([x, normal(CLASSES, SIZE, seed=1), TARGET])
        loss = linear_cross_entropy(x, weight, target, reduction=reduction).sum()
        with pytest.raises(RuntimeError, match="create_graph=True: expected a function "):
            torch.autograd.grad(loss, x, create_graph=True)
