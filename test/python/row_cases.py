# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions over rows for the tests of lnbwd.rowwise, and tensors for their parameters."""

import inspect

import torch
import torch.nn.functional as F

from lnbwd import Columns, Rows, Scalars

N = 48
F32, BF16, F16, F64 = torch.float32, torch.bfloat16, torch.float16, torch.float64


def gated_rms_norm(x: Rows, z: Rows, gamma: Columns, eps: float = 1e-5):
    h = x * F.silu(z)
    return h * torch.rsqrt(h.square().mean(-1, keepdim=True) + eps) * gamma


def layer_norm_with_sum(x: Rows, r: Rows, gamma: Columns, beta: Columns):
    total = x + r
    mean = total.mean(-1, keepdim=True)
    rstd = torch.rsqrt(total.var(-1, keepdim=True, correction=0) + 1e-5)
    return (total - mean) * rstd * gamma + beta, total


def softmax(x: Rows):
    return torch.softmax(x, -1)


def softmax_by_hand(x: Rows):
    exponential = torch.exp(x - x.amax(-1, keepdim=True).detach())
    return exponential / exponential.sum(-1, keepdim=True)


def logarithms(x: Rows):
    return torch.log_softmax(x, -1), x.logsumexp(-1)


def statistics(x: Rows):
    mean = x.mean(-1)
    return x - mean[..., None], mean, x.std(-1, keepdim=True)


def used_in_many_ways(x: Rows, s: Scalars, w: Columns):
    """Each parameter by itself, spread, viewed, and summed."""
    wide = w.view(1, -1) + w.expand_as(x) * s.expand_as(x)
    return (x * w + x.view(x.shape) * wide - s.view(s.shape)) * s, (x * w).sum(-1)


def swiglu(a: Rows, b: Rows):
    return F.silu(a) * b


def scaled_gelu(x: Rows, s: Scalars, b: Columns):
    return F.gelu(x * s + b)


def library_norms(x: Rows, g: Columns, b: Columns):
    n = (x.shape[-1],)
    return F.layer_norm(x, n, g, b) * F.rms_norm(x, n, g)


def conditions(x: Rows, y: Rows):
    larger = (x > y).to(x.dtype)
    return (torch.where(x > 0, x * y, 0.0) + larger * x, (1 - x) / (2 + y.abs()),
            x.clamp(-0.5, 0.5) ** 3)


def in_place(x: Rows):
    h = x * 2
    h += 1
    h.mul_(x)
    return h


def twice_and_itself(x: Rows):
    y = x * x
    return y, y, x


def add_column(x: Rows, b: Columns):
    return x + b


def powers(x: Rows):
    x = x.clamp(-2, 2)
    size = x.abs() + 0.5
    return x ** 5 + x ** 9, size ** 1.5 + size ** 2.2, size ** -1.5 + size ** -0.7, size ** -5


def steps_and_waves(x: Rows, s: Scalars):
    y = 3 * x
    return (torch.round(y) * x + torch.sign(x) * y, torch.trunc(y) * x, torch.sin(y) * x,
            torch.cos(x * s))


def norms(x: Rows, z: Rows):
    return (x / x.norm(p=3, dim=-1, keepdim=True), z * torch.linalg.vector_norm(x, 1.5, -1, True),
            x.norm(1, dim=-1), F.normalize(z, dim=-1), z.norm(float("inf"), dim=-1, keepdim=True),
            z.norm(0.5, dim=-1), torch.linalg.norm(x, dim=-1))


def extremes(x: Rows, z: Rows, g: Columns):
    return x / (2 + x.amax(-1, keepdim=True)), z.amin(-1, keepdim=True) * x, (x * z + g).amax(-1)


def parts(x: Rows, g: Columns, s: Scalars):
    a, b = x.chunk(2, -1)
    left, right = g.chunk(2, -1)
    return F.silu(a * left) * b + s, (a * right).sum(-1)


def numbered(x: Rows, s: Scalars):
    place = torch.arange(x.shape[-1], dtype=torch.float32, device=x.device)
    return torch.where(place < 24 + 8 * s, x * s, 0.0), (x * place).mean(-1)


FUNCTIONS = [gated_rms_norm, layer_norm_with_sum, softmax, softmax_by_hand, logarithms, statistics,
             swiglu, scaled_gelu, library_norms, conditions, in_place, twice_and_itself, add_column,
             powers, steps_and_waves, norms, extremes, parts, numbered, used_in_many_ways]


def tensors_of(function, leading, dtypes=(F32,), n=N, seed=0):
    """Tensors for a function's parameters, their types in turn."""
    generator = torch.Generator().manual_seed(seed)
    shapes = {Rows: (*leading, n), Columns: (n,), Scalars: (*leading, 1)}
    kinds = [p.annotation for p in inspect.signature(function).parameters.values()
             if p.annotation in shapes]
    return [torch.randn(shapes[kind], generator=generator).to(dtypes[i % len(dtypes)])
            for i, kind in enumerate(kinds)]


def run(function, tensors, dtype=None):
    """Results and gradients; the gradients of the results are numbers that bfloat16 has."""
    tensors = [(t if dtype is None else t.to(dtype)).detach().requires_grad_() for t in tensors]
    results = function(*tensors)
    results = results if isinstance(results, tuple) else (results,)
    generator = torch.Generator().manual_seed(7)
    grads = [torch.randn(r.shape, generator=generator).bfloat16().to(r) for r in results]
    return [*results, *torch.autograd.grad(results, tensors, grads, allow_unused=True)]
