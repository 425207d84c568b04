# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Holds what the kernels of a chip may cost at most, by lnbwd-opt's report, their assembly and
their IR. Vector instructions and bytes are held by what the simulator counts, too:
test/EndToEnd/test_counts.py.

check_bars.py LNBWD_OPT CHIP [--full]

Prints one line for each bar that does not hold, and a count of all. A bar that a
change crosses is a change to look at, not to raise.
"""

import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import bar_cases

LENGTHS = (256, 768, 1024, 3000, 4096, 8192, 16384)
BYTES = {"bf16": 2, "f16": 2, "f32": 4}

# Bytes by the plan over the fewest possible, by the number of rows of 1024.
REQUESTED = {1024: 1.6, 16384: 1.10, 65536: 1.05}
IN_FLIGHT = 32 * 1024
WAVE = {"gfx90a": 64, "gfx942": 64, "gfx950": 64, "gfx1100": 32, "gfx1201": 32}


def source(dtype, n):
    row, column, scalar = f"memref<?x{n}x{dtype}>", f"memref<{n}x{dtype}>", "memref<?xf32>"
    return (
        f"func.func @layer_norm_bwd(%dy: {row}, %x: {row}, %g: {column}, %m: {scalar}, "
        f"%r: {scalar}, %dx: {row}, %dg: {column}, %db: {column}) {{\n"
        f"  lnbwd.layer_norm_bwd dy(%dy : {row}) x(%x : {row}) gamma(%g : {column})\n"
        f"      mean(%m : {scalar}) rstd(%r : {scalar})\n"
        f"      outs dx(%dx : {row}) dgamma(%dg : {column}) dbeta(%db : {column})\n"
        "  return\n}\n"
    )


def report(opt, chip, dtype, n, m):
    """The report; of each kernel also its assembly and its IR."""
    with tempfile.TemporaryDirectory() as folder:
        figures = json.loads(subprocess.run(
            [opt, "-", f"--lnbwd-pipeline=chip={chip}", "--emit=report-json", f"--rows={m}",
             f"--save-temps={folder}"],
            input=source(dtype, n), stdout=subprocess.PIPE, text=True, check=True).stdout)
        code = max(pathlib.Path(folder).glob("*-kernel.s")).read_text()
        ir = max(pathlib.Path(folder).glob("*-lnbwd-convert-lane-to-gpu.mlir")).read_text()
    for kernel in figures["kernels"]:
        name = kernel["name"]
        kernel["code"] = code[code.index(f"\n{name}:"):code.index(f"\n\t.size\t{name},")]
        kernel["ir"] = re.search(rf"gpu\.func @{name}\(.*?\n    }}\n", ir, re.DOTALL)[0]
    return figures


def row_loop(ir):
    """The loop over rows of a kernel's IR, the first that is in no other; all of it without one."""
    loop = re.search(r"\n( +)[^\n]*\bscf\.(?:for|while)\b.*?\n\1}", ir, re.DOTALL)
    return loop[0] if loop else ir


def bars(chip, dtype, n, m, figures):
    """The bars for one case: what, the value, and whether it holds."""
    units = 1 if chip.startswith("gfx9") else 2
    for kernel in figures["kernels"]:
        where = f"@{kernel['name']}: "
        for what in ("scratch_bytes", "spilled_vector_registers", "spilled_scalar_registers"):
            yield where + what, kernel[what], kernel[what] == 0
        is_finalizing = kernel["name"].endswith("_finalize")
        if n * BYTES[dtype] % 16 == 0:
            # Row scalars are loaded alone, and a finalizing kernel stores its columns at its end.
            accesses = set(re.findall(r"\b(?:buffer|global|flat)_((?:load|store)_\w+)",
                                      kernel["code"]))
            narrow = {access for access in accesses if not access.endswith(("_dwordx4", "_b128"))
                      and not (access.startswith("store") and is_finalizing)}
            scalars = set() if is_finalizing else {"load_dword", "load_b32"}
            yield where + "accesses of less than 16 bytes", narrow, narrow <= scalars
        if is_finalizing:
            continue
        fields = {name: int(value) for name, value in
                  re.findall(r"(\w+) = (\d+)", kernel["schedule"])}
        wanted = 0 if fields["threads_per_row"] <= WAVE[chip] else 1
        tiles = fields.get("unroll", 1)
        # A program that computes no row sum exchanges nothing.
        if not kernel["name"].endswith("_columns"):
            barriers = row_loop(kernel["ir"]).count("barrier\n") / tiles
            yield where + "barriers a tile of rows", barriers, barriers == wanted
        # dy and x of the tiles that are loaded ahead, masked lanes included.
        chunk = fields["threads_per_row"] * fields["vector_width"]
        columns = chunk if fields.get("reload") else -(-n // chunk) * chunk
        ahead = (1 if fields.get("prefetch") else tiles) * fields["row_groups"] * columns
        in_flight = kernel["occupancy"]["workgroups"] / units * ahead * 2 * BYTES[dtype]
        yield where + "bytes in flight", in_flight, in_flight >= IN_FLIGHT
    if n == 1024:
        ratio = figures["bytes"] / figures["minimal_bytes"]
        yield "bytes over the fewest", ratio, ratio <= REQUESTED[m]


def main():
    opt, chip, *full = sys.argv[1:]
    shapes = [(n, m) for n in LENGTHS for m in (REQUESTED if n == 1024 else (16384,))]
    cases = [(dtype, *shape) for _, dtype, shape in bar_cases.take([BYTES, shapes], chip, full)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        reports = list(pool.map(lambda case: report(opt, chip, *case), cases))
    checked = crossed = 0
    for case, figures in zip(cases, reports, strict=True):
        for what, value, holds in bars(chip, *case, figures):
            checked += 1
            if not holds:
                crossed += 1
                print(f"crossed: {chip} {case[0]} N={case[1]} M={case[2]}: {what}: {value}")
    print(f"{checked} bars, {crossed} crossed")
    return crossed != 0


if __name__ == "__main__":
    sys.exit(main())
