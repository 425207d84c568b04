# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How the operators run on distributed tensors (torch.distributed.tensor).

Every leading dimension of x may be sharded: rows are independent of one another. The normalised
dimensions and the parameters are whole on each device, and the parameters' gradients come as
partial sums, which DTensor adds where somebody needs them whole. So PyTorch's SequenceParallel
works with our modules as with its own, and nothing is sent in either pass.

Row programs have no rules: a call of one with distributed tensors is an error.

The rules are registered when ``lnbwd`` first meets PyTorch's module (:mod:`lnbwd.sharding`).
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from types import FrameType
from typing import Any, cast

import torch
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard
from torch.distributed.tensor.experimental import register_sharding

from ..program.torch_internals.eager import sharding_schema

_Rule = tuple[list[Any], list[Any]]


def _placements(x: Any, normalized_shape: Sequence[int]) -> list[Any]:
    return [Replicate(), *map(Shard, range(x.ndim - len(normalized_shape)))]


def _forward_rules(x: Any, normalized_shape: Sequence[int], *others: object) -> list[_Rule]:
    parameters = [None if p is None else Replicate() for p in others[:-1]]
    return [([placement] * (1 + len(parameters)), [placement, None, *parameters, None])
            for placement in _placements(x, normalized_shape)]


def _backward_rules(dy: Any, x: Any, *others: Any) -> list[_Rule]:
    *tensors, normalized_shape, mask = others
    count = len(tensors) // 2  # Of the statistics, and of the parameters after them.
    parameters = tensors[count:]
    whole = [None if p is None else Replicate() for p in parameters]
    rules: list[_Rule] = []
    for placement in _placements(x, normalized_shape):
        is_shard = isinstance(placement, Shard)
        # What is not wanted is an empty tensor.
        sums = [Partial() if is_shard and want and p is not None else Replicate()
                for p, want in zip(parameters, mask[1:], strict=True)]
        dx = placement if mask[0] else Replicate()
        rules.append(([dx, *sums], [placement] * (2 + count) + [*whole, None, None]))
    return rules


def _public_name() -> str:
    """The outermost function of this package that is running."""
    name, outer = "lnbwd::region", cast(FrameType | None, sys._getframe())
    package = __package__.partition(".")[0]
    functions = sys.modules[f"{package}.functional"].__all__
    while outer is not None:
        if str(outer.f_globals.get("__package__")).partition(".")[0] == package:
            owner, called = outer.f_locals.get("self"), outer.f_code.co_name
            if called in functions:
                name = f"lnbwd.functional.{called}"
            else:  # A row function has the user's.
                own = getattr(getattr(owner, "function", None), "__name__", "_")
                name = name if own.startswith("_") else own
        outer = outer.f_back
    return name


def _refuse(*_: object) -> None:
    raise TypeError(f"{_public_name()}: expected tensors of one device, got a distributed one "
                    "(DTensor), for which it has no sharding rule; call it on tensor.to_local(), "
                    "where each device has whole rows, or on tensor.full_tensor()")


def register(operators: Iterable[tuple[Any, Any]]) -> None:
    """Registers the rules of norms: of each the operators of both passes."""
    torch.library.register_torch_dispatch("lnbwd::_region", DTensor, _refuse)
    propagator = DTensor._op_dispatcher.sharding_propagator
    for forward, backward in operators:
        for op, rule in ((forward, _forward_rules), (backward, _backward_rules)):
            register_sharding(op)(rule)
            # What follows x decides the rules and the outputs' shapes, too: the cache of rules is
            # to tell masks apart.
            propagator.op_to_schema_info[op] = sharding_schema(1, None, needs_pytree=True)
