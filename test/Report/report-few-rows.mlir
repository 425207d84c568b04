// RUN: lnbwd-opt %s --lnbwd-pipeline="chip=gfx942 few-rows=always" --emit=report --rows=20 | FileCheck %s

// One workgroup goes around over 16 rows at once, and asks for the matrix once.
// CHECK:      @k for gfx942 {{.*}}, 20 rows of 16
// CHECK:      kernel @k{{$}}
// CHECK-NEXT:   loop                      2 iterations of 16 rows, in 1 part
// CHECK-NEXT:   launch                    1 workgroups of {{[0-9]+}} work-items
// CHECK:        instructions              of waves, and of one per iteration of the loop
// CHECK-NOT:    multiply-adds
// 20 rows of 8 and of 16, and 16 x 8 elements, of 4 bytes.
// CHECK:        bytes by the plan         2432
func.func @k(%x: memref<?x8xf32>, %w: memref<16x8xf32>, %y: memref<?x16xf32>) {
  lnbwd.rowwise @k domain(m | n0, n1) ins(%x[m, n0] : memref<?x8xf32>, %w[n1, n0] : memref<16x8xf32>) outs(%y[m, n1] : memref<?x16xf32>)
      attributes {operand_names = ["x", "w", "y"]} {
  ^row(%xr: vector<8xf32>, %wm: vector<16x8xf32>):
    %p = lnbwd.linear %xr, %wm : vector<8xf32>, vector<16x8xf32>
    lnbwd.yield %p : vector<16xf32>
  }
  return
}
