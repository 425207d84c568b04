// RUN: lnbwd-opt %s --pass-pipeline='builtin.module(lnbwd-set-chip{chip=sm_90},gpu.module(gpu.func(lnbwd-convert-lane-to-gpu,cse,canonicalize)))' | FileCheck %s
// RUN: lnbwd-opt %s --pass-pipeline='builtin.module(lnbwd-set-chip{chip=gfx942},gpu.module(gpu.func(lnbwd-convert-lane-to-gpu,cse,canonicalize)))' | FileCheck %s --check-prefix=AMD

// AMD-NOT: discard

gpu.module @m {
  // 64 float32 columns are two lines of the cache. Each of the 32 work-items
  // takes rows of its own.
  // CHECK-LABEL: gpu.func @tile(
  // CHECK-SAME:    %[[A:.*]]: memref<?x1024xf32>, %[[B:.*]]: memref<?x1024xf32>, %[[ROWS:.*]]: index, %[[FIRST:.*]]: index)
  // CHECK-DAG:     %[[BYTES:.*]] = arith.constant 128 : i64
  // CHECK-DAG:     %[[THREADS:.*]] = arith.constant 32 : index
  // CHECK:         %[[THREAD:.*]] = gpu.thread_id x
  // CHECK:         scf.for %[[ROW:.*]] = %[[THREAD]] to %[[ROWS]] step %[[THREADS]] {
  // CHECK-COUNT-2:   llvm.call_intrinsic "llvm.nvvm.discard.global.L2"(%{{.*}}, %[[BYTES]]) : (!llvm.ptr<1>, i64) -> ()
  // CHECK:           memref.extract_aligned_pointer_as_index %[[B]]
  // CHECK-COUNT-2:   llvm.call_intrinsic "llvm.nvvm.discard.global.L2"
  // CHECK:         }
  // CHECK:         gpu.return
  gpu.func @tile(%a: memref<?x1024xf32>, %b: memref<?x1024xf32>, %rows: index, %first: index) {
    %layout = lane.layout from %first : !lane.layout<row_length = 1024, lanes = 8, groups = 4, width = 4, columns = 64>
    lane.discard %a, %b rows %rows at %layout : !lane.layout<row_length = 1024, lanes = 8, groups = 4, width = 4, columns = 64>, memref<?x1024xf32>, memref<?x1024xf32>
    gpu.return
  }

  // Every second row begins within a line, which has columns of the row before
  // as well.
  // CHECK-LABEL: gpu.func @shared_lines(
  // CHECK-NOT:     discard
  // CHECK:         gpu.return
  gpu.func @shared_lines(%a: memref<?x1000xf32>, %rows: index) {
    %layout = lane.layout : !lane.layout<row_length = 1000, lanes = 8, groups = 4, width = 4>
    lane.discard %a rows %rows at %layout : !lane.layout<row_length = 1000, lanes = 8, groups = 4, width = 4>, memref<?x1000xf32>
    gpu.return
  }

  // 16 columns are half a line.
  // CHECK-LABEL: gpu.func @half_lines(
  // CHECK-NOT:     discard
  // CHECK:         gpu.return
  gpu.func @half_lines(%a: memref<?x1024xf32>, %rows: index, %first: index) {
    %layout = lane.layout from %first : !lane.layout<row_length = 1024, lanes = 4, groups = 8, width = 4, columns = 16>
    lane.discard %a rows %rows at %layout : !lane.layout<row_length = 1024, lanes = 4, groups = 8, width = 4, columns = 16>, memref<?x1024xf32>
    gpu.return
  }

  // There is little of short rows to bring to memory.
  // CHECK-LABEL: gpu.func @short(
  // CHECK-NOT:     discard
  // CHECK:         gpu.return
  gpu.func @short(%a: memref<?x512xf32>, %rows: index, %first: index) {
    %layout = lane.layout from %first : !lane.layout<row_length = 512, lanes = 8, groups = 4, width = 4, columns = 64>
    lane.discard %a rows %rows at %layout : !lane.layout<row_length = 512, lanes = 8, groups = 4, width = 4, columns = 64>, memref<?x512xf32>
    gpu.return
  }
}
