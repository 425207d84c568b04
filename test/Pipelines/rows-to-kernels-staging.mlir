// RUN: lnbwd-opt %s --lnbwd-gpu-pipeline=chip=sm_90 --split-input-file | FileCheck %s

// Scheduled row programs through all passes of the lane level: rows that come
// through workgroup memory, and kernels that start early.

// Bulk copies keep two rows in flight in dynamic shared memory; lanes wait for
// the bytes of a row and read it from there. Without row sums, the next copy into
// its place starts as soon as all have read it, ahead of the row's arithmetic.
// CHECK-LABEL: gpu.module @staged_kernels
// CHECK:       gpu.func @k(
// CHECK:         %[[SHARED:[a-z0-9_]+]] = gpu.dynamic_shared_memory
// CHECK-COUNT-2: nvvm.mbarrier.init
// CHECK:         gpu.barrier
// CHECK-COUNT-2: nvvm.cp.async.bulk.shared.cluster.global
// CHECK:         scf.for
// CHECK:           nvvm.mbarrier.try_wait.parity
// CHECK:           %[[STAGES:[a-z0-9_]+]] = memref.view %[[SHARED]]{{.*}} to memref<2x1024xbf16, #gpu.address_space<workgroup>>
// CHECK:           vector.load %[[STAGES]][
// CHECK-NOT:       vector.load
// CHECK:           gpu.barrier
// CHECK-NOT:       arith.negf
// CHECK:           nvvm.cp.async.bulk.shared.cluster.global
// CHECK:           arith.negf
// CHECK:           vector.store
// CHECK-NOT:       gpu.barrier
// CHECK:         gpu.return
// CHECK:       func.func @staged
// CHECK:         gpu.launch_func {{.*}} dynamic_shared_memory_size %c4096_i32
func.func @staged(%x: memref<?x1024xbf16>, %o: memref<?x1024xbf16>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x1024xbf16>) outs(%o[m, n] : memref<?x1024xbf16>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 128, row_groups = 1, vector_width = 8,
                                             rows_per_workgroup = 8, workgroups_per_compute_unit = 4, stages = 2>} {
  ^bb0(%xr: vector<1024xbf16>):
    %minus = arith.negf %xr : vector<1024xbf16>
    lnbwd.yield %minus : vector<1024xbf16>
  }
  return
}

// -----

// A kernel that starts early waits before it first reads, and its launch says
// so. After its rows it lets the next one of the program start; the last one
// lets nothing start, since what follows a program need not wait.
// CHECK-LABEL: gpu.module @early_kernels
// CHECK-NEXT:    llvm.mlir.global
// CHECK-SAME:    \22dependent_launch\22:true{{.*}}\22dependent_launch\22:true
// CHECK:       gpu.func @k(
// CHECK-NOT:     vector.load
// CHECK:         nvvm.griddepcontrol wait
// CHECK:         vector.load
// CHECK:         nvvm.griddepcontrol launch_dependents
// CHECK:         gpu.return
// CHECK:       gpu.func @last(
// CHECK:         nvvm.griddepcontrol wait
// CHECK-NOT:     nvvm.griddepcontrol launch_dependents
// CHECK:       func.func @early
// CHECK-COUNT-2: gpu.launch_func
func.func @early(%x: memref<?x1024xbf16>, %o: memref<?x1024xbf16>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x1024xbf16>) outs(%o[m, n] : memref<?x1024xbf16>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 128, row_groups = 1, vector_width = 8,
                                             rows_per_workgroup = 8, workgroups_per_compute_unit = 4,
                                             dependent_launch = true>} {
  ^bb0(%xr: vector<1024xbf16>):
    lnbwd.yield %xr : vector<1024xbf16>
  }
  lnbwd.rowwise @last domain(m | n) ins(%o[m, n] : memref<?x1024xbf16>) outs(%x[m, n] : memref<?x1024xbf16>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 128, row_groups = 1, vector_width = 8,
                                             rows_per_workgroup = 8, workgroups_per_compute_unit = 4,
                                             dependent_launch = true>} {
  ^bb0(%xr: vector<1024xbf16>):
    lnbwd.yield %xr : vector<1024xbf16>
  }
  return
}

// -----

