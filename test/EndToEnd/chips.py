# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The lists of chips that tests and scripts go through, from the description of the chips.

As a program it prints one of the lists for a shell:

  chips.py simulated|many|few|default|gpu|hip|cuda
"""

from __future__ import annotations

import json
import pathlib
import sys

# In the source tree; on a machine that has only the tests, beside them.
sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "lib" / "Chips"))

import generate_chips

_description = json.loads(pathlib.Path(generate_chips.__file__).with_name("Chips.json").read_text())
FACTS = generate_chips.resolve(_description)
"""What is written of each chip, that of its family included."""

SIMULATED = tuple(name for name, facts in FACTS.items() if facts["simulated"])
"""Every chip that is simulated."""

MANY = tuple(name for name in SIMULATED if FACTS[name]["tests"] == "many")
"""Simulated chips on which the end-to-end tests try everything, in samples."""

FEW = tuple(name for name in SIMULATED if FACTS[name]["tests"] == "few")
"""The other simulated chips: a few cases on each."""

GPUS = tuple(name for name, facts in FACTS.items()
             if facts["vendor"] == "nvidia" and facts["tests"] == "many")
"""NVIDIA's chips for which kernels are compared and compiled in numbers."""

DEFAULT = _description["defaults"]["simulated"]
"""The chip that is simulated where none is named."""

GPU = _description["defaults"]["gpu"]
"""The GPU that is compiled for where none is named."""


def main() -> None:
    lists = {"simulated": SIMULATED, "many": MANY, "few": FEW, "default": (DEFAULT,),
             "gpu": (GPU,),
             **{device: [name for name, facts in FACTS.items() if facts["vendor"] == vendor]
                for device, vendor in (("hip", "amd"), ("cuda", "nvidia"))}}
    if len(sys.argv) != 2 or sys.argv[1] not in lists:
        sys.exit(f"chips.py: expected one of: {', '.join(lists)}")
    print(*lists[sys.argv[1]])


if __name__ == "__main__":
    main()
