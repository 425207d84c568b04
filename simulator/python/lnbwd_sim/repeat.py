# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Repeats a launch with rows further apart, and after a comparison failed.

A kernel that takes the stride it is given computes the same with rows further apart; one that takes
another number does not: an error of ``strides``. An argument is a stride if ``stride()`` answered
it, or if it is the pitch of rows with padding. After a comparison failed, the launch that computed
the result tells where the first wrong element was stored and what its workgroup had read, or that
the element was never written.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import torch

from .errors import access, relative
from .library import SEVERAL, Library
from .torch_device import Buffer, Comparison, Device, Stride

_MOST_BYTES = 64 << 20
"""Of the storages of a launch that is repeated."""


class _Rows(NamedTuple):
    """The pitch of each storage whose rows move, the arguments that are strides of these, and other
    storages of the same pitch, for which the kernel may take the stride as well."""

    pitches: dict[Buffer, int]
    numbers: dict[int, Buffer]
    alike: dict[Buffer, int]


class Repeat:
    """A launch with copies of its storages as they were before. It keeps none of its tensors, so
    that they can be freed."""

    def __init__(self, device: Device, kernel: str, grid: tuple[int, ...], names: Sequence[str],
                 args: Sequence[Any], storages: dict[int, Buffer], rows: _Rows,
                 launch: Callable[[Sequence[Any]], str]) -> None:
        self.kernel, self.grid, self.names, self.rows = kernel, grid, names, rows
        self._device, self._launch = device, launch
        self.storages = storages
        self._args = [None if k in storages else arg for k, arg in enumerate(args)]
        with torch._C.DisableTorchFunction():
            self._views = {k: (args[k].dtype, int(args[k].storage_offset()), args[k].shape,
                               args[k].stride()) for k in storages}
            self._sizes = {buffer: args[k].element_size() for k, buffer in storages.items()}
            self._before = {buffer: _bytes(buffer.storage).clone() for buffer in self._sizes}

    def run(self, wide: Mapping[Buffer, int] | None = None
            ) -> tuple[str, dict[int, torch.Tensor]]:
        """Repeats the launch on copies; ``wide``: the storages whose rows are further apart, and
        their pitches. What it reports, and the tensors afterwards, by argument."""
        wide, changed, tensors = wide or {}, list(self._args), {}
        for k, buffer in self.rows.numbers.items():
            # A number that is a stride of several storages moves with any of them.
            pitches = [wide[its] for j, its in self.storages.items()
                       if its in wide and self._args[k] in self._views[j][3]]
            changed[k] = _wider(changed[k], wide.get(buffer, next(iter(pitches), None)))
        with torch._C.DisableTorchFunction():
            copies = {buffer: _spread(before, self._sizes[buffer], wide.get(buffer))
                      for buffer, before in self._before.items()}
            for k, (dtype, offset, shape, strides) in self._views.items():
                pitch = wide.get(self.storages[k])
                changed[k] = tensors[k] = torch.empty(0, dtype=dtype).set_(
                    copies[self.storages[k]].untyped_storage(), _wider(offset, pitch), shape,
                    [_wider(stride, pitch) for stride in strides])
                self._device.mark(tensors[k])
        return self._launch(changed), tensors

    def difference(self) -> str:
        """After the launch: repeats it with rows further apart. The error, or nothing."""
        if not self.rows.pitches:
            return ""
        self._ways = {buffer: self._device.library.accesses(buffer.pointer, buffer.size)
                      for buffer in self._before}
        if not self._differs(self.rows.pitches):
            return ""
        for pitch in sorted(set(self.rows.pitches.values())):
            wide = {buffer for buffer, its in self.rows.pitches.items() if its == pitch}
            alike = {buffer for buffer, its in self.rows.alike.items() if its == pitch}
            text = self._differs(dict.fromkeys(wide, pitch))
            if not text or self._moves_some(wide | alike, pitch):
                continue
            numbers, moved = (", ".join(repr(self.names[k]) for k, buffer in owned.items()
                                        if buffer in wide)
                              for owned in (self.rows.numbers, self.storages))
            return (f"{numbers} is not what leads from row to row of {moved}, or leads elsewhere, "
                    f"too: where these rows are further apart, {text}")
        return ""

    def _moves_some(self, moved: set[Buffer], pitch: int) -> bool:
        """Whether the kernel takes the stride for some storages of this pitch. First all move, then
        those stay whose elements the kernel still accesses where they were."""
        while moved and self._differs(dict.fromkeys(moved, pitch)):
            moved = moved - self._stay if moved & self._stay else set()
        return bool(moved)

    def _differs(self, wide: Mapping[Buffer, int]) -> str:
        """The difference that moving the rows of these storages makes."""
        self._stay: set[Buffer] = set()
        problem, tensors = self.run(wide)
        if problem:
            return problem
        with torch._C.DisableTorchFunction():
            copies = {buffer: _bytes(tensors[k].untyped_storage())
                      for k, buffer in self.storages.items()}
            self._stay = {buffer for buffer in wide if self._stays(buffer, copies[buffer])}
            for buffer, size in self._sizes.items():
                now, there = _elements(_bytes(buffer.storage), size), _elements(
                    copies[buffer], size)
                there = there[_wider(torch.arange(len(now)), wide.get(buffer))]
                wrong = (now != there).any(-1).nonzero()
                if len(wrong):
                    return (f"{len(wrong)} elements in the storage of '{buffer.name}' become "
                            f"others, the first of them element {int(wrong[0])}")
        return ""

    def _stays(self, buffer: Buffer, copy: torch.Tensor) -> bool:
        """Whether the repeated launch accessed the same places as the first one."""
        before, after = self._ways[buffer], self._device.library.accesses(
            copy.data_ptr(), len(copy))
        return before is not None and after is not None and after == before.ljust(len(after), b"\0")


