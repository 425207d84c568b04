# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random numbers drawn in row programs: kernels and PyTorch's operations draw the same bits."""

import pytest
import torch
import torch.nn.functional as F
from cases import diagonal
from compiled import normal, on_device, simulated
from torch.utils import checkpoint

import lnbwd
import lnbwd.inductor
from lnbwd.ops import regions
from lnbwd.program.evaluation import evaluate, random_numbers
from lnbwd.program.mlir import mlir
from lnbwd.program.operands import Input, Output
from lnbwd.program.row_program import Builder, RowProgram


def has_random(program: RowProgram) -> bool:
    return any(node[0] == "random" for node in program.nodes)


def dropout(n: int, rows: int | None = None, groups: int | None = None) -> RowProgram:
    """x without a tenth of its elements, plus the sum of the row; the mask; with groups, x is
    multiplied by a column of the group first."""
    b = Builder(n)
    x, seed = b.add("input", 0), b.add("input", 2 if groups else 1)
    if groups:
        x = b.add("mul", x, b.add("input", 1))
    mask = b.add("gt", b.add("random", seed), b.constant(0.1))
    kept = b.add("select", mask, x, b.constant(0))
    y = b.add("add", kept, b.add("row_sum", kept))
    column = [Input("group_column", "f32")] if groups else []
    return b.finish(rows, [Input("row", "f32"), *column, Input("number", "i64")],
                    [Output("row", "f32", y), Output("row", "i8", mask)], groups)


# Two seeds beyond 32 bits; one negative.
@pytest.mark.parametrize("chip, seed, shape", diagonal(
    ["gfx942", "gfx1201"], [0, 1 << 40 | 12345, -(1 << 62) - 7],
    [(64, None, None), (1000, None, None), (96, 12, 3)]))
def test_kernels_draw_the_same_bits(chip, seed, shape):
    n, rows, groups = shape
    program = dropout(n, rows, groups)
    assert RowProgram.from_text(program.text()) == program
    registered = regions.register_row_program(program)
    # A number may be an element of another tensor, at an address that rows could not have.
    seeds = torch.tensor([1, seed])
    x = torch.randint(-8, 9, (groups or 3, 4, n)).float() / 8
    column = [torch.randint(-4, 5, (groups, n)).float()] if groups else []
    inputs = [x, *column, seeds[1]]
    with lnbwd.simulate(chip):
        y, mask = torch.ops.lnbwd._region(inputs, registered.text)
    wanted, wanted_mask = evaluate(program, inputs)
    torch.testing.assert_close(mask.reshape(-1), wanted_mask.reshape(-1), rtol=0, atol=0)
    torch.testing.assert_close(y.reshape(-1), wanted.reshape(-1), rtol=0, atol=0)
    assert 0.8 < mask.float().mean() < 1


def test_known_answer():
    """The first word of Random123's known answers for philox4x32-10, of zeros."""
    program = dropout(16)
    builder = Builder(16)
    builder.nodes = list(program.nodes)
    draw = next(i for i, node in enumerate(program.nodes) if node[0] == "random")
    drawn = builder.finish(None, program.inputs, [Output("row", "f32", draw)])
    [value] = evaluate(drawn, [torch.zeros(1, 16), torch.tensor(0)])
    assert value[0, 0] == torch.tensor(0x6627E8D5).to(torch.float32) * 4.6566127342e-10


def test_groups_of_unknown_sizes_are_refused():
    program = dropout(96, None, 3)
    with pytest.raises(ValueError, match="known number of rows in a group"):
        mlir(program)


@pytest.mark.parametrize("shape", [(6, 64), (2, 5, 96)])
def test_dropout_is_drawn_in_its_program(shape, fresh_inductor):
    """The mask is that of the seed and of each element's place, forward and backward."""
    n = shape[-1]

    def function(x, h, gamma, beta):
        stream = x + F.dropout(h, 0.25)
        return F.layer_norm(stream, (n,), gamma, beta), stream

    x, h, gamma, beta = (t.detach().requires_grad_() for t in on_device(
        [normal(*s, seed=place) for place, s in enumerate((shape, shape, (n,), (n,)))]))
    with simulated():
        compiled = torch.compile(function, backend="lnbwd", fullgraph=True)
        compiled(x, h, gamma, beta)
        torch.manual_seed(3)
        y, stream = compiled(x, h, gamma, beta)
        (y.square().sum() + stream.sum()).backward()
    made = lnbwd.inductor.decisions(clear=True)
    assert any(has_random(program) for one in made for program in one.programs)
    assert all(one.taken for one in made), [*map(str, made)]
    torch.manual_seed(3)
    # As Inductor's code draws it.
    [seed] = torch.randint(-2 ** 63, 2 ** 63 - 1, (1,), device=x.device)
    kept = (random_numbers(seed, x.numel() // n, n) > 0.25).reshape(shape)
    torch.testing.assert_close(stream, x + h * kept / 0.75)
    torch.testing.assert_close(h.grad, x.grad * kept / 0.75)


@pytest.mark.parametrize("is_checkpoint", [False, True])
def test_both_passes_have_the_same_mask(is_checkpoint, fresh_inductor):
    """Also where the backward pass draws it again."""
    def layer(x):
        return F.dropout(x.softmax(-1), 0.3) * 2

    def function(x):
        return checkpoint.checkpoint(layer, x, use_reentrant=False) if is_checkpoint else layer(x)

    x, = (t.requires_grad_() for t in on_device([normal(32, 64)]))
    with simulated():
        y = torch.compile(function, backend="lnbwd", fullgraph=True)(x)
        gradient, = torch.autograd.grad(y, x, y.detach())
    mask = y != 0
    assert 0.6 < mask.float().mean() < 0.8
    exact = x.detach().double().requires_grad_()
    want = exact.softmax(-1) * mask / 0.7 * 2
    gradient_wanted, = torch.autograd.grad(want, exact, y.detach().double())
    torch.testing.assert_close(y.double(), want, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(gradient.double(), gradient_wanted, rtol=1e-5, atol=1e-6)
    assert any(has_random(program) for one in lnbwd.inductor.decisions(clear=True)
               for program in one.programs)
