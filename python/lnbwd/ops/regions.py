# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Any compiled row program as one operator of PyTorch.

    lnbwd::region(Tensor[] inputs, str program) -> Tensor[]
    lnbwd::_region(Tensor[] inputs, str program) -> Tensor[]

The first is for calls by hand: it has no derivative, and says so where one is asked for. The second
is what launches a kernel, and what graphs of torch.compile call: it knows nothing of derivatives.
Where nobody watches what operators are called, :func:`run_rows` does the same without PyTorch's
dispatcher.

``program`` is a text that names a row program in this process and, if the text says enough to make
it again, in others (compiled graphs are cached on disk with the text in them). What the text stands
for is registered once::

    register_program(text, inputs, outputs, make_kernel)

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
import dataclasses
import functools
import math
import operator
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..core import runtime
from ..core.base import settings
from ..core.base.errors import LnbwdError
from ..core.base.operations import ELEMENTS, KINDS, Dims
from ..core.compile import tuning
from ..core.compile.spec import ROWS_HINTS, ProgramSpec, Spec, hints_near, rows_option
from ..core.compile.store import code_format
from ..program.element_types import ELEMENT_NAMES, TYPES
from ..program.evaluation import evaluate
from ..program.mlir import mlir
from ..program.row_program import (
    KIND_NAMES,
    SUM_KINDS,
    Draft,
    Input,
    Output,
    RowProgram,
    count_groups,
)
from . import native, registration
from .launching import (
    ALIGNMENT,
    MemoryOrder,
    check_capture,
    check_device,
    device_key,
    is_capturing,
    kernel_key,
    launch_kernel,
    load_code,
    memory_of,
    open_device,
)

__all__ = ["Operand", "RegionProgram", "call_in_python", "find_program", "is_loaded",
           "load_kernel", "make_kernel_from_mlir", "operand", "raw_region", "region_call",
           "register_draft", "register_program", "register_row_program", "resolvers"]

MakeKernel = Callable[[runtime.Device, int], runtime.Kernel]
"""Gives the kernel for a device, compiled or from a cache. The number is M of the call that asks
for it, 0 if it is not known: the schedule may be chosen for it."""

Evaluate = Callable[[Sequence[Tensor]], Sequence[Tensor]]
"""Computes a program's outputs of its inputs by PyTorch's operations."""


@dataclass(frozen=True)
class Operand:
    """One tensor of a row program.

    Attributes:
        kind: the name of its dimensions in :data:`lnbwd.operations.KINDS`: "row_block", ...
        dtype: the type of its elements: float16, bfloat16, float32, bool or an integer; for a row
            block also float8.
        row_length: N; 1 where there are no columns.
        is_part: whether it is a part of the rows, or a row block in another order, which is a
            column to a launch.
    """

    kind: str
    dtype: torch.dtype
    row_length: int
    is_part: bool = False

    @property
    def dims(self) -> Dims:
        """The dimensions that it has."""
        return KINDS[self.kind]

    @property
    def has_all_rows(self) -> bool:
        """Whether it has a row, or a number, for each of the M rows."""
        return self.dims.has_groups and self.dims.has_rows

    def shape(self, rows: int, groups: int | None) -> tuple[int, ...]:
        """Its shape in a call with M ``rows`` in B ``groups``, as outputs come."""
        dims = self.dims
        count = ((dims.count_rows(rows, groups or 0),) if dims.has_groups or dims.has_rows else ())
        return (*count, self.row_length) if dims.has_columns else count

    def memory(self, tensor: Tensor, rows: int, groups: int | None, order: MemoryOrder = (),
               alignment: int = ALIGNMENT) -> Tensor:
        """What a kernel gets for it of a tensor (:func:`.launching.memory_of`)."""
        if tensor.dtype != self.dtype:
            raise TypeError(f"expected {self.dtype} for a {self.kind}, got {tensor.dtype}")
        return memory_of(tensor, math.prod(self.shape(rows, groups)), order, alignment)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"kind: expected {', '.join(KINDS)}, got {self.kind!r}")
        dims = KINDS["row_block"] if self.is_part else self.dims
        allowed = [dtype for name, dtype in TYPES.items() if ELEMENTS[name].is_of(dims)]
        if self.dtype not in allowed:
            names = ", ".join(str(dtype).removeprefix("torch.") for dtype in allowed)
            raise ValueError(f"dtype: expected {names} for a {self.kind}, got {self.dtype}")
        if self.row_length < 1 or (not self.dims.has_columns and self.row_length != 1):
            wanted = "1 or more" if self.dims.has_columns else "1"
            raise ValueError(f"row_length: expected {wanted} for a {self.kind}, got "
                             f"{self.row_length}")


