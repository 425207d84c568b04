# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The benchmark of the compiler: its figures."""

import dashboard
from lnbwd_bench.shapes import parse_shape


def test_figures(build, monkeypatch, capsys):
    monkeypatch.setenv("LNBWD_OPT", str(build / "bin" / "lnbwd-opt"))
    monkeypatch.setattr(dashboard.os, "sched_setaffinity", lambda *_: None)
    row = dashboard.compile_times("gfx942", map(parse_shape, ("64x256", "64x128:f32")), 1)
    assert 0 < row["median_ms"] <= row["worst_ms"]
    assert row["chip"] == "gfx942" and "64x128:f32" in capsys.readouterr().out
