# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds out whether a module of any class is a norm as PyTorch has them, by running it.

A module's own forward is called on the CPU, on rows of many sizes from 100 down to 0 and with
random parameters in the place of its own, and its output compared with that of each norm
(:data:`lnbwd.ops.NORMS`), with or without the mean

    y = (x - mean) / sqrt(mean((x - mean)^2) + eps) * scale + shift

where scale is 1, the weight, or 1 + weight (Gemma), and shift is 0 or the bias. A class is taken
only if all rows agree to 1e-5, in inputs of two, three and four dimensions or, for one that
normalises channels first, of four. Rows of small values tell epsilons apart, and where an epsilon
stands. That holds for any class, whoever wrote it; names are not looked at, but for modules
without parameters, which are run only if "norm" is part of their class's name.
"""

from __future__ import annotations

import dataclasses
import inspect
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ._arguments import KERNEL_TYPES
from .ops import NORMS

_USUAL_EPSILONS = (1e-5, 1e-6, 1e-8, 1e-12, 0.0)
_SIZES = (1e2, 1.0, 1e-2, 1e-3, 1e-4, 1e-6, 0.0)
_TOLERANCE = 1e-5
_ANY_LENGTH = 24


@dataclass(frozen=True)
class Recipe:
    """How a module normalises.

    Attributes:
        norm: the name of the norm.
        weight, bias: the names of its parameters; empty: it has none.
        epsilon: the name of the attribute with its epsilon, or the number itself.
        adds_one: whether 1 + weight is the scale.
        channels_first: whether dimension 1 of 4 is the one that is normalised.
        types: the type of the output for types of the input and of the weight (None: no weight).
    """

    norm: str
    weight: str
    bias: str
    epsilon: str | float
    adds_one: bool = False
    channels_first: bool = False
    types: tuple[tuple[torch.dtype, torch.dtype | None, torch.dtype], ...] = ()

    def formula(self, x: Tensor, weight: Tensor | None, bias: Tensor | None,
                epsilon: float) -> Tensor:
        """The output by the formula, in the type of x."""
        dim = 1 if self.channels_first else -1
        rows = x.movedim(dim, -1)
        if weight is not None and self.adds_one:
            weight = weight + 1
        y = NORMS[self.norm].by_torch(rows, rows.shape[-1:], (weight, bias), epsilon)[0]
        return y.movedim(-1, dim)


def _parameters(module: torch.nn.Module) -> dict[str, Tensor] | None:
    """The parameters of a module that may be a norm; None if it may not."""
    if any(True for _ in module.children()) or "forward" in module.__dict__:
        return None
    parameters: dict[str, Tensor] = {name: p for name, p in module._parameters.items()
                                     if p is not None}
    shapes = {tuple(p.shape) for p in parameters.values()}
    may_be = (not any(b is not None for b in module._buffers.values()) and len(parameters) <= 2
              and len(shapes) <= 1 and all(len(s) == 1 and s[0] > 0 for s in shapes)
              and (parameters or "norm" in type(module).__name__.lower()))
    return parameters if may_be else None


def _takes_one_tensor(module: torch.nn.Module) -> bool:
    try:
        parameters = list(inspect.signature(type(module).forward).parameters.values())[1:]
    except (TypeError, ValueError):
        return False
    plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return bool(parameters) and parameters[0].kind in plain and all(
        p.default is not inspect.Parameter.empty for p in parameters[1:]
        if p.kind not in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD))


def _row_length(module: torch.nn.Module, parameters: dict[str, Tensor]) -> int:
    shapes: Any = [p.shape for p in parameters.values()] or [
        getattr(module, "normalized_shape", None)]
    shape = (shapes[0],) if isinstance(shapes[0], int) else shapes[0]
    return int(shape[0]) if isinstance(shape, (tuple, list)) and len(shape) == 1 else _ANY_LENGTH


def _call(module: torch.nn.Module, parameters: dict[str, Tensor], x: Tensor,
          training: bool) -> Tensor | None:
    """The forward of a module with other parameters; hooks are not run, and the module's own data
    is not touched. None if it fails or gives something else than a tensor of x's shape."""
    double = torch.nn.Module.__new__(type(module))
    double.__dict__.update(module.__dict__)
    double.__dict__["_parameters"] = {
        **dict.fromkeys(module._parameters),
        **{name: torch.nn.Parameter(p, requires_grad=False) for name, p in parameters.items()}}
    double.__dict__["training"] = training
    try:
        with torch.no_grad():
            y = type(module).forward(double, x.clone())
    except Exception:
        return None
    return y if isinstance(y, Tensor) and y.shape == x.shape else None


