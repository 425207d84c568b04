# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The simulated chips by name, and what the description of the chips says of each."""

import json
import pathlib

_FILE = pathlib.Path(__file__).resolve().parents[2] / "lib" / "Chips" / "Chips.json"
_DESCRIPTION = json.loads(_FILE.read_text())
CHIPS = {name: facts for name, row in _DESCRIPTION["chips"].items()
         if (facts := _DESCRIPTION["families"][row["family"]] | row)["simulated"]}
