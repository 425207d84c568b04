# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arguments that are nearly right: what is meant is taken, and what is not is named."""

import math
import re

import numpy as np
import pytest
import torch

import lnbwd
from lnbwd.core.compile.cache import default_folder


@pytest.fixture(autouse=True)
def simulated():
    if torch.cuda.is_available():
        pytest.skip("CPU tensors are not simulated beside a GPU")
    with lnbwd.simulate("gfx942"):
        yield


X = torch.linspace(-2, 3, 4 * 64).reshape(4, 64)


@pytest.mark.parametrize("shape", [np.int64(64), (np.int32(64),), [64], 64, torch.Size([64])])
def test_whole_numbers_of_all_kinds_are_sizes(shape):
    expected = torch.nn.functional.layer_norm(X, (64,))
    torch.testing.assert_close(lnbwd.layer_norm(X, shape), expected)
    torch.testing.assert_close(lnbwd.rms_norm(X, shape, eps=np.float32(1e-5)),
                               torch.nn.functional.rms_norm(X, (64,), eps=1e-5))


@pytest.mark.compiler
def test_numpy_numbers_are_row_lengths():
    k = lnbwd.compile("layer_norm_bwd", n=np.int64(64), dtype="f32", chip="gfx942",
                      rows=np.uint8(7))
    assert (k.spec.n, k.spec.rows) == (64, 7) and type(k.spec.n) is int
    assert k.spec == lnbwd.compile("layer_norm_bwd", n=64, chip="gfx942", rows=7).spec


@pytest.mark.parametrize("norm", [lnbwd.layer_norm, lnbwd.rms_norm])
@pytest.mark.parametrize(("arguments", "message"), [
    ({"normalized_shape": 64.0}, "normalized_shape: expected whole numbers, or one, got 64.0"),
    ({"normalized_shape": (64.0,)}, "normalized_shape: expected whole numbers, or one, got (64.0"),
    ({"normalized_shape": None}, "normalized_shape: expected whole numbers, or one, got None"),
    ({"eps": "1e-5"}, "eps: expected a number that is 0 or more, and finite, got '1e-5'"),
    ({"input": X.to_sparse()}, "input: expected a dense tensor, got one of layout"),
    ({"input": [1.0]}, "input: expected a tensor, got list"),
    ({"weight": [1.0]}, "weight: expected a tensor or None, got list"),
])
def test_wrong_kinds_are_named(norm, arguments, message):
    with pytest.raises(TypeError, match=re.escape(message)):
        norm(**{"input": X, "normalized_shape": (64,)} | arguments)


def test_layer_norm_has_no_default_for_none():
    for norm in (lambda: lnbwd.layer_norm(X, (64,), eps=None),
                 lambda: lnbwd.nn.LayerNorm(64, eps=None)):
        with pytest.raises(TypeError, match="eps: expected a number that is 0 or more"):
            norm()
    torch.testing.assert_close(lnbwd.nn.RMSNorm(64, eps=None)(X),
                               torch.nn.functional.rms_norm(X, (64,)))


@pytest.mark.parametrize("module", [lnbwd.nn.LayerNorm, lnbwd.nn.RMSNorm])
def test_modules_name_what_is_wrong(module):
    for shape in (64.0, (8, 8.0), None):
        with pytest.raises(TypeError, match="normalized_shape: expected whole numbers, or one"):
            module(shape)
    with pytest.raises(ValueError, match=r"eps: expected a number .* and finite, got -1"):
        module(64, eps=-1)
    assert module(np.int64(64), 1e-3, False, device="meta").normalized_shape == (64,)


@lnbwd.rowwise
def scaled(x: lnbwd.Rows, s: lnbwd.Scalars):
    return x * s


TARGET = torch.zeros(4, dtype=torch.int64)
IMAGE = torch.linspace(-1, 1, 2 * 3 * 80).reshape(2, 3, 80)
WEIGHT = torch.ones(8, 64)
STATISTICS = torch.zeros(4, 1)