@dataclass(frozen=True)
class RegionProgram:
    """What a text stands for; see :func:`register_program`."""

    text: str
    inputs: tuple[Operand, ...]
    outputs: tuple[Operand, ...]
    make_kernel: MakeKernel
    evaluate: Evaluate | None = None
    stand_ins: Callable[[], Iterable[str]] | None = None
    key: bytes = b""
    """What the library in C++ finds it by."""
    rows: int | None = None
    """M where no input says it."""
    groups: int | None = None
    """B where it is known."""

    @functools.cached_property
    def has_groups(self) -> bool:
        """Whether the rows are groups."""
        return any(operand.dims.tells_groups for operand in (*self.inputs, *self.outputs))


_Key = tuple[str, object, str]
_lock = threading.Lock()
_programs: dict[str, RegionProgram] = {}
_kernels: dict[_Key, runtime.Kernel] = {}
_without_kernel: set[_Key] = set()
_MOST_THREADS = 32
"""Of those that load kernels: they wait for the compiler, which takes as many cores as there are,
and for measurements."""
_Resolver = Callable[[str], RegionProgram | None]
resolvers: list[_Resolver] = []
"""Functions that are asked, once a text, for programs that nobody registered, this package's own
first. They give what :func:`register_program` returns, or None for a text that they do not know
either. That is how a process runs a compiled graph that another one left on disk."""


def register_program(text: str, inputs: Sequence[Operand], outputs: Sequence[Operand],
                     make_kernel: MakeKernel, evaluate: Evaluate | None = None,
                     stand_ins: Callable[[], Iterable[str]] | None = None,
                     key: bytes = b"", rows: int | None = None,
                     groups: int | None = None) -> RegionProgram:
    """Says what ``text`` stands for in ``lnbwd::region``, in this process.

    Registering a text again replaces what it stood for; kernels that are loaded stay.

    Args:
        text: the operator's second argument.
        inputs, outputs: its tensors in the order of its arguments. One input at least is a row
            block or a row scalar, which says what M is, or ``rows`` does.
        make_kernel: gives the kernel for a device and the M of its first call, called once for
            each device that the program runs on (:func:`make_kernel_from_mlir` makes one).
        evaluate: computes the outputs, in their order, by PyTorch's operations, of inputs in the
            shapes that outputs have; called where there is no kernel. Without it, that is an error.
        stand_ins: gives programs that compute the same, the best first. Where a kernel is asked for
            while a CUDA graph is captured, so that none can be loaded, one of theirs does.
        key: what the library in C++ finds it by; empty: the text.
        rows, groups: M and B, for a program of one number of rows, or of groups of rows.

    Raises:
        ValueError: no input says what M is, there is no output, or the text has a zero character.
    """
    if "\0" in text:
        raise ValueError("text: expected no zero characters in it")
    program = RegionProgram(text, tuple(inputs), tuple(outputs), make_kernel, evaluate, stand_ins,
                            key or text.encode(), rows, groups)
    if rows is None and not any(operand.has_all_rows for operand in program.inputs):
        raise ValueError("inputs: expected a row block or a row scalar among them, which says what "
                         "M, the number of rows, is; got columns alone")
    if program.has_groups and groups is None and not any(
            operand.dims.tells_groups or operand.kind == "row_block" for operand in program.inputs):
        raise ValueError("inputs: expected a group column or a row block among them, which says "
                         "how many groups of rows there are, got none")
    if not program.outputs:
        raise ValueError("outputs: expected one or more, got none")
    with _lock:
        _programs[text] = program
    return program


_LEAST_SEARCHED = 1 << 17
"""Elements from which the schedule of a program without sums matters: with fewer it takes as long
as a launch."""


