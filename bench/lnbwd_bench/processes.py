# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shares work out among processes, each of which may die or never end."""

from __future__ import annotations

import contextlib
import fcntl
import multiprocessing
import pathlib
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent import futures
from typing import Any

# How much longer than it should a process may take.
_GRACE_SECONDS = 120.0
BACKENDS = {"torch": "inductor", "lnbwd": "lnbwd"}
"""torch.compile's backends, by the names that tables have."""
_threads, _held = threading.RLock(), list[pathlib.Path]()


@contextlib.contextmanager
def turn(file: pathlib.Path) -> Iterator[None]:
    """What one thread of one process has at a time, and a process that dies has no more."""
    with _threads, contextlib.ExitStack() as stack:
        if not _held:
            fcntl.flock(stack.enter_context(file.open()), fcntl.LOCK_EX)
            _held.append(file)
            stack.callback(_held.clear)
        yield


def take_turns(file: pathlib.Path, *functions: tuple[Any, str]) -> None:
    """Has attributes of classes or modules, functions, run in :func:`turn` from here on."""
    for owner, name in functions:
        function = getattr(owner, name)

        def alone(*arguments: Any, function: Any = function, **named: Any) -> Any:
            with turn(file):
                return function(*arguments, **named)

        setattr(owner, name, alone)


def measure_in_turns(file: pathlib.Path, has_ours: bool = True) -> None:
    """Has torch.compile, and our backend, measure on the device in :func:`turn`."""
    from torch._inductor.runtime.triton_heuristics import CachingAutotuner

    owners: list[tuple[Any, str]] = [(CachingAutotuner, "autotune_to_one_config")]
    if has_ours:
        from lnbwd.core.compile import tuning
        from lnbwd.inductor import choice

        owners += [(tuning, "measure"), (choice, "time_calls")]
    take_turns(file, *owners)


def prepare_inductor(file: pathlib.Path) -> None:
    """Prepares a process that compiles beside others."""
    from torch._inductor import config

    config.fx_graph_cache = False
    config.compile_threads = 1
    measure_in_turns(file)


def rows_of(pools: Iterable[tuple[int, dict[int, Any]]], end: float,
            work: Callable[[Any], dict[str, Any]],
            prepare: Callable[[], None] | None = None) -> Iterator[dict[str, Any]]:
    """What ``work`` returns of each item, with its place, as they come.

    A pool is a number of processes and the items that they have, by place. No item is begun after
    ``end``, by ``time.time()``. A process calls ``prepare`` first. Another one takes its place if
    it dies, does not end, or says that it ``is_lost``; the item that it had then has a
    ``failure``. Processes are started afresh: a fork of this one would have the locks that its
    other threads hold.
    """
    own = threading.local()

    def row(place: int, item: Any) -> dict[str, Any] | None:
        if time.time() > end:
            return None
        if not hasattr(own, "process"):
            own.process = futures.ProcessPoolExecutor(
                1, multiprocessing.get_context("spawn"), prepare)
        try:
            found = own.process.submit(work, item).result(end + _GRACE_SECONDS - time.time())
        except (futures.BrokenExecutor, TimeoutError) as error:
            found = {"failure": f"its process died, or did not end: {error}", "is_lost": True}
        if found.pop("is_lost", False):
            del own.process
        return {"place": place, **found}

    made = [pool.submit(row, place, item) for count, items in pools
            for pool in [futures.ThreadPoolExecutor(count)] for place, item in items.items()]
    yield from filter(None, (future.result() for future in futures.as_completed(made)))
    for process in multiprocessing.active_children():
        process.kill()
