# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How the end-to-end tests compile."""

import pathlib
import subprocess
import sys

TWO_THREADS = """
import importlib.abc, sys, threading, time
sys.path[:0] = sys.argv[1:]
import grid

class SecondStarts(importlib.abc.MetaPathFinder):
    # When the first thread is in the middle of the package.
    def find_spec(self, name, path, target=None):
        if name == "lnbwd.core.compile.kernels" and second.ident is None:
            second.start()
            time.sleep(0.2)

sources = {}

def write(length):
    sources[length] = grid.op_source(grid.Kernel("gfx942", "f16", length))

second = threading.Thread(target=write, args=(2,))
sys.meta_path.insert(0, SecondStarts())
first = threading.Thread(target=write, args=(1,))
first.start()
first.join()
second.join()
assert sorted(sources) == [1, 2]
"""


def test_two_threads_load_the_package():
    here = pathlib.Path(__file__).resolve().parent
    result = subprocess.run([sys.executable, "-c", TWO_THREADS, str(here), str(here.parent)],
                            capture_output=True, text=True, check=False)
    assert result.returncode == 0 and not result.stderr, result.stderr
