# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench/row_functions.py: its shapes, its figures on the simulator, and results that are wrong."""

import json
import math
import os
import pathlib

import loaded_python
import pytest

torch = pytest.importorskip("torch")

import dashboard  # noqa: E402
import lnbwd  # noqa: E402
import row_functions  # noqa: E402
from lnbwd_bench import functions, quantized, results  # noqa: E402
from lnbwd_bench.machine import DTYPES  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def simulator(build):
    if not (build / "lib" / "liblnbwd-hip-sim.so").exists():
        pytest.skip("no simulator in the build")


def test_shapes_are_drawn_by_the_seed():
    for name in functions.CALLS:
        shapes = functions.draw(name, 7, 10)
        assert shapes == functions.draw(name, 7, 10) != functions.draw(name, 8, 10)
        assert len({shape for shape, _ in shapes}) == 10
        for shape, dtype in shapes:
            assert 2e6 <= math.prod(shape) * DTYPES[dtype].itemsize <= 4e8
    assert any(50257 in shape for shape, _ in functions.draw("cross_entropy", 7, 10))


QUANTIZED = "rms_norm-mxfp8-both"


@pytest.fixture(scope="module")
def figures(build, tmp_path_factory):
    """The command's output and its file, for functions with and without gradients."""
    file = tmp_path_factory.mktemp("figures") / "figures.json"
    result = loaded_python.run(
        [ROOT / "bench" / "row_functions.py", "--dry-run", "--count", "2", "--processes", "1",
         "--peers", "eager", "liger", "--only", "cross_entropy", "dropout_add_rms_norm", QUANTIZED,
         "--out", file],
        env={**os.environ, "LNBWD_BUILD_DIR": str(build), "PYTHONPATH": str(ROOT / "python")})
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout, file


def test_figures(figures):
    printed, file = figures
    # What Liger has not, it is not asked for.
    notes = {line.partition("liger: ")[0] for line in printed.splitlines()
             if line.startswith("note")}
    assert notes == {"note: cross_entropy (32, 32) bf16: "}
    rows = [row for row in results.read(file)["results"] if not row["name"].startswith(QUANTIZED)]
    assert {row["name"] for row in rows} == {
        f"{name}, {what}" for name in ("cross_entropy", "dropout_add_rms_norm")
        for what in ("forward", "backward", "both")}
    assert all([*row["graph"]] == [*row["errors"]] == ["ours", "eager"] for row in rows)
    block = dashboard.take("row_functions", [file])
    kept = [row for row in block["rows"] if not row["name"].startswith(QUANTIZED)]
    assert len(kept) == len(rows) == 12
    page = dashboard.row_functions({**block, "rows": kept})
    assert [line.split("|")[1:3] for line in page if line.startswith("| `")] == [
        [f" `{name}` ", " 2 "] for name in dict.fromkeys(
            row["name"].partition(",")[0] for row in rows)]


def test_figures_of_what_is_quantised(figures, tmp_path):
    _, file = figures
    document = results.read(file)
    first, _ = rows = [row for row in document["results"] if row["name"].startswith(QUANTIZED)]
    assert first["name"] == f"{QUANTIZED}, forward" and [*first["graph"]] == ["ours", "eager"]
    # 2 bytes an element read and 2 written, 2 / 32 of scales, weights and statistics.
    assert first["bytes"] == 128 * 256 * (4 + 2 / 32) + 4 * (256 + 128)
    assert first["errors"]["eager"] == 0 and first["errors"]["ours"] <= 1e-6
    (tmp_path / "quantized.json").write_text(json.dumps({**document, "results": rows}))
    block = dashboard.take("quantized", [tmp_path / "quantized.json"])
    shares = [results.share(row, "graph") for row in rows]
    assert block["rows"] == [{
        "name": QUANTIZED, "gains": pytest.approx([*map(results.gain, rows)], rel=1e-3),
        "shares": pytest.approx(shares, rel=1e-3), "large": [], "by_hand": []}]
    assert f"| `{QUANTIZED}` | 2 | " in "\n".join(dashboard.quantized(block))


@pytest.mark.parametrize("name", quantized.CASES)
def test_another_result_than_the_formulas_is_wrong(name):
    """Of each function: its formula is right, and one byte in a hundred is not."""
    tensors = functions.operands(name, (128, 256), "bf16", torch.device("cpu"))
    found = functions.CALLS[name](functions.PYTORCH, *tensors)
    assert quantized.error(name, tensors, found) == 0
    found[0].view(-1)[::100] += 1
    assert quantized.error(name, tensors, found) == pytest.approx(0.01, rel=0.02)


def test_a_wrong_result_is_reported(monkeypatch):
    right = lnbwd.functional.softmax
    monkeypatch.setattr(lnbwd.functional, "softmax", lambda x, dim: 1.1 * right(x, dim))
    found = row_functions.work(("softmax", (4, 8), "f32"), ["eager"], True,
                               pathlib.Path(__file__))
    assert found["rows"] == [] and found["notes"]["ours"].startswith("error 0.1 of ")
