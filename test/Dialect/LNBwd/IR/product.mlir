// RUN: lnbwd-opt %s | lnbwd-opt | FileCheck %s
// RUN: lnbwd-opt %s --mlir-print-op-generic | lnbwd-opt | FileCheck %s

// CHECK-LABEL: func @forms(
// CHECK:         lnbwd.product @nt lhs(%{{.*}} : memref<?x64xbf16>) rhs(%{{.*}} : memref<96x64xbf16>)
// CHECK-SAME:      outs(%{{.*}} : memref<?x96xf32>) attributes {rhs_transposed}
// CHECK:         lnbwd.product @nn lhs(%{{.*}} : memref<?x96xf32>) rhs(%{{.*}} : memref<96x64xbf16>)
// CHECK-SAME:      outs(%{{.*}} : memref<?x64xf32>){{$}}
// CHECK:         lnbwd.product @tn {{.*}} outs(%{{.*}} : memref<96x64xf32>) attributes {lhs_transposed,
// CHECK-SAME:      operand_names = ["dy", "x", "dw"]
func.func @forms(%x: memref<?x64xbf16>, %w: memref<96x64xbf16>, %y: memref<?x96xf32>, %dx: memref<?x64xf32>,
                 %dw: memref<96x64xf32>) {
  lnbwd.product @nt lhs(%x : memref<?x64xbf16>) rhs(%w : memref<96x64xbf16>) outs(%y : memref<?x96xf32>)
      attributes {rhs_transposed}
  lnbwd.product @nn lhs(%y : memref<?x96xf32>) rhs(%w : memref<96x64xbf16>) outs(%dx : memref<?x64xf32>)
  lnbwd.product @tn lhs(%y : memref<?x96xf32>) rhs(%x : memref<?x64xbf16>) outs(%dw : memref<96x64xf32>)
      attributes {lhs_transposed, operand_names = ["dy", "x", "dw"]}
  return
}

// Sums are rounded to the output's type; parts of them are not.
// CHECK-LABEL: func @rounded(
// CHECK:         lnbwd.product @whole {{.*}} outs(%{{.*}} : memref<96x64xbf16>) attributes {lhs_transposed}
// CHECK:         lnbwd.product @apart {{.*}} outs(%{{.*}} : memref<4x96x64xf32>) attributes {lhs_transposed, parts = 4 : i64}
func.func @rounded(%dy: memref<?x96xbf16>, %x: memref<?x64xbf16>, %dw: memref<96x64xbf16>, %parts: memref<4x96x64xf32>) {
  lnbwd.product @whole lhs(%dy : memref<?x96xbf16>) rhs(%x : memref<?x64xbf16>) outs(%dw : memref<96x64xbf16>)
      attributes {lhs_transposed}
  lnbwd.product @apart lhs(%dy : memref<?x96xbf16>) rhs(%x : memref<?x64xbf16>) outs(%parts : memref<4x96x64xf32>)
      attributes {lhs_transposed, parts = 4}
  return
}
