// RUN: not lnbwd-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(lnbwd-peel-last-rows{chip=gfx000})))' 2>&1 | FileCheck %s

// CHECK: error: loc("option chip"): unknown chip 'gfx000', expected one of: gfx908
gpu.module @m {
  gpu.func @any() {
    gpu.return
  }
}
