# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Derived gradients, executed on the simulator: those of LayerNorm and RMSNorm beside the
ones written by hand, in accuracy and in instructions, and those of the examples beside
finite differences of the forward pass and, where it is installed, PyTorch's autograd."""

import pathlib

import numpy as np
import pytest

import compiling
import device as devices
import examples
import family


@pytest.fixture(scope="session")
def runtime(build):
    return devices.Runtime(build)


def derive(build, text: str, chip: str, output: pathlib.Path, options: str = "") -> str:
    """Derives the gradient of `text`, compiles it to `output`, and returns its IR."""
    gradient = compiling.differentiate(build, text, options)
    compiling.compile_to(output, build, gradient, chip)
    return gradient


def forward_case(op: str, **options) -> family.Case:
    return family.Case(op.removesuffix("_bwd"), **options)


# ---- The normalisations ----

@pytest.mark.sample(chip=family.AMD_CHIPS, op=("layer_norm_bwd", "rms_norm_bwd"),
                    saved=("", "saved=none"), options=("", "simplify=false"))
def test_normalisations_are_as_accurate_as_by_hand(build, runtime, tmp_path, chip, op, saved,
                                                   options):
    """Held to the very errors that are allowed of the gradients written by hand."""
    dtype = family.DTYPES[family.AMD_CHIPS.index(chip) % 3]
    statistics = "recomputed" if saved else "saved"
    case = family.Case(op, chip, dtype, 512, statistics=statistics)
    # A row scalar that is put out and not saved would have an adjoint.
    forward = forward_case(op, chip=chip, dtype=dtype, n=512, outputs=("y",) if saved else ())
    file = tmp_path / "gradient.hsaco"
    derive(build, family.source(forward), chip, file, f"{saved} {options}".strip())
    for rows in (0, 1, 70):
        family.run_case(runtime, "sim", case, file, rows)


@pytest.mark.parametrize("init", ["large-mean", "huge"])
def test_hard_rows(build, runtime, tmp_path, init):
    """A mean beside which the deviations are small; and rstd of 1e-15, whose third power
    float32 does not have."""
    case = family.Case("layer_norm_bwd", "gfx942", "f32", 512, init=init)
    file = tmp_path / "gradient.hsaco"
    derive(build, family.source(forward_case(case.op)), "gfx942", file)
    family.run_case(runtime, "sim", case, file, 9)


@pytest.mark.sample("each", chip=("gfx942", "gfx1100"), dtype=("f32", "bf16"))
def test_layer_norm_costs_what_it_costs_by_hand(build, runtime, tmp_path, chip, dtype):
    """The same loads and stores, and at most a tenth more vector instructions."""
    by_hand = family.compile_case(
        build, family.Case("layer_norm_bwd", chip, dtype, 1024), tmp_path)
    derived = tmp_path / "derived.hsaco"
    derive(build, family.source(family.Case("layer_norm", chip, dtype, 1024)), chip, derived)
    expected, actual = (devices.Kernel(runtime.open("sim", chip), file).count(2048)
                        for file in (by_hand, derived))
    for key in ("global_bytes_read", "global_bytes_written"):
        assert actual[key] == expected[key]
    assert actual["vector_lane_instructions"] <= 1.1 * expected["vector_lane_instructions"]


def assembly(build, text, chip):
    """The instructions of all kernels of a source."""
    code = compiling.compile_text(build, text, chip, form="isa").decode()
    return [line.strip() for line in code.split("\n") if line.startswith("\t")]


@pytest.mark.sample(chip=family.AMD_CHIPS, n=(768, 4096), op=("layer_norm", "rms_norm"))
def test_code_is_that_written_by_hand(build, chip, n, op):
    """As many loads and stores in the code, and at most a tenth more vector instructions."""
    by_hand = family.source(family.Case(op + "_bwd", chip, "bf16", n))
    forward = family.source(family.Case(op, chip, "bf16", n))
    derived = compiling.differentiate(build, forward)
    expected, actual = assembly(build, by_hand, chip), assembly(build, derived, chip)
    for memory in ("global_load", "global_store", "buffer_load", "buffer_store"):
        counts = [sum(line.startswith(memory) for line in code) for code in (expected, actual)]
        assert counts[0] == counts[1], memory
    counts = [sum(line.startswith("v_") for line in code) for code in (expected, actual)]
    assert counts[1] <= 1.1 * counts[0]


