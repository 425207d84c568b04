# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The compiler half: MLIR text in, machine code out.

A thin binding of ``include/lnbwd/Compiler/lnbwd_compiler.h`` by ctypes. The library behind it
holds LLVM and MLIR; everything else of the package works without it.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import pathlib
import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..base import chip_table, environment
from ..base.errors import CompileError, LnbwdError
from ..runtime.bindings import find_library, open_library

__all__ = ["Gradient", "available", "bundle", "chips", "compile_mlir", "compiler_id",
           "differentiate", "versions"]

_REMEDY = ("this installation has the runtime half only: install with LLVM and MLIR 22 at hand, or "
           "run kernels that were compiled elsewhere (lnbwd.precompile fills a cache to copy)")


class _Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t)] + [(name, ctypes.c_char_p) for name in (
        "chip", "pipeline_options", "format", "source_name", "save_temps")] + [
        ("report_rows", ctypes.c_int64)]


class _DifferentiateOptions(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t)] + [(name, ctypes.c_char_p) for name in (
        "wrt", "of", "saved", "source_name")]


_P = ctypes.c_void_p
_SIGNATURES: dict[str, tuple[Any, list[Any]]] = {
    "lnbwd_compiler_version": (ctypes.c_char_p, []),
    "lnbwd_compiler_llvm_version": (ctypes.c_char_p, []),
    "lnbwd_compile": (ctypes.c_int, [ctypes.c_char_p, ctypes.c_size_t, ctypes.POINTER(_Options),
                                     ctypes.POINTER(_P)]),
    "lnbwd_differentiate": (ctypes.c_int, [
        ctypes.c_char_p, ctypes.c_size_t, ctypes.POINTER(_DifferentiateOptions),
        ctypes.POINTER(_P)]),
    "lnbwd_compilation_diagnostics": (ctypes.c_char_p, [_P]),
    "lnbwd_compilation_get": (ctypes.c_int, [_P, ctypes.c_char_p, ctypes.POINTER(_P),
                                             ctypes.POINTER(ctypes.c_size_t)]),
    "lnbwd_compilation_destroy": (None, [_P]),
}

_BUNDLE_MAGIC = b"__CLANG_OFFLOAD_BUNDLE__"
# A loader maps code where it lies in the file.
_CODE_ALIGNMENT = 4096

_HEAD = 1 << 16
"""The first bytes of a library, in which its notes are."""


@functools.lru_cache(maxsize=1)
def _library() -> ctypes.CDLL:
    return open_library("lnbwd-compiler", _SIGNATURES, _REMEDY)


@functools.lru_cache(maxsize=1)
def available() -> bool:
    """Whether this installation has the compiler half, and its library can be loaded."""
    try:
        _library()
    except LnbwdError:
        return False
    return True


def versions() -> tuple[str, str]:
    """The versions of the compiler and of LLVM, ("0.2.0", "22.1.8")."""
    library = _library()
    return (library.lnbwd_compiler_version().decode(),
            library.lnbwd_compiler_llvm_version().decode())


@functools.lru_cache(maxsize=1)
def compiler_id() -> str | None:
    """Names this very build of the compiler, and the file that LNBWD_MODEL names, by a digest of
    its library; None if there is none. Two compilers that may emit different code have different
    names. The library is read, not loaded, which takes a hundred times longer."""
    path = find_library("lnbwd-compiler")
    if path is None:
        return None
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
            # What the linker wrote into an ELF file: sizes and kind of a note, whose it is, and it.
            note = re.search(rb"\x04\0\0\0(.)\0\0\0\x03\0\0\0GNU\0", head, re.DOTALL)
            identity = (head[note.end():note.end() + note[1][0]].hex() if note else
                        hashlib.sha256(head + file.read()).hexdigest())
        if model := environment.read("LNBWD_MODEL"):
            named = pathlib.Path(model)
            trees = named.read_bytes() if named.is_file() else b""
            identity = hashlib.sha256(identity.encode() + trees).hexdigest()
    except OSError:
        return None
    return f"lnbwd-{identity[:24]}"


