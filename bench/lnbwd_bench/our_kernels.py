# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""lnbwd-opt, and streams to compare kernels with, compiled now, or before on another machine."""

from __future__ import annotations

import os
import pathlib
import shutil
import tempfile

from lnbwd import compiler, operations, runtime
from lnbwd.core.base import chip_table

from . import stream
from .shapes import Shape

_SIMULATED = {chip: facts for chip, facts in chip_table.FACTS.items() if facts["simulated"]}
BOUNDED_CHIPS = [chip for chip, facts in _SIMULATED.items() if facts["tests"] == "many"]
"""AMD's chips whose counts tests bound: the model that chooses schedules was trained on them."""
COUNTED_CHIPS = BOUNDED_CHIPS + [
    chip for chip, facts in _SIMULATED.items()
    if facts["family"] not in {_SIMULATED[bounded]["family"] for bounded in BOUNDED_CHIPS}]
"""AMD's chips on whose simulator instructions and bytes are counted: each family has one."""


class KernelError(RuntimeError):
    """A kernel that cannot be had; the message says why and what to do."""


def operation(shape: Shape, name: str = operations.LAYER_NORM_BWD) -> str:
    """A norm or its gradient as MLIR with M in its types."""
    op = operations.OPERATIONS[name]
    # A gradient is that from x, with saved statistics.
    types = {o.name: operations.buffer_type(
        o.role.kind, "f32" if o.role.kind == "row_scalar" else shape.dtype, [shape.n],
        leading=[shape.m]) for o in op.operands if not o.role.has_own_element
        and (op.is_forward or o.is_output or o.name not in ("y", "beta"))}
    return operations.mlir(op.name, types)


def find_compiler() -> pathlib.Path:
    """lnbwd-opt: LNBWD_OPT, else the one of the build folder; a KernelError if there is none."""
    build = pathlib.Path(os.environ.get("LNBWD_BUILD_DIR",
                                        pathlib.Path(__file__).resolve().parents[2] / "build"))
    chosen = os.environ.get("LNBWD_OPT") or build / "bin" / "lnbwd-opt"
    found = shutil.which(chosen)
    if not found:
        raise KernelError(f"the compiler '{chosen}' is not there: build lnbwd-opt, set LNBWD_OPT "
                          "to it, or work with what was compiled elsewhere")
    return pathlib.Path(found)


def stream_files(chip: str, folder: pathlib.Path, traffic: stream.Traffic,
                 few: bool = False) -> dict[str, pathlib.Path]:
    """The files of the stream for an AMD chip in a folder, by the names of its schedules."""
    return {text or "the compiler's schedule": folder / (
                f"stream-{traffic.reads}-{traffic.writes}-{chip.replace(':', '-')}-{index}.hsaco")
            for index, text in enumerate(stream.schedules()[:2 if few else None])}


def compile_streams(chip: str, folder: pathlib.Path, traffic: stream.Traffic,
                    few: bool = False) -> None:
    """Compiles the stream for an AMD chip to its files; NVIDIA's is text."""
    if chip_table.is_nvidia(chip):
        return
    for text, file in zip(stream.schedules(), stream_files(chip, folder, traffic, few).values(),
                          strict=False):
        file.write_bytes(compiler.compile_mlir(
            stream.stream_mlir(traffic), chip,
            pipeline_options=f"schedule={text}" if text else "").code)


def stream_programs(chip: str, folder: pathlib.Path | None, few: bool,
                    traffic: stream.Traffic) -> dict[str, runtime.Program]:
    """The stream for a chip, by the names of its variants: PTX, which needs no compiler; for AMD
    the kernels of a folder (a KernelError if it has none), or else compiled now. ``few``: two."""
    if chip_table.is_nvidia(chip):
        return {str(variant): runtime.Program.from_bytes(
                    stream.stream_ptx(variant, traffic).encode())
                for variant in stream.variants()[:2 if few else None]}
    with tempfile.TemporaryDirectory(prefix="lnbwd-bench-stream-") as scratch:
        if folder is None:
            folder = pathlib.Path(scratch)
            compile_streams(chip, folder, traffic, few)
        files = stream_files(chip, folder, traffic, few)
        if not all(file.exists() for file in files.values()):
            raise KernelError(f"{folder} has no stream of {traffic} for {chip}: compile the folder "
                              "again, with this version")
        return {name: runtime.Program.from_file(file) for name, file in files.items()}
