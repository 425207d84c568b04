# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""order=canonical: the same bits for every chip, schedule, cut of the batch and number of rows, and
the order of additions that docs/numerics.md states."""

from __future__ import annotations

import dataclasses
import random

import numpy as np
import pytest

import compiling
import device as devices
import family
import ptx_machine

AMD = ("gfx908", "gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1201", "gfx1250")
CHIPS = (*AMD, "sm_90")
OPERATIONS = ("layer_norm_bwd", "rms_norm_bwd", "layer_norm", "rms_norm")
LEAF_ROWS = 64      # of up to 1024 columns


@pytest.fixture(scope="session")
def runtime(build):
    return devices.Runtime(build)


def launch(build, runtime, folder, chip, text, pipeline, rows, inputs, order="order=canonical"):
    """The bits of what a program writes, by name; NVIDIA's kernels as PTX on the CPU."""
    code = compiling.compile_text(build, text, chip, f"{order} {pipeline}".strip())
    if chip.startswith("sm"):
        found = ptx_machine.launch(code.decode(), rows,
                                   {name: bits.tobytes() for name, bits in inputs.items()})
        return {name: bytes(found[name]) for name in found if name not in inputs}
    file = folder / f"{chip}.hsaco"
    file.write_bytes(code)
    kernel = devices.Kernel(runtime.open("sim", chip), file)
    return {name: bits.tobytes() for name, bits in kernel.launch(rows, inputs).items()}


def inputs_of(case, rows):
    """The bits of a case's inputs, the same for all chips and schedules."""
    plain = dataclasses.replace(case, chip=AMD[0], pipeline="")
    values = family.make_inputs(plain, rows)
    return {name: devices.encode(values[name].ravel(), element)
            for name, _, element, is_output in case.arguments() if not is_output}


def run(build, runtime, folder, case, rows, inputs=None):
    return launch(build, runtime, folder, case.chip, family.source(case), case.pipeline, rows,
                  inputs or inputs_of(case, rows))


@pytest.mark.sample("each", op=OPERATIONS, dtype=("f32", "f16", "bf16"),
                    shape=((1024, 70), (768, 33), (1000, 65), (4093, 33), (96, 600), (8192, 17),
                           (12288, 9), (333, 40)))
def test_chips(build, runtime, tmp_path, request, op, dtype, shape):
    n, rows = shape
    case = family.Case(op, dtype=dtype, n=n)
    chips = CHIPS
    if not request.config.getoption("--full"):
        # Any two; each chip is beside another one of some case.
        chips = random.Random(f"{op} {n} {dtype}").sample(CHIPS, 2)
    results = [run(build, runtime, tmp_path, dataclasses.replace(case, chip=chip), rows)
               for chip in chips]
    for chip, found in zip(chips, results, strict=True):
        assert found == results[0], (chip, chips[0])


def draw_schedule(generator, chip, has_sums):
    fields = {"threads_per_row": generator.choice([1, 2, 4, 8, 16, 32, 64, 96, 128, 256, 512]),
              "prefetch": generator.choice([0, 1]), "unroll": generator.choice([1, 1, 2])}
    fields["row_groups"] = generator.choice([1, 2, 4])
    if not has_sums:
        fields |= {"rows_per_workgroup": 16,
                   "workgroups_per_compute_unit": generator.choice([0, 1, 2])}
    if chip.startswith("sm"):
        fields |= {"stages": generator.choice([0, 2, 3]),
                   "workgroups_per_row": generator.choice([1, 2, 4])}
    return ",".join(f"{name}={value}" for name, value in fields.items())


@pytest.mark.parametrize("op, dtype, n, rows", [
    ("layer_norm_bwd", "f32", 1000, 70), ("layer_norm", "bf16", 768, 9),
    ("rms_norm_bwd", "bf16", 8192, 33), ("layer_norm", "f16", 12288, 3)])
def test_schedules(build, runtime, tmp_path, request, op, dtype, n, rows):
    """Drawn at random; those that a chip or the order refuses are drawn again."""
    wanted = 20 if request.config.getoption("--full") else 3
    generator = random.Random(f"{op} {n}")
    results, refused = {}, 0
    while len(results) < wanted:
        chip = generator.choice(CHIPS)
        schedule = draw_schedule(generator, chip, op.endswith("bwd"))
        case = family.Case(op, chip, dtype, n, pipeline=f"schedule={schedule}")
        try:
            results[chip, schedule] = run(build, runtime, tmp_path, case, rows)
        except Exception as error:
            if "CompileError" not in type(error).__name__:
                raise
            refused += 1
            assert refused < 60 * wanted, error
    first = next(iter(results.values()))
    for key, found in results.items():
        assert found == first, key


