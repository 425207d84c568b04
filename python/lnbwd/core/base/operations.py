# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The named operations: which there are, what each reads and writes, and how to write one down.

The tables are made from the compiler's own declaration of the operations, LNBwdNorms.td.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from . import mlir as writer
from . import operation_table
from .operation_table import *  # noqa: F403 (the operations' names, LAYER_NORM = "layer_norm")
from .operation_table import LAYER_NORM, RMS_NORM

DEFAULT_EPSILONS = {LAYER_NORM: 1e-5, RMS_NORM: 2.0 ** -23}
"""The epsilons of PyTorch's functions where none is given; an RMSNorm's is that of float32, the
type in which it computes all narrower ones."""


@dataclass(frozen=True)
class Dims:
    """Which of the groups, the rows of a group and the columns an operand of a kernel has, whose M
    rows are B groups."""

    has_groups: bool
    has_rows: bool
    has_columns: bool

    @property
    def tells_groups(self) -> bool:
        """Whether there are groups where such an operand is."""
        return self.has_groups != self.has_rows

    def count_rows(self, rows: int, groups: int = 1) -> int:
        """The number of its rows, for M ``rows`` in B ``groups``."""
        if self.has_rows:
            return rows if self.has_groups or groups <= 0 else rows // groups
        return groups if self.has_groups else 1


KINDS = {name: Dims(*dims) for name, *dims in operation_table._KINDS}
"""All by the names that launch plans have, in the order of the runtime's numbers."""


@dataclass(frozen=True)
class Element:
    """A type of elements.

    Attributes:
        name: MLIR's, "bf16".
        use: "float", "float8", "mask": a byte for each boolean, "integer", or "byte": an integer
            that is a mask to the compiler.
        torch, numpy: what PyTorch and NumPy call it; NumPy has the bits of bfloat16 and float8
            alone.
        fraction, bias, largest: of a float the bits of its fraction, the bias of its exponent, and
            the bits of the largest number.
    """

    name: str
    bytes: int
    use: str
    torch: str
    numpy: str
    fraction: int
    bias: int
    largest: int

    def is_of(self, dims: Dims) -> bool:
        """Whether operands of those dimensions may have such elements."""
        return {"float": True, "float8": dims.has_rows and dims.has_columns, "mask": True,
                "integer": True, "byte": True}[self.use]


ELEMENTS = {element[0]: Element(*element) for element in operation_table._ELEMENTS if element[1]}
"""Those in memory by name, in the order of their numbers in the runtime's interface."""


@dataclass(frozen=True)
class Role:
    """A role of an operand, such as "dgamma", in every operation that has it: its kind of
    :data:`KINDS`, and for a row block whether its element may differ from that of x."""

    name: str
    kind: str
    has_own_element: bool


ROLES = {role[0]: Role(*role) for role in operation_table._ROLES}
"""All roles by name."""


@dataclass(frozen=True)
class Operand:
    """An operand as one operation has it."""

    role: Role
    is_output: bool
    is_optional: bool

    @property
    def name(self) -> str:
        """The role's."""
        return self.role.name


@dataclass(frozen=True)
class Operation:
    """A named operation, "layer_norm". Its counterpart is the gradient of a forward pass, or the
    forward pass of a gradient; its operands stand in the order of the launch plan's arguments."""

    name: str
    counterpart: str | None
    is_forward: bool
    operands: tuple[Operand, ...]

    def find(self, name: str, is_output: bool) -> Operand | None:
        """The operand of that name, or None."""
        return next((o for o in self.operands if (o.name, o.is_output) == (name, is_output)), None)

    def has(self, name: str) -> bool:
        """Whether it reads or writes such an operand."""
        return any(operand.name == name for operand in self.operands)


OPERATIONS = {
    name: Operation(name, counterpart, is_forward, tuple(
        Operand(ROLES[role.rstrip("?")], bool(is_output), "?" in role)
        for is_output, group in enumerate(groups) for role in group.split()))
    for name, counterpart, is_forward, _, *groups in operation_table._OPERATIONS}
"""All operations by name."""


def buffer_type(kind: str, element: str, row: Sequence[int], *,
                leading: Sequence[int | str] = ("?",), stride: int = 0) -> str:
    """The memref type of an operand.

    Args:
        kind, element: the role's kind, "bf16".
        row: the dimensions of a row.
        leading: those before them, "?" for one that is not known.
        stride: of a row block: elements from row to row; 0: dense.

    Example:
        >>> buffer_type("row_block", "bf16", [512], stride=1024)
        'memref<?x512xbf16, strided<[1024, 1]>>'
    """
    dims, layout = KINDS[kind], ""
    shape = [*(leading if dims.has_rows else ()), *(row if dims.has_columns else ()), element]
    if kind == "row_block" and stride:
        strides = [stride, 1]
        for size in reversed(leading[1:]):
            strides.insert(0, strides[0] * int(size))
        layout = f", strided<[{', '.join(map(str, strides))}]>"
    return f"memref<{'x'.join(map(str, shape))}{layout}>"


def mlir(op: str, types: Mapping[str, str], attributes: Sequence[str] = (), *,
         function: str = "") -> str:
    """A function of one operation on memrefs, as MLIR text.

    lnbwd-run writes the same text by a function of its own.

    Args:
        op: the operation's name.
        types: of each operand that is there, by its name; in any order.
        attributes: as they are printed, "epsilon = 1.0e-6 : f64" or "accumulate".
        function: the function's name; empty: the operation's.

    Raises:
        ValueError: there is no such operation, or it has no such operand, or lacks one.
    """
    if op not in OPERATIONS:
        raise ValueError(f"op: expected one of {', '.join(OPERATIONS)}, got {op!r}")
    operands = [operand for operand in OPERATIONS[op].operands if operand.name in types]
    missing = [operand.name for operand in OPERATIONS[op].operands
               if not operand.is_optional and operand.name not in types]
    if missing or len(operands) != len(types):
        known = ", ".join(operand.name for operand in OPERATIONS[op].operands)
        raise ValueError(f"types: expected some of {known}"
                         + (f", and always {', '.join(missing)}" if missing else "")
                         + f", got {', '.join(types)}")

    inputs, outputs = ([(o.name, o.name, types[o.name]) for o in operands if o.is_output == group]
                       for group in (False, True))
    return writer.function(function or op, {o.name: types[o.name] for o in operands},
                           writer.named(op, inputs, outputs, attributes))
