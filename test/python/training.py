# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A small transformer and its training, for the tests and for ddp.py."""

import torch


class Block(torch.nn.Module):
    """Attention and a perceptron, each after a norm."""

    def __init__(self, width, make_norm):
        super().__init__()
        self.first, self.second = make_norm(width), make_norm(width)
        self.attention = torch.nn.MultiheadAttention(width, 4, batch_first=True)
        self.up, self.down = torch.nn.Linear(width, 2 * width), torch.nn.Linear(2 * width, width)

    def forward(self, x, mask):
        h = self.first(x)
        x = x + self.attention(h, h, h, attn_mask=mask, need_weights=False)[0]
        return x + self.down(torch.nn.functional.gelu(self.up(self.second(x))))


class TinyTransformer(torch.nn.Module):
    """Predicts the next of 16 tokens. ``module`` has LayerNorm and RMSNorm: torch.nn or lnbwd.nn;
    the parameters are the same for both."""

    def __init__(self, norm, module, width=64, layers=2, length=16):
        super().__init__()
        torch.manual_seed(0)
        make_norm = module.LayerNorm if norm == "layer_norm" else module.RMSNorm
        self.tokens = torch.nn.Embedding(16, width)
        self.places = torch.nn.Parameter(0.1 * torch.randn(length, width))
        self.blocks = torch.nn.ModuleList(Block(width, make_norm) for _ in range(layers))
        self.last, self.head = make_norm(width), torch.nn.Linear(width, 16)

    def forward(self, tokens):
        length = tokens.shape[1]
        mask = torch.full((length, length), float("-inf"), device=tokens.device).triu(1)
        x = self.tokens(tokens) + self.places[:length]
        for block in self.blocks:
            x = block(x, mask)
        return self.head(self.last(x))


def batch(step, size, device, length=16):
    """Sequences in which a token follows from the two before it."""
    generator = torch.Generator().manual_seed(step)
    tokens = torch.randint(16, (size, length + 1), generator=generator)
    for place in range(2, length + 1):
        tokens[:, place] = (tokens[:, place - 1] + 3 * tokens[:, place - 2]) % 16
    return tokens[:, :-1].to(device), tokens[:, 1:].to(device)


def loss_of(model, tokens, targets):
    return torch.nn.functional.cross_entropy(model(tokens).flatten(0, 1), targets.flatten())


def train(model, steps, device, perturb=0.0):
    """Losses of ``steps`` steps of AdamW, the parameters starting ``perturb`` off, relatively."""
    model.to(device)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(1 + perturb)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    losses = []
    for step in range(steps):
        loss = loss_of(model, *batch(step, 8, device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
