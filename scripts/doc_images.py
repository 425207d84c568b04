# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The documentation's images of the example's kernels, as small SVG files: where the time of a
report goes, and the timeline that the simulator predicts."""

from __future__ import annotations

import html
import itertools
import json
from collections.abc import Iterable, Mapping

from doc_tools import CHIP, EXAMPLE, Tools

REPORTED_ROWS = (1024, 2048, 4096, 8192, 16384, 32768, 65536)
TIMED_ROWS = 8192

# What a wave does, by the category of the trace's events, and its colour.
STATES = {"working": "#3b7d4f", "memory": "#c1272d", "LDS": "#e08a1e", "barrier": "#7a5ba6",
          "scalar memory": "#d9c022", "registers": "#2a9fb5", "issue": "#aaaaaa"}


class Drawing:
    """An SVG file that grows downwards."""

    WIDTH, LEFT, RIGHT = 720, 130, 64

    def __init__(self, title: str) -> None:
        self._parts: list[str] = []
        self.y = 20.0
        self.text(10, title, size=13)
        self.y += 14

    def text(self, x: float, text: str, anchor: str = "start", size: int = 11) -> None:
        """A line of text at the present height."""
        self._parts.append(f'<text x="{x:.1f}" y="{self.y:.1f}" text-anchor="{anchor}" '
                           f'font-size="{size}">{html.escape(text)}</text>')

    def bars(self, bars: Iterable[tuple[float, float, str]], height: int) -> None:
        """Bars from one share of the width to another, each with a colour."""
        span = self.WIDTH - self.LEFT - self.RIGHT
        paths: dict[str, str] = {}
        for start, end, colour in bars:
            paths[colour] = (f"{paths.get(colour, '')}M{self.LEFT + span * start:.1f} "
                             f"{self.y:.1f}h{span * (end - start):.1f}")
        self._parts += [f'<path stroke="{colour}" stroke-width="{height}" d="{path}"/>'
                        for colour, path in paths.items()]

    def legend(self, entries: Mapping[str, str]) -> None:
        """Names with the colours of bars."""
        x = float(self.LEFT)
        for name, colour in entries.items():
            self._parts.append(f'<rect x="{x:.1f}" y="{self.y - 9:.1f}" width="10" height="10" '
                               f'fill="{colour}"/>')
            self.text(x + 14, name)
            x += 30 + 6.2 * len(name)
        self.y += 22

    def file(self) -> str:
        """The file's text."""
        return "\n".join([
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.WIDTH} {self.y:.0f}" '
            'font-family="sans-serif">',
            f'<rect width="{self.WIDTH}" height="{self.y:.0f}" fill="white"/>',
            *self._parts, "</svg>", ""])


def report_image(tools: Tools) -> str:
    """The least time by reports for several numbers of rows, divided among what needs it."""
    reports = [json.loads(tools.opt(EXAMPLE, f"--lnbwd-pipeline=chip={CHIP}", "--emit=report-json",
                                    f"--rows={rows}")) for rows in REPORTED_ROWS]
    first, second = (kernel["name"] for kernel in reports[0]["kernels"])
    drawing = Drawing(f"{first} for {CHIP}, rows of {reports[0]['row_length']}: "
                      "shares of the least time")
    colours = {"bytes that no kernel can avoid": STATES["working"],
               f"other bytes of {first}": STATES["LDS"], second: STATES["memory"]}
    drawing.legend(colours)
    for report in reports:
        own = report["kernels"][0]["seconds"] / report["seconds"]
        ends = [0, report["share_of_peak"], own, 1]
        drawing.text(drawing.LEFT - 8, f"{report['rows']} rows", "end")
        drawing.text(drawing.WIDTH - 8, f"{report['seconds'] * 1e6:.1f} us", "end")
        drawing.y -= 4
        drawing.bars(((start, end, colour) for (start, end), colour in zip(
            itertools.pairwise(ends), colours.values(), strict=True)), 14)
        drawing.y += 26
    return drawing.file()


def states_of_wave(events: list[dict], step: float, steps: int) -> list[str]:
    """What a wave does for most of each of equal steps of time; "" where it does nothing."""
    spent: list[dict[str, float]] = [{} for _ in range(steps)]
    for event in events:
        start, end = event["ts"], event["ts"] + event["dur"]
        for place in range(int(start / step), min(int(end / step) + 1, steps)):
            part = min(end, (place + 1) * step) - max(start, place * step)
            spent[place][event["cat"]] = spent[place].get(event["cat"], 0.0) + part
    return [max(one, key=one.__getitem__) if sum(one.values()) > step / 2 else "" for one in spent]


def timeline_image(tools: Tools) -> str:
    """The trace of the first compute unit's waves, with what each does."""
    trace = tools.scratch / "trace.json"
    tools.run(tools.build / "bin" / "lnbwd-run", tools.kernel_file.name, "--m", TIMED_ROWS,
              "--device", "sim", "--predict", "--trace", trace)
    events = json.loads(trace.read_text())["traceEvents"]
    timed = [event for event in events if event["ph"] == "X"]
    drawing = Drawing(f"{tools.kernel_file.stem} for {CHIP}, {TIMED_ROWS} rows: "
                      "what the waves of a compute unit wait for")
    drawing.legend({name: STATES[name] for name in STATES
                    if any(event["cat"] == name for event in timed)})
    steps = 260
    last = max(event["ts"] + event["dur"] for event in timed)
    for process in sorted({event["pid"] for event in timed}):
        own = [event for event in timed if event["pid"] == process]
        title = next(event["args"]["name"] for event in events
                     if event["name"] == "process_name" and event["pid"] == process)
        start, end = min(event["ts"] for event in own), max(
            event["ts"] + event["dur"] for event in own)
        drawing.text(10, f"{title.rpartition(': ')[2]}: {start:.1f} to {end:.1f} us")
        drawing.y += 16
        for wave in sorted({event["tid"] for event in own}):
            name = next(event["args"]["name"] for event in events if event["name"] == "thread_name"
                        and (event["pid"], event["tid"]) == (process, wave))
            drawing.text(drawing.LEFT - 8, name, "end", 10)
            drawing.y -= 4
            states = states_of_wave([event for event in own if event["tid"] == wave],
                                    last / steps, steps)
            runs = [(state, [place for place, _ in run]) for state, run in itertools.groupby(
                enumerate(states), key=lambda one: one[1])]
            drawing.bars(((places[0] / steps, (places[-1] + 1) / steps, STATES[state])
                          for state, places in runs if state), 10)
            drawing.y += 18
        drawing.y += 8
    return drawing.file()
