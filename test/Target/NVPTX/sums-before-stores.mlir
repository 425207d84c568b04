// What is added to column sums is added before a lane waits for the row sum,
// not after it has stored the row, where values are quantised: meanwhile lanes
// would hold the terms.

// RUN: lnbwd-opt %s --emit=ptx -o - \
// RUN:   --lnbwd-pipeline="chip=sm_90 schedule=threads_per_row=96,row_groups=1,vector_width=4,stages=2" \
// RUN:   | FileCheck %s

// CHECK-LABEL: .entry quantised(
// CHECK: mbarrier.try_wait
// CHECK-COUNT-4: fma.rn.f32
// CHECK: bar.sync
// CHECK-NOT: fma.rn.f32
// CHECK: st.global
// CHECK-NOT: fma.rn.f32
// CHECK: bra
func.func @quantised(%x: memref<?x368xf32>, %y: memref<?x368xf8E4M3FN>,
                     %squares: memref<368xf32>) {
  lnbwd.rowwise @quantised domain(m | n) ins(%x[m, n] : memref<?x368xf32>)
      outs(%y[m, n] : memref<?x368xf8E4M3FN>, %squares[n] add : memref<368xf32>)
      attributes {operand_names = ["x", "y", "squares"]} {
  ^row(%row: vector<368xf32>):
    %square = arith.mulf %row, %row fastmath<contract> : vector<368xf32>
    %sum = vector.reduction <add>, %row : vector<368xf32> into f32
    %all = vector.broadcast %sum : f32 to vector<368xf32>
    %centred = arith.subf %row, %all : vector<368xf32>
    %rounded = arith.truncf %centred : vector<368xf32> to vector<368xf8E4M3FN>
    lnbwd.yield %rounded, %square : vector<368xf8E4M3FN>, vector<368xf32>
  }
  return
}
