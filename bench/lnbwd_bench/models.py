# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models whose training steps are timed: the usual shapes of transformers, written out here.

They need PyTorch alone, and are trained on random data: what is measured is the time of a step, and
how the loss of one way to compute it differs from another's. Each norm is a module of PyTorch's
(or, in ``Llama``, one written as Hugging Face writes its own), so that :func:`lnbwd.patch` and
torch.compile see what they see in such models.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint


@dataclasses.dataclass(frozen=True)
class Config:
    """One model and the batch it is trained on.

    Attributes:
        name: what tables call it.
        kind: "gpt2", "vit", "llama", "gemma" or "dit".
        layers, width, heads: depth, width of the residual stream, attention heads.
        batch, tokens: sequences of a batch, and their length.
        vocabulary: classes of the last layer.
        hidden: width of the feed-forward layer; 0: four times ``width``.
        key_heads: heads of keys and values, in a Llama; 0: ``heads``.
        checkpointing: whether each layer of a GPT-2 is computed again in the backward pass.
    """

    name: str
    kind: str
    layers: int
    width: int
    heads: int
    batch: int
    tokens: int
    vocabulary: int
    hidden: int = 0
    key_heads: int = 0
    checkpointing: bool = False


CONFIGS = {config.name: config for config in (
    Config("gpt2-small", "gpt2", 12, 768, 12, 8, 1024, 50304),
    Config("vit-large", "vit", 24, 1024, 16, 64, 257, 1000),
    Config("llama-1b", "llama", 16, 2048, 32, 4, 2048, 32000, 5632, 8),
    Config("gemma", "gemma", 18, 1024, 8, 4, 2048, 32000, 4096, 4),
    Config("dit-xl", "dit", 28, 1152, 16, 16, 256, 0),
    Config("gpt2-checkpoints", "gpt2", 24, 1024, 16, 8, 1024, 50304, checkpointing=True),
    Config("gpt2-1280", "gpt2", 18, 1280, 20, 6, 1024, 50304),
    Config("llama-3072", "llama", 12, 3072, 24, 2, 2048, 32000, 8192, 8))}
"""The models of the training benchmark, by name."""


class Attention(nn.Module):
    """Causal or full attention with one product for queries, keys and values."""

    def __init__(self, width: int, heads: int, causal: bool) -> None:
        super().__init__()
        self.heads, self.causal = heads, causal
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        """Attends over ``x``, [batch, tokens, width]."""
        batch, tokens, width = x.shape
        q, k, v = self.qkv(x).view(batch, tokens, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        result: Tensor = self.out(y.transpose(1, 2).reshape(batch, tokens, width))
        return result


class Block(nn.Module):
    """A transformer's layer with the norms before attention and feed-forward layer."""

    def __init__(self, width: int, heads: int, hidden: int, causal: bool, approximate: str) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads, causal)
        self.up, self.down = nn.Linear(width, hidden), nn.Linear(hidden, width)
        self.approximate = approximate

    def forward(self, x: Tensor) -> Tensor:
        """One layer over the residual stream ``x``."""
        x = x + self.attention(self.norm1(x))
        hidden: Tensor = self.down(F.gelu(self.up(self.norm2(x)), approximate=self.approximate))
        return x + hidden


class Decoder(nn.Module):
    """A language model: embedded tokens, blocks, a norm, and the loss of the next tokens."""

    def __init__(self, config: Config, norm: Callable[[int], nn.Module],
                 block: Callable[[], nn.Module]) -> None:
        super().__init__()
        self.checkpointing, self.is_wide = config.checkpointing, norm is not nn.LayerNorm
        self.tokens = nn.Embedding(config.vocabulary, config.width)
        self.blocks = nn.ModuleList(block() for _ in range(config.layers))
        self.norm = norm(config.width)
        self.head = nn.Linear(config.width, config.vocabulary, bias=False)

    def embed(self, tokens: Tensor) -> tuple[Tensor, ...]:
        """The first values of the residual stream, and what blocks take beside it."""
        return (self.tokens(tokens),)

    def forward(self, tokens: Tensor, targets: Tensor) -> Tensor:
        """The mean loss of the next tokens; of a model with RMSNorm in float32."""
        x, *more = self.embed(tokens)
        for block in self.blocks:
            x = (checkpoint(block, x, *more, use_reentrant=False) if self.checkpointing
                 else block(x, *more))
        logits = self.head(self.norm(x)).flatten(0, 1)
        return F.cross_entropy(logits.float() if self.is_wide else logits, targets.view(-1))


