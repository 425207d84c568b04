# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Chips that stand in where none is named, from the description of the chips.

They are read from lnbwd/chips.json in an installed package, and in a checkout from where the
compiler has them, lib/Chips/Chips.json.
"""

from __future__ import annotations

import json
from typing import Any

from .errors import LnbwdError
from .files import PACKAGE

_installed = PACKAGE / "chips.json"
_file = _installed if _installed.exists() else (PACKAGE.parents[1] / "lib" / "Chips" / "Chips.json")
try:
    _description = json.loads(_file.read_text())
except (OSError, ValueError) as error:
    raise LnbwdError(
        f"expected the description of the chips in {_installed}, or in lib/Chips/Chips.json of a "
        f"checkout, got {error}; 'pip install .' in a checkout makes a whole package") from error
_defaults = _description["defaults"]

SIMULATED: str = _defaults["simulated"]
"""The chip that is simulated."""

GPU: str = _defaults["gpu"]
"""The GPU that is compiled for."""

PTX: str = _defaults["ptx"]
"""The oldest target of PTX that is written by hand."""


FACTS: dict[str, dict[str, Any]] = {
    name: _description["families"][row["family"]] | row
    for name, row in _description["chips"].items()}
"""The description of each chip."""


def is_nvidia(chip: str) -> bool:
    """Whether a chip is NVIDIA's and not AMD's, by its name: this version need not know it."""
    return chip.startswith("sm_")


def code_format(chip: str) -> str:
    """The format that every driver of the chip takes: "hsaco" or "ptx"."""
    return "ptx" if is_nvidia(chip) else "hsaco"
