# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Evaluates a row program by PyTorch's own operations: the reference of the tests, and the fallback
without a kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ..core.base.operations import ELEMENTS
from .operands import COMPARISONS, INTEGERS, RANDOM_STEP, SUM_KINDS, SUMS, TABLES, TYPES
from .row_program import RowProgram, count_groups


def evaluate(program: RowProgram, inputs: Sequence[Tensor], dtype: Any = None,
             rounds: bool = True, rows: int | None = None) -> list[Tensor]:
    """The outputs, ``[M, N]``, ``[M]``, ``[N]`` and ``[B, N]``.

    Args:
        program: the row program.
        inputs: tensors of M·N, N, B·N and M elements, as the program has them. Where outputs alone
            are of groups, B is the first dimension of the first row block. Without any, PyTorch's
            default device computes.
        dtype: the type to compute in (default: float32).
        rounds: whether ``round`` and the outputs' types round.
        rows: M, where neither an input nor the program says it.
    """
    wide = dtype or torch.float32
    tensors = [tensor.detach().reshape(-1, program.length) if i.kind == "table" else
               tensor.detach().reshape(-1) if i.kind == "elements" else
               tensor.detach().reshape(-1, i.row_length(program.length)).to(
                   wide if ELEMENTS[i.dtype].use.startswith("float") else TYPES[i.dtype])
               for i, tensor in zip(program.inputs, inputs, strict=True)]
    # (PyTorch makes bytes of booleans 0 or 1 where it moves them.)
    tensors = [t.view(torch.uint8) if i.dtype == "i8" else t
               for i, t in zip(program.inputs, tensors, strict=True)]
    counts = [t.shape[0] for t, i in zip(tensors, program.inputs, strict=True)
              if i.dims.has_groups and i.dims.has_rows]
    rows = max(counts) if counts else program.rows or rows or 1
    groups = (program.groups or count_groups(program.inputs, inputs, rows, program.length)
              if program.has_groups else 1)
    for place, given in enumerate(program.inputs):
        if given.kind == "lead":
            tensors[place] = tensors[place].repeat_interleave(given.parts[0][0], 1)
        elif given.kind == "group_column":
            if given.parts:
                element = torch.arange(program.length, device=tensors[place].device)
                tensors[place] = tensors[place][:, _places(element, given.parts)]
            tensors[place] = tensors[place].repeat_interleave(rows // max(groups, 1), 0)
        elif given.parts:
            step = 1 if given.is_row(program.length) else program.length
            element = torch.arange(0, rows * program.length, step, device=tensors[place].device)
            tensors[place] = tensors[place].reshape(-1)[
                _places(element, given.parts)].reshape(rows, -1)
        elif given.dims.tells_groups:
            tensors[place] = (tensors[place].repeat(groups, 1) if given.dims.has_rows else
                              tensors[place].repeat_interleave(rows // max(groups, 1), 0))
    functions: dict[str, Any] = {
        "add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div,
        "max": torch.maximum, "min": torch.minimum, "and": torch.bitwise_and,
        "or": torch.bitwise_or, "xor": torch.bitwise_xor, "not": torch.bitwise_not,
        "shl": torch.bitwise_left_shift, "shr": torch.bitwise_right_shift,
        "floordiv": torch.floor_divide, "mod": torch.remainder, "select": torch.where,
        "roundeven": torch.round}
    types = program.types()
    device = tensors[0].device if tensors else None
    values: list[Tensor] = []
    exact: dict[int, Tensor] = {}  # Of what is an integer, and rounded to `wide`.

    def constant(number: float, kind: str) -> Tensor:
        # Made on the device: a copy from the host would end the capture of a CUDA graph.
        if kind != "f32":
            return torch.full((1, 1), int(number), dtype=TYPES[kind], device=device)
        return torch.full((1, 1), number, dtype=torch.float32, device=device).to(wide)

    for name, *operands in program.nodes:
        if name == "input":
            value = tensors[operands[0]]
            if program.inputs[operands[0]].kind in TABLES:
                pass
            elif program.inputs[operands[0]].dtype == "i8":
                value = value != 0
            elif program.inputs[operands[0]].kind != "number":
                exact[len(values)], value = value, value.to(wide)
            else:
                exact[len(values)] = value  # It may be a seed.
        elif name == "constant":
            value = constant(operands[0], "f32")
        elif name == "index":
            exact[len(values)] = number = torch.arange(program.length, device=device)[None]
            value = number.to(wide)
        elif name == "place":
            distance, size = operands
            is_row = distance < program.length
            element = torch.arange(0, *((program.length, 1) if is_row else (
                rows * program.length, program.length)), device=device)
            number = (element // distance % size).reshape((1, -1) if is_row else (-1, 1))
            exact[len(values)], value = number, number.to(wide)
        elif name == "take":
            table = values[operands[0]]
            chosen = program.nodes[operands[1]]
            index = (tensors[chosen[1]] if chosen[0] == "input" else values[operands[1]]).long()
            last = table.shape[0] - 1
            index = torch.where(index < 0, last, index.clamp(max=last))
            kind = types[len(values)]
            value = table[index if table.dim() == 1 else index[:, 0]].to(
                wide if kind == "f32" else torch.bool if kind == "i1" else TYPES[kind])
        elif name == "sum_rows":
            value = _sum_rows([values[operand] for operand in operands], rows, wide)
        elif name == "integer":
            [given, dtype] = operands
            node = program.nodes[given]
            value = (constant(node[1], "i64") if node[0] == "constant" else
                     exact.get(given, values[given]))
            # Through the widest, of which each conversion keeps the last bits.
            value = value.long().to(TYPES[dtype]).to(TYPES[INTEGERS[dtype]])
        elif name == "float":
            value = values[operands[0]].to(wide)
        elif name == "random":
            value = random_numbers(values[operands[0]], rows, program.length).to(wide)
        elif name == "round":
            value = values[operands[0]]
            if rounds:
                value = _narrow(value, TYPES[operands[1]]).to(wide)
        elif name == "detach":
            value = values[operands[0]]
        elif name == "block_max":
            blocks = values[operands[0]].expand(-1, program.length).unflatten(
                -1, (-1, *operands[1:]))
            value = blocks.amax(-2, True).expand(blocks.shape).flatten(1)
        elif name == "byte":
            value = tensors[program.nodes[operands[0]][1]].to(wide)
        elif name == "power_inverse":
            bits = values[operands[0]].float().view(torch.int32)
            value = (0x7F000000 - (bits & 0x7F800000)).view(torch.float32).to(wide)
        elif name in SUMS:
            row = values[operands[0]].expand(-1, program.length)
            value = row.sum(1, True, dtype=row.dtype) if name == "row_sum" else row.amax(1, True)
        else:
            function = functions.get(name) or getattr(torch, name)
            kind = types[len(values)] if name not in COMPARISONS else program.type_of(
                len(values), operands, types)
            value = function(*(
                constant(program.nodes[operand][1], kind)
                if kind in INTEGERS and program.nodes[operand][0] == "constant"
                else values[operand] for operand in operands))
        values.append(value)
    outputs = []
    for output in program.outputs:
        value = values[output.value]
        if output.is_strided:
            # The first element of each block is that of which the indices along others are 0.
            count = rows * program.length if output.is_row(program.length) else rows
            value = value.expand(rows, count // rows).reshape(-1)
            index = torch.arange(output.row_length(program.length), device=value.device)
            element = torch.zeros_like(index)
            for distance, size, stride in sorted(output.parts, key=lambda part: -part[2]):
                element = element + (index // stride).clamp(max=size - 1) * distance
                index = index % stride  # In a gap there is any number.
            value = value[element // (rows * program.length // count)]
        elif output.kind in SUM_KINDS:
            combine = torch.sum if SUM_KINDS[output.kind] == "add" else torch.amax
            shape = (groups, rows // max(groups, 1)) if output.dims.has_groups else (-1,)
            is_row = output.is_row(program.length)
            length = output.row_length(program.length) if output.parts or is_row else 1
            value = value.expand(rows, program.length if is_row else 1)
            value = combine(value.reshape(*shape, length), -2)
        elif output.kind == "row":
            value = value.expand(rows, program.length)[:, ::output.block].contiguous()
        else:
            value = value.expand(rows, 1).reshape(-1)
        node = program.nodes[output.value]
        if output.dtype in INTEGERS and node[0] == "constant" and isinstance(node[1], int):
            value = constant(node[1], "i64").expand(value.shape)
        if output.dtype == "i8" and value.dtype != torch.bool:
            value = value.to(torch.uint8).view(torch.bool)
        outputs.append(_narrow(value, TYPES[output.dtype]) if rounds else value)
    return outputs


def _sum_rows(operands: Sequence[Tensor], rows: int, wide: Any) -> Tensor:
    """The sums of rows of a table that parts of a list name, or of neighbouring rows."""
    table, begin, end, *lists = operands
    begin, end = (one.long().expand(rows, 1)[:, 0] for one in (begin, end))
    count = (lists[0] if lists else table).shape[0]
    end = torch.where(end < 0, count, end.clamp(max=count))
    lengths = (end - torch.where(begin < 0, end, torch.minimum(begin, end)))
    row = torch.arange(rows, device=table.device).repeat_interleave(lengths)
    place = torch.arange(len(row), device=table.device) - (lengths.cumsum(0) - end)[row]
    if lists:
        place = lists[0][place].long()
        place = torch.where(place < 0, len(table) - 1, place.clamp(max=len(table) - 1))
    total = torch.zeros(rows, table.shape[1], dtype=wide, device=table.device)
    return total.index_add_(0, row, table[place].to(wide))


def _places(element: Tensor, parts: Sequence[tuple[int, ...]]) -> Tensor:
    """The addresses in a part of elements of a row block, by their numbers."""
    index = torch.zeros_like(element)
    for distance, size, *stride in parts:
        own = element // distance % size
        if len(stride) > 1:
            own = (own + stride[1]) % stride[2]
        index = index + own * stride[0] if stride else index * size + own
    return index


def _narrow(value: Tensor, dtype: Any) -> Tensor:
    """A tensor in another type. In float8, values beyond the largest number become that number; in
    powers of two only the exponent is kept."""
    if dtype == torch.float8_e8m0fnu:
        exponent = value.float().view(torch.int32) >> 23 & 255
        return exponent.to(torch.uint8).view(dtype)
    if dtype.is_floating_point and dtype.itemsize == 1:
        most = torch.finfo(dtype).max
        value = value.clamp(-most, most)
    return value.to(dtype)


def random_numbers(seed: Tensor, rows: int, length: int) -> Tensor:
    """The random numbers of all elements: of the first word of Philox4x32-10 (Salmon et al.,
    "Parallel random numbers: as easy as 1, 2, 3", 2011)."""
    def multiply(factor: int, word: Tensor) -> tuple[Tensor, Tensor]:
        """The high and the low half of a product of 32-bit numbers, which 64 bits with a sign do
        not hold."""
        low = (factor & 0xFFFF) * word
        high = (factor >> 16) * word + (low >> 16)
        return high >> 16, (high & 0xFFFF) << 16 | low & 0xFFFF

    element = torch.arange(rows * length, device=seed.device).reshape(rows, length)
    words = [element & 0xFFFFFFFF, *[torch.zeros_like(element)] * 3]
    key = [seed & 0xFFFFFFFF, seed >> 32 & 0xFFFFFFFF]
    for _ in range(10):
        (high, low), (other_high, other_low) = (
            multiply(0xD2511F53, words[0]), multiply(0xCD9E8D57, words[2]))
        words = [other_high ^ words[1] ^ key[0], other_low, high ^ words[3] ^ key[1], low]
        key = [key[0] + 0x9E3779B9 & 0xFFFFFFFF, key[1] + 0xBB67AE85 & 0xFFFFFFFF]
    bits = words[0].to(torch.int32)
    return (bits ^ bits >> 31).to(torch.float32) * RANDOM_STEP
