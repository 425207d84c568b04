# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The competitors in LayerNorm backward: ours, the peers, and the stream.

Each takes the same inputs from the same buffers. A competitor is made once for the run (``make``)
and prepared for each shape (``prepare``), which gives a call that enqueues the whole backward pass
on torch's current stream and returns (dx, dgamma, dbeta).
"""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from lnbwd import _chips, runtime
from lnbwd.operations import LAYER_NORM_BWD

from . import timing
from .peers import Peer, Unavailable
from .shapes import Shape

DTYPES = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}
POISONS = (float("nan"), 12345.0)
# Of each buffer of the foreign kernel.
_FOREIGN_BYTES = 1 << 24


class Buffers:
    """Sets of inputs and of our outputs for one shape, which calls rotate among.

    Attributes:
        inputs: for each set, dy, x, gamma, mean and rstd.
        outputs: for each set, the dx, dgamma and dbeta that ours writes.
        sets: how many there are: the inputs of all but one exceed the cache five times.
        pointers: for each set, where these are for our kernels, by name.
    """

    def __init__(self, machine: Any, shape: Shape, seed: int = 1) -> None:
        input_bytes = 2 * shape.m * shape.n * shape.element_bytes
        self.sets = max(2, -(-5 * machine.l2_bytes // input_bytes) + 1)
        self.inputs: list[dict[str, torch.Tensor]] = []
        self.outputs: list[dict[str, torch.Tensor]] = []
        generator = torch.Generator(device=machine.device).manual_seed(seed)
        dtype = DTYPES[shape.dtype]

        def normal(*size: int) -> torch.Tensor:
            return torch.randn(size, generator=generator, device=machine.device).to(dtype)

        for index in range(self.sets):
            if index < 2:
                x = normal(shape.m, shape.n)
                mean = x.double().mean(1)
                variance = x.double().var(1, unbiased=False)
                self.inputs.append({
                    "dy": normal(shape.m, shape.n), "x": x,
                    "gamma": (1 + 0.25 * normal(shape.n).float()).to(dtype),
                    "mean": mean.float(), "rstd": (variance + 1e-5).rsqrt().float()})
            else:  # The same numbers at other addresses.
                self.inputs.append({name: value.clone()
                                    for name, value in self.inputs[index % 2].items()})
            self.outputs.append({
                "dx": torch.empty(shape.m, shape.n, dtype=dtype, device=machine.device),
                "dgamma": torch.empty(shape.n, dtype=dtype, device=machine.device),
                "dbeta": torch.empty(shape.n, dtype=dtype, device=machine.device)})
        self.beta = torch.zeros(shape.n, dtype=dtype, device=machine.device)
        self._places = [{name: machine.place(value)
                         for name, value in {**inputs, **outputs}.items()}
                        for inputs, outputs in zip(self.inputs, self.outputs, strict=True)]
        self.pointers = [{name: place.pointer for name, place in places.items()}
                         for places in self._places]

    def send(self, slot: int) -> None:
        """What was written into the outputs of a set holds for our kernels too."""
        for name in self.outputs[slot]:
            self._places[slot][name].send()

    def fetch(self, slot: int) -> None:
        """What our kernels wrote is in the outputs of a set."""
        for name in self.outputs[slot]:
            self._places[slot][name].fetch()


Outputs = tuple[torch.Tensor, torch.Tensor, torch.Tensor]
Call = Callable[[int], Outputs]


class Ours:
    """The kernels of lnbwd, launched through the C interface of the runtime."""

    name = "ours"

    def __init__(self, machine: Any, kernel_of: Callable[[Shape], pathlib.Path]) -> None:
        self._machine = machine
        self._kernel_of = kernel_of

    def prepare(self, shape: Shape, buffers: Buffers) -> Call:
        """Loads the kernel of the shape; each set of buffers has a workspace of its own."""
        machine = self._machine
        program = runtime.Program.from_file(self._kernel_of(shape))
        kernel = runtime.Kernel(machine.ours, program)
        size = kernel.workspace_size(shape.m)
        workspaces = [machine.place(torch.empty(max(size, 1), dtype=torch.uint8,
                                                device=machine.device))
                      for _ in range(buffers.sets)]
        pointers = [[places[argument.name] for argument in program.arguments]
                    for places in buffers.pointers]
        results = [(outputs["dx"], outputs["dgamma"], outputs["dbeta"])
                   for outputs in buffers.outputs]

        def call(slot: int) -> Outputs:
            kernel.launch(pointers[slot], shape.m, workspaces[slot].pointer, size, machine.stream())
            return results[slot]

        return call


class PeerCompetitor:
    """A peer's backward pass. It makes its own outputs; the last outputs of each set are kept, so
    that a call does not write where the one before it wrote."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self.name = peer.name

    def prepare(self, shape: Shape, buffers: Buffers) -> Call:
        """Runs the function once, which compiles what it needs.

        Raises:
            Unavailable: the peer cannot do the shape.
        """
        function = self._peer.function(LAYER_NORM_BWD, shape)
        sets = [{**inputs, "beta": buffers.beta} for inputs in buffers.inputs]
        kept: list[Any] = [None] * buffers.sets

        def call(slot: int) -> Outputs:
            kept[slot] = dx, dgamma, dbeta = function(sets[slot])
            return dx, dgamma, dbeta

        call(0)
        return call


