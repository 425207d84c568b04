# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""lnbwd.patch on timm's own models: which modules it takes, and that they train as before."""

import json
import os
import pathlib

import loaded_python
import pytest

from conftest import ROOT

HERE = pathlib.Path(__file__).resolve().parent
BESIDE = pathlib.Path(os.environ.get("LNBWD_BUILD_DIR", ROOT / "build")) / "beside"


def test_models():
    if not (BESIDE / "timm").is_dir():
        pytest.skip("scripts/test.sh installs timm, and it is not there")
    path = [str(ROOT / "python"), str(BESIDE), *filter(None, [os.environ.get("PYTHONPATH")])]
    result = loaded_python.run([HERE / "timm_models.py"],
                               env=dict(os.environ, PYTHONPATH=os.pathsep.join(path)))
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout.splitlines()[-1]) == {
        "vit_tiny_patch16_224": {"LayerNorm": 5},
        "eva02_tiny_patch14_224": {"LayerNorm": 3},
        "swin_tiny_patch4_window7_224": {"LayerNorm": 7},
        "convnext_atto": {"LayerNorm2d": 9},
    }
