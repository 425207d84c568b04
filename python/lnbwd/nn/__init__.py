# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules for users: drop-in replacements of PyTorch's, with the same parameters and names.

Models on disk name this module. :mod:`.norms` has the norms that :mod:`.patching` swaps those of a
model for, which :mod:`.recognition` proves to be norms by :mod:`.trials`. This folder may import
:mod:`lnbwd.functional` and what that may.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from ..functional.channel_norms import batch_norm, group_norm, instance_norm
from ..functional.linear import layer_norm_linear
from ..functional.linear_losses import linear_cross_entropy
from ..functional.softmaxes import cross_entropy, log_softmax, softmax
from ..ops.launching import falls_back
from ..program.torch_internals.eager import BatchNorm, InstanceNorm
from .norms import LayerNorm, RMSNorm

__all__ = ["BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "CrossEntropyLoss", "GroupNorm",
           "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d", "LayerNorm", "LayerNormLinear",
           "LinearCrossEntropyLoss", "LogSoftmax", "RMSNorm", "Softmax"]


class Softmax(torch.nn.Softmax):
    """torch.nn.Softmax by lnbwd's kernels."""

    def forward(self, input: Tensor) -> Tensor:
        """See :func:`lnbwd.functional.softmax`."""
        return softmax(input, self.dim)  # type: ignore[arg-type]


class LogSoftmax(torch.nn.LogSoftmax):
    """torch.nn.LogSoftmax by lnbwd's kernels."""

    def forward(self, input: Tensor) -> Tensor:
        """See :func:`lnbwd.functional.log_softmax`."""
        return log_softmax(input, self.dim)  # type: ignore[arg-type]


class CrossEntropyLoss(torch.nn.CrossEntropyLoss):
    """torch.nn.CrossEntropyLoss by lnbwd's kernels."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """See :func:`lnbwd.functional.cross_entropy`."""
        return cross_entropy(input, target, self.weight, ignore_index=self.ignore_index,
                             reduction=self.reduction, label_smoothing=self.label_smoothing)


class GroupNorm(torch.nn.GroupNorm):
    """torch.nn.GroupNorm by lnbwd's kernels."""

    def forward(self, input: Tensor) -> Tensor:
        """See :func:`lnbwd.functional.group_norm`."""
        return group_norm(input, self.num_groups, self.weight, self.bias, self.eps)


class _BatchNorm(BatchNorm):
    """A batch norm by lnbwd's kernels; see :func:`lnbwd.functional.batch_norm`."""

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)  # type: ignore[no-untyped-call]
        factor = 0.0 if self.momentum is None else self.momentum
        mean, variance, is_trained = self.running_mean, self.running_var, self.training
        if not is_trained:  # (Statistics there are used, whether they are tracked or not.)
            is_trained = mean is None and variance is None
        elif not self.track_running_stats:
            mean = variance = None
        elif self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                factor = 1.0 / float(self.num_batches_tracked)
        return batch_norm(input, mean, variance, self.weight, self.bias, is_trained, factor,
                          self.eps)


class _InstanceNorm(InstanceNorm):
    """An instance norm by lnbwd's kernels; see :func:`lnbwd.functional.instance_norm`."""

    def _apply_instance_norm(self, input: Tensor) -> Tensor:
        return instance_norm(input, self.running_mean, self.running_var, self.weight, self.bias,
                             self.training or not self.track_running_stats,
                             0.0 if self.momentum is None else self.momentum, self.eps)


def _sized(norm: type[torch.nn.Module], name: str) -> Iterator[type]:
    """The norm for inputs of one, two and three dimensions besides samples and channels."""
    for dims in (1, 2, 3):
        theirs = getattr(torch.nn, f"{name}{dims}d")
        yield type(theirs.__name__, (norm, theirs), {
            "__module__": __name__, "__doc__": f"torch.nn.{theirs.__name__} by lnbwd's kernels."})


BatchNorm1d, BatchNorm2d, BatchNorm3d = _sized(_BatchNorm, "BatchNorm")
InstanceNorm1d, InstanceNorm2d, InstanceNorm3d = _sized(_InstanceNorm, "InstanceNorm")


class LayerNormLinear(torch.nn.Module):
    """A LayerNorm and the linear layer after it; see :func:`lnbwd.layer_norm_linear`.

    Attributes:
        norm, linear: the two modules, of a model for example, whose parameters are used.
    """

    def __init__(self, norm: torch.nn.LayerNorm, linear: torch.nn.Linear) -> None:
        for name, module, wanted in (("norm", norm, torch.nn.LayerNorm),
                                     ("linear", linear, torch.nn.Linear)):
            if not isinstance(module, wanted):
                raise TypeError(f"{name}: expected a torch.nn.{wanted.__name__}, got "
                                f"{type(module).__name__}")
        if len(norm.normalized_shape) != 1 or norm.normalized_shape[0] != linear.in_features:
            raise ValueError("norm: expected one that normalises the last dimension alone, of "
                             f"{linear.in_features} (linear.in_features), got "
                             f"{list(norm.normalized_shape)}")
        super().__init__()
        self.norm, self.linear = norm, linear

    def forward(self, x: Tensor) -> Tensor:
        """Normalises ``x`` and multiplies it; on the CPU, and under autocast, by PyTorch."""
        if torch.is_autocast_enabled(x.device.type) or (x.is_cpu and falls_back()):
            return self.linear(self.norm(x))  # type: ignore[no-any-return]
        return layer_norm_linear(x, self.norm.normalized_shape, self.norm.weight, self.norm.bias,
                                 self.linear.weight, self.linear.bias, self.norm.eps)


class LinearCrossEntropyLoss(torch.nn.Module):
    """The last linear layer of a model and the cross entropy of its output, as
    torch.nn.LinearCrossEntropyLoss; see :func:`lnbwd.functional.linear_cross_entropy`.

    Args:
        in_features, num_classes: H and V.
        bias: whether the layer has one.
        device, dtype: of the layer's parameters.
        weight: of the classes, ``[V]``.
        reduction, ignore_index, label_smoothing, z_loss, softcap: as of the function.

    Attributes:
        linear: the layer, a torch.nn.Linear.
    """

    def __init__(self, in_features: int, num_classes: int, *, bias: bool = False,
                 device: Any = None, dtype: torch.dtype | None = None,
                 weight: Tensor | None = None, reduction: str = "mean", ignore_index: int = -100,
                 label_smoothing: float = 0.0, z_loss: float = 0.0, softcap: float = 0.0) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(in_features, num_classes, bias, device, dtype)
        self.register_buffer("weight", weight)
        self.options: dict[str, Any] = {"reduction": reduction, "ignore_index": ignore_index,
                        "label_smoothing": label_smoothing, "z_loss": z_loss, "softcap": softcap}

    weight: Tensor | None

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of rows ``[..., H]`` for classes ``[...]``."""
        return linear_cross_entropy(input, self.linear.weight, target,
                                    linear_bias=self.linear.bias, weight=self.weight,
                                    **self.options)

    def extra_repr(self) -> str:
        """The options."""
        return ", ".join(f"{name}={value!r}" for name, value in self.options.items())
