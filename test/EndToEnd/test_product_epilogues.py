# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products with an epilogue, executed on the simulated chips beside float64: every kind of operand,
both forms, sizes that no tile divides; dx of LayerNorm and a linear layer; and what it costs by
count."""

import re

import numpy as np
import pytest

import compiling
import device as devices
import family
import linear_programs
import ptx_machine
from product_counts import SIZE, TILE, check_workgroup, find_spills
from test_linear_kernels import check_program

# Of float32 sums and a few operations on them; and one rounding to the output's type.
TOLERANCE = {"f32": 4e-6, "f16": 1e-3, "bf16": 8e-3}
FORMS = {"": "ab", "rhs_transposed": "ab^t"}


@pytest.fixture(scope="session")
def runtime(build):
    return devices.Runtime(build)


def text(form: str, element: str, sizes: tuple[int, int], plain: bool = False) -> str:
    """c = mask ? (a b) g + x s^2 t : 0, of matrices, rows x and c of `element`. A plain one has no
    mask, and x and c of float32."""
    first, second = sizes
    rhs = f"{second}x{first}" if form else f"{first}x{second}"
    types = {"a": f"memref<?x{first}x{element}>", "b": f"memref<{rhs}x{element}>"}
    element = "f32" if plain else element
    types |= {"c": f"memref<?x{second}x{element}>", "x": f"memref<?x{second}x{element}>",
              "mask": f"memref<?x{second}xi8>", "g": f"memref<{second}xf32>",
              "s": "memref<?xf32>", "t": "memref<f32>"}
    mask, wide = f"vector<{second}xi8>", f"vector<{second}xf32>"
    argument = f", %mr: {mask}"
    select = f"""%zero = arith.constant dense<0> : {mask}
    %keep = arith.cmpi ne, %mr, %zero : {mask}
    %kept = arith.select %keep, %sum, %none : vector<{second}xi1>, {wide}"""
    if plain:
        del types["mask"]
        argument, select = "", f"%kept = arith.addf %sum, %none : {wide}"
    maps = {"a": "m, n0", "x": "m, n1", "mask": "m, n1", "g": "n1", "s": "m", "t": "",
            "b": "n1, n0" if form else "n0, n1"}
    inputs = [name for name in maps if name in types]
    row = f"vector<{second}xf32>"
    narrow = f"vector<{second}x{element}>"
    widen = f"%wide = arith.extf %xr : {narrow} to {row}"
    round_ = f"%out = arith.truncf %kept : {row} to {narrow}"
    if element == "f32":
        widen = f"%wide = arith.mulf %xr, %one : {row}"
        round_ = f"%out = arith.mulf %kept, %one : {row}"
    arguments = ', '.join(f'%{name}: {kind}' for name, kind in types.items())
    quoted = ", ".join(f'"{name}"' for name in (*inputs, "c"))
    matrices = [types[name].replace("?x", "").replace("memref", "vector") for name in "ab"]
    return f"""func.func @f({arguments}) {{
  lnbwd.rowwise @f domain(m | n0, n1)
      ins({', '.join(f'%{name}[{maps[name]}] : {types[name]}' for name in inputs)})
      outs(%c[m, n1] : {types['c']}) attributes {{operand_names = [{quoted}]}} {{
  ^row(%ar: {matrices[0]}, %xr: {narrow}{argument}, %gr: {row}, %sr: f32, %tr: f32,
       %bm: {matrices[1]}):
    %p = lnbwd.linear %ar, %bm {"" if form else "transposed "}: {', '.join(matrices)}
    %one = arith.constant dense<1.0> : {row}
    %none = arith.constant dense<0.0> : {row}
    %unit = arith.constant 1.0 : f32
    %scaled = arith.mulf %sr, %unit : f32
    %square = arith.mulf %scaled, %sr : f32
    %factor = arith.mulf %square, %tr : f32
    %spread = vector.broadcast %factor : f32 to {row}
    {widen}
    %moved = arith.mulf %wide, %spread : {row}
    %sum = vector.fma %p, %gr, %moved : {row}
    {select}
    {round_}
    lnbwd.yield %out : {narrow}
  }}
  return
}}
"""


def check(runtime, chip, file, form, element, sizes, row_counts):
    kernel = devices.Kernel(runtime.open("sim", chip), file)
    check_launch(lambda rows, bits: kernel.launch(rows, bits)["c"], form, element, sizes,
                 row_counts)


def check_launch(launch, form, element, sizes, row_counts, plain=False):
    """`launch` takes the number of rows and the bits of what is read, and gives those of c."""
    first, second = sizes
    for rows in row_counts:
        rng = np.random.default_rng(rows)
        shapes = {"a": (rows, first), "x": (rows, second), "g": (second,), "s": (rows,), "t": (),
                  "b": (second, first) if form else (first, second)}
        out = "f32" if plain else element
        kinds = {"a": element, "b": element, "x": out, "g": "f32", "s": "f32",
                 "t": "f32"}
        bits = {name: devices.encode(rng.standard_normal(shape).ravel(), kinds[name])
                for name, shape in shapes.items()}
        values = {name: devices.decode(bits[name], kinds[name]).reshape(shape)
                  for name, shape in shapes.items()}
        mask = rng.integers(0, 2, (rows, second)).astype(np.uint8)
        product = values["a"] @ (values["b"].T if form else values["b"])
        expected = product * values["g"] + values["x"] * (
            values["s"][:, None] ** 2 * values["t"])
        expected = np.where(np.logical_or(mask, plain), expected, 0)
        written = launch(rows, {**bits, "mask": mask.ravel()})
        actual = devices.decode(written, out).reshape(expected.shape)
        error = np.abs(actual - expected).max(initial=0)
        largest = max(np.sqrt(first), np.abs(expected).max(initial=0))
        assert error <= TOLERANCE[out] * largest, (rows, error)


@pytest.mark.sample(chip=family.PRODUCT_CHIPS, element=("bf16", "f16", "f32"), form=FORMS)
def test_ragged(build, runtime, tmp_path, chip, element, form):
    """Also without an instruction (float32 of some chips), and without rows."""
    sizes = (100, 74)
    compiling.compile_to(tmp_path / "k.hsaco", build, text(form, element, sizes), chip)
    check(runtime, chip, tmp_path / "k.hsaco", form, element, sizes, (0, 1, 150))


@pytest.mark.parametrize("chip", ["gfx942", "gfx1201"])
def test_odd(build, runtime, tmp_path, chip):
    """Single elements."""
    sizes = (40, 9)
    compiling.compile_to(tmp_path / "k.hsaco", build, text("", "bf16", sizes), chip)
    check(runtime, chip, tmp_path / "k.hsaco", "", "bf16", sizes, (5, 65))


@pytest.mark.parametrize("form", FORMS, ids=FORMS.values())
def test_ptx(build, form):
    """NVIDIA's kernels of tiles, on the CPU."""
    sizes = (200, 168)
    ptx = compiling.compile_text(build, text(form, "bf16", sizes, plain=True), "sm_90").decode()

    def launch(rows, bits):
        outputs = ptx_machine.launch(ptx, rows, {name: value.tobytes()
                                                 for name, value in bits.items()
                                                 if name != "mask"})
        return np.frombuffer(outputs["c"], np.uint32)

    check_launch(launch, form, "bf16", sizes, (150,), plain=True)


