# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the TTGIR of a Triton kernel says of it, by its text: Triton's dialects have no bindings.

It says how the kernel uses LDS, whether its addresses depend on data, and which numbers are the
ends of what it walks over.
"""

from __future__ import annotations

import dataclasses
import re

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
    known = dict(re.findall(r"^(#loc\d*) = (loc\(.*\))$", ttgir, re.M))
    places: set[str] = set()
    lines = [line for line in ttgir.splitlines() if "memdesc" in line]
    left = [loc for line in lines for loc in re.findall(r"loc\((#loc\d*)\)", line)]
    seen = set(left)
    while left:
        text = known.get(left.pop(), "")
        places.update(re.findall(r'":(\d+:\d+)', text))
        new = set(re.findall(r"#loc\d*", text)) - seen
        seen |= new
        left += new
    return ",".join(sorted(places)), _reads_once(ttgir, lines)


_VALUES = {"tt.store": 1, "tt.atomic_rmw": 1, "amdg.buffer_store": 0, "amdg.buffer_atomic_rmw": 0}
"""Which operand of what writes is the value; the others say where."""
_ACCESS = re.compile(r"(tt|amdg)\.(buffer_)?(load|store|atomic_\w+)$")


def is_indexed(ttgir: str) -> bool:
    """Whether what a kernel has loaded may say where it loads and stores."""
    if re.search(r"scf\.while|\bcf\.|tt\.call", ttgir):
        return True
    lines = []
    for line in ttgir.splitlines():
        indent, name, operation, rest = re.match(
            r'( *)(?:(%\w+)(?::\d+)? = )?"?([\w.]*)(.*)', line).groups()  # type: ignore[union-attr]
        operands = re.findall(r"%\w+(?:#\d+)?", rest.split(" loc(")[0])
        lines.append((indent, name or "", operation, operands, rest))
    carried: set[tuple[int, int]] = set()
    """Loops and conditionals, by their line, and which of their values depend on data."""
    before = -1
    while len(carried) != before:
        before = len(carried)
        # Names are defined again in other regions.
        data: set[str] = set()
        regions: list[tuple[str, int, bool]] = []
        for number, (indent, name, operation, operands, rest) in enumerate(lines):
            depends = [bool({operand, operand.partition("#")[0], f"{operand}#0"} & data)
                       for operand in operands]
            data -= {known for known in data if name and known.partition("#")[0] == name}
            if regions and rest.startswith("}") and "else" not in rest and indent == regions[-1][0]:
                regions.pop()
            elif operation in ("scf.for", "scf.if"):
                regions.append((indent, number, operation == "scf.if" and any(depends)))
                arguments = re.findall(r"(%\w+) = %", rest)[1:] if operation == "scf.for" else []
                for k, argument in enumerate(arguments):
                    if depends[5 + 2 * k]:
                        carried.add((number, k))
                    data.discard(argument)
                    if (number, k) in carried:
                        data.add(argument)
                data |= {f"{name}#{k}" for owner, k in carried if owner == number}
                if operation == "scf.for":
                    data.discard(operands[0])
                    data.update(operands[:1] if any(depends[1:4]) else ())
            elif operation == "scf.yield" and regions:
                _, owner, is_chosen = regions[-1]
                carried |= {(owner, k) for k, depend in enumerate(depends) if depend or is_chosen}
            elif _ACCESS.match(operation):
                if any(depend for k, depend in enumerate(depends) if k != _VALUES.get(operation)):
                    return True
                data.add(name)
            elif operation == "ttg.local_load" or any(depends):
                data.add(name)
    return False


@dataclasses.dataclass(frozen=True)
class Facts:
    """What the TTGIR of a kernel says of it."""

    is_regular: bool
    """No data say which elements it accesses."""
    used: frozenset[str]
    """Its arguments, apart from those that it does not use."""
    bounds: frozenset[str]
    """Those that it compares with, subtracts from, or ends a loop at."""
    ends: frozenset[int]
    """Constants that it ends a loop at."""
    axes: frozenset[int]
    """Dimensions of the grid whose index it uses."""
    has_atomics: bool
    is_random: bool
    """Whether it may make random numbers from where an element is."""

    @staticmethod
    def of(ttgir: str) -> Facts:
        """Those of a kernel."""
        head, _, body = ttgir.partition("tt.func public ")[2].partition("\n")
        used = {name for name in re.findall(r"%([\w$.-]+): ", head)
                if re.search(rf"%{re.escape(name)}\b", body)}
        axes = {"xyz".index(axis) for axis in re.findall(r"tt\.get_program_id ([xyz])", body)}
        bounds = {name for name in used if re.search(
            rf"(cmpi|minsi|maxsi|subi|scf\.for) .*%{re.escape(name)}\b", _with_splats(body, name))}
        ends = {int(end) for end in re.findall(r"scf\.for .* to %c(\d+)_i32 ", body)}
        return Facts(not is_indexed(ttgir), frozenset(used), frozenset(bounds), frozenset(ends),
                     frozenset(axes), "atomic" in body, "mulhiui" in body)


def _with_splats(body: str, name: str) -> str:
    """The text with the argument itself where it is the same number in another type."""
    same = rf"^ *%(\w+) = (?:tt\.splat|arith\.ext[su]i|arith\.trunci) %{re.escape(name)}\b.*$"
    while found := re.search(same, body, re.M):
        body = body.replace(found[0], "")
        body = re.sub(rf"%{found[1]}\b", f"%{name}", body)
    return body


UNKNOWN = Facts(False, frozenset(), frozenset(), frozenset(), frozenset(), True, True)
