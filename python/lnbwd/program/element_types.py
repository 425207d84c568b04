# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The types of elements that kernels have, as PyTorch calls them."""

from __future__ import annotations

import torch

from ..core.base.operations import ELEMENTS

TYPES: dict[str, torch.dtype] = {
    name: getattr(torch, element.torch) for name, element in ELEMENTS.items()}
"""The types that kernels have, in the order of their numbers in the runtime's interface; those that
are no floats in row programs alone."""

ELEMENT_NAMES = {dtype: name for name, dtype in TYPES.items()}
"""The kernels' names of the types."""

FLOAT8 = [getattr(torch, element.torch) for element in ELEMENTS.values()
          if element.use == "float8" and element.fraction]
"""The types of float8."""