@pytest.mark.parametrize(("call", "message"), [
    (lambda f: f.softmax(X, 2), "dim: expected a whole number from -2 to 1 for an input of the"),
    (lambda f: f.softmax(X, 0.5), "dim: expected a whole number from -2 to 1"),
    (lambda f: f.softmax(X[0, 0], -1), "input: expected one dimension or more, got none"),
    (lambda f: f.layer_norm(X, 64, eps=math.inf), "eps: expected a number that is 0"),
    (lambda f: f.layer_norm(X, 64, eps=[1]), "eps: expected a number that is 0 or mo"),
    (lambda f: f.cross_entropy(X, TARGET, label_smoothing="a"), "label_smoothing: expected a num"),
    (lambda f: f.cross_entropy(X, TARGET, ignore_index=0.5), "ignore_index: expected a whole num"),
    (lambda f: f.cross_entropy(X, TARGET, ignore_index=2 ** 63), "ignore_index: expected a whole "),
    (lambda f: f.dropout_add_rms_norm(X, None, p=None), "p: expected a probability from 0 to 1"),
    (lambda f: f.group_norm(IMAGE, 2), "num_groups: expected a number that divides the 3 channels"),
    (lambda f: f.batch_norm(IMAGE, None, None, training=True, momentum=None), "momentum: expected"),
    (lambda f: f.swiglu(X, X.to_sparse()), "up: expected a dense tensor, got one of layout"),
    (lambda f: f.quantize(X, dtype=[1]), "dtype: expected torch.float8_e4m3fn"),
    (lambda f: f.rms_norm_backward_quantized(X, X, None), "rstd: expected a tensor, got NoneType"),
    (lambda f: f.layer_norm_backward_quantized(X, X, None, STATISTICS), "mean: expected a tensor"),
    (lambda f: lnbwd.layer_norm_linear(X, 0.5, None, None, WEIGHT), "normalized_shape: expected"),
    (lambda f: lnbwd.layer_norm_linear(X.to_sparse(), 64, None, None, WEIGHT), "input: expected a"),
    (lambda f: scaled(X.to_sparse(), X[:, :1]), "x: expected a dense tensor, got one of layout"),
    (lambda f: lnbwd.nn.LayerNormLinear(torch.nn.RMSNorm(64), torch.nn.Linear(64, 8)),
     "norm: expected a torch.nn.LayerNorm, got RMSNorm"),
    (lambda f: lnbwd.compile("layer_norm_bwd", n=64, chip=5), "chip: expected a text, got int"),
])
def test_wrong_arguments_of_functions_are_named(call, message):
    scaled(X, X[:, :1])  # A call of the same shape was right.
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        call(lnbwd.functional)


def test_numpy_numbers_are_taken_everywhere():
    f = lnbwd.functional
    torch.testing.assert_close(f.softmax(X, np.int64(0)), torch.softmax(X, 0))
    torch.testing.assert_close(f.group_norm(IMAGE, np.int8(3)),
                               torch.nn.functional.group_norm(IMAGE, 3))


def test_functions_give_shapes_on_the_meta_device():
    f, x, image = lnbwd.functional, X.to("meta"), IMAGE.to("meta")
    assert f.softmax(x, -1).shape == f.swiglu(x, x).shape == f.layer_norm(x, 64).shape == x.shape
    assert f.group_norm(image, 3).shape == f.instance_norm(image).shape == image.shape


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize("layout", [torch.jagged, torch.strided])
def test_nested_tensors_are_refused(layout):
    nested = torch.nested.nested_tensor([X[:1], X[1:]], layout=layout)
    for norm in (lnbwd.layer_norm, lnbwd.rms_norm):
        with pytest.raises(TypeError, match="input: expected a dense tensor, got a nested one"):
            norm(nested, (64,))


@pytest.mark.parametrize(("arguments", "message"), [
    ({"n": 64.0}, "n: expected the length of a row, 1 or more, got 64.0"),
    ({"n": True}, "n: expected the length of a row, 1 or more, got True"),
    ({"grads": "dx"}, "grads: expected a list of names, got the text 'dx'; write grads=['dx']"),
    ({"grads": []}, "grads: expected at least one gradient, got none"),
    ({"schedule": {}}, "schedule: expected fields by name, got an empty mapping; leave it out"),
    ({"schedule": []}, "schedule: expected a text or a mapping, got []"),
])
def test_compile_names_what_is_wrong(arguments, message):
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        lnbwd.compile("layer_norm_bwd", **{"n": 64, "chip": "gfx942"} | arguments)


class Norms(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = lnbwd.nn.LayerNorm(64)
        self.other = lnbwd.nn.RMSNorm(64)

    def forward(self, x):
        return self.other(self.norm(x)) + lnbwd.rms_norm(lnbwd.layer_norm(x, (64,)), 64)


def test_symbolic_traces_keep_the_functions():
    traced = torch.fx.symbolic_trace(Norms())
    called = [node.target for node in traced.graph.nodes if node.op == "call_function"]
    assert called.count(lnbwd.layer_norm) == 2 and called.count(lnbwd.rms_norm) == 2
    torch.testing.assert_close(traced(X), Norms()(X))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_scripts_are_refused():
    with pytest.raises(TypeError, match="expected modules that TorchScript can compile, got "
                                        r"lnbwd\.nn\.LayerNorm"):
        torch.jit.script(Norms())

    def function(x):
        return lnbwd.layer_norm(x, (64,))

    with pytest.raises(Exception, match="lnbwd cannot be scripted"):
        torch.jit.script(function)


def test_the_home_folder_is_known_by_its_sign(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("LNBWD_CACHE_DIR", "~/kernels")
    assert default_folder() == tmp_path / "kernels"
