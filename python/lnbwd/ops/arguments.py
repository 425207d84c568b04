# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks of users' tensors. A message has the argument, the expected and given value, a remedy."""

from __future__ import annotations

import itertools
import math
import numbers
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

from ..core.base.operations import DEFAULT_EPSILONS, RMS_NORM

KERNEL_TYPES = (torch.float16, torch.bfloat16, torch.float32)
"""The types that kernels compute."""

HALVES = (torch.float16, torch.bfloat16)

TYPES = (*KERNEL_TYPES, torch.float64)
"""The types that functions take."""

RMS_EPSILONS = {kind: torch.finfo(kind).eps if kind == torch.float64 else DEFAULT_EPSILONS[RMS_NORM]
                for kind in TYPES}
"""PyTorch's epsilons of an RMSNorm that is given none, by the types of its input."""

_WHOLE = (int, torch.SymInt)
_PLAIN = (Tensor, torch.nn.Parameter)

subclass_watchers: list[Callable[[], object]] = []
"""Called when a function gets a subclass of Tensor: rules for distributed tensors are registered
late, since PyTorch's module for these takes long to import."""


def _spell(types: Sequence[torch.dtype]) -> str:
    *most, last = dict.fromkeys(str(kind).removeprefix("torch.") for kind in types)
    return f"{', '.join(most)} or {last}" if most else last


def check_tensor(name: str, value: object, or_none: bool = False) -> None:
    """Raises TypeError if the argument is no tensor."""
    if not isinstance(value, Tensor):
        raise TypeError(f"{name}: expected a tensor{' or None' if or_none else ''}, got "
                        f"{type(value).__name__}")
    if type(value) not in _PLAIN and not torch.compiler.is_compiling():
        for look in subclass_watchers:
            look()


def check_type(name: str, tensor: Tensor, types: Sequence[torch.dtype], remedy: str = "") -> None:
    """Raises TypeError for a tensor whose elements are of another type."""
    if tensor.dtype not in types:
        raise TypeError(f"{name}: expected {_spell(types)}, got {tensor.dtype}{remedy}")


def check_parameter(name: str, parameter: Tensor | None, shape: Sequence[int], x_name: str,
                    x: Tensor, where: str = "", types: Sequence[torch.dtype] = TYPES) -> None:
    """Raises TypeError or ValueError for a weight or bias, unless it is None, that has not the
    shape, which ``where`` explains in the message, is not on the device of ``x``, called
    ``x_name``, or has elements of none of the types."""
    if parameter is None:
        return
    check_tensor(name, parameter, or_none=True)
    check_layout(name, parameter)
    if list(parameter.shape) != list(shape):
        raise ValueError(f"{name}: expected the shape {list(shape)}{where}, got "
                         f"{list(parameter.shape)}")
    if parameter.device != x.device:
        raise ValueError(f"{name}: expected a tensor on {x.device} like {x_name}, got one on "
                         f"{parameter.device}; move it by {name}.to({x_name}.device)")
    check_type(name, parameter, types)


def check_layout(name: str, value: Tensor) -> None:
    """Raises TypeError for a tensor that is not dense."""
    if value.is_nested:
        raise TypeError(f"{name}: expected a dense tensor, got a nested one; take its "
                        f"{name}.values()")
    if value.layout != torch.strided:
        raise TypeError(f"{name}: expected a dense tensor, got one of layout {value.layout}; "
                        f"convert it by {name}.to_dense()")


def check_dense(name: str, value: Tensor, types: Sequence[torch.dtype] = TYPES) -> None:
    """Raises TypeError if the argument is no dense tensor of one of the types."""
    check_tensor(name, value)
    check_type(name, value, types, f"; convert it by {name}.float()")
    check_layout(name, value)


def check_whole(name: str, value: Any, wanted: str, least: float = -math.inf,
                most: float = math.inf) -> int:
    """An integer in the range, also of NumPy's types; ``wanted`` describes the range."""
    try:
        number: int = value if isinstance(value, int) else operator.index(value)
    except TypeError:
        raise TypeError(f"{name}: expected {wanted}, got {value!r}") from None
    if not least <= number <= most:
        raise ValueError(f"{name}: expected {wanted}, got {number}")
    return number


