// RUN: lnbwd-opt %s --lnbwd-select-schedule="chip=sm_90" | FileCheck %s --check-prefix=ALONE
// RUN: lnbwd-opt %s --lnbwd-select-schedule="chip=sm_90 schedule=early_rows=1,early_next=1" | FileCheck %s --check-prefix=BOTH
// RUN: lnbwd-opt %s --lnbwd-select-schedule="chip=sm_90 schedule=early_rows=1,early_next=1" \
// RUN:   | lnbwd-opt --lnbwd-select-schedule="chip=sm_90 schedule=early_start=0" | FileCheck %s --check-prefix=LATE
// RUN: lnbwd-opt %s --lnbwd-select-schedule="chip=sm_90 schedule=early_rows=1,early_next=1" \
// RUN:   | lnbwd-opt --lnbwd-select-schedule="chip=sm_90 schedule=reload=1,stages=0" | FileCheck %s --check-prefix=RELOAD
// RUN: lnbwd-opt %s --lnbwd-select-schedule="chip=sm_90 schedule=early_rows=1,early_next=1" \
// RUN:   | lnbwd-opt --lnbwd-select-schedule="chip=sm_90 schedule=workgroups_per_row=2" | FileCheck %s --check-prefix=SPLIT
// RUN: lnbwd-opt %s --lnbwd-select-schedule="chip=sm_90 schedule=early_rows=1,workgroups_per_row=2,early_next=1" | FileCheck %s --check-prefix=SAID

// By hand; what cannot be beside another field goes with it, and clusters have
// it where somebody says so.
// ALONE:      schedule =
// ALONE-NOT:  early_rows
// ALONE-NOT:  early_next
// BOTH:       early_start = true, early_rows = true, early_next = true>
// LATE:       schedule =
// LATE-NOT:   early_start
// LATE-NOT:   early_rows
// LATE-SAME:  early_next = true>
// RELOAD:     early_start = true, reload = true, early_next = true>
// SPLIT:      workgroups_per_row = 2, {{.*}}early_start = true>
// SAID:       workgroups_per_row = 2, {{.*}}early_start = true, early_rows = true, early_next = true>
func.func @f(%x: memref<?x4096xf32>, %y: memref<?x4096xf32>) {
  lnbwd.rowwise @k rows(%x : memref<?x4096xf32>) outs rows(%y : memref<?x4096xf32>) {
  ^bb0(%xr: vector<4096xf32>):
    %sum = vector.reduction <add>, %xr : vector<4096xf32> into f32
    %spread = vector.broadcast %sum : f32 to vector<4096xf32>
    %yr = arith.subf %xr, %spread : vector<4096xf32>
    lnbwd.yield %yr : vector<4096xf32>
  }
  return
}
