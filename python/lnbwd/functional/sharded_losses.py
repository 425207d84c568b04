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

from ..ops.row_functions import Columns, Rows, Scalars, rowwise


class Classes(NamedTuple):
    """The classes that a rank has.

    Attributes:
        group: the ranks.
        first: its first class.
        total: how many all ranks have.
    """

    group: dist.ProcessGroup
    first: int
    total: int


def local_operands(input: Tensor, linear_weight: Any, target: Tensor, linear_bias: Any,
                   weight: Tensor | None, is_whole: bool) -> tuple[
                       Tensor, Tensor, Tensor, Tensor | None, Tensor | None, Classes | None]:
    """A rank's operands: all rows, targets and class weights, and its part of the layer, and what
    part that is; with ``is_whole`` the whole layer.

    Raises:
        ValueError: the layer is not sharded by its classes over one dimension of a mesh, a rank
            has none, or the input is no DTensor on that mesh.
    """
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


def _logits(logits: Any, bias: Any, softcap: float) -> tuple[Any, Any]:
    """The logits in float32, and their hyperbolic tangents."""
    x = logits.float()
    if bias is not None:
        x = x + bias
    inner = torch.tanh(x / softcap) if softcap else x
    return (softcap * inner if softcap else x), inner


def _is_target(logits: Any, target: Any) -> Any:
    classes = torch.arange(logits.shape[-1], dtype=torch.float32, device=logits.device)
    return classes == target.float()


@rowwise
def _statistics(logits: Rows, target: Scalars, bias: Columns | None, weight: Columns | None,
                softcap: float) -> Any:
    """The largest logit of a rank's classes, the sum of exponentials beside it, the target's logit
    or 0, and the sum of logits, which class weights weigh."""
    x, _ = _logits(logits, bias, softcap)
    largest = x.amax(-1, keepdim=True)
    every = (x - largest).exp().sum(-1, keepdim=True)
    picked = torch.where(_is_target(logits, target), x, 0).sum(-1, keepdim=True)
    return largest, every, picked, (x if weight is None else weight * x).sum(-1, keepdim=True)


@rowwise
def _gradient(logits: Rows, target: Scalars, whole: Scalars, factor: Scalars, picked: Scalars,
              scale: Scalars, bias: Columns | None, weight: Columns | None, spread: float,
              softcap: float) -> Any:
    """The gradient with respect to a rank's logits, and with a bias its sum over the rows:
    ``whole`` is logsumexp of all logits, ``factor`` what the softmax is multiplied by, ``picked``
    what is subtracted at the target."""
    x, inner = _logits(logits, bias, softcap)
    pulled = torch.where(_is_target(logits, target), picked, 0.0)
    if spread:
        pulled = pulled + (spread if weight is None else spread * weight)
    gradient = ((x - whole).exp() * factor - pulled) * scale
    if softcap:
        gradient = gradient * (1 - inner * inner)
    # (A row that does not count may hold any number.)
    gradient = torch.where(scale == 0, 0.0, gradient)
    of_logits = gradient.to(logits.dtype)
    return (of_logits,) if bias is None else (of_logits, gradient.sum(0))


def compute(classes: Classes, in_chunks: Callable[..., tuple[Tensor, ...]], input: Tensor,
            linear_weight: Tensor, target: Tensor, scale: Tensor, linear_bias: Tensor | None,
            weight: Tensor | None, label_smoothing: float, z_loss: float, softcap: float,
            wanted: list[bool]) -> tuple[Tensor, ...]:
    """The losses and gradients of a rank's part of the layer, in chunks as
    :func:`.loss_chunks.in_chunks` makes them; the other arguments and the result are as of
    :data:`.loss_chunks.Compute`."""
    spread = label_smoothing / classes.total
    own = torch.ones_like(scale) if weight is None else weight[target.clamp(0, classes.total - 1)]
    total = float(classes.total) if weight is None else weight.sum()
    here = slice(classes.first, classes.first + linear_weight.shape[0])
    part_of_weight = None if weight is None else weight[here]
    add = functools.partial(dist.all_reduce, group=classes.group)

    def of_logits(part: slice, logits: Tensor, losses: Tensor, sums: Tensor | None) -> None:
        places = (target[part] - classes.first)[:, None]
        largest, every, picked, linear = _statistics(logits, places, linear_bias, part_of_weight,
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
            _gradient.write([logits, *([] if sums is None else [sums])], logits, places, whole,
                            factor, share, weighed, linear_bias, part_of_weight, spread, softcap)

    losses, *gradients = in_chunks(input, linear_weight, linear_bias, wanted, of_logits)
    if wanted[0]:
        add(gradients[0])
    return losses, *gradients
