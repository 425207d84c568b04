# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where the package lies, files that are written whole or not at all, as lnbwd-opt writes them
(lib/Support/OutputFile.cpp), and files of JSON that say of which format they are."""

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
    """Writes to a file beside ``path``, which then takes its name; text as UTF-8.

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
    """Tries what :func:`write_whole` would need, for those who have long to work before they write.

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
    """A JSON file that says of which format it is.

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
    """What the process's mask leaves of read and write for all; asking sets it for a moment."""
    mask = os.umask(0o077)
    os.umask(mask)
    return 0o666 & ~mask
