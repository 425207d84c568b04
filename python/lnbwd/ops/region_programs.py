# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Row programs that texts stand for: their operands, their kernels, the registry."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import math
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ..core.base.errors import LnbwdError
from ..core.base.operations import ELEMENTS, KINDS, Dims
from ..core.compile.spec import Source, hints_near
from ..core.runtime.objects import Kernel
from ..program.evaluation import evaluate
from ..program.mlir import mlir
from ..program.operands import ELEMENT_NAMES, KIND_NAMES, SUM_KINDS, TYPES, Input, Output
from ..program.row_program import RowProgram
from .choices import choices
from .launching import MemoryOrder, memory_of

Evaluate = Callable[..., Sequence[Tensor]]
"""Computes a program's outputs by PyTorch's operations, of its inputs and ``rows=``, M."""


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
        places: of an output with gaps the sizes and strides of what is written.
    """

    kind: str
    dtype: torch.dtype
    row_length: int
    is_part: bool = False
    places: tuple[tuple[int, ...], tuple[int, ...]] | None = None

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

    def memory(self, tensor: Tensor, rows: int, groups: int | None,
               order: MemoryOrder = ()) -> Tensor:
        """The memory of a tensor for a kernel (:func:`.launching.memory_of`)."""
        if tensor.dtype != self.dtype:
            raise TypeError(f"expected {self.dtype} for a {self.kind}, got {tensor.dtype}")
        return memory_of(tensor, math.prod(self.shape(rows, groups)), order)

    def written(self, memory: Tensor) -> Tensor:
        """The elements of an output's memory that are written: all, but for gaps."""
        return memory if self.places is None else memory.as_strided(*self.places)

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
    """The program that a text stands for; see :func:`register_program`."""

    text: str
    inputs: tuple[Operand, ...]
    outputs: tuple[Operand, ...]
    source: Source
    evaluate: Evaluate | None = None
    stand_ins: Callable[[], Iterable[str]] | None = None
    key: bytes = b""
    """The key of the library in C++."""
    rows: int | None = None
    """M where no input says it."""
    groups: int | None = None
    """B where it is known."""

    @functools.cached_property
    def has_groups(self) -> bool:
        """Whether the rows are groups."""
        return any(operand.dims.tells_groups for operand in (*self.inputs, *self.outputs))


_lock = threading.Lock()
_programs: dict[str, RegionProgram] = {}

_Resolver = Callable[[str], RegionProgram | None]

resolvers: list[_Resolver] = []
"""Functions that give programs that nobody registered, this package's own first; each is asked once
for a text. They return the result of :func:`register_program`, or None for an unknown text. So a
process runs a compiled graph that another one left on disk."""


def register_program(text: str, inputs: Sequence[Operand], outputs: Sequence[Operand],
                     source: Source | str, evaluate: Evaluate | None = None,
                     stand_ins: Callable[[], Iterable[str]] | None = None, key: bytes = b"",
                     rows: int | None = None, groups: int | None = None) -> RegionProgram:
    """Registers the program that ``text`` stands for in ``lnbwd::region``, in this process.

    Registering a text again replaces what it stood for; kernels that are loaded stay.

    Args:
        text: the operator's second argument.
        inputs, outputs: its tensors in the order of its arguments. The operator takes M from a row
            block or a row scalar among the inputs, or from ``rows``.
        source: what its kernels are made from, or the MLIR alone: a module with one function of
            lnbwd operations, whose arguments are the program's.
        evaluate: computes the outputs, in their order, by PyTorch's operations, of inputs in the
            shapes that outputs have, and ``rows=``; called where there is no kernel. Without it,
            that is an error.
        stand_ins: gives programs that compute the same, the best first. Where a kernel is asked for
            while a CUDA graph is captured, so that none can be loaded, one of theirs does.
        key: what the library in C++ finds it by; empty: the text.
        rows, groups: M and B, for a program of one number of rows, or of groups of rows.

    Raises:
        ValueError: no input gives the number of groups, no output, or a zero character.
    """
    if "\0" in text:
        raise ValueError("text: expected no zero characters in it")
    program = RegionProgram(
        text, tuple(inputs), tuple(outputs),
        Source(source) if isinstance(source, str) else source, evaluate, stand_ins,
        key or text.encode(), rows, groups)
    if program.has_groups and groups is None and not any(
            operand.dims.tells_groups or operand.kind == "row_block" for operand in program.inputs):
        raise ValueError("inputs: expected a group column or a row block among them, which says "
                         "how many groups of rows there are, got none")
    if not program.outputs:
        raise ValueError("outputs: expected one or more, got none")
    with _lock:
        _programs[text] = program
    return program


def register_row_program(program: RowProgram, is_tuned: bool = False,
                         is_region: bool = True) -> RegionProgram:
    """Registers a row program under its own text, from which another process can make it again;
    with ``is_tuned`` its schedule is searched for; ``is_region`` as :class:`.Source`."""
    expected = program.expected_rows
    rows = (program.rows or expected) if is_tuned else None
    is_tuned = rows is not None and (program.groups is not None or not program.has_groups) and (
        program.has_row_sums or any(one.kind in SUM_KINDS for one in program.outputs)
        or rows * program.length >= choices.least_searched)
    for_any = dataclasses.replace(program, expected_rows=None)

    def stand_ins() -> Iterable[str]:
        return (dataclasses.replace(program, expected_rows=other).text()
                for other in hints_near(expected or 1))

    return register_program(
        program.text(), [operand(i, program.length) for i in program.inputs],
        [operand(o, program.length) for o in program.outputs],
        Source(mlir(for_any), expected, (rows, program.groups)
               if rows is not None and is_tuned else None, is_region),
        functools.partial(evaluate, program), stand_ins if expected else None, rows=program.rows,
        groups=program.groups)


def operand(value: Input | Output, length: int) -> Operand:
    """The tensor of an input or output of a row program over rows of ``length`` elements."""
    size = value.row_length(length)
    is_part = bool(value.parts) and size > 1  # One element, for all rows, is a number.
    kind = "column" if value.is_strided else KIND_NAMES[value.kind]
    places = None
    if isinstance(value, Output) and value.is_strided:
        _, sizes, strides = zip(*value.parts, strict=True)
        places = (sizes, strides) if math.prod(sizes) != size else None
    return Operand("number" if value.parts and not is_part else kind, TYPES[value.dtype],
                   size, is_part, places)


def find_program(text: str) -> RegionProgram:
    """The program that a text stands for. Raises LnbwdError if there is none."""
    program = _programs.get(text)
    if program is None:
        with contextlib.suppress(ValueError):  # The text of a row program, as in a cached graph.
            program = register_row_program(RowProgram.from_text(text), is_tuned=True)
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


def check_kernel(program: RegionProgram, kernel: Kernel) -> None:
    """Checks that the kernel's arguments are the registered ones."""
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
