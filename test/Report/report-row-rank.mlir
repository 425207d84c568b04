// RUN: lnbwd-opt %s --lnbwd-pipeline=chip=gfx942 --emit=report-json | FileCheck %s

// The number of rows is that of the dimensions before a row's own, of which it has
// two here.
// CHECK: "rows": 512
func.func @square(%dy: memref<512x64x64xbf16>, %x: memref<512x64x64xbf16>, %g: memref<64x64xbf16>,
                  %mean: memref<512xf32>, %rstd: memref<512xf32>, %dx: memref<512x64x64xbf16>,
                  %dg: memref<64x64xbf16>) {
  lnbwd.layer_norm_bwd dy(%dy : memref<512x64x64xbf16>) x(%x : memref<512x64x64xbf16>) gamma(%g : memref<64x64xbf16>)
      mean(%mean : memref<512xf32>) rstd(%rstd : memref<512xf32>)
      outs dx(%dx : memref<512x64x64xbf16>) dgamma(%dg : memref<64x64xbf16>) {row_rank = 2 : i64}
  return
}
