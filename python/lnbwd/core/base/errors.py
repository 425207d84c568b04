# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The package's errors, by what a caller can do, its warnings, and errors about functions."""

from __future__ import annotations

import functools
import linecache
import warnings
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

_warned = set[str]()


class LnbwdError(RuntimeError):
    """The package cannot do something; the message names it and a remedy."""


class LibraryError(LnbwdError):
    """One of the package's shared libraries is missing or of another version."""


class CompileError(LnbwdError):
    """The compiler refused its input. ``diagnostics`` has its words, with lines of the source."""

    def __init__(self, message: str, diagnostics: str = "") -> None:
        super().__init__(message)
        self.diagnostics = diagnostics


class RuntimeStatusError(LnbwdError):
    """A call of the runtime library failed.

    ``status`` is the number of ``lnbwd_status`` and ``status_name`` its name, for example
    ``LNBWD_ERROR_NO_DEVICE``.
    """

    def __init__(self, status: int, status_name: str, message: str) -> None:
        super().__init__(f"{message} [{status_name}]")
        self.status = status
        self.status_name = status_name


class CacheWarning(UserWarning):
    """The kernel cache could not be used as wanted; work goes on without it."""


def forget_warnings() -> None:
    """Has :func:`warn_once` warn of everything again."""
    _warned.clear()


def warn_once(what: str, message: str, category: type[Warning] = RuntimeWarning,
              stacklevel: int = 2) -> None:
    """Warns once in a process about ``what``; ``stacklevel`` is that of the caller's own warn()."""
    if what not in _warned:
        _warned.add(what)
        warnings.warn(message, category, stacklevel=stacklevel + 1)


def place_of(function: Callable[..., Any], line: int | None = None) -> str:
    """File and line of a function, or of a line in it with its text."""
    code = function.__code__
    if line is None:
        return f"{code.co_filename}:{code.co_firstlineno}"
    text = linecache.getline(code.co_filename, line).strip()
    return f"{code.co_filename}:{line}" + (f": `{text}`" if text else "")


def refusal(function: Callable[..., Any], line: int | None, reason: str) -> TypeError:
    """The error that a function cannot be a row function, for one of its lines."""
    return TypeError(f"{place_of(function, line)}: {function.__name__} is not a row function: "
                     f"{reason}")


def renamed(**names: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator of a function whose arguments had other names: maps each old name to its
    replacement. An old name raises a TypeError that names the replacement."""
    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def call(*arguments: P.args, **options: P.kwargs) -> R:
            for old in names.keys() & options.keys():
                raise TypeError(f"{function.__name__}() has no argument '{old}' since version 0.2: "
                                f"{names[old]}")
            return function(*arguments, **options)

        return call

    return decorate
