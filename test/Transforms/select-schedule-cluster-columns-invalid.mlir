// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule=schedule=workgroups_per_row=8,threads_per_row=32,vector_width=4 --verify-diagnostics

// A workgroup's part begins where a copy can: of 40 columns five workgroups have
// eight each, and three none.
func.func @f(%x: memref<?x40xf32>, %t: memref<?xf32>) {
  // expected-error@+1 {{expected each of the 8 workgroups of a row to have some of its 40 columns, got 8 for each but the last; lower workgroups_per_row}}
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x40xf32>) outs(%t[m] : memref<?xf32>) {
  ^bb0(%xr: vector<40xf32>):
    %sum = vector.reduction <add>, %xr : vector<40xf32> into f32
    lnbwd.yield %sum : f32
  }
  return
}
