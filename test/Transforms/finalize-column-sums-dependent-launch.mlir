// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-finalize-column-sums --split-input-file | FileCheck %s

// The kernel that adds up the partial sums starts early where the chip can.
// CHECK-LABEL: func @plain(
// CHECK:         lnbwd.rowwise @k_finalize
// CHECK-SAME:      dependent_launch = true>
func.func @plain(%x: memref<?x512xbf16>, %a: memref<512xbf16>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xbf16>) outs(%a[n] add : memref<512xbf16>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 4, vector_width = 8, rows_per_workgroup = 32,
                                             workgroups_per_compute_unit = 4, dependent_launch = true>} {
  ^bb0(%xr: vector<512xbf16>):
    %wide = arith.extf %xr : vector<512xbf16> to vector<512xf32>
    lnbwd.yield %wide : vector<512xf32>
  }
  return
}