def test_seven_workgroups(build, runtime, tmp_path):
    """Of eight slices, the last has no columns, and so no workgroup of a cluster."""
    case = family.Case("layer_norm_bwd", "gfx942", "bf16", 16400)
    cluster = dataclasses.replace(case, chip="sm_90",
                                  pipeline="schedule=workgroups_per_row=7,threads_per_row=320")
    expected = run(build, runtime, tmp_path, case, 17)
    assert run(build, runtime, tmp_path, cluster, 17) == expected


@pytest.mark.parametrize("chip, n, splits, groups", [
    ("gfx942", 8192, 2, 2), ("gfx1201", 8192, 2, 4), ("gfx942", 12288, 4, 8),
    ("gfx1201", 4680, 2, 8), ("sm_90", 4096, 2, 8), ("gfx942", 5163, 2, 4), ("sm_90", 4613, 2, 4)])
def test_row_splits(build, runtime, tmp_path, chip, n, splits, groups):
    """Rows whose sums are computed apart, by workgroups that have whole slices; then those that
    have all rows of their columns, leaves side by side or one after another."""
    case = family.Case("layer_norm_bwd", "gfx942", "bf16", n)
    expected = run(build, runtime, tmp_path, case, 67)
    for unroll in (1, 4):
        pipeline = (f"schedule=row_splits={splits},row_groups={groups},unroll={unroll},"
                    "dependent_launch=0")
        split = dataclasses.replace(case, chip=chip, pipeline=pipeline)
        assert run(build, runtime, tmp_path, split, 67) == expected


@pytest.mark.parametrize("chip, n, lanes, groups, leaf", [
    ("gfx942", 1000, 64, 8, 64), ("gfx1201", 96, 32, 8, 64), ("gfx90a", 1544, 64, 4, 32),
    ("sm_90", 1000, 64, 8, 64)])
@pytest.mark.parametrize("leaves", [0.1, 3.2, 5, 9.9])
def test_leaves_together(build, runtime, tmp_path, chip, n, lanes, groups, leaf, leaves):
    """Of leaves that a workgroup adds up before it stores them, the last are not there."""
    rows = int(leaf * leaves)
    if chip.startswith("sm"):
        rows = min(rows, 3 * leaf)
    case = family.Case("layer_norm_bwd", chip, "bf16", n)
    starts_early = int(chip.startswith("sm"))
    results = []
    for together in (1, 2, 4):
        pipeline = (f"schedule=threads_per_row={lanes},row_groups={groups},"
                    f"rows_per_workgroup={together * leaf},dependent_launch={starts_early}")
        some = dataclasses.replace(case, pipeline=pipeline)
        results.append(run(build, runtime, tmp_path, some, rows))
    assert results[1] == results[0] and results[2] == results[0]


@pytest.mark.sample("each", op=("layer_norm_bwd", "rms_norm_bwd"), chip=("gfx942", "gfx1201"),
                    parts=(2, 4, 8))
def test_cuts(build, runtime, tmp_path, op, chip, parts):
    """Gradients of parts of the batch, cut at powers of two of leaves, are nodes of its tree."""
    n, rows = 520, 8 * LEAF_ROWS
    case = family.Case(op, chip, "f32", n)
    whole = inputs_of(case, rows)
    total = run(build, runtime, tmp_path, case, rows, whole)
    each = rows // parts
    found = []
    for part in range(parts):
        some = {name: bits if bits.size == n else
                bits.reshape(rows, -1)[part * each:(part + 1) * each].ravel()
                for name, bits in whole.items()}
        found.append(run(build, runtime, tmp_path, case, each, some))
    assert b"".join(part["dx"] for part in found) == total["dx"]
    for name in total.keys() - {"dx"}:
        nodes = [np.frombuffer(part[name], np.float32) for part in found]
        assert pairs(nodes).tobytes() == total[name]


def test_rows_behind(build, runtime, tmp_path):
    """Rows behind the batch whose gradients are 0 change nothing."""
    n, rows, more = 520, 45, 300
    case = family.Case("layer_norm_bwd", "gfx942", "f32", n)
    longer = inputs_of(case, more)
    longer["dy"].reshape(more, n)[rows:] = 0
    shorter = {name: bits if bits.size == n else bits.reshape(more, -1)[:rows].ravel()
               for name, bits in longer.items()}
    expected = run(build, runtime, tmp_path, case, more, longer)
    found = run(build, runtime, tmp_path, case, rows, shorter)
    assert found["dx"] == expected["dx"][:len(found["dx"])]
    assert (found["dgamma"], found["dbeta"]) == (expected["dgamma"], expected["dbeta"])