def register_row_program(program: RowProgram, is_tuned: bool = False,
                         is_region: bool = True) -> RegionProgram:
    """Registers a row program under its own text, from which another process can make it again;
    with ``is_tuned`` its schedule is searched for; ``is_region`` as :func:`.tuned`."""
    expected = program.expected_rows
    rows = (program.rows or expected) if is_tuned else None
    is_tuned = rows is not None and (program.groups is not None or not program.has_groups) and (
        program.has_row_sums or any(one.kind in SUM_KINDS for one in program.outputs)
        or rows * program.length >= _LEAST_SEARCHED)
    for_any = dataclasses.replace(program, expected_rows=None)

    def stand_ins() -> Iterable[str]:
        return (dataclasses.replace(program, expected_rows=other).text()
                for other in hints_near(expected or 1))

    return register_program(
        program.text(), [operand(i, program.length) for i in program.inputs],
        [operand(o, program.length) for o in program.outputs],
        make_kernel_from_mlir(mlir(for_any), rows=expected, tuned_for=(
            rows, program.groups) if rows is not None and is_tuned else None, is_region=is_region),
        functools.partial(evaluate, program), stand_ins if expected else None, rows=program.rows,
        groups=program.groups)


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
        """Computes outputs, which are among the tensors; :func:`region_call` says of which."""
        call_of(self.text, tensors[self.inputs[0]].device)(
            rows, *[tensors[name] for name in (*self.inputs, *self.outputs)])


def register_draft(draft: Draft, rows: int | None, expected_rows: int | None = None,
                   is_tuned: bool = False, is_region: bool = True) -> Registered:
    """Registers a draft of M ``rows``, or where that is None of any number of them, likewise."""
    program, names = draft.finish(rows, expected_rows)
    text = register_row_program(program, is_tuned, is_region).text
    return Registered(text, rows, tuple(draft.inputs), names)


def operand(value: Input | Output, length: int) -> Operand:
    """The tensor of an input or output of a row program over rows of ``length`` elements."""
    size = value.row_length(length)
    is_part = bool(value.parts) and size > 1  # One element, for all rows, is a number.
    kind = "column" if value.is_strided else KIND_NAMES[value.kind]
    return Operand("number" if value.parts and not is_part else kind, TYPES[value.dtype],
                   size, is_part)


def _read_program(text: str) -> RegionProgram | None:
    """The row program in a text, such as a compiled graph from a cache has it; None if it is no
    row program of this version."""
    try:
        return register_row_program(RowProgram.from_text(text), is_tuned=True)
    except ValueError:
        return None


def find_program(text: str) -> RegionProgram:
    """What a text stands for. Raises LnbwdError if nobody knows."""
    program = _programs.get(text)
    if program is None:
        program = _read_program(text)
    if program is None:
        program = next(filter(None, (resolve(text) for resolve in resolvers)), None)
        if program is not None:
            with _lock:
                program = _programs.setdefault(text, program)
    if program is None:
        raise LnbwdError(f"lnbwd::region: the program {text[:80]!r} is not registered in this "
                         "process; call lnbwd.regions_op.register_program, or append to "
                         "regions_op.resolvers for graphs that were compiled in another process")
    return program


def make_kernel_from_mlir(source: str, rows: int | None = None,
                          tuned_for: tuple[int, int | None] | None = None,
                          is_region: bool = True) -> MakeKernel:
    """A ``make_kernel`` that compiles MLIR text, with the caches that all kernels have.

    Args:
        source: a module with one function of lnbwd operations, whose arguments are the program's.
        rows: a number of rows near those of all calls, where the types leave it open; None: a
            usual one. The schedule is chosen for the number of the first call, or where that is
            not known for the nearest of :data:`.spec.ROWS_HINTS`. It is right for any.
        tuned_for: M and B that a schedule is searched for (:mod:`.tuning`); None: no search.
        is_region: as of :func:`.tuned`.
    """
    return make_kernel_from_spec(lambda chip, format: ProgramSpec(
        source, chip, format=format, rows=0 if rows is None else rows_option(rows, chip)),
        tuned_for, is_region)


def make_kernel_from_spec(make: Callable[[str, str], Spec],
                          tuned_for: tuple[int, int | None] | None,
                          is_region: bool = True) -> MakeKernel:
    """The same of what gives a spec for a chip and a format; ``is_region`` as :func:`.tuned`."""
    def make_kernel(device: runtime.Device, rows: int) -> runtime.Kernel:
        def of_call(chip: str, format: str) -> Spec:
            spec = make(chip, format)
            # (Calls with fewer rows than the least hint share a kernel with it.)
            return dataclasses.replace(spec, rows=max(rows, ROWS_HINTS[0])) if (
                spec.rows and rows) else spec

        found = tuning.Tuned("") if tuned_for is None else tuning.tuned(
            of_call(device.chip, code_format(device.chip)), device, *tuned_for,
            is_region=is_region)
        kernel = load_code(lambda chip, format: dataclasses.replace(
            of_call(chip, format), schedule=found.schedule), device)
        kernel.microseconds = found.microseconds
        return kernel

    return make_kernel


