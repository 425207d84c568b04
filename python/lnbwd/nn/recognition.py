# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds out whether a module of any class is a norm as PyTorch has them, by running it.

A module's own forward is called on the CPU, on rows of many sizes from 5000 down to 0 and with
random parameters in the place of its own, and its output and its gradients are compared with those
of each norm (:data:`.NORMS`), with or without the mean

    y = (x - mean) / sqrt(mean((x - mean)^2) + eps) * scale + shift

where scale is 1, the weight, or 1 + weight (Gemma), and shift is 0 or the bias. A module is taken
only if all rows agree to 1e-5, in inputs of two to five dimensions or, for one that normalises
channels first, of four. Rows of small values tell epsilons apart, and where an epsilon stands; a
gradient along the row itself tells whether the statistics are constants to autograd. Then the same
is done in each pair of types of input and parameters: pairs that do not agree are not taken.

Each module is looked at by itself, with all that its forward reads of it: the recipe holds as long
as these attributes have the values that they had. That holds for any class, whoever wrote it; names
are not looked at, but for modules without parameters, which are run only if "norm" is part of their
class's name.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ..ops.arguments import KERNEL_TYPES
from ..ops.norms import NORMS
from .trials import ABSENT, TOLERANCES, Case, Results, call_twice, is_same, make_case, state_of

_USUAL_EPSILONS = (1e-5, 1e-6, 1e-8, 1e-12, 0.0)
_OTHER_EPSILON = 0.03
_SIZES = (5e3, 1e2, 1.0, 1e-2, 1e-3, 1e-4, 1e-6, 0.0)
# Of rows in narrower types, once with small gradients and once with large ones.
_FEWER_SIZES = (5e3, 1.0, 1e-3, 0.0)
# Dimensions of eight rows, and what the parameters are scaled by.
_LEADING = {(8,): 1.0, (2, 4): 1e5, (2, 2, 2): 1e-3, (2, 2, 1, 2): 1.0}
_LEADING_CHANNELS = {(2, 2, 2): 1.0, (4, 2, 1): 1e5, (2, 1, 4): 1e-3}
_ANY_LENGTH = 24

Normalise = Callable[[str, Tensor, Tensor | None, Tensor | None, float], Tensor]
"""A norm by its name, of rows, weight, bias and epsilon."""


@dataclass(frozen=True)
class Recipe:
    """How a module normalises.

    Attributes:
        norm: the name of the norm.
        weight, bias: the names of its parameters; empty: it has none.
        epsilon: the name of the attribute with its epsilon, or the number itself.
        adds_one: whether 1 + weight is the scale.
        channels_first: whether dimension 1 of 4 is the one that is normalised.
        ranks: how many dimensions x may have.
        row_length: the only one that it takes; None: any.
        types: the type of the output for types of the input and of the weight (None: no weight).
        state: attributes that the module reads, and their values; sequences are tuples.
    """

    norm: str
    weight: str
    bias: str
    epsilon: str | float
    adds_one: bool = False
    channels_first: bool = False
    ranks: Sequence[int] = range(1, 65)
    row_length: int | None = None
    types: tuple[tuple[torch.dtype, torch.dtype | None, torch.dtype], ...] = ()
    state: tuple[tuple[str, Any], ...] = ()

    def parameters_of(self, module: torch.nn.Module) -> tuple[Tensor | None, Tensor | None]:
        """Its weight and bias now; None: it has none."""
        return (getattr(module, self.weight) if self.weight else None,
                getattr(module, self.bias) if self.bias else None)

    def output_type(self, module: torch.nn.Module, x: Tensor, weight: Tensor | None,
                    bias: Tensor | None) -> torch.dtype | None:
        """The type of the output of a call; None if it is not one that the recipe is for."""
        if (weight is None) == bool(self.weight) or (bias is None) == bool(self.bias) or (
                weight is not None and bias is not None and weight.dtype != bias.dtype):
            return None
        if x.dim() not in self.ranks or (
                self.row_length not in (None, x.shape[1 if self.channels_first else -1])):
            return None
        for name, value in self.state:
            if not is_same(getattr(module, name, ABSENT), value):
                return None
        first = bias if weight is None else weight
        x_type, parameter_type = x.dtype, None if first is None else first.dtype
        for given, parameter, out in self.types:
            if given == x_type and parameter == parameter_type:
                return out
        return None

    def epsilon_of(self, module: torch.nn.Module) -> float:
        """Its epsilon now."""
        return float(getattr(module, self.epsilon) if isinstance(self.epsilon, str)
                     else self.epsilon)

    def compute(self, x: Tensor, weight: Tensor | None, bias: Tensor | None, epsilon: float,
                output_type: torch.dtype, normalise: Normalise) -> Tensor:
        """The output. Neither it nor its gradient is rounded to a narrower type on the way."""
        if self.channels_first:
            x = x.movedim(1, -1)
        if x.dtype != output_type:
            x = x.to(torch.promote_types(x.dtype, output_type))
        if weight is not None and self.adds_one:
            weight = weight.to(torch.promote_types(weight.dtype, torch.float32)) + 1
        takes_bias = NORMS[self.norm].count == 2
        y = normalise(self.norm, x, weight, bias if takes_bias else None, epsilon)
        if bias is not None and not takes_bias:
            y = y + bias
        if y.dtype != output_type:
            y = y.to(output_type)
        return y.movedim(-1, 1) if self.channels_first else y


