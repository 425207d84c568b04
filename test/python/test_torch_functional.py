# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Softmaxes, cross entropy and gated activations beside PyTorch's in float64."""

import contextlib
import inspect
import itertools
import math
import os
import pathlib
import sys
import warnings

import loaded_python
import pytest
import torch
import torch.nn.functional as F
from cases import diagonal
from row_cases import BF16, F16, F32, F64
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._pytree import tree_leaves

import lnbwd
from conftest import HAS_GPU
from lnbwd import compiler, functional, nn
from lnbwd.core.base import errors
from lnbwd.functional import channel_norms
from lnbwd.ops.choices import choices
from lnbwd.program.mlir import mlir
from lnbwd.program.row_program import RowProgram

pytestmark = pytest.mark.compiler
EPSILON = {F32: 2e-6, BF16: 2.0 ** -8, F16: 2.0 ** -11}
INF, NAN = math.inf, math.nan


def random(*shape, dtype=F32, seed=0):
    return 3 * torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def assert_same(ours, theirs, inputs, *others, roundings=1, **options):
    """Results and gradients of the tensors ``inputs``, which a gradient of random numbers gives."""
    results = []
    for function, cast in ((ours, lambda t: t), (theirs, torch.Tensor.double)):
        leaves = [cast(t.detach()).requires_grad_() for t in inputs]
        y = function(*leaves, *others, **options)
        dy = random(*y.shape, dtype=BF16, seed=7).to(y)
        results.append([y.detach(), *torch.autograd.grad(y, leaves, dy)])
    for got, want, like in zip(*results, [None, *inputs], strict=True):
        assert got.shape == want.shape
        assert like is None or got.dtype == like.dtype
        size = want.nan_to_num(0, 0, 0).abs().max().item()
        torch.testing.assert_close(got.double(), want, rtol=0, equal_nan=True,
                                   atol=roundings * EPSILON[got.dtype] * max(size, 1e-30))
    return results[0]


@pytest.mark.parametrize("name,case", diagonal(
    ["softmax", "log_softmax"], [(F32, (2, 3, 37), -1), (BF16, (2, 5, 3), 1), (F16, (64,), 0)]))
def test_softmax(device, name, case):
    dtype, shape, dim = case
    ours, theirs = getattr(functional, name), getattr(torch, name)
    y, _ = assert_same(ours, theirs, [random(*shape, dtype=dtype).to(device)], dim)
    assert y.dtype == dtype
    module = {"softmax": nn.Softmax, "log_softmax": nn.LogSoftmax}[name](dim)
    assert torch.equal(module(random(*shape, dtype=dtype).to(device)), y)


def test_the_type_of_a_softmax(device):
    x = random(3, 40, dtype=BF16).to(device)
    y, _ = assert_same(lambda x: functional.softmax(x, -1, F32),
                       lambda x: torch.softmax(x, -1), [x])
    assert y.dtype == F32
    assert functional.log_softmax(x.float(), -1, BF16).dtype == BF16
    torch.testing.assert_close(functional.softmax(x, -1, F64), torch.softmax(x, -1, F64))


def test_a_dimension_that_is_dense_is_not_copied(device):
    x = random(2, 8, 3, 4).to(device).contiguous(memory_format=torch.channels_last)
    y, dx = assert_same(functional.softmax, torch.softmax, [x], 1)
    assert y.stride() == dx.stride() == x.stride()


ROWS = torch.tensor([[1, 2, 3, 4.0], [-INF, 1, 2, -INF], [-INF] * 4, [INF, 0, 1, 2],
                     [NAN, 0, 1, 2], [-1e30, 1e30, 0, 1], [1e4, 1e4 + 1, 0, 1e4]])


def assert_same_on_strange_rows(device, ours, theirs, *arguments, **options):
    results = []
    for function in (ours, theirs):
        x = ROWS.to(device, copy=True).requires_grad_()
        y = function(x, *arguments, **options)
        y.backward(torch.arange(y.numel(), dtype=F32, device=device).view(y.shape) / 8)
        results.append((y.detach(), x.grad))
    torch.testing.assert_close(*results, rtol=2e-6, atol=2e-6, equal_nan=True)


def test_softmax_of_strange_rows(device):
    assert_same_on_strange_rows(device, functional.softmax, torch.softmax, -1)
    assert_same_on_strange_rows(device, functional.log_softmax, torch.log_softmax, -1)


