# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products with a prologue, executed on the simulated chips beside the same two kernels apart,
which have the same bits, and beside float64: all three forms, sizes that no tile divides, sums in
parts; the gradient of LayerNorm and a linear layer; and what it costs by count."""

import json
import re
import subprocess

import compiling
import device as devices
import family
import linear_programs
import numpy as np
import pytest
import row_evaluator
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


def text(form: str, element: str, sizes: tuple[int, int], tiling: str = "") -> str:
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
        form, tiling, "operand_names = [" + ", ".join(f'"{name}"' for name in names) + "]"]))
    body = normalisation(element, length).replace("YIELD", "lnbwd.yield")
    return f"""func.func @f({', '.join(f'%{name}: {kind}' for name, kind in types.items())}) {{
  %count = lnbwd.row_count %x : {types['x']}
  %z = memref.alloc(%count) : {types['x']}
  lnbwd.rowwise @norm rows(%x : {types['x']}) columns(%g, %b : {types['g']}, {types['b']})
      scalars(%m, %r : {types['m']}, {types['r']}) outs rows(%z : {types['x']})
      attributes {{operand_names = ["x", "g", "b", "m", "r", "z"]}} {{
{body}
  lnbwd.product @f lhs({sides[0]}) rhs({sides[1]}) outs(%c : {types['c']})
      attributes {{{attributes}}}
  memref.dealloc %z : {types['x']}
  return
}}
"""


def check(build, runtime, folder, chip, form, element, sizes, row_counts, tiling=""):
    length, other = sizes
    kernels = {}
    for mode in ("always", "never"):
        file = folder / f"{mode}.hsaco"
        compiling.compile_to(file, build, text(form, element, sizes, tiling), chip,
                             f"prologues={mode}")
        kernels[mode] = devices.Kernel(runtime.open("sim", chip), file)
    names = {mode: [entry["name"] for entry in kernel.plan["kernels"]]
             for mode, kernel in kernels.items()}
    assert "norm" in names["never"] and "norm" not in names["always"]
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
        fused, apart = (kernels[mode].launch(rows, bits)["c"] for mode in ("always", "never"))
        assert np.array_equal(fused, apart), rows
        actual = devices.decode(fused, "f32").reshape(expected.shape)
        error = np.abs(actual - expected).max(initial=0)
        depth = rows if form == "lhs_transposed" else length
        largest = max(np.sqrt(max(depth, 1)), np.abs(expected).max(initial=0))
        assert error <= TOLERANCE[element] * largest, (rows, error)


@pytest.mark.parametrize("form", FORMS, ids=FORMS.values())
@pytest.mark.parametrize("element", ["bf16", "f16", "f32"])
@pytest.mark.parametrize("chip", ["gfx90a", "gfx942", "gfx1201"])
def test_ragged(build, runtime, tmp_path, chip, element, form):
    """Also without an instruction (float32 of gfx1201), in parts (sums over the rows), and without
    rows."""
    check(build, runtime, tmp_path, chip, form, element, (100, 74), (0, 1, 150))


@pytest.mark.parametrize("form", ["", "lhs_transposed"], ids=["ab", "a^t b"])
@pytest.mark.parametrize("chip", ["gfx942", "gfx1201"])
def test_odd(build, runtime, tmp_path, chip, form):
    """Single elements."""
    check(build, runtime, tmp_path, chip, form, "bf16", (9, 40), (5, 65))


def test_split(build, runtime, tmp_path):
    """A sum along the rows in parts."""
    tiling = ("tiling = #lnbwd.tiling<rows = 64, columns = 64, depth = 64, wave_rows = 32, "
              "wave_columns = 32, instruction_rows = 16, instruction_columns = 16, "
              "instruction_depth = 16, splits = 3>")
    check(build, runtime, tmp_path, "gfx942", "rhs_transposed", "bf16", (328, 50), (0, 70), tiling)


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32"])
@pytest.mark.parametrize("chip", ["gfx90a", "gfx942", "gfx1201"])
def test_layer_norm_linear_gradient(build, runtime, tmp_path, chip, dtype):
    """xhat, of which T is made, is a prologue; all gradients have the bits that they have apart."""
    program = linear_programs.build("layer_norm_linear", 96, 100, dtype)
    saved = ",".join([*program.scalar_outputs, "out"])
    forward = compile_text(build, program.text(), chip, tmp_path / "forward.hsaco")
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


SIZE, TILE = 4096, 128


@pytest.mark.parametrize("form", ["", "lhs_transposed"], ids=["ab", "a^t b"])
@pytest.mark.parametrize("chip", family.AMD_CHIPS)
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
    file = tmp_path / "f.hsaco"
    file.write_bytes(compiling.compile_text(build, code, chip, form="hsaco"))
    count = SIZE if form else TILE
    elements = {"x": count * SIZE, "w": SIZE * SIZE}
    written = (SIZE if form else TILE) * SIZE
    result = subprocess.run(
        [build / "bin" / "lnbwd-sim", file, "--kernel=f", "--grid=1", "--block=256", "--json",
         "--show=0", *[f"--arg=in:bf16x{elements[side]}=random:1" for side in sides],
         f"--arg=inout:f32x{written}=0", *[f"--arg=in:f32x{SIZE}=1"] * 2,
         *[f"--arg=in:f32x{count}=0.5"] * 2, f"--arg=i64={count}"],
        capture_output=True, text=True, check=False, timeout=600)
    assert result.returncode == 0, result.stdout + result.stderr
    counts = json.loads(result.stdout)["counts"]
    least = TILE * TILE * SIZE / (16 * 16 * (32 if chip == "gfx950" else 16))
    assert least <= counts["instructions"]["matrix"] <= 1.02 * least
    assert counts["lds"]["bank_conflict_cycles"] == 0
    buffers = counts["buffers"]
    assert sum(buffer["bytes_read"] for buffer in buffers[:2]) <= 1.15 * 2 * TILE * SIZE * 2
    assert [buffer["bytes_written"] for buffer in buffers[:3]] == [0, 0, TILE * TILE * 4]
    # There fragments take twice the registers: by itself that chip has no prologues.
    if chip == "gfx1100" and not form:
        return
    lines = compiling.compile_text(build, code, chip, form="isa").decode().splitlines()
    assert not [line for line in lines if re.match(r"\t(scratch|buffer)_(load|store)", line)]
