// RUN: lnbwd-opt %s --lnbwd-pipeline="chip=sm_90 schedule=threads_per_row=32" --emit=ptx | FileCheck %s

// Two row sums of a warp: five butterflies each, and no shared memory.
// CHECK-LABEL:   .entry layer_norm_bwd(
// CHECK-NOT:     .shared
// CHECK-NOT:     bar.sync
// CHECK-COUNT-10: shfl.sync.bfly.b32
// CHECK:         ret;
func.func @f(%dy: memref<?x128xf32>, %x: memref<?x128xf32>, %s: memref<?xf32>, %dx: memref<?x128xf32>) {
  lnbwd.layer_norm_bwd dy(%dy : memref<?x128xf32>) x(%x : memref<?x128xf32>) mean(%s : memref<?xf32>)
      rstd(%s : memref<?xf32>) outs dx(%dx : memref<?x128xf32>)
  return
}
