# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The derivative of each operation, executed on the simulator beside float64: at ordinary
values, at kinks, and where an exponential overflows."""

import re

import numpy as np
import pytest

import compiling
import device as devices
from lnbwd import CompileError

N = 128


@pytest.fixture(scope="session")
def runtime(build):
    return devices.Runtime(build)


def program(body: str, element: str = "f32") -> str:
    """A program of rows x and z that yields %y; $ is its row type, # its element."""
    row = f"vector<{N}x{element}>"
    lines = "\n".join("    " + line.strip() for line in body.strip().splitlines())
    return f"""func.func @f(%fx: memref<?x{N}x#>, %fz: memref<?x{N}x#>, %fy: memref<?x{N}x#>) {{
  lnbwd.rowwise @f domain(m | n) ins(%fx[m, n] : memref<?x{N}x#>, %fz[m, n] : memref<?x{N}x#>)
      outs(%fy[m, n] : memref<?x{N}x#>) attributes {{operand_names = ["x", "z", "y"]}} {{
  ^row(%x: $, %z: $):
    %zero = arith.constant dense<0.0> : $
    %one = arith.constant dense<1.0> : $
    %two = arith.constant dense<2.0> : $
{lines}
    lnbwd.yield %y : $
  }}
  return
}}
""".replace("$", row).replace("#", element)


def gradients(build, runtime, folder, text, x, z, element="f32", chip="gfx942"):
    """dx and dz, with dy = 1; skips where the chip has no code for an operation."""
    file = folder / "gradient.hsaco"
    try:
        compiling.compile_to(file, build, compiling.differentiate(build, text), chip)
    except CompileError as error:
        # docs/math.md says which functions the chips have code for.
        if unknown := re.search(r"error: '(math\.\w+)' op", error.diagnostics):
            pytest.skip(f"{unknown[1]} is not lowered")
        raise
    rows = x.size // N
    values = {"x": x, "z": z, "dy": np.ones(x.size)}
    outputs = devices.Kernel(runtime.open("sim", chip), file).launch(
        rows, {key: devices.encode(value, element) for key, value in values.items()})
    return [devices.decode(outputs[key], element) for key in ("dx", "dz")]


