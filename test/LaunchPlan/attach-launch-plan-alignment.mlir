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

// A number for each row, the rows of a matrix apart, is read by itself.

// CHECK: {\22access\22:\22read\22,\22alignment\22:4,\22element\22:\22f32\22,\22kind\22:\22column\22,\22name\22:\22first\22
func.func @first_of_rows(%x: memref<64x128xf32>, %first: memref<64xf32, strided<[96]>>, %y: memref<64x128xf32>) {
  lnbwd.rowwise @first_of_rows domain(m | n)
      ins(%x[m, n] : memref<64x128xf32>, %first[m] : memref<64xf32, strided<[96]>>)
      outs(%y[m, n] : memref<64x128xf32>)
      attributes {operand_names = ["x", "first", "y"]} {
  ^row(%xr: vector<128xf32>, %f: f32):
    %all = vector.broadcast %f : f32 to vector<128xf32>
    %sum = arith.addf %xr, %all : vector<128xf32>
    lnbwd.yield %sum : vector<128xf32>
  }
  return
}
