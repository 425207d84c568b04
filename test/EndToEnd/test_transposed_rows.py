# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Row blocks that lie across, the elements of neighbouring rows side by side, beside others that
lie along the rows: the former are transposed in shared memory."""

import numpy as np
import pytest

import compiling
import device as devices
import ptx_machine

# Of images with so many pixels each the pixels are rows. A mask of bytes is transposed as well.
TYPES = {"x": "across", "mask": "across", "y": "along", "z": "across", "w": "along"}


def source(images: int, pixels: int, length: int, element: str, has_row_sums: bool,
           has_mask: bool) -> str:
    """z = x - the row's mean of t, where t = (mask ? x : 0) + y, or 2 x; w = t; the column sums of
    t and of t x."""
    def use(name: str) -> str:
        width = "i8" if name == "mask" else element
        if TYPES[name] == "across":
            return f"%{name}[b, n, m] : memref<{images}x{length}x{pixels}x{width}>"
        return f"%{name}[b, m, n] : memref<{images}x{pixels}x{length}x{width}>"
    row = f"vector<{length}xf32>"
    narrow = f"vector<{length}x{element}>"

    def widen(name: str) -> str:
        if element == "f32":
            return f"%{name}w = arith.addf %{name}r, %zeros : {row}"
        return f"%{name}w = arith.extf %{name}r : {narrow} to {row}"

    def shrink(name: str) -> str:
        if element == "f32":
            return f"%{name}o = arith.subf %{name}, %zeros : {row}"
        return f"%{name}o = arith.truncf %{name} : {row} to {narrow}"
    mean = [f"%s = vector.reduction <add>, %t : {row} into f32",
            f"%part = arith.constant {1 / length:.9e} : f32", "%mean = arith.mulf %s, %part : f32",
            f"%means = vector.broadcast %mean : f32 to {row}",
            f"%z = arith.subf %xw, %means : {row}"]
    masked = [f"%none = arith.constant dense<0> : vector<{length}xi8>",
              f"%is = arith.cmpi ne, %maskr, %none : vector<{length}xi8>",
              f"%kept = arith.select %is, %xw, %zeros : vector<{length}xi1>, {row}",
              f"%t = arith.addf %kept, %yw : {row}"]
    body = [f"%zeros = arith.constant dense<0.0> : {row}", widen("x"), widen("y"),
            *(masked if has_mask else [f"%t = arith.addf %xw, %yw : {row}"]),
            *(mean if has_row_sums else [f"%z = arith.addf %xw, %xw : {row}"]),
            f"%p = arith.mulf %t, %xw : {row}", shrink("z"),
            shrink("t")]
    sums = ", ".join(f"%{name}[n] add : memref<{length}xf32>" for name in ("sum", "product"))
    text = "\n    ".join(body)
    inputs = ["x", "mask", "y"] if has_mask else ["x", "y"]
    operands = [*inputs, "z", "w"]
    types = [f"vector<{length}x{'i8' if name == 'mask' else element}>" for name in inputs]
    parameters = ", ".join(f"%{name}: {use(name).split(' : ')[1]}" for name in operands)
    names = ", ".join(f'"{name}"' for name in [*operands, "sum", "product"])
    return f"""func.func @f({parameters}, %sum: memref<{length}xf32>,
                         %product: memref<{length}xf32>) {{
  lnbwd.rowwise @f domain(b, m | n) ins({', '.join(map(use, inputs))})
      outs({use('z')}, {use('w')}, {sums}) attributes {{operand_names = [{names}]}} {{
  ^row({', '.join(f'%{name}r: {kind}' for name, kind in zip(inputs, types, strict=True))}):
    {text}
    lnbwd.yield %zo, %to, %t, %p : {narrow}, {narrow}, {row}, {row}
  }}
  return
}}
"""


class Images:
    """Images with their inputs, each an array."""

    def __init__(self, images: int, pixels: int, length: int, element: str,
                 has_row_sums: bool = True, has_mask: bool = True):
        random = np.random.default_rng(length)
        self.text = source(images, pixels, length, element, has_row_sums, has_mask)
        self.element, self.has_row_sums, self.rows = element, has_row_sums, images * pixels
        across, along = (images, length, pixels), (images, pixels, length)
        self.values = {name: devices.decode(devices.encode(
            np.float32(random.standard_normal(shape)).ravel(), element), element).reshape(shape)
            for name, shape in (("x", across), ("y", along))}
        self.mask = random.integers(0 if has_mask else 1, 2, across).astype(np.uint8)
        self.has_mask = has_mask

    def inputs(self) -> dict[str, np.ndarray]:
        inputs = {name: devices.encode(value.ravel(), self.element)
                  for name, value in self.values.items()}
        return {"mask": self.mask.ravel(), **inputs} if self.has_mask else inputs

    def check(self, outputs: dict[str, np.ndarray]) -> None:
        x, y = self.values["x"].astype(float), self.values["y"].astype(float)
        t = np.where(self.mask, x, 0) + y.transpose(0, 2, 1)
        z = x - t.mean(1, keepdims=True) if self.has_row_sums else 2 * x
        for name, expected in (("z", z), ("w", t.transpose(0, 2, 1)), ("sum", t.sum((0, 2))),
                               ("product", (t * x).sum((0, 2)))):
            element = "f32" if name in ("sum", "product") else self.element
            value = devices.decode(outputs[name], element).reshape(expected.shape)
            tolerance = 1e-4 if element == "f32" else 1e-2
            np.testing.assert_allclose(value, expected, rtol=tolerance, atol=tolerance,
                                       err_msg=name)


# Fewer lanes of a row than a wave has, as many, and more; pieces of rows that tiles cut; tiles with
# rows, and accesses with columns, that are none; rows that are loaded ahead, and several at once.
CASES = [
    (3, 49, 40, "f32", "threads_per_row=16,row_groups=8,vector_width=4"),
    (2, 49, 96, "bf16", "threads_per_row=16,row_groups=32,vector_width=8,rows_per_workgroup=32"),
    (3, 64, 333, "f32", "threads_per_row=32,row_groups=8,vector_width=1,prefetch=1,"
                        "rows_per_workgroup=16,workgroups_per_compute_unit=1"),
    (3, 49, 1024, "f32", "threads_per_row=64,row_groups=8,vector_width=4,prefetch=1,unroll=2,"
                         "rows_per_workgroup=16,workgroups_per_compute_unit=1"),
    (1, 100, 72, "f16", "threads_per_row=16,row_groups=16,vector_width=8,rows_per_workgroup=16")]


@pytest.mark.parametrize("chip", ["gfx942", "gfx1201"])
@pytest.mark.parametrize("images, pixels, length, element, schedule", CASES)
def test_row_sums(build, tmp_path, chip, images, pixels, length, element, schedule):
    program = Images(images, pixels, length, element)
    file = tmp_path / "f.hsaco"
    compiling.compile_to(file, build, program.text, chip, f"schedule=lanes_across=0,{schedule}")
    kernel = devices.Kernel(devices.Runtime(build).open("sim", chip), file)
    program.check(kernel.launch(program.rows, program.inputs()))


# Whole rows, tiles of columns, and several tiles of rows that are loaded at once.
@pytest.mark.parametrize("chip", ["gfx942", "gfx1201"])
@pytest.mark.parametrize("element", ["f32", "bf16"])
@pytest.mark.parametrize("length, schedule", [
    (40, "threads_per_row=16,row_groups=16,vector_width=4,rows_per_workgroup=16"),
    (200, "threads_per_row=16,row_groups=32,vector_width=2,column_tile=32,unroll=2,"
          "rows_per_workgroup=64,workgroups_per_compute_unit=1")])
def test_column_sums(build, tmp_path, chip, element, length, schedule):
    program = Images(3, 49, length, element, has_row_sums=False)
    file = tmp_path / "f.hsaco"
    compiling.compile_to(file, build, program.text, chip, f"schedule={schedule}")
    kernel = devices.Kernel(devices.Runtime(build).open("sim", chip), file)
    program.check(kernel.launch(program.rows, program.inputs()))


@pytest.mark.parametrize("images, pixels, length, element, schedule", [
    *CASES, (2, 49, 512, "f32", "threads_per_row=32,row_groups=8,vector_width=4,"
                                "workgroups_per_row=2"),
    (2, 48, 256, "bf16", "threads_per_row=32,row_groups=16,vector_width=8,stages=2,prefetch=1,"
                         "rows_per_workgroup=32,workgroups_per_compute_unit=1")])
def test_on_nvidia(build, images, pixels, length, element, schedule):
    program = Images(images, pixels, length, element, has_mask=False)
    stages = "" if "stages" in schedule else "stages=0,"
    text = compiling.compile_text(build, program.text, "sm_90",
                                  f"schedule=lanes_across=0,{stages}{schedule}", "ptx")
    outputs = ptx_machine.launch(text.decode(), program.rows,
                                 {name: bits.tobytes() for name, bits in program.inputs().items()})
    wide = {"sum", "product"} if element != "f32" else outputs
    program.check({name: np.frombuffer(value, np.uint32 if name in wide else np.uint16)
                   for name, value in outputs.items()})


# A sector of neighbours, at least.
@pytest.mark.parametrize("chip", ["gfx942", "sm_90"])
@pytest.mark.parametrize("element, least", [("f32", 32), ("bf16", 16)])
def test_are_chosen(build, chip, element, least):
    program = Images(32, 196, 384, element, has_row_sums=False)
    text = compiling.run_passes(build, program.text, f"--lnbwd-set-chip=chip={chip}",
                                "--lnbwd-lower-to-rowwise", "--lnbwd-select-schedule")
    assert int(text.split("row_groups = ")[1].split(",")[0]) >= least