def losses(x, t, **options):
    return F.cross_entropy(x.flatten(0, -2), t.flatten(), **options)


@pytest.mark.parametrize("reduction,case", diagonal(["mean", "sum", "none"], [
    (F32, 37, {}), (BF16, 131, {"ignore_index": 3, "label_smoothing": 0.125}),
    (F16, 1, {"ignore_index": 2 ** 40})]))
def test_cross_entropy(device, reduction, case):
    dtype, n, options = case
    x = random(3, 4, n, dtype=dtype).to(device)
    t = torch.randint(n, (3, 4), generator=torch.Generator().manual_seed(1)).to(device)
    t[0, :2] = options.get("ignore_index", -100)

    def theirs(x, t, **options):
        loss = losses(x, t, **options)
        return loss.view(t.shape) if reduction == "none" else loss

    y, _ = assert_same(functional.cross_entropy, theirs, [x], t, reduction=reduction, **options)
    assert y.dtype == dtype
    assert torch.equal(nn.CrossEntropyLoss(reduction=reduction, **options)(x, t), y)


@pytest.mark.parametrize("dtype", [F32, BF16])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("smoothing", [0, 0.25])
def test_class_weights(device, dtype, reduction, smoothing):
    x, t = random(9, 37, dtype=dtype).to(device), torch.arange(9, device=device) * 4
    weight = random(37).abs().to(device).index_fill(0, t[4:6], 0)
    t[0] = -100
    options = {"reduction": reduction, "label_smoothing": smoothing}

    def ours(x, t):
        return functional.cross_entropy(x, t, weight, **options)

    y, _ = assert_same(ours, lambda x, t: losses(x, t, weight=weight.double(), **options), [x], t)
    torch.testing.assert_close(nn.CrossEntropyLoss(weight, **options)(x, t), y)
    weight = weight.to(dtype)
    torch.testing.assert_close(torch.vmap(ours)(x[None], t[None])[0], ours(x, t))
    torch._dynamo.reset()
    compiled = torch.compile(ours, backend="eager", fullgraph=True)
    torch.testing.assert_close(compiled(x, t), ours(x, t))
    wrong = ours(x, t.index_fill(0, t.new_tensor([1]), 37))
    assert wrong.isnan().sum() == 1


@pytest.mark.parametrize("dtype", [BF16, pytest.param(F32, marks=pytest.mark.full)])
def test_a_large_vocabulary(device, dtype):
    x, t = random(2, 50257, dtype=dtype).to(device), torch.tensor([50256, 0], device=device)
    assert_same(functional.cross_entropy, losses, [x], t)


def test_cross_entropy_of_strange_rows(device):
    for t in ([1] * len(ROWS), [0, 0, 3, 0, -100, -100, 2]):
        for smoothing in (0, 0.25):
            assert_same_on_strange_rows(
                device, functional.cross_entropy, F.cross_entropy, torch.tensor(t, device=device),
                reduction="none", label_smoothing=smoothing)
    x = random(4, 7).to(device).requires_grad_()
    loss = functional.cross_entropy(x, torch.tensor([7, -1, 2, -100], device=device),
                                    reduction="none")
    loss.sum().backward()
    assert loss.isnan().tolist() == x.grad[:, 0].isnan().tolist() == [True, True, False, False]
    nothing = torch.full((4,), -100, device=device)
    assert functional.cross_entropy(x, nothing).isnan()
    assert functional.cross_entropy(x[:0], nothing[:0]).isnan()
    assert functional.cross_entropy(x[:0], nothing[:0], reduction="sum") == 0
    one = torch.tensor(2, device=device)
    torch.testing.assert_close(functional.cross_entropy(x[0], one), F.cross_entropy(x[0], one))


GATED = {"swiglu": (functional.swiglu, lambda a, b: F.silu(a) * b),
         "geglu": (functional.geglu, lambda a, b: F.gelu(a) * b),
         "geglu_tanh": (lambda a, b: functional.geglu(a, b, approximate="tanh"),
                        lambda a, b: F.gelu(a, approximate="tanh") * b)}


@pytest.mark.parametrize("name,dtypes", diagonal(
    list(GATED), [(F32, F32), (BF16, BF16), (F16, F32)]))
