# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Specs of kernels: a program, a chip, the compiler's options; and the programs of norms."""

from __future__ import annotations

import bisect
import dataclasses
import functools
import hashlib
import json
import operator
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from ..base import chip_table, operations
from ..base.operations import OPERATIONS

DTYPES = {"f16": 2, "bf16": 2, "f32": 4}
"""Element types of a kernel's buffers, with their size in bytes."""

_DTYPE_NAMES = {"float16": "f16", "half": "f16", "bfloat16": "bf16", "float32": "f32",
                "float": "f32"}

OPS = tuple(sorted(OPERATIONS, key=lambda name: OPERATIONS[name].is_forward))
"""Operations that :func:`lnbwd.compile` knows by name. Forward passes, the last ones, have no
gradients, and an epsilon."""

ROWS_HINTS = (64, 96, 128, 192, 256, 384, 512, 768, *(1 << bit for bit in range(10, 21)))
"""The numbers of rows that calls choose kernels for; docs/schedules.md says why these."""


def words(text: str) -> list[str]:
    """The parts of a list with commas."""
    return [part for part in text.split(",") if part]


@functools.lru_cache(1024)
def rows_hint(rows: int) -> int:
    """The nearest of :data:`ROWS_HINTS` to ``rows`` by ratio, as in lib/Torch."""
    rows = min(max(rows, ROWS_HINTS[0]), ROWS_HINTS[-1])
    place = bisect.bisect_right(ROWS_HINTS, rows, hi=len(ROWS_HINTS) - 1)
    below, above = ROWS_HINTS[place - 1], ROWS_HINTS[place]
    return above if rows * rows > below * above else below


def hints_near(rows: int) -> list[int]:
    """:data:`ROWS_HINTS`, those that are nearest to ``rows`` by ratio first."""
    return sorted(ROWS_HINTS, key=lambda other: max(other, rows) / min(other, rows))


def rows_option(rows: int, chip: str) -> int:
    """The ``rows`` of a spec for a call with so many rows on a chip: its hint; 0 but on NVIDIA's,
    whose schedules alone depend on it: it would compile the same code again."""
    return rows_hint(rows) if chip_table.is_nvidia(chip) else 0


def whole_number(name: str, value: object, least: int, what: str) -> int:
    """A value as an integer; NumPy's integers count too."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name}: expected {what}, got {value!r}")
    if (number := operator.index(value)) < least:
        raise ValueError(f"{name}: expected {what}, got {number}")
    return number


def dtype_name(dtype: object, argument: str = "dtype") -> str:
    """"f16", "bf16" or "f32", from such a name, "float16" or a torch.dtype, or a ValueError."""
    name = str(dtype).removeprefix("torch.")
    name = _DTYPE_NAMES.get(name, name)
    if name not in DTYPES:
        raise ValueError(f"{argument}: expected f16, bf16 or f32 (or float16, bfloat16, float32), "
                         f"got {dtype!r}")
    return name


def _digest(*decisive: str) -> str:
    return hashlib.sha256(json.dumps(decisive).encode()).hexdigest()[:32]


@dataclass(frozen=True)
class ProgramSpec:
    """One kernel. Two equal specs give the same code by the same compiler.

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
        object.__setattr__(self, "rows", whole_number(
            "rows", self.rows, 0, "the usual number of rows, 1 or more, or 0 where none is"))

    def pipeline_options(self) -> str:
        """The options of lnbwd-pipeline beside chip."""
        fields = {"schedule": self.schedule, "rows": self.rows, "order": self.order}
        return " ".join([self.options] * bool(self.options)
                        + [f"{name}={value}" for name, value in fields.items() if value])

    def digest(self) -> str:
        """Names the kernel: 32 hexadecimal digits over everything that decides its code but
        the compiler's version."""
        return _digest(self.source, self.chip, self.pipeline_options(), self.format)

    @property
    def source_name(self) -> str:
        """The name of the source in diagnostics."""
        return f"{self.name.partition(' ')[0] or 'program'}.mlir"

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


GRADIENTS = ("dx", "dweight", "dbias")
"""The gradients of a norm, as PyTorch calls them."""


def norm_operands(op: str, dtype: str, weight: str, bias: str, grads: Collection[str],
                  ) -> Iterator[tuple[operations.Operand, str]]:
    """The operands of a norm's kernel in the order of its arguments, and their elements; arguments
    as of :func:`norm_source`, but an absent parameter is an empty text."""
    columns = {"gamma": weight, "beta": bias, "dgamma": weight if "dweight" in grads else "",
               "dbeta": bias if "dbias" in grads else ""}
    of = OPERATIONS[op]
    for operand in of.operands:
        role = operand.role
        element = columns[role.name] if role.kind == "column" else dtype
        # A gradient is one of x with saved statistics: y, and beta that is in it, are not read.
        is_read = operand.is_output or of.is_forward or role.name not in ("y", "beta")
        is_wanted = of.is_forward or "dx" in grads or role.kind != "row_block"
        if (element and is_read and (is_wanted or not operand.is_output)
                and not role.has_own_element):
            yield operand, "f32" if role.kind == "row_scalar" else element


