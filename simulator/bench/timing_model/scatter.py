# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A plot of predicted over measured times as SVG, both axes logarithmic."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

_SIDE, _MARGIN = 420, 48


@dataclasses.dataclass(frozen=True)
class Series:
    """Points of one colour; a named one has a line of the legend."""

    measured: Sequence[float]
    predicted: Sequence[float]
    colour: str = "#1f5fa8"
    opacity: float = 0.35
    radius: float = 1.3
    name: str = ""


def scatter(series: Sequence[Series], low: float, high: float, ticks: Sequence[float],
            unit: str = "µs") -> str:
    """The plot, from ``low`` to ``high`` on both axes."""
    def place(value: float) -> float:
        return _MARGIN + _SIDE * math.log(value / low) / math.log(high / low)

    size = _SIDE + 2 * _MARGIN
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{size}" height="{size}" '
             f'viewBox="0 0 {size} {size}" font-family="sans-serif" font-size="12">',
             f'<rect width="{size}" height="{size}" fill="white"/>']
    for tick in ticks:
        at = place(tick)
        below = f'x="{at:.0f}" y="{size - _MARGIN + 16}" text-anchor="middle"'
        beside = f'x="{_MARGIN - 6}" y="{size - at + 4:.0f}" text-anchor="end"'
        parts += [f'<path d="M{at:.0f} {_MARGIN}V{_MARGIN + _SIDE}M{_MARGIN} {size - at:.0f}'
                  f'H{_MARGIN + _SIDE}" stroke="#ddd"/>',
                  f"<text {below}>{tick:g}</text>", f"<text {beside}>{tick:g}</text>"]
    parts += [f'<path d="M{_MARGIN} {size - _MARGIN}L{_MARGIN + _SIDE} {_MARGIN}" stroke="#888"/>']
    for one in series:
        parts += [f'<g fill="{one.colour}" fill-opacity="{one.opacity:g}">']
        parts += [f'<circle cx="{place(x):.1f}" cy="{size - place(y):.1f}" r="{one.radius:g}"/>'
                  for x, y in zip(one.measured, one.predicted, strict=True)]
        parts += ["</g>"]
    named = [one for one in series if one.name]
    for line, one in enumerate(named):
        y = _MARGIN + 16 + 16 * line
        parts += [f'<circle cx="{_MARGIN + 12}" cy="{y - 4}" r="4" fill="{one.colour}"/>',
                  f'<text x="{_MARGIN + 22}" y="{y}">{one.name}</text>']
    parts += [f'<text x="{size / 2}" y="{size - 8}" text-anchor="middle">measured, {unit}</text>',
              f'<text transform="translate(14 {size / 2}) rotate(-90)" text-anchor="middle">'
              f"predicted, {unit}</text>", "</svg>", ""]
    return "\n".join(parts)
