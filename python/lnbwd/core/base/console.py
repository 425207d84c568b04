# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The console commands of an installed package: the programs in its folder ``bin``."""

from __future__ import annotations

import functools
import os
import sys

from .files import PACKAGE

_REMEDY = {
    "lnbwd-opt": "install a package of lnbwd with the compiler (docs/python.md)",
    "lnbwd-run": "install lnbwd by pip, or take build/bin/lnbwd-run of a checkout",
    "lnbwd-sim": "install a package of lnbwd with the simulator (docs/python.md)",
}


def _execute(name: str) -> int:
    """Becomes the program ``name`` of this package, with the arguments of this process."""
    program = PACKAGE / "bin" / name
    if not program.exists():
        print(f"error: expected the program {program}, which this installation has not: "
              f"{_REMEDY[name]}", file=sys.stderr)
        return 2
    os.execv(program, [name, *sys.argv[1:]])


opt, run, sim = (functools.partial(_execute, name) for name in _REMEDY)
