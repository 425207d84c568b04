# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a region is worth: the bytes that it moves as one kernel, and as torch.compile's kernels.

One kernel reads each row block once and writes each once. torch.compile's kernels do so where all
sums go over the row; sums over all rows it makes in kernels of their own, which read again what
those sums are made of. On the other hand torch.compile computes where it is used what a kernel of
ours must find in memory: a gradient that is 0 but for one token of each sample, say.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import Node

from ..rowprogram import SUM_KINDS, RowProgram
from .convert import Domain, is_computed_in_place, is_constant, is_view, sources
from .regions import Region

__all__ = ["Estimate", "estimate"]

_BYTES = {"f16": 2, "bf16": 2, "f32": 4, "i8": 1}


@dataclass(frozen=True)
class Estimate:
    """Bytes that are moved for each element of a row block: by the region as one kernel, and by
    the kernels that torch.compile makes of it; and whether some of what a region reads is in memory
    for its sake alone, so that its program does not have all of its cost."""

    ours: float
    theirs: float
    has_row_sums: bool
    is_part: bool

    @property
    def is_worth(self) -> bool:
        """Whether the region is taken. Of kernels that move the same, ours are ahead where sums go
        over the row; a sum over all rows alone is not worth a change."""
        if self.has_row_sums:
            return self.ours <= self.theirs
        return self.ours < self.theirs


def estimate(region: Region) -> Estimate:
    """What a region, with its program, moves."""
    program = region.program
    assert program is not None
    reads: list[float] = [_BYTES[i.dtype] if i.kind == "row" else 0 for i in program.inputs]
    their_reads = list(reads)
    inside = set(region.nodes)
    ours = sum(reads)
    is_part = False
    for place, node in enumerate(region.inputs):
        if (reads[place] and is_computed_in_place(node)
                and all(user in inside for user in node.users)):
            # Nothing else needs it: for us it is written first.
            ours += reads[place]
            is_part = True
            their_reads[place] = _bytes_behind(node, region.domain)
    written = sum(_BYTES[o.dtype] for o in program.outputs if o.kind == "row")
    theirs = sum(their_reads) + written
    sums = [o.value for o in program.outputs if o.kind in SUM_KINDS]
    if sums and (program.has_row_sums or any(o.kind == "row" for o in program.outputs)):
        theirs += _read_again(program, sums, their_reads)
    return Estimate(ours + written, theirs, program.has_row_sums, is_part)


def _bytes_behind(node: Node, domain: Domain) -> float:
    """What is read, for each element, to compute a row block in place."""
    total = 0.0
    for source in sources(node):
        while is_view(source):  # One that is spread has fewer elements behind it.
            source = sources(source)[0]
        value = source.meta["val"]
        if isinstance(value, torch.Tensor) and not is_constant(source):
            total += value.element_size() * _share(value, domain)
    return total


def _share(value: torch.Tensor, domain: Domain) -> float:
    """How many elements a tensor has for each element of a row block; 1 if nobody knows."""
    count, whole = (_hint(number) for number in (value.numel(), domain.rows * domain.length))
    return count / whole if count is not None and whole else 1.0


def _hint(number: Any) -> int | None:
    """A number, or what a symbol was when the graph was made."""
    return number if isinstance(number, int) else number.node.hint


def _read_again(program: RowProgram, values: list[int], reads: Sequence[float]) -> float:
    """Bytes an element of the cheapest row blocks that values can be computed from: outputs that
    were written, or inputs, for which ``reads`` has the bytes."""
    written = {o.value: _BYTES[o.dtype] for o in program.outputs if o.kind == "row"}
    needed: dict[tuple[str, int], float] = {}
    stack, seen = list(values), set()
    while stack:
        index = stack.pop()
        if index in seen:
            continue
        seen.add(index)
        node = program.nodes[index]
        if index in written:
            needed["output", index] = written[index]
        elif node[0] == "input":
            if program.inputs[node[1]].kind == "row":
                needed["input", node[1]] = reads[node[1]]
        elif node[0] == "round":
            stack.append(node[1])
        elif node[0] not in ("constant", "row_sum", "row_max"):
            stack += node[1:]
    return float(sum(needed.values())) if needed else math.inf