@pytest.mark.parametrize("chip, lanes", [("gfx942", 64), ("sm_90", 32)])
def test_incomplete_leaves(build, runtime, tmp_path, chip, lanes):
    """Of a leaf with rows for some of the tiles of an iteration. Without dx, columns are summed in
    tiles."""
    n, rows = 1024, LEAF_ROWS + 2
    case = family.Case("layer_norm_bwd", chip, "f32", n)
    inputs = inputs_of(case, rows)
    expected = run(build, runtime, tmp_path, case, rows, inputs)
    del expected["dx"]
    for unroll in (1, 8):
        pipeline = (f"schedule=threads_per_row={lanes},column_tile={4 * lanes},row_groups=1,"
                    f"rows_per_workgroup=1,prefetch=0,stages=0,unroll={unroll}")
        sums = dataclasses.replace(case, outputs=("dgamma", "dbeta"), pipeline=pipeline)
        needed = {name: inputs[name] for name, _, _, is_output in sums.arguments() if not is_output}
        assert run(build, runtime, tmp_path, sums, rows, needed) == expected


@pytest.mark.parametrize("n, rows", [(1000, 300), (4093, 65), (96, 1200)])
def test_errors(build, runtime, tmp_path, n, rows):
    """Of the sums over rows, against float64, as the root of the mean square: how much larger than
    the default order's the page says that they are."""
    case = family.Case("layer_norm_bwd", "gfx942", "f32", n)
    inputs = inputs_of(case, rows)
    values = {name: bits.view(np.float32).astype(np.float64) for name, bits in inputs.items()}
    dy, x = (values[name].reshape(rows, n) for name in ("dy", "x"))
    normal = (x - values["mean"][:, None]) * values["rstd"][:, None]
    exact = {"dgamma": (dy * normal).sum(0), "dbeta": dy.sum(0)}
    errors = []
    for order in ("order=canonical", ""):
        found = launch(build, runtime, tmp_path, case.chip, family.source(case), "", rows, inputs,
                       order)
        errors.append({name: np.sqrt(np.square(np.frombuffer(found[name], np.float32)
                                               - exact[name]).mean()) for name in exact})
    canonical, default = errors
    for name in exact:
        assert canonical[name] <= 1.6 * default[name], (name, canonical, default)


# ---- The order ----

def pairs(nodes):
    """The sum of a binary tree whose leaves are added by pairs of neighbours."""
    while len(nodes) > 1:
        nodes = [nodes[i] + nodes[i + 1] if i + 1 < len(nodes) else nodes[i]
                 for i in range(0, len(nodes), 2)]
    return nodes[0] + np.float32(0)


def halves(values):
    """The same of the last axis with the highest bit of the index first."""
    width = 1 << (values.shape[-1] - 1).bit_length()
    padded = np.zeros((*values.shape[:-1], width), np.float32)
    padded[..., :values.shape[-1]] = values
    while padded.shape[-1] > 1:
        half = padded.shape[-1] // 2
        padded = padded[..., :half] + padded[..., half:]
    return padded[..., 0]


SUMS = """func.func @sums(%x: memref<?x{n}xf32> {{lnbwd.argument = #lnbwd.argument<name = "x">}},
    %row: memref<?xf32> {{lnbwd.argument = #lnbwd.argument<name = "row">}},
    %column: memref<{n}xf32> {{lnbwd.argument = #lnbwd.argument<name = "column">}}) {{
  lnbwd.rowwise @sums domain(m | n) ins(%x[m, n] : memref<?x{n}xf32>)
      outs(%row[m] : memref<?xf32>, %column[n] add : memref<{n}xf32>)
      attributes {{operand_names = ["x", "row", "column"]}} {{
  ^row(%xr: vector<{n}xf32>):
    %sum = vector.reduction <add>, %xr : vector<{n}xf32> into f32
    lnbwd.yield %sum, %xr : f32, vector<{n}xf32>
  }}
  return
}}"""


@pytest.mark.parametrize("chip, n, rows", [
    ("gfx942", 1000, 300), ("gfx942", 8200, 70), ("gfx942", 333, 33), ("sm_90", 33352, 3)])
def test_order(build, runtime, tmp_path, chip, n, rows):
    x = np.random.default_rng(n).standard_normal((rows, n), np.float32)
    found = launch(build, runtime, tmp_path, chip, SUMS.format(n=n), "", rows,
                   {"x": x.view(np.uint32).ravel()})
    width = next(width for width in (4, 2, 1) if n % width == 0)
    # Of n columns: those of a slice, rows of a leaf, and its chains.
    slice_columns, leaf, chains = {1000: (1024, 64, 8), 8200: (2560, 16, 1),
                                   333: (1024, 64, 8), 33352: (2560, 16, 1)}[n]
    slices = [halves(halves(x[:, begin:begin + slice_columns].reshape(rows, -1, width)))
              for begin in range(0, n, slice_columns)]
    assert pairs(slices).tobytes() == found["row"]
    leaves = []
    for begin in range(0, rows, leaf):
        sums = np.zeros((chains, n), np.float32)
        for row in range(begin, min(rows, begin + leaf)):
            sums[(row - begin) % chains] += x[row]
        leaves.append(pairs(list(sums)))
    assert pairs(leaves).tobytes() == found["column"]

