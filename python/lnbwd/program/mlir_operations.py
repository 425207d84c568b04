# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The MLIR operations of row programs' operations, and the cheap ones among them."""

from __future__ import annotations

from .operands import INTEGERS, LOGIC
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

OF_INTEGERS = {"add": "arith.addi", "sub": "arith.subi", "mul": "arith.muli",
               "max": "arith.maxsi", "min": "arith.minsi", "shl": "arith.shli",
               "shr": "arith.shrsi", **LOGIC}
"""Operations on integers."""

CONTRACTED = ("add", "sub", "mul")

# Functions that have a cheaper form (docs/numerics.md): one whose error is small beside its result,
# and those whose error is small beside 1.
_CHEAP = {"exp", "erf", "tanh", "expm1", "log1p"}
_CHEAP_BESIDE_ONE = _CHEAP - {"exp"}


def is_cheap(program: RowProgram) -> list[bool]:
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
