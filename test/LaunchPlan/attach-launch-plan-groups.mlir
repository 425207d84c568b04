// RUN: lnbwd-opt %s --lnbwd-gpu-pipeline="chip=gfx942 schedule=threads_per_row=64,row_groups=4,vector_width=4,rows_per_workgroup=32,workgroups_per_compute_unit=3" \
// RUN:   | FileCheck %s

// With groups of rows the plan has a second number, their count: workgroups are
// counted for each, kernels get the rows of one, and partial sums of columns are
// those of all.
// CHECK-LABEL: gpu.module @groups_kernels
// CHECK-NEXT:    llvm.mlir.global
// CHECK-SAME:    {\22access\22:\22read\22,\22element\22:\22f32\22,\22kind\22:\22group_column\22,\22name\22:\22scale\22,\22row_length\22:512}
// CHECK-SAME:    {\22access\22:\22write\22,\22element\22:\22f32\22,\22kind\22:\22group_column\22,\22name\22:\22sum\22,\22row_length\22:512}
// CHECK-SAME:    \22workgroup_counts\22:[{\22per_group\22:true,\22rows_per_workgroup\22:32,\22workgroups_per_compute_unit\22:3}]
// CHECK-SAME:    \22workspace\22:[{\22element\22:\22f32\22,\22row_length\22:512,\22rows\22:{\22groups\22:true,\22workgroup_count\22:0}},{\22element\22:\22f32\22,\22row_length\22:512,\22rows\22:{\22groups\22:true,\22workgroup_count\22:0}}]
// CHECK-SAME:    \22grid\22:[{\22workgroup_count\22:0},{{[0-9]+}},{\22groups\22:true}],\22name\22:\22k\22
// CHECK-SAME:    {\22rows_per_group\22:true},{\22workgroup_count\22:0}]
// CHECK-SAME:    \22grid\22:[1,{{[0-9]+}},1],\22name\22:\22k_finalize\22
// CHECK-SAME:    {\22groups\22:true,\22workgroup_count\22:0},{\22constant\22:1}]
// CHECK-SAME:    \22grid\22:[1,{{[0-9]+}},{\22groups\22:true}],\22name\22:\22k_finalize_groups\22
// CHECK-SAME:    {\22workgroup_count\22:0},{\22constant\22:1}]
func.func @groups(%x: memref<?x?x512xf32>, %scale: memref<?x512xf32>, %column: memref<512xf32>, %sum: memref<?x512xf32>) {
  lnbwd.rowwise @k domain(m0, m1 | n) ins(%x[m0, m1, n] : memref<?x?x512xf32>, %scale[m0, n] : memref<?x512xf32>)
      outs(%column[n] add : memref<512xf32>, %sum[m0, n] add : memref<?x512xf32>)
      attributes {operand_names = ["x", "scale", "column", "sum"]} {
  ^row(%xr: vector<512xf32>, %s: vector<512xf32>):
    %p = arith.mulf %xr, %s : vector<512xf32>
    lnbwd.yield %p, %xr : vector<512xf32>, vector<512xf32>
  }
  return
}
