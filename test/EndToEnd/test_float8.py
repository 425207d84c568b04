# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Float8 in memory: every code and the hard numbers, against the definition of each format.

The reference decodes all 256 codes by the definition and rounds by a search among them, so that
it shares nothing with the compiler, the runner or PyTorch.
"""

import subprocess

import numpy as np
import pytest

import compiling
import device as devices

# Bits of the fraction, bias of the exponent, the largest number's bits.
FORMATS = {"f8E4M3FN": (3, 7, 0x7e), "f8E5M2": (2, 15, 0x7b), "f8E4M3FNUZ": (3, 8, 0x7f),
           "f8E5M2FNUZ": (2, 16, 0x7f)}
CHIPS = ("gfx908", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1201", "gfx1250")


def decode(dtype: str) -> np.ndarray:
    """The values of all 256 codes."""
    fraction, bias, largest = FORMATS[dtype]
    values = np.empty(256)
    for code in range(256):
        exponent, rest = divmod(code & 0x7f, 1 << fraction)
        value = (rest * 2.0 ** (1 - bias - fraction) if exponent == 0
                 else (rest + (1 << fraction)) * 2.0 ** (exponent - bias - fraction))
        if code & 0x7f > largest:
            value = np.inf if dtype == "f8E5M2" and rest == 0 else np.nan
        values[code] = -value if code & 0x80 else value
    if largest == 0x7f:
        values[0x80] = np.nan
    return values


def encode(x: np.ndarray, dtype: str) -> np.ndarray:
    """The code of the nearest number, of the even one in the middle of two; -1 of NaN."""
    largest = FORMATS[dtype][2]
    numbers = decode(dtype)[:largest + 1]
    size = np.minimum(np.abs(x.astype(np.float64)), numbers[-1])
    size[np.isnan(x)] = 0
    low = np.searchsorted(numbers, size, side="right") - 1
    high = np.minimum(low + 1, largest)
    below, above = size - numbers[low], numbers[high] - size
    code = np.where((below < above) | ((below == above) & (low % 2 == 0)), low, high)
    has_sign = np.signbit(x) & ((code != 0) | (largest != 0x7f))
    return np.where(np.isnan(x), -1, code | has_sign * 0x80)


def hard_numbers(dtype: str) -> np.ndarray:
    """All numbers of the format, the middles between them, the floats beside both, and what is
    beyond them, with both signs."""
    numbers = decode(dtype)[:FORMATS[dtype][2] + 1]
    middles = (numbers[1:] + numbers[:-1]) / 2
    base = np.concatenate([numbers, middles]).astype(np.float32)
    most = np.float32(numbers[-1])
    beyond = np.float32([most * 1.03, most * 1.07, most * 2, 3e38, np.inf, np.nan, 1e-30, 1e-42])
    random = np.random.default_rng(0)
    drawn = random.standard_normal(4000) * 2.0 ** random.integers(-20, 20, 4000)
    drawn = drawn.astype(np.float32)
    positive = np.concatenate([base, np.nextafter(base, np.float32(0)),
                               np.nextafter(base, np.float32(np.inf)), beyond, drawn])
    return np.concatenate([positive, -positive])


def source(n: int, read: str, written: str) -> str:
    """Rows in another type."""
    operation = "truncf" if read == "f32" else "extf"
    return f"""func.func @f(%x: memref<?x{n}x{read}>, %y: memref<?x{n}x{written}>) {{
  lnbwd.rowwise @f domain(m | n) ins(%x[m, n] : memref<?x{n}x{read}>)
      outs(%y[m, n] : memref<?x{n}x{written}>) attributes {{operand_names = ["x", "y"]}} {{
  ^row(%xr: vector<{n}x{read}>):
    %yr = arith.{operation} %xr : vector<{n}x{read}> to vector<{n}x{written}>
    lnbwd.yield %yr : vector<{n}x{written}>
  }}
  return
}}
"""


@pytest.fixture(scope="session")
def runtime(build):
    return devices.Runtime(build)


def launch(build, runtime, tmp_path, chip, text, rows, inputs):
    file = tmp_path / "f.hsaco"
    compiling.compile_to(file, build, text, chip)
    return devices.Kernel(runtime.open("sim", chip), file).launch(rows, inputs)["y"]


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("dtype", FORMATS)
def test_every_code_is_read(build, runtime, tmp_path, chip, dtype):
    for n in (64, 37):  # In vectors, and each element for itself.
        codes = np.resize(np.arange(256, dtype=np.uint8), -(-256 // n) * n)
        y = launch(build, runtime, tmp_path, chip, source(n, dtype, "f32"), codes.size // n,
                   {"x": codes}).view(np.float32)
        wanted = decode(dtype).astype(np.float32)[codes]
        np.testing.assert_array_equal(y, wanted)
        numbers = ~np.isnan(wanted)
        np.testing.assert_array_equal(np.signbit(y)[numbers], np.signbit(wanted)[numbers])


# Rows that lanes share in whole registers, and such that they do not: both with --full.
@pytest.mark.parametrize("dtype, chip, n", [
    pytest.param(dtype, chip, n, marks=[] if (k + j + i) % 2 == 0 else [pytest.mark.full])
    for k, dtype in enumerate(FORMATS) for j, chip in enumerate(CHIPS)
    for i, n in enumerate((512, 37))])
def test_numbers_are_rounded_as_the_format_says(build, runtime, tmp_path, dtype, chip, n):
    x = hard_numbers(dtype)
    x = np.resize(x, -(-x.size // n) * n)
    y = launch(build, runtime, tmp_path, chip, source(n, "f32", dtype), x.size // n,
               {"x": x.view(np.uint32)})
    wanted = encode(x, dtype)
    codes = y.astype(np.int32)
    codes[np.isnan(decode(dtype)[codes])] = -1
    wrong = np.flatnonzero(codes != wanted)
    assert wrong.size == 0, [(x[i], codes[i], wanted[i]) for i in wrong[:5]]


@pytest.mark.parametrize("dtype", FORMATS)
def test_the_runner_verifies_float8(build, tmp_path, dtype):
    """lnbwd-run knows the types, as inputs and as outputs."""
    n = 512
    text = f"""func.func @f(%x: memref<?x{n}x{dtype}>, %g: memref<{n}xbf16>,
    %y: memref<?x{n}x{dtype}>) {{
  lnbwd.rowwise @f domain(m | n) ins(%x[m, n] : memref<?x{n}x{dtype}>, %g[n] : memref<{n}xbf16>)
      outs(%y[m, n] : memref<?x{n}x{dtype}>) attributes {{operand_names = ["x", "g", "y"]}} {{
  ^row(%xr: vector<{n}x{dtype}>, %gr: vector<{n}xbf16>):
    %xw = arith.extf %xr : vector<{n}x{dtype}> to vector<{n}xf32>
    %gw = arith.extf %gr : vector<{n}xbf16> to vector<{n}xf32>
    %p = arith.mulf %xw, %gw : vector<{n}xf32>
    %yr = arith.truncf %p : vector<{n}xf32> to vector<{n}x{dtype}>
    lnbwd.yield %yr : vector<{n}x{dtype}>
  }}
  return
}}
"""
    file = tmp_path / "f.hsaco"
    compiling.compile_to(file, build, text, "gfx942")
    subprocess.run([build / "bin" / "lnbwd-run", file, "--m", "33", "--verify", "--check"],
                   check=True, timeout=120)


# Columns of memory as rows, a number for each of their blocks in another order: on chips of waves
# of 64 and of 32 lanes.
@pytest.mark.parametrize("chip", ["gfx942", "gfx1100"])
def test_blocks_in_another_order(build, tmp_path, chip):
    text = """func.func @f(%x: memref<4x2x32x24xf32>, %y: memref<24x4x2x32xf8E4M3FN>,
    %s: memref<24x4x2xf8E8M0FNU>) {
  lnbwd.rowwise @f domain(m, n | b, k) ins(%x[m, b, k, n] : memref<4x2x32x24xf32>)
      outs(%y[n, m, b, k] : memref<24x4x2x32xf8E4M3FN>, %s[n, m, b] : memref<24x4x2xf8E8M0FNU>)
      attributes {operand_names = ["x", "y", "s"]} {
  ^row(%xr: vector<64xf32>):
    %size = math.absf %xr : vector<64xf32>
    %amax = lnbwd.block_max 32 %size : vector<64xf32>
    %yr = arith.truncf %xr : vector<64xf32> to vector<64xf8E4M3FN>
    %sr = arith.truncf %amax : vector<64xf32> to vector<64xf8E8M0FNU>
    lnbwd.yield %yr, %sr : vector<64xf8E4M3FN>, vector<64xf8E8M0FNU>
  }
  return
}
"""
    file = tmp_path / "f.hsaco"
    compiling.compile_to(file, build, text, chip)
    subprocess.run([build / "bin" / "lnbwd-run", file, "--m", "96", "--verify", "--check"],
                   check=True, timeout=120)
