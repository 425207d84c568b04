# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether a kernel takes the strides that it is given: it is launched again on wider rows.

Where the rows of a tensor have padding, as those of a part of a wider tensor have, only their pitch
leads from row to row. If an argument of the launch is that number, the launch is repeated on copies
of all storages in which these rows are further apart, with the argument changed accordingly. The
copies have the padding, too. A kernel that takes another number for the pitch, or the pitch for
something else, computes something else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from .accesses import pitches_of
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
                 pitches: Mapping[Buffer, int], numbers: Mapping[int, int]) -> None:
        self._device, self._args, self._storages = device, args, storages
        self._pitches, self._numbers = pitches, numbers
        """The pitch of each storage, 0: it stays as it is; that by which an argument moves."""
        with torch._C.DisableTorchFunction():
            self._elements = {buffer: _elements(args[k]) for k, buffer in storages.items()}
            self._before = {buffer: bytes_.clone() for buffer, bytes_ in self._elements.items()}

    def difference(self, launch: Callable[[list[Any]], str], names: Sequence[str]) -> str:
        """After the launch: has it repeated with other arguments. What is wrong, in words;
        ``launch`` returns why it cannot be."""
        wide = sorted(set(self._numbers.values()))
        if not (text := self._differs(launch, wide)):
            return ""
        for pitch in wide if len(wide) > 1 else []:
            if alone := self._differs(launch, [pitch]):
                wide, text = [pitch], alone
                break
        numbers = ", ".join(repr(names[k]) for k, by in self._numbers.items() if by in wide)
        moved = ", ".join(repr(names[k]) for k, buffer in self._storages.items()
                          if self._pitches[buffer] in wide)
        return f"{numbers} is not what leads from row to row of {moved}, or leads elsewhere, " \
               f"too: where these rows are further apart, {text}"

    def _differs(self, launch: Callable[[list[Any]], str], wide: Sequence[int]) -> str:
        """What does when rows with these pitches are further apart."""
        changed = [_wider(arg, by) if (by := self._numbers.get(k, 0)) in wide else arg
                   for k, arg in enumerate(self._args)]
        pitches = {buffer: pitch if pitch in wide else buffer.size + 1
                   for buffer, pitch in self._pitches.items()}
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
        if problem := launch(changed):
            return problem
        with torch._C.DisableTorchFunction():
            for buffer, elements in self._elements.items():
                there = copies[buffer][_wider(torch.arange(len(elements)), pitches[buffer])]
                wrong = (elements != there).any(-1).nonzero()
                if len(wrong):
                    return (f"{len(wrong)} elements in the storage of '{buffer.name}' become "
                            f"others, the first of them element {int(wrong[0])}")
        return ""


def _elements(tensor: torch.Tensor) -> torch.Tensor:
    """The elements of a tensor's storage, as bytes."""
    whole = torch.empty(0, dtype=torch.uint8).set_(tensor.untyped_storage())
    size = tensor.element_size()
    return whole[:len(whole) // size * size].view(-1, size)


def repeat_of(device: Device, args: Sequence[Any], constant: Sequence[bool]) -> Repeat | None:
    """How to repeat a launch with these arguments, before it. None: no argument is the pitch of
    rows with padding, or it may be another number as well."""
    storages = {k: buffer for k, arg in enumerate(args) if isinstance(arg, torch.Tensor)
                and arg.numel() and (buffer := device.buffer(arg)) is not None}
    numbers = {k: arg for k, arg in enumerate(args) if type(arg) is int and not constant[k]}
    views: dict[Buffer, list[torch.Tensor]] = {}
    for k, buffer in storages.items():
        views.setdefault(buffer, []).append(args[k])
    pitches = {}
    for buffer, parts in views.items():
        one_size = len({part.element_size() for part in parts}) == 1
        pitches[buffer] = min(
            (pitch for part in parts for pitch in pitches_of(part) if pitch in numbers.values()
             and one_size and all(_has_rows(other, pitch) for other in parts)), default=0)
    used = set(pitches.values()) - {0}
    if not used or sum(buffer.size for buffer in views) > _MOST_BYTES or not all(
            k in storages or constant[k] or arg is None or isinstance(arg, (int, float))
            for k, arg in enumerate(args)) or any(map(device.holds_addresses, args)):
        return None
    # A number that moves has to be a stride of what moves by the same pitch, and nothing else.
    owners: dict[int, int] = {}
    for buffer, parts in views.items():
        for stride in {stride for part in parts for stride in part.stride()}:
            by = pitches[buffer] if stride >= pitches[buffer] else 0
            if owners.setdefault(stride, by) != by:
                return None
    sizes = {size for k in storages for size in (*args[k].shape, args[k].numel())}
    moved = {k: owners.get(number, 0) for k, number in numbers.items() if number
             and (owners.get(number) or any(number % pitch == 0 for pitch in used))}
    if any(not by or numbers[k] in sizes or _wider(numbers[k], by) >= 1 << 31
           for k, by in moved.items()):
        return None
    return Repeat(device, args, storages, pitches, moved)
