# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Swapping the normalisation layers of a model, and back."""

from __future__ import annotations

import collections
import contextlib
import itertools
import warnings
import weakref
from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import Tensor

from ..core.base.errors import renamed
from ..functional import linear_losses
from ..ops import aten, native
from ..ops.arguments import KERNEL_TYPES
from ..ops.launching import falls_back
from ..ops.norms import NORMS, know_distributed_tensors, normalise
from .causal_models import LastLinear, defer_logits
from .norms import NORMS as MODULES
from .recognition import Recipe, recognise

_BACK: dict[type[torch.nn.Module], type[torch.nn.Module]] = {
    module: module.__bases__[0] for module in MODULES.values()}
_SWAPS = {old: new for new, old in _BACK.items()}
_TARGETS = " or ".join(f"lnbwd.nn.{module.__name__}" for module in _BACK)
_BACK[LastLinear] = torch.nn.Linear

_EPSILON_NAMES = ("eps", "epsilon", "variance_epsilon", "norm_eps", "layer_norm_eps",
                  "rms_norm_eps")


def _normalise(norm: str, x: Tensor, weight: Tensor | None, bias: Tensor | None,
               epsilon: float) -> Tensor:
    of = NORMS[norm]
    return normalise(of, x, x.shape[-1:], (weight, bias)[:of.count], epsilon)


class _Patched:
    """The second base of a patched module: its forward is ours for compared calls, else its own."""

    _lnbwd_original: type[torch.nn.Module]
    _lnbwd_recipe: Recipe

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        recipe = self._lnbwd_recipe
        if len(args) != 1 or kwargs or not isinstance(args[0], Tensor):
            return self._lnbwd_original.forward(self, *args, **kwargs)
        x: Tensor = args[0]
        module: torch.nn.Module = self  # type: ignore[assignment]
        weight, bias = recipe.parameters_of(module)
        output_type = recipe.output_type(module, x, weight, bias)
        if output_type is None or (x.is_cpu and falls_back()):
            return self._lnbwd_original.forward(self, x)
        return recipe.compute(x, weight, bias, recipe.epsilon_of(module), output_type, _normalise)

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return _make_patched, (self._lnbwd_original, self._lnbwd_recipe), self.__dict__


_classes: dict[tuple[type[torch.nn.Module], Recipe], type[torch.nn.Module]] = {}


def _patched_class(original: type[torch.nn.Module], recipe: Recipe) -> type[torch.nn.Module]:
    """The class of patched modules of a class, by the same name for prints."""
    cls = _classes.get((original, recipe))
    if cls is None:
        cls = _classes[original, recipe] = type(
            original.__name__, (_Patched, original),
            {"_lnbwd_original": original, "_lnbwd_recipe": recipe,
             "__module__": original.__module__, "__doc__": original.__doc__})
    return cls


def _make_patched(original: type[torch.nn.Module], recipe: Recipe) -> torch.nn.Module:
    """An empty module of the patched class, for copies and for pickle."""
    module: torch.nn.Module = object.__new__(_patched_class(original, recipe))
    return module


_OURS: tuple[type, ...] = (_Patched, *_BACK)
# Modules of PyTorch's classes that patch() has swapped, by whose class alone it cannot be told once
# somebody else has derived another one from it.
_swapped: weakref.WeakSet[torch.nn.Module] = weakref.WeakSet()


def _is_patched(module: torch.nn.Module) -> bool:
    """Whether a module has a class of ours that it did not have from its author."""
    return isinstance(module, _Patched) or type(module) in _BACK or (
        module in _swapped and isinstance(module, _OURS))


def _original_class(cls: type[torch.nn.Module]) -> type[torch.nn.Module]:
    """The class of a patched module without ours. A class that was derived from ours, as by
    fully_shard, stays a base; super() then finds the new order."""
    if "_lnbwd_original" in vars(cls):
        return cls._lnbwd_original  # type: ignore[attr-defined, no-any-return]
    if cls in _BACK:
        return _BACK[cls]

    def mro(new: type) -> list[type]:
        order = type.mro(new)
        if any(type(base) is metaclass for base in new.__bases__):
            return order
        return [one for one in order if one not in _OURS and "_lnbwd_original" not in vars(one)]

    metaclass = type(type(cls).__name__, (type(cls),), {"mro": mro})
    made: type[torch.nn.Module] = metaclass(cls.__name__, (cls,), {
        "__module__": cls.__module__, "__doc__": cls.__doc__})
    return made


