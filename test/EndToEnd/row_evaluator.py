# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Row programs in float64, from the text that lnbwd-opt prints.

For programs that have no kernel yet, and for rewrites, which must not change what a program
computes: float64 tells a wrong formula from a rounding. A row is an array [M, N], a scalar [M], a
value that all rows share [1, N] or [1]; a matrix and the sum of an outer product are [R, C].
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Callable, Mapping

import numpy as np

Array = np.ndarray

_ELEMENTWISE: dict[str, Callable[..., Array]] = {
    "arith.addf": np.add, "arith.subf": np.subtract, "arith.mulf": np.multiply,
    "arith.divf": np.divide, "arith.negf": np.negative, "arith.extf": np.array,
    "arith.truncf": np.array, "math.rsqrt": lambda v: 1 / np.sqrt(v), "math.sqrt": np.sqrt,
    "math.exp": np.exp, "math.tanh": np.tanh, "vector.fma": lambda x, y, z: x * y + z,
    "math.fma": lambda x, y, z: x * y + z,
}


@dataclasses.dataclass
class Program:
    """One lnbwd.rowwise: operands as (group, buffer, name), and its region."""

    entry: str
    inputs: list[tuple[str, str, str]]
    outputs: list[tuple[str, str, str]]
    arguments: list[str]
    body: list[str]


def _operands(text: str) -> list[tuple[str, str]]:
    found = []
    for value, dims, added in re.findall(r"(%\w+)\[([^\]]*)\]( add)? :", text):
        has_rows, columns = "m" in dims, dims.count("n")
        if has_rows:
            group = "rows" if columns else "scalars"
        elif added:
            group = "column_sums" if columns == 1 else "outer_sums"
        else:
            group = "columns" if columns == 1 else "matrices"
        found.append((group, value))
    return found


def parse(text: str) -> list[Program]:
    """The row programs of a printed module, in order."""
    programs = []
    lines = iter(text.splitlines())
    for line in lines:
        header = re.match(r"\s*lnbwd\.rowwise @(\w+) domain\([^)]*\)(.*) outs(\(.*)$", line)
        if not header:
            continue
        entry, before, after = header.groups()
        names = re.findall(r'"([^"]*)"', after.split("operand_names = [")[1].split("]")[0])
        inputs, outputs = _operands(before), _operands(after.split("attributes")[0])
        named = [(*operand, name) for operand, name in zip(inputs + outputs, names, strict=True)]
        # A region without arguments is printed without the head of its block.
        head = next(lines)
        arguments = re.findall(r"(%\w+):", head) if head.strip().startswith("^") else []
        body = []
        for statement in lines if arguments else itertools.chain([head], lines):
            body.append(statement.strip())
            if "lnbwd.yield" in statement:
                break
        programs.append(Program(entry, named[:len(inputs)], named[len(inputs):], arguments, body))
    return programs


def _constant(text: str) -> Array:
    number, kind = re.fullmatch(r"(?:dense<)?([^>\s]+)>? : (.*)", text).groups()
    value = float(number)
    shape = [int(size) for size in re.findall(r"(\d+)x", kind)]
    return np.full(shape if len(shape) == 2 else [1, *shape], value)


def _evaluate(statement: str, values: dict[str, Array]) -> None:
    result, op, rest = re.fullmatch(r"(%\w+) = ([\w.]+) ?(.*)", statement).groups()
    if op == "arith.constant":
        values[result] = _constant(rest)
        return
    text, kind = rest.split(" : ", 1)
    operands = [values[name] for name in re.findall(r"%\w+", text)]
    if op in _ELEMENTWISE:
        values[result] = _ELEMENTWISE[op](*operands)
    elif op == "vector.broadcast":
        length = int(re.search(r"to vector<(\d+)x", kind).group(1))
        values[result] = np.repeat(operands[0][:, None], length, axis=1)
    elif op == "vector.extract" and text.endswith("[0]"):
        values[result] = operands[0][:, 0]
    elif op == "vector.reduction" and "<add>" in text:
        values[result] = operands[0].sum(axis=1)
    elif op == "vector.outerproduct":
        # Of all rows together: nothing but sums is made of it.
        u, v = np.broadcast_arrays(operands[0][:, :, None], operands[1][:, None, :])
        rows = values["M"][0] if len(u) == 1 else 1
        values[result] = rows * np.einsum("mij,mij->ij", u, v)
    elif op == "lnbwd.linear":
        row, matrix = operands
        values[result] = row @ (matrix if "transposed" in text else matrix.T)
    else:
        raise NotImplementedError(statement)


def _run(program: Program, inputs: Mapping[str, Array], rows: int) -> list[Array]:
    values: dict[str, Array] = {"M": np.array([rows])}
    for (group, _, name), argument in zip(program.inputs, program.arguments, strict=True):
        array = np.asarray(inputs[name], dtype=np.float64)
        values[argument] = array[None, :] if group == "columns" else array
    for statement in program.body[:-1]:
        _evaluate(statement, values)
    yielded = re.findall(r"%\w+", program.body[-1].split(" : ")[0])
    results = []
    for (group, _, _), name in zip(program.outputs, yielded, strict=True):
        value = values[name]
        if group != "outer_sums":
            value = np.broadcast_to(value, (rows, *value.shape[1:]))
        results.append(value.sum(axis=0) if group == "column_sums" else value)
    return results


def evaluate(text: str, inputs: Mapping[str, Array],
             rows: int | None = None) -> dict[str, Array]:
    """What the programs of `text` write, by the operands' names.

    Args:
        text: a module with one function, as lnbwd-opt prints it.
        inputs: arrays for what is read and not written before, by the operands' names: row blocks
            [M, N], columns [N], row scalars [M], matrices [R, C].
        rows: M, where it is not known from what is read.
    """
    buffers: dict[str, Array] = {}
    outputs: dict[str, Array] = {}
    for program in parse(text):
        held = {name: buffers.get(buffer, inputs.get(name))
                for _, buffer, name in program.inputs}
        count = rows if rows is not None else next(
            len(held[name]) for group, _, name in program.inputs if group in ("rows", "scalars"))
        for (_, buffer, name), value in zip(program.outputs, _run(program, held, count),
                                            strict=True):
            buffers[buffer] = outputs[name] = value
    return outputs


def differentiate(text: str, inputs: Mapping[str, Array], adjoints: Mapping[str, Array],
                  wrt: str, step: float = 1e-5) -> Array:
    """The gradient with respect to input `wrt` by central differences.

    The loss is the sum of the outputs of `text` times `adjoints`, by the outputs' names.
    """
    def loss(array: Array) -> float:
        outputs = evaluate(text, {**inputs, wrt: array})
        return sum(float((outputs[name] * adjoint).sum()) for name, adjoint in adjoints.items())

    gradient = np.zeros_like(inputs[wrt])
    for index in np.ndindex(gradient.shape):
        moved = [inputs[wrt].copy() for _ in range(2)]
        moved[0][index] += step
        moved[1][index] -= step
        gradient[index] = (loss(moved[0]) - loss(moved[1])) / (2 * step)
    return gradient
