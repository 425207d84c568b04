# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The loss of transformers' causal language models by linear_cross_entropy.

The last layer of a model in training gives :class:`Logits`, which are computed where something
needs them. The model's loss function does not: it takes the layer and its input. A model that
changes its logits before the loss, as by a softcap, computes them, and the loss as before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from ..ops.launching import falls_back


class Logits:
    """The output of a linear layer, which is computed where it is first used as a tensor."""

    def __init__(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> None:
        self.operands = input, weight, bias
        self._tensor: Tensor | None = None

    def tensor(self) -> Tensor:
        """The output as a tensor."""
        if self._tensor is None:
            self._tensor = torch.nn.functional.linear(*self.operands)
        return self._tensor

    @classmethod
    def __torch_function__(cls, function: Callable[..., Any], types: Sequence[type],
                           arguments: Sequence[Any] = (),
                           options: Mapping[str, Any] | None = None) -> Any:
        def computed(value: Any) -> Any:
            if isinstance(value, (list, tuple)):
                return type(value)(map(computed, value))
            return value.tensor() if isinstance(value, Logits) else value

        return function(*map(computed, arguments),
                        **{name: computed(value) for name, value in (options or {}).items()})

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("operands", "_tensor"):  # Of one that is copied.
            raise AttributeError(name)
        return getattr(self.tensor(), name)

    def __getitem__(self, index: Any) -> Tensor:
        return self.tensor()[index]


def _through(name: str) -> Callable[..., Any]:
    return lambda self, *others: getattr(self.tensor(), name)(*others)


for _name in ("add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "neg", "matmul",
              "len", "iter", "float", "lt", "le", "gt", "ge"):
    setattr(Logits, f"__{_name}__", _through(f"__{_name}__"))


class LastLinear(torch.nn.Linear):
    """A last layer that gives :class:`Logits` in training."""

    def forward(self, input: Tensor) -> Any:
        """The logits; at once where a kernel would not get them, or FSDP2 shards this layer by
        itself and its weight is not whole when the loss is computed."""
        weight, bias = self.weight, self.bias
        if (not self.training or not torch.is_grad_enabled()
                or type(self) is not LastLinear or type(input) is not Tensor
                or type(weight) not in (Tensor, torch.nn.Parameter)
                or (input.is_cpu and falls_back("lnbwd.functional.linear_cross_entropy"))):
            return super().forward(input)
        return Logits(input, weight, bias)


class Loss:
    """A causal language model's loss by ``compute``, linear_cross_entropy; ``otherwise`` computes
    that of logits that are tensors."""

    def __init__(self, compute: Callable[..., Tensor], otherwise: Callable[..., Tensor]) -> None:
        self.compute, self.otherwise = compute, otherwise

    def __call__(self, logits: Any, labels: Tensor, vocab_size: int,
                 num_items_in_batch: Tensor | int | None = None, ignore_index: int = -100,
                 shift_labels: Tensor | None = None, **options: Any) -> Tensor:
        """The mean loss of each next token, or with ``num_items_in_batch`` their sum over that."""
        if not isinstance(logits, Logits):
            return self.otherwise(
                logits, labels, vocab_size, num_items_in_batch=num_items_in_batch,
                ignore_index=ignore_index, shift_labels=shift_labels, **options)
        input, weight, bias = logits.operands
        if shift_labels is None:
            shift_labels = torch.nn.functional.pad(labels, (0, 1), value=ignore_index)[..., 1:]
        loss = self.compute(
            input, weight, shift_labels.to(input.device).reshape(input.shape[:-1]),
            linear_bias=bias, ignore_index=ignore_index,
            reduction="mean" if num_items_in_batch is None else "sum")
        if num_items_in_batch is None:
            return loss
        if isinstance(num_items_in_batch, Tensor):
            num_items_in_batch = num_items_in_batch.to(loss.device)
        return loss / num_items_in_batch


def defer_logits(model: Any, compute: Callable[..., Tensor]) -> torch.nn.Module:
    """Has a causal language model of transformers compute its loss by ``compute``, which is
    linear_cross_entropy. Gives its last layer, whose class is now :class:`LastLinear`; a ValueError
    if it is none, its loss is another one, or its last layer is not linear."""
    layer: Any = getattr(model, "get_output_embeddings", lambda: None)()
    loss: Any = getattr(model, "loss_function", None)
    if isinstance(loss, Loss):
        loss = loss.otherwise
    if type(layer) not in (torch.nn.Linear, LastLinear) or getattr(
            loss, "__name__", "") != "ForCausalLMLoss":
        raise ValueError(
            "linear_cross_entropy: expected a causal language model of transformers whose last "
            f"layer is a torch.nn.Linear and whose loss is ForCausalLMLoss, got "
            f"{type(model).__name__} with {type(layer).__name__} and "
            f"{getattr(loss, '__name__', loss)}; call lnbwd.functional.linear_cross_entropy in "
            "its forward pass yourself")
    model.loss_function = Loss(compute, loss)
    layer.__class__ = LastLinear
    return layer  # type: ignore[no-any-return]
