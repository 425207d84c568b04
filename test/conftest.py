# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whatever the Python tests run on the simulator runs under its checks."""

import os

os.environ.setdefault("LNBWD_SIM_CHECK", "all")
