# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The row program: its data, its MLIR, its evaluation by PyTorch, and how Python functions and FX
graphs become one.

It may import :mod:`lnbwd.core.base`. Nothing here compiles or launches a kernel.
"""
