# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Numbers that know that they are strides.

``stride()`` of a tensor on the device answers with them. So an argument of a kernel that is a
stride is known to be one, also where a size is the same number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any


class Stride(int):
    """A stride of a tensor, or what has been computed from one."""

    owner: Any
    """The storage of the tensor, as ``torch_device.Buffer``; None: it has been computed."""

    def __new__(cls, value: int, owner: Any = None) -> Stride:
        """A stride of a tensor in this storage."""
        made = super().__new__(cls, value)
        made.owner = owner
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return int, (int(self),)


def _computing(function: Callable[..., Any]) -> Callable[..., Any]:
    """An operator whose result, if an integer, is computed from a stride."""
    def result(self: int, *others: Any) -> Any:
        value = function(self, *others)
        return Stride(value) if type(value) is int else value
    return result


for _name in ("add", "sub", "mul", "floordiv", "mod", "and", "or", "xor", "lshift", "rshift"):
    for _method in (f"__{_name}__", f"__r{_name}__"):
        setattr(Stride, _method, _computing(getattr(int, _method)))


def tagged(strides: Any, owner: Any) -> Any:
    """What ``stride()`` has answered, as strides of a storage."""
    if isinstance(strides, tuple):
        return tuple(Stride(stride, owner) for stride in strides)
    return Stride(strides, owner)


def untagged(names: Sequence[str], args: Sequence[Any], kwargs: Mapping[str, Any]
             ) -> tuple[list[Any], dict[str, Any], dict[str, Stride]]:
    """The arguments of a kernel with ordinary integers, and those that are strides, by name."""
    named = {**dict(zip(names, args, strict=False)), **kwargs}
    found = {name: named[name] for name in names if type(named.get(name)) is Stride}
    return ([int(arg) if type(arg) is Stride else arg for arg in args],
            {name: int(arg) if type(arg) is Stride else arg for name, arg in kwargs.items()}, found)
