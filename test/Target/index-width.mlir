// RUN: lnbwd-opt %s --lnbwd-pipeline="chip=gfx942 schedule=threads_per_row=32,row_groups=1,vector_width=4,prefetch=0,rows_per_workgroup=2,workgroups_per_compute_unit=1" --emit=llvm | FileCheck %s
// RUN: lnbwd-opt %s --lnbwd-pipeline="chip=gfx1100 schedule=threads_per_row=32,row_groups=1,vector_width=4,prefetch=0,rows_per_workgroup=2,workgroups_per_compute_unit=1" --emit=llvm | FileCheck %s
// RUN: lnbwd-opt %s --lnbwd-pipeline="chip=sm_90 schedule=threads_per_row=32,row_groups=1,vector_width=4,prefetch=0,rows_per_workgroup=2,workgroups_per_compute_unit=1" --emit=llvm | FileCheck %s

// Rows are counted in 64 bits, and so is their place in memory: M * N may well
// exceed 32 bits.
// CHECK-LABEL: @layer_norm_bwd(
// CHECK-NOT:   trunc {{.*}}i64 {{.*}} to i32
// CHECK:       %[[ROW:[0-9]+]] = phi i64
// CHECK-NOT:   trunc {{.*}}i64 {{.*}} to i32
// CHECK:       %[[OFFSET:[0-9]+]] = shl {{.*}}i64 %[[ROW]], 8
// CHECK:       %[[INDEX:[0-9]+]] = {{or disjoint|add[a-z ]*}} i64 %[[OFFSET]], %
// CHECK:       getelementptr {{.*}}, i64 %[[INDEX]]
// CHECK-NOT:   trunc {{.*}}i64 {{.*}} to i32
// CHECK:       ret void
func.func @f(%dy: memref<?x256xf32>, %x: memref<?x256xf32>, %s: memref<?xf32>, %dx: memref<?x256xf32>) {
  lnbwd.layer_norm_bwd dy(%dy : memref<?x256xf32>) x(%x : memref<?x256xf32>) mean(%s : memref<?xf32>)
      rstd(%s : memref<?xf32>) outs dx(%dx : memref<?x256xf32>)
  return
}

// The same where rows lie apart, and for the other operations.
// RUN: lnbwd-opt %S/Inputs/strided-rows.mlir --lnbwd-pipeline="chip=gfx942 schedule=threads_per_row=64,row_groups=1,vector_width=4,prefetch=0,rows_per_workgroup=2,workgroups_per_compute_unit=1" --emit=llvm | FileCheck %s --check-prefix=STRIDED
// RUN: lnbwd-opt %S/Inputs/strided-rows.mlir --lnbwd-pipeline="chip=sm_90 schedule=threads_per_row=64,row_groups=1,vector_width=4,prefetch=0,rows_per_workgroup=2,workgroups_per_compute_unit=1" --emit=llvm | FileCheck %s --check-prefix=STRIDED
// STRIDED-LABEL: @rms_norm(
// STRIDED-NOT:   trunc {{.*}}i64 {{.*}} to i32
// STRIDED:       phi i64
// STRIDED-NOT:   trunc {{.*}}i64 {{.*}} to i32
// STRIDED:       mul {{.*}}i64 %{{[0-9]+}}, {{320|1280}}
// STRIDED-NOT:   trunc {{.*}}i64 {{.*}} to i32
// STRIDED:       ret void
