// RUN: not lnbwd-opt %s --lnbwd-select-schedule 2>&1 | FileCheck %s --check-prefix=NO-CHIP
// RUN: not lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-select-schedule=schedule=warps=4 2>&1 | FileCheck %s --check-prefix=FIELD
// RUN: not lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-select-schedule=schedule=row_groups=four 2>&1 | FileCheck %s --check-prefix=NUMBER
// RUN: not lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-select-schedule=schedule=row_groups 2>&1 | FileCheck %s --check-prefix=NO-NUMBER
// RUN: not lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-select-schedule=schedule=row_groups=99999999999999999999 2>&1 | FileCheck %s --check-prefix=HUGE
// RUN: not lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-select-schedule=schedule=row_groups=2,unroll=1,row_groups=4 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-select-schedule=schedule=threads_per_row=0 2>&1 | FileCheck %s --check-prefix=ATTRIBUTE
// RUN: not lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-select-schedule=schedule=reload=2 2>&1 | FileCheck %s --check-prefix=RELOAD
// RUN: not lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-select-schedule=schedule=threads_per_row=2048 2>&1 | FileCheck %s --check-prefix=LIMIT
// RUN: not lnbwd-opt %s --lnbwd-set-chip=chip=gfx1100 --lnbwd-select-schedule=schedule=threads_per_row=48 2>&1 | FileCheck %s --check-prefix=WAVE
// RUN: not lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-select-schedule=candidates=-1 2>&1 | FileCheck %s --check-prefix=COUNT

// NO-CHIP:   error: expected a module for a chip; run lnbwd-set-chip before
// FIELD:     error: {{.*}} unknown schedule field 'warps', expected one of: threads_per_row, row_groups, vector_width, rows_per_workgroup, workgroups_per_compute_unit, workgroups_per_row, column_tile, prefetch
// NUMBER:    error: {{.*}} expected schedule field 'row_groups' to be a whole number, got 'four'
// NO-NUMBER: error: {{.*}} expected schedule field 'row_groups' to be a whole number, got ''
// HUGE:      error: {{.*}} expected schedule field 'row_groups' to be a whole number, got '99999999999999999999'
// TWICE:     error: {{.*}} expected schedule field 'row_groups' once, got it twice
// ATTRIBUTE: error: {{.*}} expected threads_per_row to be at least 1, got 0
// RELOAD:    error: {{.*}} expected reload to be 0 or 1, got 2
// LIMIT:     error: {{.*}} expected at most 1024 threads in a workgroup on gfx942
// COUNT:     error: loc("option candidates"): expected candidates to be at least 0, got -1
// WAVE:      error: {{.*}} the wave size of gfx1100, 32, or a multiple of it, got 48

func.func @f(%x: memref<?x512xf32>, %y: memref<?x512xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xf32>) outs(%y[m, n] : memref<?x512xf32>) {
  ^bb0(%xr: vector<512xf32>):
    lnbwd.yield %xr : vector<512xf32>
  }
  return
}
