# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled files with their launch plans."""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass

from ..base import operations
from .bindings import ArgumentInfo, Handle, check, make, open_runtime

_ACCESS = ("read", "write", "read_write")

KINDS = tuple(operations.KINDS)
"""Shapes of arguments, in the order of lnbwd_argument_kind."""

ELEMENTS = tuple(operations.ELEMENTS)
"""Element types, in the order of lnbwd_element."""


@dataclass(frozen=True)
class Argument:
    """One argument of a program: what a launch passes a pointer for.

    Attributes:
        access: "read", "write" (every element is written) or "read_write".
        kind: the name of its dimensions in :data:`lnbwd.operations.KINDS`: "row_block" (M x
            row_length), "column" (row_length), "row_scalar" (M), "group_column" (B x row_length: a
            row for each of B groups of M / B rows), "repeated_row_block" (M / B x row_length), ...
        element: "f16", "bf16", "f32", or "i8": a byte, of a mask 0 or 1.
        alignment: what its address has to be a multiple of, in bytes.
    """

    name: str
    access: str
    kind: str
    element: str
    row_length: int
    alignment: int = 16


class Program(Handle):
    """A compiled file with its launch plan, before any device.

    Attributes:
        name, chip, format: "layer_norm_bwd", "gfx942", "hsaco".
        plan: the launch plan as JSON text (docs/runtime.md).
        arguments: in the order that a launch takes them.
    """

    _destroy = "lnbwd_program_destroy"

    def __init__(self, handle: int) -> None:
        super().__init__(handle)
        library = open_runtime()
        self.name, self.chip, self.format, self.plan = (
            str(getattr(library, f"lnbwd_program_{what}")(handle).decode())
            for what in ("name", "chip", "format", "plan"))
        arguments = []
        for index in range(library.lnbwd_program_argument_count(handle)):
            info = ArgumentInfo()
            check(library.lnbwd_program_argument(handle, index, ctypes.byref(info)))
            arguments.append(Argument(info.name.decode(), _ACCESS[info.access], KINDS[info.kind],
                                      ELEMENTS[info.element], info.row_length,
                                      info.alignment))
        self.arguments: tuple[Argument, ...] = tuple(arguments)

    @staticmethod
    def from_bytes(code: bytes) -> Program:
        """Reads a compiled kernel: an AMD code object, a cubin or PTX text.

        Raises:
            RuntimeStatusError: the bytes are no compiled kernel, are cut off or damaged.
        """
        return Program(make(open_runtime().lnbwd_program_from_memory, code, len(code), None))

    @staticmethod
    def for_chip(code: bytes, chip: str) -> Program:
        """Reads a compiled kernel, or of a bundle for several chips the entry for ``chip``, the
        device's ``info.arch``.

        Raises:
            RuntimeStatusError: no entry is for this chip; the message names those there are.
        """
        return Program(make(open_runtime().lnbwd_program_from_memory, code, len(code),
                            chip.encode()))

    @staticmethod
    def from_file(path: str | os.PathLike[str]) -> Program:
        """Reads a file that holds a compiled kernel."""
        return Program(make(open_runtime().lnbwd_program_from_file, os.fsencode(path)))

    @property
    def has_groups(self) -> bool:
        """Whether the rows are groups, so that sizes and launches depend on their number, too."""
        return any(operations.KINDS[argument.kind].tells_groups for argument in self.arguments)

    def argument_size(self, index: int, rows: int, groups: int | None = None) -> int:
        """The size in bytes of argument ``index`` for M = ``rows`` in B = ``groups``."""
        size = ctypes.c_size_t()
        check(open_runtime().lnbwd_program_argument_size(
            self._handle, index, rows, groups or 0, ctypes.byref(size)))
        return size.value
