# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled kernels as objects, without PyTorch."""

from __future__ import annotations

import concurrent.futures
import json
import os
import pathlib
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .. import runtime
from ..base import schedule as schedules
from ..base.errors import LibraryError, LnbwdError
from ..base.files import write_whole
from ..base.operations import ELEMENTS, KINDS
from ..base.settings import order
from . import compiler, store
from .cache import KernelCache
from .spec import GradientSpec, ProgramSpec, norm_source, whole_number

# Elements of x that a report is for where the number of rows is not given.
_REPORT_ELEMENTS = 1 << 24


@dataclass(frozen=True, repr=False)
class Report:
    """Figures of a kernel for a number of rows.

    The compiler reads them off the machine code's metadata and the launch plan
    (``--emit=report-json``).

    Attributes:
        data: all figures, under the names that ``lnbwd-opt --emit=report-json`` gives them.
        text: the same for people.
        minimal_bytes: the least bytes that the operation can move.
        bytes: the bytes that the kernels move by the plan.
        seconds: the least time by the kernels' bounds.
        share_of_peak: the operation's share of peak bandwidth in that time, 0 to 1.
    """

    data: dict[str, Any]
    text: str
    chip: str
    rows: int
    minimal_bytes: float
    bytes: float
    seconds: float
    share_of_peak: float

    @property
    def bound(self) -> str:
        """What bounds the kernel that takes longest: "memory" or "matrix instructions"."""
        return str(max(self.data["kernels"], key=lambda k: k["seconds"])["bound"])

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return (f"<lnbwd report: {self.data['name']} on {self.chip}, {self.rows} rows: at "
                f"least {self.seconds * 1e6:.1f} us, {100 * self.share_of_peak:.0f} % of peak "
                f"bandwidth, bound by {self.bound}>")


class CompiledKernel:
    """One operation compiled for one chip or several.

    Attributes:
        spec: its spec (that of the first chip).
        mlir: the compiled function, as MLIR text.
        compile_seconds: the time of compilation; 0 if it came from a cache.
    """

    def __init__(self, specs: Sequence[ProgramSpec]) -> None:
        start = time.perf_counter()
        self._specs = {spec.chip: spec for spec in specs}
        self._compiled: dict[str, compiler.Compiled] = {}
        self._codes = {chip: store.kernel_store().find(spec) or self._compile(chip).code
                       for chip, spec in self._specs.items()}
        self.spec = specs[0]
        self.chips = tuple(self._specs)
        self.mlir = self.spec.source
        self.compile_seconds = time.perf_counter() - start if self._compiled else 0.0

    def __repr__(self) -> str:
        return f"<lnbwd kernel: {self.spec}" + (
            f" and {len(self.chips) - 1} more chips>" if len(self.chips) > 1 else ">")

    def _one(self, what: str) -> str:
        if len(self.chips) > 1:
            raise LnbwdError(f"{what}: the kernel is compiled for {', '.join(self.chips)}; take "
                             "one of them by k.for_chip(chip)")
        return self.chips[0]

    def for_chip(self, chip: str) -> CompiledKernel:
        """The part for one chip. Raises LnbwdError if there is none."""
        if chip not in self._specs:
            raise LnbwdError(f"chip: expected one of {', '.join(self.chips)}, got {chip!r}")
        return CompiledKernel([self._specs[chip]])

    @property
    def code(self) -> bytes:
        """Machine code with its launch plan; for several chips a bundle (:func:`bundle`)."""
        if len(self.chips) == 1:
            return self._codes[self.chips[0]]
        return compiler.bundle(self._codes)

    def _compile(self, chip: str) -> compiler.Compiled:
        if chip not in self._compiled:
            self._compiled[chip] = store.kernel_store().compile(self._specs[chip])
        return self._compiled[chip]

    @property
    def isa(self) -> str:
        """The target's assembly (for NVIDIA the PTX). Compiles again if the code was cached."""
        return self._compile(self._one("isa")).isa

    @property
    def llvm(self) -> str:
        """LLVM IR after optimisation. Compiles again if the code was cached."""
        return self._compile(self._one("llvm")).llvm

    @property
    def program(self) -> runtime.Program:
        """The code as the runtime reads it: the plan and the arguments."""
        return runtime.Program.from_bytes(self._codes[self._one("program")])

    def save(self, path: str | os.PathLike[str]) -> pathlib.Path:
        """Writes the code to a file, whole or not at all: an hsaco, PTX or cubin, or a bundle if
        there are several chips. Gives the path."""
        write_whole(path, self.code)
        return pathlib.Path(path)

    def run(self, inputs: Mapping[str, Any], device: str = "sim") -> dict[str, Any]:
        """Runs the kernel on NumPy arrays: the way without torch.

        Args:
            inputs: arrays by operand name ("dy", "x", "gamma", "mean", "rstd"), C-contiguous or
                copied to be so. bfloat16 is passed as its bits, in uint16; a mask
                ("i8") as bool, uint8 or int8.
            device: "sim" (the simulator of the kernel's chip), "hip:0", "cuda:0".

        Returns:
            The outputs by name ("dx", "dgamma", "dbeta"), with the shapes of the operation:
            ``[M, N]`` like x, and ``[N]``.

        Raises:
            ValueError: an array is missing, or its type or shape is wrong; the message names it.
        """
        opened = runtime.Device.open(device, self.chips[0])
        program = runtime.Program.for_chip(self.code, opened.info.arch)
        return run_kernel(runtime.Kernel(opened, program), inputs)


