# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From PyTorch's graphs to row programs: what :mod:`lnbwd.inductor`, torch.compile's backend, and
:mod:`lnbwd.row_tracing` have in common. Nothing here imports the backend."""
