# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The simulated chips by name, and what the description of the chips says of each."""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "lib" / "Chips"))

import generate_chips

_FILE = pathlib.Path(generate_chips.__file__).with_name("Chips.json")
CHIPS = {name: facts for name, facts in
         generate_chips.resolve(json.loads(_FILE.read_text())).items() if facts["simulated"]}
