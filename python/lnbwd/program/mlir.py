# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A row program as MLIR: a function with one ``lnbwd.rowwise`` on memrefs."""

from __future__ import annotations

from collections.abc import Sequence

from ..core.base.operations import Access, rowwise, write_function
from .mlir_rows import BINARY, CONTRACTED, OF_INTEGERS, UNARY, Rows, float_text, wrapped
from .operands import (
    COMPARISONS,
    INPUT_KINDS,
    INTEGERS,
    LOGIC,
    OUTPUT_KINDS,
    SUM_KINDS,
    SUMS,
    TABLES,
    Input,
    Output,
    element_of,
)
from .row_program import RowProgram, operands_of

# Functions that have a cheaper form (docs/numerics.md): one whose error is small beside its result,
# and those whose error is small beside 1.
_CHEAP = {"exp", "erf", "tanh", "expm1", "log1p"}
_CHEAP_BESIDE_ONE = _CHEAP - {"exp"}


def is_cheap(program: RowProgram) -> list[bool]:
    """For each node, whether it is a function of rows whose cheaper form, ``fastmath<afn>``, is as
    good: all that it leads to is rounded to 16 bits. That is so if a row block or a row scalar of
    16 bits depends on it, none of 32 bits, and no condition, unless a ``round`` to 16 bits stands
    between. Sums over all rows may depend on it as well: their error is the same part of the sum of
    their terms' sizes. So may the sum over a row of exponentials where all rows are read in 16
    bits, as in a softmax whose statistics are saved. erf, tanh, expm1 and log1p, or their squares,
    also have to be added to a number of 1/2 or more, as GELU does: beside a result near 0 their
    error would show."""
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


def mlir(program: RowProgram, is_exact: bool = False) -> str:
    """A function with the program, on memrefs: inputs, then outputs. ``is_exact``: no function
    takes its cheaper form, for the source of a gradient, whose outputs may have more digits."""
    return Writer(program, is_exact).write()


