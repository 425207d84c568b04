// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-select-schedule=schedule=threads_per_row=256 | FileCheck %s --check-prefix=LANES
// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-select-schedule=schedule=threads_per_row=64,row_groups=2 | FileCheck %s --check-prefix=GROUPS
// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-select-schedule=schedule=vector_width=2 | FileCheck %s --check-prefix=WIDTH
// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-select-schedule=schedule=rows_per_workgroup=123 | FileCheck %s --check-prefix=ROWS
// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-select-schedule=schedule=workgroups_per_compute_unit=7 | FileCheck %s --check-prefix=WORKGROUPS
// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-select-schedule=schedule=prefetch=0 | FileCheck %s --check-prefix=NO-PREFETCH
// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-select-schedule=schedule=threads_per_row=64,vector_width=4,prefetch=1 | FileCheck %s --check-prefix=PREFETCH
// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-select-schedule=schedule=threads_per_row=64,vector_width=4,column_tile=256,prefetch=0 | FileCheck %s --check-prefix=TILE
// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-select-schedule=schedule=column_tile=0,reload=1 | FileCheck %s --check-prefix=RELOAD
// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-select-schedule=schedule=threads_per_row=8,row_groups=64 | FileCheck %s --check-prefix=FOLLOWS

// Each field can be set by hand; the model chooses the others.

// LANES:       threads_per_row = 256,
// GROUPS:      threads_per_row = 64, row_groups = 2,
// WIDTH:       vector_width = 2,
// ROWS:        rows_per_workgroup = 123,
// WORKGROUPS:  workgroups_per_compute_unit = 7
// NO-PREFETCH: schedule =
// NO-PREFETCH-NOT: prefetch =
// PREFETCH:    prefetch = 1
// TILE:        column_tile = 256
// RELOAD:      reload = true

// rows_per_workgroup follows row_groups, which it may not be below.
// FOLLOWS:     row_groups = 64, {{.*}} rows_per_workgroup = {{([6-9][0-9]|[0-9]{3,})}},

func.func @f(%x: memref<?x512xf32>, %y: memref<?x512xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xf32>) outs(%y[m, n] : memref<?x512xf32>) {
  ^bb0(%xr: vector<512xf32>):
    lnbwd.yield %xr : vector<512xf32>
  }
  return
}
