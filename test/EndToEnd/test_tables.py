# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows of tables, by indices: embeddings."""

import json
import subprocess

import numpy as np
import pytest

import chips
import compiling
import device as devices

TOKENS, PLACES = 50, 7


def source(n: int, has_rows: bool = True, has_column_sum: bool = True,
           has_groups: bool = False) -> str:
    """h = tokens[id] + places[m mod 7] + x; y = h less the sum of h over 64; with groups, tokens
    are multiplied by a number of the group first."""
    row, table = f"vector<{n}xf32>", f"vector<{TOKENS}x{n}xbf16>"
    rows, dims = ("b, t", "?x?") if has_groups else ("m", "?")
    block, numbers = f"memref<{dims}x{n}xf32>", f"memref<{dims}xi64>"
    places = f"memref<{PLACES}x{n}xf32>"
    body = "\n    ".join([
        f"%a = lnbwd.gather %tr[%ir] : {table}, i64",
        f"%w = arith.extf %a : vector<{n}xbf16> to {row}",
        *([f"%gs = vector.broadcast %gr : f32 to {row}", f"%v = arith.mulf %w, %gs : {row}"]
          if has_groups else []),
        f"%m = lnbwd.index {int(has_groups)} : i32", f"%c = arith.constant {PLACES} : i32",
        "%place = arith.remui %m, %c : i32",
        f"%p = lnbwd.gather %pr[%place] : vector<{PLACES}x{n}xf32>, i32",
        f"%e = arith.addf {'%v' if has_groups else '%w'}, %p : {row}",
        f"%h = arith.addf %e, {'%xr' if has_rows else '%p'} : {row}",
        f"%s = vector.reduction <add>, %h : {row} into f32", "%f = arith.constant 0.015625 : f32",
        "%u = arith.mulf %s, %f : f32", f"%us = vector.broadcast %u : f32 to {row}",
        f"%y = arith.subf %h, %us : {row}"])
    ins = [("x", "xr", f"{rows}, n", block, row)] * has_rows
    ins += [("id", "ir", rows, numbers, "i64")]
    ins += [("g", "gr", "b", "memref<?xf32>", "f32")] * has_groups
    ins += [("tokens", "tr", "*, n", f"memref<{TOKENS}x{n}xbf16>", table),
            ("places", "pr", "*, n", places, f"vector<{PLACES}x{n}xf32>")]
    outs = [("y", "%y", f"[{rows}, n]", block, row)]
    outs += [("sums", "%h", "[n] add", f"memref<{n}xf32>", row)] * has_column_sum
    names = ", ".join(f'"{name}"' for name, *_ in ins + outs)
    return f"""func.func @f({', '.join(f"%{v[0]}: {v[3]}" for v in ins + outs)}) {{
  lnbwd.rowwise @f domain({rows} | n)
      ins({', '.join(f"%{name}[{dims}] : {type_}" for name, _, dims, type_, _ in ins)})
      outs({', '.join(f"%{name}{dims} : {type_}" for name, _, dims, type_, _ in outs)})
      attributes {{operand_names = [{names}]}} {{
  ^row({', '.join(f"%{v[1]}: {v[4]}" for v in ins)}):
    {body}
    lnbwd.yield {', '.join(v[1] for v in outs)} : {', '.join(v[4] for v in outs)}
  }}
  return
}}
"""


def check(build, chip, file, n, rows, has_rows=True, has_column_sum=True, has_groups=False):
    kernel = devices.Kernel(devices.Runtime(build).open("sim", chip), file)
    random = np.random.default_rng(n)
    groups = 3 if has_groups else 1
    rows *= groups
    # Few values, whose sums are exact.
    inputs = {"tokens": random.integers(-8, 9, (TOKENS, n)) / 8,
              "places": random.integers(-8, 9, (PLACES, n)) / 8,
              "x": random.integers(-8, 9, (rows, n)) / 8, "g": np.arange(1.0, groups + 1)}
    numbers = random.integers(0, TOKENS, rows)
    # What is beyond the table is its last row.
    numbers[:5] = [0, TOKENS - 1, TOKENS, -1, 2**40]
    names = {argument["name"] for argument in kernel.plan["arguments"]}
    outputs = kernel.launch(rows, {"id": numbers} | {
        name: devices.encode(value.ravel(), "bf16" if name == "tokens" else "f32")
        for name, value in inputs.items() if name in names}, groups=groups)
    taken = np.where((numbers < 0) | (numbers >= TOKENS), TOKENS - 1, numbers)
    h = inputs["tokens"][taken]
    if has_groups:
        h = h * np.repeat(inputs["g"], rows // groups)[:, None]
    places = inputs["places"][np.arange(rows) % (rows // groups) % PLACES]
    h = h + places + (inputs["x"] if has_rows else places)
    wanted = {"y": h - h.sum(1, keepdims=True) / 64}
    if has_column_sum:
        wanted["sums"] = h.sum(0)
    for name, expected in wanted.items():
        actual = devices.decode(outputs[name], "f32").reshape(expected.shape)
        np.testing.assert_array_equal(actual, expected, name)


@pytest.mark.sample(
    chip=("gfx942", "gfx1100"), has_rows=(False, True), has_groups=(False, True),
    row=((37, ""), (512, ""), (1000, "schedule=row_groups=2"),
         (300, "schedule=prefetch=1,row_groups=4,threads_per_row=32"), (4096, "two-pass=always")))
def test_tables(build, tmp_path, chip, row, has_rows, has_groups):
    n, options = row
    file = tmp_path / "f.hsaco"
    compiling.compile_to(file, build, source(n, has_rows, has_groups=has_groups), chip, options)
    for rows in (5, 23):
        check(build, chip, file, n, rows, has_rows, has_groups=has_groups)


@pytest.mark.parametrize("chip", ["gfx942", "gfx1100"])
@pytest.mark.parametrize("options", ["schedule=reload=1", "schedule=row_splits=4"])
def test_rows_in_phases(build, tmp_path, chip, options):
    file = tmp_path / "f.hsaco"
    compiling.compile_to(file, build, source(2048, has_column_sum=False), chip, options)
    check(build, chip, file, 2048, 6, has_column_sum=False)


@pytest.mark.parametrize("chip", ["gfx942", "gfx1100"])
def test_the_reference(build, tmp_path, chip):
    """Indices are drawn within the table, and not all the same."""
    file = tmp_path / "f.hsaco"
    compiling.compile_to(file, build, source(256), chip)
    result = subprocess.run([build / "bin" / "lnbwd-run", file, "--verify", "--check", "--m=33",
                             "--json"], check=True, capture_output=True, text=True)
    assert json.loads(result.stdout)["outputs"]


@pytest.mark.sample(chip=chips.GPUS, n=(37, 4096))
def test_ptx(build, tmp_path, chip, n):
    compiling.compile_to(tmp_path / "f.ptx", build, source(n), chip)
