# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Wrong arguments of norms, functions, modules and lnbwd.compile end in errors that name them and
say what was expected; test_torch_strange_arguments.py has arguments that are nearly right."""

import math
import re

import pytest
import torch

import lnbwd
from lnbwd import nn
from lnbwd.functional import linear_cross_entropy

FLOAT4 = torch.float4_e2m1fn_x2


@pytest.fixture
def simulated():
    if torch.cuda.is_available():
        pytest.skip("CPU tensors are not simulated beside a GPU")
    with lnbwd.simulate("gfx942"):
        yield


def rows(*shape):
    """Random numbers, the same in each run."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(0))


X, W = torch.zeros(3, 64), torch.ones(64)

NORMS = [
    (lambda: lnbwd.layer_norm([1.0], (1,)), TypeError, "input: expected a tensor, got list"),
    (lambda: lnbwd.layer_norm(X.long(), (64,)), TypeError,
     "input: expected float16.*got torch.int64; convert it"),
    (lambda: lnbwd.layer_norm(X.to(torch.complex64), (64,)), TypeError, "input: expected float16"),
    (lambda: lnbwd.layer_norm(X, (32,)), ValueError, r"ends in \[32\].*got \[3, 64\]"),
    (lambda: lnbwd.layer_norm(X, (2, 3, 64)), ValueError, "input: expected a shape that ends in"),
    (lambda: lnbwd.layer_norm(X, ()), ValueError, "normalized_shape: expected one dimension"),
    (lambda: lnbwd.layer_norm(X, (64,), W[:32]), ValueError, r"weight: expected the shape \[64\]"),
    (lambda: lnbwd.layer_norm(X, (64,), W, W[:1]), ValueError, r"bias: expected the shape \[64\]"),
    (lambda: lnbwd.layer_norm(X, (64,), 1.0), TypeError, "weight: expected a tensor or None"),
    (lambda: lnbwd.layer_norm(X, (64,), W.long()), TypeError,
     "weight: expected float16.*got torch.int64"),
    (lambda: lnbwd.layer_norm(X, (64,), W.to("meta")), ValueError,
     "weight: expected a tensor on cpu like input, got one on meta"),
    (lambda: lnbwd.layer_norm(X, (64,), eps=-1.0), ValueError, "eps: expected a number that is 0"),
    (lambda: lnbwd.layer_norm(X, (64,), eps=float("nan")), ValueError, "eps: expected a number"),
    (lambda: lnbwd.rms_norm(X, (63,)), ValueError, r"ends in \[63\]"),
    (lambda: lnbwd.rms_norm(X, (64,), W[:3]), ValueError, "weight: expected the shape"),
    (lambda: lnbwd.rms_norm(X, (64,), eps=-1e-5), ValueError, "eps"),
]

OLD_NAMES = [
    (lambda: lnbwd.functional.swiglu(a=X, b=X), "swiglu.* 'a' since version 0.2: .* 'gate'|'up'"),
    (lambda: lnbwd.functional.geglu(X, b=X), "geglu.* no argument 'b' since version 0.2: .* 'up'"),
    (lambda: lnbwd.layer_norm_linear(X, 64, ln_weight=None, norm_bias=None, weight=X),
     "layer_norm_linear.* 'ln_weight' since version 0.2: it is called 'norm_weight'"),
    (lambda: lnbwd.rms_norm_linear(x=X, normalized_shape=64, norm_weight=None, weight=X),
     "rms_norm_linear.* 'x' since version 0.2: it is called 'input'"),
    (lambda: lnbwd.patch(torch.nn.LayerNorm(4), quiet=True), "patch.* 'quiet' since version 0.2"),
]


@pytest.mark.parametrize("call,kind,words", [
    *NORMS, *((call, TypeError, words) for call, words in OLD_NAMES)],
    ids=lambda value: value if isinstance(value, str) else "")
def test_norms_and_old_names(call, kind, words):
    with pytest.raises(kind, match=words):
        call()


R = torch.linspace(-2, 3, 4 * 64).reshape(4, 64)


