# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""FX graphs: their nodes, and :mod:`.conversion`, which makes a row program of them.

:mod:`.tracing` gets its graphs from row functions; the backend of torch.compile asks
what nodes are. It may import :mod:`lnbwd.core.base`, and modules beside it that make no graphs.
"""
