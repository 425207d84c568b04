# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether a kernel takes the strides that it is given: it is launched again on wider rows.

If an argument of the launch is what ``stride()`` of a tensor has answered, the launch is repeated
on copies of all storages in which these rows are further apart, with the argument changed
accordingly. The copies have the padding, too. A kernel that takes another number for the stride, or
the stride for something else, computes something else.

Where the rows of a tensor have padding, as those of a part of a wider tensor have, only their pitch
leads from row to row, so that any argument which is that number has to be it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from .pieces import is_dense, pitches_of
from .strides import Stride
from .torch_device import Buffer, Device

_MOST_BYTES = 64 << 20
"""Of all storages of a launch that is repeated."""


def _wider(offset: Any, pitch: int) -> Any:
    """An offset in elements where rows are further apart: by a multiple of 16 and of the power of
    two in the pitch, so that what Triton assumes of divisors holds."""
    return offset + offset // pitch * max(16, pitch & -pitch)


def _has_rows(tensor: torch.Tensor, pitch: int) -> bool:
    """Whether each dimension of the tensor stays inside of a row, or goes from row to row."""
    end = tensor.storage_offset() % pitch
    for stride, size in zip(tensor.stride(), tensor.shape, strict=True):
        if stride < pitch:
            end += (size - 1) * stride
        elif stride % pitch and size > 1:
            return False
    return end < pitch