@pytest.mark.parametrize("norm", [lnbwd.layer_norm, lnbwd.rms_norm])
@pytest.mark.parametrize(("arguments", "message"), [
    ({"normalized_shape": 64.0}, "normalized_shape: expected whole numbers, or one, got 64.0"),
    ({"normalized_shape": (64.0,)}, "normalized_shape: expected whole numbers, or one, got (64.0"),
    ({"normalized_shape": None}, "normalized_shape: expected whole numbers, or one, got None"),
    ({"eps": "1e-5"}, "eps: expected a number that is 0 or more, and finite, got '1e-5'"),
    ({"input": R.to_sparse()}, "input: expected a dense tensor, got one of layout"),
    ({"input": [1.0]}, "input: expected a tensor, got list"),
    ({"weight": [1.0]}, "weight: expected a tensor or None, got list"),
])
def test_wrong_kinds(simulated, norm, arguments, message):
    with pytest.raises(TypeError, match=re.escape(message)):
        norm(**{"input": R, "normalized_shape": (64,)} | arguments)



S, T = torch.zeros(4, 8), torch.zeros(4, dtype=torch.int64)

FUNCTIONS = [
    (lambda f: f.softmax([1.0], 0), TypeError, "input: expected a tensor, got list"),
    (lambda f: f.softmax(T, 0), TypeError, "input: expected float16, .*input.float"),
    (lambda f: f.softmax(S, 2), ValueError, "dim: expected a whole number from -2 to 1 .*got 2"),
    (lambda f: nn.Softmax()(S), TypeError, "dim: expected a whole number .*got None"),
    (lambda f: f.log_softmax(S, 0, torch.int64), TypeError, "dtype: expected a floating-point"),
    (lambda f: f.cross_entropy(S, S), TypeError, "target: expected .*int64, .*probabilities are"),
    (lambda f: f.cross_entropy(S, T[:3]), ValueError,
     r"target: expected the shape of classes \[.*\[3\]"),
    (lambda f: f.cross_entropy(torch.zeros(4, 4, 4), torch.zeros(4, 4, dtype=torch.int64)),
     ValueError, r"it is both. Pass input.flatten\(0, -2\)"),
    (lambda f: f.cross_entropy(S[:, :0], T), ValueError, "input: expected one class or more, got "),
    (lambda f: f.cross_entropy(S, T, torch.ones(9)), ValueError, r"weight: expected the shape \["),
    (lambda f: f.cross_entropy(S, T, size_average=True), ValueError, "size_average.*reduction"),
    (lambda f: f.cross_entropy(S, T, reduction="max"), ValueError, "reduction: expected 'mean', "),
    (lambda f: f.cross_entropy(S, T, label_smoothing=2), ValueError, "label_smoothing: expected a"),
    (lambda f: f.swiglu(S, S[:1]), ValueError,
     r"up: expected the shape \[4, 8\] of gate, got \[1, 8"),
    (lambda f: f.swiglu(S, None), TypeError, "up: expected a tensor, got NoneType"),
    (lambda f: f.instance_norm(S), ValueError, r"input: expected the shape \[B, C, ...\] of 3"),
    (lambda f: f.instance_norm(S[:, :, None]), ValueError,
     r"input: expected two elements or more in a channel, got \[\d+, \d+, 1\]; one has no"),
    (lambda f: nn.InstanceNorm1d(4)(torch.zeros(4, 1)), ValueError, "two elements or more"),
    (lambda f: f.instance_norm(S[None], S), ValueError, r"running_mean: .* \[4\] \(channels"),
    (lambda f: f.batch_norm(S, None, None), ValueError, "running_mean, running_var: expected te"),
    (lambda f: f.group_norm(S, 3), ValueError, "num_groups: expected a number that divides the 8"),
    (lambda f: f.group_norm(S[0], 2), ValueError, r"input: .* \[B, C, ...\] of 2 dimensions"),
    (lambda f: f.dropout_add_rms_norm(S, S[:1]), ValueError, r"residual: .* \[4, 8\] of input"),
    (lambda f: f.rms_norm_rope(S, S[0], S), ValueError, "cos: expected two dimensions or more"),
    (lambda f: f.rms_norm_rope(S[:, :7], S, S), ValueError, "input: .* of an even number of"),
    (lambda f: f.dropout_add_rms_norm(S, S, p=2), ValueError, "p: expected a probability from 0"),
    (lambda f: f.instance_norm(S[None], weight=S[0]), ValueError, r"weight: .* \[4\] \(channels"),
    (lambda f: f.geglu(S, S, "erf"), ValueError, "approximate: expected 'none' or 'tanh'")
]


