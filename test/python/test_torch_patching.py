# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""lnbwd.patch on norms of all kinds of classes: which it takes, which it leaves, and that a patched
model computes what it did before.

Hugging Face's models are built from small configurations. Of timm's norm classes some are written
down here, after their documentation, that its models in test_torch_timm.py do not have.
"""

import contextlib
import copy
import enum
import gc
import io
import pickle
import warnings

import pytest
import torch

import lnbwd
from conftest import HAS_GPU
from lnbwd.nn import patching
from lnbwd.nn.recognition import recognise
from lnbwd.ops import native


class LlamaNorm(torch.nn.Module):
    """The value is rounded before the weight is applied."""

    def __init__(self, n, eps=1e-6):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(n))
        self.variance_epsilon = eps

    def forward(self, hidden_states):
        kind = hidden_states.dtype
        hidden_states = hidden_states.float()
        variance = hidden_states.pow(2).mean(-1, keepdim=True)
        hidden_states = hidden_states * torch.rsqrt(variance + self.variance_epsilon)
        return self.weight * hidden_states.to(kind)


class GemmaNorm(torch.nn.Module):
    def __init__(self, n, eps=1e-6):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(n))
        self.eps = eps

    def forward(self, x):
        y = x.float() * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + self.eps)
        return (y * (1.0 + self.weight.float())).type_as(x)


class FixedNorm(torch.nn.Module):
    """No parameters, and an epsilon that stands in the code."""

    def forward(self, x):
        return torch.nn.functional.layer_norm(x.float(), x.shape[-1:], None, None, 1e-5).to(x.dtype)


class LayerNorm2d(torch.nn.LayerNorm):
    """timm's: over the channels of [B, C, H, W]."""

    def forward(self, x):
        x = x.permute(0, 2, 3, 1)
        x = torch.nn.functional.layer_norm(x, self.normalized_shape, self.weight, self.bias,
                                           self.eps)
        return x.permute(0, 3, 1, 2)


class LayerNormAct(torch.nn.LayerNorm):
    """timm's: an activation after it, which makes it something else."""

    def forward(self, x):
        return torch.relu(super().forward(x))


class TimmLayerNorm(torch.nn.LayerNorm):
    """timm's, which chooses among implementations."""

    _fast_norm: bool = False

    def forward(self, x):
        if self._fast_norm:
            raise AssertionError
        return torch.nn.functional.layer_norm(x, self.normalized_shape, self.weight, self.bias,
                                              self.eps)


class ReversedNames(torch.nn.Module):
    """A shift that is declared before the scale."""

    def __init__(self, n):
        super().__init__()
        self.beta = torch.nn.Parameter(torch.zeros(n))
        self.gamma = torch.nn.Parameter(torch.ones(n))

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        variance = (x - mean).square().mean(-1, keepdim=True)
        return (x - mean) / torch.sqrt(variance + 1e-6) * self.gamma + self.beta


class OutsideNorm(torch.nn.Module):
    """The epsilon is added to the root: another function for small rows."""

    def __init__(self, n):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(n))
        self.eps = 1e-6

    def forward(self, x):
        return x / (x.square().mean(-1, keepdim=True).sqrt() + self.eps) * self.weight


class UnbiasedNorm(torch.nn.Module):
    """The deviation with Bessel's correction."""

    def __init__(self, n):
        super().__init__()
        self.weight, self.bias = (torch.nn.Parameter(torch.ones(n)) for _ in range(2))
        self.eps = 1e-6

    def forward(self, x):
        return (x - x.mean(-1, keepdim=True)) / torch.sqrt(x.var(-1, keepdim=True) + self.eps
                                                           ) * self.weight + self.bias


class DroppingNorm(LlamaNorm):
    """Something that only happens while it trains."""

    def forward(self, x):
        return torch.nn.functional.dropout(super().forward(x), 0.5, self.training)


class GatedNorm(LlamaNorm):
    """A second input."""

    def forward(self, x, gate):
        return super().forward(x * gate)


