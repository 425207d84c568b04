# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""lnbwd.distributed: gradients of micro-batches and of ranks have the bits of the whole batch."""

from __future__ import annotations

import multiprocessing
import multiprocessing.forkserver

import numpy as np
import pytest

import compiling
import device as devices
import family
from lnbwd import CompileError
from test_order import inputs_of, run

torch = pytest.importorskip("torch")
N, LEAF = 520, 64
NAMES = ("dgamma", "dbeta")


def nodes_of(build, folder, parts):
    """The gradients of each part of a batch, with so many rows, and of the whole."""
    runtime = devices.Runtime(build)
    case = family.Case("layer_norm_bwd", "gfx942", "f32", N)
    rows = sum(parts)
    whole = inputs_of(case, rows)
    found = []
    for begin, end in [*((sum(parts[:i]), sum(parts[:i + 1])) for i in range(len(parts))),
                       (0, rows)]:
        some = {name: bits if bits.size == N else bits.reshape(rows, -1)[begin:end].ravel()
                for name, bits in whole.items()}
        outputs = run(build, runtime, folder, case, end - begin, some)
        found.append([np.frombuffer(outputs[name], np.float32) for name in NAMES])
    return found[:-1], found[-1]


def with_gradients(parameters, gradients):
    for parameter, gradient in zip(parameters, gradients, strict=True):
        parameter.grad = torch.from_numpy(gradient.copy())
    return parameters


class Affine(torch.nn.Module):
    """Two parameters of a norm, whose gradients are those that are given, and one of somebody
    else."""

    def __init__(self):
        super().__init__()
        self.norm = torch.nn.ParameterList(torch.zeros(N) for _ in NAMES)
        self.other = torch.nn.Linear(4, 4, bias=False)

    def forward(self, nodes, other):
        return sum((p * torch.from_numpy(node)).sum()
                   for p, node in zip(self.norm, nodes, strict=True)) + self.other(other).sum()


def reduce_plain(distributed, nodes, rows, other):
    parameters = with_gradients([torch.nn.Parameter(torch.zeros(N)) for _ in NAMES], nodes)
    distributed.reduce_gradients(parameters, rows)
    return parameters


def reduce_partial(distributed, nodes, rows, other):
    """Gradients of a tensor-parallel model's norm."""
    from torch.distributed import tensor

    mesh = torch.distributed.init_device_mesh("cpu", (torch.distributed.get_world_size(),))
    parameters = [torch.nn.Parameter(tensor.distribute_tensor(torch.zeros(N), mesh))
                  for _ in NAMES]
    for parameter, node in zip(parameters, nodes, strict=True):
        parameter.grad = tensor.DTensor.from_local(torch.from_numpy(node), mesh,
                                                   [tensor.Partial()])
    distributed.reduce_gradients(parameters, rows, mesh.get_group())
    for parameter in parameters:
        assert parameter.grad.placements == (tensor.Replicate(),)
        parameter.grad = tensor.DTensor.from_local(parameter.grad.to_local().clone(), mesh,
                                                   [tensor.Shard(0)], shape=(N,), stride=(1,))
    with pytest.raises(TypeError, match="with FSDP2, name norms in ignored_params"):
        distributed.reduce_gradients(parameters, rows, mesh.get_group())
    # Once more, as the caller sees it.
    return reduce_plain(distributed, nodes, rows, other)


def reduce_sharded(distributed, nodes, rows, other):
    """FSDP2 leaves the norm's parameters alone."""
    from torch.distributed.fsdp import fully_shard

    model = Affine()
    mesh = torch.distributed.init_device_mesh("cpu", (torch.distributed.get_world_size(),))
    fully_shard(model, mesh=mesh, ignored_params=set(model.norm))
    model(nodes, other).backward()
    distributed.reduce_gradients(model.norm, rows)
    return model.norm


def reduce_by_hook(distributed, nodes, rows, other):
    model = torch.nn.parallel.DistributedDataParallel(Affine())
    model.register_comm_hook(None, distributed.ddp_hook(model.module.norm, rows))
    model(nodes, other).backward()
    world = torch.distributed.get_world_size()
    mean = (world - 1) / 2  # Of the ranks' numbers.
    assert torch.equal(model.module.other.weight.grad, torch.full((4, 4), mean))
    for parameter in model.module.norm:
        parameter.grad *= world
    return model.module.norm


WAYS = (reduce_plain, reduce_partial, reduce_sharded, reduce_by_hook)


