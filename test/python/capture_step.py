# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A whole training step in one CUDA graph: ours and torch's, each case in a process of its own.

    python test/python/capture_step.py              # on a GPU: all cases, twenty graphs each
    python test/python/capture_step.py --case NAME  # one of them, in this process

A case captures forward, backward and optimizer of a small model under autocast, replays it, and
compares the loss with that of the same steps without a graph. A process that dies says where, by
faulthandler; the last line is the verdict, and the exit code is 1 if a case failed.

    torch           torch's norms, to know what is PyTorch's own
    patched         our kernels, called once before the capture
    python          the same with the operators in Python
    cold            our modules without that first call: an error that says what to do, and no
                    crash; the step works afterwards. (PyTorch's modules use PyTorch's kernels then)
    garbage         objects of lnbwd.runtime in a cycle, dropped before: PyTorch collects them as
                    the capture begins, and a collection during it finds nothing of ours
    threads         another thread that loads kernels while a graph is captured
"""

import argparse
import faulthandler
import gc
import itertools
import os
import subprocess
import sys
import threading

import torch
from cases import DEVICE_LENGTHS, TYPES

CASES = ("torch", "patched", "python", "cold", "garbage", "threads")
WIDTH, TOKENS, LAYERS = 384, 512, 6


class Layer(torch.nn.Module):
    """An attention block with two norms before its halves."""

    def __init__(self, norms):
        super().__init__()
        self.first, self.second = norms.LayerNorm(WIDTH), norms.RMSNorm(WIDTH, eps=1e-6)
        self.qkv, self.out = torch.nn.Linear(WIDTH, 3 * WIDTH), torch.nn.Linear(WIDTH, WIDTH)
        self.up = torch.nn.Linear(WIDTH, 4 * WIDTH)
        self.down = torch.nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        q, k, v = self.qkv(self.first(x)).view(*x.shape[:-1], 3, 6, -1).movedim(-2, -4).unbind(-2)
        y = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.movedim(-3, -2).reshape(x.shape))
        return x + self.down(torch.nn.functional.gelu(self.up(self.second(x))))


class Step:
    """A model with its optimizer and its input."""

    def __init__(self, patched, norms=torch.nn):
        torch.manual_seed(0)
        self.model = torch.nn.Sequential(*(Layer(norms) for _ in range(LAYERS))).cuda()
        if patched:
            import lnbwd

            lnbwd.patch(self.model)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3, capturable=True)
        self.x = torch.randn(1, TOKENS, WIDTH, device="cuda")

    def __call__(self):
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = (self.model(self.x).float() - self.x.roll(1, 1)).square().mean()
        loss.backward()
        self.optimizer.step()
        return loss


def warm_up(step, count=3):
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(count):
            step()
    torch.cuda.current_stream().wait_stream(side)


def capture(step):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step()
    return graph, loss


def dropped_objects():
    """Kernels, buffers and events in a cycle, which only the collector frees."""
    from lnbwd import runtime
    from lnbwd.core.compile import store
    from lnbwd.core.compile.spec import norm_source

    device = runtime.Device.open("cuda:0")
    objects = [device.create_event(), device.allocate(1 << 20)]
    code = store.kernel_store().code_for(
        norm_source("layer_norm", n=WIDTH).spec, device.chip)
    objects.append(runtime.Kernel(device, runtime.Program.for_chip(code, device.info.arch)))
    objects.append(objects)


def load_kernels(done):
    """Loads one kernel after another until ``done``; a packed cache has them all."""
    import lnbwd

    for n, dtype in itertools.product(DEVICE_LENGTHS, TYPES.values()):
        if done.is_set():
            return
        x, weight, bias = (torch.randn(shape, device="cuda", dtype=dtype, requires_grad=True)
                           for shape in ((4, n), (n,), (n,)))
        lnbwd.layer_norm(x, (n,), weight, bias).sum().backward()


def run(case, graphs):
    import lnbwd

    losses = None
    if case != "cold":  # After patch(), lnbwd.nn's modules would call PyTorch's operators, too.
        reference = Step(case != "torch")
        losses = [float(reference()) for _ in range(5)]
    for index in range(graphs):
        step = Step(False, lnbwd.nn) if case == "cold" else Step(case != "torch")
        if case == "cold":
            try:
                capture(step)
            except lnbwd.LnbwdError as error:
                assert "a CUDA graph is being captured" in str(error), error
                print(f"refused: {error}")
            else:
                raise AssertionError("the capture loaded kernels")
            step = Step(True)
        warm_up(step)
        if case == "garbage":
            dropped_objects()
            inner = step

            def step(inner=inner):
                gc.collect()
                return inner()
        done = threading.Event()
        thread = threading.Thread(target=load_kernels, args=(done,))
        if case == "threads":
            thread.start()
        try:
            graph, loss = capture(step)
        finally:
            done.set()
        if case == "threads":
            thread.join()
        graph.replay()
        torch.cuda.synchronize()
        value = float(loss)
        if losses is not None and abs(value - losses[3]) > 1e-2 * abs(losses[3]):
            raise AssertionError(f"graph {index}: loss {value}, expected {losses[3]}")
        for _ in range(10):
            graph.replay()
        torch.cuda.synchronize()
        if case == "cold":
            break  # The kernels are loaded now.
    print(f"{case}: captured and replayed, loss {value:.5f} at the fourth step")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--case", choices=CASES)
    parser.add_argument("--graphs", type=int, default=20, help="captures in each case")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        parser.error("PyTorch has no GPU here")
    if options.case:
        faulthandler.enable()
        run(options.case, options.graphs)
        return 0
    failed = []
    for case in CASES:
        result = subprocess.run(
            [sys.executable, __file__, "--case", case, "--graphs", str(options.graphs)],
            capture_output=True, text=True, check=False,
            env={**os.environ, "LNBWD_NATIVE": "0" if case == "python" else "1"})
        print(f"== {case}: exit code {result.returncode}")
        print(result.stdout, end="")
        if result.returncode:
            failed.append(case)
            print("\n".join(result.stderr.splitlines()[-60:]))
    print("verdict: " + (f"failed: {', '.join(failed)}" if failed else "all right"))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