@pytest.mark.parametrize("call,kind,words", FUNCTIONS)
def test_functions(call, kind, words):
    with pytest.raises(kind, match=words):
        call(lnbwd.functional)


@lnbwd.rowwise
def scaled(x: lnbwd.Rows, s: lnbwd.Scalars):
    return x * s


IMAGE = torch.linspace(-1, 1, 2 * 3 * 80).reshape(2, 3, 80)
WEIGHT, STATISTICS = torch.ones(8, 64), torch.zeros(4, 1)


@pytest.mark.parametrize(("call", "message"), [
    (lambda f: f.softmax(R, 2), "dim: expected a whole number from -2 to 1 for an input of the"),
    (lambda f: f.softmax(R, 0.5), "dim: expected a whole number from -2 to 1"),
    (lambda f: f.softmax(R[0, 0], -1), "input: expected one dimension or more, got none"),
    (lambda f: f.layer_norm(R, 64, eps=math.inf), "eps: expected a number that is 0"),
    (lambda f: f.layer_norm(R, 64, eps=[1]), "eps: expected a number that is 0 or mo"),
    (lambda f: f.cross_entropy(R, T, label_smoothing="a"), "label_smoothing: expected a num"),
    (lambda f: f.cross_entropy(R, T, ignore_index=0.5), "ignore_index: expected a whole num"),
    (lambda f: f.cross_entropy(R, T, ignore_index=2 ** 63), "ignore_index: expected a whole "),
    (lambda f: f.dropout_add_rms_norm(R, None, p=None), "p: expected a probability from 0 to 1"),
    (lambda f: f.group_norm(IMAGE, 2), "num_groups: expected a number that divides the 3 channels"),
    (lambda f: f.batch_norm(IMAGE, None, None, training=True, momentum=None), "momentum: expected"),
    (lambda f: f.swiglu(R, R.to_sparse()), "up: expected a dense tensor, got one of layout"),
    (lambda f: f.quantize(R, dtype=[1]), "dtype: expected torch.float8_e4m3fn"),
    (lambda f: f.rms_norm_backward_quantized(R, R, None), "rstd: expected a tensor, got NoneType"),
    (lambda f: f.layer_norm_backward_quantized(R, R, None, STATISTICS), "mean: expected a tensor"),
    (lambda f: lnbwd.layer_norm_linear(R, 0.5, None, None, WEIGHT), "normalized_shape: expected"),
    (lambda f: lnbwd.layer_norm_linear(R.to_sparse(), 64, None, None, WEIGHT), "input: expected a"),
    (lambda f: scaled(R.to_sparse(), R[:, :1]), "x: expected a dense tensor, got one of layout"),
    (lambda f: lnbwd.nn.LayerNormLinear(torch.nn.RMSNorm(64), torch.nn.Linear(64, 8)),
     "norm: expected a torch.nn.LayerNorm, got RMSNorm"),
    (lambda f: lnbwd.compile("layer_norm_bwd", n=64, chip=5), "chip: expected a text, got int"),
])
def test_functions_of_strange_values(simulated, call, message):
    scaled(R, R[:, :1])  # A call of the same shape was right.
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        call(lnbwd.functional)


INPUT, CLASSES = rows(4, 32), rows(50, 32)


