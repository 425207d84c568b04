// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-finalize-column-sums --split-input-file --verify-diagnostics

func.func @no_schedule(%x: memref<?x512xf32>, %a: memref<512xf32>) {
  // expected-error@+1 {{expected memrefs and a schedule; run bufferization and lnbwd-select-schedule before}}
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xf32>) outs(%a[n] add : memref<512xf32>) {
  ^bb0(%xr: vector<512xf32>):
    lnbwd.yield %xr : vector<512xf32>
  }
  return
}

// -----

func.func @tensors(%x: tensor<?x512xf32>, %a: tensor<512xf32>) -> tensor<512xf32> {
  // expected-error@+1 {{expected memrefs and a schedule; run bufferization and lnbwd-select-schedule before}}
  %0 = lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : tensor<?x512xf32>) outs(%a[n] add : tensor<512xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 4, vector_width = 4,
                                             rows_per_workgroup = 32, workgroups_per_compute_unit = 4>}
      -> tensor<512xf32> {
  ^bb0(%xr: vector<512xf32>):
    lnbwd.yield %xr : vector<512xf32>
  }
  return %0 : tensor<512xf32>
}