# Of each model, what its patches asked of PyTorch's own norms.
_overrides: weakref.WeakKeyDictionary[torch.nn.Module, aten.Override] = (
    weakref.WeakKeyDictionary())


def _restore(model: torch.nn.Module, modules: Iterable[torch.nn.Module]) -> int:
    """Gives PyTorch its norms, and those modules that are patched their classes back; how many."""
    override = _overrides.pop(model, None)
    if override is not None:
        override.undo()
    patched = list(filter(_is_patched, modules))
    classes: dict[type[torch.nn.Module], type[torch.nn.Module]] = {}
    for module in patched:
        cls = type(module)
        if cls not in classes:
            classes[cls] = _original_class(cls)
        module.__class__ = classes[cls]
        _swapped.discard(module)
    return len(patched)


class Patch(contextlib.AbstractContextManager["Patch"]):
    """The result of :func:`patch` on a model; a context manager that undoes it at its end.

    Attributes:
        names: of the modules of the model that were swapped, "" being the model itself.
        classes: how many of them there were of each class, by the class's name.
        overrides: whether PyTorch's own norms use our kernels as well, until it is undone.
    """

    def __init__(self, model: torch.nn.Module, modules: dict[str, torch.nn.Module],
                 classes: dict[str, int], overrides: bool) -> None:
        self.model = model
        self.names = list(modules)
        self.classes = classes
        self.overrides = overrides
        # They themselves: the model may have lost them, or have them elsewhere.
        self._modules = list(modules.values())

    def undo(self) -> None:
        """Gives the modules their classes, and PyTorch its norms, back. It may be called twice."""
        _restore(self.model, self._modules)

    def __exit__(self, *error: object) -> None:
        self.undo()

    def __str__(self) -> str:
        what = ", ".join(f"{count} {name}" for name, count in self.classes.items())
        return (f"lnbwd.patch: {len(self.names)} modules now use lnbwd's kernels"
                + (f": {what}" if what else ""))

    def __repr__(self) -> str:
        return f"<lnbwd patch of {len(self.names)} modules: {', '.join(self.names) or 'none'}>"


def _forced_recipe(module: torch.nn.Module, target: type[torch.nn.Module]) -> Recipe:
    """The recipe of a module whose class the caller named, by usual names of attributes."""
    name = type(module).__name__
    epsilon = next((e for e in _EPSILON_NAMES if isinstance(getattr(module, e, None), float)), None)
    if epsilon is None:
        raise ValueError(f"also: expected {name} to have its epsilon in one of the attributes "
                         f"{', '.join(_EPSILON_NAMES)}")
    weight, bias = ("weight" if getattr(module, "weight", None) is not None else "",
                    "bias" if getattr(module, "bias", None) is not None else "")
    norm = next(norm for norm, module in MODULES.items() if module is target)
    if bias and NORMS[norm].count == 1:
        raise ValueError(f"also: {name} has a bias, and an {target.__name__} has none")
    pairs = [(x, w, x) for x in KERNEL_TYPES for w in (KERNEL_TYPES if weight or bias else (None,))]
    length = None
    for parameter in filter(None, (weight, bias)):
        shape = list(getattr(module, parameter).shape)
        if len(shape) != 1:
            raise ValueError(f"also: {name} has a {parameter} of the shape {shape}; expected one "
                             "dimension, the length of a row")
        length = shape[0]
    return Recipe(norm, weight, bias, epsilon, row_length=length, types=tuple(pairs))


