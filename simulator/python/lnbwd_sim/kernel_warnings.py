# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Warnings about Triton kernels that compute right in this launch, and wrong in larger ones.

Both are read from the TTGIR: 32-bit products of an index and a stride that overflow from a small
index on, and loops that add up numbers of 16 bits.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from .offsets import OPERATION, SAME, Operation, parse_operation
from .ttgir import places_of

_LEAST_INDEX = 1 << 16
"""Overflows from this index on are no reason to warn: 65,536 rows of 32,768 elements."""
_VARIES = ("tt.get_program_id", "tt.load", "amdg.buffer_load")
_ADDS = ("arith.addf", "arith.subf", "math.fma", "tt.dot")
_THROUGH = (*_ADDS, "arith.mulf", "arith.truncf", "arith.extf", "arith.select",
            "ttg.convert_layout")
_LOOP = re.compile(r"^( *)(?:%[\w$.:-]+ = )?scf\.for .*? iter_args\((.*?)\) ->.*\n"
                   r"((?:\1 .*\n)*)\1\}", re.M)
_RESULT = re.compile(r"^ *%([\w$.-]+) = ([\w.]+) (.*) loc\((#loc\d*)\)$", re.M)
_TYPE = re.compile(r"[x< ]((?:bf|f|i)\d+)\b")


class KernelWarning(UserWarning):
    """A kernel that is right in this launch, and wrong with larger numbers."""


class _Product(NamedTuple):
    """A 32-bit product that becomes an offset."""

    stride: str
    """The argument that is a factor."""
    loc: str


class KernelWarnings:
    """What may go wrong in other launches of a kernel. Each warning is given once."""

    def __init__(self, ttgir: str) -> None:
        self._places = places_of(ttgir)
        self._products = _products(ttgir)
        self._accumulators = _accumulators(ttgir)

    def warn(self, kernel: str, arguments: Mapping[str, Any]) -> None:
        """Gives the warnings for a launch with these arguments."""
        for product in list(self._products):
            stride = arguments.get(product.stride)
            if isinstance(stride, int) and stride and \
                    (index := -(-(1 << 31) // abs(stride))) < _LEAST_INDEX:
                self._products.remove(product)
                self._warn(kernel, product.loc, f"a 32-bit offset overflows from index {index} on: "
                           f"it is the index times '{product.stride}', {stride} in this launch; "
                           "convert the index to 64 bits (.to(tl.int64)) before")
        for element, loc in self._accumulators:
            self._warn(kernel, loc, f"this loop adds up numbers of {element}, and rounds to it in "
                       "each iteration; a float32 accumulator loses nothing that the result shows")
        self._accumulators = []

    def _warn(self, kernel: str, loc: str, text: str) -> None:
        file, line, _ = next((place for place in self._places(loc)
                              if "/triton/language/" not in place[0]), (kernel, 1, 1))
        warnings.warn_explicit(f"kernel {kernel}: {text}", KernelWarning, file, line)


def _products(ttgir: str) -> list[_Product]:
    """Products of an argument and of what a program's number or a load decides, in 32 bits, that
    become offsets without an extension. No loops or branches are considered."""
    head, _, body = ttgir.partition("tt.func public ")[2].partition("\n")
    of_argument = {name: name for name in re.findall(r"%([\w$.-]+): i32", head)}
    varies: set[str] = set()
    offsets: dict[str, _Product] = {}
    found: dict[_Product, None] = {}
    for operation in map(parse_operation, OPERATION.findall(body)):
        operands = operation.operands
        if operation.name in _VARIES or varies.intersection(operands):
            varies.add(operation.result)
        if operation.name in SAME and operands and operands[0] in of_argument:
            of_argument[operation.result] = of_argument[operands[0]]
        if operation.name == "tt.addptr" or operation.name.startswith("amdg.buffer_"):
            found.update(dict.fromkeys(offsets[name] for name in operands if name in offsets))
        elif product := _product(operation, of_argument, varies, offsets):
            offsets[operation.result] = product
    return list(found)


def _product(operation: Operation, of_argument: Mapping[str, str], varies: set[str],
             offsets: Mapping[str, _Product]) -> _Product | None:
    """The product that an operation computes, or hands on."""
    if operation.bits != 32:
        return None
    operands = operation.operands
    if operation.name == "arith.muli":
        for stride, index in zip(operands, reversed(operands), strict=True):
            if stride in of_argument and index in varies:
                return _Product(of_argument[stride], operation.loc)
    if operation.name in ("arith.addi", "tt.expand_dims", *SAME):
        return next((offsets[name] for name in operands if name in offsets), None)
    return None


def _accumulators(ttgir: str) -> list[tuple[str, str]]:
    """The type and the place of each sum of 16 bits that a loop hands from iteration to
    iteration."""
    found: list[tuple[str, str]] = []
    for indent, arguments, body in _LOOP.findall(ttgir):
        found += _accumulators(body)
        operations = {result: (name, text, loc) for result, name, text, loc
                      in _RESULT.findall(body)}
        last = re.search(rf"^{indent}  scf\.yield (.*?) : ", body, re.M)
        names = re.findall(r"%([\w$.-]+) = ", arguments)
        results = re.findall(r"%([\w$.#-]+)", last[1]) if last else []
        for name, result in zip(names, results, strict=False):
            types = _TYPE.findall(operations[result][1]) if result in operations else []
            loc = _added(operations, result, name)
            if loc and types and types[-1] in ("f16", "bf16"):
                found.append(({"f16": "float16", "bf16": "bfloat16"}[types[-1]], loc))
    return found


def _added(operations: Mapping[str, tuple[str, str, str]], result: str, argument: str) -> str:
    """The place of the sum that a result is of a loop's argument; empty: it is none."""
    pending, seen = [(result, "")], set[tuple[str, str]]()
    while pending:
        value, loc = state = pending.pop()
        if value == argument and loc:
            return loc
        if state in seen or value not in operations or operations[value][0] not in _THROUGH:
            continue
        seen.add(state)
        name, text, its = operations[value]
        operands: Sequence[str] = re.findall(r"%([\w$.#-]+)", text.rpartition(" : ")[0])
        pending += [(operand, its if name in _ADDS else loc)
                    for operand in (operands[2:3] if name == "tt.dot" else operands)]
    return ""


NO_WARNINGS = KernelWarnings("")
