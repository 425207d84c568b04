# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a region is worth: the bytes that it moves as one kernel, and as torch.compile's kernels.

One kernel reads each row block once and writes each once. torch.compile's kernels do so where all
sums go over the row; sums over all rows it makes in kernels of their own, which read again what
those sums are made of.

A region that is part of what torch.compile fuses is left: what it reads of a neighbour, or writes
for one, need not be in memory for torch.compile. Only times can tell what such a region is worth.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import torch
from torch.fx import Node

from ..graphs.conversion import is_readable
from ..graphs.domains import LEAST_PIECE, LEAST_REPEATS, Domain, hint, product, repeated_dims, same
from ..graphs.fusion import (
    base_of,
    is_alias,
    is_fused,
    is_in_memory,
    other_users,
    takes_part,
)
from ..graphs.nodes import is_index, is_reduction, sources
from ..operations import ELEMENTS
from ..rowprogram import SUM_KINDS, SUMS, Input, Output, RowProgram, operands_of, reached
from .partial_sums import ACROSS
from .regions import Region
from .surroundings import MOST_OF_SMALL, Surroundings

_SECTOR = 9
"""What it costs to load an element by itself, from a cache of a GPU, as bytes of memory: on an H100
column sums of a transposed copy took 1.1 to 2 times as long as torch.compile's. With a sum over the
row it is torch.compile that pays it: regions that read channels before pixels took 0.22 to 0.85
times as long as its kernels. With two sums over all rows and rows that are written it pays, too,
in either of its kernels: six such regions took 0.39 to 0.92 times as long."""

_LONG_ROW = 65536
_MOST_OF_LONG_ROWS = 12
"""Longer rows are left if more bytes than these an element are moved: on an H100 rows of 200,704
elements took 0.36 to 0.52 times as long as torch.compile's with 2 and 10 bytes an element, and 1.4
to 3.3 times with 16 and 24."""

_SHORT_ROW = 128
"""Bytes alone do not decide about shorter rows, rows that begin between vectors, rows of a table,
and what little is summed for another kernel to go on with: on an H100 and an H200 eight of 55 such
regions took 1.03 to 1.4 times as long as torch.compile's kernels, of 176 others none more than 1.02
times."""

LAUNCH = 8 / 3 * 1024 * 1024
"""What an H100 moves in the microsecond that a kernel more takes in a CUDA graph."""

_LEAST_BESIDE_HELPER = 5
"""How often so much a region moves for which a second kernel writes numbers of rows, or copies what
is small: on an H100 ten of 14 such regions that move less took 1.02 to 1.9 times as long as
torch.compile's one kernel, and eight that move more 0.33 to 0.99 times."""

_LEAST_FOLLOWED = 1 / 3
"""And one whose sums have a kernel behind them: on an H100 five of nine that move less took 1.1 to
1.6 times as long as torch.compile's, which computes such in the kernel of the sum."""


_MOST_OF_CLOSE, _LEAST_GAIN = 64e6, 1.2
"""Kernels that move as much are close if they move more bytes than these, as the functions of long
rows decide as well, or if a second one writes or copies something: five such on an H100 took 1.02
to 1.4 times as long as torch.compile's. Of 137 other regions that moved less none was slower, of
149 that moved more ten; and none of 97 from which torch.compile's kernels move so many times as
much."""


@dataclass(frozen=True)
class Estimate:
    """Bytes that are moved for each element of a row block: by the region as one kernel, and by
    the kernels that torch.compile makes of it; whether ours is the faster of kernels that move the
    same; whether torch.compile fuses the region with what is around it; what a kernel more than
    torch.compile has costs, as bytes; whether that is clear of what else there is to kernels; and
    how many elements there are, 0 if nobody knows."""

    ours: float
    theirs: float
    is_ahead: bool
    is_part: bool
    launch: float = 0.0
    is_clear: bool = False
    count: int = 0

    def __str__(self) -> str:
        return (f"{self.ours:g} bytes an element, torch.compile's kernels {self.theirs:g}"
                + ", with a kernel more" * bool(self.launch)
                + ", as a part of what those fuse" * self.is_part)

    @property
    def is_worth(self) -> bool:
        """Whether the region is taken without times: if it cuts no fusion of torch.compile's and
        moves less, or where ours is the faster kernel, as much."""
        ours = self.ours + self.launch
        return not self.is_part and (
            ours <= self.theirs if self.is_ahead else ours < self.theirs)

    @property
    def is_sure(self) -> bool:
        """Whether a region is taken without measuring anything."""
        return self.is_worth and self.is_clear

    @property
    def saved(self) -> float:
        """The bytes that are saved."""
        return (self.theirs - self.ours - self.launch) * self.count


