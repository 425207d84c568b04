# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""lnbwd.override_aten: our kernels as those of PyTorch's operators."""

import functools
import gc
import os
import sys
import threading
import warnings
import weakref

import loaded_python
import pytest
import torch

import lnbwd
from conftest import HAS_GPU
from lnbwd.ops import aten, native, norms, regions

F = torch.nn.functional
pytestmark = [pytest.mark.compiler,
              pytest.mark.skipif(native.load() is None, reason="no operators in C++ here")]


@pytest.fixture
def override(device):
    with lnbwd.override_aten(device.type) as made:
        yield made


@pytest.fixture
def launched(monkeypatch):
    """The operations whose kernels were asked for since the test began. (Those that were loaded
    before are asked for again, under another epsilon or shape.)"""
    asked = []
    load = regions._load

    def record(program, *where):
        asked.append(program.text.partition(" ")[0])
        return load(program, *where)

    monkeypatch.setattr(regions, "_load", record)
    return asked


def test_errors_after_an_override(override, device):
    """C++'s exceptions reach Python, which what stands beside the epsilons' table decides: masks
    have none."""
    text = "no program of this name"
    call = native.make_region_call(text, device,
                                   functools.partial(regions.call_in_python, text))
    with pytest.raises(RuntimeError, match="is not registered in this process"):
        call(1)


def operands(device, n, dtype=torch.float32, leading=(3, 5)):
    generator = torch.Generator().manual_seed(n)
    return [torch.randn(shape, generator=generator).to(device, dtype).requires_grad_()
            for shape in ((*leading, n), (n,), (n,))]


def gradients(function, tensors):
    for tensor in tensors:
        tensor.grad = None
    y = function(*tensors)
    y.mul(torch.linspace(-1, 1, y.shape[-1], device=y.device, dtype=y.dtype)).sum().backward()
    return [y.detach(), *(t.grad for t in tensors)]


def close(got, want, tolerance):
    for g, w in zip(got, want, strict=True):
        assert g.dtype == w.dtype and g.shape == w.shape
        assert (g.double() - w.double()).norm() <= tolerance * w.double().norm() + 1e-12


@pytest.mark.parametrize("dtype,tolerance", [(torch.float32, 1e-5), (torch.bfloat16, 2e-2),
                                             (torch.float16, 4e-3)], ids=str)
def test_layer_norm_of_pytorch(device, override, launched, dtype, tolerance):
    n = 72 + 8 * (torch.float32, torch.bfloat16, torch.float16).index(dtype)
    tensors = operands(device, n, dtype)
    got = gradients(lambda x, w, b: F.layer_norm(x, (n,), w, b), tensors)
    assert launched == ["layer_norm", "layer_norm_bwd"]
    doubles = [t.detach().double().requires_grad_() for t in tensors]
    want = gradients(lambda x, w, b: F.layer_norm(x, (n,), w, b), doubles)
    close(got, [t.to(dtype) for t in want], tolerance)


@pytest.mark.parametrize("eps", [None, 1e-5])
def test_rms_norm_of_pytorch(device, override, launched, eps):
    """On the CPU, F.rms_norm takes itself apart; the operator below is asked for by name."""
    n = 104 if eps else 112
    x, w, _ = operands(device, n)

    def function(x, w):
        if device.type == "cuda":
            return F.rms_norm(x, (n,), w, eps)
        return torch.ops.aten._fused_rms_norm(x, [n], w, eps)[0]

    got = gradients(function, [x, w])
    assert launched == ["rms_norm", "rms_norm_bwd"]
    override.undo()
    want = gradients(lambda x, w: F.rms_norm(x, (n,), w, eps), [x, w])
    close(got, want, 1e-5)


def test_statistics_have_pytorchs_shape(device, override):
    x, w, b = operands(device, 64)
    _, mean, rstd = torch.ops.aten.native_layer_norm(x, [5, 64], None, None, 1e-5)
    assert mean.shape == rstd.shape == (3, 1, 1) and mean.dtype == torch.float32
    _, mean, _ = torch.ops.aten.native_layer_norm(x, [64], w, b, 1e-5)
    torch.testing.assert_close(mean, x.mean(-1, keepdim=True))


