# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Patches timm's models, built small, and compares loss and gradients with what they were.

Prints a JSON object: for each model the classes of the modules that were taken. A process of its
own, with timm and torchvision in PYTHONPATH: torchvision's operators are compiled for one build of
PyTorch and are not there in another. Models of images alone do not call them: their names are
enough here, but would not be for others who import it.
"""

import importlib.util
import json
import pathlib

import torch

import lnbwd

_NAMES = ("nms qnms roi_align qroi_align _roi_align_backward ps_roi_align _ps_roi_align_backward "
          "roi_pool _roi_pool_backward ps_roi_pool _ps_roi_pool_backward deform_conv2d "
          "_deform_conv2d_backward box_iou_rotated")

# A model and what makes it small.
MODELS = {
    "vit_tiny_patch16_224": {"img_size": 32, "depth": 2, "embed_dim": 48, "num_heads": 3},
    "eva02_tiny_patch14_224": {"img_size": 28, "depth": 1, "embed_dim": 48, "num_heads": 3},
    "swin_tiny_patch4_window7_224": {"img_size": 32, "window_size": 4, "depths": (1, 1),
                                     "embed_dim": 24, "num_heads": (3, 3)},
    "convnext_atto": {"depths": (1, 1, 1, 1), "dims": (8, 8, 16, 16)},
}


def define_missing_names() -> torch.library.Library:
    [folder] = importlib.util.find_spec("torchvision").submodule_search_locations
    library = torch.library.Library("torchvision", "FRAGMENT")
    try:
        for file in pathlib.Path(folder).glob("_C*.so"):
            torch.ops.load_library(file)
    except OSError:
        for name in _NAMES.split():
            library.define(f"{name}() -> ()")
    return library


def try_model(timm, name: str, options: dict, device: str) -> dict[str, int]:
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
    patched = lnbwd.patch(model)
    for got, want in zip(step(), before, strict=True):
        torch.testing.assert_close(got, want, rtol=2e-4, atol=2e-5 * float(want.abs().max()) + 1e-7)
    taken = dict(patched.classes)
    patched.undo()
    assert all(torch.equal(a, b) for a, b in zip(step(), before, strict=True))
    return taken


def main() -> None:
    library = define_missing_names()
    import timm

    device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cuda":
        taken = {name: try_model(timm, name, options, device) for name, options in MODELS.items()}
    else:
        with lnbwd.simulate("gfx942"):
            taken = {name: try_model(timm, name, options, device)
                     for name, options in MODELS.items()}
    del library
    print(json.dumps(taken))


if __name__ == "__main__":
    main()
