# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch's interface: operators of norms and of row programs, row functions with their gradients,
the kernels of ATen's operators, and operators on distributed tensors.

It may import :mod:`lnbwd.core` and :mod:`lnbwd.program`. All launches of tensors are here.
"""
