# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Distributed tensors: PyTorch's SequenceParallel plan, FSDP2, and the operators' placements.

    PYTHONPATH=python torchrun --nproc-per-node=2 test/python/sequence_parallel.py   (in a checkout)

The output and the gradients of a model with our layers, sharded by the plan, are compared with
those of the same model whole, on one process. On GPUs through NCCL, one each; without, through Gloo
and the simulator.
"""

import copy

import torch
import torch.distributed as dist
from processes import finish, start
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor, init_device_mesh
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)

import lnbwd

N = 32


class Block(torch.nn.Module):
    """A norm, and two linear layers after it, with a residual."""

    def __init__(self, norm):
        super().__init__()
        self.norm = norm(N)
        self.up = torch.nn.Linear(N, 2 * N)
        self.down = torch.nn.Linear(2 * N, N)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))


def whole(tensor):
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def run(model, x):
    """The sum's value and all gradients, whole."""
    y = model(x)
    whole(y).square().sum().backward()
    return [whole(y).detach(), *(whole(p.grad) for p in model.parameters())]


def plan():
    """PyTorch's plan for a block whose input is sharded along the sequence."""
    return {"norm": SequenceParallel(),
            "up": PrepareModuleInput(input_layouts=Shard(1), desired_input_layouts=Replicate()),
            "": PrepareModuleInput(input_layouts=Replicate(), desired_input_layouts=Shard(1))}


def distance(got, expected):
    return max(float((a - b).abs().max() / b.abs().max().clamp(min=1e-6))
               for a, b in zip(got, expected, strict=True))


def sequence_parallel(norm, mesh, x):
    torch.manual_seed(0)
    model = torch.nn.Sequential(*(Block(norm) for _ in range(2))).to(x.device)
    expected = run(copy.deepcopy(model), x)
    for block in model:
        parallelize_module(block, mesh, plan())
        parallelize_module(block, mesh, {
            "up": ColwiseParallel(), "down": RowwiseParallel(output_layouts=Shard(1),
                                                             use_local_output=False)})
    placements = []
    model[0].norm.register_forward_hook(lambda _m, _i, y: placements.append(y.placements))
    result = distance(run(model, distribute_tensor(x, mesh, [Replicate()])), expected)
    assert placements == [(Shard(1),)], placements
    return result


def fsdp(norm, mesh, x):
    torch.manual_seed(0)
    model = torch.nn.Sequential(*(Block(norm) for _ in range(2))).to(x.device)
    expected = run(copy.deepcopy(model), x)
    for block in model:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    return distance(run(model, x), expected)


def placements(norm, mesh, x):
    """Each placement of x that needs no communication, one that does, and a frozen weight.

    The loss is cubic: the sum of squares of a norm's output is a constant but for epsilon, and x's
    gradient nothing but rounding errors.
    """
    worst = 0.0
    for placement in (Replicate(), Shard(0), Shard(1), Shard(2)):
        for frozen in (False, True):
            model = norm(N).to(x.device)
            expected_x = x.detach().requires_grad_()
            expected = [model(expected_x).detach()]
            model(expected_x).pow(3).sum().backward()
            expected += [expected_x.grad, *(p.grad.clone() for p in model.parameters())]
            model.zero_grad()
            model.weight.requires_grad_(not frozen)
            twin = copy.deepcopy(model)
            for name, parameter in list(twin.named_parameters()):
                twin.register_parameter(name, torch.nn.Parameter(
                    distribute_tensor(parameter.detach(), mesh, [Replicate()]),
                    requires_grad=parameter.requires_grad))
            sharded = distribute_tensor(x.detach(), mesh, [placement]).requires_grad_()
            y = twin(sharded)
            y.pow(3).sum().backward()
            got = [whole(y).detach(), whole(sharded.grad)]
            want = expected[:2]
            for parameter, grad in zip(twin.parameters(), expected[2:], strict=True):
                if parameter.requires_grad:
                    got.append(whole(parameter.grad))
                    want.append(grad)
                else:
                    assert parameter.grad is None
            worst = max(worst, distance(got, want))
    return worst


def main():
    rank, device, simulation = start()
    mesh = init_device_mesh(device.type, (dist.get_world_size(),))
    right = True
    with simulation:
        torch.manual_seed(1)
        x = torch.randn(2, 6, N).to(device)
        for norm in (lnbwd.nn.LayerNorm, lnbwd.nn.RMSNorm):
            for case in (placements, sequence_parallel, fsdp):
                worst = torch.tensor(case(norm, mesh, x), dtype=torch.float64, device=device)
                dist.all_reduce(worst, dist.ReduceOp.MAX)
                right = right and float(worst) < 1e-4
                if rank == 0:
                    print(f"{norm.__name__}, {case.__name__}: {dist.get_world_size()} processes "
                          f"({dist.get_backend()}), largest difference {float(worst):.2e}",
                          flush=True)
    finish(rank, right)


if __name__ == "__main__":
    main()
