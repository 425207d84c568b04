# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""lnbwd-opt, and the streams that kernels are compared with: compiled now, or before on a machine
that has the compiler. A folder of kernels has the streams for AMD's chips in a list of its own,
``streams.json``."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from lnbwd import compiler, operations, runtime
from lnbwd.core.base import chip_table
from lnbwd.core.base.files import write_whole

from . import stream, timing
from .results import read_document
from .shapes import Shape

_SIMULATED = {chip: facts for chip, facts in chip_table.FACTS.items() if facts["simulated"]}
BOUNDED_CHIPS = [chip for chip, facts in _SIMULATED.items() if facts["tests"] == "many"]
"""AMD's chips whose counts tests bound: the model that chooses schedules was trained on them."""
COUNTED_CHIPS = BOUNDED_CHIPS + [
    chip for chip, facts in _SIMULATED.items()
    if facts["family"] not in {_SIMULATED[bounded]["family"] for bounded in BOUNDED_CHIPS}]
"""AMD's chips on whose simulator instructions and bytes are counted: each family has one."""

# The list of pack_streams.
STREAMS, STREAMS_FORMAT, VERSION = "streams.json", "lnbwd-bench-streams", 1


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
    """lnbwd-opt: LNBWD_OPT, else that of the build folder.

    Raises:
        KernelError: there is none.
    """
    build = pathlib.Path(os.environ.get("LNBWD_BUILD_DIR",
                                        pathlib.Path(__file__).resolve().parents[2] / "build"))
    chosen = os.environ.get("LNBWD_OPT") or build / "bin" / "lnbwd-opt"
    found = shutil.which(chosen)
    if not found:
        raise KernelError(f"the compiler '{chosen}' is not there: build lnbwd-opt, set LNBWD_OPT "
                          "to it, or work with what was compiled elsewhere")
    return pathlib.Path(found)


def compile_streams(chip: str, folder: pathlib.Path, most: int | None,
                    traffic: stream.Traffic) -> dict[str, str]:
    """Compiles the stream for an AMD chip, in at most ``most`` schedules.

    Returns:
        the files, by what each is called.
    """
    files = {}
    for index, text in enumerate(stream.schedules()[:most]):
        name = f"stream-{traffic.reads}-{traffic.writes}-{chip.replace(':', '-')}-{index}.hsaco"
        options = f"schedule={text}" if text else ""
        (folder / name).write_bytes(compiler.compile_mlir(
            stream.stream_mlir(traffic), chip, pipeline_options=options).code)
        files[text or "the compiler's schedule"] = name
    return files


def stream_programs(chip: str, folder: pathlib.Path | None, few: bool,
                    traffic: stream.Traffic) -> dict[str, runtime.Program]:
    """The stream for a chip, by the names of its variants: PTX, which needs no compiler; for AMD
    what a folder of kernels has, or what is compiled now. ``few``: two of them.

    Raises:
        KernelError: they are not in the folder.
    """
    most = 2 if few else None
    if chip_table.is_nvidia(chip):
        return {str(variant): runtime.Program.from_bytes(
                    stream.stream_ptx(variant, traffic).encode())
                for variant in stream.variants()[:most]}
    if folder:
        files = {name: folder / file for name, file in _packed_streams(folder, traffic).items()}
        if not files:
            raise KernelError(f"{folder} has no stream of {traffic} for {chip}: compile the folder "
                              "again, with this version")
        return {name: runtime.Program.from_file(file)
                for name, file in list(files.items())[:most]}
    with tempfile.TemporaryDirectory(prefix="lnbwd-bench-stream-") as scratch:
        place = pathlib.Path(scratch)
        return {name: runtime.Program.from_file(place / file)
                for name, file in compile_streams(chip, place, most, traffic).items()}


def pack_streams(chip: str, folder: pathlib.Path, traffics: Iterable[stream.Traffic]) -> None:
    """Compiles the streams that kernels in a folder are compared with, with a list; for
    NVIDIA nothing."""
    if chip.startswith("gfx"):
        document = {"format": STREAMS_FORMAT, "version": VERSION, "chip": chip, "streams": {
            str(traffic): compile_streams(chip, folder, None, traffic) for traffic in traffics}}
        write_whole(folder / STREAMS, json.dumps(document, indent=1) + "\n")


def _packed_streams(folder: pathlib.Path, traffic: stream.Traffic) -> dict[str, str]:
    """The files of a folder that are a stream, by the names of its schedules."""
    try:
        document = read_document(folder / STREAMS, STREAMS_FORMAT, VERSION)
    except (OSError, ValueError) as error:
        raise KernelError(f"{error}; compile the folder again, with this version") from error
    return dict(document["streams"].get(str(traffic), {}))


class Stream:
    """The stream in several launch shapes or schedules, between arrays of one size."""

    def __init__(self, machine: Any, programs: Mapping[str, runtime.Program]) -> None:
        self._machine = machine
        self._programs = programs
        self._kernels = {name: runtime.Kernel(machine.ours, program)
                         for name, program in programs.items()}

    def prepare(self, name: str, array_bytes: int,
                pointers: Sequence[Sequence[int]]) -> Callable[[int], None] | None:
        """A call that streams one set of arrays, but for less than a row of the kernel's at their
        end; None if they are smaller than such a row.

        Args:
            name: of a program.
            array_bytes: of each array.
            pointers: for each set, where the arrays are, those that are read first.
        """
        kernel, program = self._kernels[name], self._programs[name]
        rows = array_bytes // program.argument_size(0, 1)
        if not rows:
            return None
        if any(len(arrays) != len(program.arguments) for arrays in pointers):
            raise ValueError(f"expected {len(program.arguments)} arrays in each set, got "
                             f"{sorted({len(arrays) for arrays in pointers})}")

        def call(slot: int) -> None:
            kernel.launch(pointers[slot], rows, 0, 0, self._machine.stream())

        return call

    def candidates(self, array_bytes: int,
                   pointers: Sequence[Sequence[int]]) -> list[timing.Candidate]:
        """All that can stream such arrays (see :meth:`prepare`), to be timed."""
        return [timing.Candidate(name, call) for name in self._kernels
                if (call := self.prepare(name, array_bytes, pointers))]
