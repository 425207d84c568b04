# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decisions about the fused nodes of torch.compile's graphs, and the log that shows them."""

from __future__ import annotations

import base64
import functools
import json
import logging
import sys
import threading
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from ..core.base import settings
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

    def __str__(self) -> str:
        shapes = ", ".join(f"{program.rows or 'M'}x{program.length}" for program in self.programs)
        times = ", ".join(f"{name} {time:.1f} us" for name, time in self.microseconds.items())
        return ": ".join(filter(None, (
            "taken" if self.taken else "left", self.kernel, shapes,
            f"{len(self.nodes)} nodes to {self.nodes[-1]}" if self.nodes else "", self.reason,
            times)))


_decisions: list[Decision] = []
_lock = threading.Lock()


def decisions(clear: bool = False) -> list[Decision]:
    """The decisions about all graphs that this process compiled or loaded from Inductor's caches.

    Args:
        clear: whether the list begins anew.
    """
    with _lock:
        result = list(_decisions)
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
    chosen = {part.strip() for part in settings.read("LNBWD_LOG").split(",") if part.strip()}
    unknown = chosen - {"regions"}
    if unknown:
        raise settings.error("LNBWD_LOG", "'regions'", ", ".join(sorted(unknown)))
    if "regions" in chosen:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter("[lnbwd] %(message)s"))
        log.addHandler(handler)
        log.setLevel(logging.INFO)
