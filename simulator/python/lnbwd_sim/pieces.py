# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether the pieces of a tensor that workgroups access fit its rows, matrices and so on.

With a wrong stride a piece begins or ends within a row, and goes on in another one.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch

from .library import SEVERAL

_MOST_GROUPS = 16
"""Workgroups that are looked at one by one."""
LEAST_BLOCK = 8
"""Elements: a multiple of a smaller power of two is a coincidence."""


def pitches_of(tensor: torch.Tensor) -> list[int]:
    """Strides that leave padding behind the elements inside of them, the smallest first."""
    found, extent = [], 1
    for stride, size in by_stride(tensor):
        if stride > extent > 1:
            found.append(stride)
        extent += (size - 1) * stride
    return found


def by_stride(tensor: torch.Tensor) -> list[tuple[int, int]]:
    """Stride and size of the dimensions of more than one element, the innermost first."""
    return sorted((stride, size) for stride, size in zip(tensor.stride(), tensor.shape, strict=True)
                  if size > 1 and stride)


def is_dense(tensor: torch.Tensor) -> bool:
    """Whether its elements are all those between its first and its last one, each once."""
    extent = 1
    for stride, size in by_stride(tensor):
        if stride != extent:
            return False
        extent *= size
    return extent == tensor.numel()


@dataclass(frozen=True)
class _Runs:
    """Elements side by side, in the order of memory: their first ones and those behind the last."""

    begin: torch.Tensor
    end: torch.Tensor

    @staticmethod
    def of(values: torch.Tensor) -> _Runs:
        """Those of one value that is not 0."""
        edge = torch.zeros(1, dtype=values.dtype)
        cut = (torch.cat([edge, values]) != torch.cat([values, edge])).nonzero().flatten()
        inside = values[cut[:-1]] != 0
        return _Runs(cut[:-1][inside], cut[1:][inside])

    def across(self, pitch: int) -> torch.Tensor:
        """Which go on in another row of so many elements, but begin or end within one. Two that
        meet at the end of a row may be every other element of rows that have an odd number of them,
        or squares of a board."""
        return (self.begin // pitch != (self.end - 1) // pitch) & (self.end - self.begin > 2) & (
            (self.begin % pitch != 0) | (self.end % pitch != 0))


