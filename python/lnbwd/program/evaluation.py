# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Evaluates a row program by PyTorch: the tests' reference, the fallback without a kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ..core.base.operations import ELEMENTS
from .operands import COMPARISONS, INTEGERS, RANDOM_STEP, SUM_KINDS, TABLES, TYPES, Input, Output
from .row_program import RowProgram, count_groups


def evaluate(program: RowProgram, inputs: Sequence[Tensor], dtype: Any = None,
             rounds: bool = True, rows: int | None = None) -> list[Tensor]:
    """The outputs, ``[M, N]``, ``[M]``, ``[N]`` and ``[B, N]``, from tensors of M·N, N, B·N and M
    elements, as the program has its inputs; where outputs alone are of groups, B is the first
    dimension of the first row block. Without any, PyTorch's default device computes. ``dtype``: the
    type to compute in (default: float32); ``rounds``: whether ``round`` and the outputs' types
    round; ``rows``: M, where neither an input nor the program says it."""
    state = _Evaluation(program, inputs, dtype or torch.float32, rounds, rows)
    for name, *operands in program.nodes:
        state.values.append(state.value_of(name, operands))
    return [state.result(output) for output in program.outputs]


_FUNCTIONS: dict[str, Any] = {
    "add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div,
    "max": torch.maximum, "min": torch.minimum, "and": torch.bitwise_and,
    "or": torch.bitwise_or, "xor": torch.bitwise_xor, "not": torch.bitwise_not,
    "shl": torch.bitwise_left_shift, "shr": torch.bitwise_right_shift,
    "floordiv": torch.floor_divide, "mod": torch.remainder, "select": torch.where,
    "roundeven": torch.round}
"""PyTorch's functions for nodes that it calls by other names."""