class Writer(Rows):
    """Writes a program as MLIR."""

    def __init__(self, program: RowProgram, is_exact: bool) -> None:
        group = (program.group_size() or 0) if program.has_groups else None
        super().__init__(program.length, program.rows, group, program.row_dims(),
                         program.column_dims())
        self.program = program
        self.rows, self.elements = program.is_row(), program.is_row(of_blocks=False)
        self.names: dict[int, str] = {}
        self.wide: dict[tuple[int, str, bool], str] = {}
        self.narrow: dict[tuple[int, str, bool], str] = {}
        self.types = program.types()
        self.seeds = {node[1] for node in program.nodes if node[0] == "random"}
        self.cheap = [False] * len(program.nodes) if is_exact else is_cheap(program)
        # LLVM narrows a product that is rounded, and would contract it with a sum after that.
        self.rounded_products = {
            node[1] for node in program.nodes
            if node[0] == "round" and program.nodes[node[1]][0] == "mul"}

    def value(self, index: int, is_row: bool, element: str = "f32") -> str:
        """The name of a node's value, spread over the row if wanted; a constant as that type."""
        node = self.program.nodes[index]
        if node[0] == "constant":
            key = (index, element, is_row)
            if key not in self.wide:
                number = float_text(node[1]) if element == "f32" else wrapped(node[1], element)
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
        wide, element = self.types[index], element_of(dtype)
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

    def integer(self, index: int, dtype: str, is_row: bool) -> str:
        """A value as an integer of a type in memory, in the one in which it is computed."""
        name, *operands = self.program.nodes[index]
        to, sign = INTEGERS[dtype], "u" if dtype == "ui8" else "s"
        if name == "constant":
            return self.constant(wrapped(operands[0], dtype), self.type(to, is_row))
        if name == "index":
            return self.resized(self.column_numbers(), "i32", to, True, "u")
        if name == "place":
            wide = "i32" if is_row else to
            place = self.place(operands[0], operands[1], self.type(wide, is_row))
            return self.resized(place, wide, to, is_row, "u")
        given = self.program.inputs[operands[0]].dtype if name == "input" else ""
        if given in INTEGERS:
            value, have = f"%in{operands[0]}", element_of(given)
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
            value, have = self.resized(value, to, element_of(dtype), is_row), element_of(dtype)
        return self.resized(value, have, to, is_row, sign)

    def bits(self, index: int) -> int:
        """The bits that an integer has at most, its sign among them."""
        name, *operands = self.program.nodes[index]
        if name == "integer":
            of = self.types[operands[0]]
            return 2 if of == "i1" else {"si8": 8, "ui8": 9, "i16": 16}.get(
                operands[1], int(operands[1].lstrip("siu")))
        return int(self.types[index][1:])

    def is_column(self, index: int) -> str:
        """A mask of the column whose number is the row scalar, of no column for other numbers.
        Integers are compared: columns' numbers as floats would take a row's registers."""
        value = self.value(index, False)
        none, end = (self.constant(float_text(number), "f32") for number in (-1,
                                                                             self.program.length))
        value = self.op("arith.minnumf", "f32", self.op("arith.maxnumf", "f32", value, none), end)
        whole = self.op("math.floor", "f32", value)
        is_whole = self.op("arith.cmpf oeq,", "f32", whole, value)
        value = self.op("arith.select", "f32", is_whole, value, none)
        type_ = self.type("i32", True)
        wide = self.cast("vector.broadcast", self.cast("arith.fptosi", value, "f32", "i32"), "i32",
                         type_)
        return self.op("arith.cmpi eq,", type_, self.column_numbers(), wide)

    def node(self, index: int) -> str:
        """Writes a node; the name of its value."""
        name, *operands = self.program.nodes[index]
        is_row = self.rows[index]
        element = self.types[index]
        if name == "integer":
            return self.integer(operands[0], operands[1], is_row)
        if name == "take":
            return self.take(operands[0], operands[1], is_row)
        if name == "sum_rows":
            return self.sum_rows(*operands)
        if element in INTEGERS:
            return self.of_integers(name, operands, element, is_row)
        type_ = self.type("f32", is_row)
        if name == "float":
            [given] = operands
            return self.cast("arith.sitofp", self.value(given, is_row),
                             self.type(self.types[given], is_row), type_)
        if name == "input":
            return self.read(index, operands[0], is_row)
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
            return self.power_inverse(self.value(operands[0], is_row), is_row)
        if name == "random":
            return self.random(self.names[operands[0]])
        if name == "place":
            distance, size = operands
            integer = self.type("i32", is_row)
            return self.cast("arith.uitofp", self.place(distance, size, integer), integer, type_)
        if name in COMPARISONS:
            return self.comparison(index, name, operands, is_row)
        return self.of_values(index, name, [self.value(operand, is_row) for operand in operands],
                              is_row)

    def of_values(self, index: int, name: str, values: Sequence[str], is_row: bool) -> str:
        """Writes node ``index``, an operation on numbers or conditions."""
        type_, condition = self.type("f32", is_row), self.type("i1", is_row)
        if name == "detach":
            # A product with 1, which folds away; an input cannot carry the attribute itself.
            one = self.constant("1.0", type_)
            return self.emit(f"arith.mulf {values[0]}, {one} {{lnbwd.detach}} : {type_}")
        if name in UNARY:
            flags = " fastmath<afn>" if self.cheap[index] else ""
            return self.op(UNARY[name], type_, values[0] + flags)
        if name in BINARY:
            flags = ("" if index in self.rounded_products
                     else " fastmath<contract>" if name in CONTRACTED
                     else " fastmath<arcp>" if name == "div" and self.elements[index] else "")
            return self.op(BINARY[name], type_, values[0], values[1] + flags)
        if name in LOGIC:
            return self.op(LOGIC[name], condition, *values)
        if name == "not":
            return self.op("arith.xori", condition, *values, self.constant("true", condition))
        assert name == "select", name
        return self.op("arith.select", f"{condition}, {type_}" if is_row else type_, *values)

    def read(self, index: int, place: int, is_row: bool) -> str:
        """An input, which is node ``index``, as a value."""
        given, value = self.program.inputs[place], f"%in{place}"
        if given.kind in TABLES or index in self.seeds:
            return value
        if given.dtype in INTEGERS:
            return self.cast("arith.uitofp" if given.dtype == "ui8" else "arith.sitofp", value,
                             self.type(element_of(given.dtype), is_row), self.type("f32", is_row))
        return self.widened(value, given, is_row)

    def widened(self, value: str, given: Input, is_row: bool) -> str:
        """Elements of an input that are no integers: a mask as conditions, others as float32."""
        memory = self.type(given.dtype, is_row)
        if given.dtype == "i8":
            return self.op("arith.cmpi ne,", memory, value, self.constant(0, memory))
        return value if given.dtype == "f32" else self.cast("arith.extf", value, memory,
                                                            self.type("f32", is_row))

    def comparison(self, index: int, name: str, operands: Sequence[int], is_row: bool) -> str:
        """A condition of two numbers or integers, by integers where columns or places are known."""
        compared = self.program.type_of(index, operands, self.types)
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
        return self.op(f"arith.cmpf {COMPARISONS[name]},", self.type("f32", is_row), *(
            self.value(operand, is_row) for operand in operands))

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
        if given.dtype in INTEGERS:
            return self.resized(found, element_of(given.dtype), INTEGERS[given.dtype], is_row,
                                "u" if given.dtype == "ui8" else "s")
        return self.widened(found, given, is_row)

    def sum_rows(self, table: int, begin: int, end: int, *of: int) -> str:
        """The sum of rows of a table."""
        places = [self.program.nodes[one][1] for one in (table, *of)]
        element = next(self.types[one] for one in (begin, end) if self.types[one] in INTEGERS)
        first, last = (self.value(one, False, element) for one in (begin, end))
        rows, *lists = (self.argument(self.program.inputs[place]) for place in places)
        types = ", ".join((rows, element, *lists))
        names = f" of %in{places[1]}" if of else ""
        return self.emit(f"lnbwd.gather_sum %in{places[0]}[{first} to {last}]{names} : {types}")

    def of_integers(self, name: str, operands: Sequence[int], element: str, is_row: bool) -> str:
        """The operation that makes an integer of integers."""
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
        return self.op(OF_INTEGERS[name], type_, *values)

    def arguments(self) -> dict[str, str]:
        """The inputs in the region, in the order of their kinds to the compiler."""
        return {f"in{i}": self.argument(v) for kind in INPUT_KINDS
                for i, v in enumerate(self.program.inputs) if self.kind(v) == kind}

    def results(self) -> list[tuple[str, str]]:
        """Writes all values; the outputs' and their types, likewise."""
        for index, node in enumerate(self.program.nodes):
            if node[0] not in ("constant", "index"):
                self.names[index] = self.node(index)
        results = []
        for output in (o for k in OUTPUT_KINDS for o in self.program.outputs if self.kind(o) == k):
            is_row = output.is_row(self.program.length)
            dtype = "f32" if output.kind in SUM_KINDS else output.dtype
            if dtype == "f32" and self.types[output.value] != "f32":
                raise ValueError(f"expected a number for what is written as {output.kind}, got "
                                 f"{self.types[output.value]}; convert it by 'float' or 'select'")
            results.append((self.value(output.value, is_row) if dtype == "f32"
                            else self.rounded(output.value, dtype, is_row),
                            self.type(element_of(dtype), is_row)))
        return results

    def accesses(self, name: str, values: Sequence[Input | Output],
                 order: Sequence[str]) -> list[Access]:
        """Operands in the order of their kinds to the compiler."""
        return [Access(f"{name}{i}", ", ".join(index for index, _, _ in self.dims_of(v)),
                       self.memory(v), SUM_KINDS.get(kind, ""))
                for kind in order for i, v in enumerate(values) if self.kind(v) == kind]

    def write(self) -> str:
        """The function."""
        program, name = self.program, self.program.name()
        inputs = self.accesses("arg", program.inputs, INPUT_KINDS)
        outputs = self.accesses("out", program.outputs, OUTPUT_KINDS)
        domain = " | ".join(", ".join(n for n, _, _ in dims)
                            for dims in (self.row_dims, self.column_dims))
        results = self.results()
        memory = {f"arg{i}": self.memory(v) for i, v in enumerate(program.inputs)}
        memory |= {f"out{i}": self.memory(v) for i, v in enumerate(program.outputs)}
        return write_function(name, memory, rowwise(
            name, domain, inputs, outputs, self.arguments(), self.lines, results))
