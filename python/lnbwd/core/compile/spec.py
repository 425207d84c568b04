# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Specs, from which kernels are compiled: the operation, its shape class, its types and its
chip."""

from __future__ import annotations

import bisect
import dataclasses
import functools
import hashlib
import json
import operator
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from ..base import chip_table, operations
from ..base.operations import OPERATIONS

__all__ = ["DTYPES", "OPS", "ROWS_HINTS", "GradientSpec", "KernelSpec", "MeasurementSpec",
           "ProgramSpec", "Source", "rows_hint", "rows_option"]

DTYPES = {"f16": 2, "bf16": 2, "f32": 4}
"""Element types of a kernel's buffers, with their size in bytes."""

_DTYPE_NAMES = {"float16": "f16", "half": "f16", "bfloat16": "bf16", "float32": "f32",
                "float": "f32"}

OPS = tuple(sorted(OPERATIONS, key=lambda name: OPERATIONS[name].is_forward))
"""Operations that :func:`lnbwd.compile` knows by name. Forward passes, the last ones, have no
gradients, and an epsilon."""

ROWS_HINTS = (64, 96, 128, 192, 256, 384, 512, 768, *(1 << bit for bit in range(10, 21)))
"""The numbers of rows that kernels are chosen for, where a call chooses: docs/schedules.md says
why these."""


def words(text: str) -> list[str]:
    """The parts of a list with commas."""
    return [part for part in text.split(",") if part]


@functools.lru_cache(1024)
def rows_hint(rows: int) -> int:
    """The number of :data:`ROWS_HINTS` that is nearest to ``rows`` by ratio. lib/Torch has the same
    function for its operators."""
    rows = min(max(rows, ROWS_HINTS[0]), ROWS_HINTS[-1])
    place = bisect.bisect_right(ROWS_HINTS, rows, hi=len(ROWS_HINTS) - 1)
    below, above = ROWS_HINTS[place - 1], ROWS_HINTS[place]
    return above if rows * rows > below * above else below


def hints_near(rows: int) -> list[int]:
    """:data:`ROWS_HINTS`, those that are nearest to ``rows`` by ratio first."""
    return sorted(ROWS_HINTS, key=lambda other: max(other, rows) / min(other, rows))


def chooses_by_rows(chip: str) -> bool:
    """Whether a chip's schedules depend on the expected number of rows: NVIDIA's do. For others a
    hint would compile the same code again."""
    return chip_table.is_nvidia(chip)


def rows_option(rows: int, chip: str) -> int:
    """The ``rows`` of a spec for a call with so many rows on a chip: its hint, or 0 where the
    chip's schedules do not depend on it."""
    return rows_hint(rows) if chooses_by_rows(chip) else 0