def _by_torch(norm: str, x: Tensor, weight: Tensor | None, bias: Tensor | None,
              epsilon: float) -> Tensor:
    return NORMS[norm].by_torch(x, x.shape[-1:], (weight, bias), epsilon)[0]


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


def _recipes(module: torch.nn.Module, names: list[str], channels_first: bool) -> Iterator[Recipe]:
    epsilons: list[str | float] = [name for name, value in module.__dict__.items()
                                   if isinstance(value, float) and 0 <= value < 0.1]
    for epsilon in (*epsilons, *_USUAL_EPSILONS):
        for weight, bias in dict.fromkeys(itertools.permutations([*names, "", ""][:2])):
            for norm in NORMS:
                for adds_one in (False, True) if weight else (False,):
                    yield Recipe(norm, weight, bias, epsilon, adds_one, channels_first)


def _agrees(recipe: Recipe, case: Case, results: Sequence[Results], epsilon: float,
            tolerance: float) -> bool:
    """Whether results equal those of a recipe, by PyTorch's operations."""
    y_type = results[0][0].dtype
    x, parameters = case.leaves()
    weight, bias = parameters.get(recipe.weight), parameters.get(recipe.bias)
    y = recipe.compute(x, weight, bias, epsilon, y_type, _by_torch)
    dy = case.gradient(y_type)
    expected = [y.detach(), *torch.autograd.grad(y, [x, *parameters.values()], dy)]
    # How large the terms are of which each is a sum.
    dim = 1 if recipe.channels_first else -1
    with torch.no_grad():
        rows, terms = case.x.double().movedim(dim, -1), dy.double().movedim(dim, -1)
        normed, *statistics = NORMS[recipe.norm].by_torch(rows, rows.shape[-1:], (None, None),
                                                          epsilon)
        scaled = terms if weight is None else terms * (weight.double() + recipe.adds_one)
        sizes = [expected[0].double().abs().amax(dim, keepdim=True),
                 (scaled.abs().amax(-1) * statistics[-1]).unsqueeze(dim)]
        for name in parameters:
            each = terms * normed if name == recipe.weight else terms
            sizes.append(each.abs().flatten(0, -2).sum(0).amax())
    for number, (want, size) in enumerate(zip(expected, sizes, strict=True)):
        most = torch.finfo(want.dtype).max
        want = want.double().clamp(-most, most)
        for got in (found[number] for found in results):
            is_close = (got.double() - want).abs() <= tolerance * size
            # A gradient that is too large for the module's types may be there.
            if number and y_type != torch.float64:
                is_close |= ~got.isfinite()
            if not is_close.all():
                return False
    return True


