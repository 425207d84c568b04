# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graphs of the patterns of docs/results: what torch.compile fuses in real models."""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch.fx import Graph, GraphModule, Node


def graph_of(pattern: dict[str, Any], device: str = "cpu") -> GraphModule:
    """The graph of a pattern: of each input its type, shape and strides; of each node the operator,
    its arguments and its options; and which of them are outputs."""
    graph = Graph()
    made: list[Node] = []

    def decode(item: Any, of: Any) -> Any:
        if isinstance(item, list):
            return [decode(part, of) for part in item]
        if not isinstance(item, dict):
            return item
        [(kind, value)] = item.items()
        if kind == "node":
            return of(made[value])
        return (torch.device(device) if kind == "device" else float(value)
                if kind == "float" else getattr(torch, value))

    for place, (dtype, shape, stride) in enumerate(pattern["inputs"]):
        made.append(graph.placeholder(f"arg{place}"))
        made[-1].meta["val"] = torch.empty_strided(
            shape, stride, dtype=getattr(torch, dtype), device=device)
    for target, args, options in pattern["nodes"]:
        function = operator.getitem if target == "getitem" else operator.attrgetter(target)(
            torch.ops)
        given, values = ((tuple(decode(args, of)), {k: decode(v, of) for k, v in options.items()})
                         for of in (lambda node: node, lambda node: node.meta["val"]))
        made.append(graph.call_function(function, *given))
        made[-1].meta["val"] = function(*values[0], **values[1])
    graph.output(tuple(made[place] for place in pattern["outputs"]))
    graph.eliminate_dead_code()
    return GraphModule(torch.nn.Module(), graph)
