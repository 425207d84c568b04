# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Registers how the operators run on distributed tensors; :mod:`.ops.sharding` has the rules.

Graphs of torch.compile over distributed tensors need it if no eager call came before.
"""

import torch.distributed.tensor  # noqa: F401 (which the rules are for)

from .ops.norms import know_distributed_tensors

know_distributed_tensors()