def whole_number(name: str, value: object, least: int, what: str) -> int:
    """A value as an integer; NumPy's integers count too."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name}: expected {what}, got {value!r}")
    if (number := operator.index(value)) < least:
        raise ValueError(f"{name}: expected {what}, got {number}")
    return number


def _check_rows(spec: KernelSpec | ProgramSpec) -> None:
    object.__setattr__(spec, "rows", whole_number(
        "rows", spec.rows, 0, "the number of rows that is usual, 1 or more, or 0 where none is"))


def dtype_name(dtype: object, argument: str = "dtype") -> str:
    """"f16", "bf16" or "f32", from this name, a name like "float16", or a torch.dtype.

    Raises:
        ValueError: it is none of these.
    """
    name = str(dtype).removeprefix("torch.")
    name = _DTYPE_NAMES.get(name, name)
    if name not in DTYPES:
        raise ValueError(f"{argument}: expected f16, bf16 or f32 (or float16, bfloat16, float32), "
                         f"got {dtype!r}")
    return name


def _join(options: str, **others: object) -> str:
    """Joins options of lnbwd-pipeline, without empty ones."""
    return " ".join([options] * bool(options) + [f"{k}={v}" for k, v in others.items() if v])


def _digest(*decisive: str) -> str:
    return hashlib.sha256(json.dumps(decisive).encode()).hexdigest()[:32]


class _Described:
    """Base of cache keys."""

    def to_json(self) -> dict[str, object]:
        """The fields but a source, for people."""
        fields = dataclasses.asdict(self)  # type: ignore[call-overload]
        return {name: value for name, value in fields.items() if name != "source"}


@dataclass(frozen=True)
class ProgramSpec(_Described):
    """A kernel of any function of lnbwd operations, given as text.

    Attributes:
        source: a module with one function, as MLIR text.
        chip: "gfx942", "sm_90", ...
        options: options of lnbwd-pipeline beside chip.
        format: "hsaco", "ptx" or "cubin".
        rows: the number of rows that the schedule is chosen for where the types leave it open; 0:
            a usual one. The code is right for any.
        order: "canonical", or empty: of additions, what is fastest.
        schedule: fields of the schedule set by hand, "threads_per_row=128,row_groups=2".
        name: what messages call the program; no part of what tells kernels apart.
    """

    source: str
    chip: str
    options: str = ""
    format: str = "hsaco"
    rows: int = 0
    order: str = ""
    schedule: str = ""
    name: str = dataclasses.field(default="", compare=False)

    def __post_init__(self) -> None:
        _check_rows(self)

    def mlir(self) -> str:
        """The source."""
        return self.source

    def pipeline_options(self) -> str:
        """The options of lnbwd-pipeline beside chip."""
        return _join(self.options, schedule=self.schedule, rows=self.rows, order=self.order)

    def digest(self) -> str:
        """Names the kernel, as :meth:`KernelSpec.digest` does."""
        return _digest(self.source, self.chip, self.pipeline_options(), self.format)

    source_name: ClassVar[str] = "program.mlir"

    def __str__(self) -> str:
        name = self.name or f"a row program of {len(self.source)} characters"
        return f"{name}, on {self.chip} ({self.format})"


@dataclass(frozen=True)
class Source:
    """A function of lnbwd operations from which kernels are made for any device.

    Attributes:
        mlir: a module with that function, as text.
        rows: a number of rows near those of all calls, where the types leave it open; None: a usual
            one. The schedule is chosen for the number of the first call, or where that is not
            known for the nearest of :data:`ROWS_HINTS`. The kernel is right for any.
        tuned_for: M and B that a schedule is searched for (:mod:`.tuning`); None: no search.
        is_region: whether it is a region of torch.compile, which has a search if nothing was said.
        name: what messages call it.
    """

    mlir: str
    rows: int | None = None
    tuned_for: tuple[int, int | None] | None = None
    is_region: bool = True
    name: str = ""

    def spec(self, chip: str, format: str, rows: int = 0) -> ProgramSpec:
        """The kernel for a chip and a call with so many rows, 0 if that is not known."""
        hint = 0 if self.rows is None else rows_option(self.rows, chip)
        # (Calls with fewer rows than the least hint share a kernel with it.)
        return ProgramSpec(self.mlir, chip, format=format, name=self.name,
                           rows=max(rows, ROWS_HINTS[0]) if hint and rows else hint)


@dataclass(frozen=True)
class KernelSpec(_Described):
    """One kernel. Two equal specs give the same code by the same compiler.

    Attributes:
        op: one of :data:`OPS`.
        n: N, the length of a row: the product of the normalised dimensions.
        dtype: the type of dy, x and dx: "f16", "bf16" or "f32".
        chip: "gfx942", "sm_90", ...
        weight_dtype: the type of the scale and its gradient, ``dtype`` or "f32"; empty: the
            operation has no scale.
        bias_dtype: the type of the shift's gradient, likewise; empty: it has no shift.
        want_dx, want_dweight, want_dbias: the gradients that are computed; at least one, but
            none of a forward pass. The first stands for those of all row blocks.
        epsilon: of a forward pass: what is added to the variance or the mean square.
        two_pass: "auto", "always" or "never".
        format: "hsaco", "ptx" or "cubin".
        rows, order, schedule: as of :class:`ProgramSpec`.
    """

    op: str
    n: int
    dtype: str
    chip: str
    weight_dtype: str = ""
    bias_dtype: str = ""
    want_dx: bool = True
    want_dweight: bool = True
    want_dbias: bool = True
    schedule: str = ""
    two_pass: str = "auto"
    format: str = "hsaco"
    epsilon: float | None = None
    rows: int = 0
    order: str = ""

    def __post_init__(self) -> None:
        if self.op not in OPS:
            raise ValueError(f"op: expected one of {', '.join(OPS)}, got {self.op!r}")
        length = whole_number("n", self.n, 1, "the length of a row, 1 or more")
        object.__setattr__(self, "n", length)
        _check_rows(self)
        if self.dtype not in DTYPES:
            raise ValueError(f"dtype: expected one of {', '.join(DTYPES)}, got {self.dtype!r}")
        for name in ("weight_dtype", "bias_dtype"):
            value = getattr(self, name)
            if value not in ("", self.dtype, "f32"):
                known = "f32" if self.dtype == "f32" else f"{self.dtype} (the type of x) or f32"
                raise ValueError(f"{name}: expected {known}, got {value!r}")
        if not OPERATIONS[self.op].has("beta") and (self.bias_dtype or self.want_dbias):
            raise ValueError(f"bias: {self.op} has none; leave it out")
        if OPERATIONS[self.op].is_forward:
            if self.want_dx or self.want_dweight or self.want_dbias:
                raise ValueError(f"grads: {self.op} is a forward pass and has none")
            if self.epsilon is None or not 0 <= self.epsilon < float("inf"):
                raise ValueError(f"epsilon: expected a number that is 0 or more, and finite, got "
                                 f"{self.epsilon!r}")
            return
        if self.epsilon is not None:
            raise ValueError(f"epsilon: {self.op} takes the forward pass's rstd; leave it out")
        for want, value in (("dweight", self.weight_dtype), ("dbias", self.bias_dtype)):
            if getattr(self, f"want_{want}") and not value:
                raise ValueError(f"want_{want}: there is no {want[1:]} whose gradient it would be")
        if not (self.want_dx or self.want_dweight or self.want_dbias):
            raise ValueError("want_dx, want_dweight, want_dbias: expected at least one gradient")

    @property
    def source_name(self) -> str:
        """The name of the source in diagnostics."""
        return f"{self.op}-n{self.n}.mlir"

    @property
    def name(self) -> str:
        """The operation in words, for any chip."""
        types = self.dtype
        if self.weight_dtype:
            types += f", weight {self.weight_dtype}"
        wants = [name for name in ("dx", "dweight", "dbias") if getattr(self, f"want_{name}")]
        what = (f"gradients {'+'.join(wants)}" if self.epsilon is None
                else f"epsilon {self.epsilon:g}")
        return f"{self.op} with rows of {self.n} x {types}, {what}"

    def __str__(self) -> str:
        return f"{self.name}, on {self.chip} ({self.format})"

    def pipeline_options(self) -> str:
        """The options of lnbwd-pipeline beside chip."""
        two_pass = "" if self.two_pass == "auto" else f"two-pass={self.two_pass}"
        return _join(two_pass, schedule=self.schedule, rows=self.rows, order=self.order)

    def operands(self) -> Iterator[tuple[operations.Operand, str]]:
        """The operands that there are, in the order of the kernel's arguments, and their types."""
        columns = {"gamma": self.weight_dtype, "beta": self.bias_dtype,
                   "dgamma": self.weight_dtype if self.want_dweight else "",
                   "dbeta": self.bias_dtype if self.want_dbias else ""}
        op = OPERATIONS[self.op]
        for operand in op.operands:
            role = operand.role
            element = columns[role.name] if role.kind == "column" else self.dtype
            # A gradient is one of x with saved statistics: y, and beta that is in it, are not read.
            is_read = operand.is_output or op.is_forward or role.name not in ("y", "beta")
            is_wanted = op.is_forward or self.want_dx or role.kind != "row_block"
            if (element and is_read and (is_wanted or not operand.is_output)
                    and not role.has_own_element):
                yield operand, "f32" if role.kind == "row_scalar" else element

    def mlir(self) -> str:
        """The function that is compiled, as MLIR text."""
        types = {operand.name: operations.buffer_type(operand.role.kind, element, [self.n])
                 for operand, element in self.operands()}
        epsilon = [] if self.epsilon is None else [f"epsilon = {self.epsilon:.17e} : f64"]
        return operations.mlir(self.op, types, epsilon)

    def digest(self) -> str:
        """Names the kernel: 32 hexadecimal digits over everything that decides its code but
        the compiler's version."""
        return _digest(self.mlir(), self.chip, self.pipeline_options(), self.format)