def fill(values) -> np.ndarray:
    """The values as float32 has them, repeated to whole rows."""
    values = np.array(values, np.float32).astype(np.float64)
    return np.resize(values, -(-values.size // N) * N)


# ---- Operations ----

def half_at_ties(first, second):
    """The derivatives of the larger of two numbers."""
    share = np.where(first == second, 0.5, 1.0)
    return np.where(first < second, 0, share), np.where(second < first, 0, share)


def power(x, z):
    with np.errstate(divide="ignore", invalid="ignore"):
        dx = np.where(z == 0, 0, z * np.power(x, z - 1))
        dz = np.where((x == 0) & (z >= 0), 0, np.power(x, z) * np.log(x))
    return dx, dz


def erf_slope(x, z):
    return 2 / np.sqrt(np.pi) * np.exp(-x * x), 0 * z


ANY = np.concatenate([np.linspace(-5, 5, 101), [0.0, -0.0, 1.0, -1.0, 1e-30, -1e-30]])
POSITIVE = np.geomspace(1e-6, 1e6, 107)
# Pairs, equal ones among them.
OTHER = np.where(np.arange(ANY.size) % 3 == 0, ANY, ANY[::-1])

# What y is, the values, and the derivatives by x and by z.
OPERATIONS = {
    "maximumf": ("%y = arith.maximumf %x, %z : $", ANY, half_at_ties),
    "minimumf": ("%y = arith.minimumf %x, %z : $", ANY, lambda x, z: half_at_ties(-x, -z)),
    "maxnumf": ("%y = arith.maxnumf %x, %z : $", ANY, half_at_ties),
    "minnumf": ("%y = arith.minnumf %x, %z : $", ANY, lambda x, z: half_at_ties(-x, -z)),
    "relu": ("%y = arith.maximumf %x, %zero : $", ANY,
             lambda x, z: (half_at_ties(x, 0 * x)[0], 0 * z)),
    "maximum of one": ("%y = arith.maximumf %x, %x : $", ANY, lambda x, z: (1 + 0 * x, 0 * z)),
    "absf": ("%y = math.absf %x : $", ANY, lambda x, z: (np.sign(x), 0 * z)),
    "copysign": ("%y = math.copysign %x, %z : $", ANY,
                 lambda x, z: (np.where(x == 0, 0, np.sign(x) * np.copysign(1, z)), 0 * z)),
    "select": (f"""%c = arith.cmpf olt, %x, %z : $
                   %y = arith.select %c, %x, %z : vector<{N}xi1>, $""", ANY,
               lambda x, z: (np.where(x < z, 1, 0), np.where(x < z, 0, 1))),
    "comparison": (f"""%c = arith.cmpf olt, %x, %z : $
                       %f = arith.uitofp %c : vector<{N}xi1> to $
                       %y = arith.mulf %f, %x : $""", ANY,
                   lambda x, z: (np.where(x < z, 1, 0), 0 * z)),
    "floor": ("""%f = math.floor %x : $
                 %y = arith.mulf %f, %z : $""", ANY, lambda x, z: (0 * x, np.floor(x))),
    "ceil": ("""%f = math.ceil %x : $
                %y = arith.mulf %f, %z : $""", ANY, lambda x, z: (0 * x, np.ceil(x))),
    "round": ("""%f = math.round %x : $
                 %y = arith.mulf %f, %z : $""", ANY,
              lambda x, z: (0 * x, np.copysign(np.floor(np.abs(x) + 0.5), x))),
    "roundeven": ("""%f = math.roundeven %x : $
                     %y = arith.mulf %f, %z : $""", ANY, lambda x, z: (0 * x, np.round(x))),
    "trunc": ("""%f = math.trunc %x : $
                 %y = arith.mulf %f, %z : $""", ANY, lambda x, z: (0 * x, np.trunc(x))),
    "exp": ("%y = math.exp %x : $", ANY, lambda x, z: (np.exp(x), 0 * z)),
    "exp2": ("%y = math.exp2 %x : $", ANY, lambda x, z: (np.log(2) * 2 ** x, 0 * z)),
    "expm1": ("%y = math.expm1 %x : $", ANY, lambda x, z: (np.exp(x), 0 * z)),
    "log": ("%y = math.log %x : $", POSITIVE, lambda x, z: (1 / x, 0 * z)),
    "log2": ("%y = math.log2 %x : $", POSITIVE, lambda x, z: (1 / x / np.log(2), 0 * z)),
    "log1p": ("%y = math.log1p %x : $", POSITIVE, lambda x, z: (1 / (1 + x), 0 * z)),
    "sqrt": ("%y = math.sqrt %x : $", POSITIVE, lambda x, z: (0.5 / np.sqrt(x), 0 * z)),
    "rsqrt": ("%y = math.rsqrt %x : $", POSITIVE, lambda x, z: (-0.5 * x ** -1.5, 0 * z)),
    "tanh": ("%y = math.tanh %x : $", ANY, lambda x, z: (1 - np.tanh(x) ** 2, 0 * z)),
    "erf": ("%y = math.erf %x : $", ANY, erf_slope),
    "sin": ("%y = math.sin %x : $", ANY, lambda x, z: (np.cos(x), 0 * z)),
    "cos": ("%y = math.cos %x : $", ANY, lambda x, z: (-np.sin(x), 0 * z)),
    "powf": ("%y = math.powf %x, %z : $", np.where(np.abs(ANY) < 1e-3, 0, np.abs(ANY)), power),
    **{f"powf by {exponent}": (f"""%c = arith.constant dense<{exponent}> : $
                                   %y = math.powf %x, %c : $""", POSITIVE,
                               lambda x, z, y=exponent: (y * x ** (y - 1), 0 * z))
       for exponent in (-1.5, 0.0, 1.0, 2.0, 2.5)},
    "divf": ("%y = arith.divf %z, %x : $", POSITIVE, lambda x, z: (-z / x ** 2, 1 / x)),
    "fma": ("%y = math.fma %x, %z, %x : $", ANY, lambda x, z: (z + 1, x)),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations(build, runtime, tmp_path, name):
    body, values, derivative = OPERATIONS[name]
    x, z = fill(values), fill(OTHER)
    actual = gradients(build, runtime, tmp_path, program(body), x, z)
    for got, expected in zip(actual, derivative(x, z), strict=True):
        # 1 - t * t and the like: roundings of terms near 1. The error of a power grows with
        # the logarithm that is the exponent.
        relative = 1e-5 if name.startswith("powf") else 2e-6
        with np.errstate(invalid="ignore"):
            near = np.abs(got - expected) <= relative * np.abs(expected) + 3e-7
        assert np.all(near | (got == expected))


# ---- Where an exponential overflows ----

def sigmoid(x):
    return np.exp(-np.logaddexp(0, -x))


def silu_slope(x):
    return sigmoid(x) * (1 + x * sigmoid(-x))


def tanh_slope(x):
    return 4 * sigmoid(2 * x) * sigmoid(-2 * x)


EXTREMES = [0.0, 1e-45, 1e-38, 1e-30, 1e-8, 1e-3, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 17.3, 20.0, 43.0,
            44.5, 50.0, 60.0, 80.0, 86.9, 87.4, 88.0, 88.8, 89.0, 90.0, 103.9, 104.1, 126.5, 127.9,
            150.0, 200.0, 1e3, 1e4]
EXTREMES += [-value for value in EXTREMES]

EXP = "%n = arith.negf %x : $\n%e = math.exp %n : $\n%p = math.exp %x : $\n"
# The program, its derivative by x, and the absolute error that is allowed beside 5e-6 of
# the derivative: where 1 - 1 is computed, roundings of those.
QUOTIENTS = {
    "silu": (EXP + "%d = arith.addf %one, %e : $\n%y = arith.divf %x, %d : $", silu_slope, 0),
    "silu as a product": (EXP + """%d = arith.addf %e, %one : $
        %s = arith.divf %one, %d : $
        %y = arith.mulf %s, %x : $""", silu_slope, 0),
    "sigmoid": (EXP + "%d = arith.addf %one, %e : $\n%y = arith.divf %one, %d : $",
                lambda x: sigmoid(x) * sigmoid(-x), 0),
    "sigmoid, the other way": (EXP + "%d = arith.addf %p, %one : $\n%y = arith.divf %p, %d : $",
                               lambda x: sigmoid(x) * sigmoid(-x), 1e-6),
    "sigmoid of powers of two": ("""%n = arith.negf %x : $
        %e = math.exp2 %n : $
        %d = arith.addf %one, %e : $
        %y = arith.divf %one, %d : $""",
        lambda x: np.log(2) * sigmoid(x * np.log(2)) * sigmoid(-x * np.log(2)), 0),
    "a lone exponential below": (EXP + """%q = arith.divf %one, %p : $
        %d = arith.addf %one, %q : $
        %y = arith.divf %x, %d : $""", silu_slope, 0),
    "squared": (EXP + """%d = arith.addf %one, %e : $
        %dd = arith.mulf %d, %d : $
        %y = arith.divf %one, %dd : $""", lambda x: 2 * sigmoid(x) ** 2 * sigmoid(-x), 0),
    "hyperbolic": (EXP + """%a = arith.subf %p, %e : $
        %b = arith.addf %p, %e : $
        %y = arith.divf %a, %b : $""", tanh_slope, 1e-6),
    "hyperbolic, with one exponential": ("""%t = arith.mulf %x, %two : $
        %e = math.exp %t : $
        %a = arith.subf %e, %one : $
        %b = arith.addf %e, %one : $
        %y = arith.divf %a, %b : $""", tanh_slope, 1e-6),
    "hyperbolic, from one": ("""%t = arith.mulf %x, %two : $
        %e = math.exp %t : $
        %b = arith.addf %one, %e : $
        %q = arith.divf %two, %b : $
        %y = arith.subf %one, %q : $""", tanh_slope, 0),
    "logarithm": (EXP + "%d = arith.addf %one, %p : $\n%y = math.log %d : $", sigmoid, 0),
    "log1p": (EXP + "%y = math.log1p %p : $", sigmoid, 0),
    "mish": (EXP + """%s = math.log1p %p : $
        %t = math.tanh %s : $
        %y = arith.mulf %x, %t : $""",
        lambda x: np.tanh(np.logaddexp(0, x))
        + x * sigmoid(x) * (1 - np.tanh(np.logaddexp(0, x)) ** 2), 2e-6),
    "exponential of an exponential": (EXP + "%m = arith.negf %e : $\n%y = math.exp %m : $",
                                      lambda x: np.exp(-x - np.exp(np.minimum(-x, 700))), 1e-36),
    "tanh of an exponential": (EXP + "%y = math.tanh %p : $",
                               lambda x: np.exp(np.minimum(x, 300))
                               / np.cosh(np.minimum(np.exp(np.minimum(x, 300)), 300)) ** 2, 5e-6),
}


@pytest.mark.parametrize("name", QUOTIENTS)
def test_exponentials_that_overflow(build, runtime, tmp_path, name):
    """Gradients are finite and right for all finite x."""
    body, derivative, floor = QUOTIENTS[name]
    x = fill(EXTREMES)
    dx, dz = gradients(build, runtime, tmp_path, program(body), x, 0 * x)
    assert not np.any(dz)
    with np.errstate(over="ignore"):
        expected = derivative(x)
    # An exponent of float32 is off by half of its last bit. Below 1e-36 results round as
    # subnormals, or are 0.
    allowed = (5e-6 + 2.0 ** -24 * np.abs(x)) * np.abs(expected) + floor + 1e-36
    worst = np.argmax(np.nan_to_num(np.abs(dx - expected) - allowed, nan=np.inf))
    assert np.all(np.abs(dx - expected) <= allowed), (x[worst], dx[worst], expected[worst])


def test_every_denominator_counts(build, runtime, tmp_path):
    """With respect to a and to b in a / (1 + exp(b))."""
    body = """%e = math.exp %x : $
              %d = arith.addf %one, %e : $
              %y = arith.divf %z, %d : $"""
    x = fill(EXTREMES)
    z = fill(np.linspace(-1e4, 1e4, N))
    dx, dz = gradients(build, runtime, tmp_path, program(body), x, z)
    for got, expected in ((dx, -z * sigmoid(x) * sigmoid(-x)), (dz, sigmoid(-x))):
        allowed = (5e-6 + 2.0 ** -24 * np.abs(x)) * np.abs(expected) + 1e-32
        assert np.all(np.abs(got - expected) <= allowed)


def test_a_quotient_of_scalars(build, runtime, tmp_path):
    """x times the logistic function of the row's sum, as a gate has it."""
    body = """%t = vector.reduction <add>, %x : $ into f32
        %n = arith.negf %t : f32
        %e = math.exp %n : f32
        %c = arith.constant 1.0 : f32
        %d = arith.addf %c, %e : f32
        %s = arith.divf %c, %d : f32
        %b = vector.broadcast %s : f32 to $
        %y = arith.mulf %x, %b : $"""
    # Sums of equal numbers, a power of two of them, are exact.
    sums = np.array([value for value in EXTREMES if abs(value) > 1e-30], np.float32)
    x = np.repeat(sums.astype(np.float64) / N, N)
    dx, _ = gradients(build, runtime, tmp_path, program(body), x, 0 * x)
    sums = sums.astype(np.float64)
    expected = np.repeat(silu_slope(sums), N)
    allowed = (5e-6 + 2.0 ** -24 * np.repeat(np.abs(sums), N)) * np.abs(expected) + 1e-36
    assert np.all(np.abs(dx - expected) <= allowed)


# ---- Narrow arithmetic ----

@pytest.mark.parametrize("element,rounding", [("bf16", 2.0 ** -8), ("f16", 2.0 ** -11)])
def test_narrow_arithmetic(build, runtime, tmp_path, element, rounding):
    """The region computes in its inputs' type; adjoints are float32, so what is lost is what
    the forward values and the gradient's own rounding lose."""
    body = f"""%p = arith.mulf %x, %z : $
        %t = arith.subf %p, %one : $
        %m = arith.maximumf %t, %z : $
        %q = arith.addf %p, %two : $
        %d = arith.divf %m, %q : $
        %w = arith.extf %d : $ to vector<{N}xf32>
        %s = vector.reduction <add>, %w : vector<{N}xf32> into f32
        %n = arith.truncf %s : f32 to #
        %b = vector.broadcast %n : # to $
        %y = arith.mulf %b, %x : $"""
    random = np.random.default_rng(5)

    def decode(values):
        return devices.decode(devices.encode(values, element), element)

    x, z = (decode(random.uniform(0.25, 2.5, 2 * N)) for _ in range(2))
    actual = gradients(build, runtime, tmp_path, program(body, element), x, z, element)

    def forward(x, z):
        x, z = x.reshape(-1, N), z.reshape(-1, N)
        total = (np.maximum(x * z - 1, z) / (x * z + 2)).sum(axis=1, keepdims=True)
        return total * x

    for i, got in enumerate(actual):
        for _ in range(5):
            direction = random.standard_normal(x.size)
            step = [1e-6 * direction if i == j else 0 for j in range(2)]
            slope = np.sum(forward(x + step[0], z + step[1])
                           - forward(x - step[0], z - step[1])) / 2e-6
            size = np.linalg.norm(got) * np.linalg.norm(direction)
            # Eight roundings on the way to a value.
            assert abs(np.sum(got * direction) - slope) <= 8 * rounding * size


@pytest.mark.sample("each", chip=("sm_90", "gfx1201"), options=("", "simplify=false"),
                    name=("silu", "hyperbolic", "sigmoid of powers of two", "mish"))
def test_rewritten_quotients_are_compiled(build, chip, options, name):
    """The rewrite uses nothing that only some chips have code for."""
    derived = compiling.differentiate(build, program(QUOTIENTS[name][0]), options)
    assert compiling.compile_text(build, derived, chip)
