# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which elements of its arguments a launch has accessed, and what that says of its strides.

What a kernel computes nobody knows here. But a tensor has dimensions, and what a kernel, or one of
its workgroups, accesses mostly is a range, or every n-th, of each of them, or a range of all
elements in the order of memory. With a wrong stride it is neither.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch

from .findings import access, relative
from .library import SEVERAL, Library
from .pieces import LEAST_BLOCK, Pieces, by_stride, is_dense, pitches_of, sides_of

_MOST_ELEMENTS = 1 << 22
"""Of a tensor whose elements are looked at one by one."""
_MOST_BYTES = 32 << 20
"""Of a storage whose bytes are looked at one by one; of a larger one ranges are."""
_MOST_RANGES = 1 << 16
"""That the elements of a tensor in a larger one fill."""
_LEAST_TILE = 4
"""Elements: a smaller constant of a kernel may be one of its options."""
_MOST_COLORS = 3
"""Of a dimension of so many the first one alone may be meant."""
_MOST_STEP = 4
"""Of windows, from one to the next one."""
_MOST_WINDOW = 16
"""Elements of a window."""


class Memory(Protocol):
    """A storage on the device."""

    pointer: int
    size: int
    name: str


@dataclass(frozen=True)
class Fault:
    """What cannot be right."""

    text: str
    where: dict[str, Any] | None
    """The instruction, as in lnbwdSimGetFindingsJson."""
    is_vague: bool = False
    """It says what is left out, but not which stride is wrong."""


@dataclass(frozen=True)
class Launch:
    """What a launch says of sizes."""

    grid: Sequence[int] = (1,)
    numbers: Sequence[int] = ()
    """All integers among the arguments."""
    known: frozenset[int] = frozenset()
    """Those that the kernel uses, apart from strides, and its constants."""
    walked: frozenset[int] = frozenset()
    """Those of them that it compares something with, or where a loop of it ends."""
    blocks: frozenset[int] = frozenset()
    """Its constants."""
    axes: frozenset[int] = frozenset()
    """Sizes of the grid in the dimensions whose index the kernel uses."""
    is_regular: bool = False
    """No data say which elements it accesses."""
    tiles: frozenset[tuple[int, int]] = frozenset()
    """Sizes of the grid and constants that the index there is multiplied by."""
    late: frozenset[int] = frozenset()
    """Constants that a loop begins at and advances by."""
    shortened: frozenset[int] = frozenset()
    """Of the numbers those that the kernel subtracts 1 from."""
    idle: Mapping[str, Sequence[tuple[int, dict[str, Any]]]] = field(default_factory=dict)
    """By arguments: how many times a loop adds what it has loaded from there once, and where."""


def _shape(tensor: torch.Tensor) -> list[int]:
    """That of what it has in its storage."""
    return [n if step else min(n, 1)
            for n, step in zip(tensor.shape, tensor.stride(), strict=True)]


def _elements(ways: torch.Tensor, tensor: torch.Tensor) -> torch.Tensor:
    """Of what has been done to each byte of a storage, what to those of a tensor's elements."""
    size, strides = tensor.element_size(), tensor.stride()
    return ways.as_strided((*_shape(tensor), size), (*(step * size for step in strides), 1),
                           tensor.storage_offset() * size)


@dataclass(frozen=True)
class _Ranges:
    """Where the elements of a tensor are in its storage: so many ranges of one length, in the order
    of memory."""

    starts: Sequence[int]
    length: int

    @staticmethod
    def of(tensor: torch.Tensor) -> _Ranges | None:
        """None: elements overlap, or there are too many ranges."""
        starts, length, extent = [int(tensor.storage_offset())], 1, 1
        if not tensor.numel():
            return _Ranges([], 0)
        for stride, size in by_stride(tensor):
            if stride == length and len(starts) == 1:
                length *= size
            elif stride < extent or len(starts) * size > _MOST_RANGES:
                return None
            else:
                starts = [start + k * int(stride) for k in range(size) for start in starts]
            extent += (size - 1) * stride
        return _Ranges(starts, length)

    def count(self, library: Library, storage: int, tensor: torch.Tensor, ways: int) -> _Count:
        """How many of them the last launch has accessed in the storage at this address."""
        size, total, first, left = tensor.element_size(), 0, None, None
        for start in self.starts:
            count, accessed, other = library.count_accessed(
                storage + start * size, self.length * size, size, ways)
            total += count
            if first is None and accessed < self.length:
                first = start + accessed
            if left is None and other < self.length:
                left = start + other
        return _Count(total, *(_index(tensor, at) for at in (first, left)))


