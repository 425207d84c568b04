// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-select-schedule=schedule=threads_per_row=64,row_groups=16,vector_width=8 | FileCheck %s
// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-select-schedule=schedule=threads_per_row=64,row_groups=16,vector_width=8,combine_radix=4 | FileCheck %s --check-prefix=FOUR
// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-select-schedule=schedule=threads_per_row=64,row_groups=8,vector_width=8 | FileCheck %s --check-prefix=FIT --implicit-check-not=combine_radix
// RUN: not lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-select-schedule=schedule=combine_radix=3 2>&1 | FileCheck %s --check-prefix=THREE

// As many groups' sums as fit are added up in one step, where nobody says
// otherwise.
// CHECK:         combine_radix = 2>
// FOUR:          combine_radix = 4>
// FIT:           row_groups = 8
// THREE:         error: 'lnbwd.rowwise' op expected combine_radix to be 2, 4, 8 or 16, got 3
func.func @sums(%x: memref<?x512xbf16>, %s: memref<512xf32>, %t: memref<512xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xbf16>)
      outs(%s[n] add : memref<512xf32>, %t[n] add : memref<512xf32>) {
  ^row(%xr: vector<512xbf16>):
    %wide = arith.extf %xr : vector<512xbf16> to vector<512xf32>
    %square = arith.mulf %wide, %wide : vector<512xf32>
    lnbwd.yield %wide, %square : vector<512xf32>, vector<512xf32>
  }
  return
}