@pytest.mark.parametrize("needed", [(0,), (1,), (2,), (1, 2)], ids=str)
def test_only_what_is_asked_for(device, override, needed):
    n = 64
    tensors = operands(device, n)
    for place, tensor in enumerate(tensors):
        tensor.requires_grad_(place in needed)
    F.layer_norm(tensors[0], (n,), *tensors[1:]).square().sum().backward()
    got = [tensors[place].grad for place in needed]
    doubles = [t.detach().double().requires_grad_() for t in tensors]
    F.layer_norm(doubles[0], (n,), *doubles[1:]).square().sum().backward()
    close([g.double() for g in got], [doubles[place].grad for place in needed], 1e-5)
    assert all(t.grad is None for place, t in enumerate(tensors) if place not in needed)


def test_what_is_pytorchs_own(device, override, launched):
    """float64, no elements, types that do not go together: kernels of PyTorch, its words."""
    x = torch.randn(2, 2, 8, device=device, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda t: F.layer_norm(t, (8,)), (x,))
    assert F.layer_norm(torch.empty(0, 8, device=device), (8,)).shape == (0, 8)
    x, w, b = operands(device, 64)
    with pytest.raises(RuntimeError, match=r"dtype|type"):
        F.layer_norm(x, (64,), w.double(), b.double())
    with pytest.raises(RuntimeError, match=r"shape|normalized_shape"):
        F.layer_norm(x, (63,))
    assert not launched


@pytest.mark.parametrize("name,parameters", [
    ("native_layer_norm", ()), ("native_layer_norm", (1,)), ("native_layer_norm", (2,)),
    ("_fused_rms_norm", ()), ("_fused_rms_norm", (1,))], ids=str)
@pytest.mark.parametrize("dtype,tolerance", [(torch.float32, 1e-5), (torch.bfloat16, 2e-2)],
                         ids=str)
def test_absent_parameters_do_not_leave_cpp(device, override, launched, monkeypatch, name,
                                            parameters, dtype, tolerance):
    """Autograd passes them on as undefined tensors. The first step loads the kernels; a second one
    that asked Python would not find PyTorch's."""
    n = 176 + 8 * (5 * (dtype == torch.bfloat16) + 3 * (name == "_fused_rms_norm")
                   + sum(parameters))
    tensors = operands(device, n, dtype)
    count = 2 if name == "native_layer_norm" else 1
    used = [tensors[0], *(tensors[place] for place in parameters)]

    def function(x, *there):
        left = dict(zip(parameters, there, strict=True))
        given = [left.get(place) for place in range(1, 1 + count)]
        return getattr(torch.ops.aten, name)(x, [n], *given, 1e-5)[0]

    first = gradients(function, used)
    assert len(launched) == 2 and launched[1].endswith("_bwd")
    with monkeypatch.context() as context:
        context.setattr(aten, "_originals", {})
        second = gradients(function, used)
    close(second, first, 0)
    override.undo()
    doubles = [t.detach().double().requires_grad_() for t in used]
    close(first, [t.to(dtype) for t in gradients(function, doubles)], tolerance)


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("eps", [None, 1e-5])
def test_rms_norms_gradient_that_is_pytorchs_own(device, override, launched, is_weighted, eps):
    """The CPU has no kernel of it."""
    x = torch.randn(2, 2, 8, device=device, dtype=torch.float64, requires_grad=True)
    w = torch.randn(8, device=device, dtype=torch.float64, requires_grad=True)
    inputs = (x, w) if is_weighted else (x,)
    for function in (F.rms_norm, lambda x, *others: torch.ops.aten._fused_rms_norm(x, *others)[0]):
        assert torch.autograd.gradcheck(
            lambda x, w=None, f=function: f(x, [8], w, eps), inputs)
        rows = [t.detach().float().requires_grad_() for t in (x[:0], *inputs[1:])]
        function(rows[0], [8], *(rows[1:] or [None]), eps).sum().backward()
        assert rows[0].grad.shape == (0, 2, 8)
        assert not is_weighted or not rows[1].grad.any()
    assert not launched


