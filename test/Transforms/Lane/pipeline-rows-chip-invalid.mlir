// RUN: not lnbwd-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(lnbwd-pipeline-rows)))' 2>&1 | FileCheck %s

// CHECK: error: expected a module for a chip; run lnbwd-set-chip before
gpu.module @m {
  gpu.func @any() {
    gpu.return
  }
}
