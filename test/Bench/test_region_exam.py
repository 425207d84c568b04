# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench/region_exam.py: how many patterns of real models are taken, and graphs of some of them."""

import json
import lzma
import re

import pytest

pytest.importorskip("torch")

import region_exam


def patterns():
    return [json.loads(line) for line in
            lzma.decompress(region_exam.PATTERNS.read_bytes()).decode().splitlines()]


def test_no_fewer_are_taken_whole(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["region_exam.py"])
    assert region_exam.main() == 0
    found = re.search(r"\| (\d+) \| (\d+) \| (\d+) \|", capsys.readouterr().out)
    whole, part, left = map(int, found.groups())
    assert whole + part + left == len(patterns()) == 911
    assert whole >= 619 and part <= 16


def test_a_pattern_is_a_graph():
    pattern = patterns()[1]
    module = region_exam.graph_of(pattern)
    values = [n.meta["val"] for n in module.graph.nodes if n.op == "placeholder"]
    made = module(*values)
    assert [tuple(m.shape) for m in made] == [
        tuple(n.meta["val"].shape) for n in module.graph.output_node().args[0]]
