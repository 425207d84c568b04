# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a kernel costs and what limits it, as numbers and as text."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from . import compiler
from .spec import DTYPES, KernelSpec

__all__ = ["Report", "report_of"]

DEFAULT_ELEMENTS = 1 << 24
"""Elements of x that a report is for where the number of rows is not given."""


@dataclass(frozen=True, repr=False)
class Report:
    """Figures of a kernel for a number of rows.

    The compiler reads them off the machine code's metadata and the launch plan
    (``--emit=report-json``).

    Attributes:
        data: all figures, under the names that ``lnbwd-opt --emit=report-json`` gives them.
        text: the same for people.
        chip: the :class:`lnbwd.compiler.Chip`.
        rows: M.
        minimal_bytes: the fewest bytes that the operation can move.
        bytes: those that the kernels move by the plan.
        seconds: the least time that what bounds the kernels allows.
        share_of_peak: of the memory's bandwidth that the operation reaches in that time, 0 to 1.
    """

    data: dict[str, Any]
    text: str
    chip: compiler.Chip
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
        return (f"<lnbwd report: {self.data['name']} on {self.chip.name}, {self.rows} rows: at "
                f"least {self.seconds * 1e6:.1f} us, {100 * self.share_of_peak:.0f} % of peak "
                f"bandwidth, bound by {self.bound}>")


def report_of(spec: KernelSpec, rows: int | None = None) -> Report:
    """What the kernel of a description costs for a number of rows, and what limits it.

    Args:
        spec: what it is compiled from, for one chip.
        rows: M; None: as many as give x 2^24 elements.

    Raises:
        ValueError: ``rows`` is not 1 or more.
        CompileError: the kernel cannot be compiled.
        LibraryError: there is no compiler in this installation.
    """
    assert spec.dtype in DTYPES
    if rows is None:
        rows = max(1, DEFAULT_ELEMENTS // spec.n)
    if rows < 1:
        raise ValueError(f"rows: expected 1 or more, got {rows}")

    chip = compiler.chips()[spec.chip.partition(":")[0]]

    def text(form: str) -> str:
        return compiler.compile_mlir(spec.mlir(), spec.chip, format=form, report_rows=rows,
                                     pipeline_options=spec.pipeline_options()).code.decode()

    data = json.loads(text("report-json"))
    return Report(data, text("report"), chip, *(
        data[name] for name in ("rows", "minimal_bytes", "bytes", "seconds", "share_of_peak")))