def repeat_of(device: Device, kernel: str, grid: tuple[int, ...], names: Sequence[str],
              args: Sequence[Any], constant: Sequence[bool], strides: Mapping[int, Stride] | None,
              launch: Callable[[Sequence[Any]], str]) -> Repeat | None:
    """How to repeat a launch, before it; None: its arguments are too large, of other kinds, or hold
    addresses. ``strides``: those that are known to be; None: no rows move."""
    storages = {k: buffer for k, arg in enumerate(args) if isinstance(arg, torch.Tensor)
                and arg.numel() and (buffer := device.buffer(arg)) is not None}
    views = {buffer: [args[k] for k, its in storages.items() if its is buffer]
             for buffer in storages.values()}
    if sum(buffer.size for buffer in views) > _MOST_BYTES or not all(
            constant[k] or arg is None or isinstance(arg, (int, float, torch.Tensor))
            for k, arg in enumerate(args)) or any(map(device.holds_addresses, args)):
        return None
    with torch._C.DisableTorchFunction():
        rows = None if strides is None else _rows_by_tags(views, {
            k: stride for k, stride in strides.items() if not constant[k]}) or _rows_by_value(
            views, args, constant)
    return Repeat(device, kernel, grid, names, args, storages, rows or _Rows({}, {}, {}), launch)


def _bytes(storage: Any) -> torch.Tensor:
    return torch.empty(0, dtype=torch.uint8).set_(storage)


