# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Regions that are taken by measurement. What measures is a stand-in, which looks at what it would
measure: both graphs of a neighbourhood give the same."""

from unittest import mock

import pytest
import torch
from captured import operands, reasons, run_captured, taken
from torch._inductor import inductor_prims
from torch._subclasses.fake_tensor import unset_fake_temporarily

import lnbwd.inductor
from lnbwd import tuning
from lnbwd.cache import KernelCache
from lnbwd.errors import CacheWarning, LnbwdError
from lnbwd.graphs import nodes
from lnbwd.inductor import measuring, random_inputs
from lnbwd.inductor.estimates import Estimate
from lnbwd.inductor.graph_pass import RegionPass, pass_
from lnbwd.inductor.measuring import Measurements, Times

pytestmark = [pytest.mark.compiler, pytest.mark.usefixtures("fresh_regions")]

REGION = torch.ops.lnbwd._region.default


class Timer:
    """Gives the same times for every region, and keeps what it was asked."""

    def __init__(self, ours, theirs):
        self.times = Times(ours, theirs)
        self.asked = []

    def __call__(self, both):
        self.asked.append(both)
        return self.times


IS_SURE = Estimate.is_sure


@pytest.fixture(autouse=True)
def never_sure():
    """Everything is measured that can be, and comes from memory."""
    with (mock.patch.object(Estimate, "is_sure", False),
          mock.patch.object(measuring, "_LEAST_FROM_MEMORY", 0)):
        yield


def run(function, *inputs, timer, folder, **options):
    return run_captured(function, *inputs, **options, region_pass=RegionPass(
        measurements=Measurements(timer, KernelCache(folder))))


def targets(module):
    return [node.target for node in module.graph.nodes if node.op == "call_function"]


def centre(x):
    return x - x.mean(-1, keepdim=True)


def bias_gradient(x):
    return x.sum([0, 1])


def with_two_conditions(x):
    """A second kernel would make one condition of the two, for a small region."""
    first, second = (torch.arange(x.shape[0], device=x.device).view(-1, 1, 1) > n for n in (1, 2))
    y = torch.where(first ^ second, x, 0.0)
    return y - y.mean(-1, keepdim=True)


MANY = 30, 20
"""Of rows, so many that the estimate leaves ``with_two_conditions``."""


@pytest.mark.parametrize("function,is_worth", [(centre, True), (with_two_conditions, False)])
@pytest.mark.parametrize("ours,theirs,is_taken", [
    (10.0, 12.5, True), (12.5, 10.0, False), (10.0, 10.0, False), (12.5, None, True)])
def test_times_decide(device, tmp_path, monkeypatch, function, is_worth, ours, theirs, is_taken):
    """Whatever the estimate says."""
    monkeypatch.undo()
    x, = operands(device, "r", leading=MANY)
    timer = Timer(ours, theirs)
    got, _ = run(function, x, timer=timer, folder=tmp_path)
    torch.testing.assert_close(got, function(x), rtol=1e-5, atol=1e-5)
    assert len(timer.asked) == 1
    decision, = lnbwd.inductor.decisions(clear=True)
    assert decision.taken == is_taken
    words = f"{ours} us, " + ("about as fast as memory" if theirs is None else
                              f"torch.compile's kernels {theirs}")
    assert decision.reason == "it would take " * (not is_taken) + words
    # The estimate would have said:
    run_captured(function, x)
    assert bool(taken()) == is_worth


@pytest.mark.parametrize("function,n,is_sure", [
    (centre, 128, True), (centre, 64, False), (centre, 130, False),
    (with_two_conditions, 128, False)])
def test_what_the_estimate_is_sure_of_is_not_measured(
        device, tmp_path, monkeypatch, function, n, is_sure):
    """It is not of short rows, nor of rows that begin between vectors."""
    monkeypatch.undo()
    timer = Timer(1.0, 2.0)
    with mock.patch.object(Estimate, "is_sure", IS_SURE):
        run(function, *operands(device, "r", leading=MANY, n=n), timer=timer, folder=tmp_path)
    assert bool(timer.asked) != is_sure
    [decision] = lnbwd.inductor.decisions(clear=True)
    assert ("8 bytes an element" if is_sure else "1.0 us") in decision.reason


def test_what_little_is_summed_for_another_kernel_is_measured(device, tmp_path, monkeypatch):
    monkeypatch.undo()
    timer, x = Timer(1.0, 2.0), torch.rand(2, 8, 512, device=device)
    with mock.patch.object(Estimate, "is_sure", IS_SURE):
        run(lambda x: x.exp().sum(-1), x, timer=timer, folder=tmp_path)
        assert not timer.asked
        run(lambda x: x.exp().sum((0, 2)), x, timer=timer, folder=tmp_path)
        assert len(timer.asked) == 1


@pytest.mark.parametrize("is_apart", [False, True])
def test_what_is_copied_for_a_region_is_measured(device, tmp_path, monkeypatch, is_apart):
    """Rows of samples that lie apart: torch.compile's kernel reads them there."""
    monkeypatch.undo()

    def function(x, shift, scale):
        return torch.nn.functional.rms_norm(x, (128,)) * scale.unsqueeze(1) + shift.unsqueeze(1)

    x, = operands(device, "r", leading=(8, 32), n=128)
    columns = torch.rand(8, 256, device=device).chunk(2, 1)
    timer = Timer(1.0, 2.0)
    with mock.patch.object(Estimate, "is_sure", IS_SURE):
        run(function, x, *(c if is_apart else c.contiguous() for c in columns), timer=timer,
            folder=tmp_path)
    assert bool(timer.asked) == is_apart


