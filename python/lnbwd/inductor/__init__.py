# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""torch.compile with kernels of this compiler.

    model = torch.compile(model, backend="lnbwd")

This is Inductor. Its scheduler decides which operations are fused; a row program computes each
fused node that :mod:`.converter` can convert and that is at least as fast as Inductor's own kernel.
``LNBWD_LOG=regions`` prints the decisions. It may import :mod:`lnbwd.core`, :mod:`lnbwd.program`
and :mod:`lnbwd.ops`; nothing imports it but its users.
"""

from .backend import backend
from .decisions import Decision, Decisions, decisions, record

__all__ = ["Decision", "Decisions", "backend", "decisions", "record"]
