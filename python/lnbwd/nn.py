# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules for users: drop-in replacements of PyTorch's, with the same parameters and names."""

from __future__ import annotations

import torch
from torch import Tensor

from .functional import layer_norm, rms_norm

__all__ = ["LayerNorm", "RMSNorm"]


class LayerNorm(torch.nn.LayerNorm):
    """torch.nn.LayerNorm with a backward pass by lnbwd's kernels.

    It takes the same arguments, has the same parameters and the same state_dict, and is an
    instance of torch.nn.LayerNorm.
    """

    def forward(self, input: Tensor) -> Tensor:
        """Normalises ``input``; see :func:`lnbwd.layer_norm`."""
        return layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)


class RMSNorm(torch.nn.RMSNorm):
    """torch.nn.RMSNorm with a backward pass by lnbwd's kernels; see :class:`LayerNorm`."""

    def forward(self, x: Tensor) -> Tensor:
        """Normalises ``x``; see :func:`lnbwd.rms_norm`."""
        return rms_norm(x, self.normalized_shape, self.weight, self.eps)