def _check_kernel(program: RegionProgram, kernel: runtime.Kernel) -> None:
    """That the kernel's arguments are those that were registered."""
    arguments = kernel.program.arguments
    expected = [(operand, access) for access, operands in (("read", program.inputs),
                                                           ("write", program.outputs))
                for operand in operands]
    if len(arguments) != len(expected):
        raise LnbwdError(f"lnbwd::region: {len(expected)} operands are registered for the program "
                         f"'{kernel.program.name}', which takes {len(arguments)} arguments")
    for argument, (operand, access) in zip(arguments, expected, strict=True):
        name = ELEMENT_NAMES[operand.dtype]
        element = "i8" if ELEMENTS[name].use == "byte" else name
        wanted = (access, operand.kind, element, operand.row_length)
        got = (argument.access, argument.kind, argument.element, argument.row_length)
        # Whole rows with one distance between them are a row block to the compiler, and a number
        # for each row is a row scalar; so is what has some columns of each row of a group.
        has_all_rows = (operand.is_part and access == argument.access
                        and argument.kind in ("row_block", "row_scalar", "repeated_row_block"))
        if wanted != got and not has_all_rows:
            raise LnbwdError(f"lnbwd::region: argument '{argument.name}' of the program "
                             f"'{kernel.program.name}': registered as {wanted}, but it is {got}")


def load_kernel(program: RegionProgram, device: torch.device, rows: int = 0) -> runtime.Kernel:
    """The kernel of a program for a device, loaded: compiled, or taken from a cache; ``rows`` as of
    :data:`MakeKernel`.

    Raises:
        LnbwdError: there is no device, no compiler, or the compiler refuses the program.
    """
    return _kernels.get(kernel_key(program.text, device_key(device))) or _load(
        program, device, rows)


def load_all(programs: Iterable[RegionProgram], device: torch.device
             ) -> dict[str, concurrent.futures.Future[runtime.Kernel]]:
    """The kernels of programs by their texts, loaded side by side, or the errors of
    :func:`load_kernel`."""
    by_text = {program.text: program for program in programs}
    with concurrent.futures.ThreadPoolExecutor(_MOST_THREADS) as pool:
        return {text: pool.submit(load_kernel, program, device)
                for text, program in by_text.items()}


def is_loaded(text: str, like: Tensor) -> bool:
    """Whether the kernel of a program is loaded for tensors that are where ``like`` is."""
    return kernel_key(text, device_key(like.device)) in _kernels


def _load(program: RegionProgram, device: torch.device, rows: int = 0) -> runtime.Kernel:
    check_capture(device, f"the row program {program.text[:40]!r}")
    where = device_key(device)
    kernel = program.make_kernel(open_device(device), rows)
    _check_kernel(program, kernel)
    with _lock:
        kernel = _kernels.setdefault(kernel_key(program.text, where), kernel)
    native.add_program(program, where, kernel)
    return kernel


def find_kernel(program: RegionProgram, first: Tensor, rows: int = 0) -> runtime.Kernel | None:
    """The kernel of a program for tensors that are where ``first`` is, or None, after one warning,
    where PyTorch's operations take its place; ``rows`` as of :data:`MakeKernel`. Raises the errors
    of :func:`load_kernel`."""
    where = device_key(first.device)
    key = kernel_key(program.text, where)
    kernel = _kernels.get(key)
    if kernel is not None or key in _without_kernel:
        return kernel
    if is_capturing(first.device) and program.stand_ins:
        loaded = (_kernels.get(kernel_key(other, where)) for other in program.stand_ins())
        if (kernel := next(filter(None, loaded), None)) is not None:
            return kernel
    try:
        check_device(first)
        return _load(program, first.device, rows)
    except LnbwdError as error:
        if program.evaluate is None or isinstance(error, native.NotNowError):
            raise
        with _lock:
            _without_kernel.add(key)
        settings.warn_once(
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
                 if operand.has_all_rows), program.rows or 0)
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


def _alignments(program: RegionProgram, kernel: runtime.Kernel | None) -> list[int]:
    """What the addresses of a call's tensors have to be multiples of."""
    if kernel is None:
        return [1] * len(program.inputs) + [ALIGNMENT] * len(program.outputs)
    return [argument.alignment for argument in kernel.program.arguments]


