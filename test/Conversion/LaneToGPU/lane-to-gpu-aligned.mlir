// RUN: lnbwd-opt %s --allow-unregistered-dialect --pass-pipeline='builtin.module(lnbwd-set-chip{chip=sm_90},gpu.module(gpu.func(lnbwd-convert-lane-to-gpu, canonicalize, cse)))' --split-input-file | FileCheck %s

!layout = !lane.layout<row_length = 197, lanes = 32, groups = 1, width = 4, span = 200>

// Accesses of row r begin at the multiple of four at or before element 197 r,
// and do not go on after the last one with an element of the row. The first one
// is never the last: all of it is memory.
// CHECK-LABEL: gpu.func @load(
// CHECK-SAME:    %[[X:.*]]: memref<?x197xf16>, %[[ROW:.*]]: index)
// CHECK:         %[[LANE:.*]] = arith.muli %thread_id_x, %c4
// CHECK:         %[[SECOND:.*]] = arith.addi %[[LANE]], %c128
// CHECK:         %[[BEGIN:.*]] = arith.muli %[[ROW]], %c197
// CHECK:         %[[SHIFT:.*]] = arith.remui %[[BEGIN]], %c4
// CHECK:         %[[COLUMN:.*]] = arith.subi %[[LANE]], %[[SHIFT]]
// CHECK:         %[[AT:.*]] = arith.addi %[[BEGIN]], %[[COLUMN]]
// CHECK:         vector.load %[[X]][%c0, %[[AT]]] {alignment = 8 : i64}
// CHECK:         %[[LAST:.*]] = arith.addi %[[SHIFT]], %c196
// CHECK:         %[[NUMBER:.*]] = arith.divui %[[LAST]], %c4
// CHECK:         %[[LAST_ACCESS:.*]] = arith.muli %[[NUMBER]], %c4
// CHECK:         arith.minui %{{.*}}, %[[LAST_ACCESS]]
// CHECK:         %[[ROWS:.*]] = memref.dim %[[X]], %c0
// CHECK:         %[[LEFT:.*]] = arith.subi %[[ROWS]], %[[ROW]]
// CHECK:         %[[BEHIND:.*]] = arith.muli %[[LEFT]], %c197
// CHECK:         %[[WHOLE:.*]] = arith.cmpi slt, %{{.*}}, %[[BEHIND]]
// CHECK:         scf.if %[[WHOLE]] -> (vector<4xf16>) {
// CHECK:           vector.load
// CHECK:         } else {
// CHECK-COUNT-4:   memref.load
// CHECK:           vector.from_elements
gpu.module @m {
  gpu.func @load(%x: memref<?x197xf16>, %row: index) {
    %layout = lane.layout : !layout
    %a = lane.load %x[%row] at %layout access 0 : !layout, memref<?x197xf16> -> vector<4xf16>
    %b = lane.load %x[%row] at %layout access 1 : !layout, memref<?x197xf16> -> vector<4xf16>
    "test.use"(%a, %b) : (vector<4xf16>, vector<4xf16>) -> ()
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 401, lanes = 32, groups = 1, width = 4, span = 404>

// The first access may begin before the row: what is not in it is not written.
// One between the first and the last is in the row, whatever the row is.
// CHECK-LABEL: gpu.func @store(
// CHECK:         %[[WHOLE:.*]] = arith.cmpi ult, %[[COLUMN:.*]], %c398
// CHECK:         scf.if %[[WHOLE]] {
// CHECK:           vector.store %{{.*}} {alignment = 8 : i64}
// CHECK-NEXT:    } else {
// CHECK:           %[[IN:.*]] = arith.cmpi ult, %[[COLUMN]], %c401
// CHECK:           scf.if %[[IN]] {
// CHECK:             memref.store
// CHECK-COUNT-3:     memref.store
// CHECK-NOT:     memref.store
// CHECK:         vector.store
// CHECK-NEXT:    gpu.return
gpu.module @m {
  gpu.func @store(%x: memref<?x401xf16>, %row: index, %a: vector<4xf16>) {
    %layout = lane.layout : !layout
    lane.store %a, %x[%row] at %layout access 0 : !layout, vector<4xf16>, memref<?x401xf16>
    lane.store %a, %x[%row] at %layout access 1 : !layout, vector<4xf16>, memref<?x401xf16>
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 197, lanes = 32, groups = 1, width = 4, span = 200>

// CHECK-LABEL: gpu.func @columns(
// CHECK:         %[[FIRST:.*]] = arith.index_cast %{{.*}} : index to i32
// CHECK:         %[[SPREAD:.*]] = vector.broadcast %[[FIRST]] : i32 to vector<4xi32>
// CHECK:         %[[COLUMNS:.*]] = arith.addi %[[SPREAD]], %{{.*}} : vector<4xi32>
// CHECK:         "test.use"(%[[COLUMNS]])
gpu.module @m {
  gpu.func @columns(%row: index) {
    %layout = lane.layout : !layout
    %i = lane.column_index %layout row %row access 0 : !layout -> vector<4xi32>
    "test.use"(%i) : (vector<4xi32>) -> ()
    gpu.return
  }
}
