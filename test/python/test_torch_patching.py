# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""lnbwd.patch on norms of all kinds of classes: which it takes, which it leaves, and that a patched
model computes what it did before.

Hugging Face's models are built from small configurations. Of timm's norm classes some are written
down here, after their documentation, that its models in test_torch_timm.py do not have.
"""

import copy
import gc
import io
import pickle
import warnings

import pytest
import torch

import lnbwd
from lnbwd import native, patching
from lnbwd.recognition import recognise


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


TAKEN = [lambda: LlamaNorm(24), lambda: GemmaNorm(24), FixedNorm, lambda: LayerNorm2d(24),
         lambda: TimmLayerNorm(24), lambda: ReversedNames(24), lambda: LlamaNorm(1),
         lambda: LlamaNorm(24, 1e-12)]
LEFT = [lambda: OutsideNorm(24), lambda: UnbiasedNorm(24), lambda: DroppingNorm(24),
        lambda: GatedNorm(24), lambda: Scale(24), lambda: LayerNormAct(24),
        lambda: torch.nn.Linear(24, 24), lambda: torch.nn.BatchNorm1d(24),
        lambda: torch.nn.GroupNorm(4, 24)]


def randomised(make):
    module = make()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_()
    return module


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
    expected = gradients(module, x)
    with lnbwd.patch(module, quiet=True) as patched:
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
    assert lnbwd.patch(model, quiet=True).names == ["1"]
    assert type(model[0]) is kept


def test_looking_at_a_module_leaves_it_as_it_was():
    module = LlamaNorm(24)
    calls = []
    module.register_forward_hook(lambda *_: calls.append(1))
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
    lnbwd.patch(module, quiet=True)
    torch.testing.assert_close(module(x), expected)
    torch.testing.assert_close(module(hidden_states=x), expected)
    assert len(calls) == 2
    # In a type that was not looked at its own forward runs.
    assert module.double()(x.double()).dtype == torch.float64


def test_patched_modules_are_copied_and_pickled(device):
    module = LlamaNorm(24).to(device)
    lnbwd.patch(module, quiet=True)
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
    model = torch.nn.Sequential(torch.nn.Linear(8, 24), LlamaNorm(24), GemmaNorm(24)).to(device)
    x = torch.randn(3, 8, device=device)
    expected = gradients(model, x)
    lnbwd.patch(model, quiet=True)
    got = gradients(torch.compile(model, fullgraph=True, backend="aot_eager"), x)
    for a, b in zip(got, expected, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-4)


def test_classes_that_the_caller_names(device):
    class Odd(UnbiasedNorm):
        pass

    module = Odd(24).to(device)
    assert recognise(module) is None
    patched = lnbwd.patch(module, also={Odd: lnbwd.nn.LayerNorm}, quiet=True)
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
            ({Scale: lnbwd.nn.RMSNorm}, ValueError, "also: Scale has none of the attributes eps")):
        with pytest.raises(kind, match=words):
            lnbwd.patch(torch.nn.Sequential(module, Scale(4)), also=also)
        assert type(module) is Odd


def test_it_says_what_it_changed(capsys):
    model = torch.nn.Sequential(LlamaNorm(24), LlamaNorm(24), torch.nn.LayerNorm(8))
    patched = lnbwd.patch(model)
    words = "lnbwd.patch: 3 modules now use lnbwd's kernels: 2 LlamaNorm, 1 LayerNorm"
    assert str(patched) == words and capsys.readouterr().out == words + "\n"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert lnbwd.patch(model, quiet=True).names == []  # They are ours already.
    assert lnbwd.unpatch(model) == 3
    assert [type(m) for m in model] == [LlamaNorm, LlamaNorm, torch.nn.LayerNorm]


def test_it_warns_when_it_found_nothing():
    with pytest.warns(UserWarning, match="found no LayerNorm or RMSNorm in the model; name a"):
        assert lnbwd.patch(torch.nn.Linear(3, 3)).names == []


def test_a_patched_model_computes_on_the_cpu(monkeypatch):
    """By PyTorch, and says so once: evaluation, export."""
    monkeypatch.delenv("LNBWD_SIMULATE", raising=False)
    monkeypatch.setattr(lnbwd.launching, "_has_warned", False)
    model = torch.nn.Sequential(LlamaNorm(24), torch.nn.LayerNorm(24), torch.nn.RMSNorm(24))
    x = torch.randn(3, 24)
    expected = gradients(model, x)
    lnbwd.patch(model, quiet=True)
    with pytest.warns(UserWarning, match="on the CPU, for which there are no kernels") as caught:
        got = gradients(model, x)
        gradients(model, x)
    assert len(caught) == 1
    for a, b in zip(got, expected, strict=True):
        assert torch.equal(a, b)
    exported = torch.export.export(model, (x,)).module()
    torch.testing.assert_close(exported(x), expected[0])


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
    patched = lnbwd.patch(model, quiet=True)
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
    with lnbwd.patch(model, quiet=True) as first:
        assert first.overrides and "cpu" in lnbwd.aten.active
        again = lnbwd.patch(model, quiet=True)
        assert again.overrides and len(overriding) == 1
    assert "cpu" not in lnbwd.aten.active
    lnbwd.patch(model, quiet=True)
    assert lnbwd.unpatch(model) == 1 and "cpu" not in lnbwd.aten.active
    assert not lnbwd.patch(model, override=False, quiet=True).overrides
    assert "cpu" not in lnbwd.aten.active


@needs_library
def test_a_model_that_is_gone_gives_pytorch_its_norms_back(overriding):
    model = torch.nn.Sequential(torch.nn.LayerNorm(8))
    lnbwd.patch(model, quiet=True)
    assert "cpu" in lnbwd.aten.active
    del model
    gc.collect()
    assert "cpu" not in lnbwd.aten.active


@needs_library
def test_models_without_norms_or_on_the_cpu_override_nothing():
    with pytest.warns(UserWarning, match="found no LayerNorm"):
        assert not lnbwd.patch(torch.nn.Linear(2, 2)).overrides
    assert not lnbwd.patch(torch.nn.LayerNorm(8), quiet=True).overrides
    assert not lnbwd.aten.active