def run_kernel(kernel: runtime.Kernel, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Runs a kernel once and waits for it; see :meth:`CompiledKernel.run`."""
    try:
        import numpy as np
    except ImportError as error:
        raise ImportError("kernels on arrays need NumPy: pip install numpy") from error
    types = {name: element.numpy for name, element in ELEMENTS.items()}
    arguments = kernel.program.arguments
    read = [a for a in arguments if a.access != "write"]
    unknown = sorted(set(inputs) - {a.name for a in read})
    missing = [a.name for a in read if a.name not in inputs]
    if unknown or missing:
        raise ValueError(f"inputs: expected arrays {', '.join(a.name for a in read)}"
                         + (f"; missing: {', '.join(missing)}" if missing else "")
                         + (f"; unknown: {', '.join(unknown)}" if unknown else ""))
    arrays: dict[str, Any] = {}
    rows: int | None = None
    for a in read:
        array = np.ascontiguousarray(inputs[a.name])
        if a.element == "i8" and array.dtype in ("bool", "int8"):
            array = array.view("uint8")
        if str(array.dtype) not in (types[a.element], ELEMENTS[a.element].torch):
            of_bits = f" (the bits of {ELEMENTS[a.element].torch})"
            is_bits = a.element != "i8" and types[a.element] != ELEMENTS[a.element].torch
            raise ValueError(f"{a.name}: expected {types[a.element]}"
                             f"{of_bits if is_bits else ''}, got {array.dtype}")
        length = a.row_length
        if a.kind == "column":
            if array.size != length:
                raise ValueError(f"{a.name}: expected {length} elements, got {array.size}")
        else:
            count, rest = divmod(array.size, length)
            if rest or (a.kind == "row_block" and array.shape[-1:] != (length,)):
                raise ValueError(f"{a.name}: expected rows of {length} elements, got the shape "
                                 f"{array.shape}")
            if rows is not None and count != rows:
                raise ValueError(f"{a.name}: expected {rows} rows like the arrays before it, got "
                                 f"{count}")
            rows = count
        arrays[a.name] = array
    assert rows is not None
    outputs: dict[str, Any] = {a.name: np.empty(
        (rows,) * (a.kind != "column") + (a.row_length,) * KINDS[a.kind].has_columns,
        types[a.element]) for a in arguments if a.access == "write"}
    arrays |= outputs
    runtime.launch_on_host_memory(kernel, rows, [arrays[a.name].ctypes.data for a in arguments])
    return outputs


def report(kernel: CompiledKernel, rows: int | None = None) -> Report:
    """The cost of a kernel for a number of rows, and its limits.

    Args:
        kernel: of :func:`lnbwd.compile`, for one chip.
        rows: M; None: as many as give x 2^24 elements.

    Raises:
        ValueError: ``rows`` is not 1 or more.
        LnbwdError: the kernel is for several chips, or there is no compiler in this installation.
        CompileError: the kernel cannot be compiled.
    """
    spec = kernel.for_chip(kernel._one("report")).spec
    if rows is None:
        longest = max(argument.row_length for argument in kernel.program.arguments)
        rows = max(1, _REPORT_ELEMENTS // longest)
    if rows < 1:
        raise ValueError(f"rows: expected 1 or more, got {rows}")

    def text(form: str) -> str:
        return compiler.compile_mlir(spec.source, spec.chip, format=form, report_rows=rows,
                                     pipeline_options=spec.pipeline_options()).code.decode()

    data = json.loads(text("report-json"))
    return Report(data, text("report"), spec.chip.partition(":")[0], *(
        data[name] for name in ("rows", "minimal_bytes", "bytes", "seconds", "share_of_peak")))


def make_spec(op: str, *, chip: str, schedule: str | Mapping[str, int] = "", two_pass: str = "auto",
              format: str = "", rows: int = 0, **norm: Any) -> ProgramSpec:
    """The spec that the arguments of :func:`compile` describe."""
    source = norm_source(op, **norm)
    if not isinstance(schedule, (str, Mapping)):
        raise TypeError(f"schedule: expected a text or a mapping, got {schedule!r}")
    if isinstance(schedule, Mapping) and not schedule:
        raise ValueError("schedule: expected fields by name, got an empty mapping; leave it out "
                         "for the compiler's choice")
    fields = schedule if isinstance(schedule, str) else schedules.overrides(schedule)
    return ProgramSpec(source.mlir, chip, "" if two_pass == "auto" else f"two-pass={two_pass}",
                       format or store.code_format(chip), rows, order(), "".join(fields.split()),
                       source.name)


def compile(op: str, *, n: int, dtype: object = "f32", chip: str = "",
            chips: Sequence[str] = (), weight: bool | object = True, bias: bool | object = True,
            grads: Sequence[str] | None = None, schedule: str | Mapping[str, int] = "",
            two_pass: str = "auto", format: str = "", epsilon: float | None = None,
            rows: int = 0) -> CompiledKernel:
    """Compiles an operation to machine code, or takes it from the cache.

    Args:
        op: a key of :data:`lnbwd.operations.OPERATIONS`: "layer_norm", or "layer_norm_bwd" for its
            gradient.
        n: N, the length of a row. The number of rows is free at launch.
        dtype: the type of x, dy and dx: "f16", "bf16", "f32", or a torch.dtype.
        chip: the chip, "gfx942" or "sm_90"; ``lnbwd.compiler.chips()`` has them all. Settings of
            AMD's devices may follow, "gfx942:xnack+" (docs/runtime.md).
        chips: several instead; :attr:`CompiledKernel.code` is then a bundle for all of them.
        weight: whether there is a scale, or its type ("f32" beside a 16-bit x).
        bias: whether there is a shift, or the type of its gradient.
        grads: the gradients wanted, of "dx", "dweight" and "dbias"; None: all there are.
        schedule: fields of the schedule set by hand, "threads_per_row=128,row_groups=2" or
            ``{"threads_per_row": 128, "row_groups": 2}``; :data:`lnbwd.schedule.FIELDS` has all.
        two_pass: "auto", "always" or "never".
        format: "hsaco", "ptx" or "cubin"; empty: the chip's.
        epsilon: of a forward pass, a constant of the kernel (default: that of PyTorch's function).
        rows: the schedule is chosen for so many rows, the option ``rows`` of lnbwd-pipeline; 0: as
            many as move 128 MiB. The kernel is right for any number.

    Raises:
        TypeError, ValueError: an argument is wrong; the message names it.
        CompileError: the compiler refuses the operation or the schedule for this chip.

    Example:
        >>> k = lnbwd.compile("layer_norm_bwd", n=4096, dtype="bf16", chip="gfx942")
        >>> k.save("layer_norm_bwd.hsaco")
    """
    if bool(chip) == bool(chips):
        raise ValueError(f"chip, chips: expected one of the two, got {'both' if chip else 'none'}")
    if isinstance(chips, str):
        raise TypeError(f"chips: expected a list of chips, got the text {chips!r}; see chip")
    names = [chip] if chip else list(chips)
    for name in names:
        compiler.check_texts(chip=name)
    return CompiledKernel([
        make_spec(op, n=n, dtype=dtype, chip=name, weight=weight, bias=bias, grads=grads,
                  schedule=schedule, two_pass=two_pass, format=format, epsilon=epsilon,
                  rows=rows)
        for name in names])


@dataclass(frozen=True)
class Precompiled:
    """One kernel, or derived gradient, that :func:`precompile` saw to, and its size in bytes."""

    spec: ProgramSpec | GradientSpec
    was_cached: bool
    size: int
    seconds: float


def precompile(requests: Iterable[ProgramSpec | GradientSpec | Mapping[str, Any]], *,
               cache: str | os.PathLike[str] | None = None,
               jobs: int | None = None) -> list[Precompiled]:
    """Compiles kernels into the cache on disk, so that later runs find them there, on machines
    without a compiler too (copy the folder, and name it by LNBWD_CACHE_DIR).

    Args:
        requests: kernels: the arguments of :func:`lnbwd.compile` as a dict each, with ``chip`` or
            ``chips``, or :class:`.spec.ProgramSpec`.
        cache: the cache's folder; None: the usual one.
        jobs: how many are compiled at once, 1 or more; None: as many as there are processors.

    Returns:
        What was done, in the order of the requests.

    Raises:
        ValueError, CompileError: a request is wrong.
        LnbwdError: there is no compiler, or the cache cannot be written.

    Example:
        >>> lnbwd.precompile([dict(op="layer_norm_bwd", n=n, dtype="bf16", chip="sm_90")
        ...                   for n in (1024, 4096)])
    """
    threads = (os.cpu_count() or 1) if jobs is None else whole_number(
        "jobs", jobs, 1, "the number of compilations at once, 1 or more")
    specs: list[ProgramSpec | GradientSpec] = []
    for request in requests:
        if isinstance(request, (ProgramSpec, GradientSpec)):
            specs.append(request)
            continue
        if not isinstance(request, Mapping):
            raise TypeError("requests: expected dicts with the arguments of lnbwd.compile, got "
                            f"{type(request).__name__}")
        arguments = dict(request)
        chips = arguments.pop("chips", ()) or [arguments.pop("chip", "")]
        arguments.pop("chip", None)
        specs += [make_spec(**{**arguments, "chip": chip}) for chip in chips]
    identity = compiler.compiler_id()
    if identity is None or not compiler.available():
        raise LibraryError("there is no compiler in this installation: precompile where there is "
                           "one, and copy the cache's folder")
    target = store.kernel_cache() if cache is None else KernelCache(cache)
    if target.folder is None:
        raise LnbwdError("cache: expected a folder, but the kernel cache is switched off "
                         "(LNBWD_CACHE_DIR=off)")

    def one(spec: ProgramSpec | GradientSpec) -> Precompiled:
        start = time.perf_counter()
        code = target.load(spec, identity)
        was_cached = code is not None
        if code is None:
            code = store.compile_spec(spec).code
            if not target.store(spec, identity, code):
                raise LnbwdError(f"cache: {target.folder} cannot be written")
        return Precompiled(spec, was_cached, len(code), time.perf_counter() - start)

    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        return list(pool.map(one, specs))  # An error cancels what has not begun.
