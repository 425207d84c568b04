# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases of the PyTorch tests and their float64 reference.

A configuration is what a kernel is compiled for. There is a fixed number of them, so that all can
be compiled ahead for a GPU beside which there is no compiler; rows, leading dimensions, strides and
values vary freely.
"""

import dataclasses
import itertools
import random

import pytest
import torch

import lnbwd

TYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}
# One rounding of a 16-bit result, and a little for float32 before it; see docs/numerics.md.
TOLERANCE = {torch.float16: 6e-4, torch.bfloat16: 4e-3, torch.float32: 1.5e-6}


def diagonal(*options):
    """The product of lists of options, of which a run without --full has as many cases as the
    longest list: each value of each, one after another."""
    taken = {tuple(place % len(values) for values in options)
             for place in range(max(map(len, options)))}
    return [pytest.param(*(values[i] for values, i in zip(options, place, strict=True)),
                         marks=[] if place in taken else [pytest.mark.full])
            for place in itertools.product(*(range(len(values)) for values in options))]


@dataclasses.dataclass(frozen=True)
class Config:
    """One kernel: op, N, the types of x, weight and bias ("": none), and the gradients."""

    op: str
    n: int
    dtype: str
    weight: str
    bias: str
    grads: tuple[bool, bool, bool]

    def __str__(self):
        grads = "".join(g for g, want in zip("xwb", self.grads, strict=True) if want)
        return f"{self.op}-n{self.n}-{self.dtype}-w{self.weight or 0}-b{self.bias or 0}-d{grads}"


def _all(op, n, dtype):
    kinds = ("", dtype) if dtype == "f32" else ("", dtype, "f32")
    for weight, bias in itertools.product(kinds, kinds if op == "layer_norm" else ("",)):
        for grads in itertools.product((True, False), repeat=3):
            if any(grads) and (weight or not grads[1]) and (bias or not grads[2]):
                yield Config(op, n, dtype, weight, bias, grads)


LENGTHS = (1, 2, 3, 7, 8, 31, 33, 64, 100, 127, 192, 256, 257, 500, 512, 768, 1000)


def sampled_configs(count=48):
    """Every length, type, missing parameter and mask in a few kernels, chosen once and for all."""
    rng = random.Random(5)
    result = []
    for index in range(count):
        op = "rms_norm" if index % 3 == 2 else "layer_norm"
        dtype = ("f32", "bf16", "f16")[rng.randrange(3)]
        options = list(_all(op, LENGTHS[index % len(LENGTHS)], dtype))
        result.append(rng.choice(options))
    # What most models have.
    result += [Config("layer_norm", n, d, d, d, (True, True, True))
               for n, d in ((64, "f32"), (768, "bf16"), (256, "f16"))]
    return list(dict.fromkeys(result))


def shown_by(config):
    """What a configuration shows of the way from tensors to a kernel: its length, and any two of
    its other options. Kernels of every length with every option are test/EndToEnd's."""
    def kind(parameter):
        return "none" if not parameter else "the rows' type" if parameter == config.dtype else "f32"

    options = (("op", config.op), ("dtype", config.dtype), ("weight", kind(config.weight)),
               ("bias", kind(config.bias)), ("grads", config.grads))
    return {("n", config.n), *itertools.combinations(options, 2)}


def covering(configs):
    """The fewest that a greedy choice finds that show all that the configurations show."""
    missing = set().union(*map(shown_by, configs))
    chosen = []
    while missing:
        chosen.append(max(configs, key=lambda config: len(shown_by(config) & missing)))
        missing -= shown_by(chosen[-1])
    return chosen


# Larger rows, for a GPU: the simulator would take minutes.
DEVICE_LENGTHS = (769, 1024, 2048, 3000, 4093, 4096, 5120, 8192, 12288, 16384, 32768, 65536)


