# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Norms of all kinds of classes, and classes that are none. Of timm's some are written down here,
after their documentation, that its models in test_torch_timm.py do not have."""

import enum

import torch


class LlamaNorm(torch.nn.Module):
    """The value is rounded before the weight is applied."""

    def __init__(self, n, eps=1e-6):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(n))
        self.variance_epsilon = eps

    def forward(self, hidden_states):
        kind = hidden_states.dtype
        hidden_states = hidden_states.float()
        variance = hidden_states.pow(2).mean(-1, keepdim=True)
        hidden_states = hidden_states * torch.rsqrt(variance + self.variance_epsilon)
        return self.weight * hidden_states.to(kind)


class GemmaNorm(torch.nn.Module):
    def __init__(self, n, eps=1e-6):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(n))
        self.eps = eps

    def forward(self, x):
        y = x.float() * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + self.eps)
        return (y * (1.0 + self.weight.float())).type_as(x)


class FixedNorm(torch.nn.Module):
    """No parameters, and an epsilon that stands in the code."""

    def forward(self, x):
        return torch.nn.functional.layer_norm(x.float(), x.shape[-1:], None, None, 1e-5).to(x.dtype)


class LayerNorm2d(torch.nn.LayerNorm):
    """timm's: over the channels of [B, C, H, W]."""

    def forward(self, x):
        x = x.permute(0, 2, 3, 1)
        x = torch.nn.functional.layer_norm(x, self.normalized_shape, self.weight, self.bias,
                                           self.eps)
        return x.permute(0, 3, 1, 2)


class LayerNormAct(torch.nn.LayerNorm):
    """timm's: an activation after it, which makes it something else."""

    def forward(self, x):
        return torch.relu(super().forward(x))


class TimmLayerNorm(torch.nn.LayerNorm):
    """timm's, which chooses among implementations."""

    _fast_norm: bool = False

    def forward(self, x):
        if self._fast_norm:
            raise AssertionError
        return torch.nn.functional.layer_norm(x, self.normalized_shape, self.weight, self.bias,
                                              self.eps)


class ReversedNames(torch.nn.Module):
    """A shift that is declared before the scale."""

    def __init__(self, n):
        super().__init__()
        self.beta = torch.nn.Parameter(torch.zeros(n))
        self.gamma = torch.nn.Parameter(torch.ones(n))

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        variance = (x - mean).square().mean(-1, keepdim=True)
        return (x - mean) / torch.sqrt(variance + 1e-6) * self.gamma + self.beta


class OutsideNorm(torch.nn.Module):
    """The epsilon is added to the root: another function for small rows."""

    def __init__(self, n):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(n))
        self.eps = 1e-6

    def forward(self, x):
        return x / (x.square().mean(-1, keepdim=True).sqrt() + self.eps) * self.weight


class UnbiasedNorm(torch.nn.Module):
    """The deviation with Bessel's correction."""

    def __init__(self, n):
        super().__init__()
        self.weight, self.bias = (torch.nn.Parameter(torch.ones(n)) for _ in range(2))
        self.eps = 1e-6

    def forward(self, x):
        return (x - x.mean(-1, keepdim=True)) / torch.sqrt(x.var(-1, keepdim=True) + self.eps
                                                           ) * self.weight + self.bias


class DroppingNorm(LlamaNorm):
    """Something that only happens while it trains."""

    def forward(self, x):
        return torch.nn.functional.dropout(super().forward(x), 0.5, self.training)


class GatedNorm(LlamaNorm):
    """A second input."""

    def forward(self, x, gate):
        return super().forward(x * gate)


class Scale(torch.nn.Module):
    def __init__(self, n):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(n))

    def forward(self, x):
        return x * self.weight