class _Evaluation:
    """The values of a program's nodes, M ``rows`` in B ``groups``: ``tensors`` has a row, or a
    number, of each input for every row, ``exact`` the integers that ``values`` has rounded."""

    def __init__(self, program: RowProgram, inputs: Sequence[Tensor], wide: Any, rounds: bool,
                 rows: int | None) -> None:
        self.program, self.wide, self.rounds = program, wide, rounds
        self.types = program.types()
        self.values: list[Tensor] = []
        self.exact: dict[int, Tensor] = {}
        tensors = [self._read(given, tensor)
                   for given, tensor in zip(program.inputs, inputs, strict=True)]
        counts = [t.shape[0] for t, i in zip(tensors, program.inputs, strict=True)
                  if i.dims.has_groups and i.dims.has_rows]
        self.rows = rows = max(counts) if counts else program.rows or rows or 1
        self.groups = (program.groups or count_groups(program.inputs, inputs, rows, program.length)
                       if program.has_groups else 1)
        self.device = tensors[0].device if tensors else None
        self.tensors = [self._spread(given, tensor)
                        for given, tensor in zip(program.inputs, tensors, strict=True)]

    # Inputs ---------------------------------------------------------------------------------------

    def _read(self, given: Input, tensor: Tensor) -> Tensor:
        """The rows of an input, floats in the type of computation."""
        tensor = tensor.detach()
        if given.kind == "table":
            tensor = tensor.reshape(-1, self.program.length)
        elif given.kind == "elements":
            tensor = tensor.reshape(-1)
        else:
            tensor = tensor.reshape(-1, given.row_length(self.program.length)).to(
                self.wide if ELEMENTS[given.dtype].use.startswith("float") else TYPES[given.dtype])
        # (PyTorch makes bytes of booleans 0 or 1 where it moves them.)
        return tensor.view(torch.uint8) if given.dtype == "i8" else tensor

    def _spread(self, given: Input, tensor: Tensor) -> Tensor:
        """The elements of an input that each row of the program reads."""
        rows, length, size = self.rows, self.program.length, self.rows // max(self.groups, 1)
        if given.kind == "lead":
            return tensor.repeat_interleave(given.parts[0][0], 1)
        if given.kind == "group_column":
            if given.parts:
                element = torch.arange(length, device=tensor.device)
                tensor = tensor[:, _places(element, given.parts)]
            return tensor.repeat_interleave(size, 0)
        if given.parts:
            step = 1 if given.is_row(length) else length
            element = torch.arange(0, rows * length, step, device=tensor.device)
            return tensor.reshape(-1)[_places(element, given.parts)].reshape(rows, -1)
        if given.dims.tells_groups:
            return (tensor.repeat(self.groups, 1) if given.dims.has_rows else
                    tensor.repeat_interleave(size, 0))
        return tensor

    # Nodes ----------------------------------------------------------------------------------------

    def value_of(self, name: str, operands: Sequence[Any]) -> Tensor:
        """The value of a node: of two dimensions, one of which may be of size 1."""
        found: Tensor
        if (of := getattr(self, f"_of_{name}", None)) is not None:
            found = of(*operands)
        elif name in ("row_sum", "row_max"):
            row = self.values[operands[0]].expand(-1, self.program.length)
            found = row.sum(1, True, dtype=row.dtype) if name == "row_sum" else row.amax(1, True)
        else:
            kind = self.types[len(self.values)] if name not in COMPARISONS else (
                self.program.type_of(len(self.values), operands, self.types))
            found = (_FUNCTIONS.get(name) or getattr(torch, name))(*(
                self._of_constant(self.program.nodes[operand][1], kind)
                if kind in INTEGERS and self.program.nodes[operand][0] == "constant"
                else self.values[operand] for operand in operands))
        return found

    def _of_constant(self, number: float, kind: str = "f32") -> Tensor:
        # Made on the device: a copy from the host would end the capture of a CUDA graph.
        if kind != "f32":
            return torch.full((1, 1), int(number), dtype=TYPES[kind], device=self.device)
        return torch.full((1, 1), number, dtype=torch.float32, device=self.device).to(self.wide)

    def _integers(self, value: Tensor) -> Tensor:
        """The value of a node that is an integer."""
        self.exact[len(self.values)] = value
        return value.to(self.wide)

    def _of_input(self, place: int) -> Tensor:
        given, value = self.program.inputs[place], self.tensors[place]
        if given.kind in TABLES:
            return value
        if given.dtype == "i8":
            return value != 0
        if given.kind == "number":  # It may be a seed.
            self.exact[len(self.values)] = value
            return value
        return self._integers(value)

    def _of_index(self) -> Tensor:
        return self._integers(torch.arange(self.program.length, device=self.device)[None])

    def _of_place(self, distance: int, size: int) -> Tensor:
        length = self.program.length
        bounds, shape = (((length, 1), (1, -1)) if distance < length else
                         ((self.rows * length, length), (-1, 1)))
        element = torch.arange(0, *bounds, device=self.device)
        return self._integers((element // distance % size).reshape(shape))

    def _of_take(self, of_table: int, of_index: int) -> Tensor:
        table, chosen = self.values[of_table], self.program.nodes[of_index]
        index = (self.tensors[chosen[1]] if chosen[0] == "input" else self.values[of_index]).long()
        last = table.shape[0] - 1
        index = torch.where(index < 0, last, index.clamp(max=last))
        kind = self.types[len(self.values)]
        return table[index if table.dim() == 1 else index[:, 0]].to(
            self.wide if kind == "f32" else torch.bool if kind == "i1" else TYPES[kind])

    def _of_sum_rows(self, *operands: int) -> Tensor:
        """The sums of rows of a table that parts of a list name, or of neighbouring rows."""
        table, begin, end, *lists = (self.values[operand] for operand in operands)
        begin, end = (one.long().expand(self.rows, 1)[:, 0] for one in (begin, end))
        count = (lists[0] if lists else table).shape[0]
        end = torch.where(end < 0, count, end.clamp(max=count))
        lengths = (end - torch.where(begin < 0, end, torch.minimum(begin, end)))
        row = torch.arange(self.rows, device=table.device).repeat_interleave(lengths)
        place = torch.arange(len(row), device=table.device) - (lengths.cumsum(0) - end)[row]
        if lists:
            place = lists[0][place].long()
            place = torch.where(place < 0, len(table) - 1, place.clamp(max=len(table) - 1))
        total = torch.zeros(self.rows, table.shape[1], dtype=self.wide, device=table.device)
        return total.index_add_(0, row, table[place].to(self.wide))

    def _of_integer(self, given: int, dtype: str) -> Tensor:
        node = self.program.nodes[given]
        value = (self._of_constant(node[1], "i64") if node[0] == "constant" else
                 self.exact.get(given, self.values[given]))
        # Through the widest, of which each conversion keeps the last bits.
        return value.long().to(TYPES[dtype]).to(TYPES[INTEGERS[dtype]])

    def _of_float(self, operand: int) -> Tensor:
        return self.values[operand].to(self.wide)

    def _of_random(self, seed: int) -> Tensor:
        return random_numbers(self.values[seed], self.rows, self.program.length).to(self.wide)

    def _of_round(self, operand: int, dtype: str) -> Tensor:
        value = self.values[operand]
        return _narrow(value, TYPES[dtype]).to(self.wide) if self.rounds else value

    def _of_block_max(self, operand: int, *sizes: int) -> Tensor:
        row = self.values[operand].expand(-1, self.program.length)
        blocks: Tensor = row.unflatten(-1, (-1, *sizes))
        return blocks.amax(-2, True).expand(blocks.shape).flatten(1)

    def _of_byte(self, operand: int) -> Tensor:
        return self.tensors[self.program.nodes[operand][1]].to(self.wide)

    def _of_power_inverse(self, operand: int) -> Tensor:
        bits = self.values[operand].float().view(torch.int32)
        return (0x7F000000 - (bits & 0x7F800000)).view(torch.float32).to(self.wide)

    # Outputs --------------------------------------------------------------------------------------

    def result(self, output: Output) -> Tensor:
        """The tensor of an output."""
        rows, length, value = self.rows, self.program.length, self.values[output.value]
        if output.is_strided:
            value = self._with_gaps(output, value)
        elif output.kind in SUM_KINDS:
            value = self._combined(output, value)
        elif output.kind == "row":
            value = value.expand(rows, length)[:, ::output.block].contiguous()
        else:
            value = value.expand(rows, 1).reshape(-1)
        node = self.program.nodes[output.value]
        if output.dtype in INTEGERS and node[0] == "constant" and isinstance(node[1], int):
            value = self._of_constant(node[1], "i64").expand(value.shape)
        if output.dtype == "i8" and value.dtype != torch.bool:
            value = value.to(torch.uint8).view(torch.bool)
        return _narrow(value, TYPES[output.dtype]) if self.rounds else value

    def _with_gaps(self, output: Output, value: Tensor) -> Tensor:
        """The elements of an output by their place in memory; in a gap there is any number."""
        length = self.program.length
        # The first element of each block is that of which the indices along others are 0.
        count = self.rows * length if output.is_row(length) else self.rows
        value = value.expand(self.rows, count // self.rows).reshape(-1)
        index = torch.arange(output.row_length(length), device=value.device)
        element = torch.zeros_like(index)
        for distance, size, stride in sorted(output.parts, key=lambda part: -part[2]):
            element = element + (index // stride).clamp(max=size - 1) * distance
            index = index % stride
        return value[element // (self.rows * length // count)]

    def _combined(self, output: Output, value: Tensor) -> Tensor:
        """The rows of an output, added, or the largest elements of them."""
        shape = ((self.groups, self.rows // max(self.groups, 1)) if output.dims.has_groups
                 else (-1,))
        is_row = output.is_row(self.program.length)
        length = output.row_length(self.program.length) if output.parts or is_row else 1
        value = value.expand(self.rows, self.program.length if is_row else 1)
        value = value.reshape(*shape, length)
        return value.sum(-2) if SUM_KINDS[output.kind] == "add" else value.amax(-2)


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
        """The high and the low half of a product of 32 bits, more than 64 bits with a sign hold."""
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
