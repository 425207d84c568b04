# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""``python -m lnbwd_sim``: where the simulator's library is."""

from . import LIBRARY

print(LIBRARY)