def _pairs(module: torch.nn.Module, recipe: Recipe, case: Case, reads: set[str]) -> tuple[Any, ...]:
    """The types in which a module agrees with a recipe."""
    taken = []
    for x_type in KERNEL_TYPES:
        for type in KERNEL_TYPES if case.parameters else (None,):
            given = case.convert(x_type, type)
            results = call_twice(module, given, reads)
            if results is None or results[0][0].dtype not in KERNEL_TYPES:
                continue
            y_type = results[0][0].dtype
            tolerance = max(TOLERANCES[t] for t in (x_type, type, y_type) if t)
            if _agrees(recipe, given, results, recipe.epsilon_of(module), tolerance):
                taken.append((x_type, type, y_type))
    return tuple(taken)


def _prove(module: torch.nn.Module, recipe: Recipe, cases: Sequence[tuple[Case, list[Results]]],
           longer: Case, rounded: Case, reads: set[str]) -> Recipe | None:
    """The recipe with all that it holds for; None if it is not the module's. There are cases with
    results, longer rows, and those that are rounded to other types."""
    tolerance, epsilon = TOLERANCES[torch.float64], recipe.epsilon_of(module)
    if not all(_agrees(recipe, case, results, epsilon, tolerance) for case, results in cases):
        return None
    first, _ = cases[0]
    if isinstance(recipe.epsilon, str):
        results = call_twice(module, first, reads, **{recipe.epsilon: _OTHER_EPSILON})
        if results is None or not _agrees(recipe, first, results, _OTHER_EPSILON, tolerance):
            return None
    length: int | None = first.x.shape[1 if recipe.channels_first else -1]
    if not first.parameters:
        results = call_twice(module, longer, reads)
        if results is not None and _agrees(recipe, longer, results, epsilon, tolerance):
            length = None
    types = _pairs(module, recipe, rounded, reads)
    state = state_of(module, reads - {recipe.epsilon})
    if not types or state is None:
        return None
    ranks = tuple(dict.fromkeys(case.x.dim() for case, _ in cases))
    return dataclasses.replace(recipe, ranks=ranks, row_length=length, types=types, state=state)


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Without the caller's modes; keeps its random numbers; one thread, for small tensors."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with (torch.inference_mode(False), torch.enable_grad(),
              torch.autocast("cpu", enabled=False), torch.random.fork_rng(devices=[])):
            yield
    finally:
        torch.set_num_threads(threads)


def recognise(module: torch.nn.Module) -> Recipe | None:
    """How a module normalises, or None if it does not, or not as PyTorch's norms do. Its forward is
    run on the CPU, some fifty times, with data of this function's own."""
    parameters = _parameters(module)
    if parameters is None or not _takes_one_tensor(module):
        return None
    n = _row_length(module, parameters)
    names = list(parameters)
    with _undisturbed():
        for channels_first in (False, True):
            if channels_first and n == 1:
                continue
            make = functools.partial(make_case, names=names, channels_first=channels_first,
                                     generator=torch.Generator("cpu").manual_seed(7))
            leading = _LEADING_CHANNELS if channels_first else _LEADING
            reads: set[str] = set()
            cases: list[tuple[Case, list[Results]]] = []
            for dims, scale in leading.items():
                case = make(n, dims, _SIZES, scale)
                results = call_twice(module, case, reads)
                if results is None:
                    break
                cases.append((case, results))
            if len(cases) < len(leading):
                continue
            dims = next(iter(leading))
            others = make(n + 16, dims, _SIZES), make(n, dims, _FEWER_SIZES)
            for recipe in _recipes(module, names, channels_first):
                proven = _prove(module, recipe, cases, *others, reads)
                if proven is not None:
                    return proven
    return None
