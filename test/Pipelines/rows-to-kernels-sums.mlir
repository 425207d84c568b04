// RUN: lnbwd-opt %s --lnbwd-gpu-pipeline=chip=gfx942 --split-input-file | FileCheck %s

// Scheduled row programs through all passes of the lane level: column sums.

// Column sums stay in registers over all rows, those of a block of 8 turns
// beside the totals; each workgroup writes its own row.
// CHECK-LABEL: gpu.module @partial_sums_kernels
// CHECK:       gpu.func @k(
// CHECK:         %[[ZERO:[a-z0-9_]+]] = arith.constant dense<0.0
// CHECK:         %[[WORKGROUP:[a-z0-9_]+]] = gpu.block_id x
// CHECK:         %[[STEP:[0-9]+]] = arith.muli %{{.*}}, %c8
// CHECK:         %[[SUM:[a-z0-9_]+]]:{{[0-9]+}} = scf.for %[[FIRST:[a-z0-9_]+]] = {{.*}} step %[[STEP]] iter_args(%[[TOTAL:[a-z0-9_]+]] = %[[ZERO]],
// CHECK:           %[[NEXT:[0-9]+]] = arith.addi %[[FIRST]], %[[STEP]]
// CHECK:           %[[END:[0-9]+]] = arith.minui %[[NEXT]],
// CHECK:           %[[BLOCK:[0-9]+]]:2 = scf.for {{.*}} = %[[FIRST]] to %[[END]] step %{{[a-z0-9_]+}} iter_args(%{{.*}} = %[[ZERO]], 
// CHECK:             arith.addf
// CHECK:           }
// CHECK:           arith.addf %[[TOTAL]], %[[BLOCK]]#0
// CHECK-NOT:       vector.store
// CHECK:         }
// CHECK:         vector.store %[[SUM]]#{{[0-9]}}, %{{.*}}[%[[WORKGROUP]], %{{.*}}]
// CHECK:         gpu.return
func.func @partial_sums(%x: memref<?x512xf32>, %p: memref<?x512xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xf32>) outs(%p[*, n] add : memref<?x512xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4, sum_block = 8>} {
  ^bb0(%xr: vector<512xf32>):
    lnbwd.yield %xr : vector<512xf32>
  }
  return
}

// -----

// In the paired loop a block is 4 turns, of 2 sets, and is entered if there is a first.
// CHECK-LABEL: gpu.module @paired_blocks_kernels
// CHECK:         %[[STEP:[0-9]+]] = arith.muli %{{.*}}, %c8
// CHECK:         scf.while
// CHECK:           scf.while
// CHECK:             scf.condition
// CHECK:           arith.addf
// CHECK:           scf.condition
// CHECK:         gpu.return
func.func @paired_blocks(%x: memref<?x512xf32>, %y: memref<?x512xf32>, %p: memref<?x512xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xf32>) outs(%y[m, n] : memref<?x512xf32>, %p[*, n] add : memref<?x512xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4, prefetch = 1, unroll = 2, sum_block = 4>} {
  ^bb0(%xr: vector<512xf32>):
    lnbwd.yield %xr, %xr : vector<512xf32>, vector<512xf32>
  }
  return
}

// -----

// Three of four row groups leave their sums to the first, which adds them by
// pairs: one barrier.
// CHECK-LABEL: gpu.module @groups_combined_kernels
// CHECK:       gpu.func @k(
// CHECK-SAME:    workgroup(%[[MEMORY:[a-z0-9]+]] : memref<{{[0-9]+}}xf32, #gpu.address_space<workgroup>>
// CHECK:         scf.for
// CHECK-NOT:     amdgpu.lds_barrier
// CHECK:         vector.store %{{.*}}, %[[MEMORY]]
// CHECK:         amdgpu.lds_barrier
// CHECK-NOT:     amdgpu.lds_barrier
// CHECK:         %[[SECOND:[0-9]+]] = vector.load %[[MEMORY]]
// CHECK:         %[[THIRD:[0-9]+]] = vector.load %[[MEMORY]]
// CHECK:         %[[FOURTH:[0-9]+]] = vector.load %[[MEMORY]]
// CHECK-NEXT:    %[[ONE_PAIR:[0-9]+]] = arith.addf %{{[0-9]+}}, %[[SECOND]]
// CHECK-NEXT:    %[[OTHER_PAIR:[0-9]+]] = arith.addf %[[THIRD]], %[[FOURTH]]
// CHECK-NEXT:    %[[ALL:[0-9]+]] = arith.addf %[[ONE_PAIR]], %[[OTHER_PAIR]]
// CHECK-NEXT:    scf.yield %[[ALL]]
// CHECK-NOT:     amdgpu.lds_barrier
// CHECK:         gpu.return
func.func @groups_combined(%x: memref<?x256xf32>, %p: memref<?x256xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x256xf32>) outs(%p[*, n] add : memref<?x256xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 4, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<256xf32>):
    lnbwd.yield %xr : vector<256xf32>
  }
  return
}