Spec = KernelSpec | ProgramSpec
"""The cache keys of kernels."""


@dataclass(frozen=True)
class GradientSpec(_Described):
    """A gradient that is derived, MLIR for any chip; the caches keep it as they keep kernels.

    Attributes:
        source, wrt, of, saved: the arguments of :func:`lnbwd.compiler.differentiate`.
    """

    source: str
    wrt: tuple[str, ...]
    of: tuple[str, ...]
    saved: tuple[str, ...]

    chip: ClassVar[str] = "any"

    def digest(self) -> str:
        """Names the gradient, as :meth:`KernelSpec.digest` does a kernel."""
        return _digest("gradient", self.source, *map(",".join, (self.wrt, self.of, self.saved)))

    def __str__(self) -> str:
        return f"the gradient of a row program of {len(self.source)} characters"


@dataclass(frozen=True)
class MeasurementSpec(_Described):
    """The key of a measurement on a device; caches keep the result, JSON, like a kernel.

    Attributes:
        kind: what for: "tuning" (:mod:`.tuning`) or "times"
            (:mod:`lnbwd.inductor.choice`).
        source: the program, or what names it or its neighbourhood.
        chip: what it is compiled for.
        device: the name of the device.
        rows: the number of rows, or that of their range.
        torch: PyTorch's version, if its kernels were measured, too.
    """

    kind: str
    source: str
    chip: str
    device: str
    rows: int
    torch: str = ""

    def digest(self) -> str:
        """Names the measurement, as :meth:`KernelSpec.digest` does a kernel."""
        return _digest(self.kind, self.source, self.device, self.torch, str(self.rows))


Cached = Spec | GradientSpec | MeasurementSpec
"""Whatever the cache on disk keeps something by."""
