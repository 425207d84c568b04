# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Three steps of a GPT-2-like block with gradient accumulation have the same gradients of norms.

Products of matrices and attention are PyTorch's, whose order of additions depends on the batch:
they run sample by sample here, and are not trained.
"""

import torch
import torch.nn.functional as F

import lnbwd
from lnbwd.distributed import GradientTree, leaf_rows

N, HEADS, WORDS, SAMPLES = 520, 4, 32, 4
TOKENS = leaf_rows(N)  # Of a sample: one leaf.


def make_weights():
    generator = torch.Generator().manual_seed(5)
    return {name: torch.randn(shape, generator=generator) / N ** 0.5
            for name, shape in (("words", (WORDS, N)), ("qkv", (3 * N, N)), ("out", (N, N)),
                                ("up", (2 * N, N)), ("down", (N, 2 * N)))}


def attend(x, weights):
    q, k, v = (part.reshape(TOKENS, HEADS, -1).transpose(0, 1)
               for part in F.linear(x, weights["qkv"]).chunk(3, -1))
    mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    return F.linear(mixed.transpose(0, 1).reshape(TOKENS, N), weights["out"])


def losses(tokens, norms, weights):
    """Of each sample, a sum over its tokens."""
    def normalised(x, i):
        return lnbwd.layer_norm(x, (N,), norms[2 * i], norms[2 * i + 1])

    x = weights["words"][tokens]
    x = x + torch.stack([attend(sample, weights) for sample in normalised(x, 0)])
    x = x + torch.stack([F.linear(F.gelu(F.linear(sample, weights["up"])), weights["down"])
                         for sample in normalised(x, 1)])
    return [F.cross_entropy(F.linear(sample, weights["words"])[:-1], words[1:], reduction="sum")
            for sample, words in zip(normalised(x, 2), tokens, strict=True)]


def train(parts, device):
    """The gradients of all norms' parameters in two steps; the second has other weights."""
    weights = {name: weight.to(device) for name, weight in make_weights().items()}
    norms = [torch.nn.Parameter(torch.full((N,), 1.0 - i % 2, device=device)) for i in range(6)]
    generator = torch.Generator().manual_seed(7)
    found = []
    for _ in range(2):
        tokens = torch.randint(WORDS, (SAMPLES, TOKENS), generator=generator).to(device)
        tree = GradientTree(norms)
        for some in tokens.chunk(parts):
            sum(losses(some, norms, weights)).backward()
            tree.add(rows=some.numel())
        tree.reduce()
        found.append([parameter.grad.clone() for parameter in norms])
        with torch.no_grad():
            for parameter in norms:
                parameter -= 1e-3 * parameter.grad
                parameter.grad = None
    return found


def test_gradient_accumulation(device):
    with lnbwd.batch_invariant():
        whole, *others = (train(parts, device) for parts in (1, 2, 4))
    for found in others:
        for step, expected in zip(found, whole, strict=True):
            assert all(map(torch.equal, step, expected))
    assert not torch.equal(whole[0][0], whole[1][0])
