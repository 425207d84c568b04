# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The dashboard's plots: small SVG files, the same for the same numbers."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence

_COLOUR = "#c1272d"
_GREY = "#bbbbbb"


class _Drawing:
    """The parts of a picture."""

    def __init__(self, width: int, height: int, title: str) -> None:
        self.lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
                      'font-family="sans-serif" font-size="11">',
                      f'<rect width="{width}" height="{height}" fill="white"/>']
        self.text(10, 18, title, size=13)

    def text(self, x: float, y: float, text: str, anchor: str = "start", turn: int = 0,
             size: int = 11) -> None:
        """A line of text."""
        turned = f' transform="rotate({turn} {x:.1f} {y:.1f})"' if turn else ""
        self.lines.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" '
                          f'font-size="{size}"{turned}>{html.escape(text)}</text>')

    def line(self, x1: float, y1: float, x2: float, y2: float, colour: str = _GREY,
             width: float = 0.6) -> None:
        """A line."""
        self.lines.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
                          f'stroke="{colour}" stroke-width="{width}"/>')

    def dot(self, x: float, y: float, colour: str) -> None:
        """A point."""
        self.lines.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}" '
                          'fill-opacity="0.8"/>')

    def done(self) -> str:
        """The file."""
        return "\n".join([*self.lines, "</svg>", ""])


def points(title: str, values: Sequence[tuple[float, float]], x_name: str) -> str:
    """Factors over a logarithmic axis, with a line at 1."""
    width, left, top, height = 700, 50, 40, 240
    drawing = _Drawing(width, top + height + 50, title)
    low, high = (math.log10(bound) for bound in (min(x for x, _ in values),
                                                  max(x for x, _ in values)))
    most = math.ceil(2 * max(y for _, y in values)) / 2

    def across(x: float) -> float:
        return left + (width - left - 20) * (math.log10(x) - low) / max(high - low, 1e-9)

    def up(y: float) -> float:
        return top + height * (1 - y / most)

    for half in range(int(2 * most) + 1):
        drawing.line(left, up(half / 2), width - 20, up(half / 2),
                     "black" if half == 2 else _GREY, 1.2 if half == 2 else 0.6)
        drawing.text(left - 6, up(half / 2) + 4, f"{half / 2:.1f}", "end")
    for tick in (3, 10, 30, 100, 300, 1000, 3000):
        if low <= math.log10(tick) <= high:
            drawing.text(across(tick), top + height + 18, str(tick), "middle")
    drawing.text(width / 2, top + height + 38, x_name, "middle")
    for x, y in values:
        drawing.dot(across(x), up(y), _COLOUR)
    return drawing.done()
