// RUN: lnbwd-opt %s --pass-pipeline='builtin.module(lnbwd-set-chip{chip=gfx942},gpu.module(gpu.func(lnbwd-pipeline-rows)))' --split-input-file | FileCheck %s --check-prefixes=CHECK,AMD
// RUN: lnbwd-opt %s --pass-pipeline='builtin.module(lnbwd-set-chip{chip=sm_80},gpu.module(gpu.func(lnbwd-pipeline-rows)))' --split-input-file | FileCheck %s --check-prefixes=CHECK,NVIDIA

!layout = !lane.layout<row_length = 512, lanes = 64, groups = 4, width = 4>

// An iteration loads the tile that the next one works on. AMD's loads are
// dropped where there is no such tile, stay ahead of the work, and are waited
// for after it. NVIDIA's first loads are below a condition, the others go to
// the last row.
// CHECK-LABEL: gpu.func @ahead(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<?x512xf32>, %[[S:[a-z0-9]+]]: memref<?xf32>, %[[BEGIN:[a-z0-9]+]]: index, %[[ROWS:[a-z0-9]+]]: index, %[[STEP:[a-z0-9]+]]: index,
// CHECK:         %[[TILES:.*]] = arith.divui %[[ROWS]], %{{.*}} : index
// CHECK:         %[[FULL:.*]] = arith.muli %[[TILES]], %{{.*}} : index
// CHECK:         %[[ANY:.*]] = arith.cmpi ult, %[[BEGIN]], %[[FULL]]
// AMD:           %[[COUNT:.*]] = arith.select %[[ANY]], %c4{{[_0-9]*}}, %c0{{[_0-9]*}}
// AMD-NEXT:      %[[N0:.*]] = lane.load_scalar_predicated %[[S]] from %[[BEGIN]] count %[[COUNT]] at %[[LAYOUT:[0-9a-z]+]] :
// AMD-NEXT:      rocdl.sched.barrier 0
// AMD-NEXT:      %[[V0:.*]] = lane.load_predicated %[[X]] from %[[BEGIN]] count %[[COUNT]] at %[[LAYOUT]]
// NVIDIA-NEXT:   %[[ROW0:.*]] = lane.row %[[BEGIN]] at %[[LAYOUT:.*]] : !layout
// NVIDIA-NEXT:   %[[IF:.*]]:2 = scf.if %[[ANY]] -> (vector<2x4xf32>, f32) {
// NVIDIA-NEXT:     %[[A:.*]] = lane.load %[[X]][%[[ROW0]]]
// NVIDIA-NEXT:     %[[B:.*]] = lane.load_scalar %[[S]][%[[ROW0]]]
// NVIDIA-NEXT:     scf.yield %[[A]], %[[B]]
// NVIDIA-NEXT:   } else {
// NVIDIA-NEXT:     %[[P:.*]] = lane.undefined_row : vector<2x4xf32>
// NVIDIA-NEXT:     %[[Q:.*]] = lane.undefined_row : f32
// NVIDIA-NEXT:     scf.yield %[[P]], %[[Q]]
// NVIDIA-NEXT:   {{^ *[}]$}}
// AMD-NEXT:      %[[LOOP:.*]]:3 = lane.for_rows %[[TILE:.*]] = %[[BEGIN]] to %[[FULL]] step %[[STEP]] at %[[LAYOUT]] sums(%[[SUM:.*]] = %{{.*}}) carrying(%[[V:.*]] = %[[V0]], %[[N:.*]] = %[[N0]]) attributes {whole}
// NVIDIA-NEXT:   %[[LOOP:.*]]:3 = lane.for_rows %[[TILE:.*]] = %[[BEGIN]] to %[[FULL]] step %[[STEP]] at %[[LAYOUT]] sums(%[[SUM:.*]] = %{{.*}}) carrying(%[[V:.*]] = %[[IF]]#0, %[[N:.*]] = %[[IF]]#1) attributes {whole}
// CHECK-NEXT:      %[[ROW:.*]] = lane.row %[[TILE]] at %[[LAYOUT]]
// AMD-NEXT:        %[[NEXT:.*]] = arith.addi %[[TILE]], %[[STEP]] : index
// AMD-NEXT:        %[[MORE:.*]] = arith.cmpi ult, %[[NEXT]], %[[FULL]]
// AMD:             %[[LEFT:.*]] = arith.select %[[MORE]], %{{.*}}
// AMD-NEXT:        %[[N1:.*]] = lane.load_scalar_predicated %[[S]] from %[[NEXT]] count %[[LEFT]] at %[[LAYOUT]]
// AMD-NEXT:        rocdl.sched.barrier 0
// AMD-NEXT:        %[[V1:.*]] = lane.load_predicated %[[X]] from %[[NEXT]] count %[[LEFT]] at %[[LAYOUT]]
// AMD-NEXT:        rocdl.sched.barrier 0
// AMD-NEXT:        %[[SHARED:.*]] = lane.broadcast_scalar %[[N]] at %[[LAYOUT]]
// NVIDIA-NEXT:     %[[BEHIND:.*]] = arith.addi %[[ROW]], %[[STEP]] : index
// NVIDIA:          %[[LAST:.*]] = arith.subi %[[ROWS]], %{{.*}} : index
// NVIDIA-NEXT:     %[[NEXT:.*]] = arith.minui %[[BEHIND]], %[[LAST]] : index
// NVIDIA-NEXT:     %[[V1:.*]] = lane.load %[[X]][%[[NEXT]]]
// NVIDIA-NEXT:     %[[N1:.*]] = lane.load_scalar %[[S]][%[[NEXT]]]
// CHECK-NEXT:      %[[ADDED:.*]] = lane.accumulate %[[SUM]], %[[V]] :
// CHECK-NEXT:      lane.store %[[V]], %[[X]][%[[ROW]]] at %[[LAYOUT]] :
// AMD-NEXT:        lane.store_scalar %[[SHARED]], %[[S]][%[[ROW]]]
// AMD-NEXT:        rocdl.sched.barrier 0
// NVIDIA-NEXT:     lane.store_scalar %[[N]], %[[S]][%[[ROW]]]
// CHECK-NEXT:      lane.yield %[[ADDED]], %[[V1]], %[[N1]]
// The partial tile comes after; its loads are of the same kind.
// CHECK:         scf.if
// CHECK:           %[[EXISTS:.*]] = arith.cmpi ult
// CHECK:           %[[CLAMPED:.*]] = arith.minui
// AMD:             %[[FEW:.*]] = arith.subi %[[ROWS]], %[[FULL]] : index
// AMD:             %[[T:.*]] = lane.load_predicated %[[X]] from %[[FULL]] count %[[FEW]]
// NVIDIA:          %[[T:.*]] = lane.load %[[X]][%[[CLAMPED]]]
// CHECK:           lane.accumulate %[[LOOP]]#0, %[[T]] if %[[EXISTS]]
// CHECK:           lane.store %[[T]], %[[X]][%[[CLAMPED]]] at %[[LAYOUT]] if %[[EXISTS]]
// CHECK:         {{^ *[}]$}}
gpu.module @m {
  gpu.func @ahead(%x: memref<?x512xf32>, %s: memref<?xf32>, %begin: index, %rows: index, %step: index, %w: index, %ws: index) kernel {
    %layout = lane.layout : !layout
    %zero = arith.constant dense<0.0> : vector<2x4xf32>
    %sum = lane.for_rows %tile = %begin to %rows step %step at %layout for %w of %ws sums(%a = %zero) attributes {prefetch} : !layout, vector<2x4xf32> {
      %row = lane.row %tile at %layout : !layout
      %v = lane.load %x[%row] at %layout : !layout, memref<?x512xf32> -> vector<2x4xf32>
      %n = lane.load_scalar %s[%row] : memref<?xf32>
      %b = lane.accumulate %a, %v : vector<2x4xf32>
      lane.store %v, %x[%row] at %layout : !layout, vector<2x4xf32>, memref<?x512xf32>
      lane.store_scalar %n, %s[%row] at %layout : !layout, memref<?xf32>
      lane.yield %b : vector<2x4xf32>
    }
    lane.store_sum %sum, %x[%w] at %layout : !layout, vector<2x4xf32>, memref<?x512xf32>
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 512, lanes = 64, groups = 1, width = 4>

// Rows one after another have no partial tile. Bytes go from iteration to
// iteration as whole registers.
// CHECK-LABEL: gpu.func @bytes(
// AMD:           %[[FIRST:.*]] = vector.bitcast %{{.*}} : vector<2x4xi8> to vector<2x1xi32>
// NVIDIA:        %[[FIRST:.*]] = scf.if %{{.*}} -> (vector<2x1xi32>) {
// NVIDIA:          vector.bitcast %{{.*}} : vector<2x4xi8> to vector<2x1xi32>
// NVIDIA:          lane.undefined_row : vector<2x1xi32>
// CHECK:         lane.for_rows {{.*}} carrying(%[[NOW:.*]] = %[[FIRST]])
// CHECK:           %[[NEXT:.*]] = vector.bitcast %{{.*}} : vector<2x4xi8> to vector<2x1xi32>
// CHECK:           %[[V:.*]] = vector.bitcast %[[NOW]] : vector<2x1xi32> to vector<2x4xi8>
// CHECK:           lane.store %[[V]]
// CHECK:           lane.yield %[[NEXT]]
// CHECK-NOT:     scf.if
// CHECK:         gpu.return
gpu.module @m {
  gpu.func @bytes(%x: memref<?x512xi8>, %begin: index, %rows: index, %step: index, %w: index, %ws: index) kernel {
    %layout = lane.layout : !layout
    lane.for_rows %tile = %begin to %rows step %step at %layout for %w of %ws attributes {prefetch} : !layout {
      %row = lane.row %tile at %layout : !layout
      %v = lane.load %x[%row] at %layout : !layout, memref<?x512xi8> -> vector<2x4xi8>
      lane.store %v, %x[%row] at %layout : !layout, vector<2x4xi8>, memref<?x512xi8>
    }
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 510, lanes = 255, groups = 1, width = 2>

// Two bytes fill no register.
// CHECK-LABEL: gpu.func @few_bytes(
// CHECK-NOT:     vector.bitcast
// CHECK:         gpu.return
gpu.module @m {
  gpu.func @few_bytes(%x: memref<?x510xi8>, %begin: index, %rows: index, %step: index) kernel {
    %layout = lane.layout : !layout
    lane.for_rows %tile = %begin to %rows step %step at %layout attributes {prefetch} : !layout {
      %row = lane.row %tile at %layout : !layout
      %v = lane.load %x[%row] at %layout : !layout, memref<?x510xi8> -> vector<1x2xi8>
      lane.store %v, %x[%row] at %layout : !layout, vector<1x2xi8>, memref<?x510xi8>
    }
    gpu.return
  }
}
