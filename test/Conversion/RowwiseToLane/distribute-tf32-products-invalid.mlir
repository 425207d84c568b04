// RUN: lnbwd-opt %s --lnbwd-distribute-rows=chip=gfx950 --verify-diagnostics
// RUN: not lnbwd-opt %s --lnbwd-distribute-rows=chip=gfx90a 2>&1 | FileCheck %s --check-prefix=MFMA
// RUN: not lnbwd-opt %s --lnbwd-distribute-rows=chip=gfx1100 2>&1 | FileCheck %s --check-prefix=WMMA
// RUN: not lnbwd-opt %s --lnbwd-distribute-rows=chip=gfx1030 2>&1 | FileCheck %s --check-prefix=NONE

// MFMA: error: {{.*}} cannot have the precision tf32: gfx90a has
// WMMA: error: {{.*}} cannot have the precision tf32: gfx1100 has
// NONE: error: {{.*}} cannot have the precision tf32: gfx1030 has
func.func @f(%x: memref<?x64xf32>, %w: memref<96x64xf32>, %y: memref<?x96xf32>) {
  // expected-error@+1 {{cannot have the precision tf32: gfx950 has no matrix instruction that rounds float32 to it, expected one of gfx942, sm_80, sm_86, sm_89, sm_90, sm_100, sm_120; or leave float32-products=tf32 out}}
  lnbwd.product @k lhs(%x : memref<?x64xf32>) rhs(%w : memref<96x64xf32>) outs(%y : memref<?x96xf32>)
      attributes {rhs_transposed, precision = #lnbwd.precision<tf32>}
  return
}
