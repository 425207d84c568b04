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
  lnbwd.product @f lhs(%x : memref<?x768xbf16>) rhs(%w : memref<2304x768xbf16>) outs(%y : memref<?x2304xf32>)
      attributes {rhs_transposed}
  return
}
