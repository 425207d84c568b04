# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""lnbwd.distributed: gradients of micro-batches and of ranks have the bits of the whole batch."""

from __future__ import annotations

import multiprocessing

import numpy as np
import pytest

import device as devices
import family
from test_order import inputs_of, run

torch = pytest.importorskip("torch")
N, LEAF = 520, 32
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


def rank_of(rank, world, store, nodes, parts, results):
    from lnbwd import distributed

    torch.distributed.init_process_group("gloo", init_method=f"file://{store}", rank=rank,
                                         world_size=world)
    parameters = with_gradients([torch.nn.Parameter(torch.zeros(N)) for _ in NAMES], nodes[rank])
    try:
        distributed.reduce_gradients(parameters, parts[rank])
        results.put((rank, [parameter.grad.numpy().tobytes() for parameter in parameters]))
    except ValueError as error:
        results.put((rank, str(error)))
    torch.distributed.destroy_process_group()


@pytest.mark.parametrize("parts", [(2 * LEAF, 2 * LEAF), (LEAF, LEAF, 20), (40, 40)])
def test_ranks(build, tmp_path, parts):
    nodes, expected = nodes_of(build, tmp_path, parts)
    context = multiprocessing.get_context("spawn")
    results = context.SimpleQueue()
    processes = [context.Process(target=rank_of, args=(rank, len(parts), tmp_path / "store", nodes,
                                                       parts, results))
                 for rank in range(len(parts))]
    for process in processes:
        process.start()
    found = [results.get() for _ in processes]
    for process in processes:
        process.join()
    for _, result in found:
        if parts[0] % LEAF:
            assert "expected every rank but the last to have 32 * 2^k rows" in result
        else:
            assert result == [gradient.tobytes() for gradient in expected]


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
    with pytest.raises(TypeError, match="expected a float32 gradient of parameter 0, got none"):
        tree.add(LEAF)
    for rows in (40, 40):
        parameter.grad = torch.zeros(N)
        tree.add(rows)
    with pytest.raises(ValueError, match="expected every micro-batch but the last to have 32"):
        tree.reduce()
    assert [distributed.leaf_rows(n) for n in (64, 96, 520, 4096, 65536)] == [512, 256, 32, 32, 32]
