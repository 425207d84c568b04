# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which device a tensor's kernel runs on, and the launch itself.

CUDA and ROCm tensors run on their own device, on PyTorch's current stream, with a workspace from
PyTorch's allocator: nothing else is allocated, so that a launch can be captured in a graph. CPU
tensors run on the simulator, and only where that was asked for.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator, Sequence

import torch

from ..core.base import chip_table, environment, settings
from ..core.base.errors import LnbwdError, RuntimeStatusError, warn_once
from ..core.base.settings import order
from ..core.runtime.objects import Device, Kernel, launch_on_host_memory
from ..program.torch_internals.eager import is_traced, stream_of, transforms_are_active
from . import native

DEFAULT_CHIP = chip_table.SIMULATED
"""The chip that is simulated where none is named."""


# The chip of each ``with simulate(chip)`` that is entered.
_simulated: dict[object, str] = {}


def simulated_chip() -> str | None:
    """The chip on which CPU tensors are simulated now, or None: :func:`simulate` says it, else
    the environment's LNBWD_SIMULATE ("1": DEFAULT_CHIP)."""
    if _simulated:
        return [*_simulated.values()][-1]
    chosen = environment.read("LNBWD_SIMULATE")
    if chosen in ("", "0"):
        return None
    return DEFAULT_CHIP if chosen == "1" else chosen


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def falls_back(what: str = "a module of lnbwd") -> bool:
    """Whether CPU calls fall back to PyTorch; warns once."""
    if simulated_chip() is not None:
        return False
    warn_once("the CPU", f"{what} is on the CPU, which has no kernels: PyTorch computes it, and "
              "all later calls on the CPU. Move the model to a GPU, or simulate one in 'with "
              "lnbwd.simulate():'", UserWarning, stacklevel=3)
    return True


def is_pytorchs(what: str, input: torch.Tensor, *others: torch.Tensor | None) -> bool:
    """Whether PyTorch computes a call: traced, empty, in float64, or, warned of, on the CPU."""
    return (torch.compiler.is_compiling() or is_traced() or transforms_are_active()
            or input.numel() == 0
            or torch.float64 in [t.dtype for t in (input, *others) if t is not None]
            or input.is_meta or (input.is_cpu and falls_back(what)))


@contextlib.contextmanager
def simulate(chip: str = DEFAULT_CHIP) -> Iterator[None]:
    """Runs kernels of CPU tensors on the simulator of AMD machine code, for small shapes.

    It executes the very code that an AMD GPU would run, some ten thousand times slower. It holds
    for the whole process, all threads, until the ``with`` statement ends.

    Args:
        chip: a chip that the simulator has, "gfx942" (docs/reference/chips.md lists them).

    Raises:
        RuntimeStatusError: there is no simulator of that chip.

    Example:
        >>> with lnbwd.simulate("gfx942"):
        ...     lnbwd.layer_norm(x, (64,), weight, bias).sum().backward()
    """
    Device.open(f"sim:{chip}")  # An error here names the chips there are.
    simulation = object()
    _simulated[simulation] = chip
    native.set_simulated_chip(chip)
    try:
        yield
    finally:
        del _simulated[simulation]
        native.set_simulated_chip(["", *_simulated.values()][-1])


def check_device(x: torch.Tensor) -> None:
    """Raises an error with a remedy if no kernel can run on the device of ``x``."""
    kind = x.device.type
    if x.dtype == torch.float64:
        return  # PyTorch computes it.
    if kind == "cpu" and simulated_chip() is None:
        raise LnbwdError(
            "input is on the CPU, and lnbwd's kernels are for GPUs: move it to one "
            "(.cuda()), or have the kernel simulated, for small shapes, in 'with "
            "lnbwd.simulate():' or with LNBWD_SIMULATE=1 in the environment")
    if kind not in ("cpu", "cuda", "meta"):
        raise LnbwdError("input: expected a tensor on a CUDA or ROCm device, got one on "
                         f"'{x.device}'; move it to a GPU")