@pytest.mark.parametrize("is_part,most", [(False, 98.0), (True, 84.0)])
def test_what_measuring_is_unsure_of(is_part, most):
    """A part of what torch.compile fuses has to be faster, by more than a kernel costs."""
    assert Times(most - 0.1, 100.0).is_worth(is_part)
    assert not Times(most + 0.1, 100.0).is_worth(is_part)


def check(device):
    """What stands for a timer: both graphs are computed, and give the same."""
    asked = []

    def timer(both):
        with unset_fake_temporarily(), torch.no_grad():
            generator = torch.Generator(device).manual_seed(1)
            inputs = random_inputs.random_inputs(both.theirs.graph, both.inputs, generator)
            for got, want in zip(both.ours(*inputs), both.theirs(*inputs), strict=True):
                assert got.stride() == want.stride() and got.dtype == want.dtype
                torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-4)
        assert REGION in targets(both.ours) and REGION not in targets(both.theirs)
        asked.append((both, inputs))
        return Times(1.0, 2.0)

    return timer, asked


def only(asked):
    [(both, inputs)] = asked
    return both, inputs


def test_a_region_alone(device, tmp_path):
    """It reads and writes as many bytes as a kernel has to."""
    timer, asked = check(device)
    x, = operands(device, "r")
    run(centre, x, timer=timer, folder=tmp_path)
    both, inputs = only(asked)
    assert both.least_bytes == 2 * x.numel() * 4 and len(inputs) == 1
    assert inputs[0].isfinite().all() and inputs[0].unique().numel() > x.numel() / 2


def test_a_region_alone_that_reads_some_rows_of_a_table(device, tmp_path):
    timer, asked = check(device)
    x, table = operands(device, "r", leading=(6, 5))[0], torch.rand(40, 64)
    run(lambda x, table: centre(x + table[torch.arange(5) + 2]), x, table, timer=timer,
        folder=tmp_path)
    both, _ = only(asked)
    assert both.is_alone and both.least_bytes == (2 * x.numel() + 5 * 64) * 4


def test_results_that_a_user_sees_are_seen_in_both(device, tmp_path):
    """Inductor gives them no gaps, and keeps their order."""
    timer, asked = check(device)
    x, = operands(device, "r")
    region_pass = RegionPass(measurements=Measurements(timer, KernelCache(tmp_path)))

    def run_pass(graph):
        graph.output_node().meta["user_visible_output_idxs"] = [0]
        region_pass(graph)

    run_captured(lambda x, w: (centre(x), centre(x) @ w), x, torch.rand(64, 5),
                 region_pass=run_pass)
    both, _ = only(asked)
    assert [module.graph.output_node().meta["user_visible_output_idxs"]
            for module in (both.ours, both.theirs)] == [[0], [0]]


