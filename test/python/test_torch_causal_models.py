# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""transformers' causal language models whose loss is linear_cross_entropy's."""

import copy
import pickle

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

import lnbwd  # noqa: E402
from lnbwd.functional import linear_losses  # noqa: E402
from lnbwd.nn.causal_models import Logits  # noqa: E402

pytestmark = pytest.mark.compiler

CLASSES = 70
SIZES = {"vocab_size": CLASSES, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 1,
         "num_attention_heads": 2, "num_key_value_heads": 2, "head_dim": 16}


def model_of(name, device, **settings):
    torch.manual_seed(0)
    config = getattr(transformers, f"{name}Config")(**SIZES, **settings)
    return getattr(transformers, f"{name}ForCausalLM")(config).to(device).train()


def batch(device):
    ids = (torch.arange(24).reshape(2, 12) * 31 % CLASSES).to(device)
    return {"input_ids": ids, "labels": ids.masked_fill(ids % 7 == 3, -100)}


def step(model, device, **options):
    """The result, and the gradients."""
    model.zero_grad()
    result = model(**batch(device), **options)
    result.loss.backward()
    return result, {name: p.grad.clone() for name, p in model.named_parameters()}


@pytest.fixture
def losses(monkeypatch):
    """The calls of linear_cross_entropy."""
    calls = []
    compute = linear_losses.linear_cross_entropy

    def record(*arguments, **options):
        calls.append(options)
        return compute(*arguments, **options)

    monkeypatch.setattr(linear_losses, "linear_cross_entropy", record)
    return calls


@pytest.mark.parametrize("name,settings,is_deferred", [
    ("Llama", {}, True), ("Qwen3", {"tie_word_embeddings": True}, True),
    ("Gemma2", {"final_logit_softcapping": 2.0}, False),
    ("Granite", {"logits_scaling": 3.0}, False),
])
def test_loss_and_gradients(device, losses, name, settings, is_deferred):
    model = model_of(name, device, **settings)
    want, gradients = step(model, device)
    with lnbwd.patch(model, linear_cross_entropy=True) as patched:
        assert "lm_head" in patched.names
        got, found = step(model, device)
        assert len(losses) == is_deferred
        torch.testing.assert_close(got.loss, want.loss)
        torch.testing.assert_close(found, gradients, atol=1e-5, rtol=1e-4)
        # The logits are there for whoever wants them.
        torch.testing.assert_close(torch.softmax(got.logits, -1), want.logits.softmax(-1))
        assert got.logits.shape == want.logits.shape and (got.logits[0] * 1.0).dim() == 2
    assert type(model.lm_head) is torch.nn.Linear
    losses.clear()
    torch.testing.assert_close(step(model, device)[0].loss, want.loss)
    assert not losses


def test_the_sum_over_items_and_shifted_labels(device, losses):
    model = model_of("Llama", device)
    for options in ({"num_items_in_batch": 17}, {"num_items_in_batch": torch.tensor(9)},
                    {"shift_labels": batch(device)["labels"].roll(1, -1)}):
        want = step(model, device, **options)[0].loss
        with lnbwd.patch(model, linear_cross_entropy=True):
            torch.testing.assert_close(step(model, device, **options)[0].loss, want)
    assert len(losses) == 3


def test_elsewhere_logits_are_tensors(device):
    model = model_of("Llama", device)
    lnbwd.patch(model, linear_cross_entropy=True)
    lnbwd.patch(model, linear_cross_entropy=True)  # A second time changes nothing.
    with torch.no_grad():
        assert type(model(**batch(device)).logits) is torch.Tensor
    assert type(model.eval()(**batch(device)).logits) is torch.Tensor
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert type(step(other.train(), device)[0].logits) is Logits
    assert lnbwd.nn.patching.unpatch(model) > 1 and type(model.lm_head) is torch.nn.Linear


@pytest.mark.parametrize("name,settings,is_deferred", [
    ("Llama", {}, True), ("Gemma2", {"final_logit_softcapping": 2.0}, False)])
def test_compiled(device, fresh_inductor, losses, name, settings, is_deferred):
    model = model_of(name, device, **settings)
    want, gradients = step(model, device)
    lnbwd.patch(model, linear_cross_entropy=True)
    model.compile(backend="aot_eager", fullgraph=True)
    got, found = step(model, device)
    assert len(losses) == is_deferred and (type(got.logits) is Logits) == is_deferred
    torch.testing.assert_close(got.loss, want.loss)
    torch.testing.assert_close(found, gradients, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(torch.softmax(got.logits, -1), want.logits.softmax(-1))


def test_on_the_cpu_it_is_pytorchs(losses):
    model = model_of("Llama", "cpu")
    want = step(model, "cpu")[0].loss
    lnbwd.patch(model, linear_cross_entropy=True)
    assert torch.equal(step(model, "cpu")[0].loss, want) and not losses


@pytest.mark.parametrize("make", [
    lambda: torch.nn.Sequential(torch.nn.LayerNorm(8)),
    lambda: transformers.LlamaModel(transformers.LlamaConfig(**SIZES)),
])
def test_other_models_are_refused(make):
    with pytest.raises(ValueError, match="expected a causal language model of transformers"):
        lnbwd.patch(make(), linear_cross_entropy=True)
