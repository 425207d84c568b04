# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The commands, and the documentation of all names."""

import json
import os

import loaded_python
import pytest
import torch

import lnbwd
from conftest import HAS_GPU, ROOT
from lnbwd import bench, check, compiler


def command(module, *arguments, **environment):
    return loaded_python.run(["-m", module, *arguments],
                             env={**os.environ, "PYTHONPATH": os.pathsep.join(
                                 [str(ROOT / "python"), os.environ.get("PYTHONPATH", "")]),
                                 **environment})


# ------------------------------------------------------------------------------------------- check


@pytest.mark.full  # test/Docs/test_doors.py has it for the chip of the first page.
@pytest.mark.simulator
def test_check_on_the_simulator():
    result = command("lnbwd.check", "--device", "sim:gfx1100", "--n", "64", "--dtype", "f32,bf16")
    assert result.returncode == 0, result.stderr
    assert "(gfx1100" in result.stdout
    assert "LayerNorm + Linear, batch 4, sequence 4, hidden 8, output 16" in result.stdout
    assert "LayerNorm + Linear in one, 12 x 64 to 96, bf16" in result.stdout
    assert result.stdout.count("  ok\n") == 2 * 6 + 2 * (7 + 6)
    assert result.stdout.endswith("verdict: 38 of 38 right\n")


def test_check_notices_what_is_wrong(device, monkeypatch, capsys):
    def wrong(input, normalized_shape, weight=None, bias=None, eps=1e-5):
        return torch.nn.functional.layer_norm(input, normalized_shape, weight, bias, eps + 1e-2)

    monkeypatch.setattr(check.functional, "layer_norm", wrong)
    rows = list(check.run_checks(device, 4, [64], ["f32"]))
    assert any(not row.is_right for row in rows)
    assert check.main(["--n", "64", "--dtype", "f32", "--rows", "4"]) == 1
    assert "WRONG" in capsys.readouterr().out
    nan = check.Row("case", "output", float("nan"), float("nan"), 1.0)
    assert not nan.is_right


@pytest.mark.parametrize("arguments,code,words", [
    (["--device", "tpu"], 2, "--device: expected gpu, sim or sim:CHIP, got 'tpu'"),
    (["--n", "0"], 2, "--n: expected numbers of 1 or more"),
    (["--dtype", "f8"], 2, "--dtype: expected f32, bf16, f16, got 'f8'"),
    (["--rows", "0"], 2, "--rows: expected 1 or more"),
    pytest.param(["--device", "sim:gfx1"], 2, "has no chip 'gfx1'", marks=pytest.mark.simulator),
    pytest.param(["--device", "gpu"], 2, "PyTorch has no GPU here",
                 marks=pytest.mark.skipif(HAS_GPU, reason="there is one")),
])
@pytest.mark.parametrize("module", [check, bench], ids=["check", "bench"])
def test_wrong_options_of_the_commands(module, arguments, code, words, capsys):
    if module is bench and arguments[0] in ("--n", "--rows", "--dtype"):
        pytest.skip("an option of lnbwd.check")
    try:
        assert module.main(arguments) == code
    except SystemExit as error:
        assert error.code == code
    assert words in capsys.readouterr().err


# ------------------------------------------------------------------------------------------- bench


@pytest.mark.simulator
def test_bench_on_the_simulator(tmp_path, capsys):
    numbers = tmp_path / "numbers.json"
    assert bench.main(["--device", "sim", "--shape", "32x128", "--shape", "16x256", "--json",
                       str(numbers)]) == 0
    out = capsys.readouterr().out
    assert "AMD Instinct MI300X (simulated)" in out and "32 x 128" in out
    shapes = json.loads(numbers.read_text())["shapes"]
    # At the least dy and x are read and dx is written.
    assert all(s["asked"] >= 3 * s["rows"] * s["n"] * 2 for s in shapes)


def test_bench_says_when_a_shape_is_wrong(capsys):
    with pytest.raises(SystemExit):
        bench.main(["--shape", "32"])
    assert "expected ROWSxN, for example 8192x4096, got '32'" in capsys.readouterr().err


def test_every_public_name_is_documented():
    import inspect

    from lnbwd import (
        cache,
        functional,
        kernels,
        launching,
        linear,
        nn,
        patching,
        product_choice,
        reports,
        runtime,
        spec,
    )

    for module in (lnbwd, bench, cache, check, compiler, functional, kernels, launching, linear,
                   nn, patching, product_choice, reports, runtime, spec):
        assert module.__doc__
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isclass(value) or inspect.isfunction(value):
                assert inspect.getdoc(value), f"{module.__name__}.{name}"
