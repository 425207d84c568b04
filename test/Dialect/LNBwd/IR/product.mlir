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

// CHECK-LABEL: func @precision(
// CHECK:         lnbwd.product @rounded {{.*}} attributes {precision = #lnbwd.precision<tf32>, rhs_transposed}
// CHECK:         lnbwd.product @exact {{.*}} attributes {rhs_transposed}
func.func @precision(%x: memref<?x64xf32>, %w: memref<96x64xf32>, %y: memref<?x96xf32>) {
  lnbwd.product @rounded lhs(%x : memref<?x64xf32>) rhs(%w : memref<96x64xf32>) outs(%y : memref<?x96xf32>)
      attributes {rhs_transposed, precision = #lnbwd.precision<tf32>}
  lnbwd.product @exact lhs(%x : memref<?x64xf32>) rhs(%w : memref<96x64xf32>) outs(%y : memref<?x96xf32>)
      attributes {rhs_transposed, precision = #lnbwd.precision<exact>}
  return
}

// CHECK-LABEL: func @epilogue(
// CHECK:         lnbwd.product @k lhs({{[^)]*}}) rhs({{[^)]*}}) outs(%{{[^)]*}} : memref<?x64xbf16>)
// CHECK-SAME:      attributes {operand_names = ["dy", "w", "dx", "x", "gamma", "rstd"]}
// CHECK-SAME:      epilogue rows(%{{.*}} : memref<?x64xbf16>) columns(%{{.*}} : memref<64xf32>) scalars(%{{.*}} : memref<?xf32>) {
// CHECK-NEXT:    ^bb0(%{{.*}}: vector<64xf32>, %x: vector<64xbf16>, %gamma: vector<64xf32>, %rstd: f32):
// CHECK:           lnbwd.product_yield %{{.*}} : vector<64xbf16>
func.func @epilogue(%dy: memref<?x96xbf16>, %w: memref<96x64xbf16>, %x: memref<?x64xbf16>, %gamma: memref<64xf32>,
                    %rstd: memref<?xf32>, %dx: memref<?x64xbf16>) {
  lnbwd.product @k lhs(%dy : memref<?x96xbf16>) rhs(%w : memref<96x64xbf16>) outs(%dx : memref<?x64xbf16>)
      attributes {operand_names = ["dy", "w", "dx", "x", "gamma", "rstd"]}
      epilogue rows(%x : memref<?x64xbf16>) columns(%gamma : memref<64xf32>) scalars(%rstd : memref<?xf32>) {
  ^row(%dz: vector<64xf32>, %xr: vector<64xbf16>, %g: vector<64xf32>, %r: f32):
    %wdy = arith.mulf %dz, %g : vector<64xf32>
    %spread = vector.broadcast %r : f32 to vector<64xf32>
    %wide = arith.extf %xr : vector<64xbf16> to vector<64xf32>
    %sum = vector.fma %wdy, %spread, %wide : vector<64xf32>
    %dxr = arith.truncf %sum : vector<64xf32> to vector<64xbf16>
    lnbwd.product_yield %dxr : vector<64xbf16>
  }
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
