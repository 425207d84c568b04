# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Any compiled row program as one operator of PyTorch.

    lnbwd::region(Tensor[] inputs, str program) -> Tensor[]
    lnbwd::_region(Tensor[] inputs, str program) -> Tensor[]

The first is for calls by hand: it has no derivative, and says so where one is asked for. The second
is what launches a kernel, and what graphs of torch.compile call: it knows nothing of derivatives.
Unless operators are intercepted, :func:`run_rows` does the same without PyTorch's dispatcher.

``program`` is a text that names a row program in this process and, if the text says enough to make
it again, in others (compiled graphs are cached on disk with the text in them). What the text stands
for is registered once::

    register_program(text, inputs, outputs, source)

and a text that nobody registered is handed to the functions in :data:`resolvers`. Where no kernel
can be had, and the program can be computed otherwise (``evaluate``), it is, with one warning.

The inputs are passed in the order of the program's arguments, the outputs follow them there. A row
block's tensor has any shape of M·N elements, a row scalar's M, a column's N, a group column's B·N;
outputs come as ``[M, N]``, ``[M]``, ``[N]`` and ``[B, N]``. M is that of the first row block or
row scalar among the inputs. B, the number of groups of rows, is that of the first group column, or
M over the rows of the first repeated row block or scalar; where outputs alone are of groups, it is
the first dimension of the first row block.
"""

from __future__ import annotations

import concurrent.futures
import functools
import math
import operator
import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..core.base.errors import LnbwdError, warn_once
from ..core.compile.store import kernel_store
from ..core.runtime.objects import Kernel
from ..program.builder import Draft
from ..program.row_program import count_groups
from ..program.torch_internals.eager import (
    count_dispatch_modes,
    is_batched,
    is_graph_retained,
    reshaped,
    transforms_are_active,
)
from . import launching, native, registration
from .region_programs import (
    Operand,
    RegionProgram,
    check_kernel,
    find_program,
    register_program,
    register_row_program,
    resolvers,
)

__all__ = ["Operand", "RegionProgram", "call_in_python", "find_program", "is_loaded",
           "load_kernel", "own_tensor", "raw_region", "region_call", "register_draft",
           "register_program", "register_row_program", "resolvers"]

_Key = tuple[str, object, str]
_lock = threading.Lock()
_kernels: dict[_Key, Kernel] = {}
_without_kernel: set[_Key] = set()
_MOST_THREADS = 32
"""Threads that load kernels: they wait for the compiler and for measurements."""


class Registered(NamedTuple):
    """A program that is registered: its name, M where it is known, the names of its operands."""

    text: str
    rows: int | None
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    def __call__(self, rows: int, tensors: Mapping[str, Any]) -> dict[str, Tensor]:
        """The outputs by their names, of inputs by theirs, as :func:`run_rows` gives them."""
        found = run_rows(self.text, rows, [tensors[name] for name in self.inputs])
        return dict(zip(self.outputs, found, strict=True))

    def write(self, rows: int, tensors: Mapping[str, Tensor]) -> None:
        """Computes outputs, which are among the tensors; :func:`region_call` names them."""
        call_of(self.text, tensors[self.inputs[0]].device)(
            rows, *[tensors[name] for name in (*self.inputs, *self.outputs)])


def register_draft(draft: Draft, rows: int | None, expected_rows: int | None = None,
                   is_tuned: bool = False, is_region: bool = True) -> Registered:
    """Registers a draft of M ``rows``, or where that is None of any number of them, likewise."""
    program, names = draft.finish(rows, expected_rows)
    text = register_row_program(program, is_tuned, is_region).text
    return Registered(text, rows, tuple(draft.inputs), names)


def load_kernel(program: RegionProgram, device: torch.device, rows: int = 0) -> Kernel:
    """The kernel of a program for a device, loaded: compiled, or taken from a cache; ``rows`` as of
    :meth:`.KernelStore.get`. An LnbwdError without a device or a compiler, or if it refuses."""
    return _kernels.get(launching.kernel_key(program.text, launching.device_key(device))) or _load(
        program, device, rows)


def load_all(programs: Iterable[RegionProgram], device: torch.device
             ) -> dict[str, concurrent.futures.Future[Kernel]]:
    """The kernels of programs, or :func:`load_kernel`'s errors, by text, loaded side by side."""
    by_text = {program.text: program for program in programs}
    with concurrent.futures.ThreadPoolExecutor(_MOST_THREADS) as pool:
        return {text: pool.submit(load_kernel, program, device)
                for text, program in by_text.items()}


