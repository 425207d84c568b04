# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of row programs with products of matrices, and of their derived gradients, executed on
the simulated chips beside float64."""


import numpy as np
import pytest

import compiling
import device as devices
import family
import linear_programs
import row_evaluator

# Relative to the largest value of an output: float32 arithmetic of sums of some hundred terms, and
# one rounding where a value is stored or goes into a product (test/EndToEnd/family.py has the
# latter for outputs; a gradient of a product of rounded rows has a few of them).
TOLERANCE = {"f32": 2e-6, "f16": 2e-3, "bf16": 1.6e-2}


@pytest.fixture(scope="session")
def runtime(build):
    return devices.Runtime(build)


def rounded(values: np.ndarray, element: str) -> np.ndarray:
    return devices.decode(devices.encode(values.ravel(), element), element).reshape(values.shape)


def compile_text(build, text: str, chip: str, file, *passes: str, options: str = "") -> str:
    """Compiles to `file`, with more options of the pipeline, and returns what the passes before
    made of the text."""
    printed = compiling.run_passes(build, text, "--canonicalize", *passes)
    compiling.compile_to(file, build, printed, chip, options)
    return printed


def run(runtime, chip, file, rows, values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    kernel = devices.Kernel(runtime.open("sim", chip), file)
    elements = {a["name"]: a["element"] for a in kernel.plan["arguments"]}
    read = {a["name"] for a in kernel.plan["arguments"] if a["access"] != "write"}
    bits = {name: devices.encode(values[name].ravel(), elements[name]) for name in read}
    return {name: devices.decode(value, elements[name])
            for name, value in kernel.launch(rows, bits).items()}


def check(actual, expected, dtype):
    for name, value in actual.items():
        reference = expected[name]
        error = np.abs(value.reshape(reference.shape) - reference).max(initial=0)
        assert error <= TOLERANCE[dtype] * max(1, np.abs(reference).max(initial=0)), name


def check_program(build, runtime, folder, program, chip, row_counts, options=""):
    """Forward and derived backward pass, each beside its own program in float64."""
    dtype = program.dtype
    forward_file, backward_file = folder / "forward.hsaco", folder / "backward.hsaco"
    forward = compile_text(build, program.text(), chip, forward_file, options=options)
    saved = ",".join(program.scalar_outputs)
    backward = compile_text(
        build, forward, chip, backward_file,
        f"--lnbwd-differentiate=of={','.join(program.outputs)} saved={saved or 'none'}",
        options=options)
    for rows in row_counts:
        elements = {name: dtype for name in [*program.rows, *program.matrices]}
        inputs = {name: rounded(value, elements.get(name, "f32"))
                  for name, value in program.inputs(rows).items()}
        outputs = row_evaluator.evaluate(forward, inputs)
        check(run(runtime, chip, forward_file, rows, inputs), outputs, dtype)
        known = {**inputs, **{name: rounded(value, dtype if name in program.outputs else "f32")
                              for name, value in outputs.items()},
                 **{"d" + name: rounded(value, dtype)
                    for name, value in program.adjoints(rows).items()}}
        check(run(runtime, chip, backward_file, rows, known),
              row_evaluator.evaluate(backward, known), dtype)


@pytest.mark.sample("each", chip=family.AMD_CHIPS, name=linear_programs.NAMES)
def test_small(build, runtime, tmp_path, chip, name):
    """The puzzle's sizes, where a tile is larger than the matrices."""
    program = linear_programs.build(name, 8, 16)
    check_program(build, runtime, tmp_path, program, chip, (1, 7, 16))


@pytest.mark.sample("each", chip=family.AMD_CHIPS, dtype=("f16", "bf16", "f32"))
def test_ragged(build, runtime, tmp_path, chip, dtype):
    """Sizes that no tile divides, several tiles, each type."""
    program = linear_programs.build("layer_norm_linear", 96, 100, dtype)
    check_program(build, runtime, tmp_path, program, chip, (64, 70))


def test_no_rows(build, runtime, tmp_path):
    """Sums of which are 0; and few."""
    program = linear_programs.build("layer_norm_linear", 24, 40)
    check_program(build, runtime, tmp_path, program, "gfx942", (0, 5))
