// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule=rows=1000000 | FileCheck %s --check-prefixes=CHECK,SM90
// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule=rows=10 | FileCheck %s --check-prefixes=CHECK,SM90
// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-select-schedule | FileCheck %s --check-prefixes=CHECK,GFX942

// A row of one access of 16 bytes is a lane's, however many there are: a matrix
// in such pieces needs no length that divides it.
// CHECK-LABEL: func.func @pieces(
// SM90:   threads_per_row = 1, row_groups = 256, vector_width = 8, rows_per_workgroup = 256, workgroups_per_compute_unit = 0,
// GFX942: threads_per_row = 1, row_groups = 256, vector_width = 8, rows_per_workgroup = 1024, workgroups_per_compute_unit = 0, unroll = 4>
func.func @pieces(%x: memref<?x8xbf16>, %y: memref<?x8xbf16>) {
  lnbwd.rowwise @pieces domain(m | n) ins(%x[m, n] : memref<?x8xbf16>) outs(%y[m, n] : memref<?x8xbf16>) {
  ^bb0(%xr: vector<8xbf16>):
    %n = arith.negf %xr : vector<8xbf16>
    lnbwd.yield %n : vector<8xbf16>
  }
  return
}
