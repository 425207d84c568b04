// RUN: lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-gpu-pipeline="chip=gfx942 two-pass=always" | FileCheck %s --check-prefix=TWO
// RUN: lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-gpu-pipeline="chip=gfx942 two-pass=never" | FileCheck %s --check-prefix=ONE
// RUN: lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-gpu-pipeline="chip=gfx942" | FileCheck %s --check-prefix=ONE
// RUN: not lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-gpu-pipeline="chip=gfx942 two-pass=no" 2>&1 | FileCheck %s --check-prefix=INVALID

// TWO:     gpu.func @layer_norm_bwd_columns(
// TWO:     gpu.func @layer_norm_bwd_columns_finalize(
// TWO:     gpu.func @layer_norm_bwd_rows(
// ONE:     gpu.func @layer_norm_bwd(
// ONE:     gpu.func @layer_norm_bwd_finalize(
// INVALID: error: loc("option two-pass (mode)"): expected two-pass (mode) to be auto, always or never, got 'no'
