// RUN: not lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-pipeline="chip=gfx942" --emit=report 2>&1 | FileCheck %s --check-prefix=ROWS
// RUN: not lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-pipeline="chip=gfx942" --emit=report --rows=0 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not lnbwd-opt %examples/layer_norm_bwd.mlir --emit=report --rows=16 2>&1 | FileCheck %s --check-prefix=PIPELINE

// ROWS:     error: the report depends on the number of rows, which @layer_norm_bwd does not have; give it by --rows=NUMBER
// ZERO:     error: expected --rows to be at least 1, got 0
// PIPELINE: error: expected one function with kernels to emit as report, got 0: a row program or named operation, lowered for a chip
