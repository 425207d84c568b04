# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The operators in C++ and their stand-ins in Python: that both are there, that they agree, and
what becomes of errors between the two languages."""

import contextlib
import gc
import os
import subprocess
import sys
import threading
import types
import weakref

import loaded_python
import pytest
import torch

import lnbwd
from conftest import HAS_GPU, ROOT
from lnbwd import functional  # noqa: F401 (defines the operators)
from lnbwd.core.compile.store import KernelStore
from lnbwd.core.runtime import bindings
from lnbwd.ops import launching, native, norms, regions

has_library = pytest.mark.skipif(bindings.find_library("lnbwd-torch") is None,
                                 reason="built without PyTorch's headers")


@has_library
@pytest.mark.skipif(os.environ.get("LNBWD_NATIVE") == "0", reason="switched off")
def test_the_library_is_used(device, monkeypatch):
    """A launch that is loaded already needs no Python."""
    assert native.load() is not None
    x = torch.randn(3, 72, device=device)
    op = torch.ops.lnbwd._rms_norm.default
    expected = op(x, [72], None, 1e-5)

    def fail(*_):
        raise AssertionError("Python was asked for a kernel")

    monkeypatch.setattr(regions, "_load", fail)
    for got, want in zip(op(x, [72], None, 1e-5), expected, strict=True):
        assert torch.equal(got, want)
    with pytest.raises(AssertionError, match="Python was asked"):
        lnbwd.rms_norm(x, (72,), eps=2e-5)


@has_library
@pytest.mark.skipif(os.environ.get("LNBWD_NATIVE") == "0", reason="switched off")
@pytest.mark.parametrize("tests", [
    "opcheck or fullgraph or vmap or each_sample", pytest.param(
        "forward_mode or func or region or wrong or gradients or error or input",
        marks=pytest.mark.full)])
def test_the_operators_in_python(tests):
    """The same tests with the library left out."""
    result = loaded_python.run(
        ["-m", "pytest", "-q", "-p", "no:cacheprovider", "--no-header",
         *(str(ROOT / "test" / "python" / name) for name in
           ("test_torch_integration.py", "test_torch_regions.py", "test_torch_native.py")),
         "-k", tests],
        env={**os.environ, "LNBWD_NATIVE": "0", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"})
    assert result.returncode == 0, result.stdout[-3000:]


@pytest.mark.compiler
def test_an_error_of_loading_keeps_its_class(device, monkeypatch):
    """What Python raises while it loads a kernel for C++ comes out as it was, forward, backward
    and in threads, and a later call works."""
    def refuse_with(message):
        raise lnbwd.CompileError(message, "with words")

    def refuse(*_, **__):
        refuse_with("refused on purpose")

    x = torch.randn(3, 88, device=device, requires_grad=True)
    with monkeypatch.context() as patch:
        patch.setattr(KernelStore, "code_for", refuse)
        for _ in range(2):
            with pytest.raises(lnbwd.CompileError, match="refused on purpose") as caught:
                lnbwd.layer_norm(x, (88,))
            assert caught.value.diagnostics == "with words"
        long = "refused on purpose " + "x" * 10000
        patch.setattr(KernelStore, "code_for", lambda *_: refuse_with(long))
        with pytest.raises(lnbwd.CompileError, match="refused on purpose xx"):
            lnbwd.layer_norm(x, (88,))
        patch.setattr(KernelStore, "code_for", refuse)
        caught_in_thread = []

        def work():
            try:
                lnbwd.layer_norm(x, (88,))
            except lnbwd.CompileError as error:
                caught_in_thread.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert len(caught_in_thread) == 1
    y = lnbwd.layer_norm(x, (88,))
    with monkeypatch.context() as patch:
        patch.setattr(KernelStore, "code_for", refuse)
        with pytest.raises(lnbwd.CompileError, match="refused on purpose"):
            y.sum().backward(retain_graph=True)
    y.sum().backward()
    assert x.grad is not None


def test_errors_of_the_allocator_keep_their_class():
    error = RuntimeError("lnbwd: out of memory: PyTorch could not allocate a tensor of 7 elements")
    assert isinstance(native.original(error), torch.OutOfMemoryError)
    other = RuntimeError("something else")
    assert native.original(other) is other


@pytest.mark.parametrize("call,words", [
    (lambda op, x, w: op(x, [63], w, 1e-5), "x: expected a shape that ends in"),
    (lambda op, x, w: op(x, [], w, 1e-5), "normalized_shape: expected one dimension or more"),
    (lambda op, x, w: op(x, [64], w[:32], 1e-5), "weight: expected the shape"),
    (lambda op, x, w: op(x, [64], w.long(), 1e-5), "weight: expected"),
    (lambda op, x, w: op(x, [64], w.half(), 1e-5), "weight: expected"),
    (lambda op, x, w: op(x.long(), [64], None, 1e-5), "x: expected"),
    (lambda op, x, w: op(x > 0, [64], None, 1e-5), "x: expected"),
    (lambda op, x, w: op(x, [64], w > 0, 1e-5), "weight: expected"),
    (lambda op, x, w: op(x, [64], w, -1.0), "eps")])
def test_wrong_input_of_the_operators_is_refused(device, call, words):
    """They are called with no checks before them: nothing is read beyond its end."""
    x, w = torch.randn(3, 64, device=device), torch.ones(64, device=device)
    with pytest.raises((RuntimeError, TypeError, ValueError), match=words):
        call(torch.ops.lnbwd._rms_norm.default, x, w)


def test_wrong_input_of_a_backward_operator_is_refused(device):
    x, w, rstd = (torch.randn(*shape, device=device) for shape in ((3, 64), (64,), (3,)))
    op = torch.ops.lnbwd._rms_norm_bwd.default
    assert op(x, x, rstd, w, [64], [True, True])[0].shape == x.shape
    for arguments in ((x.half(), x, rstd, w), (x[:2], x, rstd, w), (x, x, rstd[:2], w),
                      (x, x, rstd.double(), w), (x, x, rstd, w[:8])):
        with pytest.raises((RuntimeError, TypeError, ValueError), match="expected"):
            op(*arguments, [64], [True, True])


def test_no_call_keeps_its_tensors(device):
    """Neither one that is done nor one that is refused, after however many of its arguments."""
    op, op_bwd = torch.ops.lnbwd._layer_norm.default, torch.ops.lnbwd._layer_norm_bwd.default

    def call(spoil):
        x, dy, w, b = (torch.randn(*shape, device=device)
                       for shape in ((3, 64), (3, 64), (64,), (64,)))
        _, mean, rstd = op(x, [64], w, b, 1e-5)
        tensors = [x, dy, w, b, mean, rstd]
        spoil(tensors)
        x, dy, w, b, mean, rstd = tensors
        for function in (lambda: op(x, [64], w, b, -1.0 if dy is None else 1e-5),
                         lambda: op_bwd(dy, x, mean, rstd, w, b, [64], [True, True, True])):
            with contextlib.suppress(RuntimeError, ValueError, TypeError):
                function()
        return [weakref.ref(t) for t in tensors if t is not None]

    def replace(index, make):
        def spoil(tensors):
            tensors[index] = make(tensors[index])
        return spoil

    left = [call(spoil) for spoil in (
        lambda tensors: None, replace(0, lambda x: x[:, :32]), replace(1, lambda dy: None),
        replace(2, lambda w: w[:3]), replace(3, lambda b: b.long()),
        replace(5, lambda rstd: rstd[:1]), replace(0, lambda x: x.double()))]
    gc.collect()
    assert [[number for number, reference in enumerate(references) if reference() is not None]
            for references in left] == [[] for _ in left]


def test_a_capture_loads_no_kernel(monkeypatch):
    """The error says what to do; a GPU runs capture_step.py, whose case 'cold' is this one."""
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: True)
    with pytest.raises(lnbwd.LnbwdError, match=r"a CUDA graph is being captured.*run the same step "
                                               r"once before the capture"):
        launching.check_capture(torch.device("cuda", 0), "the kernel of layer_norm")
    launching.check_capture(torch.device("cpu"), "the kernel of layer_norm")


def test_a_kernel_for_other_rows_serves_a_capture(monkeypatch):
    """The one for the number of rows that is nearest by ratio, if any is loaded."""
    def name(rows):
        return norms.name_of("rms_norm", 64, (torch.float32, None), 1e-5, rows)

    def find(rows):
        return regions.find_kernel(regions.find_program(name(rows)), types.SimpleNamespace(
            device=torch.device("cuda", 0), is_cuda=True, get_device=lambda: 0,
            dtype=torch.float32))

    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: True)
    key = launching.kernel_key
    monkeypatch.setattr(regions, "_kernels", {
        key(name(64), 0): "few", key(name(4096), 0): "many", key(name(512), 1): "another device's"})
    assert [find(rows) for rows in (64, 128, 2048, 1 << 20)] == ["few", "few", "many", "many"]
    monkeypatch.setattr(regions, "_kernels", {})
    with pytest.raises(native.NotNowError, match="run the same step once before the capture"):
        find(128)


@pytest.mark.gpu
def test_a_training_step_in_one_graph():
    result = subprocess.run([sys.executable, os.path.join(os.path.dirname(__file__),
                                                          "capture_step.py"), "--graphs", "3"],
                            capture_output=True, text=True, check=False,
                            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    assert result.returncode == 0, result.stdout


@pytest.mark.skipif(HAS_GPU, reason="tests the simulator")
@pytest.mark.simulator
def test_chips_are_told_apart():
    """A kernel that is loaded for one simulated chip is not launched for another."""
    x = torch.randn(3, 96)
    results = []
    for chip in ("gfx942", "gfx1100", "gfx942"):
        with lnbwd.simulate(chip):
            results.append(lnbwd.layer_norm(x, (96,)))
    for y in results:
        torch.testing.assert_close(y, torch.nn.functional.layer_norm(x, (96,)), rtol=1e-5,
                                   atol=1e-5)
