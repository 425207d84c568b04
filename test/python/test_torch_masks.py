# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Masks of booleans in regions of torch.compile's graphs: those of dropout, which are read, and
those of comparisons, which are written."""

import dataclasses
import pathlib
import sys

import pytest
import torch
import torch.nn.functional as F
from captured import Captured, check_against_double, operands, run_captured, taken

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import lnbwd.inductor  # noqa: E402
from lnbwd.row_evaluation import evaluate  # noqa: E402
from lnbwd.row_mlir import mlir  # noqa: E402
from lnbwd_bench import models  # noqa: E402

pytestmark = [pytest.mark.compiler, pytest.mark.usefixtures("fresh_regions")]


def dropout_and_norm(x, h, mask, gamma):
    """Dropout by a given mask, the residual addition, RMSNorm, and a mask of the result."""
    stream = x + mask * h * 1.25
    y = stream * torch.rsqrt(stream.square().mean(-1, keepdim=True) + 1e-5) * gamma
    return stream, y, y > 0


def test_named_graph(device):
    """The region as MLIR: a mask is a block of bytes, and a condition inside."""
    run_captured(dropout_and_norm, *operands(device, "r", "r", "m", "c"))
    program, = (d.program for d in taken())
    lines = [line.strip() for line in mlir(program).splitlines()]
    assert [(i.kind, i.dtype) for i in program.inputs] == [
        ("row", "i8"), ("row", "f32"), ("row", "f32"), ("column", "f32")]
    assert [(o.kind, o.dtype) for o in program.outputs] == [
        ("row", "f32"), ("row", "f32"), ("row", "i8")]
    assert "%arg0: memref<6x64xi8>" in lines[0] and "%out2: memref<6x64xi8>" in lines[0]
    at = lines.index("^row(%in0: vector<64xi8>, %in1: vector<64xf32>, %in2: vector<64xf32>, "
                     "%in3: vector<64xf32>):")
    assert lines[at + 1:at + 6] == [
        "%0 = arith.constant dense<0> : vector<64xi8>",
        "%1 = arith.cmpi ne, %in0, %0 : vector<64xi8>",
        "%2 = arith.constant dense<1.000000000e+00> : vector<64xf32>",
        "%3 = arith.constant dense<0.000000000e+00> : vector<64xf32>",
        "%4 = arith.select %1, %2, %3 : vector<64xi1>, vector<64xf32>"]
    end = next(i for i, line in enumerate(lines) if line.startswith("lnbwd.yield"))
    assert lines[end - 1].endswith(": vector<64xi1> to vector<64xi8>")
    assert "arith.extui" in lines[end - 1] and "arith.cmpf ogt" in lines[end - 2]


@pytest.mark.parametrize("n", [16, 63, 64, 100])
def test_values(device, n):
    arguments = operands(device, "r", "r", "m", "c", n=n)
    got, _ = run_captured(dropout_and_norm, *arguments)
    want = dropout_and_norm(*(t.double() if t.is_floating_point() else t for t in arguments))
    assert got[2].dtype == torch.bool and torch.equal(got[2], got[1] > 0)
    for g, w in zip(got[:2], want[:2], strict=True):
        assert (g.double() - w).norm() <= 1e-6 * w.norm()
    program, = (d.program for d in taken())
    # What PyTorch's operations give for the same program.
    for g, w in zip(got, evaluate(program, [arguments[i] for i in (2, 1, 0, 3)]), strict=True):
        assert g.dtype == w.dtype and g.isfinite().all()
        assert torch.allclose(g.reshape(w.shape).float(), w.float(), rtol=1e-5, atol=1e-6)


def test_not_a_number_stays_where_it_is_masked(device):
    """A mask is a factor, as in PyTorch: infinity times 0."""
    x, h, mask, gamma = operands(device, "r", "r", "m", "c")
    h[0, 0, 5], mask[0, 0, 5] = float("inf"), False
    got, _ = run_captured(dropout_and_norm, x, h, mask, gamma)
    assert len(taken()) == 1
    assert got[0][0, 0, 5].isnan() and got[0].isnan().sum() == 1


def test_masks_of_masks(device):
    """Booleans by logic, by conversion, and as numbers."""
    def function(x, y, mask):
        both = torch.logical_and(mask, x > 0.1) | ~(y > x) ^ mask
        any_ = torch.logical_or(x.clamp(min=0), mask) & (mask.float() <= 0.5).bool()
        z = torch.where(both, x, y).masked_fill(any_, 0.25) + mask
        return z - z.mean(-1, keepdim=True), both, any_

    check_against_double(function, operands(device, "r", "r", "m"), tolerance=1e-6)
    program, = (d.program for d in taken())
    assert sorted(o.dtype for o in program.outputs) == ["f32", "i8", "i8"]


def test_relu_keeps_a_mask(device):
    def function(x, h, gamma):
        y = torch.relu(x + h)
        return y * torch.rsqrt(y.square().mean(-1, keepdim=True) + 1e-5) * gamma

    arguments = operands(device, "r", "r", "c")
    gradients = []
    for compiled in (torch.compile(function, backend=Captured(True).backend), function):
        inputs = [t.clone().requires_grad_() for t in arguments]
        compiled(*inputs).sin().sum().backward()
        gradients.append([t.grad for t in inputs])
    for got, want in zip(*gradients, strict=True):
        torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-5)
    # sin stands between: forward and backward pass, with the mask from one to the other.
    programs = [d.program for d in taken()]
    assert len(programs) == 2
    assert all(i.dtype == "f32" for i in programs[0].inputs)


def test_masks_of_scalars_and_columns(device):
    """Those of rows, samples or channels are bytes, too."""
    def function(x, keep, channels):
        y = torch.where(keep, x, 0.0) * channels
        return y - y.mean(-1, keepdim=True)

    x, = operands(device, "r")
    keep = torch.tensor([True, False, True, True, True, False], device=device).view(2, 3, 1)
    channels = torch.arange(64, device=device) % 3 > 0
    got, _ = run_captured(function, x, keep, channels)
    want = function(x.double(), keep, channels)
    assert (got.double() - want).norm() <= 1e-6 * want.norm()
    assert [i.dtype for d in taken() for i in d.program.inputs] == ["f32", "i8", "i8"]


# --------------------------------------------------------------------------------------------------
# Dropout
# --------------------------------------------------------------------------------------------------


class DropoutBlock(models.Block):
    """With dropout after attention and feed-forward layer, as GPT-2 is trained."""

    def forward(self, x):
        x = x + F.dropout(self.attention(self.norm1(x)), 0.1, self.training)
        h = self.down(F.gelu(self.up(self.norm2(x)), approximate=self.approximate))
        return x + F.dropout(h, 0.1, self.training)


def gpt2_with_dropout(device):
    config = dataclasses.replace(models.CONFIGS["gpt2-small"], layers=1, width=64, heads=2,
                                 hidden=128, batch=2, tokens=8, vocabulary=32)
    model = models.make_model(config, device)
    for block in model.blocks:
        block.__class__ = DropoutBlock
    return model, models.make_batch(config, device)


@pytest.mark.parametrize("precision", ["autocast", "float32"])
def test_gpt2_with_dropout(device, precision, always_taken):
    """The same masks are drawn with our regions and without. A norm behind a dropout is a region,
    which draws the mask, and so is its gradient, which reads the masks around it."""
    model, batch = gpt2_with_dropout(device)
    results, graphs = [], []
    for has_regions in (True, False):
        torch._dynamo.reset()
        torch.manual_seed(3)
        model.zero_grad()
        captured = Captured(has_regions)
        graphs.append(captured)
        with torch.autocast(device.type, torch.bfloat16, enabled=precision == "autocast"):
            loss = torch.compile(model, backend=captured.backend)(*batch)
        loss.backward()
        results.append((loss.item(), {n: p.grad.clone() for n, p in model.named_parameters()}))
    (loss, got), (plain_loss, want) = results
    tolerance = 3e-2 if precision == "autocast" else 1e-4
    assert abs(loss - plain_loss) <= tolerance * abs(plain_loss)
    for name in want:
        assert (got[name] - want[name]).norm() <= tolerance * want[name].norm() + 1e-6, name
    norms = [d.program for d in taken() if d.row_sums and d.program.length == 64]
    forward = [p for p in norms if all(o.kind != "column_sum" for o in p.outputs)]
    # The first norm reads rows of the tokens' table.
    assert len(norms) == 6
    assert [p.draws for p in forward].count(True) == 2
    # All gradients but the last stand beside a dropout.
    assert sum(any(i.dtype == "i8" for i in p.inputs) for p in norms) >= 2
    assert [[n.name for n in c.graphs[0].nodes if n.name.startswith("inductor_random")]
            for c in graphs] == [[], ["inductor_random_default_1", "inductor_random_default"]]


def test_random_numbers_are_compared_outside(device):
    """A mask has a quarter of the bytes of the numbers that it is drawn from."""
    def function(x):
        mask = torch.rand_like(x) > 0.5
        y = torch.where(mask, x, 0)
        return y - y.mean(-1, keepdim=True), mask

    (_, mask), captured = run_captured(function, *operands(device, "r"))
    decision, = lnbwd.inductor.decisions()
    assert sorted(i.dtype for i in decision.program.inputs) == ["f32", "i8"]
    assert not any(o.dtype == "i8" for o in decision.program.outputs)
    # It would be read, where torch.compile has it at hand.
    assert decision.reason.endswith(", as a part of what those fuse")
    assert 0 < mask.sum() < mask.numel()
    assert any("gt" in str(n.target) for n in captured.graphs[0].nodes)


def safe_softmax(x, mask):
    """0 where all of a row is masked."""
    scores = torch.where(mask, x * 0.5, -torch.inf)
    seen = torch.any(scores != -torch.inf, -1, keepdim=True)
    return torch.where(seen, torch.softmax(scores, -1), 0.0)


def centre_unless_zero(x, mask):
    return torch.where(x.any(-1, keepdim=True), x - x.mean(-1, keepdim=True), 1.0) * mask


@pytest.mark.parametrize("function, row_sums", [(safe_softmax, 3), (centre_unless_zero, 2)])
def test_whether_any_element_of_a_row(device, function, row_sums):
    torch.manual_seed(2)
    x, mask = torch.randn(6, 16, 64, device=device), torch.rand(6, 16, 64, device=device) > 0.3
    mask[0, 3] = False
    x[1, 2], x[1, 3], x[1, 4] = 0, 0, -0.0
    x[1, 3, 5] = torch.nan
    y = torch.compile(function, backend="lnbwd")(x, mask)
    torch.testing.assert_close(y, function(x, mask), equal_nan=True)
    region, = taken()
    assert region.row_sums == row_sums
