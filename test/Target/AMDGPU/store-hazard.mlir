// RUN: lnbwd-opt %s --lnbwd-pipeline="chip=gfx942 schedule=threads_per_row=16,row_groups=2,prefetch=0,workgroups_per_compute_unit=4" --emit=isa | FileCheck %s
// RUN: lnbwd-opt %s --lnbwd-pipeline="chip=gfx90a schedule=threads_per_row=16,row_groups=2,prefetch=0,workgroups_per_compute_unit=4" --emit=isa | FileCheck %s --check-prefix=NONE

// Two wait states lie between the store and the load that overwrites its data
// in the next iteration, of which the branch to it is one.

// CHECK:      global_store_dwordx4
// CHECK-NEXT: s_nop 0
// CHECK-NEXT: s_cbranch_vccnz
// CHECK-NEXT: s_branch

// NONE-NOT:   s_nop 0{{[[:space:]]+}}s_cbranch_vccnz

func.func @groups(%x: memref<3x5x64xf32>, %scale: memref<3x64xf32>,
                  %shift: memref<3x64xf32, strided<[128, 1]>>,
                  %y: memref<3x5x64xf32>, %sum: memref<3x64xf32>) {
  lnbwd.rowwise @groups domain(b, m | n)
      ins(%x[b, m, n] : memref<3x5x64xf32>,
          %shift[b, n] : memref<3x64xf32, strided<[128, 1]>>,
          %scale[b, n] : memref<3x64xf32>)
      outs(%y[b, m, n] : memref<3x5x64xf32>, %sum[b, n] add : memref<3x64xf32>) {
  ^row(%row: vector<64xf32>, %b: vector<64xf32>, %a: vector<64xf32>):
    %total = vector.reduction <add>, %row : vector<64xf32> into f32
    %factor = math.rsqrt %total : f32
    %factors = vector.broadcast %factor : f32 to vector<64xf32>
    %normed = arith.mulf %row, %factors : vector<64xf32>
    %scaled = arith.mulf %normed, %a : vector<64xf32>
    %shifted = arith.addf %scaled, %b : vector<64xf32>
    lnbwd.yield %shifted, %shifted : vector<64xf32>, vector<64xf32>
  }
  return
}
