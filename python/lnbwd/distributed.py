# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients of parts of a batch, added in the order of the whole batch.

With order=canonical (docs/numerics.md) the gradients of a norm's parameters are sums of a
binary tree whose leaves are rows. A part of the batch has a node of it, if all parts but the last
have equally many rows, a power of two of leaves. Here nodes become the root: those of
micro-batches, and those of ranks. The result has the bits of the whole batch in one piece.

    tree = lnbwd.distributed.GradientTree(norm.parameters())
    for x in micro_batches:
        loss(x).backward()
        tree.add(rows=x.shape[0])
    tree.reduce(group)                  # p.grad of each parameter, the same in all ranks

DistributedDataParallel does so by itself with :func:`ddp_hook`. Gradients that are partial DTensors
(norms of tensor-parallel models) are taken as they are, and become replicated ones.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.tensor import DTensor, Partial, Replicate

from .ops.arguments import check_whole

# Rows of a leaf of rows of up to so many elements, and of longer ones.
LEAF_ROWS, LONG_LEAF_ROWS = ((1024, 64), (4096, 32)), 16


def leaf_rows(row_length: int) -> int:
    """Rows of a leaf, for rows of so many elements."""
    row_length = check_whole("row_length", row_length, "the length of a row, 1 or more", 1)
    return next((rows for most, rows in LEAF_ROWS if row_length <= most), LONG_LEAF_ROWS)


def _least_length(parameters: Sequence[torch.Tensor]) -> int:
    return min(parameter.numel() for parameter in parameters)


def _add_pairs(nodes: Sequence[torch.Tensor]) -> torch.Tensor:
    """The sum of nodes, by pairs of neighbours; a last one without a neighbour stays."""
    while len(nodes) > 1:
        nodes = [nodes[i] + nodes[i + 1] if i + 1 < len(nodes) else nodes[i]
                 for i in range(0, len(nodes), 2)]
    return nodes[0]


def _check_cut(rows: Sequence[int], row_length: int, part: str) -> None:
    """Raises a ValueError, which says where to cut, unless all parts are nodes of the tree."""
    leaf = leaf_rows(row_length)
    leaves, rest = divmod(rows[0], leaf)
    is_node = not rest and leaves and leaves & (leaves - 1) == 0
    if len(rows) > 1 and not (is_node and len(set(rows[:-1])) == 1 and rows[-1] <= rows[0]):
        raise ValueError(
            f"expected every {part} but the last to have {leaf} * 2^k rows of {row_length} "
            f"elements, the same k for all, and the last no more, got {list(rows)}; cut the batch "
            f"there, or give up the bits of the whole batch with torch's own reduction")


def _local(gradient: torch.Tensor, index: int) -> torch.Tensor:
    """This rank's part of a gradient: of a DTensor, which has to be a partial sum."""
    if not isinstance(gradient, DTensor):
        return gradient
    if gradient.placements != (Partial("sum"),):
        raise TypeError(
            f"expected the gradient of parameter {index} to be a plain tensor, or a DTensor with "
            f"the placement Partial('sum') only, got {gradient.placements}: a gradient that was "
            "reduced or sharded has lost its order; with FSDP2, name norms in ignored_params")
    return gradient.to_local()


class GradientTree:
    """The gradients of parameters, from parts of a batch.

    Args:
        parameters: those of norms: each is as long as a row, or one of ``row_length``.
        row_length: elements of a row; by default those of the shortest parameter, whose leaves have
            the most rows.

    Raises:
        ValueError: there are no parameters.
    """

    def __init__(self, parameters: Iterable[torch.nn.Parameter],
                 row_length: int | None = None) -> None:
        self._parameters = list(parameters)
        if not self._parameters:
            raise ValueError("expected parameters whose gradients are added, got none")
        self._row_length = row_length or _least_length(self._parameters)
        self._parts: list[int] = []  # Rows of each.
        self._nodes: list[tuple[int, torch.Tensor]] = []  # Likewise.

    def add(self, rows: int) -> None:
        """Takes ``grad`` of all parameters, of the next ``rows`` rows, and leaves None.

        Raises:
            TypeError: a gradient is missing, no float32, or a DTensor that is no partial sum.
        """
        rows = check_whole("rows", rows, "a number of rows", 0)
        gradients = []
        for index, parameter in enumerate(self._parameters):
            gradient = parameter.grad
            if gradient is None or gradient.dtype != torch.float32:
                raise TypeError(
                    f"expected a float32 gradient of parameter {index}, got "
                    f"{'none' if gradient is None else gradient.dtype}: call backward() before, "
                    "leave out frozen parameters, and keep others in float32, since 16 bits are "
                    "rounded part by part")
            gradients.append(_local(gradient, index).reshape(-1))
        self._parts.append(rows)
        node = torch.cat(gradients)
        # Nodes whose neighbour is there are not needed any more.
        while self._nodes and self._nodes[-1][0] == rows:
            node, rows = self._nodes.pop()[1] + node, 2 * rows
        self._nodes.append((rows, node))
        for parameter in self._parameters:
            parameter.grad = None

    def reduce(self, group: dist.ProcessGroup | None = None) -> None:
        """Gives all parameters the gradient of the whole batch: the parts that were added and, if
        torch.distributed is in use, those of all ranks of ``group``, in the order of ranks.

        Raises:
            ValueError: the batch is cut elsewhere than between nodes of the tree, or nothing was
                added.
        """
        if not self._nodes:
            raise ValueError("expected parts of the batch, got none: call add() after backward()")
        parts, nodes = self._parts, [node for _, node in self._nodes]
        self._parts, self._nodes = [], []
        _check_cut(parts, self._row_length, "micro-batch")
        # Smaller nodes follow larger ones: each is the left neighbour of all after it.
        total = functools.reduce(lambda right, left: left + right, reversed(nodes))
        if dist.is_available() and dist.is_initialized():
            counts: list[int] = [0] * dist.get_world_size(group)
            dist.all_gather_object(counts, sum(parts), group=group)
            _check_cut(counts, self._row_length, "rank")
            gathered = [torch.empty_like(total) for _ in counts]
            dist.all_gather(gathered, total, group=group)
            total = _add_pairs(gathered)
        # +0, as at the end of a kernel.
        total = total + 0.0
        for parameter, gradient in zip(self._parameters, total.split(
                [parameter.numel() for parameter in self._parameters]), strict=True):
            gradient = gradient.reshape(parameter.shape)
            parameter.grad = gradient if not isinstance(parameter, DTensor) else (
                DTensor.from_local(gradient, parameter.device_mesh, [Replicate()]))


