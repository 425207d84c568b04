# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Float8 tensors in row functions and regions, against PyTorch's conversions after a clamp."""

import pytest
import torch
from captured import run_captured

import lnbwd

FORMATS = [torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz]


def same(actual: torch.Tensor, expected: torch.Tensor) -> bool:
    """Whether all bits are equal, but for those of NaN."""
    assert actual.dtype == expected.dtype and actual.shape == expected.shape
    are_nan = actual.float().isnan() & expected.float().isnan()
    return bool((are_nan | (actual.view(torch.uint8) == expected.view(torch.uint8))).all())


def narrow(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    most = torch.finfo(dtype).max
    return x.float().clamp(-most, most).to(dtype)


def rows() -> torch.Tensor:
    x = torch.randn(12, 96, generator=torch.Generator().manual_seed(1)) * 200
    x[0, :6] = torch.tensor([float("nan"), float("inf"), -float("inf"), 1e-9, -0.0, 448])
    return x


@lnbwd.rowwise
def scaled(x: lnbwd.Rows, scale: lnbwd.Scalars, format: str):
    return (x * scale).to(getattr(torch, format))


@lnbwd.rowwise
def widened(x: lnbwd.Rows, scale: lnbwd.Scalars):
    return x.float() * scale


@lnbwd.rowwise
def rounded(x: lnbwd.Rows, format: str):
    return x.to(getattr(torch, format)).float() - x


@pytest.mark.parametrize("chip", ["gfx942", "gfx950", "gfx1100"])
@pytest.mark.parametrize("dtype", FORMATS)
def test_row_functions_round_and_widen(chip, dtype):
    x, scale = rows(), torch.rand(12, 1)
    name = str(dtype).removeprefix("torch.")
    with lnbwd.simulate(chip):
        codes, residue = scaled(x, scale, name), rounded(x, name)
        wide = widened(codes, scale)
    assert same(codes, narrow(x * scale, dtype))
    torch.testing.assert_close(residue, narrow(x, dtype).float() - x, rtol=0, atol=0,
                               equal_nan=True)
    torch.testing.assert_close(wide, codes.float() * scale, rtol=0, atol=0, equal_nan=True)


def test_float8_is_of_rows():
    with lnbwd.simulate("gfx942"), pytest.raises(TypeError, match=r"of lnbwd\.Rows, float8"):
        widened(rows(), torch.ones(12, 1).to(torch.float8_e4m3fn))


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2])
def test_a_conversion_joins_a_region(dtype):
    most = torch.finfo(dtype).max

    def norm(x, weight):
        y = torch.nn.functional.rms_norm(x, (96,), weight, 1e-5) * 150
        return y.clamp(-most, most).to(dtype)

    x, weight = rows()[1:], torch.rand(96) + 0.5
    with lnbwd.simulate("gfx950"):
        y, captured = run_captured(norm, x, weight)
    operations = {str(node.target) for node in captured.graphs[0].nodes
                  if node.op == "call_function"}
    assert operations == {"lnbwd._region.default", "<built-in function getitem>"}, operations
    assert y.dtype == dtype
    difference = y.float() - norm(x, weight).float()
    # Float32 sums in another order: the next number, at most, and of few.
    assert (difference != 0).float().mean() < 0.01
