// RUN: lnbwd-opt %s --allow-unregistered-dialect --pass-pipeline='builtin.module(lnbwd-set-chip{chip=sm_80},gpu.module(gpu.func(lnbwd-pipeline-rows)))' --split-input-file | FileCheck %s
// RUN: lnbwd-opt %s --allow-unregistered-dialect --pass-pipeline='builtin.module(lnbwd-set-chip{chip=gfx942},gpu.module(gpu.func(lnbwd-pipeline-rows)))' --split-input-file | FileCheck %s --check-prefix=AMD

!layout = !lane.layout<row_length = 512, lanes = 64, groups = 4, width = 8>

// The loop takes full tiles; the last workgroup takes what is left, where
// groups without a row work on the last one and keep nothing. AMD's loads of
// such rows are dropped.
// CHECK-LABEL: gpu.func @tail(
// CHECK-SAME:    %[[X:.*]]: memref<?x512xf32>, %[[S:.*]]: memref<?xf32>, %[[BEGIN:.*]]: index, %[[ROWS:.*]]: index, %[[STEP:.*]]: index, %[[W:.*]]: index, %[[WS:.*]]: index)
// CHECK:         %[[TILES:.*]] = arith.divui %[[ROWS]], %{{.*}} : index
// CHECK:         %[[FULL:.*]] = arith.muli %[[TILES]], %{{.*}} : index
// CHECK:         %[[LOOP:.*]] = lane.for_rows %{{.*}} = %[[BEGIN]] to %[[FULL]] step %[[STEP]] at %[[LAYOUT:.*]] sums({{.*}}) attributes {sum_block = 8 : i64, whole}
// CHECK:           lane.accumulate %{{.*}}, %{{[0-9]+}} : vector<1x8xf32>
// CHECK:           lane.store %{{.*}} at %{{[0-9]+}} : !layout
// CHECK:           lane.store_scalar %{{.*}} at %{{[0-9]+}} : !layout
// CHECK:         %[[BEHIND:.*]] = arith.addi %[[W]], %{{.*}} : index
// CHECK:         %[[LAST:.*]] = arith.cmpi eq, %[[BEHIND]], %[[WS]] : index
// CHECK:         %[[LEFT:.*]] = arith.cmpi ult, %[[FULL]], %[[ROWS]] : index
// CHECK:         %[[BOTH:.*]] = arith.andi %[[LEFT]], %[[LAST]] : i1
// CHECK:         %[[TOTAL:.*]] = scf.if %[[BOTH]] -> (vector<1x8xf32>) {
// CHECK:           %[[OWN:.*]] = lane.row %[[FULL]] at %[[LAYOUT]]
// CHECK:           %[[EXISTS:.*]] = arith.cmpi ult, %[[OWN]], %[[ROWS]] : index
// CHECK:           %[[ROW:.*]] = arith.minui %[[OWN]], %{{.*}} : index
// CHECK:           lane.load %[[X]][%[[ROW]]]
// CHECK:           %[[ADDED:.*]] = lane.accumulate %[[LOOP]], %{{.*}} if %[[EXISTS]]
// CHECK:           lane.store %{{.*}}[%[[ROW]]] at %[[LAYOUT]] if %[[EXISTS]]
// CHECK:           lane.store_scalar %{{.*}}[%[[ROW]]] at %[[LAYOUT]] if %[[EXISTS]]
// CHECK:           scf.yield %[[ADDED]]
// CHECK:         } else {
// CHECK:           scf.yield %[[LOOP]]
// CHECK:         }
// CHECK:         "test.use"(%[[TOTAL]])
// AMD-LABEL:   gpu.func @tail(
// AMD:           scf.if
// AMD:             arith.minui
// AMD-NEXT:        %[[COUNT:.*]] = arith.subi
// AMD:             lane.load_scalar_predicated %{{.*}} from %[[TILE:[0-9]+]] count %[[COUNT]]
// AMD-NEXT:        rocdl.sched.barrier 0
// AMD-NEXT:        lane.load_predicated %{{.*}} from %[[TILE]] count %[[COUNT]]
gpu.module @m {
  gpu.func @tail(%x: memref<?x512xf32>, %s: memref<?xf32>, %begin: index, %rows: index, %step: index, %w: index, %ws: index) {
    %layout = lane.layout : !layout
    %zero = arith.constant dense<0.0> : vector<1x8xf32>
    %sum = lane.for_rows %tile = %begin to %rows step %step at %layout for %w of %ws sums(%a = %zero)
        attributes {sum_block = 8 : i64} : !layout, vector<1x8xf32> {
      %row = lane.row %tile at %layout : !layout
      %v = lane.load %x[%row] at %layout : !layout, memref<?x512xf32> -> vector<1x8xf32>
      %n = lane.load_scalar %s[%row] : memref<?xf32>
      %b = lane.accumulate %a, %v : vector<1x8xf32>
      lane.store %v, %x[%row] at %layout : !layout, vector<1x8xf32>, memref<?x512xf32>
      lane.store_scalar %n, %s[%row] at %layout : !layout, memref<?xf32>
      lane.yield %b : vector<1x8xf32>
    }
    "test.use"(%sum) : (vector<1x8xf32>) -> ()
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 512, lanes = 64, groups = 1, width = 8>

// Row by row, all tiles are whole; a loop without state leaves a branch
// without.
// CHECK-LABEL: gpu.func @no_tail
// CHECK:         lane.for_rows %{{.*}} = %{{.*}} to %{{.*}} step %{{.*}} at %{{.*}} attributes {whole} : !layout {
// CHECK-NOT:     scf.if
// CHECK:         gpu.return
gpu.module @m {
  gpu.func @no_tail(%begin: index, %rows: index, %step: index, %w: index, %ws: index) {
    %layout = lane.layout : !layout
    lane.for_rows %tile = %begin to %rows step %step at %layout for %w of %ws : !layout {
    }
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 512, lanes = 64, groups = 2, width = 8>

// CHECK-LABEL: gpu.func @no_state
// CHECK:         scf.if %{{.*}} {
// CHECK:         }
gpu.module @m {
  gpu.func @no_state(%begin: index, %rows: index, %step: index, %w: index, %ws: index) {
    %layout = lane.layout : !layout
    lane.for_rows %tile = %begin to %rows step %step at %layout for %w of %ws : !layout {
    }
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 512, lanes = 64, groups = 2, width = 8>

// A loop of full tiles is left alone.
// CHECK-LABEL: gpu.func @whole
// CHECK:         lane.for_rows
// CHECK-NOT:     scf.if
// CHECK:         gpu.return
gpu.module @m {
  gpu.func @whole(%begin: index, %rows: index, %step: index) {
    %layout = lane.layout : !layout
    lane.for_rows %tile = %begin to %rows step %step at %layout attributes {whole} : !layout {
    }
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 512, lanes = 64, groups = 2, width = 8>

// Stores in a loop within the body keep nothing either.
// CHECK-LABEL: gpu.func @nested
// CHECK:         scf.if
// CHECK:           %[[EXISTS:.*]] = arith.cmpi ult
// CHECK:           scf.for
// CHECK:             lane.store %{{.*}} if %[[EXISTS]]
gpu.module @m {
  gpu.func @nested(%x: memref<?x512xf32>, %v: vector<1x8xf32>, %begin: index, %rows: index, %step: index, %w: index, %ws: index) {
    %layout = lane.layout : !layout
    lane.for_rows %tile = %begin to %rows step %step at %layout for %w of %ws : !layout {
      %row = lane.row %tile at %layout : !layout
      scf.for %c = %begin to %rows step %step {
        lane.store %v, %x[%row] at %layout : !layout, vector<1x8xf32>, memref<?x512xf32>
      }
    }
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 511, lanes = 64, groups = 1, width = 1>

// The last row stays apart if it has to, also where it would make no tile that
// is not whole.
// CHECK-LABEL: gpu.func @last_row_apart(
// CHECK-SAME:    %[[BEGIN:[^:]*]]: index, %[[ROWS:[^:]*]]: index, %[[STEP:[^:]*]]: index
// CHECK:         %[[ONE:.*]] = arith.constant 1 : index
// CHECK:         %[[ANY:.*]] = arith.maxui %[[ROWS]], %[[ONE]]
// CHECK:         %[[FULL:.*]] = arith.subi %[[ANY]], %[[ONE]]
// CHECK:         lane.for_rows %{{.*}} = %[[BEGIN]] to %[[FULL]] step %[[STEP]] at %{{.*}} attributes {last_row_apart, whole}
// CHECK:         arith.cmpi ult, %[[FULL]], %[[ROWS]]
// CHECK:         scf.if
gpu.module @m {
  gpu.func @last_row_apart(%begin: index, %rows: index, %step: index, %w: index, %ws: index) {
    %layout = lane.layout : !layout
    lane.for_rows %tile = %begin to %rows step %step at %layout for %w of %ws attributes {last_row_apart} : !layout {
    }
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 64, lanes = 8, groups = 8, width = 8>
!across = !lane.layout<row_length = 64, lanes = 8, groups = 8, width = 8, across = true>

// What lanes across the rows load and store is in bounds where their own row
// is.
// CHECK-LABEL: gpu.func @across(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<?x64xf32>, %{{[a-z0-9]+}}: index, %[[ROWS:[a-z0-9]+]]: index,
// CHECK:         %[[LAYOUT:.*]] = lane.layout : !layout
// CHECK:         %[[ACROSS:.*]] = lane.layout : !layout1
// CHECK:         lane.for_rows
// CHECK:         scf.if
// CHECK:           %[[OWN:.*]] = lane.row %[[FULL:.*]] at %[[LAYOUT]]
// CHECK:           %[[OTHER:.*]] = lane.row %[[FULL]] at %[[ACROSS]]
// CHECK:           %[[ROW:.*]] = arith.minui %[[OTHER]], %{{.*}} : index
// CHECK:           lane.load %[[X]][%[[ROW]]] at %[[ACROSS]]
// CHECK:           lane.convert_layout
// CHECK:           %[[STORED:.*]] = lane.row %[[FULL]] at %[[ACROSS]]
// CHECK:           %[[EXISTS:.*]] = arith.cmpi ult, %[[STORED]], %[[ROWS]] : index
// CHECK:           lane.store %{{.*}}, %[[X]][%[[ROW]]] at %[[ACROSS]] if %[[EXISTS]]
// AMD-LABEL:   gpu.func @across(
// AMD:           %[[LAYOUT:.*]] = lane.layout : !layout1
// AMD:           lane.for_rows
// AMD:           scf.if
// AMD:             lane.load_predicated %{{.*}} at %[[LAYOUT]]
// AMD:             lane.store %{{.*}} at %[[LAYOUT]] if
gpu.module @m {
  gpu.func @across(%x: memref<?x64xf32>, %begin: index, %rows: index, %step: index, %w: index, %ws: index) {
    %layout = lane.layout : !layout
    %across = lane.layout : !across
    lane.for_rows %tile = %begin to %rows step %step at %layout for %w of %ws : !layout {
      %row = lane.row %tile at %layout : !layout
      %other = lane.row %tile at %across : !across
      %v = lane.load %x[%other] at %across : !across, memref<?x64xf32> -> vector<1x8xf32>
      %own = lane.convert_layout %v from %across to %layout : !across, !layout, vector<1x8xf32>
      %back = lane.convert_layout %own from %layout to %across : !layout, !across, vector<1x8xf32>
      lane.store %back, %x[%other] at %across : !across, vector<1x8xf32>, memref<?x64xf32>
    }
    gpu.return
  }
}
