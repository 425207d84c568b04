// RUN: lnbwd-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(lnbwd-convert-lane-to-gpu{chip=sm_90},cse,canonicalize)))' | FileCheck %s

gpu.module @m {
  // 64 float32 columns are two lines of the cache. Each of the 32 work-items
  // takes rows of its own.
  // CHECK-LABEL: gpu.func @tile(
  // CHECK-SAME:    %[[A:.*]]: memref<?x128xf32>, %[[B:.*]]: memref<?x128xf32>, %[[ROWS:.*]]: index, %[[FIRST:.*]]: index)
  // CHECK-DAG:     %[[BYTES:.*]] = arith.constant 128 : i64
  // CHECK-DAG:     %[[THREADS:.*]] = arith.constant 32 : index
  // CHECK:         %[[THREAD:.*]] = gpu.thread_id x
  // CHECK:         scf.for %[[ROW:.*]] = %[[THREAD]] to %[[ROWS]] step %[[THREADS]] {
  // CHECK-COUNT-2:   llvm.call_intrinsic "llvm.nvvm.discard.global.L2"(%{{.*}}, %[[BYTES]]) : (!llvm.ptr<1>, i64) -> ()
  // CHECK:           memref.extract_aligned_pointer_as_index %[[B]]
  // CHECK-COUNT-2:   llvm.call_intrinsic "llvm.nvvm.discard.global.L2"
  // CHECK:         }
  // CHECK:         gpu.return
  gpu.func @tile(%a: memref<?x128xf32>, %b: memref<?x128xf32>, %rows: index, %first: index) {
    %place = lane.place from %first : !lane.place<row_length = 128, lanes = 8, groups = 4, width = 4, columns = 64>
    lane.discard %a, %b rows %rows at %place : !lane.place<row_length = 128, lanes = 8, groups = 4, width = 4, columns = 64>, memref<?x128xf32>, memref<?x128xf32>
    gpu.return
  }

  // Every second row begins within a line, which has columns of the row before
  // as well.
  // CHECK-LABEL: gpu.func @shared_lines(
  // CHECK-NOT:     discard
  // CHECK:         gpu.return
  gpu.func @shared_lines(%a: memref<?x80xf32>, %rows: index) {
    %place = lane.place : !lane.place<row_length = 80, lanes = 8, groups = 4, width = 4>
    lane.discard %a rows %rows at %place : !lane.place<row_length = 80, lanes = 8, groups = 4, width = 4>, memref<?x80xf32>
    gpu.return
  }

  // 16 columns are half a line.
  // CHECK-LABEL: gpu.func @half_lines(
  // CHECK-NOT:     discard
  // CHECK:         gpu.return
  gpu.func @half_lines(%a: memref<?x128xf32>, %rows: index, %first: index) {
    %place = lane.place from %first : !lane.place<row_length = 128, lanes = 4, groups = 8, width = 4, columns = 16>
    lane.discard %a rows %rows at %place : !lane.place<row_length = 128, lanes = 4, groups = 8, width = 4, columns = 16>, memref<?x128xf32>
    gpu.return
  }
}
