# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operands that lack dimensions: attention's softmax with a mask for each place in a sequence,
norms whose weights are repeated along a row or over rows."""

import subprocess

import numpy as np
import pytest

import compiling
import device as devices

HEADS, T = 3, 5


def source(n: int) -> str:
    """y = exp(z) / the sum of exp(z) over the row, z = slope[t] scale x[b, h, t, s] + mask[t, s]"""
    row, block = f"vector<{n}xf32>", f"memref<?x{HEADS}x?x{n}xf32>"
    body = "\n    ".join([
        "%f = arith.mulf %sl, %sc : f32", f"%fs = vector.broadcast %f : f32 to {row}",
        f"%m = arith.extf %mr : vector<{n}xbf16> to {row}", f"%w = arith.mulf %xr, %fs : {row}",
        f"%z = arith.addf %w, %m : {row}", f"%e = math.exp %z : {row}",
        f"%sum = vector.reduction <add>, %e : {row} into f32",
        f"%sums = vector.broadcast %sum : f32 to {row}", f"%yr = arith.divf %e, %sums : {row}"])
    return f"""func.func @f(%x: {block}, %mask: memref<?x{n}xbf16>, %slope: memref<?xf32>,
    %scale: memref<f32>, %y: {block}) {{
  lnbwd.rowwise @f domain(b, h, t | s)
      ins(%x[b, h, t, s] : {block}, %mask[t, s] : memref<?x{n}xbf16>, %slope[t] : memref<?xf32>,
          %scale[] : memref<f32>)
      outs(%y[b, h, t, s] : {block})
      attributes {{operand_names = ["x", "mask", "slope", "scale", "y"]}} {{
  ^row(%xr: {row}, %mr: vector<{n}xbf16>, %sl: f32, %sc: f32):
    {body}
    lnbwd.yield %yr : {row}
  }}
  return
}}
"""


@pytest.mark.parametrize("chip, n, options", [
    ("gfx942", 512, ""), ("gfx90a", 37, ""), ("gfx950", 1000, "schedule=row_groups=2"),
    ("gfx1100", 516, "schedule=unroll=2,prefetch=1"),
    ("gfx1201", 300, "schedule=prefetch=1,row_groups=4"),
    ("gfx942", 4096, "two-pass=always"), ("gfx942", 2048, "schedule=row_splits=4")])
def test_a_masked_softmax(build, tmp_path, chip, n, options):
    file = tmp_path / "f.hsaco"
    compiling.compile_to(file, build, source(n), chip, options)
    kernel = devices.Kernel(devices.Runtime(build).open("sim", chip), file)
    random = np.random.default_rng(n)
    x, mask = random.standard_normal((2, HEADS, T, n)), random.integers(-3, 1, (T, n))
    slope, scale = random.uniform(0.5, 1, T), np.array([0.5])
    outputs = kernel.launch(2 * HEADS * T, {
        "x": devices.encode(x.ravel(), "f32"), "mask": devices.encode(mask.ravel(), "bf16"),
        "slope": devices.encode(slope, "f32"), "scale": devices.encode(scale, "f32")},
        groups=2 * HEADS)
    e = np.exp(x * slope[:, None] * scale + mask)
    np.testing.assert_allclose(devices.decode(outputs["y"], "f32").reshape(x.shape),
                               e / e.sum(-1, keepdims=True), rtol=3e-5)


def check_against_reference(build, tmp_path, text: str, *arguments: str) -> None:
    (tmp_path / "f.mlir").write_text(text)
    for name, options in (("forward", []), ("gradient", ["--lnbwd-differentiate=wrt=x"])):
        file = tmp_path / f"{name}.hsaco"
        subprocess.run([build / "bin" / "lnbwd-opt", tmp_path / "f.mlir", *options,
                        "--lnbwd-pipeline=chip=gfx942", "--emit=hsaco", "-o", file], check=True)
        result = subprocess.run([build / "bin" / "lnbwd-run", file, "--verify", "--check",
                                 *arguments], check=True, capture_output=True, text=True)
        assert "verdict valid" in result.stdout


def test_the_reference_and_the_gradient(build, tmp_path):
    check_against_reference(build, tmp_path, source(512), "--m=30", "--groups=6")


class Domain:
    """A domain with the sizes of its dimensions and operands that have some of them. A dimension
    whose name is a capital letter is dynamic in the program."""

    def __init__(self, rows: str, columns: str, operands: list[str], **sizes: int):
        self.rows, self.columns, self.operands, self.sizes = rows, columns, operands, sizes

    def length(self, dims: str) -> int:
        return int(np.prod([self.sizes[dim.lower()] for dim in dims], dtype=int))

    def type(self, dims: str) -> str:
        shape = "".join("?x" if dim.isupper() else f"{self.sizes[dim]}x" for dim in dims)
        return f"memref<{shape}f32>"

    def source(self) -> str:
        """y = (x - its row's mean) times each operand in turn, plus it"""
        every, n = self.rows + self.columns, self.length(self.columns)
        row = f"vector<{n}xf32>"
        names = [f"p{i}" for i in range(len(self.operands))]

        def use(name: str, dims: str) -> str:
            return f"%{name}[{', '.join(dims.lower())}] : {self.type(dims)}"
        inputs = sorted(zip(names, self.operands, strict=True),
                        key=lambda pair: self.order(pair[1]))
        arguments, body, value = [f"%xr: {row}"], [], "%c"
        for name, dims in inputs:
            is_scalar = not set(dims) & set(self.columns)
            arguments.append(f"%{name}r: {'f32' if is_scalar else row}")
            vector = f"%{name}r"
            if is_scalar:
                body.append(f"%{name}v = vector.broadcast %{name}r : f32 to {row}")
                vector = f"%{name}v"
            body += [f"%{name}m = arith.mulf {value}, {vector} : {row}",
                     f"%{name}a = arith.addf %{name}m, {vector} : {row}"]
            value = f"%{name}a"
        mean = [f"%s = vector.reduction <add>, %xr : {row} into f32",
                f"%n = arith.constant {1 / n:.9e} : f32", "%mean = arith.mulf %s, %n : f32",
                f"%mv = vector.broadcast %mean : f32 to {row}", f"%c = arith.subf %xr, %mv : {row}"]
        text = "\n    ".join(mean + body)
        block = self.type(every)
        quoted = ", ".join(f'"{name}"' for name in ["x", *(name for name, _ in inputs), "y"])
        parameters = "".join(f"%{name}: {self.type(dims)}, " for name, dims in inputs)
        return f"""func.func @f(%x: {block}, {parameters}%y: {block}) {{
  lnbwd.rowwise @f domain({', '.join(self.rows.lower())} | {', '.join(self.columns)})
      ins({', '.join([use('x', every), *(use(*pair) for pair in inputs)])})
      outs({use('y', every)}) attributes {{operand_names = [{quoted}]}} {{
  ^row({', '.join(arguments)}):
    {text}
    lnbwd.yield {value} : {row}
  }}
  return
}}
"""

    def order(self, dims: str) -> int:
        """Row blocks, columns, group columns, row scalars."""
        if not set(dims) & set(self.columns):
            return 3
        rows = [dim for dim in dims if dim in self.rows]
        if not rows:
            return 1
        return 2 if self.rows.startswith("".join(rows)) and len(rows) < len(self.rows) else 0

    def spread(self, array: np.ndarray, dims: str) -> np.ndarray:
        every = self.rows + self.columns
        return array.reshape([self.sizes[dim.lower()] if dim in dims else 1 for dim in every])

    def evaluate(self, x: np.ndarray, operands: list[np.ndarray]) -> np.ndarray:
        x = self.spread(x, self.rows + self.columns)
        axes = tuple(range(len(self.rows), x.ndim))
        y = x - x.mean(axis=axes, keepdims=True)
        order = sorted(range(len(operands)), key=lambda i: self.order(self.operands[i]))
        for i in order:
            operand = self.spread(operands[i], self.operands[i])
            y = y * operand + operand
        return y


# Weights of channels and of groups of them; of places in a row; tables of places in a sequence,
# numbers of heads; what a sample has for each channel, and its number; group means.
GROUP_NORM = {"rows": "Bg", "columns": "cs", "operands": ["gc", "c", "Bgc"], "b": 5, "g": 3}
IMAGE = {"rows": "M", "columns": "chw", "operands": ["c", "hw", "cw", "Mc"], "m": 70, "c": 6}
HEAD_NORM = {"rows": "Bth", "columns": "d", "operands": ["td", "th", "h", "t"], "b": 3, "t": 7}
# UNIT has a row dimension of one, which is no index.
UNIT = {"rows": "Bgh", "columns": "cs", "operands": ["gcs", "hcs"], "b": 5, "c": 4, "s": 64}
MASK = {"rows": "bht", "columns": "s", "operands": ["bts", "bt"], "b": 2, "h": 3, "t": 5}
SAMPLE = {"rows": "BT", "columns": "cs", "operands": ["Bc", "B", "T", "Ts", "c"], "b": 3, "t": 11}


@pytest.mark.parametrize("chip, domain, options", [
    ("gfx942", {**GROUP_NORM, "c": 4, "s": 49}, ""),
    ("gfx1100", {**GROUP_NORM, "c": 4, "s": 64}, ""),
    ("gfx90a", {**GROUP_NORM, "c": 3, "s": 2}, "schedule=prefetch=1,row_groups=2"),
    ("gfx950", {**GROUP_NORM, "c": 8, "s": 512}, "two-pass=always"),
    ("gfx942", {**IMAGE, "h": 4, "w": 8}, "schedule=prefetch=1"),
    ("gfx1201", {**IMAGE, "h": 3, "w": 5}, "schedule=unroll=2"),
    ("gfx950", {**IMAGE, "h": 8, "w": 12}, "schedule=row_groups=4,prefetch=1"),
    ("gfx942", {**IMAGE, "h": 16, "w": 32}, "schedule=row_splits=4"),
    ("gfx942", {**HEAD_NORM, "h": 4, "d": 64}, "schedule=prefetch=1"),
    ("gfx1100", {**HEAD_NORM, "h": 3, "d": 37}, ""),
    ("gfx90a", {**HEAD_NORM, "h": 2, "d": 128}, "schedule=row_groups=4"),
    ("gfx942", {**SAMPLE, "c": 4, "s": 24}, "schedule=prefetch=1"),
    ("gfx1201", {**SAMPLE, "c": 5, "s": 7}, ""),
    ("gfx942", {**UNIT, "g": 1, "h": 3}, "schedule=prefetch=1"),
    ("gfx1100", {**UNIT, "g": 2, "h": 1}, "")])
def test_operands_that_lack_dimensions(build, tmp_path, chip, domain, options):
    domain = Domain(**domain)
    file = tmp_path / "f.hsaco"
    compiling.compile_to(file, build, domain.source(), chip, options)
    kernel = devices.Kernel(devices.Runtime(build).open("sim", chip), file)
    random = np.random.default_rng(1)
    every = domain.rows + domain.columns
    arrays = [random.standard_normal(domain.length(dims)) for dims in [every, *domain.operands]]
    inputs = {name: devices.encode(array, "f32")
              for name, array in zip(["x", *(f"p{i}" for i in range(len(domain.operands)))], arrays,
                                     strict=True)}
    groups = {"groups": domain.sizes["b"]} if domain.operands is SAMPLE["operands"] else {}
    outputs = kernel.launch(domain.length(domain.rows), inputs, **groups)
    y = domain.evaluate(arrays[0], arrays[1:])
    np.testing.assert_allclose(devices.decode(outputs["y"], "f32").reshape(y.shape), y,
                               rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("domain", [
    {**GROUP_NORM, "c": 4, "s": 20}, {**HEAD_NORM, "h": 4, "d": 64}, {**MASK, "s": 40}])
def test_the_reference_of_operands_that_lack_dimensions(build, tmp_path, domain):
    domain = Domain(**domain)
    check_against_reference(build, tmp_path, domain.source(), f"--m={domain.length(domain.rows)}")


SCALED = """func.func @f(%x: memref<?x3x4x20xf32>, %w: memref<3x4xf32>, %h: memref<3xf32>,
    %y: memref<?x3x4x20xf32>) {
  lnbwd.rowwise @f domain(b, g | c, s)
      ins(%x[b, g, c, s] : memref<?x3x4x20xf32>, %w[g, c] : memref<3x4xf32>, %h[g] : memref<3xf32>)
      outs(%y[b, g, c, s] : memref<?x3x4x20xf32>)
      attributes {operand_names = ["x", "w", "h", "y"]} {
  ^row(%xr: vector<80xf32>, %wr: vector<80xf32>, %hr: f32):
    %s = vector.reduction <add>, %xr : vector<80xf32> into f32
    %n = arith.constant 0.0125 : f32
    %mean = arith.mulf %s, %n : f32
    %mv = vector.broadcast %mean : f32 to vector<80xf32>
    %c = arith.subf %xr, %mv : vector<80xf32>
    %hv = vector.broadcast %hr : f32 to vector<80xf32>
    %m = arith.mulf %c, %wr : vector<80xf32>
    %a = arith.mulf %m, %hv : vector<80xf32>
    lnbwd.yield %a : vector<80xf32>
  }
  return
}
"""


@pytest.mark.parametrize("chip", ["gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201"])
def test_the_gradients_of_some_dimensions(build, tmp_path, chip):
    (tmp_path / "f.mlir").write_text(SCALED)
    file = tmp_path / "f.hsaco"
    subprocess.run([build / "bin" / "lnbwd-opt", tmp_path / "f.mlir", "--lnbwd-differentiate",
                    f"--lnbwd-pipeline=chip={chip}", "--emit=hsaco", "-o", file], check=True)
    result = subprocess.run([build / "bin" / "lnbwd-run", file, "--verify", "--check", "--m=15"],
                            check=True, capture_output=True, text=True)
    assert "verdict valid" in result.stdout
    result = subprocess.run([build / "bin" / "lnbwd-run", file, "--m=16"],
                            check=False, capture_output=True, text=True)
    assert result.returncode == 2
    assert "expected a multiple of 3, so that all row dimensions are whole, got 16" in result.stderr
