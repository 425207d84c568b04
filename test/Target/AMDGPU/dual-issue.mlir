// RUN: lnbwd-opt %s --lnbwd-pipeline="chip=gfx1250" --emit=isa | FileCheck %s --implicit-check-not=v_dual
// RUN: lnbwd-opt %s --lnbwd-pipeline="chip=gfx1201" --emit=isa | FileCheck %s --check-prefix=DUAL

// LLVM 22 keeps no distance between gfx1250's products and dual instructions.

// CHECK: v_wmma_f32_16x16x32_bf16
// DUAL:  v_dual_

func.func @f(%a: memref<?x4096xbf16>, %b: memref<4096x4096xbf16>, %c: memref<?x4096xf32>) {
  lnbwd.rowwise @f domain(m | n0, n1) ins(%a[m, n0] : memref<?x4096xbf16>, %b[n1, n0] : memref<4096x4096xbf16>)
      outs(%c[m, n1] : memref<?x4096xf32>)
      attributes {operand_names = ["a", "b", "c"]} {
  ^row(%ar: vector<4096xbf16>, %br: vector<4096x4096xbf16>):
    %p = lnbwd.linear %ar, %br : vector<4096xbf16>, vector<4096x4096xbf16>
    lnbwd.yield %p : vector<4096xf32>
  }
  return
}
