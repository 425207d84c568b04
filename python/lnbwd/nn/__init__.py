# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules for users: drop-in replacements of PyTorch's, with the same parameters and names.

:mod:`.layers` has them, :mod:`.patching` swaps those of a model, which :mod:`.recognition` proves
to be norms. It may import :mod:`lnbwd.functional` and what that may.
"""

from .layers import (
    NORMS,
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    CrossEntropyLoss,
    GroupNorm,
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
    LayerNorm,
    LayerNormLinear,
    LogSoftmax,
    RMSNorm,
    Softmax,
)

__all__ = ["NORMS", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "CrossEntropyLoss", "GroupNorm",
           "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d", "LayerNorm", "LayerNormLinear",
           "LogSoftmax", "RMSNorm", "Softmax"]
