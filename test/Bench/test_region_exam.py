# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench/region_exam.py: how many patterns of real models are taken, and graphs of some of them."""

import json
import lzma
import operator
import re

import pytest

pytest.importorskip("torch")

import torch

import lnbwd
import region_capture
import region_exam
from lnbwd_bench import results

# Of every so many patterns in both blocks: how many models and patterns there are, and how many are
# taken whole at least and in part at most.
LIMITS = {1: ((740, 3670, 2789, 69), (453, 1857, 1395, 14)),
          8: ((413, 460, 354, 12), (164, 231, 179, 3))}


@pytest.mark.parametrize("every", [8, pytest.param(1, marks=pytest.mark.full)])
def test_no_fewer_are_taken_whole(monkeypatch, tmp_path, capsys, caplog, every):
    file = tmp_path / "patterns.jsonl.xz"
    file.write_bytes(lzma.compress("\n".join(results.patterns()[::every]).encode()))
    monkeypatch.setattr("sys.argv", ["region_exam.py", "--patterns", str(file)])
    assert region_exam.main() == 0
    found = re.findall(r"looked at \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|",
                       capsys.readouterr().out)
    assert len(found) == len(LIMITS[every])
    for block, (models, patterns, least, most) in zip(found, LIMITS[every], strict=True):
        models_met, whole, part, left = map(int, block)
        assert (models_met, whole + part + left) == (models, patterns)
        assert whole >= least and part <= most, block
    assert not caplog.messages  # No graph is left to Inductor for an error.


def test_what_the_estimate_leaves_can_be_taken():
    """The norm of pixels, of channels that are loaded one by one."""
    pattern = json.loads(results.patterns()[339])
    with lnbwd.simulate(), region_exam.no_kernels():
        assert region_exam.examine(pattern)[0] != "whole"
        with region_exam.always_taken():
            assert region_exam.examine(pattern) == ("whole", set())


def test_a_pattern_is_a_graph():
    pattern = json.loads(results.patterns()[1])
    module = region_exam.graph_of(pattern)
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
    assert {*map(frozenset, region_capture.parts_of(nodes))} == {
        frozenset(part) for part in ((first, total, both, result), (other, both, result),
                                     (both, result, last))}
