# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls of modules on test data, and records of their reads."""

from __future__ import annotations

import copy
import enum
import inspect
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

TOLERANCES = {torch.float64: 1e-5, torch.float32: 1e-5, torch.float16: 8e-3, torch.bfloat16: 6e-2}

# Values that cannot change without the attribute being set.
_PLAIN = (type(None), bool, int, float, str, enum.Enum, torch.dtype, torch.device, type,
          types.FunctionType, types.BuiltinFunctionType)
_OF_MODULES = frozenset(torch.nn.Module().__dict__)
ABSENT = "<absent>"


def _plain(value: Any) -> Any:
    """A value as a recipe keeps it. Raises TypeError for one that may change in place."""
    if isinstance(value, (list, tuple)):
        return tuple(map(_plain, value))
    if not isinstance(value, _PLAIN):
        raise TypeError
    return value


def is_same(value: Any, kept: Any) -> bool:
    """Whether an attribute equals its record."""
    if isinstance(kept, tuple):
        return isinstance(value, (list, tuple)) and len(value) == len(kept) and all(
            is_same(one, other) for one, other in zip(value, kept, strict=True))
    return isinstance(value, _PLAIN) and bool(value == kept)


def state_of(module: torch.nn.Module, names: set[str]) -> tuple[tuple[str, Any], ...] | None:
    """The read attributes' values, without parameters and methods; None if one is not plain."""
    if names & {"__dict__", *_OF_MODULES} - {"training"}:
        return None
    kept = []
    for name in sorted(names - {"training"}):
        if name.startswith("__") or module._parameters.get(name) is not None:
            continue
        if name not in module.__dict__ and name not in module._parameters:
            found = inspect.getattr_static(type(module), name, None)
            if hasattr(type(found), "__get__"):  # A method, or a property, whose reads are here.
                continue
        try:
            kept.append((name, _plain(getattr(module, name, ABSENT))))
        except TypeError:
            return None
    return tuple(kept)


def _recorder(cls: type[torch.nn.Module], names: set[str]) -> type[torch.nn.Module]:
    """A class of modules that compute like those of another class and record their reads."""
    is_inside = False

    def read(self: Any, name: str) -> Any:
        if not is_inside:
            names.add(name)
        return super(recorder, self).__getattribute__(name)

    def find(self: Any, name: str) -> Any:
        """Finds parameters, in dictionaries of the module's."""
        nonlocal is_inside
        outer, is_inside = is_inside, True
        try:
            return super(recorder, self).__getattr__(name)
        finally:
            is_inside = outer

    recorder: Any = type(cls.__name__, (cls,), {"__getattribute__": read, "__getattr__": find})
    return recorder  # type: ignore[no-any-return]


@dataclass
class Case:
    """A call: rows of all sizes, parameters by name, and the gradient of the output."""

    x: Tensor
    parameters: Mapping[str, Tensor]
    dy: Tensor

    def convert(self, x_type: torch.dtype, type: torch.dtype | None) -> Case:
        """The same, rounded to other types of x and of the parameters."""
        return Case(self.x.to(x_type), {
            name: p.to(type) for name, p in self.parameters.items()}, self.dy)

    def leaves(self) -> tuple[Tensor, dict[str, Tensor]]:
        """New tensors that require gradients."""
        return self.x.clone().requires_grad_(), {
            name: torch.nn.Parameter(p.clone()) for name, p in self.parameters.items()}

    def gradient(self, type: torch.dtype) -> Tensor:
        """dy in the output's type; the second half of the rows is scaled, as by a scaled loss."""
        size = 1.0 if type == torch.float64 else 64.0 if type == torch.float16 else 1e5
        half = self.dy.shape[0] // 2
        return torch.cat((self.dy[:half], self.dy[half:] * size)).to(type)


def make_case(n: int, leading: tuple[int, ...], sizes: Sequence[float], scale: float = 1.0, *,
              names: Sequence[str], channels_first: bool, generator: torch.Generator) -> Case:
    """A case in float64 with rows of these sizes, repeated."""
    def random(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator, dtype=torch.float64, device="cpu")

    rows = random(*leading, n) + random(*leading, 1)
    by_row = torch.tensor([*sizes] * (8 // len(sizes)), dtype=torch.float64, device="cpu")
    x = rows * by_row.view(*leading, 1)
    # What the statistics' derivatives take out of it is as large as the rest.
    dy = random(*leading, n) + 2 * rows
    if channels_first:
        x, dy = (t.movedim(-1, 1).contiguous() for t in (x, dy))
    return Case(x, {name: scale * (random(n) + 0.5) for name in names}, dy)


Results = list[Tensor]
"""The output, and the gradients of x and of the parameters in their order."""


def _twin(module: torch.nn.Module, cls: type[torch.nn.Module], parameters: Mapping[str, Tensor],
          attributes: Mapping[str, Any]) -> torch.nn.Module:
    """A module with the attributes of another one, containers copied, and other parameters."""
    twin: torch.nn.Module = object.__new__(cls)
    held = object.__getattribute__(twin, "__dict__")  # (Reads by the class may be noted.)
    held.update({name: copy.copy(value) if type(value) in (list, dict, set) else value
                 for name, value in module.__dict__.items()})
    held.update(attributes, _parameters={**dict.fromkeys(module._parameters), **parameters})
    return twin


def _call_once(module: torch.nn.Module, case: Case, reads: set[str],
               attributes: Mapping[str, Any]) -> Results | None:
    cls = type(module)
    x, parameters = case.leaves()
    twin = _twin(module, cls, parameters, attributes)
    before, kept = dict(twin.__dict__), {**twin.__dict__, **module.__dict__, **attributes,
                                         "_parameters": twin._parameters}
    with torch.device("cpu"):
        y = cls.forward(twin, x)
    if not isinstance(y, Tensor) or y.shape != x.shape or y.dtype not in TOLERANCES:
        return None
    gradients = torch.autograd.grad(y, [x, *parameters.values()], case.gradient(y.dtype))
    is_changed = before.keys() != twin.__dict__.keys() or any(
        before[name] is not value or (value is not kept[name] and value != kept[name])
        for name, value in twin.__dict__.items())
    if is_changed or not torch.equal(x, case.x):
        return None
    with torch.no_grad(), torch.device("cpu"):
        cls.forward(_twin(module, _recorder(cls, reads), parameters, attributes), x)
    return [y.detach(), *gradients]


def call_twice(module: torch.nn.Module, case: Case, reads: set[str],
               **attributes: Any) -> list[Results] | None:
    """The results of a module's forward with other parameters, and attributes, in evaluation and in
    training. Hooks are not run, and the module's own data is not touched. None if it fails, gives
    something else than a tensor of x's shape, or changes x or itself."""
    results: list[Results] = []
    for training in (False, True):
        try:
            found = _call_once(module, case, reads, {**attributes, "training": training})
        except Exception:
            return None
        if found is None or (results and found[0].dtype != results[0][0].dtype):
            return None
        results.append(found)
    return results
