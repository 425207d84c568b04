# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whole models: modules, patching, checkpoints, training, data-parallel training."""

import copy
import os
import socket
import subprocess
import sys

import loaded_python
import pytest
import torch
from training import TinyTransformer, train

import lnbwd
from conftest import HAS_GPU, ROOT


def small_model():
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Linear(32, 64), torch.nn.LayerNorm(64), torch.nn.GELU(), torch.nn.RMSNorm(64),
        torch.nn.Sequential(torch.nn.LayerNorm(64, elementwise_affine=False),
                            torch.nn.LayerNorm(64, bias=False)), torch.nn.Linear(64, 8))


def gradients(model, x):
    model.zero_grad()
    model(x).square().sum().backward()
    return [p.grad.clone() for p in model.parameters()]


def test_modules_are_drop_in(device):
    for ours, theirs in ((lnbwd.nn.LayerNorm, torch.nn.LayerNorm),
                         (lnbwd.nn.RMSNorm, torch.nn.RMSNorm)):
        a = ours((4, 16), eps=1e-3, elementwise_affine=True, device=device, dtype=torch.float32)
        b = theirs((4, 16), eps=1e-3, elementwise_affine=True, device=device, dtype=torch.float32)
        assert isinstance(a, theirs)
        assert a.extra_repr() == b.extra_repr()
        assert list(a.state_dict()) == list(b.state_dict())
        with torch.no_grad():
            for p in b.parameters():
                p.normal_()
        a.load_state_dict(b.state_dict())
        x = torch.randn(3, 4, 16, device=device)
        torch.testing.assert_close(a(x), b(x), rtol=1e-5, atol=1e-5)
        for p, q in zip(gradients(a, x), gradients(b, x), strict=True):
            torch.testing.assert_close(p, q, rtol=1e-4, atol=1e-4)
        b.load_state_dict(a.state_dict())
        assert ours((4, 16)).to(torch.bfloat16).weight.dtype == torch.bfloat16


def test_patch_and_undo(device):
    model = small_model().to(device)
    x = torch.randn(5, 32, device=device)
    expected = gradients(model, x)
    parameters, state = list(model.parameters()), copy.deepcopy(model.state_dict())
    calls = []
    hook = model[1].register_forward_hook(lambda *a: calls.append(1))
    patched = lnbwd.patch(model)
    assert patched.names == ["1", "3", "4.0", "4.1"]
    assert type(model[1]) is lnbwd.nn.LayerNorm
    assert type(model[3]) is lnbwd.nn.RMSNorm
    assert all(p is q for p, q in zip(model.parameters(), parameters, strict=True))
    assert list(model.state_dict()) == list(state)
    for a, b in zip(gradients(model, x), expected, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-4)
    assert calls
    hook.remove()
    patched.undo()
    patched.undo()
    assert type(model[1]) is torch.nn.LayerNorm
    assert type(model[3]) is torch.nn.RMSNorm
    for a, b in zip(gradients(model, x), expected, strict=True):
        assert torch.equal(a, b)


def test_patch_as_a_context_and_unpatch(device):
    model = small_model().to(device)
    with pytest.raises(RuntimeError, match="on purpose"), lnbwd.patch(model):
        assert type(model[1]) is lnbwd.nn.LayerNorm
        raise RuntimeError("on purpose")
    assert type(model[1]) is torch.nn.LayerNorm
    lnbwd.patch(model)
    assert lnbwd.patch(model).names == []
    assert lnbwd.unpatch(model) == 4
    assert lnbwd.unpatch(model) == 0


def test_a_module_itself_can_be_patched():
    layer = torch.nn.LayerNorm(8)
    assert lnbwd.patch(layer).names == [""]
    assert type(layer) is lnbwd.nn.LayerNorm
    with pytest.raises(TypeError, match=r"model: expected a torch\.nn\.Module, got list"):
        lnbwd.patch([layer])


