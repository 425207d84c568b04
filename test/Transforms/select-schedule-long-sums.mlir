// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule | FileCheck %s
// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-select-schedule | FileCheck %s

// A lane adds up hundreds of rows of 16 bits: the chosen schedule has registers
// for totals.
// CHECK-LABEL: func @long(
// CHECK:         sum_block = {{[0-9]+}}>
func.func @long(%x: memref<6422528x64xbf16>, %s: memref<64xf32>, %q: memref<64xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<6422528x64xbf16>)
      outs(%s[n] add : memref<64xf32>, %q[n] add : memref<64xf32>) {
  ^row(%xr: vector<64xbf16>):
    %wide = arith.extf %xr : vector<64xbf16> to vector<64xf32>
    %square = arith.mulf %wide, %wide fastmath<contract> : vector<64xf32>
    lnbwd.yield %wide, %square : vector<64xf32>, vector<64xf32>
  }
  return
}

// A few rows of each lane need none.
// CHECK-LABEL: func @short(
// CHECK-NOT:     sum_block
// CHECK:         return
func.func @short(%x: memref<25088x960xbf16>, %s: memref<960xf32>, %q: memref<960xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<25088x960xbf16>)
      outs(%s[n] add : memref<960xf32>, %q[n] add : memref<960xf32>) {
  ^row(%xr: vector<960xbf16>):
    %wide = arith.extf %xr : vector<960xbf16> to vector<960xf32>
    %square = arith.mulf %wide, %wide fastmath<contract> : vector<960xf32>
    lnbwd.yield %wide, %square : vector<960xf32>, vector<960xf32>
  }
  return
}

// Nor do sums that are rounded to 16 bits.
// CHECK-LABEL: func @rounded(
// CHECK-NOT:     sum_block
// CHECK:         return
func.func @rounded(%x: memref<6422528x64xbf16>, %s: memref<64xbf16>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<6422528x64xbf16>)
      outs(%s[n] add : memref<64xbf16>) {
  ^row(%xr: vector<64xbf16>):
    %wide = arith.extf %xr : vector<64xbf16> to vector<64xf32>
    lnbwd.yield %wide : vector<64xf32>
  }
  return
}
