# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench/region_capture.py: the patterns of a small module, captured without a GPU."""

import json

import pretended_gpu
import pytest

pytest.importorskip("torch")

PROGRAM = """
for mode in ("inference bfloat16", "training float32"):
    with torch.device("meta"):
        model = torch.nn.Sequential(torch.nn.LayerNorm(64), torch.nn.Linear(64, 32))
        x = torch.empty(8, 64)
    print(json.dumps(region_capture.capture("Tiny", mode, model, x)), flush=True)
"""


def test_patterns_of_a_layer_norm():
    output, _ = pretended_gpu.run(PROGRAM)
    inference, training = map(json.loads, output.splitlines())
    [forward] = inference
    assert forward["model"] == "Tiny inference bfloat16"
    assert forward["inputs"] == [["bfloat16", [8, 64], [64, 1]], ["bfloat16", [64], [1]],
                                 ["bfloat16", [64], [1]]]
    convert, statistics, mean, *_, rounded = forward["nodes"]
    assert convert == ["prims.convert_element_type.default",
                       [{"node": 0}, {"torch": "float32"}], {}]
    assert statistics == ["aten.var_mean.correction", [{"node": 3}, [1]],
                          {"correction": 0, "keepdim": True}]
    assert mean == ["getitem", [{"node": 4}, 0], {}]
    assert rounded[1] == [{"node": 12}, {"torch": "bfloat16"}] and forward["outputs"] == [13]
    # Mean, factor and result of the forward pass; the gradients of the layer's and the norm's bias.
    assert [pattern["outputs"] for pattern in training] == [[5, 7, 11], [1], [7, 8]]
    assert [node[0] for node in training[2]["nodes"]] == [
        "aten.sub.Tensor", "aten.mul.Tensor", "aten.mul.Tensor", "aten.sum.dim_IntList",
        "aten.sum.dim_IntList"]
