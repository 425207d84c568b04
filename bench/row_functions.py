#!/usr/bin/env python3
# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times the functions of lnbwd.functional beside PyTorch's, torch.compile's and Liger's.

Shapes are drawn by a seed. Results and gradients are compared with float64: the command fails if
some of lnbwd's are wrong. Timed are CUDA graphs of calls on rotating buffers
(lnbwd_bench/timing.py): the forward pass as in training, and the backward pass. Processes compile
side by side; one at a time has the GPU.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import math
import pathlib
import sys
import time
import types
import unittest.mock
from collections.abc import Callable, Sequence
from typing import Any

SOURCE = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(SOURCE / "python"))

import torch  # noqa: E402
from torch import Tensor  # noqa: E402

import lnbwd  # noqa: E402
from lnbwd_bench import peers, processes, quantized, results, timing  # noqa: E402
from lnbwd_bench.functions import CALLS, PYTORCH, Shape, draw, operands, row_length, tiny  # noqa: E402
from lnbwd_bench.machine import DryMachine, GpuMachine, streams  # noqa: E402

# The fastest median of several is taken: another process may have disturbed the others.
_PASSES, _REPETITIONS = 3, 9
PEERS = ("eager", "compile", "liger")


def _liger(module: str, function: str) -> Callable[..., Any]:
    return getattr(peers.import_liger(module), f"Liger{function}Function").apply  # type: ignore[no-any-return]


def _liger_cross_entropy(x: Tensor, target: Tensor) -> Tensor:
    """Its gradient is computed here, in x's place. What Liger asks the device for, which a graph
    cannot capture, is answered here."""
    function = _liger("cross_entropy", "CrossEntropy")
    peers.import_liger("cross_entropy").cross_entropy_backward = lambda gradient, _: gradient
    with unittest.mock.patch.multiple(Tensor, item=lambda _: len(target), __bool__=lambda _: True):
        loss: Tensor = function(x, target, None)[0]
        return loss


LIGER = types.SimpleNamespace(
    group_norm=lambda x, groups, weight, bias: _liger("group_norm", "GroupNorm")(
        x, weight, bias, x.shape[1], groups, 1e-5),
    softmax=lambda x, _: _liger("softmax", "Softmax")(x),
    cross_entropy=_liger_cross_entropy,
    swiglu=lambda a, b: _liger("swiglu", "SiLUMul")(a, b),
    geglu=lambda a, b, _: _liger("geglu", "GELUMul")(a, b))


def _as_tuple(outputs: Any) -> tuple[Tensor, ...]:
    return outputs if isinstance(outputs, tuple) else (outputs,)


def _copies(tensors: Sequence[Tensor], dtype: torch.dtype | None = None) -> list[Tensor]:
    return [t.detach().to(dtype if t.is_floating_point() else t.dtype, copy=True).requires_grad_(
        t.requires_grad) for t in tensors]


class Contender:
    """The calls of a function by one library, on buffers of its own: ``sets`` has the tensors of
    each call, and the gradients of its results."""

    def __init__(self, who: str, name: str) -> None:
        library = {"ours": lnbwd.functional, "liger": LIGER}.get(who, PYTORCH)
        self.call: Callable[..., Any] = functools.partial(CALLS[name], library)
        if who == "compile":
            self.call = torch.compile(self.call, dynamic=False, fullgraph=True)
        self.sets: list[tuple[list[Tensor], list[Tensor]]] = []
        self._outputs: dict[int, tuple[Tensor, ...]] = {}

    def forward(self, slot: int, **options: Any) -> tuple[Tensor, ...]:
        """A call; what its gradients need is kept."""
        self._outputs[slot] = _as_tuple(self.call(*self.sets[slot][0], **options))
        return self._outputs[slot]

    def backward(self, slot: int) -> tuple[Tensor, ...]:
        """The gradients of the latest call."""
        tensors, dys = self.sets[slot]
        return torch.autograd.grad(self._outputs[slot], [t for t in tensors if t.requires_grad],
                                   dys, retain_graph=True)

    def run(self, **options: Any) -> list[Tensor]:
        """The results of the first call, and its gradients."""
        forward = self.forward(0, **options)
        return [t.detach() for t in (*forward, *(self.backward(0) if self.sets[0][1] else ()))]


