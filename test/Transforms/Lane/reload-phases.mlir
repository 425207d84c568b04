// RUN: lnbwd-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(lnbwd-reload-phases)))' --split-input-file | FileCheck %s

!layout = !lane.layout<row_length = 500, lanes = 64, groups = 1, width = 4>

// Each phase reads what it needs again, one access at a time; stores come after
// the last reduction, those of the last phase first, all values before the
// first of them.
// CHECK-DAG:   ![[LAYOUT:.*]] = !lane.layout<row_length = 500, lanes = 64, groups = 1, width = 4>
// CHECK-DAG:   ![[TILE:.*]] = !lane.layout<row_length = 500, lanes = 64, groups = 1, width = 4, columns = 256>
// CHECK-LABEL: gpu.func @phases(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<?x500xbf16>, %[[G:[a-z0-9]+]]: memref<500xf32>,
// CHECK-NOT:     lane.load_columns
// CHECK:         lane.for_rows
// CHECK:           %[[ROW:.*]] = lane.row
// CHECK-NEXT:      %[[N:.*]] = lane.load_scalar
// CHECK:           %[[SHARES:.*]]:2 = scf.for %[[COLUMN:.*]] = %c0{{[_0-9]*}} to %c500 step %c256 iter_args(%[[A:.*]] = %{{.*}}, %[[B:.*]] = %{{.*}}) -> (vector<4xf32>, vector<4xf32>) {
// CHECK-NEXT:        %[[AT:.*]] = lane.layout from %[[COLUMN]] : ![[TILE]]
// CHECK-NEXT:        %[[V:.*]] = lane.load %[[X]][%[[ROW]]] at %[[AT]] access 0 : ![[TILE]], memref<?x500xbf16> -> vector<4xbf16>
// CHECK-NEXT:        %[[W:.*]] = arith.extf %[[V]] : vector<4xbf16> to vector<4xf32>
// CHECK-NEXT:        %[[E:.*]] = lane.in_bounds %[[AT]] access 0
// CHECK:             %[[F:.*]] = arith.select %[[E]], %[[W]], %{{.*}}
// CHECK-NEXT:        %[[NEXT_A:.*]] = arith.addf %[[A]], %[[F]] fastmath<contract>
// CHECK:             %[[H:.*]] = arith.select %{{.*}}, %[[W]], %{{.*}}
// CHECK-NEXT:        %[[NEXT_B:.*]] = arith.maximumf %[[B]], %[[H]]
// CHECK-NEXT:        scf.yield %[[NEXT_A]], %[[NEXT_B]]
// CHECK-NEXT:      }
// CHECK-NEXT:      %[[SUMS:.*]]:2 = lane.reduce [#vector.kind<add>, #vector.kind<maximumf>] %[[SHARES]]#0, %[[SHARES]]#1
// CHECK-NEXT:      %[[S:.*]] = arith.addf %[[SUMS]]#0, %[[N]] : f32
// CHECK:           scf.for
// CHECK-NEXT:        %[[AT2:.*]] = lane.layout from
// CHECK-NEXT:        %[[G2:.*]] = lane.load_columns %[[G]] at %[[AT2]] each : ![[TILE]], memref<500xf32> -> vector<4xf32>
// CHECK-NEXT:        %[[TWO:.*]] = arith.constant dense<2.000000e+00> : vector<4xf32>
// CHECK-NEXT:        %[[C:.*]] = arith.mulf %[[G2]], %[[TWO]] : vector<4xf32>
// CHECK-NEXT:        %[[SPREAD:.*]] = vector.broadcast %[[S]] : f32 to vector<4xf32>
// CHECK-NEXT:        %[[Y:.*]] = arith.mulf %[[C]], %[[SPREAD]] : vector<4xf32>
// CHECK-NEXT:        %[[V2:.*]] = lane.load %[[X]][%[[ROW]]] at %[[AT2]] access 0
// CHECK-NEXT:        lane.store %[[Y]], %{{.*}}[%[[ROW]]] at %[[AT2]]
// CHECK-NEXT:        lane.store %[[V2]], %{{.*}}[%[[ROW]]] at %[[AT2]]
// CHECK-NEXT:      }
// CHECK-NEXT:      lane.store_scalar %[[SUMS]]#1
// CHECK-NEXT:      lane.yield
gpu.module @m {
  gpu.func @phases(%x: memref<?x500xbf16>, %g: memref<500xf32>, %n: memref<?xf32>, %y: memref<?x500xf32>, %i: index) {
    %layout = lane.layout : !layout
    %c = lane.load_columns %g at %layout : !layout, memref<500xf32> -> vector<2x4xf32>
    %first = lane.first_iteration : !lane.iteration
    %last = lane.for_rows %tile = %i to %i step %i at %layout carrying(%iteration = %first) attributes {reload} : !layout, !lane.iteration {
      %row = lane.row %tile at %layout : !layout
      %v = lane.load %x[%row] at %layout : !layout, memref<?x500xbf16> -> vector<2x4xbf16>
      %s = lane.load_scalar %n[%row] : memref<?xf32>
      %w = arith.extf %v : vector<2x4xbf16> to vector<2x4xf32>
      %f:2 = lane.fold [#vector.kind<add>, #vector.kind<maximumf>] %w, %w at %layout : !layout, vector<2x4xf32>, vector<2x4xf32> -> vector<4xf32>, vector<4xf32>
      lane.store %v, %x[%row] at %layout : !layout, vector<2x4xbf16>, memref<?x500xbf16>
      %r:2 = lane.reduce [#vector.kind<add>, #vector.kind<maximumf>] %f#0, %f#1 at %layout iteration %iteration phase 0 : !layout, vector<4xf32>, vector<4xf32> -> f32, f32
      %t = arith.addf %r#0, %s : f32
      %two = arith.constant dense<2.0> : vector<2x4xf32>
      %d = arith.mulf %c, %two : vector<2x4xf32>
      %spread = vector.broadcast %t : f32 to vector<2x4xf32>
      %z = arith.mulf %d, %spread : vector<2x4xf32>
      lane.store %z, %y[%row] at %layout : !layout, vector<2x4xf32>, memref<?x500xf32>
      lane.store_scalar %r#1, %n[%row] at %layout : !layout, memref<?xf32>
      lane.yield %iteration : !lane.iteration
    }
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 200, lanes = 64, groups = 1, width = 4>

// A row that one access covers is its own tile.
// CHECK-LABEL: gpu.func @one_access
// CHECK:         scf.for %{{.*}} = %c0{{[_0-9]*}} to %c200 step %c256 {
// CHECK-NEXT:      %[[AT:.*]] = lane.layout : !layout
// CHECK-NEXT:      %[[V:.*]] = lane.load %{{.*}} at %[[AT]]
// CHECK-NEXT:      lane.store %[[V]], %{{.*}} at %[[AT]]
gpu.module @m {
  gpu.func @one_access(%x: memref<?x200xf32>, %i: index) {
    %layout = lane.layout : !layout
    lane.for_rows %tile = %i to %i step %i at %layout attributes {reload} : !layout {
      %row = lane.row %tile at %layout : !layout
      %v = lane.load %x[%row] at %layout : !layout, memref<?x200xf32> -> vector<1x4xf32>
      lane.store %v, %x[%row] at %layout : !layout, vector<1x4xf32>, memref<?x200xf32>
    }
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 512, lanes = 64, groups = 1, width = 4>

// A schedule that does not reload.
// CHECK-LABEL: gpu.func @plain
// CHECK-NOT:     scf.for
gpu.module @m {
  gpu.func @plain(%x: memref<?x512xf32>, %i: index) {
    %layout = lane.layout : !layout
    lane.for_rows %tile = %i to %i step %i at %layout : !layout {
      %row = lane.row %tile at %layout : !layout
      %v = lane.load %x[%row] at %layout : !layout, memref<?x512xf32> -> vector<2x4xf32>
      lane.store %v, %x[%row] at %layout : !layout, vector<2x4xf32>, memref<?x512xf32>
    }
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 200, lanes = 64, groups = 1, width = 4>

// A number that is stored before the last phase has computed its own.
// CHECK-LABEL: gpu.func @early_scalar
// CHECK:         %[[S:.*]] = lane.reduce
// CHECK-NEXT:    lane.store_scalar %{{.*}}
// CHECK-NEXT:    %[[T:.*]] = arith.negf %[[S]] : f32
// CHECK:         scf.for
// CHECK:           vector.broadcast %[[T]] : f32 to vector<4xf32>
// CHECK:           lane.store
gpu.module @m {
  gpu.func @early_scalar(%x: memref<?x200xf32>, %n: memref<?xf32>, %m: f32, %i: index, %iteration: !lane.iteration) {
    %layout = lane.layout : !layout
    lane.for_rows %tile = %i to %i step %i at %layout attributes {reload} : !layout {
      %row = lane.row %tile at %layout : !layout
      %v = lane.load %x[%row] at %layout : !layout, memref<?x200xf32> -> vector<1x4xf32>
      %f = lane.fold [#vector.kind<add>] %v at %layout : !layout, vector<1x4xf32> -> vector<4xf32>
      %s = lane.reduce [#vector.kind<add>] %f at %layout iteration %iteration phase 0 : !layout, vector<4xf32> -> f32
      lane.store_scalar %m, %n[%row] at %layout : !layout, memref<?xf32>
      %t = arith.negf %s : f32
      %spread = vector.broadcast %t : f32 to vector<1x4xf32>
      lane.store %spread, %x[%row] at %layout : !layout, vector<1x4xf32>, memref<?x200xf32>
    }
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 512, lanes = 64, groups = 1, width = 4>

// Columns are those of the access at work.
// CHECK-LABEL: gpu.func @columns(
// CHECK:         scf.for %[[COLUMN:.*]] = %{{.*}} to
// CHECK-NEXT:      %[[AT:.*]] = lane.layout from %[[COLUMN]] : ![[TILE:.*]]
// CHECK-NEXT:      %[[C:.*]] = lane.column_index %[[AT]] access 0 : ![[TILE]] -> vector<4xi32>
// CHECK-NEXT:      %[[F:.*]] = arith.uitofp %[[C]]
// CHECK-NEXT:      lane.store %[[F]]
gpu.module @m {
  gpu.func @columns(%y: memref<?x512xf32>, %i: index) {
    %layout = lane.layout : !layout
    lane.for_rows %tile = %i to %i step %i at %layout attributes {reload} : !layout {
      %row = lane.row %tile at %layout : !layout
      %c = lane.column_index %layout : !layout -> vector<2x4xi32>
      %f = arith.uitofp %c : vector<2x4xi32> to vector<2x4xf32>
      lane.store %f, %y[%row] at %layout : !layout, vector<2x4xf32>, memref<?x512xf32>
      lane.yield
    }
    gpu.return
  }
}