def test_gated_activations(device, name, dtypes):
    ours, theirs = GATED[name]
    a, b = (random(2, 3, 44, dtype=dtype, seed=i).to(device) for i, dtype in enumerate(dtypes))
    y, *_ = assert_same(ours, theirs, [a, b])
    assert y.dtype == torch.promote_types(*dtypes)


@pytest.mark.parametrize("shape", [(0, 64), (3, 0)])
def test_empty_tensors(device, shape):
    x, other = (torch.empty(shape, device=device, requires_grad=True) for _ in range(2))
    ys = [softmax(x, dim) for softmax in (functional.softmax, functional.log_softmax)
          for dim in (0, 1)]
    ys += [f(x, other) for f in (functional.swiglu, functional.geglu, functional.gated_rms_norm)]
    ys += functional.dropout_add_layer_norm(x, other, p=0.5)
    for y in ys:
        assert y.shape == shape
        assert torch.autograd.grad(y.sum(), x, retain_graph=True)[0].shape == shape
    image = torch.empty(2, 0, 8, device=device)
    assert functional.instance_norm(image).shape == image.shape
    loss = functional.linear_cross_entropy(image[0, :0].new_empty(3, 0), image.new_empty(7, 0),
                                           torch.zeros(3, dtype=torch.int64, device=device))
    torch.testing.assert_close(loss.item(), math.log(7))


@pytest.mark.parametrize("function", [
    lambda x, w: functional.softmax(x, -1), functional.swiglu, functional.gated_rms_norm,
    lambda x, w: functional.group_norm(x[None], 3),
    lambda x, w: lnbwd.layer_norm_linear(x, (64,), w[0], None, w, w[:, 0])])
def test_negations_that_are_left_to_do(device, function):
    """A part of a complex number that is conjugated is a view, whose memory has the other sign."""
    inputs = [torch._neg_view(random(3, 64, seed=i).to(device)) for i in range(2)]
    results = []
    for cast in (lambda t: t, torch.resolve_neg):
        leaves = [cast(t.detach()).requires_grad_() for t in inputs]
        y = function(*leaves)
        results.append([y, *torch.autograd.grad(y, leaves, y.detach(), allow_unused=True)])
    torch.testing.assert_close(*results, rtol=1e-3, atol=1e-3)


def test_dropout_norms_in_float64(device):
    x, residual = random(2, 3, 40, dtype=F64).to(device) / 3
    y, total = functional.dropout_add_layer_norm(x, residual)
    assert torch.equal(total, x + residual)
    torch.testing.assert_close(y, F.layer_norm(total, (40,)), rtol=1e-12, atol=1e-12)


def test_the_second_dimension_of_logits(device):
    x = random(3, 11, 4, 5).to(device)
    t = torch.randint(11, (3, 4, 5), generator=torch.Generator().manual_seed(1)).to(device)
    assert_same(functional.cross_entropy, F.cross_entropy, [x], t, reduction="none")


STATISTICS = {"running_mean": torch.tensor([0.5, 1, -1]), "running_var": torch.tensor([2, 1, 0.5])}
NORMS = {
    "group_norm": {"num_groups": 3}, "instance_norm": {},
    "batch_norm": {"running_mean": None, "running_var": None, "training": True}}


@pytest.mark.filterwarnings("error::RuntimeWarning")  # A kernel that is not compiled.
@pytest.mark.parametrize("name,case", diagonal(
    [*NORMS, "long_group_norm", "summed_group_norm", "long_batch_norm", "long_instance_norm"], [
    (F32, (2, 3, 5, 4), True), (BF16, (2, 3, 70), False), (F32, (3, 6, 2, 37), True),
    (BF16, (1, 12, 65), True), (F16, (2, 6), True), (F32, (5, 9, 8, 9), True),
    (BF16, (6, 6, 80), False)]))
def test_norms_of_channels(device, monkeypatch, name, case):
    dtype, shape, has_parameters = case
    if name.endswith("instance_norm") and len(shape) == 2:
        return
    kind, _, rest = name.partition("_")
    for most in {"long": ("most_group", "most_batch"), "summed": ("most_group_beside_sums",)}.get(
            kind, ()):
        monkeypatch.setattr(choices, most, 64)
        name = rest
    inputs = [random(*shape, dtype=dtype).to(device) + 1]
    inputs += [random(shape[1], seed=i).to(device) for i in (1, 2)] * has_parameters

    def norm(module):
        return lambda x, weight=None, bias=None: getattr(module, name)(
            x, weight=weight, bias=bias, eps=1e-3, **NORMS[name])

    y, *_ = assert_same(norm(functional), norm(F), inputs)
    assert y.dtype == dtype
    # ReLU(inplace=True) may follow.
    norm(functional)(*(t.requires_grad_() for t in inputs)).relu_().sum().backward()


