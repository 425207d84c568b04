# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Our kernels: compiled by lnbwd-opt now, or before on a machine that has the compiler.

A folder of compiled kernels has a file ``manifest.json`` that says which file is for which shape,
and for AMD which ones are the stream in its schedules. Kernels of other operations than LayerNorm
backward have the streams that they are held against in a list of its own, ``streams.json``.
"""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable
from typing import Any

from lnbwd import _chips, operations, runtime
from lnbwd._files import read_document, write_whole
from lnbwd.spec import KernelSpec, rows_option

from . import stream
from .shapes import Shape

MANIFEST = "manifest.json"
FORMAT, VERSION = "lnbwd-bench-kernels", 1
# The list of pack_streams.
STREAMS, STREAMS_FORMAT = "streams.json", "lnbwd-bench-streams"


class KernelError(RuntimeError):
    """A kernel that cannot be had; the message says why and what to do."""


def operation(shape: Shape) -> str:
    """LayerNorm backward as MLIR with M in its types, by which lnbwd-tune's table has shapes."""
    op = operations.OPERATIONS[operations.LAYER_NORM_BWD]
    # From x, with saved statistics.
    types = {o.name: operations.buffer_type(
        o.role.kind, "f32" if o.role.kind == "row_scalar" else shape.dtype, [shape.n],
        leading=[shape.m]) for o in op.operands
        if not o.role.has_own_element and (o.is_output or o.name not in ("y", "beta"))}
    return operations.mlir(op.name, types)


def spec_of(shape: Shape, chip: str, emit: str) -> KernelSpec:
    """LayerNorm backward of one shape with gamma and all three gradients, as Python compiles it for
    a call with such tensors: for any M, with the shape's as a hint."""
    return KernelSpec(operations.LAYER_NORM_BWD, shape.n, shape.dtype, chip, shape.dtype,
                      shape.dtype, format=emit, rows=rows_option(shape.m, chip))


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


def compile_kernel(shape: Shape, chip: str, emit: str, output: pathlib.Path,
                   options: str = "") -> None:
    """Compiles ``shape`` for ``chip`` to a file; ``options`` are further ones of the pipeline.

    Raises:
        KernelError: there is no compiler, or it refuses; the message has its words.
    """
    spec = spec_of(shape, chip, emit)
    pipeline = " ".join(part for part in (spec.pipeline_options(), options) if part)
    _compile(spec.mlir(), str(shape), chip, pipeline, emit, output)


def _compile(mlir: str, what: str, chip: str, options: str, emit: str,
             output: pathlib.Path) -> None:
    command = [str(find_compiler()), "-", f"--lnbwd-pipeline=chip={chip} {options}".rstrip(),
               f"--emit={emit}", "-o", str(output)]
    result = subprocess.run(command, input=mlir, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise KernelError(f"lnbwd-opt could not compile {what} for {chip}: "
                          f"{result.stderr.strip() or 'no message'}")


def compile_streams(chip: str, folder: pathlib.Path, most: int | None = None,
                    traffic: stream.Traffic = stream.BACKWARD) -> dict[str, str]:
    """Compiles the stream for an AMD chip, in at most ``most`` schedules.

    Returns:
        the files, by what each is called.

    Raises:
        KernelError: it cannot be compiled.
    """
    files = {}
    for index, text in enumerate(stream.schedules()[:most]):
        name = f"stream-{traffic.reads}-{traffic.writes}-{chip.replace(':', '-')}-{index}.hsaco"
        _compile(stream.stream_mlir(traffic), f"the stream ({traffic})", chip,
                 f"schedule={text}" if text else "", "hsaco", folder / name)
        files[text or "the compiler's schedule"] = name
    return files


def stream_programs(chip: str, folder: pathlib.Path | None, few: bool,
                    traffic: stream.Traffic = stream.BACKWARD) -> dict[str, runtime.Program]:
    """The stream for a chip, by the names of its variants: PTX, which needs no compiler; for AMD
    what a folder of kernels has, or what is compiled now. ``few``: two of them.

    Raises:
        KernelError: they can neither be found nor compiled.
    """
    most = 2 if few else None
    if _chips.is_nvidia(chip):
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
    """Compiles the streams that kernels in a folder are held against, with a list of them; for
    NVIDIA nothing.

    Raises:
        KernelError: one cannot be compiled.
    """
    if chip.startswith("gfx"):
        document = {"format": STREAMS_FORMAT, "version": VERSION, "chip": chip, "streams": {
            str(traffic): compile_streams(chip, folder, traffic=traffic) for traffic in traffics}}
        write_whole(folder / STREAMS, json.dumps(document, indent=1) + "\n")


def _packed_streams(folder: pathlib.Path, traffic: stream.Traffic) -> dict[str, str]:
    """The files of a folder that are a stream, by the names of its schedules: of
    :func:`pack_streams`, or of :func:`compile_folder`."""
    if not (folder / STREAMS).exists() and traffic == stream.BACKWARD:
        return dict(_manifest(folder).get("streams", {}))
    try:
        document = read_document(folder / STREAMS, STREAMS_FORMAT, VERSION)
    except (OSError, ValueError) as error:
        raise KernelError(f"{error}; compile the folder again, with this version") from error
    return dict(document["streams"].get(str(traffic), {}))


def compile_folder(shapes: Iterable[Shape], chip: str, emit: str, folder: pathlib.Path,
                   options: str = "", progress: Callable[[str], None] = lambda text: None) -> None:
    """Compiles all shapes into a folder with a manifest.

    Raises:
        KernelError: one of them cannot be compiled.
    """
    folder.mkdir(parents=True, exist_ok=True)
    entries = []
    for shape in shapes:
        progress(f"compiling {shape}")
        name = f"{operations.LAYER_NORM_BWD}-{chip}-{shape.dtype}-{shape.m}x{shape.n}.{emit}"
        compile_kernel(shape, chip, emit, folder / name, options)
        entries.append({"m": shape.m, "n": shape.n, "dtype": shape.dtype, "file": name})
    document = {"format": FORMAT, "version": VERSION, "chip": chip, "options": options,
                "kernels": entries}
    if emit == "hsaco":
        progress("compiling the stream")
        document["streams"] = compile_streams(chip, folder)
    write_whole(folder / MANIFEST, json.dumps(document, indent=1) + "\n")


def _manifest(folder: pathlib.Path) -> dict[str, Any]:
    try:
        return read_document(folder / MANIFEST, FORMAT, VERSION)
    except (OSError, ValueError) as error:
        raise KernelError(f"{error}; make the folder with --compile-to") from error


def read_folder(folder: pathlib.Path) -> dict[Shape, pathlib.Path]:
    """The kernel files of a folder by shape.

    Raises:
        KernelError: there is no manifest, or it is not one of this version.
    """
    document = _manifest(folder)
    return {Shape(entry["m"], entry["n"], entry["dtype"]): folder / entry["file"]
            for entry in document["kernels"]}