def get_kernels(runtime, chip, file) -> list[str]:
    return [kernel["name"] for kernel in
            devices.Kernel(runtime.open("sim", chip), file).plan["kernels"]]


def list_kernels(build, program, chip) -> list[list[str]]:
    """Those of the forward pass and of the gradient, as the passes make them."""
    forward = compiling.run_passes(build, program.text(), "--canonicalize")
    backward = compiling.differentiate(build, forward, "of=out saved=mean,rstd")
    return [sorted(re.findall(r"gpu\.func @(\w+)", compiling.run_passes(
        build, text, f"--lnbwd-gpu-pipeline=chip={chip}")))
        for text in (forward, backward)]


@pytest.mark.sample("each", chip=("gfx942", "gfx1201"), dtype=("f16", "bf16", "f32"))
def test_what_layer_norm_linear_is_made_of(build, chip, dtype):
    """The bias is an epilogue; dx waits for a row sum of its product."""
    program = linear_programs.build("layer_norm_linear", 96, 100, dtype)
    forward, backward = list_kernels(build, program, chip)
    assert forward == ["f", "f_rows_0"]
    assert [name.removeprefix("f_bwd_") for name in backward] == [
        "matmul_0", "matmul_0_finalize", "matmul_1", "of_100", "of_100_finalize", "of_96",
        "of_96_finalize", "rows_0"]


