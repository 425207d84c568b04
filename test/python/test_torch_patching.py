# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""lnbwd.patch: the classes that a caller names, what it says, its end, derived classes, sharding,
and Hugging Face's models, which are built from small configurations."""

import contextlib
import gc
import warnings

import pytest
import torch
from norm_classes import (
    RMS,
    LlamaNorm,
    Scale,
    UnbiasedNorm,
    gradients,
)

import lnbwd
from lnbwd.nn import patching
from lnbwd.nn.recognition import recognise
from lnbwd.ops import native


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
            ({Scale: lnbwd.nn.RMSNorm}, ValueError, "also: expected Scale to have its epsilon in"),
            ({RMS: lnbwd.nn.RMSNorm}, ValueError, r"also: RMS has a weight of the shape \[2, 3\]")):
        with pytest.raises(kind, match=words):
            lnbwd.patch(torch.nn.Sequential(module, Scale(4), RMS((2, 3))), also=also)
        assert type(module) is Odd


def test_it_says_what_it_changed(capsys):
    model = torch.nn.Sequential(LlamaNorm(24), LlamaNorm(24), torch.nn.LayerNorm(8))
    patched = lnbwd.patch(model)
    words = "lnbwd.patch: 3 modules now use lnbwd's kernels: 2 LlamaNorm, 1 LayerNorm"
    assert str(patched) == words and capsys.readouterr().out == ""
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
    lnbwd.errors.forget_warnings()
    model = torch.nn.Sequential(LlamaNorm(24), torch.nn.LayerNorm(24), torch.nn.RMSNorm(24))
    x = torch.randn(3, 24)
    expected = gradients(model, x)
    lnbwd.patch(model)
    with pytest.warns(UserWarning, match="on the CPU, which has no kernels") as caught:
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
        assert first.overrides and "cpu" in lnbwd.ops.norms.overridden
        again = lnbwd.patch(model)
        assert again.overrides and len(overriding) == 1
    assert "cpu" not in lnbwd.ops.norms.overridden
    lnbwd.patch(model)
    assert lnbwd.unpatch(model) == 1 and "cpu" not in lnbwd.ops.norms.overridden
    assert not lnbwd.patch(model, override=False).overrides
    assert "cpu" not in lnbwd.ops.norms.overridden


@needs_library
def test_a_model_that_is_gone_gives_pytorch_its_norms_back(overriding):
    model = torch.nn.Sequential(torch.nn.LayerNorm(8))
    lnbwd.patch(model)
    assert "cpu" in lnbwd.ops.norms.overridden
    del model
    gc.collect()
    assert "cpu" not in lnbwd.ops.norms.overridden


@needs_library
def test_models_without_norms_or_on_the_cpu_override_nothing():
    with pytest.warns(UserWarning, match="found no LayerNorm"):
        assert not lnbwd.patch(torch.nn.Linear(2, 2)).overrides
    assert not lnbwd.patch(torch.nn.LayerNorm(8)).overrides
    assert not lnbwd.ops.norms.overridden
