# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decisions about the fused nodes of torch.compile's graphs, and the log that shows them."""

from __future__ import annotations

import base64
import functools
import html
import json
import logging
import os
import sys
import threading
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from ..core.base import files, settings
from ..program.row_program import RowProgram

log = logging.getLogger("lnbwd.regions")


@dataclass(frozen=True)
class Decision:
    """The decision on a fused node.

    Attributes:
        kernel: the fused node's name in Inductor's scheduler.
        taken: whether row programs compute it.
        reason: why not; empty if they do.
        nodes: the names of the graph's nodes that are fused in it.
        programs: the row programs, in the order in which they run; empty if there are none.
        microseconds: the times that decided: "rows" of the row programs, "torch" of Inductor's own
            kernel. A time that was not needed is missing.
    """

    kernel: str
    taken: bool
    reason: str
    nodes: tuple[str, ...]
    programs: tuple[RowProgram, ...] = ()
    microseconds: Mapping[str, float] = field(default_factory=dict)

    @property
    def shapes(self) -> str:
        """The rows and columns of the row programs; M where any number of rows will do."""
        return ", ".join(f"{program.rows or 'M'}x{program.length}" for program in self.programs)

    def __str__(self) -> str:
        times = ", ".join(f"{name} {time:.1f} us" for name, time in self.microseconds.items())
        return ": ".join(filter(None, (
            "taken" if self.taken else "left", self.kernel, self.shapes,
            f"{len(self.nodes)} nodes to {self.nodes[-1]}" if self.nodes else "", self.reason,
            times)))


class Decisions(list[Decision]):
    """Decisions that print as a table, and are one in a notebook."""

    _HEADS = ("", "kernel", "rows x columns", "nodes", "rows us", "torch us", "why")
    _STYLE = ("body,table{font:14px sans-serif;border-collapse:collapse}body{margin:2em}"
              "th,td{padding:.3em .8em;text-align:left;vertical-align:top;"
              "border-bottom:1px solid #ccc}td.number{text-align:right}"
              "tr.taken td:first-child{color:#060}tr.left td:first-child{color:#a00}")

    def _cells(self) -> list[tuple[str, ...]]:
        """A row of the table for each decision."""
        def time(one: Decision, name: str) -> str:
            return f"{one.microseconds[name]:.1f}" if name in one.microseconds else ""
        return [("taken" if one.taken else "left", one.kernel, one.shapes, str(len(one.nodes)),
                 time(one, "rows"), time(one, "torch"), one.reason) for one in self]

    def _summary(self) -> str:
        if not self:
            return ("no decisions: backend='lnbwd' has compiled no graph with rows for a GPU or in "
                    "'with lnbwd.simulate():'")
        return f"{sum(one.taken for one in self)} of {len(self)} fused nodes taken"

    def __str__(self) -> str:
        if not self:
            return self._summary()

        def short(name: str) -> str:
            return name if len(name) <= 32 else f"{name[:14]}...{name[-15:]}"
        rows = [self._HEADS, *((row[0], short(row[1]), *row[2:]) for row in self._cells())]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "\n".join([*("  ".join(
            cell.rjust(width) if 3 <= place <= 5 else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))).rstrip()
            for row in rows), self._summary()])

    def _repr_html_(self) -> str:
        heads = "".join(f"<th>{head}</th>" for head in self._HEADS)
        rows = []
        for one, cells in zip(self, self._cells(), strict=True):
            state, kernel, shapes, count, *others = map(html.escape, cells)
            names = "<br>".join(map(html.escape, one.nodes))
            rows.append(
                f'<tr class="{state}"><td>{state}</td><td>{kernel}</td><td>{shapes}</td>'
                f"<td><details><summary>{count}</summary>{names}</details></td>"
                + "".join(f'<td class="number">{cell}</td>' for cell in others[:2])
                + f"<td>{others[2]}</td></tr>\n")
        return (f"<style>{self._STYLE}</style>\n<p>{self._summary()}</p>\n"
                f"<table><tr>{heads}</tr>\n{''.join(rows)}</table>\n")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the table as a page of HTML, which refers to no other file. The count of a node
        opens the names of the graph's nodes in it."""
        files.write_whole(path, '<!DOCTYPE html>\n<html lang="en"><meta charset="utf-8">\n'
                                f"<title>lnbwd: decisions</title>\n{self._repr_html_()}</html>\n")


_decisions = Decisions()
_lock = threading.Lock()


def decisions(clear: bool = False) -> Decisions:
    """The decisions about all graphs that this process compiled or loaded from Inductor's caches:
    a list that prints as a table, and that ``save("page.html")`` writes.

    Args:
        clear: whether the list begins anew.
    """
    with _lock:
        result = Decisions(_decisions)
        if clear:
            _decisions.clear()
    return result


def record(text: str) -> None:
    """Adds a decision to those of this process, and to the log. Generated code calls it when it is
    loaded, so that graphs from a cache have their decisions."""
    fields = json.loads(zlib.decompress(base64.b85decode(text)))
    programs = tuple(map(RowProgram.from_text, fields.pop("programs")))
    decision = Decision(**{**fields, "nodes": tuple(fields["nodes"]), "programs": programs})
    set_up_log()
    log.info("%s", decision)
    with _lock:
        _decisions.append(decision)


def as_text(decision: Decision) -> str:
    """A decision, for :func:`record`."""
    fields = {**asdict(decision), "programs": [one.text() for one in decision.programs]}
    return base64.b85encode(zlib.compress(json.dumps(fields).encode())).decode()


@functools.lru_cache(maxsize=1)
def set_up_log() -> None:
    """Shows the log on standard error if LNBWD_LOG asks for it."""
    if settings.choice("LNBWD_LOG", ("", "regions"), "'regions'"):
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter("[lnbwd] %(message)s"))
        log.addHandler(handler)
        log.setLevel(logging.INFO)
