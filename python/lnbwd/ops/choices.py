# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The heuristics of eager calls: choices among implementations by sizes.

Schedules are the compiler's choice, and :mod:`lnbwd.inductor.choice` compares fused nodes by time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal

import torch
from torch import Tensor

from ..program.operands import TYPES, Input, Output
from ..program.row_program import RowProgram

HasClusters = Callable[[torch.device], bool]
"""Whether workgroups of a device's chip can share a row."""


class Choices:
    """The choices, and their bounds: numbers of elements unless stated."""

    least_searched = 1 << 17
    """Programs without sums are searched from here on: smaller ones take as long as a launch."""

    # Elementwise functions -----------------------------------------------------------------------

    usual_length, shortest_row, longest_row = 1024, 512, 4096
    least_in_two = 1 << 22
    rows_of_pieces = 1 << 20
    """Kernels of pieces are compiled for so many: their schedule is the same for any number."""

    def flat_length(self, shape: Sequence[int], program: RowProgram) -> int:
        """The length of the rows on which a kernel computes an elementwise function of a shape: a
        piece, which is 16 bytes of the widest type, where there is a whole number of them, so that
        calls of all shapes have one kernel. Otherwise the rows of a small call stay, and of a large
        one a kernel computes rows of a usual length, and another one the rest. On an H200 SwiGLU of
        pieces takes 0.77 to 1.02 times as long as of rows of 500 to 4000 elements, 0.97 in the mean
        of 44 shapes. Both passes of GeGLU take 0.73 to 0.93 times as long by the rows of a small
        call as in two launches, of 155,000 to 2.4 million elements, and as long of 7.4 million."""
        length, count = shape[-1], math.prod(shape)
        piece = self.piece(program)
        if count % piece == 0:
            return piece
        is_half = (self.shortest_row <= length <= self.longest_row
                   and length % max(piece // 2, 1) == 0)
        return length if is_half or count < self.least_in_two else self.usual_length

    def piece(self, program: RowProgram) -> int:
        """The elements of a piece."""
        tensors: Sequence[Input | Output] = (*program.inputs, *program.outputs)
        return 16 // max(TYPES[one.dtype].itemsize for one in tensors)

    # Norms of channels ---------------------------------------------------------------------------

    least_channel = 64
    """Channels of fewer elements are not summed by themselves."""

    most_group = 1 << 16
    """Longer groups take a second pass instead: one workgroup or cluster has a whole row."""

    most_group_beside_sums = 3 << 13
    """The gradient of longer groups comes from the sums of their channels where weight and bias
    need these: measured on an H200, 0.92 to 0.99 of the time."""

    most_batch, most_odd_batch = 1 << 17, 3 << 12
    """Channels with more elements in a batch, likewise; and those in pieces of an odd number of
    elements, each of which has an address in a lane's registers."""

    most_of_cluster, least_clusters = {2: 9 << 14, 4: 1 << 17}, 32
    """Elements of longer rows that a cluster holds, by bytes; clusters that fill a chip."""

    def _is_held(self, x: Tensor, length: int, most: int, has_clusters: HasClusters) -> bool:
        return length <= most or (
            length <= self.most_of_cluster[x.element_size()] and x[0, 0].nbytes % 16 == 0
            and x.numel() >= self.least_clusters * length and x.is_cuda
            and has_clusters(x.device))

    def is_held(self, x: Tensor, length: int, is_batch: bool, has_clusters: HasClusters) -> bool:
        """Whether a kernel holds rows of ``length``: groups, or a batch's channel ``[B, C, S]``."""
        most = (self.most_group if not is_batch else
                self.most_odd_batch if x.shape[2] % 2 else self.most_batch)
        return self._is_held(x, length, most, has_clusters)

    def input_gradient(self, x: Tensor, length: int, groups: int, has_sums: bool,
                       has_clusters: HasClusters) -> Literal["channels", "groups", "sums"]:
        """How an input's gradient is computed in groups of so many elements, or a batch: of each
        channel, by itself, with the sums that weight and bias need (``has_sums``); of each group,
        by itself; or from the sums of channels."""
        if not groups or not self._is_held(x, length, self.most_group, has_clusters):
            return "sums"
        if has_sums and groups == x.shape[1]:
            return "channels"
        return "sums" if has_sums and length > self.most_group_beside_sums else "groups"

    # Linear layers -------------------------------------------------------------------------------

    most_in_graphs, most_in_calls = 1 << 12, 1 << 30
    """Multiplications of a product up to which all of a pass is one launch of ours: in a CUDA
    graph, and of calls, where the host's time is longer than the device's."""

    def is_own_product(self, multiplications: int, is_captured: bool) -> bool:
        """Whether a norm and the product after it are one launch of ours on a GPU."""
        return multiplications <= (self.most_in_graphs if is_captured else self.most_in_calls)

    most_logits_bytes, least_chunk = 5 << 27, 512
    """The logits of a chunk of rows take about so much memory, and it has so many rows. Each chunk
    but the first reads and writes the layer's gradient, so that few are better."""

    def rows_of_chunk(self, rows: int, weight: Tensor) -> int:
        """The rows of a chunk of logits: as few chunks as there may be, of about as many rows."""
        most = max(self.least_chunk, self.most_logits_bytes // (weight.shape[0] * weight.itemsize))
        count = max(1, math.ceil(rows / most))
        return math.ceil(math.ceil(rows / count) / 8) * 8


choices = Choices()
"""The choices of this process."""
