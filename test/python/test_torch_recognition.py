# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which classes of norms lnbwd.patch takes and which it leaves, and that a module computes what it
did before."""

import copy
import io
import pickle

import pytest
import torch
from norm_classes import (
    KINDS,
    LEFT,
    RMS,
    TAKEN,
    DetachedNorm,
    DroppingNorm,
    FixedNorm,
    GemmaNorm,
    KindNorm,
    LayerNorm2d,
    LlamaNorm,
    LoggingNorm,
    ReversedNames,
    TimmLayerNorm,
    gradients,
    output_type,
    randomised,
)

import lnbwd
from conftest import HAS_GPU
from lnbwd.nn.recognition import recognise


@pytest.mark.parametrize("make,kind", [
    pytest.param(make, kind, marks=[pytest.mark.full] * ((number + place) % 2))
    for number, make in enumerate(TAKEN)
    for place, kind in enumerate([torch.float32, torch.bfloat16])])
def test_norms_of_other_classes_are_taken(device, make, kind):
    torch.manual_seed(0)
    module = randomised(make).to(device)
    original = type(module)
    n = next((p.shape[0] for p in module.parameters()), 24)
    x = torch.randn(2, n, 3, 4) if original is LayerNorm2d else torch.randn(2, 3, n)
    x = x.to(kind).to(device)
    try:
        expected = gradients(module, x)
    except RuntimeError as error:
        assert HAS_GPU and "expected scalar type" in str(error)
        pytest.skip("on a GPU PyTorch's norms refuse parameters of another type")
    with lnbwd.patch(module) as patched:
        assert patched.names == [""] and patched.classes == {original.__name__: 1}
        assert isinstance(module, original) and type(module) is not original
        got = gradients(module, x)
    assert type(module) is original
    tolerance = 1e-4 if kind == torch.float32 else 5e-2
    for a, b in zip(got, expected, strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape
        torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("make", LEFT)
def test_what_is_no_norm_is_left_alone(make):
    model = torch.nn.Sequential(make(), torch.nn.LayerNorm(8))
    kept = type(model[0])
    assert lnbwd.patch(model).names == ["1"]
    assert type(model[0]) is kept


@pytest.mark.parametrize("name", KINDS)
def test_each_module_is_looked_at_by_itself(device, name):
    """Those of one class may be different norms; and become such, unless what they read is an
    object that changes in place, with which they are left."""
    *kinds, is_layer = KINDS[name]
    model = torch.nn.ModuleList(KindNorm(kind, is_layer) for kind in kinds).to(device)
    x = torch.randn(5, 24, device=device) + 1
    expected = [gradients(module, x) for module in model]
    patched = lnbwd.patch(model) if name not in ("tensor", "dict") else None
    if patched is None:
        assert recognise(model[0]) is None and recognise(model[1]) is None
    else:
        assert patched.names == ["0", "1"]
        assert [m._lnbwd_recipe.norm for m in model] == ["rms_norm", "layer_norm"]
    for module, want in zip(model, expected, strict=True):
        for a, b in zip(gradients(module, x), want, strict=True):
            torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-4)
    model[0].kind = kinds[1]
    for a, b in zip(gradients(model[0], x), expected[1], strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-4)


def test_attributes_that_change_later(device):
    """Another epsilon is taken to the kernel, whichever attribute has the same value; all else runs
    the module's own forward."""
    module = RMS().to(device)
    module.__dict__ = {"another": 1e-6, **module.__dict__}
    x = torch.randn(3, 24, device=device) * 1e-2
    lnbwd.patch(module)
    recipe = module._lnbwd_recipe
    assert recipe.epsilon == "eps" and recipe.state == ()
    for eps in (1e-6, 1e-2):
        module.eps = eps
        assert output_type(module, x) == torch.float32
        torch.testing.assert_close(module(x), RMS.forward(module, x))

    class FixedByClass(RMS):
        power = 2

        def scale(self, x):
            return torch.rsqrt(x.abs().pow(self.power).mean(-1, keepdim=True) + 1e-6)

    for change in (lambda m: setattr(m, "power", 1), lambda m: setattr(FixedByClass, "power", 1)):
        FixedByClass.power = 2
        module = FixedByClass().to(device)
        lnbwd.patch(module)
        assert output_type(module, x) == torch.float32
        change(module)
        assert output_type(module, x) is None
        torch.testing.assert_close(module(x), FixedByClass.forward(module, x), rtol=0, atol=0)


def test_parameters_that_change_later(device):
    module = ReversedNames(24).to(device)
    lnbwd.patch(module)
    x = torch.randn(3, 24, device=device)
    module.beta = torch.nn.Parameter(module.beta.detach().bfloat16())
    assert output_type(module, x) is None
    torch.testing.assert_close(module(x), ReversedNames.forward(module, x), rtol=0, atol=0)

    class Shifted(RMS):
        def __init__(self):
            super().__init__()
            self.register_parameter("bias", None)

        def forward(self, x):
            y = super().forward(x)
            return y if self.bias is None else y + self.bias

    module = Shifted().to(device)
    lnbwd.patch(module)
    assert output_type(module, x) == torch.float32
    module.bias = torch.nn.Parameter(torch.ones(24, device=device))
    torch.testing.assert_close(module(x), Shifted.forward(module, x), rtol=0, atol=0)


