// RUN: lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-gpu-pipeline="chip=gfx942 reproducible=true schedule=workgroups_per_compute_unit=0,rows_per_workgroup=64" | FileCheck %s

// A grid without a bound depends on no device, only on M: nothing has to be
// fixed, and it is not one workgroup.
// CHECK-LABEL: gpu.module @layer_norm_bwd_kernels
// CHECK-NEXT:    llvm.mlir.global
// CHECK-SAME:    \22workgroup_counts\22:[{\22max_workgroups\22:{{[0-9]+}},\22rows_per_workgroup\22:64,\22workgroups_per_compute_unit\22:0}]
// CHECK-NOT:     fixed_workgroups