def norm_source(op: str, *, n: object, dtype: object = "f32", weight: object = True,
                bias: object = True, grads: Sequence[str] | None = None,
                epsilon: float | None = None) -> Source:
    """The program of a named norm; arguments and errors as of :func:`lnbwd.compile`."""
    if op not in OPS:
        raise ValueError(f"op: expected one of {', '.join(OPS)}, got {op!r}")
    length = whole_number("n", n, 1, "the length of a row, 1 or more")
    element, is_forward = dtype_name(dtype), OPERATIONS[op].is_forward
    if not OPERATIONS[op].has("beta"):
        if bias not in (True, False, None, ""):
            raise ValueError(f"bias: {op} has none; leave it out")
        bias = False

    def parameter(name: str, value: object) -> str:
        found = element if value is True else dtype_name(value, name) if value else ""
        if found not in ("", element, "f32"):
            known = "f32" if element == "f32" else f"{element} (the type of x) or f32"
            raise ValueError(f"{name}: expected {known}, got {value!r}")
        return found

    parameters = parameter("weight", weight), parameter("bias", bias)
    there = dict(zip(GRADIENTS, (True, *parameters), strict=True))
    if isinstance(grads, str):
        raise TypeError(f"grads: expected a list of names, got the text {grads!r}; write "
                        f"grads=[{grads!r}]")
    if is_forward:
        if grads is not None:
            raise ValueError(f"grads: {op} is a forward pass and has none")
        epsilon = operations.DEFAULT_EPSILONS[op] if epsilon is None else epsilon
        if not 0 <= epsilon < float("inf"):
            raise ValueError(f"epsilon: expected a number that is 0 or more, and finite, got "
                             f"{epsilon!r}")
        wanted, what = [], f"epsilon {epsilon:g}"
    else:
        if epsilon is not None:
            raise ValueError(f"epsilon: {op} takes the forward pass's rstd; leave it out")
        if grads is not None and not grads:
            raise ValueError("grads: expected at least one gradient, got none")
        for grad in grads or ():
            if grad not in there:
                raise ValueError(f"grads: expected names of {', '.join(there)}, got {grad!r}")
            if not there[grad]:
                raise ValueError(f"grads: there is no {grad[1:]} whose gradient {grad} would be")
        wanted = [grad for grad, has in there.items() if has and (grads is None or grad in grads)]
        what = f"gradients {'+'.join(wanted)}"
    types = {operand.name: operations.buffer_type(operand.role.kind, of_operand, [length])
             for operand, of_operand in norm_operands(op, element, *parameters, wanted)}
    epsilons = [] if epsilon is None else [f"epsilon = {epsilon:.17e} : f64"]
    weights = f", weight {parameters[0]}" if parameters[0] else ""
    return Source(operations.mlir(op, types, epsilons), is_region=False,
                  name=f"{op} with rows of {length} x {element}{weights}, {what}")


@dataclass(frozen=True)
class GradientSpec:
    """A derived gradient, MLIR for any chip, which caches keep as kernels: the arguments of
    :func:`lnbwd.compiler.differentiate`."""

    source: str
    wrt: tuple[str, ...]
    of: tuple[str, ...]
    saved: tuple[str, ...]

    chip: ClassVar[str] = "any"

    def digest(self) -> str:
        """Names the gradient, as :meth:`ProgramSpec.digest` does a kernel."""
        return _digest("gradient", self.source, *map(",".join, (self.wrt, self.of, self.saved)))

    def __str__(self) -> str:
        return f"the gradient of a row program of {len(self.source)} characters"


@dataclass(frozen=True)
class MeasurementSpec:
    """The key of a measurement on a device; caches keep the result, JSON, like a kernel. Its kind
    is "tuning" (:mod:`.tuning`) or "times" (:mod:`lnbwd.inductor.choice`); ``source`` is the
    program, or what names it or its neighbourhood, for a chip; ``device`` a name; ``rows`` their
    number, or that of their range; ``torch`` PyTorch's version, if its kernels were measured,
    too."""

    kind: str
    source: str
    chip: str
    device: str
    rows: int
    torch: str = ""

    def digest(self) -> str:
        """Names the measurement, as :meth:`ProgramSpec.digest` does a kernel."""
        return _digest(self.kind, self.source, self.device, self.torch, str(self.rows))


Cached = ProgramSpec | GradientSpec | MeasurementSpec
"""Whatever the cache on disk keeps something by."""
