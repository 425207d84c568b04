// RUN: lnbwd-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(lnbwd-lower-layout-conversions)))' --split-input-file | FileCheck %s

!layout = !lane.layout<row_length = 64, lanes = 4, groups = 16, width = 4, columns = 32>
!across = !lane.layout<row_length = 64, lanes = 4, groups = 16, width = 4, columns = 32, across = true>

// Tiles of the workgroup's 32 columns, with 9 accesses from row to row: 16 rows
// of bf16 take 1152 bytes. What is converted later uses the same memory.
// CHECK-DAG:   ![[WHOLE:.*]] = !lane.layout<row_length = 64, lanes = 4, groups = 16, width = 4, columns = 32>
// CHECK-DAG:   ![[TILE:.*]] = !lane.layout<row_length = 32, lanes = 4, groups = 16, width = 4>
// CHECK-DAG:   ![[WHOLE_ACROSS:.*]] = !lane.layout<row_length = 64, lanes = 4, groups = 16, width = 4, columns = 32, across = true>
// CHECK-DAG:   ![[TILE_ACROSS:.*]] = !lane.layout<row_length = 32, lanes = 4, groups = 16, width = 4, across = true>
// CHECK-LABEL: gpu.func @f(
// CHECK-SAME:    workgroup(%[[MEMORY:.*]] : memref<3456xi8, #gpu.address_space<workgroup>>
// CHECK:         %[[TO:.*]] = lane.layout from %{{.*}} : ![[WHOLE]]
// CHECK-DAG:     %[[TILE_TO:.*]] = lane.layout : ![[TILE]]
// CHECK:         %[[FROM:.*]] = lane.layout from %{{.*}} : ![[WHOLE_ACROSS]]
// CHECK-DAG:     %[[TILE_FROM:.*]] = lane.layout : ![[TILE_ACROSS]]
// CHECK:         %[[A:.*]] = memref.view %[[MEMORY]][%c0][] : {{.*}} to memref<16x36xf32,
// CHECK:         %[[A_ROWS:.*]] = memref.reinterpret_cast %[[A]] to offset: [0], sizes: [16, 32], strides: [36, 1]
// CHECK:         %[[B:.*]] = memref.view %[[MEMORY]][%c2304][] : {{.*}} to memref<16x36xbf16,
// CHECK:         %[[B_ROWS:.*]] = memref.reinterpret_cast %[[B]]
// CHECK:         lane.barrier
// CHECK-NEXT:    %[[ACROSS:.*]] = lane.group %[[FROM]]
// CHECK-NEXT:    lane.store %{{.*}}, %[[A_ROWS]][%[[ACROSS]]] at %{{.*}} :
// CHECK-NEXT:    lane.store %{{.*}}, %[[B_ROWS]][%[[ACROSS]]] at %{{.*}} :
// CHECK-NEXT:    lane.barrier
// CHECK-NEXT:    %[[GROUP:.*]] = lane.group %[[TO]]
// CHECK-NEXT:    %[[LOADED:.*]]:2 = lane.load %[[A_ROWS]], %[[B_ROWS]][%[[GROUP]]] at %{{.*}} :
// CHECK:         memref.view %[[MEMORY]]
// CHECK:         lane.barrier
// CHECK:         lane.store %[[LOADED]]#0, %{{.*}}[%{{.*}}] at %{{.*}} :
// CHECK:         lane.barrier
// CHECK:         %[[BACK:.*]] = lane.load
// CHECK:         lane.store %[[BACK]], %{{.*}}[%{{.*}}] at %[[FROM]] :
gpu.module @m {
  gpu.func @f(%x: memref<?x64xf32>, %y: memref<?x64xbf16>, %row: index, %column: index) {
    %to = lane.layout from %column : !layout
    %from = lane.layout from %column : !across
    %a, %b = lane.load %x, %y[%row] at %from : !across, memref<?x64xf32>, memref<?x64xbf16> -> vector<2x4xf32>, vector<2x4xbf16>
    %c:2 = lane.convert_layout %a, %b from %from to %to : !across, !layout, vector<2x4xf32>, vector<2x4xbf16>
    %d = lane.convert_layout %c#0 from %to to %from : !layout, !across, vector<2x4xf32>
    lane.store %d, %x[%row] at %from : !across, vector<2x4xf32>, memref<?x64xf32>
    gpu.return
  }
}
