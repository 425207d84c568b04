# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of matrices by the chips' matrix instructions, executed on the simulated chips beside
float64: all three forms, sizes that no tile divides, sums that are taken apart."""


import numpy as np
import pytest

import compiling
import device as devices
import family
from product_programs import product as text

# Products of 16-bit numbers are exact in float32; so what is left is float32 sums, of at most 200
# terms of about 1: 200 roundings of 6e-8 at most, and far fewer where they go up and down.
TOLERANCE = 2e-6
# Of the output's type, to the nearest.
ROUNDING = {"f32": 0, "f16": 2.0**-11, "bf16": 2.0**-8}
FORMS = {"": "ab", "rhs_transposed": "ab^t", "lhs_transposed": "a^t b"}


@pytest.fixture(scope="session")
def runtime(build):
    return devices.Runtime(build)


def compile_product(build, chip, file, *arguments):
    compiling.compile_to(file, build, text(*arguments), chip)


def check_launch(launch, form, types, sizes, rows, output="f32"):
    """That ``launch`` multiplies: it gives the bits of the product for those of the matrices."""
    rng = np.random.default_rng(rows)
    first, second = sizes
    shapes = {"": ((rows, first), (first, second)),
              "rhs_transposed": ((rows, first), (second, first)),
              "lhs_transposed": ((rows, first), (rows, second))}[form]
    bits = {name: devices.encode(rng.standard_normal(shape).ravel(), kind)
            for name, shape, kind in zip("ab", shapes, types, strict=True)}
    a, b = (devices.decode(bits[name], kind).reshape(shape)
            for name, shape, kind in zip("ab", shapes, types, strict=True))
    expected = (a.T if form == "lhs_transposed" else a) @ (
        b.T if form == "rhs_transposed" else b)
    actual = devices.decode(launch(rows, bits), output).reshape(expected.shape)
    depth = rows if form == "lhs_transposed" else first
    error = np.abs(actual - expected).max(initial=0)
    rounded = ROUNDING[output] * np.abs(expected).max(initial=0)
    assert error <= TOLERANCE * max(1, np.sqrt(depth)) + rounded, (rows, error)


def check(runtime, chip, file, form, types, sizes, row_counts, output="f32"):
    kernel = devices.Kernel(runtime.open("sim", chip), file)
    for rows in row_counts:
        check_launch(lambda rows, bits: kernel.launch(rows, bits)["c"], form, types, sizes, rows,
                     output)


@pytest.mark.sample(chip=family.PRODUCT_CHIPS, form=FORMS,
                    types=(("bf16", "bf16"), ("f16", "f16"), ("f32", "f32"), ("bf16", "f32")))
def test_ragged(build, runtime, tmp_path, chip, form, types):
    """Neither M nor the other sizes are those of tiles; accesses of 4 elements and of 2."""
    sizes = (100, 74)
    compile_product(build, chip, tmp_path / "k.hsaco", form, types, sizes)
    check(runtime, chip, tmp_path / "k.hsaco", form, types, sizes, (0, 1, 150))


@pytest.mark.parametrize("form", FORMS, ids=FORMS.values())
def test_odd(build, runtime, tmp_path, form):
    """Rows that begin anywhere: single elements."""
    sizes = (37, 9)
    compile_product(build, "gfx942", tmp_path / "k.hsaco", form, ("bf16", "bf16"), sizes)
    check(runtime, "gfx942", tmp_path / "k.hsaco", form, ("bf16", "bf16"), sizes, (5, 65))


@pytest.mark.sample("each", chip=family.PRODUCT_CHIPS, form=FORMS, output=("f16", "bf16"))
def test_rounded(build, runtime, tmp_path, chip, form, output):
    """Sums are rounded once to the output's type, also those that are added up of parts."""
    sizes, types = (100, 74), ("bf16", "bf16")
    compile_product(build, chip, tmp_path / "k.hsaco", form, types, sizes, output)
    check(runtime, chip, tmp_path / "k.hsaco", form, types, sizes, (0, 150), output)
