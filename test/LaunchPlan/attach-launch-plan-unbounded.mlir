// RUN: lnbwd-opt %s --lnbwd-gpu-pipeline="chip=gfx942 schedule=threads_per_row=64,row_groups=4,rows_per_workgroup=8,workgroups_per_compute_unit=0,prefetch=0,unroll=1" \
// RUN:   | FileCheck %s --check-prefixes=CHECK,AMD
// RUN: lnbwd-opt %s --lnbwd-gpu-pipeline="chip=sm_90 schedule=threads_per_row=32,row_groups=1,rows_per_workgroup=2,workgroups_per_compute_unit=0,prefetch=0,unroll=1,stages=0" \
// RUN:   | FileCheck %s --check-prefixes=CHECK,NVIDIA
// RUN: lnbwd-opt %s --lnbwd-gpu-pipeline="chip=gfx942 schedule=threads_per_row=64,row_groups=4,rows_per_workgroup=4,workgroups_per_compute_unit=0,prefetch=0,unroll=1" \
// RUN:   | FileCheck %s --check-prefixes=CHECK,ONCE

// Workgroups for two tiles of rows each, however many rows there are: as many
// as a launch takes, which are 2^32 - 1 work-items, or 2^31 - 1 workgroups.
// Their loop takes what is beyond; a workgroup for each set has no loop, and no
// such bound.
// CHECK-LABEL: gpu.module @forward_kernels
// CHECK-NEXT:    llvm.mlir.global
// AMD-SAME:      \22workgroup_counts\22:[{\22max_workgroups\22:16777215,\22rows_per_workgroup\22:8,\22workgroups_per_compute_unit\22:0}]
// NVIDIA-SAME:   \22workgroup_counts\22:[{\22max_workgroups\22:134217727,\22rows_per_workgroup\22:2,\22workgroups_per_compute_unit\22:0}]
// ONCE-SAME:     \22workgroup_counts\22:[{\22rows_per_workgroup\22:4,\22workgroups_per_compute_unit\22:0}]
func.func @forward(%x: memref<?x512xbf16>, %y: memref<?x512xbf16>, %rstd: memref<?xf32>) {
  lnbwd.rms_norm x(%x : memref<?x512xbf16>) outs y(%y : memref<?x512xbf16>) rstd(%rstd : memref<?xf32>) {epsilon = 1.0e-5 : f64}
  return
}
