// RUN: lnbwd-opt %s --lnbwd-pipeline=chip=gfx942 --split-input-file --verify-diagnostics
// RUN: lnbwd-opt %s --lnbwd-pipeline=chip=sm_90 --split-input-file --verify-diagnostics

// What is wrong with an operation is said at its own line, however far down it
// is found: in row programs, and after products.

func.func @rows(%x: memref<?x64xf32>, %y: memref<?x64xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x64xf32>) outs(%y[m, n] : memref<?x64xf32>) {
  ^row(%xr: vector<64xf32>):
    %e = math.exp %xr : vector<64xf32>
    // expected-error@+1 {{'math.sinh' op has no instruction, and no device library is linked}}
    %s = math.sinh %e : vector<64xf32>
    lnbwd.yield %s : vector<64xf32>
  }
  return
}

// -----

func.func @product(%x: memref<4x64xbf16>, %w: memref<64x64xbf16>, %y: memref<4x64xf32>) {
  lnbwd.rowwise @k domain(m | n0, n1) ins(%x[m, n0] : memref<4x64xbf16>, %w[n1, n0] : memref<64x64xbf16>) outs(%y[m, n0] : memref<4x64xf32>) {
  ^row(%xr: vector<64xbf16>, %wm: vector<64x64xbf16>):
    %p = lnbwd.linear %xr, %wm : vector<64xbf16>, vector<64x64xbf16>
    // expected-error@+1 {{'math.sinh' op has no instruction, and no device library is linked}}
    %s = math.sinh %p : vector<64xf32>
    lnbwd.yield %s : vector<64xf32>
  }
  return
}
