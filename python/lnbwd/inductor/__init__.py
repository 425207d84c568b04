# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""torch.compile whose row-wise regions are kernels of this compiler.

    model = torch.compile(model, backend="lnbwd")

Each graph's regions of elementwise operations around sums over the row or over all rows (a norm
with the residual addition before it; its gradient with casts and the bias gradient after it)
become one kernel each; all else is Inductor's. ``LNBWD_LOG=regions`` says what became of each.
"""

from .explanations import Decision, decisions
from .graph_pass import RegionPass, backend, pass_

__all__ = ["Decision", "RegionPass", "backend", "decisions", "pass_"]
