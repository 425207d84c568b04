# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whole models through torch.compile: GPT-2, ViT and Llama in small, with their gradients."""

import dataclasses

import pytest

torch = pytest.importorskip("torch")

import lnbwd.inductor  # noqa: E402
from lnbwd_bench import models  # noqa: E402

DEVICE, F32, BF16 = "cpu", torch.float32, torch.bfloat16


@pytest.fixture(autouse=True)
def fresh_inductor(build):
    """Inductor remembers nothing of other tests."""
    if not (build / "lib" / "liblnbwd-hip-sim.so").exists():
        pytest.skip("no simulator in the build")
    torch._dynamo.reset()
    lnbwd.inductor.decisions(clear=True)
    with torch._inductor.utils.fresh_cache():
        yield
    torch._dynamo.reset()


def small(name, layers=1):
    config = models.CONFIGS[name]
    return dataclasses.replace(config, layers=layers, width=64, heads=2, hidden=128, batch=2,
                               tokens=8, vocabulary=32, key_heads=min(config.key_heads, 1))


def gradients(model, batch, function, precision):
    model.zero_grad()
    with torch.autocast(DEVICE, BF16, enabled=precision == "autocast"):
        loss = function(*batch)
    loss.backward()
    return loss.item(), {name: p.grad.double() for name, p in model.named_parameters()}


def error(got, want):
    """The mean of the parameters' relative errors."""
    return sum((got[name] - want[name]).norm().item() / (want[name].norm().item() + 1e-3)
               for name in want) / len(want)


# Of one layer all places of a norm are there: after the inputs, and after either branch's sum.
# A ViT has GPT-2's blocks.
@pytest.mark.parametrize("name, precision, layers", [
    ("gpt2-small", "autocast", 1), ("llama-1b", "bf16", 1),
    *(pytest.param(*model, marks=pytest.mark.full) for model in (
        ("gpt2-small", "bf16", 2), ("vit-large", "bf16", 2), ("vit-large", "autocast", 1),
        ("llama-1b", "autocast", 2)))])
def test_models(name, precision, layers):
    """All norms are taken, forward and backward, and the gradients are right."""
    config = small(name, layers)
    dtype = F32 if precision == "autocast" else BF16
    model = models.make_model(config, DEVICE, dtype)
    batch = models.make_batch(config, DEVICE, dtype)
    exact = models.make_model(config, DEVICE, dtype).double()
    doubles = [t.double() if t.is_floating_point() else t for t in batch]
    exact_loss, want = gradients(exact, doubles, exact, "float64")
    loss, plain = gradients(model, batch, model, precision)
    with lnbwd.simulate():
        our_loss, ours = gradients(model, batch, torch.compile(model, backend="lnbwd"), precision)
    # PyTorch's own operations round after each, our kernels at their ends.
    assert error(ours, want) <= 1.1 * error(plain, want)
    assert abs(our_loss - exact_loss) <= abs(loss - exact_loss) + exact_loss / 256  # One rounding.
    made = lnbwd.inductor.decisions(clear=True)
    norms = 2 * config.layers + 1
    of_width = [p for one in made if one.taken for p in one.programs
                if p.has_row_sums and p.length == config.width]
    assert len(of_width) >= 2 * norms - 1, [*map(str, made)]
    assert not [one.reason for one in made if "no kernel" in one.reason or "error" in one.reason]
    assert sum(one.taken for one in made) > 0.7 * len(made), [*map(str, made)]
