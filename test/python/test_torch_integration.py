# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What surrounds an operator in PyTorch: opcheck, gradcheck, torch.compile, AMP, checkpointing,
vmap, streams and graphs; and what a caller can get wrong."""

import gc
import os
import subprocess
import sys
import textwrap
import threading
import types
import warnings

import loaded_python
import pytest
import torch
from cases import Config, assert_close, forward, make_tensors
from torch.autograd import forward_ad

import lnbwd
from conftest import HAS_GPU, ROOT
from lnbwd import functional  # noqa: F401 (functional registers the operators)
from lnbwd.core.base import errors
from lnbwd.ops import launching

FULL = (True, True, True)
layer = Config("layer_norm", 64, "f32", "f32", "f32", FULL)
rms = Config("rms_norm", 64, "f32", "f32", "", (True, True, False))
both_ops = pytest.mark.parametrize("config", [layer, rms], ids=lambda c: c.op)


def run(config, device, rows=5, seed=0, wrap=lambda f: f):
    """Output and gradients, the function being passed through ``wrap``."""
    x, weight, bias, dy = make_tensors(config, (rows,), device, seed)
    y = wrap(lambda x, w, b: forward(config, x, w, b))(x, weight, bias)
    y.backward(dy)
    return [y.detach()] + [t.grad for t in (x, weight, bias) if t is not None]


def assert_same(first, second):
    for a, b in zip(first, second, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-6, atol=1e-6)


# ---------------------------------------------------------------------------- checks of PyTorch


@pytest.mark.parametrize("grads", [True, False])
def test_opcheck_of_layer_norm(device, grads):
    x, weight, bias, _ = make_tensors(layer, (2, 3), device)
    for arguments in ((x, [64], weight, bias, 1e-5), (x, [64], None, None, 1e-5),
                      (x, [64], None, bias, 1e-5)):
        if not grads:
            arguments = [a.detach() if isinstance(a, torch.Tensor) else a for a in arguments]
        torch.library.opcheck(torch.ops.lnbwd.layer_norm.default, tuple(arguments))


@pytest.mark.parametrize("mask", [[True, True, True], [True, False, False], [False, True, False],
                                  [False, False, True]])
def test_opcheck_of_the_backward(device, mask):
    x, weight, bias, dy = (t.detach() for t in make_tensors(layer, (6,), device))
    _, mean, rstd = torch.ops.lnbwd.layer_norm(x, [64], weight, bias, 1e-5)
    torch.library.opcheck(torch.ops.lnbwd.layer_norm_bwd.default,
                          (dy, x, mean, rstd, weight, bias, [64], mask))


def test_opcheck_of_rms_norm(device):
    x, weight, _, dy = make_tensors(rms, (2, 3), device)
    torch.library.opcheck(torch.ops.lnbwd.rms_norm.default, (x, [64], weight, 1e-5))
    _, rstd = torch.ops.lnbwd.rms_norm(x.detach(), [64], weight.detach(), 1e-5)
    torch.library.opcheck(torch.ops.lnbwd.rms_norm_bwd.default,
                          (dy, x.detach(), rstd, weight.detach(), [64], [True, True]))


@both_ops
def test_gradcheck_in_float64(device, config):
    x, weight, bias = (None if t is None else t.detach().double().requires_grad_()
                       for t in make_tensors(config, (3,), device)[:3])
    x = x[:, :8].detach().requires_grad_()
    weight = weight[:8].detach().requires_grad_()
    small = Config(config.op, 8, "f32", "f32", config.bias, config.grads)
    if bias is not None:
        bias = bias[:8].detach().requires_grad_()
    tensors = [t for t in (x, weight, bias) if t is not None]

    def function(*tensors):
        return forward(small, *[*tensors, None][:3])

    assert torch.autograd.gradcheck(function, tensors)
    assert torch.autograd.gradgradcheck(function, tensors)


@both_ops
def test_gradcheck_in_float32(device, config):
    """By finite differences, with the tolerance that float32 leaves them."""
    small = Config(config.op, 8, "f32", "f32", config.bias, config.grads)
    x, weight, bias, _ = make_tensors(small, (2,), device)
    tensors = [t for t in (x, weight, bias) if t is not None]
    assert torch.autograd.gradcheck(
        lambda *t: forward(small, *[*t, None][:3], eps=1e-2), tensors, eps=1e-2, atol=2e-2,
        rtol=2e-2, nondet_tol=0.0, check_batched_grad=False)


@both_ops
def test_gradients_of_gradients(device, config):
    """A penalty on the gradient, in float32, against torch's own in float64."""
    def penalty(module, tensors):
        y = forward(config, *tensors, module=module)
        grads = torch.autograd.grad(y.square().sum(), [t for t in tensors if t is not None],
                                    create_graph=True)
        return sum(g.square().sum() for g in grads)

    tensors = make_tensors(config, (3,), device)[:3]
    wide = [None if t is None else t.detach().double().cpu().requires_grad_() for t in tensors]
    penalty(lnbwd, tensors).backward()
    penalty(torch.nn.functional, wide).backward()
    for tensor, expected in zip(tensors, wide, strict=True):
        if tensor is not None:
            assert_close(tensor.grad, expected.grad, "second gradient", factor=20)


