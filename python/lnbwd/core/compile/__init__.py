# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Text in, machine code out: the compiler, caches of kernels, and the search for schedules.

It may import :mod:`lnbwd.core.base` and :mod:`lnbwd.core.runtime`, which a search measures with.
"""
