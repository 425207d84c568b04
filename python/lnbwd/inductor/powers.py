# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scales of blocks that are powers of two, as the OCP's MX formats have them.

PyTorch has no operation for the power of two below a number: torchao computes with the bits of the
largest magnitude, in 15 to 25 operations that change from version to version. So they are
recognised by what they give: all that follows from the magnitude alone is computed for numbers of
every exponent, and compared with what a row program can compute.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.fx import Graph, Node

from ..graphs.conversion import POWERS, Conversion, Unsupported, converts
from ..graphs.domains import CODES, same
from ..graphs.nodes import CONSTANTS, is_constant, is_view, sources

aten = torch.ops.aten

_INFINITY = 255 << 23
"""The bits of float32's."""

_SHIFTS = (2, 7, 8, 15)
"""The exponents of the largest numbers of E2M1, E4M3FNUZ, E4M3 and E5M2."""

_Power = tuple[str, bool, int, float, float]
"""What a value is of a magnitude: a power of two as the "code" of its exponent, as a "value" that
is a normal number, or as its "inverse"; whether that power is the one from the magnitude on, not
the one up to it; over 2 to which power; and what the value is of infinity and of a NaN."""

_BELOW = 1 - 2.0 ** -24
"""What has a power of two be one of the numbers up to the next lower one."""


def mark_powers(graph: Graph) -> None:
    """Marks what follows from a magnitude whose bits are looked at, where a row program can compute
    it: each node with what it is, if others use it, and with None if not."""
    for view in graph.find_nodes(op="call_function", target=aten.view.dtype):
        number: Any = view.args[0]
        if POWERS in view.meta or view.args[1] != torch.int32 or (
                number.meta["val"].dtype != torch.float32):
            continue
        with unset_fake_temporarily():
            values = _computed_of(number)
            magnitudes = values.pop(number)
            powers = {node: _describe(value, magnitudes) for node, value in values.items()
                      if any(user not in values for user in node.users)}
        if None not in powers.values():
            for node in values:
                node.meta[POWERS] = powers.get(node)


def _magnitudes() -> Tensor:
    """Numbers of each exponent of float32, subnormal ones among them, then infinity and a NaN; all
    of either sign."""
    fractions = torch.tensor([0, 1, 1 << 19, 0x400000, 0x700000, 0x780000, 0x7FFFFE, 0x7FFFFF])
    bits = ((torch.arange(255) << 23)[:, None] + fractions).flatten()
    bits = torch.cat([bits, torch.tensor([_INFINITY, 0x7FC00000])])
    positive = bits.to(torch.int32).view(torch.float32)
    return torch.cat([-positive, positive])


def _computed_of(number: Node) -> dict[Node, Tensor]:
    """A node that gives magnitudes, and what is computed of it alone, element by element."""
    values = {number: _magnitudes()}
    for node in number.graph.nodes:
        read = [source for source in node.all_input_nodes if not is_constant(source)]
        if not read or not all(one in values for one in read) or not _is_alike(node, number):
            continue
        first: Any = read[0]
        if node.target is aten.view.dtype:
            values[node] = values[first].view(node.meta["val"].dtype)
        elif is_view(node):
            values[node] = values[first]
        elif torch.Tag.pointwise in getattr(node.target, "tags", ()):
            target: Any = node.target
            arguments = [_argument(one, values) for one in node.args]
            with contextlib.suppress(RuntimeError):  # Which is a result that nobody knows.
                values[node] = target(*arguments, **node.kwargs)
    return values


def _is_alike(node: Node, number: Node) -> bool:
    """Whether a node has as many elements as another, in the same order."""
    value = node.meta.get("val")
    return (node.op == "call_function" and isinstance(value, Tensor) and value.is_contiguous()
            and node.target is not aten.permute.default
            and same(value.numel(), number.meta["val"].numel()))


def _argument(argument: Any, values: Mapping[Node, Tensor]) -> Any:
    if not isinstance(argument, Node):
        return argument
    return values[argument] if argument in values else torch.scalar_tensor(
        argument.args[CONSTANTS[argument.target]],  # type: ignore[arg-type, index]
        dtype=argument.meta["val"].dtype)


def _describe(value: Tensor, magnitudes: Tensor) -> _Power | None:
    """What a value is of magnitudes; None if a row program does not compute it."""
    is_finite = magnitudes.isfinite()
    if value.dtype in CODES:
        value = value.view(torch.uint8)
    finite, others = value[is_finite], value[~is_finite].tolist()
    of_infinity, of_nan = others[2:]
    if repr(others[:2]) != repr(others[2:]) or (value.dtype == torch.uint8 and of_nan != 255):
        return None
    sizes = magnitudes[is_finite].abs()
    for is_above, shift in itertools.product((False, True), _SHIFTS):
        exponent = (sizes * _BELOW if is_above else sizes).view(torch.int32) >> 23
        code = (exponent + is_above - shift).clamp(min=0)
        for kind, wanted in (("code", code.to(torch.uint8)),
                             ("value", (code.clamp(min=1) << 23).view(torch.float32)),
                             ("inverse", (254 - code << 23).view(torch.float32))):
            if wanted.dtype == value.dtype and torch.equal(finite, wanted):
                return kind, is_above, shift, of_infinity, of_nan
    return None


@converts(POWERS)
def _convert(c: Conversion, node: Node) -> int:
    """What a marked node gives; of what only others of these use, the magnitude."""
    if c.at is not None:
        raise Unsupported("takes powers of two at other indices")
    source = next(source for source in sources(node) if not is_constant(source))
    magnitude = c.magnitudes.get(source)
    if magnitude is None:
        magnitude = c.number(source)
    c.magnitudes[node] = magnitude
    if node.meta[POWERS] is None:
        return magnitude
    kind, is_above, shift, of_infinity, of_nan = node.meta[POWERS]
    b, infinity = c.builder, c.builder.constant(math.inf)
    size = b.add("abs", magnitude)
    # What is below 2^-126 would be rounded if it were divided first.
    rounded = b.add("round", c.multiply(size, _BELOW if is_above else 1), "f8E8M0FNU")
    power = c.multiply(rounded, 2.0 ** (is_above - shift))
    if kind == "code":
        return power if of_infinity == 255 else b.add(
            "select", b.add("eq", size, infinity), b.constant(2.0 ** (of_infinity - 127)), power)
    inverse = b.add("power_inverse", power)

    def otherwise(value: int, of_infinity: float, of_nan: float) -> int:
        """A value, or what is of infinity and of a NaN."""
        if math.isnan(of_infinity) and math.isnan(of_nan):
            return b.add("add", value, b.add("sub", rounded, rounded))
        other = b.add("select", b.add("eq", size, infinity), b.constant(of_infinity),
                      b.constant(of_nan))
        return b.add("select", b.add("lt", size, infinity), value, other)

    if kind == "inverse":
        return otherwise(inverse, of_infinity, of_nan)
    value = otherwise(b.add("max", power, b.constant(2.0 ** -126)), of_infinity, of_nan)
    c.inverses[value] = otherwise(b.add("min", inverse, b.constant(2.0 ** 126)),
                                  1 / of_infinity, 1 / of_nan)
    return value
