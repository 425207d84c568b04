// RUN: not lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-select-schedule=schedule=stages=2 2>&1 | FileCheck %s --check-prefix=AMD
// RUN: not lnbwd-opt %s --lnbwd-set-chip=chip=sm_80 --lnbwd-select-schedule=schedule=stages=2 2>&1 | FileCheck %s --check-prefix=SM80
// RUN: not lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-select-schedule=schedule=dependent_launch=1 2>&1 | FileCheck %s --check-prefix=EARLY
// RUN: not lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-select-schedule=schedule=prefetch_before_dependency=1 2>&1 | FileCheck %s --check-prefix=ROWS
// RUN: not lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule=schedule=stages=2,unroll=2,prefetch=1 2>&1 | FileCheck %s --check-prefix=UNROLL
// RUN: not lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule=schedule=stages=16,row_groups=16,threads_per_row=64 2>&1 | FileCheck %s --check-prefix=MEMORY

// Bulk copies and early starts are for the chips that have them, and within
// their limits.
// AMD:     error: {{.*}}expected stages 0 on gfx942, which has no asynchronous bulk copies
// SM80:    error: {{.*}}expected stages 0 on sm_80, which has no asynchronous bulk copies
// EARLY:   error: {{.*}}expected dependent_launch to be unset on gfx942, which starts a kernel when the one before it has ended
// ROWS:    error: {{.*}}expected dependent_launch set and reload unset where prefetch_before_dependency is set
// UNROLL:  error: {{.*}}expected stages 0 and reload unset where unroll is above 1
// MEMORY:  error: {{.*}}bytes of shared memory, and sm_90 has {{[0-9]+}} for a workgroup; lower stages or row_groups
func.func @f(%x: memref<?x510xf32>, %t: memref<?xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x510xf32>) outs(%t[m] : memref<?xf32>) {
  ^bb0(%xr: vector<510xf32>):
    %sum = vector.reduction <add>, %xr : vector<510xf32> into f32
    lnbwd.yield %sum : f32
  }
  return
}
