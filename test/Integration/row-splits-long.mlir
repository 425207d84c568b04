// REQUIRES: simulator
// RUN: lnbwd-opt %s --lnbwd-pipeline="chip=gfx942 two-pass=never schedule=row_splits=8" --emit=hsaco -o %t.hsaco
// RUN: lnbwd-run %t.hsaco --m 5 --device sim --verify | FileCheck %s

// Rows that no workgroup of the chip holds: splits in the place of two passes.
// CHECK: verdict valid
func.func @layer_norm_bwd(%dy: memref<?x65536xbf16>, %x: memref<?x65536xbf16>, %gamma: memref<65536xbf16>, %mean: memref<?xf32>,
                          %rstd: memref<?xf32>, %dx: memref<?x65536xbf16>, %dgamma: memref<65536xbf16>, %dbeta: memref<65536xbf16>) {
  lnbwd.layer_norm_bwd dy(%dy : memref<?x65536xbf16>) x(%x : memref<?x65536xbf16>) gamma(%gamma : memref<65536xbf16>)
      mean(%mean : memref<?xf32>) rstd(%rstd : memref<?xf32>)
      outs dx(%dx : memref<?x65536xbf16>) dgamma(%dgamma : memref<65536xbf16>) dbeta(%dbeta : memref<65536xbf16>)
  return
}
