# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the kernel of a product of 4096 x 4096 x 4096 of bf16 costs on AMD's chips, by count: one
workgroup of it, the whole way along the sum, with all checks of the simulator on."""

import pytest

import family
import product_programs
from product_counts import SIZE, TILE, check_workgroup

# Of the forward pass, a bT; of the rows' gradient, a b; of the weight's, aT b.
FORMS = ("rhs_transposed", "", "lhs_transposed")


@pytest.mark.sample(chip=family.PRODUCT_CHIPS, form=FORMS)
def test_counts(build, tmp_path, chip, form):
    # What is summed over are rows of both in the last form.
    rows = SIZE if form == "lhs_transposed" else TILE
    text = product_programs.product(form, ("bf16", "bf16"), (SIZE, SIZE))
    buffers = check_workgroup(build, tmp_path, chip, text, [
        f"in:bf16x{rows * SIZE}=1.5", f"in:bf16x{SIZE * SIZE}=0.5",
        f"inout:f32x{rows * SIZE}=0", f"i64={rows}"])
    assert buffers[2]["bytes_read"] == 0