def _run(program: RegionProgram, rows: int, groups: int | None, inputs: Sequence[Tensor],
         outputs: Sequence[Tensor], orders: Sequence[MemoryOrder] = ()) -> None:
    """Computes the outputs by a kernel or by PyTorch's operations, both on the memory that the
    program declares; ``orders`` are those of inputs and outputs, empty where all are row-major."""
    tensors = [*inputs, *outputs]
    kernel = find_kernel(program, tensors[0], rows)
    memory = [operand.memory(tensor, rows, groups, order, alignment)
              for operand, tensor, order, alignment in zip(
                  (*program.inputs, *program.outputs), tensors, orders or [()] * len(tensors),
                  _alignments(program, kernel), strict=True)]
    if any(t.data_ptr() != m.data_ptr() for t, m in zip(tensors[len(inputs):],
                                                        memory[len(inputs):], strict=True)):
        raise ValueError("lnbwd: a region's call: expected outputs at addresses that are multiples "
                         "of 16")
    if kernel is not None:
        launch_kernel(kernel, rows, memory, groups)
        return
    assert program.evaluate is not None
    shaped = []
    for operand, tensor in zip(program.inputs, memory[:len(inputs)], strict=True):
        shape = operand.shape(rows, groups)
        if operand.kind == "row_block" and groups:  # Where outputs alone have groups, it says B.
            shape = (groups, rows // groups, operand.row_length)
        shaped.append(tensor.view(shape))
    # An output may be an input's buffer, and a value an input itself.
    read = {tensor.data_ptr() for tensor in shaped}
    with outputs[0].device:  # Of a program without inputs.
        values = [value.clone() if value.data_ptr() in read else value
                  for value in program.evaluate(shaped)]
    for output, value in zip(memory[len(inputs):], values, strict=True):
        output.copy_(value.reshape(-1))


def region_call(text: str, device: str, orders: Sequence[MemoryOrder] = ()) -> Callable[..., Any]:
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
            ValueError. An input at an address that kernels do not take is copied, and an output a
            ValueError.
    """
    where = torch.device(device)
    in_python = functools.partial(call_in_python, text, orders=orders)
    return (where.type != "meta" and native.make_region_call(text, where, in_python, orders)
            ) or in_python


call_of = functools.lru_cache(4096)(lambda text, device: region_call(text, str(device)))
"""The same function each time, of a torch.device."""

_plain = frozenset((Tensor, torch.nn.Parameter))
_modes = torch._C._len_torch_dispatch_stack


def is_plain(tensors: Iterable[Tensor]) -> bool:
    """Whether nothing watches what operators are called on the tensors: no subclass, no dispatch
    mode, no transform of torch.func. The operators' functions may be called then without PyTorch's
    dispatcher, which takes the host as long as both products of a linear layer's forward pass."""
    return (not _modes() and not registration.transforms_are_active()
            and _plain.issuperset(map(type, tensors)))


def run_rows(text: str, rows: int | tuple[int, ...], inputs: Sequence[Tensor]) -> list[Tensor]:
    """What :func:`region_call`'s function gives, for a program without groups and inputs that are
    known to fit it."""
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
    return [registration.reshaped(output, (*rows, operand.row_length)) if operand.has_all_rows
            else output for operand, output in zip(program.outputs, outputs, strict=True)]


def call_in_python(text: str, *arguments: Any, orders: Sequence[MemoryOrder] = ()
                   ) -> list[Tensor] | None:
    """What :func:`region_call`'s functions do, in Python."""
    program = find_program(text)
    inputs = len(program.inputs)
    numbers = 2 if program.has_groups else 1
    if numbers == 1 and len(arguments) == 1 + inputs:
        rows = arguments[0]
        count = math.prod(rows) if isinstance(rows, tuple) else operator.index(rows)
        return _run_rows(program, rows, [
            operand.memory(tensor, count, None, order, 1) for operand, tensor, order in zip(
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
    """What the text names, of the inputs after it."""

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
    if registration.transforms_are_active():
        raise LnbwdError("lnbwd::region: expected no transform of torch.func around it: a row "
                         "program that is called by hand has none. Hand a batch over as more rows, "
                         "or call a function of lnbwd.rowwise")
    return list(_ByHand.apply(text, *inputs))  # type: ignore[no-untyped-call]


_SCHEMA = "(Tensor[] inputs, str program) -> Tensor[]"
raw_region: Callable[[Sequence[Tensor], str], list[Tensor]] = registration.define_kernel(
    "region", _SCHEMA, run_region, _fake_region)[1]
"""lnbwd::_region."""
registration.define("region", _SCHEMA, _call_by_hand)