class Repeat:
    """A launch that has to compute the same where rows are further apart."""

    def __init__(self, device: Device, args: Sequence[Any], storages: Mapping[int, Buffer],
                 pitches: Mapping[Buffer, int], numbers: Mapping[int, Buffer],
                 alike: Mapping[Buffer, int]) -> None:
        self._device, self._args, self._storages = device, args, storages
        self._pitches, self._numbers, self._alike = pitches, numbers, alike
        """The pitch of each storage that moves; arguments that move as one of them does; other
        storages, which may have to, since they have the same pitch."""
        with torch._C.DisableTorchFunction():
            self._elements = {buffer: _elements(args[k]) for k, buffer in storages.items()}
            self._before = {buffer: bytes_.clone() for buffer, bytes_ in self._elements.items()}

    def difference(self, launch: Callable[[list[Any]], str], names: Sequence[str]) -> str:
        """After the launch: has it repeated with other arguments. What is wrong, in words;
        ``launch`` returns why it cannot be."""
        self._ways = {buffer: self._accesses(buffer.pointer, before)
                      for buffer, before in self._before.items()}
        if not self._differs(launch, self._pitches):
            return ""
        for pitch in sorted(set(self._pitches.values())):
            wide = {buffer for buffer, its in self._pitches.items() if its == pitch}
            if not (text := self._differs(launch, dict.fromkeys(wide, pitch))):
                continue
            alike = wide | {buffer for buffer, its in self._alike.items() if its == pitch}
            if self._moves_some(launch, alike, pitch):
                continue
            numbers = ", ".join(repr(names[k]) for k, buffer in self._numbers.items()
                                if buffer in wide)
            moved = ", ".join(repr(names[k]) for k, buffer in self._storages.items()
                              if buffer in wide)
            return f"{numbers} is not what leads from row to row of {moved}, or leads " \
                   f"elsewhere, too: where these rows are further apart, {text}"
        return ""

    def _moves_some(self, launch: Callable[[list[Any]], str], alike: set[Buffer], pitch: int
                    ) -> bool:
        """Whether the kernel takes the stride for the rows of some storages of this pitch, and for
        nothing else. All of them move first; then those stay whose elements the kernel still
        accesses where they were: one launch more for each round of them, not one for each
        subset."""
        moved = set(alike)
        while moved and self._differs(launch, dict.fromkeys(moved, pitch)):
            stay = moved & self._stay
            if not stay:
                return False
            moved -= stay
        return bool(moved)

    def _accesses(self, pointer: int, elements: torch.Tensor) -> torch.Tensor | None:
        """What the last launch has done to each byte of elements that are at an address."""
        known = self._device.library.accesses(pointer, elements.numel())
        return None if known is None else torch.frombuffer(known, dtype=torch.uint8).view(
            elements.shape)

    def _stays(self, buffer: Buffer, copy: torch.Tensor) -> bool:
        """Whether the last launch, where rows of a storage were further apart, has accessed the
        same places as the first one."""
        before, after = self._ways[buffer], self._accesses(copy.data_ptr(), copy)
        return before is not None and after is not None and torch.equal(
            before, after[:len(before)]) and not bool(after[len(before):].any())

    def _differs(self, launch: Callable[[list[Any]], str], wide: Mapping[Buffer, int]) -> str:
        """What does when the rows of these storages, with these pitches, are further apart."""
        changed = list(self._args)
        for k, buffer in self._numbers.items():
            # One that is the same of all of them moves with any.
            moves = buffer if buffer in wide else next(
                (other for other in wide if self._args[k] in self._strides(other)), None)
            if moves is not None:
                changed[k] = _wider(self._args[k], wide[moves])
        pitches = {buffer: wide.get(buffer, buffer.size + 1) for buffer in self._before}
        copies = {}
        with torch._C.DisableTorchFunction():
            for buffer, before in self._before.items():
                pitch, count = pitches[buffer], len(before)
                at = torch.arange(_wider(count - 1, pitch) + 1)
                row, column = at // _wider(pitch, pitch), at % _wider(pitch, pitch)
                # Behind a row are elements of its own: they are as harmless as its padding.
                copies[buffer] = before[(row * pitch + column % pitch).clamp(max=count - 1)]
            for k, buffer in self._storages.items():
                tensor, pitch = changed[k], pitches[buffer]
                changed[k] = torch.empty(0, dtype=tensor.dtype).set_(
                    copies[buffer].untyped_storage(), _wider(tensor.storage_offset(), pitch),
                    tensor.shape, [_wider(stride, pitch) for stride in tensor.stride()])
                self._device.mark(changed[k])
        self._stay: set[Buffer] = set()
        if problem := launch(changed):
            return problem
        self._stay = {buffer for buffer in wide if self._stays(buffer, copies[buffer])}
        with torch._C.DisableTorchFunction():
            for buffer, elements in self._elements.items():
                there = copies[buffer][_wider(torch.arange(len(elements)), pitches[buffer])]
                wrong = (elements != there).any(-1).nonzero()
                if len(wrong):
                    return (f"{len(wrong)} elements in the storage of '{buffer.name}' become "
                            f"others, the first of them element {int(wrong[0])}")
        return ""

    def _strides(self, buffer: Buffer) -> set[int]:
        """Those of the arguments in a storage."""
        with torch._C.DisableTorchFunction():
            return {stride for k, its in self._storages.items() if its is buffer
                    for stride in self._args[k].stride()}


