// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule | FileCheck %s
// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-select-schedule | FileCheck %s --check-prefix=AMD
// RUN: lnbwd-opt %s --lnbwd-pipeline=chip=sm_90 | FileCheck %s --check-prefix=KERNEL

// A workgroup has all rows of a short group, of a tile of columns: there are no partial sums, and no kernel that adds
// them up.

// CHECK-LABEL: lnbwd.rowwise @mean
// CHECK-SAME:  rows_per_workgroup = 0
// CHECK-SAME:  column_tile = {{[1-9]}}
// AMD-LABEL:   lnbwd.rowwise @mean
// AMD-SAME:    rows_per_workgroup = 0
// AMD-SAME:    column_tile = {{[1-9]}}
// CHECK-LABEL: lnbwd.rowwise @written
// CHECK-SAME:  rows_per_workgroup = 0
// CHECK-SAME:  column_tile = {{[1-9]}}
// KERNEL:      llvm.func @{{.*}}nvvm.kernel
// KERNEL:      llvm.func @{{.*}}nvvm.kernel
// KERNEL-NOT:  nvvm.kernel
func.func @mean(%x: memref<32x49x2304xbf16>, %y: memref<32x2304xf32>) {
  lnbwd.rowwise @mean domain(b, t | n)
      ins(%x[b, t, n] : memref<32x49x2304xbf16>) outs(%y[b, n] add : memref<32x2304xf32>) {
  ^row(%xr: vector<2304xbf16>):
    %0 = arith.extf %xr : vector<2304xbf16> to vector<2304xf32>
    lnbwd.yield %0 : vector<2304xf32>
  }
  return
}
func.func @written(%x: memref<32x49x512xf32>, %y: memref<32x49x512xf32>, %s: memref<32x512xf32>) {
  lnbwd.rowwise @written domain(b, t | n)
      ins(%x[b, t, n] : memref<32x49x512xf32>)
      outs(%y[b, t, n] : memref<32x49x512xf32>, %s[b, n] add : memref<32x512xf32>) {
  ^row(%xr: vector<512xf32>):
    %0 = math.absf %xr : vector<512xf32>
    lnbwd.yield %0, %0 : vector<512xf32>, vector<512xf32>
  }
  return
}
