# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The environment variables of the package.

A variable is read when needed, so a process may set it after the import; empty means not set.
"""

import os

VARIABLES = {
    "LNBWD_AUTOTUNE": "'1' or '0': whether the first use of a kernel measures schedules",
    "LNBWD_BATCH_INVARIANT": "'1' or '0': whether sums have the canonical order",
    "LNBWD_CACHE_DIR": "the folder of compiled kernels; 'off': none",
    "LNBWD_LIBRARY_DIR": "the only folder that is searched for the shared libraries",
    "LNBWD_LOG": "'regions': prints the decision on each fused node of torch.compile",
    "LNBWD_MODEL": "a file with another model of schedules, for its developers",
    "LNBWD_NATIVE": "'0': the operators in Python take the place of those in C++",
    "LNBWD_SIMULATE": "a chip that CPU tensors are simulated on; '1': a usual one",
}


def read(variable: str) -> str:
    """The value of one of :data:`VARIABLES`; "" if it is not set."""
    assert variable in VARIABLES, variable
    return os.environ.get(variable, "")