# --------------------------------------------------------------------------------- torch.compile


@both_ops
@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compile_fullgraph(device, config, backend):
    torch._dynamo.reset()
    expected = run(config, device)
    actual = run(config, device, wrap=lambda f: torch.compile(f, fullgraph=True, backend=backend))
    assert_same(actual, expected)


def test_compile_with_dynamic_rows(device):
    torch._dynamo.reset()
    function = torch.compile(lambda x, w, b: lnbwd.layer_norm(x, (64,), w, b).sin(),
                             fullgraph=True, backend="aot_eager", dynamic=True)
    for rows in (3, 5, 9):
        x, weight, bias, dy = make_tensors(layer, (rows,), device)
        function(x, weight, bias).backward(dy)
        got = x.grad.clone()
        x.grad = None
        lnbwd.layer_norm(x, (64,), weight, bias).sin().backward(dy)
        torch.testing.assert_close(got, x.grad)


def test_compile_of_a_module(device):
    torch._dynamo.reset()
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), lnbwd.nn.LayerNorm(64), torch.nn.GELU(),
                                lnbwd.nn.RMSNorm(64)).to(device)
    x = torch.randn(5, 64, device=device)
    model(x).sum().backward()
    expected = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    torch.compile(model, fullgraph=True, backend="aot_eager")(x).sum().backward()
    for parameter, grad in zip(model.parameters(), expected, strict=True):
        torch.testing.assert_close(parameter.grad, grad)


@pytest.mark.parametrize("kind", ["LayerNorm", "RMSNorm"])
def test_parametrized_modules(device, kind):
    """Their weight is no parameter, but a property."""
    class Twice(torch.nn.Module):
        def forward(self, weight):
            return 2 * weight

    norms = [getattr(library, kind)(64, eps=1e-5).to(device) for library in (lnbwd.nn, torch.nn)]
    for norm in norms:
        torch.nn.utils.parametrize.register_parametrization(norm, "weight", Twice())
    x = torch.randn(3, 64, device=device)
    got, want = (norm(x) for norm in norms)
    torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-5)
    for norm, y in zip(norms, (got, want), strict=True):
        y.square().sum().backward()
        assert norm.parametrizations.weight.original.grad is not None


def test_fake_and_meta_tensors():
    with torch._subclasses.FakeTensorMode():
        y = lnbwd.layer_norm(torch.empty(3, 64, dtype=torch.bfloat16), (64,))
        assert y.shape == (3, 64) and y.dtype == torch.bfloat16
    y = lnbwd.rms_norm(torch.empty(3, 64, device="meta"), (64,))
    assert y.device.type == "meta" and y.shape == (3, 64)


# ------------------------------------------------------------------ AMP, checkpointing, transforms


@both_ops
def test_autocast_gives_the_types_of_torch(device, config):
    kind = device.type
    x, weight, bias, _ = make_tensors(config, (5,), device)
    linear = torch.nn.Linear(64, 64).to(device)
    with torch.autocast(kind, dtype=torch.bfloat16):
        hidden = linear(x)
        assert hidden.dtype == torch.bfloat16
        ours = forward(config, hidden, weight, bias)
        theirs = forward(config, hidden, weight, bias, module=torch.nn.functional)
    assert ours.dtype == theirs.dtype
    torch.testing.assert_close(ours, theirs, rtol=1.6e-2, atol=1e-5)
    ours.float().sum().backward()
    assert weight.grad.dtype == torch.float32 and bool(weight.grad.isfinite().all())
    assert linear.weight.grad.dtype == torch.float32


