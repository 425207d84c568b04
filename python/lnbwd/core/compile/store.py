# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where the code of kernels comes from: memory, the cache on disk, the compiler."""

from __future__ import annotations

import dataclasses
import functools
import os
import shutil
import threading
from collections.abc import Callable

from ..base import chip_table
from ..base.errors import LnbwdError
from . import compiler
from .cache import KernelCache, default_folder
from .spec import ROWS_HINTS, GradientSpec, Spec

_lock = threading.Lock()

_memory: dict[Spec | GradientSpec, bytes] = {}

_cache: KernelCache | None = None


def kernel_cache() -> KernelCache:
    """The process's cache on disk."""
    global _cache
    if _cache is None:
        with _lock:
            if _cache is None:
                _cache = KernelCache(default_folder())
    return _cache


def set_cache_folder(folder: str | os.PathLike[str] | None) -> None:
    """Uses another folder for the cache on disk from now on; None: none. What is in memory already
    stays in use."""
    global _cache
    _cache = KernelCache(folder)


@functools.lru_cache(maxsize=1)
def has_ptxas() -> bool:
    """Whether the compiler finds NVIDIA's assembler."""
    home = os.environ.get("CUDA_HOME")
    return bool(shutil.which("ptxas") or (home and shutil.which("ptxas", path=f"{home}/bin")))


def code_format(chip: str) -> str:
    """The format that code for a chip is kept in: "hsaco"; for NVIDIA "cubin" where there is a
    ptxas, so that the driver has nothing left to compile, and else "ptx"."""
    return "cubin" if chip_table.is_nvidia(chip) and has_ptxas() else chip_table.code_format(chip)


def _look_up(spec: Spec | GradientSpec) -> bytes | None:
    """The code of a spec from memory or from disk."""
    code = _memory.get(spec)
    if code is None:
        code = kernel_cache().load(spec, compiler.compiler_id())
        if code is not None:
            _memory[spec] = code
    return code


def compiled(spec: Spec | GradientSpec) -> compiler.Compiled:
    """A kernel by the compiler, or the MLIR of a gradient, whatever the caches have."""
    if isinstance(spec, GradientSpec):
        text = compiler.differentiate(spec.source, wrt=spec.wrt, of=spec.of, saved=spec.saved).mlir
        return compiler.Compiled(text.encode(), "", "", "")
    return compiler.compile_mlir(
        spec.mlir(), spec.chip, pipeline_options=spec.pipeline_options(), format=spec.format,
        source_name=spec.source_name)


def derive_gradient(spec: GradientSpec) -> compiler.Gradient:
    """A derived gradient: from memory, from the cache on disk, or by the compiler.

    Raises:
        CompileError: the compiler refuses it.
        LnbwdError: there is no compiler, and the cache does not have it.
    """
    return compiler.Gradient.from_mlir(obtain(spec)[0].decode())


def obtain(spec: Spec | GradientSpec) -> tuple[bytes, compiler.Compiled | None]:
    """The code of a spec, and all of the compilation if there was one."""
    code = _look_up(spec)
    if code is not None:
        return code, None
    identity = compiler.compiler_id()
    if identity is None:
        what, remedy = (
            (str(spec).replace("the", "no", 1), "run what needs it elsewhere")
            if isinstance(spec, GradientSpec) else
            (f"no kernel for {spec}", "compile it elsewhere with lnbwd.precompile"))
        raise LnbwdError(
            f"there is {what}: this installation has no compiler, and the kernel cache "
            f"({kernel_cache().folder or 'switched off'}) does not have it; {remedy}, and copy the "
            "cache's folder here (LNBWD_CACHE_DIR names it)")
    result = compiled(spec)
    kernel_cache().store(spec, identity, result.code)
    _memory[spec] = result.code
    return result.code, result


def _capability(chip: str) -> int:
    """The number of "sm_90"; 0 for a chip that is not NVIDIA's."""
    digits = chip.removeprefix("sm_")
    return int(digits) if chip_table.is_nvidia(chip) and digits.isdigit() else 0


def code_for_device(make: Callable[[str, str], Spec], chip: str) -> bytes:
    """The code to run on a device whose chip is ``chip``.

    That is code for the chip itself, from a cache before the compiler. For an NVIDIA chip that
    the compiler does not know, it is PTX for the latest chip before it.

    Args:
        make: gives the spec for a chip and a format.
        chip: the device's.
    """
    formats = ("cubin", "ptx") if chip_table.is_nvidia(chip) else ("hsaco",)
    for format in formats:
        code = _look_up(make(chip, format))
        if code is not None:
            return code
    if compiler.compiler_id() is None:
        # What was chosen for another number of rows, or for a usual one, is right for any.
        for rows in (0, *ROWS_HINTS):
            for format in formats:
                code = _look_up(dataclasses.replace(make(chip, format), rows=rows))
                if code is not None:
                    return code
    known = list(compiler.chips()) if compiler.available() else kernel_cache().chips()
    if chip not in known and chip_table.is_nvidia(chip):
        earlier = [c for c in known if 0 < _capability(c) <= _capability(chip)]
        if earlier:
            return compile_spec(make(max(earlier, key=_capability), "ptx"))
    if chip not in known and compiler.available():
        raise LnbwdError(f"the device's chip {chip} is not one that the compiler knows: "
                         + ", ".join(known))
    return compile_spec(make(chip, code_format(chip)))


def compile_spec(spec: Spec) -> bytes:
    """The machine code of a spec: from memory, from the cache on disk, or by the compiler.

    Raises:
        CompileError: the compiler refuses it.
        LnbwdError: there is no compiler, and the cache does not have it.
    """
    return obtain(spec)[0]