@dataclass(frozen=True)
class _Count:
    """Of the elements of a tensor: how many are accessed, the first of these and of the others, in
    the order of memory."""

    accessed: int
    first: list[int]
    left: list[int]


def _index(tensor: torch.Tensor, at: int | None) -> list[int]:
    """The index of the element at a place in the storage."""
    index, rest = [0] * tensor.dim(), (at or 0) - int(tensor.storage_offset())
    for k in sorted(range(tensor.dim()), key=tensor.stride, reverse=True):
        if tensor.shape[k] > 1 and tensor.stride(k):
            index[k], rest = divmod(rest, tensor.stride(k))
    return index


def _short(one: _Seen, launch: Launch, others: Sequence[_Seen], is_for_all: bool = False) -> str:
    """Which dimension of a tensor a kernel knows the size of, but has accessed only the first
    elements of, and no number says that these are meant."""
    is_product, sides = sides_of(one.done)
    sizes = {size for other in others for size in other.tensor.shape}
    whole = [list(other.tensor.shape) for other in others if other.is_whole]
    outputs = {size for other in others if other.is_whole and other.writes
               for size in other.tensor.shape}
    parts = sum(other.writes and other.is_whole for other in others)
    small = [number for number in launch.numbers if 1 < number <= _MOST_WINDOW]
    own = [len(side) for side in sides if bool(side.all())]
    # Its other dimensions may be what has that size elsewhere.
    elsewhere = {size for shape in (*whole, list(launch.axes)) for size in shape
                 if shape.count(size) > own.count(size)}
    for k, side in enumerate(sides):
        size, count = len(side), int(side.sum())
        if count == size or not bool(side[:count].all()):
            continue
        if not is_product and (one.writes or size not in outputs):
            continue  # A triangle, or a band.
        if 2 * count == size and one.tensor.stride(k) == 1 and not one.writes and not is_for_all:
            continue  # Cosines of angles, which some tables have twice.
        # As many as windows of that size and step need.
        are_windows = not one.writes and count not in outputs and any(
            size == (n - 1) * step + width for n in outputs if n > _MOST_STEP
            for width in small for step in small if step <= width)
        if count == size - 1 and not (is_for_all and size in (parts, 2)) and not (
                size in launch.axes and count in launch.axes) and not are_windows:
            continue  # The last one may be only a neighbour of others.
        if size not in elsewhere | launch.known and not is_for_all and not are_windows:
            continue
        if size in elsewhere:
            # Where all of them are needed, the size of another dimension is no reason.
            meant = set(launch.numbers) - launch.blocks - launch.axes - outputs
        else:
            meant = sizes | launch.axes | {n for n in launch.numbers if n not in launch.blocks
                                           or n >= LEAST_BLOCK}
            if not is_for_all and (size not in launch.walked or size <= _MOST_COLORS):
                meant |= {1}
        is_lost_tail = size in launch.walked and any(
            count == n * block and size - count < block for n, block in launch.tiles)
        if count in meant and not is_lost_tail:
            continue
        if not one.writes and (
                _are_windows(count, size, launch.axes | outputs) or (
                    size not in launch.walked
                    and _have_halo(count, size, outputs, launch.numbers))):
            continue
        if any(count == n * block and size - count >= block >= _LEAST_TILE
               and -(-size // block) not in launch.axes
               for n in launch.axes for block in launch.blocks):
            continue  # The grid is not for all of them.
        why = "a size that the launch has elsewhere, too" if size in elsewhere else \
            "a number that the kernel uses" if size in launch.known else \
            "as many as the windows of the outputs need" if are_windows else \
            "for outputs that have as many elements together"
        return (f"of the {size} elements of dimension {k}, {why}, only the first {count} are "
                f"{'written' if one.writes else 'read'}")
    return ""


def _late(one: _Seen, launch: Launch, others: Sequence[_Seen]) -> str:
    """Which first elements of a dimension a loop leaves out, although all outputs are written."""
    is_product, sides = sides_of(one.done)
    if not is_product or one.writes or not all(other.is_whole for other in others if other.writes):
        return ""
    for k, side in enumerate(sides):
        left = int((~side).sum())
        if left in launch.late and left >= LEAST_BLOCK and len(side) in launch.walked \
                and bool(side[left:].all()):
            return (f"of the {len(side)} elements of dimension {k} the first {left} are not read: "
                    "a loop begins one step late")
    return ""


def _without_last(seen: Sequence[_Seen], launch: Launch) -> tuple[str, _Seen] | None:
    """A dimension of which no tensor has its last elements accessed, by a kernel that subtracts 1
    from its size; and an output."""
    for size in launch.shortened:
        having = [one for one in seen if size in one.tensor.shape]
        outputs = [one for one in having if one.writes]
        if 0 < len(outputs) < len(having) and all(_lacks_last(one, size) for one in having):
            names = ", ".join(f"'{one.name}'" for one in having)
            return (f"of dimensions of {size} elements, a number that the kernel uses, the last "
                    f"ones are accessed in none of {names}"), outputs[0]
    return None


def _lacks_last(one: _Seen, size: int) -> bool:
    """Whether only the last elements of a dimension of that size are left out."""
    if one.count is not None:
        return False
    is_product, sides = sides_of(one.done)
    return is_product and any(len(side) == size and not side[-1] and bool(side[:-1].all())
                              for side in sides)


def _combed(one: _Seen, launch: Launch, others: Sequence[_Seen]) -> str:
    """Whether every n-th index of a dimension is read, although all have to be: for as many
    elements as the tensor has, or by a kernel that compares with its size."""
    is_product, sides = sides_of(one.done)
    if not is_product:
        return ""
    for k, side in enumerate(sides):
        for block in launch.blocks:
            if LEAST_BLOCK <= block < len(side) // 2 and len(side) in launch.walked and \
                    torch.equal(side, torch.arange(len(side)) // block % 2 == 0):
                return (f"of the blocks of {block} along the {len(side)} elements of dimension {k} "
                        f"only every other one is {'written' if one.writes else 'read'}")
    if one.writes:
        return ""
    said = launch.axes | set(launch.numbers) | {size for other in others
                                                for size in other.tensor.shape}
    for k, side in enumerate(sides):
        at = side.nonzero().flatten()
        steps = at.diff().unique()
        if len(steps) != 1 or int(steps[0]) == 1 or bool(at[0] >= steps[0]) \
                or bool(at[-1] + steps[0] < len(side)):
            continue
        if _is_for_all(one, others) or (len(side) in launch.walked and len(at) not in said):
            return (f"of the {len(side)} indices of dimension {k} only one of {int(steps[0])} is "
                    "read")
    return ""


def _is_for_all(one: _Seen, others: Sequence[_Seen]) -> bool:
    """Whether what is read of a tensor is for outputs that have as many elements together."""
    return not one.writes and one.tensor.numel() == sum(
        other.tensor.numel() for other in others if other.writes and other.is_whole)


def _uneven(one: _Seen, traffic: tuple[int, int], outputs: Iterable[int]) -> str:
    """Whether as many elements are accessed as there are, or a multiple, but some more often than
    others, which are left out."""
    read, written = (bytes_ // one.tensor.element_size() for bytes_ in traffic)
    every, distinct = one.done.numel(), int(one.done.sum())
    if one.writes:
        # Of the lanes that have one value one stores it.
        uneven = not read and written == every
    else:
        # All lanes that have a value load it: each element may be counted several times. Of a
        # triangle, some are read more often than others, too.
        is_product, sides = sides_of(one.done)
        uneven = not written and read % every == 0 and read % distinct != 0 and is_product and \
            not any(_are_windows(int(side.sum()), len(side), outputs) for side in sides)
    if not uneven:
        return ""
    verb = "written" if one.writes else "read"
    return f"{max(read, written)} are {verb}, some of them more often than others"


def _are_windows(count: int, size: int, outputs: Iterable[int]) -> bool:
    """Whether so many elements are those of windows, one for each output, and the others too few
    for one more."""
    return any(step <= count - (n - 1) * step <= _MOST_WINDOW and size - count < step
               for n in outputs for step in range(2, _MOST_STEP + 1))


def _have_halo(count: int, size: int, outputs: Iterable[int], numbers: Iterable[int]) -> bool:
    """Whether so many elements may be those of outputs and some neighbours, because there are fewer
    outputs than there are windows."""
    steps = [number for number in {1, *numbers} if 0 < number <= _MOST_WINDOW]
    is_exact = any((size % n == 0 and size // n <= _MOST_STEP) or any(
        size in ((n - 1) * step + width, n + (width - 1) * step)
        for step in steps for width in steps) for n in outputs)
    return not is_exact and any(0 < count - n < _MOST_WINDOW for n in outputs)


@dataclass(frozen=True)
class _Seen:
    """An argument, which of its elements the launch has accessed, and how."""

    name: str
    tensor: torch.Tensor
    buffer: Memory
    done: torch.Tensor
    """Empty if there is only a count."""
    writes: bool
    count: _Count | None = None

    @staticmethod
    def of(library: Library, name: str, tensor: torch.Tensor, buffer: Memory,
           ways: torch.Tensor | None) -> _Seen | None:
        """From what has been done to each byte of the storage, or from ranges of it; None: nothing,
        or it is not known."""
        if ways is not None:
            done = _elements(ways, tensor).amax(-1)
            writes = bool((done & 2).any())
            return _Seen(name, tensor, buffer, done & (2 if writes else 1) != 0, writes) \
                if done.any() else None
        if (ranges := _Ranges.of(tensor)) is not None:
            for way in (2, 1):
                count = ranges.count(library, buffer.pointer, tensor, way)
                if count.accessed:
                    return _Seen(name, tensor, buffer, torch.empty(0, dtype=torch.bool), way == 2,
                                 count)
        return None

    @property
    def is_whole(self) -> bool:
        """Whether all of them."""
        return bool(self.done.all()) if self.count is None else \
            self.count.accessed == self.elements

    @property
    def elements(self) -> int:
        """How many the tensor has in its storage."""
        return math.prod(_shape(self.tensor))

    def find(self, accessed: bool) -> list[int]:
        """The first element that is accessed, or not."""
        if self.count is not None:
            return self.count.first if accessed else self.count.left
        # The first of the largest.
        at = (self.done == accessed).flatten().to(torch.uint8).argmax()
        return [int(n) for n in torch.unravel_index(at, self.done.shape)]

    @property
    def first(self) -> int:
        """The address of its first element."""
        return int(self.tensor.storage_offset() * self.tensor.element_size() + self.buffer.pointer)

    def at(self, index: Sequence[int]) -> int:
        """The address of an element."""
        steps = zip(index, self.tensor.stride(), strict=True)
        return self.first + sum(k * step for k, step in steps) * self.tensor.element_size()


def judge(library: Library, arguments: Mapping[Any, Sequence[tuple[str, torch.Tensor]]],
          launch: Launch) -> tuple[list[str], list[Fault]]:
    """Of each storage and the arguments in it: elements that the launch has accessed, but neither
    written, where it has written others, nor read; and what it has accessed between those of all
    arguments. Apart from these, faults."""
    notes: list[str] = []
    faults: list[Fault] = []
    seen: list[_Seen] = []
    ways_of = {}
    traffic = library.traffic() if launch.is_regular else {}
    for buffer, tensors in arguments.items():
        if library.count_accessed(buffer.pointer, buffer.size, 1, 3)[0] <= 0:
            continue
        known = None if buffer.size > _MOST_BYTES else \
            library.accesses(buffer.pointer, buffer.size)
        ways = ways_of[buffer] = None if known is None else \
            torch.frombuffer(known, dtype=torch.uint8)
        seen += filter(None, (_Seen.of(library, name, tensor, buffer, ways)
                              for name, tensor in tensors))
    if launch.is_regular and (lacking := _without_last(seen, launch)):
        faults.append(Fault(lacking[0], library.access(lacking[1].first, True), True))
    for buffer, ways in ways_of.items():
        gaps = {}
        wheres = {}
        for one in (one for one in seen if one.buffer is buffer):
            name, tensor, verb = one.name, one.tensor, "written" if one.writes else "read"
            if not one.is_whole:
                wheres[name] = library.access(one.at(one.find(True)), one.writes)
                accessed = int(one.done.sum()) if one.count is None else one.count.accessed
                gaps[name] = f"{one.elements - accessed} of the {one.elements} elements of " \
                             f"'{name}' are not {verb}, the first of them {one.find(False)}"
            if not launch.is_regular or ways is None or tensor.numel() > _MOST_ELEMENTS:
                continue
            others = [other for other in seen if other.buffer is not buffer]
            found = _faults(library, one, launch, others) if is_dense(tensor) else []
            if not found and not one.is_whole:
                text = _short(one, launch, others, _is_for_all(one, others)) \
                    or _combed(one, launch, others) or _late(one, launch, others)
                if not text and len(arguments[buffer]) == 1:
                    text = _uneven(one, traffic.get(buffer.name, (0, 0)), launch.axes | {
                        size for other in others for size in other.tensor.shape})
                found = [Fault(f"{gaps[name]}: {text}", wheres[name], True)] if text else []
            for part in _by_places(library, one, launch) if not found else ():
                if text := _short(part, launch, others):
                    where = library.access(part.at(part.done.nonzero()[0].tolist()), False)
                    found = [Fault(f"a place in the source does not read '{name}' as another one "
                                   f"does: {text}", where)]
            found = found or _places_missed(library, one, launch)
            for times, where in launch.idle.get(name, ()) if not found else ():
                if times in tensor.shape and times > 1 and not one.writes:
                    found = [Fault(f"a loop adds {times} times, as often as '{name}' has elements "
                                   "in a dimension, what it has read of it once", where)]
            faults += found
        notes += [text + _place(wheres[name]) for name, text in gaps.items()]
        tensors = arguments[buffer]
        stray, at = _stray(library, buffer, [tensor for _, tensor in tensors], ways)
        if stray:
            between = f"{stray} bytes are accessed that '{tensors[0][0]}' has storage for, " \
                      "but no element"
            where = library.access(buffer.pointer + at, True) or \
                library.access(buffer.pointer + at, False)
            notes.append(between + _place(where))
            faults += [Fault(f"{gaps[name]}, {between}, and none of the arguments is the distance "
                             f"{pitches[0]} of its rows", where) for name, tensor in tensors
                       if name in gaps and (pitches := pitches_of(tensor))
                       and not set(pitches) & set(launch.numbers)]
    return notes, faults


def _stray(library: Library, buffer: Memory, tensors: Sequence[torch.Tensor],
           ways: torch.Tensor | None) -> tuple[int, int]:
    """How many bytes of a storage are accessed that are of no element, and the first of them."""
    if ways is not None:
        for tensor in tensors:
            _elements(ways, tensor).zero_()
        return int(ways.count_nonzero()), int((ways != 0).to(torch.uint8).argmax())
    filled = []
    for tensor in tensors:
        if (ranges := _Ranges.of(tensor)) is None:
            return 0, 0
        size = tensor.element_size()
        filled += [(start * size, (start + ranges.length) * size) for start in ranges.starts]
    total, first, at = 0, 0, 0
    for begin, end in [*sorted(filled), (buffer.size, buffer.size)]:
        if begin > at:
            count, accessed, _ = library.count_accessed(buffer.pointer + at, begin - at, 1, 3)
            first = first if total or not count else at + accessed
            total += count
        at = max(at, end)
    return total, first


def _sites(library: Library, one: _Seen) -> torch.Tensor | None:
    """The set of places in the source that have read each element of a tensor, as bits; None: it is
    not known, or they write it, too."""
    size = one.tensor.element_size()
    known = None if one.writes else library.sites(one.buffer.pointer, one.buffer.size // size, size)
    return None if known is None else torch.frombuffer(known, dtype=torch.int64).as_strided(
        one.done.shape, one.tensor.stride(), one.tensor.storage_offset())


def _places(sites: torch.Tensor) -> Iterator[torch.Tensor]:
    """Which elements each place has read that has read any."""
    used = sum({1 << bit for word in sites.unique().tolist() for bit in range(63)
                if word >> bit & 1})
    return ((sites >> bit & 1).bool() for bit in range(63) if used >> bit & 1)


def _by_places(library: Library, one: _Seen, launch: Launch) -> list[_Seen]:
    """What places in the source read of a tensor: together, if they do not read all of it,
    but another one does; one by one, if all of them together read no block of indices."""
    sites = _sites(library, one)
    if sites is None or bool((sites < 0).any()):
        return []  # Bit 63: an instruction that is from nobody knows where.
    places = list(_places(sites))
    partial = [place for place in places if not place.all()]
    if one.is_whole:
        whole = any(map(torch.all, places))
        partial = [torch.stack(partial).any(0)] if partial and whole else []
    elif len(partial) < 2 or sides_of(one.done)[0]:
        return []
    return [_Seen(one.name, one.tensor, one.buffer, part, False) for part in partial
            if not any(_are_neighbours(int(side.sum()), len(side), launch.blocks)
                       for side in sides_of(part)[1])]


def _places_missed(library: Library, one: _Seen, launch: Launch) -> list[Fault]:
    """Of a dense tensor: a place in the source that reads less than half of it without regard to
    where rows end."""
    if not is_dense(one.tensor) or (sites := _sites(library, one)) is None:
        return []
    sites = sites.permute(sorted(range(sites.dim()), key=one.tensor.stride, reverse=True)).flatten()
    for place in _places(sites):
        if 2 * int(place.sum()) < len(place):
            text, element = Pieces(one.name, one.tensor, place.long(), "read").rows_missed(
                launch.grid, launch.numbers)
            if text:
                return [Fault(f"a place in the source does not fit the rows: {text}",
                              library.access(one.first + element * one.tensor.element_size(),
                                             False))]
    return []


def _are_neighbours(count: int, size: int, blocks: Iterable[int]) -> bool:
    """Whether so many elements, of so many, may be read as neighbours of others, or the first one
    for all, and not as blocks of which the last one is missing."""
    left = size - count
    return left > 0 and (count == 1 or (left <= _MOST_WINDOW and 2 * count > size and not any(
        block >= LEAST_BLOCK and count % block == 0 and 4 <= left < block for block in blocks)))


def _faults(library: Library, one: _Seen, launch: Launch, others: Sequence[_Seen]) -> list[Fault]:
    """Those of a dense tensor."""
    size, verb = one.tensor.element_size(), "written" if one.writes else "read"
    known = library.accessors(one.first, one.tensor.numel(), size, one.writes)
    if known is None:
        return []
    groups = torch.frombuffer(known, dtype=torch.int32).to(torch.int64) & SEVERAL
    looked_at = Pieces(one.name, one.tensor, groups, verb)
    for text, element in (looked_at.rows_missed(launch.grid, launch.numbers),
                          looked_at.rows_crossed(), looked_at.rows_overlap(),
                          looked_at.repeated(), looked_at.sizes_swapped(launch.grid),
                          looked_at.reread() if _is_for_all(one, others) else ("", 0)):
        if text:
            return [Fault(text, library.access(one.first + element * size, one.writes))]
    return []


def _place(where: dict[str, Any] | None) -> str:
    """", at FILE:LINE" of an instruction."""
    found = access(where)
    place = found.place if found else None
    return f", at {relative(place.file)}:{place.line}" if place else ""