@pytest.mark.parametrize("dtype", [BF16, F32])
def test_clusters_hold_the_longest_rows(dtype):
    samples = choices.most_of_cluster[dtype.itemsize] // 4096
    for program in channel_norms.batch_programs(
            torch.Size((samples, choices.least_clusters, 4096)), dtype, F32, F32, 1e-5, ()):
        compiled = compiler.compile_mlir(mlir(RowProgram.from_text(program.text)), "sm_90",
                                         format="ptx")
        assert "warning" not in compiled.diagnostics
        assert b"cluster" in compiled.code


@pytest.mark.filterwarnings("error::RuntimeWarning")  # A kernel that is not compiled.
@pytest.mark.parametrize("size", [4, 130])
def test_group_norm_of_one_channel(device, size):
    inputs = [random(3, 1, size).to(device), *(random(1, seed=i).to(device) for i in (1, 2))]
    assert_same(lambda *tensors: functional.group_norm(tensors[0], 1, *tensors[1:]),
                lambda *tensors: F.group_norm(tensors[0], 1, *tensors[1:]), inputs)


def test_group_norms_of_pytorch_take_several_types(device):
    """PyTorch computes images that are not contiguous, and groups of one element."""
    parameters = [random(4, seed=i).to(device) for i in (1, 2)]
    x = random(2, 4, 6, 5, dtype=BF16).to(device)
    assert_same(lambda *tensors: functional.group_norm(tensors[0], 2, *tensors[1:]),
                lambda *tensors: F.group_norm(tensors[0], 2, *tensors[1:]),
                [x.transpose(2, 3), *parameters])
    y = functional.group_norm(x[:, :, :1, :1].contiguous(), 4, *parameters)
    assert torch.equal(y[0].flatten(), parameters[1].to(BF16))


@pytest.mark.parametrize("groups,norm", [
    (2, lambda *tensors: functional.group_norm(tensors[0], 2, *tensors[1:])),
    (64, lambda x, *tensors: functional.instance_norm(x, None, None, *tensors))])
@pytest.mark.parametrize("needs", [False, True])
def test_gradients_of_parameters_alone(groups, norm, needs):
    """PyTorch's kernel for channels_last writes the gradient of the input, wanted or not."""
    x = random(2, 64, 6, 5).to(memory_format=torch.channels_last).requires_grad_(needs)
    assert_same(lambda *tensors: norm(x, *tensors),
                lambda *tensors: F.group_norm(
                    x.detach().double().contiguous(), groups, *tensors),
                [random(64, seed=i) for i in (1, 2)])


@pytest.mark.parametrize("name,flag", [("batch_norm", "training"),
                                       ("instance_norm", "use_input_stats")])
@pytest.mark.parametrize("channels", [3, 1])
def test_running_statistics(device, name, flag, channels):
    x, *others = random(2, channels, 8, 10).to(device), random(channels, seed=1).to(device)
    for is_training in (False, True):
        kept = []
        for module, cast in ((functional, lambda t: t), (F, torch.Tensor.double)):
            statistics = {key: cast(t[:channels].to(device, copy=True))
                          for key, t in STATISTICS.items()}
            options = {"momentum": 0.25, flag: is_training, **statistics}
            kept.append((lambda x, weight, module=module, options=options: getattr(module, name)(
                x, weight=weight, **options), statistics))
        (ours, got), (theirs, want) = kept
        assert_same(ours, theirs, [x, *others])
        for key in STATISTICS:
            torch.testing.assert_close(got[key], want[key].float())
            assert torch.equal(got[key].cpu(), STATISTICS[key][:channels]) != is_training


