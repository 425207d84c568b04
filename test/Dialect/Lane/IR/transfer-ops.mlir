// RUN: lnbwd-opt %s | lnbwd-opt | FileCheck %s
// RUN: lnbwd-opt %s --mlir-print-op-generic | lnbwd-opt | FileCheck %s

!place = !lane.place<row_length = 1024, lanes = 64, groups = 2, width = 8, columns = 512>
!barriers = memref<4xi64, #gpu.address_space<workgroup>>
!memory = memref<32xf32, #gpu.address_space<workgroup>>

// Sums that workgroups send each other.
// CHECK-LABEL: func.func @sums(
// CHECK-SAME:    %[[FIRST:.*]]: index, %[[S:.*]]: vector<2xf32>, %[[M:.*]]: memref<32xf32, #gpu.address_space<workgroup>>, %[[B:.*]]: memref<4xi64, #gpu.address_space<workgroup>>, %[[I:.*]]: index, %[[P:.*]]: i32)
// CHECK:         %[[PLACE:.*]] = lane.place from %[[FIRST]] : !place
// CHECK-NEXT:    lane.init_byte_barriers %[[B]] : memref<4xi64, #gpu.address_space<workgroup>>
// CHECK-NEXT:    lane.arrive_at_peers
// CHECK-NEXT:    lane.await_peers
// CHECK-NEXT:    lane.expect_bytes %[[B]][%[[I]]], 128 : memref<4xi64, #gpu.address_space<workgroup>>
// CHECK-NEXT:    lane.send_to_peers %[[S]] to %[[M]][%[[I]]] counted by %[[B]][%[[I]]] at %[[PLACE]] : !place, vector<2xf32>, memref<32xf32, #gpu.address_space<workgroup>>, memref<4xi64, #gpu.address_space<workgroup>>
// CHECK-NEXT:    lane.await_bytes %[[B]][%[[I]]] phase %[[P]] : memref<4xi64, #gpu.address_space<workgroup>>
func.func @sums(%first: index, %s: vector<2xf32>, %m: !memory, %b: !barriers, %i: index, %phase: i32) {
  %place = lane.place from %first : !place
  lane.init_byte_barriers %b : !barriers
  lane.arrive_at_peers
  lane.await_peers
  lane.expect_bytes %b[%i], 128 : !barriers
  lane.send_to_peers %s to %m[%i] counted by %b[%i] at %place : !place, vector<2xf32>, !memory, !barriers
  lane.await_bytes %b[%i] phase %phase : !barriers
  return
}
