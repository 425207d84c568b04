# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The dashboard's plots: small SVG files, the same for the same numbers."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence


def points(title: str, values: Sequence[tuple[float, float]], x_name: str) -> str:
    """A file of factors over a logarithmic axis, with a line at 1."""
    width, left, top, height = 700, 50, 40, 240
    whole = top + height + 50
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {whole}" '
             'font-family="sans-serif" font-size="11">',
             f'<rect width="{width}" height="{whole}" fill="white"/>']
    low, high = (math.log10(bound) for bound in (min(x for x, _ in values),
                                                  max(x for x, _ in values)))
    most = math.ceil(2 * max(y for _, y in values)) / 2

    def across(x: float) -> float:
        return left + (width - left - 20) * (math.log10(x) - low) / max(high - low, 1e-9)

    def up(y: float) -> float:
        return top + height * (1 - y / most)

    def write(x: float, y: float, text: str, anchor: str = "middle", size: int = 11) -> None:
        lines.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" '
                     f'font-size="{size}">{html.escape(text)}</text>')

    write(10, 18, title, "start", 13)
    for half in range(int(2 * most) + 1):
        y = up(half / 2)
        colour, stroke = ("black", 1.2) if half == 2 else ("#bbbbbb", 0.6)
        lines.append(f'<line x1="{left:.1f}" y1="{y:.1f}" x2="{width - 20:.1f}" y2="{y:.1f}" '
                     f'stroke="{colour}" stroke-width="{stroke}"/>')
        write(left - 6, y + 4, f"{half / 2:.1f}", "end")
    for tick in (3, 10, 30, 100, 300, 1000, 3000):
        if low <= math.log10(tick) <= high:
            write(across(tick), top + height + 18, str(tick))
    write(width / 2, top + height + 38, x_name)
    lines += [f'<circle cx="{across(x):.1f}" cy="{up(y):.1f}" r="3.5" fill="#c1272d" '
              'fill-opacity="0.8"/>' for x, y in values]
    return "\n".join([*lines, "</svg>", ""])
