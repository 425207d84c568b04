// RUN: lnbwd-opt %s --lnbwd-pipeline="chip=gfx942" --emit=hsaco -o %t.hsaco 2>&1 | count 0
// RUN: llvm-readelf --notes %t.hsaco | FileCheck %s

// Two rows an iteration take the registers that there are. LLVM's loop strength reduction would hold addresses of each
// row block in further ones: it is left out.
// CHECK: .name: layer_norm_bwd{{$}}
// CHECK: .sgpr_spill_count: 0
// CHECK: .vgpr_spill_count: 0

func.func @layer_norm_bwd(%dy: memref<4096x16384xbf16>, %x: memref<4096x16384xbf16>, %gamma: memref<16384xbf16>, %mean: memref<4096xf32>, %rstd: memref<4096xf32>, %dx: memref<4096x16384xbf16>, %dgamma: memref<16384xbf16>, %dbeta: memref<16384xbf16>) {
  lnbwd.layer_norm_bwd dy(%dy : memref<4096x16384xbf16>) x(%x : memref<4096x16384xbf16>) gamma(%gamma : memref<16384xbf16>) mean(%mean : memref<4096xf32>) rstd(%rstd : memref<4096xf32>) outs dx(%dx : memref<4096x16384xbf16>) dgamma(%dgamma : memref<16384xbf16>) dbeta(%dbeta : memref<16384xbf16>)
  return
}