class Scale(torch.nn.Module):
    def __init__(self, n):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(n))

    def forward(self, x):
        return x * self.weight


class RMS(torch.nn.Module):
    """An RMSNorm of which a subclass changes something."""

    def __init__(self, n=24, **attributes):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(n))
        self.eps = 1e-6
        self.__dict__.update(attributes)

    def scale(self, x):
        return torch.rsqrt(x.square().mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return x * self.scale(x) * self.weight


class DetachedNorm(RMS):
    """As in explanations by layer-wise relevance propagation."""

    def scale(self, x):
        return super().scale(x).detach()


class NoGradNorm(RMS):
    @torch.no_grad()
    def scale(self, x):
        return super().scale(x)


class FrozenNorm(RMS):
    """No gradient of the weight."""

    def forward(self, x):
        return x * self.scale(x) * self.weight.detach()


class DataNorm(RMS):
    """No gradient at all."""

    def forward(self, x):
        return super().forward(x.detach())


class PassingNorm(RMS):
    """A gradient of its own."""

    class Function(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, scale):
            return x * scale

        @staticmethod
        def backward(ctx, dy):
            return dy, None

    def forward(self, x):
        return self.Function.apply(x, self.scale(x)) * self.weight


class CountingNorm(RMS):
    """It changes itself."""

    calls = 0

    def forward(self, x):
        self.calls += 1
        return super().forward(x)


class LoggingNorm(RMS):
    """The same by a list."""

    def __init__(self):
        super().__init__(log=[])

    def forward(self, x):
        self.log.append(1)
        return super().forward(x)


class HiddenNorm(RMS):
    """It reads an attribute by another way."""

    def scale(self, x):
        return super().scale(x) if vars(self)["eps"] < 1 else x


class SmallNorm(RMS):
    """Another function of small rows."""

    def scale(self, x):
        return super().scale(x).clamp(max=1e2)


class LargeNorm(RMS):
    """Another function of large rows."""

    def forward(self, x):
        return super().forward(x.clamp(-1e3, 1e3))


class LargeOutputNorm(RMS):
    """Another function of large weights."""

    def forward(self, x):
        return super().forward(x).clamp(-1e4, 1e4)


class LargeGradientNorm(RMS):
    """Another gradient of a large one."""

    def forward(self, x):
        y = super().forward(x)
        if y.requires_grad:
            y.register_hook(lambda dy: dy.clamp(-1, 1))
        return y


class RankNorm(RMS):
    """Another function of three dimensions."""

    def scale(self, x):
        return super().scale(x.flatten(1)[:, None] if x.dim() == 3 else x)


class OverwritingNorm(RMS):
    """It changes its input."""

    def forward(self, x):
        y = super().forward(x)
        x.data.zero_()
        return y


class TensorEpsilon(RMS):
    def __init__(self):
        super().__init__(eps=torch.tensor(1e-6))


class ConfiguredNorm(RMS):
    """Its epsilon is in an object that others may change."""

    class Config:
        eps = 1e-6

    def __init__(self):
        super().__init__()
        del self.eps
        self.config = self.Config()

    def scale(self, x):
        return torch.rsqrt(x.square().mean(-1, keepdim=True) + self.config.eps)


Kind = enum.Enum("Kind", "RMS LAYER")


class KindNorm(RMS):
    """It is what an attribute says, of any type."""

    def __init__(self, kind, is_layer):
        super().__init__()
        self.kind, self.is_layer = kind, is_layer

    def forward(self, x):
        is_layer = self.is_layer(self.kind)
        return super().forward(x - x.mean(-1, keepdim=True) if is_layer else x)


# Pairs of values of which the second makes a LayerNorm.
KINDS = {
    "enum": (Kind.RMS, Kind.LAYER, lambda kind: kind is Kind.LAYER),
    "tuple": ((1,), (2,), lambda kind: kind[0] == 2),
    "list": ([1], [2], lambda kind: kind[0] == 2),
    "none": (None, "mean", lambda kind: kind is not None),
    "function": (torch.abs, torch.mean, lambda kind: kind is torch.mean),
    "type": (torch.float16, torch.float32, lambda kind: kind == torch.float32),
    "tensor": (torch.zeros(()), torch.ones(()), lambda kind: bool(kind)),
    "dict": ({}, {"mean": 1}, lambda kind: bool(kind))}


TAKEN = [lambda: LlamaNorm(24), lambda: GemmaNorm(24), FixedNorm, lambda: LayerNorm2d(24),
         lambda: TimmLayerNorm(24), lambda: ReversedNames(24), lambda: LlamaNorm(1),
         lambda: LlamaNorm(24, 1e-12)]
LEFT = [lambda: OutsideNorm(24), lambda: UnbiasedNorm(24), lambda: DroppingNorm(24),
        lambda: GatedNorm(24), lambda: Scale(24), lambda: LayerNormAct(24),
        lambda: torch.nn.Linear(24, 24), lambda: torch.nn.BatchNorm1d(24),
        lambda: torch.nn.GroupNorm(4, 24), DetachedNorm, NoGradNorm, FrozenNorm, DataNorm,
        PassingNorm, CountingNorm, LoggingNorm, OverwritingNorm, HiddenNorm, SmallNorm, LargeNorm,
        LargeOutputNorm, LargeGradientNorm, RankNorm, TensorEpsilon, ConfiguredNorm]


def randomised(make):
    module = make()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_()
    return module


def output_type(module, x):
    """The type that our kernel gives in a patched module; None: its own forward runs."""
    recipe = module._lnbwd_recipe
    return recipe.output_type(module, x, *recipe.parameters_of(module))


def gradients(module, x):
    x = x.detach().requires_grad_()
    y = module(x)
    torch.manual_seed(1)
    y.backward(torch.randn(y.shape).to(y))
    result = [y.detach(), x.grad, *(p.grad for p in module.parameters())]
    module.zero_grad()
    return result


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


def test_classes_that_the_caller_names(device):
    class Odd(UnbiasedNorm):
        pass

    module = Odd(24).to(device)
    assert recognise(module) is None
    patched = lnbwd.patch(module, also={Odd: lnbwd.nn.LayerNorm})
    assert patched.classes == {"Odd": 1}
    x = torch.randn(3, 24, device=device)
    torch.testing.assert_close(
        module(x), torch.nn.functional.layer_norm(x, (24,), module.weight, module.bias, 1e-6),
        rtol=1e-5, atol=1e-5)
    patched.undo()
    for also, kind, words in (
            ({Odd: torch.nn.LayerNorm}, TypeError, "expected lnbwd.nn.LayerNorm or lnbwd.nn.RMSN"),
            ({"Odd": lnbwd.nn.LayerNorm}, TypeError, "also: expected classes of modules"),
            ({Odd: lnbwd.nn.RMSNorm}, ValueError, "also: Odd has a bias, and an RMSNorm has none"),
            ({Scale: lnbwd.nn.RMSNorm}, ValueError, "also: Scale has none of the attributes eps"),
            ({RMS: lnbwd.nn.RMSNorm}, ValueError, r"also: RMS has a weight of the shape \[2, 3\]")):
        with pytest.raises(kind, match=words):
            lnbwd.patch(torch.nn.Sequential(module, Scale(4), RMS((2, 3))), also=also)
        assert type(module) is Odd


def test_it_says_what_it_changed(capsys):
    model = torch.nn.Sequential(LlamaNorm(24), LlamaNorm(24), torch.nn.LayerNorm(8))
    patched = lnbwd.patch(model)
    words = "lnbwd.patch: 3 modules now use lnbwd's kernels: 2 LlamaNorm, 1 LayerNorm"
    assert str(patched) == words and capsys.readouterr().out == ""
    with pytest.raises(TypeError, match=r"'quiet' since version 0\.2: it prints"):
        lnbwd.patch(model, quiet=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert lnbwd.patch(model).names == []  # They are ours already.
    assert lnbwd.unpatch(model) == 3
    assert [type(m) for m in model] == [LlamaNorm, LlamaNorm, torch.nn.LayerNorm]


def test_it_warns_when_it_found_nothing():
    with pytest.warns(UserWarning, match="found no LayerNorm or RMSNorm in the model; name a"):
        assert lnbwd.patch(torch.nn.Linear(3, 3)).names == []


def test_a_patched_model_computes_on_the_cpu(monkeypatch):
    """By PyTorch, and says so once: evaluation, export."""
    monkeypatch.delenv("LNBWD_SIMULATE", raising=False)
    monkeypatch.setattr(lnbwd.core.base.settings, "_warned", set())
    model = torch.nn.Sequential(LlamaNorm(24), torch.nn.LayerNorm(24), torch.nn.RMSNorm(24))
    x = torch.randn(3, 24)
    expected = gradients(model, x)
    lnbwd.patch(model)
    with pytest.warns(UserWarning, match="on the CPU, for which there are no kernels") as caught:
        got = gradients(model, x)
        gradients(model, x)
    assert len(caught) == 1
    for a, b in zip(got, expected, strict=True):
        assert torch.equal(a, b)
    exported = torch.export.export(model, (x,)).module()
    torch.testing.assert_close(exported(x), expected[0])


@pytest.mark.parametrize("end", ["undo", "with", "unpatch"])
def test_it_ends_after_the_model_has_changed(end):
    """A module was wrapped, one was removed, and one took another name."""
    model = torch.nn.Sequential(*(torch.nn.LayerNorm(8) for _ in range(3)), LlamaNorm(8))
    wrapped, _, renamed, last = modules = list(model)
    classes = [type(module) for module in modules]
    patched = lnbwd.patch(model)
    with patched if end == "with" else contextlib.nullcontext():
        model[0] = torch.nn.Sequential(wrapped, torch.nn.Identity())
        del model[1]
        assert renamed is model[1] and last is model[2]
    if end == "undo":
        patched.undo()
    if end == "unpatch":  # It does not know what is no part of the model.
        assert lnbwd.unpatch(model) == 3
        patched.undo()
    assert [type(module) for module in modules] == classes


class LayerNormOfMine(lnbwd.nn.LayerNorm):
    """It has ours by its author."""


def derive(module, factor):
    """Another class of somebody else's, as wrappers make them."""
    class Derived(type(module)):
        @torch.enable_grad()
        def forward(self, x):
            return factor * super().forward(x)

        @property
        def doubled(self):
            return 2 * super().extra_repr().count("")

    module.__class__ = Derived
    return Derived


@pytest.mark.parametrize("make", [lambda: torch.nn.LayerNorm(24), lambda: LlamaNorm(24),
                                  lambda: torch.nn.RMSNorm(24, 1e-6)])
@pytest.mark.parametrize("factor", [1, 2])
def test_classes_that_were_derived_from_ours(device, make, factor):
    module = make().to(device)
    original = type(module)
    x = torch.randn(3, 24, device=device)
    expected = factor * module(x)
    patched = lnbwd.patch(module)
    derived = derive(module, factor)
    for _ in range(2):
        torch.testing.assert_close(module(x), expected)
        patched.undo()
        assert isinstance(module, derived) and isinstance(module, original)
        assert not isinstance(module, patching._OURS) and module.doubled > 0
        assert torch.equal(module(x), expected)
        assert type(module).__name__ == "Derived" and lnbwd.unpatch(module) == 0
        if factor == 1:  # It is a norm again, and patched by its new class.
            patched = lnbwd.patch(module)
            assert patched.names == [""] and isinstance(module, patching._Patched)


def test_a_class_of_the_authors_is_left():
    """Modules that are ours from the start are not what a patch has to undo."""
    model = torch.nn.Sequential(LayerNormOfMine(8), torch.nn.LayerNorm(8))
    assert lnbwd.patch(model).names == ["1"]
    assert lnbwd.unpatch(model) == 1
    assert [type(module) for module in model] == [LayerNormOfMine, torch.nn.LayerNorm]


@pytest.fixture
def mesh(device):
    """A group of this process alone."""
    distributed = pytest.importorskip("torch.distributed.device_mesh")
    torch.distributed.init_process_group("gloo" if device.type == "cpu" else "nccl", rank=0,
                                         store=torch.distributed.HashStore(), world_size=1)
    yield distributed.init_device_mesh(device.type, (1,))
    torch.distributed.destroy_process_group()


@pytest.mark.parametrize("patched_first", [True, False])
def test_fully_shard_and_a_patch(device, mesh, patched_first):
    """It derives classes, which stay when the patch ends."""
    from torch.distributed.fsdp import FSDPModule, fully_shard

    model = torch.nn.Sequential(torch.nn.Linear(8, 24), LlamaNorm(24), torch.nn.LayerNorm(24),
                                torch.nn.Linear(24, 3)).to(device)
    x = torch.randn(4, 8, device=device)
    expected = model(x).detach()
    patched = lnbwd.patch(model) if patched_first else None
    fully_shard([*model[1:]], mesh=mesh)
    fully_shard(model, mesh=mesh)
    patched = patched or lnbwd.patch(model)
    assert patched.names == ["1", "2"]
    y = model(x)
    y.sum().backward()
    torch.testing.assert_close(y.detach(), expected)
    patched.undo()
    assert not any(isinstance(module, patching._OURS) for module in model)
    assert all(isinstance(module, FSDPModule) for module in model[1:])
    assert isinstance(model[1], LlamaNorm) and isinstance(model[2], torch.nn.LayerNorm)
    y = model(x)
    y.sum().backward()
    torch.testing.assert_close(y.detach(), expected)
    assert lnbwd.unpatch(model) == 0


@lnbwd.rowwise
def doubled_rows(x: lnbwd.Rows):
    return x * 2 / x.square().sum(-1, keepdim=True)


@pytest.mark.parametrize("name,call", [
    ("lnbwd.functional.softmax", lambda f, x, w: f.softmax(x, -1)),
    ("lnbwd.functional.softmax", lambda f, x, w: lnbwd.nn.Softmax(-1)(x)),
    ("lnbwd.functional.cross_entropy", lambda f, x, w: f.cross_entropy(
        x, (x[:, 0] * 0).long())),
    ("lnbwd.functional.swiglu", lambda f, x, w: f.swiglu(x, x)),
    ("lnbwd.functional.gated_rms_norm", lambda f, x, w: f.gated_rms_norm(x, x, w)),
    ("lnbwd.functional.dropout_add_layer_norm",
     lambda f, x, w: f.dropout_add_layer_norm(x, x, w, w)),
    ("lnbwd.functional.group_norm", lambda f, x, w: f.group_norm(x[:, :, None], 2)),
    ("lnbwd.functional.instance_norm", lambda f, x, w: f.instance_norm(x[:, None])),
    ("lnbwd.functional.quantize", lambda f, x, w: f.quantize(x)),
    ("doubled_rows", lambda f, x, w: doubled_rows(x))])
def test_functions_without_a_sharding_rule_are_named(mesh, name, call):
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor

    x, w = (distribute_tensor(torch.randn(shape, device=mesh.device_type), mesh, [placement])
            for shape, placement in (((4, 8), Shard(0)), ((8,), Replicate())))
    with pytest.raises(TypeError, match=rf"^{name}: expected tensors of one device, got a distri"):
        call(lnbwd.functional, x, w)
    assert lnbwd.layer_norm(x, (8,), w, w).placements == (Shard(0),)


# ------------------------------------------------------------------------------- Hugging Face's

SMALL = {"vocab_size": 64, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2,
         "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 64,
         "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
MODELS = {
    "Llama": (SMALL, {"LlamaRMSNorm": 5}), "Mistral": (SMALL, {"MistralRMSNorm": 5}),
    "Mixtral": (SMALL, {"MixtralRMSNorm": 5}), "Qwen2": (SMALL, {"Qwen2RMSNorm": 5}),
    "Qwen3": ({**SMALL, "head_dim": 8}, {"Qwen3RMSNorm": 9}),
    "Gemma": ({**SMALL, "head_dim": 8}, {"GemmaRMSNorm": 5}), "Phi": (SMALL, {"LayerNorm": 3}),
    "Phi3": (SMALL, {"Phi3RMSNorm": 5}), "Olmo": (SMALL, {"OlmoLayerNorm": 5}),
    "T5": ({"vocab_size": 64, "d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2,
            "num_heads": 4}, {"T5LayerNorm": 12})}


@pytest.mark.parametrize("name", MODELS)
def test_models_of_hugging_face(device, name):
    """All norms are taken, and the loss and its gradients stay what they were."""
    transformers = pytest.importorskip("transformers")
    settings, classes = MODELS[name]
    torch.manual_seed(0)
    model = transformers.AutoModel.from_config(
        getattr(transformers, f"{name}Config")(**settings)).to(device)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(torch.randn_like(parameter) * 0.1)
    tokens = torch.randint(3, 64, (2, 5), device=device)
    more = {"decoder_input_ids": tokens} if name == "T5" else {}

    def run():
        model.zero_grad()
        loss = model(input_ids=tokens, **more).last_hidden_state.square().sum()
        loss.backward()
        return [loss.detach(), *(p.grad.clone() for p in model.parameters()
                                 if p.grad is not None)]

    model.eval()
    expected = run()
    patched = lnbwd.patch(model)
    assert patched.classes == classes
    for a, b in zip(run(), expected, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-3 * float(b.abs().max()))
    patched.undo()
    assert all(torch.equal(a, b) for a, b in zip(run(), expected, strict=True))


@pytest.fixture
def overriding(monkeypatch):
    """lnbwd.patch with its models on what it takes for a GPU: the CPU and its simulator."""
    made = []
    override_aten = patching.aten.override_aten

    def override():
        made.append(override_aten("cpu"))
        return made[-1]

    monkeypatch.setattr(patching.aten, "override_aten", override)
    monkeypatch.setattr(patching, "_is_on_gpu", lambda model: True)
    yield made
    assert all(each._device_type is None for each in made), "a patch was not undone"


needs_library = pytest.mark.skipif(native.load() is None, reason="no operators in C++ here")


@needs_library
def test_a_patch_has_pytorchs_norms_until_it_is_undone(overriding):
    model = torch.nn.Sequential(torch.nn.LayerNorm(8))
    with lnbwd.patch(model) as first:
        assert first.overrides and "cpu" in lnbwd.ops.aten.active
        again = lnbwd.patch(model)
        assert again.overrides and len(overriding) == 1
    assert "cpu" not in lnbwd.ops.aten.active
    lnbwd.patch(model)
    assert lnbwd.unpatch(model) == 1 and "cpu" not in lnbwd.ops.aten.active
    assert not lnbwd.patch(model, override=False).overrides
    assert "cpu" not in lnbwd.ops.aten.active


@needs_library
def test_a_model_that_is_gone_gives_pytorch_its_norms_back(overriding):
    model = torch.nn.Sequential(torch.nn.LayerNorm(8))
    lnbwd.patch(model)
    assert "cpu" in lnbwd.ops.aten.active
    del model
    gc.collect()
    assert "cpu" not in lnbwd.ops.aten.active


@needs_library
def test_models_without_norms_or_on_the_cpu_override_nothing():
    with pytest.warns(UserWarning, match="found no LayerNorm"):
        assert not lnbwd.patch(torch.nn.Linear(2, 2)).overrides
    assert not lnbwd.patch(torch.nn.LayerNorm(8)).overrides
    assert not lnbwd.ops.aten.active