# ---- The examples ----

def torch_softmax(torch, x):
    return torch.softmax(x, 1)


def torch_l2_normalize(torch, x):
    return x * torch.rsqrt((x * x).sum(1, keepdim=True) + 1e-12)


def torch_dynamic_tanh(torch, x, alpha, gamma, beta):
    return gamma * torch.tanh(alpha * x) + beta


def torch_ada_layer_norm(torch, x, scale, shift):
    samples = x.reshape(len(scale), -1, x.shape[1])
    y = torch.nn.functional.layer_norm(samples, x.shape[1:], eps=1e-6)
    return (y * (1 + scale[:, None]) + shift[:, None]).reshape(x.shape)


TORCH = {"softmax": torch_softmax, "l2_normalize": torch_l2_normalize,
         "dynamic_tanh": torch_dynamic_tanh, "ada_layer_norm": torch_ada_layer_norm}


@pytest.mark.sample("each", chip=("gfx90a", "gfx1201"), name=tuple(examples.PROGRAMS))
def test_examples_agree_with_formulas(build, runtime, tmp_path, name, chip):
    """With x up to 100 as well, where an exponential would overflow."""
    files = examples.compile_example(build, name, chip, tmp_path)
    for rows, scale in ((1, 1.0), (70, 1.0), (5, 30.0)):
        examples.check_example(runtime, "sim", name, chip, files, rows, scale)


@pytest.mark.sample(options=("", "saved=none", "saved=y", "simplify=false"),
                    name=tuple(examples.PROGRAMS))
def test_examples_agree_with_finite_differences(build, runtime, tmp_path, name, options):
    if name in examples.SAVED:
        # Not saved, a row scalar would be an output with an adjoint of its own.
        saved = examples.SAVED[name]
        options = {"": saved, "simplify=false": f"{saved} simplify=false"}.get(
            options, saved.replace("=", "=y,"))
    function, _, columns = examples.PROGRAMS[name]
    inputs = examples.make_inputs(name, 3)
    files = examples.compile_example(build, name, "gfx942", tmp_path, options)
    results = examples.run_example(runtime, "sim", "gfx942", files, inputs)
    arguments = {key: inputs[key] for key in ("x", *columns)}
    examples.assert_near(results["y"], function(**arguments), 2e-6, "y")

    def loss(key, step):
        moved = {**arguments, key: arguments[key] + step}
        return np.sum(inputs["dy"] * function(**moved), axis=1 if key == "x" else None)

    random = np.random.default_rng(1)
    for key in arguments:
        actual = results["d" + key]
        scale = 1e-4
        for _ in range(20):
            # A direction of each row, or of the columns.
            direction = random.standard_normal(arguments[key].shape)
            slope = (loss(key, scale * direction) - loss(key, -scale * direction)) / (2 * scale)
            expected = np.sum(actual * direction, axis=1 if key == "x" else None)
            size = np.linalg.norm(actual) * np.linalg.norm(direction)
            assert np.max(np.abs(slope - expected)) <= 2e-6 * size, key


@pytest.mark.sample(chip=family.AMD_CHIPS, name=tuple(examples.PROGRAMS))
def test_examples_agree_with_autograd(build, runtime, tmp_path, name, chip):
    torch = pytest.importorskip("torch")
    columns = examples.PROGRAMS[name][2]
    inputs = examples.make_inputs(name, 5)
    files = examples.compile_example(build, name, chip, tmp_path)
    results = examples.run_example(runtime, "sim", chip, files, inputs)
    arguments = {key: torch.tensor(inputs[key], dtype=torch.float64, requires_grad=True)
                 for key in ("x", *columns)}
    y = TORCH[name](torch, **arguments)
    y.backward(torch.tensor(inputs["dy"]))
    examples.assert_near(results["y"], y.detach().numpy(), 1e-6, "y")
    for key, argument in arguments.items():
        examples.assert_near(results["d" + key], argument.grad.numpy(), 2e-6, "d" + key)


# ---- Row scalars are outputs ----

N, ROWS = 64, 5

