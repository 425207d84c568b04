# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Regions that compare integers, take an element of each row, have booleans for each row, or
numbers for all rows: cross entropy, safe softmax, scaled norms."""

import pytest
import torch
import torch.nn.functional as F
from captured import Captured, check_against_double, operands, reasons, run_captured, taken

import lnbwd.inductor
from lnbwd.rowprogram import SUMS, operands_of, reached

pytestmark = [pytest.mark.compiler, pytest.mark.usefixtures("fresh_regions")]


def gradients(function, x, *arguments):
    x = x.detach().clone().requires_grad_()
    result = function(x, *arguments)
    result.sum().backward()
    return result.detach(), x.grad


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_cross_entropy(device, dtype):
    """Forward and backward pass are a region each; targets may be ignored, logits not finite."""
    def function(x, target):
        return F.cross_entropy(x.float(), target, reduction="none")

    x = torch.randn(12, 300, generator=torch.Generator().manual_seed(1)).to(device, dtype)
    target = (torch.arange(12, device=device) * 29) % 300
    target[3] = -100
    x[4, 7], x[5, 8], x[6], x[7, 9] = float("inf"), float("nan"), float("-inf"), float("-inf")
    got = gradients(torch.compile(function, backend=Captured(True).backend), x, target)
    assert [len(d.program.outputs) for d in taken()] and not reasons()
    assert any(i.dtype == "i64" for d in taken() for i in d.program.inputs)
    want = gradients(function, x, target)
    torch.testing.assert_close(got[0], want[0], rtol=1e-5, atol=1e-5, equal_nan=True)
    torch.testing.assert_close(got[1], want[1], rtol=1e-2 if dtype == torch.bfloat16 else 1e-5,
                               atol=1e-6, equal_nan=True)


def test_an_element_is_picked_while_the_row_is_added_up(device):
    """What is taken of log_softmax is taken of its operand: no sum over the row waits for one."""
    def function(x, target):
        return (-(x * 0.5).log_softmax(-1).gather(1, target),)

    x, target = torch.randn(6, 300, device=device), torch.arange(6, device=device).view(6, 1) * 59
    check_against_double(function, [x, target], tolerance=1e-6)
    nodes = taken()[0].program.nodes
    [picked] = [node[1] for node in nodes if node[0] == "row_sum" and nodes[node[1]][0] == "select"]
    before = reached([picked], lambda index: operands_of(nodes[index]))
    assert not any(nodes[index][0] in SUMS for index in before)


@pytest.mark.parametrize("target", [2 ** 24 + 1, 2 ** 40, -2 ** 40, 299, 300])
def test_large_integers_are_no_column(device, target):
    """Integers are float32 inside: one that float32 does not have is no number of a column."""
    def function(x, target):
        is_it = torch.arange(x.shape[-1], device=x.device) == target
        y = torch.where(is_it, 0.0, x)
        return y - y.mean(-1, keepdim=True)

    x, = operands(device, "r", n=300)
    check_against_double(function, [x, torch.full((2, 3, 1), target, device=device)],
                         tolerance=1e-6)
    assert len(taken()) == 1


def test_other_integers_bound_a_region(device):
    """Of two integers of any size, float32 does not say whether they are equal."""
    def function(x, first, second):
        y = torch.where(first == second, x, 0.0)
        return y - y.mean(-1, keepdim=True)

    x, = operands(device, "r")
    first = torch.full((2, 3, 1), 2 ** 24 + 1, device=device)
    check_against_double(function, [x, first, first - 1], tolerance=1e-6)
    assert all(i.dtype != "i64" for d in taken() for i in d.program.inputs)


def test_safe_softmax(device):
    """Whether a row is masked whole leaves the kernel as a boolean."""
    def function(x, mask):
        x = x.masked_fill(mask, float("-inf"))
        is_masked = (x == float("-inf")).all(-1, keepdim=True)
        return torch.where(is_masked, 0.0, torch.softmax(x, -1)), is_masked

    x, mask = operands(device, "r", "m")
    mask[0, 1], mask[1, 2] = True, False
    got, _ = run_captured(function, x, mask)
    program, = (d.program for d in taken())
    assert [(o.kind, o.dtype) for o in program.outputs] == [("row", "f32"), ("scalar", "i8")]
    want = function(x, mask)
    assert got[1].dtype == torch.bool and torch.equal(got[1], want[1])
    torch.testing.assert_close(got[0], want[0])


def test_numbers_for_all_rows(device):
    def function(x, scale, half):
        y = x * scale + half
        return y * torch.rsqrt(y.square().mean(-1, keepdim=True) + 1e-5)

    x, = operands(device, "r")
    check_against_double(function, [x, torch.tensor(3.5, device=device),
                                    torch.tensor(0.25, dtype=torch.bfloat16, device=device)],
                         tolerance=1e-6)
    program, = (d.program for d in taken())
    assert sorted((i.kind, i.dtype) for i in program.inputs) == [
        ("number", "bf16"), ("number", "f32"), ("row", "f32")]


def test_a_second_kernel_counts(device, monkeypatch):
    """What a region would need computed for it in a kernel of its own, Inductor fuses: a small
    region is left."""
    monkeypatch.undo()

    def function(x, scale):
        y = x * torch.erf(scale)
        return y - y.mean(-1, keepdim=True)

    x, = operands(device, "r")
    run_captured(function, x, x[:, :1, :1])
    assert not taken() and "bytes" in reasons()[0]


def test_booleans_are_read_as_they_are(device):
    """Those of rows, and those of samples."""
    def function(x, first, second):
        y = torch.where(first & second, x, 0.0)
        return y - y.mean(-1, keepdim=True)

    x, = operands(device, "r")
    for second in (x[..., :1] > 0, x[:, :1, :1] > 0):
        lnbwd.inductor.decisions(clear=True)
        check_against_double(function, [x, x[..., 1:2] > 0, second])
        assert [i.dtype for i in taken()[0].program.inputs] == ["f32", "i8", "i8"]