class Stream:
    """The stream in several launch shapes or schedules, between arrays of one size."""

    def __init__(self, machine: Any, programs: Mapping[str, runtime.Program]) -> None:
        self._machine = machine
        self._programs = programs
        self._kernels = {name: runtime.Kernel(machine.ours, program)
                         for name, program in programs.items()}

    @property
    def names(self) -> list[str]:
        """What each is called."""
        return list(self._kernels)

    def prepare(self, name: str, array_bytes: int,
                pointers: Sequence[Sequence[int]]) -> Callable[[int], None] | None:
        """A call that streams one set of arrays, but for less than a row of the kernel's at their
        end; None if they are smaller than such a row.

        Args:
            name: one of ``names``.
            array_bytes: of each array.
            pointers: for each set, where the arrays are, those that are read first.
        """
        kernel, program = self._kernels[name], self._programs[name]
        rows = array_bytes // program.argument_size(0, 1)
        if not rows:
            return None
        if any(len(arrays) != len(program.arguments) for arrays in pointers):
            raise ValueError(f"expected {len(program.arguments)} arrays in each set, got "
                             f"{sorted({len(arrays) for arrays in pointers})}")

        def call(slot: int) -> None:
            kernel.launch(pointers[slot], rows, 0, 0, self._machine.stream())

        return call

    def candidates(self, array_bytes: int,
                   pointers: Sequence[Sequence[int]]) -> list[timing.Candidate]:
        """All that can stream such arrays (see :meth:`prepare`), to be timed."""
        return [timing.Candidate(name, call) for name in self.names
                if (call := self.prepare(name, array_bytes, pointers))]

    def one_row(self) -> Callable[[int], Any]:
        """A call that streams one row of a few kilobytes."""
        name = self.names[0]
        kernel, size = self._kernels[name], self._programs[name].argument_size(0, 1)
        arrays = [self._machine.place(torch.zeros(size, dtype=torch.uint8,
                                                  device=self._machine.device))
                  for _ in self._programs[name].arguments]
        pointers = [array.pointer for array in arrays]

        def call(slot: int) -> Any:
            kernel.launch(pointers, 1, 0, 0, self._machine.stream())
            return arrays

        return call


_EMPTY_PTX = """\
// lnbwd-plan: {"format": "lnbwd-plan", "version": 1, "producer": "lnbwd benchmark", \
"name": "empty", "chip": "TARGET", "wave_size": 32, "arguments": [], "workgroup_counts": [], \
"workspace": [], "kernels": [{"name": "empty", "grid": [1, 1, 1], "block": [32, 1, 1], \
"dynamic_shared_bytes": 0, "parameters": []}]}
.version 7.4
.target TARGET
.address_size 64

.visible .entry empty()
{
  ret;
}
"""


def prepare_empty(machine: Any, stream: Stream) -> Callable[[int], Any]:
    """A call that launches a kernel of one warp that does nothing: what timing itself costs. On AMD
    it is the stream over one row, since the driver takes no text."""
    if not _chips.is_nvidia(machine.ours.chip):
        return stream.one_row()
    program = runtime.Program.from_bytes(_EMPTY_PTX.replace("TARGET", _chips.PTX).encode())
    kernel = runtime.Kernel(machine.ours, program)
    return lambda slot: kernel.launch([], 1, 0, 0, machine.stream())


def prepare_foreign(machine: Any) -> Callable[[], Any]:
    """A call of a kernel that is nobody's competitor: PyTorch adds one to many numbers, in buffers
    of its own, for some ten microseconds.

    Raises:
        Unavailable: PyTorch does not compute on the device.
    """
    if not machine.has_peers:
        raise Unavailable("--interleave: expected a PyTorch that knows the GPU, whose kernel goes "
                          "in front of each call")
    source = torch.zeros(64 if machine.is_simulated else _FOREIGN_BYTES // 4, device=machine.device)
    result = torch.empty_like(source)
    return lambda: torch.add(source, 1.0, out=result)


def poison_allocator(shape: Shape, machine: Any, value: float) -> None:
    """Fills memory that torch is about to give out again: outputs of the shape, and some more."""
    dtype = DTYPES[shape.dtype]
    blocks = [torch.full((shape.m, shape.n), value, dtype=dtype, device=machine.device)
              for _ in range(2)]
    blocks += [torch.full((shape.n,), value, dtype=dtype, device=machine.device)
               for _ in range(4)]
    del blocks