@pytest.mark.parametrize("reentrant", [True, False])
def test_activation_checkpointing(device, reentrant):
    from torch.utils.checkpoint import checkpoint

    expected = run(layer, device)
    actual = run(layer, device, wrap=lambda f: lambda *t: checkpoint(f, *t,
                                                                     use_reentrant=reentrant))
    assert_same(actual, expected)


@pytest.mark.parametrize("dim", [0, 1])
def test_vmap_over_rows(device, dim):
    x, weight, bias, _ = make_tensors(layer, (3, 4), device)
    expected = torch.vmap(lambda x: torch.nn.functional.layer_norm(x, (64,), weight, bias),
                          in_dims=dim)(x)
    actual = torch.vmap(lambda x: lnbwd.layer_norm(x, (64,), weight, bias), in_dims=dim)(x)
    torch.testing.assert_close(actual, expected, rtol=1e-5, atol=1e-5)


@both_ops
def test_vmap_over_parameters(device, config):
    x = torch.randn(3, 5, 64, device=device)
    weights = torch.randn(3, 64, device=device)
    rest = (torch.randn(64, device=device),) if config.bias else (None,)

    def batched(module):
        return torch.vmap(lambda x, w: forward(config, x, w, rest[0], module=module))(x, weights)

    torch.testing.assert_close(batched(lnbwd), batched(torch.nn.functional), rtol=1e-5, atol=1e-5)


@both_ops
def test_gradients_of_each_sample(device, config):
    """torch.func.vmap of grad: the gradient of the weight for each element of a batch."""
    x = torch.randn(3, 5, 64, device=device)
    weight = torch.randn(64, device=device)

    def loss(module):
        def one(x, w):
            return forward(config, x, w, None, module=module).square().sum()
        return torch.func.vmap(torch.func.grad(one, argnums=(0, 1)), in_dims=(0, None))(x, weight)

    for ours, theirs in zip(loss(lnbwd), loss(torch.nn.functional), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)


@both_ops
def test_torch_func_sees_the_operators_themselves(device, config):
    x = torch.randn(3, 5, 64, device=device)
    weight = torch.randn(64, device=device)

    def loss(x, w, op):
        arguments = (w, None) if config.bias else (w,)
        return op(x, [64], *arguments, 1e-5)[0].square().sum()

    def theirs(x, shape, *arguments):
        return (forward(config, x, arguments[0], None, module=torch.nn.functional),)

    for transform in (torch.func.grad, lambda f: torch.vmap(torch.func.grad(f), (0, None))):
        torch.testing.assert_close(
            transform(lambda x, w: loss(x, w, getattr(torch.ops.lnbwd, config.op)))(x, weight),
            transform(lambda x, w: loss(x, w, theirs))(x, weight), rtol=1e-4, atol=1e-4)


def through(config, kind, device):
    """The operation as a function of x alone, by one of the ways that users have."""
    weight = torch.ones(64, device=device)
    if kind == "module":
        return (lnbwd.nn.LayerNorm(64) if config.bias else lnbwd.nn.RMSNorm(64)).to(device)
    if kind == "operator":
        arguments = (weight, None) if config.bias else (weight,)
        return lambda x: getattr(torch.ops.lnbwd, config.op)(x, [64], *arguments, 1e-5)[0]
    return lambda x: forward(config, x, weight, None)


@both_ops
@pytest.mark.parametrize("kind", ["function", "module", "operator"])
@pytest.mark.parametrize("grad", [True, False])
def test_forward_mode_is_refused(device, config, kind, grad):
    """Of all things it must not drop the tangent."""
    function = through(config, kind, device)
    x = torch.randn(3, 64, device=device)
    refused = pytest.raises(lnbwd.LnbwdError, match=r"forward-mode .*: there is none; use torch")
    with torch.set_grad_enabled(grad), forward_ad.dual_level():
        with refused:
            function(forward_ad.make_dual(x, x))
        assert function(x).shape == x.shape  # Without a tangent there is nothing to drop.


