# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""LayerNorm and RMSNorm whose backward pass is machine code of the lnbwd compiler."""

from __future__ import annotations

from . import errors, runtime
from .errors import CacheWarning, CompileError, LibraryError, LnbwdError, RuntimeStatusError

__version__ = "0.1.0"

__all__ = ["CacheWarning", "CompileError", "LibraryError", "LnbwdError", "RuntimeStatusError",
           "errors", "runtime"]
