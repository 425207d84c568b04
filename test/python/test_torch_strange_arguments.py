# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arguments that are nearly right: what is meant is taken, and what is not is named."""


import numpy as np
import pytest
import torch

import lnbwd
from lnbwd import functional
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
    assert k.spec == lnbwd.compile("layer_norm_bwd", n=64, chip="gfx942", rows=7).spec


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


CLASSES = torch.arange(4)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::torch.jit.TracerWarning")
@pytest.mark.parametrize("function", [
    Norms(), lambda x: scaled(x, x[:, :1]),
    lambda x: functional.softmax(x, -1),
    lambda x: functional.cross_entropy(x, CLASSES),
    lambda x: functional.linear_cross_entropy(x, x, CLASSES),
    lambda x: lnbwd.layer_norm_linear(x, 64, None, None, x),
    lambda x: functional.group_norm(x[:, :, None], 2)])
def test_traces_have_pytorchs_operations(function):
    x = X.clone().requires_grad_()
    traced = torch.jit.trace(function, x)
    kinds = {node.kind() for node in traced.inlined_graph.nodes()}
    assert not any(kind.startswith(("lnbwd::", "prim::PythonOp")) for kind in kinds)
    torch.testing.assert_close(traced(x.detach() + 1), function(X + 1).detach())


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
