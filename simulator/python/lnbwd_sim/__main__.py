# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""``python -m lnbwd_sim``: the path of the library; ``--include``: that of its headers."""

import sys

from . import INCLUDE, LIBRARY

if sys.argv[1:] not in ([], ["--include"]):
    sys.exit(f"error: expected no argument, or --include, got {' '.join(sys.argv[1:])}")
print(INCLUDE if sys.argv[1:] else LIBRARY)