def chips() -> Mapping[str, Mapping[str, Any]]:
    """The facts of each chip of the compiler, ``chips()["gfx942"]["computeUnits"]``;
    docs/reference/chips.md lists the names."""
    return chip_table.FACTS


@dataclass(frozen=True)
class Compiled:
    """The result of a compilation.

    Attributes:
        code: machine code with its launch plan, in the format asked for.
        isa, llvm: the target's assembly, for NVIDIA the PTX, and LLVM IR after optimisation.
        diagnostics: warnings and remarks with lines of the source; mostly empty.
    """

    code: bytes
    isa: str
    llvm: str
    diagnostics: str


def _call(what: str, function: Any, *arguments: Any) -> dict[str, bytes]:
    """The parts of a function's result, which is given back. Raises CompileError with its words."""
    library, result = _library(), _P()
    status = function(*arguments, ctypes.byref(result))
    if not result.value:
        raise CompileError(f"{what}: the compiler library does not take the call (status "
                           f"{status}): is it of another version than the package?")
    try:
        diagnostics = library.lnbwd_compilation_diagnostics(result).decode(errors="replace")
        if status:
            first = next((line for line in diagnostics.splitlines()
                          if "error:" in line or "no such option" in line), "no reason given")
            raise CompileError(f"{what}: {first.strip()}", diagnostics)
        parts = {"diagnostics": diagnostics.encode()}
        for name in ("code", "isa", "llvm"):
            data, size = _P(), ctypes.c_size_t()
            if library.lnbwd_compilation_get(result, name.encode(), ctypes.byref(data),
                                             ctypes.byref(size)) == 0:
                parts[name] = ctypes.string_at(data.value or 0, size.value) if size.value else b""
        return parts
    finally:
        library.lnbwd_compilation_destroy(result)


def check_texts(**texts: object) -> None:
    """Raises TypeError or CompileError for an argument that is no text or has zero characters."""
    for name, text in texts.items():
        if not isinstance(text, str):
            raise TypeError(f"{name}: expected a text, got {type(text).__name__}")
        if "\0" in text:
            raise CompileError(f"{name}: expected text without zero characters")


def compile_mlir(source: str, chip: str, *, pipeline_options: str = "", format: str = "",
                 source_name: str = "", save_temps: str = "", report_rows: int = 0) -> Compiled:
    """Compiles one function of MLIR text.

    Args:
        source: a module with one function of lnbwd operations.
        chip: "gfx942", "sm_90", ...; :func:`chips` has them all.
        pipeline_options: options of lnbwd-pipeline beside ``chip``, for example
            "schedule=threads_per_row=128,row_groups=2 two-pass=always".
        format: "hsaco", "ptx", "cubin" (by the ptxas in PATH or CUDA_HOME), or a text: "mlir",
            "llvm", "isa", "report", "report-json"; empty: "hsaco" or "ptx".
        source_name: the name of the source in diagnostics.
        save_temps: a folder for the IR after each stage.
        report_rows: the number of rows that the formats "report" and "report-json" are for.

    Raises:
        TypeError: an argument is no text; the message names it.
        CompileError: the source or an option is wrong; ``diagnostics`` has every line.
        LibraryError: there is no compiler in this installation.
    """
    check_texts(source=source, chip=chip, pipeline_options=pipeline_options, format=format,
                 source_name=source_name, save_temps=save_temps)
    texts = (chip, pipeline_options, format, source_name, save_temps)
    options = _Options(ctypes.sizeof(_Options), *(text.encode() or None for text in texts),
                       report_rows)
    data = source.encode()
    parts = _call(f"cannot compile {source_name or 'the source'} for {chip or 'no chip'}",
                  _library().lnbwd_compile, data, len(data), ctypes.byref(options))
    return Compiled(parts["code"], parts.get("isa", b"").decode(),
                    parts.get("llvm", b"").decode(), parts["diagnostics"].decode())