def _elements(bytes_: torch.Tensor, size: int) -> torch.Tensor:
    return bytes_[:len(bytes_) // size * size].view(-1, size)


def _wider(offset: Any, pitch: int | None) -> Any:
    """An offset in elements where rows are further apart: by a multiple of 16 and of the power of
    two in the pitch, so that Triton's assumptions on divisors hold."""
    return offset + offset // pitch * max(16, pitch & -pitch) if pitch else offset


def _spread(bytes_: torch.Tensor, size: int, pitch: int | None) -> torch.Tensor:
    """A copy of a storage with rows further apart. Between them lie elements of the row before,
    which are as harmless as its padding."""
    if not pitch:
        return bytes_.clone()
    elements, wide = _elements(bytes_, size), _wider(pitch, pitch)
    at = torch.arange(_wider(len(elements) - 1, pitch) + 1)
    return elements[(at // wide * pitch + at % wide % pitch).clamp(max=len(elements) - 1)].flatten()


def pitches_of(tensor: torch.Tensor) -> list[int]:
    """Strides that leave padding between rows, the smallest first."""
    extents = [1]
    for stride, size in _by_stride(tensor):
        extents.append(extents[-1] + (size - 1) * stride)
    return [stride for (stride, _), extent in zip(_by_stride(tensor), extents, strict=False)
            if stride > extent > 1]


def _by_stride(tensor: torch.Tensor) -> list[tuple[int, int]]:
    """Stride and size of the dimensions of more than one element, the innermost first."""
    return sorted((stride, size) for stride, size in zip(tensor.stride(), tensor.shape, strict=True)
                  if size > 1 and stride)


def _has_pitch(parts: Sequence[torch.Tensor], pitch: int) -> bool:
    """Whether this is the pitch of rows of all arguments in a storage: each dimension stays inside
    of a row, or goes from row to row."""
    return (len({part.element_size() for part in parts}) == 1
            and any(pitch in part.stride() for part in parts)
            and all(part.storage_offset() % pitch + sum(
                (size - 1) * stride for stride, size in _by_stride(part) if stride < pitch) < pitch
                and not any(stride % pitch for stride, _ in _by_stride(part) if stride >= pitch)
                for part in parts))


def _has_joined(parts: Sequence[torch.Tensor], tensor: torch.Tensor, pitch: int) -> bool:
    """Whether an argument may have the rows of a tensor side by side in a dimension: the kernel may
    take their pitch for it, too, but there they cannot be further apart."""
    return any(part.numel() == tensor.numel() and part.is_contiguous() and any(
        pitch % stride == size * stride % pitch == 0 and stride < pitch < size * stride
        for stride, size in _by_stride(part)) for part in parts)


def _rows_by_tags(views: Mapping[Buffer, Sequence[torch.Tensor]], strides: Mapping[int, Stride]
                  ) -> _Rows | None:
    """By arguments that are known to be strides: of each storage the smallest one."""
    pitches: dict[Buffer, int] = {}
    for stride in sorted(strides.values()):
        if (owner := stride.owner) is None:
            return None
        if stride > 1 and owner in views and _has_pitch(views[owner], stride) and not any(
                _has_joined(parts, views[owner][0], stride) for parts in views.values()):
            pitches.setdefault(owner, int(stride))
    numbers = {k: stride.owner for k, stride in strides.items() if stride.owner in pitches}
    if not pitches or any(_wider(int(strides[k]), pitches[owner]) >= 1 << 31
                          for k, owner in numbers.items()):
        return None
    alike = {buffer: pitch for buffer, parts in views.items() for pitch in set(pitches.values())
             if buffer not in pitches and _has_pitch(parts, pitch)}
    return _Rows(pitches, numbers, alike)


def _rows_by_value(views: Mapping[Buffer, Sequence[torch.Tensor]], args: Sequence[Any],
                   constant: Sequence[bool]) -> _Rows | None:
    """By arguments that are the pitch of rows with padding."""
    numbers = {k: arg for k, arg in enumerate(args) if type(arg) is int and not constant[k]}
    pitches = {}
    for buffer, parts in views.items():
        found = [pitch for part in parts for pitch in pitches_of(part)
                 if pitch in numbers.values() and _has_pitch(parts, pitch)]
        if found:
            pitches[buffer] = min(found)
    # A number that moves has to be a stride of storages of one pitch, and nothing else.
    owners: dict[int, tuple[int, Buffer]] = {}
    for buffer, parts in views.items():
        pitch = pitches.get(buffer, 0)
        for stride in {stride for part in parts for stride in part.stride()}:
            by = pitch if stride >= pitch else 0
            if owners.setdefault(stride, (by, buffer))[0] != by:
                return None
    sizes = {size for parts in views.values() for part in parts
             for size in (*part.shape, part.numel())}
    moved = {k: owners.get(number) or (0, None) for k, number in numbers.items() if number
             and (owners.get(number, (0,))[0]
                  or any(number % pitch == 0 for pitch in pitches.values()))}
    if not pitches or any(not by or numbers[k] in sizes or _wider(numbers[k], by) >= 1 << 31
                          for k, (by, _) in moved.items()):
        return None
    return _Rows(pitches, {k: buffer for k, (_, buffer) in moved.items() if buffer}, {})


# A comparison that fails.

def explain(library: Library, launches: Sequence[Repeat], comparison: Comparison
            ) -> tuple[Repeat, list[str], str] | None:
    """The launch that computed a side of a comparison that failed, a report on the first wrong
    element, and an error if it was never written. None: no launch that is kept did."""
    for repeat in reversed(launches):
        problem, after = repeat.run()
        with torch._C.DisableTorchFunction():
            known = [(repeat.storages[k].pointer not in comparison.sources[at],
                      *_use(library, result), k, at) for k, result in after.items()
                     for at, side in enumerate(comparison.sides) if not problem
                     and result.numel() == side.numel() and bool(torch.isclose(
                         result.double().reshape(side.shape), side, equal_nan=True).all())]
            if known:
                is_other, _, _, k, at = min(known)
                is_alone = not is_other and repeat.storages[k].launches == 1
                return repeat, *_explain(library, repeat, after, comparison, k, at, is_alone)
    return None


def _explain(library: Library, repeat: Repeat, after: Mapping[int, torch.Tensor],
             comparison: Comparison, argument: int, at: int, is_alone: bool
             ) -> tuple[list[str], str]:
    """The report, after the launch; ``is_alone``: no other one had the argument's storage."""
    found, expected, tensor = comparison.sides[at], comparison.sides[1 - at], after[argument]
    wrong = ~torch.isclose(found, expected, rtol=comparison.rtol, atol=comparison.atol,
                           equal_nan=True)
    first, name = wrong.nonzero()[0].tolist(), repeat.names[argument]
    lines = [f"{int(wrong.sum())} of the {wrong.numel()} elements of '{name}' are wrong, "
             f"{_region(wrong)}, the first of them {first}: {found[tuple(first)]:.6g}, expected "
             f"{expected[tuple(first)]:.6g}"]
    stores = _accessors(library, tensor, True)
    group = 0 if stores is None else int(stores.reshape(wrong.shape)[tuple(first)])
    if group:
        by = "several workgroups" if group == SEVERAL else f"workgroup {group - 1}"
        lines.append(f"  stored by {by}{_line(library, tensor, wrong.reshape(tensor.shape), True)}")
        for k, other in after.items():
            groups = _accessors(library, other, False, group)
            read = None if groups is None else groups == group
            if read is not None and bool(read.any()):
                lines.append(f"  which has read {_region(read)} of '{repeat.names[k]}'"
                             f"{_line(library, other, read, False)}")
        return lines, ""
    lines.append("  never written by the launch")
    reads = _accessors(library, tensor, False)
    # A tensor that the launch only reads may be the expected side, if it stands second.
    is_result = stores is not None and reads is not None and is_alone and not bool(
        stores.reshape(wrong.shape)[wrong].any()) and (
        bool(stores.any()) or not bool(reads.any()) or at == 0)
    return lines, f"{_region(wrong)} of '{name}' was never written: no launch stores it" \
        if is_result else ""


def _accessors(library: Library, tensor: torch.Tensor, writes: bool, one: int = 0
               ) -> torch.Tensor | None:
    """The workgroup that accessed each element (``Library.accessors``)."""
    size, storage = tensor.element_size(), tensor.untyped_storage()
    known = library.accessors(storage.data_ptr(), storage.nbytes() // size, size, writes, one)
    return None if known is None else (
        torch.frombuffer(known, dtype=torch.int32).long() & SEVERAL).as_strided(
        tensor.shape, tensor.stride(), tensor.storage_offset())


def _use(library: Library, tensor: torch.Tensor) -> tuple[bool, bool]:
    """The less for the result of a launch: it is stored, or not read."""
    is_read, stored = (groups is not None and bool(groups.any()) for groups in (
        _accessors(library, tensor, writes) for writes in (False, True)))
    return not stored, is_read


def _region(part: torch.Tensor) -> str:
    """Some elements of a tensor, in words."""
    at = part.nonzero()
    if len(at) == part.numel():
        return "all"
    spans = list(zip(at.amin(0).tolist(), (at.amax(0) + 1).tolist(), part.shape, strict=True))
    box = "[" + ", ".join(":" if end - begin == size else f"{begin}:{end}"
                          for begin, end, size in spans) + "]"
    is_box = len(at) == math.prod(end - begin for begin, end, _ in spans)
    return box if is_box else f"{len(at)} elements in {box}"


def _line(library: Library, tensor: torch.Tensor, part: torch.Tensor, writes: bool) -> str:
    """" at FILE:LINE: TEXT" of an instruction that accessed the first of some elements."""
    steps = zip(part.nonzero()[0].tolist(), tensor.stride(), strict=True)
    address = int(tensor.untyped_storage().data_ptr() + tensor.element_size() * (
        tensor.storage_offset() + sum(n * step for n, step in steps)))
    found = access(library.access(address, writes))
    place = found.place if found else None
    return f" at {relative(place.file)}:{place.line}: {place.text()}" if place else ""
