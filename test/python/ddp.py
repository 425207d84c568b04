# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Data-parallel training: the same gradients with our layers, and with torch.compile's backend, as
with torch's own.

    PYTHONPATH=python torchrun --nproc-per-node=2 test/python/ddp.py    (in a checkout)

Each process has its own part of the batch. The gradients after the reduction, by
DistributedDataParallel or FSDP2, are compared with those of the same model with torch's layers, and
the processes' with each other.
On GPUs through NCCL, one each; without, through Gloo and the simulator.
"""

import torch
import torch.distributed as dist
from processes import finish, start
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor
from torch.nn.parallel import DistributedDataParallel
from training import TinyTransformer, batch, loss_of

import lnbwd
import lnbwd.inductor


def in_parallel(model, device):
    return DistributedDataParallel(
        model, device_ids=[device.index] if device.index is not None else None)


def compiled(model, device):
    """DistributedDataParallel has a graph cut into parts, one for each of its buckets."""
    return torch.compile(in_parallel(model, device), backend="lnbwd")


def sharded(model, device):
    """Each block is a graph, whose parameters are gathered around it."""
    mesh = init_device_mesh(device.type, (dist.get_world_size(),))
    for block in model.blocks:
        block.compile(backend="lnbwd")
        fully_shard(block, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def gradients(norm, module, device, rank, wrap=in_parallel):
    """The reduced gradients of three steps, the parameters moving a little after each."""
    model = TinyTransformer(norm, module).to(device)
    wrapped = wrap(model, device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    for step in range(3):
        optimizer.zero_grad()
        loss_of(wrapped, *batch(100 * step + rank, 8, device)).backward()
        if step < 2:
            optimizer.step()
    return {name: p.grad.full_tensor() if isinstance(p.grad, DTensor) else p.grad.clone()
            for name, p in model.named_parameters()}


def main():
    rank, device, simulation = start()
    right = True
    with simulation:
        for norm, module, wrap in (
                ("layer_norm", lnbwd.nn, in_parallel), ("rms_norm", lnbwd.nn, in_parallel),
                ("layer_norm", torch.nn, compiled), ("rms_norm", torch.nn, sharded)):
            theirs = gradients(norm, torch.nn, device, rank)
            ours = gradients(norm, module, device, rank, wrap)
            made = lnbwd.inductor.decisions(clear=True)
            right = right and any(one.taken for one in made) == (wrap is not in_parallel)
            worst = max(float((ours[name] - grad).abs().max() / grad.abs().max())
                        for name, grad in theirs.items())
            # What every process has is the same to the last bit.
            differs = 0.0
            for grad in ours.values():
                first = grad.clone()
                dist.broadcast(first, 0)
                differs = max(differs, float((first - grad).abs().max()))
            counts = torch.tensor([worst, differs], dtype=torch.float64, device=device)
            dist.all_reduce(counts, dist.ReduceOp.MAX)
            worst, differs = counts.tolist()
            right = right and worst < 1e-4 and differs == 0
            if rank == 0:
                place = (torch.cuda.get_device_name(device) if device.type == "cuda"
                         else "simulator")
                print(f"{norm}, {wrap.__name__}: {dist.get_world_size()} processes ({place}, "
                      f"{dist.get_backend()}), {len(ours)} gradients: largest difference from "
                      f"torch's own {worst:.2e} of the largest element, between processes "
                      f"{differs:.1e}", flush=True)
    finish(rank, right)


if __name__ == "__main__":
    main()
