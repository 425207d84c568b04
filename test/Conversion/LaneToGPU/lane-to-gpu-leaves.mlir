// RUN: lnbwd-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(lnbwd-convert-lane-to-gpu{chip=gfx942})),canonicalize,cse)' --split-input-file | FileCheck %s

!layout = !lane.layout<row_length = 256, lanes = 64, groups = 4, width = 4>

// Two leaves: the first group has what waits, at the same place for both. What
// is added last is the number at hand, which comes of the later leaf.
// CHECK-LABEL: gpu.func @pair
// CHECK-SAME:    %[[S:.*]]: vector<4xf32>, %[[LEAF:.*]]: index
// CHECK-SAME:    workgroup(%[[WAITING:.*]] : memref<256xf32, #gpu.address_space<workgroup>>
// CHECK:         %[[TOTAL:.*]] = scf.if
// CHECK:           %[[ODD:.*]] = arith.remui %[[LEAF]], %{{.*}}
// CHECK:           %[[IS_ODD:.*]] = arith.cmpi ne, %[[ODD]]
// CHECK:           scf.if %[[IS_ODD]]
// CHECK:             %[[BEFORE:.*]] = vector.load %[[WAITING]][%[[PLACE:.*]]]
// CHECK:             %[[ADDED:.*]] = arith.addf %[[BEFORE]], %[[S]]
// CHECK:             scf.yield %[[ADDED]]
// CHECK:           } else {
// CHECK:             vector.store %[[S]], %[[WAITING]][%[[PLACE]]]
// CHECK:         vector.store %[[TOTAL]]
gpu.module @m {
  gpu.func @pair(%s: vector<4xf32>, %leaf: index, %o: memref<256xf32>) {
    %layout = lane.layout : !layout
    %total = lane.add_leaves %s leaf %leaf at %layout levels 1 : !layout, vector<4xf32> -> vector<4xf32>
    lane.store_sum %total, %o at %layout access 0 : !layout, vector<4xf32>, memref<256xf32>
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 256, lanes = 64, groups = 1, width = 4>

// Four: each level has a place, and what is complete at one goes to the next.
// CHECK-LABEL: gpu.func @levels
// CHECK-SAME:    workgroup(%[[WAITING:.*]] : memref<512xf32, #gpu.address_space<workgroup>>
// CHECK:         scf.if
// CHECK:           %[[PAIR:.*]] = arith.addf
// CHECK:           scf.if
// CHECK:             %[[OTHER:.*]] = vector.load %[[WAITING]]
// CHECK:             arith.addf %[[OTHER]], %[[PAIR]]
// CHECK:           } else {
// CHECK:             vector.store %[[PAIR]], %[[WAITING]]
gpu.module @m {
  gpu.func @levels(%s: vector<4xf32>, %leaf: index, %o: memref<256xf32>) {
    %layout = lane.layout : !layout
    %total = lane.add_leaves %s leaf %leaf at %layout levels 2 : !layout, vector<4xf32> -> vector<4xf32>
    lane.store_sum %total, %o at %layout access 0 : !layout, vector<4xf32>, memref<256xf32>
    gpu.return
  }
}
