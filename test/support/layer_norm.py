# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""LayerNorm backward on the simulator from Python: compile, run, compare with float64.

For the published failures, the fuzzer and the accuracy table. Arrays are float64 wherever a value
is meant; what a kernel sees is rounded to its type first, and the reference starts from that.
"""

from __future__ import annotations

import ctypes
import functools
import os
import pathlib
import sys

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("LNBWD_BUILD_DIR", ROOT / "build")).resolve()
if not os.environ.get("LNBWD_TEST_INSTALLED"):
    sys.path.insert(0, str(ROOT / "python"))
    os.environ.setdefault("LNBWD_LIBRARY_DIR", str(BUILD / "lib"))
os.environ.setdefault("LNBWD_SIM_CHECK", "all")
sys.path.append(str(ROOT / "test" / "EndToEnd"))

import chips  # noqa: E402
import compiling  # noqa: E402
import reference as references  # noqa: E402
from device import ELEMENT_BYTES, SMALLEST, decode, encode  # noqa: E402
from lnbwd import runtime  # noqa: E402
from lnbwd.core.base.operations import LAYER_NORM, LAYER_NORM_BWD, OPERATIONS  # noqa: E402
from lnbwd.core.compile.kernels import make_spec  # noqa: E402

CHIPS = chips.MANY
EPSILON = 1e-5
# Of column sums and of dx; docs/numerics.md says where they come from.
TOLERANCE = {"f16": 6e-4, "bf16": 4e-3, "f32": 1e-6}
DX_TOLERANCE = {**TOLERANCE, "f32": 5e-7}
READ_ONLY, UNWRITTEN = 1, 2


def rounded(values: np.ndarray, dtype: str) -> np.ndarray:
    """The nearest values of the type, in float64."""
    return decode(encode(values, dtype), dtype)


def statistics(x: np.ndarray, epsilon: float = EPSILON) -> tuple[np.ndarray, np.ndarray]:
    """mean and rstd of the rows, rounded to float32 as a forward pass saves them."""
    outputs, _ = references.evaluate(LAYER_NORM, {"x": x}, *x.shape, epsilon=epsilon,
                                     in_float32=False)
    with np.errstate(over="ignore", invalid="ignore"):
        mean, rstd = (outputs[name].astype(np.float32).astype(np.float64)
                      for name in ("mean", "rstd"))
    return mean, rstd


def reference(inputs: dict[str, np.ndarray], op: str = LAYER_NORM_BWD) -> dict[str, np.ndarray]:
    """The gradients in float64."""
    known = {name: values for name, values in inputs.items() if OPERATIONS[op].find(name, False)}
    return references.evaluate(op, known, *inputs["x"].shape)[0]


@functools.cache
def device(chip: str) -> runtime.Device:
    return runtime.Device.open("sim", chip)


@functools.cache
def _describe(chip: str):
    address = device(chip).symbol("lnbwdSimDescribeBuffer")
    prototype = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_char_p,
                                 ctypes.c_uint)
    return prototype(address)


def shuffle(chip: str, seed: int) -> None:
    """Waves and workgroups of later launches run in the order that the seed gives; 0: as usual.

    For launches that have been in the usual order: the further ones that a checked launch is
    executed in do not depend on the seed, and were tried then.
    """
    ctypes.CFUNCTYPE(None, ctypes.c_uint64)(device(chip).symbol("lnbwdSimSetShuffle"))(seed)
    other_orders(chip, seed == 0)


def other_orders(chip: str, wanted: bool) -> None:
    """Whether later launches whose workgroups order themselves run in other orders, too."""
    ctypes.CFUNCTYPE(None, ctypes.c_int)(device(chip).symbol("lnbwdSimSetOtherOrders"))(wanted)


@functools.cache
def kernel_of_text(text: str, chip: str, options: str = "") -> runtime.Kernel:
    """Compiled once in a run of the tests, whichever of them asks first."""
    code = compiling.compile_text(BUILD, text, chip, options)
    return runtime.Kernel(device(chip), runtime.Program.from_bytes(code))


def kernel(n: int, dtype: str, chip: str, parameters: str = "", gamma: bool = True,
           schedule: str = "") -> runtime.Kernel:
    spec = make_spec(LAYER_NORM_BWD, n=n, dtype=dtype, chip=chip, bias=parameters or dtype,
                     weight=(parameters or dtype) if gamma else False, schedule=schedule)
    return kernel_of_text(spec.source, chip, spec.pipeline_options())


def run(k: runtime.Kernel, inputs: dict[str, np.ndarray], rows: int,
        in_place: bool = False) -> dict[str, np.ndarray]:
    """One launch with every buffer described to the simulator; results in float64.

    With in_place dx is written over dy.
    """
    chip = k.device.info.arch.split(":")[0]
    describe = _describe(chip)
    buffers, sizes, held = {}, {}, {}
    arguments = k.program.arguments
    for index, a in enumerate(arguments):
        sizes[a.name] = k.program.argument_size(index, rows)
        if in_place and a.name == "dx":
            buffers["dx"] = buffers["dy"]
            continue
        buffers[a.name] = k.device.allocate(max(sizes[a.name], 16))
        if a.access != "write":
            held[a.name] = encode(inputs[a.name], a.element)
            if sizes[a.name]:
                buffers[a.name].upload_from(held[a.name].ctypes.data, held[a.name].nbytes)
        if sizes[a.name]:
            written_over = in_place and a.name == "dy"
            flags = UNWRITTEN if a.access == "write" else 0 if written_over else READ_ONLY
            describe(buffers[a.name].pointer, sizes[a.name], a.name.encode(), flags)
    size = k.workspace_size(rows)
    workspace = k.device.allocate(max(size, 16))
    if size:
        describe(workspace.pointer, size, b"workspace", UNWRITTEN)
    k.launch([buffers[a.name].pointer if sizes[a.name] else 0 for a in arguments], rows,
             workspace.pointer if size else 0, size)
    k.device.synchronize()
    results = {}
    for a in arguments:
        if a.access != "write":
            continue
        width = ELEMENT_BYTES[a.element]
        bits = np.empty(sizes[a.name] // width, np.uint32 if width == 4 else np.uint16)
        if sizes[a.name]:
            buffers[a.name].download_to(bits.ctypes.data, bits.nbytes)
        results[a.name] = decode(bits, a.element)
        if a.kind == "row_block":
            results[a.name] = results[a.name].reshape(rows, a.row_length)
    return results


def make_inputs(x: np.ndarray, dy: np.ndarray, gamma: np.ndarray | None, dtype: str,
                parameters: str = "") -> dict[str, np.ndarray]:
    """Inputs rounded to their types, with the statistics of the rounded x."""
    inputs = {"x": rounded(x, dtype), "dy": rounded(dy, dtype)}
    if gamma is not None:
        inputs["gamma"] = rounded(gamma, parameters or dtype)
    inputs["mean"], inputs["rstd"] = statistics(inputs["x"])
    return inputs


def random_inputs(seed: int, m: int, n: int, dtype: str, parameters: str = "", mean: float = 0,
                  scale: float = 1) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return make_inputs(mean + scale * rng.standard_normal((m, n)), rng.standard_normal((m, n)),
                       1 + 0.25 * rng.standard_normal(n), dtype, parameters)


def worst_error(got: np.ndarray, wanted: np.ndarray, dtype: str, cancelled: float = 0) -> float:
    """The largest error over the largest wanted value; NaNs and infinities must agree exactly.

    dtype is the result's type: one subnormal of it is no error. cancelled is the size of terms that
    cancel in the result: nor are four float32 roundings of them (docs/numerics.md).
    """
    if not np.array_equal(np.isnan(got), np.isnan(wanted)):
        return float("inf")
    finite = np.isfinite(wanted)
    if not np.array_equal(got[~finite], wanted[~finite], equal_nan=True):
        return float("inf")
    largest = np.abs(wanted[finite]).max(initial=0)
    error = np.abs(got[finite] - wanted[finite]).max(initial=0)
    error = max(error - 4 * 2.0**-24 * cancelled - SMALLEST[dtype], 0)
    return float(error / largest) if largest else float(error)


def check(results: dict[str, np.ndarray], inputs: dict[str, np.ndarray], dtype: str,
          parameters: str = "") -> None:
    """Fails if any result is further from float64 than its type allows."""
    expected = reference(inputs)
    terms = np.abs(inputs["rstd"][:, None] * inputs["dy"] * inputs.get("gamma", 1.0))
    largest_term = float(terms[np.isfinite(terms)].max(initial=0))
    for name, got in results.items():
        is_dx = name == "dx"
        kind = dtype if is_dx else parameters or dtype
        allowed = (DX_TOLERANCE if is_dx else TOLERANCE)[kind]
        error = worst_error(got, expected[name], kind, largest_term if is_dx else 0)
        assert error <= allowed, f"{name}: error {error:.3e}, allowed {allowed}"
