# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Results of patterns of real models, with NaN and infinities too (pattern_check.py)."""

import json

import pytest

torch = pytest.importorskip("torch")

import pattern_check  # noqa: E402

import lnbwd  # noqa: E402
import regions  # noqa: E402
from lnbwd.ops import region_programs  # noqa: E402
from lnbwd_bench import patterns, results  # noqa: E402


def wrong(has_kernels, every, first=0):
    corpus = list(map(json.loads, results.patterns()))
    with lnbwd.simulate(), torch.no_grad():
        found = {place: pattern_check.check(corpus[place], has_kernels)
                 for place in range(first, len(corpus), every)}
    return found


@pytest.mark.parametrize("has_kernels,every", [
    (False, 120), (True, 240), pytest.param(False, 1, marks=pytest.mark.full),
    pytest.param(True, 7, marks=pytest.mark.full)])
def test_results_are_right(has_kernels, every, build):
    if not (build / "lib" / "liblnbwd-hip-sim.so").exists():
        pytest.skip("no simulator in the build")
    found = wrong(has_kernels, every, first=every // 2)
    assert not {place: faults for place, faults in found.items() if faults}
    assert sum(faults is not None for faults in found.values()) >= 0.4 * len(found)


def test_what_is_wrong_is_found():
    exact = torch.linspace(1, 2, 64, dtype=torch.float64)
    eager = exact.float()
    assert not patterns.faults([eager * (1 + 1e-7)], [eager], [exact])
    assert "an error of 1.0e-05" in patterns.faults(
        [eager * (1 + 1e-5)], [eager], [exact])[0]
    mask = exact > 1.5
    assert not patterns.faults([mask], [mask], [mask])
    assert patterns.faults([~mask], [mask], [mask])
    hole = torch.where(eager > 1.5, eager, torch.nan)
    assert "32 of 64" in patterns.faults([hole], [eager], [exact])[0]
    assert not patterns.faults([hole], [hole], [exact])
    assert "expected torch.float32 (64,), got torch.bfloat16 (64,)" in patterns.faults(
        [eager.bfloat16()], [eager], [exact])[0]


def test_a_pattern_has_few_rows():
    pattern = {"model": "Of tokens", "outputs": [3], "inputs": [
        ["float32", [4096, 768], [2304, 1]], ["float32", [768], [1]]],
        "nodes": [["aten.reshape.default", [{"node": 0}, [8, 512, 768]], {}],
                  ["aten.sum.dim_IntList", [{"node": 2}, [2]], {}]]}
    small = pattern_check._smaller(pattern, pattern_check._of_tokens)
    assert small["inputs"] == [["float32", [8, 768], [2304, 1]], ["float32", [768], [1]]]
    assert small["nodes"][0][1] == [{"node": 0}, [2, 4, 768]]
    assert pattern["inputs"][0][1] == [4096, 768]


def test_what_is_wrong_in_sums_is_found(monkeypatch):
    """In sums over all rows."""
    pattern = {"model": "Of tokens", "outputs": [2], "inputs": [
        ["float32", [4096, 768], [768, 1]]],
        "nodes": [["aten.exp.default", [{"node": 0}], {}],
                  ["aten.sum.dim_IntList", [{"node": 1}, [0]], {}]]}
    evaluate, error = region_programs.evaluate, 0
    monkeypatch.setattr(region_programs, "evaluate", lambda *arguments, **options: [
        result * (1 + error) for result in evaluate(*arguments, **options)])
    with lnbwd.simulate(), torch.no_grad():
        assert pattern_check.check(pattern, has_kernels=False) == []
        error = 1e-5
        assert any("an error of" in fault for fault in pattern_check.check(pattern, False))


def test_attention_is_exact_in_its_own_types():
    attend = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default
    narrow = torch.library.Library("attention_of_tests", "DEF")
    narrow.define("attend(Tensor q, Tensor k, Tensor v) -> (Tensor, Tensor)")
    seen = []

    def attend_in_float32(q, k, v):
        seen.append((q.dtype, k.dtype, v.dtype))
        return attend(q, k, v)

    narrow.impl("attend", attend_in_float32, "CPU")
    inputs = [["float32", [1, 2, 8, 16], [256, 128, 16, 1]]] * 3
    graph = torch.fx.Graph()
    rows = [graph.placeholder(f"x{place}") for place in range(len(inputs))]
    for row in rows:
        row.meta["val"] = torch.empty(inputs[0][1])
    both = graph.call_function(torch.ops.attention_of_tests.attend.default, tuple(rows))
    graph.output(both)
    values = [torch.rand(inputs[0][1], dtype=torch.float64) for _ in rows]
    got = patterns.runnable(torch.fx.GraphModule({}, graph), is_exact=True)(*values)
    assert seen == [(torch.float32,) * 3]
    torch.testing.assert_close(got[0], attend(*(x.float() for x in values))[0].double(),
                               rtol=0, atol=0)
    assert all(x.dtype == torch.float64 for x in got)


def test_additions_come_in_order():
    graph = torch.fx.Graph()
    operands = [graph.placeholder(name) for name in "xiy"]
    for target, has_order in ((torch.ops.aten.add.Tensor, False),
                              (torch.ops.aten.index_put.default, True)):
        graph.call_function(target, (*operands, True) if has_order else (operands[0], 1))
        with regions.in_order(graph):
            assert torch.are_deterministic_algorithms_enabled() == has_order
        assert not torch.are_deterministic_algorithms_enabled()