def _recipes(module: torch.nn.Module, names: list[str],
             channels_first: bool) -> Iterator[Recipe]:
    epsilons: list[str | float] = [name for name, value in module.__dict__.items()
                                   if isinstance(value, float) and 0 <= value < 0.1]
    for epsilon in (*epsilons, *_USUAL_EPSILONS):
        for weight, bias in dict.fromkeys(itertools.permutations([*names, "", ""][:2])):
            for norm in NORMS:
                for adds_one in (False, True) if weight else (False,):
                    yield Recipe(norm, weight, bias, epsilon, adds_one, channels_first)


def _agrees(y: Tensor, expected: Tensor, dim: int) -> bool:
    size = expected.abs().amax(dim, keepdim=True)
    return bool(((y.double() - expected).abs() <= _TOLERANCE * size).all())


def _probe(n: int, leading: tuple[int, ...], channels_first: bool,
           generator: torch.Generator) -> Tensor:
    """An input whose rows have all sizes."""
    rows = torch.randn((len(_SIZES), *leading, n), generator=generator, dtype=torch.float64)
    rows += torch.randn((len(_SIZES), *leading, 1), generator=generator, dtype=torch.float64)
    rows *= torch.tensor(_SIZES, dtype=torch.float64).view(-1, *[1] * (len(leading) + 1))
    return rows.movedim(-1, 1).contiguous() if channels_first else rows


def _output_types(module: torch.nn.Module, recipe: Recipe, n: int) -> tuple[Any, ...]:
    found = []
    for x_type in KERNEL_TYPES:
        for weight_type in KERNEL_TYPES if recipe.weight or recipe.bias else (None,):
            parameters = {name: torch.ones(n, dtype=weight_type)
                          for name in (recipe.weight, recipe.bias) if name}
            x = torch.ones((1, n, 1, 1) if recipe.channels_first else (2, n), dtype=x_type)
            y = _call(module, parameters, x, False)
            if y is not None:
                found.append((x_type, weight_type, y.dtype))
    return tuple(found)


def recognise(module: torch.nn.Module) -> Recipe | None:
    """How a module normalises, or None if it does not, or not as PyTorch's norms do.

    The module's forward is run on the CPU, some ten times, with data of this function's own.
    """
    parameters = _parameters(module)
    if parameters is None or not _takes_one_tensor(module):
        return None
    n = _row_length(module, parameters)
    generator = torch.Generator().manual_seed(7)
    random = {name: torch.randn(n, generator=generator, dtype=torch.float64) + 0.5
              for name in parameters}
    for channels_first in (False, True):
        shapes = ((3, 5),) if channels_first else ((), (3,), (3, 5))
        probes = [_probe(n, leading, channels_first, generator) for leading in shapes]
        if channels_first and n == 1:
            continue
        outputs = [_call(module, random, x, training) for x in probes
                   for training in (False, True)]
        if any(y is None for y in outputs):
            continue
        inputs = [x for x in probes for _ in range(2)]
        for recipe in _recipes(module, list(parameters), channels_first):
            epsilon = (float(getattr(module, recipe.epsilon))
                       if isinstance(recipe.epsilon, str) else recipe.epsilon)
            if all(y is not None and _agrees(
                    y, recipe.formula(x, random.get(recipe.weight), random.get(recipe.bias),
                                      epsilon), 1 if channels_first else -1)
                   for x, y in zip(inputs, outputs, strict=True)):
                return dataclasses.replace(recipe, types=_output_types(module, recipe, n))
    return None
