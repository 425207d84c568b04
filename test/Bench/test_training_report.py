# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables, bars and plot of bench/training_step.py, from records made by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from lnbwd_bench import training, training_report  # noqa: E402
from lnbwd_bench.models import Config  # noqa: E402


def way(milliseconds: list[float], gib: float = 1.0,
        kinds: dict[str, float] | None = None) -> dict[str, Any]:
    found: dict[str, Any] = {"peak_bytes": int(gib * 2**30), "first_seconds": 1.0,
                             "times_ms": milliseconds}
    return {**found, "kernels_ms": kinds} if kinds else found


def document(**ways: dict[str, Any]) -> dict[str, Any]:
    return {"date": "2026-11-20T00:00:00", "machine": {"name": "a GPU", "torch": "2.13"},
            "results": [{"model": "gpt2-small", "precision": "autocast", "mode": "compiled",
                         "ways": ways}]}


def test_the_gain_is_a_share_of_what_free_gains():
    assert training_report.gain(20.0, 19.0, 18.0) == pytest.approx(0.5)
    assert training_report.gain(20.0, 17.0, 18.0) == pytest.approx(1.5)
    assert training_report.gain(20.0, 19.0, 19.95) is None
    assert training_report.gain(20.0, None, 18.0) is None


def test_bars_met_and_missed():
    met = document(torch=way([20.0, 20.2, 19.9]), lnbwd=way([18.4, 18.5, 18.3], 1.005),
                   free=way([18.0, 18.1, 17.9]))["results"][0]
    assert [verdict.word for verdict in training_report.verdicts(met)] == ["PASS"] * 3
    missed = document(torch=way([20.0]), lnbwd=way([20.2], 1.02), free=way([18.0]))["results"][0]
    assert [verdict.word for verdict in training_report.verdicts(missed)] == ["MISS"] * 3


def test_the_report_names_each_way_and_bar():
    text = training_report.report(document(
        torch=way([20.0], kinds={"products": 10.0, "row-wise, others": 6.0}),
        lnbwd=way([18.0], kinds={"products": 9.9, "row-wise, ours": 3.0, "row-wise, others": 1.0}),
        free=way([18.0], kinds={"products": 9.8, "row-wise, others": 4.0})))
    assert ("| gpt2-small, autocast | compiled | 20.00 (20.00) | 18.00 (18.00) | 18.00 (18.00) "
            "| 1.00 | 6.00 | 4.00 | 4.00 | 1.00 | 1.000 | 1.000 | 1.0 | 1.0 |") in text
    assert text.count("PASS") == 3


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


def test_losses_are_compared_with_torchs_own_noise():
    row = {"model": "tiny", "precision": "bf16", "mode": "compiled", "losses": {
        "torch": [6.0, 5.0], "again": [6.0, 5.0], "eager": [6.0, 5.25], "lnbwd": [6.0, 4.875]}}
    line = training_report.losses_line(row)
    assert "torch eager 2.50e-01, lnbwd 1.25e-01" in line and "torch again 0.00e+00" in line


def test_losses_of_a_small_model_fall():
    config = Config("small", "gpt2", 1, 32, 2, 2, 8, 16)
    losses = training.train("torch", "eager", config, True, "cpu", 3)
    assert len(losses) == 3 and all(math.isfinite(loss) for loss in losses)


@pytest.mark.parametrize("ours,word", [(1.01e-2, "PASS: ours to torch's 1.010"),
                                       (2e-2, "MISS: ours to torch's 2.000")])
def test_gradients_are_compared_with_torchs_errors(ours, word):
    def errors(value):
        return {"all": value, "columns": value, "worst": 3 * value}

    row = {"model": "tiny", "precision": "bf16", "mode": "compiled", "gradients": {
        "torch": errors(1e-2), "eager": errors(1e-2), "lnbwd": errors(ours)}}
    line = training_report.report({"results": [row]})
    assert word in line and "worst 3.000e-02" in line


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
    diverged = training.Way("free", lambda: math.nan, 1.0, 1)
    with pytest.raises(ArithmeticError, match="free: expected a finite loss, got nan"):
        diverged.check()


@pytest.mark.parametrize("suffix", ["svg", "png"])
def test_the_plot_is_written(tmp_path, suffix):
    pytest.importorskip("matplotlib")
    path = tmp_path / f"steps.{suffix}"
    training_report.plot(document(torch=way([20.0]), lnbwd=way([18.0]), free=way([18.0])), path)
    assert path.stat().st_size > 1000


@pytest.mark.parametrize("text", ["[]", "{}", '{"results": [{}]}',
                                  '{"results": [{"model": "", "precision": "", "mode": ""}]}'])
def test_files_that_are_no_run(tmp_path, text):
    (tmp_path / "file.json").write_text(text)
    with pytest.raises(ValueError, match=r"expected a run that training_step\.py"):
        training_report.read(tmp_path / "file.json")