def _elements(tensor: torch.Tensor) -> torch.Tensor:
    """The elements of a tensor's storage, as bytes."""
    whole = torch.empty(0, dtype=torch.uint8).set_(tensor.untyped_storage())
    size = tensor.element_size()
    return whole[:len(whole) // size * size].view(-1, size)


def repeat_of(device: Device, args: Sequence[Any], constant: Sequence[bool],
              strides: Mapping[int, Stride]) -> Repeat | None:
    """How to repeat a launch with these arguments, before it; ``strides``: those that are known to
    be. None: no argument is a stride, or it may be another number as well."""
    storages = {k: buffer for k, arg in enumerate(args) if isinstance(arg, torch.Tensor)
                and arg.numel() and (buffer := device.buffer(arg)) is not None}
    views: dict[Buffer, list[torch.Tensor]] = {}
    for k, buffer in storages.items():
        views.setdefault(buffer, []).append(args[k])
    if sum(buffer.size for buffer in views) > _MOST_BYTES or not all(
            k in storages or constant[k] or arg is None or isinstance(arg, (int, float))
            for k, arg in enumerate(args)) or any(map(device.holds_addresses, args)):
        return None
    with torch._C.DisableTorchFunction():
        chosen = _by_tags(views, {k: stride for k, stride in strides.items() if not constant[k]}) \
            or _by_value(views, args, constant)
    return chosen and Repeat(device, args, storages, *chosen)


_Choice = tuple[dict[Buffer, int], dict[int, Buffer], dict[Buffer, int]]
"""What a ``Repeat`` moves."""


def _has_pitch(parts: Sequence[torch.Tensor], pitch: int) -> bool:
    """Whether that is the distance of rows of all arguments in a storage."""
    return (len({part.element_size() for part in parts}) == 1
            and any(pitch in part.stride() for part in parts)
            and all(_has_rows(part, pitch) for part in parts))


def _has_joined(parts: Sequence[torch.Tensor], tensor: torch.Tensor, pitch: int) -> bool:
    """Whether an argument may have the rows of a tensor side by side in a dimension: the kernel may
    take their pitch for it, too, but they cannot be further apart there."""
    return any(part.numel() == tensor.numel() and is_dense(part) and any(
        pitch % stride == size * stride % pitch == 0 and stride < pitch < size * stride
        for stride, size in zip(part.stride(), part.shape, strict=True)) for part in parts)


def _by_tags(views: Mapping[Buffer, Sequence[torch.Tensor]], strides: Mapping[int, Stride]
             ) -> _Choice | None:
    """By arguments that are known to be strides: of each storage the smallest one."""
    if any(stride.owner is None for stride in strides.values()):
        return None
    pitches: dict[Buffer, int] = {}
    for stride in sorted(strides.values()):
        if stride > 1 and stride.owner in views and _has_pitch(views[stride.owner], stride) \
                and not any(_has_joined(parts, views[stride.owner][0], stride)
                            for parts in views.values()):
            pitches.setdefault(stride.owner, int(stride))
    numbers = {k: stride.owner for k, stride in strides.items() if stride.owner in pitches}
    if not pitches or any(_wider(int(strides[k]), pitches[owner]) >= 1 << 31
                          for k, owner in numbers.items()):
        return None
    used = set(pitches.values())
    alike = {buffer: pitch for buffer, parts in views.items() for pitch in used
             if buffer not in pitches and _has_pitch(parts, pitch)}
    return pitches, numbers, alike


def _by_value(views: Mapping[Buffer, Sequence[torch.Tensor]], args: Sequence[Any],
              constant: Sequence[bool]) -> _Choice | None:
    """By arguments that are the pitch of rows with padding."""
    numbers = {k: arg for k, arg in enumerate(args) if type(arg) is int and not constant[k]}
    pitches = {}
    for buffer, parts in views.items():
        found = [pitch for part in parts for pitch in pitches_of(part)
                 if pitch in numbers.values() and _has_pitch(parts, pitch)]
        if found:
            pitches[buffer] = min(found)
    # A number that moves has to be a stride of what moves by the same pitch, and nothing else.
    owners: dict[int, tuple[int, Buffer]] = {}
    for buffer, parts in views.items():
        pitch = pitches.get(buffer, 0)
        for stride in {stride for part in parts for stride in part.stride()}:
            by = pitch if stride >= pitch else 0
            if owners.setdefault(stride, (by, buffer))[0] != by:
                return None
    sizes = {size for parts in views.values() for part in parts
             for size in (*part.shape, part.numel())}
    moved = {k: owners.get(number, (0, None)) for k, number in numbers.items() if number
             and (owners.get(number, (0, None))[0]
                  or any(number % pitch == 0 for pitch in pitches.values()))}
    if not pitches or any(not by or numbers[k] in sizes or _wider(numbers[k], by) >= 1 << 31
                          for k, (by, _) in moved.items()):
        return None
    return pitches, {k: buffer for k, (_, buffer) in moved.items() if buffer}, {}