def test_a_gradient_of_another_type_is_pytorchs_own(device, override):
    """Its kernel is loaded, and cannot take it."""
    x = torch.randn(3, 64, device=device)
    _, mean, rstd = torch.ops.aten.native_layer_norm(x, [64], None, None, 1e-5)
    arguments = (x, [64], mean, rstd, None, None, [True, False, False])
    torch.ops.aten.native_layer_norm_backward(x, *arguments)
    with pytest.raises(RuntimeError, match="expected scalar type"):
        torch.ops.aten.native_layer_norm_backward(x.double(), *arguments)


def test_what_cannot_be_compiled_is_pytorchs_own_with_one_warning(device, override, monkeypatch):
    asked = []

    def refuse(*arguments):
        asked.append(arguments)
        raise lnbwd.CompileError("refused on purpose", "with words")

    monkeypatch.setattr(regions, "_load", refuse)
    n = 136
    tensors = operands(device, n)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            got = gradients(lambda x, w, b: F.layer_norm(x, (n,), w, b), tensors)
    assert len(asked) == 2  # Forward and backward, once each.
    words = [str(w.message) for w in caught if "override_aten" in str(w.message)]
    assert len(words) == 2 and all("refused on purpose" in word for word in words)
    override.undo()
    close(got, gradients(lambda x, w, b: F.layer_norm(x, (n,), w, b), tensors), 1e-6)


def test_what_cannot_be_loaded_now_is_tried_again(device, override, launched, monkeypatch):
    """While a graph is being captured PyTorch's kernel is taken, and ours once that is over."""
    n = 144
    x, w, b = operands(device, n)
    record = regions._load

    def not_now(*_):
        raise native.NotNowError("a graph is being captured")

    monkeypatch.setattr(regions, "_load", not_now)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first = F.layer_norm(x, (n,), w, b)
    monkeypatch.setattr(regions, "_load", record)
    assert not launched
    second = F.layer_norm(x, (n,), w, b)
    assert launched == ["layer_norm"]
    torch.testing.assert_close(first, second, rtol=1e-5, atol=1e-5)


def test_second_derivatives_forward_mode_and_vmap(device, override):
    """PyTorch's own formulas, around our kernels."""
    x, w, b = operands(device, 64)
    dy = torch.randn_like(x)

    def second(x, w, b):
        dx, = torch.autograd.grad(F.layer_norm(x, (64,), w, b), x, dy.to(x.dtype),
                                  create_graph=True)
        return torch.autograd.grad(dx.square().sum(), (x, w))

    close(second(x, w, b), [g.float() for g in
                            second(*(t.detach().double().requires_grad_() for t in (x, w, b)))],
          1e-4)
    _, tangent = torch.func.jvp(lambda t: F.layer_norm(t, (64,)), (x.detach(),), (dy,))
    _, want = torch.func.jvp(lambda t: F.layer_norm(t, (64,)), (x.detach().double(),),
                             (dy.double(),))
    close([tangent], [want.float()], 1e-4)
    batched = torch.func.vmap(lambda t: F.layer_norm(t, (64,)))(x.detach())
    close([batched], [F.layer_norm(x.detach(), (64,))], 1e-6)


def test_our_functions_and_modules_go_by_way_of_it(device, override):
    x, w, b = operands(device, 64)
    assert "NativeLayerNorm" in type(lnbwd.layer_norm(x, (64,), w, b).grad_fn).__name__
    module = lnbwd.nn.LayerNorm(64).to(device)
    assert "NativeLayerNorm" in type(module(x).grad_fn).__name__
    # Types that PyTorch does not take together are ours as ever.
    half = x.detach().bfloat16().requires_grad_()
    assert "Eager" in type(module(half).grad_fn).__name__
    with pytest.raises(TypeError, match="input: expected a tensor"):
        lnbwd.layer_norm([1.0], (1,))
    with pytest.raises(TypeError, match="input: expected a tensor"):
        lnbwd.rms_norm([1.0], (1,), eps=1e-5)
    assert lnbwd.nn.RMSNorm(64).to(device)(x).shape == x.shape
    override.undo()
    assert "Eager" in type(module(x).grad_fn).__name__