class GPT2(Decoder):
    """A decoder with learned positions, LayerNorm and GELU."""

    def __init__(self, config: Config) -> None:
        super().__init__(config, nn.LayerNorm, lambda: Block(
            config.width, config.heads, config.hidden or 4 * config.width, True, "tanh"))
        self.positions = nn.Embedding(config.tokens, config.width)

    def embed(self, tokens: Tensor) -> tuple[Tensor, ...]:
        """Tokens and positions."""
        places = torch.arange(tokens.shape[1], device=tokens.device)
        return (self.tokens(tokens) + self.positions(places),)


class ViT(nn.Module):
    """An image classifier over patches, which come as they are: no convolution in front."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        width = config.width
        self.patches = nn.Linear(588, width)
        self.first = nn.Parameter(torch.zeros(1, 1, width))
        self.positions = nn.Parameter(torch.randn(1, config.tokens, width) * 0.02)
        self.blocks = nn.ModuleList(
            Block(width, config.heads, config.hidden or 4 * width, False, "none")
            for _ in range(config.layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, config.vocabulary)

    def forward(self, patches: Tensor, targets: Tensor) -> Tensor:
        """The mean loss of the classes."""
        x = self.patches(patches)
        x = torch.cat([self.first.expand(x.shape[0], -1, -1).to(x.dtype), x], 1) + self.positions
        for block in self.blocks:
            x = block(x)
        return F.cross_entropy(self.head(self.norm(x)[:, 0]), targets)


class LlamaNorm(nn.Module):
    """RMSNorm as Hugging Face's models write it."""

    def __init__(self, width: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(width)), eps

    def forward(self, x: Tensor) -> Tensor:
        """Normalises in float32; the scale is applied in x's type."""
        wide = x.to(torch.float32)
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.eps)
        return self.weight * wide.to(x.dtype)


class LlamaBlock(nn.Module):
    """A layer with RMSNorm, rotary positions, grouped keys and a gated feed-forward layer."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        width, hidden = config.width, config.hidden or 4 * config.width
        self.heads, self.key_heads = config.heads, config.key_heads or config.heads
        self.size = width // config.heads
        self.norm1, self.norm2 = LlamaNorm(width), LlamaNorm(width)
        self.q = nn.Linear(width, width, bias=False)
        self.k = nn.Linear(width, self.key_heads * self.size, bias=False)
        self.v = nn.Linear(width, self.key_heads * self.size, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.gate = nn.Linear(width, hidden, bias=False)
        self.up = nn.Linear(width, hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        """One layer over the residual stream ``x``; ``cos`` and ``sin`` are of the positions."""
        batch, tokens, width = x.shape
        h = self.norm1(x)

        def heads(value: Tensor, count: int) -> Tensor:
            return value.view(batch, tokens, count, self.size).transpose(1, 2)

        def rotate(value: Tensor) -> Tensor:
            first, second = value.chunk(2, -1)
            return value * cos + torch.cat([-second, first], -1) * sin

        q = rotate(heads(self.q(h), self.heads))
        k = rotate(heads(self.k(h), self.key_heads))
        v = heads(self.v(h), self.key_heads)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True,
                                           enable_gqa=self.key_heads != self.heads)
        x = x + self.out(y.transpose(1, 2).reshape(batch, tokens, width))
        h = self.norm2(x)
        hidden: Tensor = self.down(F.silu(self.gate(h)) * self.up(h))
        return x + hidden


class Llama(Decoder):
    """A decoder like Llama's, with rotary positions."""

    cos: Tensor
    sin: Tensor

    def __init__(self, config: Config) -> None:
        super().__init__(config, LlamaNorm, lambda: LlamaBlock(config))
        size = config.width // config.heads
        rates = 10000.0 ** (-torch.arange(0, size, 2, dtype=torch.float32) / size)
        angles = torch.outer(torch.arange(config.tokens, dtype=torch.float32), rates)
        angles = torch.cat([angles, angles], -1)
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    def embed(self, tokens: Tensor) -> tuple[Tensor, ...]:
        """Tokens, and the positions' factors."""
        x = self.tokens(tokens)
        return x, self.cos.to(x.dtype), self.sin.to(x.dtype)


class GemmaNorm(nn.Module):
    """RMSNorm as Gemma has it: in float32 throughout, with a scale around 1."""

    def __init__(self, width: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.zeros(width)), eps

    def forward(self, x: Tensor) -> Tensor:
        """Normalises and scales in float32."""
        wide = x.float()
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.eps)
        return (wide * (1.0 + self.weight.float())).type_as(x)