@both_ops
@pytest.mark.parametrize("kind", ["function", "module", "operator"])
def test_forward_mode_of_torch_func(device, config, kind):
    function = through(config, kind, device)
    x, tangent = torch.randn(2, 3, 64, device=device).unbind()
    theirs = (torch.nn.functional.layer_norm if config.bias else torch.nn.functional.rms_norm)
    want = torch.func.jvp(lambda x: theirs(x, (64,), eps=1e-5), (x,), (tangent,))
    torch.testing.assert_close(torch.func.jvp(function, (x,), (tangent,)), want, rtol=1e-4,
                               atol=1e-4)
    torch.testing.assert_close(torch.func.jacfwd(function)(x), torch.func.jacrev(function)(x),
                               rtol=1e-4, atol=1e-4)


def test_only_what_is_asked_for_is_computed(device):
    """No gradient of a frozen parameter, and no kernel at all without any."""
    x, weight, bias, dy = make_tensors(layer, (5,), device)
    weight.requires_grad_(False)
    lnbwd.layer_norm(x, (64,), weight, bias).backward(dy)
    assert weight.grad is None and x.grad is not None and bias.grad is not None
    with torch.no_grad():
        assert not lnbwd.layer_norm(x, (64,), weight, bias).requires_grad


def test_backward_from_several_threads(device):
    expected = run(layer, device)
    results, errors = {}, []

    def work(index):
        try:
            results[index] = run(layer, device)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    for result in results.values():
        assert_same(result, expected)


# ------------------------------------------------------------------------------ streams and graphs


@pytest.mark.gpu
def test_the_current_stream_is_used(device):
    """Work that is under way on a stream of its own is waited for by nothing else."""
    config = Config("layer_norm", 1024, "bf16", "bf16", "bf16", FULL)
    x, weight, bias, dy = make_tensors(config, (4096,), device)
    expected = torch.autograd.grad(forward(config, x, weight, bias), (x, weight, bias), dy)
    stream = torch.cuda.Stream()
    for _ in range(5):
        late = torch.empty_like(dy)
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            torch.cuda._sleep(50_000_000)
            late.copy_(dy)
            got = torch.autograd.grad(forward(config, x, weight, bias), (x, weight, bias), late)
        torch.cuda.current_stream().wait_stream(stream)
        for a, b in zip(got, expected, strict=True):
            assert torch.equal(a, b)


@pytest.mark.gpu
@both_ops
def test_capture_in_a_graph(device, config):
    x, weight, bias, dy = make_tensors(config, (512,), device)
    tensors = [t for t in (x, weight, bias) if t is not None]

    def step():
        return torch.autograd.grad(forward(config, x, weight, bias), tensors, dy)

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = step()
    for seed in (1, 2):
        fresh = make_tensors(config, (512,), device, seed)
        with torch.no_grad():
            x.copy_(fresh[0])
            dy.copy_(fresh[3])
        graph.replay()
        for a, b in zip(captured, step(), strict=True):
            assert torch.equal(a, b)


@pytest.mark.gpu
def test_compile_with_cuda_graphs(device):
    torch._dynamo.reset()
    compiled = torch.compile(lambda x, w, b: lnbwd.layer_norm(x, (64,), w, b).sin(),
                             mode="reduce-overhead", fullgraph=True)
    for seed in range(4):
        x, weight, bias, dy = make_tensors(layer, (512,), device, seed)
        torch.compiler.cudagraph_mark_step_begin()
        (got,) = torch.autograd.grad(compiled(x, weight, bias), x, dy)
        (expected,) = torch.autograd.grad(lnbwd.layer_norm(x, (64,), weight, bias).sin(), x, dy)
        torch.testing.assert_close(got, expected)


@pytest.mark.gpu
def test_no_memory_is_kept(device):
    config = Config("layer_norm", 1024, "bf16", "bf16", "bf16", FULL)

    def once():
        x, weight, bias, dy = make_tensors(config, (4096,), device)
        forward(config, x, weight, bias).backward(dy)

    once()
    torch.cuda.synchronize()
    gc.collect()
    before = torch.cuda.memory_allocated()
    for _ in range(20):
        once()
    gc.collect()
    assert torch.cuda.memory_allocated() == before


# ------------------------------------------------------------- PyTorch on the CPU, the environment


X = torch.zeros(3, 64)


