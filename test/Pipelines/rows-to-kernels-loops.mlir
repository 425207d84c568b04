// RUN: lnbwd-opt %s --lnbwd-gpu-pipeline=chip=gfx942 --split-input-file | FileCheck %s

// Scheduled row programs through all passes of the lane level: the loop over the
// rows.

// Rows that fill no set of four come after the loop, which has no masks.
// CHECK-LABEL: gpu.module @tail_rows_kernels
// CHECK:       gpu.func @k(
// CHECK-DAG:     %[[FOUR:[a-z0-9_]+]] = arith.constant 4 : index
// CHECK-DAG:     %[[ONE:[a-z0-9_]+]] = arith.constant 1 : index
// CHECK-DAG:     %[[ROWS:[a-z0-9_]+]] = arith.index_cast %arg2 : i64 to index
// CHECK-DAG:     %[[WORKGROUPS:[a-z0-9_]+]] = arith.index_cast %arg3 : i64 to index
// CHECK:         arith.divui %[[ROWS]], %[[FOUR]]
// CHECK:         scf.for
// CHECK-NOT:       scf.if
// CHECK:           vector.store
// CHECK:         %[[BEHIND:[a-z0-9_]+]] = arith.addi %block_id_x, %[[ONE]]
// CHECK:         arith.cmpi eq, %[[BEHIND]], %[[WORKGROUPS]]
// CHECK:         scf.if
// CHECK:           %[[LAST:[a-z0-9_]+]] = arith.subi %[[ROWS]], %[[ONE]]
// CHECK:           %[[VALID:[a-z0-9_]+]] = arith.cmpi ult, %[[ROW:[a-z0-9_]+]], %[[ROWS]]
// CHECK:           arith.minui %[[ROW]], %[[LAST]]
// CHECK:           scf.if %[[VALID]] {
// CHECK-NEXT:        vector.store
// CHECK:         gpu.return
func.func @tail_rows(%x: memref<?x256xf32>, %o: memref<?x256xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x256xf32>) outs(%o[m, n] : memref<?x256xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 4, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<256xf32>):
    %sum = vector.reduction <add>, %xr : vector<256xf32> into f32
    %spread = vector.broadcast %sum : f32 to vector<256xf32>
    %y = arith.addf %xr, %spread : vector<256xf32>
    lnbwd.yield %y : vector<256xf32>
  }
  return
}

// -----

// Row by row there is no tail.
// CHECK-LABEL: gpu.module @no_tail_kernels
// CHECK:       gpu.func @k(
// CHECK-NOT:     arith.remui
// CHECK:         scf.for
// CHECK-NOT:     scf.if
// CHECK:         gpu.return
func.func @no_tail(%x: memref<?x256xf32>, %o: memref<?x256xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x256xf32>) outs(%o[m, n] : memref<?x256xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<256xf32>):
    %sum = vector.reduction <add>, %xr : vector<256xf32> into f32
    %spread = vector.broadcast %sum : f32 to vector<256xf32>
    %y = arith.addf %xr, %spread : vector<256xf32>
    lnbwd.yield %y : vector<256xf32>
  }
  return
}

// -----

// The next row is loaded while this one is worked on.
// CHECK-LABEL: gpu.module @prefetch_kernels
// CHECK:       gpu.func @k(
// CHECK:         %[[FIRST:[a-z0-9_]+]] = vector.load {{.*}}#amdgpu.address_space<fat_raw_buffer>
// CHECK:         scf.for {{.*}} iter_args({{.*}}%[[NOW:[a-z0-9_]+]] = %[[FIRST]])
// CHECK:           %[[EXISTS:[a-z0-9_]+]] = arith.cmpi ult
// CHECK:           %[[COUNT:[a-z0-9_]+]] = arith.select %[[EXISTS]], %c1, %c0
// CHECK:           arith.muli %[[COUNT]], %c256
// CHECK:           amdgpu.fat_raw_buffer_cast {{.*}} validBytes({{.*}}) resetOffset
// CHECK:           %[[NEXT:[a-z0-9_]+]] = vector.load
// CHECK:           rocdl.sched.barrier 0
// CHECK:           arith.addf %[[NOW]],
// CHECK:           scf.yield {{.*}}%[[NEXT]] :
// CHECK:         gpu.return
func.func @prefetch(%x: memref<?x256xf32>, %o: memref<?x256xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x256xf32>) outs(%o[m, n] : memref<?x256xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4, prefetch = 1>} {
  ^bb0(%xr: vector<256xf32>):
    %sum = vector.reduction <add>, %xr : vector<256xf32> into f32
    %spread = vector.broadcast %sum : f32 to vector<256xf32>
    %y = arith.addf %xr, %spread : vector<256xf32>
    lnbwd.yield %y : vector<256xf32>
  }
  return
}

// -----

// Two rows a turn: each is loaded after the work that frees its registers, for
// the next turn, and nothing is copied.
// CHECK-LABEL: gpu.module @unroll_kernels
// CHECK:       gpu.func @k(
// CHECK:         scf.if
// CHECK:           %[[FIRST:[a-z0-9_]+]] = vector.load
// CHECK:           rocdl.sched.barrier 0
// CHECK:           %[[SECOND:[a-z0-9_]+]] = vector.load
// CHECK:           rocdl.sched.barrier 0
// CHECK:           scf.while ({{.*}}%[[A:[a-z0-9_]+]] = %[[FIRST]], %[[B:[a-z0-9_]+]] = %[[SECOND]])
// CHECK:             arith.addf %[[A]],
// CHECK:             %[[NEXTA:[a-z0-9_]+]] = vector.load
// CHECK:             rocdl.sched.barrier 0
// CHECK:             scf.if
// CHECK-NOT:           vector.load
// CHECK:               arith.addf %[[B]],
// CHECK:             %[[NEXTB:[a-z0-9_]+]] = vector.load
// CHECK:             rocdl.sched.barrier 0
// CHECK:             scf.condition({{.*}}, %[[NEXTA]], %[[NEXTB]] :
// CHECK:         gpu.return
func.func @unroll(%x: memref<?x256xf32>, %o: memref<?x256xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x256xf32>) outs(%o[m, n] : memref<?x256xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4, prefetch = 1, unroll = 2>} {
  ^bb0(%xr: vector<256xf32>):
    %sum = vector.reduction <add>, %xr : vector<256xf32> into f32
    %spread = vector.broadcast %sum : f32 to vector<256xf32>
    %y = arith.addf %xr, %spread : vector<256xf32>
    lnbwd.yield %y : vector<256xf32>
  }
  return
}

// -----

// Rows that wait for nothing are loaded before the first of them is worked on;
// those beyond the last are masked, so that nothing is left for after the loop.
// CHECK-LABEL: gpu.module @independent_rows_kernels
// CHECK:       gpu.func @k(
// CHECK:         scf.for
// CHECK-COUNT-4: vector.load %{{.*}} : memref<?xf32, #amdgpu.address_space<fat_raw_buffer>>
// CHECK-NOT:     vector.load
// CHECK-COUNT-4: arith.select
// CHECK-NOT:     scf.for
// CHECK:         gpu.return
func.func @independent_rows(%x: memref<?x256xf32>, %p: memref<?x256xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x256xf32>) outs(%p[*, n] add : memref<?x256xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4, unroll = 4>} {
  ^bb0(%xr: vector<256xf32>):
    lnbwd.yield %xr : vector<256xf32>
  }
  return
}