def is_loaded(text: str, like: Tensor) -> bool:
    """Whether the kernel of a program is loaded for tensors that are where ``like`` is."""
    return launching.kernel_key(text, launching.device_key(like.device)) in _kernels


def _load(program: RegionProgram, device: torch.device, rows: int = 0) -> Kernel:
    launching.check_capture(device, f"the row program {program.text[:40]!r}")
    where = launching.device_key(device)
    kernel = kernel_store().get(program.source, launching.open_device(device), rows)
    check_kernel(program, kernel)
    with _lock:
        kernel = _kernels.setdefault(launching.kernel_key(program.text, where), kernel)
    native.add_program(program, where, kernel)
    return kernel


def find_kernel(program: RegionProgram, first: Tensor, rows: int = 0) -> Kernel | None:
    """The kernel of a program for tensors that are where ``first`` is, or None, after one warning,
    where PyTorch takes its place; ``rows`` and errors as of :func:`load_kernel`."""
    where = launching.device_key(first.device)
    key = launching.kernel_key(program.text, where)
    kernel = _kernels.get(key)
    if kernel is not None or key in _without_kernel:
        return kernel
    if launching.is_capturing(first.device) and program.stand_ins:
        loaded = (_kernels.get(launching.kernel_key(other, where)) for other in program.stand_ins())
        if (kernel := next(filter(None, loaded), None)) is not None:
            return kernel
    try:
        launching.check_device(first)
        return _load(program, first.device, rows)
    except LnbwdError as error:
        if program.evaluate is None or isinstance(error, native.NotNowError):
            raise
        with _lock:
            _without_kernel.add(key)
        warn_once(
            "regions without kernels", "regions of a compiled model are computed by PyTorch's "
            f"operations, one after another, for want of kernels: {error}. Once that is mended, "
            "start the process again; a model that is compiled anew in an installation without "
            "kernels is Inductor's alone")
        return None


def _sizes(program: RegionProgram, inputs: Sequence[Tensor]) -> tuple[int, int | None]:
    """M and B, after the inputs were checked; each an int, or a symbol while a graph is traced."""
    if len(inputs) != len(program.inputs):
        raise ValueError(f"lnbwd::region: expected {len(program.inputs)} inputs, got {len(inputs)}")
    rows = next((tensor.numel() // operand.row_length
                 for operand, tensor in zip(program.inputs, inputs, strict=True)
                 if operand.has_all_rows), program.rows)
    if rows is None:
        raise ValueError("lnbwd::region: expected a row block or a row scalar among the inputs, "
                         "which says what M, the number of rows, is; got columns alone")
    # (To a launch, a part is a column of all its elements.)
    length = max((operand.row_length for operand in program.inputs if operand.kind != "column"),
                 default=1)
    groups = (program.groups or count_groups(program.inputs, inputs, rows, length)
              if program.has_groups else None)
    for index, (operand, tensor) in enumerate(zip(program.inputs, inputs, strict=True)):
        if tensor.dtype != operand.dtype:
            raise TypeError(f"lnbwd::region: input {index}: expected {operand.dtype}, got "
                            f"{tensor.dtype}")
        if tensor.device != inputs[0].device:
            raise ValueError(f"lnbwd::region: input {index}: expected a tensor on "
                             f"{inputs[0].device} like input 0, got one on {tensor.device}")
        expected = operand.row_length * operand.dims.count_rows(rows, groups or 0)
        if tensor.numel() != expected:
            raise ValueError(f"lnbwd::region: input {index} ({operand.kind}): expected {expected} "
                             f"elements, got {tensor.numel()}; a row has {operand.row_length}")
    return rows, groups


def _allocate(program: RegionProgram, rows: int, groups: int | None, like: Tensor) -> list[Tensor]:
    return [like.new_empty(o.shape(rows, groups), dtype=o.dtype) for o in program.outputs]


def run_region(inputs: Sequence[Tensor], text: str) -> list[Tensor]:
    """The operator, in Python."""
    program = find_program(text)
    rows, groups = _sizes(program, inputs)
    outputs = _allocate(program, rows, groups, inputs[0])
    _run(program, rows, groups, [t.contiguous() for t in inputs], outputs)
    return outputs


