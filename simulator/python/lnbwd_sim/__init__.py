# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The simulator of AMD machine code as a package: a library with HIP's functions, and a program.

``python -m lnbwd_sim`` prints the library's path. A HIP program has it in ``LD_PRELOAD``, the
runtime of lnbwd in ``LNBWD_SIM_LIBRARY``. ``python -m lnbwd_sim --include`` prints the folder of
the headers: ``lnbwd/Simulator/HipDevice.h``, by which clang compiles HIP without ROCm, and
``SimulatorAPI.h`` beside it.
"""

import os
import pathlib
import sys
from typing import NoReturn

_FOLDER = pathlib.Path(__file__).resolve().parent

LIBRARY = _FOLDER / "lib" / "liblnbwd-hip-sim.so"
"""The library: it has HIP's functions, and those of ``lnbwd/Simulator/SimulatorAPI.h``."""

INCLUDE = _FOLDER / "include"
"""The folder of the headers, for the compiler's option ``-I``."""


def run_program() -> NoReturn:
    """Becomes the program lnbwd-sim, with the arguments of this process."""
    os.execv(_FOLDER / "bin" / "lnbwd-sim", ["lnbwd-sim", *sys.argv[1:]])
