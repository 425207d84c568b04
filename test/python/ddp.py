# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Data-parallel training: the same gradients with our layers as with torch's own.

    PYTHONPATH=python torchrun --nproc-per-node=2 test/python/ddp.py    (in a checkout)

Each process has its own part of the batch. The gradients after DistributedDataParallel's reduction
are compared with those of the same model with torch's layers, and the processes' with each other.
On GPUs through NCCL, one each; without, through Gloo and the simulator.
"""

import torch
import torch.distributed as dist
from processes import finish, start
from torch.nn.parallel import DistributedDataParallel
from training import TinyTransformer, batch, loss_of

import lnbwd


def gradients(norm, module, device, rank):
    """The reduced gradients of three steps, the parameters moving a little after each."""
    model = TinyTransformer(norm, module).to(device)
    wrapped = DistributedDataParallel(model, device_ids=[device.index] if device.index is not None
                                      else None)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    for step in range(3):
        optimizer.zero_grad()
        loss_of(wrapped, *batch(100 * step + rank, 8, device)).backward()
        if step < 2:
            optimizer.step()
    return {name: p.grad.clone() for name, p in model.named_parameters()}


def main():
    rank, device, simulation = start()
    right = True
    with simulation:
        for norm in ("layer_norm", "rms_norm"):
            theirs = gradients(norm, torch.nn, device, rank)
            ours = gradients(norm, lnbwd.nn, device, rank)
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
                print(f"{norm}: {dist.get_world_size()} processes ({place}, {dist.get_backend()}), "
                      f"{len(ours)} gradients: largest difference from torch's own {worst:.2e} "
                      f"of the largest element, between processes {differs:.1e}", flush=True)
    finish(rank, right)


if __name__ == "__main__":
    main()
