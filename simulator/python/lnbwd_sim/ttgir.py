# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads the TTGIR of a Triton kernel as text: Triton's dialects have no bindings.

It tells how the kernel uses LDS, and whether its launch can be repeated with rows further apart.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable

_ON_BUFFERS = re.compile(r" *(%[\w:]+ = )?(ttg\.(local_(alloc|load|store|dealloc)|memdesc_index)|"
                         r"scf\.(for|yield)) ")


def _reads_once(ttgir: str, lines: list[str]) -> bool:
    """Whether each load from a buffer in LDS is the only one of what was stored there last: of an
    argument of the loop around it, which another iteration does not get, of a loop's result, or of
    a buffer that is made beside it."""
    yields = "".join(re.findall(r"^ *scf\.yield .*", ttgir, re.M))
    loads = re.findall(r"^( *)%\w+ = ttg\.local_load (%\w+)(#\d+)? ", ttgir, re.M)
    if not all(map(_ON_BUFFERS.match, lines)) or len(set(loads)) < len(loads):
        return False
    for indent, name, result in loads:
        made = rf"^{indent}{name}:\d+ = scf\.for " if result else \
            rf"^{indent}{name} = ttg\.local_alloc %|^{indent[2:]}%\S+ = scf\.for .*[( ]{name} = "
        if not re.search(made, ttgir, re.M) or re.search(rf"{name}{result}\b", yields):
            return False
    return True


def places_of(ttgir: str) -> Callable[[str], list[tuple[str, int, int]]]:
    """Maps a location's name to its files, lines and columns, those of the innermost function
    first."""
    known = dict(re.findall(r"^(#loc\d*) = (loc\(.*\))$", ttgir, re.M))

    def places(loc: str) -> list[tuple[str, int, int]]:
        found: list[tuple[str, int, int]] = []
        for file, line, column, other in re.findall(r'"([^"]*)":(\d+):(\d+)|(#loc\d*)',
                                                    known.get(loc, "")):
            found += places(other) if other else [(file, int(line), int(column))]
        return found
    return places


def use_of_lds(ttgir: str) -> tuple[str | None, bool]:
    """What ``Library.describe_lds`` is told of a kernel: the places in the source whose operations
    have buffers in LDS. All others read what they have stored themselves, one barrier later, or
    two. None: waves may go through barriers on paths of their own, so that one cannot say.
    """
    if re.search(r"warp_specialize|warp_pipeline|cond_barrier", ttgir):
        return None, False
    # Such a pair does what convert_layout does.
    ttgir = re.sub(r"^ *(%\w+) = ttg\.local_alloc %.*\n *%\w+ = ttg\.local_load \1 .*\n", "", ttgir,
                   flags=re.M)
    of_loc = places_of(ttgir)
    lines = [line for line in ttgir.splitlines() if "memdesc" in line]
    places = {f"{line}:{column}" for loc in set(re.findall(r"loc\((#loc\d*)\)", "\n".join(lines)))
              for _, line, column in of_loc(loc)}
    return ",".join(sorted(places)), _reads_once(ttgir, lines)


@dataclasses.dataclass(frozen=True)
class Facts:
    """Whether a launch of a kernel can be repeated with rows further apart."""

    bounds: frozenset[str]
    """The arguments that it compares with, subtracts from, or ends a loop at: they are sizes."""
    has_atomics: bool
    is_random: bool
    """Whether it may make random numbers from where an element is."""

    @staticmethod
    def of(ttgir: str) -> Facts:
        """Those of a kernel."""
        head, _, body = ttgir.partition("tt.func public ")[2].partition("\n")
        bounds = frozenset(name for name in re.findall(r"%([\w$.-]+): ", head) if re.search(
            rf"(cmpi|minsi|maxsi|subi|scf\.for) .*%{re.escape(name)}\b", _with_splats(body, name)))
        return Facts(bounds, "atomic" in body, "mulhiui" in body)


def _with_splats(body: str, name: str) -> str:
    """The text with the argument itself where it is the same number in another type."""
    same = rf"^ *%(\w+) = (?:tt\.splat|arith\.ext[su]i|arith\.trunci) %{re.escape(name)}\b.*$"
    while found := re.search(same, body, re.M):
        body = body.replace(found[0], "")
        body = re.sub(rf"%{found[1]}\b", f"%{name}", body)
    return body


UNKNOWN = Facts(frozenset(), True, True)
