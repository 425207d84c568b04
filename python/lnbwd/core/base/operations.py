# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The named operations: which there are, what each reads and writes, and how MLIR is written:
functions, named operations, row programs, and the lines of a region.

This module imports nothing of the package: scripts/generate-tables.py reads it by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

# Made by scripts/generate-tables.py from LNBwdNorms.td and LNBwdRoles.td: do not edit.
# Name, whether it has the groups of rows, the rows of a group, columns.
_KINDS = (
    ("row_block", True, True, True),
    ("column", False, False, True),
    ("row_scalar", True, True, False),
    ("group_column", True, False, True),
    ("repeated_row_block", False, True, True),
    ("repeated_row_scalar", False, True, False),
    ("group_scalar", True, False, False),
    ("number", False, False, False),
)
# Name, bytes, what row programs make of it, PyTorch's name, NumPy's; of floats bits of the
# fraction, bias of the exponent, and bits of the largest number.
_ELEMENTS = (
    ("f16", 2, "float", "float16", "float16", 10, 15, 0x7bff),
    ("bf16", 2, "float", "bfloat16", "uint16", 7, 127, 0x7f7f),
    ("f32", 4, "float", "float32", "float32", 23, 127, 0x7f7fffff),
    ("i8", 1, "mask", "bool", "uint8", 0, 0, 0x0),
    ("i32", 4, "integer", "int32", "int32", 0, 0, 0x0),
    ("i64", 8, "integer", "int64", "int64", 0, 0, 0x0),
    ("f8E4M3FN", 1, "float8", "float8_e4m3fn", "uint8", 3, 7, 0x7e),
    ("f8E5M2", 1, "float8", "float8_e5m2", "uint8", 2, 15, 0x7b),
    ("f8E4M3FNUZ", 1, "float8", "float8_e4m3fnuz", "uint8", 3, 8, 0x7f),
    ("f8E5M2FNUZ", 1, "float8", "float8_e5m2fnuz", "uint8", 2, 16, 0x7f),
    ("f8E8M0FNU", 1, "float8", "float8_e8m0fnu", "uint8", 0, 127, 0xfe),
    ("i16", 2, "integer", "int16", "int16", 0, 0, 0x0),
    ("si8", 1, "byte", "int8", "int8", 0, 0, 0x0),
    ("ui8", 1, "byte", "uint8", "uint8", 0, 0, 0x0),
    ("i1", 0, "condition", "bool", "bool", 0, 0, 0x0),
)

# Name, kind, whether the element is one of its own.
_ROLES = (
    ("dy", "row_block", False),
    ("x", "row_block", False),
    ("gamma", "column", False),
    ("residual", "row_block", True),
    ("beta", "column", False),
    ("dsum", "row_block", True),
    ("dgamma", "column", False),
    ("dbeta", "column", False),
    ("y", "row_block", False),
    ("mean", "row_scalar", False),
    ("rstd", "row_scalar", False),
    ("sum", "row_block", True),
    ("dx", "row_block", False),
    ("dresidual", "row_block", True),
)

LAYER_NORM = "layer_norm"
RMS_NORM = "rms_norm"
LAYER_NORM_BWD = "layer_norm_bwd"
RMS_NORM_BWD = "rms_norm_bwd"

# Name, counterpart, whether it is a forward pass, lib/Reference's formula, inputs and outputs:
# those with a question mark may be absent.
_OPERATIONS = (
    (LAYER_NORM, LAYER_NORM_BWD, True, "norm",
     "x residual? gamma? beta?", "y? sum? mean? rstd?"),
    (RMS_NORM, RMS_NORM_BWD, True, "norm",
     "x residual? gamma?", "y? sum? rstd?"),
    (LAYER_NORM_BWD, LAYER_NORM, False, "normGradient",
     "dy x? y? gamma? beta? mean? rstd? dsum?", "dx? dresidual? dgamma? dbeta?"),
    (RMS_NORM_BWD, RMS_NORM, False, "normGradient",
     "dy x? y? gamma? rstd? dsum?", "dx? dresidual? dgamma?"),
)
# End of the tables.

DEFAULT_EPSILONS = {LAYER_NORM: 1e-5, RMS_NORM: 2.0 ** -23}
"""PyTorch's default epsilons; an RMSNorm's is that of float32, in which narrow types compute."""


