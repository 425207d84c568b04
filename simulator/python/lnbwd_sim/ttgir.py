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
from collections.abc import Iterator

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
class IdleLoop:
    """A loop of which each iteration adds the same, which has been loaded, to a sum."""

    end: str
    """The argument that is the number of its iterations."""
    loads: frozenset[str]
    """The arguments that the addend was loaded from."""
    file: str
    line: int


_ADDS = re.compile(r" *(%\w+) = arith\.add[fi] (%\S+), (%\S+) :")


def _idle_loops(ttgir: str) -> Iterator[IdleLoop]:
    """Those of a kernel: no value that changes from one iteration to the next one has a part in the
    addend, and the number of the iteration in nothing."""
    lines = [line.partition(" loc(")[0] for line in ttgir.splitlines()]
    arguments = set(re.findall(r"%([\w$.-]+): ", ttgir.partition("tt.func public ")[2]
                               .partition("\n")[0]))
    for number, line in enumerate(lines):
        found = re.match(r"( *)(?:%\S+ = )?scf\.for (%\S+) = %c0_i32 to %(\S+) step %c1_i32 "
                         r"iter_args\((.*?)\) ->", line)
        if not found or found[3] not in arguments:
            continue
        indent, index, end, carried = found.groups()
        size = lines[number:].index(indent + "}")
        body = lines[number + 1:number + size]
        text = "\n".join(body)
        if re.search(rf"{re.escape(index)}\b", text):
            continue
        made = {name for inner in body for name in re.findall(r"^ *(%\w+)(?::\d+)? = ", inner)}
        changing = made | set(re.findall(r"(%\w+) = ", carried))
        for name in re.findall(r"(%\w+) = ", carried):
            uses = [inner for inner in body if re.search(rf"{name}\b", inner)]
            adds = _ADDS.match(uses[0]) if len(uses) == 1 else None
            # The sum goes to the next iteration alone.
            if adds is None or len({adds[2], adds[3]} - {name}) != 1 or \
                    len(re.findall(rf"{adds[1]}\b", text)) != 2:
                continue
            addend, = {adds[2], adds[3]} - {name}
            loads = _loaded(addend, lines[:number])
            if addend not in changing and loads:
                where = re.search(r'"(.*?)":(\d+):\d+', _location(ttgir, number + size))
                yield IdleLoop(end, frozenset(loads), *(
                    (where[1], int(where[2])) if where else ("", 0)))


def _loaded(value: str, before: list[str]) -> set[str]:
    """The arguments that a value was loaded from, in the lines before its use."""
    values, pointers = {value}, set[str]()
    for line in reversed(before):
        name, _, rest = line.strip().partition(" = ")
        name = name.partition(":")[0]
        operands = re.findall(r"%[\w$.-]+", rest)
        if name in pointers:
            pointers.remove(name)
            pointers.update(operands[:1])
        elif name in values:
            values.remove(name)
            if "load " in rest:
                pointers.update(operands[:1])
            else:
                values.update(operands)
    return {pointer[1:] for pointer in pointers}


def _location(ttgir: str, number: int) -> str:
    """What the location at the end of a line is defined as."""
    name = re.search(r"loc\((#loc\d*)\)$", ttgir.splitlines()[number])
    while name:
        known = re.search(rf"^{name[1]} = (loc\(.*\))$", ttgir, re.M)
        if known is None or '":' in known[1]:
            return known[1] if known else ""
        name = re.search(r"(#loc\d*)\)", known[1])
    return ""


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
    tiles: frozenset[tuple[int, int]] = frozenset()
    """Dimensions of the grid and the constants that their index is multiplied by."""
    late: frozenset[int] = frozenset()
    """Constants that a loop begins at and advances by."""
    shortened: frozenset[str] = frozenset()
    """Arguments that it subtracts 1 from."""
    idle: tuple[IdleLoop, ...] = ()

    @staticmethod
    def of(ttgir: str) -> Facts:
        """Those of a kernel."""
        head, _, body = ttgir.partition("tt.func public ")[2].partition("\n")
        used = {name for name in re.findall(r"%([\w$.-]+): ", head)
                if re.search(rf"%{re.escape(name)}\b", body)}
        axes = {"xyz".index(axis) for axis in re.findall(r"tt\.get_program_id ([xyz])", body)}
        bounds = {name for name in used if re.search(
            rf"(cmpi|minsi|maxsi|subi|scf\.for) .*%{re.escape(name)}\b", _with_splats(body, name))}
        shortened = {name for name in used if re.search(
            rf"arith\.(subi %{re.escape(name)}, %c1_i32|addi %{re.escape(name)}, %c-1_i32) :",
            body)}
        ends = {int(end) for end in re.findall(r"scf\.for .* to %c(\d+)_i32 ", body)}
        constants = dict(re.findall(r"%(\S+) = arith\.constant (\d+) : i32", body))
        tiles = {("xyz".index(axis), int(constants[factor])) for index, axis in re.findall(
            r"%(\S+) = tt\.get_program_id ([xyz])", body) for factor in re.findall(
            rf"arith\.muli %{index}, %(\S+) :", body) if factor in constants}
        late = {int(constants[step]) for step in re.findall(
            r"scf\.for %\S+ = %(\S+) to %\S+ step %\1 ", body) if step in constants}
        return Facts(not is_indexed(ttgir), frozenset(used), frozenset(bounds), frozenset(ends),
                     frozenset(axes), "atomic" in body, "mulhiui" in body, frozenset(tiles),
                     frozenset(late), frozenset(shortened), tuple(_idle_loops(ttgir)))


def _with_splats(body: str, name: str) -> str:
    """The text with the argument itself where it is the same number in another type."""
    same = rf"^ *%(\w+) = (?:tt\.splat|arith\.ext[su]i|arith\.trunci) %{re.escape(name)}\b.*$"
    while found := re.search(same, body, re.M):
        body = body.replace(found[0], "")
        body = re.sub(rf"%{found[1]}\b", f"%{name}", body)
    return body


UNKNOWN = Facts(False, frozenset(), frozenset(), frozenset(), frozenset(), True, True)
