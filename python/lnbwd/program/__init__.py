# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The row program: data, MLIR, evaluation by PyTorch; Python functions and FX graphs as one.

It may import :mod:`lnbwd.core.base`. Nothing here compiles or launches a kernel.
"""
