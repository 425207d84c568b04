# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""``python -m lnbwd_sim``: the path of the library; ``--include``: that of its headers;
``report``: saved errors."""

import sys

from . import INCLUDE, LIBRARY, report

if sys.argv[1:2] == ["report"]:
    sys.exit(report.main(sys.argv[2:]))
if sys.argv[1:] not in ([], ["--include"]):
    sys.exit("error: expected no argument, --include, or report and its arguments, got "
             + " ".join(sys.argv[1:]))
print(INCLUDE if sys.argv[1:] else LIBRARY)