@pytest.mark.sample("each", chip=("gfx942", "gfx1201"), dtype=("f16", "bf16", "f32"))
def test_layer_norm_linear(build, runtime, tmp_path, chip, dtype):
    """Those kernels beside float64."""
    program = linear_programs.build("layer_norm_linear", 96, 100, dtype)
    check_program(build, runtime, tmp_path, program, chip, (64, 70))
    assert list_kernels(build, program, chip) == [
        sorted(get_kernels(runtime, chip, tmp_path / f"{direction}.hsaco"))
        for direction in ("forward", "backward")]


@pytest.mark.parametrize("chip", family.AMD_CHIPS)
def test_counts(build, tmp_path, chip):
    """A workgroup of dx, of bf16: what test_product_counts.py has of the plain product holds, and
    of device memory the epilogue takes nothing but what it reads and writes."""
    rows, row = f"memref<?x{SIZE}xbf16>", f"vector<{SIZE}xf32>"
    numbers = ", ".join(f"%{name}[m] : memref<?xf32>" for name in ("mean", "rstd", "c1", "c2"))
    text = f"""func.func @f(%dy: {rows}, %w: memref<{SIZE}x{SIZE}xbf16>, %dx: {rows}, %x: {rows},
    %gamma: memref<{SIZE}xf32>, %mean: memref<?xf32>, %rstd: memref<?xf32>, %c1: memref<?xf32>,
    %c2: memref<?xf32>) {{
  lnbwd.rowwise @f domain(m | n0, n1)
      ins(%dy[m, n0] : {rows}, %x[m, n1] : {rows}, %gamma[n1] : memref<{SIZE}xf32>, {numbers},
          %w[n0, n1] : memref<{SIZE}x{SIZE}xbf16>) outs(%dx[m, n1] : {rows}) {{
  ^row(%dyr: vector<{SIZE}xbf16>, %xr: vector<{SIZE}xbf16>, %g: {row}, %m: f32, %r: f32, %k1: f32,
       %k2: f32, %wm: vector<{SIZE}x{SIZE}xbf16>):
    %dz = lnbwd.linear %dyr, %wm transposed : vector<{SIZE}xbf16>, vector<{SIZE}x{SIZE}xbf16>
    %wide = arith.extf %xr : vector<{SIZE}xbf16> to {row}
    %ms = vector.broadcast %m : f32 to {row}
    %rs = vector.broadcast %r : f32 to {row}
    %moved = arith.subf %wide, %ms fastmath<contract> : {row}
    %xhat = arith.mulf %moved, %rs fastmath<contract> : {row}
    %wdy = arith.mulf %dz, %g fastmath<contract> : {row}
    %f1 = arith.mulf %r, %k1 fastmath<contract> : f32
    %f2 = arith.mulf %r, %k2 fastmath<contract> : f32
    %s1 = vector.broadcast %f1 : f32 to {row}
    %s2 = vector.broadcast %f2 : f32 to {row}
    %less = vector.fma %xhat, %s1, %s2 : {row}
    %sum = vector.fma %wdy, %rs, %less : {row}
    %out = arith.truncf %sum : {row} to vector<{SIZE}xbf16>
    lnbwd.yield %out : vector<{SIZE}xbf16>
  }}
  return
}}
"""
    tile = TILE * TILE * 2
    buffers = check_workgroup(build, tmp_path, chip, text, [
        f"in:bf16x{TILE * SIZE}=random:1", f"in:bf16x{SIZE * SIZE}=0.5",
        f"inout:bf16x{TILE * SIZE}=0", f"in:bf16x{TILE * SIZE}=random:2", f"in:f32x{SIZE}=1",
        *[f"in:f32x{TILE}=0.5"] * 4, f"i64={TILE}"])
    assert [buffer["bytes_written"] for buffer in buffers[:4]] == [0, 0, tile, 0]
    # x once; what rows and columns share as often as waves need it.
    assert buffers[2]["bytes_read"] == 0
    assert buffers[3]["bytes_read"] == tile
    assert not find_spills(compiling.compile_text(build, text, chip, form="isa").decode())
