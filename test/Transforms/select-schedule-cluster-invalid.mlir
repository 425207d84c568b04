// RUN: not lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-select-schedule=schedule=workgroups_per_row=2,threads_per_row=64 2>&1 | FileCheck %s --check-prefix=AMD
// RUN: not lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule=schedule=workgroups_per_row=16,threads_per_row=64 2>&1 | FileCheck %s --check-prefix=CHIP
// RUN: not lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule=schedule=workgroups_per_row=2,threads_per_row=16 2>&1 | FileCheck %s --check-prefix=WAVE
// RUN: not lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule=schedule=workgroups_per_row=4,threads_per_row=64,vector_width=1,stages=2 2>&1 | FileCheck %s --check-prefix=ALIGNED
// RUN: not lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule=schedule=unroll=4,prefetch=0,stages=0 2>&1 | FileCheck %s --check-prefix=UNROLL

// AMD:     error: {{.*}}expected workgroups_per_row of at most 1 on gfx942, got 2
// CHIP:    error: {{.*}}expected workgroups_per_row of at most 8 on sm_90, got 16
// WAVE:    error: {{.*}}expected threads_per_row to be a multiple of the wave size of sm_90, 32, where workgroups_per_row is above 1, got 16
// ALIGNED: error: {{.*}}expected each workgroup's part of a row to be a multiple of 16 bytes where stages is set, got row length 1016 over 4 workgroups; lower workgroups_per_row, or set stages to 0
// UNROLL:  error: {{.*}}expected prefetch 1 where unroll is above 1 and the program has row sums, got unroll 4
func.func @f(%x: memref<?x1016xf32>, %t: memref<?xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x1016xf32>) outs(%t[m] : memref<?xf32>) {
  ^bb0(%xr: vector<1016xf32>):
    %sum = vector.reduction <add>, %xr : vector<1016xf32> into f32
    lnbwd.yield %sum : f32
  }
  return
}
