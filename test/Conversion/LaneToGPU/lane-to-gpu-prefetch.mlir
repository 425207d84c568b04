// RUN: lnbwd-opt %s --pass-pipeline='builtin.module(lnbwd-set-chip{chip=sm_90},gpu.module(gpu.func(lnbwd-convert-lane-to-gpu,cse,canonicalize)))' | FileCheck %s

gpu.module @m {
  // A tile is one block of memory, which one lane asks for: four rows, or as
  // many as there are.
  // CHECK-LABEL: gpu.func @block(
  // CHECK-SAME:    %[[A:.*]]: memref<?x128xf32>, %[[B:.*]]: memref<?x128xbf16>, %[[TILE:.*]]: index, %[[END:.*]]: index)
  // CHECK-DAG:     %[[C0:.*]] = arith.constant 0 : index
  // CHECK-DAG:     %[[C4:.*]] = arith.constant 4 : index
  // CHECK-DAG:     %[[ROW:.*]] = arith.constant 512 : index
  // CHECK-DAG:     %[[ROW16:.*]] = arith.constant 256 : index
  // CHECK:         %[[THREAD:.*]] = gpu.thread_id x
  // CHECK:         %[[FIRST:.*]] = arith.cmpi eq, %[[THREAD]], %[[C0]]
  // CHECK:         %[[THERE:.*]] = arith.cmpi ult, %[[TILE]], %[[END]]
  // CHECK:         %[[BOTH:.*]] = arith.andi %[[FIRST]], %[[THERE]]
  // CHECK:         scf.if %[[BOTH]] {
  // CHECK:           %[[LEFT:.*]] = arith.subi %[[END]], %[[TILE]]
  // CHECK:           %[[ROWS:.*]] = arith.minui %[[LEFT]], %[[C4]]
  // CHECK:           %[[NONE:.*]] = nvvm.read.ptx.sreg.laneid
  // CHECK:           %[[AT:.*]] = arith.muli %[[TILE]], %[[ROW]]
  // CHECK:           %[[BASE:.*]] = memref.extract_aligned_pointer_as_index %[[A]]
  // CHECK:           %[[SUM:.*]] = arith.addi %[[BASE]], %[[AT]]
  // CHECK:           %[[NUMBER:.*]] = arith.index_cast %[[SUM]] : index to i64
  // CHECK:           %[[POINTER:.*]] = llvm.inttoptr %[[NUMBER]] : i64 to !llvm.ptr<1>
  // CHECK:           %[[BYTES:.*]] = arith.muli %[[ROWS]], %[[ROW]]
  // The lane's number, which is 0, keeps the address out of uniform registers.
  // CHECK-DAG:       %[[AGAIN:.*]] = llvm.getelementptr %[[POINTER]][%[[NONE]]]
  // CHECK-DAG:       %[[LONG:.*]] = arith.index_cast %[[BYTES]] : index to i64
  // CHECK-DAG:       %[[SIZE:.*]] = arith.trunci %[[LONG]] : i64 to i32
  // CHECK:           nvvm.cp.async.bulk.prefetch %[[AGAIN]], %[[SIZE]]
  // CHECK:           arith.muli %[[TILE]], %[[ROW16]]
  // CHECK:           memref.extract_aligned_pointer_as_index %[[B]]
  // CHECK:           arith.muli %[[ROWS]], %[[ROW16]]
  // CHECK:           nvvm.cp.async.bulk.prefetch
  // CHECK-NEXT:    }
  // CHECK-NEXT:    gpu.return
  gpu.func @block(%a: memref<?x128xf32>, %b: memref<?x128xbf16>, %tile: index, %end: index) {
    %layout = lane.layout : !lane.layout<row_length = 128, lanes = 32, groups = 4, width = 4>
    lane.prefetch_rows %a, %b from %tile below %end at %layout : !lane.layout<row_length = 128, lanes = 32, groups = 4, width = 4>, memref<?x128xf32>, memref<?x128xbf16>
    gpu.return
  }

  // Rows of 202 bytes do not begin where a copy can: from the unit of 16 bytes
  // before to the one after, which is 202 + 15 bytes on at most.
  // CHECK-LABEL: gpu.func @units(
  // CHECK-DAG:     %[[REST:.*]] = arith.constant 217 : i64
  // CHECK-DAG:     %[[UNITS:.*]] = arith.constant -16 : i64
  // CHECK:         %[[POINTER:.*]] = llvm.inttoptr
  // CHECK:         %[[BEGIN:.*]] = llvm.ptrtoint %[[POINTER]]
  // CHECK:         %[[BEHIND:.*]] = arith.addi %[[BEGIN]], %[[REST]]
  // CHECK:         %[[FROM:.*]] = arith.andi %[[BEGIN]], %[[UNITS]]
  // CHECK:         %[[TO:.*]] = arith.andi %[[BEHIND]], %[[UNITS]]
  // CHECK:         %[[SIZE:.*]] = arith.subi %[[TO]], %[[FROM]]
  // CHECK:         %[[AT:.*]] = llvm.inttoptr %[[FROM]]
  // CHECK-DAG:     %[[AGAIN:.*]] = llvm.getelementptr %[[AT]]
  // CHECK-DAG:     %[[NARROW:.*]] = arith.trunci %[[SIZE]]
  // CHECK:         nvvm.cp.async.bulk.prefetch %[[AGAIN]], %[[NARROW]]
  gpu.func @units(%a: memref<?x101xbf16>, %tile: index, %end: index) {
    %layout = lane.layout : !lane.layout<row_length = 101, lanes = 32, groups = 1, width = 1>
    lane.prefetch_rows %a from %tile below %end at %layout : !lane.layout<row_length = 101, lanes = 32, groups = 1, width = 1>, memref<?x101xbf16>
    gpu.return
  }

  // Of rows that lie apart each group has its own brought; that is a row that
  // exists.
  // CHECK-LABEL: gpu.func @apart(
  // CHECK-SAME:    %[[A:.*]]: memref<?x128xf32, strided<[160, 1]>>, %[[TILE:.*]]: index, %[[END:.*]]: index)
  // CHECK-DAG:     %[[STRIDE:.*]] = arith.constant 640 : index
  // CHECK-DAG:     %[[C32:.*]] = arith.constant 32 : index
  // CHECK-DAG:     %[[SIZE:.*]] = arith.constant 512 : i32
  // CHECK-DAG:     %[[C0:.*]] = arith.constant 0 : index
  // CHECK:         %[[LANE:.*]] = arith.remui %{{.*}}, %[[C32]]
  // CHECK:         %[[GROUP:.*]] = arith.divui %{{.*}}, %[[C32]]
  // CHECK:         %[[ROW:.*]] = arith.addi %[[TILE]], %[[GROUP]]
  // CHECK:         arith.cmpi eq, %[[LANE]], %[[C0]]
  // CHECK:         arith.cmpi ult, %[[ROW]], %[[END]]
  // CHECK:         scf.if
  // CHECK:           arith.muli %[[ROW]], %[[STRIDE]]
  // CHECK:           nvvm.cp.async.bulk.prefetch %{{.*}}, %[[SIZE]]
  gpu.func @apart(%a: memref<?x128xf32, strided<[160, 1]>>, %tile: index, %end: index) {
    %layout = lane.layout : !lane.layout<row_length = 128, lanes = 32, groups = 4, width = 4>
    lane.prefetch_rows %a from %tile below %end at %layout : !lane.layout<row_length = 128, lanes = 32, groups = 4, width = 4>, memref<?x128xf32, strided<[160, 1]>>
    gpu.return
  }

  // Of the workgroup's columns as many as there are: the last one has 64.
  // CHECK-LABEL: gpu.func @columns(
  // CHECK-SAME:    %[[A:.*]]: memref<?x320xf32>, %[[TILE:.*]]: index, %[[END:.*]]: index, %[[FIRST:.*]]: index)
  // CHECK-DAG:     %[[C320:.*]] = arith.constant 320 : index
  // CHECK-DAG:     %[[C128:.*]] = arith.constant 128 : index
  // CHECK:         scf.if
  // CHECK:           %[[LEFT:.*]] = arith.subi %[[C320]], %[[FIRST]]
  // CHECK:           %[[OWN:.*]] = arith.minui %[[LEFT]], %[[C128]]
  // CHECK:           %[[OFFSET:.*]] = arith.muli %[[TILE]], %[[C320]]
  // CHECK:           arith.addi %[[OFFSET]], %[[FIRST]]
  // CHECK:           nvvm.cp.async.bulk.prefetch
  gpu.func @columns(%a: memref<?x320xf32>, %tile: index, %end: index, %first: index) {
    %layout = lane.layout from %first : !lane.layout<row_length = 320, lanes = 32, groups = 1, width = 4, columns = 128>
    lane.prefetch_rows %a from %tile below %end at %layout : !lane.layout<row_length = 320, lanes = 32, groups = 1, width = 4, columns = 128>, memref<?x320xf32>
    gpu.return
  }
}