@dataclass(frozen=True)
class Gradient:
    """The result of :func:`differentiate`.

    Attributes:
        mlir: a module with one function, the gradient, on memrefs.
        operands: the names of its arguments in order: "dy" for an output y, "x" for an input or a
            saved output that it needs, "dx" for an output of the gradient.
    """

    mlir: str
    operands: tuple[str, ...]

    @staticmethod
    def from_mlir(text: str) -> Gradient:
        """The gradient that a module holds."""
        names: dict[str, str] = {}
        for operands, given in re.findall(r"lnbwd\.rowwise @(.*?)operand_names = \[(.*?)\]", text):
            names |= zip(re.findall(r"(%\w+)\[", operands), re.findall(r'"(.*?)"', given),
                         strict=True)
        if not names:
            raise CompileError("source: expected a function with one forward operation of lnbwd, "
                               "got none")
        arguments = re.findall(r"(%\w+):", text[:text.index("\n", text.index("func.func"))])
        return Gradient(text, tuple(names[argument] for argument in arguments))


def differentiate(source: str, *, wrt: Sequence[str] = (), of: Sequence[str] = (),
                  saved: Sequence[str] = ()) -> Gradient:
    """Derives the gradient of a row program; the pass lnbwd-differentiate, for no chip yet.

    Args:
        source: a module with one function, which holds one forward operation.
        wrt: the inputs that gradients are wanted of; (): all.
        of: the outputs that the loss depends on; (): all but the row scalars that are saved.
        saved: the outputs that the gradient is given; (): the statistics of a named operation.

    Raises:
        TypeError: the source is no text, or a text stands for a list of names.
        CompileError: the source is wrong, or something in it has no derivative.
        LibraryError: there is no compiler in this installation.
    """
    check_texts(source=source)
    for name, given in (("wrt", wrt), ("of", of), ("saved", saved)):
        if isinstance(given, str):
            raise TypeError(f"{name}: expected a list of names, got the text {given!r}; write "
                            f"{name}=[{given!r}]")
    options = _DifferentiateOptions(
        ctypes.sizeof(_DifferentiateOptions),
        *(",".join(names).encode() or None for names in (wrt, of, saved)), None)
    data = source.encode()
    parts = _call("cannot derive a gradient", _library().lnbwd_differentiate, data, len(data),
                  ctypes.byref(options))
    return Gradient.from_mlir(parts["code"].decode())


def bundle(entries: Mapping[str, bytes]) -> bytes:
    """One file for several chips, in clang's offload bundle format.

    hipModuleLoadData is documented to take it as it is, ``clang-offload-bundler --list --type=o``
    shows it, and ``runtime.Program.for_chip`` takes the entry for a device out of it.

    Args:
        entries: code by chip.

    Raises:
        CompileError: a chip is unknown, or there is none.
    """
    if not entries:
        raise CompileError("an offload bundle: expected one chip or more, got none")
    parts = [("host-x86_64-unknown-linux-gnu-", b"")]
    for target, code in entries.items():
        chip, *settings = target.split(":")
        if chip not in chip_table.FACTS:
            raise CompileError(f"an offload bundle: unknown chip {chip!r}, expected one of: "
                               + ", ".join(chip_table.FACTS))
        triple = ("hip-nvptx64-nvidia-cuda" if chip_table.is_nvidia(chip)
                  else "hipv4-amdgcn-amd-amdhsa")
        parts.append((":".join([f"{triple}--{chip}", *sorted(settings)]), code))
    position = len(_BUNDLE_MAGIC) + 8 + sum(24 + len(name) for name, _ in parts)
    table, codes = _BUNDLE_MAGIC + struct.pack("<Q", len(parts)), b""
    for name, code in parts:
        codes += bytes(-(position + len(codes)) % _CODE_ALIGNMENT)
        table += struct.pack("<3Q", position + len(codes), len(code), len(name)) + name.encode()
        codes += code
    return table + codes
