// RUN: lnbwd-opt %s --lnbwd-pipeline="chip=gfx942 float32-products=tf32" --emit=isa | FileCheck %s
// RUN: lnbwd-opt %s --lnbwd-pipeline=chip=gfx942 --emit=isa | FileCheck %s --check-prefix=EXACT
// RUN: not lnbwd-opt %s --lnbwd-pipeline="chip=gfx90a float32-products=tf32" --emit=isa 2>&1 | FileCheck %s --check-prefix=CHIP
// RUN: not lnbwd-opt %s --lnbwd-pipeline="chip=gfx942 float32-products=fast" 2>&1 | FileCheck %s --check-prefix=MODE

// What is asked for of a pipeline is asked for of its products; nothing is
// rounded that was not asked for, and nothing is left exact in silence.
// CHECK: v_mfma_f32_16x16x8_xf32
// EXACT-NOT: _xf32
// EXACT: v_mfma_f32_16x16x4_f32
// EXACT-NOT: _xf32
// CHIP: error: {{.*}}cannot have the precision tf32: gfx90a has no matrix instruction that rounds float32 to it, expected one of gfx942,
// MODE: error: loc("option float32-products"): expected float32-products to be exact or tf32, got 'fast'
func.func @k(%x: memref<?x64xf32>, %b: memref<96xf32>, %w: memref<96x64xf32>, %y: memref<?x96xf32>) {
  lnbwd.rowwise @k domain(m | n0, n1) ins(%x[m, n0] : memref<?x64xf32>, %b[n1] : memref<96xf32>, %w[n1, n0] : memref<96x64xf32>)
      outs(%y[m, n1] : memref<?x96xf32>) attributes {operand_names = ["x", "b", "w", "y"]} {
  ^row(%xr: vector<64xf32>, %br: vector<96xf32>, %wm: vector<96x64xf32>):
    %p = lnbwd.linear %xr, %wm : vector<64xf32>, vector<96x64xf32>
    %yr = arith.addf %p, %br : vector<96xf32>
    lnbwd.yield %yr : vector<96xf32>
  }
  return
}
