// RUN: lnbwd-opt %s --lnbwd-lower-to-rowwise --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule --split-input-file | FileCheck %s

// With column sums, the kernel that adds them up follows, which gains nothing.
// CHECK-LABEL: func.func @sums(
// CHECK:         dependent_launch = true>
func.func @sums(%x: memref<?x4096xf32>, %y: memref<?x4096xf32>, %s: memref<4096xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x4096xf32>) outs(%y[m, n] : memref<?x4096xf32>, %s[n] add : memref<4096xf32>) {
  ^bb0(%xr: vector<4096xf32>):
    %sum = vector.reduction <add>, %xr : vector<4096xf32> into f32
    %spread = vector.broadcast %sum : f32 to vector<4096xf32>
    %yr = arith.subf %xr, %spread : vector<4096xf32>
    lnbwd.yield %yr, %xr : vector<4096xf32>, vector<4096xf32>
  }
  return
}

// -----

// A workgroup for each tile of rows: where waves share a row, and not where
// each has some.
// CHECK-LABEL: func.func @waves(
// CHECK:         threads_per_row = 128, {{.*}}workgroups_per_compute_unit = 0, {{.*}}prefetch_before_dependency = true, late_columns = true>
// CHECK-LABEL: func.func @wave(
// CHECK:         threads_per_row = 32, {{.*}}workgroups_per_compute_unit = 0, dependent_launch = true>
func.func @waves(%x: memref<8192x4096xbf16>, %y: memref<8192x4096xbf16>, %rstd: memref<8192xf32>) {
  lnbwd.rms_norm x(%x : memref<8192x4096xbf16>) outs y(%y : memref<8192x4096xbf16>) rstd(%rstd : memref<8192xf32>) {epsilon = 1.0e-5 : f64}
  return
}
func.func @wave(%x: memref<65536x768xbf16>, %y: memref<65536x768xbf16>, %rstd: memref<65536xf32>) {
  lnbwd.rms_norm x(%x : memref<65536x768xbf16>) outs y(%y : memref<65536x768xbf16>) rstd(%rstd : memref<65536xf32>) {epsilon = 1.0e-5 : f64}
  return
}

// -----

// Rows that clusters share, and column tiles.
// CHECK-LABEL: func.func @cluster(
// CHECK:         workgroups_per_row = {{[248]}}
// CHECK-NOT:     prefetch_before_dependency
// CHECK-LABEL: func.func @tiles(
// CHECK:         column_tile =
// CHECK-NOT:     prefetch_before_dependency
// CHECK:         return
func.func @cluster(%x: memref<1024x16384xf32>, %y: memref<1024x16384xf32>, %s: memref<16384xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<1024x16384xf32>) outs(%y[m, n] : memref<1024x16384xf32>, %s[n] add : memref<16384xf32>) {
  ^bb0(%xr: vector<16384xf32>):
    %sum = vector.reduction <add>, %xr : vector<16384xf32> into f32
    %spread = vector.broadcast %sum : f32 to vector<16384xf32>
    %yr = arith.subf %xr, %spread : vector<16384xf32>
    lnbwd.yield %yr, %xr : vector<16384xf32>, vector<16384xf32>
  }
  return
}
func.func @tiles(%x: memref<64x4096xf32>, %s: memref<4096xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<64x4096xf32>) outs(%s[n] add : memref<4096xf32>) {
  ^bb0(%xr: vector<4096xf32>):
    lnbwd.yield %xr : vector<4096xf32>
  }
  return
}

// -----

// With too few registers another one is chosen.
// CHECK-LABEL: func.func @spills(
// CHECK-NOT:     #lnbwd.schedule<threads_per_row = 128, row_groups = 1,
// CHECK:         dependent_launch = true, prefetch_before_dependency = true, late_columns = true>
module attributes {lnbwd.rejected_schedules = {k = [#lnbwd.schedule<threads_per_row = 128, row_groups = 1, vector_width = 8, rows_per_workgroup = 1, workgroups_per_compute_unit = 0, dependent_launch = true, prefetch_before_dependency = true>, #lnbwd.schedule<threads_per_row = 128, row_groups = 1, vector_width = 8, rows_per_workgroup = 1, workgroups_per_compute_unit = 0, dependent_launch = true>]}} {
  func.func @spills(%x: memref<8192x4096xbf16>, %y: memref<8192x4096xbf16>) {
    lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<8192x4096xbf16>) outs(%y[m, n] : memref<8192x4096xbf16>) {
    ^bb0(%xr: vector<4096xbf16>):
      %wide = arith.extf %xr : vector<4096xbf16> to vector<4096xf32>
      %sum = vector.reduction <add>, %wide : vector<4096xf32> into f32
      %spread = vector.broadcast %sum : f32 to vector<4096xf32>
      %yr = arith.subf %wide, %spread : vector<4096xf32>
      %narrow = arith.truncf %yr : vector<4096xf32> to vector<4096xbf16>
      lnbwd.yield %narrow : vector<4096xbf16>
    }
    return
  }
}
