# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small models of transformers and timm, each trained for a step through torch.compile where Triton
cannot be imported and there is no compiler of C++.

Run as a program, it prints a line of JSON for each model: the relative errors of the loss and of
the gradients against float64, how many fused nodes were taken, and what was left to Inductor. On a
GPU the models run there, else on a simulated one.

  models_without_triton.py [MODEL ...]
"""

import copy
import importlib.machinery
import json
import math
import os
import sys


class WithoutTriton(importlib.machinery.PathFinder):
    """Finds all modules but Triton's."""

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        """As the interface of finders has it."""
        return None if name.partition(".")[0] == "triton" else super().find_spec(name, path, target)


sys.meta_path[sys.meta_path.index(importlib.machinery.PathFinder)] = WithoutTriton
# Nor does Inductor try what the processor has, which needs a compiler.
os.environ.update(CXX="/nonexistent/c++", CC="/nonexistent/cc", TORCHINDUCTOR_VEC_ISA_OK="0")

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from timm_models import define_missing_names  # noqa: E402

import lnbwd.inductor  # noqa: E402

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
WORDS, WIDTH = 50, 32


def of_tokens(name, **sizes):
    """A language model."""
    import transformers

    kind = getattr(transformers, name)
    config = kind.config_class(vocab_size=WORDS, bos_token_id=0, eos_token_id=1, pad_token_id=2,
                               **sizes)
    ids = torch.randint(3, WORDS, (2, 8), device=DEVICE)
    return kind(config), lambda model: model(input_ids=ids, labels=ids).loss


def of_images(make, count=2, side=32):
    """A classifier of images."""
    images, classes = torch.randn(count, 3, side, side), torch.arange(count, device=DEVICE)
    images = images.to(DEVICE, memory_format=torch.channels_last)
    return make().to(memory_format=torch.channels_last), lambda model: F.cross_entropy(
        model(images.to(next(model.parameters()).dtype)), classes)


def vit():
    from timm.models.vision_transformer import VisionTransformer
    return of_images(lambda: VisionTransformer(32, 8, embed_dim=WIDTH, depth=1, num_heads=2,
                                               num_classes=10))


def convnext():
    from timm.models.convnext import ConvNeXt
    return of_images(lambda: ConvNeXt(
        num_classes=10, depths=(1, 1, 1, 1), dims=(8, 8, 16, 16)))


def resnet():
    from timm.models.resnet import Bottleneck, ResNet
    return of_images(lambda: ResNet(
        Bottleneck, (1, 1, 1, 1), channels=(8, 8, 16, 16), num_classes=10), count=4, side=64)


def swin():
    from timm.models.swin_transformer import SwinTransformer
    return of_images(lambda: SwinTransformer(
        32, 2, num_classes=10, embed_dim=16, depths=(2,), num_heads=(2,), window_size=4,
        drop_path_rate=0))


_LAYERS = {"num_hidden_layers": 1, "hidden_size": WIDTH, "intermediate_size": 2 * WIDTH,
           "num_attention_heads": 2, "max_position_embeddings": 16}
MODELS = {
    "GPT-2": lambda: of_tokens("GPT2LMHeadModel", n_layer=1, n_embd=WIDTH, n_head=2, n_positions=16,
                               resid_pdrop=0, embd_pdrop=0, attn_pdrop=0),
    "Llama": lambda: of_tokens("LlamaForCausalLM", num_key_value_heads=1, **_LAYERS),
    "BERT": lambda: of_tokens("BertForMaskedLM", hidden_dropout_prob=0,
                              attention_probs_dropout_prob=0, **_LAYERS),
    "BERT with dropout": lambda: of_tokens("BertForMaskedLM", **_LAYERS),
    "T5": lambda: of_tokens("T5ForConditionalGeneration", num_layers=1, d_model=WIDTH,
                            d_ff=2 * WIDTH, d_kv=16, num_heads=2, dropout_rate=0,
                            decoder_start_token_id=0),
    "ViT": vit, "ConvNeXt": convnext, "ResNet": resnet, "Swin": swin,
}


def gradients(model, loss_of):
    """The loss and the gradients of a step, from the same random numbers on."""
    torch.manual_seed(1)
    model.zero_grad()
    loss = loss_of(model)
    loss.backward()
    return loss.item(), {name: p.grad.double() for name, p in model.named_parameters()
                         if p.grad is not None}


def trained(name):
    """What came of a model."""
    torch.manual_seed(0)
    torch._dynamo.reset()
    model, loss_of = MODELS[name]()
    model = model.to(DEVICE).train()
    exact, want = gradients(copy.deepcopy(model).double(), loss_of)
    lnbwd.inductor.decisions(clear=True)
    loss, got = gradients(torch.compile(model, backend="lnbwd"), loss_of)
    got = {key.removeprefix("_orig_mod."): value for key, value in got.items()}
    difference = math.hypot(*(float((got[key] - want[key]).norm()) for key in want))
    made = lnbwd.inductor.decisions()
    return {"model": name, "loss": abs(loss - exact) / exact,
            "gradients": difference / math.hypot(*(float(one.norm()) for one in want.values())),
            "taken": sum(one.taken for one in made),
            "left": [str(one) for one in made if not one.taken]}


if __name__ == "__main__":
    _library = define_missing_names()
    if DEVICE == "cpu":  # As the backend does on a GPU without Triton.
        torch.use_deterministic_algorithms(True, warn_only=True)
    for chosen in sys.argv[1:] or MODELS:
        print(json.dumps(trained(chosen)), flush=True)
