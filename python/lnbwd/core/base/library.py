# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds and opens the package's shared libraries.

An installed package carries them in ``lnbwd/lib``. In a checkout they are in ``build/lib``. Where
``LNBWD_LIBRARY_DIR`` names a folder, that one alone is searched.
"""

from __future__ import annotations

import ctypes
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

from . import settings
from .errors import LibraryError
from .files import PACKAGE


def library_folders() -> list[pathlib.Path]:
    """The folders that are searched for shared libraries, the first match winning."""
    chosen = settings.read("LNBWD_LIBRARY_DIR")
    if chosen:
        return [pathlib.Path(chosen)]
    return [PACKAGE / "lib", PACKAGE.parents[1] / "build" / "lib"]


def find_library(name: str) -> pathlib.Path | None:
    """The file of the shared library ``name`` ("lnbwd-runtime"), or None if there is none."""
    for folder in library_folders():
        for file in (f"lib{name}.so", f"lib{name}.so.0"):
            path = folder / file
            if path.exists():
                return path
    return None


def open_library(name: str, signatures: Mapping[str, tuple[Any, Sequence[Any]]],
                 remedy: str, kind: type[ctypes.CDLL] = ctypes.CDLL) -> ctypes.CDLL:
    """Opens the shared library ``name``, with the result and the arguments of each function.

    Raises:
        LibraryError: there is no such file, or it cannot be loaded; the message ends in ``remedy``.
    """
    path = find_library(name)
    if path is None:
        places = ", ".join(str(folder) for folder in library_folders())
        if settings.read("LNBWD_LIBRARY_DIR"):
            places += ", which LNBWD_LIBRARY_DIR names"
        raise LibraryError(f"lib{name}.so was not found in {places}; {remedy}")
    try:
        library = kind(str(path))
    except OSError as error:
        raise LibraryError(f"cannot load {path}: {error}; {remedy}") from error
    for function, (result, arguments) in signatures.items():
        getattr(library, function).restype = result
        getattr(library, function).argtypes = arguments
    return library
