# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a kernel costs and what limits it, as numbers, as text and as a roofline plot."""

from __future__ import annotations

import html
import json
import math
from typing import Any

from . import compiler
from .spec import DTYPES, KernelSpec

__all__ = ["Report", "report_of"]

DEFAULT_ELEMENTS = 1 << 24
"""Elements of x that a report is for where the number of rows is not given."""


class Report:
    """Figures of a kernel for a number of rows.

    The compiler reads them off the machine code where it can, else off the launch plan
    (``--emit=report-json``).

    A notebook shows it as a roofline: the rate that memory and the vector units allow at each
    number of instructions a byte, and where the kernel stands.

    Attributes:
        data: all figures, under the names that ``lnbwd-opt --emit=report-json`` gives them.
        text: the same for people.
        chip: the :class:`lnbwd.compiler.Chip`.
        rows: M.
        minimal_bytes: the fewest bytes that the operation can move.
        bytes: those that the kernels ask for.
        vector_instructions: of all lanes; None where the code is not read (NVIDIA).
        seconds: the least time that what bounds the kernels allows.
        share_of_peak: of the memory's bandwidth that the operation reaches in that time, 0 to 1.
    """

    def __init__(self, data: dict[str, Any], text: str, chip: compiler.Chip, elements: int) -> None:
        self.data = data
        self.text = text
        self.chip = chip
        self.rows: int = data["rows"]
        self.minimal_bytes: float = data["minimal_bytes"]
        self.bytes: float = data["bytes"]
        self.seconds: float = data["seconds"]
        self.share_of_peak: float = data["share_of_peak"]
        per_element = data["vector_alu_per_element"]
        self.vector_instructions: float | None = (
            None if per_element is None else per_element * elements)

    @property
    def bound(self) -> str:
        """What bounds the kernel that takes longest: "memory", "vector ALU" or another name."""
        return str(max(self.data["kernels"], key=lambda k: k["seconds"])["bound"])

    @property
    def intensity(self) -> float | None:
        """Vector instructions of lanes a byte; None where the code is not read."""
        if self.vector_instructions is None or not self.bytes:
            return None
        return self.vector_instructions / self.bytes

    @property
    def peak_rate(self) -> float:
        """Vector instructions of lanes that the whole chip does in a second at most."""
        lanes = self.chip.compute_units * self.chip.vector_lanes_per_clock
        return lanes * self.chip.megahertz * 1e6

    @property
    def ridge(self) -> float:
        """The intensity above which the vector units bound a kernel, not memory."""
        return self.peak_rate / (self.chip.gigabytes_per_second * 1e9)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return (f"<lnbwd report: {self.data['name']} on {self.chip.name}, {self.rows} rows: at "
                f"least {self.seconds * 1e6:.1f} us, {100 * self.share_of_peak:.0f} % of peak "
                f"bandwidth, bound by {self.bound}>")

    def svg(self, width: int = 560, height: int = 320) -> str:
        """The roofline as an SVG image, ``width`` x ``height`` pixels."""
        left, right, top, bottom = 64, width - 16, 34, height - 44
        points = [self.ridge] + ([self.intensity] if self.intensity else [])
        low = 10.0 ** math.floor(math.log10(min(points) / 4))
        high = 10.0 ** math.ceil(math.log10(max(points) * 4))
        bandwidth = self.chip.gigabytes_per_second * 1e9
        top_rate = 10.0 ** math.ceil(math.log10(self.peak_rate * 1.5))
        low_rate = 10.0 ** math.floor(math.log10(low * bandwidth))

        def x(value: float) -> float:
            return left + (right - left) * math.log10(value / low) / math.log10(high / low)

        def y(value: float) -> float:
            return bottom - (bottom - top) * math.log10(value / low_rate) / math.log10(
                top_rate / low_rate)

        def label(at_x: float, at_y: float, words: str, extra: str = "") -> str:
            return (f'<text x="{at_x:.1f}" y="{at_y:.1f}" font-size="11" {extra}>'
                    f"{html.escape(words)}</text>")

        parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
                 f'font-family="sans-serif" fill="#222" viewBox="0 0 {width} {height}">',
                 f'<rect width="{width}" height="{height}" fill="#fff"/>',
                 label(left, 18, f"{self.data['name']} on {self.chip.name} ({self.chip.product}), "
                                 f"{self.rows} rows of {self.data['row_length']}",
                       'font-weight="bold"')]
        for power in range(round(math.log10(low)), round(math.log10(high)) + 1):
            at = x(10.0**power)
            parts += [f'<line x1="{at:.1f}" y1="{top}" x2="{at:.1f}" y2="{bottom}" '
                      'stroke="#e4e4e4"/>',
                      label(at, bottom + 15, f"{10.0**power:g}", 'text-anchor="middle"')]
        for power in range(round(math.log10(low_rate)), round(math.log10(top_rate)) + 1):
            at = y(10.0**power)
            parts += [f'<line x1="{left}" y1="{at:.1f}" x2="{right}" y2="{at:.1f}" '
                      'stroke="#e4e4e4"/>',
                      label(left - 6, at + 4, f"{10.0**power:.0e}", 'text-anchor="end"')]
        parts += [
            f'<polyline fill="none" stroke="#1f5fa8" stroke-width="2" points="'
            f"{x(low):.1f},{y(low * bandwidth):.1f} {x(self.ridge):.1f},{y(self.peak_rate):.1f} "
            f'{x(high):.1f},{y(self.peak_rate):.1f}"/>',
            label(x(low) + 8, y(low * bandwidth) - 14, f"memory, {self.chip.gigabytes_per_second} "
                                                       "GB/s"),
            label(right, y(self.peak_rate) - 6, "vector units", 'text-anchor="end"'),
            label((left + right) / 2, height - 8, "vector instructions of lanes a byte",
                  'text-anchor="middle"'),
            label(14, (top + bottom) / 2, "of lanes a second",
                  f'text-anchor="middle" transform="rotate(-90 14 {(top + bottom) / 2})"')]
        if self.intensity and self.vector_instructions and self.seconds:
            at_x, at_y = x(self.intensity), y(self.vector_instructions / self.seconds)
            parts += [f'<circle cx="{at_x:.1f}" cy="{at_y:.1f}" r="5" fill="#c8321e"/>',
                      label(at_x + 9, at_y + 14, f"{100 * self.share_of_peak:.0f} % of peak "
                                                 f"bandwidth, bound by {self.bound}")]
        return "".join(parts) + "</svg>"

    def _repr_html_(self) -> str:
        return f"{self.svg()}<pre>{html.escape(self.text)}</pre>"


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

    return Report(json.loads(text("report-json")), text("report"), chip, rows * spec.n)
