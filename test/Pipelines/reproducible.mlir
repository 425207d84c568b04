// RUN: lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-gpu-pipeline="chip=gfx942 reproducible=true" | FileCheck %s --check-prefixes=CHECK,FIXED
// RUN: lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-gpu-pipeline="chip=gfx942" | FileCheck %s --check-prefixes=CHECK,DEVICE
// RUN: lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-gpu-pipeline="chip=sm_90 reproducible=true schedule=workgroups_per_row=2,threads_per_row=32,row_groups=4,rows_per_workgroup=16,workgroups_per_compute_unit=2,stages=0,prefetch=0" | FileCheck %s --check-prefix=SHARED
// RUN: lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-gpu-pipeline="chip=sm_90 order=canonical schedule=threads_per_row=64,row_groups=2" | FileCheck %s --check-prefix=PARTS

// The grid of the program that leaves partial sums is a number of the plan, and
// that of the MI300X's 304 compute units.
// CHECK-LABEL: gpu.module @layer_norm_bwd_kernels
// CHECK-NEXT:    llvm.mlir.global
// FIXED-SAME:    \22workgroup_counts\22:[{\22max_workgroups\22:304,\22rows_per_workgroup\22:[[#]],\22workgroups_per_compute_unit\22:0}]
// DEVICE-SAME:   \22workgroup_counts\22:[{\22rows_per_workgroup\22:[[#]],\22workgroups_per_compute_unit\22:1}]
// FIXED:       lnbwd.workgroup_count {{.*}} {fixed_workgroups = 304 : i64}

// Workgroups that share rows count as one: 2 on each of the H200's 132 compute
// units, in pairs.
// SHARED: \22max_workgroups\22:132,\22rows_per_workgroup\22:16,\22workgroups_per_compute_unit\22:0,\22workgroups_per_row\22:2
// SHARED: lnbwd.workgroup_count {{.*}} {fixed_workgroups = 132 : i64}

// A leaf of the canonical order has 8 chains, of which a workgroup takes 2: a
// device with fewer compute units has a workgroup for each part all the same.
// PARTS: \22least_workgroups\22:4,\22rows_per_workgroup\22:2,\22workgroups_per_compute_unit\22:
