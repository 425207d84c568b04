// RUN: lnbwd-opt %s | lnbwd-opt | FileCheck %s
// RUN: lnbwd-opt %s --mlir-print-op-generic | lnbwd-opt | FileCheck %s

!layout = !lane.layout<row_length = 1024, lanes = 64, groups = 2, width = 8, columns = 512>
!barriers = memref<4xi64, #gpu.address_space<workgroup>>
!memory = memref<32xf32, #gpu.address_space<workgroup>>

// Sums that workgroups send each other.
// CHECK-LABEL: func.func @sums(
// CHECK-SAME:    %[[FIRST:.*]]: index, %[[S:.*]]: vector<2xf32>, %[[M:.*]]: memref<32xf32, #gpu.address_space<workgroup>>, %[[B:.*]]: memref<4xi64, #gpu.address_space<workgroup>>, %[[I:.*]]: index, %[[P:.*]]: i32)
// CHECK:         %[[LAYOUT:.*]] = lane.layout from %[[FIRST]] : !layout
// CHECK-NEXT:    lane.init_byte_barriers %[[B]] : memref<4xi64, #gpu.address_space<workgroup>>
// CHECK-NEXT:    lane.expect_bytes %[[B]][%[[I]]], 128 : memref<4xi64, #gpu.address_space<workgroup>>
// CHECK-NEXT:    lane.send_to_peers %[[S]] to %[[M]][%[[I]]] counted by %[[B]][%[[I]]] at %[[LAYOUT]] : !layout, vector<2xf32>, memref<32xf32, #gpu.address_space<workgroup>>, memref<4xi64, #gpu.address_space<workgroup>>
// CHECK-NEXT:    lane.await_bytes %[[B]][%[[I]]] phase %[[P]] : memref<4xi64, #gpu.address_space<workgroup>>
func.func @sums(%first: index, %s: vector<2xf32>, %m: !memory, %b: !barriers, %i: index, %phase: i32) {
  %layout = lane.layout from %first : !layout
  lane.init_byte_barriers %b : !barriers
  lane.expect_bytes %b[%i], 128 : !barriers
  lane.send_to_peers %s to %m[%i] counted by %b[%i] at %layout : !layout, vector<2xf32>, !memory, !barriers
  lane.await_bytes %b[%i] phase %phase : !barriers
  return
}

!rows = !lane.layout<row_length = 1024, lanes = 64, groups = 2, width = 8>

// Rows that copies bring to stages.
// CHECK-LABEL: func.func @rows(
// CHECK-SAME:    %[[A:.*]]: memref<?x1024xbf16>, %[[B:.*]]: memref<?x1024xf32>, %[[TILE:.*]]: index, %[[END:.*]]: index, %[[STAGE:.*]]: index, %[[PHASE:.*]]: i32)
// CHECK:         %[[LAYOUT:.*]] = lane.layout : !layout1
// CHECK-NEXT:    %[[STAGES:.*]] = lane.stages at %[[LAYOUT]] : !layout1, !stages
// CHECK-NEXT:    lane.start_copies %[[A]], %[[B]] from %[[TILE]] below %[[END]] to %[[STAGES]][%[[STAGE]]] at %[[LAYOUT]] : !layout1, !stages, memref<?x1024xbf16>, memref<?x1024xf32>
// CHECK-NEXT:    lane.await_stage %[[STAGES]][%[[STAGE]]] phase %[[PHASE]] : !stages
// CHECK-NEXT:    lane.receive %[[TILE]] from %[[STAGES]][%[[STAGE]]] at %[[LAYOUT]] : !layout1, !stages -> vector<2x8xbf16>, vector<2x8xf32>
// CHECK-NEXT:    lane.receive %[[TILE]] from %[[STAGES]][%[[STAGE]]] at %[[LAYOUT]] access 1 : !layout1, !stages -> vector<8xbf16>, vector<8xf32>
func.func @rows(%a: memref<?x1024xbf16>, %b: memref<?x1024xf32>, %tile: index, %end: index, %stage: index, %phase: i32) {
  %layout = lane.layout : !rows
  %stages = lane.stages at %layout : !rows, !lane.stages<3 of bf16, f32>
  lane.start_copies %a, %b from %tile below %end to %stages[%stage] at %layout
      : !rows, !lane.stages<3 of bf16, f32>, memref<?x1024xbf16>, memref<?x1024xf32>
  lane.await_stage %stages[%stage] phase %phase : !lane.stages<3 of bf16, f32>
  %x:2 = lane.receive %tile from %stages[%stage] at %layout
      : !rows, !lane.stages<3 of bf16, f32> -> vector<2x8xbf16>, vector<2x8xf32>
  %y:2 = lane.receive %tile from %stages[%stage] at %layout access 1
      : !rows, !lane.stages<3 of bf16, f32> -> vector<8xbf16>, vector<8xf32>
  return
}

// The last row of a loop of one group may have to stay apart.
// CHECK-LABEL: func.func @last_row_apart
// CHECK:         lane.for_rows %{{.*}} at %{{.*}} for %{{.*}} of %{{.*}} attributes {last_row_apart} : !layout2 {
!odd = !lane.layout<row_length = 1001, lanes = 64, groups = 1, width = 1>
func.func @last_row_apart(%i: index) {
  %layout = lane.layout : !odd
  lane.for_rows %tile = %i to %i step %i at %layout for %i of %i attributes {last_row_apart} : !odd {
  }
  return
}