def device_configs():
    for n, dtype in itertools.product(DEVICE_LENGTHS, ("f32", "bf16")):
        for op in ("layer_norm", "rms_norm"):
            bias = dtype if op == "layer_norm" else ""
            yield Config(op, n, dtype, dtype, bias, (True, True, bool(bias)))


def make_tensors(config, leading, device, seed=0, mean=0.0, scale=1.0):
    """x, weight, bias and dy of a configuration; those whose gradient is wanted require it."""
    generator = torch.Generator().manual_seed(seed)

    def tensor(shape, dtype, requires_grad):
        values = torch.randn(shape, generator=generator, dtype=torch.float64)
        return values.to(TYPES[dtype]).to(device).requires_grad_(requires_grad)

    want_x, want_weight, want_bias = config.grads
    x = (torch.randn([*leading, config.n], generator=generator, dtype=torch.float64) * scale
         + mean).to(TYPES[config.dtype]).to(device).requires_grad_(want_x)
    weight = tensor([config.n], config.weight, want_weight) if config.weight else None
    bias = tensor([config.n], config.bias, want_bias) if config.bias else None
    return x, weight, bias, tensor([*leading, config.n], config.dtype, False)


def forward(config, x, weight, bias, eps=1e-5, module=lnbwd):
    """The operation by ``module``: lnbwd, or torch.nn.functional."""
    shape = (config.n,)
    if config.op == "layer_norm":
        return module.layer_norm(x, shape, weight, bias, eps)
    return module.rms_norm(x, shape, weight, eps)


def reference(config, x, weight, bias, dy, eps=1e-5):
    """Output and gradients by torch's autograd in float64, on the CPU, and the size of the terms
    whose difference each is."""
    wide = [None if t is None else t.detach().double().cpu().requires_grad_()
            for t in (x, weight, bias)]
    y = forward(config, *wide, eps=eps, module=torch.nn.functional)
    y.backward(dy.detach().double().cpu())
    return y.detach(), [None if t is None else t.grad for t in wide]


def assert_close(actual, expected, what, factor=1.0, floor=0.0):
    """Compares with a float64 reference by the largest reference value, as lnbwd-run does."""
    assert actual.shape == expected.shape, what
    error = (actual.detach().double().cpu() - expected).abs()
    size = max(float(expected.abs().max()) if expected.numel() else 0.0, floor)
    allowed = TOLERANCE[actual.dtype] * factor * size + 2.0**-24
    worst = float(error.max()) if error.numel() else 0.0
    assert worst <= allowed, f"{what}: error {worst:.3e}, allowed {allowed:.3e}"


def check(config, leading, device, eps=1e-5, seed=0, mean=0.0, scale=1.0, factor=1.0):
    """Forward and backward against the reference."""
    x, weight, bias, dy = make_tensors(config, leading, device, seed, mean, scale)
    y = forward(config, x, weight, bias, eps)
    y.backward(dy)
    expected, grads = reference(config, x, weight, bias, dy, eps)
    assert_close(y, expected, f"{config}: y", factor)
    rows = x.numel() // config.n if config.n else 0
    for name, tensor, grad, want in zip(("x", "weight", "bias"), (x, weight, bias), grads,
                                        config.grads, strict=True):
        if not want:
            assert tensor is None or tensor.grad is None
            continue
        # Sums over rows and within them are differences of larger terms where they nearly cancel:
        # 4 roundings of the terms' size.
        floor = 4 * 2**-24 / TOLERANCE[tensor.dtype] * max(1.0, rows**0.5)
        if name == "x":
            values = x.detach().double().cpu()
            variance = (values - values.mean(-1, keepdim=True)).square().mean(-1)
            rstd = float((variance + eps).rsqrt().max()) if rows else 0.0
            floor = 4 * 2**-24 / TOLERANCE[tensor.dtype] * rstd * 4
        assert tensor.grad.dtype == tensor.dtype
        assert_close(tensor.grad, grad, f"{config}: d{name}", factor, floor)
