#!/usr/bin/env python3
# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Says what torch.compile(backend="lnbwd") makes of patterns of real models: taken whole, in part
or left, and why.

The patterns are what torch.compile fuses around the reductions of models of transformers and timm,
in training and inference; of equal operations on other shapes there is one. A pattern is taken
whole if one kernel of ours computes it, but for convolutions and what has at most a sixteenth of
its elements. No GPU is needed, and no kernel is made.

  region_exam.py [--always] [--list whole|part|left ...] [--patterns FILE] [--out FILE]
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import json
import operator
import pathlib
import re
import sys
import unittest.mock
from typing import Any

SOURCE = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(SOURCE / "python"), str(SOURCE / "bench")]

import torch  # noqa: E402
from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402
from torch.fx import Graph, GraphModule, Node  # noqa: E402

import lnbwd  # noqa: E402
import lnbwd.inductor  # noqa: E402
from lnbwd import regions_op  # noqa: E402
from lnbwd.graphs import conversion  # noqa: E402
from lnbwd.inductor import graph_pass, surroundings  # noqa: E402
from lnbwd_bench import results  # noqa: E402

OUTCOMES = ("whole", "part", "left")
_REGION = torch.ops.lnbwd._region.default


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


def _in_general(reason: str) -> str:
    """A reason without names, types and numbers."""
    reason = re.sub(r"\b(?:u?int\d+|float\d+|bfloat16|bool) \[[^]]*\]", "a tensor", reason)
    reason = re.sub(r"^[a-z]\w* (?=is|has|does|gives|reads|makes|takes|spreads|changes|aten|prims)",
                    "", reason)
    return "its bytes" if "it would move" in reason else re.sub(r"\b\d[\d.e+x-]*\b", "#", reason)


def no_kernels() -> contextlib.AbstractContextManager[Any]:
    """Regions are found without kernels being made."""
    return unittest.mock.patch.object(regions_op, "load_kernel", lambda *_: None)


def always_taken() -> contextlib.AbstractContextManager[Any]:
    """Regions are taken that the estimate would leave: on a GPU they are measured."""
    return unittest.mock.patch.object(graph_pass, "_is_worth", lambda _: True)


def examine(pattern: dict[str, Any], device: str = "cpu") -> tuple[str, set[str]]:
    """Whether a pattern is taken whole, in part or left, and what is in the way."""
    with FakeTensorMode():
        graph = graph_of(pattern, device).graph
        largest = max(map(surroundings.size_of, graph.nodes))
        lnbwd.inductor.decisions(clear=True)
        lnbwd.inductor.pass_()(graph, is_inference=True)  # It draws its numbers alone.
        graph.eliminate_dead_code()  # As Inductor does.
    made = lnbwd.inductor.decisions(clear=True)
    rest = surroundings.computed(graph.nodes, largest)
    count = sum(decision.taken for decision in made)
    if count == 1 and not rest:
        return "whole", set()
    found = {_in_general(decision.reason) for decision in made if not decision.taken}
    found |= {f"{n.target}" for n in rest if n.target not in conversion.HANDLERS}
    return "part" if count else "left", found or {
        "no region around it" if not made else "several kernels"}


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--patterns", type=pathlib.Path, default=results.PATTERNS)
    parser.add_argument("--list", nargs="+", choices=OUTCOMES, default=[],
                        help="the patterns of an outcome, with their obstacles")
    parser.add_argument("--always", action="store_true",
                        help="takes what the estimate would leave as well")
    parser.add_argument("--out", type=pathlib.Path, help="JSON for the dashboard")
    options = parser.parse_args()
    counts = {block: dict.fromkeys(("models", *OUTCOMES), 0) for block in results.BLOCKS}
    models = set()
    alone: collections.Counter[str] = collections.Counter()
    at_all: collections.Counter[str] = collections.Counter()
    with (lnbwd.simulate(), no_kernels(),
          always_taken() if options.always else contextlib.nullcontext()):
        for place, line in enumerate(results.patterns(options.patterns)):
            pattern = json.loads(line)
            outcome, obstacles = examine(pattern)
            count = counts[results.BLOCKS[not pattern.get("seen", True)]]
            count[outcome] += 1
            model = pattern["model"].split()[0]
            count["models"] += model not in models
            models.add(model)
            at_all.update(obstacles)
            alone.update(obstacles if len(obstacles) == 1 else ())
            if outcome in options.list:
                print(f"{place}: {outcome}, {pattern['model']}: {'; '.join(sorted(obstacles))}")
    print(f"| of models | number | {' | '.join(OUTCOMES)} |\n|---|---|---|---|---|")
    for block, of_block in counts.items():
        print(f"| {block} | {' | '.join(map(str, of_block.values()))} |")
    print("\n| obstacle | alone | at all |\n|---|---|---|")
    for obstacle, times in at_all.most_common(40):
        print(f"| {obstacle} | {alone[obstacle]} | {times} |")
    if options.out:
        options.out.write_text(json.dumps({
            "rows": [{"block": block, **of_block} for block, of_block in counts.items()],
            "command": ["region_exam.py", *["--always"] * options.always]}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
