# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Group columns and group sums: adaptive LayerNorm and its derived gradient, beside float64."""

import subprocess

import numpy as np
import pytest

import chips
import compiling
import device as devices

GROUPS = (1, 2, 5)
GROUP_ROWS = (1, 3, 7, 64)
UNIT = {"f32": 2.0 ** -24, "bf16": 2.0 ** -8}


def source(n: int, dtype: str, rows: str = "?", groups: str = "?") -> str:
    """y = xhat * (1 + scale[b]) + shift[b]; x, y of dtype, the rest f32."""
    wide, narrow = f"vector<{n}xf32>", f"vector<{n}x{dtype}>"
    per_group = "?" if "?" in (rows, groups) else str(int(rows) // int(groups))
    block, column = f"memref<{groups}x{per_group}x{n}x{dtype}>", f"memref<{groups}x{n}xf32>"
    scalar = f"memref<{groups}x{per_group}xf32>"
    widen = [] if dtype == "f32" else [f"%xw = arith.extf %xr : {narrow} to {wide}"]
    narrowed = [] if dtype == "f32" else [f"%yn = arith.truncf %yr : {wide} to {narrow}"]
    x, y = ("%xr", "%yr") if dtype == "f32" else ("%xw", "%yn")
    body = "\n    ".join([
        *widen, f"%n = arith.constant {n}.0 : f32", "%eps = arith.constant 1.0e-6 : f32",
        f"%one = arith.constant dense<1.0> : {wide}",
        f"%sum = vector.reduction <add>, {x} : {wide} into f32",
        "%m = arith.divf %sum, %n : f32", f"%mv = vector.broadcast %m : f32 to {wide}",
        f"%centred = arith.subf {x}, %mv : {wide}",
        f"%squares = arith.mulf %centred, %centred : {wide}",
        f"%total = vector.reduction <add>, %squares : {wide} into f32",
        "%variance = arith.divf %total, %n : f32", "%positive = arith.addf %variance, %eps : f32",
        "%r = math.rsqrt %positive : f32", f"%rv = vector.broadcast %r : f32 to {wide}",
        f"%xhat = arith.mulf %centred, %rv : {wide}", f"%factor = arith.addf %s, %one : {wide}",
        f"%yr = vector.fma %xhat, %factor, %t : {wide}", *narrowed])
    return f"""func.func @f(%x: {block}, %scale: {column}, %shift: {column}, %y: {block},
    %mean: {scalar}, %rstd: {scalar}) {{
  lnbwd.rowwise @f domain(m0, m1 | n)
      ins(%x[m0, m1, n] : {block}, %scale[m0, n] : {column}, %shift[m0, n] : {column})
      outs(%y[m0, m1, n] : {block}, %mean[m0, m1] : {scalar}, %rstd[m0, m1] : {scalar})
      attributes {{operand_names = ["x", "scale", "shift", "y", "mean", "rstd"]}} {{
  ^row(%xr: {narrow}, %s: {wide}, %t: {wide}):
    {body}
    lnbwd.yield {y}, %m, %r : {narrow}, f32, f32
  }}
  return
}}
"""


@pytest.fixture(scope="session")
def runtime(build):
    return devices.Runtime(build)


def compile_pair(build, tmp_path, chip, n, dtype, options="", **sizes):
    """The forward pass and the gradient, as files."""
    form = "hsaco" if chip.startswith("gfx") else "ptx"
    files = tmp_path / f"f.{form}", tmp_path / f"f_bwd.{form}"
    text = source(n, dtype, **sizes)
    gradient = compiling.differentiate(build, text, "saved=mean,rstd")
    for kernel, file in zip((text, gradient), files, strict=True):
        compiling.compile_to(file, build, kernel, chip, options)
    return files


def check_pair(runtime, chip, files, n, dtype, groups, group_rows):
    """Runs both, twice each, and compares everything with float64."""
    rows = groups * group_rows
    random = np.random.default_rng(n + rows)

    def values(*shape):
        return random.standard_normal(shape).astype(np.float32)

    def rounded(array):
        return devices.decode(devices.encode(array.ravel(), dtype), dtype).reshape(array.shape)

    x, dy = rounded(values(rows, n)), rounded(values(rows, n))
    scale, shift = (0.5 * values(groups, n).astype(np.float64) for _ in range(2))
    mean = x.mean(1, keepdims=True)
    rstd = 1 / np.sqrt(((x - mean) ** 2).mean(1, keepdims=True) + 1e-6)
    xhat = (x - mean) * rstd
    factor = np.repeat(1 + scale, group_rows, 0)
    inner = dy * factor
    expected = {
        "y": xhat * factor + np.repeat(shift, group_rows, 0), "mean": mean, "rstd": rstd,
        "dx": rstd * (inner - inner.mean(1, keepdims=True)
                      - xhat * (inner * xhat).mean(1, keepdims=True)),
        "dscale": (dy * xhat).reshape(groups, group_rows, n).sum(1),
        "dshift": dy.reshape(groups, group_rows, n).sum(1)}
    # Each is a sum of at most `terms` float32 roundings of terms of the size of its largest.
    terms = {"y": 8, "mean": 16, "rstd": 16, "dx": 24, "dscale": 8 + group_rows,
             "dshift": group_rows}
    inputs = {"x": devices.encode(x.ravel(), dtype), "dy": devices.encode(dy.ravel(), dtype),
              "scale": devices.encode(scale.ravel(), "f32"),
              "shift": devices.encode(shift.ravel(), "f32")}
    device = runtime.open("sim", chip)
    for file in files:
        outputs = devices.Kernel(device, file).launch(rows, inputs, groups=groups)
        inputs.update(outputs)
        for name, bits in outputs.items():
            element = dtype if name in ("y", "dx") else "f32"
            actual = devices.decode(bits, element).reshape(expected[name].shape)
            bound = max(1.0, np.abs(expected[name]).max(initial=0.0))
            allowed = terms[name] * bound * UNIT["f32"] * np.log2(n + 2)
            if element != "f32":
                allowed += bound * UNIT[element]
            error = np.abs(actual - expected[name]).max(initial=0.0)
            assert error <= allowed, (name, groups, group_rows, error, allowed)


@pytest.mark.sample("each", chip=("gfx942", "gfx1100"), groups=GROUPS, group_rows=GROUP_ROWS,
                    row=((37, "f32"), (90, "bf16"), (512, "bf16"), (1000, "f32"), (4096, "bf16")))
def test_shapes(build, runtime, tmp_path, chip, groups, group_rows, row):
    files = compile_pair(build, tmp_path, chip, *row)
    check_pair(runtime, chip, files, *row, groups, group_rows)


@pytest.mark.parametrize("rows,groups", [(0, 3), (0, 0), (0, 1)])
def test_no_rows(build, runtime, tmp_path, rows, groups):
    """Sums of no rows are 0; of no groups, there are none."""
    files = compile_pair(build, tmp_path, "gfx942", 64, "f32")
    check_pair(runtime, "gfx942", files, 64, "f32", groups, 0 if groups == 0 else rows // groups)


@pytest.mark.parametrize("groups,group_rows", [(2, 7), (5, 1), (4, 64)])
def test_static_sizes(build, runtime, tmp_path, groups, group_rows):
    files = compile_pair(build, tmp_path, "gfx942", 200, "f32", rows=str(groups * group_rows),
                         groups=str(groups))
    check_pair(runtime, "gfx942", files, 200, "f32", groups, group_rows)


@pytest.mark.parametrize("schedule", [
    "prefetch=0", "prefetch=1,unroll=1", "prefetch=1,unroll=2", "row_groups=1", "row_groups=4",
    "threads_per_row=128,row_groups=2", "rows_per_workgroup=0", "vector_width=1,row_groups=8"])
def test_schedules(build, runtime, tmp_path, schedule):
    """Whatever walks over the rows ends with the group."""
    files = compile_pair(build, tmp_path, "gfx942", 256, "f32", f"schedule={schedule}")
    for groups, group_rows in ((3, 1), (3, 7), (2, 37)):
        check_pair(runtime, "gfx942", files, 256, "f32", groups, group_rows)


def test_two_passes(build, runtime, tmp_path):
    files = compile_pair(build, tmp_path, "gfx942", 128, "f32", "two-pass=always")
    for groups, group_rows in ((3, 1), (3, 7), (2, 37)):
        check_pair(runtime, "gfx942", files, 128, "f32", groups, group_rows)


def sums(n: int, attributes: str = "") -> str:
    """A column sum over all rows, and group sums of the same rows times a column of the group."""
    column, group = f"memref<{n}xf32>", f"memref<?x{n}xf32>"
    block = f"memref<?x?x{n}xf32>"
    return f"""func.func @f(%x: {block}, %s: {group}, %c: {column}, %g: {group}, %h: {group}) {{
  lnbwd.rowwise @f domain(m0, m1 | n) ins(%x[m0, m1, n] : {block}, %s[m0, n] : {group})
      outs(%c[n] add : {column}, %g[m0, n] add : {group}, %h[m0, n] add : {group})
      attributes {{operand_names = ["x", "s", "c", "g", "h"]{attributes}}} {{
  ^row(%xr: vector<{n}xf32>, %sr: vector<{n}xf32>):
    %p = arith.mulf %xr, %sr : vector<{n}xf32>
    lnbwd.yield %p, %p, %xr : vector<{n}xf32>, vector<{n}xf32>, vector<{n}xf32>
  }}
  return
}}
"""


@pytest.mark.sample("each", chip=("gfx90a", "gfx1201"), accumulate=(False, True),
                    options=("", "reproducible=true", "schedule=rows_per_workgroup=0",
                             "schedule=column_tile=0,unroll=1"))
def test_both_kinds_of_sums(build, runtime, tmp_path, chip, options, accumulate):
    """Of numbers whose sums are exact."""
    n = 300
    file = tmp_path / "f.hsaco"
    compiling.compile_to(file, build, sums(n, ", accumulate" if accumulate else ""), chip, options)
    kernel = devices.Kernel(runtime.open("sim", chip), file)
    for groups, group_rows in ((1, 9), (4, 1), (3, 50), (7, 2)):
        rows = groups * group_rows
        random = np.random.default_rng(rows)
        x = random.integers(-8, 9, (rows, n)) / 8
        s = random.integers(-4, 5, (groups, n)) / 2
        product = x * np.repeat(s, group_rows, 0)
        start = random.integers(-4, 5, (1 + 2 * groups, n)) / 2 if accumulate else (
            np.zeros((1 + 2 * groups, n)))
        inputs = {"x": x, "s": s, "c": start[0], "g": start[1:1 + groups],
                  "h": start[1 + groups:]}
        outputs = kernel.launch(rows, {k: devices.encode(np.ravel(v), "f32")
                                       for k, v in inputs.items()}, groups=groups)
        for name, terms in (("c", product.sum(0)),
                            ("g", product.reshape(groups, group_rows, n).sum(1)),
                            ("h", x.reshape(groups, group_rows, n).sum(1))):
            actual = devices.decode(outputs[name], "f32").reshape(terms.shape)
            np.testing.assert_array_equal(actual, terms + inputs[name])


@pytest.mark.parametrize("chip", ["gfx950", "gfx1100"])
def test_rows_that_lie_apart_and_have_dimensions(build, runtime, tmp_path, chip):
    """Rows of 4 x 12 elements, 80 apart; columns of f16 and bf16."""
    block = "memref<?x?x4x12xf32, strided<[?, 80, 12, 1]>>"
    text = f"""func.func @f(%x: {block}, %s: memref<?x4x12xf16>, %t: memref<?x4x12xbf16>,
    %y: {block}, %g: memref<?x4x12xf16>) {{
  lnbwd.rowwise @f domain(m0, m1 | n0, n1) ins(%x[m0, m1, n0, n1] : {block},
      %s[m0, n0, n1] : memref<?x4x12xf16>, %t[m0, n0, n1] : memref<?x4x12xbf16>)
      outs(%y[m0, m1, n0, n1] : {block}, %g[m0, n0, n1] add : memref<?x4x12xf16>)
      attributes {{operand_names = ["x", "s", "t", "y", "g"]}} {{
  ^row(%xr: vector<48xf32>, %sr: vector<48xf16>, %tr: vector<48xbf16>):
    %sw = arith.extf %sr : vector<48xf16> to vector<48xf32>
    %tw = arith.extf %tr : vector<48xbf16> to vector<48xf32>
    %p = arith.mulf %xr, %sw : vector<48xf32>
    %q = arith.addf %p, %tw : vector<48xf32>
    lnbwd.yield %q, %q : vector<48xf32>, vector<48xf32>
  }}
  return
}}
"""
    file = tmp_path / "f.hsaco"
    compiling.compile_to(file, build, text, chip)
    kernel = devices.Kernel(runtime.open("sim", chip), file)
    for groups, group_rows in ((1, 5), (3, 1), (4, 6)):
        random = np.random.default_rng(groups)
        x = random.integers(-8, 9, (groups * group_rows, 80)) / 8
        s, t = (random.integers(-4, 5, (groups, 48)) / 2 for _ in range(2))
        outputs = kernel.launch(len(x), {
            "x": devices.encode(x.ravel(), "f32"), "s": devices.encode(s.ravel(), "f16"),
            "t": devices.encode(t.ravel(), "bf16")}, groups=groups)
        expected = x[:, :48] * np.repeat(s, group_rows, 0) + np.repeat(t, group_rows, 0)
        y = devices.decode(outputs["y"], "f32").reshape(-1, 80)[:, :48]
        np.testing.assert_array_equal(y, expected)
        np.testing.assert_array_equal(
            devices.decode(outputs["g"], "f16").reshape(groups, 48),
            expected.reshape(groups, group_rows, 48).sum(1))


@pytest.mark.sample(chip=chips.GPUS, row=((37, "f32"), (1000, "bf16"), (1024, "bf16"),
                                          (4096, "f32"), (16384, "bf16")))
def test_ptx(build, tmp_path, chip, row):
    """It compiles, staged rows and rows that workgroups share among the schedules."""
    for file in compile_pair(build, tmp_path, chip, *row):
        assert "%ctaid.z" in file.read_text()


@pytest.mark.parametrize("chip", chips.MANY)
def test_checker_is_silent(build, tmp_path, chip):
    for file in compile_pair(build, tmp_path, chip, 512, "bf16"):
        result = subprocess.run([build / "bin" / "lnbwd-run", file, "--m", "21", "--groups", "3",
                                 "--check", "--shuffle-waves", "7"], capture_output=True,
                                text=True, check=False)
        assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("groups,message", [
    (4, "expected a multiple of B, the number of groups of rows, 4, got 7"),
    (0, "expected a multiple of B, the number of groups of rows, 0, got 7")])
def test_wrong_sizes(build, runtime, tmp_path, groups, message):
    file = tmp_path / "f.hsaco"
    compiling.compile_to(file, build, source(64, "f32"), "gfx942")
    kernel = devices.Kernel(runtime.open("sim", "gfx942"), file)
    x = np.zeros(7 * 64, np.uint32)
    scale = np.zeros(groups * 64, np.uint32)
    with pytest.raises(devices.LaunchError) as error:
        kernel.launch(7, {"x": x, "scale": scale, "shift": scale}, groups=groups)
    assert message in str(error.value)
