// RUN: lnbwd-opt %s --lnbwd-pipeline=chip=sm_90 --emit=ptx | FileCheck %s

// The cluster's size is part of the code; the plan says what it divides.
// CHECK: "workgroup_counts":[{{.*}}"workgroups_per_row":[[#CLUSTER:]]
// CHECK:       .entry layer_norm_bwd(
// CHECK:       .explicitcluster
// CHECK:       .reqnctapercluster 1, [[#CLUSTER]], 1
// CHECK:       barrier.cluster.arrive
// CHECK:       barrier.cluster.wait
// CHECK:       st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.f32 [%{{rd[0-9]+}}], {%{{[a-z0-9]+}}, %{{[a-z0-9]+}}}, [%{{rd[0-9]+}}];
// CHECK:       .entry layer_norm_bwd_finalize(
// CHECK-NOT:   .reqnctapercluster
func.func @layer_norm_bwd(%dy: memref<?x16384xbf16>, %x: memref<?x16384xbf16>, %mean: memref<?xf32>,
                          %rstd: memref<?xf32>, %dx: memref<?x16384xbf16>, %dgamma: memref<16384xbf16>,
                          %dbeta: memref<16384xbf16>) {
  lnbwd.layer_norm_bwd dy(%dy : memref<?x16384xbf16>) x(%x : memref<?x16384xbf16>) mean(%mean : memref<?xf32>)
      rstd(%rstd : memref<?xf32>)
      outs dx(%dx : memref<?x16384xbf16>) dgamma(%dgamma : memref<16384xbf16>) dbeta(%dbeta : memref<16384xbf16>)
  return
}