class GemmaBlock(nn.Module):
    """A layer with a norm before and one after each half."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        width, hidden = config.width, config.hidden or 4 * config.width
        self.norms = nn.ModuleList(GemmaNorm(width) for _ in range(4))
        self.attention = Attention(width, config.heads, True)
        self.gate = nn.Linear(width, hidden, bias=False)
        self.up = nn.Linear(width, hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """One layer over the residual stream ``x``."""
        x = x + self.norms[1](self.attention(self.norms[0](x)))
        h = self.norms[2](x)
        hidden = self.down(F.gelu(self.gate(h), approximate="tanh") * self.up(h))
        result: Tensor = x + self.norms[3](hidden)
        return result


def _modulate(x: Tensor, shift: Tensor, scale: Tensor) -> Tensor:
    return x * (1 + scale.unsqueeze(1)) + shift.unsqueeze(1)


class DiTBlock(nn.Module):
    """A layer of a diffusion transformer, whose scales, shifts and gates are each sample's."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(width, elementwise_affine=False, eps=1e-6)
        self.norm2 = nn.LayerNorm(width, elementwise_affine=False, eps=1e-6)
        self.attention = Attention(width, heads, False)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.modulation = nn.Linear(width, 6 * width)

    def forward(self, x: Tensor, condition: Tensor) -> Tensor:
        """One layer over ``x``, [batch, tokens, width]; ``condition`` is [batch, width]."""
        parts = self.modulation(F.silu(condition)).chunk(6, 1)
        shift, scale, gate, shift2, scale2, gate2 = parts
        x = x + gate.unsqueeze(1) * self.attention(_modulate(self.norm1(x), shift, scale))
        h = self.up(_modulate(self.norm2(x), shift2, scale2))
        result: Tensor = x + gate2.unsqueeze(1) * self.down(F.gelu(h, approximate="tanh"))
        return result


class DiT(nn.Module):
    """A diffusion transformer over latent patches, with AdaLN."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        width = config.width
        self.patches = nn.Linear(16, width)
        self.condition = nn.Linear(256, width)
        self.positions = nn.Parameter(torch.randn(1, config.tokens, width) * 0.02)
        self.blocks = nn.ModuleList(DiTBlock(width, config.heads) for _ in range(config.layers))
        self.norm = nn.LayerNorm(width, elementwise_affine=False, eps=1e-6)
        self.modulation = nn.Linear(width, 2 * width)
        self.head = nn.Linear(width, 16)

    def forward(self, patches: Tensor, times: Tensor) -> Tensor:
        """The mean square of what is predicted."""
        condition = F.silu(self.condition(times))
        x = self.patches(patches) + self.positions
        for block in self.blocks:
            x = block(x, condition)
        shift, scale = self.modulation(condition).chunk(2, 1)
        result: Tensor = self.head(_modulate(self.norm(x), shift, scale))
        return result.float().square().mean()


_KINDS: dict[str, Callable[[Config], nn.Module]] = {
    "gpt2": GPT2, "vit": ViT, "llama": Llama, "dit": DiT,
    "gemma": lambda config: Decoder(config, GemmaNorm, lambda: GemmaBlock(config))}
"""By their names; Gemma's has no positions."""


def make_model(config: Config, device: str, dtype: torch.dtype = torch.float32) -> nn.Module:
    """The model of a configuration with random parameters, the same in each call."""
    torch.manual_seed(0)
    return _KINDS[config.kind](config).to(device=device, dtype=dtype)


def make_batch(config: Config, device: str,
               dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor]:
    """Inputs and targets of one step, random, the same in each call."""
    generator = torch.Generator().manual_seed(0)
    if config.kind == "vit":
        patches = torch.randn(config.batch, config.tokens - 1, 588, generator=generator)
        targets = torch.randint(config.vocabulary, (config.batch,), generator=generator)
        return patches.to(device=device, dtype=dtype), targets.to(device)
    if config.kind == "dit":
        patches = torch.randn(config.batch, config.tokens, 16, generator=generator)
        times = torch.randn(config.batch, 256, generator=generator)
        return patches.to(device=device, dtype=dtype), times.to(device=device, dtype=dtype)
    tokens = torch.randint(config.vocabulary, (config.batch, config.tokens + 1),
                           generator=generator)
    return tokens[:, :-1].contiguous().to(device), tokens[:, 1:].contiguous().to(device)