def check_number(name: str, value: object, wanted: str, least: float = -math.inf,
                 most: float = math.inf) -> float:
    """The same of any finite number, as a float."""
    if not isinstance(value, numbers.Real):
        raise TypeError(f"{name}: expected {wanted}, got {value!r}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not (-math.inf < number < math.inf and least <= number <= most):
        raise ValueError(f"{name}: expected {wanted}, got {value}")
    return number


def check_sizes(normalized_shape: Sequence[int] | int) -> list[int]:
    """The normalised dimensions as a list of integers, also of NumPy's types."""
    try:
        sizes = normalized_shape if isinstance(normalized_shape, Iterable) else [normalized_shape]
        return [size if isinstance(size, _WHOLE) else operator.index(size) for size in sizes]
    except TypeError:
        raise TypeError("normalized_shape: expected whole numbers, or one, got "
                        f"{normalized_shape!r}") from None


def check_eps(eps: float | None) -> float:
    """The number, which is finite and 0 or more."""
    return check_number("eps", eps, "a number that is 0 or more, and finite", 0)


def check_rms_eps(eps: float | None, dtype: torch.dtype = torch.float32) -> float:
    """The same for an RMSNorm of rows of a type; None: PyTorch's default."""
    return RMS_EPSILONS[dtype] if eps is None else check_eps(eps)


def check_norm(name: str, x: Tensor, normalized_shape: Sequence[int] | int,
               parameters: Sequence[Tensor | None], types: Sequence[torch.dtype] = TYPES,
               parameter_types: Sequence[torch.dtype] = TYPES) -> list[int]:
    """The normalised dimensions, after the arguments of a norm were checked: the tensor ``x``,
    called ``name``, the dimensions, the norm's parameters, and types of elements."""
    check_dense(name, x, types)
    shape = check_sizes(normalized_shape)
    if not shape:
        raise ValueError("normalized_shape: expected one dimension or more, got none")
    if list(x.shape[-len(shape):]) != shape or len(shape) > x.dim():
        raise ValueError(f"{name}: expected a shape that ends in {shape} (normalized_shape), got "
                         f"{list(x.shape)}")
    for parameter_name, parameter in zip(("weight", "bias"), parameters, strict=False):
        check_parameter(parameter_name, parameter, shape, name, x, " (normalized_shape)",
                        parameter_types)
    return shape


def check_classes(target: Tensor, input: Tensor) -> None:
    """Raises TypeError or ValueError for a loss's target that is no classes on input's device."""
    check_tensor("target", target)
    if target.dtype != torch.int64:
        raise TypeError(f"target: expected classes of type int64, got {target.dtype}; convert "
                        "classes by target.long(). Class probabilities are not supported: call "
                        "torch.nn.functional.cross_entropy")
    if target.device != input.device:
        raise ValueError(f"target: expected a tensor on {input.device} like input, got one on "
                         f"{target.device}; move it by target.to(input.device)")


def check_loss(reduction: str, label_smoothing: float, ignore_index: int) -> tuple[float, int]:
    """The options of a loss of classes but the reduction, which is checked too."""
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"reduction: expected 'mean', 'sum' or 'none', got {reduction!r}")
    return (check_number("label_smoothing", label_smoothing, "a number from 0 to 1", 0, 1),
            check_whole("ignore_index", ignore_index, "a whole number of 64 bits", -2 ** 63,
                        2 ** 63 - 1))


def part_dims(shape: Sequence[int], rows: Sequence[int]) -> tuple[tuple[int, int], ...] | None:
    """The dimensions of :data:`.Parts` of rows, as :class:`.operands.Input` has them, or None."""
    result: list[tuple[int, int]] = []
    distance = 1
    if rows[-1] == 1 or len(shape) > len(rows):
        return None
    if len(shape) == 1:
        length, whole = rows[-1], math.prod(rows[-2:])
        if shape[0] == 1:
            return ()
        distance = max(whole // max(shape[0], 1), 1)  # (Of no rows any are parts.)
        is_whole = whole in (0, distance * shape[0]) and 0 in (length % distance, distance % length)
        return ((distance, shape[0]),) if is_whole else None
    for size, own in itertools.zip_longest(reversed(rows), reversed(shape), fillvalue=1):
        if own not in (1, size) and (0 in (own, size) or size % own):
            return None
        block = distance if own == size else distance * size // own
        if own != 1 and result and math.prod(result[0]) == block:
            result[0] = (result[0][0], result[0][1] * own)
        elif own != 1:
            result.insert(0, (block, own))
        distance *= size
    return tuple(result)


def part_of(shape: Sequence[int], rows: Sequence[int]) -> tuple[Sequence[int], Any]:
    """A part's shape and dimensions; () for a scale per row and block."""
    if len(shape) > 1 and 1 < (count := shape[-1]) < rows[-1] and ((*shape[:-1],) == (*rows[:-1],)):
        return (), ((rows[-1] // count, count),)
    return tuple(shape), part_dims(shape, rows)


def spread(part: Tensor, rows: Tensor) -> Tensor:
    """Parts as rows."""
    if part.dim() == 1 != rows.dim():
        whole = rows.shape[-2:]
        part = part.repeat_interleave(whole.numel() // part.shape[0]).view(whole)
    for dim in range(part.dim()):
        own, size = part.shape[dim], rows.shape[rows.dim() - part.dim() + dim]
        if own not in (1, size):  # (Not by repeat_interleave, which PyTorch has for no float8.)
            wide = part.unflatten(dim, (own, 1))
            part = wide.expand(*wide.shape[:dim + 1], size // own,
                               *wide.shape[dim + 2:]).flatten(dim, dim + 1)
    return part if part.shape == rows.shape else part.expand(rows.shape)
