# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench/region_exam.py: how many patterns of real models are taken, and graphs of some of them."""

import json
import lzma
import re

import pytest

pytest.importorskip("torch")

import lnbwd
import region_exam
from lnbwd_bench import results

# Of every so many patterns in both blocks: how many models and patterns there are, and how many are
# taken whole at least and in part at most.
LIMITS = {1: ((171, 1588, 1243, 34), (59, 322, 242, 14)),
          8: ((154, 200, 149, 6), (40, 40, 29, 3))}


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
    pattern = json.loads(results.patterns()[340])
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
