# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The package's folder, and files that are written whole or not at all, as lnbwd-opt writes them
(lib/Support/OutputFile.cpp)."""

from __future__ import annotations

import contextlib
import os
import pathlib
import stat
import tempfile

PACKAGE = pathlib.Path(__file__).resolve().parents[2]
"""The package's folder, in which an installation has its libraries and programs."""


def write_whole(path: str | os.PathLike[str], data: bytes | str) -> None:
    """Writes a temporary file beside ``path``, then renames it to ``path``; text as UTF-8. Where
    that fails, with an OSError, what was there before is there still. A symbolic link stays one, to
    the new file; a file that was there keeps its permissions. What is no regular file, a pipe or a
    device, is written to in place."""
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
    """Checks that :func:`write_whole` can write, before long work; raises its OSErrors."""
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


def _new_file_mode() -> int:
    """The mode of new files by the process's mask, which a read sets for a moment."""
    mask = os.umask(0o077)
    os.umask(mask)
    return 0o666 & ~mask
