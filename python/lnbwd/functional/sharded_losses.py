# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cross entropy of a linear layer whose classes are sharded over ranks (DTensor).

Each rank has the logits of its own classes. Of a chunk of rows, a row program computes what the
ranks have to know of each other's: the largest logit, the sum of exponentials beside it, and the
target's logit. Two reductions make those of all classes, and a second row program computes the
gradient. The gradient of the input is the sum of the ranks'.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.tensor import DTensor, Replicate, Shard


class Classes(NamedTuple):
    """The classes that a rank of a group has: its first one, and how many all ranks have."""

    group: dist.ProcessGroup
    first: int
    total: int


def local_operands(input: Tensor, linear_weight: Any, target: Tensor, linear_bias: Any,
                   weight: Tensor | None, is_whole: bool) -> tuple[
                       Tensor, Tensor, Tensor, Tensor | None, Tensor | None, Classes | None]:
    """A rank's operands: all rows, targets and class weights, and its part of the layer, and what
    part that is; with ``is_whole`` the whole layer. A ValueError if the layer is not sharded by its
    classes over one dimension of a mesh, a rank has none, or the input is no DTensor on that
    mesh."""
    mesh, placements = linear_weight.device_mesh, tuple(linear_weight.placements)
    if placements != (Shard(0),) or (linear_bias is not None and (
            not isinstance(linear_bias, DTensor) or tuple(linear_bias.placements) != placements)):
        raise ValueError(
            "linear_weight: expected a DTensor, or two with linear_bias, with the placement "
            f"Shard(0) on one dimension of a mesh, got {placements}"
            f"{'' if linear_bias is None else ' and ' + str(_placements(linear_bias))}; shard the "
            "layer with ColwiseParallel, or pass full_tensor()")

    if not isinstance(input, DTensor) or input.device_mesh != mesh:
        # (FSDP2 shards weights likewise, and its ranks have different rows.)
        raise ValueError(
            "input: expected a DTensor on the mesh of linear_weight, whose ranks have the same "
            "rows, got another tensor; with tensor parallelism pass DTensor.from_local(input, "
            "mesh, [Replicate()]), with FSDP2 call linear_cross_entropy in the forward pass of the "
            "sharded module, where its weight is whole")

    def whole(tensor: Tensor | None) -> Any:
        if not isinstance(tensor, DTensor):
            return tensor
        return tensor.redistribute(mesh, [Replicate()]).to_local()

    others = whole(target), whole(weight)
    if is_whole:
        return (whole(input), whole(linear_weight), others[0], whole(linear_bias), others[1], None)
    classes, ranks = linear_weight.shape[0], mesh.size()
    each = -(-classes // ranks)
    if each * (ranks - 1) >= classes:
        raise ValueError(f"linear_weight: expected classes on each of {ranks} ranks, got "
                         f"{classes}, of which the first ranks have {each} each; use fewer ranks")
    part = Classes(mesh.get_group(), each * mesh.get_local_rank(), classes)
    return (whole(input), linear_weight.to_local(), others[0],
            None if linear_bias is None else linear_bias.to_local(), others[1], part)


def _placements(tensor: Tensor) -> object:
    return tuple(tensor.placements) if isinstance(tensor, DTensor) else "a plain tensor"


def compute(classes: Classes, functions: tuple[Callable[..., tuple[Tensor, ...]], Any, Any],
            input: Tensor, linear_weight: Tensor, target: Tensor, scale: Tensor,
            linear_bias: Tensor | None, weight: Tensor | None, label_smoothing: float,
            z_loss: float, softcap: float, wanted: list[bool]) -> tuple[Tensor, ...]:
    """The losses and gradients of a rank's part of the layer, by functions of
    :mod:`.linear_losses`: the one that makes chunks, and the row functions of the statistics and of
    the gradient; the other arguments and the result are as of :data:`.linear_losses.Compute`."""
    in_chunks, statistics, gradient = functions
    spread = label_smoothing / classes.total
    own = torch.ones_like(scale) if weight is None else weight[target.clamp(0, classes.total - 1)]
    total = float(classes.total) if weight is None else weight.sum()
    here = slice(classes.first, classes.first + linear_weight.shape[0])
    part_of_weight = None if weight is None else weight[here]
    add = functools.partial(dist.all_reduce, group=classes.group)

    def of_logits(part: slice, logits: Tensor, losses: Tensor, sums: Tensor | None) -> None:
        places = (target[part] - classes.first)[:, None]
        largest, every, picked, linear = statistics(logits, places, linear_bias, part_of_weight,
                                                    softcap)
        most = largest.clone()
        add(most, op=dist.ReduceOp.MAX)
        added = torch.stack([every * (largest - most).exp(), picked, linear])
        add(added)
        every, picked, linear = added
        whole = most + every.log()
        share = (1.0 - label_smoothing) * own[part][:, None]
        loss = share * (whole - picked) + spread * (total * whole - linear)
        if z_loss:
            loss = loss + z_loss * whole * whole
        weighed = scale[part][:, None]
        losses.copy_(torch.where(weighed == 0, 0.0, loss * weighed).view(-1))
        if any(wanted):
            factor = share + spread * total + 2 * z_loss * whole
            gradient.write([logits, *([] if sums is None else [sums])], logits, places, whole,
                           factor, share, weighed, linear_bias, part_of_weight, spread, softcap)

    losses, *gradients = in_chunks(input, linear_weight, linear_bias, wanted, of_logits)
    if wanted[0]:
        add(gradients[0])
    return losses, *gradients