@pytest.mark.parametrize("call", [
    lambda of, x: of.layer_norm(x, (64,)), lambda of, x: of.rms_norm(x, (64,)),
    lambda of, x: of.nn.LayerNorm(64)(x), lambda of, x: of.nn.RMSNorm(64, eps=1e-5)(x)])
def test_pytorch_computes_norms_on_the_cpu(monkeypatch, call):
    """Functions and modules alike, with one warning for all, in a graph too."""
    monkeypatch.delenv("LNBWD_SIMULATE", raising=False)
    errors.forget_warnings()
    theirs = types.SimpleNamespace(layer_norm=torch.nn.functional.layer_norm,
                                   rms_norm=torch.nn.functional.rms_norm, nn=torch.nn)
    with pytest.warns(UserWarning, match="is on the CPU, which has no kernels"):
        assert torch.equal(call(lnbwd, X), call(theirs, X))
    torch._dynamo.reset()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        assert torch.equal(call(lnbwd, X), call(theirs, X))
        compiled = torch.compile(lambda x: call(lnbwd, x), backend="eager")
        torch.testing.assert_close(compiled(X), call(theirs, X))


@pytest.mark.simulator
def test_the_environment_switches_the_simulator_on(monkeypatch):
    monkeypatch.setenv("LNBWD_SIMULATE", "1")
    assert launching.simulated_chip() is not None and lnbwd.layer_norm(X, (64,)).shape == (3, 64)
    monkeypatch.setenv("LNBWD_SIMULATE", "0")
    assert launching.simulated_chip() is None


@pytest.mark.simulator
def test_nonsense_in_the_environment_is_named(monkeypatch):
    monkeypatch.setenv("LNBWD_SIMULATE", "foo")
    with pytest.raises(lnbwd.LnbwdError, match=r"LNBWD_SIMULATE: expected '0', '1' or a chip that "
                                               "can be simulated, got 'foo'.*gfx942"):
        lnbwd.layer_norm(X, (64,))
    result = loaded_python.run(["-c", "import lnbwd; lnbwd.layer_norm"], cwd=ROOT / "python",
                               env={**os.environ, "LNBWD_NATIVE": "off"})
    assert result.returncode == 1
    assert ("LnbwdError: the environment variable LNBWD_NATIVE: expected '0' (operators in Python) "
            "or '1', got 'off'") in result.stderr


@pytest.mark.simulator
def test_a_chip_that_cannot_be_simulated():
    with pytest.raises(lnbwd.RuntimeStatusError, match="gfx1013"), lnbwd.simulate("gfx1013"):
        pass
    with pytest.raises(lnbwd.LnbwdError), lnbwd.simulate("gfx942"):
        raise lnbwd.LnbwdError("the simulator is switched off by an error, too")
    assert launching.simulated_chip() is None


@pytest.mark.simulator
def test_simulations_of_one_chip_within_each_other():
    """The inner one of a chip ends, and not the outer one."""
    with lnbwd.simulate("gfx942"), lnbwd.simulate("gfx90a"):
        with lnbwd.simulate("gfx942"):
            assert launching.simulated_chip() == "gfx942"
        assert launching.simulated_chip() == "gfx90a"


def test_the_saved_statistics_have_no_gradient(device):
    x = torch.randn(3, 64, device=device, requires_grad=True)
    _, mean, rstd = torch.ops.lnbwd.layer_norm(x, [64], None, None, 1e-5)
    assert not mean.requires_grad and not rstd.requires_grad


@pytest.mark.compiler
@pytest.mark.skipif(HAS_GPU, reason="tests the simulator")
def test_a_process_ends_cleanly():
    """With kernels loaded, and after an error; a crash of the interpreter would be a defect."""
    text = f"""
        import sys; sys.path.insert(0, {str(ROOT / 'python')!r})
        import torch, lnbwd
        with lnbwd.simulate():
            x = torch.randn(3, 64, requires_grad=True)
            lnbwd.layer_norm(x, (64,)).sum().backward()
            kept = lnbwd.compile("layer_norm_bwd", n=8, chip="gfx942").program
            try:
                lnbwd.compile("layer_norm_bwd", n=8, chip="gfx1")
            except lnbwd.CompileError:
                print("done")
    """
    result = subprocess.run([sys.executable, "-c", textwrap.dedent(text)], capture_output=True,
                            text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert result.stdout == "done\n" and result.stderr == ""
