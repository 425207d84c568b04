# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds offsets of Triton's buffer accesses that do not fit in 32 bits.

Triton computes an offset from a tensor below 2 GiB in 32 bits, whatever its type in the source. An
offset beyond wraps around into the tensor, and the machine code no longer shows that. So the
offset is computed from the TTGIR without wrapping, for workgroups at the corners of the grid.
Only what each workgroup executes is considered: no loops, branches or code after an early return.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from .ttgir import places_of

OPERATION = re.compile(r"^    (?:%([\w$.-]+) = )?([\w.]+) (.*) loc\((#loc\d*)\)$", re.M)
_ACCESS = re.compile(r"%([\w$.-]+)\[%([\w$.-]+)\](?:(?:,| mask =) %([\w$.-]+))?")
_Function = Callable[..., torch.Tensor]
_COMPARISONS: dict[str, _Function] = {
    "eq": torch.eq, "ne": torch.ne, "slt": torch.lt, "sle": torch.le, "sgt": torch.gt,
    "sge": torch.ge}
# Without wrapping: if the end result fits, so does what wraps on the way.
_EXACT: dict[str, _Function] = {
    "arith.addi": torch.add, "arith.subi": torch.sub, "arith.muli": torch.mul}
_WRAPPED: dict[str, _Function] = {
    "arith.minsi": torch.minimum, "arith.maxsi": torch.maximum, "arith.remsi": torch.fmod,
    "arith.divsi": lambda a, b: torch.div(a, b, rounding_mode="trunc")}
SAME = ("arith.trunci", "tt.splat", "tt.broadcast", "ttg.convert_layout")


@dataclasses.dataclass(frozen=True)
class Operation:
    """An operation of the TTGIR."""

    result: str
    name: str
    text: str
    """What follows its name, types included."""
    loc: str
    operands: tuple[str, ...]
    shape: tuple[int, ...]
    """Of the last type in the text."""
    bits: int
    """Of the first type."""


class Offsets:
    """The buffer accesses of a kernel, and how their offsets are computed."""

    def __init__(self, ttgir: str) -> None:
        head, _, body = ttgir.partition("tt.func public ")[2].partition("\n")
        body = re.split(r"^  \}|^  \^|^    cf\.", body, maxsplit=1, flags=re.M)[0]
        self._bytes = {name: max(1, int(bits) // 8) for name, bits in re.findall(
            r"%([\w$.-]+): !tt\.ptr<[a-z]+(\d+)", head)}
        self._places = places_of(ttgir)
        self._operations = [parse_operation(found) for found in OPERATION.findall(body)] \
            if "amdg.buffer_" in body else []

    def overflow(self, grid: Sequence[int], arguments: Mapping[str, Any]
                 ) -> tuple[str, dict[str, Any]] | None:
        """An offset beyond 31 bits, in words, and its "where" of lnbwdSimGetErrorsJson."""
        if not self._operations:
            return None
        with torch._C.DisableTorchFunction():
            known = {name: torch.tensor(int(value)) for name, value in arguments.items()
                     if isinstance(value, int) and abs(value) < 1 << 63}
            for group in itertools.product(*(sorted({0, size - 1}) for size in grid)):
                if found := self._of_workgroup(group, grid, known):
                    return found
        return None

    def _of_workgroup(self, group: Sequence[int], grid: Sequence[int],
                      arguments: Mapping[str, torch.Tensor]) -> tuple[str, dict[str, Any]] | None:
        values = dict(arguments)
        for operation in self._operations:
            if operation.name.startswith("amdg.buffer_"):
                if found := self._of_access(operation, values):
                    text, offset = found
                    return (f"{text}, in workgroup {tuple(group)}: Triton computes offsets from a "
                            f"tensor below 2 GiB in 32 bits, so it is {offset % (1 << 32)} instead",
                            self._where(operation))
            elif (value := _evaluate(operation, values, group, grid)) is not None:
                values[operation.result] = value
        return None

    def _of_access(self, operation: Operation, values: Mapping[str, torch.Tensor]
                   ) -> tuple[str, int] | None:
        access = _ACCESS.search(operation.text)
        if not access or access[1] not in self._bytes or access[2] not in values:
            return None
        offsets = values[access[2]] * self._bytes[access[1]]
        wrong = (offsets >= 1 << 31) | (offsets < -1 << 31)
        if access[3]:
            if access[3] not in values:
                return None
            wrong &= values[access[3]]
        if not bool(wrong.any()):
            return None
        offset = int(offsets[wrong][0])
        return f"offset of {offset} bytes from '{access[1]}' does not fit in 31 bits", offset

    def _where(self, operation: Operation) -> dict[str, Any]:
        instruction = f"{operation.name} {operation.text}".partition(" : ")[0]
        return {"instruction": instruction, "at": "TTGIR", "source": [
            {"file": file, "line": line, "column": column, "function": ""}
            for file, line, column in self._places(operation.loc)]}


