// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-distribute-rows --verify-diagnostics

// The kernel after one that writes split row sums loads rows ahead of its
// wait: all that writes them has to have ended when it starts.
func.func @parts(%x: memref<?x512xf32>, %m: index) {
  %s = memref.alloc(%m) {lnbwd.row_scalar = 2 : i64} : memref<?x2xf32>
  // expected-error@+1 {{expected early_trigger to be unset for a program that writes split row sums: the kernel after it reads rows as soon as it starts, and what is before both may write them}}
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xf32>) outs(%s[m, *] : memref<?x2xf32>)
      attributes {operand_names = ["x", "sum"],
                  schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 1,
                                             workgroups_per_compute_unit = 0, column_tile = 256, dependent_launch = true, early_trigger = true>} {
  ^bb0(%xr: vector<512xf32>):
    %sum = vector.reduction <add>, %xr : vector<512xf32> into f32
    lnbwd.yield %sum : f32
  }
  return
}
