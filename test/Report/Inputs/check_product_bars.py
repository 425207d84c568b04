# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Holds what the products of a linear layer may cost at most on AMD's chips, by lnbwd-opt's
report and their assembly: registers and spills are those of the code object's metadata.

check_product_bars.py LNBWD_OPT CHIP [--full]

The products of M rows of K to N: forward (a bT), of the rows' gradient (a b), of the weight's
(aT b), with tiles that fill the chip and with small ones and split sums. Prints one line for
each bar that does not hold, and a count of all. A bar that a change crosses is a change to look
at, not to raise.
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

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "EndToEnd"))

import product_programs

# M, K, N.
SIZES = ((512, 768, 2304), (8192, 4096, 12288))
FORMS = ("rhs_transposed", "", "lhs_transposed")
TYPES = ("bf16", "f16", "f32")
# Matrix instructions beyond the fewest: what tiles have beyond the result. Along the sum, and of
# the result, all sizes above are whole tiles.
MOST_INSTRUCTIONS = 1.0
# Loads of less than 4 bytes, those of a lane that loads a piece of a matrix to transpose it.
NARROW = r"\b(?:buffer|global|flat)_load_(?:[us]?short|[us]?byte|[iu]8|[iu]16|b16|d16)\w*"


def source(dtype, m, k, n, form):
    sizes = (k, n) if form == "rhs_transposed" else (n, k)
    return product_programs.product(form, (dtype, dtype), sizes)


def report(opt, chip, dtype, size, form):
    """The report, and the assembly."""
    with tempfile.TemporaryDirectory() as folder:
        figures = json.loads(subprocess.run(
            [opt, "-", f"--lnbwd-pipeline=chip={chip} rows={size[0]}", "--emit=report-json",
             f"--rows={size[0]}", f"--save-temps={folder}"],
            input=source(dtype, *size, form), stdout=subprocess.PIPE, text=True, check=True).stdout)
        return figures, max(pathlib.Path(folder).glob("*-kernel.s")).read_text()


def bars(figures, code):
    """The bars for one case: what, the value, and whether it holds."""
    for kernel in figures["kernels"]:
        where = f"@{kernel['name']}: "
        for what in ("scratch_bytes", "spilled_vector_registers", "spilled_scalar_registers"):
            yield where + what, kernel[what], kernel[what] == 0
        # What adds parts is a row program.
        product = kernel.get("product")
        # float32 has no matrix instruction on chips with WMMA.
        if product and product["multiplied_as"]:
            elements = product["tiles"] * product["tile_rows"] * product["tile_columns"]
            ratio = elements * product["iterations"] * product["step"] / product["multiply_adds"]
            yield where + "multiply-adds over the fewest", ratio, ratio <= MOST_INSTRUCTIONS
            narrow = re.findall(NARROW, code)
            yield where + "narrow accesses", narrow, not narrow
            yield where + "matrix instructions", 0, re.search(r"\bv_(mfma|wmma)", code)


def main():
    opt, chip, *full = sys.argv[1:]
    cases = bar_cases.take([TYPES, SIZES, FORMS], chip, full)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        reports = list(pool.map(lambda case: report(opt, *case), cases))
    checked = crossed = 0
    for case, figures in zip(cases, reports, strict=True):
        for what, value, holds in bars(*figures):
            checked += 1
            if not holds:
                crossed += 1
                print("crossed:", *case, f"{what}: {value}")
    print(f"{checked} bars, {crossed} crossed")
    return crossed != 0


if __name__ == "__main__":
    sys.exit(main())
