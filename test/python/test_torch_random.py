# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random numbers drawn in row programs: kernels and PyTorch's operations draw the same bits."""

import pytest
import torch
import torch.nn.functional as F
import torch.utils.checkpoint
from captured import draw, run_captured, taken
from cases import diagonal
from torch._inductor import inductor_prims

import lnbwd
from lnbwd import regions_op
from lnbwd.graphs import nodes
from lnbwd.inductor import regions
from lnbwd.inductor.graph_pass import RegionPass
from lnbwd.row_evaluation import evaluate, random_numbers
from lnbwd.row_mlir import mlir
from lnbwd.rowprogram import Builder, Input, Output, RowProgram


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
    registered = regions_op.register_row_program(program)
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


def renamed(graph):
    """The pass on a graph whose arguments have other names than PyTorch gives them."""
    for place, node in enumerate(graph.find_nodes(op="placeholder")):
        node._rename(f"given_{place}")
        node.target = node.name
    RegionPass()(graph)


@pytest.mark.parametrize("region_pass", [None, renamed])
@pytest.mark.parametrize("shape", [(6, 64), (2, 5, 96)])
def test_dropout_is_drawn_in_its_region(shape, region_pass):
    """The mask is that of the seed and of each element's place, forward and backward."""
    n = shape[-1]
    x, h, gamma, beta = (torch.randn(s).requires_grad_() for s in (shape, shape, n, n))

    def function(x, h, gamma, beta):
        stream = x + F.dropout(h, 0.25)
        return F.layer_norm(stream, (n,), gamma, beta), stream

    with lnbwd.simulate():
        torch.manual_seed(3)
        (y, stream), captured = run_captured(
            function, x, h, gamma, beta, region_pass=region_pass)
        (y.square().sum() + stream.sum()).backward()
    forward, _ = captured.graphs
    assert not any(node.target is inductor_prims.random for node in forward.nodes)
    assert any("random" in str(node.args) for node in forward.nodes
               if node.target is torch.ops.lnbwd._region.default)
    torch.manual_seed(3)
    [seed] = inductor_prims.seeds(1, torch.device("cpu"))
    kept = (random_numbers(seed, x.numel() // n, n) > 0.25).reshape(shape)
    torch.testing.assert_close(stream, x + h * kept / 0.75)
    torch.testing.assert_close(h.grad, x.grad * kept / 0.75)


def dropped(x, scale):
    y = F.dropout(x * scale, 0.5)
    return (y - y.mean(-1, keepdim=True)).sin()


def noisy(x, scale):
    """The numbers' only use in the forward pass is a result."""
    y = x * torch.rand_like(x)
    return y, (y - y.mean(-1, keepdim=True)).sin() * scale


@pytest.mark.parametrize("layer", [dropped, noisy])
@pytest.mark.parametrize("region_pass", [None, renamed])
@pytest.mark.usefixtures("fresh_regions", "always_taken")
def test_numbers_of_two_graphs_are_left(layer, region_pass):
    """What the backward pass draws again, Inductor may draw in a kernel of another kind."""
    x, scale = torch.randn(6, 64).requires_grad_(), torch.randn(64).requires_grad_()
    with lnbwd.simulate():
        results, captured = run_captured(
            lambda *given: torch.utils.checkpoint.checkpoint(layer, *given, use_reentrant=False),
            x, scale, region_pass=region_pass)
        sum(y.sum() for y in (results if isinstance(results, tuple) else (results,))).backward()
    forward, backward = captured.graphs
    for graph in (forward, backward):
        assert any(node.target is draw for node in graph.nodes)
    assert taken() and not any(d.program.draws for d in taken())


@pytest.mark.parametrize("is_made, is_kept, users, is_seed", [
    (True, False, None, True), (False, False, None, False), (True, True, 1, True),
    (True, True, 2, False), (True, True, None, False), (False, True, 1, False)])
def test_seeds_that_are_drawn_of_in_one_graph(is_made, is_kept, users, is_seed):
    """Who makes a seed and keeps it to itself alone draws of it; or, in a forward pass, who hands
    on all that both passes compute of the numbers; and any graph of inference."""
    graph = torch.fx.Graph()
    given = graph.placeholder("given")
    seeds = graph.call_function(
        inductor_prims.seeds, (2, torch.device("cpu"))) if is_made else given
    seed = graph.call_function(inductor_prims.lookup_seed, (seeds, 1))
    drawn = graph.call_function(inductor_prims.random, ([4, 8], seed, "rand"))
    mask = graph.call_function(torch.ops.aten.gt.Scalar, (drawn, 0.5))
    if users is not None:
        drawn.meta[nodes.USERS] = users
    graph.output((seeds, mask) if is_kept else (mask,))
    assert nodes.is_seed(seed) is is_seed
    nodes.mark_seeds(graph)
    assert nodes.is_seed(seed)


def test_the_backward_pass_is_not_known_by_names():
    """The same row blocks are computed again where tangents have other names; none, where PyTorch
    does not say what is traced for the backward pass."""
    def function(x, gamma):
        return F.layer_norm(x, (64,), gamma).sin()

    with lnbwd.simulate():
        _, captured = run_captured(
            function, torch.randn(6, 64).requires_grad_(), torch.randn(64).requires_grad_())
    [joint] = captured.joint
    again, _ = regions.normalised(joint)
    assert again
    for node in joint.find_nodes(op="placeholder"):
        node._rename(node.name.replace("tangents", "given"))
        node.target = node.name
    assert regions.normalised(joint)[0] == again
    for node in joint.nodes:
        node.meta.pop("partitioner_tag", None)
    assert regions.normalised(joint) == (set(), set())
