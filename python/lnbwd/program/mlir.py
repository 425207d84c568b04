# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A row program as MLIR: a function with one ``lnbwd.rowwise`` on memrefs."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence

from .operands import (
    BYTES,
    COMPARISONS,
    INPUT_KINDS,
    INTEGERS,
    LOGIC,
    OUTPUT_KINDS,
    RANDOM_STEP,
    SUM_KINDS,
    SUMS,
    TABLES,
    Input,
    Output,
)
from .row_program import RowProgram, operands_of

UNARY = {"neg": "arith.negf", "abs": "math.absf", "exp": "math.exp", "exp2": "math.exp2",
         "expm1": "math.expm1", "log": "math.log", "log2": "math.log2", "log1p": "math.log1p",
         "sqrt": "math.sqrt", "rsqrt": "math.rsqrt", "tanh": "math.tanh", "erf": "math.erf",
         "sin": "math.sin", "cos": "math.cos", "floor": "math.floor", "ceil": "math.ceil",
         "trunc": "math.trunc", "roundeven": "math.roundeven"}
"""Operations on one value, and the operation of MLIR that each is."""

BINARY = {"add": "arith.addf", "sub": "arith.subf", "mul": "arith.mulf", "div": "arith.divf",
          "max": "arith.maximumf", "min": "arith.minimumf", "pow": "math.powf",
          "copysign": "math.copysign"}
"""Operations on two values; ``max`` and ``min`` of a NaN are NaN, and the second value of ``pow``
is a constant."""

_OF_INTEGERS = {"add": "arith.addi", "sub": "arith.subi", "mul": "arith.muli",
                "max": "arith.maxsi", "min": "arith.minsi", "shl": "arith.shli",
                "shr": "arith.shrsi", **LOGIC}
"""Operations on integers."""

_EXACT_BITS = 24
"""Sums and differences of integers of so many bits are exact in float32."""

_CONTRACTED = ("add", "sub", "mul")

# Functions that have a cheaper form (docs/numerics.md): one whose error is small beside its result,
# and those whose error is small beside 1.
_CHEAP = {"exp", "erf", "tanh", "expm1", "log1p"}
_CHEAP_BESIDE_ONE = _CHEAP - {"exp"}


def _is_cheap(program: RowProgram) -> list[bool]:
    """For each node, whether it is a function of rows whose cheaper form, ``fastmath<afn>``,
    is as good: all that it leads to is rounded to 16 bits.

    That is so if a row block or a row scalar of 16 bits depends on it, none of 32 bits, and no
    condition, unless a ``round`` to 16 bits stands between. Sums over all rows may depend on it
    as well: their error is the same part of the sum of their terms' sizes. So may the sum over a
    row of exponentials where all rows are read in 16 bits, as in a softmax whose statistics are
    saved. erf, tanh, expm1 and log1p, or their squares, also have to be added to a number of 1/2
    or more, as GELU does: beside a result near 0 their error would show.
    """
    needs_all, is_rounded = set[int](), set[int]()
    for output in program.outputs:
        if output.kind != "column_sum":
            (needs_all if output.dtype in ("f32", "i8", *INTEGERS) else is_rounded).add(
                output.value)
    types = program.types()
    is_short = all(i.dtype in ("f16", "bf16") for i in program.inputs if i.is_row(program.length))
    users: dict[int, list[int]] = {}
    for index in reversed(range(len(program.nodes))):
        node = program.nodes[index]
        for operand in operands_of(node):
            users.setdefault(operand, []).append(index)
            if node[0] == "round":
                is_rounded.add(operand)
            elif index in needs_all or types[index] != "f32":
                is_sum = node[0] == "row_sum" and program.nodes[operand][0] == "exp" and is_short
                (is_rounded if is_sum else needs_all).add(operand)
            elif index in is_rounded:
                is_rounded.add(operand)

    def is_beside_one(index: int) -> bool:
        """Whether all that is done with a value is to add a number to it, or to its square."""
        return all(
            (program.nodes[user][0] in ("add", "sub") and any(
                program.nodes[other][0] == "constant" and abs(program.nodes[other][1]) >= 0.5
                for other in operands_of(program.nodes[user])))
            or (program.nodes[user] == ("mul", index, index) and is_beside_one(user))
            for user in users.get(index, ())) and not any(
                output.value == index for output in program.outputs)

    return [is_row and node[0] in _CHEAP and index in is_rounded and index not in needs_all
            and (node[0] not in _CHEAP_BESIDE_ONE or is_beside_one(index))
            for index, (node, is_row) in enumerate(zip(program.nodes, program.is_row(),
                                                       strict=True))]


