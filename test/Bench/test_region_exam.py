# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench/region_exam.py: how many patterns of real models are taken, and graphs of some of them."""

import json
import re

import pytest

pytest.importorskip("torch")

import region_exam
from lnbwd_bench import results


def patterns():
    return list(map(json.loads, results.patterns()))


def test_no_fewer_are_taken_whole(monkeypatch, capsys, caplog):
    monkeypatch.setattr("sys.argv", ["region_exam.py"])
    assert region_exam.main() == 0
    found = re.findall(r"looked at \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|",
                       capsys.readouterr().out)
    blocks = [tuple(map(int, numbers)) for numbers in found]
    assert [(models, whole + part + left) for models, whole, part, left in blocks] == [
        (87, 1223), (20, 200)]
    assert len(patterns()) == 1223 + 200
    for (_, whole, part, _), (least, most) in zip(blocks, ((822, 48), (111, 13)), strict=True):
        assert whole >= least and part <= most
    assert not caplog.messages  # No graph is left to Inductor for an error.


def test_a_pattern_is_a_graph():
    pattern = patterns()[1]
    module = region_exam.graph_of(pattern)
    values = [n.meta["val"] for n in module.graph.nodes if n.op == "placeholder"]
    made = module(*values)
    assert [tuple(m.shape) for m in made] == [
        tuple(n.meta["val"].shape) for n in module.graph.output_node().args[0]]
