// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-distribute-rows --split-input-file --verify-diagnostics

func.func @argument(%x: memref<?x512xf32>, %s: memref<?x2xf32>) {
  // expected-error@+1 {{expected the split row scalar 'sum' to be a memref.alloc in the function: a launch plan has no arguments of this kind}}
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xf32>) outs(%s[m, *] : memref<?x2xf32>)
      attributes {operand_names = ["x", "sum"],
                  schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 1,
                                             workgroups_per_compute_unit = 0, column_tile = 256>} {
  ^bb0(%xr: vector<512xf32>):
    %sum = vector.reduction <add>, %xr : vector<512xf32> into f32
    lnbwd.yield %sum : f32
  }
  return
}

// -----

func.func @tiles(%x: memref<?x512xf32>, %m: index) {
  %s = memref.alloc(%m) {lnbwd.row_scalar = 3 : i64} : memref<?x3xf32>
  // expected-error@+1 {{expected as many column tiles as the row scalar 'sum' has parts, 3, got 2}}
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xf32>) outs(%s[m, *] : memref<?x3xf32>)
      attributes {operand_names = ["x", "sum"],
                  schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 1,
                                             workgroups_per_compute_unit = 0, column_tile = 256>} {
  ^bb0(%xr: vector<512xf32>):
    %sum = vector.reduction <add>, %xr : vector<512xf32> into f32
    lnbwd.yield %sum : f32
  }
  return
}
