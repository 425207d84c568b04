// RUN: lnbwd-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(lnbwd-convert-lane-to-gpu{chip=gfx942})))' | FileCheck %s

!layout = !lane.layout<row_length = 256, lanes = 64, groups = 4, width = 4>

// What an operation becomes is of the same part of the kernel as itself. A loop
// over rows, and loads of row scalars, say of themselves what their names said;
// what is in an operation that says so does not repeat it.
// CHECK-LABEL: gpu.func @parts
// CHECK:         memref.load {{.*}} {lane.part = #lane.part<first_load, scalars>}
// CHECK:         memref.load %{{[a-z0-9]+}}[%{{[a-z0-9]+}}] {lane.part = #lane.part<scalars>} : memref<?xf32>
// CHECK:         scf.if
// CHECK:           vector.store
// CHECK-NOT:       lane.part
// CHECK:         } {lane.part = #lane.part<tail>}
// CHECK:         scf.for
// CHECK:           vector.load {{.*}} {{[{].*}}lane.part = #lane.part<next_load>
// CHECK:           vector.store
// CHECK-NOT:       lane.part
// CHECK:         } {lane.part = #lane.part<row>}
// CHECK:         gpu.return
gpu.module @m {
  gpu.func @parts(%x: memref<?x256xf32>, %s: memref<?xf32>, %i: index, %c: i1, %v: vector<4xf32>) {
    %layout = lane.layout : !layout
    %n = lane.load_scalar_predicated %s from %i count %i at %layout {lane.part = #lane.part<first_load>} : !layout, memref<?xf32>
    memref.store %n, %s[%i] : memref<?xf32>
    %p = lane.load_scalar %s[%i] : memref<?xf32>
    memref.store %p, %s[%i] : memref<?xf32>
    scf.if %c {
      lane.store %v, %x[%i] at %layout access 0 : !layout, vector<4xf32>, memref<?x256xf32>
    } {lane.part = #lane.part<tail>}
    lane.for_rows %tile = %i to %i step %i at %layout attributes {whole} : !layout {
      %w = lane.load_predicated %x from %tile count %i at %layout access 0 {lane.part = #lane.part<next_load>} : !layout, memref<?x256xf32> -> vector<4xf32>
      lane.store %w, %x[%tile] at %layout access 0 : !layout, vector<4xf32>, memref<?x256xf32>
    }
    gpu.return
  }
}