def open_device(device: torch.device) -> Device:
    """The runtime's device of a torch device (cpu: the simulated one)."""
    if device.type == "cpu":
        chip = simulated_chip()
        assert chip is not None
        try:
            return Device.open(f"sim:{chip}")
        except RuntimeStatusError as error:
            if _simulated:
                raise
            raise settings.error("LNBWD_SIMULATE", "'0', '1' or a chip that can be simulated",
                                 chip, error) from error
    index = torch.cuda.current_device() if device.index is None else device.index
    return Device.open(f"{'hip' if torch.version.hip else 'cuda'}:{index}")


@functools.cache
def has_clusters(device: torch.device) -> bool:
    """Whether workgroups of the device's chip can share a row."""
    chip = chip_table.FACTS.get(open_device(device).chip.partition(":")[0], {})
    return bool(chip.get("clusterWorkgroups", 1) > 1)


def is_capturing(device: torch.device) -> bool:
    """Whether a CUDA graph is being captured."""
    return device.type == "cuda" and torch.cuda.is_current_stream_capturing()


def check_capture(device: torch.device, what: str) -> None:
    """Raises an error if a graph is being captured: a module cannot be loaded meanwhile."""
    if is_capturing(device):
        raise native.NotNowError(
            f"{what} is not loaded yet, and a CUDA graph is being captured, during which the "
            "driver loads no module: run the same step once before the capture, with the same "
            "shapes and types (torch.cuda.make_graphed_callables and "
            "torch.compile(mode='reduce-overhead') do)")


def device_key(device: torch.device) -> object:
    """The key of a device's loaded kernels: a GPU's index, or the simulated chip."""
    return simulated_chip() if device.type != "cuda" else (
        torch.cuda.current_device() if device.index is None else device.index)


def kernel_key(name: str, where: object) -> tuple[str, object, str]:
    """The key of a program's kernel on the device ``where``, in the present order."""
    return name, where, order()


def dense(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor in row-major order at an address that kernels take; for a number, at any."""
    if tensor.is_contiguous() and (not tensor.dim() or not tensor.data_ptr() & 15):
        return tensor
    return tensor.clone(memory_format=torch.contiguous_format)


ALIGNMENT = 16
"""The alignment of addresses, in bytes, unless a kernel takes others."""

MemoryOrder = tuple[int, ...]
"""The dimensions of a tensor from the outermost in memory to the innermost; empty: row-major."""


def memory_of(tensor: torch.Tensor, count: int, order: MemoryOrder = ()) -> torch.Tensor:
    """The first ``count`` elements of a tensor's memory, one after another, as a kernel reads or
    writes them. Every launch and every evaluation gets its tensors from here; lib/Torch checks the
    same and takes the address. The program was made for ``order``. A ValueError if it has another
    order, gaps, or fewer elements."""
    has_rank = not order or len(order) == tensor.dim()
    lies = tensor.permute(order) if order and has_rank else tensor
    if not has_rank or not lies.is_contiguous() or tensor.numel() < count:
        wanted = f"with dimensions {list(order)} from outermost to innermost" if order else (
            "in row-major order")
        raise ValueError(f"expected {count} elements without gaps, {wanted}, got a tensor of shape "
                         f"{list(tensor.shape)} with strides {list(tensor.stride())}")
    return tensor.as_strided((count,), (1,))


def aligned(memory: torch.Tensor, alignment: int) -> torch.Tensor:
    """The memory itself, or a copy of it if it is at no multiple of ``alignment`` bytes."""
    return memory.clone() if memory.data_ptr() % alignment else memory


def launch_kernel(kernel: Kernel, rows: int, tensors: Sequence[torch.Tensor],
                  groups: int | None = None) -> None:
    """Runs a kernel of M ``rows`` in B ``groups`` on memory (:func:`memory_of`) of arguments."""
    addresses = [t.data_ptr() for t in tensors]
    index = tensors[0].get_device()
    if index < 0:
        launch_on_host_memory(kernel, rows, addresses, groups)
        return
    size = kernel.workspace_size(rows, groups)
    workspace = 0
    if size:
        # Freed on return, which is sound: PyTorch gives the memory to later work of the stream.
        scratch = tensors[0].new_empty(size, dtype=torch.uint8)
        workspace = scratch.data_ptr()
    kernel.launch(addresses, rows, workspace, size, stream_of(index), groups)