@pytest.mark.parametrize(("arguments", "options", "kind", "words"), [
    ((INPUT, CLASSES[:, 1:], T), {}, ValueError, r"linear_weight: expected \[V, 32\]"),
    ((INPUT, CLASSES.half(), T), {}, TypeError, "linear_weight: expected torch.float32|float32"),
    ((INPUT, CLASSES, T.int()), {}, TypeError, "target: expected classes of type int64"),
    ((INPUT, CLASSES, T[:3]), {}, ValueError, r"target: expected the shape \[4\]"),
    ((INPUT, CLASSES, T), {"linear_bias": INPUT[0]}, ValueError, "linear_bias: expected"),
    ((INPUT, CLASSES, T), {"weight": INPUT[0]}, ValueError, "weight: expected"),
    ((INPUT, CLASSES, T), {"reduction": "max"}, ValueError, "reduction: expected 'mean'"),
    ((INPUT, CLASSES, T), {"label_smoothing": 2}, ValueError, "label_smoothing: expected"),
    ((INPUT, CLASSES, T), {"softcap": -1.0}, ValueError, "softcap: expected"),
    ((INPUT.long(), CLASSES, T), {}, TypeError, "input: expected"),
])
def test_linear_cross_entropy(arguments, options, kind, words):
    with lnbwd.simulate(), pytest.raises(kind, match=words):
        linear_cross_entropy(*arguments, **options)


SMALL = 4, 64


@pytest.mark.parametrize("shape, options, kind, message", [
    (SMALL, {"dtype": torch.float16}, TypeError, "dtype: expected torch.float8_e4m3fn"),
    (SMALL, {"factor": torch.ones(4, 1)}, ValueError,
     r"factor: expected the shape \[\] \(one number\)"),
    (SMALL, {"block": 64}, ValueError, "block: expected 'mx', 'mx-rceil', None or 128"),
    (SMALL, {"block": "mx", "factor": torch.tensor(1.0)}, ValueError, "and None with a factor"),
    (SMALL, {"block": 128}, ValueError, "input: expected rows of two or more whole blocks of 128"),
    (SMALL, {"weight": torch.ones(63)}, ValueError, r"weight: expected the shape \[64\]"),
    (SMALL, {"residual": torch.ones(4, 64).double()}, TypeError,
     "residual: expected float16, bfloat16 or float32"),
    (SMALL, {"dtype": FLOAT4}, ValueError,
     "block: expected .*'nv'.* got None for torch.float4_e2m1fn_x2"),
    (SMALL, {"dtype": FLOAT4, "block": "mx", "factor": torch.tensor(1.0)}, ValueError,
     "and 'nv' with a factor"),
    (SMALL, {"block": "nv"}, ValueError, "block: expected 'mx', 'mx-rceil', None or 128"),
    (SMALL, {"dtype": FLOAT4, "block": "nv", "swizzled": True}, ValueError,
     "swizzled: .* multiple of 128 rows"),
    ((64, 256), {"block": "mx", "swizzled": True}, ValueError,
     "swizzled: .* multiple of 128 rows .* got 64"),
    ((128, 256), {"block": 128, "swizzled": True}, ValueError, "swizzled: expected blocks of 'mx'"),
    ((128, 192), {"block": "nv", "dtype": torch.float4_e2m1fn_x2, "columns": True,
                  "swizzled": True}, ValueError, "swizzled: .* along columns, got 128 rows of 192"),
    ((96, 256), {"block": "mx", "columns": True}, ValueError,
     "columns: .* multiple of 64 rows, got 96"),
    ((128, 256), {"columns": True}, ValueError, "columns: expected a block")])
def test_quantised_norms(shape, options, kind, message):
    with lnbwd.simulate("gfx942"), pytest.raises(kind, match=message):
        lnbwd.functional.rms_norm_quantized(rows(*shape), **options)


def test_quantised_columns_need_a_block():
    with pytest.raises(ValueError, match="block: expected 'mx', 'nv' or 128, got None"):
        lnbwd.functional.quantize_columns(rows(128, 64), block=None)


@pytest.mark.parametrize(("arguments", "message"), [
    ({"n": 64.0}, "n: expected the length of a row, 1 or more, got 64.0"),
    ({"n": True}, "n: expected the length of a row, 1 or more, got True"),
    ({"grads": "dx"}, "grads: expected a list of names, got the text 'dx'; write grads=['dx']"),
    ({"grads": []}, "grads: expected at least one gradient, got none"),
    ({"schedule": {}}, "schedule: expected fields by name, got an empty mapping; leave it out"),
    ({"schedule": []}, "schedule: expected a text or a mapping, got []"),
])
def test_compile(arguments, message):
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        lnbwd.compile("layer_norm_bwd", **{"n": 64, "chip": "gfx942"} | arguments)
