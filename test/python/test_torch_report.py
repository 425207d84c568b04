# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The report of a kernel, and the notebook that shows it."""

import pytest

import lnbwd
from conftest import ROOT

# ------------------------------------------------------------------------------------------ report


@pytest.mark.compiler
@pytest.mark.parametrize("chip", ["gfx942", "gfx1100", "sm_90"])
def test_report(chip):
    k = lnbwd.compile("layer_norm_bwd", n=1024, dtype="bf16", chip=chip)
    report = lnbwd.report(k, rows=4096)
    assert report.rows == 4096 and report.chip == chip
    assert 3 * 4096 * 1024 * 2 <= report.minimal_bytes <= 1.1 * 3 * 4096 * 1024 * 2
    assert report.bytes >= report.minimal_bytes
    assert 0 < report.share_of_peak <= 1 + 1e-9
    # No faster than memory lets the bytes through.
    assert report.seconds >= 0.99 * report.minimal_bytes / (
        lnbwd.compiler.chips()[chip]["gigabytesPerSecond"] * 1e9)
    assert chip in str(report) and "bound by" in repr(report)
    assert lnbwd.report(k).rows == (1 << 24) // 1024


@pytest.mark.compiler
def test_a_report_needs_rows_and_one_chip():
    k = lnbwd.compile("layer_norm_bwd", n=64, chip="gfx942")
    with pytest.raises(ValueError, match="rows: expected 1 or more, got 0"):
        lnbwd.report(k, rows=0)
    several = lnbwd.compile("layer_norm_bwd", n=64, chips=["gfx942", "gfx1100"])
    with pytest.raises(lnbwd.LnbwdError, match="report: the kernel is compiled for gfx942"):
        lnbwd.report(several)


# ---------------------------------------------------------------------------------------- notebook


@pytest.mark.compiler
@pytest.mark.simulator
def test_the_notebook_runs_on_a_cpu(monkeypatch):
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "python"))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    path = ROOT / "examples" / "layer_norm.ipynb"
    notebook = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    outputs = [o for cell in notebook.cells if cell.cell_type == "code" for o in cell.outputs]
    assert any("bound by" in o.get("text", "") for o in outputs)
    # What is kept in the tree has no outputs: they would go stale.
    kept = nbformat.read(path, as_version=4)
    assert all(not cell.outputs for cell in kept.cells if cell.cell_type == "code")
