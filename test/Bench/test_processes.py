# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench/lnbwd_bench/processes.py: work is shared out among processes that may die."""

import functools
import os
import time

from lnbwd_bench import processes


def work(what, file):
    with processes.turn(file), processes.turn(file):
        if what == "dies":
            os._exit(1)
        if what == "never ends":
            time.sleep(600)
    return {"process": os.getpid(), "is_lost": what == "loses"}


def rows(folder, *pools):
    """The rows by place of pools of numbers of processes and what their items do."""
    file = folder / "turn"
    file.touch()
    items = iter(range(99))
    made = [(count, {next(items): what for what in whats}) for count, whats in pools]
    found = processes.rows_of(made, time.time() + 600, functools.partial(work, file=file))
    return [row for _, row in sorted((row["place"], row) for row in found)]


def test_another_process_takes_the_place_of_one_that_dies(tmp_path):
    """It had the turn then."""
    found = rows(tmp_path, (1, ["", "dies", "", "loses", ""]))
    assert "died" in found.pop(1)["failure"]
    first, second, third, fourth = (row["process"] for row in found)
    assert second == third and len({first, second, fourth}) == 3


def test_a_pool_has_processes_of_its_own(tmp_path):
    found = [row["process"] for row in rows(tmp_path, (2, 2 * [""]), (1, 3 * [""]))]
    assert len(set(found[2:])) == 1 and found[2] not in found[:2]


def test_a_process_that_does_not_end_is_given_up(monkeypatch, tmp_path):
    monkeypatch.setattr(processes, "_GRACE_SECONDS", 0.3 - 600)
    found, = rows(tmp_path, (1, ["never ends"]))
    assert "did not end" in found["failure"]


def test_no_work_is_begun_after_the_end():
    assert not list(processes.rows_of([(1, {0: ""})], time.time() - 1, work))
