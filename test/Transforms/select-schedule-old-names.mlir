// RUN: lnbwd-opt %s --lnbwd-select-schedule="chip=sm_90 schedule=threads_per_row=64,column_tile=512,early_start=1,row_slices=8" | FileCheck %s
// RUN: lnbwd-opt %s --lnbwd-select-schedule="chip=sm_90 schedule=early_start=1,early_rows=1,early_next=1" | FileCheck %s --check-prefix=EARLY

// Overrides may have the names that fields had in the previous version.

func.func @f(%x: memref<?x4096xf32>, %y: memref<?x4096xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x4096xf32>) outs(%y[m, n] : memref<?x4096xf32>) {
  ^row(%xr: vector<4096xf32>):
    %s = vector.reduction <add>, %xr : vector<4096xf32> into f32
    %v = vector.broadcast %s : f32 to vector<4096xf32>
    %yr = arith.subf %xr, %v : vector<4096xf32>
    lnbwd.yield %yr : vector<4096xf32>
  }
  return
}

// CHECK: dependent_launch = true, row_splits = 8>
// EARLY: dependent_launch = true, prefetch_before_dependency = true, early_trigger = true>
