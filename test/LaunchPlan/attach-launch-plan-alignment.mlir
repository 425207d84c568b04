// RUN: lnbwd-opt %s --lnbwd-gpu-pipeline="chip=gfx942" | FileCheck %s
// RUN: lnbwd-opt %s --lnbwd-gpu-pipeline="chip=sm_90" | FileCheck %s

// Pieces of 12 elements are read by 8 bytes, so that they may begin at multiples
// of these; rows are read by more.

// CHECK: \22arguments\22:[{\22access\22:\22read\22,\22alignment\22:8,\22element\22:\22bf16\22,\22kind\22:\22column\22,\22name\22:\22x\22
// CHECK-SAME: {\22access\22:\22write\22,\22element\22:\22bf16\22,\22kind\22:\22row_block\22,\22name\22:\22y\22
func.func @pieces(%x: memref<64x8x12xbf16, strided<[192, 24, 1]>>, %y: memref<64x8x12xbf16>) {
  lnbwd.rowwise @pieces domain(m | n0, n1)
      ins(%x[m, n0, n1] : memref<64x8x12xbf16, strided<[192, 24, 1]>>)
      outs(%y[m, n0, n1] : memref<64x8x12xbf16>)
      attributes {operand_names = ["x", "y"]} {
  ^row(%xr: vector<96xbf16>):
    lnbwd.yield %xr : vector<96xbf16>
  }
  return
}
