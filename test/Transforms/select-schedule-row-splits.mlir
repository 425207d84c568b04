// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule="rows=64 schedule=row_splits=4" | FileCheck %s --check-prefix=CUDA
// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-select-schedule="rows=64 schedule=row_splits=4" | FileCheck %s --check-prefix=AMD
// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule="rows=3 schedule=row_splits=8,threads_per_row=16,column_tile=128" | FileCheck %s --check-prefix=FEW
// RUN: not lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule="rows=64 schedule=row_splits=4,workgroups_per_row=8,column_tile=0" 2>&1 | FileCheck %s --check-prefix=CLUSTER
// RUN: not lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule="rows=64 schedule=row_splits=1" 2>&1 | FileCheck %s --check-prefix=LONG

// The other fields of a schedule with splits are of its own: tiles of a wave's
// accesses, of which those of a compute unit have 512 work-items, several rows
// at once; with column sums one workgroup has all rows of its columns. Each can
// be overridden.
// CUDA: schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 8, vector_width = 8, rows_per_workgroup = 0, workgroups_per_compute_unit = 1, column_tile = 256, unroll = 4, dependent_launch = true, row_splits = 4>
// AMD:  schedule = #lnbwd.schedule<threads_per_row = {{[0-9]+}}, row_groups = {{[0-9]+}}, vector_width = 8, rows_per_workgroup = 0, workgroups_per_compute_unit = 1, column_tile = {{[0-9]+}}, unroll = {{[24]}}, row_splits = 4>
// FEW:  schedule = #lnbwd.schedule<threads_per_row = 16, row_groups = 4, vector_width = 8, rows_per_workgroup = 0, workgroups_per_compute_unit = 1, column_tile = 128, unroll = 2, dependent_launch = true, row_splits = 8>

// CLUSTER: error: {{.*}}expected workgroups_per_row 1 and reload unset where row_splits is set: no row sums are left to share or to wait for
// LONG:    error: {{.*}}expected splits of a row length of 65536 that a workgroup can hold and that all have some of its columns, got row_splits 1; try another number of them
func.func @f(%x: memref<?x65536xbf16>, %y: memref<?x65536xbf16>, %s: memref<65536xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x65536xbf16>) outs(%y[m, n] : memref<?x65536xbf16>, %s[n] add : memref<65536xf32>) {
  ^bb0(%xr: vector<65536xbf16>):
    %wide = arith.extf %xr : vector<65536xbf16> to vector<65536xf32>
    %sum = vector.reduction <add>, %wide : vector<65536xf32> into f32
    %spread = vector.broadcast %sum : f32 to vector<65536xf32>
    %rest = arith.subf %wide, %spread : vector<65536xf32>
    %narrow = arith.truncf %rest : vector<65536xf32> to vector<65536xbf16>
    lnbwd.yield %narrow, %rest : vector<65536xbf16>, vector<65536xf32>
  }
  return
}