# The outputs, what the region yields, the options, and the outputs in numpy.
SCALAR_PROGRAMS = {
    # The only output is a row scalar: the sum of the squares.
    "scalar": ("%fs[m] : memref<?xf32>", "%s : f32", "",
               lambda x, c: {"s": (x * x * c).sum(axis=1)}),
    # The loss depends on the row and on the scalar.
    "both": ("%fy[m, n] : memref<?x64xf32>, %fs[m] : memref<?xf32>",
             "%y, %s : vector<64xf32>, f32", "",
             lambda x, c: {"y": x * (x * x * c).sum(axis=1, keepdims=True),
                           "s": (x * x * c).sum(axis=1)}),
    # The scalar is there to be saved.
    "saved": ("%fy[m, n] : memref<?x64xf32>, %fs[m] : memref<?xf32>",
              "%y, %s : vector<64xf32>, f32", "saved=s",
              lambda x, c: {"y": x * (x * x * c).sum(axis=1, keepdims=True)}),
}


def scalar_program(outs: str, yielded: str) -> str:
    names = ["x", "c"] + (["y"] if "%fy" in outs else []) + ["s"]
    names = ", ".join(f'"{name}"' for name in names)
    return f"""func.func @f(%fx: memref<?x{N}xf32>, %fc: memref<{N}xf32>, %fy: memref<?x{N}xf32>,
                  %fs: memref<?xf32>) {{
  lnbwd.rowwise @f domain(m | n) ins(%fx[m, n] : memref<?x{N}xf32>, %fc[n] : memref<{N}xf32>)
      outs({outs})
      attributes {{operand_names = [{names}]}} {{
  ^row(%x: vector<{N}xf32>, %c: vector<{N}xf32>):
    %xx = arith.mulf %x, %x : vector<{N}xf32>
    %terms = arith.mulf %xx, %c : vector<{N}xf32>
    %s = vector.reduction <add>, %terms : vector<{N}xf32> into f32
    %sv = vector.broadcast %s : f32 to vector<{N}xf32>
    %y = arith.mulf %x, %sv : vector<{N}xf32>
    lnbwd.yield {yielded}
  }}
  return
}}
"""


@pytest.mark.sample(simplify=("", "simplify=false"), name=tuple(SCALAR_PROGRAMS))
def test_row_scalars_are_outputs(build, runtime, tmp_path, name, simplify):
    """The gradient with respect to a row and a column beside finite differences in float64
    of a loss that every output that is not saved is a part of."""
    outs, yielded, options, function = SCALAR_PROGRAMS[name]
    file = tmp_path / "gradient.hsaco"
    derive(build, scalar_program(outs, yielded), "gfx942", file, f"{options} {simplify}".strip())
    random = np.random.default_rng(7)
    forward = {"x": random.standard_normal((ROWS, N)), "c": random.standard_normal(N)}
    adjoints = {"y": random.standard_normal((ROWS, N)), "s": random.standard_normal(ROWS)}

    def rounded(values):
        return {key: value.astype(np.float32).astype(np.float64) for key, value in values.items()}

    forward, adjoints = rounded(forward), rounded(adjoints)
    outputs = function(**forward)
    inputs = {**forward, **{"d" + key: adjoints[key] for key in outputs}}
    if options:
        inputs["s"] = (forward["x"] ** 2 * forward["c"]).sum(axis=1)
    kernel = devices.Kernel(runtime.open("sim", "gfx942"), file)
    assert {a["name"] for a in kernel.plan["arguments"] if a["access"] == "read"} == set(inputs)
    results = kernel.launch(
        ROWS, {key: devices.encode(value.ravel(), "f32") for key, value in inputs.items()})

    def loss(arguments):
        return sum(np.sum(adjoints[key] * value) for key, value in function(**arguments).items())

    for key, value in forward.items():
        actual = devices.decode(results["d" + key], "f32").reshape(value.shape)
        assert np.max(np.abs(actual)) > 0.1
        for _ in range(10):
            direction = random.standard_normal(value.shape)
            ends = [loss({**forward, key: value + step * direction}) for step in (1e-4, -1e-4)]
            slope = (ends[0] - ends[1]) / 2e-4
            size = np.linalg.norm(actual) * np.linalg.norm(direction)
            assert abs(np.sum(actual * direction) - slope) <= 2e-6 * size, key
