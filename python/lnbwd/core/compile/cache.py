# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled kernels on disk, shared by all processes.

Each kernel and compiler has a file, ``<folder>/v1/<chip>/<digest of the spec>/<compiler>.kernel``.
Derived gradients, which are MLIR, are in ``<folder>/v1/any``, results of measurements, which are
JSON, among their chip's kernels. A file has a line of JSON (its description, with a checksum of the
code), and the code. It is written whole or not at all; writers never wait for one another. A
damaged file is reported once, and its kernel compiled again. A folder that cannot be written is
reported once, and not used.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import pathlib
import re

from ..base import environment
from ..base.errors import CacheWarning, warn_once
from ..base.files import write_whole
from .spec import Cached, GradientSpec

_FORMAT = "lnbwd-kernel 1"
_MAX_HEADER = 1 << 16


def default_folder() -> pathlib.Path | None:
    """The folder of the cache: LNBWD_CACHE_DIR ("off": none), or lnbwd in the user's cache folder
    (XDG_CACHE_HOME, ~/.cache). "~" stands for the home folder in the former, too."""
    chosen = environment.read("LNBWD_CACHE_DIR")
    if chosen:
        return None if chosen == "off" else pathlib.Path(os.path.expanduser(chosen))
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        return (pathlib.Path(base) if base else pathlib.Path.home() / ".cache") / "lnbwd"
    except RuntimeError:  # No home folder.
        return None


class KernelCache:
    """A folder of compiled kernels, or None: every lookup misses and nothing is kept."""

    def __init__(self, folder: str | os.PathLike[str] | None) -> None:
        self.folder = None if folder is None else pathlib.Path(folder)

    def _warn(self, kind: str, message: str) -> None:
        """Once for each kind of trouble; a damaged entry has a kind of its own."""
        warn_once(f"{kind} {self.folder}", message, CacheWarning, stacklevel=4)

    def _entry_folder(self, spec: Cached) -> pathlib.Path:
        assert self.folder is not None
        return self.folder / "v1" / spec.chip / spec.digest()

    def load(self, spec: Cached, compiler: str | None) -> bytes | None:
        """The code of ``spec`` by a compiler, or None. Without a compiler, as on other machines,
        that of any, the latest first."""
        if self.folder is not None:
            folder = self._entry_folder(spec)
            for path in [folder / f"{compiler}.kernel"] if compiler else self._files(folder):
                code = self._read(path, spec)
                if code is not None:
                    return code
        return None

    @staticmethod
    def _files(folder: pathlib.Path) -> list[pathlib.Path]:
        try:
            files = [(path.stat().st_mtime_ns, path) for path in folder.glob("*.kernel")]
        except OSError:
            return []
        return [path for _, path in sorted(files, reverse=True)]

    def _read(self, path: pathlib.Path, spec: Cached) -> bytes | None:
        try:
            if path.is_fifo():  # Waiting for what comes out of it might have no end.
                path.unlink()
            data = path.read_bytes()
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:  # (ValueError: a name with a zero character.)
            self._warn("read", f"the kernel cache {self.folder} cannot be read: {error}; working "
                               "without it. Set LNBWD_CACHE_DIR to another folder, or to 'off'.")
            return None
        try:
            return self._check(data, spec)
        except (ValueError, RecursionError) as error:
            self._warn(str(path), f"the cache entry {path} is damaged ({error}); it is not used, "
                                  "and is replaced where a compiler is at hand")
            return None

    @staticmethod
    def _check(data: bytes, spec: Cached) -> bytes:
        head, newline, code = data.partition(b"\n")
        if not newline or len(head) > _MAX_HEADER:
            raise ValueError("it has no header")
        header = json.loads(head)
        if not isinstance(header, dict) or header.get("format") != _FORMAT:
            raise ValueError(f"expected the format {_FORMAT!r}")
        if header.get("size") != len(code):
            raise ValueError(f"expected {header.get('size')} bytes of code, got {len(code)}")
        if header.get("sha256") != hashlib.sha256(code).hexdigest():
            raise ValueError("the checksum is wrong")
        if header.get("digest") != spec.digest():
            raise ValueError("it is of another kernel")
        return code

    def store(self, spec: Cached, compiler: str, code: bytes) -> bool:
        """Keeps the code. False, after one warning, if the folder does not take it."""
        if self.folder is None:
            return False
        described = dataclasses.asdict(spec)
        described.pop("source")
        header = {"format": _FORMAT, "digest": spec.digest(), "size": len(code),
                  "sha256": hashlib.sha256(code).hexdigest(), "compiler": compiler,
                  "spec": described}
        folder = self._entry_folder(spec)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            write_whole(folder / f"{compiler}.kernel", json.dumps(header).encode() + b"\n" + code)
        except (OSError, ValueError) as error:
            self._warn("write", f"the kernel cache {self.folder} cannot be written: {error}; "
                                "kernels are compiled again in every process. Set LNBWD_CACHE_DIR "
                                "to a folder with room, or to 'off'.")
            return False
        return True

    def chips(self) -> list[str]:
        """The chips that the cache has kernels for."""
        if self.folder is None:
            return []
        try:
            return sorted(path.name for path in (self.folder / "v1").iterdir() if path.is_dir()
                          and re.fullmatch(r"[A-Za-z0-9_]+", path.name)
                          and path.name != GradientSpec.chip)
        except OSError:
            return []