def test_a_region_alone_that_uses_some_rows_of_an_input(device, tmp_path, monkeypatch):
    """torch.compile reads no others: a region that reads them all is not as fast as memory."""
    def function(x, y):
        z = torch.slice_scatter(torch.zeros_like(y), (x * 2)[:2], 0, 0, 2) + y
        return z - z.mean(-1, keepdim=True)

    timer, asked = check(device)
    x, = operands(device, "r", leading=MANY)
    inputs = x, x + 1
    run(function, *inputs, timer=timer, folder=tmp_path)
    both, _ = only(asked)
    assert both.is_alone and both.least_bytes is None
    monkeypatch.undo()
    lnbwd.inductor.decisions(clear=True)
    run_captured(function, *inputs)
    assert not taken()


def test_what_torch_compile_computes_in_place_is_in_both(device, tmp_path):
    """In front of the region and behind it, up to what it does not fuse."""
    def function(dy, x, w):
        dy = torch.atan2(x, x + 1) * dy[:, None]
        y = dy - (dy * x).mean(-1, keepdim=True)
        return torch.atan2(y, x) @ w

    timer, asked = check(device)
    x, = operands(device, "r")
    run(function, x[:, 1].contiguous(), x, torch.ones(x.shape[-1], 2), timer=timer, folder=tmp_path)
    both, _ = only(asked)
    assert targets(both.theirs).count(torch.ops.aten.atan2.default) == 2
    assert both.least_bytes is None and len(targets(both.ours)) < len(targets(both.theirs))
    assert torch.ops.aten.mm.default not in targets(both.theirs)


def test_what_is_computed_in_place_behind_the_region_is_in_both(device, tmp_path):
    """Of what the region computes as well: torch.compile has it in no memory."""
    def function(x, y):
        z = x * y
        return torch.atan2(z, z + 1) * z.sum(0)

    timer, asked = check(device)
    x, = operands(device, "r", leading=MANY)
    run(function, x, x + 1, timer=timer, folder=tmp_path)
    both, inputs = only(asked)
    assert torch.ops.aten.atan2.default in targets(both.theirs) and len(inputs) == 2


def test_what_follows_a_product_is_no_neighbour(device, tmp_path):
    """It cannot be in the region's kernel: the product reads what that writes."""
    def function(x, w):
        y = x - x.mean(-1, keepdim=True)
        return torch.atan2(x, (y.view(-1, y.shape[-1]) @ w).view(x.shape))

    timer, asked = check(device)
    x, = operands(device, "r")
    run(function, x, torch.ones(x.shape[-1], x.shape[-1]), timer=timer, folder=tmp_path)
    assert torch.ops.aten.atan2.default not in targets(only(asked)[0].theirs)


def test_what_reads_the_same_rows_is_a_neighbour(device, tmp_path):
    """Inductor would make one kernel of both. Not what the region is computed of."""
    def function(x, w):
        y = torch.atan2(x, x + 1)
        z = x + x.view(-1, x.shape[-1]).exp().matmul(w).view(x.shape)
        return y, z - z.mean(-1, keepdim=True)

    timer, asked = check(device)
    x, = operands(device, "r")
    run(function, x, torch.ones(x.shape[-1], x.shape[-1]), timer=timer, folder=tmp_path)
    both, _ = only(asked)
    assert torch.ops.aten.atan2.default in targets(both.ours) and both.least_bytes is None
    assert torch.ops.aten.exp.default not in targets(both.theirs)


