# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What holds for all Python tests, which may run in several processes side by side.

Whatever they run on the simulator runs under its checks. What torch.compile generates is of each
process alone: a library that one process writes anew while another has it mapped ends the other.
"""

import os
import tempfile

os.environ.setdefault("LNBWD_SIM_CHECK", "all")
_generated = tempfile.TemporaryDirectory(prefix="lnbwd-test-inductor-", ignore_cleanup_errors=True)
os.environ["TORCHINDUCTOR_CACHE_DIR"] = _generated.name