@pytest.mark.parametrize("name", ["group_norm", "batch_norm"])
def test_parameters_and_statistics_with_strides(device, name):
    """Statistics that no kernel writes in place are copied to; as PyTorch has them on the CPU."""
    x, parameters = random(5, 6, 72), random(6, 4, seed=1)
    kept = []

    def norm(module, x):
        x, device = x.detach().requires_grad_(), x.device
        statistics = [torch.ones(7, device=device)[1:], torch.ones(6, 2, device=device)[:, 0]]
        options = {"num_groups": 3} if name == "group_norm" else {
            "running_mean": statistics[0], "running_var": statistics[1], "training": True}
        weight, bias = (parameters.to(device)[:, place] for place in (1, 2))
        result = getattr(module, name)(x, weight=weight, bias=bias, **options)
        dy = random(5, 72, 6).to(device).transpose(1, 2)
        gradient = torch.autograd.grad(result, x, dy)[0].cpu()
        kept.append(([each.cpu() for each in (result, *statistics)], gradient))

    norm(functional, x.to(device))
    norm(F, x)
    (got, gradient), (want, expected) = kept
    torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(gradient, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name,arguments", [
    ("GroupNorm", (2, 8)), ("BatchNorm2d", (8,)), ("BatchNorm2d", (8, 1e-5, None)),
    ("BatchNorm2d", (8, 1e-5, 0.1, True, False)), ("InstanceNorm2d", (8, 1e-5, 0.1, True, True))])
def test_modules(device, name, arguments):
    ours, theirs = (getattr(module, name)(*arguments).to(device) for module in (nn, torch.nn))
    assert isinstance(ours, getattr(torch.nn, name))
    for seed in range(3):
        x = random(2, 8, 8, 8, seed=seed).to(device)
        torch.testing.assert_close(ours(x), theirs(x), rtol=1e-5, atol=1e-5)
        if seed == 1:
            ours.eval(), theirs.eval()
    for key, value in theirs.state_dict().items():
        torch.testing.assert_close(ours.state_dict()[key], value)


@pytest.mark.parametrize("name,arguments,changes", [
    ("BatchNorm1d", (4,), {"track_running_stats": False}),
    ("BatchNorm1d", (4,), {"track_running_stats": False, "momentum": None}),
    ("BatchNorm1d", (4, 1e-5, 0.1, True, False), {"track_running_stats": True}),
    ("BatchNorm1d", (4,), {"momentum": None, "eps": 0.5}),
    ("BatchNorm1d", (4,), {"num_batches_tracked": None}),
    ("BatchNorm1d", (4,), {"running_mean": None, "running_var": None, "weight": None}),
    ("InstanceNorm1d", (4, 1e-5, 0.1, True, True), {"track_running_stats": False, "eps": 0.5}),
    ("InstanceNorm1d", (4, 1e-5, 0.1, True, True), {"momentum": None}),
    ("GroupNorm", (2, 4), {"num_groups": 4, "eps": 0.5, "affine": False}),
    ("LayerNorm", (70,), {"eps": 0.5, "bias": None}), ("RMSNorm", (70,), {"eps": 0.5}),
    ("CrossEntropyLoss", (), {"reduction": "sum", "label_smoothing": 0.5}),
    ("Softmax", (-1,), {"dim": 1})])
def test_attributes_that_change_after_construction(device, name, arguments, changes):
    """In training, and after it."""
    results = []
    for module in (nn, torch.nn):
        norm = getattr(module, name)(*arguments).to(device)
        for attribute, value in changes.items():
            setattr(norm, attribute, value)
        found = []
        for seed, is_training in enumerate((True, True, False)):
            x = random(6, 4, 70, seed=seed).to(device)
            inputs = (x.flatten(0, 1), torch.arange(24, device=device)) if "Loss" in name else (x,)
            found.append(norm.train(is_training)(*inputs))
        results.append([*found, norm.state_dict()])
    (*ours, state), (*theirs, wanted) = results
    torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(dict(state), dict(wanted))


def test_channels_of_strange_numbers(device):
    x = random(2, 4, 64)
    x[0, 0, 3], x[1, 2, 5] = NAN, INF
    for name, options in NORMS.items():
        options = {**options, **({"num_groups": 2} if "num_groups" in options else {})}
        got, want = (getattr(module, name)(x.to(device), **options) for module in (functional, F))
        torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-5, equal_nan=True)


@pytest.mark.parametrize("name,dtype,p", [
    ("dropout_add_layer_norm", F32, 0.25),
    pytest.param("dropout_add_layer_norm", BF16, 0.5, marks=pytest.mark.full),
    pytest.param("dropout_add_layer_norm", F32, 0, marks=pytest.mark.full),
    pytest.param("dropout_add_rms_norm", F32, 0.25, marks=pytest.mark.full),
    ("dropout_add_rms_norm", BF16, 0.5), ("dropout_add_rms_norm", F32, 0)])
