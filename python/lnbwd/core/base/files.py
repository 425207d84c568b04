# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The package's folder, files that are written whole or not at all, as lnbwd-opt writes them
(lib/Support/OutputFile.cpp), and JSON files that name their format."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import stat
import tempfile
from typing import Any

PACKAGE = pathlib.Path(__file__).resolve().parents[2]
"""The package's folder, in which an installation has its libraries and programs."""


def write_whole(path: str | os.PathLike[str], data: bytes | str) -> None:
    """Writes a temporary file beside ``path``, then renames it to ``path``; text as UTF-8.

    Where that fails, with an OSError, what was there before is there still. A symbolic link
    stays one, to the new file; a file that was there keeps its permissions. What is no regular
    file, a pipe or a device, is written to in place.
    """
    contents = data.encode() if isinstance(data, str) else data
    target = pathlib.Path(os.path.realpath(path))
    mode = None
    with contextlib.suppress(FileNotFoundError):
        mode = target.stat().st_mode
    name = os.fspath(path)
    if name.startswith(("/dev/", "/proc/")) or (mode is not None and not stat.S_ISREG(mode)):
        with open(path, "wb") as file:
            file.write(contents)
        return
    if mode is not None and not os.access(target, os.W_OK):
        raise PermissionError(13, os.strerror(13), name)
    descriptor, temporary = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp",
                                             dir=target.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(contents)
        os.chmod(temporary, _new_file_mode() if mode is None else stat.S_IMODE(mode))
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def check_writable(path: str | os.PathLike[str]) -> None:
    """Checks that :func:`write_whole` can write, before long work.

    Raises:
        OSError: ``path`` is a folder, or cannot be written; nothing has changed.
    """
    target = pathlib.Path(os.path.realpath(path))
    name = os.fspath(path)
    if target.is_dir():
        raise IsADirectoryError(21, os.strerror(21), name)
    if target.exists() and not os.access(target, os.W_OK):
        raise PermissionError(13, os.strerror(13), name)
    if target.is_file() or not target.exists():
        descriptor, temporary = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp",
                                                 dir=target.parent)
        os.close(descriptor)
        os.unlink(temporary)


def read_document(path: pathlib.Path, name: str, version: int) -> dict[str, Any]:
    """Reads a JSON file that names its format.

    Raises:
        OSError: it cannot be read.
        ValueError: it is no JSON, or of another format or version; the message names the file.
    """
    try:
        document = json.loads(path.read_bytes())
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    found = document if isinstance(document, dict) else {}
    if (found.get("format"), found.get("version")) != (name, version):
        raise ValueError(f"{path}: expected format '{name}' version {version}, got "
                         f"'{found.get('format')}' version {found.get('version')}")
    return found


def _new_file_mode() -> int:
    """The mode of new files by the process's mask, which a read sets for a moment."""
    mask = os.umask(0o077)
    os.umask(mask)
    return 0o666 & ~mask
