# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""All private names of PyTorch, which differ among its versions; no other module names one.

:mod:`.eager` has those of operators and row functions, all others those of torch._inductor, which
the backend of torch.compile alone imports. A test of each name says what to do where a version has
moved it. It may import :mod:`lnbwd.core.base` and the rows of :mod:`lnbwd.program.graphs`.
"""