def measure(item: tuple[str, Shape, str], who: Sequence[str], is_dry: bool,
            file: pathlib.Path) -> dict[str, Any]:
    """The rows of a function on a shape, and why peers have no times."""
    name, shape, dtype = item
    device = torch.device("cpu" if is_dry else "cuda")
    torch._dynamo.reset()
    torch.manual_seed(0)
    first = operands(name, shape, dtype, device)
    is_quantized = name in quantized.CASES  # Without gradients.
    dys = [] if is_quantized else [torch.randn_like(t) if t.dim() else torch.ones_like(t)
                                   for t in _as_tuple(CALLS[name](PYTORCH, *first))]
    contenders, notes = {}, {}
    for each in ("ours", *(peer for peer in who if peer != "liger" or hasattr(LIGER, name))):
        contender = Contender(each, name)
        contender.sets.append((_copies(first), dys))
        try:
            contender.run()
            contenders[each] = contender
        except Exception as error:  # Whatever a peer does: the others go on.
            notes[each] = f"{type(error).__name__}: {str(error)[:200]}"
    with processes.turn(file):
        # Without dropout, whose elements each library chooses for itself.
        options = {"p": 0.0} if name.startswith("dropout") else {}
        exact = Contender("eager", name)
        exact.sets.append((_copies(first, torch.float64), [dy.double() for dy in dys]))
        expected = [] if is_quantized else exact.run(**options)
        del exact
        errors, allowed = {}, quantized.ALLOWED if is_quantized else results.ALLOWED[dtype]
        for each, contender in list(contenders.items()):
            contender.sets[0] = _copies(first), dys
            found = contender.run(**options)
            error = errors[each] = (quantized.error(name, first, found) if is_quantized
                                    else results.error_of(found, expected))
            if not error <= allowed * (1 if each == "ours" else results.PEER_SLACK):
                notes[each] = f"error {error:.2g} of {allowed:.2g}"
                del contenders[each]
        del expected
        if "ours" not in contenders:
            return {"notes": notes, "rows": []}
        return {"notes": notes, "rows": _rows(name, shape, dtype, errors, contenders, is_dry)}


@functools.cache
def _machine(is_dry: bool) -> Any:
    made = DryMachine() if is_dry else GpuMachine()
    made.calibrate()
    return made


