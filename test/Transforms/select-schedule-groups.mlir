// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule --split-input-file | FileCheck %s
// RUN: not lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule=schedule=stages=2,row_groups=2,threads_per_row=32,prefetch=1 --split-input-file 2>&1 \
// RUN:   | FileCheck %s --check-prefix=STAGED

// A bulk copy begins at a multiple of 16 bytes, and the groups of rows that are
// none do not: they come through registers.
// CHECK-LABEL: func @ragged_rows(
// CHECK:         schedule = #lnbwd.schedule<
// CHECK-NOT:     stages =
// CHECK:       }
// STAGED: error: {{.*}}expected stages 0 for groups of rows of 8012 bytes: a bulk copy begins at a multiple of 16, and not every group does
func.func @ragged_rows(%x: memref<?x?x2003xf32>, %s: memref<?x2003xf32>, %t: memref<?x?xf32>) {
  lnbwd.rowwise @k domain(m0, m1 | n) ins(%x[m0, m1, n] : memref<?x?x2003xf32>, %s[m0, n] : memref<?x2003xf32>) outs(%t[m0, m1] : memref<?x?xf32>) {
  ^bb0(%xr: vector<2003xf32>, %sr: vector<2003xf32>):
    %p = arith.mulf %xr, %sr : vector<2003xf32>
    %sum = vector.reduction <add>, %p : vector<2003xf32> into f32
    lnbwd.yield %sum : f32
  }
  return
}

// -----

// Others may be staged.
// CHECK-LABEL: func @even_rows(
// CHECK:         schedule =
// STAGED-NOT: error
// STAGED-LABEL: func.func @even_rows(
// STAGED:        stages = 2
func.func @even_rows(%x: memref<?x?x2048xf32>, %s: memref<?x2048xf32>, %t: memref<?x?xf32>) {
  lnbwd.rowwise @k domain(m0, m1 | n) ins(%x[m0, m1, n] : memref<?x?x2048xf32>, %s[m0, n] : memref<?x2048xf32>) outs(%t[m0, m1] : memref<?x?xf32>) {
  ^bb0(%xr: vector<2048xf32>, %sr: vector<2048xf32>):
    %p = arith.mulf %xr, %sr : vector<2048xf32>
    %sum = vector.reduction <add>, %p : vector<2048xf32> into f32
    lnbwd.yield %sum : f32
  }
  return
}

// -----

// No more rows side by side than a group has, and all of them for one workgroup.
// CHECK-LABEL: func @few_rows(
// CHECK:         row_groups = 2,
// CHECK-SAME:    rows_per_workgroup = 0,
func.func @few_rows(%x: memref<4x3x256xf32>, %s: memref<4x256xf32>) {
  lnbwd.rowwise @k domain(m0, m1 | n) ins(%x[m0, m1, n] : memref<4x3x256xf32>) outs(%s[m0, n] add : memref<4x256xf32>) {
  ^bb0(%xr: vector<256xf32>):
    %sum = vector.reduction <add>, %xr : vector<256xf32> into f32
    %v = vector.broadcast %sum : f32 to vector<256xf32>
    lnbwd.yield %v : vector<256xf32>
  }
  return
}