def test_derived_classes_are_taken_if_they_compute_the_same():
    class Same(torch.nn.LayerNorm):
        pass

    class Other(torch.nn.LayerNorm):
        def forward(self, input):
            return super().forward(input) + 1

    model = torch.nn.Sequential(Same(8), Other(8), torch.nn.LayerNorm(8))
    assert lnbwd.patch(model).names == ["0", "2"]
    assert isinstance(model[0], Same) and type(model[1]) is Other


def test_a_patched_model_can_be_copied_and_saved(tmp_path):
    model = small_model()
    lnbwd.patch(model)
    twin = copy.deepcopy(model)
    assert type(twin[1]) is lnbwd.nn.LayerNorm
    torch.save(model.state_dict(), tmp_path / "state.pt")
    small_model().load_state_dict(torch.load(tmp_path / "state.pt", weights_only=True))


def test_a_patched_model_compiles(device):
    torch._dynamo.reset()
    model = small_model().to(device)
    x = torch.randn(5, 32, device=device)
    expected = gradients(model, x)
    lnbwd.patch(model)
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    for a, b in zip(gradients(compiled, x), expected, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("norm", [
    "layer_norm", pytest.param("rms_norm", marks=[] if HAS_GPU else [pytest.mark.full])])
def test_a_transformer_learns_the_same(device, norm, pytestconfig):
    """200 steps (on the simulator 10, with --full 30) on the same seeds by our layers and torch's:
    the losses differ by no more than ten times what they do when torch's run starts one rounding
    away."""
    steps = 200 if HAS_GPU else 30 if pytestconfig.getoption("full", default=False) else 10
    theirs = train(TinyTransformer(norm, torch.nn), steps, device)
    nearby = train(TinyTransformer(norm, torch.nn), steps, device, perturb=2.0**-23)
    ours = train(TinyTransformer(norm, lnbwd.nn), steps, device)
    assert theirs[-1] < (0.5 if HAS_GPU else 0.95) * theirs[0]
    noise = max(abs(a - b) for a, b in zip(theirs, nearby, strict=True))
    distance = max(abs(a - b) for a, b in zip(theirs, ours, strict=True))
    print(f"{norm}, {steps} steps: loss {theirs[0]:.4f} to {theirs[-1]:.4f} (torch), "
          f"{ours[-1]:.4f} (lnbwd); largest difference {distance:.2e}, torch's noise {noise:.2e}")
    assert distance <= 10 * noise + 1e-6


@pytest.mark.parametrize("script", ["ddp.py", "sequence_parallel.py", "sharded_classes.py"])
def test_several_processes(script):
    """On the CPU through Gloo and the simulator; on GPUs through NCCL (the scripts say what).
    torchrun starts the processes on GPUs; here they get from the test what it would tell them."""
    processes = 2
    if HAS_GPU and torch.cuda.device_count() < processes:
        pytest.skip(f"{torch.cuda.device_count()} GPU")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    script = os.path.join(os.path.dirname(__file__), script)
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    if not os.environ.get("LNBWD_TEST_INSTALLED"):
        environment["PYTHONPATH"] = os.pathsep.join(
            [str(ROOT / "python"), os.environ.get("PYTHONPATH", "")])
    if HAS_GPU:
        results = [subprocess.run(
            [sys.executable, "-m", "torch.distributed.run", f"--nproc-per-node={processes}",
             f"--master-port={port}", script], capture_output=True, text=True, check=False,
            env=environment, timeout=540)]
    else:
        environment |= {"WORLD_SIZE": str(processes), "MASTER_ADDR": "127.0.0.1",
                        "MASTER_PORT": str(port)}
        programs = [loaded_python.start([script], env={
            **environment, "RANK": str(rank), "LOCAL_RANK": str(rank)})
            for rank in range(processes)]
        try:
            results = [program.wait() for program in programs]
        finally:
            for program in programs:
                program.end()
    assert all(result.returncode == 0 for result in results), results
    assert "verdict: all right" in results[0].stdout