def _find(model: torch.nn.Module, forced: dict[type[torch.nn.Module], type[torch.nn.Module]]
          ) -> tuple[list[tuple[str, torch.nn.Module, type[torch.nn.Module]]], bool]:
    """A model's norms, with names and new classes, and whether others are patched already."""
    for cls, target in forced.items():
        if not (isinstance(cls, type) and issubclass(cls, torch.nn.Module)):
            raise TypeError(f"also: expected classes of modules, got {cls!r}")
        if target not in MODULES.values():
            raise TypeError(f"also: expected {_TARGETS} for {cls.__name__}, got {target!r}")
    found: list[tuple[str, torch.nn.Module, type[torch.nn.Module]]] = []
    has_patched = False
    for name, module in model.named_modules():
        cls = type(module)
        if isinstance(module, _OURS):
            has_patched = True
        elif cls in forced:
            found.append((name, module, _patched_class(cls, _forced_recipe(module, forced[cls]))))
        elif cls in _SWAPS:
            found.append((name, module, _SWAPS[cls]))
        elif not cls.__module__.startswith("torch.nn.modules."):
            recipe = recognise(module)
            if recipe is not None:
                found.append((name, module, _patched_class(cls, recipe)))
    return found, has_patched


@renamed(quiet="it prints nothing; print what it returns")
def patch(model: torch.nn.Module, *,
          also: Mapping[type[torch.nn.Module], type[torch.nn.Module]] | None = None,
          override: bool = True, linear_cross_entropy: bool = False) -> Patch:
    """Has every LayerNorm and RMSNorm of a model use lnbwd's kernels.

    The modules stay the same objects, with their parameters, hooks and names: optimizers,
    checkpoints and wrappers that refer to them go on working. Besides torch.nn.LayerNorm and
    torch.nn.RMSNorm it knows modules of other classes by what they compute: each leaf module with
    at most two parameters is run on the CPU on data of its own, and taken if its results and their
    gradients are those of a LayerNorm or an RMSNorm (:mod:`.recognition`), Gemma's 1 + weight
    and LayerNorms over the channels of images included. Where such a module is called otherwise
    than it was compared, and on the CPU, its own forward runs.

    Args:
        model: the model; it is changed in place. Compile it (torch.compile) afterwards.
        also: classes that are to be taken without looking, and what they are: lnbwd.nn.LayerNorm
            or lnbwd.nn.RMSNorm. Their parameters are named weight and bias.
        override: False leaves PyTorch's norms alone, and with them those outside of the model.
        linear_cross_entropy: for a causal language model of transformers: in training, its loss is
            that of :func:`lnbwd.functional.linear_cross_entropy`, and its result's logits are
            computed only if they are used. With a last layer that is a DTensor or that FSDP2 shards
            by itself, and where the model changes its logits before the loss, it computes them as
            before.

    Returns:
        A :class:`Patch`, which says what was changed if it is printed, and undoes it by ``undo()``
        or at the end of a ``with`` statement.

    Raises:
        TypeError, ValueError: an argument is wrong, or a class in ``also`` cannot be what it is
            said to be.

    Example:
        >>> with lnbwd.patch(model) as patched:
        ...     print(patched)
        ...     loss = model(batch).sum()
        ...     loss.backward()
    """
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"model: expected a torch.nn.Module, got {type(model).__name__}")
    know_distributed_tensors()
    found, has_patched = _find(model, dict(also or {}))
    if linear_cross_entropy:
        last = defer_logits(model, linear_losses.linear_cross_entropy)
        found.append((next(name for name, module in model.named_modules() if module is last), last,
                      LastLinear))
    classes = collections.Counter(type(module).__name__ for _, module, _ in found)
    for _, module, new in found:
        module.__class__ = new
        _swapped.add(module)
    overrides = override and bool(found or has_patched) and _override(model)
    result = Patch(model, {name: module for name, module, _ in found}, dict(classes), overrides)
    if not found and not has_patched:
        warnings.warn("lnbwd.patch found no LayerNorm or RMSNorm in the model; name a class of "
                      "its own by also={MyNorm: lnbwd.nn.RMSNorm}", UserWarning, stacklevel=2)
    return result


def _is_on_gpu(model: torch.nn.Module) -> bool:
    return any(tensor.is_cuda for tensor in itertools.chain(model.parameters(), model.buffers()))


def _override(model: torch.nn.Module) -> bool:
    """Puts our kernels into PyTorch's places while a model on a GPU is patched, if C++ has them."""
    if not _is_on_gpu(model) or native.load() is None:
        return False
    if model not in _overrides:
        _overrides[model] = made = aten.override_aten()
        weakref.finalize(model, made.undo).atexit = False
    return True


def unpatch(model: torch.nn.Module) -> int:
    """Gives modules that use lnbwd their old classes, PyTorch its norms; returns how many."""
    return _restore(model, model.modules())
