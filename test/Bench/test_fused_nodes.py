# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Row programs of fused nodes of docs/results have PyTorch's results; bench/regions.py counts
nodes."""

import copy
import json
import lzma

import pytest

torch = pytest.importorskip("torch")

import dashboard  # noqa: E402
import regions as command  # noqa: E402
from lnbwd.ops.regions import region_call  # noqa: E402
from lnbwd_bench import capture, results  # noqa: E402
from lnbwd_bench.patterns import expected, faults, inputs_of  # noqa: E402

CHECKED = (575, 951, 1137, 1201, 1226)
"""Lines of the file: nodes of each kind, some of several programs, with few elements."""


def caller(row, which):
    """A function that computes a pattern by its row programs, or by ``other`` ones."""
    calls = [call for node in row["fused"] for call in node.get(which, node["calls"])]
    functions = [region_call(call["program"], "cpu") for call in calls]

    def run(*inputs):
        tensors = dict(zip(row["given"], inputs, strict=True))
        for name, (dtype, size, stride) in row["buffers"].items():
            if name not in row["given"]:
                tensors[name] = torch.empty_strided(size, stride, dtype=getattr(torch, dtype))
        for function, call in zip(functions, calls, strict=True):
            function(*call["numbers"], *(
                torch.as_strided(tensors[name], (count,), (1,),
                                 tensors[name].storage_offset() + offset)
                for name, offset, count in call["arguments"]))
        return [tensors[name].as_strided(size, stride, tensors[name].storage_offset() + offset)
                for name, size, stride, offset in row["results"]]

    return run


def test_row_programs_are_right():
    """Computed by PyTorch's operations."""
    lines = results.patterns(results.FUSED_NODES)
    rows = [json.loads(lines[line]) for line in CHECKED]
    assert {node["kind"] for row in rows for node in row["fused"]} == {
        "pointwise", "reduction", "mix-order"}
    for row in rows:
        inputs = inputs_of(row)
        wanted = expected(row, inputs)
        for which in ("calls", "other"):
            torch.manual_seed(0)
            assert not faults(caller(row, which)(*copy.deepcopy(inputs)), *wanted)


@pytest.fixture
def counted(monkeypatch, tmp_path):
    """What convert writes of two patterns; a third cannot be compiled."""
    found = iter([
        [{"kind": "reduction"}], None,
        [{"kind": "reduction", "reason": "a scan"}, {"kind": "pointwise"}]])

    def converted(_):
        if nodes := next(found):
            return nodes
        raise RuntimeError("no graph")

    monkeypatch.setattr(capture, "pretend_gpu", lambda: None)
    monkeypatch.setattr(command, "converted", converted)
    (tmp_path / "patterns.jsonl.xz").write_bytes(lzma.compress(b'{"model": "tiny"}\n' * 3))
    monkeypatch.setattr("sys.argv", [
        "regions.py", "convert", str(tmp_path / "patterns.jsonl.xz"), "--out",
        str(tmp_path / "counts.json")])
    assert command.main() == 0
    return tmp_path / "counts.json"


def test_converted_nodes_of_each_kind_are_counted(counted):
    assert json.loads(counted.read_text())["results"] == [
        {"kind": "pointwise", "nodes": 1, "converted": 1},
        {"kind": "reduction", "nodes": 2, "converted": 1}]


def test_the_dashboard_takes_counts(counted):
    block = dashboard.take("converted", [counted])
    assert block["command"].startswith("regions.py convert") and block["machine"] == "one core"
    assert "| reduction | 2 | 1 | 50 |" in dashboard.converted(block)
