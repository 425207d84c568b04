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
import os
import threading
from collections.abc import Iterator, Sequence

import torch

from . import runtime
from .errors import LnbwdError
from .kernels import code_for_device
from .spec import KernelSpec

__all__ = ["simulate", "simulated_chip"]

DEFAULT_CHIP = "gfx942"
"""The chip that is simulated where none is named."""

_ELEMENTS = {torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32"}

_simulated: list[str] = []
_lock = threading.Lock()
_Key = tuple[object, ...]
_loaded: dict[_Key, runtime.Kernel] = {}


def simulated_chip() -> str | None:
    """The chip on which CPU tensors are simulated now, or None: :func:`simulate` says it, else
    the environment's LNBWD_SIMULATE ("1": gfx942)."""
    if _simulated:
        return _simulated[-1]
    chosen = os.environ.get("LNBWD_SIMULATE", "")
    if chosen in ("", "0"):
        return None
    return DEFAULT_CHIP if chosen == "1" else chosen


@contextlib.contextmanager
def simulate(chip: str = DEFAULT_CHIP) -> Iterator[None]:
    """Runs kernels of CPU tensors on the simulator of AMD machine code, for small shapes.

    It executes the very code that an AMD GPU would run, some ten thousand times slower. It holds
    for the whole process, all threads, until the ``with`` statement ends.

    Args:
        chip: "gfx90a", "gfx942", "gfx950", "gfx1100" or "gfx1201".

    Raises:
        RuntimeStatusError: there is no simulator of that chip.

    Example:
        >>> with lnbwd.simulate("gfx942"):
        ...     lnbwd.layer_norm(x, (64,), weight, bias).sum().backward()
    """
    runtime.Device.open(f"sim:{chip}")  # An error here names the chips there are.
    _simulated.append(chip)
    try:
        yield
    finally:
        _simulated.remove(chip)


def uses_forward_kernels() -> bool:
    """Whether forward passes are kernels of ours (LNBWD_FORWARD=kernel) and not PyTorch's."""
    return os.environ.get("LNBWD_FORWARD") == "kernel"


def check_device(x: torch.Tensor, argument: str = "input") -> None:
    """Raises an error that says what to do if no kernel can run where ``x`` is."""
    kind = x.device.type
    if x.dtype == torch.float64:
        return  # PyTorch computes it.
    if kind == "cpu":
        if simulated_chip() is None:
            raise LnbwdError(
                f"{argument} is on the CPU, and lnbwd's kernels are for GPUs: move it to one "
                "(.cuda()), or have the kernel simulated, for small shapes, in 'with "
                "lnbwd.simulate():' or with LNBWD_SIMULATE=1 in the environment")
    elif kind not in ("cuda", "meta"):
        raise LnbwdError(f"{argument}: expected a tensor on a CUDA or ROCm device, got one on "
                         f"'{x.device}'; move it to a GPU")


def _device_spec(index: int) -> str:
    return f"{'hip' if torch.version.hip else 'cuda'}:{index}"


def open_device(device: torch.device) -> runtime.Device:
    """The runtime's device behind a torch device (cpu: the simulated one)."""
    if device.type == "cpu":
        chip = simulated_chip()
        assert chip is not None
        return runtime.Device.open(f"sim:{chip}")
    index = torch.cuda.current_device() if device.index is None else device.index
    return runtime.Device.open(_device_spec(index))


def _load(key: _Key, op: str, n: int, dtype: torch.dtype, weight: torch.dtype | None,
          bias: torch.dtype | None, wants: tuple[bool, bool, bool], epsilon: float | None,
          device: torch.device) -> runtime.Kernel:
    target = open_device(device)

    def make(chip: str, format: str) -> KernelSpec:
        return KernelSpec(op, n, _ELEMENTS[dtype], chip, _ELEMENTS[weight] if weight else "",
                          _ELEMENTS[bias] if bias else "", *wants, format=format,
                          epsilon=epsilon)

    with _lock:
        kernel = _loaded.get(key)
        if kernel is None:
            program = runtime.Program.for_chip(code_for_device(make, target.chip),
                                               target.info.arch)
            kernel = _loaded[key] = runtime.Kernel(target, program)
    return kernel


def _public_stream(index: int) -> int:
    return int(torch.cuda.current_stream(index).cuda_stream)


# The same number without making an object.
_raw_stream = getattr(torch._C, "_cuda_getCurrentRawStream", _public_stream)


def device_key(tensor: torch.Tensor) -> object:
    """What a kernel for the tensor is loaded for: a GPU's index, or the simulated chip."""
    index = tensor.get_device()  # Less than 0: on the CPU.
    return simulated_chip() if index < 0 else index


def dense(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor with dense rows, at an address that kernels take."""
    if tensor.is_contiguous() and not tensor.data_ptr() & 15:
        return tensor
    return tensor.clone(memory_format=torch.contiguous_format)


def launch_kernel(kernel: runtime.Kernel, rows: int, tensors: Sequence[torch.Tensor]) -> None:
    """Runs a kernel on tensors in the order of its arguments, all dense and on its device.

    Args:
        kernel: the kernel.
        rows: the number of rows.
        tensors: as many as the kernel has arguments.
    """
    first = tensors[0]
    index = first.get_device()
    if index < 0:
        _launch_on_host_memory(kernel, rows, tensors)
        return
    size = kernel.workspace_size(rows)
    workspace = 0
    if size:
        # Freed on return, which is sound: PyTorch gives the memory to later work of the stream.
        scratch = first.new_empty(size, dtype=torch.uint8)
        workspace = scratch.data_ptr()
    kernel.launch([t.data_ptr() for t in tensors], rows, workspace, size, _raw_stream(index))


def launch(op: str, n: int, rows: int, dtype: torch.dtype, weight: torch.dtype | None,
           bias: torch.dtype | None, wants: tuple[bool, bool, bool],
           tensors: Sequence[torch.Tensor], epsilon: float | None = None) -> None:
    """Runs a kernel on tensors in the order of its arguments, all dense and on one device.

    Args:
        op: the operation.
        n, rows: the row length and the number of rows.
        dtype, weight, bias: types of x, of the scale and of the shift; None: there is none.
        wants: whether dx, dweight and dbias are computed.
        tensors: inputs, then outputs.
        epsilon: of a forward pass.
    """
    key: _Key = (op, n, dtype, weight, bias, wants, epsilon, device_key(tensors[0]))
    kernel = _loaded.get(key)
    if kernel is None:
        kernel = _load(key, op, n, dtype, weight, bias, wants, epsilon, tensors[0].device)
    launch_kernel(kernel, rows, tensors)


def _launch_on_host_memory(kernel: runtime.Kernel, rows: int,
                           tensors: Sequence[torch.Tensor]) -> None:
    device = kernel.device
    arguments = kernel.program.arguments
    buffers = [device.allocate(t.nbytes) for t in tensors]
    for argument, tensor, buffer in zip(arguments, tensors, buffers, strict=True):
        if argument.access != "write" and tensor.nbytes:
            buffer.upload_from(tensor.data_ptr(), tensor.nbytes)
    size = kernel.workspace_size(rows)
    workspace = device.allocate(size)
    kernel.launch([b.pointer for b in buffers], rows, workspace.pointer, size)
    device.synchronize()
    for argument, tensor, buffer in zip(arguments, tensors, buffers, strict=True):
        if argument.access != "read" and tensor.nbytes:
            buffer.download_to(tensor.data_ptr(), tensor.nbytes)
