# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models compile and train without Triton and without a compiler of C++ (models_without_triton.py):
row programs compute every fused node."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

from conftest import ROOT

BESIDE = pathlib.Path(os.environ.get("LNBWD_BUILD_DIR", ROOT / "build")) / "beside"
SCRIPT = pathlib.Path(__file__).with_name("models_without_triton.py")
pytestmark = [pytest.mark.compiler, pytest.mark.simulator,
              pytest.mark.skipif(not (BESIDE / "timm").is_dir(),
                                 reason="scripts/test.sh installs timm, and it is not there")]


MODELS = ("GPT-2", "Llama", "BERT", "BERT with dropout", "T5", "ViT", "ConvNeXt", "ResNet", "Swin")


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What came of each model, of one process: its imports take as long as a model or two."""
    path = [str(ROOT / "python"), str(BESIDE), *filter(None, [os.environ.get("PYTHONPATH")])]
    done = subprocess.run(
        [sys.executable, SCRIPT, *MODELS], capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path), "LNBWD_SIMULATE": "gfx942",
             "TORCHINDUCTOR_CACHE_DIR": str(tmp_path_factory.mktemp("inductor"))})
    assert done.returncode == 0, done.stderr[-4000:]
    return {one["model"]: one for one in map(json.loads, done.stdout.splitlines())}


@pytest.mark.parametrize("model", MODELS)
def test_models(found, model):
    one = found[model]
    assert one["taken"] and not one["left"], one
    if model != "BERT with dropout":  # float64's drops other elements.
        assert one["loss"] < 1e-6 and one["gradients"] < 1e-5, one
