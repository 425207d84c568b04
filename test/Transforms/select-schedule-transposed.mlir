// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule --split-input-file | FileCheck %s
// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-select-schedule --split-input-file | FileCheck %s

// A tile has a sector of neighbouring rows, of tiles of columns: whole rows are
// too long to be transposed.
// CHECK-LABEL: func.func @keys
// CHECK:         row_groups = {{16|32|64|128}}, {{.*}} column_tile =
func.func @keys(%x: memref<8x1536x512xbf16>, %y: memref<8x512x1536xbf16>, %s: memref<1536xf32>) {
  lnbwd.rowwise @k domain(b, m | n) ins(%x[b, n, m] : memref<8x1536x512xbf16>)
      outs(%y[b, m, n] : memref<8x512x1536xbf16>, %s[n] add : memref<1536xf32>) {
  ^row(%xr: vector<1536xbf16>):
    %wide = arith.extf %xr : vector<1536xbf16> to vector<1536xf32>
    lnbwd.yield %xr, %wide : vector<1536xbf16>, vector<1536xf32>
  }
  return
}