class RMS(torch.nn.Module):
    """An RMSNorm of which a subclass changes something."""

    def __init__(self, n=24, **attributes):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(n))
        self.eps = 1e-6
        self.__dict__.update(attributes)

    def scale(self, x):
        return torch.rsqrt(x.square().mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return x * self.scale(x) * self.weight


class DetachedNorm(RMS):
    """As in explanations by layer-wise relevance propagation."""

    def scale(self, x):
        return super().scale(x).detach()


class NoGradNorm(RMS):
    @torch.no_grad()
    def scale(self, x):
        return super().scale(x)


class FrozenNorm(RMS):
    """No gradient of the weight."""

    def forward(self, x):
        return x * self.scale(x) * self.weight.detach()


class DataNorm(RMS):
    """No gradient at all."""

    def forward(self, x):
        return super().forward(x.detach())


class PassingNorm(RMS):
    """A gradient of its own."""

    class Function(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, scale):
            return x * scale

        @staticmethod
        def backward(ctx, dy):
            return dy, None

    def forward(self, x):
        return self.Function.apply(x, self.scale(x)) * self.weight


class CountingNorm(RMS):
    """It changes itself."""

    calls = 0

    def forward(self, x):
        self.calls += 1
        return super().forward(x)


class LoggingNorm(RMS):
    """The same by a list."""

    def __init__(self):
        super().__init__(log=[])

    def forward(self, x):
        self.log.append(1)
        return super().forward(x)


class HiddenNorm(RMS):
    """It reads an attribute by another way."""

    def scale(self, x):
        return super().scale(x) if vars(self)["eps"] < 1 else x


class SmallNorm(RMS):
    """Another function of small rows."""

    def scale(self, x):
        return super().scale(x).clamp(max=1e2)


class LargeNorm(RMS):
    """Another function of large rows."""

    def forward(self, x):
        return super().forward(x.clamp(-1e3, 1e3))


class LargeOutputNorm(RMS):
    """Another function of large weights."""

    def forward(self, x):
        return super().forward(x).clamp(-1e4, 1e4)


class LargeGradientNorm(RMS):
    """Another gradient of a large one."""

    def forward(self, x):
        y = super().forward(x)
        if y.requires_grad:
            y.register_hook(lambda dy: dy.clamp(-1, 1))
        return y


class RankNorm(RMS):
    """Another function of three dimensions."""

    def scale(self, x):
        return super().scale(x.flatten(1)[:, None] if x.dim() == 3 else x)


class OverwritingNorm(RMS):
    """It changes its input."""

    def forward(self, x):
        y = super().forward(x)
        x.data.zero_()
        return y


class TensorEpsilon(RMS):
    def __init__(self):
        super().__init__(eps=torch.tensor(1e-6))


class ConfiguredNorm(RMS):
    """Its epsilon is in an object that others may change."""

    class Config:
        eps = 1e-6

    def __init__(self):
        super().__init__()
        del self.eps
        self.config = self.Config()

    def scale(self, x):
        return torch.rsqrt(x.square().mean(-1, keepdim=True) + self.config.eps)


Kind = enum.Enum("Kind", "RMS LAYER")


class KindNorm(RMS):
    """It is what an attribute says, of any type."""

    def __init__(self, kind, is_layer):
        super().__init__()
        self.kind, self.is_layer = kind, is_layer

    def forward(self, x):
        is_layer = self.is_layer(self.kind)
        return super().forward(x - x.mean(-1, keepdim=True) if is_layer else x)


# Pairs of values of which the second makes a LayerNorm.
KINDS = {
    "enum": (Kind.RMS, Kind.LAYER, lambda kind: kind is Kind.LAYER),
    "tuple": ((1,), (2,), lambda kind: kind[0] == 2),
    "list": ([1], [2], lambda kind: kind[0] == 2),
    "none": (None, "mean", lambda kind: kind is not None),
    "function": (torch.abs, torch.mean, lambda kind: kind is torch.mean),
    "type": (torch.float16, torch.float32, lambda kind: kind == torch.float32),
    "tensor": (torch.zeros(()), torch.ones(()), lambda kind: bool(kind)),
    "dict": ({}, {"mean": 1}, lambda kind: bool(kind))}


TAKEN = [lambda: LlamaNorm(24), lambda: GemmaNorm(24), FixedNorm, lambda: LayerNorm2d(24),
         lambda: TimmLayerNorm(24), lambda: ReversedNames(24), lambda: LlamaNorm(1),
         lambda: LlamaNorm(24, 1e-12)]
LEFT = [lambda: OutsideNorm(24), lambda: UnbiasedNorm(24), lambda: DroppingNorm(24),
        lambda: GatedNorm(24), lambda: Scale(24), lambda: LayerNormAct(24),
        lambda: torch.nn.Linear(24, 24), lambda: torch.nn.BatchNorm1d(24),
        lambda: torch.nn.GroupNorm(4, 24), DetachedNorm, NoGradNorm, FrozenNorm, DataNorm,
        PassingNorm, CountingNorm, LoggingNorm, OverwritingNorm, HiddenNorm, SmallNorm, LargeNorm,
        LargeOutputNorm, LargeGradientNorm, RankNorm, TensorEpsilon, ConfiguredNorm]


def randomised(make):
    module = make()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_()
    return module


def output_type(module, x):
    """The type that our kernel gives in a patched module; None: its own forward runs."""
    recipe = module._lnbwd_recipe
    return recipe.output_type(module, x, *recipe.parameters_of(module))


def gradients(module, x):
    x = x.detach().requires_grad_()
    y = module(x)
    torch.manual_seed(1)
    y.backward(torch.randn(y.shape).to(y))
    result = [y.detach(), x.grad, *(p.grad for p in module.parameters())]
    module.zero_grad()
    return result