def _run(program: RegionProgram, rows: int, groups: int | None, inputs: Sequence[Tensor],
         outputs: Sequence[Tensor], orders: Sequence[launching.MemoryOrder] = ()) -> None:
    """Computes the outputs by a kernel or by PyTorch's operations, on the memory that the program
    declares; ``orders`` are those of inputs and outputs, empty if all are row-major."""
    tensors = [*inputs, *outputs]
    kernel = find_kernel(program, tensors[0], rows)
    alignments = ([argument.alignment for argument in kernel.program.arguments] if kernel else
                  [1] * len(tensors))
    memory = [operand.memory(tensor, rows, groups, order)
              for operand, tensor, order in zip((*program.inputs, *program.outputs), tensors,
                                                orders or [()] * len(tensors), strict=True)]
    ours = [launching.aligned(*one) for one in zip(memory, alignments, strict=True)]
    if kernel is not None:
        launching.launch_kernel(kernel, rows, ours, groups)
    else:
        _evaluate(program, rows, groups, ours)
    for operand, theirs, own in zip(program.outputs, memory[len(inputs):], ours[len(inputs):],
                                    strict=True):
        if own is not theirs:  # A view at an odd offset that a graph writes.
            operand.written(theirs).copy_(operand.written(own))


def _evaluate(program: RegionProgram, rows: int, groups: int | None,
              memory: Sequence[Tensor]) -> None:
    """Computes the outputs by PyTorch's operations, on memory as a kernel takes it."""
    assert program.evaluate is not None
    shaped = []
    for operand, tensor in zip(program.inputs, memory, strict=False):
        shape = operand.shape(rows, groups)
        if operand.kind == "row_block" and groups:  # Where outputs alone have groups, it says B.
            shape = (groups, rows // groups, operand.row_length)
        shaped.append(tensor.view(shape))
    outputs = memory[len(shaped):]
    # An output may be an input's buffer, and a value an input itself, or a view of it.
    read = {tensor.untyped_storage().data_ptr() for tensor in shaped}
    with outputs[0].device:  # Of a program without inputs.
        values = [value.clone() if value.untyped_storage().data_ptr() in read else value
                  for value in program.evaluate(shaped, rows=rows)]
    for output, value, operand in zip(outputs, values, program.outputs, strict=True):
        place = operand.written(output)
        place.copy_(operand.written(value).reshape(place.shape))


def region_call(text: str, device: str,
                orders: Sequence[launching.MemoryOrder] = ()) -> Callable[..., Any]:
    """A function for one row program on one device, ``(rows, *inputs, *outputs) -> None`` or
    ``(rows, *inputs) -> outputs``; of a program with groups of rows ``(rows, groups, *inputs,
    *outputs) -> None``. Where ``rows`` is a tuple, their dimensions, the outputs have these, and
    row scalars one more, of size 1.

    It is what compiled graphs call (:mod:`lnbwd.inductor.scheduling`), for it costs the host a
    fraction of what the operator does. It does not check sizes, and knows no autograd.
    Graphs on disk name it: it stays where it is.

    Args:
        text: the program's name. Nothing is looked up or loaded before the first call.
        device: where all tensors are, "cpu" or one like "cuda:0".
        orders: the memory that the program was made for (:data:`.launching.MemoryOrder`), for
            each tensor of a call; empty: all are row-major. A tensor whose memory differs is a
            ValueError. One at an address that kernels do not take is copied, outputs back, too.
    """
    where = torch.device(device)
    in_python = functools.partial(call_in_python, text, orders=orders)
    return (where.type != "meta" and native.make_region_call(text, where, in_python, orders)
            ) or in_python


def own_tensor(tensor: Tensor) -> Tensor:
    """A tensor that was saved for a backward pass alone, which is about to overwrite it: the tensor
    itself, or a copy if the pass may be called again. Graphs on disk name it."""
    if not is_graph_retained():
        return tensor
    return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype,
                               device=tensor.device).copy_(tensor)


call_of = functools.lru_cache(4096)(lambda text, device: region_call(text, str(device)))
"""The same function each time, of a torch.device."""

_plain = frozenset((Tensor, torch.nn.Parameter))


