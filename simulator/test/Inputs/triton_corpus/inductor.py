# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Triton kernels that Inductor emits for ROCm, against PyTorch.

torch.compile asks PyTorch's C++ for the device, so Inductor gets graphs traced on fake tensors, and
what it emits runs here, with its own autotuner and launcher.
"""

import contextlib
import os
import re
import types

os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"

import pytest
import torch
import torch.nn.functional as F
from torch._inductor import config
from torch._inductor.debug import DebugContext
from torch._inductor.decomposition import select_decomp_table
from torch._inductor.graph import GraphLowering
from torch._inductor.runtime import triton_heuristics
from torch._inductor.virtualized import V
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx


def first_config(self, *args, **kwargs):
    """No time is measured."""
    return {launcher: float(n) for n, launcher in enumerate(self.launchers)}


triton_heuristics.CachingAutotuner.benchmark_all_configs = first_config
# Triton's own launcher, not the one in PyTorch's C++.
config.use_static_triton_launcher = False
config.compile_threads = 1


def empty_strided(size, stride, dtype):
    return torch.empty_strided(size, stride, dtype=dtype, device="cuda")


def emitted(function, inputs):
    """The module that Inductor emits for a function of tensors on the device."""
    def like(device):
        return [torch.empty_strided(t.shape, t.stride(), dtype=t.dtype, device=device)
                for t in inputs]

    with torch._C.DisableTorchFunction(), FakeTensorMode(allow_non_fake_inputs=True) as mode:
        table = select_decomp_table()
        # PyTorch's engine has no threads for a GPU's gradients; those of a CPU are the same.
        on_cpu = make_fx(function, decomposition_table=table, tracing_mode="fake")(*like("cpu"))
        for node in on_cpu.graph.nodes:
            if "device" in node.kwargs:
                node.kwargs = {**node.kwargs, "device": torch.device("cuda")}
        on_cpu.recompile()
        fake = like("cuda")
        traced = make_fx(on_cpu, decomposition_table=table, tracing_mode="fake")(*fake)
        graph = GraphLowering(traced, example_inputs=fake, is_inference=True)
        with V.set_graph_handler(graph), V.set_fake_mode(mode), \
                V.set_debug_handler(DebugContext()):
            graph.run(*fake)
            code = graph.codegen()[0]
    text = getattr(code, "value", code)
    text = re.sub(r"^empty_strided_\w+ = .*|^from torch\._C import _cuda_getCurrentRawStream.*", "",
                  text, flags=re.M).replace("torch.cuda._DeviceGuard(0)", "nothing()")
    module = types.ModuleType("emitted")
    module.__dict__.update(empty_strided_cuda=empty_strided, empty_strided_cpu=empty_strided,
                           get_raw_stream=lambda index: 0, nothing=contextlib.nullcontext)
    exec(compile(text, "emitted.py", "exec"), module.__dict__)
    return module


def check(function, inputs, tol):
    torch.manual_seed(0)
    want = function(*(t.double() if t.dtype.is_floating_point else t for t in inputs))
    module = emitted(function, inputs)
    call = getattr(module, "call", None) or module.Runner([]).call
    got = call([t.cuda() for t in inputs])
    want = want if isinstance(want, (tuple, list)) else (want,)
    for g, w in zip(got, want, strict=True):
        if w.dtype.is_floating_point:
            torch.testing.assert_close(g.cpu().double(), w.double(), rtol=tol, atol=tol)
        else:
            assert torch.equal(g.cpu(), w)


def gradients(function):
    def run(*inputs):
        leaves = [t.detach().requires_grad_(t.dtype.is_floating_point) for t in inputs]
        out = function(*leaves)
        wanted = [t for t in leaves if t.requires_grad]
        return tuple(torch.autograd.grad(out.sin().sum(), wanted))
    return run


def rand(*shape):
    return torch.randn(*shape)


W = 96
CASES = {
    "gelu": (lambda x: F.gelu(x), [(40, 70)]),
    "gelu_tanh": (lambda x: F.gelu(x, approximate="tanh"), [(40, 70)]),
    "silu_mul": (lambda a, b: F.silu(a) * b, [(33, 65), (33, 65)]),
    "mish_elu": (lambda x: F.mish(x) + F.elu(x) * F.hardswish(x), [(1000,)]),
    "softplus": (lambda x: F.softplus(x) - F.leaky_relu(x), [(999,)]),
    "special": (lambda x: torch.erf(x) + torch.lgamma(x.abs() + 1) + torch.expm1(x), [(500,)]),
    "trig": (lambda x: torch.sin(x) * torch.cos(x) + torch.atan2(x, x + 3), [(500,)]),
    "pow": (lambda x: (x.abs() + 0.1) ** 1.7 + torch.rsqrt(x * x + 1), [(500,)]),
    "round": (lambda x: torch.floor(x) + torch.ceil(2 * x) + torch.trunc(3 * x), [(500,)]),
    "where": (lambda x, y: torch.where(x > y, x.clamp(-1, 1), y.sign()), [(20, 90), (20, 90)]),
    "broadcast": (lambda x, y: x[:, None] * y[None, :] + 1, [(31,), (47,)]),
    "transpose": (lambda x: (x.t() + 1).contiguous(), [(50, 60)]),
    "permute": (lambda x: x.permute(2, 0, 1).contiguous() * 2, [(8, 12, 20)]),
    "cat": (lambda a, b: torch.cat([a, b * 2, a - 1], 1), [(12, 20), (12, 30)]),
    "pad": (lambda x: F.pad(x, (1, 2, 3, 4), value=0.5), [(10, 20)]),
    "reflect": (lambda x: F.pad(x, (2, 2, 2, 2), mode="reflect"), [(1, 3, 10, 12)]),
    "flip_roll": (lambda x: x.flip(0) + x.roll(3, 1), [(20, 31)]),
    "upsample": (lambda x: F.interpolate(x, scale_factor=2.0, mode="nearest"), [(1, 3, 8, 9)]),
    "bilinear": (lambda x: F.interpolate(x, size=(13, 17), mode="bilinear"), [(1, 3, 8, 9)]),
    "avg_pool": (lambda x: F.avg_pool2d(x, 3, 2, 1), [(2, 3, 12, 14)]),
    "max_pool": (lambda x: F.max_pool2d(x, 3, 2, 1), [(2, 3, 12, 14)]),
    "adaptive": (lambda x: F.adaptive_avg_pool2d(x, (3, 3)), [(2, 3, 10, 11)]),
    "pixel_shuffle": (lambda x: F.pixel_shuffle(x, 2), [(2, 8, 5, 6)]),
    "sum": (lambda x: x.sum(1), [(17, 300)]),
    "sum0": (lambda x: x.sum(0), [(300, 17)]),
    "sum_all": (lambda x: x.sum(), [(70, 80)]),
    "mean_var": (lambda x: torch.var_mean(x, 1), [(9, 500)]),
    "std_all": (lambda x: x.std(), [(5000,)]),
    "amax_amin": (lambda x: (x.amax(1), x.amin(0)), [(33, 70)]),
    "argmax": (lambda x: (x.argmax(1), x.argmin(0)), [(33, 70)]),
    "max_index": (lambda x: x.max(1), [(13, 200)]),
    "prod_any": (lambda x: (x.clamp(0.9, 1.1).prod(1), (x > 2).any(1), (x > -3).all(0)),
                 [(20, 40)]),
    "norm2": (lambda x: torch.linalg.vector_norm(x, 2, 1), [(20, 300)]),
    "logsumexp": (lambda x: torch.logsumexp(x, 1), [(20, 300)]),
    "softmax": (lambda x: x.softmax(1), [(20, 300)]),
    "softmax_long": (lambda x: x.softmax(1), [(3, 5000)]),
    "log_softmax": (lambda x: x.log_softmax(0), [(100, 20)]),
    "masked_softmax": (lambda x, m: (x + torch.where(m > 0, 0.0, -1e4)).softmax(-1),
                       [(2, 3, 20, 40), (20, 40)]),
    "causal": (lambda x: x.masked_fill(torch.ones(32, 32, device=x.device).triu(1) > 0,
                                       -1e4).softmax(-1), [(2, 32, 32)]),
    "layer_norm": (lambda x, w, b: F.layer_norm(x, (W,), w, b), [(20, W), (W,), (W,)]),
    "layer_norm_long": (lambda x: F.layer_norm(x, (5000,)), [(3, 5000)]),
    "add_layer_norm": (lambda x, r, w: (F.layer_norm(x + r, (W,), w), x + r),
                       [(20, W), (20, W), (W,)]),
    "rms_norm": (lambda x, w: F.rms_norm(x, (W,), w), [(20, W), (W,)]),
    "group_norm": (lambda x, w, b: F.group_norm(x, 4, w, b), [(2, 8, 6, 6), (8,), (8,)]),
    "instance_norm": (lambda x: F.instance_norm(x), [(2, 5, 7, 9)]),
    "batch_norm": (lambda x, w, b: F.batch_norm(x, None, None, w, b, True),
                   [(6, 5, 7, 9), (5,), (5,)]),
    "cumsum": (lambda x: x.cumsum(1), [(5, 300)]),
    "cumsum_long": (lambda x: x.cumsum(0), [(4000,)]),
    "cumprod": (lambda x: (x * 0.1 + 1).cumprod(1), [(5, 100)]),
    "cummax": (lambda x: x.cummax(1), [(5, 100)]),
    "logcumsumexp": (lambda x: x.logcumsumexp(1), [(5, 100)]),
    "sort": (lambda x: x.sort(stable=True, dim=1), [(6, 100)]),
    "mse": (lambda x, y: F.mse_loss(x, y), [(40, 50), (40, 50)]),
    "smooth_l1": (lambda x, y: F.smooth_l1_loss(x, y), [(40, 50), (40, 50)]),
    "kl": (lambda x, y: F.kl_div(x.log_softmax(1), y.softmax(1), reduction="batchmean"),
           [(20, 50), (20, 50)]),
    "bce": (lambda x, y: F.binary_cross_entropy_with_logits(x, y.sigmoid()), [(700,), (700,)]),
    "cosine": (lambda x, y: F.cosine_similarity(x, y), [(20, 100), (20, 100)]),
    "rotary": (lambda q, c, s: q * c + torch.cat([-q[..., 16:], q[..., :16]], -1) * s,
               [(2, 4, 10, 32), (10, 32), (10, 32)]),
    "attention": (lambda q, k, v: ((q @ k.transpose(-1, -2)) * 0.18).softmax(-1) @ v,
                  [(2, 20, 32), (2, 20, 32), (2, 20, 32)]),
    "mlp": (lambda x, a, b: F.gelu(x @ a) @ b, [(20, 32), (32, 64), (64, 32)]),
    "adam": (lambda p, g, m, v: (p - 0.01 * (0.9 * m + 0.1 * g) /
                                 ((0.99 * v.abs() + 0.01 * g * g).sqrt() + 1e-3),
                                 0.9 * m + 0.1 * g, 0.99 * v.abs() + 0.01 * g * g),
             [(900,), (900,), (900,), (900,)]),
}
BACKWARD = ("gelu", "silu_mul", "mish_elu", "where", "cat", "avg_pool", "max_pool", "bilinear",
            "softmax", "softmax_long", "log_softmax", "layer_norm", "layer_norm_long",
            "add_layer_norm", "rms_norm", "group_norm", "instance_norm",
            "batch_norm", "logsumexp", "norm2", "mean_var", "kl", "cosine", "attention", "mlp")


def inputs_of(shapes):
    torch.manual_seed(1)
    return [rand(*shape) for shape in shapes]


@pytest.mark.parametrize("name", CASES)
def test_forward(name):
    function, shapes = CASES[name]
    check(function, inputs_of(shapes), 2e-4)


@pytest.mark.parametrize("name", BACKWARD)
def test_backward(name):
    function, shapes = CASES[name]

    def one(*inputs):
        out = function(*inputs)
        return out[0] if isinstance(out, tuple) else out

    check(gradients(one), inputs_of(shapes), 5e-4)


def test_index():
    index = torch.randint(0, 50, (200,))
    check(lambda t, i: F.embedding(i, t), [rand(50, 40), index], 1e-5)
    check(lambda t, i, s: t.index_add(0, i, s), [rand(50, 40), index, rand(200, 40)], 1e-4)
    check(lambda t, i: t.gather(0, i[:, None].expand(200, 40)), [rand(50, 40), index], 1e-5)
    check(lambda x, i: F.cross_entropy(x, i), [rand(200, 50), index], 1e-4)
    check(lambda i: F.one_hot(i, 50), [index], 0)
