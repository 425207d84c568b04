# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Largest elements over all rows, and over those of each group, bit for bit as NumPy has them, and
sums beside them; and of numbers of each row."""

import numpy as np
import pytest

import chips
import compiling
import device as devices


def source(n: int, groups: int) -> str:
    """y = 2 x; of all rows or each group the largest 2 x, the sum, and the largest magnitude."""
    wide, rows = f"vector<{n}xf32>", f"memref<{'?x' * (2 if groups else 1)}{n}xf32>"
    columns, row = (f"memref<?x{n}x", "b, t") if groups else (f"memref<{n}x", "m")
    place = "b, n" if groups else "n"
    return f"""func.func @f(%x: {rows}, %y: {rows}, %m: {columns}f32>, %s: {columns}f32>,
    %a: {columns}bf16>) {{
  lnbwd.rowwise @f domain({row} | n) ins(%x[{row}, n] : {rows})
      outs(%y[{row}, n] : {rows}, %m[{place}] max : {columns}f32>,
           %s[{place}] add : {columns}f32>, %a[{place}] max : {columns}bf16>)
      attributes {{operand_names = ["x", "y", "largest", "sum", "amax"]}} {{
  ^row(%xr: {wide}):
    %twice = arith.addf %xr, %xr : {wide}
    %size = math.absf %twice : {wide}
    lnbwd.yield %twice, %twice, %twice, %size : {wide}, {wide}, {wide}, {wide}
  }}
  return
}}
"""


@pytest.fixture(scope="session")
def runtime(build):
    return devices.Runtime(build)


@pytest.mark.sample("each", chip=("gfx90a", "gfx942", "gfx1100", "gfx1201"), n=(37, 1000, 4096),
                    groups=(0, 3), options=("", "order=canonical", "schedule=rows_per_workgroup=0"))
def test_maxima(build, runtime, tmp_path, chip, n, groups, options):
    file = tmp_path / "f.hsaco"
    compiling.compile_to(file, build, source(n, groups), chip, options)
    kernel = devices.Kernel(runtime.open("sim", chip), file)
    for rows in (1, 23, 600):
        all_rows = rows * max(groups, 1)
        # Multiples of 1/8, which bf16 has; all below 0 in column 0, one of its rows at the end.
        x = np.random.default_rng(rows + n).integers(-64, 0, (all_rows, n)) / np.float32(8)
        x[:, 1:] += 4
        x[-1, 0] = x[-1, 2] = np.inf
        x[:, 3] = -np.inf
        x[rows // 2, 4] = np.nan
        x[rows // 3, 5], x[rows // 2, 5] = np.nan, np.inf
        outputs = kernel.launch(all_rows, {"x": devices.encode(x.ravel(), "f32")},
                                groups=max(groups, 1))
        twice = 2 * x
        by_group = twice.reshape(max(groups, 1), rows, n)
        for name, dtype, expected in (("largest", "f32", by_group.max(1)),
                                      ("sum", "f32", by_group.sum(1)),
                                      ("amax", "bf16", np.abs(by_group).max(1))):
            np.testing.assert_array_equal(
                devices.decode(outputs[name], dtype).reshape(expected.shape), expected, name)
        np.testing.assert_array_equal(devices.decode(outputs["y"], "f32").reshape(x.shape), twice)


def scalar_source(n: int, groups: int) -> str:
    """Of the largest element of each row, divided by d: the sum and the largest."""
    wide, rows = f"vector<{n}xf32>", f"memref<{'?x' * (2 if groups else 1)}{n}xf32>"
    row, place, shape = ("b, t", "b", "?x") if groups else ("m", "", "")
    return f"""func.func @f(%x: {rows}, %d: memref<{shape}f32>, %s: memref<{shape}f32>,
    %m: memref<bf16>) {{
  lnbwd.rowwise @f domain({row} | n) ins(%x[{row}, n] : {rows}, %d[{place}] : memref<{shape}f32>)
      outs(%s[{place}] add : memref<{shape}f32>, %m[] max : memref<bf16>)
      attributes {{operand_names = ["x", "d", "sum", "largest"]}} {{
  ^row(%xr: {wide}, %dr: f32):
    %max = vector.reduction <maximumf>, %xr : {wide} into f32
    %r = arith.divf %max, %dr : f32
    lnbwd.yield %r, %r : f32, f32
  }}
  return
}}
"""


@pytest.mark.sample("each", chip=("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"),
                    n=(37, 1000), groups=(0, 3), options=("", "order=canonical"))
def test_scalars(build, runtime, tmp_path, chip, n, groups, options):
    file, gradient = tmp_path / "f.hsaco", tmp_path / "g.hsaco"
    text = scalar_source(n, groups)
    compiling.compile_to(file, build, text, chip, options)
    kernel = devices.Kernel(runtime.open("sim", chip), file)
    derived = text.replace(", %m[] max : memref<bf16>", "").replace(", %r : f32, f32", " : f32")
    compiling.compile_to(gradient, build, compiling.differentiate(
        build, derived.replace('"sum", "largest"', '"sum"')), chip, options)
    backward = devices.Kernel(runtime.open("sim", chip), gradient)
    for rows in (1, 700):
        count = max(groups, 1)
        x = np.random.default_rng(rows + n).integers(-64, 64, (count, rows, n)) / np.float32(8)
        x[:, -1, 0] = np.arange(count) - 20  # Of few columns, not the largest.
        d = np.float32(2.0) ** np.arange(count)
        for special in (0, np.inf, np.nan):
            x[-1, rows // 2, 1] = special or x[-1, rows // 2, 1]
            inputs = {"x": devices.encode(x.ravel(), "f32"), "d": devices.encode(d, "f32")}
            outputs = kernel.launch(rows * count, inputs, groups=count)
            terms = x.max(2) / d[:, None]
            for name, dtype, expected in (("sum", "f32", terms.sum(1)),
                                          ("largest", "bf16", terms.max(keepdims=True)[0])):
                found = devices.decode(outputs[name], dtype)
                if name == "largest":  # Of 8 bits.
                    expected = devices.decode(devices.encode(expected, "bf16"), "bf16")
                np.testing.assert_array_equal(found, expected, name)
            if special == 0:
                # Each row's largest elements share its gradient.
                inputs["dsum"] = devices.encode(d, "f32")
                outputs = backward.launch(rows * count, inputs, groups=count)
                ties = x == x.max(2, keepdims=True)
                np.testing.assert_allclose(
                    devices.decode(outputs["dx"], "f32").reshape(x.shape),
                    ties / ties.sum(2, keepdims=True), 1e-6)
                np.testing.assert_allclose(devices.decode(outputs["dd"], "f32"),
                                           -terms.sum(1), 1e-5, 1e-2)


@pytest.mark.sample("each", chip=("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"),
                    n=(37, 1000), options=("", "order=canonical"))
def test_gradients(build, runtime, tmp_path, chip, n, options):
    """The largest elements over rows, and of all, share its gradient; a NaN's is NaN."""
    rows, wide = f"memref<?x{n}xf32>", f"vector<{n}xf32>"
    file = tmp_path / "g.hsaco"
    compiling.compile_to(file, build, compiling.differentiate(build, f"""
func.func @f(%x: {rows}, %w: memref<{n}xf32>, %t: memref<f32>, %c: memref<{n}xbf16>) {{
  lnbwd.rowwise @f domain(m | n) ins(%x[m, n] : {rows}, %w[n] : memref<{n}xf32>)
      outs(%t[] max : memref<f32>, %c[n] max : memref<{n}xbf16>)
      attributes {{operand_names = ["x", "w", "total", "columns"]}} {{
  ^row(%xr: {wide}, %wr: {wide}):
    %y = arith.mulf %xr, %wr : {wide}
    %r = vector.reduction <maximumf>, %xr : {wide} into f32
    lnbwd.yield %r, %y : f32, {wide}
  }}
  return
}}
"""), chip, options)
    kernel = devices.Kernel(runtime.open("sim", chip), file)
    for m in (1, 23, 700):
        # Small numbers, of which bf16 has all products, and that tie.
        x = np.random.default_rng(m + n).integers(-8, 8, (m, n)).astype(np.float32)
        w = np.float32(2.0) ** (np.arange(n) % 3 - 1)
        x[m // 2, 1], x[m // 3, 2], x[0, 3] = np.nan, np.inf, -np.inf
        total, columns = np.float32(8 if m % 2 else np.inf), (x * w).max(0)
        x[-1, 0] = x[m // 2, 5] = 8
        columns[[0, 5]] = (x * w).max(0)[[0, 5]]
        dtotal, dcolumns = np.float32(3), np.arange(n, dtype=np.float32) % 7 - 3
        outputs = kernel.launch(m, {
            name: devices.encode(np.atleast_1d(value).ravel(), dtype)
            for name, value, dtype in (
                ("x", x, "f32"), ("w", w, "f32"), ("total", total, "f32"),
                ("dtotal", dtotal, "f32"), ("columns", columns, "bf16"),
                ("dcolumns", dcolumns, "bf16"))})
        with np.errstate(invalid="ignore", divide="ignore"):
            is_largest = x * w == columns
            shares = is_largest * (dcolumns.astype(np.float64) / is_largest.sum(0))
            dx = shares * w + (x == total) * (np.float64(dtotal) / (x == total).sum())
            dw = (shares * x).sum(0)
        for name, expected in (("dx", dx), ("dw", dw)):
            np.testing.assert_allclose(devices.decode(outputs[name], "f32").reshape(expected.shape),
                                       expected, 1e-5, 1e-5, err_msg=name)


@pytest.mark.sample("each", chip=("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"),
                    t=(1, 6, 70), options=("", "order=canonical"))
def test_last_dimensions(build, runtime, tmp_path, chip, t, options):
    """Numbers of rows combined over the first dimension, and their gradients."""
    n, rows, wide = 40, f"memref<?x{t}x40xf32>", "vector<40xf32>"
    text = f"""
func.func @f(%x: {rows}, %s: memref<{t}xf32>, %m: memref<{t}xf32>, %a: memref<f32>) {{
  lnbwd.rowwise @f domain(b, t | n) ins(%x[b, t, n] : {rows})
      outs(%s[t] add : memref<{t}xf32>, %m[t] max : memref<{t}xf32>, %a[] add : memref<f32>)
      attributes {{operand_names = ["x", "sum", "largest", "all"]}} {{
  ^row(%xr: {wide}):
    %sum = vector.reduction <add>, %xr : {wide} into f32
    %max = vector.reduction <maximumf>, %xr : {wide} into f32
    lnbwd.yield %sum, %max, %sum : f32, f32, f32
  }}
  return
}}
"""
    files = tmp_path / "f.hsaco", tmp_path / "g.hsaco"
    compiling.compile_to(files[0], build, text, chip, options)
    compiling.compile_to(files[1], build, compiling.differentiate(build, text), chip, options)
    forward, backward = (devices.Kernel(runtime.open("sim", chip), file) for file in files)
    for count in (1, 50):
        x = np.random.default_rng(count).integers(-64, 64, (count, t, n)) / np.float32(8)
        x[-1, 0, 5] = np.inf
        inputs = {"x": devices.encode(x.ravel(), "f32")}
        outputs = forward.launch(count * t, inputs)
        most = x.max((0, 2))
        for name, expected in (("sum", x.sum((0, 2))), ("largest", most), ("all", x.sum())):
            np.testing.assert_array_equal(
                devices.decode(outputs[name], "f32").reshape(np.shape(expected)), expected, name)
        grads = np.arange(t, dtype=np.float32) - 2
        inputs |= {name: devices.encode(value, "f32") for name, value in (
            ("largest", most), ("dsum", grads), ("dlargest", 3 * grads), ("dall", np.ones(1)))}
        ties = x == most[:, None]
        np.testing.assert_allclose(
            devices.decode(backward.launch(count * t, inputs)["dx"], "f32").reshape(x.shape),
            1 + grads[:, None] * (1 + 3 * ties / ties.sum((0, 2))[:, None]), 1e-6)


@pytest.mark.sample("each", chip=("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"),
                    kept=("g, c, s", "g, c", "c"), options=("", "order=canonical"))
def test_kept_dimensions(build, runtime, tmp_path, chip, kept, options):
    """Elements combined over dimensions that are not the last row dimensions, and their gradients,
    where a NaN's is NaN; the maximum is of what has a sum over the row."""
    sizes = {"g": 3, "c": 5, "s": 8}
    letters = kept.split(", ")
    axes = tuple(place for place, dim in enumerate("bgcs") if dim not in letters)
    shape = tuple(sizes[dim] for dim in letters)
    rows, wide = "memref<?x3x5x8xf32>", "vector<40xf32>"
    sums = f"memref<{'x'.join(map(str, shape))}x"
    text = f"""
func.func @f(%x: {rows}, %s: {sums}f32>, %h: {sums}bf16>, %m: {sums}f32>) {{
  lnbwd.rowwise @f domain(b, g | c, s) ins(%x[b, g, c, s] : {rows})
      outs(%s[{kept}] add : {sums}f32>, %h[{kept}] add : {sums}bf16>, %m[{kept}] max : {sums}f32>)
      attributes {{operand_names = ["x", "sum", "half", "largest"]}} {{
  ^row(%xr: {wide}):
    %e = math.exp %xr : {wide}
    %total = vector.reduction <add>, %e : {wide} into f32
    %wide = vector.broadcast %total : f32 to {wide}
    %y = arith.divf %e, %wide : {wide}
    %half = arith.constant dense<0.5> : {wide}
    %xh = arith.mulf %xr, %half : {wide}
    lnbwd.yield %xr, %xh, %y : {wide}, {wide}, {wide}
  }}
  return
}}
"""
    files = tmp_path / "f.hsaco", tmp_path / "g.hsaco"
    compiling.compile_to(files[0], build, text, chip, options)
    compiling.compile_to(files[1], build, compiling.differentiate(build, text), chip, options)
    forward, backward = (devices.Kernel(runtime.open("sim", chip), file) for file in files)
    for count, special in ((1, 0), (37, 0), (37, np.inf), (37, np.nan)):
        x = np.random.default_rng(count).integers(-16, 16, (count, 3, 5, 8)) / np.float32(8)
        x[-1] = x[0]  # So that maxima tie.
        x[count // 2, 1, 2, 3] += special
        inputs = {"x": devices.encode(x.ravel(), "f32")}
        outputs = forward.launch(count * 3, inputs)
        with np.errstate(invalid="ignore", divide="ignore"):
            e = np.exp(x.astype(np.float64))
            y = e / e.sum((2, 3), keepdims=True)
            most = y.max(axes, keepdims=True)
            for name, dtype, expected, tolerance in (
                    ("sum", "f32", x.sum(axes), 0), ("half", "bf16", x.sum(axes) / 2, 2 ** -8),
                    ("largest", "f32", most.reshape(shape), 1e-5)):
                np.testing.assert_allclose(devices.decode(outputs[name], dtype).reshape(shape),
                                           expected, tolerance, err_msg=name)
            grads = np.arange(np.prod(shape), dtype=np.float32).reshape(shape) % 7 - 2
            inputs |= {"dsum": devices.encode(grads.ravel(), "f32"),
                       "dhalf": devices.encode(2 * grads.ravel(), "bf16"),
                       "dlargest": devices.encode(3 * grads.ravel(), "f32")}
            ties = y == most
            dy = np.expand_dims(3 * grads, axes) * (ties / ties.sum(axes, keepdims=True))
            dx = np.expand_dims(2 * grads, axes) + y * (
                dy - (dy * y).sum((2, 3), keepdims=True))
        np.testing.assert_allclose(
            devices.decode(backward.launch(count * 3, inputs)["dx"], "f32").reshape(x.shape),
            dx, 1e-4, 1e-5)


@pytest.mark.sample("each", chip=("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"))
def test_gradients_of_any_number_of_groups(build, runtime, tmp_path, chip):
    """Of what another program may round otherwise: a group's largest elements, and its largest row
    sum."""
    n, rows, wide, file = 40, "memref<?x?x40xf32>", "vector<40xf32>", tmp_path / "g.hsaco"
    compiling.compile_to(file, build, compiling.differentiate(build, f"""
func.func @f(%x: {rows}, %r: memref<?xf32>, %s: memref<?x40xf32>) {{
  lnbwd.rowwise @f domain(b, t | n) ins(%x[b, t, n] : {rows})
      outs(%r[b] max : memref<?xf32>, %s[b, n] max : memref<?x40xf32>)
      attributes {{operand_names = ["x", "r", "s"]}} {{
  ^row(%xr: {wide}):
    %e = math.exp %xr : {wide}
    %sum = vector.reduction <add>, %e : {wide} into f32
    lnbwd.yield %sum, %e : f32, {wide}
  }}
  return
}}
"""), chip)
    kernel = devices.Kernel(runtime.open("sim", chip), file)
    for groups, count in ((1, 1), (3, 50)):
        x = np.random.default_rng(count).integers(-16, 16, (groups, count, n)) / np.float32(8)
        x[:, -1] = x[:, 0]  # So that maxima tie.
        dr, ds = np.arange(groups) + 1.0, np.arange(groups * n).reshape(groups, n) % 7 - 2.0
        outputs = kernel.launch(groups * count, {
            name: devices.encode(value.astype(np.float32).ravel(), "f32")
            for name, value in (("x", x), ("dr", dr), ("ds", ds))}, groups=groups)
        e = np.exp(x.astype(np.float64))
        total = e.sum(2, keepdims=True)
        rows_tie, ties = total == total.max(1, keepdims=True), e == e.max(1, keepdims=True)
        dx = e * (dr[:, None, None] * (rows_tie / rows_tie.sum(1, keepdims=True))
                  + ds[:, None] * (ties / ties.sum(1, keepdims=True)))
        np.testing.assert_allclose(devices.decode(outputs["dx"], "f32").reshape(x.shape), dx, 1e-4,
                                   1e-6)


@pytest.mark.sample(chip=chips.GPUS, n=(37, 4096), order=("", "order=canonical"),
                    make={source: "columns", scalar_source: "scalars"})
def test_ptx(build, tmp_path, chip, n, order, make):
    """It compiles, and a NaN wins."""
    file = tmp_path / "f.ptx"
    compiling.compile_to(file, build, make(n, 0), chip, order)
    assert "max.NaN.f32" in file.read_text()
