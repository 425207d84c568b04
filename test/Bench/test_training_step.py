# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench/training_step.py: lines of records made by hand, and gradients of a small model."""

from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch")

import training_step  # noqa: E402
from lnbwd_bench import training  # noqa: E402
from lnbwd_bench.models import Config  # noqa: E402


def test_kernels_are_told_apart_by_name():
    kinds = {"nvjet_sm90_tst_256x128": "products",
             "void cudnn::fusion::compute_dot_do_o_specialized": "products",
             "void at::native::(anonymous)::multi_tensor_apply_kernel<x>": "optimizer",
             "rows1024_sums_columns_920d63dc_finalize": "row-wise, ours",
             "layer_norm_bwd_columns": "row-wise, ours",
             "triton_per_fused__to_copy_add_native_layer_norm_backward_view_13": "row-wise, others",
             "void at::native::reduce_kernel<128, 4>": "row-wise, others",
             "Memset (Device)": "rest"}
    assert {name: training.kind_of(name) for name in kinds} == kinds


def test_lines_have_each_way():
    step = {"peak_bytes": 2**30, "first_seconds": 1.0, "times_ms": [20.5, 20.0, 21.0]}
    row = {"model": "tiny", "precision": "bf16", "mode": "compiled",
           "ways": {"torch": step, "lnbwd": {**step, "times_ms": [18.0]}}}
    line = training_step.line(row)
    assert "torch   20.50 (  20.00)  1.00G   1.0s  lnbwd   18.00" in line
    errors = {name: {"all": value, "columns": value, "worst": 3 * value}
              for name, value in {"torch": 1e-2, "lnbwd": 1.01e-2}.items()}
    assert "ours over torch's 1.010" in training_step.gradients_line({**row, "gradients": errors})


def test_gradients_against_float64():
    config = Config("small", "gpt2", 1, 32, 2, 2, 8, 16)
    wanted = training.gradients("torch", "float64", config, True, "cpu")
    assert all(value.dtype == torch.float64 for value in wanted.values())
    exact = training.gradients("torch", "eager", config, False, "cpu")
    mixed = training.gradients("torch", "eager", config, True, "cpu")
    assert training.gradient_errors(wanted, wanted)["all"] == 0
    found = training.gradient_errors(mixed, wanted)
    assert 1e-4 < found["all"] < 1e-1 and found["columns"] <= found["worst"]
    assert exact.keys() == wanted.keys()


def test_times_of_a_model_that_diverged_are_refused():
    diverged = training.Way("torch", lambda: math.nan, 1.0, 1)
    with pytest.raises(ArithmeticError, match="torch: expected a finite loss, got nan"):
        diverged.check()
