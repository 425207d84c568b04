// RUN: lnbwd-opt %s --allow-unregistered-dialect --pass-pipeline='builtin.module(lnbwd-set-chip{chip=sm_90},gpu.module(gpu.func(lnbwd-lower-row-reductions)))' --split-input-file | FileCheck %s

!layout = !lane.layout<row_length = 256, lanes = 32, groups = 2, width = 8>
!stages = !lane.stages<2 of f32>

// After the first barrier after what is received, which stands for the last.
// CHECK-LABEL: gpu.func @first_barrier(
// CHECK:         lane.receive
// CHECK-NEXT:    "test.exchange"
// CHECK-NEXT:    lane.barrier
// CHECK-NEXT:    %[[LATER:.*]] = arith.addi
// CHECK-NEXT:    lane.start_copies %{{.*}} from %[[LATER]]
// CHECK-NEXT:    "test.read"
// CHECK-NEXT:    lane.barrier
// CHECK-NEXT:    "test.end"
// CHECK-NEXT:  }
gpu.module @m {
  gpu.func @first_barrier(%stages: !stages, %layout: !layout, %i: index, %xs: memref<?x256xf32>) {
    lane.for_rows %tile = %i to %i step %i at %layout attributes {whole} : !layout {
      lane.barrier
      %x = lane.receive %tile from %stages[%i] at %layout access 0 : !layout, !stages -> vector<8xf32>
      "test.exchange"(%x) : (vector<8xf32>) -> ()
      lane.barrier
      "test.read"() : () -> ()
      lane.barrier
      "test.end"() : () -> ()
      lane.barrier
      %later = arith.addi %tile, %i : index
      lane.start_copies %xs from %later below %i to %stages[%i] at %layout : !layout, !stages, memref<?x256xf32>
    }
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 512, lanes = 32, groups = 2, width = 8, columns = 256>
!stages = !lane.stages<2 of f32>
!memory = memref<8xf32, #gpu.address_space<workgroup>>
!barriers = memref<2xi64, #gpu.address_space<workgroup>>

// While sums are in flight to peers; that needs the barrier.
// CHECK-LABEL: gpu.func @peers(
// CHECK:         lane.send_to_peers
// CHECK-NEXT:    lane.barrier
// CHECK-NEXT:    lane.start_copies
// CHECK-NEXT:    lane.await_bytes
// CHECK-NEXT:  }
gpu.module @m {
  gpu.func @peers(%stages: !stages, %layout: !layout, %i: index, %p: i32, %xs: memref<?x512xf32>, %s: vector<1xf32>) workgroup(%m: !memory, %b: !barriers) {
    lane.for_rows %tile = %i to %i step %i at %layout attributes {whole} : !layout {
      %x = lane.receive %tile from %stages[%i] at %layout access 0 : !layout, !stages -> vector<8xf32>
      lane.send_to_peers %s to %m[%i] counted by %b[%i] at %layout : !layout, vector<1xf32>, !memory, !barriers
      lane.await_bytes %b[%i] phase %p : !barriers
      lane.barrier
      lane.start_copies %xs from %tile below %i to %stages[%i] at %layout : !layout, !stages, memref<?x512xf32>
    }
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 256, lanes = 32, groups = 2, width = 8>
!stages = !lane.stages<2 of f32>

// No other barrier: as it was. Copies outside a loop have no iteration.
// CHECK-LABEL: gpu.func @own_barrier(
// CHECK:         lane.start_copies
// CHECK-NEXT:    lane.for_rows
// CHECK-NEXT:      lane.receive
// CHECK-NEXT:      "test.use"
// CHECK-NEXT:      lane.barrier
// CHECK-NEXT:      lane.start_copies
gpu.module @m {
  gpu.func @own_barrier(%stages: !stages, %layout: !layout, %i: index, %xs: memref<?x256xf32>) {
    lane.start_copies %xs from %i below %i to %stages[%i] at %layout : !layout, !stages, memref<?x256xf32>
    lane.for_rows %tile = %i to %i step %i at %layout attributes {whole} : !layout {
      %x = lane.receive %tile from %stages[%i] at %layout access 0 : !layout, !stages -> vector<8xf32>
      "test.use"(%x) : (vector<8xf32>) -> ()
      lane.barrier
      lane.start_copies %xs from %tile below %i to %stages[%i] at %layout : !layout, !stages, memref<?x256xf32>
    }
    gpu.return
  }
}
