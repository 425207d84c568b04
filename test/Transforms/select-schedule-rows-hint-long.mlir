// RUN: lnbwd-opt %s --lnbwd-lower-to-rowwise --lnbwd-set-chip=chip=gfx1100 --lnbwd-split-two-pass --lnbwd-select-schedule=rows=1024 | FileCheck %s

// For a usual number of rows they take one pass, by the model, but not for 1024.
// CHECK-COUNT-1: schedule = #lnbwd.schedule<
// CHECK-NOT:     schedule = #lnbwd.schedule<
func.func @f(%dy: memref<?x27136xbf16>, %x: memref<?x27136xbf16>, %gamma: memref<27136xbf16>,
    %mean: memref<?xf32>, %rstd: memref<?xf32>, %dx: memref<?x27136xbf16>, %dgamma: memref<27136xbf16>, %dbeta: memref<27136xbf16>) {
  lnbwd.layer_norm_bwd dy(%dy : memref<?x27136xbf16>) x(%x : memref<?x27136xbf16>) gamma(%gamma : memref<27136xbf16>)
      mean(%mean : memref<?xf32>) rstd(%rstd : memref<?xf32>)
      outs dx(%dx : memref<?x27136xbf16>) dgamma(%dgamma : memref<27136xbf16>) dbeta(%dbeta : memref<27136xbf16>)
  return
}
