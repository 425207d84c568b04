# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What became of each region and kernel of the graphs that are compiled, or come out of Inductor's
caches."""

from __future__ import annotations

import base64
import collections
import functools
import json
import logging
import os
import sys
import threading
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .. import regions_op
from ..errors import LnbwdError
from ..rowprogram import RowProgram

log = logging.getLogger("lnbwd.regions")

DECISIONS = "lnbwd_decisions"
"""Under this name the output of a graph keeps what :func:`explain` is to tell of it: a node for
that would have its place among those that Inductor fuses."""


@functools.lru_cache(maxsize=1)
def set_up_log() -> None:
    """Shows the log on standard error if LNBWD_LOG asks for it."""
    chosen = {part.strip() for part in os.environ.get("LNBWD_LOG", "").split(",") if part.strip()}
    unknown = chosen - {"regions"}
    if unknown:
        raise LnbwdError(f"LNBWD_LOG: expected 'regions', got {', '.join(sorted(unknown))!r}")
    if "regions" in chosen:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter("[lnbwd] %(message)s"))
        log.addHandler(handler)
        log.setLevel(logging.INFO)


@dataclass(frozen=True)
class Decision:
    """What became of a region, or what keeps a kernel torch.compile's.

    Attributes:
        region: what it is, in a few words.
        taken: whether a kernel of ours computes it.
        reason: why not, or what it saves.
        row_sums, column_sums: how many sums over the row, and over all rows or those of a group, it
            has.
        program: the row program, if the region could be written as one.
        nodes: the names of the graph's nodes that it has, by which Inductor's kernels name theirs.
        kernel: the name of one of Inductor's kernels or calls; empty of what is about a region.
    """

    region: str
    taken: bool
    reason: str
    row_sums: int
    column_sums: int
    program: RowProgram | None
    nodes: tuple[str, ...] = ()
    kernel: str = ""


_decisions: list[Decision] = []
_lock = threading.Lock()


def decisions(clear: bool = False) -> list[Decision]:
    """What became of the regions of all graphs that this process compiled, or had out of Inductor's
    caches; with ``clear``, the list begins anew. Of graphs in C++ (``cpp_wrapper``) a cache keeps
    none."""
    with _lock:
        result = list(_decisions)
        if clear:
            _decisions.clear()
    return result


_explained: collections.Counter[str] = collections.Counter()
"""What this process will load of graphs that it compiled itself."""


def record(made: Sequence[Decision]) -> None:
    """Adds to the decisions of this process, and logs those about regions."""
    set_up_log()
    for decision in made:
        if not decision.kernel:
            log.info("%s: %s: %s", "taken" if decision.taken else "left", decision.region,
                     decision.reason)
    with _lock:
        _decisions.extend(made)


def explain(text: str) -> None:
    """Called by a graph's code where that is loaded: has its decisions among those of this process
    if they are not, since the code is from a cache. Its kernels are all loaded behind it."""
    regions_op.finish_loading()
    with _lock:
        is_from_cache = not _explained[text]
        _explained[text] -= not is_from_cache
    if is_from_cache:
        record(of_text(text))


def of_text(text: str) -> list[Decision]:
    """Decisions from a graph or its code."""
    return [Decision(**{**one, "nodes": (*one["nodes"],), "program": one["program"]
                        and RowProgram.from_text(one["program"])})
            for one in json.loads(zlib.decompress(base64.b85decode(text)))]


def expect(made: Iterable[Decision]) -> str:
    """The text of decisions whose graph this process compiles, so that :func:`explain` knows."""
    text = as_text(made)
    with _lock:
        _explained[text] += 1
    return text


def as_text(made: Iterable[Decision]) -> str:
    """Decisions, for :func:`of_text`."""
    fields = [{**vars(one), "program": one.program and one.program.text()} for one in made]
    return base64.b85encode(zlib.compress(json.dumps(fields).encode())).decode()
