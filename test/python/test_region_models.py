# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The models of bench/training_step.py through torch.compile(backend="lnbwd"), at their sizes but
for the number of layers, on fake tensors of a GPU as far as Inductor's scheduler; and the patterns
of a small module, as bench/region_capture.py captures them without lnbwd."""

import json
import os
import pathlib
import subprocess
import sys
from typing import NamedTuple

import pytest

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.compiler, pytest.mark.skipif(
    torch.version.cuda is not None and not torch.cuda.is_available(),
    reason="PyTorch with CUDA asks the driver for the GPU that there is not")]

BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench"

# A process of its own: it pretends that there is a GPU.
PROGRAM = """
import dataclasses, json, logging, os, sys
import torch
import region_capture, region_exam
import lnbwd.inductor
from lnbwd.inductor import graph_pass
from lnbwd_bench import models
try:
    region_capture.pretend_gpu()
except (OSError, RuntimeError) as error:
    sys.exit(f"no hook: {error}")
for mode in ("inference bfloat16", "training float32"):
    with torch.device("meta"):
        model = torch.nn.Sequential(torch.nn.LayerNorm(64), torch.nn.Linear(64, 32))
        x = torch.empty(8, 64)
    print(json.dumps(region_capture.capture("Tiny", mode, model, x)), flush=True)
logging.getLogger("lnbwd.regions").addHandler(logging.StreamHandler(sys.stderr))
region_capture._CONFIG["post_grad_custom_pre_pass"] = lnbwd.inductor.pass_()
region_capture._CONFIG["joint_custom_post_pass"] = graph_pass.RecomputePass()
for kind, mode in (argument.split(":") for argument in sys.argv[1:]):
    config = next(c for c in models.CONFIGS.values() if c.kind == kind)
    config = dataclasses.replace(config, layers=1)
    with torch.device("meta"):
        model = models.make_model(config, "meta")
    batch = [t.to("meta") for t in models.make_batch(config)]
    with region_exam.no_kernels():
        region_capture.capture(kind, mode, model, *batch)
    print(json.dumps([(d.taken, d.reason) for d in lnbwd.inductor.decisions(clear=True)]),
          flush=True)
os._exit(0)  # Autograd's thread for a GPU that is not there may still be at work.
"""
TRAINING = "training autocast"
# Of each kind and mode at least how many regions are taken: norms with weights and without, forward
# alone and with the backward pass.
LEAST = {("gpt2", TRAINING): 9, ("llama", "inference bfloat16"): 3, ("dit", TRAINING): 9}
# With --full alone: what differs in their norms is in graphs of test_torch_layouts.py (a class
# token), of test_torch_inductor.py (1 + weight; RMSNorm with its backward pass) and of
# test_region_exam.py (patterns of BERT).
MORE = {("llama", TRAINING): 9, ("BertForMaskedLM", TRAINING): 12, ("vit", TRAINING): 7,
        ("gemma", TRAINING): 9}


class Captured(NamedTuple):
    """What the process printed: of each mode of the small module its patterns, and of each kind and
    mode of model the decisions; and what was logged."""

    patterns: list
    decisions: dict
    log: str


@pytest.fixture(scope="module")
def captured(request):
    pytest.importorskip("transformers")
    models = [*LEAST, *(MORE if request.config.getoption("--full") else ())]
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM, *map(":".join, models)], capture_output=True, text=True,
        check=False, env={
            **os.environ, "PYTHONPATH": str(BENCH),
            "TORCH_EXTENSIONS_DIR": os.path.join(os.environ["LNBWD_TEST_COMPILED"], "hooks")})
    if result.stderr.startswith("no hook"):
        pytest.skip(result.stderr)
    assert result.returncode == 0, result.stderr
    printed = list(map(json.loads, result.stdout.splitlines()))
    return Captured(printed[:2], dict(zip(models, printed[2:], strict=True)), result.stderr)


@pytest.mark.parametrize("kind,mode", [
    *LEAST, *(pytest.param(*model, marks=pytest.mark.full) for model in MORE)])
def test_regions_are_taken(captured, kind, mode):
    decisions = captured.decisions[kind, mode]
    assert not [reason for _, reason in decisions if "error" in reason]
    assert sum(taken for taken, _ in decisions) >= (LEAST | MORE)[kind, mode]


def test_regions_are_lowered(captured):
    """Not called as operators, which is logged."""
    assert "called as an operator" not in captured.log


def test_patterns_of_a_layer_norm(captured):
    inference, training = captured.patterns
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
