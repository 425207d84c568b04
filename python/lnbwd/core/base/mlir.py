# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How MLIR is written: functions, named operations, row programs, and the lines of a region."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple


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


def function(name: str, arguments: Mapping[str, str], *body: str) -> str:
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
    """A row program.

    Args:
        name, domain: its name and its dimensions, "m | n".
        inputs, outputs: its operands.
        arguments: the types of the inputs in the region by their names there.
        lines: the region's operations.
        results: what the region yields, and the types.
    """
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