def estimate(around: Surroundings) -> Estimate:
    """What a region, with its program, moves."""
    region = around.region
    program = region.program
    assert program is not None
    inside = set(region.nodes)
    sums = [o.value for o in program.outputs if o.kind in SUM_KINDS]
    is_read_twice = len(sums) > 1 and any(o.kind == "row" for o in program.outputs)
    reads: dict[int, Node] = {}
    ours = theirs_across = apart_in_rows = 0.0
    has_helper = False
    goes_across = _goes_across(program)
    for place, (node, operand) in enumerate(zip(region.inputs, program.inputs, strict=True)):
        value = node.meta["val"]
        share = 1 if operand.kind == "row" else _share(value, region.domain)
        is_spread = operand.kind not in ("row", "table")
        if is_spread and not operand.is_strided and not is_readable(value, operand.kind):
            # Copied, while torch.compile's kernel reads it as it lies.
            has_helper = True
            if operand.kind == "group_column" or MOST_OF_SMALL * share <= 1:
                continue
            ours += 3 * _bytes([node], region.domain)
            theirs_across += _bytes([node], region.domain) + _SECTOR * _is_scattered(value)
            continue
        if is_spread and MOST_OF_SMALL * share <= 1:
            # What is small is written by another kernel, where torch.compile computes it in place.
            has_helper |= not is_in_memory(node, inside)
            continue
        size = ELEMENTS[operand.dtype].bytes * share
        # What is read at other indices as well is in a cache.
        if base_of(node) in {base_of(other) for other in region.inputs[:place]}:
            size = 0
        ours += size
        if operand.is_strided and not goes_across and _is_apart(operand):
            if program.has_row_sums or is_read_twice:
                apart_in_rows += _SECTOR
            elif not _lies_across(operand, program):
                ours += _SECTOR
        reads[place] = node
    read = {*reads.values()}
    if not any(output.kind == "row" for output in program.outputs):
        read -= _read_beside(region, read)
    theirs = theirs_across + _bytes(read, region.domain)
    written = {}
    for place, nodes in region.outputs:
        output = program.outputs[place]
        if output.kind == "row":
            size = ELEMENTS[output.dtype].bytes
            ours += size
            if any(is_in_memory(node, inside, region.unfused) for node in nodes):
                theirs += size
                written[output.value] = size
        elif output.kind == "scalar" and program.length < MOST_OF_SMALL:
            # Of short rows it is no little.
            ours += ELEMENTS[output.dtype].bytes / program.length
            theirs += ELEMENTS[output.dtype].bytes / program.length
    if sums and (program.has_row_sums or any(o.kind == "row" for o in program.outputs)):
        theirs += _read_again(program, sums, {
            place: _bytes([node], region.domain) for place, node in reads.items()}, written)
    count = hint(region.domain.rows * region.domain.length)
    # What other kernels read anyway costs torch.compile nothing.
    is_ahead, launch = theirs > 0, 0.0
    if count is not None:
        moved = theirs * count
        is_ahead &= not has_helper or moved >= _LEAST_BESIDE_HELPER * LAUNCH
        is_ahead &= not takes_part(inside, count)
        if moved < _LEAST_FOLLOWED * LAUNCH and _is_followed(region):
            launch = LAUNCH / count
    if program.has_row_sums and program.length > _LONG_ROW and ours > _MOST_OF_LONG_ROWS:
        is_ahead = False
    apart = [output for output in program.outputs if output.is_strided and _is_apart(output)]
    if apart and not any(ACROSS in node.meta for node in inside):
        # Stored one by one, or transposed: a matter of measurement.
        is_ahead, apart_in_rows = False, 0.0
        ours += _SECTOR * (not all(_lies_across(output, program) for output in apart))
    if not goes_across and _is_slower_across(region):
        is_ahead, apart_in_rows = False, 0.0
    is_clear = _is_plain(region, program) and is_ahead and count is not None and (
        (theirs * count <= _MOST_OF_CLOSE and not has_helper)
        or theirs >= _LEAST_GAIN * (ours + launch)) and (
        theirs * count >= _LEAST_BESIDE_HELPER * LAUNCH
        or not (around.splits or _is_followed(region)))
    for one in region.then:  # It moves the same in either's kernels.
        moved = _bytes({*one.inputs, *(nodes[0] for _, nodes in one.outputs)}, region.domain)
        ours, theirs, is_clear = ours + moved, theirs + moved, False
    # Rounded, for the order in which sets give their elements differs.
    return Estimate(round(ours, 6), round(theirs + apart_in_rows, 6), is_ahead,
                    not around.is_empty, launch, is_clear, count or 0)


