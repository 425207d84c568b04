# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The graphs of row functions, and what becomes of them: :mod:`.convert` makes row programs for
:mod:`lnbwd.row_tracing`. The backend of torch.compile asks too what nodes are (:mod:`.nodes`,
:mod:`.maxima`). Nothing here imports the backend."""
