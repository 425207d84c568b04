# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Swapping the normalisation layers of a model, and back."""

from __future__ import annotations

import types

import torch

from . import nn

__all__ = ["Patch", "patch", "unpatch"]

_SWAPS: dict[type[torch.nn.Module], type[torch.nn.Module]] = {
    torch.nn.LayerNorm: nn.LayerNorm, torch.nn.RMSNorm: nn.RMSNorm}
_BACK = {new: old for old, new in _SWAPS.items()}


class Patch:
    """What :func:`patch` did to a model; a context manager that undoes it at its end.

    Attributes:
        model: the model.
        names: the names of the modules that were swapped, "" being the model itself.
    """

    def __init__(self, model: torch.nn.Module, names: list[str]) -> None:
        self.model = model
        self.names = names

    def undo(self) -> None:
        """Gives the modules their classes back. Calling it twice is allowed."""
        for name in self.names:
            module = self.model.get_submodule(name)
            if type(module) in _BACK:
                module.__class__ = _BACK[type(module)]

    def __enter__(self) -> Patch:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: types.TracebackType | None) -> None:
        self.undo()

    def __repr__(self) -> str:
        return f"<lnbwd patch of {len(self.names)} modules: {', '.join(self.names) or 'none'}>"


def patch(model: torch.nn.Module) -> Patch:
    """Has every torch.nn.LayerNorm and torch.nn.RMSNorm of a model use lnbwd's kernels.

    The modules stay the same objects, with their parameters, hooks and names: optimizers,
    checkpoints and wrappers that refer to them go on working. Modules of other classes, derived
    ones included, are left alone.

    Args:
        model: the model; it is changed in place. Compile it (torch.compile) afterwards.

    Returns:
        A :class:`Patch`, which undoes it by ``undo()`` or at the end of a ``with`` statement.

    Example:
        >>> with lnbwd.patch(model):
        ...     loss = model(batch).sum()
        ...     loss.backward()
    """
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"model: expected a torch.nn.Module, got {type(model).__name__}")
    names = []
    for name, module in model.named_modules():
        if type(module) in _SWAPS:
            module.__class__ = _SWAPS[type(module)]
            names.append(name)
    return Patch(model, names)


def unpatch(model: torch.nn.Module) -> int:
    """Gives every module that uses lnbwd its class of PyTorch's back; how many there were."""
    count = 0
    for module in model.modules():
        if type(module) in _BACK:
            module.__class__ = _BACK[type(module)]
            count += 1
    return count