// Rows of 510 bytes begin anywhere: a copy begins at the last multiple of 16
// bytes before its row, takes 528, and lies as it does in memory within 32
// bytes. The lanes look after the distance. The last row, after which a copy
// would leave the buffer, comes after the loop.
// CHECK-LABEL: gpu.module @ragged_kernels
// CHECK:       gpu.func @k(
// CHECK-DAG:     %[[UNIT:[a-z0-9_]+]] = arith.constant 8 : index
// CHECK-DAG:     %[[BYTES:[a-z0-9_]+]] = arith.constant 528 : i32
// CHECK:         memref.view %{{.*}} to memref<2x272xbf16, #gpu.address_space<workgroup>>
// CHECK:         %[[FULL:[a-z0-9_]+]] = arith.subi %{{.*}}, %{{.*}} : index
// CHECK:         %[[OFFSET:[a-z0-9_]+]] = arith.remui %{{.*}}, %{{.*}} : index
// CHECK:         arith.remui %[[OFFSET]], %[[UNIT]] : index
// CHECK:         nvvm.cp.async.bulk.shared.cluster.global {{.*}}, %[[BYTES]]
// CHECK:         scf.for
// CHECK:           vector.load %{{.*}} : memref<2x272xbf16, #gpu.address_space<workgroup>>, vector<1xbf16>
// CHECK:         scf.if
// CHECK:           vector.load %{{.*}} : memref<?x255xbf16, #gpu.address_space<global>>, vector<1xbf16>
// CHECK:         gpu.return
func.func @ragged(%x: memref<?x255xbf16>, %o: memref<?x255xbf16>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x255xbf16>) outs(%o[m, n] : memref<?x255xbf16>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 128, row_groups = 1, vector_width = 1,
                                             rows_per_workgroup = 8, workgroups_per_compute_unit = 4, stages = 2>} {
  ^bb0(%xr: vector<255xbf16>):
    lnbwd.yield %xr : vector<255xbf16>
  }
  return
}

// -----

// Column sums of staged rows are added to totals in a branch of the one row
// loop, once in 8 turns; a constant zero would be selected in each turn.
// CHECK-LABEL: gpu.module @staged_sums_kernels
// CHECK:         %[[LOOP:[a-z0-9_]+]]:{{[0-9]+}} = scf.for
// CHECK-NOT:     scf.for
// CHECK:           %[[SUM:[a-z0-9_]+]] = arith.addf
// CHECK:           %[[NEXT:[a-z0-9_]+]] = arith.addi %{{.*}}, %c1_i32
// CHECK:           %[[IS_LAST:[a-z0-9_]+]] = arith.cmpi eq, %[[NEXT]], %c8_i32
// CHECK:           scf.if %[[IS_LAST]]
// CHECK-DAG:         %[[ZERO:[a-z0-9_]+]] = arith.subf %[[SUM]], %[[SUM]]
// CHECK-DAG:         %[[TOTAL:[a-z0-9_]+]] = arith.addf %{{.*}}, %[[SUM]]
// CHECK:             scf.yield %[[ZERO]], {{.*}}%[[TOTAL]]
// CHECK-NOT:     scf.for
// CHECK:         gpu.return
func.func @staged_sums(%x: memref<?x1024xf32>, %p: memref<?x1024xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x1024xf32>) outs(%p[*, n] add : memref<?x1024xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 128, row_groups = 4, vector_width = 4,
                                             rows_per_workgroup = 8, workgroups_per_compute_unit = 1, stages = 2, sum_block = 8>} {
  ^bb0(%xr: vector<1024xf32>):
    lnbwd.yield %xr : vector<1024xf32>
  }
  return
}

// -----

// A copy begins within the rows of the workgroup's group.
// CHECK-LABEL: gpu.module @staged_groups_kernels
// CHECK:         %[[B:[a-z0-9_]+]] = gpu.block_id z
// CHECK:         %[[ROWS:[a-z0-9_]+]] = memref.reinterpret_cast %{{[a-z0-9_]+}} to offset: [%{{[a-z0-9_]+}}], sizes: [%{{[a-z0-9_]+}}, 1024]
// CHECK:         %{{[^,]+}}, %[[OFFSET:[a-z0-9_]+]], {{.*}} = memref.extract_strided_metadata %[[ROWS]]
// CHECK:         %[[ELEMENT:[a-z0-9_]+]] = arith.addi %[[OFFSET]],
// CHECK:         %[[BYTES:[a-z0-9_]+]] = arith.muli %[[ELEMENT]], %c2
// CHECK:         %[[BEGIN:[a-z0-9_]+]] = memref.extract_aligned_pointer_as_index %[[ROWS]]
// CHECK:         arith.addi %[[BEGIN]], %[[BYTES]]
// CHECK:         nvvm.cp.async.bulk.shared.cluster.global
func.func @staged_groups(%x: memref<?x?x1024xbf16>, %s: memref<?x1024xf32>) {
  lnbwd.rowwise @k domain(m0, m1 | n) ins(%x[m0, m1, n] : memref<?x?x1024xbf16>) outs(%s[m0, n] add : memref<?x1024xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 128, row_groups = 1, vector_width = 8,
                                             rows_per_workgroup = 0, workgroups_per_compute_unit = 0, stages = 2>} {
  ^bb0(%xr: vector<1024xbf16>):
    %wide = arith.extf %xr : vector<1024xbf16> to vector<1024xf32>
    lnbwd.yield %wide : vector<1024xf32>
  }
  return
}
