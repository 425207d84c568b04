# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Regions that are taken by measurement. What measures is a stand-in, but for one test, in which
the process that measures runs on the simulator: its times mean nothing."""

import subprocess
import sys
import types

import loaded_python
import pytest
import torch
from captured import operands, reasons, run_captured, taken

import lnbwd.inductor
from lnbwd.cache import KernelCache
from lnbwd.errors import CacheWarning, LnbwdError
from lnbwd.inductor import measuring
from lnbwd.inductor.graph_pass import RegionPass, pass_
from lnbwd.inductor.measuring import Measurements, Times
from lnbwd.rowprogram import RowProgram

pytestmark = [pytest.mark.compiler, pytest.mark.usefixtures("fresh_regions")]


class Timer:
    """Gives the same times for every program, and remembers what it was asked."""

    def __init__(self, ours, theirs):
        self.times = Times(ours, theirs)
        self.asked = []

    def __call__(self, text, device):
        self.asked.append(RowProgram.from_text(text))
        return self.times


MANY = 30, 20
"""Of rows, so many that the estimate leaves a sum over them."""


def centre(x):
    return x - x.mean(-1, keepdim=True)


def bias_gradient(x):
    return x.sum([0, 1])


def with_two_conditions(x):
    """A second kernel would make one condition of the two, for a small region."""
    first, second = (torch.arange(x.shape[0], device=x.device).view(-1, 1, 1) > n for n in (1, 2))
    y = torch.where(first ^ second, x, 0.0)
    return y - y.mean(-1, keepdim=True)


@pytest.mark.parametrize("function,is_worth", [(centre, True), (with_two_conditions, False)])
@pytest.mark.parametrize("ours,theirs", [(10.0, 12.5), (12.5, 10.0), (10.0, 10.0)])
def test_times_decide(device, tmp_path, monkeypatch, function, is_worth, ours, theirs):
    """Whatever the estimate says."""
    monkeypatch.undo()
    x, = operands(device, "r", leading=MANY)
    timer = Timer(ours, theirs)
    got, _ = run_captured(function, x, region_pass=RegionPass(
        measurements=Measurements(timer, KernelCache(tmp_path))))
    torch.testing.assert_close(got, function(x), rtol=1e-5, atol=1e-5)
    assert len(timer.asked) == 1 and timer.asked[0].rows == 600
    decision, = lnbwd.inductor.decisions(clear=True)
    assert decision.taken == (ours <= theirs)
    words = f"{ours} us, torch.compile's kernels {theirs}"
    assert decision.reason == (words if decision.taken else f"it would take {words}")
    # The estimate would have said:
    run_captured(function, x)
    assert bool(taken()) == is_worth


def test_times_are_kept(device, tmp_path):
    """In the process, and on disk for the next one; a damaged file is measured again."""
    x, = operands(device, "r")
    timer = Timer(1.0, 2.0)
    first = RegionPass(measurements=Measurements(timer, KernelCache(tmp_path)))
    for region_pass, count in ((first, 1), (first, 1),
                               (RegionPass(measurements=Measurements(
                                   timer, KernelCache(tmp_path))), 1)):
        run_captured(centre, x, region_pass=region_pass)
        assert len(timer.asked) == count
    assert len(taken()) == 3
    for text in ("", "[]", "{", '{"format": "other"}'):
        file, = tmp_path.rglob("*.kernel")
        file.write_text(text)
        timer.asked.clear()
        with pytest.warns(CacheWarning, match="is damaged"):
            run_captured(centre, x, region_pass=RegionPass(
                measurements=Measurements(timer, KernelCache(tmp_path))))
        assert len(timer.asked) == 1
        assert '"theirs": 2.0' in file.read_text()
    # Another program has times of its own.
    run_captured(bias_gradient, x, region_pass=first)
    assert len(timer.asked) == 2


def test_a_folder_that_cannot_be_written(device, tmp_path):
    x, = operands(device, "r")
    (tmp_path / "v1").write_text("a file")
    timer = Timer(1.0, 2.0)
    with pytest.warns(CacheWarning, match="cannot be"):
        run_captured(centre, x, region_pass=RegionPass(
            measurements=Measurements(timer, KernelCache(tmp_path))))
    assert len(timer.asked) == 1 and len(taken()) == 1


def test_an_estimate_where_there_are_no_times(device, tmp_path, monkeypatch):
    monkeypatch.undo()

    def fail(text, device):
        raise LnbwdError("no device")

    x, = operands(device, "r", leading=MANY)
    for function, count in ((centre, 1), (with_two_conditions, 0)):
        lnbwd.inductor.decisions(clear=True)
        run_captured(function, x,
                     region_pass=RegionPass(measurements=Measurements(fail, KernelCache(tmp_path))))
        assert len(taken()) == count and "bytes an element" in (
            [d.reason for d in taken()] + reasons())[0]
    assert not list(tmp_path.rglob("*.kernel"))
    # M is a symbol: no one number of rows stands for all.
    timer = Timer(2.0, 1.0)
    torch._dynamo.mark_dynamic(x, 0)
    lnbwd.inductor.decisions(clear=True)
    run_captured(centre, x, dynamic=None,
                 region_pass=RegionPass(measurements=Measurements(timer, KernelCache(tmp_path))))
    assert not timer.asked and len(taken()) == 1


def test_what_the_program_has_not_is_estimated(device, tmp_path):
    """Rows are made for the region alone: its program does not show that."""
    def function(dy, x):
        dy = torch.atan2(x, x + 1) * dy[:, None]
        return dy - (dy * x).mean(-1, keepdim=True)

    x, = operands(device, "r")
    timer = Timer(1.0, 2.0)
    run_captured(function, x[:, 1].contiguous(), x, region_pass=RegionPass(
        measurements=Measurements(timer, KernelCache(tmp_path))))
    assert not timer.asked and "bytes an element" in reasons()[0]


def test_the_mode_measures(monkeypatch):
    assert pass_().uuid() != pass_(measures=True).uuid() == pass_(measures=True).uuid()
    seen = []
    monkeypatch.setattr(torch._TorchCompileInductorWrapper, "__call__",
                        lambda self, model, inputs: seen.append(self.config) or model)
    for mode, options, measures in ((None, None, False), ("max-autotune", None, True),
                                    ("max-autotune-no-cudagraphs", None, True),
                                    ("reduce-overhead", None, False),
                                    (None, {"max_autotune": True}, True)):
        torch._dynamo.reset()
        torch.compile(centre, backend=lnbwd.inductor.backend, mode=mode,
                      options=options)(torch.ones(2, 16))
        region_pass = seen.pop()["post_grad_custom_pre_pass"]
        assert (region_pass._measurements is not None) == measures


@pytest.mark.simulator
def test_the_process_that_measures(device, tmp_path, monkeypatch):
    """On a GPU it times the GPU; here it shows that both ways run."""
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))

    def start(command, *, input, env, **options):
        assert command[0] == sys.executable
        assert options == {"text": True, "capture_output": True, "check": False, "timeout": 600}
        return loaded_python.run(command[1:], input=input, env=env)

    monkeypatch.setattr(measuring, "subprocess", types.SimpleNamespace(
        run=start, SubprocessError=subprocess.SubprocessError))

    def function(x, h, mask, gamma):
        y = torch.where(mask, x, h.float()) * gamma
        return y - y.mean(-1, keepdim=True), y.sum([0, 1])

    x, h, mask, gamma = operands(device, "r", "r", "m", "c")
    run_captured(function, x, h.bfloat16(), mask, gamma)
    program, = (d.program for d in taken())
    times = measuring.time_in_process(program.text(), device)
    assert times.ours > 0 and times.theirs > 0
    with pytest.raises(LnbwdError, match="expected a row program"):
        measuring.time_in_process("no program", device)
