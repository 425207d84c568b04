# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cross entropy of a linear layer whose classes are sharded over ranks.

    PYTHONPATH=python torchrun --nproc-per-node=2 test/python/sharded_classes.py   (in a checkout)

Losses and gradients are compared with those of the same call with the whole layer, on one process.
On GPUs through NCCL, one each; without, through Gloo and the simulator.
"""

import torch
import torch.distributed as dist
from compiled import normal
from processes import finish, start
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor, init_device_mesh

import lnbwd
from lnbwd.functional import linear_cross_entropy
from lnbwd.ops.choices import choices

ROWS, SIZE, CLASSES = 20, 32, 71
REPLICATED = Replicate()
TARGET = (torch.arange(ROWS) * 37 % CLASSES).index_fill(0, torch.tensor([3, 11]), -100)
ALL = {"label_smoothing": 0.1, "z_loss": 1e-2, "softcap": 2.0}
CASES = {
    "mean": {},
    "sum": {"reduction": "sum"},
    "none": {"reduction": "none"},
    "class weights": {"has_weight": True, "label_smoothing": 0.1},
    "bias": {"has_bias": True},
    "all": {**ALL, "has_bias": True, "has_weight": True, "reduction": "none"},
    "gathered input": {"input": Shard(0)},
    "gathered input, none": {"input": Shard(0), "reduction": "none"},
    "float64": {**ALL, "dtype": torch.float64},
}


def results(device, shard, input=REPLICATED, dtype=torch.float32, has_bias=False,
            has_weight=False, **options):
    """The loss and the gradients, whole; ``shard`` makes a part of a tensor."""
    tensors = [normal(ROWS, SIZE), 0.3 * normal(CLASSES, SIZE, seed=1)]
    tensors += [0.1 * normal(CLASSES, seed=2)] * has_bias
    tensors = [one.to(device, dtype) for one in tensors]
    tensors = [shard(one, Shard(0) if place else input).requires_grad_()
               for place, one in enumerate(tensors)]
    weight = (normal(CLASSES, seed=3).abs() + 0.5).to(device) if has_weight else None
    loss = linear_cross_entropy(tensors[0], tensors[1], TARGET.to(device), weight=weight,
                                linear_bias=tensors[2] if has_bias else None, **options)
    factor = torch.linspace(0.5, 2, ROWS) if loss.dim() else torch.tensor(3.0)
    loss.backward(factor.to(loss))
    return [loss.detach(), *(one.grad.full_tensor() if isinstance(one.grad, DTensor) else one.grad
                             for one in tensors)]


def refusal(input, weight):
    try:
        linear_cross_entropy(input, weight, torch.zeros(2, dtype=torch.int64, device=input.device))
    except ValueError as error:
        return str(error)
    return ""


def main():
    rank, device, kernels = start()
    mesh = init_device_mesh(device.type, (dist.get_world_size(),))
    right = True
    with kernels:
        # Chunks of 8 rows, the last of which has 4.
        choices.most_logits_bytes, choices.least_chunk = 1, 8
        for name, options in CASES.items():
            got = results(device, lambda tensor, placement: distribute_tensor(
                tensor, mesh, [placement]), **options)
            want = results(device, lambda tensor, placement: tensor, **options)
            for place, (one, other) in enumerate(zip(got, want, strict=True)):
                error = float((one - other).norm() / other.norm())
                if not error < 2e-6:
                    right = False
                    print(f"rank {rank}, {name}, result {place}: error {error:.1e}", flush=True)
        rows, whole, few = (distribute_tensor(torch.ones(count, SIZE, device=device), mesh, [one])
                            for count, one in ((2, Replicate()), (CLASSES, Replicate()),
                                               (1, Shard(0))))
        right = right and "expected a DTensor, or two" in refusal(rows, whole) and (
            dist.get_world_size() == 1 or "use fewer ranks" in refusal(rows, few))
        module = lnbwd.nn.LinearCrossEntropyLoss(SIZE, CLASSES, device=device)
        module.linear.weight = torch.nn.Parameter(
            distribute_tensor(module.linear.weight.detach(), mesh, [Shard(0)]))
        # A plain input might be another one on each rank.
        right = right and "expected a DTensor on the mesh" in refusal(
            torch.ones(2, SIZE, device=device), module.linear.weight)
        x = distribute_tensor(normal(ROWS, SIZE).to(device), mesh, [Replicate()])
        compiled = torch.compile(module, backend="lnbwd")
        right = right and torch.equal(compiled(x, TARGET.to(device)), module(x, TARGET.to(device)))
    finish(rank, right)


if __name__ == "__main__":
    main()