_LONGEST_APART, _MOST_APART = 1024, 384
"""Of longer rows, and of so many rows across, elements that are loaded one by one come from memory
again for each of their neighbours: on an H100 14 of 16 regions took 1.02 to 3.7 times as long as
torch.compile's kernels, which turn tiles round, and six of nine across 1.08 to 1.5 times."""


def _is_plain(region: Region, program: RowProgram) -> bool:
    """Whether whole rows are read and written, in vectors. Where in a row an element is takes more
    than that: on an H200, 2 of 18 regions that say it were slower, 1.10 and 1.15 times."""
    operands: list[Input | Output] = [*program.inputs, *program.outputs]
    return program.has_row_sums and program.length >= _SHORT_ROW and not any(
        one.is_strided or one.kind == "table" or (
            one.kind == "row" and program.length * ELEMENTS[one.dtype].bytes % 16)
        for one in operands) and not any(map(is_index, region.nodes))


def _goes_across(program: RowProgram) -> bool:
    """Whether lanes go across rows: neighbours' elements lie side by side of most row blocks, of
    those that are not repeated from row to row."""
    across = along = 0
    operands: list[Input | Output] = [*program.inputs, *program.outputs]
    for one in operands:
        rows = [part for part in one.parts if part[0] >= program.length]
        if one.is_row(program.length) and (rows or one.dims.has_rows):
            is_next = _lies_across(one, program)
            across += is_next
            along += not is_next and (not rows or rows[-1][0] == program.length)
    return program.has_row_sums and across > along


def _lies_across(operand: Input | Output, program: RowProgram) -> bool:
    """Whether a sector of neighbours, of a row block, lies side by side in neighbouring rows: then
    the kernel loads and stores it so, and transposes it in shared memory."""
    return any(part[0] == program.length and part[2:3] == (1,)
               and part[1] * ELEMENTS[operand.dtype].bytes >= LEAST_PIECE
               for part in operand.parts)


def _is_slower_across(region: Region) -> bool:
    """Whether torch.compile's kernel is the faster one for sums across. On an H100 ours took 0.64
    to 0.99 times as long with pieces that are vectors, 0.66 to 1.003 times with several sums of
    others and no rows that are written, and 0.70 to 0.94 times with functions that cost more than
    the loads; but up to 3.5 times where pieces of 7x7 elements are written, and up to 1.6 times
    where channels-last images are read beside one sum."""
    program = region.program
    assert program is not None
    rows = hint(region.domain.rows) or 0
    is_apart = program.has_row_sums and any(i.is_strided and _is_apart(i) for i in program.inputs)
    if not any(ACROSS in node.meta for node in region.nodes):
        return is_apart and program.length > _LONGEST_APART
    if is_apart and rows >= _MOST_APART:
        return True
    has_vectors = all(part[1] % 4 == 0 for i in program.inputs for part in i.parts[-1:]
                      if part[0] == 1)
    has_functions = any(node[0] in ("exp", "erf") for node in program.nodes)
    if any(i.parts and i.parts[-1][0] == 1 and i.parts[-1][2] != 1
           for i in program.inputs if i.is_strided):
        return not has_vectors or (len(region.row_sums) == 1 and not has_functions)
    return not has_vectors and not has_functions and (
        len(region.row_sums) == 1 or any(o.kind == "row" for o in program.outputs))