def is_plain(tensors: Collection[Tensor]) -> bool:
    """Whether nothing intercepts operators on the tensors: no subclass, no dispatch mode, no
    transform of torch.func, no batch, no negation that is left to do. The operators' functions may
    then be called without PyTorch's dispatcher, which takes the host as long as both products of a
    linear layer's forward pass."""
    return (not count_dispatch_modes() and not transforms_are_active()
            and _plain.issuperset(map(type, tensors)) and True not in map(Tensor.is_neg, tensors)
            and True not in map(is_batched, tensors))


def run_rows(text: str, rows: int | tuple[int, ...], inputs: Sequence[Tensor]) -> list[Tensor]:
    """As :func:`region_call`'s function, for inputs that fit a program without groups."""
    if not is_plain(inputs):
        return _run_rows(find_program(text), rows, inputs)
    outputs: list[Tensor] = call_of(text, inputs[0].device)(
        rows, *[t if t.is_contiguous() else t.contiguous() for t in inputs])
    return outputs


def _run_rows(program: RegionProgram, rows: int | tuple[int, ...],
              inputs: Sequence[Tensor]) -> list[Tensor]:
    outputs = raw_region(inputs, program.text)
    if not isinstance(rows, tuple):
        return outputs
    return [reshaped(output, (*rows, operand.row_length)) if operand.has_all_rows
            else output for operand, output in zip(program.outputs, outputs, strict=True)]


def call_in_python(text: str, *arguments: Any, orders: Sequence[launching.MemoryOrder] = ()
                   ) -> list[Tensor] | None:
    """The Python implementation of :func:`region_call`'s functions."""
    program = find_program(text)
    inputs = len(program.inputs)
    numbers = 2 if program.has_groups else 1
    if numbers == 1 and len(arguments) == 1 + inputs:
        rows = arguments[0]
        count = math.prod(rows) if isinstance(rows, tuple) else operator.index(rows)
        return _run_rows(program, rows, [
            operand.memory(tensor, count, None, order) for operand, tensor, order in zip(
                program.inputs, arguments[1:], orders[:inputs] or [()] * inputs, strict=True)])
    if len(arguments) != numbers + inputs + len(program.outputs):
        what = "numbers of rows and groups" if program.has_groups else "number of rows"
        raise TypeError(f"lnbwd: a region's call: expected the {what}, {inputs} inputs and "
                        f"{len(program.outputs)} outputs, got {len(arguments)} arguments")
    rows, *groups = map(operator.index, arguments[:numbers])
    tensors = arguments[numbers:]
    _run(program, rows, groups[0] if groups else None, tensors[:inputs], tensors[inputs:], orders)
    return None


def _fake_region(inputs: Sequence[Tensor], text: str) -> list[Tensor]:
    program = find_program(text)
    return _allocate(program, *_sizes(program, inputs), inputs[0])


class _ByHand(torch.autograd.Function):
    """The results that the text names, for the inputs after it."""

    @staticmethod
    def forward(ctx: Any, text: str, *inputs: Tensor) -> tuple[Tensor, ...]:
        return tuple(raw_region(list(inputs), text))

    backward = staticmethod(registration.refuse(
        "lnbwd::region: expected no derivative to be asked of it: a row program that is called by "
        "hand has none. Call it on tensors that need no gradient (tensor.detach()), inside of an "
        "autograd.Function of your own that has a backward pass, or have lnbwd.rowwise derive one"))
    jvp = staticmethod(registration.refuse(
        "lnbwd::region: expected no forward-mode differentiation (torch.autograd.forward_ad): a "
        "row program has none"))


def _call_by_hand(inputs: list[Tensor], text: str) -> list[Tensor]:
    if transforms_are_active():
        raise LnbwdError("lnbwd::region: expected no transform of torch.func around it: a row "
                         "program that is called by hand has none. Hand a batch over as more rows, "
                         "or call a function of lnbwd.rowwise")
    return list(_ByHand.apply(text, *inputs))  # type: ignore[no-untyped-call]


_SCHEMA = "(Tensor[] inputs, str program) -> Tensor[]"

raw_region: Callable[[Sequence[Tensor], str], list[Tensor]] = registration.define_kernel(
    "region", _SCHEMA, run_region, _fake_region)[1]
"""lnbwd::_region."""

registration.define("region", _SCHEMA, _call_by_hand)