def reduce_gradients(parameters: Iterable[torch.nn.Parameter], rows: int,
                     group: dist.ProcessGroup | None = None) -> None:
    """Replaces ``grad`` of all parameters by its sum over the ranks of ``group``. The ranks' parts
    of the batch follow one another; this rank's part has ``rows`` rows.

    Raises:
        TypeError: a gradient is missing or no float32.
        ValueError: the batch is cut elsewhere than between nodes of the tree.
    """
    tree = GradientTree(parameters)
    tree.add(rows)
    tree.reduce(group)


def ddp_hook(parameters: Iterable[torch.nn.Parameter], rows: int, row_length: int | None = None
             ) -> Callable[[Any, Any], torch.futures.Future[torch.Tensor]]:
    """A communication hook for DistributedDataParallel. It adds the gradients of ``parameters`` in
    the order of the whole batch, all others by all-reduce, and takes the mean over ranks::

        model.register_comm_hook(None, lnbwd.distributed.ddp_hook(norm.parameters(), rows=4096))

    A backward pass of each rank has ``rows`` rows. Micro-batches are not for it: see
    :class:`GradientTree`, with DDP's ``no_sync``. The hook's state is the group, or None.

    Raises:
        ValueError: there are no parameters, or such a rank has no node of the tree.
        TypeError: in the backward pass: a gradient is no float32.
    """
    taken = list(parameters)
    if not taken:
        raise ValueError("expected parameters whose gradients are added, got none")
    rows = check_whole("rows", rows, "a number of rows", 1)
    _check_cut([rows, rows], row_length or _least_length(taken), "rank")

    def hook(group: dist.ProcessGroup | None, bucket: Any) -> torch.futures.Future[torch.Tensor]:
        buffer: torch.Tensor = bucket.buffer()
        world = dist.get_world_size(group)
        ours = [gradient for parameter, gradient in
                zip(bucket.parameters(), bucket.gradients(), strict=True)
                if any(parameter is other for other in taken)]
        if ours and buffer.dtype != torch.float32:
            raise TypeError(f"expected gradients in float32, got {buffer.dtype}: keep the "
                            "parameters of norms in float32, since 16 bits are rounded rank by "
                            "rank")
        nodes = torch.cat([gradient.reshape(-1) for gradient in ours] or [buffer[:0]])
        gathered = [torch.empty_like(nodes) for _ in range(world)]
        if ours:
            dist.all_gather(gathered, nodes, group=group)
        reduced: torch.futures.Future[list[torch.Tensor]] = dist.all_reduce(
            buffer, group=group, async_op=True).get_future()

        def finish(_: torch.futures.Future[list[torch.Tensor]]) -> torch.Tensor:
            total = _add_pairs(gathered) + 0.0
            buffer.div_(world)
            # This runs on a stream of its own, and the backward pass goes on.
            for node in gathered if buffer.is_cuda else ():
                node.record_stream(torch.cuda.current_stream(buffer.device))
            for gradient, sums in zip(ours, total.split([g.numel() for g in ours]), strict=True):
                gradient.copy_(sums.div(world).view_as(gradient))
            return buffer

        return reduced.then(finish)

    hook.__annotations__.clear()  # DDP refuses those that are strings.
    return hook
