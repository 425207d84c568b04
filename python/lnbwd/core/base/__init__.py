# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What every other folder uses: errors, settings, tables of chips, operations and schedules, files,
and how MLIR is written.

The lowest layer. It imports nothing of the package but itself.
"""
