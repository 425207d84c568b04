# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How the operators run on distributed tensors (torch.distributed.tensor).

Every leading dimension of x may be sharded: rows are independent of one another. The normalised
dimensions and the parameters are whole on each device, and the parameters' gradients come as
partial sums, which DTensor adds where somebody needs them whole. So PyTorch's SequenceParallel
works with our modules as with its own, and nothing is sent in either pass.

The rules are registered when ``lnbwd`` first meets PyTorch's module; importing this one registers
them at once, which graphs of torch.compile over distributed tensors need if no eager call came
before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.distributed.tensor import Partial, Replicate, Shard
from torch.distributed.tensor._op_schema import RuntimeSchemaInfo
from torch.distributed.tensor.experimental import register_sharding

from . import ops  # noqa: F401 (defines the operators)
from .operations import LAYER_NORM, LAYER_NORM_BWD, RMS_NORM, RMS_NORM_BWD

__all__: list[str] = []

_Rule = tuple[list[Any], list[Any]]


def _optional(parameter: object) -> Any:
    return None if parameter is None else Replicate()


def _forward_rules(outputs: int, x: Any, normalized_shape: Sequence[int], weight: object,
                   *bias: object) -> list[_Rule]:
    parameters = [_optional(p) for p in (weight, *bias)]
    rules: list[_Rule] = []
    for placement in (Replicate(), *map(Shard, range(x.ndim - len(normalized_shape)))):
        rules.append(([placement] * outputs, [placement, None, *parameters, None]))
    return rules


def _backward_rules(tensors: int, x: Any, parameters: Sequence[object],
                    normalized_shape: Sequence[int], mask: Sequence[bool]) -> list[_Rule]:
    whole = [_optional(p) for p in parameters]
    rules: list[_Rule] = []
    for placement in (Replicate(), *map(Shard, range(x.ndim - len(normalized_shape)))):
        is_shard = isinstance(placement, Shard)
        # What is not wanted is an empty tensor.
        sums = [Partial() if is_shard and want and p is not None else Replicate()
                for p, want in zip(parameters, mask[1:], strict=True)]
        dx = placement if mask[0] else Replicate()
        rules.append(([dx, *sums], [placement] * tensors + [*whole, None, None]))
    return rules


def _layer_norm(x: Any, normalized_shape: Sequence[int], weight: object, bias: object,
                eps: float) -> list[_Rule]:
    return _forward_rules(3, x, normalized_shape, weight, bias)


def _rms_norm(x: Any, normalized_shape: Sequence[int], weight: object, eps: float) -> list[_Rule]:
    return _forward_rules(2, x, normalized_shape, weight)


def _layer_norm_bwd(dy: Any, x: Any, mean: Any, rstd: Any, weight: object, bias: object,
                    normalized_shape: Sequence[int], mask: Sequence[bool]) -> list[_Rule]:
    return _backward_rules(4, x, (weight, bias), normalized_shape, mask)


def _rms_norm_bwd(dy: Any, x: Any, rstd: Any, weight: object, normalized_shape: Sequence[int],
                  mask: Sequence[bool]) -> list[_Rule]:
    return _backward_rules(3, x, (weight,), normalized_shape, mask)


def _register() -> None:
    from torch.distributed.tensor import DTensor

    propagator = DTensor._op_dispatcher.sharding_propagator
    for name, rule in ((LAYER_NORM, _layer_norm), (LAYER_NORM_BWD, _layer_norm_bwd),
                       (RMS_NORM, _rms_norm), (RMS_NORM_BWD, _rms_norm_bwd)):
        op = getattr(torch.ops.lnbwd, f"_{name}").default
        register_sharding(op)(rule)
        # What follows x decides the rules and the outputs' shapes, too: the cache of rules is to
        # tell masks apart.
        propagator.op_to_schema_info[op] = RuntimeSchemaInfo(1, None, needs_pytree=True)


_register()
