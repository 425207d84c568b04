// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule --split-input-file | FileCheck %s
// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule=schedule=dependent_launch=0 --split-input-file | FileCheck %s --check-prefix=LATE
// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule=schedule=reload=1,stages=0,column_tile=0 --split-input-file 2>/dev/null | FileCheck %s --check-prefix=RELOAD
// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule=schedule=workgroups_per_row=2,column_tile=0,unroll=1 --split-input-file | FileCheck %s --check-prefix=SPLIT
// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule=schedule=prefetch_before_dependency=1,workgroups_per_row=2,column_tile=0,unroll=1 --split-input-file | FileCheck %s --check-prefix=SAID
// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule=schedule=prefetch_before_dependency=0 --split-input-file | FileCheck %s --check-prefix=NEXT
// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=sm_80 --lnbwd-select-schedule --split-input-file | FileCheck %s --check-prefix=OLD

// A forward pass brings its rows near early. Where a field is set by hand, the rule is asked about the schedule
// that this makes, and where its own field is, it is not asked.
// CHECK-LABEL: func.func @forward(
// CHECK:       dependent_launch = true, prefetch_before_dependency = true, late_columns = true>
// LATE-LABEL:  func.func @forward(
// LATE-NOT:    prefetch_before
// LATE:        return
// RELOAD-LABEL: func.func @forward(
// RELOAD:      dependent_launch = true, reload = true, late_columns = true>
// SPLIT-LABEL: func.func @forward(
// SPLIT:       workgroups_per_row = 2, {{.*}}dependent_launch = true>
// SAID-LABEL:  func.func @forward(
// SAID:        workgroups_per_row = 2, {{.*}}dependent_launch = true, prefetch_before_dependency = true>
// NEXT-LABEL:  func.func @forward(
// NEXT:        dependent_launch = true, late_columns = true>
// OLD-LABEL:   func.func @forward(
// OLD-NOT:     prefetch_before
func.func @forward(%x: memref<?x4096xf32>, %y: memref<?x4096xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x4096xf32>) outs(%y[m, n] : memref<?x4096xf32>) {
  ^bb0(%xr: vector<4096xf32>):
    %sum = vector.reduction <add>, %xr : vector<4096xf32> into f32
    %spread = vector.broadcast %sum : f32 to vector<4096xf32>
    %yr = arith.subf %xr, %spread : vector<4096xf32>
    lnbwd.yield %yr : vector<4096xf32>
  }
  return
}
