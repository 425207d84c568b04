# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench/training_step.py: lines of records made by hand, and losses that are no number."""

from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch")

import training_step  # noqa: E402


def test_lines_have_each_way():
    step = {"peak_bytes": 2**30, "first_seconds": 1.0, "times_ms": [20.5, 20.0, 21.0]}
    row = {"model": "tiny, autocast",
           "ways": {"torch": step, "lnbwd": {**step, "times_ms": [18.0]}}}
    line = training_step.line(row)
    assert "torch   20.50 (  20.00)  1.00G   1.0s  lnbwd   18.00" in line


def test_times_of_a_model_that_diverged_are_refused():
    training_step.checked("torch", 2.5)
    with pytest.raises(ArithmeticError, match="torch: expected a finite loss, got nan"):
        training_step.checked("torch", math.nan)
