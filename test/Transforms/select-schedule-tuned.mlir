// RUN: lnbwd-opt %s --lnbwd-select-schedule="chip=sm_90 tuned-schedules=%S/Inputs/tuned-schedules.json" | FileCheck %s --check-prefixes=CHECK,SM
// RUN: lnbwd-opt %s --lnbwd-select-schedule="chip=gfx942 tuned-schedules=%S/Inputs/tuned-schedules.json" | FileCheck %s --check-prefix=GFX
// RUN: lnbwd-opt %s --lnbwd-select-schedule="chip=sm_90 tuned-schedules=%S/Inputs/tuned-schedules.json schedule=row_groups=4" | FileCheck %s --check-prefix=OVERRIDE
// RUN: lnbwd-opt %s --lnbwd-select-schedule="chip=sm_90 tuned-schedules=off" | FileCheck %s --check-prefix=OFF
// RUN: lnbwd-opt %s --lnbwd-select-schedule="chip=sm_90 rows=96 tuned-schedules=%S/Inputs/tuned-schedules.json" | FileCheck %s --check-prefix=HINT
// RUN: lnbwd-opt %s --lnbwd-gpu-pipeline="chip=sm_90 tuned-schedules=%S/Inputs/tuned-schedules.json" | FileCheck %s --check-prefix=PIPELINE

// The first entry that matches is taken, as a whole: what it does not name has
// the attribute's default.

// An entry with m matches a row count that is known and in its range.
// CHECK-LABEL: func.func @known
// SM:  schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 2, rows_per_workgroup = 1, workgroups_per_compute_unit = 3>
// GFX-LABEL:   func.func @known
// GFX: schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 3, vector_width = 4, rows_per_workgroup = 6, workgroups_per_compute_unit = 2>
// The user's fields win.
// OVERRIDE-LABEL: func.func @known
// OVERRIDE: threads_per_row = 64, row_groups = 4, vector_width = 2,
// OFF-LABEL:   func.func @known
// OFF-NOT:     workgroups_per_compute_unit = 3>
// PIPELINE-LABEL: gpu.module @known_kernels
// PIPELINE:    known_block_size = array<i32: 64, 1, 1>
func.func @known(%x: memref<96x512xf32>, %y: memref<96x512xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<96x512xf32>) outs(%y[m, n] : memref<96x512xf32>) {
  ^bb0(%xr: vector<512xf32>):
    %s = vector.reduction <add>, %xr : vector<512xf32> into f32
    %b = vector.broadcast %s : f32 to vector<512xf32>
    lnbwd.yield %b : vector<512xf32>
  }
  return
}

// CHECK-LABEL: func.func @outside
// SM:  threads_per_row = 128, row_groups = 2, vector_width = 4, rows_per_workgroup = 5, workgroups_per_compute_unit = 7, prefetch = 1
func.func @outside(%x: memref<4096x512xf32>, %y: memref<4096x512xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<4096x512xf32>) outs(%y[m, n] : memref<4096x512xf32>) {
  ^bb0(%xr: vector<512xf32>):
    %s = vector.reduction <add>, %xr : vector<512xf32> into f32
    %b = vector.broadcast %s : f32 to vector<512xf32>
    lnbwd.yield %b : vector<512xf32>
  }
  return
}

// CHECK-LABEL: func.func @unknown
// SM:  threads_per_row = 128, row_groups = 2, vector_width = 4, rows_per_workgroup = 5, workgroups_per_compute_unit = 7, prefetch = 1
func.func @unknown(%x: memref<?x1024xf32>, %y: memref<?x1024xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x1024xf32>) outs(%y[m, n] : memref<?x1024xf32>) {
  ^bb0(%xr: vector<1024xf32>):
    %s = vector.reduction <add>, %xr : vector<1024xf32> into f32
    %b = vector.broadcast %s : f32 to vector<1024xf32>
    lnbwd.yield %b : vector<1024xf32>
  }
  return
}

// Another program: the model chooses.
// CHECK-LABEL: func.func @other
// SM-NOT:  threads_per_row = 128, row_groups = 2, {{.*}} rows_per_workgroup = 5
// SM:      schedule = #lnbwd.schedule
func.func @other(%x: memref<?x512xf32>, %y: memref<?x512xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xf32>) outs(%y[m, n] : memref<?x512xf32>) {
  ^bb0(%xr: vector<512xf32>):
    lnbwd.yield %xr : vector<512xf32>
  }
  return
}

// The option says M where the types do not.
// HINT-LABEL: func.func @expected
// HINT: threads_per_row = 64, row_groups = 1, vector_width = 2, rows_per_workgroup = 1,
func.func @expected(%x: memref<?x512xf32>, %y: memref<?x512xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xf32>) outs(%y[m, n] : memref<?x512xf32>) {
  ^bb0(%xr: vector<512xf32>):
    %s = vector.reduction <add>, %xr : vector<512xf32> into f32
    %b = vector.broadcast %s : f32 to vector<512xf32>
    lnbwd.yield %b : vector<512xf32>
  }
  return
}
