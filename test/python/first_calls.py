# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The first call of every eager function in a process, with its gradients.

    python first_calls.py DTYPE FILE

DTYPE is PyTorch's default type meanwhile. FILE receives the results by the functions' names, and
under "modules" the names of all modules that were imported.
"""

import sys

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

import lnbwd
from lnbwd import functional, nn


@lnbwd.rowwise
def _count(x: lnbwd.Rows) -> tuple[Tensor, Tensor]:
    """Its numbers have no types of their own."""
    return torch.where(x > 0, 1.0, 0.0).sum(), (x > 0) * 1.5


def _random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float32)


X, Z, IMAGE, TABLE = _random(6, 64), _random(6, 64, seed=1), _random(2, 4, 70), _random(6, 64)
WEIGHT, BIAS, CHANNELS = _random(64, seed=2), _random(64, seed=3), _random(4, seed=4)
CLASSES = _random(6, seed=5).abs()
LOGITS = _random(2051, 4)  # Float16 counts in twos there.
RSTD = X.square().mean(-1, keepdim=True).rsqrt()
DATA = X.to(torch.float8_e4m3fn)

CALLS = {
    "layer_norm": (lambda x, w, b: lnbwd.layer_norm(x, (64,), w, b), X, WEIGHT, BIAS),
    "rms_norm": (lambda x, w: lnbwd.rms_norm(x, (64,), w), X, WEIGHT),
    "layer_norm_linear": (lambda x, w, b: lnbwd.layer_norm_linear(x, 64, w, b, Z), X, WEIGHT, BIAS),
    "rms_norm_linear": (lambda x, w: lnbwd.rms_norm_linear(x, 64, w, Z), X, WEIGHT),
    "softmax": (lambda x: functional.softmax(x, -1), X),
    "log_softmax": (lambda x: functional.log_softmax(x, -1), X),
    "cross_entropy": (lambda x: functional.cross_entropy(
        x, torch.arange(2051) % 4, label_smoothing=0.1), LOGITS),
    "linear_cross_entropy": (lambda x, w, b: functional.linear_cross_entropy(
        x, w, torch.arange(6), linear_bias=b, weight=CLASSES, label_smoothing=0.1), X, Z, BIAS[:6]),
    "swiglu": (functional.swiglu, X, Z),
    "geglu": (functional.geglu, X, Z),
    "gated_rms_norm": (functional.gated_rms_norm, X, Z, WEIGHT),
    "dropout_add_layer_norm": (lambda *tensors: functional.dropout_add_layer_norm(
        *tensors, p=0.5), X, Z, WEIGHT, BIAS),
    "dropout_add_rms_norm": (lambda *tensors: functional.dropout_add_rms_norm(
        *tensors, p=0.5), X, Z, WEIGHT),
    "rms_norm_rope": (lambda x, w: functional.rms_norm_rope(x, TABLE, TABLE, w), X, WEIGHT),
    "group_norm": (lambda x, w, b: functional.group_norm(x, 2, w, b), IMAGE, CHANNELS, CHANNELS),
    "batch_norm": (lambda x, w, b: functional.batch_norm(
        x, torch.zeros_like(CHANNELS), torch.ones_like(CHANNELS), w, b, True),
        IMAGE, CHANNELS, CHANNELS),
    "instance_norm": (lambda x, w, b: functional.instance_norm(x, None, None, w, b),
                      IMAGE, CHANNELS, CHANNELS),
    "quantize": (lambda: functional.quantize(X),),
    "quantize_columns": (lambda: functional.quantize_columns(_random(64, 64)),),
    "dequantize": (lambda: functional.dequantize(functional.Quantized(DATA, RSTD)),),
    "rms_norm_quantized": (lambda: functional.rms_norm_quantized(X, WEIGHT),),
    "layer_norm_quantized": (lambda: functional.layer_norm_quantized(X, WEIGHT, BIAS),),
    "glu_quantized": (lambda: functional.glu_quantized(X, Z),),
    "glu_backward_quantized": (lambda: functional.glu_backward_quantized(X, X, Z),),
    "rms_norm_backward_quantized": (lambda: functional.rms_norm_backward_quantized(
        Z, X, RSTD, WEIGHT),),
    "layer_norm_backward_quantized": (lambda: functional.layer_norm_backward_quantized(
        Z, X, X.mean(-1, keepdim=True), RSTD, WEIGHT),),
    "module": (lambda x: torch.nn.Sequential(nn.LayerNorm(64), nn.Softmax(-1)).float()(x), X),
    "patch": (lambda x: _patched()(x), X),
    "override_aten": (lambda x: _overridden(x), X),
    "rowwise": (_count, X),
}
"""Functions and the tensors that they are differentiated by."""


def _patched() -> torch.nn.Module:
    model = torch.nn.Sequential(torch.nn.LayerNorm(64, dtype=torch.float32))
    lnbwd.patch(model)
    return model


def _overridden(x: Tensor) -> Tensor:
    with lnbwd.override_aten("cpu"):
        return torch.nn.functional.layer_norm(x, (64,))


def _run(function, *tensors: Tensor) -> list[Tensor]:
    leaves = [t.clone().requires_grad_() for t in tensors]
    torch.manual_seed(0)
    results = [t for t in tree_leaves(function(*leaves)) if isinstance(t, Tensor)]
    derived = [t for t in results if t.requires_grad]
    found = torch.autograd.grad(derived, leaves, [t.detach() for t in derived]) if derived else ()
    return [t.detach() for t in (*results, *found)]


if __name__ == "__main__":
    torch.set_default_dtype(getattr(torch, sys.argv[1]))
    with lnbwd.simulate("gfx942"):
        found = {name: _run(*call) for name, call in CALLS.items()}
    torch.save(found | {"modules": list(sys.modules)}, sys.argv[2])
