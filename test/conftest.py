# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What holds for all Python tests, which may run in several processes side by side.

Whatever they run on the simulator runs under its checks. What torch.compile generates is of each
process alone: a library that one process writes anew while another has it mapped ends the other.
Kernels are written once and by renaming, and shared.
"""

import gc
import os
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "simulator" / "scripts"))
pytest_plugins = ["sampled_tests"]

os.environ.setdefault("LNBWD_SIM_CHECK", "all")
_folders = []  # Those that are removed when this process ends.
_generated = tempfile.TemporaryDirectory(prefix="lnbwd-test-inductor-", ignore_cleanup_errors=True)
os.environ["TORCHINDUCTOR_CACHE_DIR"] = _generated.name
# What Inductor's code for the CPU is made of is nothing that is tested here. By default each new
# folder begins with the builds that find out which vector instructions there are, and each process
# with others that are to build for it: together 30 seconds of the processor beside one of a build.
os.environ.setdefault("TORCHINDUCTOR_VEC_ISA_OK", "0")
os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
if "PYTEST_XDIST_WORKER" in os.environ:
    # There is a process for each core: more threads of OpenBLAS and OpenMP would wait for work
    # busily, here and in the programs that tests start.
    for _library in ("OMP", "OPENBLAS"):
        os.environ.setdefault(f"{_library}_NUM_THREADS", "1")
# Kernels that EndToEnd/compiling.py has compiled, and the cache of the package in the tests of
# python: of all processes of this run, which inherit the names.
for _name in ("COMPILED", "CACHE"):
    if f"LNBWD_TEST_{_name}" not in os.environ:
        _folder = tempfile.TemporaryDirectory(prefix=f"lnbwd-test-{_name.lower()}-")
        os.environ[f"LNBWD_TEST_{_name}"] = _folder.name
        _folders.append(_folder)


def pytest_collection_finish(session):
    # What has been imported stays: Python need not look through all of PyTorch for garbage again
    # and again, nor at what is new after each 700 objects: a tenth of a test of torch.compile.
    gc.freeze()
    gc.set_threshold(10_000)


def pytest_unconfigure(config):
    gc.unfreeze()  # Else nanobind says behind pytest's last line that all this stays.
