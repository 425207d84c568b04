// RUN: lnbwd-opt %s --pass-pipeline='builtin.module(lnbwd-set-chip{chip=gfx942},gpu.module(gpu.func(lnbwd-convert-lane-to-gpu)),canonicalize,cse)' --split-input-file | FileCheck %s

!layout = !lane.layout<row_length = 256, lanes = 64, groups = 4, width = 4>

// The first group has what waits, level by level: as long as the number of the
// leaf has ones, it is the left neighbour of the number at hand. This waits at
// the next level, if there is one.
// CHECK-LABEL: gpu.func @levels
// CHECK-SAME:    %[[S:.*]]: vector<4xf32>, %[[LEAF:.*]]: index
// CHECK-SAME:    workgroup(%[[WAITING:.*]] : memref<512xf32, #gpu.address_space<workgroup>>
// CHECK:         %[[TOTAL:.*]] = scf.if
// CHECK:           %[[BITS:.*]] = arith.remui %[[LEAF]], %c4
// CHECK:           %[[END:.*]]:3 = scf.while (%[[REST:.*]] = %[[BITS]], %{{.*}} = %[[PLACE:.*]], %{{.*}} = %[[S]])
// CHECK:             %[[ODD:.*]] = arith.remui %[[REST]], %c2
// CHECK:             %[[IS_ODD:.*]] = arith.cmpi ne, %[[ODD]], %c0
// CHECK:             scf.condition(%[[IS_ODD]])
// CHECK:           ^bb0(%{{.*}}: index, %[[AT:.*]]: index, %[[SUM:.*]]: vector<4xf32>):
// CHECK:             %[[BEFORE:.*]] = vector.load %[[WAITING]][%[[AT]]]
// CHECK:             arith.addf %[[BEFORE]], %[[SUM]]
// CHECK:           %[[BEHIND:.*]] = arith.addi %[[PLACE]], %c512
// CHECK:           arith.cmpi ult, %[[END]]#1, %[[BEHIND]]
// CHECK:           vector.store %[[END]]#2, %[[WAITING]][%[[END]]#1]
// CHECK:         vector.store %[[TOTAL]]
gpu.module @m {
  gpu.func @levels(%s: vector<4xf32>, %leaf: index, %o: memref<256xf32>) {
    %layout = lane.layout : !layout
    %total = lane.add_leaves [#vector.kind<add>] %s leaf %leaf at %layout levels 2 : !layout, vector<4xf32> -> vector<4xf32>
    lane.store_sum %total, %o at %layout access 0 : !layout, vector<4xf32>, memref<256xf32>
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 256, lanes = 64, groups = 1, width = 4>

// In the end nothing waits: all ones of the number of leaves are added up.
// CHECK-LABEL: gpu.func @last
// CHECK:         %[[END:.*]]:3 = scf.while (%[[REST:.*]] = %{{.*}}, %{{.*}} = %{{.*}}, %{{.*}} = %{{.*}})
// CHECK:           %[[MORE:.*]] = arith.cmpi ugt, %[[REST]], %c0
// CHECK:           scf.condition(%[[MORE]])
// CHECK:         ^bb0(%{{.*}}: index, %[[AT:.*]]: index, %[[SUM:.*]]: vector<4xf32>):
// CHECK:           scf.if
// CHECK:             %[[BEFORE:.*]] = vector.load %{{.*}}[%[[AT]]]
// CHECK:             arith.addf %[[BEFORE]], %[[SUM]]
// CHECK:         vector.store %[[END]]#2
gpu.module @m {
  gpu.func @last(%s: vector<4xf32>, %leaves: index, %o: memref<256xf32>) {
    %layout = lane.layout : !layout
    %total = lane.add_leaves [#vector.kind<add>] %s leaf %leaves at %layout levels 2 last : !layout, vector<4xf32> -> vector<4xf32>
    lane.store_sum %total, %o at %layout access 0 : !layout, vector<4xf32>, memref<256xf32>
    gpu.return
  }
}

// -----

!all = !lane.layout<row_length = 256, lanes = 64, groups = 4, width = 4>
!leaf = !lane.layout<row_length = 256, lanes = 64, groups = 2, width = 4>

// A workgroup that has a layout's groups several times has as many rows.
// CHECK-LABEL: gpu.func @side_by_side
// CHECK:         %[[GROUP:.*]] = arith.index_cast %{{.*}} : i32 to index
// CHECK:         %[[SAME:.*]] = arith.index_cast %{{.*}} : i32 to index
// CHECK:         %[[OF_LEAF:.*]] = arith.remui %[[SAME]], %c2
// CHECK:         %[[ROW:.*]] = arith.addi %{{.*}}, %[[OF_LEAF]]
// CHECK:         memref.store %[[ROW]], %{{.*}}[%[[GROUP]]]
gpu.module @m {
  gpu.func @side_by_side(%tile: index, %o: memref<?xindex>) attributes {known_block_size = array<i32: 256, 1, 1>} {
    %all = lane.layout : !all
    %leaf = lane.layout : !leaf
    %group = lane.group %all : !all
    %row = lane.row %tile at %leaf : !leaf
    memref.store %row, %o[%group] : memref<?xindex>
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 256, lanes = 64, groups = 4, width = 4>

// Each group has its own memory: the lanes of all are 1024 columns.
// CHECK-LABEL: gpu.func @each
// CHECK-SAME:    workgroup(%[[WAITING:.*]] : memref<2048xf32, #gpu.address_space<workgroup>>
// CHECK:         %[[OF_GROUP:.*]] = arith.muli %{{.*}}, %c256
// CHECK:         %[[PLACE:.*]] = arith.addi %{{.*}}, %[[OF_GROUP]]
// CHECK:         scf.while (%{{.*}} = %{{.*}}, %{{.*}} = %[[PLACE]], %{{.*}} = %{{.*}})
gpu.module @m {
  gpu.func @each(%s: vector<4xf32>, %leaf: index, %o: memref<256xf32>) {
    %layout = lane.layout : !layout
    %total = lane.add_leaves [#vector.kind<add>] %s leaf %leaf at %layout levels 2 each : !layout, vector<4xf32> -> vector<4xf32>
    lane.store_sum %total, %o at %layout access 0 : !layout, vector<4xf32>, memref<256xf32>
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 64, lanes = 16, groups = 2, width = 4>
!shared = !lane.layout<row_length = 64, lanes = 32, groups = 1, width = 2>

// Both groups write their sums; then each lane adds up two columns of both.
// CHECK-LABEL: gpu.func @share
// CHECK-SAME:    workgroup(%[[SUMS:.*]] : memref<128xf32, #gpu.address_space<workgroup>>
// CHECK:         vector.store %{{.*}}, %[[SUMS]][%{{.*}}] {{.*}}, vector<4xf32>
// CHECK-NEXT:    amdgpu.lds_barrier
// CHECK:         %[[FIRST:.*]] = vector.load %[[SUMS]][%[[COLUMN:.*]]] {{.*}}, vector<2xf32>
// CHECK:         %[[BEHIND:.*]] = arith.addi %[[COLUMN]], %c64
// CHECK:         %[[SECOND:.*]] = vector.load %[[SUMS]][%[[BEHIND]]] {{.*}}, vector<2xf32>
// CHECK:         arith.addf %[[FIRST]], %[[SECOND]] {{.*}}: vector<2xf32>
gpu.module @m {
  gpu.func @share(%s: vector<4xf32>, %o: memref<64xf32>) {
    %layout = lane.layout : !layout
    %shared = lane.layout : !shared
    %total = lane.share_sums [#vector.kind<add>] %s at %layout to %shared : !layout, !shared, vector<4xf32> -> vector<2xf32>
    lane.store_sum %total, %o at %shared access 0 : !shared, vector<2xf32>, memref<64xf32>
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 100, lanes = 16, groups = 8, width = 1>
!shared = !lane.layout<row_length = 100, lanes = 128, groups = 1, width = 1>

// Where an access is one column, lanes have other accesses: all seven of a
// group are in memory at once, the eighth is beyond the row.
// CHECK-LABEL: gpu.func @share_accesses
// CHECK-SAME:    workgroup(%[[SUMS:.*]] : memref<1024xf32, #gpu.address_space<workgroup>>
// CHECK-COUNT-7: vector.store %{{.*}}, %[[SUMS]]
// CHECK-NOT:     vector.store
// CHECK:         amdgpu.lds_barrier
// CHECK-COUNT-8: vector.load %[[SUMS]]
// CHECK-NOT:     amdgpu.lds_barrier
gpu.module @m {
  gpu.func @share_accesses(%a: vector<1xf32>, %b: vector<1xf32>, %o: memref<100xf32>) {
    %layout = lane.layout : !layout
    %shared = lane.layout : !shared
    %total = lane.share_sums [#vector.kind<add>] %a, %a, %a, %a, %b, %b, %b at %layout to %shared
        : !layout, !shared, vector<1xf32>, vector<1xf32>, vector<1xf32>, vector<1xf32>, vector<1xf32>, vector<1xf32>, vector<1xf32> -> vector<1xf32>
    lane.store_sum %total, %o at %shared access 0 : !shared, vector<1xf32>, memref<100xf32>
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 4096, lanes = 512, groups = 2, width = 8>
!shared = !lane.layout<row_length = 4096, lanes = 1024, groups = 1, width = 4>

// One sum after the other, where both would take more than 32 KiB.
// CHECK-LABEL: gpu.func @share_sums_apart
// CHECK-SAME:    workgroup(%[[SUMS:.*]] : memref<8192xf32, #gpu.address_space<workgroup>>
// CHECK-COUNT-1: vector.store %{{.*}}, %[[SUMS]]
// CHECK:         amdgpu.lds_barrier
// CHECK-COUNT-2: vector.load %[[SUMS]]
// CHECK:         amdgpu.lds_barrier
// CHECK:         vector.store %{{.*}}, %[[SUMS]]
// CHECK:         amdgpu.lds_barrier
// CHECK-COUNT-2: vector.load %[[SUMS]]
gpu.module @m {
  gpu.func @share_sums_apart(%a: vector<8xf32>, %b: vector<8xf32>, %o: memref<4096xf32>, %p: memref<4096xf32>) {
    %layout = lane.layout : !layout
    %shared = lane.layout : !shared
    %total:2 = lane.share_sums [#vector.kind<add>, #vector.kind<add>] %a, %b at %layout to %shared
        : !layout, !shared, vector<8xf32>, vector<8xf32> -> vector<4xf32>, vector<4xf32>
    lane.store_sum %total#0, %o at %shared access 0 : !shared, vector<4xf32>, memref<4096xf32>
    lane.store_sum %total#1, %p at %shared access 0 : !shared, vector<4xf32>, memref<4096xf32>
    gpu.return
  }
}