def test_it_ends_when_the_last_one_ends(device, launched):
    first, second = lnbwd.override_aten(device.type), lnbwd.override_aten(device.type)
    first.undo()
    first.undo()
    x, w, b = operands(device, 160)
    F.layer_norm(x, (160,), w, b)
    assert launched == ["layer_norm"] and device.type in norms.overridden
    second.undo()
    x, w, b = operands(device, 168)
    F.layer_norm(x, (168,), w, b)
    assert launched == ["layer_norm"] and device.type not in norms.overridden


def test_threads(device, override):
    x, w, b = operands(device, 64)
    want = F.layer_norm(x, (64,), w, b)
    results = []
    threads = [threading.Thread(target=lambda: results.append(F.layer_norm(x, (64,), w, b)))
               for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4 and all(torch.equal(want, y) for y in results)


def test_no_call_keeps_its_tensors(device, override):
    def call(dtype):
        tensors = operands(device, 64, dtype)
        tensors.append(F.layer_norm(tensors[0], (64,), *tensors[1:]))
        tensors[-1].sum().backward()
        return [weakref.ref(t) for t in tensors]

    for dtype in (torch.float32, torch.float64):
        left = call(dtype)
        gc.collect()
        assert all(reference() is None for reference in left)


def test_modules_compile_whole_beside_it(device, override):
    torch._dynamo.reset()
    x, _, _ = operands(device, 64)
    for module in (lnbwd.nn.LayerNorm(64), lnbwd.nn.RMSNorm(64)):
        module.to(device)
        compiled = torch.compile(module, backend="aot_eager", fullgraph=True)
        torch.testing.assert_close(compiled(x), module(x), rtol=1e-5, atol=1e-5)


@pytest.mark.gpu
def test_autocast_is_that_of_our_functions(device, override):
    x, w, b = operands(device, 64, torch.bfloat16)
    with torch.autocast("cuda", torch.bfloat16):
        assert lnbwd.layer_norm(x, (64,), w, b).dtype == torch.float32
        wanted = F.rms_norm(x, (64,), w).dtype
        assert lnbwd.rms_norm(x, (64,), w).dtype == wanted
        assert lnbwd.nn.RMSNorm(64).to(device, torch.bfloat16)(x).dtype == wanted


def test_nothing_is_said_of_what_was_asked_for():
    """PyTorch warns of kernels that are overridden, in C++, on standard error."""
    script = """
import torch, lnbwd, warnings
torch.set_warn_always(True)
for _ in range(2):
    with lnbwd.override_aten("cpu"):
        pass
warnings.warn("another is shown")
"""
    result = loaded_python.run(
        ["-c", script], env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    assert result.returncode == 0, result.stderr
    line, _ = result.stderr.split("\n", maxsplit=1)
    assert line.endswith("UserWarning: another is shown")
    assert "overrid" not in result.stderr and "Overrid" not in result.stderr


def test_wrong_use():
    with pytest.raises(ValueError, match="device_type: expected 'cuda' or 'cpu', got 'xpu'"):
        lnbwd.override_aten("xpu")
    result = loaded_python.run(
        ["-c", "import lnbwd; lnbwd.override_aten()"],
        env={**os.environ, "LNBWD_NATIVE": "0", "PYTHONPATH": os.pathsep.join(sys.path)})
    assert "the operators in C++ (liblnbwd-torch.so) are not in use here" in result.stderr


@pytest.mark.skipif(HAS_GPU, reason="tests the simulator")
@pytest.mark.simulator
def test_without_a_simulated_chip_the_cpu_is_pytorchs(monkeypatch):
    monkeypatch.delenv("LNBWD_SIMULATE", raising=False)
    x, w, b = operands(torch.device("cpu"), 64)
    want = F.layer_norm(x, (64,), w, b)
    with lnbwd.override_aten("cpu"):
        assert torch.equal(F.layer_norm(x, (64,), w, b), want)
