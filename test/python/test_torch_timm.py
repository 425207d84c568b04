# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""lnbwd.patch on timm's models, built small: which modules it takes, and that loss and gradients
stay what they were.

timm imports torchvision, whose operators are compiled for one build of PyTorch and are not there in
another. Models of images alone do not call them: their names are enough.
"""

import importlib.util
import pathlib

import pytest
import torch

import lnbwd

_NAMES = ("nms qnms roi_align qroi_align _roi_align_backward ps_roi_align _ps_roi_align_backward "
          "roi_pool _roi_pool_backward ps_roi_pool _ps_roi_pool_backward deform_conv2d "
          "_deform_conv2d_backward box_iou_rotated")


_libraries = []


@pytest.fixture(scope="module")
def timm():
    found = importlib.util.find_spec("torchvision")
    if found is None:
        pytest.skip("no torchvision here")
    try:
        for file in pathlib.Path(found.submodule_search_locations[0]).glob("_C*.so"):
            torch.ops.load_library(file)
    except OSError:
        _libraries.append(torch.library.Library("torchvision", "DEF"))
        for name in _NAMES.split():
            _libraries[0].define(f"{name}() -> ()")
    return pytest.importorskip("timm")


# A model, what makes it small, the norms that are taken, and those that are none.
MODELS = [
    ("vit_tiny_patch16_224", {"img_size": 32, "depth": 2, "embed_dim": 48, "num_heads": 3},
     {"LayerNorm": 5}),
    ("eva02_tiny_patch14_224", {"img_size": 28, "depth": 1, "embed_dim": 48, "num_heads": 3},
     {"LayerNorm": 3}),
    ("swin_tiny_patch4_window7_224", {"img_size": 32, "window_size": 4, "depths": (1, 1),
                                      "embed_dim": 24, "num_heads": (3, 3)}, {"LayerNorm": 7}),
    ("convnext_atto", {"depths": (1, 1, 1, 1), "dims": (8, 8, 16, 16)}, {"LayerNorm2d": 9}),
]


@pytest.mark.parametrize("name,options,expected", MODELS, ids=[name for name, *_ in MODELS])
def test_models(timm, device, name, options, expected):
    torch.manual_seed(0)
    model = timm.create_model(name, num_classes=7, **options).to(device)
    size = options.get("img_size", 32)
    images = torch.randn(2, 3, size, size, device=device)

    def step():
        torch.manual_seed(1)  # Some leave out branches at random.
        model.zero_grad()
        y = model(images)
        y.square().sum().backward()
        return [y.detach(), *(p.grad.clone() for p in model.parameters() if p.grad is not None)]

    before = step()
    patched = lnbwd.patch(model, quiet=True)
    assert patched.classes == expected
    for got, want in zip(step(), before, strict=True):
        torch.testing.assert_close(got, want, rtol=2e-4, atol=2e-5 * float(want.abs().max()) + 1e-7)
    patched.undo()
    assert all(torch.equal(a, b) for a, b in zip(step(), before, strict=True))