def _rows(name: str, shape: Shape, dtype: str, errors: dict[str, float],
          contenders: dict[str, Contender], is_dry: bool) -> list[dict[str, Any]]:
    """What is measured of those that are right: the forward pass, the backward pass, and both."""
    machine = _machine(is_dry)
    tensors, dys = contenders["ours"].sets[0]
    read, written = (sum(t.nbytes for t in each) for each in (tensors, dys))
    leaves = sum(t.nbytes for t in tensors if t.requires_grad)
    moved = {"forward": read + written, "backward": written + 2 * leaves}
    if not leaves:
        moved = {"forward": read + sum(t.nbytes for t in contenders["ours"].forward(0))}
    count = max(2, -(-5 * machine.l2_bytes // moved["forward"]) + 1)
    for contender in contenders.values():
        for _ in range(1, count):
            contender.sets.append((operands(name, shape, dtype, machine.device),
                                   [torch.randn_like(t) if t.dim() else t for t in dys]))
    pairs = [(what, who, timing.Candidate(f"{who}, {what}", getattr(contender, what)))
             for who, contender in contenders.items() for what in moved]
    case = quantized.CASES.get(name)
    if case:
        size = moved["forward"] // len(case.traffic.arrays)
        arrays = [[torch.zeros(size, dtype=torch.uint8, device=machine.device)
                   for _ in case.traffic.arrays] for _ in range(count)]
        pairs += [(results.STREAM, each.name, each) for each in timing.best_streams(
            machine, streams(machine, case.traffic, arrays), count, moved["forward"])]
    best: dict[str, dict[str, float]] = {what: {} for what in (*moved, results.STREAM)}
    timing.time_graph(machine, [candidate for *_, candidate in pairs], count,
                      _PASSES * _REPETITIONS,
                      [moved.get(what, moved["forward"]) for what, *_ in pairs])
    for what, who, candidate in pairs:
        if times := candidate.times.get(results.GRAPH):
            best[what][who] = min(timing.median(times[begin:begin + _REPETITIONS])
                                  for begin in range(0, len(times), _REPETITIONS))
    of_stream = [*best.pop(results.STREAM).values()]
    if leaves:
        moved["both"] = sum(moved.values())
        best["both"] = {who: sum(each[who] for each in best.values())
                        for who in contenders if all(who in each for each in best.values())}
    for what in ("forward", "backward") if name == "cross_entropy" else ():
        best[what].pop("liger", None)  # Its forward pass computes the gradient.
    length = row_length(name, shape)
    return [{"name": f"{name}, {what}", "m": math.prod(shape) // length, "n": length,
             "dtype": dtype, "shape": shape, "bytes": moved[what], "stream_bytes": moved[what],
             "stream": {results.GRAPH: min(of_stream)} if of_stream else {}, "errors": errors,
             results.GRAPH: times} for what, times in best.items()]


def prepare(file: pathlib.Path) -> None:
    """What a process does first."""
    processes.prepare_inductor(file)
    torch._functorch.config.donated_buffer = False  # Graphs of autograd are kept.
    if torch.cuda.is_available():  # Gradients are computed where the results were, in graphs too.
        torch.cuda.graph.default_capture_stream = torch.cuda.Stream()
        torch.cuda.set_stream(torch.cuda.graph.default_capture_stream)


def work(item: tuple[str, Shape, str], who: Sequence[str], is_dry: bool,
         file: pathlib.Path) -> dict[str, Any]:
    """What a process does for a function and a shape."""
    try:
        with lnbwd.simulate() if is_dry else contextlib.nullcontext():
            return measure(item, who, is_dry, file)
    except Exception as error:
        return {"notes": {"ours": f"{type(error).__name__}: {str(error)[:300]}"}, "rows": [],
                "is_lost": True}
    finally:
        if not is_dry:
            torch.cuda.empty_cache()


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1, help="of the shapes")
    parser.add_argument("--count", type=int, default=10, help="shapes of each function")
    parser.add_argument("--only", nargs="+", choices=CALLS,
                        default=[name for name in CALLS if name not in quantized.CASES])
    parser.add_argument("--quantized", dest="only", action="store_const",
                        const=list(quantized.CASES), help="what writes float8 and float4")
    parser.add_argument("--peers", nargs="*", choices=PEERS, default=PEERS)
    parser.add_argument("--processes", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=3600, help="begins no shape after these")
    parser.add_argument("--out", type=pathlib.Path, help="JSON for the dashboard")
    parser.add_argument("--dry-run", action="store_true",
                        help="on the host and the simulator, tiny shapes; times mean nothing")
    options = parser.parse_args()
    if not options.dry_run and not torch.cuda.is_available():
        parser.error("expected a GPU, got none; --dry-run needs none")
    items = dict(enumerate((name, tiny(name, shape) if options.dry_run else shape, dtype)
                           for name in options.only
                           for shape, dtype in draw(name, options.seed, options.count)))
    rows: list[dict[str, Any]] = []
    is_wrong = False
    for found in processes.rows_of(
            [(options.processes, items)], time.time() + options.seconds,
            functools.partial(work, who=options.peers, is_dry=options.dry_run,
                              file=pathlib.Path(__file__)),
            functools.partial(prepare, pathlib.Path(__file__))):
        name, shape, dtype = items[found["place"]]
        for who, note in found.get("notes", {"ours": found.get("failure")}).items():
            is_wrong |= who == "ours"
            print(f"{'WRONG' if who == 'ours' else 'note'}: {name} {shape} {dtype}: {who}: {note}")
        for row in found.get("rows", ()):
            rows.append(row)
            print(results.line(row, results.GRAPH), flush=True)
        # What there is, is kept, whatever becomes of the rest.
        results.write(options.out, rows, _machine(options.dry_run).describe())
    return int(is_wrong)


if __name__ == "__main__":
    sys.exit(main())