def test_dropout_with_a_residual_and_a_norm(device, name, dtype, p):
    """The elements that are dropped are those whose sum is the residual alone. Of random numbers
    for rows that the lanes do not divide a kernel compiles for seconds: test_torch_random.py."""
    function, n = getattr(functional, name), 32 if p else 40
    x, residual = random(2, 33, n, dtype=dtype).to(device), random(2, 33, n, seed=1).to(device)
    weight = random(n, seed=2).to(device)
    leaves = [t.requires_grad_() for t in (x, residual, weight)]
    torch.manual_seed(5)
    y, h = function(*leaves, p=p)
    torch.manual_seed(5)
    assert torch.equal(function(*leaves, p=p)[1], h)
    kept = h != residual
    assert abs(kept.float().mean() - (1 - p)) < 0.05
    total = residual + x * kept / (1 - p)
    norm = F.layer_norm if "layer" in name else F.rms_norm
    wanted = norm(total, (n,), weight)
    torch.testing.assert_close(h, total, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(y, wanted.to(dtype), rtol=EPSILON[dtype], atol=4e-6)
    grads = [random(*t.shape, dtype=BF16, seed=i).to(t) for i, t in enumerate((y, h))]
    for got, want in zip(torch.autograd.grad((y, h), leaves, grads), torch.autograd.grad(
            (wanted, total), leaves, [g.float() for g in grads]), strict=True):
        torch.testing.assert_close(got, want, rtol=2 * EPSILON[got.dtype], atol=1e-5)
    y, h = function(x, None, p=p, training=False)
    assert torch.equal(h, x) and y.dtype == dtype


@pytest.mark.parametrize("dtype,shape,table", [(F32, (2, 5, 3, 16), (5, 1, 16)),
                                               (BF16, (2, 3, 5, 32), (2, 1, 5, 32))])
@pytest.mark.parametrize("has_weight", [True, False])
def test_rotary_positions_with_the_norm_of_heads(device, dtype, shape, table, has_weight):
    cos, sin = (random(*table, seed=i).to(device) for i in (1, 2))
    inputs = [random(*shape, dtype=dtype).to(device), random(shape[-1], seed=3).to(device)]

    def theirs(x, weight=None):
        h = F.rms_norm(x, shape[-1:], weight)
        first, second = h.chunk(2, -1)
        return h * cos + torch.cat((-second, first), -1) * sin

    y, *_ = assert_same(lambda x, weight=None: functional.rms_norm_rope(x, cos, sin, weight),
                        theirs, inputs[:1 + has_weight], roundings=2)
    assert y.dtype == dtype


RMS_NORMS = {
    "rms_norm": lambda x: lnbwd.rms_norm(x, (64,)),
    "RMSNorm": lambda x: nn.RMSNorm(64, elementwise_affine=False)(x),
    "dropout_add_rms_norm": lambda x: functional.dropout_add_rms_norm(x, None)[0],
    "gated_rms_norm": lambda x: functional.gated_rms_norm(x / 50, torch.full_like(x, 50)),
    "rms_norm_rope": lambda x: functional.rms_norm_rope(
        x, torch.ones_like(x), torch.zeros_like(x)),
    "rms_norm_linear": lambda x: lnbwd.rms_norm_linear(x, 64, None, torch.eye(64).to(x)),
    "rms_norm_quantized": lambda x: functional.dequantize(functional.rms_norm_quantized(x))}


@pytest.mark.parametrize("dtype", [BF16, F32, F64])
@pytest.mark.parametrize("name", RMS_NORMS)
def test_the_default_epsilon_of_an_rms_norm_is_that_of_pytorch(device, name, dtype):
    if "quantized" in name and dtype == F64:
        pytest.skip("float64 is not quantised")
    epsilon = torch.finfo(F64 if dtype == F64 else F32).eps
    x = (random(5, 64).to(device, dtype) / 3) * epsilon ** 0.5  # Half of the sum is the epsilon.
    # (Float8 has three bits of a fraction.)
    torch.testing.assert_close(RMS_NORMS[name](x).to(dtype), F.rms_norm(x, (64,)),
                               rtol=2.0 ** -4, atol=2.0 ** -5)


def test_functions_of_one_norm_have_one_default_epsilon():
    defaults = {}
    for module in (functional, lnbwd, nn):
        for name in module.__all__:
            function = getattr(module, name)
            if inspect.isfunction(function) or (
                    inspect.isclass(function) and issubclass(function, torch.nn.Module)):
                eps = inspect.signature(function).parameters.get("eps")
                defaults |= {name: eps.default} if eps else {}
    assert defaults.keys() >= RMS_NORMS.keys()
    assert defaults == {name: None if "rms" in name.lower() else 1e-5 for name in defaults}


def test_double_gradients_of_rotary_positions(device):
    cos, sin, x, weight = (random(*shape, seed=i).to(device) for i, shape in enumerate(
        ((4, 1, 8), (4, 1, 8), (2, 4, 3, 8), (8,))))

    def second(cast):
        leaves = [cast(t).requires_grad_() for t in (x, weight)]
        y = functional.rms_norm_rope(leaves[0], cast(cos), cast(sin), leaves[1])
        gradients = torch.autograd.grad(y.square().sum(), leaves, create_graph=True)
        return torch.autograd.grad(sum(g.square().sum() for g in gradients), leaves)

    for ours, exact in zip(second(torch.clone), second(torch.Tensor.double), strict=True):
        assert (ours - exact).abs().max() <= 1e-4 * exact.abs().max()


@pytest.fixture(scope="module")
def first_calls(tmp_path_factory):
    """What test/python/first_calls.py leaves, by the default types."""
    folder, script = tmp_path_factory.mktemp("calls"), pathlib.Path(__file__).with_name(
        "first_calls.py")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    programs = {default: loaded_python.start([script, default, folder / default], env=environment)
                for default in ("float32", "float16", "float64")}
    found = {}
    for default, program in programs.items():
        result = program.wait()
        assert result.returncode == 0, result.stderr
        found[default] = torch.load(folder / default)
    return found


@pytest.mark.simulator
@pytest.mark.parametrize("default", ["float16", "float64"])
def test_the_first_call_does_not_see_the_default_type(first_calls, default):
    wanted, got = first_calls["float32"], first_calls[default]
    assert wanted.keys() >= set(functional.__all__) - {"Quantized"}
    for name in wanted.keys() - {"modules"}:
        assert [t.dtype for t in got[name]] == [t.dtype for t in wanted[name]], name
        for one, other in zip(got[name], wanted[name], strict=True):
            assert torch.equal(one.view(-1).view(torch.uint8), other.view(-1).view(torch.uint8))


@pytest.mark.simulator
def test_no_eager_function_imports_the_backend_of_torch_compile(first_calls):
    modules = first_calls["float32"]["modules"]
    assert "lnbwd.program.tracing" in modules
    assert not [name for name in modules if name.startswith("lnbwd.inductor")]


AUTOCAST = {
    "layer_norm": lambda f, x, weight, image, channels: f.layer_norm(x, (64,), weight, weight),
    "rms_norm": lambda f, x, weight, *_: f.rms_norm(x, (64,), weight),
    "softmax": lambda f, x, *_: (f.softmax(x, -1), f.softmax(x, -1, dtype=F16)),
    "log_softmax": lambda f, x, *_: f.log_softmax(x, -1),
    "cross_entropy": lambda f, x, *_: [
        f.cross_entropy(x, torch.zeros(3, dtype=torch.int64, device="cuda"), reduction=reduction)
        for reduction in ("mean", "none")],
    "group_norm": lambda f, x, weight, image, channels: f.group_norm(image, 2, channels, channels),
    "instance_norm": lambda f, x, weight, image, channels: f.instance_norm(
        image, None, None, channels, channels),
    "batch_norm": lambda f, x, weight, image, channels: f.batch_norm(
        image, None, None, channels, channels, training=True)}
"""Functions that PyTorch has, too."""


def types_of(call, module, x, *others):
    """The types of a function's results. PyTorch's layer norm on a GPU, and from 2.14 on its fake
    one, refuses a weight of another type than x, which ours takes."""
    try:
        return [t.dtype for t in tree_leaves(call(module, x, *others))]
    except RuntimeError as error:
        assert module is F and "expected scalar type" in str(error)
        return [x.dtype]


# (Without a GPU no views of fake tensors on one are made by indices, which batch norms do.)
@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.gpu] * (
    name == "batch_norm")) for name in AUTOCAST])
