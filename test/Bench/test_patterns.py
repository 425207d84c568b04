# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Patterns of real models: graphs of some, and how many of their fused nodes are converted."""

import collections
import json
import operator
import os

import loaded_python
import pytest

pytest.importorskip("torch")

import torch

from conftest import ROOT
from lnbwd_bench import capture, results
from lnbwd_bench.patterns import graph_of

LEAST = {"mix-order": 0.75, "pointwise": 1.0, "reduction": 0.93}
"""Shares of the fused nodes that are converted, of every 120th pattern."""

COUNT = """
import collections, json
import regions
from lnbwd_bench import capture, results

capture.pretend_gpu()
counts = collections.Counter()
for line in results.patterns()[60::120]:
    for node in regions.converted(json.loads(line)):
        counts[node["kind"], "reason" not in node] += 1
print(json.dumps([[*key, count] for key, count in counts.items()]))
"""


def test_no_fewer_nodes_are_converted():
    """In a process of its own, which has a GPU that it only pretends to have."""
    path = os.pathsep.join(str(ROOT / part) for part in ("bench", "python"))
    process = loaded_python.run(["-c", COUNT], env={**os.environ, "PYTHONPATH": path})
    assert process.returncode == 0, process.stderr
    counts = collections.defaultdict(dict)
    for kind, is_converted, count in json.loads(process.stdout.splitlines()[-1]):
        counts[kind][is_converted] = count
    shares = {kind: of_kind.get(True, 0) / sum(of_kind.values())
              for kind, of_kind in counts.items()}
    assert shares.keys() == LEAST.keys()
    assert all(shares[kind] >= least for kind, least in LEAST.items()), shares


def test_a_pattern_is_a_graph():
    pattern = json.loads(results.patterns()[1])
    module = graph_of(pattern)
    values = [n.meta["val"] for n in module.graph.nodes if n.op == "placeholder"]
    made = module(*values)
    assert [tuple(m.shape) for m in made] == [
        tuple(n.meta["val"].shape) for n in module.graph.output_node().args[0]]


def test_what_leads_to_other_operands_of_a_convolution_is_of_another_kernel():
    """Inductor has it among the origins of the kernel of one operand."""
    aten, graph = torch.ops.aten, torch.fx.Graph()
    gradient, image, weight = map(graph.placeholder, "giw")
    first = graph.call_function(aten.relu.default, (gradient,))
    total = graph.call_function(aten.sum.dim_IntList, (first, [0, 2, 3]))
    other = graph.call_function(aten.mul.Tensor, (image, 2))
    both = graph.call_function(aten.convolution_backward.default, (first, other, weight))
    result = graph.call_function(operator.getitem, (both, 0))
    last = graph.call_function(aten.neg.default, (result,))
    nodes = {first, total, other, both, result, last}
    assert {*map(frozenset, capture.parts_of(nodes))} == {
        frozenset(part) for part in ((first, total, both, result), (other, both, result),
                                     (both, result, last))}