def _float(number: float) -> str:
    """A float32 constant as MLIR writes it."""
    try:
        packed = struct.pack("<f", number)
    except OverflowError:
        packed = struct.pack("<f", math.copysign(math.inf, number))
    [rounded] = struct.unpack("<f", packed)
    return f"{rounded:.9e}" if math.isfinite(rounded) else f"0x{packed[::-1].hex().upper()}"


def _element(dtype: str) -> str:
    """The type of elements in MLIR."""
    return "i8" if dtype in BYTES else dtype


def _wrapped(number: float, dtype: str) -> int:
    """A number as an integer of a type."""
    bits = int(dtype.lstrip("siu"))
    half = 0 if dtype == "ui8" else 1 << bits - 1
    return (int(number) + half & (1 << bits) - 1) - half


def mlir(program: RowProgram, is_exact: bool = False) -> str:
    """A function with the program, on memrefs: inputs, then outputs.

    Args:
        program: the row program.
        is_exact: no function takes its cheaper form: for the source of a gradient, the outputs of
            which may have more digits.
    """
    return _Writer(program, is_exact).write()


class _Writer:
    """Writes a program as MLIR."""

    def __init__(self, program: RowProgram, is_exact: bool) -> None:
        self.program = program
        self.rows, self.elements = program.is_row(), program.is_row(of_blocks=False)
        self.row_dims, self.column_dims = program.row_dims(), program.column_dims()
        self.dims = [*self.row_dims, *self.column_dims]
        self.lines: list[str] = []
        self.names: dict[int, str] = {}
        self.wide: dict[tuple[int, str, bool], str] = {}
        self.narrow: dict[tuple[int, str, bool], str] = {}
        self.types = program.types()
        self.seeds = {node[1] for node in program.nodes if node[0] == "random"}
        self.cheap = [False] * len(program.nodes) if is_exact else _is_cheap(program)
        # LLVM narrows a product that is rounded, and would contract it with a sum after that.
        self.rounded_products = {
            node[1] for node in program.nodes
            if node[0] == "round" and program.nodes[node[1]][0] == "mul"}

    def type(self, element: str, is_row: bool) -> str:
        return f"vector<{self.program.length}x{element}>" if is_row else element

    def argument(self, value: Input) -> str:
        """The type of an input in the region."""
        if value.kind == "table":
            return f"vector<{value.rows}x{self.program.length}x{value.dtype}>"
        if value.kind == "elements":
            return f"vector<{value.rows}x{_element(value.dtype)}>"
        return self.type(_element(value.dtype), value.is_row(self.program.length))

    def emit(self, text: str) -> str:
        name = f"%{len(self.lines)}"
        self.lines.append(f"    {name} = {text}")
        return name

    def op(self, name: str, type_: str, *operands: object) -> str:
        return self.emit(f"{name} {', '.join(map(str, operands))} : {type_}")

    def cast(self, name: str, value: str, type_: str, to: str) -> str:
        return self.emit(f"{name} {value} : {type_} to {to}")

    def constant(self, number: int | str, type_: str) -> str:
        text = f"dense<{number}>" if type_.startswith("vector") else number
        return self.emit(f"arith.constant {text}" + (f" : {type_}" if type_ != "i1" else ""))

    def value(self, index: int, is_row: bool, element: str = "f32") -> str:
        """The name of a node's value; spread over the row if that is wanted; of a constant, as an
        element of that type."""
        node = self.program.nodes[index]
        if node[0] == "constant":
            key = (index, element, is_row)
            if key not in self.wide:
                number = _float(node[1]) if element == "f32" else _wrapped(node[1], element)
                self.wide[key] = self.constant(number, self.type(element, is_row))
            return self.wide[key]
        if node[0] == "index" and index not in self.names:
            self.names[index] = self.cast("arith.uitofp", self.column_numbers(),
                                          self.type("i32", True), self.type("f32", True))
        if is_row and not self.rows[index]:
            element = self.types[index]
            key = (index, element, True)
            if key not in self.wide:
                self.wide[key] = self.cast("vector.broadcast", self.names[index], element,
                                           self.type(element, True))
            return self.wide[key]
        return self.names[index]

    def rounded(self, index: int, dtype: str, is_row: bool) -> str:
        """A node's value in a narrower type, conditions and whole numbers as bytes."""
        node = self.program.nodes[index]
        if node[0] == "round" and node[2] == dtype:
            index = node[1]
        key = (index, dtype, is_row)
        if key in self.narrow:
            return self.narrow[key]
        wide, element = self.types[index], _element(dtype)
        is_integer = node[0] == "constant" and isinstance(node[1], int)
        if dtype in INTEGERS and (wide in INTEGERS or is_integer):
            wide = INTEGERS[dtype] if is_integer else wide
            result = self.resized(self.value(index, is_row, wide), wide, element, is_row)
        elif dtype in INTEGERS and dtype != "i32" and wide == "f32":
            # An integer of 32 bits takes one instruction.
            result = self.resized(self.rounded(index, "i32", is_row), "i32", element, is_row)
        else:
            if wide not in ("i1", "f32"):
                raise ValueError(f"expected a number for what is {dtype} in memory, got an "
                                 "integer; convert it by 'float'")
            operation = ("extui" if wide == "i1" else "fptoui" if dtype == "i8" else
                         "fptosi" if dtype == "i32" else "truncf")
            result = self.cast(f"arith.{operation}", self.value(index, is_row),
                               self.type(wide, is_row), self.type(element, is_row))
        self.narrow[key] = result
        return result

    def resized(self, value: str, element: str, to: str, is_row: bool, sign: str = "s") -> str:
        """An integer in another type."""
        bits, wanted = int(element[1:]), int(to[1:])
        if bits == wanted:
            return value
        return self.cast("arith.trunci" if wanted < bits else f"arith.ext{sign}i", value,
                         self.type(element, is_row), self.type(to, is_row))

    def integer(self, index: int, dtype: str, is_row: bool) -> str:
        """A value as an integer of a type in memory, in the one in which it is computed."""
        name, *operands = self.program.nodes[index]
        to, sign = INTEGERS[dtype], "u" if dtype == "ui8" else "s"
        if name == "constant":
            return self.constant(_wrapped(operands[0], dtype), self.type(to, is_row))
        if name == "index":
            return self.resized(self.column_numbers(), "i32", to, True, "u")
        if name == "place":
            wide = "i32" if is_row else to
            place = self.place(operands[0], operands[1], self.type(wide, is_row))
            return self.resized(place, wide, to, is_row, "u")
        given = self.program.inputs[operands[0]].dtype if name == "input" else ""
        if given in INTEGERS:
            value, have = f"%in{operands[0]}", _element(given)
        elif self.types[index] == "i1":
            return self.cast("arith.extui", self.value(index, is_row), self.type("i1", is_row),
                             self.type(to, is_row))
        elif self.types[index] == "f32":
            value, have, given = self.cast("arith.fptosi", self.value(index, is_row),
                                           self.type("f32", is_row), self.type(to, is_row)), to, to
        else:
            value = self.value(index, is_row)
            have = given = self.types[index]
        if given != dtype:
            own = "u" if given == "ui8" else "s"
            value = self.resized(value, have, to, is_row, own)
            value, have = self.resized(value, to, _element(dtype), is_row), _element(dtype)
        return self.resized(value, have, to, is_row, sign)

    def bits(self, index: int) -> int:
        """The bits that an integer has at most, its sign among them."""
        name, *operands = self.program.nodes[index]
        if name == "integer":
            of = self.types[operands[0]]
            return 2 if of == "i1" else {"si8": 8, "ui8": 9, "i16": 16}.get(
                operands[1], int(operands[1].lstrip("siu")))
        return int(self.types[index][1:])

    def sum_of_integers(self, value: str, element: str, bits: int) -> str:
        """The sum of a row of integers, modulo their type's range: the sums of so few of their bits
        that float32 has them exactly, in any order."""
        row, total = self.type(element, True), ""
        share = _EXACT_BITS - (self.program.length - 1).bit_length()
        if share < 1:
            raise ValueError(f"expected rows of at most {1 << _EXACT_BITS - 1} integers to be "
                             f"summed, got {self.program.length}")
        for first in range(0, bits, share):
            part = value
            if first:
                part = self.op("arith.shrsi", row, part, self.constant(first, row))
            if first + share < bits:
                part = self.op("arith.andi", row, part, self.constant((1 << share) - 1, row))
            one = self.reduced("add", part, element)
            if first:
                one = self.op("arith.shli", element, one, self.constant(first, element))
            total = self.op("arith.addi", element, total, one) if total else one
        return total

    def largest_integer(self, value: str, element: str, bits: int) -> str:
        """The largest of a row of integers: of the first bits, then of the next ones where the
        first are the largest."""
        row, result = self.type(element, True), ""
        none = self.constant(-1, row)
        firsts = [0] if bits <= _EXACT_BITS else [16, 0] if bits <= 32 else [40, 20, 0]
        is_largest = ""
        for first, before in zip(firsts, [0, *firsts[:-1]], strict=True):
            part = value
            if first:
                part = self.op("arith.shrsi", row, part, self.constant(first, row))
            if before:
                mask = self.constant((1 << before - first) - 1, row)
                part = self.op("arith.andi", row, part, mask)
                part = self.op("arith.select", f"{self.type('i1', True)}, {row}", is_largest, part,
                               none)
            one = self.reduced("maximumf", part, element)
            if first:
                wide = self.cast("vector.broadcast", one, element, row)
                is_largest = self.op("arith.cmpi eq,", row, part, wide)
                one = self.op("arith.shli", element, one, self.constant(first, element))
            result = self.op("arith.ori", element, result, one) if result else one
        return result

    def reduced(self, how: str, value: str, element: str) -> str:
        """The sum or the largest of a row of integers that float32 has."""
        value = self.resized(value, element, "i32", True)
        row = self.type("f32", True)
        value = self.cast("arith.sitofp", value, self.type("i32", True), row)
        found = self.op(f"vector.reduction <{how}>,", f"{row} into f32", value)
        return self.resized(self.cast("arith.fptosi", found, "f32", "i32"), "i32", element, False)

    def index(self, dims: Sequence[int], type_: str) -> str:
        """The index along dimensions that follow each other, as an integer."""
        total = ""
        for dim in dims:
            index = self.op("lnbwd.index", type_, dim)
            step = self.dims[dim][1] // self.dims[dims[-1]][1]
            if step > 1:
                index = self.op("arith.muli", type_, index, self.constant(step, type_))
            total = self.op("arith.addi", type_, total, index) if total else index
        return total

    def column_numbers(self) -> str:
        """The number of each column, as integers."""
        return self.index(range(len(self.row_dims), len(self.dims)), self.type("i32", True))

    def random(self, seed: str) -> str:
        """The numbers that Triton's ``tl.rand`` makes of a seed and the element's number: 31 of the
        bits as an integer, times a number just below 2^-31."""
        program, type_ = self.program, self.type("i32", True)
        if program.has_groups and not (program.rows and program.groups):
            raise ValueError("expected a known number of rows in a group where numbers are random")
        number = self.column_numbers()
        for dim, (_, distance, _) in enumerate(self.row_dims):
            row = self.op("lnbwd.index", "i32", dim)
            first = self.op("arith.muli", "i32", row, self.constant(distance, "i32"))
            first = self.cast("vector.broadcast", first, "i32", type_)
            number = self.op("arith.addi", type_, number, first)
        bits = self.op("lnbwd.philox", type_, seed, number)
        sign = self.op("arith.shrsi", type_, bits, self.constant(31, type_))
        bits, wide = self.op("arith.xori", type_, bits, sign), self.type("f32", True)
        return self.op("arith.mulf", wide, self.cast("arith.sitofp", bits, type_, wide),
                       self.constant(_float(RANDOM_STEP), wide))

    def is_column(self, index: int) -> str:
        """Which column has the number that a row scalar is, whatever it is. Integers are compared:
        the numbers of a row's columns as floats would take as many registers as the row does."""
        value = self.value(index, False)
        none, end = (self.constant(_float(number), "f32") for number in (-1, self.program.length))
        value = self.op("arith.minnumf", "f32", self.op("arith.maxnumf", "f32", value, none), end)
        whole = self.op("math.floor", "f32", value)
        is_whole = self.op("arith.cmpf oeq,", "f32", whole, value)
        value = self.op("arith.select", "f32", is_whole, value, none)
        type_ = self.type("i32", True)
        wide = self.cast("vector.broadcast", self.cast("arith.fptosi", value, "f32", "i32"), "i32",
                         type_)
        return self.op("arith.cmpi eq,", type_, self.column_numbers(), wide)

    def compared(self, name: str, distance: int, size: int, number: int, is_row: bool) -> str:
        """How an index compares with a whole number, by as few of its dimensions as decide: those
        inside do not where they are passed a whole number of times."""
        dims = [dim for dim, (_, step, _) in enumerate(self.dims)
                if distance <= step < distance * size]
        number += name in ("le", "gt")
        units = [self.dims[dim][1] // self.dims[dims[-1]][1] for dim in dims]
        last, unit = next(
            (last, unit) for last, unit in enumerate(units, 1) if number % unit == 0)
        integer = self.type("i32", is_row)
        return self.op(f"arith.cmpi {'ult' if name in ('lt', 'le') else 'uge'},", integer,
                       self.index(dims[:last], integer), self.constant(number // unit, integer))

    def node(self, index: int) -> str:
        name, *operands = self.program.nodes[index]
        is_row = self.rows[index]
        element = self.types[index]
        if name == "integer":
            return self.integer(operands[0], operands[1], is_row)
        if name == "take":
            return self.take(operands[0], operands[1], is_row)
        if element in INTEGERS:
            return self.of_integers(name, operands, element, is_row)
        type_ = self.type("f32", is_row)
        if name == "float":
            [given] = operands
            return self.cast("arith.sitofp", self.value(given, is_row),
                             self.type(self.types[given], is_row), type_)
        if name == "input":
            given, value = self.program.inputs[operands[0]], f"%in{operands[0]}"
            memory = self.type(_element(given.dtype), is_row)
            if given.dtype == "f32" or given.kind in TABLES or index in self.seeds:
                return value
            if given.dtype == "i8":
                return self.op("arith.cmpi ne,", memory, value, self.constant(0, memory))
            return self.cast("arith.uitofp" if given.dtype == "ui8" else "arith.sitofp"
                             if given.dtype in INTEGERS else "arith.extf", value, memory, type_)
        if name == "round":
            return self.cast("arith.extf", self.rounded(operands[0], operands[1], is_row),
                             self.type(operands[1], is_row), type_)
        if name in SUMS:
            # Of a number, the sum is N times it.
            value = self.value(operands[0], True)
            row = self.type("f32", True)
            return self.op(f"vector.reduction <{SUMS[name]}>,", f"{row} into f32", value)
        if name == "block_max":
            apart = f" apart {operands[2]}" if operands[2] > 1 else ""
            return self.op(f"lnbwd.block_max {operands[1]}{apart}", self.type("f32", True),
                           self.value(operands[0], True))
        if name == "byte":
            return self.cast("arith.uitofp", f"%in{self.program.nodes[operands[0]][1]}",
                             self.type("i8", is_row), type_)
        if name == "power_inverse":
            bits, value = self.type("i32", is_row), self.value(operands[0], is_row)
            one, mask = (self.constant(number, bits) for number in (0x7F000000, 0x7F800000))
            exponent = self.op("arith.andi", bits, self.cast("arith.bitcast", value, type_, bits),
                               mask)
            return self.cast("arith.bitcast", self.op("arith.subi", bits, one, exponent), bits,
                             type_)
        if name == "random":
            return self.random(self.names[operands[0]])
        if name == "place":
            distance, size = operands
            integer = self.type("i32", is_row)
            return self.cast("arith.uitofp", self.place(distance, size, integer), integer, type_)
        compared = self.program.type_of(index, operands, self.types) if name in COMPARISONS else ""
        if compared in INTEGERS:
            predicate = {"eq": "eq", "ne": "ne"}.get(name, f"s{name}")
            return self.op(f"arith.cmpi {predicate},", self.type(compared, is_row), *(
                self.value(operand, is_row, compared) for operand in operands))
        if name == "eq" and is_row:
            for column, other in (operands, reversed(operands)):
                if self.program.nodes[column][0] == "index" and not self.rows[other]:
                    return self.is_column(other)
        if name in ("lt", "le", "gt", "ge"):
            (first, *place), (second, *numbers) = (
                self.program.nodes[operand] for operand in operands)
            if (first, second) == ("place", "constant") and self.rows[operands[0]] == is_row and (
                    0 <= (bound := float(numbers[0])) < 2 ** 31 - 1 and bound.is_integer()):
                distance, size = place
                return self.compared(name, distance, size, int(bound), is_row)
        values = [self.value(operand, is_row) for operand in operands]
        if name == "detach":
            # A product with 1, which folds away; an input cannot carry the attribute itself.
            one = self.constant("1.0", type_)
            return self.emit(f"arith.mulf {values[0]}, {one} {{lnbwd.detach}} : {type_}")
        if name in UNARY:
            flags = " fastmath<afn>" if self.cheap[index] else ""
            return self.op(UNARY[name], type_, values[0] + flags)
        if name in BINARY:
            flags = ("" if index in self.rounded_products
                     else " fastmath<contract>" if name in _CONTRACTED
                     else " fastmath<arcp>" if name == "div" and self.elements[index] else "")
            return self.op(BINARY[name], type_, values[0], values[1] + flags)
        if name in COMPARISONS:
            return self.op(f"arith.cmpf {COMPARISONS[name]},", type_, *values)
        condition = self.type("i1", is_row)
        if name in LOGIC:
            return self.op(LOGIC[name], condition, *values)
        if name == "not":
            return self.op("arith.xori", condition, *values, self.constant("true", condition))
        assert name == "select", name
        return self.op("arith.select", f"{condition}, {type_}" if is_row else type_, *values)

    def take(self, table: int, index: int, is_row: bool) -> str:
        """A row of a table, or its elements."""
        place = self.program.nodes[table][1]
        given = self.program.inputs[place]
        is_of_each = given.kind == "elements" and is_row
        chosen, *of = self.program.nodes[index]
        if chosen == "input" and self.program.inputs[of[0]].dtype in ("i32", "i64"):
            number, dtype = f"%in{of[0]}", self.program.inputs[of[0]].dtype
        elif self.types[index] in INTEGERS:
            number, dtype = self.value(index, is_of_each), self.types[index]
        else:
            number, dtype = self.cast("arith.fptosi", self.value(index, is_of_each),
                                      self.type("f32", is_of_each),
                                      self.type("i32", is_of_each)), "i32"
        found = self.emit(f"lnbwd.gather %in{place}[{number}] : {self.argument(given)}, "
                          f"{self.type(dtype, is_of_each)}")
        memory = self.type(_element(given.dtype), is_row)
        if given.dtype == "i8":
            return self.op("arith.cmpi ne,", memory, found, self.constant(0, memory))
        if given.dtype in INTEGERS:
            return self.resized(found, _element(given.dtype), INTEGERS[given.dtype], is_row,
                                "u" if given.dtype == "ui8" else "s")
        return found if given.dtype == "f32" else self.cast(
            "arith.extf", found, memory, self.type("f32", is_row))

    def place(self, distance: int, size: int, type_: str) -> str:
        """The index along a dimension, as an integer."""
        return self.index([dim for dim, (_, step, _) in enumerate(self.dims)
                           if distance <= step < distance * size], type_)

    def of_integers(self, name: str, operands: Sequence[int], element: str, is_row: bool) -> str:
        """What makes an integer of integers."""
        type_ = self.type(element, is_row)
        if name in SUMS:
            reduce = self.sum_of_integers if name == "row_sum" else self.largest_integer
            return reduce(self.value(operands[0], True, element), element, self.bits(operands[0]))
        if name == "select":
            condition, *operands = operands
            chosen = self.value(condition, is_row)
        values = [self.value(operand, is_row, element) for operand in operands]
        if name == "select":
            both = f"{self.type('i1', True)}, {type_}" if is_row else type_
            return self.op("arith.select", both, chosen, *values)
        if name in ("neg", "abs"):
            other = self.op("arith.subi", type_, self.constant(0, type_), *values)
            return other if name == "neg" else self.op("arith.maxsi", type_, *values, other)
        if name == "not":
            return self.op("arith.xori", type_, *values, self.constant(-1, type_))
        if name in ("floordiv", "mod"):
            return self.divided(name, values[0], values[1], type_, is_row)
        return self.op(_OF_INTEGERS[name], type_, *values)

    def divided(self, name: str, value: str, divisor: str, type_: str, is_row: bool) -> str:
        """A quotient that is rounded down, or its remainder, which has the divisor's sign."""
        zero, condition = self.constant(0, type_), self.type("i1", is_row)
        rest = self.op("arith.remsi", type_, value, divisor)
        differs = self.op("arith.cmpi slt,", type_, self.op("arith.xori", type_, rest, divisor),
                          zero)
        is_below = self.op("arith.andi", condition, differs, self.op(
            "arith.cmpi ne,", type_, rest, zero))
        both = f"{condition}, {type_}" if is_row else type_
        if name == "mod":
            return self.op("arith.select", both, is_below, self.op(
                "arith.addi", type_, rest, divisor), rest)
        quotient = self.op("arith.divsi", type_, value, divisor)
        return self.op("arith.select", both, is_below, self.op(
            "arith.addi", type_, quotient, self.constant(-1, type_)), quotient)

    def dims_of(self, value: Input | Output) -> list[tuple[str, int | None, int]]:
        """The dimensions of a tensor: of each its index, its size, and, of one that is strided, its
        elements from one index to the next."""
        if value.parts:
            return self.dims_of_parts(value)
        kind, found = value.dims, []
        for name, distance, size in self.row_dims:
            if kind.has_groups if self.is_of_groups(name, distance) else kind.has_rows:
                found.append((name, size, 0))
        if isinstance(value, Input) and value.kind in TABLES:
            found = [("*", value.rows, 0)]
            if value.kind == "elements":
                return found
        block = value.block if isinstance(value, Output) else 1
        return found + [(name, size, 0) for name, distance, size in self.column_dims
                        if kind.has_columns and distance >= block]

    def is_of_groups(self, name: str, distance: int) -> bool:
        """Whether a row dimension is one of the groups."""
        group = self.program.group_size() or 0
        return self.program.has_groups and (
            name == "b" or bool(group and name != "t" and distance >= group))

    def dims_of_parts(self, value: Input | Output) -> list[tuple[str, int | None, int]]:
        found = []
        for name, distance, size in self.dims:
            part = next((p for p in value.parts if p[0] <= distance < p[0] * p[1]), None)
            if part is None:
                # (Of a single row all have it: one must, to be a row block.)
                if distance >= (length := self.program.length) and (
                        value.kind == "lead" or (
                            value.kind == "group_column" and self.is_of_groups(name, distance))
                        or (self.program.rows == 1 and value.is_row(length))):
                    found.append((name, size, length))
                continue
            first, _, *rest = part
            index = name
            if distance == first and len(rest) > 1:
                index, size = f"{name} + {rest[1] or rest[2]}", rest[2]
            found.append((index, size, distance // first * rest[0] if rest else 0))
        return found

    def memory(self, value: Input | Output) -> str:
        """The type of a tensor."""
        dims = self.dims_of(value)
        shape = "x".join(["?" if size is None else str(size) for _, size, _ in dims]
                         + [_element(value.dtype)])
        strides = ", ".join(str(stride) for _, _, stride in dims)
        return f"memref<{shape}{f', strided<[{strides}]>' if value.is_strided else ''}>"

    def kind(self, value: Input | Output) -> str:
        """The kind of which a part is one to the compiler, which orders operands by kinds."""
        length = self.program.length
        if value.kind in SUM_KINDS:  # Of one index of each other dimension, a sum over all rows.
            is_of_all = bool(value.parts) and math.prod(value.parts[0]) <= length
            return (value.kind.replace("part_total", "total").replace("part_", "column_")
                    if is_of_all else value.kind)
        if not value.parts or value.kind == "group_column":
            return value.kind
        if not value.is_row(length):
            return "scalar"
        of_rows = any(d * size > length for d, size, *_ in value.parts)
        is_all = value.kind == "lead" or self.program.rows == 1
        return "row" if of_rows or is_all else "column"

    def operands(self, values: Sequence[tuple[str, str, Input | Output]],
                 order: Sequence[str]) -> str:
        return ", ".join(
            f"{name}[{', '.join(index for index, _, _ in self.dims_of(v))}]"
            f"{f' {SUM_KINDS[wanted]}' if wanted in SUM_KINDS else ''} : {type_}"
            for wanted in order for name, type_, v in values if self.kind(v) == wanted)

    def write(self) -> str:
        program = self.program
        inputs = [(f"%arg{i}", self.memory(v), v) for i, v in enumerate(program.inputs)]
        outputs = [(f"%out{i}", self.memory(v), v) for i, v in enumerate(program.outputs)]
        for index in range(len(program.nodes)):
            if program.nodes[index][0] not in ("constant", "index"):
                self.names[index] = self.node(index)
        results, types = [], []
        # In the order of their kinds to the compiler.
        for output in (o for k in OUTPUT_KINDS for o in program.outputs if self.kind(o) == k):
            is_row = output.is_row(program.length)
            dtype = "f32" if output.kind in SUM_KINDS else output.dtype
            if dtype == "f32" and self.types[output.value] != "f32":
                raise ValueError(f"expected a number for what is written as {output.kind}, got "
                                 f"{self.types[output.value]}; convert it by 'float' or 'select'")
            results.append(self.value(output.value, is_row) if dtype == "f32"
                           else self.rounded(output.value, dtype, is_row))
            types.append(self.type(_element(dtype), is_row))

        signature = ", ".join(f"{name}: {type_}" for name, type_, _ in inputs + outputs)
        arguments = ", ".join(
            f"%in{i}: {self.argument(v)}" for wanted in INPUT_KINDS
            for i, v in enumerate(program.inputs) if self.kind(v) == wanted)
        ordered = [value for values, order in ((inputs, INPUT_KINDS), (outputs, OUTPUT_KINDS))
                   for wanted in order for value in values if self.kind(value[2]) == wanted]
        names = ", ".join(f'"{name[1:]}"' for name, _, _ in ordered)
        name = program.name()
        return "\n".join([
            f"func.func @{name}({signature}) {{",
            f"  lnbwd.rowwise @{name} domain({', '.join(n for n, _, _ in self.row_dims)} | "
            + ", ".join(n for n, _, _ in self.column_dims) + ")"
            + (f"\n      ins({ins})" if (ins := self.operands(inputs, INPUT_KINDS)) else ""),
            f"      outs({self.operands(outputs, OUTPUT_KINDS)})",
            f"      attributes {{operand_names = [{names}]}} {{",
            f"  ^row({arguments}):",
            *self.lines,
            f"    lnbwd.yield {', '.join(results)} : {', '.join(types)}",
            "  }",
            "  return",
            "}", ""])
