// RUN: lnbwd-opt %s --lnbwd-pipeline="chip=gfx942 schedule=threads_per_row=64" --emit=isa | FileCheck %s --check-prefixes=CHECK,GFX9
// RUN: lnbwd-opt %s --lnbwd-pipeline="chip=gfx1100 schedule=threads_per_row=32" --emit=isa | FileCheck %s --check-prefixes=CHECK,RDNA

// Row sums within a wave are DPP moves, with no trip through shared memory.
// CHECK-LABEL: layer_norm_bwd:
// CHECK-NOT:   ds_
// GFX9:        row_bcast:31
// GFX9:        v_readlane_b32
// RDNA:        v_permlanex16_b32
// CHECK-NOT:   ds_
// CHECK:       s_endpgm
func.func @f(%dy: memref<?x256xf32>, %x: memref<?x256xf32>, %s: memref<?xf32>, %dx: memref<?x256xf32>) {
  lnbwd.layer_norm_bwd dy(%dy : memref<?x256xf32>) x(%x : memref<?x256xf32>) mean(%s : memref<?xf32>)
      rstd(%s : memref<?xf32>) outs dx(%dx : memref<?x256xf32>)
  return
}
