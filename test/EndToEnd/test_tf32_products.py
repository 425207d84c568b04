# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of float32 whose factors may be rounded to tf32: on the simulated chips that have such
an instruction, and NVIDIA's as PTX on the CPU, beside float64 of what was not rounded."""

import numpy as np
import pytest

import chips
import compiling
import device as devices
import linear_programs
import ptx_machine
import row_evaluator
from test_products import FORMS, TOLERANCE, text

TF32 = "precision = #lnbwd.precision<tf32>"
CHIPS = [name for name in chips.SIMULATED if chips.FACTS[name]["hasTF32Products"]]
# tf32 has 10 bits after the first, so that a factor is off by at most 2^-11 of itself, and a
# product of two by 2^-10 and a little. Products of 11 by 11 bits are exact in float32, whose sums
# are off by at most 2^-24 of all terms a step.
FACTOR = 2.0 ** -11
STEP = 2.0 ** -24


@pytest.fixture(scope="session")
def runtime(build):
    return devices.Runtime(build)


def factors(form, sizes, rows):
    """Two matrices of float32, their product in float64, and what it may be off."""
    rng = np.random.default_rng(rows)
    first, second = sizes
    shapes = {"": ((rows, first), (first, second)),
              "rhs_transposed": ((rows, first), (second, first)),
              "lhs_transposed": ((rows, first), (rows, second))}[form]
    a, b = (rng.standard_normal(shape).astype(np.float32) for shape in shapes)
    left = (a.T if form == "lhs_transposed" else a).astype(np.float64)
    right = (b.T if form == "rhs_transposed" else b).astype(np.float64)
    allowed = (2 * FACTOR + FACTOR ** 2 + left.shape[1] * STEP) * (np.abs(left) @ np.abs(right))
    return {"a": a, "b": b}, left @ right, allowed


def check(actual, expected, allowed, depth):
    """Not off by more than is allowed; and by more than products that were not rounded are."""
    error = np.abs(actual.reshape(expected.shape) - expected)
    assert (error <= allowed).all(), (error / np.maximum(allowed, 1e-30)).max()
    if expected.size and depth > 8:
        assert error.max() > 10 * TOLERANCE * np.sqrt(depth), "nothing was rounded"


@pytest.mark.sample(chip=CHIPS,
                    sizes={sizes: str(sizes) for sizes in ((100, 74), (37, 9), (192, 256))},
                    form=FORMS)
def test_simulated(build, runtime, tmp_path, chip, form, sizes):
    file = tmp_path / "k.hsaco"
    compiling.compile_to(file, build, text(form, ("f32", "f32"), sizes, TF32), chip)
    kernel = devices.Kernel(runtime.open("sim", chip), file)
    for rows in (0, 1, 70):
        values, expected, allowed = factors(form, sizes, rows)
        bits = {name: devices.encode(value.ravel(), "f32") for name, value in values.items()}
        actual = devices.decode(kernel.launch(rows, bits)["c"], "f32")
        check(actual, expected, allowed, rows if form == "lhs_transposed" else sizes[0])


@pytest.mark.sample(sizes={sizes: str(sizes) for sizes in ((64, 48), (37, 9))}, form=FORMS)
def test_ptx(build, form, sizes):
    ptx = compiling.compile_text(build, text(form, ("f32", "f32"), sizes, TF32), "sm_80",
                                 "rows=64").decode()
    assert "m16n8k8.row.col.f32.tf32.tf32.f32" in ptx and "cvt.rna.tf32.f32" in ptx
    for rows in (1, 70):
        values, expected, allowed = factors(form, sizes, rows)
        outputs = ptx_machine.launch(ptx, rows, {n: v.tobytes() for n, v in values.items()})
        check(np.frombuffer(outputs["c"], np.float32), expected, allowed,
              rows if form == "lhs_transposed" else sizes[0])


@pytest.mark.parametrize("chip", CHIPS)
def test_a_layer_and_its_gradient(build, runtime, tmp_path, chip):
    """By the pipeline's option. Values are sums of some hundred products of numbers of about 1,
    each off by 2^-10 of itself at most, and half a dozen of such sums are added or multiplied."""
    program = linear_programs.build("layer_norm_linear", 96, 100)
    rows = 70
    forward = compiling.run_passes(build, program.text(), "--canonicalize")
    backward = compiling.run_passes(
        build, forward, f"--lnbwd-differentiate=of={','.join(program.outputs)} "
        f"saved={','.join(program.scalar_outputs)}")
    known = {name: value.astype(np.float32).astype(np.float64)
             for name, value in program.inputs(rows).items()}
    for name, source in (("forward", forward), ("backward", backward)):
        file = tmp_path / f"{name}.hsaco"
        compiling.compile_to(file, build, source, chip, "float32-products=tf32")
        kernel = devices.Kernel(runtime.open("sim", chip), file)
        read = [a["name"] for a in kernel.plan["arguments"] if a["access"] != "write"]
        bits = {each: devices.encode(known[each].ravel(), "f32") for each in read}
        expected = row_evaluator.evaluate(source, known)
        errors = {}
        for each, value in kernel.launch(rows, bits).items():
            reference = expected[each]
            error = np.abs(devices.decode(value, "f32").reshape(reference.shape) - reference).max()
            errors[each] = error / max(1, np.abs(reference).max())
            assert errors[each] <= 6 * 2 * FACTOR, each
        assert max(errors.values()) > 10 * TOLERANCE, "nothing was rounded"
        known |= {each: value.astype(np.float32).astype(np.float64)
                  for each, value in expected.items()}
        known |= {"d" + each: value.astype(np.float32).astype(np.float64)
                  for each, value in program.adjoints(rows).items()}
