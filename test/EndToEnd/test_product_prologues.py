# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products with a prologue, executed on the simulated chips beside the same two kernels apart,
which have the same bits, and beside float64: all three forms, sizes that no tile divides, sums in
parts; as PTX on the CPU; LayerNorm or RMSNorm with a linear layer, and the gradient; and what it
costs by count."""

import itertools

import numpy as np
import pytest

import compiling
import device as devices
import family
import linear_programs
import ptx_machine
import reference
import row_evaluator
from product_counts import SIZE, TILE, check_workgroup, find_spills
from test_linear_kernels import compile_text, rounded, run

# Of float32 sums, and of rows that are rounded before.
TOLERANCE = {"f32": 4e-6, "f16": 1e-3, "bf16": 8e-3}
FORMS = {"": "ab", "rhs_transposed": "ab^t", "lhs_transposed": "a^t b"}


@pytest.fixture(scope="session")
def runtime(build):
    return devices.Runtime(build)


def normalisation(element: str, length: int) -> str:
    """The region's body: z = (x - m) r g + b, rounded to x's type."""
    row, narrow = f"vector<{length}xf32>", f"vector<{length}x{element}>"
    widen, round_, wide, out = "", "", "%xr", "%z"
    if element != "f32":
        widen = f"%wide = arith.extf %xr : {narrow} to {row}"
        round_ = f"%zr = arith.truncf %z : {row} to {narrow}"
        wide, out = "%wide", "%zr"
    return f"""  ^row(%xr: {narrow}, %gr: {row}, %br: {row}, %mr: f32, %rr: f32):
    %ms = vector.broadcast %mr : f32 to {row}
    %rs = vector.broadcast %rr : f32 to {row}
    {widen}
    %moved = arith.subf {wide}, %ms fastmath<contract> : {row}
    %xhat = arith.mulf %moved, %rs fastmath<contract> : {row}
    %z = vector.fma %xhat, %gr, %br : {row}
    {round_}
    YIELD {out} : {narrow}
  }}"""


def text(form: str, element: str, sizes: tuple[int, int]) -> str:
    """c = z w of rows z that are made of x, or w^T z."""
    length, other = sizes
    shapes = {"x": f"?x{length}x{element}", "g": f"{length}xf32", "b": f"{length}xf32",
              "m": "?xf32", "r": "?xf32",
              "w": {"": f"{length}x{other}", "rhs_transposed": f"{other}x{length}",
                    "lhs_transposed": f"?x{other}"}[form] + f"x{element}",
              "c": (f"{other}x{length}" if form == "lhs_transposed" else f"?x{other}") + "xf32"}
    types = {name: f"memref<{shape}>" for name, shape in shapes.items()}
    sides = [f"%z : {types['x']}", f"%w : {types['w']}"]
    names = ["z", "w", "c"]
    if form == "lhs_transposed":
        sides.reverse()
        names = ["w", "z", "c"]
    attributes = ", ".join(filter(None, [
        form, "operand_names = [" + ", ".join(f'"{name}"' for name in names) + "]"]))
    body = normalisation(element, length).replace("YIELD", "lnbwd.yield")
    return f"""func.func @f({', '.join(f'%{name}: {kind}' for name, kind in types.items())}) {{
  %count = lnbwd.row_count %x : {types['x']}
  %z = memref.alloc(%count) : {types['x']}
  lnbwd.rowwise @norm domain(m | n)
      ins(%x[m, n] : {types['x']}, %g[n] : {types['g']}, %b[n] : {types['b']},
      %m[m] : {types['m']}, %r[m] : {types['r']}) outs(%z[m, n] : {types['x']})
      attributes {{operand_names = ["x", "g", "b", "m", "r", "z"]}} {{
{body}
  lnbwd.product @f lhs({sides[0]}) rhs({sides[1]}) outs(%c : {types['c']})
      attributes {{{attributes}}}
  memref.dealloc %z : {types['x']}
  return
}}
"""


def check(build, runtime, folder, chip, form, element, sizes, row_counts):
    kernels = {}
    for mode in ("always", "never"):
        file = folder / f"{mode}.hsaco"
        compiling.compile_to(file, build, text(form, element, sizes), chip,
                             f"prologues={mode}")
        kernels[mode] = devices.Kernel(runtime.open("sim", chip), file)
    assert "norm" in names_of(kernels["never"]) and "norm" not in names_of(kernels["always"])
    check_launches(*(lambda rows, bits, kernel=kernels[mode]: kernel.launch(rows, bits)["c"]
                     for mode in ("always", "never")), form, element, sizes, row_counts)


def names_of(kernel: devices.Kernel) -> list[str]:
    return [entry["name"] for entry in kernel.plan["kernels"]]


def check_launches(launch_fused, launch_apart, form, element, sizes, row_counts):
    """Each of the two takes the number of rows and the bits of what is read, and gives those of
    c; the second may be missing."""
    length, other = sizes
    for rows in row_counts:
        rng = np.random.default_rng(rows)
        kinds = {"x": element, "g": "f32", "b": "f32", "m": "f32", "r": "f32", "w": element}
        shapes = {"x": (rows, length), "g": (length,), "b": (length,), "m": (rows,), "r": (rows,),
                  "w": {"": (length, other), "rhs_transposed": (other, length),
                        "lhs_transposed": (rows, other)}[form]}
        # A mean that is far from 0, which rows that do not exist would show.
        bits = {name: devices.encode(rng.standard_normal(shape).ravel() + (name in "bm"),
                                     kinds[name]) for name, shape in shapes.items()}
        values = {name: devices.decode(bits[name], kinds[name]).reshape(shape).astype(np.float64)
                  for name, shape in shapes.items()}
        z = ((values["x"] - values["m"][:, None]) * values["r"][:, None] * values["g"]
             + values["b"])
        w = values["w"]
        expected = w.T @ z if form == "lhs_transposed" else z @ (
            w.T if form == "rhs_transposed" else w)
        fused = launch_fused(rows, bits)
        assert launch_apart is None or np.array_equal(fused, launch_apart(rows, bits)), rows
        actual = devices.decode(fused, "f32").reshape(expected.shape)
        error = np.abs(actual - expected).max(initial=0)
        depth = rows if form == "lhs_transposed" else length
        largest = max(np.sqrt(max(depth, 1)), np.abs(expected).max(initial=0))
        assert error <= TOLERANCE[element] * largest, (rows, error)


@pytest.mark.sample(chip=("gfx90a", "gfx942", "gfx1201"), element=("bf16", "f16", "f32"),
                    form=FORMS)
def test_ragged(build, runtime, tmp_path, chip, element, form):
    """Also without an instruction (float32 of gfx1201), in parts (sums over the rows), and without
    rows."""
    check(build, runtime, tmp_path, chip, form, element, (100, 74), (0, 1, 150))


@pytest.mark.parametrize("form", ["", "lhs_transposed"], ids=["ab", "a^t b"])
@pytest.mark.parametrize("chip", ["gfx942", "gfx1201"])
def test_odd(build, runtime, tmp_path, chip, form):
    """Single elements."""
    check(build, runtime, tmp_path, chip, form, "bf16", (9, 40), (5, 65))


@pytest.mark.sample(form=FORMS, element=("bf16", "f16", "f32"))
def test_ptx(build, element, form):
    """NVIDIA's kernels of tiles that go through registers, and of fused multiply-adds, on the
    CPU."""
    sizes = (100, 74)
    ptx = compiling.compile_text(build, text(form, element, sizes), "sm_90",
                                 "prologues=always").decode()
    assert "cp.async" not in ptx and ("mma.sync" in ptx) == (element != "f32")
    assert ".entry norm(" not in ptx

    def launch(rows, bits):
        outputs = ptx_machine.launch(ptx, rows, {name: value.tobytes()
                                                 for name, value in bits.items()})
        return np.frombuffer(outputs["c"], np.uint32)

    # The kernel that makes rows alone has instructions that are not known there.
    check_launches(launch, None, form, element, sizes, (1, 70))


def named(op: str, length: int, outputs: int, dtype: str) -> str:
    """The named forward pass, all of one type."""
    types = {"x": f"?x{length}x{dtype}", "gamma": f"{length}x{dtype}", "beta": f"{length}x{dtype}",
             "w": f"{outputs}x{length}x{dtype}", "b": f"{outputs}x{dtype}",
             "out": f"?x{outputs}x{dtype}", "mean": "?xf32", "rstd": "?xf32"}
    if op == "rms_norm_linear":
        del types["beta"], types["mean"]
    operands = {name: f"{name}(%{name} : memref<{kind}>)" for name, kind in types.items()}
    results = [operands.pop(name) for name in ("out", "mean", "rstd") if name in types]
    arguments = ", ".join(f"%{name}: memref<{kind}>" for name, kind in types.items())
    return f"""func.func @f({arguments}) {{
  lnbwd.{op} {' '.join(operands.values())} outs {' '.join(results)}
  return
}}
"""


@pytest.mark.sample("each", chip=family.AMD_CHIPS, op=("layer_norm_linear", "rms_norm_linear"),
                    dtype=("f16", "bf16", "f32"))
def test_normalised_rows(build, runtime, tmp_path, chip, op, dtype):
    """The forward pass: statistics are a kernel of their own, and the product normalises x."""
    length, outputs = 100, 74
    kernels = {}
    for mode in ("always", "never"):
        file = tmp_path / f"{mode}.hsaco"
        compiling.compile_to(file, build, named(op, length, outputs, dtype), chip,
                             f"prologues={mode}")
        kernels[mode] = devices.Kernel(runtime.open("sim", chip), file)
    assert names_of(kernels["always"]) == [op + "_rows_0_statistics", op]
    assert names_of(kernels["never"]) == [op + "_rows_0", op]
    # Statistics are written and never read by a launcher's account.
    for kernel in kernels.values():
        assert {a["name"] for a in kernel.plan["arguments"] if a["access"] == "write"} == {
            "out", "rstd", *(["mean"] if op == "layer_norm_linear" else [])}
    for rows in (0, 1, 70):
        rng = np.random.default_rng(rows)
        values = {"x": rng.standard_normal((rows, length)) + 3,
                  "gamma": rng.standard_normal(length), "beta": rng.standard_normal(length),
                  "w": rng.standard_normal((outputs, length)) / 10,
                  "b": rng.standard_normal(outputs)}
        if op == "rms_norm_linear":
            del values["beta"]
        values = {name: rounded(value, dtype) for name, value in values.items()}
        bits = {name: devices.encode(value.ravel(), dtype) for name, value in values.items()}
        expected, _ = reference.evaluate(op, values, rows, length, output_columns=outputs)
        # Row sums in a program of their own may have another schedule, and other last bits.
        for mode, kernel in kernels.items():
            for name, value in kernel.launch(rows, bits).items():
                kind = dtype if name == "out" else "f32"
                actual = devices.decode(value, kind).reshape(np.shape(expected[name]))
                error = np.abs(actual - expected[name]).max(initial=0)
                assert error <= TOLERANCE[kind] * 10, (rows, mode, name, error)


# With 16 bits and with 32 on one chip each, seconds a kernel; the whole product with --full.
@pytest.mark.parametrize("chip, dtype", [
    pytest.param(chip, dtype, marks=[] if (chip, dtype) in (("gfx942", "bf16"), ("gfx1201", "f32"))
                 else [pytest.mark.full])
    for chip, dtype in itertools.product(("gfx90a", "gfx942", "gfx1201"), ("f16", "bf16", "f32"))])
def test_layer_norm_linear_gradient(build, runtime, tmp_path, chip, dtype):
    """xhat, of which T is made, is a prologue; all gradients have the bits that they have apart."""
    program = linear_programs.build("layer_norm_linear", 96, 100, dtype)
    saved = ",".join([*program.scalar_outputs, "out"])
    forward = compiling.run_passes(build, program.text(), "--canonicalize")
    files = {}
    for mode in ("always", "never"):
        files[mode] = tmp_path / f"{mode}.hsaco"
        compile_text(build, forward, chip, files[mode],
                     f"--lnbwd-differentiate=of={','.join(program.outputs)} saved={saved}",
                     options=f"prologues={mode}")
    counts = {mode: len(devices.Kernel(runtime.open("sim", chip), file).plan["kernels"])
              for mode, file in files.items()}
    assert counts["always"] == counts["never"] - 1
    for rows in (0, 70):
        elements = {name: dtype for name in [*program.rows, *program.matrices]}
        inputs = {name: rounded(value, elements.get(name, "f32"))
                  for name, value in program.inputs(rows).items()}
        outputs = row_evaluator.evaluate(forward, inputs)
        known = {**inputs, **{name: rounded(value, dtype if name in program.outputs else "f32")
                              for name, value in outputs.items()},
                 **{"d" + name: rounded(value, dtype)
                    for name, value in program.adjoints(rows).items()}}
        fused, apart = (run(runtime, chip, files[mode], rows, known)
                        for mode in ("always", "never"))
        assert fused.keys() == apart.keys()
        for name, value in fused.items():
            assert np.array_equal(value, apart[name]), (rows, name)


@pytest.mark.sample(chip=family.AMD_CHIPS, form={"": "ab", "lhs_transposed": "a^t b"})
def test_counts(build, tmp_path, chip, form):
    """A workgroup of bf16: what test_product_counts.py has of the plain product holds, and x is
    read as often as the made rows would be."""
    rows, row = f"memref<?x{SIZE}xbf16>", f"memref<{SIZE}xf32>"
    out = f"memref<{SIZE}x{SIZE}xf32>" if form else f"memref<?x{SIZE}xf32>"
    sides, types = ["x", "w"], {"x": rows, "w": rows if form else f"memref<{SIZE}x{SIZE}xbf16>"}
    if form:
        sides.reverse()
    body = normalisation("bf16", SIZE).replace("YIELD", "lnbwd.product_yield")
    code = f"""func.func @f(%x: {rows}, %w: {types['w']}, %c: {out}, %g: {row}, %b: {row},
    %m: memref<?xf32>, %r: memref<?xf32>) {{
  lnbwd.product @f lhs(%{sides[0]} : {types[sides[0]]}) rhs(%{sides[1]} : {types[sides[1]]})
      outs(%c : {out}) attributes {{{form}}}
      prologue columns(%g, %b : {row}, {row}) scalars(%m, %r : memref<?xf32>, memref<?xf32>) {{
{body}
  return
}}
"""
    count = SIZE if form else TILE
    elements = {"x": count * SIZE, "w": SIZE * SIZE}
    written = (SIZE if form else TILE) * SIZE
    buffers = check_workgroup(build, tmp_path, chip, code, [
        *[f"in:bf16x{elements[side]}=1.5" for side in sides], f"inout:f32x{written}=0",
        *[f"in:f32x{SIZE}=1"] * 2, *[f"in:f32x{count}=0.5"] * 2, f"i64={count}"])
    assert [buffer["bytes_written"] for buffer in buffers[:3]] == [0, 0, TILE * TILE * 4]
    # There fragments take twice the registers: by itself that chip has no prologues.
    if chip == "gfx1100" and not form:
        return
    assert not find_spills(compiling.compile_text(build, code, chip, form="isa").decode())
