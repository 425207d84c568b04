# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The row programs of examples/ and their derived gradients, beside numpy in float64.

  examples.py compile --build BUILD --chip sm_90 --out KERNELS
  examples.py run --build BUILD --kernels KERNELS --chip sm_90 --device cuda
"""

from __future__ import annotations

import argparse
import pathlib
import sys

import numpy as np

import chips
import compiling
import device as devices

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
COLUMNS = 512


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def softmax_gradient(dy, x):
    y = softmax(x)
    return {"dx": y * (dy - (dy * y).sum(axis=1, keepdims=True))}


def l2_normalize(x):
    return x / np.sqrt((x * x).sum(axis=1, keepdims=True) + 1e-12)


def l2_normalize_gradient(dy, x):
    rnorm = 1 / np.sqrt((x * x).sum(axis=1, keepdims=True) + 1e-12)
    y = x * rnorm
    return {"dx": rnorm * (dy - y * (dy * y).sum(axis=1, keepdims=True))}


def dynamic_tanh(x, alpha, gamma, beta):
    return gamma * np.tanh(alpha * x) + beta


def dynamic_tanh_gradient(dy, x, alpha, gamma, beta):
    t = np.tanh(alpha * x)
    inner = dy * gamma * (1 - t * t)
    return {"dx": inner * alpha, "dalpha": (inner * x).sum(axis=0), "dgamma": (dy * t).sum(axis=0),
            "dbeta": dy.sum(axis=0) + 0 * beta}


def spread(column, rows):
    """A row for each group of rows as one for each row."""
    return np.repeat(column, rows // len(column), axis=0)


def ada_layer_norm(x, scale, shift):
    centred = x - x.mean(axis=1, keepdims=True)
    rstd = 1 / np.sqrt((centred * centred).mean(axis=1, keepdims=True) + 1e-6)
    return centred * rstd * (1 + spread(scale, len(x))) + spread(shift, len(x))


def ada_layer_norm_gradient(dy, x, scale, shift):
    centred = x - x.mean(axis=1, keepdims=True)
    rstd = 1 / np.sqrt((centred * centred).mean(axis=1, keepdims=True) + 1e-6)
    xhat = centred * rstd
    inner = dy * (1 + spread(scale, len(x)))
    groups = (len(scale), -1, COLUMNS)
    return {"dx": rstd * (inner - inner.mean(axis=1, keepdims=True)
                          - xhat * (inner * xhat).mean(axis=1, keepdims=True)),
            "dscale": (dy * xhat).reshape(groups).sum(axis=1),
            "dshift": dy.reshape(groups).sum(axis=1) + 0 * shift}


# Forward pass, gradient, and which inputs are columns, of all rows or of groups of them.
PROGRAMS = {"ada_layer_norm": (ada_layer_norm, ada_layer_norm_gradient, ("scale", "shift")),
            "softmax": (softmax, softmax_gradient, ()),
            "l2_normalize": (l2_normalize, l2_normalize_gradient, ()),
            "dynamic_tanh": (dynamic_tanh, dynamic_tanh_gradient, ("alpha", "gamma", "beta"))}
# Those whose columns are of groups of rows.
GROUPED = ("ada_layer_norm",)


def make_inputs(name, rows, scale=1.0):
    """Inputs that float32 holds exactly, in float64."""
    random = np.random.default_rng(len(name))
    inputs = {"x": scale * random.standard_normal((rows, COLUMNS)),
              "dy": random.standard_normal((rows, COLUMNS))}
    # Five groups, or one for each row.
    groups = 5 if rows % 5 == 0 else rows
    shape = (groups, COLUMNS) if name in GROUPED else (COLUMNS,)
    for column in PROGRAMS[name][2]:
        inputs[column] = 0.7 + 0.3 * random.standard_normal(shape)
    return {key: value.astype(np.float32).astype(np.float64) for key, value in inputs.items()}


# What the gradients are given of the forward outputs: a row scalar that is not named here
# would be an output with an adjoint of its own.
SAVED = {"l2_normalize": "saved=rnorm", "ada_layer_norm": "saved=mean,rstd"}


def compile_example(build, name, chip, folder, options=None):
    """Compiles the forward pass and its derived gradient, by default with what SAVED says;
    returns both files."""
    options = SAVED.get(name, "") if options is None else options
    suffix = "hsaco" if chip.startswith("gfx") else "ptx"
    files = folder / f"{name}.{suffix}", folder / f"{name}_bwd.{suffix}"
    text = (EXAMPLES / f"{name}.mlir").read_text()
    gradient = compiling.differentiate(build, text, options)
    for source, file in zip((text, gradient), files, strict=True):
        compiling.compile_to(file, build, source, chip)
    return files


def run_example(runtime, device, chip, files, inputs):
    """The forward outputs and the gradients, in float64."""
    rows = len(inputs["x"])
    groups = len(inputs["scale"]) if "scale" in inputs else 1
    opened = runtime.open(device, chip)
    bits = {key: devices.encode(value.ravel(), "f32") for key, value in inputs.items()}
    results = {}
    for file in files:
        kernel = devices.Kernel(opened, file)
        outputs = kernel.launch(rows, bits, groups=groups)
        kinds = {argument["name"]: argument["kind"] for argument in kernel.plan["arguments"]}
        bits.update(outputs)
        for key, value in outputs.items():
            shape = (-1, COLUMNS) if kinds[key] in ("row_block", "group_column") else (-1,)
            results[key] = devices.decode(value, "f32").reshape(shape)
    return results


def assert_near(actual, expected, tolerance, what):
    error = np.max(np.abs(actual - expected)) / np.max(np.abs(expected))
    if not error <= tolerance:
        raise devices.LaunchError(f"{what}: relative error {error:.3e}, allowed {tolerance:.1e}")


def check_example(runtime, device, name, chip, files, rows, scale=1.0):
    """Compares everything with float64."""
    function, gradient, columns = PROGRAMS[name]
    inputs = make_inputs(name, rows, scale)
    results = run_example(runtime, device, chip, files, inputs)
    arguments = {key: inputs[key] for key in ("x", *columns)}
    assert_near(results["y"], function(**arguments), 2e-6, f"{name}: y")
    for key, expected in gradient(dy=inputs["dy"], **arguments).items():
        assert_near(results[key], expected, 4e-6, f"{name}: {key}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("compile", "run"):
        command = commands.add_parser(name)
        command.add_argument("--build", type=pathlib.Path, required=True)
        command.add_argument("--chip", default=chips.GPU)
    commands.choices["compile"].add_argument("--out", type=pathlib.Path, required=True)
    commands.choices["run"].add_argument("--kernels", type=pathlib.Path, required=True)
    commands.choices["run"].add_argument("--device", default="cuda")
    options = parser.parse_args()
    if options.command == "compile":
        options.out.mkdir(parents=True, exist_ok=True)
        for name in PROGRAMS:
            compile_example(options.build, name, options.chip, options.out)
        return 0
    runtime = devices.Runtime(options.build)
    failures = 0
    for name in PROGRAMS:
        suffix = "hsaco" if options.chip.startswith("gfx") else "ptx"
        files = [options.kernels / f"{name}{part}.{suffix}" for part in ("", "_bwd")]
        for rows, scale in ((1, 1.0), (70, 1.0), (5, 30.0)):
            try:
                check_example(runtime, options.device, name, options.chip, files, rows, scale)
                print(f"ok     {name} m={rows} scale={scale}")
            except devices.LaunchError as error:
                failures += 1
                print(f"FAILED {name} m={rows} scale={scale}: {error}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
