// RUN: lnbwd-opt %s -split-input-file -verify-diagnostics --lnbwd-set-chip=chip=gfx942 --lnbwd-select-schedule

// Totals where there is nothing that they could have.

func.func @no_sums(%x: memref<?x1024xf32>, %y: memref<?x1024xf32>) {
  // expected-error@+1 {{expected sum_block 0: no lane adds up column sums of several iterations}}
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x1024xf32>) outs(%y[m, n] : memref<?x1024xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 1, sum_block = 8>} {
  ^row(%r: vector<1024xf32>):
    lnbwd.yield %r : vector<1024xf32>
  }
  return
}

// -----

func.func @leaves(%x: memref<?x1024xf32>, %s: memref<1024xf32>) {
  // expected-error@+1 {{order=canonical: expected sum_block 0: rows are added up in leaves}}
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x1024xf32>) outs(%s[n] add : memref<1024xf32>)
      attributes {canonical, schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 8, vector_width = 4, rows_per_workgroup = 128, workgroups_per_compute_unit = 1, sum_block = 8>} {
  ^row(%r: vector<1024xf32>):
    lnbwd.yield %r : vector<1024xf32>
  }
  return
}

// -----

func.func @radix(%x: memref<?x1024xf32>, %s: memref<1024xf32>) {
  // expected-error@+1 {{order=canonical: expected combine_radix 8, got 4}}
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x1024xf32>) outs(%s[n] add : memref<1024xf32>)
      attributes {canonical, schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 8, vector_width = 4, rows_per_workgroup = 128, workgroups_per_compute_unit = 1, combine_radix = 4>} {
  ^row(%r: vector<1024xf32>):
    lnbwd.yield %r : vector<1024xf32>
  }
  return
}