def parse_operation(found: tuple[str, str, str, str]) -> Operation:
    """The operation that OPERATION has found."""
    result, name, text, loc = found
    operands, _, types = text.rpartition(" : ")
    kinds = re.findall(r"tensor<((?:\d+x)*)[a-z]+(\d+)|\b()i(\d+)\b", types)
    return Operation(
        result, name, text, loc, tuple(re.findall(r"%([\w$.#-]+)", operands)),
        tuple(map(int, kinds[-1][0].split("x")[:-1])) if kinds else (),
        int(kinds[0][1] or kinds[0][3]) if kinds else 0)


def _wrapped(value: torch.Tensor, bits: int) -> torch.Tensor:
    """The value of an integer of so many bits with a sign."""
    if value.dtype == torch.bool or bits >= 64:
        return value
    half = 1 << (bits - 1)
    return (value + half) % (2 * half) - half


def _evaluate(operation: Operation, values: Mapping[str, torch.Tensor], group: Sequence[int],
              grid: Sequence[int]) -> torch.Tensor | None:
    """The result, in 64 bits; None: not known."""
    name, text = operation.name, operation.text
    axis = "xyz".find(text[:1])
    if name == "tt.get_program_id":
        return torch.tensor(group[axis])
    if name == "tt.get_num_programs":
        return torch.tensor(grid[axis])
    if name == "tt.make_range":
        bounds = dict(re.findall(r"(start|end) = (\d+)", text))
        return torch.arange(int(bounds["start"]), int(bounds["end"]))
    if name == "arith.constant":
        constant = re.match(r"(?:dense<)?(-?\d+|true|false)>? : ", text)
        if not constant:
            return None
        number: int | bool = constant[1] == "true" if constant[1].isalpha() else int(constant[1])
        return torch.tensor(number).expand(operation.shape)
    sources = [values.get(operand) for operand in operation.operands]
    known = [source for source in sources if source is not None]
    if not known or len(known) < len(sources):
        return None
    if name == "tt.expand_dims":
        return known[0].reshape(operation.shape)
    if name in SAME:
        return known[0].expand(operation.shape)
    if name in _EXACT and len(known) == 2:
        return _EXACT[name](*known)
    wrapped = [_wrapped(value, operation.bits) for value in known]
    if name == "arith.extsi":
        return wrapped[0]
    apply: _Function | None = None
    if name == "arith.cmpi":
        apply = _COMPARISONS.get(text.partition(",")[0])
    elif name == "arith.andi" and operation.bits == 1:
        apply = torch.logical_and
    elif name in _WRAPPED and not (name.endswith(("divsi", "remsi"))
                                   and bool((wrapped[1] == 0).any())):
        apply = _WRAPPED[name]
    return apply(*wrapped) if apply else None


NO_OFFSETS = Offsets("")
