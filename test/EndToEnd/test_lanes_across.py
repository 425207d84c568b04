# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lanes that go across rows whose elements lie side by side: batch norms of channels-last images,
with a row for each channel."""


import numpy as np
import pytest

import compiling
import device as devices
import ptx_machine


def source(is_gradient: bool, channels: int, length: int, element: str) -> str:
    """The forward pass gives y, the mean and the variance; the gradient takes x, its mean and rstd,
    and gives dx, dgamma and dbeta."""
    row, block = f"vector<{length}xf32>", f"memref<{length}x{channels}x{element}>"
    number = f"memref<{channels}xf32>"

    def load(name: str) -> list[str]:
        if element == "f32":
            return [f"%{name}w = arith.addf %{name}r, %zeros : {row}"]
        return [f"%{name}w = arith.extf %{name}r : vector<{length}x{element}> to {row}"]

    def spread(name: str) -> str:
        return f"%{name}v = vector.broadcast %{name} : f32 to {row}"

    def mean(name: str, rows: str) -> list[str]:
        return [f"%{name}s = vector.reduction <add>, %{rows} : {row} into f32",
                f"%{name} = arith.mulf %{name}s, %part : f32", spread(name)]
    body = [f"%part = arith.constant {1 / length:.9e} : f32",
            f"%zeros = arith.constant dense<-0.0> : {row}"]
    if is_gradient:
        rows, scalars = ["dy", "x"], ["mean", "rstd", "gamma"]
        outputs = ["dgamma", "dbeta"]
        body += [*load("dy"), *load("x"), *map(spread, scalars),
                 f"%xc = arith.subf %xw, %meanv : {row}", f"%xh = arith.mulf %xc, %rstdv : {row}",
                 f"%dyx = arith.mulf %dyw, %xh : {row}", *mean("a", "dyw"), *mean("b", "dyx"),
                 f"%t = arith.mulf %xh, %bv : {row}", f"%u = arith.subf %dyw, %av : {row}",
                 f"%d = arith.subf %u, %t : {row}", f"%e = arith.mulf %d, %rstdv : {row}",
                 f"%z = arith.mulf %e, %gammav : {row}"]
        results = ["%z", "%bs", "%as"]
    else:
        rows, scalars = ["x"], ["gamma", "beta"]
        outputs = ["mean", "variance"]
        body += [*load("x"), *map(spread, scalars), *mean("m", "xw"),
                 f"%xc = arith.subf %xw, %mv : {row}", f"%q = arith.mulf %xc, %xc : {row}",
                 *mean("var", "q"), "%eps = arith.constant 1.0e-05 : f32",
                 "%vare = arith.addf %var, %eps : f32", "%rstd = math.rsqrt %vare : f32",
                 spread("rstd"), f"%xh = arith.mulf %xc, %rstdv : {row}",
                 f"%xg = arith.mulf %xh, %gammav : {row}", f"%z = arith.addf %xg, %betav : {row}"]
        results = ["%z", "%m", "%var"]
    if element != "f32":
        body.append(f"%zn = arith.truncf %z : {row} to vector<{length}x{element}>")
        results[0] = "%zn"
    operands = [*rows, *scalars, "y", *outputs]
    types = {name: block if name in (*rows, "y") else number for name in operands}

    def uses(names: list[str]) -> str:
        return ", ".join(f"%{name}[{'m, c' if types[name] == block else 'c'}] : {types[name]}"
                         for name in names)
    quoted = ", ".join(f'"{name}"' for name in operands)
    text = "\n    ".join(body)
    parameters = ", ".join([
        *(f"%{name}r: vector<{length}x{element}>" for name in rows),
        *(f"%{name}: f32" for name in scalars)])
    return f"""func.func @f({', '.join(f'%{name}: {types[name]}' for name in operands)}) {{
  lnbwd.rowwise @f domain(c | m) ins({uses([*rows, *scalars])})
      outs({uses(['y', *outputs])}) attributes {{operand_names = [{quoted}]}} {{
  ^row({parameters}):
    {text}
    lnbwd.yield {', '.join(results)} : vector<{length}x{element}>, f32, f32
  }}
  return
}}
"""


class Norm:
    """A batch norm with its inputs, each an array."""

    def __init__(self, is_gradient: bool, channels: int, length: int, element: str):
        random = np.random.default_rng(channels)
        self.text = source(is_gradient, channels, length, element)
        self.element, self.is_gradient = element, is_gradient
        self.shape = length, channels
        names = ["mean", "rstd", "gamma"] if is_gradient else ["gamma", "beta"]
        self.values = {name: np.float32(random.uniform(0.5, 1.5, channels)) for name in names}
        for name in ("dy", "x") if is_gradient else ("x",):
            self.values[name] = devices.decode(devices.encode(
                np.float32(random.standard_normal(self.shape)).ravel(), element),
                element).reshape(self.shape)

    def type_of(self, name: str) -> str:
        return self.element if name in ("x", "dy", "y") else "f32"

    def inputs(self) -> dict[str, np.ndarray]:
        return {name: devices.encode(value.ravel(), self.type_of(name))
                for name, value in self.values.items()}

    def expected(self) -> dict[str, np.ndarray]:
        values = {name: value.astype(float) for name, value in self.values.items()}
        if self.is_gradient:
            dy, xhat = values["dy"], (values["x"] - values["mean"]) * values["rstd"]
            return {"dgamma": (dy * xhat).sum(0), "dbeta": dy.sum(0),
                    "y": values["gamma"] * values["rstd"] * (
                        dy - dy.mean(0) - xhat * (dy * xhat).mean(0))}
        mean, variance = values["x"].mean(0), values["x"].var(0)
        return {"mean": mean, "variance": variance, "y": (
            values["x"] - mean) / np.sqrt(variance + 1e-5) * values["gamma"] + values["beta"]}

    def check(self, outputs: dict[str, np.ndarray]) -> None:
        for name, expected in self.expected().items():
            element = self.type_of(name)
            value = devices.decode(outputs[name], element).reshape(expected.shape)
            tolerance = 1e-2 if element == "bf16" else 2e-5 * self.shape[0] ** 0.5
            np.testing.assert_allclose(value, expected, rtol=tolerance, atol=tolerance)



# Fewer rows in a tile than a wave has lanes, as many, and more; the last tile has rows that are
# none, the last access of a lane columns that are none; several tiles one after another.
SCHEDULES = [
    "threads_per_row=32,row_groups=16", "threads_per_row=2,row_groups=8",
    "threads_per_row=8,row_groups=64", "threads_per_row=64,row_groups=8,rows_per_workgroup=16",
    "threads_per_row=16,row_groups=16,prefetch=1,rows_per_workgroup=64,workgroups_per_compute_unit=1",
    "threads_per_row=8,row_groups=32,reload=1,prefetch=0"]


@pytest.mark.parametrize("chip", ["gfx942", "gfx1100"])
@pytest.mark.parametrize("element", ["f32", "bf16"])
@pytest.mark.parametrize("is_gradient", [False, True])
@pytest.mark.parametrize("number, schedule", list(enumerate(SCHEDULES)))
def test_batch_norms(build, tmp_path, chip, element, is_gradient, number, schedule):
    norm = Norm(is_gradient, [33, 17, 65, 24, 129, 48][number], [100, 37, 64, 777, 96, 200][number],
                element)
    file = tmp_path / "f.hsaco"
    compiling.compile_to(file, build, norm.text, chip,
                         f"schedule=lanes_across=1,vector_width=1,{schedule}")
    kernel = devices.Kernel(devices.Runtime(build).open("sim", chip), file)
    norm.check(kernel.launch(norm.shape[1], norm.inputs()))


# Workgroups of one wave, of several, and of rows that each have lanes in one wave alone.
@pytest.mark.parametrize("element, channels, length, schedule", [
    ("f32", 17, 333, "threads_per_row=16,row_groups=8,workgroups_per_row=4"),
    ("bf16", 48, 200, "threads_per_row=2,row_groups=16,workgroups_per_row=2"),
    ("bf16", 65, 150, "threads_per_row=4,row_groups=64,workgroups_per_row=2,prefetch=1"),
    ("f32", 24, 100, "threads_per_row=32,row_groups=8,workgroups_per_row=1")])
@pytest.mark.parametrize("is_gradient", [False, True])
def test_clusters(build, element, channels, length, schedule, is_gradient):
    norm = Norm(is_gradient, channels, length, element)
    text = compiling.compile_text(
        build, norm.text, "sm_90",
        f"schedule=lanes_across=1,vector_width=1,stages=0,{schedule}", "ptx")
    inputs = {name: bits.tobytes() for name, bits in norm.inputs().items()}
    outputs = ptx_machine.launch(text.decode(), channels, inputs)
    norm.check({name: np.frombuffer(value, np.uint16 if norm.type_of(name) == "bf16" else np.uint32)
                for name, value in outputs.items()})


@pytest.mark.parametrize("chip", ["gfx942", "gfx1100", "sm_90"])
@pytest.mark.parametrize("element", ["f32", "bf16"])
def test_are_chosen(build, chip, element):
    norm = Norm(True, 768, 1568, element)
    text = compiling.run_passes(build, norm.text, f"--lnbwd-set-chip=chip={chip}",
                                "--lnbwd-lower-to-rowwise", "--lnbwd-select-schedule")
    assert "lanes_across = true" in text