@pytest.mark.parametrize("is_enabled", [True, False])
def test_autocast_on_a_gpu_gives_the_types_of_pytorch(name, is_enabled):
    before = torch.is_autocast_enabled("cuda"), torch.get_autocast_dtype("cuda")
    try:
        torch.set_autocast_enabled("cuda", is_enabled)
        torch.set_autocast_dtype("cuda", BF16)
        for dtype, other in itertools.product((F16, BF16, F32), (None, F32)):
            with contextlib.nullcontext() if HAS_GPU else FakeTensorMode():
                x, weight, image, channels = (
                    torch.ones(shape, dtype=kind or dtype, device="cuda")
                    for shape, kind in (((3, 64), None), ((64,), other), ((2, 4, 70), None),
                                        ((4,), other)))
                got, wanted = (types_of(AUTOCAST[name], module, x, weight, image, channels)
                               for module in (functional, F))
            assert got == wanted, (dtype, other)
    finally:
        torch.set_autocast_enabled("cuda", before[0])
        torch.set_autocast_dtype("cuda", before[1])


X, T = torch.zeros(4, 8), torch.zeros(4, dtype=torch.int64)


def everything(x, t):
    return (functional.softmax(x, -1).square().sum() + functional.log_softmax(x, 0).mean()
            + functional.cross_entropy(x, t, label_smoothing=0.1) + functional.swiglu(x, x).mean()
            + functional.geglu(x, x).mean() + functional.instance_norm(x[None]).square().sum()
            + functional.group_norm(x[None], 2, x[:, 0]).square().sum()
            + functional.batch_norm(x[None], None, None, x[:, 0], training=True).square().sum()
            + functional.dropout_add_layer_norm(x, x, p=0)[0].square().sum())


