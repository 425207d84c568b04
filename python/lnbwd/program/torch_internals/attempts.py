# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The state of a thread's compilation: its classes, and the attempt at a graph."""

from __future__ import annotations

import contextlib
import dataclasses
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

CountPrograms = Callable[[Sequence[Any]], int | None]
own = threading.local()


class LeftError(Exception):
    """The graph is to be compiled again, with nodes of these names left to Inductor."""

    def __init__(self, names: frozenset[str]) -> None:
        super().__init__(names)
        self.names = names


@dataclasses.dataclass
class Attempt:
    """An attempt to compile a graph. ``left``: its nodes that Inductor lowers and fuses as it does
    by itself, by :func:`names_of`; ``is_last``: a :class:`LeftError` is not handled any more;
    ``whole``: sums that Inductor would split; ``fused``: nodes of its scheduler that it would fuse
    otherwise; ``apart``: those that it may fuse with additions to places of a tensor, with these
    nodes."""

    left: frozenset[str] = frozenset()
    is_last: bool = False
    whole: set[str] = dataclasses.field(default_factory=set)
    fused: set[str] = dataclasses.field(default_factory=set)
    apart: dict[str, list[Any]] = dataclasses.field(default_factory=dict)


def attempt() -> Attempt:
    """The attempt of this thread."""
    found: Attempt = getattr(own, "attempt", None) or Attempt(is_last=True)
    return found


def compile_again(compile: Callable[[], Any]) -> Any:
    """Calls a function that compiles a graph, and at most thrice again at a :class:`LeftError`."""
    before = getattr(own, "attempt", None)
    left = frozenset[str]()
    try:
        for is_last in (False, False, False, True):
            own.attempt = Attempt(left, is_last)
            try:
                return compile()
            except Exception as error:
                inner = getattr(error, "inner_exception", error)
                if not isinstance(inner, LeftError):
                    raise
                left |= inner.names
    finally:
        own.attempt = before


def is_left(names: Collection[str]) -> bool:
    """Whether this thread leaves nodes of the graph to Inductor."""
    return getattr(own, "classes", None) is None or not attempt().left.isdisjoint(names)


@contextlib.contextmanager
def scheduled_by(classes: Any = None, count_programs: CountPrograms | None = None
                 ) -> Iterator[None]:
    """Has this thread schedule graphs by classes, within :func:`registered`; None: Inductor's."""
    before = [getattr(own, name, None) for name in ("classes", "count_programs")]
    own.classes, own.count_programs = classes, count_programs
    try:
        yield
    finally:
        own.classes, own.count_programs = before