// -----

// Sixteen row groups add up their sums in two steps, of eight each.
// CHECK-LABEL: gpu.module @many_groups_combined_kernels
// CHECK:       gpu.func @k(
// CHECK:         scf.for
// CHECK:         amdgpu.lds_barrier
// CHECK-COUNT-7: arith.addf %{{[0-9]+}}, %{{[0-9]+}}
// CHECK-NOT:     arith.addf
// CHECK-COUNT-2: amdgpu.lds_barrier
// CHECK:         %[[OTHER:[0-9]+]] = vector.load %{{.*}} : memref<{{[0-9]+}}xf32, #gpu.address_space<workgroup>>
// CHECK-NEXT:    arith.addf %{{[0-9]+}}, %[[OTHER]]
// CHECK-NOT:     amdgpu.lds_barrier
// CHECK:         gpu.return
func.func @many_groups_combined(%x: memref<?x64xf32>, %p: memref<?x64xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x64xf32>) outs(%p[*, n] add : memref<?x64xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 16, row_groups = 16, vector_width = 4, rows_per_workgroup = 32, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<64xf32>):
    lnbwd.yield %xr : vector<64xf32>
  }
  return
}

// -----

// One workgroup for all rows rounds the sums once and writes them itself.
// CHECK-LABEL: gpu.module @final_sums_kernels
// CHECK:       gpu.func @k(
// CHECK:         scf.for
// CHECK:         %[[ROUNDED:[a-z0-9_]+]] = arith.truncf %{{.*}} : vector<4xf32> to vector<4xbf16>
// CHECK:         vector.store %[[ROUNDED]], %arg1[%{{[a-z0-9_]+}}] {alignment = 8 : i64}
// CHECK:         gpu.return
// CHECK:       func.func @final_sums
// CHECK:         %[[ONE:[a-z0-9_]+]] = arith.constant 1 : index
// CHECK:         gpu.launch_func {{.*}} blocks in (%[[ONE]], %[[ONE]], %[[ONE]])
func.func @final_sums(%x: memref<?x256xf32>, %p: memref<256xbf16>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x256xf32>) outs(%p[n] add : memref<256xbf16>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 0, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<256xf32>):
    lnbwd.yield %xr : vector<256xf32>
  }
  return
}

// -----

// Column sums that accumulate are added to what is there.
// CHECK-LABEL: gpu.module @accumulate_kernels
// CHECK:         gpu.func @k(%{{.*}}: memref<1x128xf32{{.*}}>, %[[S:[a-z0-9]+]]: memref<128xf32
// CHECK:         %[[OLD:.*]] = vector.load %[[S]]
// CHECK:         %[[NEW:.*]] = arith.addf %{{.*}}, %[[OLD]]
// CHECK:         vector.store %[[NEW]], %[[S]]
func.func @accumulate(%x: memref<?x128xf32>, %s: memref<128xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x128xf32>) outs(%s[n] add : memref<128xf32>)
      attributes {accumulate, schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 1, vector_width = 4, rows_per_workgroup = 0, workgroups_per_compute_unit = 0>} {
  ^bb0(%xr: vector<128xf32>):
    lnbwd.yield %xr : vector<128xf32>
  }
  return
}