@pytest.mark.parametrize("ours,is_taken", [(1.0, True), (3.0, False)])
def test_what_no_region_takes_is_what_it_was(device, tmp_path, ours, is_taken):
    """Rewrites are a matter of regions: integers that are compared by digits, views for indices,
    slices for the parts of a split. torch.compile may make slower kernels of them."""
    def function(x, numbers):
        rows, columns = torch.arange(2)[:, None, None], torch.arange(64)
        first, second = x.split(64, -1)
        mask = numbers[rows, columns[:, None]] == numbers[rows, columns]
        return torch.softmax(torch.where(mask, torch.tanh(first), -1e4), -1), second + 1

    def found(graph):
        return {name for name in ("split", "slice", "index", "bitwise_right_shift")
                for node in graph.nodes if name in str(node.target)}

    timer = Timer(ours, 2.0)
    inputs = torch.rand(2, 64, 128, device=device), (
        torch.arange(128, device=device) // 40).view(2, 64)
    result, captured = run(function, *inputs, timer=timer, folder=tmp_path)
    both, = timer.asked
    assert found(both.ours.graph) >= {"bitwise_right_shift"}
    assert found(both.theirs.graph) == {"split", "index"}
    assert found(captured.graphs[0]) == (
        {"slice", "bitwise_right_shift"} if is_taken else {"split", "index"})
    assert len(taken()) == is_taken
    torch.testing.assert_close(result, function(*inputs))


def test_what_reads_a_view_of_the_same_rows_is_a_neighbour(device, tmp_path):
    """The other sum is of a product that is looked at with the region's sum of a window."""
    def function(x, y):
        window = x[:, 8:]
        return window.sum(1, keepdim=True), (window * y).sum(1, keepdim=True)

    timer, asked = check(device)
    x = torch.rand(2, 40, 64, device=device)
    run(function, x, x[:, :32] + 1, timer=timer, folder=tmp_path)
    assert asked
    assert all(len([target for target in targets(both.theirs) if "sum" in str(target)]) == 2
               for both, _ in asked)


def test_few_that_are_added_up_are_neighbours_as_what_is_elementwise(device, tmp_path):
    """Inductor writes out sums of four, in the loops of the mean behind them."""
    def function(x, gates):
        shares = gates / gates.sum(-1, keepdim=True)
        y = (x * shares.unsqueeze(-1)).sum(1)
        return y, y - y.mean(-1, keepdim=True)

    timer, asked = check(device)
    run(function, torch.rand(32, 4, 64), torch.rand(32, 4), timer=timer, folder=tmp_path)
    assert asked
    for both, _ in asked:
        assert [target for target in targets(both.theirs) if target in nodes.ROW_SUMS] == [
            torch.ops.aten.sum.dim_IntList, torch.ops.aten.sum.dim_IntList,
            torch.ops.aten.mean.dim]


def test_what_is_added_to_places_is_a_neighbour_by_way_of_a_view(device, tmp_path):
    """The copy has its operand's order, in which the region's kernel may write it."""
    def function(x, index):
        y = torch.where((index == 0).unsqueeze(1), 0.0, (x.sum(0) + 1).permute(1, 0))
        return torch.zeros(9, 32, device=device).index_put(
            (index,), y.clone(memory_format=torch.contiguous_format), accumulate=True)

    timer, asked = check(device)
    run(function, torch.rand(40, 32, 64), torch.arange(64) % 9, timer=timer, folder=tmp_path)
    assert torch.ops.aten.index_put.default in targets(only(asked)[0].theirs)


@pytest.mark.parametrize("n,asked", [(64, 1), (1534, 0)])
def test_rows_that_are_padded_in_place_for_a_product_are_left(device, tmp_path, n, asked):
    """Inductor leaves gaps between long rows, so that they are in memory once."""
    def function(x, w):
        y = x - x.mean(-1, keepdim=True)
        return torch.nn.functional.pad(y, [0, 2]) @ w, y @ w[2:]

    timer = Timer(1.0, 9.0)
    run(function, torch.rand(6, n), torch.rand(n + 2, 5), timer=timer, folder=tmp_path)
    assert len(timer.asked) == len(taken()) == asked
    assert reasons() == ["torch.compile pads its rows in place for a product"] * (1 - asked)


def test_constants_in_front_of_a_product(device, tmp_path):
    """They are in no memory."""
    def function(x, w):
        c = torch.full((x.shape[-1],), 2.0, device=x.device)
        y = torch.atan2(x, c).matmul(w) * c
        return y - y.mean(-1, keepdim=True)

    timer, asked = check(device)
    x, = operands(device, "r")
    run(function, x, torch.ones(x.shape[-1], x.shape[-1]), timer=timer, folder=tmp_path)
    assert only(asked) and len(taken()) == 1


def test_a_convolution_is_a_neighbour(device, tmp_path):
    """Inductor chooses its layout."""
    def function(x, w):
        y = torch.conv2d(x, w).flatten(2).transpose(1, 2)
        return y - y.mean(-1, keepdim=True)

    timer, asked = check(device)
    run(function, torch.rand(2, 3, 8, 8), torch.rand(16, 3, 2, 2), timer=timer, folder=tmp_path)
    assert all(torch.ops.aten.convolution.default in targets(module)
               for module in (only(asked)[0].ours, only(asked)[0].theirs))


def test_a_split_reduction_is_what_it_was(device, tmp_path):
    """Without the region; with it, one of what the region gives."""
    def function(x):
        return x.exp().sum([0, 2])

    timer, asked = check(device)
    run(function, torch.rand(6, 5, 640), timer=timer, folder=tmp_path)
    both, _ = only(asked)
    assert targets(both.theirs) == [torch.ops.aten.exp.default, torch.ops.aten.sum.dim_IntList]
    assert torch.ops.aten.sum.dim_IntList in targets(both.ours)


def test_indices_are_within_their_tables(device, tmp_path):
    def function(index, table, x):
        y = torch.embedding(table, index) + x
        return y - y.mean(-1, keepdim=True)

    timer, asked = check(device)
    x, = operands(device, "r")
    run(function, torch.zeros(x.shape[:-1], dtype=torch.int64), torch.rand(7, x.shape[-1]), x,
        timer=timer, folder=tmp_path)
    index, = (value for value in only(asked)[1] if value.dtype == torch.int64)
    assert 0 < index.max() < 7


@pytest.fixture
def indexing():
    """A graph that takes rows of a table at places that it reads."""
    graph = torch.fx.Graph()
    graph.table, graph.index = graph.placeholder("table"), graph.placeholder("index")

    def call(target, *arguments):
        node = graph.call_function(target, arguments)
        node.meta["val"] = target(*torch.fx.map_arg(arguments, lambda one: one.meta["val"]))
        return node

    graph.call = call
    with torch._subclasses.FakeTensorMode():
        graph.table.meta["val"] = torch.ones(9, 8)
        graph.index.meta["val"] = torch.ones(1, 4, dtype=torch.int64)
        yield graph


def test_integers_that_are_computed_with_are_zero(indexing):
    next_ = indexing.call(torch.ops.aten.add.Tensor, indexing.index, 1)
    indexing.call(torch.ops.aten.embedding.default, indexing.table, next_)
    assert random_inputs.limit(indexing.index) == 1 and random_inputs.limit(next_) == 9


def test_integers_are_indices_of_their_dimension(indexing):
    aten = torch.ops.aten
    for size, target, *arguments in (
            (9, aten.embedding.default, indexing.index),
            (8, aten.gather.default, -1, indexing.index),
            (9, aten.index.Tensor, [indexing.index]),
            (8, aten.index.Tensor, [None, indexing.index])):
        indexing.call(target, indexing.table, *arguments)
        assert random_inputs.limit(indexing.index) == size
        indexing.erase_node(next(iter(indexing.index.users)))


def test_integers_beside_a_condition_are_indices_of_the_least_dimension(indexing):
    """The condition may be one for several dimensions."""
    mask = indexing.call(torch.ops.aten.eq.Scalar, indexing.index, 1)
    node = indexing.call_function(torch.ops.aten.index.Tensor, (indexing.table, [
        mask, indexing.index]))
    node.meta["val"] = torch.ones(4)
    assert random_inputs.limit(indexing.index) == 8


def test_integers_of_a_table_are_zero(indexing):
    """They may be indices of a smaller one."""
    ints = indexing.call(torch.ops.aten.expand.default, indexing.index, [3, 4])
    found = indexing.call(torch.ops.aten.gather.default, ints, 1, ints)
    indexing.call(torch.ops.aten.embedding.default, indexing.table, found)
    assert random_inputs.limit(indexing.index) == 1


def test_integers_that_are_no_indices_are_zero_and_one(indexing):
    indexing.call(torch.ops.aten.eq.Scalar, indexing.index, 1)
    assert random_inputs.limit(indexing.index) == 2


def test_numbers_that_become_integers_are_finite(indexing):
    """Others are not, where that is asked for."""
    number = indexing.placeholder("number")
    number.meta["val"] = torch.ones(64)
    indexing.call(torch.ops.prims.convert_element_type.default, number, torch.int64)
    values = [n.meta["val"] for n in indexing.find_nodes(op="placeholder")]
    with unset_fake_temporarily():
        table, index, numbers = random_inputs.random_inputs(
            indexing, values, torch.Generator().manual_seed(0), has_special=True)
        assert not table.isfinite().all() and set(index.unique().tolist()) <= {0, 1}
        assert numbers.isfinite().all() and numbers.min() >= 1


@pytest.mark.parametrize("target,arguments", [
    (torch.ops.prims.convert_element_type.default, (torch.int64,)),
    (torch.ops.aten.gt.Scalar, (0,))])
def test_indices_of_numbers_are_not_measured(indexing, target, arguments):
    number = indexing.placeholder("number")
    number.meta["val"] = torch.ones(4)
    index = indexing.call(target, number, *arguments)
    if index.meta["val"].dtype == torch.bool:
        index = indexing.call(torch.ops.aten.where.self, index, indexing.index, indexing.index)
    indexing.call(torch.ops.aten.embedding.default, indexing.table, index)
    assert random_inputs.has_index_of_numbers(indexing)


@pytest.mark.parametrize("target,arguments,shift,is_outside", [
    ("embedding", (), 8, False), ("embedding", (), 9, True), ("embedding", (), -1, True),
    ("gather", (-1,), 7, False), ("gather", (-1,), -1, True), ("gather", (-1,), 8, True),
    ("index", None, -9, False), ("index", None, -10, True), ("index", None, 9, True)])
def test_computed_indices_outside_of_a_table_are_not_measured(indexing, target, arguments, shift,
                                                              is_outside):
    """They would end the program."""
    aten = torch.ops.aten
    index = indexing.call(aten.add.Tensor, indexing.index, shift)
    if target == "index":
        indexing.call(aten.index.Tensor, indexing.table, [index])
    else:
        indexing.call(getattr(aten, target).default, indexing.table, *arguments, index)
    values = [n.meta["val"] for n in indexing.find_nodes(op="placeholder")]
    with unset_fake_temporarily():
        made = random_inputs.random_inputs(indexing, values, torch.Generator().manual_seed(0))
        assert random_inputs.has_index_outside(indexing, made) == is_outside


def test_a_computed_index_into_computed_integers_is_not_measured(indexing):
    """They are looked for on the host, where PyTorch has an error."""
    aten = torch.ops.aten
    ids = indexing.call(aten.mul.Tensor, indexing.index, 1)
    last = indexing.call(aten.sub.Tensor, indexing.call(aten.amax.default, ids, [1], True), 1)
    shifted = indexing.call(aten.gather.default, ids, 1, last)
    indexing.call(aten.embedding.default, indexing.table, shifted)
    values = [n.meta["val"] for n in indexing.find_nodes(op="placeholder")]
    with unset_fake_temporarily():
        made = random_inputs.random_inputs(indexing, values, torch.Generator().manual_seed(0))
        assert random_inputs.has_index_outside(indexing, made)


def test_times_are_kept(device, tmp_path):
    """In the process, and on disk for the next one; a damaged file is measured again."""
    x, = operands(device, "r")
    timer = Timer(1.0, 2.0)
    first = RegionPass(measurements=Measurements(timer, KernelCache(tmp_path)))
    for region_pass in (first, first, RegionPass(measurements=Measurements(
            timer, KernelCache(tmp_path)))):
        run_captured(centre, x, region_pass=region_pass)
        assert len(timer.asked) == 1
    assert len(taken()) == 3
    for text in ("", "[]", "{", '{"format": "other"}'):
        file, = tmp_path.rglob("*.kernel")
        file.write_text(text)
        timer.asked.clear()
        with pytest.warns(CacheWarning, match="is damaged"):
            run(centre, x, timer=timer, folder=tmp_path)
        assert len(timer.asked) == 1
        assert '"theirs": 2.0' in file.read_text()
    # Another region has times of its own.
    run_captured(bias_gradient, x, region_pass=first)
    assert len(timer.asked) == 2


def test_equal_layers_are_measured_once(device, tmp_path):
    def function(x, w):
        for _ in range(3):
            x = (x - x.mean(-1, keepdim=True)) @ w
        return x

    timer = Timer(1.0, 2.0)
    run(function, torch.rand(6, 64), torch.rand(64, 64), timer=timer, folder=tmp_path)
    assert len(taken()) == 3 and len(timer.asked) == 1


def test_compilation_ahead(device, tmp_path, monkeypatch):
    """What is timed is what was begun with before any region was taken."""
    begun = []

    def start(self, *arguments):
        original(self, *arguments)
        begun.extend(self._started.values())

    def function(x, w):
        for _ in range(2):
            x = torch.atan2(x - x.mean(-1, keepdim=True), x) @ w
        return x.exp().sum(0)

    original = Measurements.start
    monkeypatch.setattr(Measurements, "start", start)
    timer = Timer(1.0, 9.0)
    run(function, torch.rand(6, 64), torch.rand(64, 64), timer=timer, folder=tmp_path)
    assert len(taken()) == 3 and len(timer.asked) == 2
    assert all(any(both is one for one in begun) for both in timer.asked)


def two_products(x, w):
    """Of two regions, the second is of four times as many elements."""
    return centre(x) @ w, centre(x @ w) @ w.T


@pytest.mark.parametrize("is_worth,is_autotuned,asked", [
    (False, False, 1), (True, False, 1), (False, True, 2)])
def test_what_may_save_most_is_timed(device, tmp_path, monkeypatch, is_worth, is_autotuned, asked):
    """Compiling what is timed takes a small part of a graph's own compilation; the estimate decides
    about others, and all are timed where the user asks for it."""
    monkeypatch.setattr(measuring, "_MOST_OF_SMALL_GRAPH", 6)
    monkeypatch.setattr(Estimate, "is_worth", is_worth)
    timer = Timer(1.0, 9.0)
    with torch._inductor.config.patch(max_autotune=is_autotuned):
        run(two_products, torch.rand(6, 64), torch.rand(64, 256), timer=timer, folder=tmp_path)
    assert len(timer.asked) == asked
    decisions = lnbwd.inductor.decisions(clear=True)
    assert [d.taken for d in decisions].count(True) == (2 if is_worth or is_autotuned else 1)
    assert all(d.reason.startswith("it would move") for d in decisions if not d.taken)
    sizes = [both.region.domain.rows * both.region.domain.length for both in timer.asked]
    assert max(sizes) == 6 * 256


@pytest.mark.parametrize("least,asked", [(1.0, 1), (2.1, 0)])
def test_what_cannot_pay_is_not_timed(device, tmp_path, monkeypatch, least, asked):
    """In a large graph equal regions are timed together, if they move enough bytes."""
    def function(x, w):
        return centre(centre(x) @ w) @ w

    monkeypatch.setattr(measuring, "_SMALL_GRAPH", 0)
    monkeypatch.setattr(measuring, "_MOST_COMPILED", 9.0)
    monkeypatch.setattr(measuring, "_LEAST_GAIN", least * measuring._GAIN * 6 * 64 * 8)
    timer = Timer(1.0, 9.0)
    run(function, torch.rand(6, 64), torch.rand(64, 64), timer=timer, folder=tmp_path)
    assert len(timer.asked) == asked and len(taken()) == 2 * asked
    assert all(reason.startswith("it is too small to be timed") for reason in reasons())


@pytest.mark.parametrize("rate,is_as_fast", [(79, False), (81, True), (104, True), (106, False)])
def test_what_is_faster_than_memory_moves_less_than_was_counted(rate, is_as_fast):
    assert measuring.is_as_fast_as_memory(rate, 100) == is_as_fast


@pytest.mark.parametrize("least,is_compared", [(6 * 64 * 8, False), (6 * 64 * 8 + 1, True)])
def test_what_a_cache_may_hold_is_compared_at_once(device, tmp_path, monkeypatch, least,
                                                   is_compared):
    monkeypatch.setattr(measuring, "_LEAST_FROM_MEMORY", least)
    timer = Timer(1.0, 2.0)
    run(centre, torch.rand(6, 64, device=device), timer=timer, folder=tmp_path)
    [both] = timer.asked
    assert both.is_alone and (both.least_bytes is None) == is_compared


def test_a_view_that_others_read_of_what_is_in_front_is_a_result(device, tmp_path):
    """torch.compile's kernel writes it."""
    def function(x, y):
        front = torch.atan2(x, y).t()
        return front, front.sum(0)

    timer, asked = check(device)
    run(function, torch.rand(6, 64), torch.rand(6, 64), timer=timer, folder=tmp_path)
    both, _ = only(asked)
    assert all(len(module.graph.output_node().args[0]) == 2 for module in (both.ours, both.theirs))


@pytest.mark.parametrize("times,is_alone,is_compared", [
    (Times(1.0, None), True, False), (None, True, True), (None, False, False)])
def test_what_is_as_fast_as_memory_is_not_compared(monkeypatch, times, is_alone, is_compared):
    """torch.compile's kernels for a region that is alone are begun with when its own was timed;
    those of others are under way by then."""
    class Begun:
        is_begun = False

        @property
        def finish_theirs(self):
            self.is_begun = True

    both, kept = Begun(), []
    both.least_bytes = 1 if is_alone else None
    measurements = Measurements()
    measurements._started["one"] = both
    monkeypatch.setattr(measurements, "_keep", lambda *what: kept.append(what))
    monkeypatch.setattr(measuring, "measure", lambda _, is_compared: times)
    measurements.start_rest()
    assert both.is_begun == is_compared and kept == ([("one", times)] if times else [])


def test_a_folder_that_cannot_be_written(device, tmp_path):
    x, = operands(device, "r")
    (tmp_path / "v1").write_text("a file")
    timer = Timer(1.0, 2.0)
    with pytest.warns(CacheWarning, match="cannot be"):
        run(centre, x, timer=timer, folder=tmp_path)
    assert len(timer.asked) == 1 and len(taken()) == 1


def test_an_estimate_where_there_are_no_times(device, tmp_path, monkeypatch):
    """Equal regions are not tried again."""
    monkeypatch.undo()
    tried = []

    def fail(both):
        tried.append(both)
        raise LnbwdError("no device")

    x, = operands(device, "r", leading=MANY)
    region_pass = RegionPass(measurements=Measurements(fail, KernelCache(tmp_path)))
    for function, count in ((centre, 1), (centre, 1), (with_two_conditions, 0)):
        lnbwd.inductor.decisions(clear=True)
        run_captured(function, x, region_pass=region_pass)
        assert len(taken()) == count and "bytes an element" in (
            [d.reason for d in taken()] + reasons())[0]
    assert not list(tmp_path.rglob("*.kernel")) and len(tried) == 2
    # M is a symbol: no one number of rows stands for all.
    timer = Timer(2.0, 1.0)
    torch._dynamo.mark_dynamic(x, 0)
    lnbwd.inductor.decisions(clear=True)
    run(centre, x, dynamic=None, timer=timer, folder=tmp_path)
    assert not timer.asked and len(taken()) == 1


def test_random_numbers_are_drawn_in_both(device, tmp_path):
    def function(x):
        y = torch.nn.functional.dropout(x, 0.5)
        return y - y.mean(-1, keepdim=True)

    timer = Timer(1.0, 2.0)
    x, = operands(device, "r")
    run(function, x.requires_grad_(), timer=timer, folder=tmp_path)
    both, *_ = timer.asked
    assert inductor_prims.random in targets(both.theirs)
    assert inductor_prims.random not in targets(both.ours)


def test_schedules_and_regions_are_measured_together(monkeypatch):
    """On a GPU, unless it is switched off; not under a canonical order."""
    monkeypatch.setattr(tuning, "_enabled", None)
    monkeypatch.delenv("LNBWD_AUTOTUNE", raising=False)
    measured = pass_().uuid()
    assert measured == pass_().uuid() and tuning.is_on(is_region=True) and not tuning.is_on()
    monkeypatch.setenv("LNBWD_AUTOTUNE", "0")
    assert measured != pass_().uuid() and not tuning.is_on(is_region=True)


def test_what_inductor_makes_within_a_pass(device, tmp_path, monkeypatch):
    """Inductor compiles the copies while it compiles the graph they are of."""
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(measuring, "kernel_cache", lambda: KernelCache(tmp_path))
    made = []

    def timer(both):
        made.append([both.finish_ours(), both.finish_theirs()])
        return Times(1.0, 9.0)

    def function(x):
        y = torch.atan2(x, x + 1)
        return torch.atan2(y - y.mean(-1, keepdim=True), x)

    x, = operands(device, "r")
    torch._dynamo.reset()
    got = torch.compile(function, options={"post_grad_custom_pre_pass": RegionPass(
        measurements=Measurements(timer))})(x)
    torch.testing.assert_close(got, function(x), rtol=1e-5, atol=1e-5)
    assert len(taken()) == 1 and len(made) == 1
    for call in made[0]:
        torch.testing.assert_close(call([x])[0], function(x), rtol=1e-5, atol=1e-5)