def test_torch_compile_traces_the_operations(device):
    x, t = random(4, 40).to(device), T.to(device)
    graphs = []
    compiled = torch.compile(everything, fullgraph=True,
                             backend=lambda g, _: graphs.append(g) or g.forward)
    torch.testing.assert_close(compiled(x, t), everything(x, t))
    assert "lnbwd" not in graphs[0].code


@pytest.mark.simulator
def test_on_the_cpu_it_is_pytorchs(monkeypatch):
    monkeypatch.delenv("LNBWD_SIMULATE", raising=False)
    errors.forget_warnings()
    x = random(4, 40).requires_grad_()
    with pytest.warns(UserWarning, match="is on the CPU, which has no kernels"):
        everything(x, T).backward()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for dtype in (F32, F64):
            assert torch.equal(functional.cross_entropy(x.to(dtype), T), losses(x.to(dtype), T))


def test_transforms_and_double_gradients(device):
    x, t = random(3, 4, 16).to(device), torch.zeros(3, 4, dtype=torch.int64, device=device)
    got = torch.vmap(torch.func.grad(functional.cross_entropy))(x, t)
    torch.testing.assert_close(got, torch.vmap(torch.func.grad(F.cross_entropy))(x, t))

    def penalty(function, x):
        (g,) = torch.autograd.grad(function(x[0], t[0]), x, create_graph=True)
        return torch.autograd.grad(g.square().sum(), x)[0]

    x.requires_grad_()
    torch.testing.assert_close(penalty(functional.cross_entropy, x), penalty(F.cross_entropy, x))


@pytest.mark.parametrize("name", NORMS)
def test_double_gradients_of_norms_of_channels(device, name):
    x, weight = random(2, 6, 64).to(device), random(6, seed=1).to(device)
    found = []
    for module in (functional, F):
        leaves = [t.clone().requires_grad_() for t in (x, weight)]
        y = getattr(module, name)(leaves[0], weight=leaves[1], **NORMS[name])
        grads = torch.autograd.grad(y.pow(3).mean(), leaves, create_graph=True)
        found.append(torch.autograd.grad(sum(g.square().sum() for g in grads), leaves))
    torch.testing.assert_close(*found, rtol=1e-4, atol=1e-5)


def test_cross_entropy_is_compiled_for_any_number_of_rows(device):
    function = torch.compile(lambda x, t: functional.cross_entropy(x.flatten(0, 1), t),
                             backend="eager", fullgraph=True, dynamic=True)
    x, t = random(2, 2, 64).to(device), torch.arange(4, device=device)
    torch.testing.assert_close(function(x, t), F.cross_entropy(x.flatten(0, 1), t))
