// RUN: lnbwd-opt %s --lnbwd-pipeline=chip=gfx942 --emit=llvm | FileCheck %s
// RUN: lnbwd-opt %s --lnbwd-pipeline=chip=gfx1201 --emit=llvm | FileCheck %s

// LLVM's instruction selection would never end if each lane widened a vector of
// one element.
// CHECK-NOT: zext {{.*}}<1 x
// CHECK: zext {{.*}}i64
// CHECK-NOT: zext {{.*}}<1 x
func.func @places(%x: memref<1x33xi64>, %y: memref<1x33x17xi64>) {
  lnbwd.rowwise @places domain(m | n0, n1)
      ins(%x[m, n0] : memref<1x33xi64>) outs(%y[m, n0, n1] : memref<1x33x17xi64>) {
  ^row(%row: vector<561xi64>):
    %length = arith.constant 17 : i64
    %lengths = vector.broadcast %length : i64 to vector<561xi64>
    %begin = arith.muli %row, %lengths : vector<561xi64>
    %column = lnbwd.index 2 : vector<561xi32>
    %wide = arith.extui %column : vector<561xi32> to vector<561xi64>
    %place = arith.addi %begin, %wide : vector<561xi64>
    lnbwd.yield %place : vector<561xi64>
  }
  return
}
