# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether kernels add in the canonical order, which depends on the types and N alone.

The switch belongs to the process: each call of an operator, a row function or a region of a
compiled graph launches the kernel of the order that holds at the call. docs/numerics.md
says what that order promises.
"""

from __future__ import annotations

from .settings import BATCH_INVARIANT


def is_batch_invariant() -> bool:
    """Whether kernels add in the canonical order now: :class:`batch_invariant` says it, else the
    environment's LNBWD_BATCH_INVARIANT."""
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
