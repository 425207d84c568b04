// RUN: lnbwd-opt %s --lnbwd-pipeline=chip=gfx1151 --emit=report --rows=512 | FileCheck %s
// RUN: lnbwd-opt %s --lnbwd-pipeline=chip=gfx1151 --emit=report-json --rows=512 | FileCheck %s --check-prefix=JSON
// RUN: lnbwd-opt %s --lnbwd-pipeline=chip=gfx1030 --emit=report --rows=512 | FileCheck %s --check-prefix=NONE

// A chip whose data sheet does not say what its matrix instructions do in a
// clock, and one that has none.
// CHECK: least time, us {{.*}}, unknown for matrix instructions
// CHECK: bound by memory
// JSON: "multiplied_as": "bf16"
// JSON: "matrix_seconds": null
// NONE: least time, us
// NONE-NOT: matrix instructions
func.func @f(%x: memref<?x768xbf16>, %w: memref<2304x768xbf16>, %y: memref<?x2304xf32>) {
  lnbwd.rowwise @f domain(m | n0, n1) ins(%x[m, n0] : memref<?x768xbf16>, %w[n1, n0] : memref<2304x768xbf16>)
      outs(%y[m, n1] : memref<?x2304xf32>) {
  ^row(%xr: vector<768xbf16>, %wm: vector<2304x768xbf16>):
    %p = lnbwd.linear %xr, %wm : vector<768xbf16>, vector<2304x768xbf16>
    lnbwd.yield %p : vector<2304xf32>
  }
  return
}
