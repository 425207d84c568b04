# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The functions that lnbwd-expand-for-chip writes out, in compiled kernels: their errors on the
simulator, over a sample of all float32 numbers and at the ends, and how many instructions an
element takes. Unit tests measure the same expansions with hardware functions that are as
wrong as the vendors allow (unittests/Conversion)."""

import math
import pathlib

import numpy as np
import pytest

import compiling
import device as devices

N = 512
SMALLEST_NORMAL = 2.0**-126

# One operation on %x, a vector, whose result is %y.
SIGMOID = """%minus = arith.negf %x : VECTOR
    %e = math.exp %minus : VECTOR
    %one = arith.constant dense<1.0> : VECTOR
    %sum = arith.addf %one, %e : VECTOR
    %y = arith.divf %one, %sum : VECTOR"""


def power(exponent: str) -> str:
    return f"""%c = arith.constant dense<{exponent}> : VECTOR
    %y = math.powf %x, %c : VECTOR"""


def binary(op: str) -> str:
    return f"""%c = arith.constant dense<0.75> : VECTOR
    %y = {op} %x, %c : VECTOR"""


BODIES = {
    **{name: f"%y = math.{name} %x : VECTOR" for name in (
        "exp", "exp2", "expm1", "log", "log2", "log1p", "tanh", "erf", "sin", "cos", "sqrt",
        "rsqrt", "absf", "floor", "ceil", "trunc", "roundeven")},
    "sigmoid": SIGMOID,
    "power 3": power("3.0"),
    "power 1.5": power("1.5"),
    "power -0.5": power("-0.5"),
    "power 2.2": power("2.2"),
    "power 9": power("9.0"),
    "select": """%c = arith.constant dense<0.75> : VECTOR
    %less = arith.cmpf olt, %x, %c : VECTOR
    %y = arith.select %less, %c, %x : vector<512xi1>, VECTOR""",
    "division": """%c = arith.constant dense<3.0> : VECTOR
    %y = arith.divf %c, %x : VECTOR""",
    **{op: binary("arith." + op) for op in ("maximumf", "minimumf", "maxnumf", "minnumf")},
}

# The reference in float64, and the error allowed, in units of the last place. Results below
# 2^-126 may be off by that where the third entry says so: the hardware gives 0.
FUNCTIONS = {
    "exp": (np.exp, 3, True),
    "exp2": (np.exp2, 2.5, True),
    "expm1": (np.expm1, 5, False),
    "log": (np.log, 3, False),
    "log2": (np.log2, 3, False),
    "log1p": (np.log1p, 5, False),
    "tanh": (np.tanh, 3, False),
    "erf": (np.vectorize(math.erf, otypes=[float]), 3, False),
    "sin": (np.sin, 2, False),
    "cos": (np.cos, 2, False),
    "sqrt": (np.sqrt, 2.5, False),
    "rsqrt": (lambda x: 1 / np.sqrt(x), 2.5, False),
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), 5, True),
    "power 3": (lambda x: x * x * x, 2, False),
    "power 1.5": (lambda x: x * np.sqrt(x), 3.5, False),
    "power -0.5": (lambda x: 1 / np.sqrt(x + 0.0), 2.5, False),
    # C's pow of minus infinity is infinite; here every negative number gives NaN.
    "power 2.2": (lambda x: np.exp(np.log(x) * float(np.float32(2.2))), 5, True),
    "power 9": (lambda x: x ** 9, 8, False),
    "absf": (np.abs, 0, False),
    "floor": (np.floor, 0, False),
    "ceil": (np.ceil, 0, False),
    "trunc": (np.trunc, 0, False),
    "roundeven": (np.round, 0, False),
    "select": (lambda x: np.where(x < 0.75, 0.75, x), 0, False),
    # Rounded correctly, half a unit.
    "division": (lambda x: 3 / x, 0.5, False),
    "maximumf": (lambda x: np.maximum(x, 0.75), 0, False),
    "minimumf": (lambda x: np.minimum(x, 0.75), 0, False),
    "maxnumf": (lambda x: np.fmax(x, 0.75), 0, False),
    "minnumf": (lambda x: np.fmin(x, 0.75), 0, False),
}


def source(body: str, n: int = N, schedule: str = "") -> str:
    body = body.replace("VECTOR", f"vector<{n}xf32>").replace("512", str(n))
    return f"""func.func @f(%a: memref<?x{n}xf32>, %b: memref<?x{n}xf32>) {{
  lnbwd.rowwise @f domain(m | n) ins(%a[m, n] : memref<?x{n}xf32>)
      outs(%b[m, n] : memref<?x{n}xf32>)
      attributes {{operand_names = ["x", "y"]{schedule}}} {{
  ^row(%x: vector<{n}xf32>):
    {body}
    lnbwd.yield %y : vector<{n}xf32>
  }}
  return
}}
"""


@pytest.fixture(scope="session")
def runtime(build):
    return devices.Runtime(build)


def sample() -> np.ndarray:
    """65536 numbers with bits all over, the ends among them, in rows of N."""
    bits = (np.arange(2**16, dtype=np.uint64) * 65537 % 2**32).astype(np.uint32)
    x = bits.view(np.float32).copy()
    x[np.isnan(x)] = math.nan
    tiny = np.float32(1e-45)
    ends = [0, math.inf, math.nan, 1, 2, 0.5, np.nextafter(np.float32(1), np.float32(2)),
            np.nextafter(np.float32(1), np.float32(0)), tiny, 0.55, 0.65, 88.72283, 88.72284,
            -87.33654, -87.33655, 103.9, 127.99999, 128, 3.9, 4, 3.4028235e38, 1e-38]
    x[:len(ends)] = ends
    x[len(ends):2 * len(ends)] = np.negative(np.array(ends, np.float32))
    return x.astype(np.float64)


@pytest.mark.sample("each", chip=("gfx90a", "gfx942", "gfx1201"), name=tuple(FUNCTIONS))
def test_errors(build, runtime, tmp_path, chip, name):
    file = tmp_path / "f.hsaco"
    compiling.compile_to(file, build, source(BODIES[name]), chip)
    x = sample()
    if name == "division":
        # The simulator follows the manual's v_div_scale_f32 by the letter, which for a
        # divisor from 2^126 and a subnormal quotient scales the divisor to infinity.
        x[np.abs(x) >= 2.0**126] = 5.0
    kernel = devices.Kernel(runtime.open("sim", chip), file)
    outputs = kernel.launch(x.size // N, {"x": devices.encode(x, "f32")})
    actual = devices.decode(outputs["y"], "f32").reshape(-1)
    reference, units, flushes = FUNCTIONS[name]
    with np.errstate(all="ignore"):
        expected = reference(x)
        nearest = expected.astype(np.float32).astype(np.float64)
    special = ~np.isfinite(nearest)
    np.testing.assert_array_equal(actual[special], nearest[special])
    x, actual, expected = x[~special], actual[~special], expected[~special]
    exponent = np.maximum(np.frexp(expected)[1] - 1, -126)
    error = np.abs(actual - expected)
    allowed = units * np.ldexp(1.0, exponent - 23)
    if flushes:
        allowed = np.where(np.abs(expected) < SMALLEST_NORMAL * (1 + 1e-6), SMALLEST_NORMAL,
                           allowed)
    worst = np.argmax(error - allowed)
    assert np.all(error <= allowed), (
        f"{error[worst] / np.ldexp(1.0, exponent[worst] - 23):.2f} units at {x[worst]!r}: "
        f"{actual[worst]!r}, expected {expected[worst]!r}")


# ---- What an element costs ----

# Vector instructions an element beyond those of a kernel that copies; gfx9 takes two elements
# in one packed multiply-add. Those of a sine are of moderate angles and of large ones together,
# of which an element takes one.
COUNTS = {
    "gfx942": {"exp": 4.75, "exp2": 1, "sigmoid": 7, "tanh": 11, "erf": 12.5, "log": 5.5,
               "rsqrt": 5.5, "sqrt": 5.5, "sin": 55},
    "gfx1201": {"exp": 8, "exp2": 1, "sigmoid": 10, "tanh": 15, "erf": 19, "log": 6.5,
                "rsqrt": 6.5, "sqrt": 6.5, "sin": 61.5},
}
SCHEDULE = """, schedule = #lnbwd.schedule<threads_per_row = 256, row_groups = 1,
      vector_width = 4, rows_per_workgroup = 4, workgroups_per_compute_unit = 4>"""


def count_vector_instructions(build, chip: str, body: str) -> float:
    code = compiling.compile_text(build, source(body, 4096, SCHEDULE), chip, form="isa").decode()
    # A dual instruction names both of its halves.
    return sum(line.startswith("\tv_") + line.count(":: v_") for line in code.split("\n")) / 16


@pytest.mark.parametrize("chip,name", [(chip, name) for chip in COUNTS for name in COUNTS[chip]])
def test_counts(build, chip, name):
    copy = count_vector_instructions(build, chip, "%y = arith.negf %x : VECTOR")
    count = count_vector_instructions(build, chip, BODIES[name]) - copy
    assert count <= COUNTS[chip][name]


def test_ptx_of_erf(build):
    """At most 20 instructions an element here too."""
    def count(body):
        code = compiling.compile_text(build, source(body, 4096, SCHEDULE), "sm_90").decode()
        return sum(line.startswith("\t") and ".f32" in line and ("%f" in line or "%r" in line)
                   for line in code.split("\n")) / 16

    assert count(BODIES["erf"]) - count("%y = arith.negf %x : VECTOR") <= 20


# ---- A program made of them ----

@pytest.mark.sample("each", chip=("gfx942", "gfx1201"), rows=(1, 70), n=(768, 4096, 32768))
def test_gelu_gradient(build, runtime, tmp_path, chip, n, rows):
    """Rows that go whole through registers, and tile by tile."""
    text = (pathlib.Path(__file__).parents[2] / "examples" / "gelu_bwd.mlir").read_text()
    file = tmp_path / "gelu.hsaco"
    compiling.compile_to(file, build, text.replace("4096", str(n)), chip)
    random = np.random.default_rng(rows)
    inputs = {name: devices.encode(random.standard_normal(rows * n) * 2, "bf16")
              for name in ("dy", "h")}
    dy, h = (devices.decode(inputs[name], "bf16") for name in ("dy", "h"))
    outputs = devices.Kernel(runtime.open("sim", chip), file).launch(rows, inputs)
    phi = np.exp(-h * h / 2) / math.sqrt(2 * math.pi)
    expected = dy * ((1 + FUNCTIONS["erf"][0](h / math.sqrt(2))) / 2 + h * phi)
    # One rounding to bf16; float32 before it.
    sums, sizes = (terms.reshape(rows, n).sum(0) for terms in (expected, np.abs(expected)))
    np.testing.assert_allclose(devices.decode(outputs["dh"], "bf16"), expected, 2.0**-8, 1e-6)
    np.testing.assert_allclose(devices.decode(outputs["dbias"], "f32"), sums, 0,
                               1e-6 * sizes.max())