class Pieces:
    """A dense argument and who has accessed its elements, in the order of memory."""

    def __init__(self, name: str, tensor: torch.Tensor, groups: torch.Tensor, verb: str) -> None:
        self.name, self.tensor, self.groups, self.verb = name, tensor, groups, verb
        strides = [stride for stride, _ in by_stride(tensor)]
        self.shape = [size for _, size in reversed(by_stride(tensor))]
        self.pitches = strides[1:]
        """Distances of its rows, of its matrices, and so on."""

    def index(self, element: int) -> list[int]:
        """Where an element is in the tensor."""
        return [element // stride % size if size > 1 else 0 for stride, size in zip(
            self.tensor.stride(), self.tensor.shape, strict=True)]

    def is_product(self, elements: torch.Tensor) -> bool:
        """Whether these elements are those of some rows in some columns, and so on."""
        return sides_of(elements.view(self.shape))[0]

    def is_tile(self, elements: torch.Tensor) -> bool:
        """Whether they are that, or so where dimensions side by side count as one, of which they
        have a range: some channels of consecutive pixels."""
        for kept in itertools.product((False, True), repeat=len(self.shape) - 1):
            shape, joined = [self.shape[0]], [False]
            for size, is_kept in zip(self.shape[1:], kept, strict=True):
                if is_kept:
                    shape.append(size)
                    joined.append(False)
                else:
                    shape[-1] *= size
                    joined[-1] = True
            is_product, sides = sides_of(elements.view(shape))
            if is_product and all(len(_Runs.of(side.long()).begin) == 1 for side, is_joined
                                  in zip(sides, joined, strict=True) if is_joined):
                return True
        return False

    def rows_missed(self, grid: Sequence[int], numbers: Iterable[int]) -> tuple[str, int]:
        """Elements that are accessed without regard to where rows end, while others are not
        accessed at all: in words, and one of them."""
        done = self.groups != 0
        if not self.pitches or bool(done.all()) or self.is_product(done):
            return "", 0
        runs = _Runs.of(done.long())
        several = self.groups == SEVERAL
        overlaps = bool(several.any()) and not bool(several[done].all())
        inner = 1
        for pitch in self.pitches:
            across = runs.across(pitch) & (runs.begin % inner == 0) & (runs.end % inner == 0)
            rows = done.view(-1, pitch)
            for begin, end in zip(runs.begin[across].tolist(), runs.end[across].tolist(),
                                  strict=True):
                first, last = begin // pitch, (end - 1) // pitch
                if last == first + 1 and 0 < first < len(rows) - 2 and bool(
                        (rows[first] == rows[first - 1]).all() and (
                            rows[last] == rows[last + 1]).all()):
                    continue  # The corners of two blocks.
                if len(runs.begin) == 1 and _is_part(
                        begin // inner, end // inner, len(done) // inner,
                        [1] if overlaps else grid, () if overlaps else numbers, numbers):
                    continue  # A part that is meant.
                return (f"elements {self.index(begin)} to {self.index(end - 1)} of '{self.name}' "
                        f"are {self.verb} in one piece, across the end of what has {pitch} "
                        f"elements, and {int((~done).sum())} others are not "
                        f"{self.verb}"), begin
            inner = pitch
        return "", 0

    def rows_crossed(self) -> tuple[str, int]:
        """Pieces of a workgroup that are neither a part of each dimension, nor one of all."""
        if not self.pitches or bool((self.groups == SEVERAL).any()):
            return "", 0
        runs = _Runs.of(self.groups)
        owner = self.groups[runs.begin]
        owners, back, count = owner.unique(return_inverse=True, return_counts=True)
        pieces = count[back]
        pitch = self.pitches[0]
        wrong = runs.across(pitch) & (pieces > 1)
        longest = int((runs.end - runs.begin).max()) if len(owner) else 1
        blocks = self.groups[::longest]
        if bool((runs.begin % longest == 0).all()) and torch.equal(
                blocks[len(owners):], blocks[:-len(owners)]):
            return "", 0  # Of the blocks of all elements, in turn.
        for group in owner[wrong].unique()[:_MOST_GROUPS].tolist():
            mine = owner == group
            # Blocks of the elements of something else may come to whole rows and parts of them, but
            # most of their pieces begin at the same places of the rows.
            places = len((runs.begin[mine] % pitch).unique())
            if places < 3 or (places == 3 and 2 * places < mine.sum()) or \
                    self.is_tile(self.groups == group):
                continue
            k = int((mine & wrong).nonzero()[0])
            begin, end = int(runs.begin[k]), int(runs.end[k])
            return (f"workgroup {group - 1} has {self.verb} elements {self.index(begin)} to "
                    f"{self.index(end - 1)} of '{self.name}', across the end of a row of {pitch}, "
                    f"and {int(pieces[k]) - 1} other pieces"), begin
        return "", 0

    def rows_overlap(self) -> tuple[str, int]:
        """Whole rows of which workgroups share what begins or ends within one."""
        done, several = self.groups != 0, self.groups == SEVERAL
        every, shared = _Runs.of(done.long()), _Runs.of(several.long())
        if not self.pitches or bool(done.all()) or len(every.begin) != 1 or len(shared.begin) != 1:
            return "", 0
        begin, end = int(shared.begin[0]), int(shared.end[0])
        pitch = self.pitches[0]
        if end - begin <= pitch or (begin % pitch == 0 and end % pitch == 0):
            return "", 0
        return (f"elements {self.index(begin)} to {self.index(end - 1)} of '{self.name}', whose "
                f"rows have {pitch}, are {self.verb} by several workgroups, and "
                f"{int((~done).sum())} by none"), begin

    def sizes_swapped(self, grid: Sequence[int]) -> tuple[str, int]:
        """Workgroups whose parts of the tensor would be ranges of two of its dimensions, if these
        had each other's size, and are not."""
        number = self.groups - 1
        if bool((self.groups == SEVERAL).any()) or bool((number < 0).any()):
            return "", 0
        where, axes = number, []
        for size in grid:
            if size > 1:
                axes.append(where % size)
            where = where // size
        if len(axes) == 1 and bool((number[1:] >= number[:-1]).all()):
            return "", 0  # Blocks of all elements, in turn.
        for k in range(len(self.shape) - 1):
            first, second = self.shape[k:k + 2]
            before, behind = math.prod(self.shape[:k]), math.prod(self.shape[k + 2:])
            swapped = [axis.view(before, second, first, behind) for axis in axes]
            if first == second or all(map(_is_sum, swapped)) <= all(
                    _is_sum(axis.view(before, first, second, behind)) for axis in axes):
                continue
            # Blocks of elements side by side are not by index of any dimension, unless their size
            # is none of a block.
            if all(any(bool((axis != axis.narrow(side, 0, 1)).any()) for axis in swapped)
                   for side in (1, 2)) or (first & (first - 1) and any(
                       torch.equal(axis[0, :, 0, 0].unique(), torch.arange(second))
                       for axis in swapped)):
                return (f"workgroups have {self.verb} '{self.name}' as if of its dimensions of "
                        f"{first} and {second} elements each had the other's size"), 0
        return "", 0

    def reread(self) -> tuple[str, int]:
        """Elements that are no block of indices, and all read by several workgroups, while others
        are read by none; of a tensor of which an output needs all."""
        several, done = self.groups == SEVERAL, self.groups != 0
        if bool(done.all()) or not torch.equal(several, done) or self.is_product(done):
            return "", 0
        return (f"{int(done.sum())} elements of '{self.name}' are read, all of them by several "
                f"workgroups, and {int((~done).sum())} by none, for outputs that have as many "
                "elements together"), int(done.nonzero()[0])

    def repeated(self) -> tuple[str, int]:
        """Elements that several workgroups write, while others are left out."""
        several, done = self.groups == SEVERAL, self.groups != 0
        if self.verb != "written" or bool(done.all()) or done.sum() < 16 \
                or 2 * several.sum() < done.sum():
            return "", 0
        first = int(several.nonzero()[0])
        return (f"{int(several.sum())} elements of '{self.name}' are written by several "
                f"workgroups, the first of them {self.index(first)}, and "
                f"{int((~done).sum())} by none"), first