class CheckedNorm(torch.nn.Module):
    """No parameters, and rows of one length."""

    def __init__(self):
        super().__init__()
        self.normalized_shape = (24,)

    def forward(self, x):
        return torch.nn.functional.layer_norm(x, self.normalized_shape)


def test_row_lengths_are_the_modules(device):
    module = CheckedNorm().to(device)
    lnbwd.patch(module)
    assert module(torch.randn(3, 24, device=device)).shape == (3, 24)
    with pytest.raises(RuntimeError, match="normalized_shape"):
        module(torch.randn(3, 32, device=device))
    any_length = FixedNorm().to(device)
    lnbwd.patch(any_length)
    assert any_length._lnbwd_recipe.row_length is None
    # One number scales all elements.
    module = LlamaNorm(1).to(device)
    x = torch.randn(3, 24, device=device)
    expected = gradients(module, x)
    lnbwd.patch(module)
    for a, b in zip(gradients(module, x), expected, strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=0)
    # Nor is it an error where a module takes what no kernel does.
    assert module(torch.randn((), device=device)).shape == (1,)


@pytest.mark.parametrize("x_type", [torch.float16, torch.bfloat16])
def test_nothing_is_rounded_before_the_output(device, x_type):
    """Rows in 16 bits and a weight in float32: the module gives float32, which neither the result
    nor dy (of a scaled loss) may lose on the way."""
    module = LlamaNorm(24).to(device)
    x = torch.randn(3, 24, device=device).to(x_type)
    dy = torch.randn(3, 24, device=device) * 1e5
    double = copy.deepcopy(module).double()
    want = double(x.double())
    want_weight, = torch.autograd.grad(want, double.weight, dy.double())
    lnbwd.patch(module)
    assert (x_type, torch.float32, torch.float32) in module._lnbwd_recipe.types
    y = module(x)
    got_weight, = torch.autograd.grad(y, module.weight, dy)
    assert y.dtype == torch.float32
    torch.testing.assert_close(y.double(), want, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(got_weight.double(), want_weight, rtol=1e-5, atol=1.0)


class HalfNorm(RMS):
    """Another gradient in one type, which its own forward has to compute."""

    def scale(self, x):
        found = super().scale(x)
        return found.detach() if x.dtype == torch.bfloat16 else found


def test_types_are_proven_one_by_one(device):
    module = HalfNorm().to(device).bfloat16()
    x = torch.randn(3, 24, device=device).bfloat16()
    expected = gradients(module, x)
    lnbwd.patch(module)
    types = {given for given, _, _ in module._lnbwd_recipe.types}
    assert torch.float32 in types and torch.bfloat16 not in types
    for a, b in zip(gradients(module, x), expected, strict=True):
        assert torch.equal(a, b)


def test_the_callers_modes_change_nothing():
    torch.manual_seed(0)
    state, threads = torch.get_rng_state(), torch.get_num_threads()
    with torch.inference_mode(), torch.device("meta"), torch.autocast("cpu", torch.bfloat16):
        assert recognise(LlamaNorm(24)) is not None and recognise(DetachedNorm()) is None
        assert recognise(DroppingNorm(24)) is None
    assert torch.equal(torch.get_rng_state(), state) and torch.get_num_threads() == threads


def test_looking_at_a_module_leaves_it_as_it_was():
    module = LlamaNorm(24)
    calls = []
    module.register_forward_hook(lambda *_: calls.append(1))
    logging = LoggingNorm()
    assert recognise(logging) is None and logging.log == []
    before = {name: value for name, value in module.__dict__.items()}
    weight = module.weight
    assert recognise(module) is not None
    assert module.__dict__ == before and module.weight is weight and not calls
    assert weight.grad is None and bool((weight == 1).all())


def test_hooks_and_other_calls_go_on_working(device):
    module = LlamaNorm(24).to(device)
    x = torch.randn(3, 24, device=device)
    expected = module(x)
    calls = []
    module.register_forward_hook(lambda *_: calls.append(1))
    lnbwd.patch(module)
    torch.testing.assert_close(module(x), expected)
    torch.testing.assert_close(module(hidden_states=x), expected)
    assert len(calls) == 2
    # In a type that was not looked at its own forward runs.
    assert module.double()(x.double()).dtype == torch.float64


def test_patched_modules_are_copied_and_pickled(device):
    module = LlamaNorm(24).to(device)
    lnbwd.patch(module)
    x = torch.randn(3, 24, device=device)
    expected = module(x)
    for twin in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert type(twin) is type(module)
        torch.testing.assert_close(twin(x), expected)
    file = io.BytesIO()
    torch.save(module, file)
    file.seek(0)
    assert lnbwd.unpatch(torch.load(file, weights_only=False)) == 1


def test_a_patched_class_compiles(device):
    torch._dynamo.reset()
    kinds = (KindNorm(values[1], is_layer) for name, values in KINDS.items()
             for *values, is_layer in (values,) if name in ("enum", "tuple", "function"))
    model = torch.nn.Sequential(torch.nn.Linear(8, 24), LlamaNorm(24), GemmaNorm(24),
                                TimmLayerNorm(24), *kinds).to(device)
    x = torch.randn(3, 8, device=device)
    expected = gradients(model, x)
    lnbwd.patch(model)
    got = gradients(torch.compile(model, fullgraph=True, backend="aot_eager"), x)
    for a, b in zip(got, expected, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-4)
