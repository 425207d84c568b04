// RUN: lnbwd-opt %s --lnbwd-gpu-pipeline=chip=sm_90 --split-input-file | FileCheck %s

// Scheduled row programs through all passes of the lane level: workgroups that
// share a row.

// Two workgroups of a cluster share a row, half of the columns each. Each wave
// sends its sum to both, counted on a barrier there, and waits for all sums; a
// second reduction adds them. No barrier of the workgroup is in the loop.
// CHECK-LABEL: gpu.module @shared_rows_kernels
// CHECK:       gpu.func @k(
// CHECK-SAME:    known_cluster_size = array<i32: 1, 2, 1>
// CHECK:         %[[SLICE:[a-z0-9_]+]] = gpu.block_id y
// CHECK:         %[[BEGIN:[a-z0-9_]+]] = arith.muli %[[SLICE]], %{{.*}}
// CHECK:         nvvm.mbarrier.init
// CHECK:         nvvm.cluster.arrive
// CHECK:         nvvm.cluster.wait
// CHECK:         scf.for
// CHECK-NOT:       gpu.barrier
// CHECK:           gpu.subgroup_reduce
// CHECK-NOT:       gpu.barrier
// CHECK:           nvvm.mbarrier.arrive.expect_tx
// CHECK:           nvvm.mapa
// CHECK:           nvvm.inline_ptx "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.f32
// CHECK:           nvvm.mbarrier.try_wait.parity
// CHECK:           gpu.subgroup_reduce
// CHECK-NOT:       gpu.barrier
// CHECK:           vector.store
// CHECK:         gpu.return
// CHECK:       func.func @shared_rows
// CHECK-DAG:     %[[TWO:[a-z0-9_]+]] = arith.constant 2 : index
// CHECK-DAG:     %[[ONE:[a-z0-9_]+]] = arith.constant 1 : index
// CHECK:         gpu.launch_func {{.*}} clusters in (%[[ONE]], %[[TWO]], %[[ONE]]) blocks in (%{{.*}}, %[[TWO]], %[[ONE]])
func.func @shared_rows(%x: memref<?x1024xf32>, %o: memref<?x1024xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x1024xf32>) outs(%o[m, n] : memref<?x1024xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 128, row_groups = 1, vector_width = 4,
                                             rows_per_workgroup = 8, workgroups_per_compute_unit = 2,
                                             workgroups_per_row = 2>} {
  ^bb0(%xr: vector<1024xf32>):
    %sum = vector.reduction <add>, %xr : vector<1024xf32> into f32
    %spread = vector.broadcast %sum : f32 to vector<1024xf32>
    %y = arith.addf %xr, %spread : vector<1024xf32>
    lnbwd.yield %y : vector<1024xf32>
  }
  return
}

// -----

// Staged, each workgroup copies its part of the row alone, and the next one
// while the sums are in flight, after a barrier of its lanes.
// CHECK-LABEL: gpu.module @staged_slices_kernels
// CHECK:       gpu.func @k(
// CHECK-DAG:     %[[BYTES:[a-z0-9_]+]] = arith.constant 2048 : i32
// CHECK:         memref.view %{{.*}} to memref<2x512xf32, #gpu.address_space<workgroup>>
// CHECK:         nvvm.cp.async.bulk.shared.cluster.global {{.*}}, %[[BYTES]]
// CHECK:         scf.for
// CHECK:           vector.load {{.*}} : memref<2x512xf32, #gpu.address_space<workgroup>>
// CHECK:           nvvm.inline_ptx "st.async
// CHECK:           gpu.barrier
// CHECK:           nvvm.cp.async.bulk.shared.cluster.global
// CHECK:           nvvm.mbarrier.try_wait.parity
// CHECK:         gpu.return
func.func @staged_slices(%x: memref<?x1024xf32>, %o: memref<?x1024xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x1024xf32>) outs(%o[m, n] : memref<?x1024xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 128, row_groups = 1, vector_width = 4,
                                             rows_per_workgroup = 8, workgroups_per_compute_unit = 2,
                                             workgroups_per_row = 2, stages = 2>} {
  ^bb0(%xr: vector<1024xf32>):
    %sum = vector.reduction <add>, %xr : vector<1024xf32> into f32
    %spread = vector.broadcast %sum : f32 to vector<1024xf32>
    %y = arith.addf %xr, %spread : vector<1024xf32>
    lnbwd.yield %y : vector<1024xf32>
  }
  return
}

// -----

// Without row sums, workgroups that share rows have nothing to tell each other.
// CHECK-LABEL: gpu.module @nothing_exchanged_kernels
// CHECK:       gpu.func @k(
// CHECK-NOT:     nvvm.cluster
// CHECK-NOT:     nvvm.mbarrier
// CHECK:         gpu.return
func.func @nothing_exchanged(%x: memref<?x1024xf32>, %p: memref<?x1024xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x1024xf32>) outs(%p[*, n] add : memref<?x1024xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 128, row_groups = 1, vector_width = 4,
                                             rows_per_workgroup = 8, workgroups_per_compute_unit = 2,
                                             workgroups_per_row = 2, unroll = 4>} {
  ^bb0(%xr: vector<1024xf32>):
    lnbwd.yield %xr : vector<1024xf32>
  }
  return
}