def _is_sum(values: torch.Tensor) -> bool:
    """Whether what they are in the two dimensions in the middle is the sum of what each adds."""
    rows = values - values[:, :1]
    return bool((rows == rows[:, :, :1]).all())


def sides_of(elements: torch.Tensor) -> tuple[bool, list[torch.Tensor]]:
    """Whether they are those at some indices of each dimension, and these indices."""
    dimensions = range(elements.dim())
    sides = [elements.amax([d for d in dimensions if d != k], keepdim=True) if len(dimensions) > 1
             else elements for k in dimensions]
    product = torch.ones_like(elements)
    for side in sides:
        product &= side
    return bool((elements == product).all()), [side.flatten() for side in sides]


def _is_part(begin: int, end: int, size: int, grid: Sequence[int], blocks: Iterable[int],
             numbers: Iterable[int]) -> bool:
    """Whether so many elements, or rows, are what a launch with these numbers is meant to do: one
    of them, one for each workgroup, or whole blocks."""
    grids = {math.prod(grid), *grid}
    meant = grids | {number * n for number in numbers for n in {1, *grids}}
    return not meant.isdisjoint({begin, end, end - begin} - {0}) or any(
        begin % block == 0 and (end == size or end % block == 0) for block in blocks
        if block >= LEAST_BLOCK and block & (block - 1) == 0)