@dataclass(frozen=True)
class Dims:
    """Whether an operand of a kernel of M rows in B groups has groups, rows of a group, columns."""

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


KINDS = {name: Dims(*dims) for name, *dims in _KINDS}
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
        return self.use != "float8" or (dims.has_rows and dims.has_columns)


ELEMENTS = {element[0]: Element(*element) for element in _ELEMENTS if element[1]}
"""Those in memory by name, in the order of their numbers in the runtime's interface."""


@dataclass(frozen=True)
class Role:
    """A role of an operand, such as "dgamma", in every operation that has it: its kind of
    :data:`KINDS`, and for a row block whether its element may differ from that of x."""

    name: str
    kind: str
    has_own_element: bool


ROLES = {role[0]: Role(*role) for role in _ROLES}
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
    for name, counterpart, is_forward, _, *groups in _OPERATIONS}
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


class Region:
    """The operations of a region, one a line; their results are %0, %1, ..."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def emit(self, text: str) -> str:
        """Writes an operation; the name of its result."""
        name = f"%{len(self.lines)}"
        self.lines.append(f"    {name} = {text}")
        return name

    def op(self, name: str, type_: str, *operands: object) -> str:
        """The same of an operation whose operands and result have one type."""
        return self.emit(f"{name} {', '.join(map(str, operands))} : {type_}")

    def cast(self, name: str, value: str, type_: str, to: str) -> str:
        """The same of one from a type to another."""
        return self.emit(f"{name} {value} : {type_} to {to}")

    def constant(self, number: int | str, type_: str) -> str:
        """The name of a constant, which is the same for all elements of a vector."""
        text = f"dense<{number}>" if type_.startswith("vector") else number
        return self.emit(f"arith.constant {text}" + (f" : {type_}" if type_ != "i1" else ""))


class Access(NamedTuple):
    """An operand of a row program: its name, its dimensions, "m, n", and its type in memory; and
    how rows are combined, "add" or "max", or empty."""

    name: str
    dims: str
    type: str
    combines: str = ""

    def __str__(self) -> str:
        return (f"%{self.name}[{self.dims}]{f' {self.combines}' if self.combines else ''} : "
                f"{self.type}")


def write_function(name: str, arguments: Mapping[str, str], *body: str) -> str:
    """A function of arguments, whose types are given by their names."""
    signature = ", ".join(f"%{argument}: {type_}" for argument, type_ in arguments.items())
    return "\n".join([f"func.func @{name}({signature}) {{", *body, "  return", "}", ""])


def named(op: str, inputs: Iterable[tuple[str, str, str]], outputs: Iterable[tuple[str, str, str]],
          attributes: Sequence[str] = ()) -> str:
    """A named operation on operands, of each its role, its name and its type."""
    ins, outs = (" ".join(f"{role}(%{name} : {type_})" for role, name, type_ in group)
                 for group in (inputs, outputs))
    options = f" {{{', '.join(attributes)}}}" if attributes else ""
    return f"  lnbwd.{op} {ins} outs {outs}{options}"


def rowwise(name: str, domain: str, inputs: Sequence[Access], outputs: Sequence[Access],
            arguments: Mapping[str, str], lines: Iterable[str],
            results: Sequence[tuple[str, str]]) -> str:
    """A row program over a domain, "m | n": its operands, the types of the inputs in the region by
    their names there, the region's lines, and its results with their types."""
    names = ", ".join(f'"{one.name}"' for one in (*inputs, *outputs))
    region = ", ".join(f"%{argument}: {type_}" for argument, type_ in arguments.items())
    return "\n".join([
        f"  lnbwd.rowwise @{name} domain({domain})",
        *([f"      ins({', '.join(map(str, inputs))})"] if inputs else []),
        f"      outs({', '.join(map(str, outputs))})",
        f"      attributes {{operand_names = [{names}]}} {{",
        f"  ^row({region}):",
        *lines,
        f"    lnbwd.yield {', '.join(value for value, _ in results)} : "
        + ", ".join(type_ for _, type_ in results),
        "  }"])


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
    return write_function(function or op, {o.name: types[o.name] for o in operands},
                          named(op, inputs, outputs, attributes))