def _is_apart(operand: Input | Output) -> bool:
    """Whether neighbours in a row are accessed each by itself: few of them lie side by side."""
    distance, size, stride, *moved = operand.parts[-1]
    piece = math.gcd(size, *moved) * ELEMENTS[operand.dtype].bytes
    return distance < LEAST_REPEATS and (distance != 1 or stride != 1 or piece < LEAST_PIECE)


def _is_scattered(value: torch.Tensor) -> bool:
    """Whether neighbours of a row, and those of a column, are so far apart in memory that
    torch.compile's kernel loads each by itself."""
    *others, last = (n for n, size in zip(value.stride(), value.shape, strict=True) if size != 1)
    return others[-1:] != [1] and last * value.element_size() >= LEAST_PIECE


def _is_followed(region: Region) -> bool:
    """Whether a kernel computes on with sums, which torch.compile does in the kernel of the sum."""
    assert region.program is not None
    inside = set(region.nodes) - region.outside
    return any(
        node.meta["val"].dtype == torch.bool or any(map(is_fused, other_users(node, inside)))
        for place, nodes in region.outputs if region.program.outputs[place].kind != "row"
        for node in nodes)


def _read_beside(region: Region, read: set[Node]) -> set[Node]:
    """What other sums of as many elements read of some tensors, which torch.compile makes in the
    same kernel: those that neither follow from the region's nor lead to them."""
    inside = set(region.nodes)
    count = region.domain.rows * region.domain.length

    @functools.cache
    def related() -> set[Node]:
        return (reached({*region.row_sums, *region.column_sums}, lambda node: node.users)
                | reached(inside, lambda node: node.all_input_nodes))

    def is_shared(node: Node) -> bool:
        value = node.meta["val"]
        views = {view for view in reached(
            [base_of(node)], lambda one: filter(is_alias, one.users))
            if isinstance(view.meta["val"], torch.Tensor)
            and same(view.meta["val"].numel(), value.numel())
            and same(view.meta["val"].storage_offset(), value.storage_offset())}
        near = reached(views, lambda one: one.users if one in views or is_alias(one) or (
            is_fused(one) and not is_in_memory(one, inside)) else filter(is_alias, one.users))
        return any(is_reduction(user) and user not in inside and user not in related() and any(
            operand in near and same(operand.meta["val"].numel(), count)
            for operand in sources(user)) for one in near for user in one.users)

    return {*filter(is_shared, read)}


def _bytes(nodes: Iterable[Node], domain: Domain) -> float:
    """What is read, for each element of a row block, of some tensors."""
    return float(sum(node.meta["val"].element_size() * _share(node.meta["val"], domain)
                     for node in nodes))


def _share(value: torch.Tensor, domain: Domain) -> float:
    """How many elements a kernel reads of a tensor for each element of a row block; 1 if nobody
    knows. What is repeated is in a cache."""
    repeated = repeated_dims(value)
    own = product(size for dim, size in enumerate(value.shape) if dim not in repeated)
    count, whole = (hint(number) for number in (own, domain.rows * domain.length))
    return min(1.0, count / whole) if count is not None and whole else 1.0


def _read_again(program: RowProgram, values: list[int], reads: Mapping[int, float],
                written: Mapping[int, float]) -> float:
    """Bytes an element of the cheapest row blocks that values can be computed from: outputs, or
    inputs, for which ``written`` and ``reads`` have the bytes by value and by place."""
    places = {index: node[1] for index, node in enumerate(program.nodes) if node[0] == "input"}
    sizes = {**{index: reads[place] for index, place in places.items() if place in reads},
             **written}
    needed = reached(values, lambda index: () if index in sizes or program.nodes[index][0] in SUMS
                     else operands_of(program.nodes[index]))
    found = [sizes[index] for index in needed if index in sizes]
    return sum(found) if found else math.inf
