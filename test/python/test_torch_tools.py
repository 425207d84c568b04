# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The commands, and the documentation of all names."""

import os

import loaded_python
import pytest
import torch

import lnbwd
from conftest import HAS_GPU, ROOT
from lnbwd import check, compiler


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


@pytest.mark.parametrize("n", [1, 2, 8])
def test_check_of_short_rows(device, n):
    """In rows of one element the terms of the input's gradient cancel; of a product of 16-bit
    types one factor is rounded."""
    assert all(row.is_right for row in check.run_checks(device, 2, [n], ["f32", "f16"]))


def test_check_notices_what_is_wrong(device, monkeypatch, capsys):
    def wrong(input, normalized_shape, weight=None, bias=None, eps=1e-5):
        return torch.nn.functional.layer_norm(input, normalized_shape, weight, bias, eps + 1e-2)

    monkeypatch.setattr(check.norms, "layer_norm", wrong)
    rows = list(check.run_checks(device, 4, [64], ["f32"]))
    assert any(not row.is_right for row in rows)
    assert check.main(["--n", "64", "--dtype", "f32", "--rows", "4"]) == 1
    assert "WRONG" in capsys.readouterr().out
    nan = check.Row("case", "output", float("nan"), float("nan"), 1.0)
    assert not nan.is_right


@pytest.mark.parametrize("arguments,code,words", [
    (["--device", "tpu"], 2, "--device: expected gpu, sim or sim:CHIP, got 'tpu'"),
    (["--n", "0"], 2, "--n: expected numbers from 1 to 2147483647"),
    (["--n", "²"], 2, "--n: expected numbers from 1 to 2147483647"),
    pytest.param(["--device", "sim", "--dtype", "f32", "--rows", "2147483647", "--n", "2147483647"],
                 2, "expected smaller --rows and --n", marks=pytest.mark.simulator),
    (["--dtype", "f8"], 2, "--dtype: expected f32, bf16, f16, got 'f8'"),
    (["--rows", "0"], 2, "--rows: expected 1 to 2147483647"),
    pytest.param(["--device", "sim:gfx1"], 2, "has no chip 'gfx1'", marks=pytest.mark.simulator),
    pytest.param(["--device", "gpu"], 2, "PyTorch has no GPU here",
                 marks=pytest.mark.skipif(HAS_GPU, reason="there is one")),
])
def test_wrong_options(arguments, code, words, capsys):
    try:
        assert check.main(arguments) == code
    except SystemExit as error:
        assert error.code == code
    assert words in capsys.readouterr().err


def test_every_public_name_is_documented():
    import inspect

    from lnbwd import functional, nn, runtime
    from lnbwd.core.compile import cache, kernels, spec
    from lnbwd.functional import linear
    from lnbwd.nn import patching
    from lnbwd.ops import launching

    for module in (lnbwd, cache, check, compiler, functional, kernels, launching, linear,
                   nn, patching, runtime, spec):
        assert module.__doc__
        for name in getattr(module, "__all__", vars(module)):
            value = getattr(module, name)
            is_own = hasattr(module, "__all__") or (
                not name.startswith("_") and getattr(value, "__module__", "") == module.__name__)
            if is_own and (inspect.isclass(value) or inspect.isfunction(value)):
                assert inspect.getdoc(value), f"{module.__name__}.{name}"


def test_a_name_of_before_names_its_successor():
    with pytest.raises(AttributeError, match=r"KernelSpec' any more; lnbwd\.compile"):
        lnbwd.KernelSpec  # noqa: B018
