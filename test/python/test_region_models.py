# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The models of bench/training_step.py through torch.compile(backend="lnbwd"), at their sizes but
for the number of layers, on fake tensors of a GPU as far as Inductor's scheduler."""

import json

import pretended_gpu
import pytest

pytest.importorskip("torch")
pytestmark = pytest.mark.compiler

PROGRAM = """
import dataclasses, logging
import region_exam
import lnbwd.inductor
from lnbwd.inductor import graph_pass
from lnbwd_bench import models
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
"""
TRAINING = "training autocast"
# Of each kind and mode at least how many regions are taken.
LEAST = {("gpt2", TRAINING): 9, ("vit", TRAINING): 7, ("llama", TRAINING): 9,
         ("llama", "inference bfloat16"): 3, ("gemma", TRAINING): 9, ("dit", TRAINING): 9,
         ("BertForMaskedLM", TRAINING): 12}


@pytest.fixture(scope="module")
def made():
    """Of each kind and mode the decisions; and what was logged."""
    pytest.importorskip("transformers")
    output, log = pretended_gpu.run(PROGRAM, *map(":".join, LEAST))
    decisions = map(json.loads, output.splitlines())
    return dict(zip(LEAST, decisions, strict=True)), log


@pytest.mark.parametrize("kind,mode", LEAST)
def test_regions_are_taken(made, kind, mode):
    decisions = made[0][kind, mode]
    assert not [reason for _, reason in decisions if "error" in reason]
    assert sum(taken for taken, _ in decisions) >= LEAST[kind, mode]


def test_regions_are_lowered(made):
    """Not called as operators, which is logged."""
    assert "called as an operator" not in made[1]
