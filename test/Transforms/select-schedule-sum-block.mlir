// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-select-schedule=schedule=threads_per_row=64,row_groups=1,vector_width=4,workgroups_per_compute_unit=4,prefetch=0,unroll=1 | FileCheck %s --check-prefixes=CHECK,SINGLE
// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-select-schedule=schedule=threads_per_row=64,row_groups=1,vector_width=4,workgroups_per_compute_unit=4,prefetch=1,unroll=2 | FileCheck %s --check-prefixes=CHECK,PAIRED
// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule=schedule=threads_per_row=128,row_groups=4,vector_width=4,workgroups_per_compute_unit=1,stages=2 | FileCheck %s --check-prefixes=CHECK,SINGLE
// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule=schedule=threads_per_row=128,row_groups=1,vector_width=4,workgroups_per_compute_unit=4,stages=2 | FileCheck %s --check-prefixes=CHECK,NONE
// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-select-schedule=schedule=sum_block=3 | FileCheck %s --check-prefix=THREE
// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-select-schedule=schedule=sum_block=0 | FileCheck %s --implicit-check-not=sum_block

// Sums of rows of 32 bits go to totals after eight rows; not so those of a few
// staged rows side by side, and what somebody says otherwise.
// CHECK-LABEL: func @wide(
// SINGLE:        sum_block = 8>
// PAIRED:        unroll = 2, sum_block = 4>
// NONE-NOT:      sum_block
// THREE:         sum_block = 3>
func.func @wide(%x: memref<?x512xf32>, %y: memref<?x512xf32>, %s: memref<512xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xf32>)
      outs(%y[m, n] : memref<?x512xf32>, %s[n] add : memref<512xf32>) {
  ^row(%xr: vector<512xf32>):
    lnbwd.yield %xr, %xr : vector<512xf32>, vector<512xf32>
  }
  return
}

// No totals where rows of 16 bits round the sums more coarsely,
// CHECK-LABEL: func @narrow(
// CHECK-NOT:     sum_block
// CHECK-LABEL: func @without_room(
func.func @narrow(%x: memref<?x512xbf16>, %y: memref<?x512xbf16>, %s: memref<512xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xbf16>)
      outs(%y[m, n] : memref<?x512xbf16>, %s[n] add : memref<512xf32>) {
  ^row(%xr: vector<512xbf16>):
    %wide = arith.extf %xr : vector<512xbf16> to vector<512xf32>
    lnbwd.yield %xr, %wide : vector<512xbf16>, vector<512xf32>
  }
  return
}

// and where the registers of a compute unit are taken by its workgroups.
// PAIRED-NOT:    sum_block
// PAIRED:        return
func.func @without_room(%x: memref<?x4096xf32>, %y: memref<?x4096xf32>, %s: memref<4096xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x4096xf32>)
      outs(%y[m, n] : memref<?x4096xf32>, %s[n] add : memref<4096xf32>) {
  ^row(%xr: vector<4096xf32>):
    lnbwd.yield %xr, %xr : vector<4096xf32>, vector<4096xf32>
  }
  return
}