def rank_of(rank, cases, folder, results):
    """A process: its part of each case, which are run one after another."""
    from lnbwd import distributed

    torch.set_num_threads(1)
    other = torch.full((1, 4), float(rank))
    for parts, nodes in cases:
        if rank >= len(parts):
            continue
        store = folder / "-".join(map(str, parts))
        torch.distributed.init_process_group("gloo", init_method=f"file://{store}", rank=rank,
                                             world_size=len(parts))
        found = []
        # Ranks of DDP have equally many rows.
        for way in WAYS if len(set(parts)) == 1 else WAYS[:-1]:
            try:
                found.append([parameter.grad.numpy().tobytes()
                              for parameter in way(distributed, nodes[rank], parts[rank], other)])
            except ValueError as error:
                found.append(str(error))
        results.put((parts, found))
        torch.distributed.destroy_process_group()


CASES = ((4 * LEAF,), (LEAF, LEAF, 20), (70, 70), (LEAF,) * 4)
MORE_CASES = ((2 * LEAF,) * 2, (LEAF,) * 8)


@pytest.fixture(scope="module")
def reduced(build, tmp_path_factory, request):
    """Of each case what its ranks found, and the gradients of the whole batch. A process is a rank
    of every case that has so many; one has loaded PyTorch for all."""
    folder = tmp_path_factory.mktemp("ranks")
    cases = [*CASES, *(MORE_CASES if request.config.getoption("--full") else ())]
    nodes, expected = zip(*(nodes_of(build, folder, parts) for parts in cases), strict=True)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["torch.distributed.fsdp", "torch.distributed.tensor"])
    results = context.SimpleQueue()
    given = list(zip(cases, nodes, strict=True))
    processes = [context.Process(target=rank_of, args=(rank, given, folder, results))
                 for rank in range(max(map(len, cases)))]
    for process in processes:
        process.start()
    found = {parts: [] for parts in cases}
    for _ in range(sum(map(len, cases))):
        parts, ways = results.get()
        found[parts].append(ways)
    for process in processes:
        process.join()
    multiprocessing.forkserver._forkserver._stop()  # It would keep its memory until the end.
    return {parts: (found[parts], whole) for parts, whole in zip(cases, expected, strict=True)}


@pytest.mark.parametrize("parts", [
    *CASES, *(pytest.param(parts, marks=pytest.mark.full) for parts in MORE_CASES)])
def test_ranks(reduced, parts):
    found, expected = reduced[parts]
    assert len(found) == len(parts)
    for ways in found:
        for way, result in zip(WAYS, ways, strict=False):
            if parts[0] % LEAF:
                assert "expected every rank but the last to have 64 * 2^k rows" in result, way
            else:
                assert result == [gradient.tobytes() for gradient in expected], way


@pytest.mark.parametrize("parts", [(LEAF,) * 4, (2 * LEAF,) * 3, (LEAF, LEAF, 7), (50,)])
def test_micro_batches(build, tmp_path, parts):
    from lnbwd import distributed

    nodes, expected = nodes_of(build, tmp_path, parts)
    parameters = [torch.nn.Parameter(torch.zeros(N)) for _ in NAMES]
    tree = distributed.GradientTree(parameters)
    for rows, node in zip(parts, nodes, strict=True):
        with_gradients(parameters, node)
        tree.add(rows)
        assert all(parameter.grad is None for parameter in parameters)
    tree.reduce()
    assert [parameter.grad.numpy().tobytes() for parameter in parameters] == [
        gradient.tobytes() for gradient in expected]


def test_wrong_use():
    from lnbwd import distributed

    parameter = torch.nn.Parameter(torch.zeros(N))
    tree = distributed.GradientTree([parameter])
    with pytest.raises(ValueError, match="call add"):
        tree.reduce()
    with pytest.raises(TypeError, match=r"parameter 0, got none: .* leave out frozen"):
        tree.add(LEAF)
    for rows in (70, 70):
        parameter.grad = torch.zeros(N)
        tree.add(rows)
    with pytest.raises(ValueError, match="expected every micro-batch but the last to have 64"):
        tree.reduce()
    with pytest.raises(TypeError, match="rows: expected a number of rows, got 'a'"):
        tree.add("a")
    # Of parameters of several lengths, the leaves of the shortest have the most rows.
    both = [torch.nn.Parameter(torch.zeros(n)) for n in (20000, 48)]
    with pytest.raises(ValueError, match="every rank but the last to have 64"):
        distributed.ddp_hook(both, rows=16)


@pytest.mark.parametrize("n, chains", [(48, 8), (512, 8), (520, 8), (2048, 4), (4096, 2),
                                       (8192, 1), (16400, 1)])
def test_leaves_are_those_of_the_compiler(build, n, chains):
    from lnbwd import distributed

    case = family.Case("layer_norm_bwd", "gfx942", "f32", n)
    options = (f"order=canonical schedule=row_groups={chains},rows_per_workgroup=17,"
               "threads_per_row=64")
    with pytest.raises(CompileError, match=f"expected rows_per_workgroup "
                       f"{distributed.leaf_rows(n)} times a power of two for rows of {n} columns, "
                       "got 17"):
        compiling.compile_text(build, family.source(case), case.chip, options)
