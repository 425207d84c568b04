# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What environment variables choose, and the switches of the package."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .environment import read
from .errors import LnbwdError


def choice(variable: str, choices: Sequence[str], expected: str) -> str:
    """Which of the choices a variable says, the first if it is not set. An LnbwdError with
    ``expected`` if it says something else."""
    value = read(variable) or choices[0]
    if value not in choices:
        raise error(variable, expected, value)
    return value


class Switch:
    """A process's choice by a call, for all its threads, or by a variable: "1", "0" or nothing."""

    def __init__(self, variable: str) -> None:
        self._variable = variable
        self._watchers: list[Callable[[bool], None]] = []
        self.chosen: bool | None = None

    @property
    def is_on(self) -> bool | None:
        """The present choice, or None; an LnbwdError if the variable says something else."""
        if self.chosen is not None:
            return self.chosen
        said = choice(self._variable, ("", "0", "1"), "'0' or '1'")
        return said == "1" if said else None

    def choose(self, chosen: bool | None) -> None:
        """Chooses from now on; None: what the variable says."""
        self.chosen = chosen
        for watcher in self._watchers:
            watcher(bool(self.is_on))

    def watch(self, watcher: Callable[[bool], None]) -> None:
        """Tells a function whether it is on, now and whenever that changes by a call."""
        self._watchers.append(watcher)
        watcher(bool(self.is_on))


AUTOTUNE = Switch("LNBWD_AUTOTUNE")
BATCH_INVARIANT = Switch("LNBWD_BATCH_INVARIANT")


def error(variable: str, expected: str, got: str, why: object = "") -> LnbwdError:
    """The error for a variable with an unexpected value."""
    return LnbwdError(f"the environment variable {variable}: expected {expected}, got {got!r}"
                      + (f": {why}" if why else ""))


# Sums in the canonical order, which depends on the types and N alone. The switch belongs to the
# process: each call of an operator, a row function or a region of a compiled graph launches the
# kernel of the order that holds at the call (docs/numerics.md).
def is_batch_invariant() -> bool:
    """Whether kernels add in the canonical order now."""
    return bool(BATCH_INVARIANT.is_on)


def order() -> str:
    """The option ``order`` of lnbwd-pipeline that holds now; empty: the default."""
    return "canonical" if BATCH_INVARIANT.is_on else ""


class batch_invariant:
    """Has kernels add in an order that depends on types and N alone, from now on::

        lnbwd.batch_invariant(True)

    or inside of a ``with`` statement, which restores the order at its end::

        with lnbwd.batch_invariant():
            loss(model(x)).backward()

    It holds for the whole process, all threads; a gradient is computed in the order that holds
    when the backward pass runs. Kernels of both orders stay loaded.

    Args:
        mode: whether the order is the canonical one, or the fastest.

    Raises:
        TypeError: ``mode`` is no bool.
        LnbwdError: at a call of a kernel: its program has no canonical order, for example since it
            multiplies matrices.
    """

    def __init__(self, mode: bool = True) -> None:
        if not isinstance(mode, bool):
            raise TypeError(f"mode: expected True or False, got {mode!r}")
        self._before = BATCH_INVARIANT.chosen
        BATCH_INVARIANT.choose(mode)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        BATCH_INVARIANT.choose(self._before)
