# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files that are made from TableGen's records and kept in the repository.

llvm-tblgen prints the records as JSON; what is made from them serves those who have no LLVM: the
runtime, the operators of PyTorch, the Python package, people.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import subprocess
import sys
from collections.abc import Callable
from typing import Any

SOURCE = pathlib.Path(__file__).resolve().parents[1]
DIALECT = SOURCE / "include" / "lnbwd" / "Dialect" / "LNBwd" / "IR"

Record = dict[str, Any]


def instances(records: Record, base: str) -> list[Record]:
    """The named records of a class, in the order of their file."""
    # A place is "LNBwdRoles.td:47".
    return sorted((records[name] for name in records["!instanceof"][base]
                   if not records[name]["!anonymous"]),
                  key=lambda r: [int(place.rpartition(":")[2]) for place in r["!locs"]][:1])


def with_tables(path: pathlib.Path, tables: list[str]) -> str:
    """The text of a file with other lines of its tables, between two comments."""
    head, begin, text = path.read_text().partition("# Made by scripts/")
    first, _, rest = text.partition("\n")
    _, end, tail = rest.partition("# End of the tables.\n")
    return "\n".join([head + begin + first, *tables, end + tail])


def run(what: str, declaration: pathlib.Path,
        make: Callable[[Record], dict[pathlib.Path, str]]) -> int:
    """The command of a generator: writes what is stale, or, with --check, names it.

    Args:
        what: a sentence on what the generator makes.
        declaration: the .td file.
        make: from its records, the text of each file that is made.

    Returns:
        the exit code.
    """
    parser = argparse.ArgumentParser(description=what)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if stale")
    parser.add_argument("--llvm", type=pathlib.Path, default=pathlib.Path("/usr/lib/llvm-22"),
                        help="the folder with bin/llvm-tblgen and include/mlir (/usr/lib/llvm-22)")
    options = parser.parse_args()
    result = subprocess.run(
        [options.llvm / "bin" / "llvm-tblgen", "--dump-json", "-I", options.llvm / "include",
         "-I", SOURCE / "include", declaration], check=True, capture_output=True, text=True)
    stale = False
    for path, text in make(json.loads(result.stdout)).items():
        if path.exists() and path.read_text() == text:
            continue
        stale = True
        print(f"{'stale' if options.check else 'written'}: {path.relative_to(SOURCE)}")
        if not options.check:
            path.write_text(text)
    if stale and options.check:
        print(f"run scripts/{pathlib.Path(sys.argv[0]).name}", file=sys.stderr)
    return 1 if stale and options.check else 0
